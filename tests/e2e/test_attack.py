"""What attacks on a running gateway have found: each test is the smallest way to show its bug."""
import os
import subprocess
import time

import pytest

from fake.host import Wire, request_bytes
from kit import R2, R4, http, key
from lib.paths import gateway_binary

PING = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'


def seconds_of(work, tries):
    best = None
    for _ in range(tries):
        began = time.monotonic()
        work()
        taken = time.monotonic() - began
        best = taken if best is None else min(best, taken)
    return best


def test_a_batch_costs_time_in_proportion_to_its_length(hosts, url):
    """All of it runs on the one loop: a quadratic batch of 4 MiB stops every other host for seconds."""
    host = hosts(url, revision=R2, timeout=60).open()

    def batch(count):
        answer = host.post('[' + ','.join(PING % n for n in range(count)) + ']')
        assert answer.status == 200 and answer.body().count(b'"result"') == count
    small = seconds_of(lambda: batch(9000), 4)
    large = seconds_of(lambda: batch(90000), 2)
    assert large < 30 * small, '9000 took %.3f s, 90000 took %.3f s' % (small, large)


def test_a_long_tool_name_fills_neither_metrics_nor_log(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up')).open()
    assert host.call('n' * 1000000).status == 200
    assert len(gateway.admin('/metrics')) < 200000
    assert max(map(len, gateway.log.splitlines())) < 20000


def test_names_that_no_upstream_has_take_no_place_in_the_metrics(gateways, fake, hosts):
    """Else any host uses up the bound, and no real tool is told of until the next start."""
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up')).open()
    wire = host.wire()
    for i in range(1100):
        host.call('invented-%d' % i, wire=wire).body()
    host.call('exact').result()
    assert any('tool="exact"' in line for line in gateway.admin('/metrics').splitlines())


CHILD = r'''
import json, os, subprocess, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get('method') == 'tools/call' and m['params']['name'] == 'die':
        # It outlives its parent in a session of its own and keeps stdout open.
        heir = subprocess.Popen(['sleep', '30'], start_new_session=True)
        open(sys.argv[1], 'w').write(str(heir.pid))
        os._exit(9)
    if 'id' not in m:
        continue
    result = {}
    if m['method'] == 'initialize':
        result = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}},
                  'serverInfo': {'name': 'c', 'version': '1'}}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': result}), flush=True)
'''


def test_the_end_of_a_child_is_seen_though_another_process_holds_its_output(gateways, hosts, tmp_path):
    script, heir = tmp_path / 'child.py', tmp_path / 'heir'
    script.write_text(CHILD)
    config = {'transport': 'stdio', 'command': 'python3', 'args': [str(script), str(heir)], 'timeout': '8s'}
    gateway = gateways({'st': config}, stdio={'enabled': True})
    host = hosts(gateway.server_url('st'), timeout=30).open()
    try:
        began = time.monotonic()
        error = host.call('die').error()
        assert time.monotonic() - began < 4 and error['data']['outcome'] == 'unreachable', error
        assert host.call('other').result() == '{}'
    finally:
        if heir.exists():
            os.kill(int(heir.read_text()), 9)


def check_config(tmp_path, text):
    path = tmp_path / 'c.yaml'
    path.write_text(text)
    return subprocess.run([gateway_binary(), 'check-config', path], capture_output=True, text=True, timeout=60)


def test_a_name_is_not_empty(tmp_path):
    checked = check_config(tmp_path, 'mcp_servers:\n  "": {url: "http://127.0.0.1:1/mcp", transport: http}\n')
    assert checked.returncode == 2, checked.stdout


@pytest.mark.parametrize('name, good, bad', [
    ('Origin', 'http://localhost', 'http://evil.example'),
    ('x-mcp-servers', 'up', 'nobody'),
    ('Mcp-Session-Id', None, 'another'),
    ('MCP-Protocol-Version', R4, '1999-01-01'),
    ('x-sluice-api-key', 'secret', 'wrong')])
def test_a_header_that_decides_is_not_decided_by_its_first_line_alone(gateways, fake, hosts, name, good, bad):
    """Whoever stands before the gateway may have looked at the other one."""
    gateway = gateways({'up': http(fake)}, keys=[key('k', 'secret')])
    host = hosts(gateway.mcp_url, headers=[('x-sluice-api-key', 'secret')]).open()
    given = [p for p in host.standard() if p[0].lower() != name.lower()]
    doubled = given + [(name, good or host.session), (name, bad)]
    wire = Wire(host.address)
    wire.send(request_bytes('POST', host.path, doubled + [('Content-Type', 'application/json'),
                                                          ('Content-Length', len(PING))], PING.encode()))
    status = wire.answer().status
    wire.close()
    assert status in (400, 401, 403, 404), status


def test_a_temporary_redirect_is_for_one_request(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}).server_url('up')).open()
    fake.redirect_to = fake.path + '?elsewhere'
    host.call('fault', {'kind': 'redirect'}).messages()
    host.call('exact').result()
    assert fake.seen(tool='exact')[-1].path == fake.path


def test_resumed_streams_count_among_the_streams_of_a_session(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, limits={'streams_per_session': 2})
    host = hosts(gateway.server_url('up')).open()
    places = []
    for i in range(4):
        answer = host.start_call('slow', {'first': True}, token=str(i), id=str(i)).answer()
        places.append(next(e.id for e in answer.events() if e.text))
        answer.close()
    statuses = [host.listen(place).status for place in places]
    assert statuses[:2] == [200, 200] and not {200} & set(statuses[2:]), statuses
