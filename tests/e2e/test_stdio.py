"""Local processes: the gate, exactness, crashes, restarts, and never an orphan."""
import json
import os
import signal
import subprocess

import pytest

from fake import rawjson, tools
from fake.stdio import SERVER
from kit import http, message_error, progress_notes, text_of
from lib.procs import alive, wait_until

ON = {'enabled': True, 'restart_min': '50ms', 'restart_max': '200ms', 'shutdown_step': '300ms'}


@pytest.fixture
def st(stdio_fakes):
    return stdio_fakes('st')


@pytest.fixture
def gateway(gateways, st):
    return gateways({'st': st.config()}, stdio=ON)


@pytest.fixture
def url(gateway):
    return gateway.server_url('st')


def test_bytes_pass_unchanged(host, st):
    assert host.call('exact').result() == tools.EXACT
    assert rawjson.get(host.call('err').final(), 'error') == tools.ERROR
    arguments = '{"big":9007199254740993, "f":1.10,"é":"\\u0000"}'
    host.call('echo', arguments).result()
    assert rawjson.get(st.texts('tools/call')[-1], 'params', 'arguments') == arguments


def test_a_message_with_line_breaks_goes_up_as_one_line(host, st):
    host.post('{"jsonrpc":"2.0",\r\n"id":5,"method":"tools/call","params":{\n"name":"echo","arguments":{"a":\n1.0}}}').result()
    assert json.loads(st.texts('tools/call')[-1])['params']['arguments'] == {'a': 1.0}


@pytest.mark.parametrize('token', ['0', '""', '18446744073709551615'])
def test_progress_comes_with_its_token_in_order(host, token):
    messages = host.call('progress', {'n': 30}, token=token).messages()
    notes = progress_notes(messages)
    assert {rawjson.get(n, 'progressToken') for n in notes} == {token}
    values = [float(rawjson.get(n, 'progress')) for n in notes]
    assert values == sorted(values) and values[-1] == 30.5 and '"result"' in messages[-1]


def test_hosts_share_one_process(hosts, url, st):
    assert {hosts(url).open().say('pid') for _ in range(3)} == {str(st.pids()[0])}


def test_isolation_gives_each_session_its_process_and_ends_it_with_the_session(gateways, hosts, st):
    gateway = gateways({'st': st.config(isolation='session')}, stdio=ON)
    one, two = (hosts(gateway.server_url('st')).open() for _ in range(2))
    first, second = int(one.say('pid')), int(two.say('pid'))
    assert first != second
    one.end()
    wait_until(lambda: not alive(first), what='the process of an ended session to end')
    assert alive(second) and two.say('pid') == str(second)


def test_no_more_processes_than_allowed_and_a_word_for_who_comes_too_late(gateways, hosts, st):
    gateway = gateways({'st': st.config(isolation='session')}, stdio={**ON, 'max_processes': 1})
    url = gateway.server_url('st')

    def first():
        """The gateway's own look at the server takes the one place for a moment."""
        host = hosts(url)
        answer = host.initialize()
        host.session = answer.session
        return host if answer.status == 200 else None
    one = wait_until(first, what='the one process')
    late = hosts(url).initialize()
    assert late.status == 503 and 'stdio.max_processes' in late.error()['message']
    one.end()
    wait_until(first, what='the place of the session that ended')


def test_ids_and_tokens_of_hosts_that_share_a_process_never_cross(hosts, url, st):
    one, two = hosts(url).open(), hosts(url).open()
    first = one.start_call('slow', {'say': 'one', 'first': True, 'seconds': 0.4}, token='1', id='1')
    second = two.start_call('slow', {'say': 'two', 'first': True, 'seconds': 0.4}, token='1', id='1')
    for wire, said in ((first, 'one'), (second, 'two')):
        messages = wire.answer().messages()
        assert len(progress_notes(messages)) == 1
        assert text_of(rawjson.get(messages[-1], 'result')) == said


def test_logging_of_a_shared_process_reaches_no_host_that_did_not_call(hosts, url):
    other = hosts(url).open()
    listening = other.listen()
    assert hosts(url).open().call('logs').result()
    other.end()
    assert not [e for e in listening.events() if 'notifications/message' in e.text]


def test_a_killed_process_fails_its_call_clearly_and_the_next_call_works(host, st):
    wire = host.start_call('slow', id='"k"')
    st.wait('started')
    os.kill(st.pids()[-1], signal.SIGKILL)
    final = wire.answer().final()
    assert rawjson.get(final, 'id') == '"k"'
    assert 'st' in json.loads(rawjson.get(final, 'error'))['message']
    wait_until(lambda: '"result"' in host.call('pid').final(), what='a new process')
    assert len(st.pids()) == 2


