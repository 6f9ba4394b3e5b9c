"""The configuration is read again while hosts work: taken as a whole, or not at all."""
import json
import os
import signal
import time

import pytest

from asking import STDIO
from fake import rawjson
from kit import http, key, message_error, text_of
from lib.procs import alive, wait_until
from reloading import SOMETIME, Reloading

ALICE, BOB = 'sk-alice-CANARY', 'sk-bob-CANARY'
SALT = ['a salt of the tests']


@pytest.fixture
def reloading(gateways):
    return lambda servers, **top: Reloading(gateways(servers, **top), servers, top)


def heard(stream, methods, timeout=SOMETIME):
    """Reads a standing stream until each of the notifications has come."""
    left = set(methods)
    end = time.monotonic() + timeout
    while left:
        event = stream.event(end - time.monotonic())
        assert event is not None, 'the stream ended; still to come: %s' % left
        if event.text:
            left.discard(json.loads(event.text)['method'])


CHANGED = ['notifications/%s/list_changed' % kind for kind in ('tools', 'prompts', 'resources')]


def test_a_server_is_added_and_open_sessions_are_told(fakes, reloading, hosts):
    a, b = fakes('a', tool_names=['whoami']), fakes('b', tool_names=['whoami'])
    r = reloading({'a': http(a)})
    host = hosts(r.gateway.mcp_url).open()
    before = host.say('a-whoami')
    stream = host.listen()
    r.hup(mcp_servers={'a': http(a), 'b': http(b)})
    heard(stream, CHANGED)
    assert host.tools() == ['a-whoami', 'b-whoami']
    assert host.say('b-whoami').startswith('b|')
    assert host.say('a-whoami') == before, 'an untouched server is the same session'


def test_a_name_that_is_taken_is_told_of_once_in_each_configuration(fakes, reloading, hosts):
    up = fakes('a', tool_names=['one', 'two', 'shown'])
    r = reloading({'a': http(up, tool_name_to_display_name={'one': 'shown'})})

    def taken_by():
        return [json.loads(line)['taken_by'] for line in r.gateway.log.splitlines() if '"event":"names"' in line]

    def list_twice():
        for _ in range(2):
            assert len(hosts(r.gateway.mcp_url).open().tools()) == 3
    list_twice()
    r.hup(mcp_servers={'a': http(up, tool_name_to_display_name={'two': 'shown'})})
    list_twice()
    wait_until(lambda: len(taken_by()) >= 2, SOMETIME, 'what the second one says')
    assert taken_by() == ['one', 'two']


def test_a_server_is_removed_while_it_runs_a_call(fakes, reloading, hosts):
    a, b = fakes('a', tool_names=['whoami', 'slow']), fakes('b', tool_names=['whoami'])
    r = reloading({'a': http(a), 'b': http(b)})
    host = hosts(r.gateway.mcp_url).open()
    wire = host.start_call('a-slow', {'say': 'to the end'}, id='7')
    started = a.wait_event('started')
    r.hup(mcp_servers={'b': http(b)})
    assert host.tools() == ['b-whoami']
    message_error(host.call('a-whoami'), code=-32602)
    time.sleep(0.3)     # whatever closes too early has had its chance
    assert started['session'] not in a.deleted
    a.release()
    assert text_of(wire.answer().result()) == 'to the end'
    wait_until(lambda: started['session'] in a.deleted, SOMETIME, 'the upstream session to be ended')
    assert 'sluice_upstream_sessions{server="a"}' not in r.gateway.metrics()
    assert host.say('b-whoami').startswith('b|')


def test_a_server_that_moved_is_another_one(fakes, reloading, hosts):
    old, new = fakes('old', tool_names=['whoami', 'slow']), fakes('new', tool_names=['whoami'])
    r = reloading({'a': http(old)})
    host = hosts(r.gateway.server_url('a')).open()
    assert host.say('whoami').startswith('old|')
    wire = host.start_call('slow', id='1')
    old.wait_event('started')
    r.hup(mcp_servers={'a': http(new)})
    assert host.say('whoami').startswith('new|')
    old.release()
    assert text_of(wire.answer().result()) == 'slow done'
    session = host.say('whoami').split('|')[1]
    wait_until(lambda: old.deleted, SOMETIME, 'the old session to be ended')
    assert host.say('whoami') == 'new|' + session and session not in new.deleted


