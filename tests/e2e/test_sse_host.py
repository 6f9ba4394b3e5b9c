"""Hosts of 2024-11-05: HTTP+SSE, one stream for everything and POSTs to the address it names."""
import concurrent.futures
import json

import pytest

from fake import rawjson, tools
from fake.host import Closed
from fake.sse_host import SseHost
from kit import R1, R4, http, key, progress_notes, sse, text_of

FORM = {'message': 'Your name?', 'requestedSchema': {'type': 'object', 'properties': {'name': {'type': 'string'}}}}
URL_FORM = {'mode': 'url', 'message': 'Sign in', 'url': 'https://example.com/in?a=1', 'elicitationId': 'e-1'}
ASKING = [*tools.NAMES, 'ask']


@pytest.fixture
def sse_hosts():
    """Makes hosts of one stream: sse_hosts(url)."""
    made = []

    def make(url, **options):
        made.append(SseHost(url, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def gateway(gateways, fake):
    return gateways({'up': http(fake)})


@pytest.fixture
def old(gateway, sse_hosts):
    """An open session on the transparent route."""
    return sse_hosts(gateway.server_url('up') + '/sse').open()


def ended(host):
    """Whether the stream ends, properly or by the connection, with nothing more to say."""
    try:
        return host.stream.event() is None
    except Closed:
        return True


# ---- the transport -----------------------------------------------------------------------
@pytest.mark.parametrize('path', ['/mcp/sse', '/mcp/sse/', '/up/mcp/sse', '/mcp/up/sse', '/mcp/up,two/sse'])
def test_the_first_event_names_a_path_of_this_origin_that_can_be_posted_to(gateways, fakes, sse_hosts, path):
    gateway = gateways({'up': http(fakes('up')), 'two': http(fakes('two'))})
    host = sse_hosts(gateway.base_url + path).connect()
    named = host.endpoint[len(gateway.base_url):]
    assert named.startswith(path.rstrip('/') + '/messages?session=')
    assert len(named.split('session=')[1]) >= 22
    assert host.do('{"jsonrpc":"2.0","id":"p","method":"ping"}') == '{"jsonrpc":"2.0","id":"p","result":{}}'


def test_the_named_path_is_below_the_mount_path_even_where_a_proxy_strips_it(gateways, fake, sse_hosts):
    gateway = gateways({'up': http(fake)}, public_url='http://127.0.0.1/tools/')
    outside = gateway.base_url
    assert outside.endswith('/tools')
    for base in (outside, outside.removesuffix('/tools')):
        host = sse_hosts(base + '/mcp/sse').open()
        assert '/tools/mcp/sse/messages?session=' in host.endpoint
        assert host.do(host.text('ping'))


@pytest.mark.parametrize('asked, given', [(R1, R1), (R4, R4), ('1999-01-01', R4)])
def test_initialize_negotiates_as_elsewhere(gateway, sse_hosts, asked, given):
    assert sse_hosts(gateway.mcp_url + '/sse', revision=asked).open().server['protocolVersion'] == given


def test_the_upstream_is_opened_with_the_revision_that_initialize_brought(old, fake):
    assert old.server['serverInfo']['name'] == 'up'
    assert '"protocolVersion":"2024-11-05"' in fake.seen('initialize')[-1].text


def test_before_initialize_there_is_only_ping_and_initialize_comes_once(gateway, sse_hosts):
    host = sse_hosts(gateway.mcp_url + '/sse').connect()
    assert json.loads(host.do(host.text('tools/list')))['error']['code'] == -32600
    hello = {'protocolVersion': R1, 'capabilities': {}, 'clientInfo': {'name': 'h', 'version': '1'}}
    assert 'result' in json.loads(host.do(host.text('initialize', hello)))
    assert json.loads(host.do(host.text('initialize', hello)))['error']['code'] == -32600
    assert 'result' in json.loads(host.do(host.text('tools/list')))


def test_an_initialize_that_fails_is_answered_and_ends_the_stream(gateways, fakes, sse_hosts):
    host = sse_hosts(gateways({'up': http(fakes('up', faults={'initialize': 'badjson'}))}).server_url('up') + '/sse')
    host.connect()
    hello = {'protocolVersion': R1, 'capabilities': {}, 'clientInfo': {'name': 'h', 'version': '1'}}
    assert 'error' in json.loads(host.do(host.text('initialize', hello)))
    assert ended(host)


def test_a_silent_stream_gets_comments(gateways, fake, sse_hosts):
    gateway = gateways({'up': http(fake)}, timeouts={'keepalive': '50ms'})
    host = sse_hosts(gateway.server_url('up') + '/sse').open()
    request = host.call_text('slow')
    host.accepted(request)
    fake.wait_event('started', tool='slow')
    for _ in range(3):
        assert host.stream.comment()
    fake.release()
    assert text_of(rawjson.get(host.answer_to(request), 'result')) == 'slow done'


# ---- calls --------------------------------------------------------------------------------
def test_lists_and_exact_results_travel_on_the_stream(old):
    listed = json.loads(old.do(old.text('tools/list')))
    assert {t['name'] for t in listed['result']['tools']} == set(tools.NAMES)
    assert rawjson.get(old.do(old.call_text('exact')), 'result') == tools.EXACT
    assert rawjson.get(old.do(old.call_text('err')), 'error') == tools.ERROR


def test_progress_comes_in_order_and_before_its_result(old):
    request = old.call_text('progress', {'n': 40}, token='"tok"')
    before = len(old.inbox)
    old.do(request)
    notes = progress_notes(old.inbox[before:])
    assert [json.loads(n)['progress'] for n in notes] == [i + .5 for i in range(1, 41)]
    assert all(json.loads(n)['progressToken'] == 'tok' for n in notes)
    assert len(old.inbox) - before == 41, 'the result is the last'


def test_calls_of_one_session_run_side_by_side(old, fake):
    slow = [old.call_text('slow', {'say': 'slow %d' % i}) for i in range(5)]
    for request in slow:
        old.accepted(request)
    assert text_of(rawjson.get(old.do(old.call_text('progress', token='1')), 'result')) == 'progress done'
    fake.wait(lambda: len(fake.event_list('started')) == 5)
    fake.release()
    for i, request in enumerate(slow):
        assert text_of(rawjson.get(old.answer_to(request), 'result')) == 'slow %d' % i


def test_a_cancelled_call_is_cancelled_upstream_and_not_answered(old, fake):
    request = old.call_text('slow', id=77)
    old.accepted(request)
    fake.wait_event('started', tool='slow')
    old.cancel(77, 'no longer')
    assert fake.wait_event('cancelled')['matched']
    old.do(old.text('ping'))
    assert not [m for m in old.inbox if rawjson.get(m, 'id') == '77']


def test_a_legacy_host_reaches_a_legacy_upstream(gateways, sse_fakes, sse_hosts):
    host = sse_hosts(gateways({'old': sse(sse_fakes())}).server_url('old') + '/sse').open()
    host.do(host.call_text('progress', {'n': 3}, token='9'))
    assert len(progress_notes(host.inbox)) == 3


# ---- the end ------------------------------------------------------------------------------
def test_a_stream_that_closes_cancels_its_calls_and_ends_the_session(old, fake, gateway):
    old.accepted(old.call_text('slow'))
    fake.wait_event('started', tool='slow')
    old.leave()
    assert fake.wait_event('cancelled')['matched']
    fake.wait_event('deleted')
    assert old.notify('notifications/initialized').status == 404


def test_only_the_calls_of_the_stream_that_closed_are_cancelled(gateway, sse_hosts, fake):
    url = gateway.server_url('up') + '/sse'
    one, two = sse_hosts(url).open(), sse_hosts(url).open()
    request = two.call_text('slow', {'say': 'still here'}, id=5)
    two.accepted(request)
    one.accepted(one.call_text('slow', id=5))
    fake.wait(lambda: len(fake.event_list('started')) == 2)
    one.leave()
    fake.wait_event('cancelled')
    fake.wait_event('deleted')
    fake.release()
    assert text_of(rawjson.get(two.answer_to(request), 'result')) == 'still here'
    assert len(fake.event_list('cancelled')) == 1


def test_a_stop_of_the_gateway_ends_the_stream(gateway, old):
    gateway.stop()
    assert ended(old)


# ---- who may post -------------------------------------------------------------------------
def test_two_sessions_do_not_cross(gateway, sse_hosts):
    hosts = [sse_hosts(gateway.server_url('up') + '/sse').open() for _ in range(2)]
    assert hosts[0].endpoint != hosts[1].endpoint

    def work(host, mark):
        for i in range(60):
            got = host.do(host.call_text('echo', {'mark': mark, 'i': i}, id=i + 100))
            assert json.loads(text_of(rawjson.get(got, 'result')))['arguments'] == {'mark': mark, 'i': i}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, host, mark) for host, mark in zip(hosts, 'ab')]:
            done.result(30)
    for host, mark in zip(hosts, 'ab'):
        assert not [m for m in host.inbox if '\\"mark\\":\\"%s\\"' % 'ba'['ab'.index(mark)] in m]


