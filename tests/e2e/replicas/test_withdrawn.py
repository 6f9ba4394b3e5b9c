"""What is taken away between two pages is not on the second (statements 4, 5, 23 and 24): the same store and salt, and a replica
that was given another configuration."""
import json

import pytest

from kit import http, key, message_error, page


def the_key(**more):
    return [key('k', 'secret', **more)]


@pytest.mark.parametrize('statement, servers, keys, left', [
    (4, {}, the_key(servers=['other']), None),                                 # the whole server
    (5, {'disallowed_tools': ['t3']}, the_key(), ['t2']),                      # a tool
    (23, {'alias': 'upper'}, the_key(), ['t2', 't3']),                         # the registry
    (24, {}, the_key(tools=['up/t0', 'up/t1', 'up/t2']), ['t2'])])             # the caller's scope
def test_a_cursor_from_before_is_refused_and_a_fresh_list_has_only_what_is_left(fakes, clusters, hosts, statement, servers, keys, left):
    up, other = fakes('up', tool_names=['t0', 't1', 't2', 't3'], page_size=2), fakes('other', tool_names=['x'])
    cluster = clusters({'up': http(up), 'other': http(other)}, count=1, balanced=False, keys=the_key())
    url = cluster[0].url('up')

    def host():
        return hosts(url, headers=[('x-sluice-api-key', 'secret')])
    cursor = json.loads(page(host().open()).result())['nextCursor']
    before = len(up.seen(rpc='tools/list'))
    cluster[0].stop()
    cluster[0].start(mcp_servers={'up': http(up, **servers), 'other': http(other)}, keys=keys)
    if left is None:
        assert host().initialize().status in (403, 404)
        assert len(up.seen(rpc='tools/list')) == before
        return
    now = host().open()
    error = message_error(page(now, cursor=cursor), code=-32602)
    assert error['data']['reason'] == 'changed' and 'list again' in error['message']
    assert len(up.seen(rpc='tools/list')) == before
    second = page(now, cursor=json.loads(page(now).result())['nextCursor'])
    assert [t['name'] for t in json.loads(second.result())['tools']] == left
