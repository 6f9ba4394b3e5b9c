"""The process as an operator sees it: health, metrics, log, drain, mount path, debug header, memory."""
import json
import os
import re
import signal
import threading

import pytest

from fake import rawjson
from fake.host import Closed
from kit import grew_less, http, key, progress_notes, rss, text_of
from lib.procs import alive, wait_until


def test_health_and_readiness(gateways, fake):
    gateway = gateways({'up': http(fake)})
    assert gateway.admin('/healthz') and gateway.admin('/readyz')


def test_admin_paths_are_not_on_the_hosts_listener(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.mcp_url)
    for path in ('/metrics', '/healthz', '/readyz'):
        assert host.send('GET', path=path).status == 404


def total(samples, name, **labels):
    """The sum of all samples of a metric family with these labels."""
    found = 0
    for full, value in samples.items():
        family, _, rest = full.partition('{')
        if family == name and all('%s="%s"' % pair in rest for pair in labels.items()):
            found += value
    return found


def test_metrics_tell_of_calls_progress_cancels_and_upstreams(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up')).open()
    host.call('echo').result(), host.call('progress', token='1').messages(), host.call('err').error()
    wire = host.start_call('slow', id='7')
    fake.wait_event('started')
    assert re.search(r'(?m)^# TYPE sluice_\w+ histogram', gateway.admin('/metrics'))
    host.cancel('7')
    wire.answer().messages()
    # A cancelled call is counted when its upstream has been told.
    wait_until(lambda: 'outcome="cancelled"' in gateway.admin('/metrics'), what='the cancelled call to be counted')
    text = gateway.admin('/metrics')
    names = set(re.findall(r'(?m)^# TYPE (\S+)', text))
    assert names and all(n.startswith(('sluice_', 'process_')) for n in names)
    for word in ('calls', 'duration', 'in_flight|inflight', 'sessions', 'streams', 'progress', 'cancel', 'upstream', 'bytes',
                 'loop', 'build_info'):
        assert any(re.search(word, n) for n in names), 'no metric about %s in %s' % (word, sorted(names))
    samples = gateway.metrics()
    calls = next(n for n in names if re.fullmatch(r'sluice_calls_total|sluice_operations_total|sluice_requests_total', n))
    assert total(samples, calls, server='up', method='tools/call') >= 4
    progress = next(n for n in names if 'progress' in n and 'relay' in n or n == 'sluice_progress_notes_total')
    assert total(samples, progress) >= 3


def test_metric_labels_are_bounded(gateways, fakes, hosts):
    up = fakes('up', tool_names=['t'])
    gateway = gateways({'up': http(up)}, limits={'metric_tool_names': 3})
    host = hosts(gateway.server_url('up')).open()
    for i in range(30):
        host.call('CANARY%d' % i).final(), host.ask('CANARY/%d' % i).final()
    text = gateway.admin('/metrics')
    assert len(set(re.findall(r'CANARY\d+', text))) <= 3 and 'CANARY/' not in text


def test_the_log_has_a_line_for_each_operation_and_never_a_secret(gateways, fakes, hosts):
    up = fakes('up', extra_tools=[{'name': 'known', 'inputSchema': {'type': 'object'}}])
    server = http(up, auth_type='bearer_token', auth_value='CANARY-up', static_headers={'X-A': 'CANARY-static'})
    gateway = gateways({'up': server}, keys=[key('alice', 'CANARY-key')], log={'level': 'debug'})
    host = hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', 'CANARY-key'), ('Cookie', 'CANARY-cookie')]).open()
    host.call('known', {'password': 'CANARY-argument'}).result()
    host.call('echo', {'x': 'CANARY-echoed'}, token='"CANARY-token"').messages()
    host.call('fault', {'kind': '500'}).final(), host.call('fault', {'kind': '401'}).final()
    host.call('big', {'mib': 0.01, 'p': 'CANARY'}).result()
    hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', 'CANARY-wrong')]).initialize()
    host.post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"CANARY-cut')
    session = host.session
    host.end()
    up.wait_event('deleted')
    gateway.stop()
    log = gateway.log
    assert 'CANARY' not in log
    assert session not in log, 'a session id is a credential'
    lines = [json.loads(line) for line in log.splitlines() if line.startswith('{')]
    calls = [line for line in lines if line.get('tool') == 'known' or 'known' in json.dumps(line)]
    assert len(calls) >= 1 and 'alice' in json.dumps(calls[0]) and '"up"' in json.dumps(calls[0])
    numbers = [v for v in calls[0].values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    assert len(numbers) >= 2, 'no timing breakdown in %s' % calls[0]


def test_the_debug_header_tells_of_routing_without_secrets(gateways, fakes, hosts):
    up = fakes('up')
    gateway = gateways({'up': http(up, auth_type='bearer_token', auth_value='CANARY-up')}, keys=[key('alice', 'CANARY-key')])
    host = hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', 'CANARY-key')]).open()
    plain = host.call('whoami')
    assert not [n for n, _ in plain.headers if n.lower().startswith('x-sluice-debug')]
    told = host.call('whoami', replace=[('x-sluice-debug', 'true')])
    assert [n for n, _ in told.headers if n.lower().startswith('x-sluice-debug')]
    assert 'CANARY' not in str(told.headers) and 'alice' in str(told.headers)


def test_a_mount_path_is_stripped_first(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, public_url='https://gw.example/tools/mcp-gw')
    port = int(re.match(r'http://[^/]*:(\d+)/', gateway.mcp_url)[1])
    for path in ('/tools/mcp-gw/mcp', '/tools/mcp-gw/mcp/', '/tools/mcp-gw/mcp/up', '/tools/mcp-gw/up/mcp'):
        host = hosts('http://127.0.0.1:%d%s' % (port, path)).open()
        assert any(t.endswith('echo') for t in host.tools()), path
    assert hosts('http://127.0.0.1:%d/tools/other/mcp' % port).initialize().status == 404


@pytest.mark.parametrize('path', ['/mcp', '/mcp/', '/tools/mcp'])
def test_a_public_url_that_is_the_endpoint_itself_is_taken_as_that(gateways, fake, hosts, path):
    gateway = gateways({'up': http(fake)}, public_url='https://gw.example' + path)
    assert gateway.mcp_url.endswith(path.rstrip('/')) and '/mcp/mcp' not in gateway.mcp_url
    assert hosts(gateway.mcp_url).open().tools()
    below = gateway.mcp_url.removesuffix('/mcp')
    assert hosts(below + '/mcp/up').open().tools() and hosts(below + '/up/mcp').open().tools()


def test_sigterm_lets_a_running_call_finish(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up')).open()
    wire = host.start_call('slow', {'first': True}, token='1', id='5')
    answer = wire.answer()
    fake.wait_event('started')
    os.kill(gateway.pid, signal.SIGTERM)
    wait_until(lambda: refused(gateway), what='new connections to be refused')
    assert alive(gateway.pid)
    fake.release()
    assert text_of(rawjson.get(answer.messages()[-1], 'result')) == 'slow done'
    assert gateway.wait(10) == 0


def refused(gateway):
    from fake.host import Wire
    try:
        wire = Wire(('127.0.0.1', gateway.port), timeout=1)
    except OSError:
        return True
    wire.close()
    return False


def test_sigterm_ends_open_streams_properly(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    listening = hosts(gateway.server_url('up')).open().listen()
    os.kill(gateway.pid, signal.SIGTERM)
    try:
        assert not [e for e in listening.events() if e.text]
    except Closed:
        pytest.fail('the stream was cut, not ended')
    assert gateway.wait(10) == 0


def test_readiness_goes_first_on_sigterm(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up')).open()
    wire = host.start_call('slow', id='5')
    fake.wait_event('started')
    os.kill(gateway.pid, signal.SIGTERM)

    def unready():
        try:
            gateway.admin('/readyz')
            return False
        except OSError:
            return True
    wait_until(unready, what='readiness to be withdrawn')
    fake.release()
    wire.answer().messages()
    assert gateway.wait(10) == 0


def test_a_call_that_outlives_the_drain_is_cancelled_upstream_and_told_the_host(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, timeouts={'drain': '300ms'})
    host = hosts(gateway.server_url('up')).open()
    answer = host.start_call('slow', {'first': True}, token='1', id='5').answer()
    fake.wait_event('started')
    os.kill(gateway.pid, signal.SIGTERM)
    messages = answer.messages()
    fake.wait(lambda: fake.event_list('cancelled') or fake.event_list('closed early'))
    assert gateway.wait(10) == 0
    assert '"error"' in messages[-1] and rawjson.get(messages[-1], 'id') == '5'


def test_sigterm_ends_the_upstream_sessions(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    used = hosts(gateway.server_url('up')).open().say('whoami').split('|')[1]
    assert gateway.stop() == 0
    fake.wait_event('deleted', session=used)


def test_ten_thousand_notes_to_a_slow_reader_stay_bounded_and_the_result_arrives_last(gateways, fake, hosts):
    """The reader takes nothing until the upstream has said everything: 40 MB of notes."""
    gateway = gateways({'up': http(fake)})
    host = hosts(gateway.server_url('up'), timeout=60).open()
    host.say('whoami')
    before = rss(gateway.pid)
    wire = host.start_call('flood', {'n': 10000, 'pad': 4000}, token='"slow"', id='1', rcvbuf=4096)
    highest, done = before, threading.Event()

    def watch():
        nonlocal highest
        while not done.wait(0.01):
            highest = max(highest, rss(gateway.pid))
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        try:
            fake.wait_event('flooded', timeout=3)
        except AssertionError:
            pass        # the gateway may stop reading instead: back-pressure is as good
        messages = wire.answer(timeout=60).messages(timeout=60)
    finally:
        done.set(), watcher.join()
    grew_less(gateway.pid, before, 24 << 20, highest)
    values = [int(rawjson.get(n, 'progress')) for n in progress_notes(messages)]
    assert values == sorted(set(values)) and values[-1] == 9999
    assert '"result"' in messages[-1] and text_of(rawjson.get(messages[-1], 'result')) == 'flood done'


def test_ten_thousand_notes_to_a_quick_reader_all_arrive_in_order(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}).server_url('up'), timeout=60).open()
    messages = host.call('flood', {'n': 10000}, token='1', timeout=60).messages(timeout=60)
    values = [int(rawjson.get(n, 'progress')) for n in progress_notes(messages)]
    assert values == sorted(set(values)) and values[-1] == 9999 and '"result"' in messages[-1]


def test_a_host_that_stops_reading_stops_no_other(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})
    stuck = hosts(gateway.server_url('up')).open()
    stuck.start_call('flood', {'n': 5000, 'pad': 4000}, token='1', rcvbuf=4096)
    other = hosts(gateway.server_url('up')).open()
    for _ in range(20):
        assert other.say('whoami')


def test_sessions_that_end_leave_no_memory(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)})

    def round_of(count):
        for _ in range(count):
            host = hosts(gateway.server_url('up')).open()
            host.say('whoami')
            assert host.end().status in (200, 204)
            host.close()
    round_of(60)
    before = rss(gateway.pid)
    round_of(200)
    grew_less(gateway.pid, before, 6 << 20)


def test_idle_sessions_end_by_themselves(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, timeouts={'session_idle': '200ms'})
    host = hosts(gateway.server_url('up')).open()
    used = host.say('whoami').split('|')[1]
    fake.wait_event('deleted', session=used)
    assert host.ask('ping').status == 404


def test_two_hundred_interleaved_hosts_each_get_their_own(gateways, fake, hosts):
    gateway = gateways({'up': http(fake, extra_headers=['x-tenant'])})
    opened = [hosts(gateway.server_url('up'), headers=[('X-Tenant', 't%d' % i)]).open() for i in range(50)]
    for turn in range(4):
        wires = [h.start_call('echo', {'who': i, 'turn': turn}, token=str(turn), id='1') for i, h in enumerate(opened)]
        for i, wire in enumerate(wires):
            echoed = json.loads(text_of(rawjson.get(wire.answer().messages()[-1], 'result')))
            assert echoed['arguments'] == {'who': i, 'turn': turn}
    sessions = {}
    for record in fake.seen(tool='echo'):
        sessions.setdefault(record.header('x-tenant'), set()).add(record.session)
    assert len(sessions) == 50 and all(len(s) == 1 for s in sessions.values())
    assert len(set.union(*sessions.values())) == 50


def test_a_bad_configuration_says_where_and_exits_with_two(tmp_path):
    from lib.paths import gateway_binary
    from lib.procs import run
    path = tmp_path / 'bad.yaml'
    path.write_text('listen: 127.0.0.1:0\nmcp_servers:\n  up:\n    urll: http://127.0.0.1:1/mcp\n')
    done = run([gateway_binary(), 'check-config', path])
    said = '\n'.join(done.out + done.err)
    assert done.returncode == 2 and 'bad.yaml:4:5' in said and 'urll' in said and 'url' in said
