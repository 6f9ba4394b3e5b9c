"""Upstreams that are slow, broken, gone or old: a clear error for the call, nothing for the others."""
import asyncio
import json

import pytest

from fake import rawjson
from fake.server import on_loop
from kit import http, message_error, no_canary, progress_notes, sse, text_of
from lib.procs import wait_until

QUICK = {'connect': '1s', 'initialize': '1s', 'list': '500ms', 'call': '500ms'}
LOST = ['close', 'reset', 'cut', 'cutjson']
WRONG = ['badjson', 'badutf8', 'dup', 'dupid', 'wrongid', 'both', 'html', 'noanswer', 'empty202', 'hugehead', '400', '401', '403',
         '429', '500', '502', '503']
QUIET = ['silent', 'stall', 'stallbody']


def open_host(gateways, hosts, servers, name='up', **top):
    gateway = gateways(servers, **top)
    return gateway, hosts(gateway.server_url(name)).open()


@pytest.mark.parametrize('kind', LOST + WRONG + QUIET)
def test_a_broken_call_is_a_clear_error_and_the_next_call_works(fakes, gateways, hosts, kind):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)}, timeouts=QUICK)
    answer = host.call('fault', {'kind': kind}, token='1', id='"i"')
    assert answer.status in (200, 401, 403, 429, 500, 502, 503, 504)
    final = answer.final()
    assert rawjson.get(final, 'id') == '"i"'
    error = json.loads(rawjson.get(final, 'error'))
    assert isinstance(error['code'], int) and 'up' in error['message']
    no_canary(final, str(answer.headers))
    assert host.say('whoami').startswith('up|')
    assert len(up.seen(tool='fault')) == 1, 'a call was sent twice'


@pytest.mark.parametrize('kind', ['huge', 'hugeevent'])
def test_an_answer_without_end_is_refused(fakes, gateways, hosts, kind):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)}, limits={'upstream_message': '1MiB'})
    error = message_error(host.call('fault', {'kind': kind}, timeout=30))
    assert "'up'" in error['message'] and 'limits.upstream_message' in error['message']
    assert up.sent_bytes < 60 << 20
    assert host.say('whoami')


def test_a_result_at_the_default_bound_is_delivered(fakes, gateways, hosts):
    _, host = open_host(gateways, hosts, {'up': http(fakes('up'))})
    assert len(host.say('big', {'mib': 15}, timeout=30)) == 15 << 20


def test_silence_ends_a_call_and_is_told_upstream(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up, timeout='300ms')})
    error = message_error(host.call('slow'))
    assert 'time' in error['message'].lower()
    up.wait(lambda: up.event_list('cancelled') or up.event_list('closed early'))


def tick(call, value, after=0.25):
    """One note from the running tool, a while from now."""
    async def later():
        await asyncio.sleep(after)
        await call.progress(str(value))
    on_loop(later())


def next_text(answer):
    while (event := answer.event()) is not None and not event.text:
        pass
    return event.text if event else None


def test_progress_starts_the_silence_clock_anew(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up, timeout='600ms')})
    answer = host.start_call('slow', {'first': True}, token='1', id='1').answer()
    call = up.wait(lambda: next(iter(up.calls.values()), None))
    for i in range(1, 6):               # 5 × 250 ms is more than the clock allows without notes
        assert 'notifications/progress' in next_text(answer)
        tick(call, i)
    up.release()
    assert text_of(rawjson.get(answer.messages()[-1], 'result')) == 'slow done'


def test_the_absolute_clock_ends_a_call_that_keeps_talking(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up, timeout='600ms', max_timeout='1s')})
    answer = host.start_call('slow', {'first': True}, token='1').answer()
    call = up.wait(lambda: next(iter(up.calls.values()), None))
    for i in range(1, 20):
        text = next_text(answer)
        if '"error"' in text:
            break
        tick(call, i)
    assert i >= 3 and 'time' in json.loads(rawjson.get(text, 'error'))['message'].lower()


def test_an_upstream_that_does_not_answer_initialize_holds_up_nobody(fakes, gateways, hosts):
    mute, good = fakes('mute', faults={'initialize': 'silent'}), fakes('good', tool_names=['one'])
    gateway = gateways({'mute': http(mute), 'good': http(good)}, timeouts=QUICK)
    host = hosts(gateway.mcp_url).open()
    assert host.say('good-one') == 'one of good'
    error = message_error(host.call('mute-one'))
    assert 'mute' in error['message']


