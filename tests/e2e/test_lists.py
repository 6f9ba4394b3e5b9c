"""Lists of many upstreams, some of them broken; pages; whose resource it is."""
import json

import pytest

from kit import CLOSED_SET, http, message_error, no_canary, outcomes_of, sse

BROKEN = {'401': 'auth_required', '403': 'forbidden', '500': 'upstream_error', '503': 'upstream_error',
          'silent': 'timeout', 'close': 'unreachable', 'badjson': 'upstream_error', 'html': 'upstream_error',
          'dup': 'upstream_error', 'cut': 'unreachable', 'badutf8': 'upstream_error', 'wrongid': 'upstream_error',
          'cutjson': 'unreachable', 'noanswer': 'upstream_error', 'empty202': 'upstream_error',
          'hugehead': 'upstream_error', 'stallbody': 'timeout', 'stall': 'timeout'}
# Where the words leave room, both readings are right.
EITHER = {'upstream_error': {'upstream_error', 'unreachable'}, 'unreachable': {'unreachable', 'upstream_error'}}
FAST = {'list': '300ms', 'initialize': '2s', 'connect': '1s'}


def fits(outcome, want):
    return outcome in EITHER.get(want, {want})


def test_broken_upstreams_never_empty_a_list(fakes, gateways, hosts):
    good = fakes('good', tool_names=['one'])
    servers = {'good': http(good)}
    for kind in BROKEN:
        servers['b' + kind] = http(fakes('b' + kind, faults={'tools/list': kind}))
    dead = fakes('dead')
    servers['dead'] = http(dead)
    dead.stop()
    host = hosts(gateways(servers, timeouts=FAST).mcp_url).open()
    answer = host.ask('tools/list')
    assert answer.status == 200
    result = answer.result()
    assert [t['name'] for t in json.loads(result)['tools']] == ['good-one']
    outcomes = outcomes_of(result)
    assert set(outcomes) == set(servers) and set(outcomes.values()) <= CLOSED_SET
    assert outcomes['good'] == 'ok' and outcomes['dead'] == 'unreachable'
    wrong = {k: outcomes['b' + k] for k, want in BROKEN.items() if not fits(outcomes['b' + k], want)}
    assert not wrong
    no_canary(result)
    assert 'http://' not in json.dumps(json.loads(result)['_meta'])


@pytest.mark.parametrize('kind', sorted(BROKEN))
def test_on_a_route_of_one_server_the_outcome_is_the_http_status(fakes, gateways, hosts, kind):
    up = fakes('up', faults={'tools/list': kind})
    host = hosts(gateways({'up': http(up)}, timeouts=FAST).server_url('up')).open()
    wants = {'auth_required': {401}, 'forbidden': {403}, 'timeout': {504}, 'unreachable': {502, 503},
             'upstream_error': {502}}
    allowed = set().union(*(wants[o] for o in EITHER.get(BROKEN[kind], {BROKEN[kind]})))
    if BROKEN[kind] == 'timeout':
        allowed = allowed | {200}       # a stream may have begun by then; the error is in it
    answer = host.ask('tools/list', id='"i"')
    error = message_error(answer, status=allowed)
    no_canary(json.dumps(error), json.dumps(answer.headers))


def test_all_lists_name_their_outcomes(fakes, gateways, hosts):
    a = fakes('a', prompts=['p'], resources=['x:1'], templates=['x:{i}'])
    b = fakes('b', prompts=['p'], resources=['y:1'], faults={'prompts/list': '500', 'resources/list': '403',
                                                          'resources/templates/list': '401'})
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    for method, key, outcome in (('prompts/list', 'prompts', 'upstream_error'), ('resources/list', 'resources', 'forbidden'),
                                 ('resources/templates/list', 'resourceTemplates', 'auth_required')):
        result = host.ask(method).result()
        assert len(json.loads(result)[key]) == 1 and outcomes_of(result) == {'a': 'ok', 'b': outcome}


def test_an_upstream_without_the_capability_is_no_failure(fakes, gateways, hosts):
    a, b = fakes('a', prompts=['p']), fakes('b')
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    host.ask('tools/list').result()
    result = host.ask('prompts/list').result()
    assert len(json.loads(result)['prompts']) == 1 and set(outcomes_of(result).values()) == {'ok'}
    assert not b.seen(rpc='prompts/list')


def test_upstreams_are_asked_in_parallel(fakes, gateways, hosts):
    slow = [fakes('s%d' % i, tool_names=['t']) for i in range(4)]
    host = hosts(gateways({f.name: http(f) for f in slow}, timeouts={'list': '5s'}).mcp_url).open()
    host.ask('tools/list').result()
    for f in slow:
        f.faults['tools/list'] = 'silent'
    wire = host.begin('POST', host.text('tools/list'))
    for f in slow:          # each is asked before any has answered
        f.wait_event('hanging')
    for f in slow:
        f.faults.clear()
        f.stop()
    wire.close()


def test_the_gateway_adds_no_outcomes_on_a_transparent_route(host):
    assert '_meta' not in json.loads(host.ask('tools/list').result())


def test_an_upstreams_own_meta_of_a_list_is_kept_on_its_route(fakes, gateways, hosts):
    up = fakes('up', tool_names=['one'])
    host = hosts(gateways({'up': http(up)}).server_url('up')).open()
    assert json.loads(host.ask('tools/list').result()) == {'tools': up.tools}


