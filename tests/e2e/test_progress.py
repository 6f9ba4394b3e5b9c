"""Progress: tokens with their type and text, in order, on the call's own stream, to nobody else."""
import json

import pytest

from fake import rawjson
from kit import http, message_error, progress_notes, text_of

TOKENS = ['0', '1', '-7', '9007199254740993', '18446744073709551615', '"abc"', '""', '"0"', '"caf\\u00e9"', '-0']


@pytest.mark.direct
@pytest.mark.parametrize('token', TOKENS)
def test_every_note_carries_the_token_as_given(host, token):
    messages = host.call('progress', token=token).messages()
    notes = progress_notes(messages)
    assert [rawjson.get(n, 'progressToken') for n in notes] == [token] * 3
    assert text_of(rawjson.get(messages[-1], 'result')) == 'progress done'


@pytest.mark.direct
def test_a_note_keeps_every_other_byte(host):
    notes = progress_notes(host.call('progress', token='0').messages())
    assert notes == ['{"progressToken":0,"progress":%d.50,"total":1e1,"message":"step %d","x-note":9007199254740993}'
                     % (i, i) for i in (1, 2, 3)]


@pytest.mark.parametrize('token', ['1.5', '1e3', '1.0', 'null', 'true', '{}', '[1]'])
def test_a_token_that_is_no_string_or_integer_is_refused(host, fake, token):
    error = message_error(host.call('progress', token=token, id='5'), code=-32602)
    assert not fake.seen(rpc='tools/call'), error


@pytest.mark.direct
def test_without_a_token_there_is_no_progress(host):
    messages = host.call('progress').messages()
    assert len(messages) == 1 and '"result"' in messages[0]


def test_without_a_token_the_upstream_gets_none(host, fake):
    host.call('progress').messages()
    assert fake.seen(rpc='tools/call')[-1].raw('params', '_meta', 'progressToken') is None


def test_progress_for_a_token_nobody_gave_reaches_nobody(host):
    for token in (None, '1'):
        messages = host.call('fault', {'kind': 'nonote'}, token=token).messages()
        assert len(messages) == 1


def test_nothing_comes_after_the_result(host):
    messages = host.call('fault', {'kind': 'after'}, token='1').messages()
    assert [text_of(rawjson.get(m, 'result')) for m in messages if '"result"' in m] == ['first']
    assert '"result"' in messages[-1] and len(progress_notes(messages)) == 1
    assert text_of(host.call('echo').result())


@pytest.mark.direct
def test_logging_notes_travel_in_order_with_progress(host):
    messages = host.call('logs', {'n': 5}).messages()
    assert [rawjson.get(m, 'params', 'data', 'i') for m in messages[:-1]] == ['0.0', '1.0', '2.0', '3.0', '4.0']


@pytest.mark.direct
def test_two_hosts_with_the_same_token_never_cross(hosts, url, fake):
    one, two = hosts(url).open(), hosts(url).open()
    first = one.start_call('slow', {'first': True, 'say': 'for one'}, token='1', id='1')
    second = two.start_call('slow', {'first': True, 'say': 'for two'}, token='1', id='1')
    fake.wait(lambda: len(fake.event_list('started')) == 2)
    fake.release()
    for wire, said in ((first, 'for one'), (second, 'for two')):
        messages = wire.answer().messages()
        assert len(progress_notes(messages)) == 1 and rawjson.get(messages[-1], 'id') == '1'
        assert text_of(rawjson.get(messages[-1], 'result')) == said


def test_the_same_token_on_two_upstreams_of_one_session(fakes, gateways, hosts):
    a, b = fakes('a'), fakes('b')
    host = hosts(gateways({'a': http(a), 'b': http(b)}).mcp_url).open()
    first = host.start_call('a-slow', {'first': True, 'say': 'A'}, token='"t"', id='1')
    second = host.start_call('b-slow', {'first': True, 'say': 'B'}, token='"t"', id='2')
    a.wait_event('started'), b.wait_event('started')
    b.release(), a.release()
    assert text_of(rawjson.get(first.answer().messages()[-1], 'result')) == 'A'
    assert text_of(rawjson.get(second.answer().messages()[-1], 'result')) == 'B'


def test_tokens_that_go_up_are_unique_within_an_upstream_session(host, fake):
    wires = [host.start_call('slow', token='7', id=str(i)) for i in range(4)]
    fake.wait(lambda: len(fake.event_list('started')) == 4)
    up = [d['token'] for d in fake.event_list('started')]
    assert len(set(up)) == 4
    fake.release()
    for wire in wires:
        assert text_of(rawjson.get(wire.answer().messages()[-1], 'result')) == 'slow done'


@pytest.mark.direct
def test_a_hundred_notes_arrive_in_order_before_the_result(host):
    messages = host.call('flood', {'n': 100}, token='"f"').messages()
    values = [int(json.loads(n)['progress']) for n in progress_notes(messages)]
    assert values == sorted(set(values)) and values[-1] == 99     # newest never lost; others may coalesce
    assert '"result"' in messages[-1]