def test_dead_upstreams_delay_neither_start_nor_others(fakes, gateways, hosts):
    dead, good = fakes('dead'), fakes('good', tool_names=['one'])
    dead.stop()
    gateway = gateways({'dead': http(dead), 'hole': {'transport': 'http', 'url': 'http://192.0.2.1:9/mcp'}, 'good': http(good)},
                       timeouts={'connect': '1s'})
    assert gateway.admin('/readyz')
    host = hosts(gateway.mcp_url).open()
    assert host.say('good-one') == 'one of good'
    message_error(host.call('dead-one'))


def test_an_ordinary_call_costs_one_request_upstream(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    host.call('echo').result()
    before, connections = len(up.records), len(up.event_list('connected'))
    for _ in range(10):
        host.call('echo').result()
    assert [r.tool for r in up.records[before:]] == ['echo'] * 10
    assert len(up.event_list('connected')) == connections, 'connections were not kept'


def test_a_connection_that_the_upstream_closed_is_not_used_again(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    for _ in range(3):
        host.call('echo').result()
        up.drop_connections()
        up.wait(lambda: len(up.event_list('disconnected')) >= len(up.event_list('connected')))
        assert host.say('whoami')
    assert len(up.seen(tool='whoami')) == 3


def test_a_session_the_upstream_forgot_is_opened_again_once(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    first = host.say('whoami')
    up.expire_sessions()
    second = host.say('whoami')
    assert first != second
    assert len(up.seen(tool='whoami')) == 3         # one of them was the refused try


def test_a_session_that_is_forgotten_at_once_again_is_an_error(fakes, gateways, hosts):
    up = fakes('up', faults={'tools/call': '404'})
    _, host = open_host(gateways, hosts, {'up': http(up)})
    message_error(host.call('whoami'))
    assert 1 <= len(up.seen(tool='whoami')) <= 2


def test_an_upstream_without_sessions_is_served(fakes, gateways, hosts):
    up = fakes('up', sessions=False, get='405')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    assert host.say('whoami') == 'up|None'
    assert len(host.call('progress', token='1').messages()) == 4


def test_an_upstream_that_closes_and_wants_to_be_polled(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    wire = host.start_call('polling', {'retry': 50}, token='"t"', id='1')
    messages, last = gather(host, wire)
    assert text_of(rawjson.get(messages[-1], 'result')) == 'resumed'
    assert [rawjson.get(n, 'progressToken') for n in progress_notes(messages)] == ['"t"'] * 4
    assert up.wait_event('resumed')['last'] == 's1-0' or up.event_list('resumed')
    assert len(up.seen(tool='polling')) == 1


def gather(host, wire):
    """All messages of a call whose stream may be closed voluntarily (then it is asked for again)."""
    messages, last, answer = [], None, wire.answer()
    for _ in range(5):
        for event in answer.events():
            last = event.id or last
            if event.text:
                messages.append(event.text)
        if messages and rawjson.get(messages[-1], 'id') is not None:
            return messages, last
        answer = host.listen(last=last)
        assert answer.status == 200
    raise AssertionError('no response after five streams: %s' % messages)


def test_the_delay_an_upstream_asks_for_is_honoured(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    gather(host, host.start_call('polling', {'retry': 700}, id='1'))
    waited = up.event_list('resumed')[0]['at'] - up.event_list('polled')[0]['at']
    assert 0.69 <= waited < 5


def test_a_stream_that_breaks_after_an_id_is_resumed_without_loss_or_doubling(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)})
    messages, _ = gather(host, host.start_call('breaks', {'retry': 50}, token='1', id='1'))
    assert [rawjson.get(n, 'progress') for n in progress_notes(messages)] == ['1', '2', '3', '4']
    assert text_of(rawjson.get(messages[-1], 'result')) == 'resumed'
    assert len(up.seen(tool='breaks')) == 1


def test_an_open_circuit_answers_at_once_and_closes_again(fakes, gateways, hosts):
    up = fakes('up')
    gateway, host = open_host(gateways, hosts, {'up': http(up)}, circuit={'failures': 3, 'open_for': '400ms'}, timeouts=QUICK)
    assert host.say('whoami')
    up.stop()
    for _ in range(3):
        message_error(host.call('whoami'))
    before = len(up.event_list('connected'))
    up.restart()
    error = message_error(host.call('whoami'))
    assert 'up' in error['message'] and len(up.event_list('connected')) == before, 'the open circuit let a call through'
    wait_until(lambda: '"result"' in host.call('whoami').final(), what='the circuit to close')


def test_a_failing_tool_is_no_failing_upstream(fakes, gateways, hosts):
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up)}, circuit={'failures': 2})
    for _ in range(5):
        assert host.call('err').error()['code'] == -32055
        assert json.loads(host.call('iserror').result())['isError']
    assert host.say('whoami')


