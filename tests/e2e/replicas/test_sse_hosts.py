"""Hosts of one stream (2024-11-05) through replicas: whichever replica a POST reaches, it gets to the one that
holds the stream in one hop (issue 4 C)."""
import json

import pytest

from asking import ALLOWED, BIG, FORM
from fake import rawjson
from fake.host import Closed
from fake.sse_host import SseHost
from kit import http, key, progress_notes, text_of
from lib.procs import wait_until

from quizzing import Quizzing

ABLE = {'elicitation': {'form': {}, 'url': {}}, 'sampling': {}}


@pytest.fixture
def up(fakes):
    return fakes('up', kind=Quizzing)


@pytest.fixture
def cluster(up, memory, clusters):
    return clusters({'up': http(up, **ALLOWED)}, redis=memory)


@pytest.fixture
def olds():
    """Makes hosts of one stream: olds(url)."""
    made = []

    def make(url, **options):
        made.append(SseHost(url, **{'capabilities': ABLE, **options}))
        return made[-1]
    yield make
    for one in made:
        one.close()


def elsewhere(host, replica):
    """The same host, its next POST to that replica."""
    other = SseHost(replica.url('up') + '/sse', revision=host.revision, headers=host.headers, capabilities=ABLE)
    other.endpoint = replica.url('up') + host.endpoint[host.endpoint.index('/mcp/sse') + len('/mcp'):]
    other.stream, other.inbox, other.ids = host.stream, host.inbox, host.ids
    return other


def steps(key, n=5):
    return json.dumps({'key': key, 'n': n, 'pause': 0.02})


def test_a_session_works_through_round_robin(up, cluster, olds):
    host = olds(cluster.url('up') + '/sse').open()
    for turn in range(7):
        listed = json.loads(rawjson.get(host.do(host.text('tools/list')), 'result'))
        assert 'steps' in [t['name'] for t in listed['tools']]
        before = len(host.inbox)
        got = host.do(host.call_text('steps', steps('k%d' % turn), token='"t%d"' % turn))
        assert text_of(rawjson.get(got, 'result')) == 'done k%d' % turn
        notes = [json.loads(n) for n in progress_notes(host.inbox[before:])]
        assert [n['progress'] for n in notes] == [0, 1, 2, 3, 4] and {n['progressToken'] for n in notes} == {'t%d' % turn}
    assert not up.doubled() and len(up.live) == 1


@pytest.mark.parametrize('method, params, result', [
    ('elicitation/create', FORM, BIG), ('elicitation/create', FORM, '{"action":"decline"}'),
    ('sampling/createMessage', '{"maxTokens":5.0}', '{"role":"assistant","content":[],"model":"m","n":1e2}')])
def test_questions_and_answers_cross_replicas(up, cluster, olds, method, params, result):
    opened, seen = olds(cluster[0].url('up') + '/sse').open(), set()
    for caller in cluster:
        for answerer in cluster:
            host = elsewhere(opened, caller)
            request = host.call_text('quiz', {'method': method, 'params': params, 'id': '"q"'})
            host.accepted(request)
            asked = host.wait(lambda m: rawjson.get(m, 'method') == '"%s"' % method and m not in seen)
            seen.add(asked)
            assert rawjson.get(asked, 'params') == params
            elsewhere(opened, answerer).accepted('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(asked, 'id'), result))
            got = text_of(rawjson.get(host.answer_to(request), 'result'))
            assert rawjson.get(got, 'result') == result
    assert len(up.event_list('answer')) == 9


def test_a_call_is_cancelled_and_its_question_withdrawn_from_another_replica(up, cluster, olds):
    host = olds(cluster[0].url('up') + '/sse').open()
    host.accepted(host.call_text('quiz', {'method': 'elicitation/create', 'params': FORM}, id=8))
    question = host.question('elicitation/create')
    elsewhere(host, cluster[1]).cancel(8)
    taken = host.wait(lambda m: '"notifications/cancelled"' in m)
    assert rawjson.get(taken, 'params', 'requestId') == rawjson.get(question, 'id')
    up.wait_event('cancelled')
    wait_until(lambda: up.event_list('answer'), what='the error upstream')
    assert [rawjson.get(e['text'], 'result') for e in up.event_list('answer')] == [None]
    host.do(host.text('ping'))
    assert sum('"notifications/cancelled"' in m for m in host.inbox) == 1


def test_a_stream_that_closes_ends_the_session_everywhere(up, cluster, olds):
    host = olds(cluster[0].url('up') + '/sse').open()
    host.accepted(host.call_text('wait', '{"key":"w"}', token='1'))
    host.wait(lambda m: 'notifications/progress' in m)
    host.leave()
    wait_until(lambda: up.cancelled['w'], what='the cancel upstream')
    for replica in cluster:
        wait_until(lambda: elsewhere(host, replica).post(host.text('ping')).status == 404, 5, 'the session to be gone')
    wait_until(lambda: not up.live, what='the end of the upstream session')


def test_a_session_whose_replica_died_is_gone(up, memory, clusters, olds):
    cluster = clusters({'up': http(up, **ALLOWED)}, redis=memory, lease='2s')
    host = olds(cluster[0].url('up') + '/sse').open()
    host.accepted(host.call_text('quiz', {'method': 'elicitation/create', 'params': FORM}))
    question = host.question('elicitation/create')
    cluster[0].kill()
    with pytest.raises((Closed, AssertionError)):
        host.wait(lambda m: False, timeout=5)
    early = elsewhere(host, cluster[1]).post(host.text('ping'))
    assert early.status in (404, 503) and (early.status == 404 or early.header('retry-after'))
    answer = '{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), BIG)
    for replica in cluster.others(cluster[0]):
        wait_until(lambda: elsewhere(host, replica).post(host.text('ping')).status == 404, 10, 'the session to be gone')
        assert elsewhere(host, replica).post(answer).status == 404
    assert not [e for e in up.event_list('answer') if rawjson.get(e['text'], 'result')]
    again = olds(cluster[1].url('up') + '/sse').open()
    assert text_of(rawjson.get(again.do(again.call_text('quick', '{"key":"k"}')), 'result')) == 'done k'


def test_a_session_is_there_for_its_own_key_and_endpoint_at_every_replica(up, memory, clusters, olds):
    cluster = clusters({'up': http(up)}, redis=memory, keys=[key('one', 'sk-one'), key('two', 'sk-two')])
    host = olds(cluster[0].url('up') + '/sse', headers=[('x-sluice-api-key', 'sk-one')]).open()
    ping = host.text('ping')
    for replica in cluster:
        there = elsewhere(host, replica)
        assert there.post(ping, replace=[('x-sluice-api-key', 'sk-two')]).status == 404
        assert there.post(ping, replace=[('x-sluice-api-key', None)]).status == 401
        token = there.endpoint.split('session=')[1]
        assert there.post(ping, path='/mcp/sse/messages?session=' + token).status == 404
        assert there.post(ping).status == 202
