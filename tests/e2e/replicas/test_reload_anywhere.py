"""The configuration changes under replicas that run, one after the other, as a rolling ConfigMap does (issue 3 D,
issue 4 B): sessions and calls go on, and a host whose lists change is told once, when no replica has the old ones."""
import json

import pytest

from kit import Listener, http, key, message_error, text_of
from lib.procs import wait_until
from reloading import Reloading

from cluster import at

CHANGED = ['notifications/%s/list_changed' % kind for kind in ('tools', 'prompts', 'resources')]
ALICE, BOB = 'sk-alice-CANARY', 'sk-bob-CANARY'


class Roll:
    """One change, taken to the replicas one after the other."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.files = [Reloading(r.gateway, r.config['mcp_servers'], {k: v for k, v in r.config.items() if k != 'mcp_servers'})
                      for r in cluster]

    def to(self, number, by='signal', **changed):
        file = self.files[number]
        if by == 'signal':
            file.hup(**changed)
        else:
            file.until(lambda: file.replace(file.text(**changed)))
        self.cluster[number].config = file.top

    def told(self, number):
        """How often that replica has been through with telling, and how many sessions it told so far."""
        done = [json.loads(l) for l in self.cluster[number].gateway.log.splitlines() if '"outcome":"told"' in l]
        return len(done), sum(l['sessions_told'] for l in done)

    def all_told(self, times=1):
        wait_until(lambda: all(self.told(n)[0] >= times for n in range(len(self.files))), 10, 'hosts to be told')


def told(listener, up):
    """The methods of what came since it was asked before, up to now."""
    listener.seen.clear()
    return [json.loads(m)['method'] for m in listener.all(up)]


@pytest.fixture
def up(fakes):
    return fakes('up', capabilities={'tools': {'listChanged': True}}, tool_names=['whoami', 'slow', 't1', 't2'])


@pytest.mark.parametrize('where', [0, 1, 2])
@pytest.mark.parametrize('by', ['signal', 'file'])
def test_a_host_is_told_once_when_every_replica_has_the_new_lists(up, fakes, memory, clusters, hosts, where, by):
    b = fakes('b', tool_names=['hello'])
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False)
    roll, host = Roll(cluster), hosts(cluster[0].url()).open()
    before = [at(host, r).say('up-whoami') for r in cluster]
    assert len(set(before)) == 1
    listener = Listener(at(host, cluster[where]))
    up.wait_event('listening')
    servers = {'up': http(up), 'b': http(b)}
    for number in (0, 1):
        roll.to(number, by, mcp_servers=servers)
    assert told(listener, up) == [], 'a host that asked again now could get the old list'
    roll.to(2, by, mcp_servers=servers)
    roll.all_told()
    assert sorted(told(listener, up)) == sorted(CHANGED)
    assert sum(roll.told(n)[1] for n in range(3)) == 1
    for replica in cluster:
        assert at(host, replica).tools()[-1] == 'b-hello'
        assert at(host, replica).say('up-whoami') == before[0], 'the session upstream is the same one'
    # And back, which is one more change.
    for number in (2, 0, 1):
        roll.to(number, by, mcp_servers={'up': http(up)})
    roll.all_told(2)
    listener.seen.clear()
    for _ in CHANGED:       # perhaps within a second of the first, and then when that is over
        listener.until(lambda m: 'list_changed' in m)
    assert sorted(json.loads(m)['method'] for m in listener.all(up)) == sorted(CHANGED)
    assert [at(host, r).say('up-whoami') for r in cluster] == before
    assert len(up.live) == 1


def test_whose_lists_stay_the_same_is_not_told(up, memory, clusters, hosts):
    keys = [key('alice', ALICE), key('bob', BOB)]
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False, keys=keys)
    roll = Roll(cluster)
    alice, bob = (hosts(cluster[0].url('up'), headers=[('x-sluice-api-key', k)]).open() for k in (ALICE, BOB))
    for replica in cluster:
        at(alice, replica).say('whoami')
        at(bob, replica).say('whoami')
    listeners = [Listener(at(alice, cluster[1])), Listener(at(bob, cluster[2]))]
    up.wait(lambda: len(up.listeners) == 2)
    for number in range(3):
        roll.to(number, keys=[key('alice', ALICE, tools=['t1', 'whoami']), keys[1]])
    roll.all_told()
    assert told(listeners[0], up) == CHANGED[:1]
    assert told(listeners[1], up) == []


def test_old_cursors_say_list_again_and_calls_end_where_they_began(fakes, memory, clusters, hosts):
    up = fakes('up', tool_names=['whoami', 'slow'] + ['t%d' % i for i in range(6)], page_size=2)
    b = fakes('b', tool_names=['hello'])
    cluster = clusters({'up': http(up), 'b': http(b)}, redis=memory, balanced=False)
    roll, host = Roll(cluster), hosts(cluster[0].url(), timeout=20).open()
    whoami = [at(host, r).say('up-whoami') for r in cluster]
    cursor = json.loads(host.ask('tools/list').result())['nextCursor']
    calls = [at(host, r).start_call('up-slow', {'say': 'to the end of %d' % n}, id='"call%d"' % n) for n, r in enumerate(cluster)]
    up.wait(lambda: len(up.event_list('started')) == 3)
    roll.to(0, mcp_servers={'up': http(up, disallowed_tools=['slow'])})
    # In the middle of the roll: a cursor is good where the configuration is still its own.
    error = message_error(at(host, cluster[0]).ask('tools/list', {'cursor': cursor}), code=-32602)
    assert 'list again' in error['message'] and error['data']['reason'] == 'changed'
    assert at(host, cluster[1]).ask('tools/list', {'cursor': cursor}).result()
    newer = json.loads(at(host, cluster[0]).ask('tools/list').result())['nextCursor']
    assert message_error(at(host, cluster[2]).ask('tools/list', {'cursor': newer}), code=-32602)['data']['reason'] == 'changed'
    for number in (1, 2):
        roll.to(number, mcp_servers={'up': http(up, disallowed_tools=['slow'])})
    for replica in cluster:
        error = message_error(at(host, replica).ask('tools/list', {'cursor': cursor}), code=-32602)
        assert 'list again' in error['message'] and error['data']['reason'] == 'changed'
        assert at(host, replica).ask('tools/list', {'cursor': newer}).result()
        message_error(at(host, replica).call('up-slow'), code=-32602)
        assert at(host, replica).say('up-whoami') == whoami[0]
    up.release()
    assert [text_of(c.answer().result()) for c in calls] == ['to the end of %d' % n for n in range(3)]
    assert whoami[0].split('|')[1] not in up.deleted


def test_a_bad_file_at_one_replica_leaves_the_host_untold_until_it_is_mended(up, fakes, memory, clusters, hosts):
    b = fakes('b', tool_names=['hello'])
    cluster = clusters({'up': http(up)}, redis=memory, balanced=False)
    roll, host = Roll(cluster), hosts(cluster[0].url()).open()
    for replica in cluster:
        at(host, replica).say('up-whoami')
    listener = Listener(at(host, cluster[0]))
    up.wait_event('listening')
    servers = {'up': http(up), 'b': http(b)}
    for number in (0, 2):
        roll.to(number, mcp_servers=servers)
    roll.files[1].until(lambda: roll.files[1].replace('mcp_servers: ['), 'refused')
    assert told(listener, up) == []
    assert at(host, cluster[1]).tools() == ['up-whoami', 'up-slow', 'up-t1', 'up-t2']
    roll.to(1, mcp_servers=servers)
    roll.all_told()
    assert sorted(told(listener, up)) == sorted(CHANGED)