def test_concurrent_requests_to_one_upstream_are_bounded(fakes, gateways, hosts):
    """The third call waits its turn or is refused with an error; it never runs beside the two."""
    up = fakes('up')
    _, host = open_host(gateways, hosts, {'up': http(up, max_concurrent_requests=2)})
    host.say('whoami')
    wires = [host.start_call('slow', id=str(i)) for i in range(2)]
    up.wait(lambda: len(up.event_list('started')) == 2)
    third = host.start_call('whoami', id='3')
    host.ask('ping').result()           # the third has reached the gateway by now
    assert len(up.seen(tool='whoami')) == 1
    up.release()
    for wire in wires:
        assert text_of(wire.answer().result()) == 'slow done'
    final = third.answer().final()
    assert '"error"' in final or len(up.seen(tool='whoami')) == 2


# ---- HTTP+SSE -----------------------------------------------------------------------------------

def test_an_http_upstream_that_speaks_only_the_old_transport_is_found(sse_fakes, gateways, hosts):
    old = sse_fakes('old')
    _, host = open_host(gateways, hosts, {'old': {'transport': 'http', 'url': old.url}}, 'old')
    assert host.say('whoami').startswith('old|')


def test_a_broken_upstream_is_not_taken_for_an_old_one(fakes, gateways, hosts):
    up = fakes('up', faults={'initialize': '500'})
    host = hosts(gateways({'up': http(up)}, timeouts=QUICK).mcp_url).open()
    message_error(host.call('up-echo'))
    assert not up.seen(method='GET')


def test_the_old_transport_carries_everything(sse_fakes, gateways, hosts):
    old = sse_fakes('old')
    _, host = open_host(gateways, hosts, {'old': sse(old)}, 'old')
    from fake import tools
    assert host.call('exact').result() == tools.EXACT
    assert rawjson.get(host.call('err').final(), 'error') == tools.ERROR
    messages = host.call('progress', {'n': 20}, token='0').messages()
    assert len(messages) == 21 and '"result"' in messages[-1]
    wire = host.start_call('slow', id='77')
    started = old.wait_event('started')
    host.cancel('77', 'x')
    assert old.wait_event('cancelled')['id'] == started['id']
    assert wire.answer().messages() == []


def test_hosts_do_not_share_an_old_stream(sse_fakes, gateways, hosts):
    old = sse_fakes('old')
    gateway = gateways({'old': sse(old)})
    one, two = (hosts(gateway.server_url('old')).open() for _ in range(2))
    first, second = one.say('whoami'), two.say('whoami')
    assert first != second
    one.end()
    old.wait_event('stream closed', session=first.split('|')[1])
    assert two.say('whoami') == second


def test_a_lost_old_stream_fails_its_calls_and_is_opened_again(sse_fakes, gateways, hosts):
    old = sse_fakes('old')
    _, host = open_host(gateways, hosts, {'old': sse(old)}, 'old')
    wire = host.start_call('slow', id='1')
    old.wait_event('started')
    old.drop_connections()
    message_error(wire.answer())
    assert host.say('whoami').startswith('old|')
    message_error(host.call('fault', {'kind': 'cut'}))
    assert host.say('whoami').startswith('old|')
    assert len(old.seen(tool='slow')) == 1


@pytest.mark.parametrize('kind', ['badjson', 'wrongid', 'silent'])
def test_a_broken_answer_on_an_old_stream_is_a_clear_error(sse_fakes, gateways, hosts, kind):
    old = sse_fakes('old')
    _, host = open_host(gateways, hosts, {'old': sse(old)}, 'old', timeouts=QUICK)
    message_error(host.call('fault', {'kind': kind}))
    assert host.say('whoami').startswith('old|')