@pytest.mark.parametrize('tool, arguments', [('crash', {}), ('fault', {'kind': 'cut'}), ('fault', {'kind': 'badjson'}),
                                             ('fault', {'kind': 'dup'}), ('fault', {'kind': 'wrongid'}),
                                             ('fault', {'kind': 'huge'})])
def test_a_broken_answer_is_a_clear_error_and_the_next_call_works(gateways, hosts, st, tool, arguments):
    gateway = gateways({'st': st.config(timeout='1s')}, stdio=ON, limits={'upstream_message': '1MiB'})
    host = hosts(gateway.server_url('st')).open()
    final = host.call(tool, arguments, id='3', timeout=20).final()
    assert 'st' in json.loads(rawjson.get(final, 'error'))['message'] and rawjson.get(final, 'id') == '3'
    wait_until(lambda: '"result"' in host.call('pid').final(), what='the next call to work')


def test_lines_that_are_not_json_are_skipped(gateways, hosts, stdio_fakes):
    st = stdio_fakes('st', banner=True)
    host = hosts(gateways({'st': st.config()}, stdio=ON).server_url('st')).open()
    assert host.say('noise') == 'after noise' and host.say('noise') == 'after noise'


def test_stderr_goes_to_the_log_with_the_servers_name(gateway, host):
    host.say('stderr', {'say': 'a word from below'})
    line = gateway.wait_line('a word from below')
    assert 'st' in line.string


def test_a_process_that_dies_at_once_is_restarted_with_patience(gateways, hosts, stdio_fakes):
    st = stdio_fakes('st', die_at_start=True)
    gateway = gateways({'st': st.config()}, stdio=ON)
    host = hosts(gateway.mcp_url).open()
    for _ in range(3):
        message_error(host.call('st-echo'))
    assert len(st.pids()) <= 10


def test_a_large_result_and_a_flood_pass_a_pipe(host):
    assert len(host.say('big', {'mib': 4}, timeout=30)) == 4 << 20
    messages = host.call('flood', {'n': 3000}, token='1', timeout=30).messages()
    assert '"result"' in messages[-1]


def test_the_environment_is_an_allow_list_plus_env(gateways, hosts, st):
    gateway = gateways({'st': st.config(env={'MINE': 'v-${SLUICE_TEST_A}'})}, stdio=ON,
                       env={'SLUICE_TEST_A': 'given', 'CANARY_SECRET': 'x', 'LD_PRELOAD_X': 'y'})
    child = json.loads(hosts(gateway.server_url('st')).open().say('env'))
    assert child['MINE'] == 'v-given' and 'PATH' in child
    assert not {'CANARY_SECRET', 'SLUICE_TEST_A', 'LD_PRELOAD_X'} & set(child)


def test_the_process_has_a_group_of_its_own(host, st, gateway):
    host.say('pid')
    up = st.entries('up')[-1]
    assert up['pgid'] != os.getpgid(gateway.pid)


# ---- the gate -------------------------------------------------------------------------------------

@pytest.mark.parametrize('stdio, command', [(None, 'python3'), ({'enabled': False}, 'python3'), (ON, 'bash'), (ON, '/tmp/npx'),
                                            (ON, 'npx ;id'), (ON, '../python3'), (ON, './python3'), (ON, '/usr/bin/python3'),
                                            ({**ON, 'allowed_commands': ['node']}, 'python3')])
def test_a_command_beyond_the_gate_is_refused_and_nothing_runs(st, stdio, command):
    from lib.gateway import Gateway
    from lib.procs import ProcessDied
    config = {'mcp_servers': {'st': {**st.config(), 'command': command}}}
    if stdio is not None:
        config['stdio'] = stdio
    with pytest.raises(ProcessDied) as refused:
        Gateway(config).stop()
    assert 'stdio' in str(refused.value) or 'command' in str(refused.value)
    assert not st.entries()


def test_arguments_reach_no_shell(gateways, hosts, st, tmp_path):
    config = st.config()
    config['args'] = [*config['args'], '$(touch %s/pwned); `id`' % tmp_path, '; touch %s/pwned' % tmp_path]
    host = hosts(gateways({'st': config}, stdio=ON).server_url('st')).open()
    assert host.say('pid') and not (tmp_path / 'pwned').exists()


