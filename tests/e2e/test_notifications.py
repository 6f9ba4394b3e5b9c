"""What upstreams say outside calls: to the sessions that may see it, once, and not in storms."""
import json
import time

import pytest

from asking import STDIO, Upstream
from fake import rawjson
from kit import Listener, http, message_error
from lib.procs import wait_until

LOUD = {'tools': {'listChanged': True}, 'prompts': {'listChanged': True},
        'resources': {'subscribe': True, 'listChanged': True}, 'logging': {}}
URIS = ['file:///a', 'file:///b']
CHANGED = '{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}'
UPDATED = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%s","x":1.0}}'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"%s","data":{"n":9007199254740993}}}'


@pytest.fixture
def gateways(gateways):
    return lambda servers, **top: gateways(servers, **{'stdio': STDIO, **top})


@pytest.fixture
def loud(fakes):
    return fakes('up', capabilities=LOUD, resources=URIS)


@pytest.fixture
def listening(gateways, hosts, loud):
    """A host with its standing stream, on an upstream that has the gateway's."""
    def make(route='single'):
        gateway = gateways({'up': http(loud)})
        host = hosts(gateway.server_url('up') if route == 'single' else gateway.mcp_url).open()
        host.tools()
        listener = Listener(host)
        loud.wait_event('listening')
        return listener
    return make


@pytest.mark.parametrize('route', ['single', 'aggregate'])
def test_the_gateway_says_what_it_can_deliver(gateways, hosts, loud, route):
    gateway = gateways({'up': http(loud)})
    host = hosts(gateway.server_url('up') if route == 'single' else gateway.mcp_url).open()
    can = host.server['capabilities']
    assert can['tools'] == {'listChanged': True} and can['prompts'] == {'listChanged': True}
    assert can['resources'] == {'subscribe': True, 'listChanged': True}


def test_what_no_upstream_has_is_not_promised(gateways, hosts, fakes):
    fake = fakes('up', capabilities={'tools': {}, 'resources': {}})
    can = hosts(gateways({'up': http(fake)}).mcp_url).open().server['capabilities']
    assert 'listChanged' not in can['tools'] and 'subscribe' not in can.get('resources', {})


@pytest.mark.parametrize('route', ['single', 'aggregate'])
@pytest.mark.parametrize('kind', ['tools', 'prompts', 'resources'])
def test_a_change_of_lists_reaches_the_standing_stream(listening, loud, kind, route):
    listener = listening(route)
    loud.push(CHANGED % kind)
    assert listener.until(lambda m: 'list_changed' in m) == CHANGED % kind


def test_a_storm_of_changes_becomes_few_and_the_last_is_delivered(listening, loud):
    listener = listening()
    begun = time.monotonic()
    for i in range(200):
        loud.push('{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"i":%d}}}' % i)
    last = listener.until(lambda m: '"i":199' in m)
    took = time.monotonic() - begun
    assert last and 2 <= len(listener.seen) <= 2 + took


def test_kinds_do_not_hold_each_other_up(listening, loud):
    listener = listening()
    for kind in ('tools', 'prompts', 'resources'):
        loud.push(CHANGED % kind)
    begun = time.monotonic()
    listener.until(lambda m: 'resources/list_changed' in m)
    assert time.monotonic() - begun < 1 and len(listener.seen) == 3


def test_after_a_change_names_are_looked_up_anew(listening, loud):
    listener = listening('aggregate')
    host = listener.host
    assert host.say('whoami')           # a bare name, from the lists that were read
    loud.tools.append({'name': 'fresh', 'inputSchema': {'type': 'object'}})
    loud.push(CHANGED % 'tools')
    listener.until(lambda m: 'list_changed' in m)
    assert host.say('fresh') == 'fresh of up'


def test_a_change_told_on_a_calls_stream_comes_once(listening, loud):
    listener = listening()
    messages = listener.host.call('say', {'raw': [CHANGED % 'tools']}).messages()
    assert messages[:-1] == [CHANGED % 'tools']
    assert not listener.all(loud)


def test_without_a_listening_host_no_stream_is_opened(gateways, hosts, loud):
    host = hosts(gateways({'up': http(loud)}).server_url('up')).open()
    host.tools()
    assert not loud.seen(method='GET')


@pytest.mark.parametrize('route', ['single', 'aggregate'])
def test_an_update_of_what_was_subscribed_reaches_its_host(listening, loud, route):
    listener = listening(route)
    answer = listener.host.ask('resources/subscribe', {'uri': URIS[0]})
    assert answer.result() == '{}' and loud.wait_event('subscribed', uri=URIS[0])
    loud.push(UPDATED % URIS[0])
    assert listener.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    assert listener.host.ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'
    assert loud.wait_event('unsubscribed', uri=URIS[0])
    loud.push(UPDATED % URIS[0])
    assert listener.all(loud) == [UPDATED % URIS[0]]     # the one from before