def test_other_permissions_are_told_and_a_cursor_of_before_is_refused(fakes, reloading, hosts):
    up = fakes('up', tool_names=['t%d' % i for i in range(6)], page_size=2)
    keys = [key('alice', ALICE), key('bob', BOB)]
    r = reloading({'up': http(up)}, keys=keys, salt_keys=SALT)
    host = hosts(r.gateway.server_url('up'), headers=[('x-sluice-api-key', ALICE)]).open()
    other = hosts(r.gateway.server_url('up'), headers=[('x-sluice-api-key', BOB)]).open()
    cursor = json.loads(host.ask('tools/list').result())['nextCursor']
    stream, others = host.listen(), other.listen()
    r.hup(keys=[key('alice', ALICE, tools=['t1', 't3']), keys[1]])
    heard(stream, CHANGED[:1])
    answer = host.ask('tools/list', {'cursor': cursor})
    error = message_error(answer, code=-32602)
    assert 'list again' in error['message'] and error['data']['reason'] == 'changed'
    assert host.tools() == ['t1']
    message_error(host.call('t0'), code=-32602)
    r.hup(keys=[key('alice', ALICE, tools=['t1', 't3']), key('bob', BOB, tools=['t5'])])
    heard(others, CHANGED[:1])
    assert len(others.events_seen) <= 2, 'what changed for alice was told to bob: %s' % others.events_seen


def test_the_same_file_again_changes_nothing_for_hosts(fakes, reloading, hosts):
    up = fakes('up', tool_names=['t%d' % i for i in range(4)] + ['whoami'], page_size=2)
    r = reloading({'up': http(up)}, salt_keys=SALT)
    host = hosts(r.gateway.server_url('up')).open()
    cursor = json.loads(host.ask('tools/list').result())['nextCursor']
    before = host.say('whoami')
    r.hup()
    r.hup()
    assert 't2' in host.ask('tools/list', {'cursor': cursor}).result()
    assert host.say('whoami') == before and before.split('|')[1] not in up.deleted


def test_a_bad_file_changes_nothing_and_the_log_says_where_and_why(fakes, reloading, hosts):
    up = fakes('up')
    r = reloading({'up': http(up)})
    host = hosts(r.gateway.mcp_url).open()
    before = host.say('up-whoami')
    bad = 'mcp_servers:\n  up:\n    url: %s\n    auth_type: bearer_token\n    auth_value: sk-CANARY-1\n    timeot: 5s\nkeyz: 1\n' % up.url
    r.until(lambda: r.replace(bad), 'refused')
    lines = [json.loads(l) for l in r.gateway.log.splitlines() if '"reload"' in l]
    texts = ' '.join(l['text'] for l in lines)
    assert '%s:6:' % r.gateway.config_path in texts and 'timeot' in texts
    assert ':7:' in texts and 'keyz' in texts and 'nothing has changed' in texts
    assert 'CANARY' not in r.gateway.log
    assert host.say('up-whoami') == before
    r.until(lambda: r.replace('mcp_servers: ['), 'refused')
    r.until(lambda: os.unlink(r.gateway.config_path), 'refused')
    assert host.say('up-whoami') == before
    r.until(lambda: r.replace(r.text()))
    assert host.say('up-whoami') == before


def test_a_key_that_is_removed_ends_what_it_had(fakes, reloading, hosts):
    up = fakes('up')
    r = reloading({'up': http(up)}, keys=[key('alice', ALICE), key('bob', BOB)])
    host = hosts(r.gateway.mcp_url, headers=[('x-sluice-api-key', ALICE)]).open()
    other = hosts(r.gateway.mcp_url, headers=[('x-sluice-api-key', BOB)]).open()
    session = host.say('up-whoami').split('|')[1]
    stays = other.say('up-whoami')
    stream = host.listen()
    r.hup(keys=[key('bob', BOB)])
    assert not [e for e in stream.events(SOMETIME) if e.text]
    assert host.ask('ping').status == 401
    wait_until(lambda: session in up.deleted, SOMETIME, 'the upstream session to be ended')
    assert other.say('up-whoami') == stays


def test_a_server_taken_from_a_key_says_no_more_to_it(fakes, reloading, hosts):
    loud = {'tools': {'listChanged': True}, 'logging': {}}
    up, other = fakes('up', capabilities=loud), fakes('other')
    servers = {'up': http(up), 'other': http(other)}
    r = reloading(servers, keys=[key('alice', ALICE), key('bob', BOB)])
    host = hosts(r.gateway.mcp_url, headers=[('x-sluice-api-key', ALICE)]).open()
    session = host.say('up-whoami').split('|')[1]
    stream = host.listen()
    up.wait_event('listening')
    r.hup(keys=[key('alice', ALICE, servers=['other']), key('bob', BOB)])
    heard(stream, CHANGED)
    wait_until(lambda: session in up.deleted, SOMETIME, 'the upstream session to be ended')
    message_error(host.call('up-whoami'), code=-32602)
    r.hup(keys=[key('alice', ALICE), key('bob', BOB)])
    heard(stream, CHANGED)
    assert host.say('up-whoami').split('|')[1] != session


