"""An upstream that shows each credential its own tools: one host's list never routes another's name."""
import pytest

from kit import http

TENANT = 'X-Tenant'


@pytest.fixture
def two(fakes, gateways, hosts):
    """(upstream, host of a tenant): an upstream that lists by the forwarded header, beside a plain one."""
    up = fakes('up')
    up.tools_of = lambda record: ['common', 'of-%s' % (record.header(TENANT) or 'nobody')]
    gateway = gateways({'up': http(up, extra_headers=[TENANT]), 'other': http(fakes('other', tool_names=['plain']))})

    def host(tenant=None):
        return hosts(gateway.mcp_url, headers=[(TENANT, tenant)] if tenant else []).open()
    return up, host


def test_each_sees_its_own_list(two):
    _, host = two
    for tenant in ('red', 'blue', 'red'):
        assert host(tenant).tools() == ['up-common', 'up-of-' + tenant, 'other-plain']
    assert host().tools() == ['up-common', 'up-of-nobody', 'other-plain']


def test_a_bare_name_routes_for_those_who_see_it(two):
    up, host = two
    red, blue = host('red'), host('blue')
    red.tools()
    assert red.say('of-red') == 'of-red of up'
    assert blue.call('of-red').error()['code'] == -32602
    assert blue.say('of-blue') == 'of-blue of up'
    assert [r.header(TENANT) for r in up.seen(tool='of-red')] == ['red'], 'a refused name reached the upstream'


def test_another_order_changes_nothing(two):
    _, host = two
    red, blue = host('red'), host('blue')
    blue.tools()
    assert red.say('of-red') == 'of-red of up'
    assert red.call('of-blue').error()['code'] == -32602
    assert host().call('of-red').error()['code'] == -32602


def test_what_a_server_offers_is_known_per_credential(fakes, gateways, hosts):
    """Prompts for one tenant only: the other's host is not told of them, and the first's is."""
    up = fakes('up', prompts=['greet'])
    caps = {'red': {'tools': {}, 'prompts': {}}, 'blue': {'tools': {}}}
    answered = up.initialize

    async def initialize(call):
        up.capabilities = caps.get(call.record.header(TENANT), {'tools': {}})
        await answered(call)
    up.initialize = initialize
    gateway = gateways({'up': http(up, extra_headers=[TENANT]), 'other': http(fakes('other', tool_names=['plain']))})
    red = hosts(gateway.mcp_url, headers=[(TENANT, 'red')]).open()
    blue = hosts(gateway.mcp_url, headers=[(TENANT, 'blue')]).open()
    assert 'prompts' in red.server['capabilities'] and 'prompts' not in blue.server['capabilities']
    assert '"up-greet"' in red.ask('prompts/list').result()
    assert blue.ask('prompts/list').error()['code'] == -32601