def test_an_update_waits_for_a_host_that_listens_later(gateways, hosts, loud):
    host = hosts(gateways({'up': http(loud)}).server_url('up')).open()
    assert host.ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    loud.wait_event('listening')
    loud.push(UPDATED % URIS[0])
    assert Listener(host).until(lambda m: 'updated' in m) == UPDATED % URIS[0]


def test_a_refused_subscription_is_the_upstreams_error(listening, loud):
    host = listening().host
    message_error(host.ask('resources/subscribe', {'uri': 'file:///none'}), code=-32002)
    message_error(host.ask('resources/subscribe', {'uri': 7}), code=-32602)


def test_a_subscription_goes_where_the_resource_is(gateways, hosts, fakes):
    a = fakes('a', capabilities=LOUD, resources=[URIS[0]])
    b = fakes('b', capabilities=LOUD, resources=[URIS[1]])
    c = fakes('c')
    host = hosts(gateways({'c': http(c), 'a': http(a), 'b': http(b)}).mcp_url).open()
    host.ask('resources/list').result()
    assert host.ask('resources/subscribe', {'uri': URIS[1]}).result() == '{}'
    assert b.event_list('subscribed') and not a.event_list('subscribed')
    assert host.ask('resources/unsubscribe', {'uri': URIS[1]}).result() == '{}'
    assert b.event_list('unsubscribed') and not a.event_list('unsubscribed')


def test_after_the_upstream_forgot_the_session_it_is_subscribed_again(listening, loud):
    listener = listening()
    listener.host.ask('resources/subscribe', {'uri': URIS[0]}).result()
    loud.expire_sessions()
    loud.drop_connections()
    note = listener.until(lambda m: 'updated' in m)
    assert json.loads(note)['params'] == {'uri': URIS[0]}
    assert len(loud.event_list('subscribed')) == 2
    loud.wait(lambda: len(loud.event_list('listening')) == 2)
    loud.push(UPDATED % URIS[0])
    assert listener.until(lambda m: '"x"' in m) == UPDATED % URIS[0]


def test_after_a_stream_that_cannot_be_resumed_every_subscription_is_told_that_it_may_have_changed(listening, loud):
    listener = listening()
    for uri in URIS:
        assert listener.host.ask('resources/subscribe', {'uri': uri}).result() == '{}'
    loud.wait_event('listening')
    loud.drop_connections()     # the session lives; its stream gave no event ids
    listener.until(lambda m: 'updated' in m)
    listener.until(lambda m: 'updated' in m)
    assert sorted(json.loads(m)['params']['uri'] for m in listener.seen) == URIS
    loud.wait(lambda: len(loud.event_list('listening')) == 2)
    assert len(loud.event_list('subscribed')) == 2
    assert len(listener.all(loud)) == 2      # one each


def test_a_process_that_died_is_subscribed_again(gateways, hosts, stdio_fakes):
    up = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    host = hosts(gateways({'up': up.config()}).server_url('up')).open()
    listener = Listener(host)
    assert host.ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    host.call('crash').messages()
    note = listener.until(lambda m: 'updated' in m)
    assert json.loads(note)['params'] == {'uri': URIS[0]}
    assert len(up.wait('subscribed', 2)) == 2 and len(up.pids()) == 2


def test_a_shared_process_tells_each_session_what_it_asked_for(gateways, hosts, stdio_fakes):
    up = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    url = gateways({'up': up.config()}).server_url('up')
    one, two, three = (Listener(hosts(url).open()) for _ in range(3))
    for listener in (one, two):
        assert listener.host.ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    assert two.host.ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'
    assert not up.entries('unsubscribed')       # one still wants it
    assert three.host.ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'      # it never wanted it
    assert not up.entries('unsubscribed')
    two.host.ask('resources/subscribe', {'uri': URIS[1]}).result()
    three.host.call('say', {'raw': [UPDATED % URIS[0], UPDATED % URIS[1], CHANGED % 'tools']}).messages()
    for listener, updates in ((one, [UPDATED % URIS[0]]), (two, [UPDATED % URIS[1]]), (three, [])):
        listener.until(lambda m: 'list_changed' in m)
        assert listener.seen[:-1] == updates
    one.host.end()
    assert up.wait('unsubscribed', uri=URIS[0])


