"""Stock hosts answer elicitation and sampling through three replicas and round robin (issue 4 C, D2)."""
import sys
from pathlib import Path

import pytest

from asking import ALLOWED
from kit import http
from lib.procs import wait_until

from quizzing import Quizzing

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from interop.hosts import ASKED, asked     # noqa: E402

ROUNDS = 9


@pytest.mark.parametrize('host', ASKED)
def test_a_stock_host_is_asked_and_answers_through_round_robin(host, fakes, memory, clusters):
    up = fakes('up', kind=Quizzing)
    # HAProxy sees that a host has gone when it writes to it: at the next keep-alive.
    cluster = clusters({'up': http(up, **ALLOWED)}, redis=memory, timeouts={'keepalive': '500ms'})
    saw = asked(host, cluster.url('up') + ('/sse' if host.endswith('-sse') else ''), ROUNDS)
    for n in range(ROUNDS):
        elicited, sampled = saw['got'][2 * n:2 * n + 2]
        assert elicited['id'] == 'e%d' % n and sampled['id'] == 's%d' % n
        assert elicited['result']['action'] == ('decline' if n % 2 else 'accept')
        assert n % 2 or elicited['result']['content'] == {'n': n}
        assert sampled['result']['content'] == {'type': 'text', 'text': 'sampled %d' % n}
    assert len(saw['got']) == 2 * ROUNDS == len(up.event_list('answer'))
    assert 'quiz' in saw['tools']
    # npm SDK v1 loses a note that comes in one read with its answer (tests/interop/test_sse_hosts.py).
    assert saw['progress'] == [0, 1, 2, 3, 4] or host.startswith('sdk1') and saw['progress'] == [0, 1, 2, 3]
    wait_until(lambda: not up.live, what='the end of the upstream session')
    if not host.endswith('-sse'):
        for replica in cluster:
            assert replica.metric('sluice_questions_total', ending='answered') >= 2
    assert sum(r.metric('sluice_peer_requests_total') for r in cluster) > 0, 'answers reached other replicas'
