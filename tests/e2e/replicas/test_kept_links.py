"""Upstream sessions of one host session over replicas, when the store was away while they were opened."""
import pytest

from kit import http
from lib.procs import wait_until

from cluster import at
from counted import Counted


@pytest.fixture
def up(fakes):
    return fakes('up', kind=Counted, more_tools=['whoami'])


@pytest.fixture
def pair(up, redis, clusters, hosts):
    """(cluster, the host at each of two replicas): both know the session, and it has no upstream session yet."""
    cluster = clusters({'up': http(up)}, count=2, redis=redis, balanced=False)
    host = hosts(cluster[0].url(), timeout=20).open()
    both = [at(host, replica) for replica in cluster]
    for there in both:
        assert there.ask('ping').status == 200
    wait_until(lambda: not up.live, 10, 'those that only met the server to go')
    redis.kill()
    for replica in cluster:
        wait_until(lambda: replica.metric('sluice_store_up') == 0, 10, 'the store to be missed')
    return cluster, both


def bring_back(redis, cluster):
    redis.start()
    for replica in cluster:
        wait_until(lambda: replica.metric('sluice_store_up') == 1, 10, 'the store to be back')


def published(redis):
    """The upstream session in the one session's record."""
    record, = redis.keys('*s:{*}')
    fields = [f.decode() for f in redis.ask('HKEYS', record)]
    return any(f.startswith('r:up:') for f in fields)


def test_two_that_were_opened_while_the_store_was_away_become_one(up, redis, pair):
    cluster, both = pair
    assert len({there.say('up-whoami') for there in both}) == 2
    bring_back(redis, cluster)
    wait_until(lambda: len({there.say('up-whoami') for there in both}) == 1, 20, 'one upstream session')
    wait_until(lambda: len(up.live) == 1, 10, 'the other to be closed')
    assert published(redis)
    assert both[1].end().status in (200, 204)
    wait_until(lambda: not up.live, 10, 'the upstream session to be closed')


def test_one_that_was_opened_while_the_store_was_away_is_not_left_behind(up, redis, pair):
    cluster, both = pair
    both[0].say('up-whoami')
    bring_back(redis, cluster)
    wait_until(lambda: published(redis), 20, 'the record to know of it')
    cluster[0].kill()
    assert both[1].end().status in (200, 204)
    wait_until(lambda: not up.live, 10, 'the upstream session to be closed')


def test_calls_under_way_in_the_one_that_gives_way_run_to_their_end(up, redis, pair):
    cluster, both = pair
    calls = []
    for number, there in enumerate(both):
        calls.append(there.call('up-steps', {'key': 'k%d' % number, 'n': 40, 'pause': 0.1}, token='1'))
        next(e for e in calls[-1].events() if e.text)
    bring_back(redis, cluster)
    wait_until(lambda: published(redis), 20, 'the record to know of it')
    for call in calls:
        assert '"result"' in call.messages(20)[-1]
    wait_until(lambda: len(up.live) == 1, 20, 'the other to be closed')
    assert not up.cancelled
