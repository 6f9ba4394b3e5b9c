"""Questions of upstreams whose call, stream and answer meet on different replicas (issue 4 A): the answer arrives
exactly and once, or the upstream has an explicit error, never an action that nobody took."""
import json
import os
import signal

import pytest

from asking import ALLOWED, BIG, ELICIT, FORM, ROOTS, SAMPLE, Asking
from fake import rawjson
from kit import http, text_of
from lib.procs import wait_until

from cluster import at
from quizzing import Quizzing

URL = '{"mode":"url","url":"https://a.example/?b=\\u0063","elicitationId":"e1","message":"m","x":1.0}'
ABLE = {'elicitation': {'form': {}, 'url': {}}, 'sampling': {'tools': {}}, 'roots': {}}
KINDS = [(ELICIT, FORM, BIG), (ELICIT, URL, '{"action":"decline"}'), (ELICIT, FORM, '{"action":"cancel","_meta":{"n":1.0}}'),
         (SAMPLE, '{"maxTokens":9007199254740993,"tools":[]}', '{"role":"assistant","content":[],"model":"m","x":1e2}'),
         (ROOTS, '{"x":1.0}', '{"roots":[{"uri":"file:///\\u0061"}],"n":1.0}')]


@pytest.fixture
def up(fakes):
    return fakes('up', kind=Quizzing)


@pytest.fixture
def replicas(up, memory, clusters, hosts):
    """(cluster, host): three replicas, and a host that can be asked, opened at the first."""
    def make(capabilities=ABLE, timeouts=None, lease='15s', **more):
        top = {'redis': memory, 'lease': lease, 'balanced': False, 'timeouts': {'drain': '300ms', **(timeouts or {})}}
        cluster = clusters({'up': http(up, **{**ALLOWED, **more})}, **top)
        return cluster, hosts(cluster[0].url('up'), capabilities=capabilities).open()
    return make


class Call(Asking):
    """A call that asks, read at one replica or from the place of another; `last` = the last event id seen."""

    def __init__(self, host, arguments=None, last=None, tool='quiz', **rest):
        self.host, self.messages, self.last = host, [], last
        if arguments is not None:
            self.answer = host.start_call(tool, arguments, **rest).answer()
        else:
            self.answer = host.listen(last=last, **rest)
            assert self.answer.status == 200, (self.answer.status, self.answer.body())
        self.texts = self.arriving()

    def moved(self, replica):
        """The connection breaks, and the host comes back at that replica from where it was."""
        self.answer.close()
        assert self.last is not None
        return Call(at(self.host, replica), last=self.last)


def ask(method=ELICIT, params=FORM, id='"q"', **more):
    return {'method': method, 'params': params, 'id': id, **more}