def test_a_session_is_there_for_its_own_key_only(gateways, fake, sse_hosts, hosts):
    gateway = gateways({'up': http(fake)}, keys=[key('one', 'sk-one'), key('two', 'sk-two')])
    url = gateway.server_url('up') + '/sse'
    assert hosts(url).send('GET').status == 401
    host = sse_hosts(url, headers=[('x-sluice-api-key', 'sk-one')]).open()
    ping = host.text('ping')
    assert host.post(ping, replace=[('x-sluice-api-key', 'sk-two')]).status == 404
    assert host.post(ping, replace=[('x-sluice-api-key', None)]).status == 401
    assert host.do(ping)


def test_unknown_and_foreign_tokens_are_not_found(gateway, old, hosts):
    ping, here = old.text('ping'), '/up/mcp/sse/messages'
    token = old.endpoint.split('session=')[1]
    modern = hosts(gateway.server_url('up')).open()
    for path in (here, here + '?session=', here + '?session=' + token[:-1], here + '?session=' + modern.session,
                 here + '?other=' + token, '/mcp/sse/messages?session=' + token):
        assert old.post(ping, path=path).status == 404, path
    assert modern.post(ping, replace=[('Mcp-Session-Id', token)]).status == 404, 'not a session of the other transport'


@pytest.mark.parametrize('body', ['', 'garbage', '{"jsonrpc":"2.0"', '[]', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
                                  '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"jsonrpc":"2.0","id":null,"method":"ping"}'])
