"""Requests that nobody honest sends: refused with the right code, at no cost, and the next one is served."""
import threading

import pytest

from fake.host import Closed, Wire, request_bytes
from kit import R4, grew_less, http, message_error, rss
from lib.procs import wait_until

PING = b'{"jsonrpc":"2.0","id":8,"method":"ping"}'


@pytest.fixture
def gateway(gateways, fake):
    return gateways({'up': http(fake)})


@pytest.fixture
def url(gateway):
    return gateway.server_url('up')


def raw(gateway, text, wait=True):
    """Sends exact bytes; the status of the answer, or 'closed'."""
    wire = Wire(('127.0.0.1', gateway.port), timeout=10)
    try:
        wire.send(text if isinstance(text, bytes) else text.encode('latin-1'))
        return wire.answer().status
    except Closed:
        return 'closed'
    finally:
        wire.close()


# ---- Origin and Host ---------------------------------------------------------------------

@pytest.mark.parametrize('origin', ['http://evil.example', 'null', 'https://127.0.0.1.evil.example', 'http://localhost.evil',
                                    'file://', 'http://evil.example:80', 'garbage'])
@pytest.mark.parametrize('method', ['POST', 'GET', 'DELETE', 'OPTIONS'])
def test_a_foreign_origin_is_forbidden(host, method, origin):
    body = PING if method == 'POST' else None
    replace = [('Origin', origin)] + ([('Accept', 'text/event-stream')] if method == 'GET' else [])
    assert host.send(method, body, replace=replace).status == 403


@pytest.mark.parametrize('name', ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil:8080', '10.0.0.1'])
def test_a_foreign_host_is_forbidden(host, name):
    assert host.post(PING, replace=[('Host', name)]).status == 403


@pytest.mark.parametrize('name', ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]'])
def test_loopback_names_are_served(host, name):
    port = host.address[1]
    assert host.post(PING, replace=[('Host', '%s:%d' % (name, port))]).status == 200
    assert host.post(PING, replace=[('Origin', 'http://%s:%d' % (name.lower(), port))]).status == 200


def test_allowed_hosts_and_origins_are_served_and_others_not(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, allowed_hosts=['gw.example', 'only.example:8443'],
                       allowed_origins=['https://app.example'], public_url='https://public.example')
    host = hosts(gateway.server_url('up')).open()
    for replace, status in (([('Host', 'gw.example')], 200), ([('Host', 'gw.example:1')], 200), ([('Host', 'GW.example')], 200),
                            ([('Host', 'only.example:8443')], 200), ([('Host', 'only.example:1')], 403),
                            ([('Host', 'public.example')], 200), ([('Host', 'other.example')], 403),
                            ([('Origin', 'https://app.example')], 200), ([('Origin', 'http://app.example')], 403),
                            ([('Origin', 'https://public.example')], 200), ([('Origin', 'https://x.example')], 403)):
        assert host.post(PING, replace=replace).status == status, replace


# ---- sizes and times -----------------------------------------------------------------------

def ping_of(size):
    return b'{"jsonrpc":"2.0","id":10,"method":"ping","params":{"_meta":{"x":"%s"}}}' % (b'a' * size)


def chunks_of(data, size=1 << 20):
    parts = [data[i:i + size] for i in range(0, len(data), size)]
    return b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in parts) + b'0\r\n\r\n'


@pytest.mark.parametrize('chunked', [False, True])
def test_a_body_below_the_bound_is_served(host, chunked):
    body = ping_of(1000000)
    if chunked:
        answer = host.post(chunks_of(body), replace=[('Transfer-Encoding', 'chunked'), ('Content-Length', None)])
    else:
        answer = host.post(body)
    assert answer.status == 200 and answer.result() == '{}'


def test_a_declared_body_over_the_bound_is_refused_before_it_is_sent(gateway, host):
    head = request_bytes('POST', host.path, host.standard([('Content-Type', 'application/json'),
                                                           ('Content-Length', '99999999999')]))
    assert raw(gateway, head) == 413
    assert host.post(PING).status == 200


@pytest.mark.parametrize('megabytes', [8, 64])
def test_a_chunked_body_over_the_bound_is_refused_without_being_kept(gateway, host, megabytes):
    before = rss(gateway.pid)
    wire = host.wire()
    wire.send(request_bytes('POST', host.path, host.standard([('Content-Type', 'application/json'),
                                                              ('Transfer-Encoding', 'chunked')])))
    piece = b'100000\r\n' + b'a' * (1 << 20) + b'\r\n'
    try:
        for _ in range(megabytes):
            wire.send(piece)
    except (ConnectionError, TimeoutError):
        pass
    try:
        assert wire.answer().status == 413
    except (Closed, ConnectionError):
        pass            # refused and closed while we were still writing
    grew_less(gateway.pid, before, 20 << 20)
    assert host.post(PING).status == 200


