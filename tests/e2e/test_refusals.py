"""What a request that is turned away leaves behind: one log line, one metric, and words for who debugs."""
import json
import re
from pathlib import Path

import pytest

from fake.host import Host, Wire
from fake.sse_host import SseHost
from kit import R1, R2, http, key
from lib.procs import wait_until

GOOD, BAD = 'sk-good-CANARY', 'sk-bad-CANARY'
DEBUG = ('x-sluice-debug', 'true')
PREFIX = 'x-sluice-debug-'


@pytest.fixture
def up(fakes):
    return fakes('up')


@pytest.fixture
def gateway(gateways, up, fakes):
    hidden = fakes('hidden')
    return gateways({'up': http(up, tool_name_to_display_name={'echo': 'shout'}, disallowed_tools=['whoami']),
                     'hidden': http(hidden)},
                    keys=[key('alice', GOOD, servers=['up']), key('root', 'sk-root')])


@pytest.fixture
def alice(gateway, hosts):
    return lambda url=None, *more: hosts(url or gateway.server_url('up'), headers=[('x-sluice-api-key', GOOD), *more])


def lines(gateway, event):
    return [line for line in map(json.loads, filter(lambda s: s.startswith('{'), gateway.log.splitlines()))
            if line.get('event') == event]


def refused(gateway, count):
    """The lines of that many refusals: the log is read by a thread of its own."""
    wait_until(lambda: len(lines(gateway, 'refused')) >= count, 5, 'the line of a refusal')
    return lines(gateway, 'refused')


def logged(gateway, method):
    def look():
        return next((line for line in lines(gateway, 'call') if line['method'] == method), None)
    wait_until(look, 5, 'the line of ' + method)
    return look()


def told(answer):
    return {n.lower()[len(PREFIX):]: v for n, v in answer.headers if n.lower().startswith(PREFIX)}


def refusals(gateway, hosts, alice):
    """(status, reason, path, key name, the request), for every kind of refusal of ours."""
    base, own = gateway.base_url, '/up/mcp'
    text = alice().text('ping')
    post = lambda *replace, body=text, url=None: alice(url).send('POST', body, replace=list(replace))  # noqa: E731
    return [
        (401, 'unauthorized', own, None, lambda: hosts(base + own, headers=[('Authorization', 'Bearer ' + BAD)]).initialize()),
        (403, 'forbidden', own, None, lambda: post(('Origin', 'https://evil.example'))),
        (403, 'forbidden', own, None, lambda: post(('Host', 'evil.example'))),
        (403, 'forbidden', own, None, lambda: post(('Host', '127.0.0.1:x@evil.example'))),
        (404, 'not_found', '/nowhere', None, lambda: post(url=base + '/nowhere')),
        (404, 'not_found', '/hidden/mcp', 'alice', lambda: post(url=base + '/hidden/mcp')),
        (404, 'not_found', own, 'alice', lambda: post(('Mcp-Session-Id', 'no-such-CANARY'))),
        (400, 'parse_error', own, 'alice', lambda: post(body='{"CANARY":')),
        (405, 'method_not_allowed', own, 'alice', lambda: alice().send('PUT', text)),
        (406, 'not_acceptable', own, 'alice', lambda: post(('Accept', 'text/html'))),
        # The length alone is enough: more would meet a connection that is being closed.
        (413, 'too_large', own, 'alice', lambda: post(('Content-Length', str(5 << 20)), body='"x')),
        (415, 'unsupported_media_type', own, 'alice', lambda: post(('Content-Type', 'text/plain'))),
    ]


def test_each_refusal_has_one_line_and_one_count(gateway, hosts, alice, up):
    cases = refusals(gateway, hosts, alice)
    for i, (status, reason, path, who, send) in enumerate(cases):
        metric = 'sluice_requests_refused_total{reason="%s"}' % reason
        before = gateway.metrics().get(metric, 0)
        assert send().status == status, (status, path)
        assert gateway.metrics()[metric] == before + 1
        logged = refused(gateway, i + 1)
        assert len(logged) == i + 1, (status, path)
        line = logged[-1]
        assert (line['status'], line['reason'], line['endpoint'], line.get('key')) == (status, reason, path, who)
        assert line['method'] in ('POST', 'PUT')
    assert 'CANARY' not in gateway.log, 'a credential, a session id or a body'


