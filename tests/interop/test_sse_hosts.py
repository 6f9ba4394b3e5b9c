"""Stock hosts of HTTP+SSE (2024-11-05) through /mcp/sse: list, call with progress, answer a question, leave."""
import pytest

from conftest import Kept
from hosts import SSE_HOSTS
from lib import upstreams
from test_interop import KINDS, check, plan

TOOL = "trigger-elicitation-request"
ACCEPT = {"action": "accept", "content": {"name": "Ada Lovelace", "integer": 7}}
SAID = {"accept": "Name: Ada Lovelace", "decline": "declined"}


@pytest.fixture(scope="module")
def asking(everything):
    """A server that may ask, and one of another transport beside it."""
    kept = Kept({"ev": everything.entry(allow_elicitation=True), "fm": upstreams.stdio_fastmcp()})
    yield kept
    kept.stop()


def forgive_last_note(host, steps):
    """npm SDK v1 forgets a call's progress handler at its response, before it has run the handler for a note that
    came in the same read, here and straight at the server alike: the last note may be missing there."""
    for step, kind in zip(steps, ["ev", "fm"]):
        known = KINDS[kind]["progress"]
        if host == "sdk1-sse" and step["progress"] == known[:-1]:
            step["progress"] = known


@pytest.fixture(autouse=True)
def only_through_the_gateway(direct):
    if direct:
        pytest.skip("the stock http servers have no HTTP+SSE endpoint beside")


@pytest.mark.parametrize("answer", [ACCEPT, {"action": "decline"}], ids=lambda a: a["action"])
@pytest.mark.parametrize("host", SSE_HOSTS)
def test_a_host_lists_calls_and_answers(host, answer, asking):
    url = asking.get().server_url("ev") + "/sse"
    got = SSE_HOSTS[host]({**plan(url, ["ev"], [""]), "ask": {"tool": TOOL, "answer": answer}})
    forgive_last_note(host, got["steps"])
    check(got, ["ev"], [""])
    assert any(SAID[answer["action"]] in text for text in got["asked"]), got["asked"]


@pytest.mark.parametrize("host", SSE_HOSTS)
def test_on_the_aggregate_of_two_servers(host, asking):
    kinds, prefixes = ["ev", "fm"], ["ev-", "fm-"]
    got = SSE_HOSTS[host]({**plan(asking.get().mcp_url + "/sse", kinds, prefixes),
                           "ask": {"tool": "ev-" + TOOL, "answer": ACCEPT}})
    forgive_last_note(host, got["steps"])
    check(got, kinds, prefixes)
    assert any(SAID["accept"] in text for text in got["asked"]), got["asked"]
