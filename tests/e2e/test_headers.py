"""What goes up in headers, and what never does."""
import base64

import pytest

from kit import R2, R3, R4, http, key, sse

SECRETS = {'Authorization': 'Bearer CANARY-host-token', 'Cookie': 'sid=CANARY-cookie',
           'Proxy-Authorization': 'Basic CANARY-proxy', 'x-sluice-api-key': 'CANARY-gateway-key',
           'x-litellm-api-key': 'CANARY-litellm-key', 'X-Forwarded-For': '10.9.8.7', 'X-Anything': 'CANARY-any',
           'x-mcp-servers': 'up', 'Mcp-Session-Id-Extra': 'CANARY'}


def everything_sent(fake):
    return b''.join(r.head for r in fake.records)


def test_nothing_of_the_hosts_own_goes_up(fakes, gateways, hosts):
    up = fakes('up')
    sent = {k: v for k, v in SECRETS.items() if not k.startswith('x-')}
    host = hosts(gateways({'up': http(up)}).server_url('up'), headers=sent.items()).open()
    host.call('echo').result(), host.ask('tools/list').result(), host.end()
    up.wait_event('deleted')
    whole = everything_sent(up)
    assert b'CANARY' not in whole and b'10.9.8.7' not in whole
    assert b'raw-host' not in whole
    for record in up.records:
        assert record.session != host.session


def test_the_gateway_key_goes_to_nobody(fakes, gateways, hosts):
    up = fakes('up')
    gateway = gateways({'up': http(up, extra_headers=['x-fine'])}, keys=[key('k', 'CANARY-key')])
    for header, value in (('x-sluice-api-key', 'CANARY-key'), ('x-litellm-api-key', 'Bearer CANARY-key'),
                          ('Authorization', 'Bearer CANARY-key')):
        hosts(gateway.server_url('up'), headers=[(header, value), ('X-Fine', 'yes')]).open().call('echo').result()
    assert b'CANARY' not in everything_sent(up)
    assert up.seen(tool='echo')[-1].header('x-fine') == 'yes'


def test_extra_headers_go_up_and_static_ones_win(fakes, gateways, hosts):
    up = fakes('up')
    server = http(up, extra_headers=['X-Tenant', 'x-both', 'X-Absent'], static_headers={'X-Both': 'static', 'X-Fix': '1'})
    host = hosts(gateways({'up': server}).server_url('up'),
                 headers=[('X-Tenant', 'blue'), ('X-Both', 'host'), ('X-Other', 'no')]).open()
    host.call('echo').result()
    record = up.seen(tool='echo')[-1]
    assert record.header_all('x-tenant') == ['blue'] and record.header_all('x-both') == ['static']
    assert record.header_all('x-fix') == ['1']
    assert not record.header_all('x-other') and not record.header_all('x-absent')


def test_all_lines_of_a_forwarded_header_go_up_in_their_order(fakes, gateways, hosts):
    up = fakes('up')
    host = hosts(gateways({'up': http(up, extra_headers=['x-tags', 'x-one'], static_headers={'X-Fix': '1'})}).server_url('up'),
                 headers=[('X-Tags', 'a, b'), ('X-One', 'only'), ('x-TAGS', 'c'), ('X-Tags', 'd'), ('X-Fix', '2')]).open()
    host.call('echo').result()
    record = up.seen(tool='echo')[-1]
    assert record.header_all('x-tags') == ['a, b, c, d'] and record.header_all('x-one') == ['only']
    assert record.header_all('x-fix') == ['1']


def test_forwarded_headers_are_those_of_the_request_itself(fakes, gateways, hosts):
    up = fakes('up')
    host = hosts(gateways({'up': http(up, extra_headers=['x-tenant'])}).server_url('up')).open()
    for tenant in ('a', 'b'):
        host.call('echo', replace=[('X-Tenant', tenant)]).result()
        assert up.seen(tool='echo')[-1].header('x-tenant') == tenant


def test_a_header_value_from_the_environment(fakes, gateways, hosts):
    up = fakes('up')
    servers = {'up': http(up, static_headers={'X-A': 'v-${SLUICE_TEST_A}', 'X-B': 'os.environ/SLUICE_TEST_B'})}
    gateway = gateways(servers, env={'SLUICE_TEST_A': 'CANARY1', 'SLUICE_TEST_B': 'CANARY2'})
    hosts(gateway.server_url('up')).open().call('echo').result()
    record = up.seen(tool='echo')[-1]
    assert (record.header('x-a'), record.header('x-b')) == ('v-CANARY1', 'CANARY2')
    assert 'CANARY' not in gateway.log


@pytest.mark.parametrize('kind, name, value', [
    ('bearer_token', 'authorization', 'Bearer s3cret'), ('api_key', 'x-api-key', 's3cret'),
    ('authorization', 'authorization', 's3cret'), ('token', 'authorization', 'token s3cret'),
    ('basic', 'authorization', 'Basic ' + base64.b64encode(b'user:s3cret').decode())])
