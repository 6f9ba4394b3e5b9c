"""Names on the aggregate: prefixes, longest match, shortening, display names, bare names, unknown ones."""
import json
import re

import pytest

from fake import rawjson
from kit import http, key, message_error, outcomes_of

LONG = 'a_tool_whose_name_is_as_long_as_any_vendor_takes_it_0123456789'


def two(fakes, gateways, hosts, a_name='alpha', b_name='beta', path='/mcp', **options):
    a = fakes(a_name, tool_names=options.pop('a_tools', ['one', 'same']))
    b = fakes(b_name, tool_names=options.pop('b_tools', ['two', 'same']))
    gateway = gateways({a_name: http(a, **options.pop('a_more', {})), b_name: http(b, **options.pop('b_more', {}))},
                       **options)
    return hosts(gateway.base_url + path).open(), a, b


def test_the_aggregate_prefixes_names_and_keeps_configuration_order(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts)
    assert host.tools() == ['alpha-one', 'alpha-same', 'beta-two', 'beta-same']


def test_a_prefixed_name_reaches_its_upstream_under_its_own_name(fakes, gateways, hosts):
    host, a, b = two(fakes, gateways, hosts)
    assert host.say('alpha-same') == 'same of alpha' and host.say('beta-same') == 'same of beta'
    assert a.seen(tool='same') and b.seen(tool='same')
    assert not a.seen(tool='alpha-same') and not b.seen(tool='beta-same')


def test_with_one_server_the_aggregate_prefixes_all_the_same(gateways, fakes, hosts):
    up = fakes('alpha', tool_names=['one'])
    assert hosts(gateways({'alpha': http(up)}).mcp_url).open().tools() == ['alpha-one']


@pytest.mark.parametrize('path', ['/alpha/mcp', '/mcp/alpha', '/mcp/alpha/', '/alpha/mcp/'])
def test_one_server_on_a_route_is_not_prefixed(fakes, gateways, hosts, path):
    host, a, _ = two(fakes, gateways, hosts, path=path)
    assert host.tools() == ['one', 'same'] and host.say('one') == 'one of alpha'


@pytest.mark.parametrize('path', ['/mcp/alpha,beta', '/alpha,beta/mcp', '/mcp/beta,alpha', '/mcp/alpha,beta,alpha'])
def test_several_servers_on_a_route_are_prefixed(fakes, gateways, hosts, path):
    host, *_ = two(fakes, gateways, hosts, path=path)
    assert set(host.tools()) == {'alpha-one', 'alpha-same', 'beta-two', 'beta-same'}
    assert host.say('beta-two') == 'two of beta'


@pytest.mark.parametrize('path', ['/mcp', '/mcp/'])
def test_the_endpoint_is_served_with_and_without_a_slash_and_without_a_redirect(fakes, gateways, hosts, path):
    host, *_ = two(fakes, gateways, hosts, path=path)
    assert len(host.tools()) == 4


@pytest.mark.parametrize('path', ['/mcp/nobody', '/nobody/mcp', '/mcp/alpha,nobody'])
def test_an_unknown_server_is_404_and_named(fakes, gateways, hosts, path):
    a = fakes('alpha')
    answer = hosts(gateways({'alpha': http(a)}).base_url + path).initialize()
    assert answer.status == 404 and b'nobody' in answer.body()


def test_a_path_that_is_no_endpoint_is_404(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}).base_url + '/mcpx')
    assert host.initialize().status == 404
    assert host.send('GET', path='/').status == 404


def test_an_alias_is_the_prefix_and_a_route_and_the_name_is_a_route(fakes, gateways, hosts):
    up = fakes('long.server.name', tool_names=['one'])
    gateway = gateways({'long.server.name': http(up, alias='ls')})
    assert hosts(gateway.mcp_url).open().tools() == ['ls-one']
    for route in ('ls', 'long.server.name'):
        assert hosts(gateway.server_url(route)).open().say('one') == 'one of long.server.name'


def test_a_group_is_a_route_of_its_servers(fakes, gateways, hosts):
    a, b, c = (fakes(n, tool_names=['t']) for n in 'abc')
    gateway = gateways({'a': http(a, access_groups=['g']), 'b': http(b, access_groups=['g', 'h']), 'c': http(c)})
    assert hosts(gateway.server_url('g')).open().tools() == ['a-t', 'b-t']
    assert set(hosts(gateway.server_url('g', 'c')).open().tools()) == {'a-t', 'b-t', 'c-t'}


def test_the_servers_header_narrows_the_aggregate(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts)
    narrowed = hosts(host.url, headers=[('x-mcp-servers', 'beta')]).open()
    assert narrowed.tools() in (['two', 'same'], ['beta-two', 'beta-same'])


