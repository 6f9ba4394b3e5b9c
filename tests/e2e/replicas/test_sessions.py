"""Sessions, calls and streams that any replica serves (issue 3: D, E1)."""
import json
import random
import sys
import time
from pathlib import Path

import pytest

from fake import rawjson
from kit import http, key, message_error, progress_notes, text_of
from lib.procs import wait_until

from cluster import at
from counted import Counted

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
NAMES = ['say', 'progress'] + ['t%03d' % i for i in range(998)]


@pytest.fixture
def counted(fakes):
    return lambda name='up', **options: fakes(name, kind=Counted, **options)


def steps(key, n=5, pause=0.05):
    return json.dumps({'key': key, 'n': n, 'pause': pause})


def broken_after(answer, count):
    """Reads `count` messages, then drops the connection; the id of the last event that was seen."""
    seen, last = [], None
    for event in answer.events():
        last = event.id or last
        if event.text:
            seen.append(event.text)
        if len(seen) >= count:
            break
    answer.close()
    assert last is not None, 'no event had an id'
    return seen, last


def resume(host, last, timeout=20):
    answer = host.listen(last=last, timeout=timeout)
    assert answer.status == 200, (answer.status, answer.body())
    return [e.text for e in answer.events(timeout) if e.text]


def test_every_replica_serves_the_session(counted, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)})
    host = hosts(cluster.url('up')).open()
    for turn in range(9):
        assert text_of(host.call('quick', '{"key":"k%d"}' % turn).result()) == 'done k%d' % turn
    assert len(host.tools()) == 3
    assert len(up.live) == 1, 'one host session is one session upstream'
    for replica in cluster:
        assert replica.metric('sluice_calls_total', method='tools/call') >= 2


def test_progress_comes_in_order_through_round_robin(counted, clusters, hosts):
    host = hosts(clusters({'up': http(counted())}).url('up')).open()
    for turn in range(6):
        got = host.call('steps', steps('k%d' % turn), token='"tok%d"' % turn).messages()
        notes = [json.loads(n) for n in progress_notes(got)]
        assert [n['progress'] for n in notes] == [0, 1, 2, 3, 4]
        assert {n['progressToken'] for n in notes} == {'tok%d' % turn}
        assert text_of(rawjson.get(got[-1], 'result')) == 'done k%d' % turn