@pytest.mark.parametrize('headers', [[('X-Pad', 'h' * 40000)], [('X-%d' % i, 'h' * 100) for i in range(400)],
                                     [('H' * 40000, 'x')]])
def test_headers_over_the_bound_are_431(host, headers):
    assert host.post(PING, replace=headers).status == 431


def test_a_long_target_is_refused(host):
    assert host.post(PING, path='/mcp?' + 'x' * 40000).status in (414, 431)


def test_a_slow_head_is_408(gateways, fake):
    gateway = gateways({'up': http(fake)}, timeouts={'header': '300ms', 'body': '300ms'})
    assert raw(gateway, 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow') == 408


def test_a_slow_body_is_408(gateways, fake):
    gateway = gateways({'up': http(fake)}, timeouts={'header': '300ms', 'body': '300ms'})
    for extra in ('Content-Length: 50\r\n\r\n{"json', 'Transfer-Encoding: chunked\r\n\r\n6\r\n{"json\r\n'):
        assert raw(gateway, 'POST /up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
                   'Accept: application/json, text/event-stream\r\n' + extra) == 408


def test_connections_are_bounded_and_freed(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, limits={'connections': 5})
    held = [Wire(('127.0.0.1', gateway.port)) for _ in range(5)]
    for wire in held:       # each really is a connection being served
        wire.send(request_bytes('POST', '/up/mcp', [('Host', '127.0.0.1'), ('Content-Type', 'application/json'),
                  ('Accept', 'application/json, text/event-stream'), ('Content-Length', len(PING))], PING))
        assert wire.answer().body()
    assert raw(gateway, request_bytes('GET', '/mcp', [('Host', '127.0.0.1')])) in (503, 'closed')
    held.pop().close()
    wait_until(lambda: raw(gateway, request_bytes('GET', '/', [('Host', '127.0.0.1')])) == 404, what='a free place')


# ---- media types ----------------------------------------------------------------------------

@pytest.mark.parametrize('type', ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '', 'json'])
def test_a_body_that_is_not_json_by_type_is_415(host, type):
    assert host.post(PING, replace=[('Content-Type', type)]).status == 415


def test_a_body_without_a_type_is_415(host):
    assert host.post(PING, replace=[('Content-Type', None)]).status == 415


@pytest.mark.parametrize('type', ['application/json', 'application/json; charset=utf-8', 'Application/JSON'])
def test_json_by_any_spelling_is_served(host, type):
    assert host.post(PING, replace=[('Content-Type', type)]).status == 200


@pytest.mark.parametrize('accept', ['application/json', 'text/event-stream', 'text/html', None])
def test_an_accept_without_both_types_is_406(host, accept):
    assert host.post(PING, replace=[('Accept', accept)]).status == 406


@pytest.mark.parametrize('accept', ['*/*', 'application/json,text/event-stream', 'text/event-stream;q=0.5, application/json',
                                    'application/*, text/*', 'APPLICATION/JSON, Text/Event-Stream'])
def test_an_accept_with_both_types_is_served(host, accept):
    assert host.post(PING, replace=[('Accept', accept)]).status == 200


@pytest.mark.parametrize('method', ['PUT', 'PATCH', 'HEAD', 'TRACE', 'BREW'])
def test_another_method_is_405_and_says_what_is_allowed(host, method):
    answer = host.send(method, None)
    assert answer.status in (405, 501)
    if answer.status == 405:
        assert 'POST' in answer.header('allow')


# ---- JSON ------------------------------------------------------------------------------------