def raw(gateway, text):
    """The answer to exact bytes."""
    wire = Wire(('127.0.0.1', gateway.port), timeout=10)
    try:
        wire.send(text.encode('latin-1'))
        answer = wire.answer()
        return answer.status, json.loads(answer.body())['error'], answer.header('content-type')
    finally:
        wire.close()


def test_a_refusal_after_a_head_has_its_body(gateway):
    wire = Wire(('127.0.0.1', gateway.port), timeout=10)
    try:
        wire.send(b'HEAD /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n')
        assert wire.answer(method='HEAD').status == 404
        wire.send(b'GET /x HTTP/1.1\r\nHost: localhost\r\nbad header line\r\n\r\n')
        answer = wire.answer()
        assert answer.status == 400 and json.loads(answer.body())['error']
    finally:
        wire.close()


REQUEST = 'POST /up/mcp HTTP/1.1\r\nHost: CANARY\r\n'


@pytest.mark.parametrize('status,reason,text,words', [
    (400, 'framing', REQUEST + 'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}', 'more than one Content-Length'),
    (400, 'framing', REQUEST + 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}', 'Transfer-Encoding'),
    (400, 'framing', REQUEST + ' folded: CANARY\r\n\r\n', 'white space'),
    (400, 'framing', REQUEST.replace('\r', '') + '\n', 'CR LF'),
    (400, 'framing', 'CANARY\r\n\r\n', 'not sound HTTP'),
    (431, 'headers_too_large', REQUEST + 'X: CANARY' + 'h' * 40000, '32768 bytes (limits.headers)'),
    (408, 'timeout', REQUEST + 'X-CANARY', '300 ms (timeouts.header)'),
])
def test_what_is_refused_before_it_is_a_request_is_counted_logged_and_explained(gateways, up, status, reason, text, words):
    gateway = gateways({'up': http(up)}, timeouts={'header': '300ms'})
    metric = 'sluice_requests_refused_total{reason="%s"}' % reason
    assert metric not in gateway.metrics()
    answered, error, type = raw(gateway, text)
    assert answered == status and words in error and type == 'application/json', error
    line = refused(gateway, 1)[0]
    assert (line['status'], line['reason'], line['peer'], line['text']) == (status, reason, '127.0.0.1', error)
    assert gateway.metrics()[metric] == 1 and len(lines(gateway, 'refused')) == 1
    assert 'CANARY' not in gateway.log + error


