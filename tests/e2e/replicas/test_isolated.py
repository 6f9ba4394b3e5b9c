"""A process of one session lives on one replica, the session's home: requests elsewhere are passed on, and when the
home dies the session has a new one and a new process (decision 2)."""
import json
import signal

import pytest

from asking import ALLOWED, BIG, CAN, FORM, STDIO, Asking
from fake import rawjson, tools
from kit import http, progress_notes, text_of
from lib.procs import alive, wait_until
from reloading import Reloading
from stalling import Stall

from cluster import at


@pytest.fixture
def child(stdio_fakes):
    return stdio_fakes('up')


@pytest.fixture
def replicas(child, memory, clusters, hosts):
    """(cluster, host): the host's session is at home on the first of three."""
    def make(**top):
        cluster = clusters({'up': child.config(**ALLOWED)}, redis=memory, stdio=STDIO, balanced=False, **top)
        return cluster, hosts(cluster[0].url('up'), capabilities=CAN).open()
    return make


def test_one_process_serves_the_session_from_everywhere(child, replicas):
    cluster, host = replicas()
    pid = host.say('pid')
    for turn in range(3):
        for replica in cluster:
            there = at(host, replica)
            assert there.say('pid') == pid
            assert there.call('exact').result() == tools.EXACT
            messages = there.call('progress', {'n': 5}, token='"t"').messages()
            assert len(progress_notes(messages)) == 5 and '"result"' in messages[-1]
    assert 'quiz' in at(host, cluster[1]).tools()


def test_questions_and_cancels_reach_it_from_everywhere(child, replicas):
    cluster, host = replicas()
    for caller in cluster:
        for answerer in cluster:
            call = Asking(at(host, caller), {'method': 'elicitation/create', 'params': FORM, 'id': '"q"'})
            question = call.question()
            assert rawjson.get(question, 'params') == FORM
            call.host = at(host, answerer)
            call.reply(question, BIG)
            assert rawjson.get(call.upstream_got(), 'result') == BIG
    assert len(child.entries('answer')) == 9
    for replica in cluster:
        answer = at(host, cluster[1]).call('slow', {'first': True}, token='1', id=1000 + replica.number)
        next(e for e in answer.events() if e.text)
        assert at(host, replica).cancel(1000 + replica.number).status == 202
        assert not [m for m in answer.messages() if '"result"' in m]
    child.wait('cancelled', count=3)


def test_a_broken_stream_is_resumed_from_everywhere(replicas):
    cluster, host = replicas()
    for caller, back in ((0, 1), (1, 2), (2, 0), (1, 1)):
        answer = at(host, cluster[caller]).call('slow', {'first': True, 'seconds': 0.5, 'say': 'whole'}, token='1')
        last = None
        for event in answer.events():
            last = event.id or last
            if event.text:
                break
        answer.close()
        rest = at(host, cluster[back]).listen(last=last).messages()
        assert json.loads(rest[-1])['result']['content'][0]['text'] == 'whole'


def test_the_end_of_the_session_anywhere_ends_the_process(replicas):
    cluster, host = replicas()
    pid = int(host.say('pid'))
    assert at(host, cluster[2]).end().status in (200, 204)
    wait_until(lambda: not alive(pid), what='the process to end')
    for replica in cluster:
        wait_until(lambda: at(host, replica).ask('ping').status == 404, 5, 'the session to be gone')


def test_a_session_whose_home_died_has_a_new_one_and_a_new_process(child, replicas):
    cluster, host = replicas(lease='2s')
    pid = host.say('pid')
    cluster[0].kill()
    wait_until(lambda: not alive(int(pid)), what='the process of the dead replica to be ended')
    early = at(host, cluster[1]).ask('ping')
    assert early.status == 503 and early.header('retry-after'), early.status
    wait_until(lambda: at(host, cluster[1]).ask('ping').status == 200, 15, 'the new home')
    new = at(host, cluster[1]).say('pid')
    assert new != pid and alive(int(new))
    assert at(host, cluster[2]).say('pid') == new
    cluster[0].start()
    cluster.wait_ready()
    assert at(host, cluster[0]).say('pid') == new
    moved = [json.loads(line) for line in cluster[1].gateway.log.split('\n') if '"home"' in line]
    assert moved and moved[0]['event'] == 'session' and 'anew' in moved[0]['text'], 'the log says so'
    # Whoever is at home asks and is asked as before.
    call = Asking(at(host, cluster[2]), {'method': 'elicitation/create', 'params': FORM, 'id': '"q"'})
    question = call.question()
    call.host = at(host, cluster[0])
    call.reply(question, BIG)
    assert rawjson.get(call.upstream_got(), 'result') == BIG


