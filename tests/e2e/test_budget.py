"""limits.inflight_bytes: the process-wide bound on messages under way (decision 14)."""
import json
import time

from kit import http

KIB = 1024


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
    while (status := host.call('echo', big).status) == 503 and time.monotonic() < until:
        pass
    assert status == 200