def reply(host, question, result):
    return host.post('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), result))


def answers(up):
    return [e['text'] for e in up.event_list('answer')]


def given(up):
    """The results, whole, that reached the upstream as answers; errors are none."""
    return [found for found in (rawjson.get(a, 'result') for a in answers(up)) if found is not None]


def leases(cluster):
    return [k for k in cluster.redis.keys() if 'replica:' in k]


def withdrawal(call, question):
    note = call.until(lambda m: '"notifications/cancelled"' in m)
    assert rawjson.get(note, 'params', 'requestId') == rawjson.get(question, 'id')


def test_an_answer_posted_to_any_replica_arrives_exactly(up, replicas):
    cluster, host = replicas()
    sent = []
    for where in cluster:
        for asker in cluster:
            for method, params, result in KINDS:
                id = '"q%d"' % len(sent)
                call = Call(at(host, asker), ask(method, params, id))
                question = call.question()
                assert rawjson.get(question, 'params') == params and rawjson.get(question, 'method') == '"%s"' % method
                assert reply(at(host, where), question, result).status == 202
                got = call.upstream_got()
                assert rawjson.get(got, 'id') == id and rawjson.get(got, 'result') == result
                sent.append(result)
    assert given(up) == sent and len(answers(up)) == len(sent), 'each once'
    assert len(up.live) == 1
    assert sum(r.metric('sluice_stray_answers_total') for r in cluster) == 0


def test_an_error_of_the_host_arrives_from_another_replica(up, replicas):
    cluster, host = replicas()
    call = Call(host, ask(id='7'))
    question = call.question()
    error = '{"code":-1,"message":"no \\u00e9","data":{"n":1.0}}'
    text = '{"jsonrpc":"2.0","id":%s,"error":%s}' % (rawjson.get(question, 'id'), error)
    assert at(host, cluster[1]).post(text).status == 202
    got = call.upstream_got()
    assert rawjson.get(got, 'id') == '7' and rawjson.get(got, 'error') == error


def test_unknown_late_and_double_answers_are_taken_and_dropped_everywhere(up, replicas):
    cluster, host = replicas()
    call = Call(host, ask())
    question = call.question()
    for replica in cluster:
        for id in ('"nobody"', '99'):
            assert at(host, replica).post('{"jsonrpc":"2.0","id":%s,"result":{}}' % id).status == 202
    assert reply(at(host, cluster[1]), question, '{"action":"decline"}').status == 202
    for replica in (cluster[2], cluster[0], cluster[1]):
        assert reply(at(host, replica), question, '{"action":"accept","content":{}}').status == 202
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'
    for replica in cluster:
        assert reply(at(host, replica), question, '{"action":"cancel"}').status == 202
    assert at(host, cluster[1]).ask('ping').result() == '{}'
    assert len(answers(up)) == 1
    strays = sum(r.metric('sluice_stray_answers_total') for r in cluster)
    assert strays == 12, strays


def test_an_answer_of_another_session_or_key_is_not_taken(up, replicas, hosts):
    cluster, host = replicas()
    call = Call(host, ask())
    question = call.question()
    for replica in cluster:
        other = hosts(replica.url('up'), capabilities=ABLE).open()
        assert reply(other, question, '{"action":"accept"}').status == 202
    assert reply(at(host, cluster[2]), question, '{"action":"decline"}').status == 202
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'
    assert given(up) == ['{"action":"decline"}']


def test_a_session_that_is_ended_elsewhere_leaves_an_error_upstream_and_404(up, replicas):
    cluster, host = replicas()
    call = Call(host, ask())
    question = call.question()
    assert at(host, cluster[1]).end().status in (200, 204)
    wait_until(lambda: answers(up) or up.deleted, what='the error upstream')
    for replica in cluster:
        wait_until(lambda: at(host, replica).ask('ping').status == 404, 5, 'the session to be gone')
        assert reply(at(host, replica), question, '{"action":"accept"}').status == 404
    assert given(up) == []


def test_202_says_that_the_answer_was_handed_over(up, replicas):
    cluster, host = replicas()
    host.timeout = 20
    call = Call(host, ask())
    question = call.question()
    os.kill(cluster[0].gateway.pid, signal.SIGSTOP)
    try:
        answer = reply(at(host, cluster[1]), question, '{"action":"decline"}')
        assert answer.status == 503 and answer.header('retry-after'), answer.status
    finally:
        os.kill(cluster[0].gateway.pid, signal.SIGCONT)
    wait_until(lambda: reply(at(host, cluster[1]), question, '{"action":"decline"}').status == 202, 10, 'the answer to be taken')
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'
    assert given(up) == ['{"action":"decline"}']


def test_a_question_is_asked_again_where_the_host_comes_back_and_answered_anywhere(up, replicas):
    cluster, host = replicas()
    for back, where in ((1, 1), (1, 2), (2, 0), (0, 1), (0, 0)):
        call = Call(host, ask(key='%d%d' % (back, where)), tool='inquire', token='1')
        before = call.until(lambda m: 'notifications/progress' in m) and call.last
        question = call.question()
        call.last = before              # it was lost on the way
        again = call.moved(cluster[back])
        assert again.question() == question
        assert reply(at(host, cluster[where]), question, BIG).status == 202
        assert rawjson.get(again.upstream_got(), 'result') == BIG
    assert len(answers(up)) == 5


def test_a_question_stays_open_while_its_host_is_on_its_way_to_another_replica(up, replicas):
    cluster, host = replicas(timeouts={'ask_resume_grace': '4s'})
    call = Call(host, ask(chatter_ms=30), token='1')
    question = call.question()
    call.answer.close()
    # The person thinks while nothing is connected; the answer needs no stream.
    assert reply(at(host, cluster[2]), question, BIG).status == 202
    again = call.moved(cluster[1])
    assert rawjson.get(again.upstream_got(), 'result') == BIG


def test_a_host_that_reads_elsewhere_is_there(up, replicas):
    """Longer than the grace, on another replica's copy of the stream."""
    cluster, host = replicas(timeouts={'ask_resume_grace': '500ms'})
    call = Call(host, ask(chatter_ms=30), token='1')
    question = call.question()
    again = call.moved(cluster[1])
    for _ in range(80):                 # of 30 ms
        again.until(lambda m: 'notifications/progress' in m)
    assert not answers(up)
    assert reply(at(host, cluster[2]), question, BIG).status == 202
    assert rawjson.get(again.upstream_got(), 'result') == BIG


def test_a_host_that_does_not_come_back_is_an_error_upstream_and_no_decision(up, replicas):
    cluster, host = replicas(timeouts={'ask_resume_grace': '500ms'})
    call = Call(host, ask(chatter_ms=30), token='1')
    call.question()
    again = call.moved(cluster[1])
    again.until(lambda m: 'notifications/progress' in m)
    again.answer.close()
    got = up.wait_event('answer')['text']
    assert json.loads(rawjson.get(got, 'error'))['code'] == -32603
    assert given(up) == []


def test_a_silent_host_has_its_question_withdrawn_where_it_reads(up, replicas):
    cluster, host = replicas(timeout='1500ms')
    call = Call(host, ask(chatter_ms=30), token='1')
    question = call.question()
    again = call.moved(cluster[1])
    withdrawal(again, question)
    assert json.loads(rawjson.get(again.upstream_got(), 'error'))['code'] == -32603
    assert reply(at(host, cluster[2]), question, BIG).status == 202
    assert given(up) == []


@pytest.mark.parametrize('where', [0, 1])
def test_a_cancel_from_another_replica_withdraws_the_question(up, replicas, where):
    cluster, host = replicas()
    call = Call(host, ask(), id='77')
    question = call.question()
    assert at(host, cluster[where]).cancel(77, 'enough').status == 202
    withdrawal(call, question)
    assert not [m for m in call.texts if rawjson.get(m, 'method') is None], 'and nothing after it'
    up.wait_event('cancelled')
    wait_until(lambda: answers(up), what='the error upstream')
    assert reply(at(host, cluster[2]), question, BIG).status == 202
    assert given(up) == [] and len(answers(up)) == 1


def test_a_question_of_a_dead_replica_ends_in_words(up, replicas):
    """The upstream's answer cannot be gone on with: it gives no event ids."""
    up.event_ids = False
    cluster, host = replicas(lease='2s')
    call = Call(host, ask(key='k'), tool='inquire', token='1')
    question = call.question()
    cluster[0].kill()
    again = call.moved(cluster[1])
    withdrawal(again, question)
    final = again.until(lambda m: rawjson.get(m, 'method') is None)
    error = json.loads(rawjson.get(final, 'error'))
    assert error['code'] == -32603 and 'unknown' in error['message'], error
    assert rawjson.get(up.wait_event('answer', id='"q"')['text'], 'error'), 'its upstream hears it too'
    for replica in cluster.others(cluster[0]):
        assert reply(at(host, replica), question, '{"action":"accept"}').status == 202
    assert given(up) == [] and up.executed['k'] == 1


def test_a_call_that_is_taken_over_while_it_asks_ends_and_nobody_decided(up, replicas):
    """The upstream resumes the call: its question is settled explicitly, by the person or by an error."""
    cluster, host = replicas(lease='2s')
    call = Call(host, ask(key='k'), tool='inquire', token='1')
    question = call.question()
    cluster[0].kill()
    while_dead = reply(at(host, cluster[1]), question, '{"action":"accept"}')
    assert while_dead.status in (202, 503)
    again = call.moved(cluster[1])
    got = again.upstream_got()
    assert rawjson.get(got, 'error') and rawjson.get(got, 'id') == '"q"', got
    assert '"notifications/cancelled"' in ''.join(again.messages), 'the host hears that it is not asked any more'
    assert given(up) == [] and up.executed['k'] == 1
    after = Call(at(host, cluster[2]), ask(id='"next"'))
    assert reply(at(host, cluster[1]), after.question(), BIG).status == 202
    assert rawjson.get(after.upstream_got(), 'result') == BIG


def test_a_replica_that_goes_on_under_another_name_still_hears_answers(up, replicas):
    """Its lease ran out while it hung: others look for it by the record of the session."""
    cluster, host = replicas(lease='1s')
    host.timeout = 20
    call, other = Call(host, ask()), Call(host, ask(id='"other"', chatter_ms=30), id='88', token='1')
    questions = [call.question(), other.question()]
    os.kill(cluster[0].gateway.pid, signal.SIGSTOP)
    wait_until(lambda: len(leases(cluster)) < 3, 10, 'the lease to run out')
    os.kill(cluster[0].gateway.pid, signal.SIGCONT)
    wait_until(lambda: 'the lease ran out' in cluster[0].gateway.log, 10, 'the replica to see it')
    wait_until(lambda: reply(at(host, cluster[1]), questions[0], BIG).status == 202 and given(up), 10, 'the answer to arrive')
    assert rawjson.get(call.upstream_got(), 'result') == BIG
    assert at(host, cluster[2]).cancel(88).status == 202
    up.wait_event('cancelled')
    assert given(up) == [BIG]


def test_an_orderly_stop_of_the_asking_replica_leaves_an_error_upstream(up, replicas):
    cluster, host = replicas()
    call = Call(host, ask(key='k'), tool='inquire', token='1')
    question = call.question()
    cluster[0].stop()
    for replica in cluster.others(cluster[0]):
        assert reply(at(host, replica), question, '{"action":"accept"}').status == 202
    assert given(up) == []


def test_what_a_host_did_not_declare_is_refused_at_every_replica(up, replicas):
    cluster, host = replicas(capabilities={'elicitation': {'form': {}}})
    for replica in cluster:
        for method, params in ((ELICIT, URL), (SAMPLE, '{}'), (ROOTS, '{}')):
            call = Call(at(host, replica), ask(method, params))
            error = json.loads(rawjson.get(call.upstream_got(), 'error'))
            assert error['code'] in (-32601, -32602) and len(call.messages) == 1
        call = Call(at(host, replica), ask())
        assert reply(at(host, cluster[0]), call.question(), BIG).status == 202
        assert rawjson.get(call.upstream_got(), 'result') == BIG


def test_an_answer_for_a_replica_that_lost_its_lease_is_not_taken_until_it_is_there(up, replicas):
    """It is only frozen: a 202 would be a lie, and the answer of a person would be lost."""
    cluster, host = replicas(lease='1s')
    call = Call(host, ask())
    question = call.question()
    os.kill(cluster[0].gateway.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: len(cluster.redis.keys('*replica:*')) == 2, 10, 'the lease to run out')
        refused = reply(at(host, cluster[1]), question, '{"action":"accept","content":{"a":1.0}}')
        assert refused.status == 503 and refused.header('retry-after'), refused.body()
        assert not answers(up)
    finally:
        os.kill(cluster[0].gateway.pid, signal.SIGCONT)
    wait_until(lambda: reply(at(host, cluster[1]), question, '{"action":"accept","content":{"a":1.0}}').status == 202, 10,
               'the answer to be taken')
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"accept","content":{"a":1.0}}'
    assert len(answers(up)) == 1


