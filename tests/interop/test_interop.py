"""Stock hosts × stock servers: connect, list, call with progress, read, get a prompt, leave."""
import asyncio
import json

import pytest

from hosts import HOSTS
from lib import upstreams
from lib.paths import tool_env

# What each kind of server is asked, and what is known to come back.
KINDS = {
    "ev": {
        "step": {"tool": "trigger-long-running-operation", "args": {"duration": 0.3, "steps": 3},
                 "resource": "demo://resource/static/document/architecture.md",
                 "prompt": "simple-prompt", "promptArgs": {}},
        "tools": {"echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"},
        "prompts": {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"},
        "resources": {"demo://resource/static/document/architecture.md",
                      "demo://resource/static/document/features.md"},
        "text": "Long running operation completed. Duration: 0.3 seconds, Steps: 3.",
        "progress": [1, 2, 3],
        "resource": "Everything Server",
        "prompt": "This is a simple prompt without arguments.",
    },
    "fm": {
        "step": {"tool": "countdown", "args": {"steps": 5}, "resource": "info://greeting",
                 "prompt": "review", "promptArgs": {"topic": "progress"}},
        "tools": {"add", "countdown"},
        "prompts": {"review"},
        "resources": {"info://greeting"},
        "text": "counted 5 steps",
        "progress": [1, 2, 3, 4, 5],
        "resource": "hello from fastmcp",
        "prompt": "Please review progress.",
    },
}
SERVERS = ["ev-http", "ev-sse", "ev-stdio", "fm-http", "fm-stdio"]


def check(answer: dict, kinds: list[str], prefixes: list[str]) -> None:
    """Holds what a host saw against what the servers are known to offer; a field it lacks is not asked."""
    for kind, prefix in zip(kinds, prefixes):
        known = KINDS[kind]
        for list_name in ("tools", "prompts"):
            if list_name in answer:
                missing = {prefix + name for name in known[list_name]} - set(answer[list_name])
                assert not missing, f"{list_name} not listed: {missing}; listed: {answer[list_name]}"
        if "resources" in answer:
            assert known["resources"] <= set(answer["resources"])
    for list_name in ("tools", "prompts", "resources"):
        names = answer.get(list_name, [])
        assert len(names) == len(set(names)), f"listed twice: {names}"
    for kind, step in zip(kinds, answer.get("steps", [])):
        known = KINDS[kind]
        assert step["text"] == known["text"] and not step["error"]
        assert step.get("progress", known["progress"]) == known["progress"]
        assert known["resource"] in step["resource"]
        assert step["prompt"] == known["prompt"]
    assert answer.get("terminated", True)


def plan(url: str, kinds: list[str], prefixes: list[str]) -> dict:
    steps = []
    for kind, prefix in zip(kinds, prefixes):
        step = KINDS[kind]["step"]
        steps.append({**step, "tool": prefix + step["tool"], "prompt": prefix + step["prompt"]})
    return {"url": url, "steps": steps}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("host", HOSTS)
def test_pair(host, server, direct, request):
    kind = server.split("-")[0]
    if direct:
        if not server.endswith("-http"):
            pytest.skip("without the gateway these hosts meet the http servers only")
        url = request.getfixturevalue("everything" if kind == "ev" else "fastmcp_server").url
        check(HOSTS[host](plan(url, [kind], [""])), [kind], [""])
        return
    gateway = request.getfixturevalue("single").get()
    try:
        check(HOSTS[host](plan(gateway.server_url(server), [kind], [""])), [kind], [""])
    except Exception:
        print(f"gateway log:\n{gateway.tail(20)}")
        raise


@pytest.mark.parametrize("host", HOSTS)
def test_aggregate(host, direct, request):
    """One endpoint, two servers: names carry their server's prefix, and calls reach the right one."""
    if direct:
        pytest.skip("there is no aggregate without the gateway")
    gateway = request.getfixturevalue("aggregate").get()
    kinds, prefixes = ["ev", "fm"], ["ev-", "fm-"]
    try:
        check(HOSTS[host](plan(gateway.mcp_url, kinds, prefixes)), kinds, prefixes)
    except Exception:
        print(f"gateway log:\n{gateway.tail(20)}")
        raise


@pytest.mark.parametrize("server", ["ev-sse", "ev-stdio", "fm-stdio"])
def test_other_transports_directly(server, request):
    """The sse and stdio servers themselves work on this machine, by a stock client that speaks both."""
    from fastmcp import Client
    from fastmcp.client.transports import SSETransport, StdioTransport
    if server == "ev-sse":
        transport = SSETransport(request.getfixturevalue("everything_sse").url)
    else:
        entry = upstreams.stdio_everything() if server == "ev-stdio" else upstreams.stdio_fastmcp()
        transport = StdioTransport(entry["command"], entry["args"], env=tool_env(), keep_alive=False)

    async def run():
        async with Client(transport, mode="legacy") as client:
            return {"tools": [tool.name for tool in await client.list_tools()]}
    kind = server.split("-")[0]
    check(asyncio.run(run()), [kind], [""])


def test_plans_are_plain_json():
    """Hosts in other languages read the plan: nothing in it may need Python."""
    for kind in KINDS:
        made = plan("http://127.0.0.1/mcp", [kind], ["p-"])
        assert json.loads(json.dumps(made)) == made
