"""Opening, using and ending sessions: versions, codes, batches, calls without a session."""
import json

import pytest

from fake import rawjson
from fake.sse_host import SseHost
from kit import R1, R2, R3, R4, R5, http, key, message_error, text_of

GONE = '00000000-dead-beef'


@pytest.mark.direct
@pytest.mark.parametrize('asked, given', [(R1, R1), (R2, R2), (R3, R3), (R4, R4)])
def test_initialize_gives_the_revision_that_was_asked_for(hosts, url, asked, given):
    assert json.loads(hosts(url, revision=asked).initialize().result())['protocolVersion'] == given


@pytest.mark.parametrize('asked', [R5, '1999-01-01', '2099-01-01', 'latest', ''])
def test_initialize_answers_an_unknown_revision_with_the_newest_of_the_handshake(hosts, url, asked):
    assert json.loads(hosts(url, revision=asked).initialize().result())['protocolVersion'] == R4


@pytest.mark.direct
def test_initialize_gives_a_session_of_visible_ascii(raw_host):
    answer = raw_host.initialize()
    assert answer.status == 200 and answer.session
    assert all(0x21 <= ord(c) <= 0x7e for c in answer.session)


def test_a_session_id_tells_nothing_and_is_never_the_same(hosts, url, fake):
    ids = [hosts(url).initialize().session for _ in range(5)]
    assert len(set(ids)) == 5 and min(map(len, ids)) >= 22
    assert not set(ids) & {r.session for r in fake.records}


@pytest.mark.parametrize('params', ['[]', '"x"', '{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"a","version":"1"}}'])
def test_an_initialize_with_wrong_params_is_refused(raw_host, params):
    assert message_error(raw_host.ask('initialize', params))['code'] in (-32600, -32602)


@pytest.mark.direct
def test_a_notification_is_accepted_with_202_and_no_body(host):
    answer = host.notify('notifications/initialized')
    assert answer.status == 202 and answer.body() == b''
    assert host.notify('notifications/of/nobody', {'a': 1}).status == 202


def test_a_posted_response_is_accepted_with_202(host):
    assert host.post('{"jsonrpc":"2.0","id":"nobody asked","result":{}}').status == 202


@pytest.mark.direct
def test_ping_is_answered_with_exactly_nothing(host):
    assert host.ask('ping', id='8').final() == '{"jsonrpc":"2.0","id":8,"result":{}}'


def test_ping_is_answered_here_not_there(host, fake):
    host.ask('ping').result()
    assert not fake.seen(rpc='ping')


@pytest.mark.direct
@pytest.mark.parametrize('method', ['POST', 'GET', 'DELETE'])
def test_an_unknown_session_is_404(host, method):
    host.session = GONE
    body = host.text('tools/list') if method == 'POST' else None
    replace = [('Accept', 'text/event-stream')] if method == 'GET' else []
    assert host.send(method, body, replace=replace).status == 404


@pytest.mark.parametrize('method', ['GET', 'DELETE'])
def test_without_a_session_a_stream_or_an_end_is_400(raw_host, method):
    replace = [('Accept', 'text/event-stream')] if method == 'GET' else []
    assert raw_host.send(method, replace=replace).status == 400


@pytest.mark.parametrize('body', ['{"jsonrpc":"2.0","method":"notifications/initialized"}',
                                  '{"jsonrpc":"2.0","id":1,"result":{}}'])
def test_without_a_session_a_notification_or_response_is_400(raw_host, body):
    assert raw_host.post(body).status == 400


def test_without_a_session_requests_are_served_by_default(raw_host, fake):
    assert 'exact' in raw_host.tools()
    assert text_of(raw_host.call('echo', {'a': 1}).result())
    assert raw_host.ask('ping').result() == '{}'
    assert len(raw_host.call('progress', token='0').messages()) == 4


def test_the_upstream_session_of_a_call_without_session_is_thrown_away(raw_host, fake):
    raw_host.call('echo').result()
    used = fake.seen(tool='echo')[-1].session
    fake.wait_event('deleted', session=used)


def test_without_a_session_two_requests_share_nothing(raw_host, fake):
    first, second = raw_host.say('whoami'), raw_host.say('whoami')
    assert first != second


