"""validate_output: what becomes of results that are not what the tool's outputSchema says (docs/decisions/015)."""
import json

import pytest

from fake import tools
from kit import http, message_error, while_the_list_is_held

from lib.procs import wait_until

FITS = {'type': 'object', 'required': ['big'], 'properties': {'big': {'const': 9007199254740993}}}
WRONG = {'type': 'object', 'properties': {'big': {'type': 'string'}}}


def with_schema(fakes, schema, tool='exact', **more):
    tool = {'name': tool, 'inputSchema': {'type': 'object'}, 'outputSchema': schema}
    return fakes('up', tool_names=['t%d' % i for i in range(5)], extra_tools=[tool], **more)


@pytest.fixture
def opened(gateways, hosts):
    def make(up, how, endpoint='up', **more):
        gateway = gateways({'up': http(up, validate_output=how, **more)}, salt_keys=['a salt of the tests'])
        return gateway, hosts(gateway.server_url('up') if endpoint == 'up' else gateway.mcp_url).open()
    return make


def counted(gateway, result):
    return gateway.metrics().get('sluice_output_checks_total{result="%s",server="up"}' % result, 0)


@pytest.mark.parametrize('how', ['off', 'warn', 'enforce'])
def test_a_result_that_fits_is_the_upstreams_bytes(fakes, opened, how):
    gateway, host = opened(with_schema(fakes, FITS), how)
    assert host.call('exact').result() == tools.EXACT
    if how == 'off':
        assert counted(gateway, 'ok') == 0
    else:
        wait_until(lambda: counted(gateway, 'ok') == 1, 5, 'the check to be counted')


def test_off_never_asks_for_a_schema(fakes, opened):
    up = with_schema(fakes, WRONG)
    _, host = opened(up, 'off')
    assert host.call('exact').result() == tools.EXACT and not up.seen(rpc='tools/list')


@pytest.mark.parametrize('how, more', [('enforce', {'skip_output_validation': True}), ('enforce', {})])
def test_the_older_word_for_off_is_heard(fakes, opened, how, more):
    _, host = opened(with_schema(fakes, WRONG), how, **more)
    assert ('"result"' in host.call('exact').final()) is bool(more)


def test_warn_lets_the_bytes_through_and_says_so(fakes, opened):
    gateway, host = opened(with_schema(fakes, WRONG), 'warn')
    assert host.call('exact').result() == tools.EXACT
    wait_until(lambda: counted(gateway, 'violation') == 1, 5, 'the breach to be counted')
    line = wait_until(lambda: next((x for x in gateway.log.splitlines() if '"output"' in x), None), 5, 'a line in the log')
    said = json.loads(line)
    assert (said['server'], said['tool'], said['keyword'], said['path']) == ('up', 'exact', 'type', '/big'), line
    assert '9007199254740993' not in line


@pytest.mark.parametrize('endpoint', ['up', 'all'])
def test_enforce_names_the_server_and_the_path_and_no_value(fakes, opened, endpoint):
    gateway, host = opened(with_schema(fakes, WRONG), 'enforce', endpoint)
    answer = host.call('exact' if endpoint == 'up' else 'up-exact')
    final = answer.final()
    error = json.loads(final)['error']
    assert error['code'] == -32603 and "'up'" in error['message'] and "'/big'" in error['message'], error
    assert error['data']['server'] == 'up' and error['data']['path'] == '/big' and error['data']['reason'] == 'output_schema'
    assert '9007199254740993' not in final and 'isError' not in final
    assert counted(gateway, 'violation') == 1


def test_a_result_without_the_content_it_promised_is_a_breach_unless_it_is_an_error(fakes, opened):
    up = with_schema(fakes, FITS, 'echo')
    up.tools.append({'name': 'iserror', 'inputSchema': {'type': 'object'}, 'outputSchema': FITS})
    _, host = opened(up, 'enforce')
    assert 'structuredContent is missing' in message_error(host.call('echo'), code=-32603)['message']
    assert '"isError":true' in host.call('iserror').result()
    assert host.say('t1') == 't1 of up'         # no schema, nothing to fit


