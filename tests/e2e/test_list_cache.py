"""catalog.cache_ttl: pages of upstreams' lists that are kept, for whom, and until when (docs/decisions/016)."""
import json

import pytest

from kit import http, key, message_error, while_the_list_is_held

from lib.procs import wait_until

SALT = ['a salt of the tests']
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
TENANT = 'X-Tenant'


def listed(up, rpc='tools/list'):
    return len(up.seen(rpc=rpc))


def page(host, cursor=None, method='tools/list', **more):
    return host.ask(method, {**({} if cursor is None else {'cursor': cursor}), **more})


def read(answer):
    """Its result; an answer's bytes are there once."""
    if not hasattr(answer, 'read'):
        answer.read = json.loads(answer.result())
    return answer.read


def names(answer):
    return [t['name'] for t in read(answer)['tools']]


def cursor_of(answer):
    return read(answer)['nextCursor']


@pytest.fixture
def up(fakes):
    return fakes('up', tool_names=['t%d' % i for i in range(5)], prompts=['p'], page_size=2, capabilities={
        'tools': {'listChanged': True}, 'prompts': {}})


@pytest.fixture
def gateway(gateways, up):
    return gateways({'up': http(up)}, catalog={'cache_ttl': '10m'}, salt_keys=SALT)


@pytest.mark.parametrize('servers, hits', [({}, 2), ({'cache_ttl': '10m'}, 1), ({'cache_ttl': '0s'}, 2)])
def test_off_by_default_and_set_per_server(gateways, fakes, hosts, servers, hits):
    up = fakes('up', tool_names=['t0'])
    gateway = gateways({'up': http(up, **servers)}, salt_keys=SALT)
    for _ in range(2):
        assert hosts(gateway.server_url('up')).open().tools() == ['t0']
    assert listed(up) == hits


def test_a_server_may_differ_from_the_rest(gateways, fakes, hosts):
    a, b = fakes('a', tool_names=['x']), fakes('b', tool_names=['x'])
    gateway = gateways({'a': http(a), 'b': http(b, cache_ttl='0s')}, catalog={'cache_ttl': '10m'}, salt_keys=SALT)
    for _ in range(3):
        assert hosts(gateway.mcp_url).open().tools() == ['a-x', 'b-x']
    assert (listed(a), listed(b)) == (1, 3)


@pytest.mark.parametrize('scope', ['one', 'all'])
def test_every_page_is_asked_for_once(gateway, up, hosts, scope):
    url = gateway.server_url('up') if scope == 'one' else gateway.mcp_url
    before = '' if scope == 'one' else 'up-'
    for _ in range(3):
        host = hosts(url).open()
        first = page(host)
        second = page(host, cursor_of(first))
        third = page(host, cursor_of(second))
        assert names(first) + names(second) + names(third) == [before + 't%d' % i for i in range(5)]
    assert listed(up) == 3
    assert gateway.metrics()['sluice_list_cache_total{result="hit",server="up"}'] == 6


def test_a_kept_page_is_the_upstreams_bytes(fakes, gateways, hosts):
    tool = {'name': 'x', 'inputSchema': {'type': 'object'}, 'zzz': 9007199254740993, '_meta': {'k': [1, None]}}
    up = fakes('up', tool_names=[], extra_tools=[tool])
    gateway = gateways({'up': http(up)}, catalog={'cache_ttl': '10m'}, salt_keys=SALT)
    first, second = (page(hosts(gateway.server_url('up')).open()).result() for _ in range(2))
    assert first == second and '9007199254740993' in first and listed(up) == 1


def test_lists_of_different_kinds_are_different_pages(gateway, up, hosts):
    host = hosts(gateway.server_url('up')).open()
    for _ in range(2):
        page(host).result()
        assert '"p"' in page(host, method='prompts/list').result()
    assert listed(up) == 1 and listed(up, 'prompts/list') == 1


def test_two_whom_the_upstream_tells_apart_never_share(fakes, gateways, hosts):
    up = fakes('up')
    up.tools_of = lambda record: ['of-%s' % (record.header(TENANT) or 'nobody')]
    gateway = gateways({'up': http(up, extra_headers=[TENANT])}, catalog={'cache_ttl': '10m'}, salt_keys=SALT)
    for _ in range(2):
        for tenant in ('red', 'blue', None):
            host = hosts(gateway.server_url('up'), headers=[(TENANT, tenant)] if tenant else []).open()
            assert host.tools() == ['of-%s' % (tenant or 'nobody')]
    assert listed(up) == 3


