"""Kept pages of lists on several replicas: one answer for all, until any of them hears of a change (issue 3: C)."""
import json

import pytest

from kit import http

from lib.procs import wait_until

CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
TENANT = 'X-Tenant'


def listed(up):
    return len(up.seen(rpc='tools/list'))


def names(host, cursor=None):
    result = json.loads(host.ask('tools/list', {} if cursor is None else {'cursor': cursor}).result())
    return [t['name'] for t in result['tools']], result.get('nextCursor')


@pytest.fixture
def up(fakes):
    return fakes('up', tool_names=['t0', 't1', 't2'], page_size=2, capabilities={'tools': {'listChanged': True}})


@pytest.fixture
def pair(up, clusters):
    return clusters({'up': http(up, extra_headers=[TENANT])}, count=2, balanced=False, catalog={'cache_ttl': '10m'})


def test_a_page_one_replica_kept_is_served_by_the_other(up, pair, hosts):
    for replica in (*pair, *pair):
        host = hosts(replica.url('up')).open()
        first, cursor = names(host)
        assert first + names(host, cursor)[0] == ['t0', 't1', 't2']
    assert listed(up) == 2
    assert pair[1].metric('sluice_list_cache_total', result='hit') == 4


def test_two_whom_the_upstream_tells_apart_share_on_no_replica(up, pair, hosts):
    up.tools_of = lambda record: ['of-%s' % (record.header(TENANT) or 'nobody')]
    for replica in (*pair, *pair):
        for tenant in ('red', 'blue'):
            assert names(hosts(replica.url('up'), headers=[(TENANT, tenant)]).open())[0] == ['of-' + tenant]
    assert listed(up) == 2


def test_a_change_heard_by_one_ends_what_the_other_would_serve(up, pair, hosts):
    here, there = (hosts(r.url('up')).open() for r in pair)
    assert names(here)[0] == names(there)[0] == ['t0', 't1'] and listed(up) == 1
    here.listen()
    up.wait(lambda: up.listeners)
    up.tools[0]['name'] = 'renamed'
    up.push(CHANGED)
    wait_until(lambda: names(there)[0] == ['renamed', 't1'], 5, 'the other replica to serve the new list')
    assert names(here)[0] == ['renamed', 't1'] and listed(up) == 2


def test_without_redis_a_list_is_the_upstreams_own(up, pair, hosts):
    up.page_size = 10
    host = hosts(pair[0].url('up'), timeout=15).open()
    assert names(host)[0] == ['t0', 't1', 't2']
    pair.redis.stop()
    up.tools[0]['name'] = 'renamed'
    assert names(host)[0] == ['renamed', 't1', 't2'] and listed(up) == 2
    pair.redis.start()


def test_another_configuration_serves_no_page_of_the_one_before(up, pair, hosts):
    """What a reload changes is in the key: the same replica with another registry asks anew."""
    assert names(hosts(pair[0].url('up')).open())[0] == ['t0', 't1']
    pair[0].stop()
    pair[0].start(mcp_servers={'up': http(up, extra_headers=[TENANT], disallowed_tools=['t1'])})
    assert names(hosts(pair[0].url('up')).open())[0] == ['t0'] and listed(up) == 2


def test_another_credential_of_the_configuration_is_another_caller(up, pair, hosts):
    assert names(hosts(pair[0].url('up')).open())[0] == ['t0', 't1']
    pair[0].stop()
    pair[0].start(mcp_servers={'up': http(up, extra_headers=[TENANT], auth_type='bearer_token', auth_value='another')})
    assert names(hosts(pair[0].url('up')).open())[0] == ['t0', 't1'] and listed(up) == 2