def test_a_session_beside_other_servers_is_at_home_too(fakes, child, memory, clusters, hosts):
    cluster = clusters({'up': child.config(isolation='session'), 'net': http(fakes('net'))}, redis=memory, stdio=STDIO,
                       balanced=False)
    host = hosts(cluster[0].url()).open()
    pid = host.say('up-pid')
    for replica in cluster:
        there = at(host, replica)
        there.path, there.url = '/mcp', replica.url()
        assert there.say('up-pid') == pid and there.say('net-whoami').startswith('net|')


def test_a_session_that_gains_a_process_by_a_reload_has_a_home_from_its_first_use(child, fakes, memory, clusters, hosts):
    web = fakes('web')
    cluster = clusters({'web': http(web)}, redis=memory, stdio=STDIO, balanced=False)
    host = hosts(cluster[0].url(), capabilities=CAN, timeout=20).open()
    everywhere = [at(host, replica) for replica in cluster]
    session = {there.say('web-whoami') for there in everywhere}
    assert len(session) == 1
    running = everywhere[2].start_call('web-slow', {'say': 'to the end'}, id='"running"')
    web.wait_event('started')
    servers = {'web': http(web), 'up': child.config(**ALLOWED)}
    for replica in cluster:
        rest = {k: v for k, v in replica.config.items() if k != 'mcp_servers'}
        Reloading(replica.gateway, replica.config['mcp_servers'], rest).hup(mcp_servers=servers)
    pid = everywhere[1].say('up-pid')
    for turn in range(2):
        assert [there.say('up-pid') for there in everywhere] == [pid] * 3
    assert {there.say('web-whoami') for there in everywhere} == session
    assert len(everywhere[0].call('up-progress', {'n': 5}, token='"t"').messages()) == 6
    web.release()
    assert text_of(running.answer().result()) == 'to the end'
    wait_until(lambda: [p for p in child.pids() if alive(p)] == [int(pid)], what='those that were met alone to end')
    assert everywhere[2].end().status in (200, 204)
    wait_until(lambda: not alive(int(pid)), what='the process to end')


def test_a_home_that_could_not_look_in_time_does_not_run_what_was_given_up(child, replicas):
    cluster, host = replicas()
    there = at(host, cluster[1])
    there.say('pid')
    cluster[0].gateway.signal(signal.SIGSTOP)
    try:
        answer = there.call('echo', {'key': 'once'})
        assert answer.status == 503 and answer.header('retry-after'), answer.status
    finally:
        cluster[0].gateway.signal(signal.SIGCONT)
    wait_until(lambda: cluster[0].metric('sluice_peer_refused_total', reason='left') == 1, what='the home to look')
    assert there.call('echo', {'key': 'once'}).status == 200
    assert len([m for m in child.texts('tools/call') if 'once' in m]) == 1


def other_pid(there, pid):
    """Of the process that serves the session, if it is another and says so."""
    final = there.call('pid').final()
    found = text_of(rawjson.get(final, 'result') or '{"content":[{"text":""}]}')
    return found if found not in ('', pid) else None


@pytest.mark.parametrize('happens', ['frozen', 'cut off from the store'])
def test_a_home_that_was_away_for_longer_than_its_lease_lets_go(child, memory, replicas, hosts, happens):
    """It lives, but another replica has become the home meanwhile: one process stays."""
    cluster, host = replicas(lease='2s')
    home = cluster[0].gateway
    way = Stall(memory.port)
    if happens != 'frozen':
        cluster[0].stop()
        cluster[0].start(store='redis://127.0.0.1:%d/0' % way.port)
        cluster.wait_ready()
        home = cluster[0].gateway
        host = hosts(cluster[0].url('up'), capabilities=CAN, timeout=20).open()
    pid = host.say('pid')
    way.stall()
    if happens == 'frozen':
        home.signal(signal.SIGSTOP)
    try:
        new = wait_until(lambda: other_pid(at(host, cluster[1]), pid), 30, 'the new home')
    finally:
        way.resume()
        home.signal(signal.SIGCONT)
    wait_until(lambda: not alive(int(pid)), 15, 'the process at the old home to end')
    for replica in cluster:
        wait_until(lambda: at(host, replica).ask('ping').status == 200, 10, 'the session to be served')
        assert at(host, replica).say('pid') == new
    assert at(host, cluster[0]).end().status in (200, 204)
    wait_until(lambda: not [p for p in child.pids() if alive(p)], what='no process to be left')
    way.close()
