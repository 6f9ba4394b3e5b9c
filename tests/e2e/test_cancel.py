"""Cancellation: to exactly the upstream that runs the request, with its id; nothing else suffers."""
import json

import pytest

from fake import rawjson
from kit import DIRECT, http, sse, text_of
from lib.procs import wait_until


@pytest.mark.direct
def test_a_cancel_reaches_the_upstream_with_its_own_id_and_the_reason(host, fake):
    wire = host.start_call('slow', id='77')
    started = fake.wait_event('started')
    assert host.cancel('77', 'user é').status == 202
    seen = fake.wait_event('cancelled')
    assert seen['matched'] and seen['id'] == started['id']
    assert json.loads(seen['reason']) == 'user é'
    answer = wire.answer()
    assert answer.status == 200 and answer.messages() == []


@pytest.mark.direct
def test_the_post_of_a_cancelled_call_ends_with_an_empty_stream(host, fake):
    wire = host.start_call('slow', {'first': True}, token='1', id='"a"')
    answer = wire.answer()
    while 'notifications/progress' not in (event := answer.event()).text:
        assert not event.text           # only a priming event may stand first
    host.cancel('"a"')
    assert answer.event() is None
    fake.wait_event('cancelled', matched=True)


@pytest.mark.direct
def test_a_late_answer_to_a_cancelled_call_reaches_nobody(host, fake):
    wire = host.start_call('late', token='1', id='5')
    fake.wait_event('started')
    host.cancel('5')
    fake.wait_event('answered')
    messages = wire.answer().messages()
    if not DIRECT:      # the fake itself does answer: that is the point of it
        assert not [m for m in messages if '"result"' in m]
    assert text_of(host.call('echo', id='6').result())


@pytest.mark.parametrize('kind', ['stdio', 'sse'])
def test_a_late_answer_on_a_shared_pipe_or_stream_is_dropped(stdio_fakes, sse_fakes, gateways, hosts, kind):
    up = stdio_fakes('up') if kind == 'stdio' else sse_fakes('up')
    entry = up.config() if kind == 'stdio' else sse(up)
    host = hosts(gateways({'up': entry}, stdio={'enabled': True}).server_url('up')).open()
    wire = host.start_call('late', token='1', id='5')
    wait = up.wait if kind == 'stdio' else up.wait_event
    wait('started')
    host.cancel('5')
    wait('answered')
    assert not [m for m in wire.answer().messages() if '"result"' in m]
    assert host.say('whoami').startswith('up|')


@pytest.mark.parametrize('id', ['99', '"77"', 'null', '1.5'])
def test_a_cancel_of_an_unknown_request_is_accepted_and_ignored(host, fake, id):
    wire = host.start_call('slow', id='77')
    fake.wait_event('started')
    assert host.cancel(id).status in (202, 400 if id in ('null', '1.5') else 202)
    fake.release()
    assert text_of(wire.answer().result()) == 'slow done'
    assert not fake.event_list('cancelled')


def test_a_cancel_of_a_finished_request_goes_nowhere(host, fake):
    host.call('echo', id='3').result()
    assert host.cancel('3').status == 202
    host.call('echo', id='4').result()
    assert not fake.event_list('cancelled')


def test_a_cancel_goes_only_to_the_session_that_sent_it(hosts, url, fake):
    one, two = hosts(url).open(), hosts(url).open()
    wire = one.start_call('slow', id='77')
    fake.wait_event('started')
    assert two.cancel('77').status == 202
    two.call('echo').result()
    assert not fake.event_list('cancelled')
    fake.release()
    assert text_of(wire.answer().result()) == 'slow done'


def test_a_cancel_goes_only_to_the_upstream_that_runs_the_call(fakes, gateways, hosts):
    a, b = fakes('a'), fakes('b')
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    keep = host.start_call('b-slow', id='1')
    drop = host.start_call('a-slow', id='2')
    a.wait_event('started'), b.wait_event('started')
    host.cancel('2', 'enough')
    assert a.wait_event('cancelled')['matched']
    assert drop.answer().messages() == []
    b.release()
    assert text_of(keep.answer().result()) == 'slow done'
    assert not b.event_list('cancelled')


@pytest.mark.direct
def test_a_cancelled_call_of_several_ends_alone(host, fake):
    wires = {i: host.start_call('slow', {'say': 'call %s' % i}, id=str(i)) for i in range(3)}
    fake.wait(lambda: len(fake.event_list('started')) == 3)
    host.cancel('1')
    fake.wait_event('cancelled', matched=True)
    assert wires[1].answer().messages() == []
    fake.release()
    assert text_of(wires[0].answer().result()) == 'call 0'
    assert text_of(wires[2].answer().result()) == 'call 2'


def test_a_cancel_reaches_a_stdio_upstream_with_its_id(stdio_fakes, gateways, hosts):
    st = stdio_fakes()
    host = hosts(gateways({'st': st.config()}, stdio={'enabled': True}).server_url('st')).open()
    wire = host.start_call('slow', id='"x"')
    started = st.wait('started')[0]
    host.cancel('"x"', 'bye')
    seen = st.wait('cancelled')[0]
    assert seen['matched'] and seen['id'] == started['id'] and json.loads(seen['reason']) == 'bye'
    assert wire.answer().messages() == []


def test_an_initialize_is_never_cancelled(fakes, gateways, hosts):
    up = fakes('up', faults={'initialize': 'silent'})
    gateway = gateways({'up': http(up)})
    host = hosts(gateway.mcp_url)
    host.initialize().final()       # waits at most half a second for an unknown upstream
    host.cancel('0')
    assert not up.event_list('cancelled')


def test_a_closed_connection_is_no_cancel_and_the_call_goes_on(host, fake):
    wire = host.start_call('slow', id='78')
    fake.wait_event('started')
    wire.close()
    host.call('echo').result()
    assert not fake.event_list('cancelled') and not fake.event_list('closed early')
    fake.release()
    wait_until(lambda: not fake.calls, what='the call to end')
    assert not fake.event_list('closed early')


def test_ending_the_session_cancels_its_calls(host, fake):
    wire = host.start_call('slow', id='1')
    fake.wait_event('started')
    assert host.end().status in (200, 204)
    fake.wait(lambda: fake.event_list('cancelled') or fake.event_list('closed early'))
    assert not [m for m in wire.answer().messages() if '"result"' in m]


def test_ids_may_be_used_again_after_their_answer(host):
    for _ in range(3):
        assert rawjson.get(host.call('echo', id='1').final(), 'id') == '1'


def test_a_cancel_overtakes_the_call_it_cancels(host, fake):
    """Sent right behind the call, on another connection: whichever is read first, the call does not run on.

    Upstream too they are on two connections, so the fake may read the cancel first: what counts is that
    every call it got was cancelled by its id.
    """
    for i in range(40):
        wire = host.start_call('slow', {'seconds': 20}, id=str(i))
        assert host.cancel(str(i)).status == 202
        assert not [m for m in wire.answer(timeout=5).messages(timeout=5) if '"result"' in m]
    fake.wait(lambda: {r.raw('id') for r in fake.seen(tool='slow')} <= {c['id'] for c in fake.event_list('cancelled')})
