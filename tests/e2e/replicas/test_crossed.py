"""Questions of many calls at once, of two hosts at one upstream, through round robin: each answer to its asker."""
import collections
import concurrent.futures
import itertools
import json
import time

from asking import ALLOWED, CAN, Asking
from fake import rawjson
from kit import http

from quizzing import Quizzing

EACH = 500          # questions of one host
AT_ONCE = 6         # calls of one host under way


def test_a_thousand_interleaved_questions_of_two_hosts_each_have_their_answer(fakes, memory, clusters, hosts):
    up = fakes('up', kind=Quizzing)
    cluster = clusters({'up': http(up, **ALLOWED)}, redis=memory)
    pair = [hosts(cluster.url('up'), capabilities=CAN, timeout=30).open() for _ in range(2)]
    begun = time.monotonic()

    def work(who, numbers):
        host = pair[who]
        for i in numbers:
            params = '{"message":"for %d, number %d"}' % (who, i)
            call = Asking(host, {'method': 'elicitation/create', 'params': params, 'id': '%d' % i}, id='%d' % (1000 + i))
            question = call.question()
            assert rawjson.get(question, 'params') == params, 'the question of another'
            call.reply(question, '{"action":"accept","content":{"who":%d,"i":%d}}' % (who, i))
            got = json.loads(call.upstream_got())
            assert got['id'] == i and got['result']['content'] == {'who': who, 'i': i}
            call.answer.close()

    with concurrent.futures.ThreadPoolExecutor(2 * AT_ONCE) as pool:
        jobs = [pool.submit(work, who, range(first, EACH, AT_ONCE))
                for first, who in itertools.product(range(AT_ONCE), range(2))]
        for job in jobs:
            job.result(90)
    print('%d questions in %.1f s' % (2 * EACH, time.monotonic() - begun))
    answers = up.event_list('answer')
    assert len(answers) == 2 * EACH
    by_session = collections.defaultdict(set)
    for answer in answers:
        content = json.loads(answer['text'])['result']['content']
        by_session[answer['session']].add((content['who'], content['i']))
    assert sorted(map(sorted, by_session.values())) == [[(who, i) for i in range(EACH)] for who in range(2)]
    assert sum(r.metric('sluice_stray_answers_total') for r in cluster) == 0
    for replica in cluster:     # the balancer took them everywhere
        assert replica.metric('sluice_questions_total', ending='answered') > EACH / 4