@pytest.mark.parametrize('schema', [
    {'$ref': 'http://127.0.0.1:%d/schema.json'}, {'properties': {'big': {'$anchor': 'x', 'type': 'string'}}},
    {'properties': {'big': {'pattern': '(a+)+$', 'type': 'string'}}}, {'$ref': '#'}, {'$schema': 'urn:x'}, [], 'text', {'type': 3}])
def test_what_cannot_be_checked_passes_and_is_counted(fakes, opened, schema):
    elsewhere = fakes('elsewhere')
    if isinstance(schema, dict) and '%d' in str(schema.get('$ref')):
        schema = {'$ref': schema['$ref'] % elsewhere.port}
    gateway, host = opened(with_schema(fakes, schema), 'enforce')
    assert host.call('exact').result() == tools.EXACT
    assert counted(gateway, 'unchecked') == 1
    assert not elsewhere.records and not elsewhere.event_list('connected'), 'a reference was followed'


def test_an_unknown_list_is_paged_once_and_remembered(fakes, opened):
    up = with_schema(fakes, WRONG, page_size=2)
    _, host = opened(up, 'enforce')
    for _ in range(3):
        message_error(host.call('exact'), code=-32603)
    assert len(up.seen(rpc='tools/list')) == 3


def test_the_hosts_own_listing_teaches_the_schema(fakes, opened):
    up = with_schema(fakes, WRONG)
    _, host = opened(up, 'enforce')
    host.tools()
    message_error(host.call('exact'), code=-32603)
    assert len(up.seen(rpc='tools/list')) == 1


def test_an_endless_list_ends_and_the_result_passes(fakes, gateways, hosts):
    up = fakes('up', tool_names=['exact'], page_size=0)
    up.cursors = 'endless'
    gateway = gateways({'up': http(up, validate_output='enforce')}, catalog={'max_pages': 7}, salt_keys=['a salt of the tests'])
    assert hosts(gateway.server_url('up')).open().call('exact').result() == tools.EXACT
    assert len(up.seen(rpc='tools/list')) == 7 and counted(gateway, 'unchecked') == 1


def test_a_server_that_cannot_be_listed_still_answers_calls(fakes, opened):
    up = with_schema(fakes, WRONG, faults={'tools/list': '500'})
    gateway, host = opened(up, 'enforce')
    assert host.call('exact').result() == tools.EXACT
    assert counted(gateway, 'unchecked') == 1


def test_a_changed_list_is_read_again(fakes, opened):
    up = with_schema(fakes, WRONG, capabilities={'tools': {'listChanged': True}})
    _, host = opened(up, 'enforce')
    stream = host.listen()
    message_error(host.call('exact'), code=-32603)
    up.tools[-1]['outputSchema'] = FITS
    up.wait(lambda: up.listeners)
    up.push('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    wait_until(lambda: '"result"' in host.call('exact').final(), 5, 'the new schema')
    assert stream is not None


@pytest.mark.parametrize('how', ['enforce', 'warn'])
def test_first_calls_at_once_read_the_list_once(fakes, opened, hosts, how):
    up = with_schema(fakes, FITS)
    gateway, first = opened(up, how)
    callers = [first] + [hosts(gateway.server_url('up')).open() for _ in range(5)]
    got = while_the_list_is_held(
        gateway, up, callers, lambda h: h.call('exact').final(),
        lambda: up.wait(lambda: len(up.seen(rpc='tools/call')) == 6 and up.seen(rpc='tools/list')))
    assert len(got) == 6 and all('"result"' in text for text in got), got
    wait_until(lambda: counted(gateway, 'ok') == 6, 5, 'all to be checked')
    assert len(up.seen(rpc='tools/list')) == 1
