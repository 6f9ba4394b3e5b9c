"""What upstreams say outside calls, over replicas: once, on the one stream of the session, wherever that is read
and whoever listens upstream (issue 4 B)."""
import collections
import json
import os
import signal
import time

import pytest

from asking import STDIO
from kit import MARK, Listener, http
from lib.procs import wait_until
from reloading import Reloading

from cluster import at

LOUD = {'tools': {'listChanged': True}, 'resources': {'subscribe': True, 'listChanged': True}, 'logging': {}}
URIS = ['file:///a', 'file:///b']
CHANGED = '{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}'
UPDATED = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%s","x":1.0}}'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"%s","data":{"n":9007199254740993}}}'


@pytest.fixture
def up(fakes):
    return fakes('up', capabilities=LOUD, resources=URIS)


@pytest.fixture
def cluster(up, memory, clusters):
    return clusters({'up': http(up)}, redis=memory, balanced=False)


def free_place(host, replica, up):
    """A stream there, once the one before is known to have gone."""
    def look():
        try:
            return Listener(at(host, replica))
        except AssertionError:
            return None
    return wait_until(look, what='the place of the stream to be free')


def listened(up):
    """The upstream has the gateway's one stream."""
    up.wait_event('listening')
    return up


@pytest.mark.parametrize('where', [0, 1])
def test_a_change_of_lists_comes_once_wherever_the_host_listens(up, cluster, hosts, where):
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        at(host, replica).tools()
    stream = Listener(at(host, cluster[where]))
    listened(up)
    up.push(CHANGED % 'tools')
    stream.until(lambda m: 'list_changed' in m)
    assert stream.all(up) == [CHANGED % 'tools']
    assert len(up.listeners) == 1