DEEP = b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":%s}}'
BAD = {
    'cut': (b'{"jsonrpc":"2.0","id":9,', -32700),
    'fifty thousand brackets': (b'[' * 50000, -32700),
    'too deep': (DEEP % (b'[' * 200 + b']' * 200), -32700),
    'empty': (b'', -32700),
    'bad UTF-8': (b'{"jsonrpc":"2.0","id":9,"method":"pi\xff\xfeng"}', -32700),
    'overlong UTF-8': (b'{"jsonrpc":"2.0","id":9,"method":"\xc0\xaf"}', -32700),
    'a surrogate in UTF-8': (b'{"jsonrpc":"2.0","id":9,"method":"\xed\xa0\x80"}', -32700),
    'a bare control character': (b'{"jsonrpc":"2.0","id":9,"method":"a\nb"}', -32700),
    'a trailing comma': (b'{"jsonrpc":"2.0","id":9,"method":"ping",}', -32700),
    'two values': (b'{"jsonrpc":"2.0","id":9,"method":"ping"}{}', -32700),
    'NaN': (DEEP % b'NaN', -32700),
    'a leading zero': (DEEP % b'01', -32700),
    'a comment': (b'/*x*/{"jsonrpc":"2.0","id":9,"method":"ping"}', -32700),
    'a byte order mark': (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":9,"method":"ping"}', -32700),
    'not JSON-RPC': (b'{"hello":1}', -32600),
    'a string': (b'"ping"', -32600),
    'null': (b'null', -32600),
    'another version': (b'{"jsonrpc":"1.0","id":9,"method":"ping"}', -32600),
    'no version': (b'{"id":9,"method":"ping"}', -32600),
    'id null': (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    'id true': (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    'id an object': (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    'id a fraction': (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    'method a number': (b'{"jsonrpc":"2.0","id":9,"method":7}', -32600),
    'method missing': (b'{"jsonrpc":"2.0","id":9}', -32600),
    'params a string': (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":"x"}', -32600),
    'id twice': (b'{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}', -32600),
    'method twice': (b'{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/list"}', -32600),
    'method twice by an escape': (b'{"jsonrpc":"2.0","id":9,"method":"ping","m\\u0065thod":"tools/list"}', -32600),
    'params twice': (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"exact"},"params":{"name":"err"}}', -32600),
    'name twice': (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"exact","n\\u0061me":"err"}}', -32600),
    'token twice': (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"exact","_meta":{"progressToken":1,'
                    b'"progressToken":2}}}', -32600),
    'meta twice': (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"exact","_meta":{},"_meta":{}}}', -32600),
    'an empty batch': (b'[]', -32600),
}


@pytest.mark.parametrize('what', BAD)
def test_a_bad_body_is_400_and_reaches_nobody(host, fake, what):
    body, code = BAD[what]
    before = len(fake.records)
    message_error(host.post(body), status=400, code=code)
    # What the gateway does by itself in the background, to learn the catalogue, is not this request's doing.
    own = ('initialize', 'notifications/initialized', 'tools/list')
    assert [r.rpc for r in fake.records[before:] if r.method == 'POST' and r.rpc not in own] == []
    assert host.post(PING).status == 200


def test_unread_members_may_be_doubled_and_travel(host, fake):
    body = '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2},"x":1,"x":2}}'
    assert host.post(body).result()
    assert fake.seen(tool='echo')[-1].raw('params', 'arguments') == '{"a":1,"a":2}'


def test_lone_surrogate_escapes_are_legal_and_travel(host, fake):
    host.call('echo', '{"s":"\\ud800 \\udfff"}').result()
    assert fake.seen(tool='echo')[-1].raw('params', 'arguments') == '{"s":"\\ud800 \\udfff"}'


def test_depth_up_to_the_bound_is_served(host):
    assert host.post(DEEP % (b'[' * 100 + b']' * 100)).status == 200


# ---- framing (decision 15) -------------------------------------------------------------------

BODY = PING.decode()
LENGTH = 'Content-Length: %d\r\n' % len(BODY)
CHUNKED = '%x\r\n%s\r\n0\r\n\r\n' % (len(BODY), BODY)
FORMS = {
    'chunked with an x': ('Transfer-Encoding: xchunked\r\n', CHUNKED),
    'chunked, identity': ('Transfer-Encoding: chunked, identity\r\n', CHUNKED),
    'gzip, chunked': ('Transfer-Encoding: gzip, chunked\r\n', CHUNKED),
    'identity': ('Transfer-Encoding: identity\r\n', CHUNKED),
    'two transfer encodings': ('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', CHUNKED),
    'both framings': ('Transfer-Encoding: chunked\r\n' + LENGTH, CHUNKED),
    'both framings, length first': (LENGTH + 'Transfer-Encoding: chunked\r\n', CHUNKED),
    'two lengths': (LENGTH + LENGTH, BODY),
    'two different lengths': (LENGTH + 'Content-Length: 0\r\n', BODY),
    'a list of lengths': ('Content-Length: %d, %d\r\n' % (len(BODY), len(BODY)), BODY),
    'a signed length': ('Content-Length: +%d\r\n' % len(BODY), BODY),
    'a negative length': ('Content-Length: -1\r\n', BODY),
    'a hexadecimal length': ('Content-Length: 0x28\r\n', BODY),
    'a length with a tail': ('Content-Length: %d;a=b\r\n' % len(BODY), BODY),
    'an endless length': ('Content-Length: 99999999999999999999999\r\n', BODY),
    'an empty length': ('Content-Length: \r\n', BODY),
    'a folded header': ('X-A: b\r\n c\r\n' + LENGTH, BODY),
    'a folded transfer encoding': ('Transfer-Encoding:\r\n chunked\r\n', CHUNKED),
    'a space before the colon': ('Transfer-Encoding : chunked\r\n', CHUNKED),
    'a header without a colon': ('Nonsense\r\n' + LENGTH, BODY),
    'a NUL in a header': ('X-A: a\0b\r\n' + LENGTH, BODY),
    'a bare CR in a header': ('X-A: a\rTransfer-Encoding: chunked\r\n' + LENGTH, BODY),
    'a chunk size with a sign': ('Transfer-Encoding: chunked\r\n', '+' + CHUNKED),
    'a chunk size of 0x': ('Transfer-Encoding: chunked\r\n', '0x' + CHUNKED),
    'a chunk size that overflows': ('Transfer-Encoding: chunked\r\n', 'fffffffffffffffff\r\n' + CHUNKED),
    'a chunk without its end': ('Transfer-Encoding: chunked\r\n', CHUNKED.replace('}\r\n0', '}xx0')),
}
HEAD = ('POST /up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
        'Accept: application/json, text/event-stream\r\n')


def test_the_ordinary_forms_are_served(gateway):
    assert raw(gateway, HEAD + LENGTH + '\r\n' + BODY) == 200
    assert raw(gateway, HEAD + 'Transfer-Encoding: chunked\r\n\r\n' + CHUNKED) == 200
    assert raw(gateway, HEAD + 'Transfer-Encoding: Chunked\r\n\r\n' + CHUNKED) == 200


@pytest.mark.parametrize('form', FORMS)
def test_a_smuggling_form_is_400_and_the_connection_ends(gateway, fake, form):
    headers, body = FORMS[form]
    smuggled = HEAD + LENGTH + '\r\n' + BODY
    wire = Wire(('127.0.0.1', gateway.port), timeout=10)
    wire.send((HEAD + headers + '\r\n' + body + smuggled).encode('latin-1'))
    try:
        answer = wire.answer()
        status, extra = answer.status, answer.body()
        assert status in (400, 413, 501) and (status == 400 or form in ('an endless length',)), (status, extra)
    except Closed:
        pytest.fail('closed without an answer')
    assert wire.closed_by_peer(), 'the connection lives on'
    assert b'HTTP/1.1' not in wire.buffer, 'the smuggled request was answered'


@pytest.mark.parametrize('target', ['HTTP', 'http', 'https', 'http:', 'http:/', '://', 'mcp', '*', 'http://', 'https://?', 'http:///mcp'])
def test_a_target_that_is_no_path_and_no_url_is_400_and_harms_nothing(gateway, target):
    assert raw(gateway, f'GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n') == 400
    assert raw(gateway, HEAD + LENGTH + '\r\n' + BODY) == 200


@pytest.mark.parametrize('start', ['POST /up/mcp HTTP/1.1\r\n', 'POST /up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n',
                                   'POST /up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n',
                                   'POST /up/mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n',
                                   'POST /up/mcp HTTP/2.0\r\nHost: 127.0.0.1\r\n', 'POST /up/mcp\r\n', 'GARBAGE\r\n',
                                   'POST  /up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n',
                                   'POST /up/mcp HTTP/1.1 \r\nHost: 127.0.0.1\r\n'])
def test_a_request_line_or_host_that_is_not_plain_is_refused(gateway, start):
    rest = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
    rest += '' if 'Transfer' in start else LENGTH
    body = CHUNKED if 'Transfer' in start else BODY
    assert raw(gateway, start + rest + '\r\n' + body) in (400, 505, 'closed')


def test_two_requests_in_one_write_are_both_answered_in_order(gateway):
    wire = Wire(('127.0.0.1', gateway.port))
    wire.send((2 * (HEAD + LENGTH + '\r\n' + BODY)).encode())
    for _ in range(2):
        answer = wire.answer()
        assert answer.status == 200 and answer.result() == '{}'
    wire.close()


def test_many_clients_that_hang_up_anywhere_leave_it_working(gateway, host):
    whole = (HEAD + LENGTH + '\r\n' + BODY).encode()

    def strike(at):
        wire = Wire(('127.0.0.1', gateway.port))
        wire.send(whole[:at])
        wire.close()
    threads = [threading.Thread(target=strike, args=(at,)) for at in range(0, len(whole), 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert host.post(PING).status == 200


def test_the_host_id_of_a_bad_request_is_told_where_it_could_be_read(host):
    answer = host.post('{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"exact","name":"err"}}')
    assert '"mine"' in answer.final() or '"id":null' in answer.final()


def test_a_revision_of_its_own_in_the_header_is_no_way_around_the_batch_rule(hosts, url):
    host = hosts(url, revision=R4).open()
    answer = host.post('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', replace=[('MCP-Protocol-Version', '2025-03-26')])
    assert answer.status == 400