def listening_at(host, cluster, up, replica):
    """The upstream's stream for what belongs to no call is read there."""
    at(host, cluster[replica]).say('echo', '{}')
    up.wait_event('listening')


@pytest.mark.parametrize('answered_at', [0, 1, 2])
def test_a_question_on_the_session_s_own_stream_goes_to_the_only_call_wherever_it_runs(up, replicas, answered_at):
    cluster, host = replicas()
    listening_at(host, cluster, up, 0)
    for n, (method, params, result) in enumerate(KINDS):
        call = Call(at(host, cluster[1]), ask(method, params, '"q%d"' % n, via='get'), id=str(80 + n))
        question = call.question()
        assert rawjson.get(question, 'params') == params
        assert reply(at(host, cluster[answered_at]), question, result).status == 202
        assert rawjson.get(call.upstream_got(), 'result') == result
    assert len(answers(up)) == len(KINDS) and len(up.listeners) == 1


def test_what_was_asked_there_can_be_taken_back_there(up, replicas):
    cluster, host = replicas()
    listening_at(host, cluster, up, 0)
    call = Call(at(host, cluster[1]), ask(via='get'), id='81')
    question = call.question()
    up.push('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}')
    withdrawal(call, question)
    assert reply(at(host, cluster[2]), question, BIG).status == 202
    assert answers(up) == []
    assert at(host, cluster[2]).cancel(81).status == 202


