"""What an operator sees of the sessions on any replica's admin listener, and ends there (issue 3)."""
import json
import urllib.error
import urllib.request

import pytest

from kit import http, key
from lib.procs import wait_until

from cluster import at


def admin(replica, method, path):
    request = urllib.request.Request(replica.gateway.admin_url + path, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def listed(replica):
    status, body = admin(replica, 'GET', '/sessions')
    assert status == 200, body
    return body['sessions']


@pytest.fixture
def keyed(fakes, memory, clusters, hosts):
    """Two replicas; a host of each of two keys, opened on the first."""
    up = fakes('up')
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, count=2,
                       keys=[key('one', 'secret-1'), key('two', 'secret-2')])
    opened = [hosts(cluster[0].url('up'), headers=[('x-sluice-api-key', 'secret-%d' % n)]).open() for n in (1, 2)]
    for host in opened:
        host.tools()
    return up, cluster, opened


def test_every_replica_lists_every_session_and_no_id(keyed):
    up, cluster, (one, two) = keyed
    for replica in cluster:
        found = listed(replica)
        assert sorted(s['key'] for s in found) == ['one', 'two']
        assert {s['endpoint'] for s in found} == {'/mcp/up'}
        assert all(s['age_s'] < 60 and s['idle_s'] < 60 and len(s['session']) == 16 for s in found)
        assert one.session not in str(found) and two.session not in str(found)
    assert listed(cluster[0])[0]['session'] in {s['session'] for s in listed(cluster[1])}


def test_a_session_that_is_ended_there_is_gone_everywhere_and_upstream(keyed):
    up, cluster, (one, two) = keyed
    mine = next(s['session'] for s in listed(cluster[1]) if s['key'] == 'one')
    assert admin(cluster[1], 'DELETE', '/sessions/' + mine) == (200, {'ended': 1})
    for replica in cluster:
        wait_until(lambda: at(one, replica).ask('ping').status == 404, 5, 'the session to be gone')
        assert at(two, replica).ask('ping').status == 200
        assert [s['key'] for s in listed(replica)] == ['two']
    wait_until(lambda: len(up.live) == 1, what='its upstream session to be ended')
    assert admin(cluster[0], 'DELETE', '/sessions/' + mine)[0] == 404
    assert admin(cluster[0], 'DELETE', '/sessions?key=two') == (200, {'ended': 1})
    wait_until(lambda: at(two, cluster[1]).ask('ping').status == 404, 5, 'the session to be gone')
    assert listed(cluster[0]) == []
    assert admin(cluster[0], 'DELETE', '/sessions')[0] == 400, 'never all of them by omission'