def test_two_whom_it_takes_for_one_share_and_see_what_each_may(fakes, gateways, hosts):
    up = fakes('up', tool_names=['t0', 't1', 't2', 't3'], page_size=2)
    gateway = gateways({'up': http(up)}, catalog={'cache_ttl': '10m'}, salt_keys=SALT,
                       keys=[key('some', 'secret-1', tools=['up/t1', 'up/t3']), key('all', 'secret-2')])
    some, every = (hosts(gateway.mcp_url, headers=[('x-sluice-api-key', s)]).open() for s in ('secret-1', 'secret-2'))
    for _ in range(2):
        for host, want in ((every, ['up-t0', 'up-t1', 'up-t2', 'up-t3']), (some, ['up-t1', 'up-t3'])):
            first = page(host)
            assert names(first) + names(page(host, cursor_of(first))) == want
    assert listed(up) == 2


def test_another_revision_is_another_caller_to_the_upstream(gateway, up, hosts):
    for _ in range(2):
        for revision in ('2025-03-26', '2025-06-18'):
            page(hosts(gateway.server_url('up'), revision=revision).open()).result()
    assert listed(up) == 2


def test_what_else_the_host_sends_goes_to_the_upstream(gateway, up, hosts):
    host = hosts(gateway.server_url('up')).open()
    for _ in range(2):
        page(host, filter='mine').result()
        page(host, _meta={'vendor/x': 1}).result()
    assert listed(up) == 4
    page(host, _meta={'progressToken': 7}).result()
    page(host, _meta={'progressToken': 8}).result()
    assert listed(up) == 5


def test_list_changed_ends_every_kept_page_of_that_server(gateway, up, hosts):
    host, other = (hosts(gateway.server_url('up')).open() for _ in range(2))
    assert names(page(host)) == ['t0', 't1'] == names(page(other))
    host.listen()
    up.wait(lambda: up.listeners)
    up.tools[0]['name'] = 'renamed'
    assert names(page(other)) == ['t0', 't1'] and listed(up) == 1
    up.push(CHANGED)
    wait_until(lambda: names(page(other)) == ['renamed', 't1'], 5, 'the new list')
    assert names(page(host)) == ['renamed', 't1'] and listed(up) == 2


def test_the_life_of_a_page_ends(gateways, up, hosts):
    gateway = gateways({'up': http(up)}, catalog={'cache_ttl': '300ms'}, salt_keys=SALT)
    host = hosts(gateway.server_url('up')).open()
    page(host).result()
    wait_until(lambda: page(host).result() and listed(up) >= 2, 5, 'the page to run out')


def test_many_at_once_make_one_request(gateway, up, hosts):
    url = gateway.server_url('up')
    callers = [hosts(url).open() for _ in range(6)]
    got = while_the_list_is_held(
        gateway, up, callers, lambda h: page(h).final(), lambda: up.wait_seen(rpc='tools/list'))
    assert len(got) == 6 and all('"t0"' in text for text in got), got
    assert listed(up) == 1


@pytest.mark.parametrize('fault', ['500', '401'])
def test_a_failure_is_never_kept(gateway, up, hosts, fault):
    host = hosts(gateway.server_url('up')).open()
    up.faults['tools/list'] = fault
    for _ in range(2):
        assert '"error"' in page(host).final()
    assert listed(up) >= 2
    up.faults.clear()
    assert names(page(host)) == ['t0', 't1']


def test_a_kept_first_page_does_not_keep_a_list_from_going_on(gateway, up, hosts):
    """Its revision is older than that of the page that follows: list again, and that works at once."""
    host = hosts(gateway.server_url('up')).open()
    up.list_revision = 1
    cursor = cursor_of(page(host))
    up.list_revision = 2
    message_error(page(host, cursor), code=-32602)
    assert names(page(host, cursor_of(page(host)))) == ['t2', 't3']


def test_a_cursor_that_the_upstream_no_longer_takes_frees_the_page_it_stood_on(gateway, up, hosts):
    host = hosts(gateway.server_url('up')).open()
    cursor = cursor_of(page(host))
    up.faults['tools/list'] = 'refused'
    assert '"error"' in page(host, cursor).final()
    up.faults.clear()
    before = listed(up)
    assert names(page(host, cursor_of(page(host)))) == ['t2', 't3'] and listed(up) == before + 2
