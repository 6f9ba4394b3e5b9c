"""limits.sessions over replicas: each bounds what it holds itself, and copies of sessions that are idle make room."""
import pytest

from kit import http
from lib.procs import wait_until

from cluster import at
from counted import Counted

LIMIT = 4


@pytest.fixture
def cluster(fakes, memory, clusters):
    up = fakes('up', kind=Counted)
    return clusters({'up': http(up)}, count=2, redis=memory, balanced=False, limits={'sessions': LIMIT})


def test_two_replicas_hold_more_sessions_than_one_and_each_serves_all(cluster, hosts):
    many = [hosts(cluster[n % 2].url('up')).open() for n in range(2 * LIMIT)]
    for turn in range(2):
        for n, host in enumerate(many):
            for replica in cluster:
                wait_until(lambda: at(host, replica).ask('ping').status == 200, 5, 'session %d to be served' % n)
                assert at(host, replica).say('quick', '{"key":"k"}') == 'done k'
    for host in many:
        assert at(host, cluster[0]).end().status in (200, 204)


def test_a_replica_whose_sessions_are_all_in_use_refuses_more(cluster, hosts):
    other = hosts(cluster[1].url('up')).open()
    busy = [hosts(cluster[0].url('up')).open() for _ in range(LIMIT)]
    streams = [host.listen() for host in busy]
    assert all(s.status == 200 for s in streams)
    new, taken_up = hosts(cluster[0].url('up')).initialize(), at(other, cluster[0]).ask('ping')
    for refused in (new, taken_up):
        assert refused.status == 503 and refused.header('retry-after'), refused.status
        assert b'limits.sessions' in refused.body()
    assert other.ask('ping').status == 200, 'where there is room'
    streams[0].close()
    wait_until(lambda: at(other, cluster[0]).ask('ping').status == 200, 15, 'an idle one to make room')
    for stream in streams[1:]:
        stream.close()