def test_the_file_is_watched_by_rename_and_in_place(fakes, reloading, hosts):
    a, b = fakes('a', tool_names=['x']), fakes('b', tool_names=['y'])
    r = reloading({'a': http(a)})
    r.until(lambda: r.replace(r.text(mcp_servers={'b': http(b)})))
    assert hosts(r.gateway.mcp_url).open().tools() == ['b-y']
    r.until(lambda: r.gateway.config_path.write_text(r.text(mcp_servers={'a': http(a), 'b': http(b)})))
    assert hosts(r.gateway.mcp_url).open().tools() == ['a-x', 'b-y']


def test_the_file_is_watched_through_a_link_that_is_swapped(fakes, reloading, hosts, tmp_path):
    a, b = fakes('a', tool_names=['x']), fakes('b', tool_names=['y'])
    r = reloading({'a': http(a)})
    for version, servers in (('1', {'a': http(a)}), ('2', {'b': http(b)})):
        (tmp_path / version).mkdir()
        (tmp_path / version / 'sluice.yaml').write_text(r.text(mcp_servers=servers))

    def link(target, at):
        os.symlink(target, tmp_path / 'new')
        os.replace(tmp_path / 'new', at)
    link('1', tmp_path / '..data')
    r.until(lambda: link(tmp_path / '..data' / 'sluice.yaml', r.gateway.config_path))
    assert hosts(r.gateway.mcp_url).open().tools() == ['a-x']
    r.until(lambda: link('2', tmp_path / '..data'))
    assert hosts(r.gateway.mcp_url).open().tools() == ['b-y']


def test_what_needs_a_new_start_is_said(fakes, reloading, hosts):
    up = fakes('up', tool_names=['x'])
    r = reloading({'up': http(up)})
    r.hup(listen='127.0.0.1:1', salt_keys=SALT, limits={'body': '1MiB'})
    said = {l['key'] for l in map(json.loads, r.gateway.log.splitlines()) if 'at the next start' in l.get('text', '')}
    assert said == {'listen', 'salt_keys', 'limits and timeouts of HTTP'}
    assert hosts(r.gateway.mcp_url).open().tools() == ['up-x']


def test_a_salt_is_rotated_without_a_restart(fakes, reloading, hosts):
    up = fakes('up', tool_names=['t%d' % i for i in range(4)], page_size=2)
    r = reloading({'up': http(up)}, salt_keys=SALT)
    host = hosts(r.gateway.server_url('up')).open()
    cursor = json.loads(host.ask('tools/list').result())['nextCursor']
    r.hup(salt_keys=['a newer salt of the tests', *SALT])
    assert 't2' in host.ask('tools/list', {'cursor': cursor}).result()
    newer = json.loads(host.ask('tools/list').result())['nextCursor']
    r.hup(salt_keys=['a newer salt of the tests'])
    assert message_error(host.ask('tools/list', {'cursor': cursor}), code=-32602)['data']['reason'] == 'invalid'
    assert 't2' in host.ask('tools/list', {'cursor': newer}).result()


def test_a_local_process_is_started_and_ended_by_a_reload(fakes, stdio_fakes, reloading, hosts):
    up, local = fakes('up'), stdio_fakes('local')
    r = reloading({'up': http(up)}, stdio=STDIO)
    host = hosts(r.gateway.mcp_url).open()
    r.hup(mcp_servers={'up': http(up), 'local': local.config()})
    pid = int(host.say('local-pid'))
    r.hup(mcp_servers={'up': http(up), 'local': {**local.config(), 'disallowed_tools': ['env']}})
    assert int(host.say('local-pid')) == pid, 'permissions alone do not start it anew'
    message_error(host.call('local-env'), code=-32602)
    r.hup(mcp_servers={'up': http(up)})
    wait_until(lambda: not alive(pid), SOMETIME, 'the process to end')
    assert host.say('up-whoami')


def test_reloads_in_the_middle_of_traffic_lose_nothing(fakes, reloading, hosts):
    a, b = fakes('a', tool_names=['echo']), fakes('b', tool_names=['echo'])
    r = reloading({'a': http(a)})
    host = hosts(r.gateway.mcp_url).open()
    for round in range(12):
        r.replace(r.text(mcp_servers={'a': http(a), **({'b': http(b)} if round % 2 else {})}))
        os.kill(r.gateway.pid, signal.SIGHUP)
        for i in range(10):
            assert '"n":%d' % i in host.say('a-echo', {'n': i}).replace(' ', '')
    assert r.count('refused') == 0


def test_an_old_stream_of_sse_goes_on(fakes, reloading):
    from fake.sse_host import SseHost
    a, b = fakes('a', tool_names=['whoami']), fakes('b', tool_names=['whoami'])
    r = reloading({'a': http(a)})
    host = SseHost(r.gateway.base_url + '/mcp/sse').open()
    try:
        def say(tool):
            return text_of(rawjson.get(host.do(host.call_text(tool)), 'result'))
        before = say('a-whoami')
        r.hup(mcp_servers={'a': http(a), 'b': http(b)})
        assert say('a-whoami') == before and say('b-whoami').startswith('b|')
    finally:
        host.close()