def test_a_connection_too_many_is_counted_logged_and_explained(gateways, up):
    gateway = gateways({'up': http(up)}, limits={'connections': 1})
    held = Wire(('127.0.0.1', gateway.port), timeout=10)
    held.send(b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    assert held.answer().status == 404
    status, error, _ = raw(gateway, '')
    assert status == 503 and '(limits.connections)' in error and 'try again' in error
    line = refused(gateway, 2)[1]
    assert (line['status'], line['reason']) == (503, 'too_many_connections')
    assert gateway.metrics()['sluice_requests_refused_total{reason="too_many_connections"}'] == 1
    held.close()


FLOOD = 40


def left_out(gateway):
    """{(reason, key): [lines, refusals they speak of]} of a gateway that has ended."""
    found = {}
    for line in lines(gateway, 'refused'):
        seen = found.setdefault((line['reason'], line.get('key')), [0, 0])
        seen[0] += 1
        seen[1] += line.get('left_out', 1)
    return found


def test_a_flood_of_no_requests_cannot_fill_the_log_and_is_counted(gateways, up):
    gateway = gateways({'up': http(up)})
    for _ in range(FLOOD):
        assert raw(gateway, 'flood\r\n\r\n')[0] == 400
    assert gateway.metrics()['sluice_requests_refused_total{reason="framing"}'] == FLOOD
    gateway.stop()
    assert list(left_out(gateway)) == [('framing', None)]
    written, counted = left_out(gateway)['framing', None]
    assert written < 20 and counted == FLOOD


def test_a_flood_of_refused_requests_cannot_fill_the_log_nor_hide_another(gateway, hosts, alice):
    """Whatever it is refused for; a window may end within it, so its lines are few, not ten."""
    floods = {}
    for status, reason, path, who, send in refusals(gateway, hosts, alice):
        if path == '/up/mcp' and reason != 'too_large':       # one of each, none with a connection of its own
            floods[reason, who] = send
    for send in floods.values():
        for _ in range(FLOOD):
            send()
    metrics = gateway.metrics()
    gateway.stop()
    found = left_out(gateway)
    assert set(found) == set(floods)
    for (reason, who), (written, counted) in found.items():
        assert written < 25 and counted == FLOOD, (reason, who)
        assert metrics['sluice_requests_refused_total{reason="%s"}' % reason] == FLOOD


def plain(gateway, method, path, *headers):
    """Status and body at the admin listener."""
    host = Host(gateway.admin_url)
    try:
        answer = host.send(method, None, path=path, replace=headers)
        return answer.status, answer.body().decode()
    finally:
        host.close()


REBOUND = [[('Host', name)] for name in ('evil.example', 'evil.example:9090', '127.0.0.1.evil.example', '127.0.0.1:x@evil.example', '')]
FOREIGN = [[('Origin', origin)] for origin in ('http://evil.example', 'http://localhost:1', 'null', 'https://gw.example')]


def test_a_page_in_a_browser_can_neither_see_nor_end_sessions(gateways, up, hosts):
    gateway = gateways({'up': http(up)}, allowed_hosts=['ops.example'], public_url='https://gw.example', allowed_origins=['*'])
    host = hosts(gateway.server_url('up')).open()
    port = gateway.admin_url.rsplit(':', 1)[1]
    for name in ('127.0.0.1:' + port, 'localhost:' + port, '[::1]:' + port, '192.0.2.7', '[2001:db8::1]:9', 'ops.example:' + port, 'gw.example'):
        status, body = plain(gateway, 'GET', '/sessions', ('Host', name))
        assert status == 200 and len(json.loads(body)['sessions']) == 1, name
    mine = json.loads(body)['sessions'][0]['session']
    for i, bad in enumerate(REBOUND + FOREIGN):
        for method, path in (('GET', '/sessions'), ('DELETE', '/sessions/' + mine), ('DELETE', '/sessions?key=open')):
            status, body = plain(gateway, method, path, *bad)
            assert status == 403 and mine not in body and bad[0][0] in body, (method, bad)
        for path in ('/metrics', '/healthz', '/readyz'):
            assert plain(gateway, 'GET', path, *bad)[0] == 200, 'whoever scrapes has any name for it'
    assert gateway.metrics()['sluice_requests_refused_total{reason="forbidden"}'] == 3 * len(REBOUND + FOREIGN)
    assert {line['listener'] for line in refused(gateway, 10)} == {'admin'}
    assert host.ask('ping').status == 200
    own = ('Host', '127.0.0.1:' + port), ('Origin', 'http://127.0.0.1:' + port)
    assert plain(gateway, 'DELETE', '/sessions/' + mine, *own)[0] == 200
    assert host.ask('ping').status == 404


def test_each_refusal_says_what_to_do(gateways, up, hosts):
    gateway = gateways({'up': http(up)}, timeouts={'body': '300ms'}, limits={'streams_per_session': 1},
                       public_url='https://gw.example/tools')
    host = hosts(gateway.server_url('up')).open()
    ping = host.text('ping')
    said = lambda answer: (answer.status, json.loads(answer.body())['error']['message'])  # noqa: E731
    post = lambda *replace, body=ping: said(host.send('POST', body, replace=list(replace)))  # noqa: E731
    listens = host.listen()
    for (status, text), wanted, words in (
            (said(host.send('PUT', ping)), 405, 'POST, GET and DELETE'),
            (said(host.send('POST', ping, path='/mcp/sse')), 405, 'by GET'),
            (said(host.send('POST', ping, path='/nowhere')), 404, '/tools/mcp/{server}'),
            (post(('Content-Length', str(5 << 20)), body='"x'), 413, 'limits.body allows, 4194304'),
            (post(('Content-Length', '99')), 408, 'timeouts.body, 300'),
            (post(('MCP-Protocol-Version', '2026-13-32')), 400, 'what initialize agreed on'),
            (post(('MCP-Protocol-Version', 'x'), ('Mcp-Session-Id', None)), 400, '2025-11-25'),
            (said(host.send('GET', None, replace=[('Accept', 'text/event-stream')])), 429, 'end one first')):
        assert status == wanted and words in text, (status, text)
    listens.close()


def test_too_many_calls_are_logged_as_that(gateways, up, hosts):
    gateway = gateways({'up': http(up)}, limits={'calls_per_session': 1})
    host = hosts(gateway.server_url('up')).open()
    host.start_call('stall')
    up.wait_seen(tool='stall')
    assert host.call('echo').status == 429
    assert [(line['status'], line['reason']) for line in refused(gateway, 1)] == [(429, 'too_many')]


def test_what_is_measured_is_described(gateway, alice):
    alice().open().call('shout').result()
    described = (Path(__file__).resolve().parents[2] / 'docs/metrics.md').read_text()
    names = {re.sub('_(bucket|sum|count)$', '', name.split('{')[0]) for name in gateway.metrics()}
    assert len(names) > 20
    assert [name for name in sorted(names) if '`%s' % name not in described] == []


def test_what_is_refused_on_a_stream_is_logged_too(gateways, up):
    gateway = gateways({'up': http(up)}, limits={'calls_per_session': 1})
    host = SseHost(gateway.server_url('up') + '/sse').connect()
    assert 'begin with initialize' in host.do(host.text('tools/list'))
    host.do(host.text('initialize', {'protocolVersion': R1, 'capabilities': {}, 'clientInfo': {'name': 'x', 'version': '1'}}))
    host.accepted(host.text('tools/call', {'name': 'stall', 'arguments': {}}))
    up.wait_seen(tool='stall')
    assert '"error"' in host.do(host.text('tools/list'))
    wanted = [(400, 'invalid_request', '/mcp/up'), (429, 'too_many', '/mcp/up')]
    assert [(line['status'], line['reason'], line['endpoint']) for line in refused(gateway, 2)] == wanted
    host.close()


def test_a_batch_with_too_many_calls_is_logged_too(gateways, up, hosts):
    gateway = gateways({'up': http(up)}, limits={'calls_per_session': 1})
    host = hosts(gateway.server_url('up'), revision=R2).open()
    both = '[%s,%s]' % tuple(host.text('tools/call', {'name': 'echo', 'arguments': {}}) for _ in range(2))
    assert host.post(both).status == 200
    assert [(line['status'], line['reason']) for line in refused(gateway, 1)] == [(429, 'too_many')]


def test_the_timing_of_a_call_adds_up(gateway, alice):
    alice().open().call('shout').result()
    call = logged(gateway, 'tools/call')
    assert 0 <= call['queue_ms'] <= call['first_byte_ms'] <= call['total_ms']
    assert call['upstream_ms'] <= call['total_ms']


def added_up(line):
    assert 0 <= line['queue_ms'] and 0 < line['upstream_ms'] <= line['total_ms']
    assert line['queue_ms'] + line['upstream_ms'] <= line['total_ms'] + 0.01
    assert line['added_ms'] == pytest.approx(line['total_ms'] - line['upstream_ms'], abs=0.01)
    return line['outcome'], line['endpoint'], line['key']


def test_the_timing_of_an_initialize_adds_up(gateway, alice):
    alice().open()
    wait_until(lambda: lines(gateway, 'session'), 5, 'the line of a session')
    assert [added_up(line) for line in lines(gateway, 'session')] == [('ok', '/mcp/up', 'alice')]


def test_so_it_does_where_the_session_is_a_stream(gateway):
    host = SseHost(gateway.server_url('up') + '/sse', headers=[('x-sluice-api-key', GOOD)]).open()
    wait_until(lambda: lines(gateway, 'session'), 5, 'the line of a session')
    assert [added_up(line) for line in lines(gateway, 'session')] == [('ok', '/mcp/up', 'alice')]
    host.close()


def test_a_list_of_several_servers_has_a_first_byte_too(gateway, hosts):
    hosts(gateway.mcp_url, headers=[('x-sluice-api-key', 'sk-root')]).open().tools()
    listed = logged(gateway, 'tools/list')
    assert 0 < listed['first_byte_ms'] <= listed['total_ms']


# ---- x-sluice-debug: true -----------------------------------------------------------------
@pytest.mark.parametrize('headers,words', [
    ([], 'no key in'),
    ([('x-sluice-api-key', BAD)], 'x-sluice-api-key'),
    ([('Authorization', 'Basic ' + BAD)], 'Authorization'),
    ([('x-litellm-api-key', BAD), ('Authorization', 'Bearer ' + GOOD)], 'x-litellm-api-key'),
])
def test_a_401_tells_where_the_key_was_looked_for(gateway, hosts, headers, words):
    answer = hosts(gateway.server_url('up'), headers=[*headers, DEBUG]).initialize()
    assert answer.status == 401
    assert words in told(answer)['auth'] and set(told(answer)) == {'auth', 'endpoint'}
    assert 'CANARY' not in str(answer.headers) and 'alice' not in str(answer.headers)


def test_a_404_tells_what_the_key_may_see_and_no_more(gateway, alice):
    answer = alice(gateway.server_url('hidden'), DEBUG).initialize()
    assert answer.status == 404
    assert told(answer) == {'auth': "key 'alice' from x-sluice-api-key", 'endpoint': '/hidden/mcp (none)', 'servers': 'up'}
    nobody = alice(gateway.server_url('nobody'), DEBUG).initialize()
    assert told(nobody) == {**told(answer), 'endpoint': '/nobody/mcp (none)'}, 'hidden and missing look alike'


def test_a_foreign_origin_is_told_nothing(alice):
    answer = alice(None, DEBUG, ('Origin', 'https://evil.example')).initialize()
    assert answer.status == 403 and told(answer) == {}


def test_a_call_tells_its_server_and_the_servers_own_name_of_the_tool(gateway, alice):
    one, all_ = alice(None, DEBUG).open(), alice(gateway.mcp_url, DEBUG).open()
    for answer in (one.call('shout'), all_.call('up-shout')):
        assert (told(answer)['server'], told(answer)['tool']) == ('up', 'echo')


def test_a_call_that_became_a_stream_tells_it_too(alice):
    answer = alice(None, DEBUG).open().call('progress', {'n': 3}, token='1')
    assert answer.is_sse and (told(answer)['server'], told(answer)['tool']) == ('up', 'progress')


def test_where_the_answer_has_no_headers_the_202_tells_it(gateway):
    host = SseHost(gateway.base_url + '/mcp/sse', headers=[('x-sluice-api-key', GOOD), DEBUG]).open()
    assert told(host.stream)['endpoint'] == '/mcp (aggregate)' and told(host.stream)['servers'] == 'up'
    for name, where in (('up-shout', ('up', 'echo')), ('hidden-echo', (None, None))):
        call = host.text('tools/call', {'name': name, 'arguments': {}})
        accepted = told(host.accepted(call))
        assert (accepted.get('server'), accepted.get('tool')) == where
        assert host.answer_to(call)
    host.close()


@pytest.mark.parametrize('tool', ['up-whoami', 'hidden-echo', 'nothing'])
def test_what_a_key_may_not_call_is_not_told(gateway, alice, tool):
    answer = alice(gateway.mcp_url, DEBUG).open().call(tool)
    assert '"error"' in answer.body().decode()
    assert 'server' not in told(answer) and 'tool' not in told(answer)


def test_a_name_of_any_bytes_is_safe_in_a_header(gateways, fakes, hosts):
    odd = 'a\r\nx-injected: 1 \u00e9'
    up = fakes('up', extra_tools=[{'name': odd, 'inputSchema': {'type': 'object'}}])
    host = hosts(gateways({'up': http(up)}).server_url('up'), headers=[DEBUG]).open()
    answer = host.call(json.dumps(odd)[1:-1])
    assert answer.header('x-injected') is None
    assert told(answer)['tool'] == 'a%0D%0Ax-injected:%201%20%C3%A9'