def test_an_empty_servers_header_means_none(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts)
    empty = hosts(host.url, headers=[('x-mcp-servers', '')])
    answer = empty.initialize()
    if answer.status == 200:
        empty.session = answer.session
        listed = empty.ask('tools/list').final()
        assert 'alpha' not in listed and 'beta-' not in listed and 'same' not in listed


def test_the_path_wins_over_the_servers_header(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts)
    url = host.url.replace('/mcp', '/alpha/mcp')
    assert hosts(url, headers=[('x-mcp-servers', 'beta')]).open().tools() == ['one', 'same']


def test_an_unknown_name_in_the_servers_header_is_404(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts)
    answer = hosts(host.url, headers=[('x-mcp-servers', 'nobody')]).initialize()
    assert answer.status == 404 and b'nobody' in answer.body()


def test_hyphens_in_names_never_split_blindly(fakes, gateways, hosts):
    """`a-b` is a server with a hyphen; its tools and those of `c` have hyphens too."""
    host, a, b = two(fakes, gateways, hosts, a_name='a-b', b_name='c', a_tools=['d-e', 'c-d'], b_tools=['a-b-d', 'd'])
    assert host.tools() == ['a-b-d-e', 'a-b-c-d', 'c-a-b-d', 'c-d']
    assert host.say('a-b-d-e') == 'd-e of a-b' and host.say('a-b-c-d') == 'c-d of a-b'
    assert host.say('c-a-b-d') == 'a-b-d of c' and host.say('c-d') == 'd of c'


def test_another_separator(fakes, gateways, hosts):
    host, *_ = two(fakes, gateways, hosts, separator='__')
    assert host.tools()[0] == 'alpha__one' and host.say('beta__two') == 'two of beta'


def test_a_long_name_is_shortened_the_same_way_every_time_and_routes_back(fakes, gateways, hosts):
    names = [LONG + x for x in ('a', 'b')] + ['short']
    seen = []
    for _ in range(2):
        host, a, _ = two(fakes, gateways, hosts, a_tools=names)
        listed = host.tools()
        seen.append(listed)
        assert len(set(listed)) == 5 and max(map(len, listed)) <= 64
        assert all(re.fullmatch(r'[A-Za-z0-9_.-]{1,64}', n) for n in listed)
        for public, native in zip(listed, names):
            assert public.startswith('alpha-') and host.say(public) == '%s of alpha' % native
    assert seen[0] == seen[1]


def test_a_shortened_name_routes_before_any_list(fakes, gateways, hosts):
    names = [LONG + x for x in ('a', 'b')]
    host, *_ = two(fakes, gateways, hosts, a_tools=names)
    public = host.tools()[1]
    fresh, *_ = two(fakes, gateways, hosts, a_tools=names)
    assert fresh.say(public) == names[1] + ' of alpha'


@pytest.mark.parametrize('cursors', ['repeat', 'endless'])
def test_a_shortened_name_in_a_list_without_an_end_is_no_unknown_tool(fakes, gateways, hosts, cursors):
    """What was read of the list is served; of the rest nothing is claimed, and each is told what can be done."""
    names = [LONG + x for x in ('a', 'b')]
    host, *_ = two(fakes, gateways, hosts, a_tools=names)
    read, unread = host.tools()[:2]
    host, a, _ = two(fakes, gateways, hosts, a_tools=names, catalog={'max_pages': 5})
    a.cursors, a.page_size = cursors, 1
    assert host.say(read) == names[0] + ' of alpha' and len(a.seen(rpc='tools/list')) == 1
    error = message_error(host.call(unread), code=-32603)
    why = 'repeats a cursor' if cursors == 'repeat' else 'longer than catalog.max_pages (5 pages)'
    assert error['message'].startswith("upstream 'alpha': ") and why in error['message'], error
    assert '/alpha/mcp' in error['message'] and error['data'] == {'server': 'alpha', 'outcome': 'upstream_error'}
    assert [t.raw('params', 'name') for t in a.seen(rpc='tools/call')] == [json.dumps(names[0])]
    single = hosts(host.url.replace('/mcp', '/alpha/mcp')).open()
    assert single.say(names[1]) == names[1] + ' of alpha'


def test_a_display_name_is_listed_and_routes(fakes, gateways, hosts):
    more = {'tool_name_to_display_name': {'one': 'Shown_One'}, 'tool_name_to_description': {'one': 'said here'}}
    host, a, _ = two(fakes, gateways, hosts, a_more=more)
    items = {t['name']: t for t in json.loads(host.ask('tools/list').result())['tools']}
    shown = [n for n in items if n.endswith('Shown_One')]
    assert len(shown) == 1 and items[shown[0]]['description'] == 'said here'
    assert host.say(shown[0]) == 'one of alpha' and a.seen(tool='one')
    single = hosts(host.url.replace('/mcp', '/alpha/mcp')).open()
    assert single.tools() == ['Shown_One', 'same'] and single.say('Shown_One') == 'one of alpha'


