"""limits.inflight_bytes: the process-wide bound on messages under way (decision 14)."""
import json
import time

import pytest

from fake import rawjson
from kit import grew_less, http, rss, sse, text_of

KIB = 1024
MIB = 1024 * KIB


def test_requests_over_the_budget_are_refused_and_served_again_once_there_is_room(fakes, gateways, hosts):
    fake = fakes()
    gateway = gateways({'up': http(fake)}, limits={'inflight_bytes': 1024 * KIB})
    host = hosts(gateway.server_url('up')).open()
    big = json.dumps({'pad': 'x' * (600 * KIB)})
    first = host.start_call('slow', big, id='77')
    assert host.say('echo', '{"small":1}')      # the first one's body has been read by now
    refused = host.call('echo', big)
    assert refused.status == 503
    assert refused.header('retry-after') == '1'
    assert 'inflight_bytes' in refused.error()['message']
    host.cancel('77')
    assert first.answer().messages() == []
    until = time.monotonic() + 10       # the room is given back when the upstream has been told
    while (status := host.call('exact', big).status) == 503 and time.monotonic() < until:
        pass
    assert status == 200


def large_results(gateway, hosts, server, count=16, mib=12):
    """Starts that many large calls from as many hosts, reads nothing until all are answered or wait,
    and returns the finals with the highest RSS met on the way."""
    all_hosts = [hosts(gateway.server_url(server), timeout=40).open() for _ in range(count)]
    before = highest = rss(gateway.pid)
    wires = [h.start_call('big', {'mib': mib}, id='1', rcvbuf=4096) for h in all_hosts]
    for wire in wires:
        wire.more(time.monotonic() + 30)        # its head is there: nobody reads on
        highest = max(highest, rss(gateway.pid))
    finals = []
    for wire in wires:
        finals.append(wire.answer().final())
        highest = max(highest, rss(gateway.pid))
    grew_less(gateway.pid, before, 160 * MIB, highest)
    return finals


def check(finals, mib=12):
    refused = [f for f in finals if rawjson.get(f, 'error') is not None]
    for final in refused:
        assert 'limits.inflight_bytes' in json.loads(final)['error']['message']
    whole = [f for f in finals if f not in refused]
    assert all(len(f) > mib * MIB for f in whole)
    return len(whole), len(refused)


@pytest.mark.parametrize('answers', ['json', 'sse'])
def test_large_results_that_nobody_reads_are_bounded_together(fakes, gateways, hosts, answers):
    fake = fakes(answers=answers)
    gateway = gateways({'up': http(fake)}, limits={'inflight_bytes': 40 * MIB})
    whole, refused = check(large_results(gateway, hosts, 'up'))
    assert refused >= 12, 'only %d of 16 were refused' % refused
    assert whole >= 1 or answers == 'sse'       # whose lengths nobody knows before
    host = hosts(gateway.server_url('up'), timeout=40).open()
    assert len(host.say('big', {'mib': 12})) == 12 * MIB, 'the room was not given back'


def test_a_large_result_of_a_shared_process_ends_its_own_call_only(stdio_fakes, gateways, hosts):
    st = stdio_fakes()
    gateway = gateways({'st': st.config()}, stdio={'enabled': True}, limits={'inflight_bytes': 8 * MIB})
    host = hosts(gateway.server_url('st')).open()
    waiting = host.start_call('slow', {'say': 'still here', 'first': True, 'seconds': 1}, token='1', id='5')
    error = host.call('big', {'mib': 12}).error()
    assert 'limits.inflight_bytes' in error['message']
    assert text_of(waiting.answer().result()) == 'still here'
    assert len(host.say('big', {'mib': 3})) == 3 * MIB
    assert len(st.pids()) == 1


def test_a_large_result_over_an_old_stream_is_refused_by_name(sse_fakes, gateways, hosts):
    fake = sse_fakes()
    gateway = gateways({'old': sse(fake)}, limits={'inflight_bytes': 8 * MIB})
    host = hosts(gateway.server_url('old')).open()
    assert 'limits.inflight_bytes' in host.call('big', {'mib': 12}).error()['message']
    assert len(host.say('big', {'mib': 3})) == 3 * MIB