def test_an_update_of_what_another_replica_subscribed_comes_once(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    assert at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    listened(up)
    stream = Listener(at(host, cluster[1]))
    up.push(UPDATED % URIS[0])
    assert stream.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    assert stream.all(up) == [UPDATED % URIS[0]]
    assert at(host, cluster[2]).ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'
    assert [e['uri'] for e in up.event_list('unsubscribed')] == [URIS[0]]
    assert len(up.listeners) == 1 and len(up.live) == 1


def test_what_is_said_while_nobody_listens_waits_and_is_read_anywhere(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    listened(up)
    up.push(UPDATED % URIS[0])
    first = Listener(at(host, cluster[1]))
    assert first.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    first.answer.close()
    assert free_place(host, cluster[2], up)


def test_two_streams_of_one_session_are_refused_wherever_they_are(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    stream = Listener(at(host, cluster[1]))
    for replica in cluster:
        assert at(host, replica).listen().status == 409
    stream.answer.close()
    assert free_place(host, cluster[2], up)


def test_a_stream_is_gone_on_with_at_another_replica_and_nothing_comes_twice(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    listened(up)
    stream, got = Listener(at(host, cluster[1])), []
    for turn in range(6):
        text = UPDATED % ('%s/%d' % (URIS[0], turn))
        up.push(text)
        got.append(stream.until(lambda m: 'updated' in m))
        assert got[-1] == text
        last, was = stream.last, stream
        was.answer.close()
        up.push(UPDATED % ('%s/between/%d' % (URIS[0], turn)))
        stream = Listener(at(host, cluster[turn % 3]), last=last)
        assert stream.until(lambda m: 'updated' in m) == UPDATED % ('%s/between/%d' % (URIS[0], turn))


def test_a_stream_that_is_gone_on_with_at_its_own_replica_keeps_the_place(up, cluster, hosts):
    """The old connection is still open there: what it gives back is not the place of the new one."""
    host = hosts(cluster[0].url('up')).open()
    at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    listened(up)
    stream = Listener(at(host, cluster[1]))
    for turn in range(3):
        up.push(UPDATED % URIS[0])
        stream.until(lambda m: 'updated' in m)
        stream = Listener(at(host, cluster[1]), last=stream.last)
        up.push(UPDATED % URIS[0])
        stream.until(lambda m: 'updated' in m)
        for replica in cluster:
            assert at(host, replica).listen().status == 409


def test_the_level_that_was_set_at_one_replica_is_kept_at_all(up, cluster, hosts):
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        at(host, replica).say('echo')
    assert at(host, cluster[0]).ask('logging/setLevel', {'level': 'warning'}).result() == '{}'
    stream = Listener(at(host, cluster[1]))
    listened(up)
    for level in ('debug', 'warning', 'info', 'error'):
        up.push(LOG % level)
    assert stream.all(up) == [LOG % 'warning', LOG % 'error']
    # In calls as well, at each of them.
    for replica in cluster:
        raw = [LOG % 'debug', LOG % 'warning']
        wait_until(lambda: at(host, replica).call('say', {'raw': raw}).messages()[:-1] == raw[1:], 5, 'the level to be known')
    assert at(host, cluster[2]).ask('logging/setLevel', {'level': 'debug'}).result() == '{}'
    for replica in cluster:
        raw = [LOG % 'debug', LOG % 'warning']
        wait_until(lambda: at(host, replica).call('say', {'raw': raw}).messages()[:-1] == raw, 5, 'the level to be known')
    assert len(up.listeners) == 1


def test_two_sessions_hear_their_own_and_one_replica_listens_for_each(up, cluster, hosts):
    pair = [hosts(cluster[n].url('up')).open() for n in range(2)]
    for n, host in enumerate(pair):
        for replica in cluster:
            at(host, replica).say('echo')
        at(host, cluster[2]).ask('resources/subscribe', {'uri': URIS[n]}).result()
    streams = [Listener(at(host, cluster[1 - n])) for n, host in enumerate(pair)]
    up.wait(lambda: len(up.listeners) == 2)
    own = [e['session'] for e in up.event_list('subscribed')]
    for n in range(2):
        up.push(UPDATED % URIS[n], session=own[n])
    for n, stream in enumerate(streams):
        assert stream.until(lambda m: 'updated' in m) == UPDATED % URIS[n]
        assert stream.all(up) == [UPDATED % URIS[n]]
    assert len(up.listeners) == 2


@pytest.mark.parametrize('way', ['a process of each replica', 'calls'])
def test_a_storm_of_changes_is_one_storm_over_all_replicas(up, stdio_fakes, memory, clusters, hosts, way):
    """At most one in a second, whichever replica hears of it; and one after the last."""
    each = stdio_fakes('up', capabilities=LOUD).config() if way != 'calls' else http(up)
    cluster = clusters({'up': each}, redis=memory, balanced=False, stdio=STDIO)
    host = hosts(cluster[0].url('up')).open()
    stream = Listener(at(host, cluster[1]))
    told, began = 0, time.monotonic()
    for turn in range(4):
        for replica in cluster:
            for part in range(3):
                answer = at(host, replica).call('say', {'raw': [CHANGED % 'tools']})
                told += sum('list_changed' in m for m in answer.messages())
        sent = len(stream.seen)
        stream.until(lambda m: 'list_changed' in m)
        told += len(stream.seen) - sent
        assert told <= time.monotonic() - began + 1, (told, stream.seen)


@pytest.mark.parametrize('way', ['subscribed', 'lists'])
def test_another_replica_listens_upstream_when_the_one_that_did_is_dead(up, memory, clusters, hosts, way):
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='2s')
    host = hosts(cluster[0].url('up'), timeout=20).open()
    if way == 'subscribed':
        at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    else:
        first = Listener(at(host, cluster[0]))      # it listens, so its replica does
        at(host, cluster[0]).tools()
        listened(up)
        first.answer.close()
    listened(up)
    for replica in cluster:
        at(host, replica).say('echo')
    stream = free_place(host, cluster[1], up)
    cluster[0].kill()
    up.wait(lambda: len(up.event_list('listening')) >= 2 and len(up.listeners) == 1, timeout=20)
    up.push(UPDATED % URIS[0])
    assert stream.until(lambda m: 'updated' in m and 'x' in json.loads(m)['params']) == UPDATED % URIS[0]
    assert sum(m == UPDATED % URIS[0] for m in stream.all(up)) == 1
    assert len(up.live) == 1


def test_what_is_said_after_a_long_silence_is_heard(up, memory, clusters, hosts):
    """Longer than a stream's events are kept: the log of the standing stream begins anew."""
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, timeouts={'resume': '500ms'})
    host = hosts(cluster[0].url('up')).open()
    at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    listened(up)
    stream = Listener(at(host, cluster[1]))
    for turn in range(3):
        for part in range(4 - turn):
            text = UPDATED % ('%s/%d/%d' % (URIS[0], turn, part))
            up.push(text)
            assert stream.until(lambda m: 'updated' in m) == text
        assert logs(memory)
        wait_until(lambda: not logs(memory), 10, 'the log to be gone')


FRESH = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%s"}}'


@pytest.mark.parametrize('first_is', ['dead', 'alive'])
def test_what_one_replica_subscribed_another_subscribes_again(up, memory, clusters, hosts, first_is):
    """The upstream forgets the session; a replica that knows nothing of the subscription opens it again."""
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='2s')
    host = hosts(cluster[0].url('up'), timeout=20).open()
    for uri in URIS:
        assert at(host, cluster[0]).ask('resources/subscribe', {'uri': uri}).result() == '{}'
    assert at(host, cluster[2]).ask('resources/unsubscribe', {'uri': URIS[1]}).result() == '{}'
    listened(up)
    stream = Listener(at(host, cluster[1]))
    at(host, cluster[2]).say('echo')
    if first_is == 'dead':
        cluster[0].kill()
    before = set(up.live)
    up.expire_sessions()
    up.drop_connections()
    at(host, cluster[2]).say('echo')
    up.wait(lambda: any(e['session'] not in before for e in up.event_list('subscribed')), timeout=20)
    assert [e['uri'] for e in up.event_list('subscribed') if e['session'] not in before] == [URIS[0]]
    assert stream.until(lambda m: 'updated' in m) == FRESH % URIS[0]
    # Replicas that opened one each give all but one of them up.
    for replica in cluster:
        if replica.up:
            at(host, replica).say('echo')
    up.wait(lambda: len(up.live) == 1 and set(up.listeners) == up.live, timeout=20)
    up.push(UPDATED % URIS[0])
    stream.until(lambda m: m == UPDATED % URIS[0])
    said = stream.all(up)
    # One for the session that was forgotten; where the listener died as well, who takes its place may tell of its gap.
    assert said.count(UPDATED % URIS[0]) == 1 and set(said) == {FRESH % URIS[0], UPDATED % URIS[0]}, said
    assert len(said) == 2 or first_is == 'dead' and len(said) == 3, said


def test_what_was_said_while_the_dead_replica_was_to_listen_is_made_up_for(up, memory, clusters, hosts):
    """Nobody heard it: whoever listens next tells one `updated` for each subscription."""
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='2s')
    host = hosts(cluster[0].url('up'), timeout=20).open()
    for uri in URIS:
        assert at(host, cluster[0]).ask('resources/subscribe', {'uri': uri}).result() == '{}'
    listened(up)
    stream = Listener(at(host, cluster[1]))
    at(host, cluster[1]).say('echo')
    cluster[0].kill()
    up.wait(lambda: not up.listeners, timeout=10)
    up.push(UPDATED % URIS[0])
    for _ in URIS:
        stream.until(lambda m: 'updated' in m, timeout=20)
    assert sorted(stream.all(up)) == [FRESH % uri for uri in URIS]


