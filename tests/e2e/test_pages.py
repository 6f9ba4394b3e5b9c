"""Lists of several pages: the upstreams' boundaries, sealed cursors, and what makes one worthless.

"Statement n" is line n of what cursors promise. Others are in replicas/test_cursors.py (7, 21, 22), replicas/test_withdrawn.py
(4, 5, 23, 24), test_names.py (30, 31) and tests/unit/gateway/pager_test.cpp (8 to 10, 19, 20, 23, 24)."""
import base64
import json

import pytest

from kit import http, key, message_error, outcomes_of, page, paged

SALT = ['a salt of the tests']
OLD, NEW = 'an older salt of the tests', 'a newer salt of the tests'
LISTS = {'tools/list': ('tools', 'name'), 'prompts/list': ('prompts', 'name'), 'resources/list': ('resources', 'uri'),
         'resources/templates/list': ('resourceTemplates', 'uriTemplate')}


@pytest.fixture
def up(fakes):
    return paged(fakes, 'up', 7, 3)


@pytest.fixture
def gateway(gateways, up):
    return gateways({'up': http(up)}, salt_keys=SALT)


@pytest.fixture
def url(gateway):
    return gateway.server_url('up')


def pages(host, method='tools/list'):
    """Every page of a listing as a parsed result."""
    got = [json.loads(page(host, method).result())]
    while 'nextCursor' in got[-1]:
        assert len(got) < 50
        got.append(json.loads(page(host, method, got[-1]['nextCursor']).result()))
    return got


@pytest.mark.parametrize('method', LISTS)
def test_each_page_of_the_upstream_is_a_page_here(host, up, method):
    """Statements 1 and 2."""
    member, name = LISTS[method]
    got = pages(host, method)
    assert [len(p[member]) for p in got] == [3, 3, 1]
    names = [item[name] for p in got for item in p[member]]
    assert len(names) == len(set(names)) == 7


def test_pages_of_many_upstreams_are_the_union_of_their_pages(fakes, gateways, hosts):
    """Statement 2, for many."""
    a, b, c = paged(fakes, 'a', 5, 2), paged(fakes, 'b', 2, 9), paged(fakes, 'c', 4, 1)
    host = hosts(gateways({'a': http(a), 'b': http(b), 'c': http(c)}, salt_keys=SALT).mcp_url).open()
    got = pages(host)
    assert [[t['name'] for t in p['tools']] for p in got] == [
        ['a-t0', 'a-t1', 'b-t0', 'b-t1', 'c-t0'], ['a-t2', 'a-t3', 'c-t1'], ['a-t4', 'c-t2'], ['c-t3']]


def test_a_cursor_gives_the_same_page_each_time(host):
    """Statement 6."""
    cursor = json.loads(page(host).result())['nextCursor']
    first, second = page(host, cursor=cursor).result(), page(host, cursor=cursor).result()
    assert json.loads(first)['tools'] == json.loads(second)['tools'] and '"t3"' in first


def test_a_cursor_shows_nothing(host, up):
    """Statement 3."""
    up.page_size = 1
    cursor = json.loads(page(host).result())['nextCursor']
    shown = cursor.encode()
    for part in cursor.replace('-', '+').replace('_', '/').split('.'):
        shown += base64.b64decode(part + '=' * (-len(part) % 4), validate=False)
    for secret in (b'up', base64.b64encode(b'o:1'), b'o:1', b'http', b'mcp', b'tools'):
        assert secret not in shown.lower() or len(secret) < 4


