"""What an upstream says wrongly on the way to a right answer: it concerns its sender, and the call goes on."""
import json

import pytest

from asking import ALLOWED, CAN, STDIO, WAYS, Upstream
from fake import rawjson
from kit import http, message_error, text_of
from lib.procs import wait_until

NOTE = '{"jsonrpc":"2.0","method":"%s"%s}'
PROGRESS = 'notifications/progress'
TOKENS = ['null', '1.5', 'true', '{}', '[1]', '1e3']
MALFORMED = [
    *[NOTE % (PROGRESS, ',"params":{"progressToken":%s,"progress":1}' % token) for token in TOKENS],
    NOTE % (PROGRESS, ''),
    NOTE % (PROGRESS, ',"params":{"progress":1}'),
    NOTE % (PROGRESS, ',"params":[1]'),
    NOTE % ('notifications/message', ',"params":null'),
    NOTE % ('notifications/message', ',"params":"x"'),
    NOTE % ('notifications/x', ',"params":{"_meta":7}'),
    NOTE % ('notifications/cancelled', ',"params":{"requestId":null}'),
    NOTE % ('notifications/cancelled', ',"params":{"requestId":1.5}'),
    NOTE % ('notifications/x', ',"id":null'),
    '{"jsonrpc":"2.0","method":5}',
    '{"method":"notifications/x"}',
]
UNKNOWN = NOTE % ('notifications/vendor/thing', ',"params":{"n":9007199254740993, "f":1.10}')
WRONG_REQUESTS = {
    '"a"': ('-32602', '{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":[1]}'),
    '-3': ('-32602', '{"jsonrpc":"2.0","id":-3,"method":"sampling/createMessage","params":{"_meta":[]}}'),
    '0': ('-32600', '{"jsonrpc":"1.0","id":0,"method":"roots/list"}'),
}
DROPPED = 'sluice_upstream_dropped_notes_total{server="up"}'


@pytest.fixture(params=WAYS)
def up(request, fakes, stdio_fakes):
    return Upstream(request.param, fakes, stdio_fakes)


@pytest.fixture
def saying(gateways, hosts):
    """A gateway, and a call that ends well after the upstream has said these things on the way it speaks."""
    def make(up, raw):
        gateway = gateways({'up': up.entry(**ALLOWED)}, stdio=STDIO)
        host = hosts(gateway.server_url('up'), capabilities=CAN).open()
        said = {'raw': raw, 'via': 'get' if up.way == 'get' else 'call'}
        return gateway, host.call('say', said, token='"t"').messages()
    return make


def test_a_note_that_is_none_is_dropped_and_counted_and_the_call_goes_on(up, saying):
    gateway, messages = saying(up, MALFORMED)
    assert text_of(rawjson.get(messages[-1], 'result')) == 'said'
    assert not [m for m in messages[:-1] if 'progress' in m or '"method":5' in m], messages
    wait_until(lambda: gateway.metrics().get(DROPPED, 0) >= len(MALFORMED), 5, 'all of them to be counted')


def test_a_request_that_is_none_is_refused_and_the_call_goes_on(up, saying):
    _, messages = saying(up, [text for _, text in WRONG_REQUESTS.values()])
    assert [text_of(rawjson.get(m, 'result')) for m in messages] == ['said']
    wait_until(lambda: len(up.answers()) == len(WRONG_REQUESTS), 5, 'the refusals')
    codes = {rawjson.get(a, 'id'): rawjson.get(a, 'error', 'code') for a in up.answers()}
    assert codes == {id: code for id, (code, _) in WRONG_REQUESTS.items()}


def test_a_note_that_nobody_knows_is_passed_on_byte_for_byte(fakes, gateways, hosts):
    gateway = gateways({'up': http(fakes('up'))})
    messages = hosts(gateway.server_url('up')).open().call('say', {'raw': [MALFORMED[0], UNKNOWN]}).messages()
    assert messages[0] == UNKNOWN and len(messages) == 2


@pytest.mark.parametrize('raw', [
    NOTE % (PROGRESS, ',"params":{"progressToken":1,"progressToken":1,"progress":1}'),
    '{"jsonrpc":"2.0","method":"%s","metho\\u0064":"x"}' % PROGRESS])
def test_a_member_that_decides_and_stands_there_twice_is_still_an_error(fakes, gateways, hosts, raw):
    gateway = gateways({'up': http(fakes('up'))})
    error = message_error(hosts(gateway.server_url('up')).open().call('say', {'raw': [raw]}))
    assert error['data'] == {'server': 'up', 'outcome': 'upstream_error'}, json.dumps(error)