def test_sessionless_refuse_answers_400(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}, sessionless='refuse').server_url('up'))
    assert host.ask('tools/list').status == 400
    assert host.call('echo').status == 400
    assert not fake.seen(rpc='tools/call')
    assert host.open().call('echo').status == 200


@pytest.mark.direct
def test_after_delete_the_session_is_gone(host):
    assert host.end().status in (200, 204)
    assert host.ask('ping').status == 404
    assert host.listen().status == 404
    assert host.end().status == 404


def test_delete_ends_the_upstream_sessions_too(fakes, gateways, hosts):
    a, b = fakes('a'), fakes('b')
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    used = [host.say('a-whoami').split('|')[1], host.say('b-whoami').split('|')[1]]
    host.end()
    a.wait_event('deleted', session=used[0])
    b.wait_event('deleted', session=used[1])


def test_each_host_session_has_its_own_upstream_session(hosts, url, fake):
    one, two = hosts(url).open(), hosts(url).open()
    first = {one.say('whoami') for _ in range(3)}
    second = {two.say('whoami') for _ in range(3)}
    assert len(first) == len(second) == 1 and first != second


def test_the_scope_of_a_session_is_its_path(fakes, gateways, hosts):
    a, b = fakes('a'), fakes('b')
    gateway = gateways({'a': http(a), 'b': http(b)})
    host = hosts(gateway.server_url('a')).open()
    for path in ('/b/mcp', '/mcp', '/mcp/a,b'):
        assert host.ask('ping', path=path).status == 404, path
    assert host.ask('ping', path='/a/mcp').status == 200


def test_a_session_belongs_to_the_key_that_opened_it(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, keys=[key('one', 'secret-1'), key('two', 'secret-2')])
    host = hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', 'secret-1')]).open()
    for method, body in (('POST', host.text('ping')), ('GET', None), ('DELETE', None)):
        replace = [('x-sluice-api-key', 'secret-2')] + ([('Accept', 'text/event-stream')] if method == 'GET' else [])
        assert host.send(method, body, replace=replace).status == 404
    assert host.ask('ping').status == 200
    assert host.send('POST', host.text('ping'), replace=[('x-sluice-api-key', None)]).status == 401


@pytest.mark.direct
def test_a_batch_of_the_second_revision_has_both_answers(hosts, url, request):
    from kit import DIRECT
    if DIRECT:
        pytest.skip('the fake knows no batches')
    host = hosts(url, revision=R2).open()
    answer = host.post('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},'
                       '{"jsonrpc":"2.0","id":"2","method":"tools/call","params":{"name":"exact"}}]')
    assert answer.status == 200
    assert {rawjson.get(m, 'id') for m in answer.messages()} == {'1', '"2"'}


def test_a_batch_without_requests_is_202(hosts, url):
    host = hosts(url, revision=R2).open()
    assert host.post('[{"jsonrpc":"2.0","method":"notifications/x"}]').status == 202


def test_a_batch_with_initialize_is_refused(hosts, url):
    host = hosts(url, revision=R2)
    body = '[%s]' % host.text('initialize', {'protocolVersion': R2, 'capabilities': {},
                                             'clientInfo': {'name': 'a', 'version': '1'}})
    message_error(host.post(body), status=400, code=-32600)


@pytest.mark.parametrize('revision', [R3, R4])
def test_a_batch_of_a_later_revision_is_refused(hosts, url, revision):
    host = hosts(url, revision=revision).open()
    message_error(host.post('[{"jsonrpc":"2.0","id":1,"method":"ping"}]'), status=400, code=-32600)


@pytest.mark.parametrize('revision', [R2, R3, R4])
def test_an_empty_batch_is_refused(hosts, url, revision):
    message_error(hosts(url, revision=revision).open().post('[]'), status=400, code=-32600)


def test_an_unknown_version_header_is_400(host):
    assert host.ask('ping', replace=[('MCP-Protocol-Version', '1999-01-01')]).status == 400
    assert host.ask('ping', replace=[('MCP-Protocol-Version', None)]).status == 200


@pytest.mark.direct
def test_an_unknown_method_is_not_found(host):
    message_error(host.ask('no/such'), status=200, code=-32601)