# ---- the end of a process --------------------------------------------------------------------------

def test_sigterm_ends_the_children_by_closing_their_input_first(gateway, host, st):
    pid = int(host.say('pid'))
    assert gateway.stop() == 0
    assert st.entries('end of input') and not st.entries('ignored TERM')
    assert not alive(pid)


def test_a_child_that_ignores_everything_is_killed_at_last(gateways, hosts, stdio_fakes):
    st = stdio_fakes('st', ignore_term=True, ignore_eof=True)
    gateway = gateways({'st': st.config()}, stdio=ON)
    pid = int(hosts(gateway.server_url('st')).open().say('pid'))
    gateway.stop()
    assert [e['kind'] for e in st.entries() if e['kind'] in ('end of input', 'ignored TERM')] == ['end of input', 'ignored TERM']
    assert not alive(pid)


def test_grandchildren_end_with_the_child(gateway, host):
    child, grandchild = int(host.say('pid')), int(host.say('fork'))
    assert alive(grandchild)
    gateway.stop()
    wait_until(lambda: not alive(grandchild), what='the grandchild to end')
    assert not alive(child)


@pytest.mark.parametrize('how', ['stopped', 'killed'])
def test_a_grandchild_in_a_session_of_its_own_does_not_outlive_the_gateway(gateway, host, how):
    grandchild = int(host.say('fork', {'apart': True}))
    assert os.getsid(grandchild) == grandchild
    if how == 'killed':
        gateway.killed = True
        os.kill(gateway.pid, signal.SIGKILL)
    else:
        gateway.stop()
    wait_until(lambda: not alive(grandchild), what='the grandchild to end')


@pytest.mark.parametrize('stubborn', [False, True])
def test_no_orphan_stays_when_the_gateway_is_killed(gateways, hosts, stdio_fakes, stubborn):
    st = stdio_fakes('st', ignore_term=stubborn, ignore_eof=stubborn)
    gateway = gateways({'st': st.config()}, stdio=ON)
    host = hosts(gateway.server_url('st')).open()
    child, grandchild = int(host.say('pid')), int(host.say('fork'))
    gateway.killed = True
    os.kill(gateway.pid, signal.SIGKILL)
    wait_until(lambda: not alive(child) and not alive(grandchild), what='child and grandchild to end')


def test_no_zombie_is_left_by_a_child_that_died(gateway, host, st):
    host.call('crash').final()
    wait_until(lambda: '"result"' in host.call('pid').final(), what='a new process')
    wait_until(lambda: not zombies(gateway.pid), what='zombies to be reaped')


def zombies(parent):
    out = subprocess.run(['ps', '--ppid', str(parent), '-o', 'stat='], capture_output=True, text=True).stdout
    return [s for s in out.split() if s.startswith('Z')]


def test_one_stdio_server_that_hangs_stops_no_other(gateways, fakes, hosts, stdio_fakes):
    hung, good = stdio_fakes('hung', faults={'initialize': 'silent'}), fakes('good', tool_names=['one'])
    gateway = gateways({'hung': hung.config(), 'good': http(good)}, stdio=ON, timeouts={'initialize': '1s'})
    host = hosts(gateway.mcp_url).open()
    assert host.say('good-one') == 'one of good'
    message_error(host.call('hung-x'))


def test_the_script_runs_by_itself():
    """The fake is sound on its own: a whole conversation over pipes."""
    talk = ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
            '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exact"}}',
            '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"t"}}}']
    done = subprocess.run(['python3', SERVER, '/dev/null', '{"name":"st"}'], input='\n'.join(talk) + '\n', text=True,
                          capture_output=True, timeout=20)
    lines = done.stdout.splitlines()
    assert any(line == '{"jsonrpc":"2.0","id":2,"result":%s}' % tools.EXACT for line in lines)


test_the_script_runs_by_itself = pytest.mark.direct(test_the_script_runs_by_itself)


def test_an_answer_that_is_too_large_ends_its_own_call_alone(gateways, hosts, st):
    gateway = gateways({'st': st.config(max_message='1MiB')}, stdio=ON)
    one, other = (hosts(gateway.server_url('st')).open() for _ in range(2))
    other.start_call('slow', id=77)
    st.wait('started')
    error = message_error(one.call('big', {'mib': 3}))
    assert 'max_message' in error['message'], error
    assert other.cancel(77).status == 202
    st.wait('cancelled')        # it had not ended with the other one
    assert one.say('whoami') and len(st.pids()) == 1, 'the process lives'
