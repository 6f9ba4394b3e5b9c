"""`sluice list` and `sluice call`: a real MCP client with honest exit statuses."""
import json
import os
import signal
import socket
import threading

import pytest

from lib.paths import gateway_binary
from lib.procs import Process


def test_list_shows_every_page_aligned_and_counts_the_rest(cli, demo):
    said = cli("list", demo("--tools", "12", "--page-size", "5"))
    assert said.status == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith("sluice-demo-upstream ")
    assert lines[1] == "17 tools, 1 prompt, 1 resource, 1 template"
    tools = [line for line in lines[3:] if not line.startswith("   ")]
    assert [line.split()[0] for line in tools] == (
        ["countdown", "echo", "slow", "ask", "fail"] + ["item-%d" % n for n in range(1, 13)])
    assert {len(line) - len(line[2:].split(None, 1)[1]) for line in tools} == {13}, "not aligned"
    assert max(map(len, lines)) <= 80 and "\x1b" not in said.out


def test_a_narrow_terminal_wraps_the_descriptions(cli, demo):
    said = cli("list", demo(), COLUMNS="50")
    assert max(map(len, said.out.splitlines())) <= 50
    assert "structured content." in " ".join(said.out.split())


def test_progress_comes_as_plain_lines_on_stderr_and_the_result_on_stdout(cli, demo):
    said = cli("call", demo(), "countdown", "from=4", "delay_ms=5")
    assert (said.status, said.out) == (0, "counted down from 4\n")
    assert said.err.splitlines() == ["countdown %d/4: %d to go" % (n, 4 - n) for n in range(1, 5)]


def test_on_a_terminal_progress_is_one_line_that_fills_up(on_terminal, demo):
    said = on_terminal("call", demo(), "countdown", "from=6", "delay_ms=40")
    assert said.status == 0
    bars = said.out.split("\r\x1b[K")
    assert len(bars) > 3 and "100%  6/6" in bars[-1] and "█" in bars[-1]
    assert "counted down from 6" in said.out and "\x1b[36m" in said.out


def test_no_color_means_no_colour(on_terminal, demo):
    said = on_terminal("call", demo(), "countdown", "from=3", "delay_ms=40", NO_COLOR="1")
    assert said.status == 0 and "█" in said.out
    assert "\x1b[3" not in said.out and "\x1b[2m" not in said.out and "\x1b[1m" not in said.out


def test_values_are_typed_by_the_tools_schema(cli, site):
    schema = {"type": "object", "properties": {"s": {"type": "string"}, "i": {"type": "integer"},
                                               "b": {"type": "boolean"}, "o": {"type": "object"}}}
    site.calls["tools/list"] = lambda h, m: h.result(m, {"tools": [{"name": "t", "inputSchema": schema}]})
    said = cli("call", site.url, "t", "s=5", "i=5", "b=true", 'o={"a":1}', "x=1.5", "y=text")
    assert said.status == 0, said.err
    params = site.messages("tools/call")[0]["params"]
    assert params["arguments"] == {"s": "5", "i": 5, "b": True, "o": {"a": 1}, "x": 1.5, "y": "text"}
    assert params["name"] == "t" and "progressToken" in params["_meta"]


def test_json_arguments_and_raw_results_keep_their_bytes(cli, demo):
    exact = '{"n":9007199254740993,"f":1.10,"z":-0.0,"e":1e400,"s":"\\u00e9"}'
    said = cli("call", demo(), "echo", "--raw", "--json", exact)
    assert said.status == 0, said.err
    assert said.out == '{"content":[{"type":"text","text":%s}],"structuredContent":%s}\n' % (
        json.dumps(exact, ensure_ascii=False), exact)


def test_a_tool_that_says_it_failed_is_status_1(cli, demo):
    said = cli("call", demo(), "fail", "message=no luck")
    assert (said.status, said.out) == (1, "no luck\n")
    assert said.err == "sluice: the tool said that it failed\n"


@pytest.mark.parametrize("argv, sentence", [
    (["call", "URL", "countdown", "from"], "'from' is not key=value"),
    (["call", "URL", "countdown", "from=abc"], "from: 'abc' is not of type integer"),
    (["call", "URL", "echo", "a=1", "--json", "{}"], "either key=value words or --json, not both"),
    (["call", "URL", "echo", "--json", "[1]"], "--json wants an object"),
    (["call", "URL", "echo", "--json", "{"], "--json: "),
    (["list", "URL", "--header", "no colon"], '--header wants "Name: value"'),
    (["list", "ftp://127.0.0.1/"], "ftp://127.0.0.1/: not a usable URL"),
    (["srve"], "there is no command 'srve'; did you mean 'serve'?"),
    (["list"], "url is required"),
    ([], "A subcommand is required"),
])
def test_wrong_usage_is_status_2_with_a_sentence(cli, demo, argv, sentence):
    url = demo()
    said = cli(*[url if a == "URL" else a for a in argv])
    assert said.status == 2 and said.out == ""
    assert said.err.startswith("sluice: ") and sentence in said.err


def test_a_server_that_is_not_there_is_status_3(cli):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d/mcp" % closed.getsockname()[1]
        said = cli("list", url)
    assert said.status == 3 and said.err.startswith("sluice: cannot reach " + url)
    assert said.err.count("\n") == 1


def test_an_error_of_the_server_is_status_3_and_proposes_the_near_name(cli, demo):
    said = cli("call", demo(), "cuntdown", "from=3")
    assert said.status == 3 and "-32602" in said.err and "did you mean 'countdown'?" in said.err