def test_a_question_that_several_calls_may_have_asked_is_put_into_none(up, replicas):
    """One runs where the upstream's GET stream is read, one elsewhere; then two elsewhere; then none."""
    cluster, host = replicas()
    listening_at(host, cluster, up, 0)
    for place in (0, 2):
        beside = Call(at(host, cluster[place]), {'key': 'beside', 'seconds': 20}, tool='wait', token='1', id='80')
        beside.until(lambda m: 'notifications/progress' in m)
        asker = Call(at(host, cluster[1]), ask(id='"two"', via='get'), id='81')
        assert json.loads(rawjson.get(asker.upstream_got(), 'error'))['code'] == -32602
        assert host.cancel(80).status == 202
        assert not [m for m in beside.texts if ELICIT in m] and given(up) == []
        wait_until(lambda: not calls_in_record(cluster), what='no call to be left')
    up.push('{"jsonrpc":"2.0","id":"none","method":"roots/list"}')
    up.wait(lambda: any('"none"' in a for a in answers(up)))
    assert json.loads(rawjson.get(answers(up)[-1], 'error'))['code'] == -32602
    alone = Call(host, ask(id='"one"', via='get'), id='82')
    assert reply(host, alone.question(), BIG).status == 202
    assert rawjson.get(alone.upstream_got(), 'result') == BIG


