"""What a host says of its roots reaches each upstream session that was told it would be told, byte for byte, and no other."""
import pytest

from asking import ALLOWED, CAN, STDIO, Upstream
from fake.sse_host import SseHost
from kit import R1, http
from lib.procs import wait_until

METHOD = 'notifications/roots/list_changed'
CHANGED = '{"jsonrpc":"2.0", "method":"%s","params":{"_meta":{"vendor/n":9007199254740993},"x":1.10}}' % METHOD


def heard(up):
    if up.way == 'stdio':
        return up.fake.texts(METHOD)
    return [seen.text for seen in up.fake.seen(rpc=METHOD)]


@pytest.fixture
def gateways(gateways):
    return lambda servers, **top: gateways(servers, **{'stdio': STDIO, **top})


@pytest.fixture(params=['post', 'stdio', 'sse'])
def up(request, fakes, stdio_fakes):
    return Upstream(request.param, fakes, stdio_fakes)


@pytest.mark.parametrize('kind', ['post', 'sse'])
def test_it_reaches_the_upstream_byte_for_byte_whatever_the_transports(up, gateways, hosts, kind):
    gateway = gateways({'up': up.entry(**ALLOWED)})
    if kind == 'post':
        host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    else:
        host = SseHost(gateway.base_url + '/mcp/sse', revision=R1, capabilities=CAN).open()
        host.do(host.call_text('up-whoami'))
    for count in (1, 2):
        assert host.post(CHANGED).status == 202
        wait_until(lambda: len(heard(up)) >= count, 5, 'the notification')
    assert heard(up) == [CHANGED] * 2
    host.close()


@pytest.mark.parametrize('capabilities, config', [
    ({'roots': {}}, ALLOWED), ({'roots': {'listChanged': False}}, ALLOWED), ({'sampling': {}}, ALLOWED),
    (CAN, {}), (CAN, {'allow_sampling': True})])
def test_an_upstream_that_was_not_told_to_expect_it_gets_nothing(up, gateways, hosts, capabilities, config):
    host = hosts(gateways({'up': up.entry(**config)}).server_url('up'), capabilities=capabilities).open()
    assert host.post(CHANGED).status == 202
    assert host.say('whoami') and not heard(up)


def test_of_many_upstreams_those_hear_it_that_may_ask_and_are_open_and_none_is_opened_for_it(fakes, gateways, hosts):
    ups = {name: fakes(name, tool_names=['whoami']) for name in ('asks', 'never', 'idle')}
    gateway = gateways({name: http(up, allow_roots=name != 'never') for name, up in ups.items()})
    host, other = (hosts(gateway.mcp_url, capabilities=CAN).open() for _ in range(2))
    for name in ('asks', 'never'):
        assert host.say(name + '-whoami')
    assert other.say('asks-whoami')
    learnt = len(ups['idle'].seen(rpc='initialize'))
    assert host.post(CHANGED).status == 202
    ups['asks'].wait_seen(rpc=METHOD)
    assert host.say('asks-whoami') and other.say('asks-whoami')
    mine = ups['asks'].seen(rpc=METHOD)
    assert [one.session for one in mine] == [ups['asks'].seen(tool='whoami')[0].session]   # not the other host's
    assert not ups['never'].seen(rpc=METHOD) and not ups['idle'].seen(rpc=METHOD)
    assert len(ups['idle'].seen(rpc='initialize')) == learnt


def test_it_goes_with_the_headers_that_the_server_is_given(fakes, gateways, hosts):
    up = fakes('up')
    gateway = gateways({'up': http(up, extra_headers=['x-user'], **ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN, headers=[('X-User', 'ann')]).open()
    assert host.post(CHANGED).status == 202
    assert up.wait_seen(rpc=METHOD)[0].header('x-user') == 'ann'