def fields_of(memory, prefix):
    """Fields of the one session's record that begin so."""
    record, = [k for k in memory.keys('sluice:s:*')]
    return [f.decode() for f in memory.ask('HKEYS', record) if f.decode().startswith('r:' + prefix)]


def test_a_place_that_is_given_up_while_the_store_is_away_is_free_when_it_is_back(up, fakes, redis, clusters, hosts):
    other = fakes('other')
    servers = {'up': http(up), 'other': http(other)}
    cluster = clusters(servers, redis=redis, balanced=False)
    host = hosts(cluster[0].url()).open()
    stream = at(host, cluster[0]).listen()
    at(host, cluster[0]).say('up-echo')
    listened(up)
    assert fields_of(redis, 'get:up:')
    redis.stop()
    file = Reloading(cluster[0].gateway, servers, {k: v for k, v in cluster[0].config.items() if k != 'mcp_servers'})
    file.hup(mcp_servers={'other': http(other)})
    up.wait(lambda: not up.listeners, timeout=10)
    redis.start()
    wait_until(lambda: not fields_of(redis, 'get:up:'), 10, 'the place to be free')
    stream.close()
    second = wait_until(lambda: (lambda a: a if a.status == 200 else None)(at(host, cluster[1]).listen()), 10, 'the stream to be free')
    at(host, cluster[1]).say('up-echo')
    up.wait(lambda: len(up.listeners) == 1)
    second.close()