def test_a_display_name_that_the_server_has_too_hides_no_tool(fakes, gateways, hosts):
    """Which tool a name means does not hang on what was listed: also before any list, and on a later page."""
    a = fakes('alpha', tool_names=['one', 'pad', 'same', 'shown'], page_size=2)
    gateway = gateways({'alpha': http(a, tool_name_to_display_name={'one': 'shown'}), 'beta': http(fakes('beta', tool_names=['two']))},
                       salt_keys=['a-salt-for-pages-of-names'])
    single, both = hosts(gateway.server_url('alpha')).open(), hosts(gateway.mcp_url).open()
    assert single.say('shown') == 'one of alpha', 'before any list'
    pages = [json.loads(single.ask('tools/list').result())]
    pages.append(json.loads(single.ask('tools/list', {'cursor': pages[0]['nextCursor']}).result()))
    names = [t['name'] for page in pages for t in page['tools']]
    assert names[:3] == ['shown', 'pad', 'same'] and names[3].startswith('shown_') and len(set(names)) == 4
    meant = ['one', 'pad', 'same', 'shown']
    assert [single.say(n) for n in names] == ['%s of alpha' % m for m in meant]
    assert [both.say('alpha-' + n) for n in names] == ['%s of alpha' % m for m in meant]
    warned = [json.loads(line) for line in gateway.log.splitlines() if '"event":"names"' in line]
    assert [(w['level'], w['server'], w['tool'], w['shown_as'], w['taken_by']) for w in warned] == [('warn', 'alpha', 'shown', names[3], 'one')]


def test_a_bare_name_routes_when_it_is_unique(fakes, gateways, hosts):
    """Statement 31."""
    host, *_ = two(fakes, gateways, hosts)
    assert host.say('one') == 'one of alpha' and host.say('two') == 'two of beta'


def test_an_ambiguous_bare_name_is_refused_with_the_prefixed_forms(fakes, gateways, hosts):
    host, a, b = two(fakes, gateways, hosts)
    error = message_error(host.call('same'), code=-32602)
    assert 'alpha-same' in error['message'] and 'beta-same' in error['message']
    assert not a.seen(tool='same') and not b.seen(tool='same')


def test_a_bare_name_does_not_route_while_a_list_is_unknown(fakes, gateways, hosts):
    """Statement 30, of a list that failed."""
    a, b = fakes('alpha', tool_names=['one']), fakes('beta', faults={'tools/list': '500'})
    host = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open()
    error = message_error(host.call('one'), code=-32602)
    assert 'alpha-one' in error['message']
    assert host.say('alpha-one') == 'one of alpha'


def test_a_bare_name_does_not_route_when_a_list_has_pages(fakes, gateways, hosts):
    """Statement 30, of a list of several pages."""
    a, b = fakes('alpha', tool_names=['one']), fakes('beta', tool_names=['x', 'y', 'z'], page_size=2)
    host = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open()
    message_error(host.call('one'), code=-32602)
    assert host.say('alpha-one') == 'one of alpha' and host.say('beta-z') == 'z of beta'


@pytest.mark.parametrize('name', ['nothing', 'alpha-nothing-x', '', '-', 'alpha-', 'gamma-one', 'x' * 5000])
def test_an_unknown_tool_is_invalid_params(fakes, gateways, hosts, name):
    host, a, b = two(fakes, gateways, hosts)
    error = message_error(host.call(name, id='5'), code=-32602)
    assert len(error['message']) < 1000


def test_a_tool_that_is_not_allowed_looks_like_one_that_does_not_exist(fakes, gateways, hosts):
    more = {'disallowed_tools': ['same']}
    host, a, _ = two(fakes, gateways, hosts, a_more=more)
    assert host.tools() == ['alpha-one', 'beta-two', 'beta-same']
    assert not a.seen(tool='same')
    hidden = host.call('alpha-same', id='1').final()
    absent = host.call('alpha-nope', id='1').final()
    assert hidden.replace('alpha-same', '@') == absent.replace('alpha-nope', '@') or '-32602' in absent
    assert rawjson.get(hidden, 'error', 'code') == '-32602' and not a.seen(tool='same')


def test_hidden_and_absent_are_byte_equal_where_the_list_is_closed(fakes, gateways, hosts):
    """With allowed_tools the gateway alone decides, so neither name reaches the upstream."""
    host, a, _ = two(fakes, gateways, hosts, a_more={'allowed_tools': ['one']})
    hidden, absent = (host.call(n, id='1').final() for n in ('alpha-same', 'alpha-nope'))
    assert hidden.replace('alpha-same', '@') == absent.replace('alpha-nope', '@')
    assert rawjson.get(hidden, 'error', 'code') == '-32602'
    assert not a.seen(rpc='tools/call')