@pytest.mark.parametrize('make', [http, sse])
def test_a_configured_credential_goes_up_in_its_form(fakes, sse_fakes, gateways, hosts, kind, name, value, make):
    up = (fakes if make is http else sse_fakes)('up')
    auth = 'user:s3cret' if kind == 'basic' else 's3cret'
    gateway = gateways({'up': make(up, auth_type=kind, auth_value=auth)})
    hosts(gateway.server_url('up'), headers=[('Authorization', 'Bearer host')]).open().call('echo').result()
    for record in up.records:
        assert record.header_all(name) == [value], record.rpc
    assert 's3cret' not in gateway.log


@pytest.mark.parametrize('revision', [R2, R3, R4])
def test_the_version_header_goes_up_after_initialize(fakes, gateways, hosts, revision):
    up = fakes('up', revision=revision)
    hosts(gateways({'up': http(up)}).server_url('up')).open().call('echo').result()
    record = up.seen(tool='echo')[-1]
    assert record.header_all('mcp-protocol-version') == [revision]
    assert record.header_all('mcp-session-id') == [record.session] and record.session
    assert {'application/json', 'text/event-stream'} <= {p.strip() for p in record.header('accept').split(',')}
    assert record.header('content-type') == 'application/json'


def test_an_upstreams_own_headers_do_not_come_down(fakes, gateways, hosts):
    up = fakes('up', answer_headers=[('X-Upstream', 'CANARY'), ('Set-Cookie', 'CANARY=1'), ('Server', 'CANARY')])
    host = hosts(gateways({'up': http(up)}).server_url('up')).open()
    for answer in (host.call('echo'), host.call('progress', token='1'), host.ask('tools/list')):
        assert 'CANARY' not in str(answer.headers)
        answer.messages()


def test_a_redirect_to_another_origin_is_not_followed(fakes, gateways, hosts):
    up, evil = fakes('up', faults={'tools/call': 'redirect'}), fakes('evil')
    up.redirect_to = evil.url + '?CANARY'
    host = hosts(gateways({'up': http(up, auth_type='bearer_token', auth_value='s3cret')}).server_url('up')).open()
    answer = host.call('echo')
    assert 'CANARY' not in str(answer.error())
    assert not evil.records and not evil.event_list('connected')


def test_an_sse_endpoint_of_another_origin_is_refused(fakes, sse_fakes, gateways, hosts):
    evil = fakes('evil')
    up = sse_fakes('up', endpoint=evil.url + '?s={s}')
    host = hosts(gateways({'up': sse(up, auth_type='bearer_token', auth_value='s3cret')}).mcp_url).open()
    assert host.call('up-echo').error()
    assert not evil.event_list('connected')


@pytest.mark.parametrize('make', [http, sse])
def test_what_is_sent_for_the_session_goes_with_the_newest_headers(fakes, sse_fakes, gateways, hosts, make):
    up = (fakes if make is http else sse_fakes)('up')
    host = hosts(gateways({'up': make(up, extra_headers=['x-tenant'])}).server_url('up')).open()
    host.call('echo', replace=[('X-Tenant', 'old')]).result()
    slow = host.start_call('slow', id='7', replace=[('X-Tenant', 'new')])
    up.wait_event('started')
    assert up.seen(tool='slow')[-1].header('x-tenant') == 'new'
    host.cancel('7')
    assert slow.answer().messages() == []
    assert up.wait_seen(rpc='notifications/cancelled')[-1].header('x-tenant') == 'new'
    if make is http:
        host.end()
        mine = up.seen(tool='slow')[-1].session
        ends = up.wait(lambda: [r for r in up.seen(method='DELETE') if r.session == mine])
        assert [r.header('x-tenant') for r in ends] == ['new']


def test_a_renewed_session_is_opened_with_the_newest_headers(fakes, gateways, hosts):
    up = fakes('up', capabilities={'tools': {}, 'logging': {}})
    host = hosts(gateways({'up': http(up, extra_headers=['x-tenant'])}).server_url('up')).open()
    host.call('echo', replace=[('X-Tenant', 'old')]).result()
    host.ask('logging/setLevel', {'level': 'error'}, replace=[('X-Tenant', 'old')]).result()
    up.expire_sessions()
    host.call('echo', replace=[('X-Tenant', 'new')]).result()
    assert up.seen(rpc='initialize')[-1].header('x-tenant') == 'new'
    assert up.seen(rpc='notifications/initialized')[-1].header('x-tenant') == 'new'
    levels = up.wait_seen(rpc='logging/setLevel', count=2)
    assert levels[-1].header('x-tenant') == 'new' and levels[-1].raw('params', 'level') == '"error"'
    assert levels[-1].session != levels[0].session