def test_what_is_opened_anew_while_the_store_is_away_is_listened_to_when_it_is_back(up, redis, clusters, hosts):
    """And the store is not asked in vain without a pause meanwhile."""
    cluster = clusters({'up': http(up)}, count=1, redis=redis, balanced=False)
    host = hosts(cluster[0].url('up'), timeout=20).open()
    stream = Listener(host)
    host.say('echo')
    listened(up)
    redis.stop()
    up.expire_sessions()
    up.drop_connections()
    host.say('echo')
    # From its answer on, the store has been away for so long that it is not waited for.
    assert hosts(cluster[0].url('up'), timeout=20).initialize().status == 503
    host.say('echo')
    redis.start()
    up.wait(lambda: len(up.live) == 1 and set(up.listeners) == up.live, timeout=20)
    assert cluster[0].metric('sluice_store_commands_total', outcome='unreachable') < 100
    up.push(CHANGED % 'tools')
    stream.until(lambda m: 'list_changed' in m)


def logs(memory):
    """Keys of logs: they hold the epoch and the place of the last event."""
    return [k for k in memory.keys() if memory.ask('TYPE', k) == b'hash' and memory.ask('HEXISTS', k, 'epoch')]


def test_what_a_flood_loses_on_its_way_is_counted(up, memory, clusters, hosts):
    """A reader that stands still is outrun twice: by the writer before the store, and by the log behind it."""
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, limits={'events_per_stream': 10})
    host = hosts(cluster[0].url('up')).open()
    at(host, cluster[0]).ask('resources/subscribe', {'uri': URIS[0]}).result()
    listened(up)
    stream = Listener(at(host, cluster[1]))
    up.push(LOG % 'info')
    stream.until(lambda m: 'notifications/message' in m)
    cluster[1].gateway.signal(signal.SIGSTOP)
    try:
        for _ in range(500):
            up.push(LOG % 'info')
        up.push(MARK % 500)
        log, = memory.keys('*l:{*}:0')
        wait_until(lambda: any(b'x/marker' in v for v in memory.ask('HVALS', log)), what='the upstream to be heard')
    finally:
        cluster[1].gateway.signal(signal.SIGCONT)
    got = len(stream.all(up)) - 1
    dropped = sum(r.metric('sluice_notes_dropped_total') for r in cluster)
    assert got < 500 and got + dropped == 500, (got, dropped)