def test_a_session_outlives_the_replica_that_opened_it(counted, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    assert at(host, cluster[0]).say('quick', '{"key":"a"}') == 'done a'
    cluster[0].kill()
    for replica in (cluster[1], cluster[2]):
        assert at(host, replica).say('quick', '{"key":"b%d"}' % replica.number).startswith('done b')
    cluster[0].start()
    assert at(host, cluster[0]).say('quick', '{"key":"c"}') == 'done c'
    wait_until(lambda: len(up.live) == 1, what='those that only met the server to go')
    assert not up.doubled()


def test_an_ended_session_is_gone_everywhere_and_upstream(counted, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        assert at(host, replica).say('quick', '{"key":"%d"}' % replica.number)
    assert at(host, cluster[1]).end().status in (200, 204)
    for replica in cluster:
        wait_until(lambda: at(host, replica).ask('ping').status == 404, 5, 'the session to be gone')
    wait_until(lambda: not up.live, 5, 'the upstream session to be ended')
    assert len(up.deleted) == len(set(up.deleted)), 'each is ended once'


def test_a_session_is_ended_upstream_by_a_replica_that_never_served_it(counted, memory, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, count=2, redis=memory, balanced=False)
    host = hosts(cluster[0].url()).open()
    assert host.say('up-quick', '{"key":"a"}') == 'done a'
    theirs, = [call.session for call in up.seen(rpc='tools/call')]
    assert at(host, cluster[1]).end().status in (200, 204)
    wait_until(lambda: theirs in up.deleted, 5, 'the upstream session to be ended')


def test_another_keys_session_does_not_exist(counted, clusters, hosts):
    cluster = clusters({'up': http(counted())}, balanced=False, keys=[key('one', 'secret-1'), key('two', 'secret-2')])
    one = hosts(cluster[0].url('up'), headers=[('x-sluice-api-key', 'secret-1')]).open()
    for replica in cluster:
        thief = at(one, replica)
        thief.headers = [('x-sluice-api-key', 'secret-2')]
        assert thief.ask('ping').status == 404 and thief.end().status == 404
        assert at(one, replica).ask('ping').status == 200


@pytest.mark.parametrize('ids', [True, False], ids=['upstream gives event ids', 'it gives none'])
def test_a_broken_stream_is_resumed_at_any_replica(counted, clusters, hosts, ids):
    up = counted(event_ids=ids)
    cluster = clusters({'up': http(up)}, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        name = 'r%d' % replica.number
        answer = at(host, cluster[0]).call('steps', steps(name, n=12), token='1')
        seen, last = broken_after(answer, 3)
        rest = resume(at(host, replica), last)
        values = [json.loads(n)['progress'] for n in progress_notes(seen + rest)]
        assert values == sorted(set(values)), 'in order, none twice'
        assert text_of(rawjson.get(rest[-1], 'result')) == 'done ' + name
        assert up.executed[name] == 1


def test_a_finished_stream_is_not_resumed_for_ever(counted, clusters, hosts):
    cluster = clusters({'up': http(counted())}, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    answer = at(host, cluster[0]).call('steps', steps('k'), token='1')
    events = list(answer.events())
    for replica in cluster:         # also when a later place was asked for before
        assert at(host, replica).listen(last=events[-1].id).status == 405
        for first in (-2, -4, 0):
            rest = resume(at(host, replica), events[first].id)
            assert rest == [e.text for e in events[first:][1:]]


def test_a_call_of_a_dead_replica_is_taken_over_by_event_id(counted, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    answer = at(host, cluster[0]).call('steps', steps('k', n=60), token='1')
    first = [e for e, _ in zip((e for e in answer.events() if e.text), range(3))]
    cluster[0].kill()
    rest = resume(at(host, cluster[1]), first[-1].id)
    assert text_of(rawjson.get(rest[-1], 'result')) == 'done k'
    values = [json.loads(n)['progress'] for n in progress_notes([e.text for e in first] + rest)]
    assert values[-1] == 59 and sorted(set(values)) == list(range(60)), values
    assert up.executed['k'] == 1 and up.resumes >= 1
    finals = [m for m in rest if '"result"' in m]
    assert len(finals) == 1


def test_a_call_of_a_dead_replica_that_cannot_be_taken_over_ends_in_words(counted, clusters, hosts):
    up = counted(event_ids=False)
    cluster = clusters({'up': http(up)}, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    answer = at(host, cluster[0]).call('steps', steps('k', n=100), token='1')
    _, last = broken_after(answer, 3)
    cluster[0].kill()
    rest = resume(at(host, cluster[1]), last)
    error = json.loads(rest[-1])['error']
    assert error['code'] == -32603 and 'unknown' in error['message'], error
    assert up.executed['k'] == 1
    assert at(host, cluster[1]).say('quick', '{"key":"after"}') == 'done after'


def test_cancel_works_from_any_replica(counted, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster:
        name, id = 'c%d' % replica.number, next(host.ids)
        answer = at(host, cluster[0]).call('wait', '{"key":"%s"}' % name, token='1', id=id)
        next(e for e in answer.events() if e.text)
        assert at(host, replica).cancel(id).status == 202
        wait_until(lambda: up.cancelled[name], 5, 'the upstream to hear of the cancel')
        assert not [m for m in answer.messages() if '"result"' in m]


@pytest.mark.parametrize('event_ids', [True, False], ids=['that can be gone on with', 'that cannot'])
def test_a_call_of_a_dead_replica_is_cancelled_from_any_other(counted, clusters, hosts, event_ids):
    """Nobody resumes it: who is to cancel it takes it over first, and the 202 says that the upstream is told."""
    up = counted(event_ids=event_ids)
    cluster = clusters({'up': http(up)}, balanced=False, lease='1s')
    host, id = hosts(cluster[0].url('up')).open(), 500
    answer = at(host, cluster[0]).call('steps', steps('k', n=300), token='1', id=id)
    [e for e, _ in zip((e for e in answer.events() if e.text), range(3))]
    cluster[0].kill()
    wait_until(lambda: at(host, cluster[1]).cancel(id).status == 202, 15, 'the cancel to be taken')
    wait_until(lambda: up.cancelled['k'], 5, 'the upstream to hear of the cancel')
    assert up.executed['k'] == 1
    assert at(host, cluster[2]).cancel(id).status == 202     # too late: there is nothing to tell any more


def test_a_call_lands_anywhere_while_replicas_come_and_go(counted, clusters, hosts):
    """Rolling restart under calls, SIGTERM: no session and no answer is lost."""
    up = counted()
    cluster = clusters({'up': http(up)})
    host = hosts(cluster.url('up'), timeout=20).open()
    done = 0
    for replica in cluster:
        replica.stop()
        for _ in range(4):
            done += 1
            assert host.say('quick', '{"key":"k%d"}' % done) == 'done k%d' % done
        replica.start()
        cluster.wait_ready()
    assert sum(up.executed.values()) == done and not up.doubled()


def test_pages_through_random_replicas_are_the_direct_listing(fakes, clusters, hosts):
    """Issue 3 E1's property: the union of pages through random replicas is the direct listing, in order."""
    dice = random.Random(4)
    a = fakes('a', tool_names=['a%d' % i for i in range(dice.randint(20, 60))], page_size=dice.randint(1, 9))
    b = fakes('b', tool_names=['b%d' % i for i in range(dice.randint(1, 60))], page_size=dice.randint(3, 30))
    cluster = clusters({'a': http(a), 'b': http(b)}, balanced=False)
    for turn in range(12):
        a.page_size, b.page_size = dice.randint(1, 30), dice.randint(1, 30)
        names = dice.choice([(), ('a',), ('b',)])
        host = hosts(cluster[dice.randrange(3)].url(*names)).open()
        got, cursor = [], None
        while True:
            params = {} if cursor is None else {'cursor': cursor}
            page = json.loads(at(host, cluster[dice.randrange(3)]).ask('tools/list', params).result())
            got += [t['name'] for t in page['tools']]
            cursor = page.get('nextCursor')
            if cursor is None:
                break
        for fake in (a, b):
            direct = [t['name'] for t in fake.tools]
            prefix = '' if names else fake.name + '-'
            mine = [n[len(prefix):] for n in got if n[len(prefix):] in direct and n.startswith(prefix)]
            assert mine == (direct if not names or fake.name in names else []), (turn, fake.name)


def test_a_stock_host_lists_a_thousand_tools_and_calls_through_round_robin(fakes, clusters):
    from interop.hosts import python_sdk_legacy, sdk1
    up = fakes('up', tool_names=NAMES, page_size=50, prompts=['p'], resources=['r:1'])
    cluster = clusters({'up': http(up)})
    step = {'tool': 'progress', 'args': {'n': 5}, 'resource': 'r:1', 'prompt': 'p', 'promptArgs': {}}
    for stock in (sdk1, python_sdk_legacy):
        before = len(up.seen(rpc='tools/list'))
        saw = stock({'url': cluster.url('up'), 'steps': [step] * 6})
        assert saw['tools'] == NAMES
        assert len(up.seen(rpc='tools/list')) - before >= 20
        for one in saw['steps']:
            assert one['text'] == 'progress done' and one['progress'] == [1.5, 2.5, 3.5, 4.5, 5.5]
        assert saw['terminated']


def test_without_a_session_record_a_session_is_404_and_the_host_begins_again(counted, clusters, hosts):
    """Soon also where it is known: a lease that is missed before its time tells that the store was emptied."""
    cluster = clusters({'up': http(counted())}, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    for replica in cluster.others(cluster[2]):
        assert at(host, replica).say('quick', '{"key":"%d"}' % replica.number)
    cluster.redis.flush()
    for replica in cluster:
        wait_until(lambda: at(host, replica).ask('ping').status == 404, 5, 'the session to be unknown')
    assert hosts(cluster[1].url('up')).open().say('quick', '{"key":"k"}') == 'done k'


def test_without_redis_a_known_session_is_served_and_a_new_one_is_not(counted, clusters, hosts):
    cluster = clusters({'up': http(counted())}, count=1, balanced=False)
    host = hosts(cluster[0].url('up')).open()
    assert host.say('quick', '{"key":"a"}') == 'done a'
    cluster.redis.stop()
    assert host.say('quick', '{"key":"b"}') == 'done b'
    answer = hosts(cluster[0].url('up')).initialize()
    assert answer.status == 503 and answer.header('retry-after')
    assert '127.0.0.1' not in message_error(answer, code=-32603)['message']
    cluster.redis.start()
    wait_until(lambda: hosts(cluster[0].url('up')).initialize().status == 200, 20, 'new sessions')
    assert host.say('quick', '{"key":"c"}') == 'done c'


def resume_when_possible(host, last, timeout=30):
    """As a stock host: told to try again, it does."""
    until = wait_until(lambda: (a := host.listen(last=last, timeout=timeout)).status != 503 and a, timeout, 'the store to be back')
    assert until.status == 200, (until.status, until.body())
    return [e.text for e in until.events(timeout) if e.text]


@pytest.mark.parametrize('begun', ['before', 'while'])
def test_a_call_that_ends_while_redis_is_away_is_resumed_anywhere_afterwards(counted, clusters, hosts, begun):
    up = counted()
    cluster = clusters({'up': http(up)}, count=2, balanced=False, lease='2s')
    host = hosts(cluster[0].url('up'), timeout=30).open()
    assert at(host, cluster[1]).say('quick', '{"key":"here too"}')
    if begun == 'while':
        cluster.redis.stop()
    answer = at(host, cluster[0]).call('steps', steps('k', n=20, pause=0.1), token='1')
    seen, last = broken_after(answer, 3)
    if begun == 'before':
        cluster.redis.stop()
    wait_until(lambda: up.ended['k'], 10, 'the call to end upstream')
    cluster.redis.start()
    rest = resume_when_possible(at(host, cluster[1]), last)
    assert text_of(rawjson.get(rest[-1], 'result')) == 'done k' and up.executed['k'] == 1
    values = [json.loads(n)['progress'] for n in progress_notes(seen + rest)]
    assert values == sorted(set(values)), values


def commands(replica):
    """What was asked of the store, but for the replica's own lease."""
    return {sample: value for sample, value in replica.gateway.metrics().items()
            if sample.startswith('sluice_store_commands_total') and 'op="put"' not in sample and 'op="enlist"' not in sample}


def test_a_short_call_in_a_known_session_asks_nothing_of_the_store(counted, clusters, hosts):
    # Short is what is answered before it becomes a stream; a busy machine may need longer than the usual 50 ms.
    cluster = clusters({'up': http(counted())}, timeouts={'stream_after': '5s'})
    host = hosts(cluster.url('up')).open()
    for replica in cluster:
        assert text_of(at(host, replica).call('quick', '{"key":"warm"}').result()) == 'done warm'
    before = [commands(replica) for replica in cluster]
    assert all(before), 'nothing is counted'
    for turn in range(30):
        assert text_of(host.call('quick', '{"key":"k%d"}' % turn).result()) == 'done k%d' % turn
    assert [commands(replica) for replica in cluster] == before


def test_a_replica_whose_lease_ran_out_while_redis_was_away_is_found_again(counted, clusters, hosts):
    """Its calls go on under its id: they are cancelled through another replica, and no copy takes them over."""
    up = counted()
    cluster = clusters({'up': http(up)}, count=2, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up'), timeout=30).open()
    there = at(host, cluster[1])
    ids = [next(host.ids), next(host.ids)]
    waiting = at(host, cluster[0]).call('wait', '{"key":"w","seconds":40}', token='1', id=ids[0])
    next(e for e in waiting.events() if e.text)
    stepping = at(host, cluster[0]).call('steps', steps('s', n=120, pause=0.1), token='2', id=ids[1])
    _, last = broken_after(stepping, 3)
    lease, = cluster.redis.keys('*replica:*%s' % owner_of_calls(cluster.redis))
    cluster.redis.stop()
    away = time.monotonic()
    wait_until(lambda: time.monotonic() - away > 3, 10, 'the leases to run out')
    cluster.redis.start()
    wait_until(lambda: at(host, cluster[1]).cancel(ids[0]).status == 202, 20, 'the cancel to be taken')
    wait_until(lambda: up.cancelled['w'], 5, 'the upstream to hear of the cancel')
    assert cluster.redis.keys(lease) == [lease], 'under the same id'
    rest = resume_when_possible(there, last)
    assert text_of(rawjson.get(rest[-1], 'result')) == 'done s'
    assert up.executed['s'] == 1 and up.resumes == 0, 'taken over'
    assert len([m for m in rest if '"result"' in m]) == 1


def owner_of_calls(redis):
    """The id of the one replica that the session's record names for its calls."""
    record, = redis.keys('*s:{*}')
    told = [f.decode() for f in redis.ask('HGETALL', record)]
    owners = {owner.split()[0] for field, owner in zip(told[::2], told[1::2]) if field.startswith('r:call:')}
    assert len(owners) == 1, told
    return owners.pop()


def test_a_full_key_makes_room_with_the_session_that_no_replica_has_used_for_longest(counted, memory, clusters, hosts):
    up = counted()
    cluster = clusters({'up': http(up)}, count=2, redis=memory, balanced=False, limits={'sessions_per_key': 2})
    left = hosts(cluster[0].url('up')).open()
    assert left.say('quick', '{"key":"left"}') == 'done left'
    record, = memory.keys('*s:{*}')
    kept = hosts(cluster[0].url('up')).open()
    assert kept.say('quick', '{"key":"kept"}') == 'done kept'
    for replica in cluster:
        assert hosts(replica.url('up')).initialize().status == 429, 'both were used a moment ago'
    make_older(memory, record, seconds=50)
    assert hosts(cluster[1].url('up')).initialize().status == 429
    make_older(memory, record, seconds=20)
    new = hosts(cluster[1].url('up')).open()
    assert new.say('quick', '{"key":"new"}') == 'done new'
    for replica in cluster:
        wait_until(lambda: at(left, replica).ask('ping').status == 404, 5, 'the end of the session')
        for host in (kept, new):
            assert at(host, replica).ask('ping').status == 200
    theirs = [call.session for call in up.seen(rpc='tools/call')]
    wait_until(lambda: theirs[0] in up.deleted, 5, 'its upstream session to be closed')
    assert not set(theirs[1:]) & set(up.deleted)
    assert hosts(cluster[0].url('up')).initialize().status == 429


def make_older(redis, record, seconds):
    """As if the session of that record had been used longer ago."""
    assert redis.ask('PEXPIRE', record, redis.ask('PTTL', record) - seconds * 1000) == 1
    roster, = redis.keys('*:k:*')
    redis.ask('ZINCRBY', roster, -seconds * 1000, record[record.index('{') + 1:-1])
