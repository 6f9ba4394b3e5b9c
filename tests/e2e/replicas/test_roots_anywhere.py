"""What a host says of its roots, at whatever replica it says so: the upstream session that another replica opened has it, once."""
import pytest

from asking import ALLOWED, CAN, STDIO, Upstream
from fake.host import Host
from lib.procs import wait_until

METHOD = 'notifications/roots/list_changed'
CHANGED = '{"jsonrpc":"2.0","method":"%s","params":{"n":%d.0}}'


def at(host, replica):
    other = Host(replica.url('up'), revision=host.revision, headers=host.headers)
    other.session, other.ids = host.session, host.ids
    return other


def opened(up):
    """Sessions of hosts: a replica that meets the server, whenever it does so, declares no roots."""
    return [text for text in texts(up, 'initialize') if '"roots"' in text]


def texts(up, rpc):
    return up.fake.texts(rpc) if up.way == 'stdio' else [one.text for one in up.fake.seen(rpc=rpc)]


@pytest.mark.parametrize('way', ['post', 'stdio', 'sse'])
def test_a_session_that_another_replica_opened_hears_it_once(way, fakes, stdio_fakes, memory, clusters, hosts):
    up = Upstream(way, fakes, stdio_fakes)
    cluster = clusters({'up': up.entry(extra_headers=['x-user'], **ALLOWED) if way != 'stdio' else up.entry(**ALLOWED)},
                       redis=memory, stdio=STDIO, balanced=False)
    host = hosts(cluster[0].url('up'), capabilities=CAN, headers=[('X-User', 'ann')]).open()
    assert host.say('whoami')
    before = len(opened(up))
    assert before
    for number in (1, 2, 0):
        assert at(host, cluster[number]).post(CHANGED % (METHOD, number)).status == 202
        wait_until(lambda: CHANGED % (METHOD, number) in texts(up, METHOD), 10, 'the notification by replica %d' % number)
    assert texts(up, METHOD) == [CHANGED % (METHOD, number) for number in (1, 2, 0)]
    assert len(opened(up)) == before, 'a session was opened for it'
    if way == 'post':
        one = {(seen.session, seen.header('x-user')) for seen in up.fake.seen(rpc=METHOD) + up.fake.seen(tool='whoami')}
        assert len(one) == 1, one