def test_a_capability_no_upstream_has_is_not_found(fakes, gateways, hosts):
    up = fakes('up', capabilities={'tools': {}})
    host = hosts(gateways({'up': http(up)}).mcp_url).open()
    assert 'tools' in host.server['capabilities']
    assert not {'prompts', 'resources', 'completions', 'logging'} & set(host.server['capabilities'])
    for method, params in (('prompts/list', '{}'), ('resources/list', '{}'), ('resources/read', '{"uri":"x:y"}'),
                           ('prompts/get', '{"name":"p"}'), ('logging/setLevel', '{"level":"debug"}'),
                           ('completion/complete', '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}')):
        assert message_error(host.ask(method, params), code=-32601), method


def test_capabilities_are_the_union_of_the_upstreams(fakes, gateways, hosts):
    a = fakes('a', capabilities={'tools': {}, 'logging': {}})
    b = fakes('b', prompts=['p'], capabilities={'prompts': {}, 'completions': {}})
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    assert {'tools', 'logging', 'prompts', 'completions'} <= set(host.server['capabilities'])
    assert 'resources' not in host.server['capabilities']


def test_no_capability_is_offered_that_is_not_delivered_yet(fakes, gateways, hosts):
    caps = {'tools': {'listChanged': True}, 'resources': {'subscribe': True, 'listChanged': True}, 'tasks': {'list': {}}}
    up = fakes('up', capabilities=caps, resources=['x:1'])
    offered = hosts(gateways({'up': http(up)}).server_url('up')).open().server['capabilities']
    if not offered.get('resources', {}).get('subscribe'):
        assert 'tasks' not in offered


def test_logging_set_level_reaches_the_upstream(fakes, gateways, hosts):
    up = fakes('up', capabilities={'tools': {}, 'logging': {}})
    host = hosts(gateways({'up': http(up)}).server_url('up')).open()
    assert host.ask('logging/setLevel', '{"level":"debug"}', id='4').final() == '{"jsonrpc":"2.0","id":4,"result":{}}'
    assert up.wait_seen(rpc='logging/setLevel')[-1].raw('params', 'level') == '"debug"'


def test_instructions_are_merged_under_headings(fakes, gateways, hosts):
    a, b = fakes('alpha', instructions='Do A.\nAlways.'), fakes('beta', instructions='Do B.')
    merged = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open().server['instructions']
    assert merged.index('alpha') < merged.index('Do A.\nAlways.') < merged.index('beta') < merged.index('Do B.')


def test_merged_instructions_are_capped(fakes, gateways, hosts):
    a = fakes('alpha', instructions='é' * 20000)
    b = fakes('beta', instructions='short')
    merged = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open().server['instructions']
    assert len(merged.encode()) <= 8 * 1024 + 200


def test_instructions_of_one_server_come_unchanged_on_its_own_route(fakes, gateways, hosts):
    up = fakes('up', instructions='Exactly this.')
    assert hosts(gateways({'up': http(up)}).server_url('up')).open().server['instructions'] == 'Exactly this.'


def test_the_session_is_declared_upstream_with_no_capabilities_yet(hosts, url, fake):
    host = hosts(url, capabilities={'sampling': {}, 'elicitation': {}, 'roots': {'listChanged': True}}).open()
    host.say('whoami')
    assert json.loads(fake.seen(rpc='initialize')[-1].raw('params', 'capabilities')) == {}


def test_a_modern_probe_is_told_to_open_a_session(raw_host):
    """What today's two-era clients take as "speak the older one": no 2xx, no modern error code."""
    meta = {'io.modelcontextprotocol/protocolVersion': R5, 'io.modelcontextprotocol/clientCapabilities': {},
            'io.modelcontextprotocol/clientInfo': {'name': 'p', 'version': '0'}}
    answer = raw_host.ask('server/discover', {'_meta': meta}, id='"server-discover-probe-1"', replace=[
        ('MCP-Protocol-Version', R5), ('Mcp-Method', 'server/discover')])
    assert answer.status in (400, 404, 405)
    if answer.header('content-type') == 'application/json':
        assert answer.error()['code'] not in (-32020, -32021, -32022)


