"""Numbers, escapes, unknown members and errors travel as the bytes they are, both ways."""
import json

import pytest

from fake import rawjson, tools
from kit import R2, R3, R4, text_of

NUMBERS = ['9007199254740993', '18446744073709551615', '-0.0', '1.10', '1e400', '123456789012345678901234567890',
           '0.1e-7', '1.0', '-9223372036854775809']
ARGUMENTS = ('{"big":9007199254740993,"u":18446744073709551615, "neg":-0.0,"f":1.10,"huge":1e400 ,'
             '"esc":"\\u00e9\\/\\ud83d\\ude00\\u0000\\ud800","b":{"a":1,"A":{}},"":[[],{}],"raw":"é😀"}')


@pytest.mark.direct
def test_a_result_arrives_with_the_bytes_it_was_sent_with(host):
    assert host.call('exact').result() == tools.EXACT


@pytest.mark.direct
def test_a_streamed_result_arrives_with_the_bytes_it_was_sent_with(host, fake):
    fake.answers = 'sse'
    assert host.call('exact').result() == tools.EXACT


@pytest.mark.direct
@pytest.mark.parametrize('number', NUMBERS)
def test_a_number_in_arguments_goes_up_as_written(host, number):
    params = json.loads(text_echo(host.call('echo', '{"n":%s}' % number)), parse_float=str, parse_int=str)
    assert params['arguments']['n'] == number


def text_echo(answer):
    return text_of(answer.result())


@pytest.mark.direct
def test_arguments_go_up_byte_for_byte(host, fake):
    host.call('echo', ARGUMENTS).result()
    assert fake.seen(tool='echo')[-1].raw('params', 'arguments') == ARGUMENTS


@pytest.mark.direct
def test_unknown_members_of_params_go_up(host, fake):
    host.ask('tools/call', '{"futureField":{"x":1.0},"name":"echo","arguments":{},"_meta":{"vendor/y":1.50}}').result()
    seen = fake.seen(tool='echo')[-1]
    assert seen.raw('params', 'futureField') == '{"x":1.0}'
    assert seen.raw('params', '_meta', 'vendor/y') == '1.50'


@pytest.mark.direct
def test_a_call_without_arguments_goes_up_without_arguments(host, fake):
    host.ask('tools/call', '{"name":"echo"}').result()
    assert [n for n, _ in rawjson.members(fake.seen(tool='echo')[-1].raw('params'))] == ['name']


@pytest.mark.direct
def test_an_error_keeps_code_message_and_data(host):
    answer = host.call('err')
    assert answer.status == 200
    assert rawjson.get(answer.final(), 'error') == tools.ERROR


@pytest.mark.direct
def test_a_failed_tool_is_still_a_result(host):
    assert host.call('iserror').result() == '{"content":[{"type":"text","text":"it failed"}],"isError":true}'


@pytest.mark.direct
@pytest.mark.parametrize('id', ['0', '1', '-7', '""', '"0"', '"caf\\u00e9"', '9007199254740993', '"é"', '4294967296'])
def test_the_answer_carries_the_id_with_its_type_and_text(host, id):
    for method, params in (('ping', '{}'), ('tools/call', '{"name":"exact"}'), ('tools/list', '{}')):
        assert rawjson.get(host.ask(method, params, id=id).final(), 'id') == id


@pytest.mark.direct
@pytest.mark.parametrize('revision', [R2, R3, R4])
def test_nothing_is_added_to_a_result_on_a_transparent_route(hosts, url, revision):
    host = hosts(url, revision=revision).open()
    assert host.call('exact').result() == tools.EXACT
    assert host.ask('ping').result() == '{}'
    assert host.ask('no/such').error()['code'] == -32601


@pytest.mark.direct
def test_a_list_item_arrives_as_it_was_sent(fakes, hosts, request):
    from kit import DIRECT, http
    schema = {'type': 'object', '$schema': 'https://json-schema.org/draft/2020-12/schema',
              '$defs': {'a': {'$anchor': 'x', 'type': 'number'}}, 'if': {}, 'then': {}, 'x-u': 1.0}
    item = {'name': 'odd', 'title': 'é', 'inputSchema': schema, 'icons': [{'src': 'data:'}], 'zzz': [1.5, None]}
    fake = fakes('up', tool_names=['exact'], extra_tools=[item])
    url = fake.url if DIRECT else request.getfixturevalue('gateways')({'up': http(fake)}).server_url('up')
    listed = rawjson.items(rawjson.get(hosts(url).open().ask('tools/list').result(), 'tools'))
    assert listed == [rawjson.dumps(t) for t in fake.tools]


@pytest.mark.direct
def test_a_message_over_several_data_lines_is_one_message(host):
    assert text_of(host.call('fault', {'kind': 'multiline'}).result()) == 'many lines'


@pytest.mark.direct
def test_a_dribbled_answer_is_the_same_answer(host):
    answer = host.call('dribble', token='"t"')
    messages = answer.messages()
    assert rawjson.get(messages[-1], 'result') == tools.EXACT
    assert [rawjson.get(m, 'params', 'progressToken') for m in messages[:-1]] == ['"t"']


@pytest.mark.direct
def test_a_large_result_arrives_whole(host):
    assert len(host.say('big', {'mib': 3})) == 3 << 20


@pytest.mark.direct
def test_a_message_with_line_breaks_between_its_members_goes_up(host, fake):
    text = '{\r\n "jsonrpc" : "2.0",\n\t"id":5,"method":"tools/call",\n"params":{ "name":"echo",\n "arguments":{"a":[1,\n2.0]} } }'
    host.post(text).result()
    # White space outside strings may become a space; nothing else may change.
    raw = fake.seen(tool='echo')[-1].raw('params', 'arguments')
    assert raw.replace('\n', '').replace(' ', '') == '{"a":[1,2.0]}'
