"""A session with an HTTP+SSE upstream cannot leave the replica that opened it: the host's session is at home there,
and has one upstream session whichever replica it speaks to (decisions 1 and 2)."""
import pytest

from kit import Listener, http, sse
from lib.procs import wait_until

from cluster import at
from test_notifications_anywhere import CHANGED, FRESH, LOG, LOUD, UPDATED, URIS, free_place


@pytest.fixture
def up(sse_fakes):
    return sse_fakes('up', capabilities=LOUD, resources=URIS)


@pytest.fixture(params=['sse', 'found out'])
def cluster(request, up, memory, clusters):
    """`found out`: configured as Streamable HTTP, and the server turns out to speak only the older transport."""
    entry = sse(up) if request.param == 'sse' else http(up)
    made = clusters({'up': entry}, redis=memory, balanced=False, lease='2s')
    up.wait(lambda: len(up.event_list('listening')) >= 3, timeout=15)      # each has met it
    up.wait(lambda: not up.streams_open)
    return made


def test_one_upstream_session_serves_the_host_from_everywhere(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    assert len({at(host, replica).say('whoami') for replica in cluster}) == 1
    assert len(up.streams_open) == 1
    assert at(host, cluster[2]).end().status in (200, 204)
    up.wait(lambda: not up.streams_open)


def test_what_it_says_comes_once_and_what_was_subscribed_anywhere_ends_anywhere(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        at(host, replica).tools()
    assert at(host, cluster[1]).ask('logging/setLevel', {'level': 'warning'}).result() == '{}'
    assert at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    stream = Listener(at(host, cluster[1]))
    said = [CHANGED % 'tools', UPDATED % URIS[0], LOG % 'warning']
    for text in said:
        up.push(text)
    stream.until(lambda m: 'list_changed' in m)     # it is told once over all replicas, which takes a step more
    assert sorted(stream.all(up)) == sorted(said)
    assert at(host, cluster[2]).ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'
    assert [e['uri'] for e in up.event_list('unsubscribed')] == [URIS[0]]


def test_a_new_home_subscribes_again(up, cluster, hosts):
    host = hosts(cluster[0].url('up'), timeout=20).open()
    for uri in URIS:
        assert at(host, cluster[0]).ask('resources/subscribe', {'uri': uri}).result() == '{}'
    assert at(host, cluster[0]).ask('resources/unsubscribe', {'uri': URIS[1]}).result() == '{}'
    cluster[0].kill()
    up.wait(lambda: not up.streams_open)
    wait_until(lambda: at(host, cluster[1]).ask('ping').status == 200, 15, 'the new home')
    stream = free_place(host, cluster[2], up)
    # The host asks nothing: that it listens is enough.
    assert stream.until(lambda m: 'updated' in m, timeout=20) == FRESH % URIS[0]
    assert [e['uri'] for e in up.event_list('subscribed')] == [*URIS, URIS[0]]
    up.push(UPDATED % URIS[0])
    assert stream.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    assert len(up.streams_open) == 1