def test_what_is_no_message_is_refused_and_harms_nothing(old, body):
    assert old.post(body).status == 400
    assert old.do(old.text('ping'))


def test_other_methods_and_types_are_refused(gateway, old):
    assert old.send('POST', old.text('ping')).status == 405, 'clients that try the newer transport fall back on this'
    assert old.send('DELETE').status == 405
    assert old.send('GET', path='/up/mcp/sse/messages').status == 405
    assert old.post(old.text('ping'), replace=[('Content-Type', 'text/plain')]).status == 415
    assert old.send('GET', replace=[('Accept', 'application/json')]).status == 406


def test_host_and_origin_are_checked_on_both(gateway, old):
    for replace in ([('Origin', 'https://evil.example')], [('Host', 'evil.example')]):
        assert old.send('GET', replace=replace).status == 403
        assert old.post(old.text('ping'), replace=replace).status == 403


def test_streams_beyond_the_bound_of_a_key_are_refused(gateways, fake, sse_hosts, hosts):
    gateway = gateways({'up': http(fake)}, limits={'sessions_per_key': 2})
    url = gateway.mcp_url + '/sse'
    first, _ = sse_hosts(url).open(), sse_hosts(url).open()
    assert hosts(url).listen().status == 503
    first.leave()
    for _ in range(200):                   # each try is a round trip, not a wait
        if hosts(url).listen().status == 200:
            return
    raise AssertionError('the place of a stream that closed was not given back')


# ---- questions ----------------------------------------------------------------------------
@pytest.fixture
def asking(gateways, fakes, sse_hosts):
    """(host, upstream): a host that can be asked, and an upstream that may."""
    up = fakes('up', tool_names=ASKING)
    gateway = gateways({'up': http(up, allow_elicitation=True, allow_sampling=True)})
    able = {'elicitation': {'form': {}, 'url': {}}, 'sampling': {}}
    return sse_hosts(gateway.server_url('up') + '/sse', revision=R4, capabilities=able).open(), up


ANSWERS = ['{"action":"accept","content":{"name":"\\u00e9","n":1.0}}', '{"action":"decline"}', '{"action":"cancel"}']


@pytest.mark.parametrize('answer', ANSWERS)
@pytest.mark.parametrize('params', [FORM, URL_FORM], ids=['form', 'url'])
def test_a_question_and_its_answer_travel_exactly(asking, params, answer):
    host, up = asking
    request = host.call_text('ask', {'params': params})
    host.accepted(request)
    question = host.question('elicitation/create')
    assert rawjson.get(question, 'params') == rawjson.dumps(params)
    host.accepted('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), answer))
    assert text_of(rawjson.get(host.answer_to(request), 'result')) == answer


def test_sampling_travels_too(asking):
    host, up = asking
    params = {'messages': [{'role': 'user', 'content': {'type': 'text', 'text': 'hi'}}], 'maxTokens': 5}
    request = host.call_text('ask', {'method': 'sampling/createMessage', 'params': params})
    host.accepted(request)
    question = host.question('sampling/createMessage')
    said = '{"role":"assistant","content":{"type":"text","text":"yo"},"model":"m","stopReason":"endTurn"}'
    host.accepted('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), said))
    assert text_of(rawjson.get(host.answer_to(request), 'result')) == said


def test_a_stream_that_closes_during_a_question_is_an_error_upstream_and_no_decision(asking):
    host, up = asking
    host.accepted(host.call_text('ask', {'params': FORM}))
    host.question('elicitation/create')
    host.leave()
    answered = up.wait_event('answer')
    assert rawjson.get(answered['text'], 'error') and 'action' not in answered['text']
    up.wait_event('deleted', session=answered['session'])


def test_a_question_of_a_call_that_is_cancelled_is_taken_back(asking):
    host, up = asking
    host.accepted(host.call_text('ask', {'params': FORM}, id=8))
    question = host.question('elicitation/create')
    host.cancel(8)
    answered = up.wait_event('answer')
    assert rawjson.get(answered['text'], 'error') and 'action' not in answered['text']
    taken = host.wait(lambda m: '"notifications/cancelled"' in m)
    assert rawjson.get(taken, 'params', 'requestId') == rawjson.get(question, 'id')
    up.wait_event('cancelled')


def test_a_host_that_declared_nothing_is_not_asked(gateways, fakes, sse_hosts):
    up = fakes('up', tool_names=ASKING)
    host = sse_hosts(gateways({'up': http(up, allow_elicitation=True)}).server_url('up') + '/sse').open()
    got = host.do(host.call_text('ask', {'params': FORM}))
    assert json.loads(text_of(rawjson.get(got, 'result')))['code'] == -32601
    assert not [m for m in host.inbox if rawjson.get(m, 'method')]