@pytest.mark.parametrize("body, sentence", [
    ("<html>", "neither JSON nor an event stream"),
    ("{", "not a JSON-RPC message"),
    ('{"jsonrpc":"2.0","id":77,"result":{}}', "not a response to the request"),
])
def test_what_is_no_mcp_is_said_to_be_none(cli, site, body, sentence):
    def answer(h, _):
        h.send_response(200)
        h.send_header("Content-Type", "text/html" if body.startswith("<") else "application/json")
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body.encode())
    site.calls["initialize"] = answer
    said = cli("list", site.url)
    assert said.status == 3 and sentence in said.err


def test_http_errors_carry_the_servers_sentence(cli, site):
    site.calls["initialize"] = lambda h, m: h.json({"error": {"message": "no key"}}, 401)
    said = cli("list", site.url)
    assert said.status == 3 and "401 Unauthorized: no key" in said.err and "--header" in said.err


def test_headers_and_session_go_with_every_request_and_the_session_ends(cli, site):
    said = cli("call", site.url, "t", "-H", "x-sluice-api-key: sk-1", "-H", "X-Two:2", "--json", '{"a":1}')
    assert said.status == 0, said.err
    assert [verb for verb, _, _ in site.seen] == ["POST", "POST", "POST", "DELETE"]
    for _, headers, _ in site.seen:
        low = {k.lower(): v for k, v in headers.items()}
        assert low["x-sluice-api-key"] == "sk-1" and low["x-two"] == "2"
    for _, headers, _ in site.seen[1:]:
        low = {k.lower(): v for k, v in headers.items()}
        assert low["mcp-session-id"] == "s-1" and low["mcp-protocol-version"] == "2025-11-25"
    assert site.seen[1][2]["method"] == "notifications/initialized"


def test_a_broken_stream_is_resumed_where_it_was(cli, site):
    site.calls["tools/call"] = lambda h, m: h.events("id: 7\nretry: 20\ndata:\n\n", "id: 8\ndata: {\"jsonrpc\":"
        "\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n")
    site.gets.append(lambda h: h.events("id: 9\ndata:\n\n"))
    site.gets.append(lambda h: h.events('id: 10\ndata: {"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":'
                                        '"text","text":"after all"}]}}\n\n'
                                        % site.messages("tools/call")[0]["id"]))
    said = cli("call", site.url, "t")
    assert (said.status, said.out) == (0, "after all\n"), said.err
    ids = [{k.lower(): v for k, v in headers.items()}["last-event-id"]
           for verb, headers, _ in site.seen if verb == "GET"]
    assert ids == ["8", "9"]


def test_a_stream_that_ends_without_a_result_is_said_to_be_unknown(cli, site):
    site.calls["tools/call"] = lambda h, m: h.events(": nothing\n\n")
    said = cli("call", site.url, "t")
    assert said.status == 3 and "whether the call ran is not known" in said.err


def test_a_ping_of_the_server_is_answered_and_other_questions_are_refused(cli, site):
    def ask(h, m):
        h.events('data: {"jsonrpc":"2.0","id":"q1","method":"ping"}\n\n',
                 'data: {"jsonrpc":"2.0","id":0,"method":"roots/list"}\n\n',
                 'data: {"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n\n' % m["id"])
    site.calls["tools/call"] = ask
    assert cli("call", site.url, "t").status == 0
    answers = {m["id"]: m for verb, _, m in site.seen if verb == "POST" and "method" not in m}
    assert answers["q1"]["result"] == {} and answers[0]["error"]["code"] == -32601


def test_pages_that_go_round_in_circles_end(cli, site):
    site.calls["tools/list"] = lambda h, m: h.result(m, {"tools": [], "nextCursor": "again"})
    said = cli("list", site.url)
    assert said.status == 3 and "circles" in said.err and len(site.messages("tools/list")) == 2


def test_a_silent_server_is_given_up_after_the_timeout(cli, demo):
    said = cli("call", demo(), "slow", "ms=30000", "--timeout", "1")
    assert said.status == 3 and "said nothing in time" in said.err


def test_control_characters_of_a_server_do_not_reach_the_terminal(on_terminal, site):
    site.calls["tools/call"] = lambda h, m: h.result(
        m, {"content": [{"type": "text", "text": "a\x1b]0;title\x07b\x9b31mc"}]})
    said = on_terminal("call", site.url, "t", NO_COLOR="1")
    assert said.status == 0 and "a\ufffd]0;title\ufffdb\ufffd31mc" in said.out


def test_ctrl_c_cancels_the_call_at_the_server_and_ends_the_session(site):
    ended = threading.Event()
    def hold(h, _):
        ended.wait(20)
        h.events()
    site.calls["tools/call"] = hold
    with Process([gateway_binary(), "call", site.url, "t"]) as call:
        site.wait(lambda: site.messages("tools/call"))
        os.kill(call.pid, signal.SIGINT)
        site.wait(lambda: site.messages("notifications/cancelled"))
        ended.set()
        assert call._popen.wait(10) == 130
    wanted = site.messages("tools/call")[0]["id"]
    assert site.messages("notifications/cancelled")[0]["params"]["requestId"] == wanted
    site.wait(lambda: site.seen[-1][0] == "DELETE")


def test_through_the_gateway_it_is_the_same(cli, demo, gateways):
    gateway = gateways({"d": {"url": demo()}, "down": {"url": "http://127.0.0.1:1/mcp"}})
    said = cli("call", gateway.mcp_url, "d-countdown", "from=3", "delay_ms=5")
    assert (said.status, said.out) == (0, "counted down from 3\n")
    assert said.err.splitlines() == ["d-countdown %d/3: %d to go" % (n, 3 - n) for n in range(1, 4)]
    said = cli("list", gateway.mcp_url)
    assert said.status == 0 and "d-echo" in said.out
    assert "sluice: not listed, down: unreachable" in said.err