def test_a_subscription_at_a_process_of_each_replica_is_at_one_of_them(stdio_fakes, memory, clusters, hosts):
    """Sessions share the process of their replica: one replica's is subscribed, the last one that the host asked,
    and another's when that replica is dead."""
    child = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    cluster = clusters({'up': child.config()}, redis=memory, balanced=False, stdio=STDIO, lease='2s')
    host = hosts(cluster[0].url('up'), timeout=20).open()
    each = [at(host, replica) for replica in cluster]
    pids = [int(there.say('pid')) for there in each]

    def subscribed():
        """{(place, uri)}: what the processes are subscribed to now."""
        def count(kind):
            return collections.Counter((pids.index(e['pid']), e['uri']) for e in child.entries(kind))
        return set(count('subscribed') - count('unsubscribed'))

    def all_at_one(uris):
        places = {place for place, _ in subscribed()}
        return len(places) == 1 and subscribed() == {(min(places), uri) for uri in uris} and (places,)

    def say(place, uri):
        each[place].call('say', {'raw': [UPDATED % uri]}).result()

    for place in range(2):
        assert each[place].ask('resources/subscribe', {'uri': URIS[place]}).result() == '{}'
    (first,), = wait_until(lambda: all_at_one(URIS), what='one process to have both')
    stream = Listener(each[2])
    for uri in URIS:
        for place in range(3):
            say(place, uri)
        stream.until(lambda m: m == UPDATED % uri)
    assert stream.seen == [UPDATED % uri for uri in URIS]
    assert each[2].ask('resources/unsubscribe', {'uri': URIS[1]}).result() == '{}'
    wait_until(lambda: all_at_one(URIS[:1]), what='the process that had it to be told')
    cluster[first].kill()
    assert stream.until(lambda m: 'updated' in m, timeout=20) == FRESH % URIS[0]
    wait_until(lambda: (2, URIS[0]) in subscribed(), what='another to subscribe')
    say(2, URIS[1])
    say(2, URIS[0])
    assert stream.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    assert each[2].end().status in (200, 204)
    wait_until(lambda: (2, URIS[0]) not in subscribed(), what='the process to be left at the end')


def frozen_while(replica, what):
    os.kill(replica.gateway.pid, signal.SIGSTOP)
    try:
        what()
    finally:
        os.kill(replica.gateway.pid, signal.SIGCONT)


@pytest.mark.parametrize('then', ['subscribed elsewhere', 'unsubscribed elsewhere'])
def test_a_replica_that_misses_the_word_looks_at_the_record(stdio_fakes, memory, clusters, hosts, then):
    child = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    cluster = clusters({'up': child.config()}, redis=memory, balanced=False, stdio=STDIO, lease='15s')
    host = hosts(cluster[0].url('up'), timeout=20).open()
    each = [at(host, replica) for replica in cluster]
    pids = [there.say('pid') for there in each]
    assert each[0].ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    wait_until(lambda: fields_of(memory, 'get:up:'), what='the record to say where it is subscribed')

    def meanwhile():
        memory.ask('CLIENT', 'KILL', 'TYPE', 'pubsub')
        method = 'resources/' + then.split('d ')[0]
        assert each[1].ask(method, {'uri': URIS[0]}).result() == '{}'
    frozen_while(cluster[0], meanwhile)
    child.wait('unsubscribed', pid=int(pids[0]), uri=URIS[0])


def test_what_another_session_is_subscribed_to_at_the_same_process_stays(stdio_fakes, memory, clusters, hosts):
    child = stdio_fakes('up', capabilities=LOUD, resources=URIS)
    cluster = clusters({'up': child.config()}, redis=memory, balanced=False, stdio=STDIO)
    leaver, stayer = (hosts(cluster[0].url('up')).open() for _ in range(2))
    for host, place in ((leaver, 0), (stayer, 1)):
        assert at(host, cluster[place]).ask('resources/subscribe', {'uri': URIS[0]}).result() == '{}'
    assert at(leaver, cluster[1]).ask('resources/unsubscribe', {'uri': URIS[0]}).result() == '{}'
    place = at(leaver, cluster[0])
    child.wait('unsubscribed', pid=int(place.say('pid')))
    stream = Listener(at(stayer, cluster[1]))
    at(stayer, cluster[1]).call('say', {'raw': [UPDATED % URIS[0]]}).messages()
    assert stream.until(lambda m: 'updated' in m) == UPDATED % URIS[0]
    assert len(child.entries('unsubscribed')) == 1