@pytest.mark.parametrize('wanted, levels', [('warning', ['warning', 'error']), ('debug', None), ('emergency', [])])
def test_log_messages_are_never_more_than_the_host_asked(listening, loud, wanted, levels):
    listener = listening()
    assert listener.host.ask('logging/setLevel', {'level': wanted}).result() == '{}'
    said = ['debug', 'info', 'warning', 'error']
    for level in said:
        loud.push(LOG % level)
    seen = listener.all(loud)
    assert seen == [LOG % level for level in (said if levels is None else levels)]


def levels_set(up):
    return [json.loads(t)['params']['level'] for t in up.texts('logging/setLevel')]


@pytest.mark.parametrize('route', ['single', 'aggregate'])
def test_a_shared_process_is_as_verbose_as_the_most_curious_and_each_hears_its_own(gateways, hosts, stdio_fakes, route):
    up = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    gateway = gateways({'up': up.config()})
    url = gateway.server_url('up') if route == 'single' else gateway.mcp_url
    calm, curious, silent = (Listener(hosts(url).open()) for _ in range(3))
    for listener in (calm, curious, silent):
        listener.host.tools()
    tool = 'say' if route == 'single' else 'up-say'
    assert calm.host.ask('logging/setLevel', {'level': 'error'}).result() == '{}'
    assert curious.host.ask('logging/setLevel', {'level': 'debug'}).result() == '{}'
    assert calm.host.ask('logging/setLevel', {'level': 'warning'}).result() == '{}'
    assert levels_set(up) == ['error', 'debug', 'debug']
    said = ['debug', 'info', 'warning', 'error']
    # Two calls in flight: what is said then belongs to neither of them.
    open_call = silent.host.start_call(tool.replace('say', 'slow'), {'ms': 60000}, id='"open"')
    wait_until(lambda: any('"slow"' in t for t in up.texts('tools/call')), what='the call in flight')
    silent.host.call(tool, {'raw': [LOG % level for level in said] + [CHANGED % 'tools']}).messages()
    for listener, heard in ((calm, ['warning', 'error']), (curious, said), (silent, [])):
        listener.until(lambda m: 'list_changed' in m)
        assert listener.seen[:-1] == [LOG % level for level in heard]
    curious.host.end()      # nobody wants to hear so much any more
    wait_until(lambda: levels_set(up)[3:] == ['warning'], what='the level of who is left')
    silent.host.cancel('"open"')
    del open_call


def test_notifications_of_the_older_transport(gateways, hosts, sse_fakes):
    up = Upstream('sse', lambda name, **o: sse_fakes(name, **{k: v for k, v in o.items() if k != 'kind'}), None,
                  capabilities=LOUD, resources=URIS)
    host = hosts(gateways({'up': up.entry()}).server_url('up')).open()
    listener = Listener(host)
    host.ask('resources/subscribe', {'uri': URIS[0]}).result()
    up.fake.push(UPDATED % URIS[0])
    up.fake.push(CHANGED % 'tools')
    listener.until(lambda m: 'list_changed' in m)
    assert listener.seen == [UPDATED % URIS[0], CHANGED % 'tools']


def test_two_sessions_of_one_http_upstream_hear_only_their_own(gateways, hosts, loud):
    url = gateways({'up': http(loud)}).server_url('up')
    one, two = Listener(hosts(url).open()), Listener(hosts(url).open())
    loud.wait(lambda: len(loud.event_list('listening')) == 2)
    sessions = [e['session'] for e in loud.event_list('listening')]
    loud.push(CHANGED % 'tools', sessions[0])
    loud.push(CHANGED % 'prompts', sessions[1])
    heard = sorted(listener.until(lambda m: True) for listener in (one, two))
    assert heard == sorted([CHANGED % 'tools', CHANGED % 'prompts'])


def test_a_session_that_ends_ends_its_streams_upstream(listening, loud):
    listener = listening()
    listener.host.end()
    wait_until(lambda: not loud.listeners, what='the upstream stream to end', timeout=5)


def test_a_subscription_needs_a_session(gateways, hosts, loud):
    host = hosts(gateways({'up': http(loud)}).server_url('up'))
    message_error(host.ask('resources/subscribe', {'uri': URIS[0]}), code=-32601)
    assert not loud.event_list('subscribed')


def test_the_standing_queue_of_a_host_that_never_listens_is_bounded(gateways, hosts, loud):
    gateway = gateways({'up': http(loud)}, limits={'events_per_stream': 20})
    host = hosts(gateway.server_url('up')).open()
    host.ask('logging/setLevel', {'level': 'debug'}).result()
    loud.wait_event('listening')
    for i in range(200):
        loud.push('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}' % i)
    host.say('echo')
    listener = Listener(host)
    listener.until(lambda m: rawjson.get(m, 'params', 'data') == '199')
    assert len(listener.seen) <= 40