def test_a_server_a_key_may_not_use_looks_like_one_that_does_not_exist(fakes, gateways, hosts):
    a, b = fakes('alpha', tool_names=['one']), fakes('beta', tool_names=['two'])
    gateway = gateways({'alpha': http(a), 'beta': http(b)}, keys=[key('k', 'secret', servers=['alpha'])])
    mine = [('x-sluice-api-key', 'secret')]
    hidden = hosts(gateway.server_url('beta'), headers=mine).initialize()
    absent = hosts(gateway.server_url('gama'), headers=mine).initialize()
    assert hidden.status == absent.status == 404
    assert hidden.body().replace(b'beta', b'@') == absent.body().replace(b'gama', b'@')
    host = hosts(gateway.mcp_url, headers=mine).open()
    assert host.tools() == ['alpha-one']
    hidden, absent = (host.call(n, id='1').final() for n in ('beta-two', 'gama-two'))
    assert hidden.replace('beta', '@') == absent.replace('gama', '@')
    assert not b.seen(rpc='tools/call')
    assert 'beta' not in host.ask('tools/list').final()


def test_a_keys_tools_narrow_lists_and_calls_alike(fakes, gateways, hosts):
    a, b = fakes('alpha', tool_names=['one', 'same']), fakes('beta', tool_names=['two', 'same'])
    gateway = gateways({'alpha': http(a), 'beta': http(b)}, keys=[key('k', 'secret', tools=['alpha/one', 'beta-two'])])
    host = hosts(gateway.mcp_url, headers=[('x-sluice-api-key', 'secret')]).open()
    assert host.tools() == ['alpha-one', 'beta-two']
    assert host.say('alpha-one') and host.say('beta-two')
    message_error(host.call('alpha-same'), code=-32602)
    assert not a.seen(tool='same')


def test_allow_all_keys_opens_a_server_to_every_key(fakes, gateways, hosts):
    a, b, c = (fakes(n, tool_names=['t']) for n in 'abc')
    gateway = gateways({'a': http(a), 'b': http(b, allow_all_keys=True), 'c': http(c, access_groups=['g'])},
                       keys=[key('k', 'secret', servers=['a']), key('g', 'other', groups=['g'])])
    for secret, tools in (('secret', ['a-t', 'b-t']), ('other', ['b-t', 'c-t'])):
        assert hosts(gateway.mcp_url, headers=[('x-sluice-api-key', secret)]).open().tools() == tools


def test_an_argument_that_is_not_allowed_is_refused(fakes, gateways, hosts):
    host, a, _ = two(fakes, gateways, hosts, a_more={'allowed_params': {'one': ['x', 'y']}})
    assert host.call('alpha-one', {'x': 1}).result()
    error = message_error(host.call('alpha-one', {'x': 1, 'z': 2}))
    assert error['code'] == -32602 and len(a.seen(tool='one')) == 1
    assert host.call('alpha-same', {'anything': 1}).result()


def test_prompts_are_prefixed_and_route_the_same_way(fakes, gateways, hosts):
    a, b = fakes('alpha', prompts=['p', 'q-r']), fakes('beta', prompts=['p'])
    host = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open()
    result = host.ask('prompts/list').result()
    assert [p['name'] for p in json.loads(result)['prompts']] == ['alpha-p', 'alpha-q-r', 'beta-p']
    assert set(outcomes_of(result).values()) == {'ok'}
    for name, said in (('alpha-q-r', 'q-r of alpha'), ('beta-p', 'p of beta')):
        got = json.loads(host.ask('prompts/get', {'name': name}).result())
        assert got['messages'][0]['content']['text'] == said
    message_error(host.ask('prompts/get', {'name': 'alpha-zz'}), code=-32602)


def test_completion_goes_to_the_upstream_of_its_prompt(fakes, gateways, hosts):
    a, b = fakes('alpha', prompts=['p']), fakes('beta', prompts=['p'])
    host = hosts(gateways({'alpha': http(a), 'beta': http(b)}).mcp_url).open()
    params = '{"ref":{"type":"ref/prompt","name":"beta-p"},"argument":{"name":"x","value":"1.0"},"z":1.0}'
    assert host.ask('completion/complete', params).result() == '{"completion":{"values":["beta-1"],"total":1.0}}'
    seen = b.seen(rpc='completion/complete')[-1].raw('params')
    assert rawjson.get(seen, 'ref', 'name') == '"p"' and rawjson.get(seen, 'z') == '1.0'
