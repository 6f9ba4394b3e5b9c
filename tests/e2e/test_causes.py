"""What the operator finds in the log when a server fails in initialize, in a list, or as it is learnt at start: the server, what
failed, why, and what to do; once while it lasts. Hosts are told no more than an outcome of the closed set."""
import json

import pytest

from asking import ALLOWED, CAN, STDIO
from fake import faults
from kit import CLOSED_SET, http, no_canary, outcomes_of, sse
from lib.procs import wait_until

QUICK = {'connect': '1s', 'initialize': '700ms', 'list': '500ms', 'initialize_wait': '1s'}
# kind of fault -> outcome, words of the cause, words of the advice
BROKEN = {
    'silent': ('timeout', 'no answer in time', 'timeout'),
    '401': ('auth_required', '401', 'auth_value'),
    '403': ('forbidden', '403', 'credential'),
    '500': ('upstream_error', '500', 'its own log'),
    'html': ('upstream_error', 'neither JSON nor a stream', 'MCP server'),
    'badjson': ('upstream_error', 'no valid message', 'MCP server'),
    'empty202': ('upstream_error', 'neither JSON nor a stream', 'MCP server'),
    'gzip': ('upstream_error', 'compressed (with gzip)', 'MCP server'),
    'gzipped_events': ('upstream_error', 'an encoding we do not know', 'MCP server'),
    'close': ('unreachable', 'connection was lost', 'its own log'),
}
SECRET = 'hush-hush'


def failures(gateway, server=None):
    lines = [json.loads(line) for line in gateway.err if '"upstream_failed"' in line]
    return [line for line in lines if server in (None, line['server'])]


def wait_failure(gateway, server='up'):
    return wait_until(lambda: failures(gateway, server), 10, 'the cause in the log')[0]


def check(line, doing, outcome, problem, advice):
    assert (line['level'], line['doing'], line['outcome']) == ('warn', doing, outcome), line
    assert problem in line['problem'] and advice in line['advice'], line
    no_canary(json.dumps(line))
    assert SECRET not in json.dumps(line) and '?' not in line['problem']


@pytest.mark.parametrize('kind', BROKEN)
def test_a_failure_of_initialize_is_told_once_with_its_cause(fakes, gateways, hosts, kind):
    up = fakes('up', faults={'initialize': kind})
    entry = http(up, auth_type='bearer_token', auth_value=SECRET)
    entry['url'] += '?key=' + SECRET
    gateway = gateways({'up': entry, 'good': http(fakes('good'))}, timeouts=QUICK)
    check(wait_failure(gateway), 'initialize', *BROKEN[kind])       # as it is learnt at start
    for _ in range(3):
        assert hosts(gateway.server_url('up')).initialize().status >= 400
    host = hosts(gateway.mcp_url).open()
    outcome = outcomes_of(host.ask('tools/list').result())['up']
    assert outcome in CLOSED_SET
    greetings = [line for line in map(json.loads, gateway.err) if line.get('event') == 'session' and line['outcome'] == 'refused']
    assert greetings and all('up: ' in line['problem'] for line in greetings)
    told = failures(gateway, 'up')
    assert len({line['problem'] for line in told}) == len(told) <= 2, told
    assert SECRET not in gateway.log


@pytest.mark.parametrize('route', ['single', 'aggregate'])
@pytest.mark.parametrize('kind', [*BROKEN, 'nolist', 'error'])
def test_a_failure_of_a_list_is_told_with_its_cause(fakes, gateways, hosts, kind, route):
    up = fakes('up')
    gateway = gateways({'up': http(up), 'good': http(fakes('good'))}, timeouts=QUICK)
    host = hosts(gateway.server_url('up') if route == 'single' else gateway.mcp_url).open()
    if kind == 'error':
        up.errors['tools/list'] = '{"code":-32055,"message":"%s"}' % faults.CANARY
    else:
        up.faults['tools/list'] = kind
    for _ in range(3):
        host.ask('tools/list').messages()
    more = {'nolist': ('upstream_error', "no array 'tools'", 'MCP server'),
            'error': ('upstream_error', 'answered the listing with an error', 'MCP server')}
    if kind == 'error' and route == 'single':
        assert not failures(gateway)        # its own error is the host's answer, as it is
        return
    check(wait_failure(gateway), 'tools/list', *{**BROKEN, **more}[kind])
    assert len(failures(gateway)) == 1


def test_a_server_that_is_not_there_is_told_with_the_reason_and_a_new_one_as_well(fakes, gateways, hosts):
    up = fakes('up')
    up.stop()
    gateway = gateways({'up': http(up)}, timeouts=QUICK)
    check(wait_failure(gateway), 'initialize', 'unreachable', 'refused', 'see that it runs')
    up.faults['initialize'] = '401'
    up.restart()

    def refused():
        hosts(gateway.server_url('up')).initialize()
        return len(failures(gateway)) > 1
    wait_until(refused, 10, 'the new cause')
    assert failures(gateway)[1]['outcome'] == 'auth_required'


@pytest.mark.parametrize('entry, problem', [
    ({'command': 'deno'}, 'no such command'),
    ({'command': 'python3', 'args': ['-c', 'import sys; sys.exit(3)']}, '3')])
def test_a_process_that_does_not_start_is_told_with_its_cause(gateways, entry, problem):
    gateway = gateways({'up': {'transport': 'stdio', **entry}}, stdio=STDIO, timeouts=QUICK,
                       env={'PATH': '/usr/bin:/bin'})
    check(wait_failure(gateway), 'initialize', 'unreachable', problem, 'command')


@pytest.mark.parametrize('status, words', [('401', ('auth_required', '401', 'auth_value')), ('503', ('upstream_error', '503', 'its own log'))])
def test_a_standing_stream_that_is_refused_is_told(fakes, gateways, hosts, status, words):
    gateway = gateways({'up': http(fakes('up', get=status), **ALLOWED)})
    assert hosts(gateway.server_url('up'), capabilities=CAN).open().say('whoami')
    check(wait_failure(gateway), 'the standing stream', *words)


def test_a_server_that_has_no_standing_stream_is_no_failure(fakes, gateways, hosts):
    up = fakes('up', get='405')
    gateway = gateways({'up': http(up, **ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    up.wait_seen(method='GET')
    assert host.say('whoami') and not failures(gateway)


def test_a_stream_of_the_older_transport_that_is_compressed_is_named(sse_fakes, gateways):
    old = sse_fakes('up', answer_headers=[('Content-Encoding', 'br')])
    check(wait_failure(gateways({'up': sse(old)}, timeouts=QUICK)), 'initialize', 'upstream_error', 'compressed (with br)', 'MCP server')


def test_no_compression_is_asked_for(fakes, sse_fakes, gateways, hosts):
    new, old = fakes('new'), sse_fakes('old')
    gateway = gateways({'new': http(new, extra_headers=['accept-encoding']), 'old': sse(old)})
    host = hosts(gateway.mcp_url, headers=[('Accept-Encoding', 'gzip, br')]).open()
    assert host.say('new-whoami') and host.say('old-whoami')
    for record in new.records + old.records:
        assert record.header('accept-encoding') == 'identity', (record.method, record.rpc)
