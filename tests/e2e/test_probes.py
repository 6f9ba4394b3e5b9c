"""The raw-HTTP probes as one table: HTTP status and JSON-RPC code that a strict gateway gives.

Details of each have tests of their own beside this file; here stands what a peer is measured by.
"""
import json

import pytest

from fake import rawjson
from kit import R2, R4, http, progress_notes, text_of
from lib.procs import wait_until

PING = '{"jsonrpc":"2.0","id":8,"method":"ping"}'


@pytest.mark.direct
@pytest.mark.parametrize('token', ['0', '1', '-7', '9007199254740993', '"abc"', '""'])
def test_1_progress_tokens(host, token):
    messages = host.call('progress', token=token, id='5').messages()
    assert [rawjson.get(n, 'progressToken') for n in progress_notes(messages)] == [token] * 3


def test_1_a_fraction_is_refused(host):
    assert host.call('progress', token='1.5').error()['code'] == -32602


@pytest.mark.direct
def test_2_unknown_session_404_none_400(host, raw_host, fake):
    host.session = '00000000-dead-beef'
    assert host.ask('tools/list').status == 404
    assert raw_host.notify('notifications/initialized').status == 400


@pytest.mark.direct
def test_3_delete_then_404_and_the_upstream_session_is_gone(host, fake):
    used = host.say('whoami').split('|')[1]
    assert host.end().status in (200, 204) and host.ask('ping').status == 404
    fake.wait_event('deleted', session=used)


@pytest.mark.direct
def test_4_get_stream(host, raw_host):
    assert host.listen().status == 200
    assert host.listen().status in (200, 409)
    host.session = '00000000-dead-beef'
    assert host.listen().status == 404


def test_4_wrong_accept_406(host):
    assert host.send('GET', replace=[('Accept', 'application/json')]).status == 406


def test_5_origin_alone_then_host_alone_403(host):
    assert host.post(PING, replace=[('Origin', 'http://evil.example')]).status == 403
    assert host.post(PING, replace=[('Host', 'evil.example')]).status == 403


def test_6_batch(hosts, url):
    both = '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]'
    old = hosts(url, revision=R2).open()
    assert {rawjson.get(m, 'id') for m in old.post(both).messages()} == {'1', '2'}
    assert hosts(url, revision=R4).open().post(both).status == 400


@pytest.mark.parametrize('size, statuses', [(1000000, (200,)), (8000000, (413,)), (64000000, (413,))])
def test_7_bodies_chunked(host, size, statuses):
    body = b'{"jsonrpc":"2.0","id":10,"method":"ping","params":{"_meta":{"x":"' + b'a' * size + b'"}}}'
    chunked = b'%x\r\n%s\r\n0\r\n\r\n' % (len(body), body)
    from fake.host import Closed
    try:
        assert host.post(chunked, replace=[('Transfer-Encoding', 'chunked')]).status in statuses
    except (Closed, ConnectionError):
        assert statuses == (413,)       # answered and closed while we were still writing
    assert host.post(PING).status == 200


@pytest.mark.parametrize('body, code', [
    (b'{"jsonrpc":"2.0","id":9,', -32700), (b'[' * 50000, -32700), (b'{"hello":1}', -32600), (b'[]', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":9,"method":"pi\xff\xfeng"}', -32700)])
def test_8_invalid(host, body, code):
    answer = host.post(body)
    assert answer.status == 400 and answer.error()['code'] == code


@pytest.mark.direct
def test_9_same_id_in_two_sessions_at_once(hosts, url):
    one, two = hosts(url).open(), hosts(url).open()
    first, second = one.start_call('whoami', id='1'), two.start_call('iserror', id='1')
    assert text_of(first.answer().result()).startswith('up|')
    assert json.loads(second.answer().result())['isError'] is True


@pytest.mark.direct
def test_11_cancel_mid_call(host, fake):
    wire = host.start_call('slow', id='77')
    started = fake.wait_event('started')
    assert host.cancel('77', 'user').status == 202
    assert fake.wait_event('cancelled', matched=True)['id'] == started['id']
    assert wire.answer().messages() == []


def test_12_client_gone_the_call_goes_on(host, fake):
    wire = host.start_call('slow', id='78')
    fake.wait_event('started')
    wire.close()
    host.ask('ping').result()
    fake.release()
    wait_until(lambda: not fake.calls, what='the call to end')
    assert not fake.event_list('cancelled') and not fake.event_list('closed early')


@pytest.mark.parametrize('replace, status', [([('Content-Type', 'text/plain')], 415), ([('Accept', 'application/json')], 406),
                                             ([('MCP-Protocol-Version', '1999-01-01')], 400)])
def test_media_types_and_version(host, replace, status):
    assert host.post(PING, replace=replace).status == status


def test_paging_is_not_lost(fakes, gateways, hosts):
    """254 tools in pages of 100: all of them over pages, or an error that says so; never the first 100 alone."""
    up = fakes('up', tool_names=['t%d' % i for i in range(254)], page_size=100)
    host = hosts(gateways({'up': http(up)}).server_url('up')).open()
    seen, cursor = [], None
    for _ in range(5):
        final = host.ask('tools/list', '{}' if cursor is None else '{"cursor":%s}' % cursor).final()
        if '"error"' in final:
            return
        result = rawjson.get(final, 'result')
        seen += json.loads(result)['tools']
        cursor = rawjson.get(result, 'nextCursor')
        if cursor is None:
            break
    assert len(seen) == 254
