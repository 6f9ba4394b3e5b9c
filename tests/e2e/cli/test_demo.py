"""The demo upstream is a real MCP server, over HTTP and stdio."""
import json
import subprocess
import threading

import pytest

from lib.paths import gateway_binary


def rpc(method, params=None, id=None):
    message = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return message


def opening(revision="2025-11-25"):
    return rpc("initialize", {"protocolVersion": revision, "capabilities": {},
                              "clientInfo": {"name": "t", "version": "1"}}, 0)


def open_session(post, url, revision="2025-11-25"):
    status, headers, body = post(url, opening(revision))
    assert status == 200
    assert json.loads(body)["result"]["protocolVersion"] == revision
    return headers["Mcp-Session-Id"]


def events(body):
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_revision_is_spoken(demo, post, revision):
    url = demo()
    session = open_session(post, url, revision)
    assert post(url, rpc("notifications/initialized"), session)[0::2] == (202, "")
    status, _, body = post(url, rpc("tools/call", {"name": "echo", "arguments": {"a": 1}}, "x"), session)
    answer = json.loads(body)
    assert status == 200 and answer["id"] == "x"
    assert ("structuredContent" in answer["result"]) == (revision >= "2025-06-18")


def test_an_unknown_revision_is_answered_with_the_newest(demo, post):
    _, _, body = post(demo(), opening("2099-01-01"))
    assert json.loads(body)["result"]["protocolVersion"] == "2025-11-25"


def test_sessions_begin_and_end(demo, post):
    url = demo()
    assert post(url, rpc("tools/list", id=1))[0] == 400
    assert post(url, rpc("tools/list", id=1), "nobody")[0] == 404
    session = open_session(post, url)
    assert post(url, rpc("tools/list", id=1), session)[0] == 200
    assert post(url, "", session, method="DELETE")[0] == 204
    assert post(url, rpc("tools/list", id=1), session)[0] == 404
    assert post(url, "", session, method="DELETE")[0] == 404


@pytest.mark.parametrize("token", ['0', '""', '-5', '18446744073709551615', '"1"', '9007199254740993'])
def test_progress_carries_the_exact_token_and_comes_before_the_result(demo, post, token):
    url = demo()
    session = open_session(post, url)
    body = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"countdown",'
            '"arguments":{"from":3,"delay_ms":0},"_meta":{"progressToken":%s}}}' % token)
    status, headers, said = post(url, body, session)
    assert status == 200 and headers["Content-Type"] == "text/event-stream"
    notes = [line for line in said.splitlines() if "notifications/progress" in line]
    assert len(notes) == 3 and all('"progressToken":%s,' % token in line for line in notes)
    assert [m["params"]["progress"] for m in events(said)[:3]] == [1, 2, 3]
    assert "result" in events(said)[-1]


def test_without_a_token_the_answer_is_plain_json(demo, post):
    url = demo()
    session = open_session(post, url)
    _, headers, said = post(url, rpc("tools/call", {"name": "countdown", "arguments": {"from": 3, "delay_ms": 0}}, 1),
                            session)
    assert headers["Content-Type"] == "application/json" and "result" in json.loads(said)


def test_echo_returns_its_arguments_byte_for_byte(demo, post):
    url = demo()
    session = open_session(post, url)
    exact = '{"n": 9007199254740993,"f":1.10, "u":"\\u00e9é","o":{"z":1,"a":[ ]}}'
    _, _, body = post(url, '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%s}}'
                      % exact, session)
    assert '"structuredContent":%s}' % exact in body
    assert json.loads(body)["result"]["content"][0]["text"] == exact


def test_a_cancelled_call_ends_without_a_response(demo, post):
    url = demo()
    session = open_session(post, url)
    said = {}
    call = threading.Thread(target=lambda: said.update(
        answer=post(url, rpc("tools/call", {"name": "slow", "arguments": {"ms": 20000}}, "c"), session)))
    call.start()
    # The call may not have arrived yet; an id that is not running is ignored, as it must be.
    while call.is_alive():
        assert post(url, rpc("notifications/cancelled", {"requestId": "c"}), session)[0] == 202
        call.join(0.05)
    assert said["answer"][0] == 200 and said["answer"][2] == ""


