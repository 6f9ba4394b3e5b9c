"""Without salt_keys the replicas of one Redis share a random salt, also after Redis has lost it (decision 21)."""
from asking import STDIO
from kit import http
from lib.procs import wait_until

from cluster import at


def test_replicas_whose_salts_differ_after_a_flush_come_to_one(fakes, stdio_fakes, memory, clusters, hosts):
    child = stdio_fakes('own')
    cluster = clusters({'up': http(fakes('up')), 'own': child.config(isolation='session')}, redis=memory, stdio=STDIO,
                       balanced=False, count=2, salt_keys=[])
    salt, = memory.keys('*salt')
    memory.flush()
    before = hosts(cluster[0].url('up')).open()
    cluster[1].kill()
    memory.ask('SET', salt, 'the salt of a replica that was quicker')
    cluster[1].start()
    cluster.wait_ready()

    def understood():
        here, there = (hosts(replica.url('up')).open() for replica in cluster)
        return at(here, cluster[1]).ask('ping').status == 200 and at(there, cluster[0]).ask('ping').status == 200
    wait_until(understood, 20, 'both replicas to have one salt')
    assert before.ask('ping').status == 200, 'what the salt before has sealed is still opened'
    assert 'another salt' in cluster[0].gateway.log
    home = hosts(cluster[0].url('own')).open()
    pid = home.say('pid')
    assert at(home, cluster[1]).say('pid') == pid, 'one replica believes the other'
