"""What a killed replica leaves when its hosts never come back: those who live end it or go on with it (issues 3 D and
4 A), and nothing runs twice, is answered by nobody, or stays open at an upstream."""
import json
import os
import signal

import pytest

from asking import ALLOWED, ELICIT, FORM
from fake import rawjson
from kit import http, text_of
from lib.procs import wait_until

from cluster import at
from counted import Counted
from quizzing import Quizzing
from test_sse_hosts import olds         # noqa: F401  (a fixture)

ABLE = {'elicitation': {'form': {}}}


def rolls(cluster):
    return sorted(k.split(':', 1)[1] for k in cluster.redis.keys() if 'roll' in k)


def orphans(cluster, ending):
    return sum(r.metric('sluice_orphaned_calls_total', ending=ending) for r in cluster if r.up)


def broken_off(host, tool, arguments, events=2):
    """A call that has said something, and the last event id that its host saw; the connection is then closed."""
    answer = host.call(tool, arguments, token='1')
    seen = [e for _, e in zip(range(events), (e for e in answer.events() if e.text))]
    return answer, seen[-1].id


@pytest.mark.parametrize('calls', [1, 3])
def test_calls_that_can_be_gone_on_with_are_fetched_to_their_end(fakes, memory, clusters, hosts, calls):
    up = fakes('up', kind=Counted)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s')
    each = [hosts(cluster[0].url('up')).open() for _ in range(calls)]
    places = [broken_off(host, 'steps', '{"key":"k%d","n":80}' % i)[1] for i, host in enumerate(each)]
    cluster[0].kill()
    wait_until(lambda: orphans(cluster, 'resumed') == calls, 20, 'the calls to be taken over and fetched')
    assert up.resumes >= calls
    for i, host in enumerate(each):
        rest = at(host, cluster[1 + i % 2]).listen(last=places[i]).messages()
        assert text_of(rawjson.get(rest[-1], 'result')) == 'done k%d' % i
        assert up.executed['k%d' % i] == 1
    wait_until(lambda: not rolls(cluster), 10, 'nothing to be left on any roll')
    assert orphans(cluster, 'unknown') == 0


def test_calls_that_cannot_be_gone_on_with_end_in_words_before_anybody_asks(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Counted, event_ids=False)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    _, last = broken_off(host, 'wait', '{"key":"k"}', events=1)
    cluster[0].kill()
    wait_until(lambda: orphans(cluster, 'unknown') == 1, 20, 'the call to be ended')
    rest = at(host, cluster[2]).listen(last=last).messages()
    assert 'outcome unknown' in rest[-1] and "'up'" in rest[-1]
    assert up.executed['k'] == 1
    wait_until(lambda: not rolls(cluster), 10, 'nothing to be left on any roll')


def test_a_question_of_a_dead_replica_is_refused_upstream_though_its_host_is_gone(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Quizzing)
    cluster = clusters({'up': http(up, **ALLOWED)}, redis=memory, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up'), capabilities=ABLE).open()
    answer = host.call('quiz', json.dumps({'method': ELICIT, 'params': FORM, 'id': '"q"'}))
    next(e for e in answer.events() if e.text and ELICIT in e.text)
    cluster[0].kill()
    got = up.wait_event('answer', timeout=20)['text']
    assert rawjson.get(got, 'error') and rawjson.get(got, 'id') == '"q"', got
    wait_until(lambda: not rolls(cluster), 10, 'nothing to be left on any roll')
    assert len(up.event_list('answer')) == 1


def test_a_session_whose_only_stream_died_is_ended_with_its_upstream_session(fakes, memory, clusters, olds):  # noqa: F811
    up = fakes('up', kind=Counted)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s')
    host = olds(cluster[0].url('up') + '/sse').open()
    host.do(host.call_text('quick', '{"key":"k"}'))
    assert len(up.live) == 1
    cluster[0].kill()
    wait_until(lambda: not up.live, 20, 'the upstream session to be ended')
    wait_until(lambda: not [k for k in cluster.redis.keys() if ':s:{' in k], 10, 'the record to be gone')


def test_who_takes_over_may_die_as_well(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Counted)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    _, last = broken_off(host, 'steps', '{"key":"k","n":40,"pause":0.5}')
    cluster[0].kill()
    wait_until(lambda: up.resumes == 1, 20, 'the call to be taken over')
    heir = next(r for r in cluster if r.up and 'is dead; the calls' in r.gateway.log and holds(r, cluster))
    heir.kill()
    wait_until(lambda: orphans(cluster, 'resumed') == 1, 40, 'the last one to go on with it')
    rest = at(host, cluster.others(cluster[0])[0]).listen(last=last).messages()
    assert text_of(rawjson.get(rest[-1], 'result')) == 'done k'
    assert up.executed['k'] == 1


def holds(replica, cluster):
    return replica.metric('sluice_upstream_sessions_adopted_total') > 0


def test_a_replica_that_only_hung_goes_on_with_its_calls(fakes, memory, clusters, hosts):
    """Its lease ran out, and it came back before anybody took what it had."""
    up = fakes('up', kind=Counted, event_ids=False)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='3s')
    host = hosts(cluster[0].url('up'), timeout=30).open()
    answer = host.call('steps', '{"key":"k","n":60,"pause":0.1}', token='1')
    os.kill(cluster[0].gateway.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: sum(':replica:' in k for k in cluster.redis.keys()) == 2, 10, 'the lease to run out')
    finally:
        os.kill(cluster[0].gateway.pid, signal.SIGCONT)
    assert text_of(rawjson.get(answer.messages()[-1], 'result')) == 'done k'
    assert orphans(cluster, 'unknown') == 0


def test_a_session_that_has_ended_is_on_no_roll(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Counted)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s')
    host = hosts(cluster[0].url('up')).open()
    host.call('steps', '{"key":"k","n":5}', token='1').messages()
    broken_off(host, 'wait', '{"key":"w"}', events=1)
    wait_until(lambda: 'rolls' in rolls(cluster), 5, 'the session to be on the roll')
    assert at(host, cluster[1]).end().status in (200, 204)
    wait_until(lambda: not rolls(cluster), 10, 'the roll to be gone')


def test_an_idle_session_whose_replica_died_is_ended_upstream_as_well(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Counted)
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, lease='1s', timeouts={'session_idle': '2s'})
    host = hosts(cluster[0].url('up')).open()
    assert host.say('quick', '{"key":"k"}') == 'done k' and len(up.live) == 1
    cluster[0].kill()
    wait_until(lambda: not up.live, 20, 'the upstream session to be ended')
    assert at(host, cluster[1]).ask('ping').status == 404
    assert len(up.deleted) == len(set(up.deleted)), 'each by one replica'