def test_pages_joined_are_the_whole_list(demo, post):
    url = demo("--tools", "23", "--page-size", "5")
    session = open_session(post, url)
    names, cursor, pages = [], None, 0
    while True:
        _, _, body = post(url, rpc("tools/list", {"cursor": cursor} if cursor else {}, 1), session)
        result = json.loads(body)["result"]
        names += [tool["name"] for tool in result["tools"]]
        pages += 1
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    assert pages == 6 and len(names) == 28 == len(set(names))
    _, _, body = post(url, rpc("tools/list", {"cursor": "forged"}, 1), session)
    assert json.loads(body)["error"]["code"] == -32602


@pytest.mark.parametrize("headers, status", [
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "http://localhost:6274"}, 200),
    ({"Host": "evil.example"}, 403),
    ({"Content_Type": "text/plain"}, 415),
    ({"Accept": "application/json"}, 406),
    ({"MCP_Protocol_Version": "1999-01-01"}, 400),
])
def test_requests_are_checked_before_they_are_served(demo, post, headers, status):
    assert post(demo(), opening(), **headers)[0] == status


@pytest.mark.parametrize("body, code", [
    ("{", -32700), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), ("[]", -32600)])
def test_what_is_no_message_is_400(demo, post, body, code):
    status, _, said = post(demo(), body)
    assert status == 400 and json.loads(said)["error"]["code"] == code


@pytest.mark.parametrize("method, params, code", [
    ("nothing/such", {}, -32601),
    ("tools/call", {"name": "none"}, -32602),
    ("resources/read", {"uri": "demo://none"}, -32002),
    ("prompts/get", {"name": "none"}, -32602),
    ("logging/setLevel", {"level": "loud"}, -32602),
])
def test_errors_have_their_codes(demo, post, method, params, code):
    url = demo()
    session = open_session(post, url)
    status, _, body = post(url, rpc(method, params, 1), session)
    assert status == 200 and json.loads(body)["error"]["code"] == code


def test_log_messages_come_once_a_level_is_set(demo, post):
    url = demo()
    session = open_session(post, url)
    call = rpc("tools/call", {"name": "countdown", "arguments": {"from": 1, "delay_ms": 0}}, 1)
    assert "notifications/message" not in post(url, call, session)[2]
    assert post(url, rpc("logging/setLevel", {"level": "info"}, 2), session)[0] == 200
    levels = [m["params"]["level"] for m in events(post(url, call, session)[2])[:-1]]
    assert levels == ["info"]


def test_batches_are_for_2025_03_26_only(demo, post):
    url = demo()
    batch = json.dumps([rpc("ping", id=1), rpc("notifications/initialized"), rpc("ping", id=2)])
    session = open_session(post, url, "2025-03-26")
    assert [m["id"] for m in events(post(url, batch, session)[2])] == [1, 2]
    assert post(url, batch, open_session(post, url))[0] == 400


def test_stdio_speaks_lines_and_ends_with_its_input(cli):
    lines = [opening("2025-06-18"), rpc("notifications/initialized"),
             rpc("tools/call", {"name": "echo", "arguments": {"a": "b"}}, "a"),
             rpc("tools/call", {"name": "countdown", "arguments": {"from": 2, "delay_ms": 0},
                                "_meta": {"progressToken": 0}}, 5)]
    said = cli("demo-upstream", "--stdio", stdin="".join(json.dumps(m) + "\n" for m in lines) + "nonsense\n")
    messages = [json.loads(line) for line in said.out.splitlines()]
    assert said.status == 0 and said.err == ""
    assert {json.dumps(m["id"]) for m in messages if "id" in m} == {"0", '"a"', "5", "null"}
    assert [m["params"]["progressToken"] for m in messages if "method" in m] == [0, 0]


def test_stdio_cancels(cli):
    child = subprocess.Popen([gateway_binary(), "demo-upstream", "--stdio"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    with child:
        for message in [opening(), rpc("tools/call", {"name": "slow", "arguments": {"ms": 60000}}, 7),
                        rpc("notifications/cancelled", {"requestId": 7}), rpc("ping", id=8)]:
            child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()
        ids = [json.loads(child.stdout.readline())["id"] for _ in range(2)]
        child.stdin.close()
        rest = child.stdout.read()
        assert child.wait(10) == 0
    assert ids == [0, 8] and rest == ""