@pytest.mark.parametrize('change', ['flip first', 'flip last', 'flip middle', 'shorten', 'lengthen', 'empty', 'foreign'])
def test_a_changed_cursor_is_refused(host, up, change):
    """Statement 11."""
    cursor = json.loads(page(host).result())['nextCursor']

    def flip(at):
        return cursor[:at] + ('A' if cursor[at] != 'A' else 'B') + cursor[at + 1:]
    changed = {'flip first': flip(0), 'flip last': flip(len(cursor) - 1), 'flip middle': flip(len(cursor) // 2),
               'shorten': cursor[:-1], 'lengthen': cursor + 'A', 'empty': '', 'foreign': base64.b64encode(b'o:3').decode()}[change]
    before = len(up.seen(rpc='tools/list'))
    message_error(page(host, cursor=changed), code=-32602)
    assert len(up.seen(rpc='tools/list')) == before


def test_a_cursor_of_one_list_is_refused_by_the_others(host):
    """Statement 9: all twelve pairs."""
    for method in LISTS:
        cursor = json.loads(page(host, method).result())['nextCursor']
        for other in LISTS:
            if other != method:
                message_error(page(host, other, cursor), code=-32602)


def test_a_cursor_of_one_endpoint_is_refused_at_another(gateway, hosts):
    """Statement 10."""
    one, all_of_them = hosts(gateway.server_url('up')).open(), hosts(gateway.mcp_url).open()
    message_error(page(all_of_them, cursor=json.loads(page(one).result())['nextCursor']), code=-32602)
    message_error(page(one, cursor=json.loads(page(all_of_them).result())['nextCursor']), code=-32602)


def test_a_cursor_of_one_key_is_refused_for_another(gateways, up, hosts):
    """Statement 8."""
    gateway = gateways({'up': http(up)}, salt_keys=SALT, keys=[key('one', 'secret-1'), key('two', 'secret-2')])
    one, two = (hosts(gateway.server_url('up'), headers=[('x-sluice-api-key', s)]).open() for s in ('secret-1', 'secret-2'))
    cursor = json.loads(page(one).result())['nextCursor']
    message_error(page(two, cursor=cursor), code=-32602)
    assert page(one, cursor=cursor).result()


def test_a_cursor_works_in_another_session_of_the_same_host(hosts, url):
    """Statement 6."""
    cursor = json.loads(page(hosts(url).open()).result())['nextCursor']
    assert '"t3"' in page(hosts(url).open(), cursor=cursor).result()


def test_a_cursor_runs_out_and_is_not_prolonged_by_use(gateways, up, hosts):
    """Statements 19 and 20, in small; to the second: tests/unit/gateway/pager_test.cpp."""
    from lib.procs import wait_until
    host = hosts(gateways({'up': http(up)}, salt_keys=SALT, catalog={'cursor_lifetime': '1s'}).server_url('up')).open()
    second = json.loads(page(host).result())['nextCursor']
    third = json.loads(page(host, cursor=second).result())['nextCursor']
    assert '"t6"' in page(host, cursor=third).result()
    wait_until(lambda: '"error"' in page(host, cursor=third).final(), 3, 'the cursor to run out')
    message_error(page(host, cursor=second), code=-32602)


def test_a_key_that_may_use_fewer_tools_sees_fewer_on_every_page(gateways, up, hosts):
    """Statement 5, for a key; for a tool that is withdrawn: replicas/test_withdrawn.py."""
    gateway = gateways({'up': http(up)}, salt_keys=SALT, keys=[key('k', 'secret', tools=['up/t1', 'up/t4'])])
    got = pages(hosts(gateway.mcp_url, headers=[('x-sluice-api-key', 'secret')]).open())
    assert [[t['name'] for t in p['tools']] for p in got] == [['up-t1'], ['up-t4'], []]


@pytest.mark.parametrize('cursors', ['repeat', 'endless'])
def test_an_upstream_that_never_ends_is_an_explicit_error(gateways, up, hosts, cursors):
    """Statements 27 and 28."""
    up.cursors = cursors
    host = hosts(gateways({'up': http(up)}, salt_keys=SALT, catalog={'max_pages': 20}).server_url('up')).open()
    cursor = None
    for _ in range(30):
        final = page(host, cursor=cursor).final()
        if '"error"' in final:
            break
        cursor = json.loads(final)['result']['nextCursor']
    assert '"error"' in final and len(up.seen(rpc='tools/list')) <= 26


@pytest.mark.parametrize('route', ['single', 'aggregate'])
def test_an_empty_cursor_is_one_like_any_other(gateways, up, hosts, route):
    up.cursors, up.page_size = 'empty', 4
    gateway = gateways({'up': http(up)}, salt_keys=SALT)
    host = hosts(gateway.server_url('up') if route == 'single' else gateway.mcp_url).open()
    got = pages(host)
    prefix = '' if route == 'single' else 'up-'
    assert [t['name'] for p in got for t in p['tools']] == [prefix + t['name'] for t in up.tools] and len(got) == 2
    assert [json.loads(r.raw('params') or '{}').get('cursor') for r in up.seen(rpc='tools/list')] == [None, '']


@pytest.mark.parametrize('route', ['single', 'aggregate'])
def test_an_empty_cursor_for_ever_is_an_error_that_says_so(gateways, up, hosts, route):
    up.cursors = 'empty again'
    gateway = gateways({'up': http(up)}, salt_keys=SALT)
    host = hosts(gateway.server_url('up') if route == 'single' else gateway.mcp_url).open()
    cursor = json.loads(page(host).result())['nextCursor']
    error = message_error(page(host, cursor=cursor))
    assert "upstream 'up'" in error['message'] and 'empty string' in error['message'], error
    assert 'no nextCursor' in error['message'] and len(up.seen(rpc='tools/list')) == 2


@pytest.mark.parametrize('first, second, served', [(1, 1, True), ('a', 'a', True), (1, 2, False), (1, '1', False), ('a', None, False),
                                                  (None, None, True), ('1', 1, False), (0, 0, True), ('', '', True), (1, None, False)])
def test_a_catalogue_that_changed_between_pages_is_told(host, up, first, second, served):
    """Statements 25 and 26."""
    up.list_revision = first
    cursor = json.loads(page(host).result())['nextCursor']
    up.list_revision = second
    final = page(host, cursor=cursor).final()
    assert ('"result"' in final) is served, final


def test_an_upstream_that_fails_on_a_later_page_is_an_error_and_the_cursor_lives(fakes, gateways, hosts):
    """Statement 29; decision 20."""
    a, b = paged(fakes, 'a', 4, 2), paged(fakes, 'b', 4, 2)
    host = hosts(gateways({'a': http(a), 'b': http(b)}, salt_keys=SALT).mcp_url).open()
    cursor = json.loads(page(host).result())['nextCursor']
    b.faults['tools/list'] = '500'
    error = message_error(page(host, cursor=cursor))
    assert 'b' in error['message']
    b.faults.clear()
    result = page(host, cursor=cursor).result()
    assert [t['name'] for t in json.loads(result)['tools']] == ['a-t2', 'a-t3', 'b-t2', 'b-t3']
    assert set(outcomes_of(result).values()) == {'ok'}


def test_outcomes_are_on_every_page(fakes, gateways, hosts):
    """Statement 29."""
    a, bad = paged(fakes, 'a', 4, 2), fakes('bad', faults={'tools/list': '403'})
    host = hosts(gateways({'a': http(a), 'bad': http(bad)}, salt_keys=SALT).mcp_url).open()
    result = page(host).result()
    assert outcomes_of(result) == {'a': 'ok', 'bad': 'forbidden'}
    later = page(host, cursor=json.loads(result)['nextCursor']).result()
    assert outcomes_of(later)['a'] == 'ok' and outcomes_of(later).get('bad') == 'forbidden'


@pytest.mark.parametrize('salt', [None, [], ['']])
def test_without_a_salt_one_page_is_served_and_a_second_is_an_error_that_names_the_setting(fakes, gateways, hosts, salt):
    """Statements 12 to 15."""
    from lib.gateway import Gateway
    from lib.procs import ProcessDied
    small, large = paged(fakes, 'small', 2, 9), paged(fakes, 'large', 5, 2)
    more = {} if salt is None else {'salt_keys': salt}
    try:
        gateway = gateways({'small': http(small), 'large': http(large)}, **more)
    except ProcessDied as refused:      # a written-out empty salt may be a configuration error as well
        assert salt is not None and 'salt' in str(refused)
        return
    assert len(hosts(gateway.server_url('small')).open().tools()) == 2
    for endpoint in (gateway.server_url('large'), gateway.mcp_url):
        assert 'salt' in message_error(page(hosts(endpoint).open()))['message'].lower()
    assert hosts(gateway.server_url('large')).open().say('t4') == 't4 of large'
    assert isinstance(gateway, Gateway)


def test_another_salt_makes_a_cursor_worthless_and_an_older_one_still_opens(up, gateways, hosts):
    """Statement 21."""
    def host_of(*salts):
        return hosts(gateways({'up': http(up)}, salt_keys=list(salts)).server_url('up')).open()
    old, new, both = host_of(OLD), host_of(NEW), host_of(NEW, OLD)
    cursor = json.loads(page(old).result())['nextCursor']
    message_error(page(new, cursor=cursor), code=-32602)
    # Positions are kept in the store, which a process in memory does not share: opened, then not found.
    final = page(both, cursor=cursor).final()
    assert '"result"' in final or '-32602' in final


def test_metrics_count_cursors_given_and_refused(gateway, host):
    cursor = json.loads(page(host).result())['nextCursor']
    page(host, cursor=cursor).result()
    message_error(page(host, cursor='garbage'), code=-32602)
    metrics = gateway.metrics()
    assert metrics['sluice_cursors_issued_total'] == 2
    assert metrics['sluice_cursors_refused_total{reason="invalid"}'] == 1


@pytest.mark.parametrize('master', ['SLUICE_MASTER_KEY', 'LITELLM_MASTER_KEY'])
def test_a_master_key_is_no_salt(up, gateways, hosts, master):
    """Statement 16."""
    gateway = gateways({'up': http(up)}, env={master: 'sk-a-master-key-that-is-long-enough-for-one'})
    error = message_error(page(hosts(gateway.server_url('up')).open()))
    assert 'salt' in error['message'].lower() and error['data']['setting'] == 'salt_keys'


def test_sealed_tokens_of_one_kind_are_none_of_another(host, hosts, url):
    """Statement 17: a cursor as a session or event id, and a session id as a cursor."""
    cursor = json.loads(page(host).result())['nextCursor']
    message_error(page(host, cursor=host.session), code=-32602)
    as_session, as_garbage = hosts(url).open(), hosts(url).open()
    as_session.session, as_garbage.session = cursor, 'garbage'
    given, wanted = page(as_session), page(as_garbage)
    assert given.status == wanted.status == 404 and given.body() == wanted.body()
    replayed, refused = host.listen(last=cursor + '.1'), host.listen(last='garbage.1')
    assert replayed.status == refused.status


def test_a_host_that_lists_by_itself_hears_of_the_setting_while_the_raw_call_works(up, gateways, hosts):
    """Statement 18: the SDK's client lists to check a result of a tool that it has not seen yet."""
    import asyncio

    from mcp import Client
    url = gateways({'up': http(up)}).server_url('up')

    async def call():
        async with Client(url, mode='legacy') as client:
            return await client.call_tool('t6', {})
    with pytest.raises(Exception) as raised:
        asyncio.run(asyncio.wait_for(call(), 15))
    error = raised.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert 'salt_keys' in str(error), repr(error)
    assert len(up.seen(tool='t6')) == 1
    assert hosts(url).open().say('t6') == 't6 of up' and len(up.seen(tool='t6')) == 2