def test_calls_at_other_servers_are_not_in_doubt(up, fakes, memory, clusters, hosts):
    other = fakes('other')
    cluster = clusters({'up': http(up, **ALLOWED), 'other': http(other)}, redis=memory, balanced=False)
    host = hosts(cluster[0].url(), capabilities=ABLE).open()
    everywhere = []
    for replica in cluster:
        there = at(host, replica)
        there.path, there.url = '/mcp', replica.url()
        everywhere.append(there)
    everywhere[0].say('up-echo', '{}')
    up.wait_event('listening')
    running = everywhere[2].start_call('other-slow', {'say': 'over'}, id='"slow"')
    other.wait_event('started')
    wait_until(lambda: calls_in_record(cluster), what='the call to be a stream')
    for place in (0, 1):
        call = Call(everywhere[place], ask(id='"at %d"' % place, via='get'), tool='up-quiz', id=str(70 + place))
        assert reply(everywhere[2], call.question(), BIG).status == 202
        assert rawjson.get(call.upstream_got(), 'result') == BIG
    other.release()
    assert text_of(running.answer().result()) == 'over'


def calls_in_record(cluster):
    record, = [k for k in cluster.redis.keys() if ':s:{' in k]
    return [f for f in cluster.redis.ask('HKEYS', record) if b'call:' in f]