def test_sessions_per_key_are_bounded(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, limits={'sessions_per_key': 3})
    answers = [hosts(gateway.server_url('up')).initialize() for _ in range(4)]
    assert [a.status for a in answers[:3]] == [200] * 3
    assert answers[3].status in (429, 503)
    message_error(answers[3])


def test_calls_per_session_are_bounded(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, limits={'calls_per_session': 2})
    host = hosts(gateway.server_url('up')).open()
    wires = [host.start_call('slow') for _ in range(2)]
    fake.wait(lambda: len(fake.event_list('started')) == 2)
    error = message_error(host.call('echo'), status=429)
    assert 'limits.calls_per_session' in error['message']
    for _ in range(3):
        assert host.ask('ping').result() == '{}', 'a ping takes no place'
    fake.release()
    for wire in wires:
        assert text_of(wire.answer().result()) == 'slow done'
    assert text_of(host.call('echo').result())


@pytest.mark.direct
def test_the_same_id_in_two_sessions_at_once(hosts, url, fake):
    one, two = hosts(url).open(), hosts(url).open()
    first = one.start_call('slow', {'say': 'first'}, id='1')
    second = two.start_call('slow', {'say': 'second'}, id='1')
    fake.wait(lambda: len(fake.event_list('started')) == 2)
    fake.release()
    assert text_of(first.answer().result()) == 'first' and text_of(second.answer().result()) == 'second'


@pytest.mark.parametrize('id', ['1', '"1"', '0', '""'])
def test_an_id_in_use_is_refused_by_name_and_nothing_runs_twice(host, fake, id):
    first = host.start_call('slow', {'say': 'first'}, id=id)
    fake.wait_event('started')
    for answer in (host.call('echo', id=id), host.ask('ping', id=id), host.ask('tools/list', id=id)):
        body = answer.body().decode()
        assert answer.status == 400 and rawjson.get(body, 'id') == id
        assert '"code":-32600' in body and rawjson.dumps('the id %s is' % id)[1:-1] in body
    other = '"1"' if id == '1' else '1'
    if other != id:
        assert host.call('echo', id=other).status == 200, 'a text is not a number'
    assert len(fake.seen(tool='echo')) == (other != id)
    fake.release()
    assert text_of(first.answer().result()) == 'first'
    assert host.call('echo', id=id).status == 200, 'the gateway does not remember every id'


def test_an_id_in_use_is_not_answered_on_the_stream_that_the_first_waits_on(gateways, fake):
    host = SseHost(gateways({'up': http(fake)}).server_url('up') + '/sse').open()
    first = host.call_text('slow', {'say': 'first'})
    host.accepted(first)
    fake.wait_event('started')
    message_error(host.post(first), status=400, code=-32600)
    fake.release()
    assert text_of(rawjson.get(host.answer_to(first), 'result')) == 'first'
    assert len(fake.event_list('started')) == 1
    host.close()


def test_a_batch_with_an_id_in_use_does_nothing(hosts, url, fake):
    host = hosts(url, revision=R2).open()
    first = host.start_call('slow', {'say': 'first'}, id='1')
    fake.wait_event('started')
    echo = lambda id: host.call_text('echo', id=id)  # noqa: E731
    for batch in ((echo('2'), echo('1')), (echo('3'), echo('4'), echo('3')), (echo('5'), host.text('ping', id='5'))):
        message_error(host.post('[%s]' % ','.join(batch)), status=400, code=-32600)
    assert not fake.seen(tool='echo')
    fake.release()
    assert text_of(first.answer().result()) == 'first'
    assert host.post('[%s,%s]' % (echo('6'), echo('"6"'))).body().count(b'"result"') == 2


@pytest.mark.parametrize('params', [
    '"protocolVersion":"2025-06-18","protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}',
    '"protocolVersion":"2025-11-25","capabilities":{},"c\\u0061pabilities":{"roots":{}},"clientInfo":{}',
    '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a"},"clientInfo":{"name":"b"}',
    '"protocolVersion":"2025-11-25","capabilities":{"roots":{},"roots":{}},"clientInfo":{}',
    '"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{},"url":{}}},"clientInfo":{}'])
def test_an_initialize_that_says_twice_what_is_read_is_refused(raw_host, fake, params):
    answer = raw_host.post('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{%s}}' % params)
    message_error(answer, 400, -32600)
    assert answer.session is None