def test_pages_are_an_explicit_error_and_never_a_shortened_list(fakes, gateways, hosts):
    up = fakes('up', tool_names=['t%d' % i for i in range(250)], page_size=100)
    other = fakes('other', tool_names=['x'])
    gateway = gateways({'up': http(up), 'other': http(other)})
    for url in (gateway.mcp_url, gateway.server_url('up')):
        host = hosts(url).open()
        answer = host.ask('tools/list')
        final = answer.final()
        if '"result"' in final:         # with paging: every page
            pytest.skip('paging has landed')
        error = json.loads(final)['error']
        assert 'salt' in error['message'].lower()
    assert hosts(gateway.server_url('up')).open().say('t249') == 't249 of up'


def test_an_unreachable_upstream_is_found_when_it_comes_back(fakes, gateways, hosts):
    up, other = fakes('up', tool_names=['one']), fakes('other', tool_names=['two'])
    up.stop()
    host = hosts(gateways({'up': http(up), 'other': http(other)}, circuit={'failures': 0}).mcp_url).open()
    assert host.tools() == ['other-two']
    up.restart()
    assert host.tools() == ['up-one', 'other-two']
    assert host.say('up-one') == 'one of up'


# ---- resources (decision 18) -------------------------------------------------------------

def three(fakes, gateways, hosts, **options):
    a = fakes('a', resources=['file:///a', 'file:///both'], templates=['tmpl://a/{id}'])
    b = fakes('b', resources=['file:///b', 'file:///both'], templates=['tmpl://b/{id}/x'])
    c = fakes('c')
    gateway = gateways({'c': http(c), 'a': http(a), 'b': http(b)}, **options)
    return gateway, a, b, c


def read(host, uri):
    return json.loads(host.ask('resources/read', {'uri': uri}).result())['contents'][0]


def test_uris_are_never_wrapped(fakes, gateways, hosts):
    gateway, *_ = three(fakes, gateways, hosts)
    host = hosts(gateway.mcp_url).open()
    result = json.loads(host.ask('resources/list').result())
    assert [r['uri'] for r in result['resources']] == ['file:///a', 'file:///both', 'file:///b', 'file:///both']
    result = json.loads(host.ask('resources/templates/list').result())
    assert [r['uriTemplate'] for r in result['resourceTemplates']] == ['tmpl://a/{id}', 'tmpl://b/{id}/x']


@pytest.mark.parametrize('listed', [True, False])
def test_a_read_goes_to_the_upstream_that_knows_the_uri(fakes, gateways, hosts, listed):
    gateway, a, b, c = three(fakes, gateways, hosts)
    host = hosts(gateway.mcp_url).open()
    if listed:
        host.ask('resources/list').result(), host.ask('resources/templates/list').result()
    assert read(host, 'file:///a') == {'uri': 'file:///a', 'text': 'from a'}
    assert read(host, 'file:///b')['text'] == 'from b'
    assert read(host, 'file:///both')['text'] == 'from a'       # configuration order
    assert read(host, 'tmpl://b/7/x')['text'] == 'from b'
    assert not c.seen(rpc='resources/read')


def test_a_route_of_one_server_tells_resources_apart(fakes, gateways, hosts):
    gateway, *_ = three(fakes, gateways, hosts)
    assert read(hosts(gateway.server_url('b')).open(), 'file:///both')['text'] == 'from b'


@pytest.mark.parametrize('method,params', [('resources/read', {}), ('resources/subscribe', {}), ('completion/complete', {
    'ref': {'type': 'ref/resource', 'uri': 'res://a'}, 'argument': {'name': 'q', 'value': 'CANARY'}})])
def test_no_other_upstream_answers_for_the_one_that_lists_a_resource(fakes, gateways, hosts, method, params):
    able = {'tools': {}, 'resources': {'subscribe': True}, 'completions': {}}
    # The other one comes first and has a template for everything.
    b = fakes('b', templates=['res://{any}'], resources=['res://b'], capabilities=able)
    a = fakes('a', resources=['res://a'], capabilities=able)
    a.errors[method] = '{"code":-32602,"message":"you lack an argument"}'
    host = hosts(gateways({'b': http(b), 'a': http(a)}).mcp_url).open()
    host.ask('resources/list').result(), host.ask('resources/templates/list').result()
    error = message_error(host.ask(method, params or {'uri': 'res://a'}), code=-32602)
    assert error['message'] == 'you lack an argument'
    assert not b.seen(rpc=method), 'it was told of a resource that is not its own'


def test_a_uri_nobody_knows_is_asked_of_each_and_not_found(fakes, gateways, hosts):
    gateway, a, b, c = three(fakes, gateways, hosts)
    host = hosts(gateway.mcp_url).open()
    error = message_error(host.ask('resources/read', {'uri': 'nobody://x'}))
    assert error['code'] in (-32002, -32602)
    assert a.seen(rpc='resources/read') and b.seen(rpc='resources/read')


def test_the_only_upstream_with_resources_gets_every_read(fakes, gateways, hosts):
    a, b = fakes('a', resources=['x:1']), fakes('b')
    host = hosts(gateways({'b': http(b), 'a': http(a)}).mcp_url).open()
    message_error(host.ask('resources/read', {'uri': 'strange:thing'}), code=-32002)
    assert a.seen(rpc='resources/read')[-1].raw('params', 'uri') == '"strange:thing"'


def test_an_sse_upstream_is_listed_and_called_like_any(fakes, sse_fakes, gateways, hosts):
    old, new = sse_fakes('old', tool_names=['one', 'progress']), fakes('new', tool_names=['two'])
    host = hosts(gateways({'old': sse(old), 'new': http(new)}).mcp_url).open()
    assert host.tools() == ['old-one', 'old-progress', 'new-two']
    assert host.say('old-one') == 'one of old'
    messages = host.call('old-progress', token='18446744073709551615').messages()
    assert len(messages) == 4 and all('18446744073709551615' in m for m in messages[:3])
