"""Questions of upstreams in the middle of a call: to the host and back, exactly, or an explicit error."""
import json
import time

import pytest

from asking import ALLOWED, BIG, CAN, ELICIT, FORM, ROOTS, SAMPLE, STDIO, WAYS, Asking, Upstream
from fake import rawjson
from fake.host import Closed
from fake.server import on_loop
from fake.sse_host import SseHost
from kit import R1, R2, R3, R4, http
from lib.procs import wait_until


@pytest.fixture
def gateways(gateways):
    return lambda servers, **top: gateways(servers, **{'stdio': STDIO, **top})


@pytest.fixture(params=WAYS)
def up(request, fakes, stdio_fakes):
    return Upstream(request.param, fakes, stdio_fakes)


@pytest.fixture
def plain(fakes, stdio_fakes):
    return Upstream('post', fakes, stdio_fakes)


@pytest.fixture
def asked(gateways, hosts):
    """Opens a host that can be asked and starts a call that asks."""
    def make(up, capabilities=CAN, route='single', config=ALLOWED, revision=R4, **more):
        gateway = gateways({'up': up.entry(**config)})
        url = gateway.server_url('up') if route == 'single' else gateway.mcp_url
        host = hosts(url, capabilities=capabilities, revision=revision).open()
        return Asking(host, up.arguments(**more), id='7')
    return make


@pytest.mark.parametrize('result', [BIG, '{"action":"decline"}', '{"action":"cancel"}'])
def test_an_answer_reaches_the_upstream_byte_for_byte(up, asked, result):
    call = asked(up)
    question = call.question()
    assert rawjson.get(question, 'params') == FORM and rawjson.get(question, 'method') == '"%s"' % ELICIT
    call.reply(question, result)
    got = call.upstream_got()
    assert rawjson.get(got, 'id') == '"q"' and rawjson.get(got, 'result') == result
    assert len(up.answers()) == 1


@pytest.mark.parametrize('method, result', [
    (SAMPLE, '{"role":"assistant","content":{"type":"text","text":"\\u00e9"},"model":"m","x":1e2}'),
    (ROOTS, '{"roots":[{"uri":"file:///a"}],"n":1.0}')])
def test_sampling_and_roots_travel_as_well(up, asked, method, result):
    call = asked(up, method=method, params='{"maxTokens":9007199254740993}')
    question = call.question()
    assert rawjson.get(question, 'params') == '{"maxTokens":9007199254740993}'
    call.reply(question, result)
    assert rawjson.get(call.upstream_got(), 'result') == result


@pytest.mark.parametrize('id', ['0', '-3', '9007199254740993', '""', '"caf\\u00e9"', '"0"'])
def test_the_upstream_finds_its_own_id_in_the_answer(plain, asked, id):
    call = asked(plain, id=id)
    question = call.question()
    assert rawjson.get(question, 'id').startswith('"') == id.startswith('"')
    call.reply(question, '{"action":"decline"}')
    assert rawjson.get(call.upstream_got(), 'id') == id


def test_an_error_of_the_host_is_the_upstreams_answer(up, asked):
    call = asked(up)
    error = '{"code":-1,"message":"no \\u00e9","data":{"n":1.0}}'
    question = call.question()
    text = '{"jsonrpc":"2.0","id":%s,"error":%s}' % (rawjson.get(question, 'id'), error)
    assert call.host.post(text).status == 202
    assert rawjson.get(call.upstream_got(), 'error') == error


def test_what_is_declared_upstream_is_what_the_host_can_and_the_configuration_allows(up, gateways, hosts):
    host = {'elicitation': {'form': {}, 'x': 1}, 'sampling': {}, 'experimental': {'a': {}}}
    gateway = gateways({'up': up.entry(allow_elicitation=True, allow_roots=True)})
    hosts(gateway.server_url('up'), capabilities=host).open()
    assert up.initialize()['capabilities'] == {'elicitation': {'form': {}, 'x': 1}}


@pytest.mark.parametrize('capabilities, config, params', [
    (CAN, {}, FORM),                                                    # not allowed
    (CAN, {'allow_sampling': True}, FORM),                              # another kind is
    ({}, ALLOWED, FORM),                                                # the host cannot
    ({'elicitation': {'form': {}}}, ALLOWED, '{"mode":"url","url":"https://a/","elicitationId":"1","message":"m"}'),
    ({'elicitation': {'url': {}}}, ALLOWED, FORM)])
def test_what_was_not_declared_is_refused_and_the_host_never_sees_it(plain, asked, capabilities, config, params):
    call = asked(plain, capabilities, config=config, params=params)
    error = json.loads(rawjson.get(call.upstream_got(), 'error'))
    assert error['code'] in (-32601, -32602) and error['message']
    assert len(call.messages) == 1      # the result


@pytest.mark.parametrize('params', ['{"messages":[],"tools":[]}', '{"messages":[],"toolChoice":{"mode":"auto"}}'])
def test_a_host_that_did_not_declare_tools_for_sampling_is_sent_none(plain, asked, params):
    call = asked(plain, {'sampling': {}}, method=SAMPLE, params=params)
    error = json.loads(rawjson.get(call.upstream_got(), 'error'))
    assert error['code'] == -32601 and 'with tools' in error['message']
    assert len(call.messages) == 1      # the result
    able = asked(plain, {'sampling': {'tools': {}}}, method=SAMPLE, params=params)
    question = able.question()
    assert rawjson.get(question, 'params') == params
    able.reply(question, '{}')
    assert rawjson.get(able.upstream_got(), 'result') == '{}'


@pytest.mark.parametrize('params', [
    '{"mode":"form","mode":"url","url":"https://a/","elicitationId":"1","message":"m"}',
    '{"m\\u006fde":"url","mode":"form","url":"https://a/","message":"m"}',
    '{"mode":["url"],"url":"https://a/","message":"m"}'])
def test_a_mode_that_two_may_read_in_two_ways_reaches_no_host(plain, asked, params):
    call = asked(plain, {'elicitation': {'form': {}}}, params=params)
    error = json.loads(rawjson.get(call.upstream_got(), 'error'))
    assert error['code'] == -32602 and 'mode' in error['message']
    assert len(call.messages) == 1      # the result


@pytest.mark.parametrize('way', ['post', 'stdio', 'sse'])
def test_a_flood_of_questions_has_an_answer_to_each(way, fakes, stdio_fakes, gateways, hosts):
    up = Upstream(way, fakes, stdio_fakes)
    host = hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    asks = ['{"jsonrpc":"2.0","id":"m%d","method":"%s","params":%s}' % (n, ELICIT, FORM) for n in range(300)]
    host.start_call('say', {'raw': asks}).answer().messages()
    wait_until(lambda: len(up.answers()) >= 300, what='an answer to each')
    got = [json.loads(answer) for answer in up.answers()]
    assert sorted(a['id'] for a in got) == sorted('m%d' % n for n in range(300))
    assert not any('result' in a for a in got)
    assert any('too many questions are open' in a['error']['message'] for a in got)


def test_a_silent_host_is_an_error_upstream_and_the_question_is_withdrawn(up, asked):
    call = asked(up, config={**ALLOWED, 'timeout': '300ms'})
    question = call.question()
    note = call.until(lambda m: 'notifications/cancelled' in m)
    assert rawjson.get(note, 'params', 'requestId') == rawjson.get(question, 'id')
    assert json.loads(rawjson.get(call.upstream_got(), 'error'))['code'] == -32603


def test_an_open_question_pauses_the_silence_that_a_call_may_have(plain, asked):
    """1 s of thought and 1 s of silent work are more than `timeout`; neither is alone."""
    call = asked(plain, config={**ALLOWED, 'timeout': '1500ms'}, busy_ms=1000)
    question = call.question()
    time.sleep(1)       # the person thinks
    call.reply(question, BIG)
    assert rawjson.get(call.upstream_got(), 'result') == BIG


def test_after_the_answer_the_silence_counts_again(plain, asked):
    call = asked(plain, config={**ALLOWED, 'timeout': '400ms'}, busy_ms=30000)
    call.reply(call.question(), BIG)
    final = call.until(lambda m: rawjson.get(m, 'method') is None)
    assert json.loads(final)['error']['data']['outcome'] == 'timeout'


def test_progress_does_not_give_a_question_more_time(up, gateways, hosts):
    gateway = gateways({'up': up.entry(**ALLOWED, timeout='800ms')})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    begun = time.monotonic()
    call = Asking(host, up.arguments(chatter_ms=100), token='1')
    question = call.question()
    note = call.until(lambda m: 'notifications/cancelled' in m)
    assert rawjson.get(note, 'params', 'requestId') == rawjson.get(question, 'id')
    assert json.loads(rawjson.get(call.upstream_got(), 'error'))['code'] == -32603
    assert 0.8 <= time.monotonic() - begun < 10 and sum('notifications/progress' in m for m in call.messages) >= 3


def test_the_calls_own_deadline_holds_while_a_question_is_open(up, asked):
    # On its own clock the question would be open for a second more.
    call = asked(up, config={**ALLOWED, 'timeout': '2s', 'max_timeout': '2500ms'}, first_ms=1500)
    question = call.question()
    note = call.until(lambda m: 'notifications/cancelled' in m)
    assert rawjson.get(note, 'params', 'requestId') == rawjson.get(question, 'id')
    final = call.until(lambda m: rawjson.get(m, 'method') is None)
    assert json.loads(final)['error']['data']['outcome'] == 'timeout'
    up.wait_for('cancelled')
    wait_until(lambda: up.answers(), what='the error upstream')
    assert [rawjson.get(a, 'result') for a in up.answers()] == [None]


def test_metrics_tell_of_questions(plain, gateways, hosts):
    gateway = gateways({'up': plain.entry(**ALLOWED)})
    call = Asking(hosts(gateway.server_url('up'), capabilities=CAN).open(), plain.arguments(), id='7')
    kind = '{method="%s"}' % ELICIT
    question = call.question()
    assert gateway.metrics()['sluice_questions_open' + kind] == 1
    call.reply(question, BIG)
    call.upstream_got()
    call.reply(question, BIG)      # double
    refused = Asking(call.host, plain.arguments(method='made/up'), id='8')
    refused.upstream_got()
    wait_until(lambda: gateway.metrics()['sluice_questions_open' + kind] == 0, what='no open question')
    found = gateway.metrics()
    assert found['sluice_questions_total{ending="answered",method="%s"}' % ELICIT] == 1
    assert found['sluice_questions_total{ending="method_not_found",method="other"}'] == 1
    assert found['sluice_question_wait_seconds_count' + kind] == 1
    assert found['sluice_stray_answers_total'] == 1


@pytest.mark.parametrize('label', [True, False])
def test_the_text_of_an_elicitation_names_its_server_where_that_is_wanted(plain, asked, label):
    call = asked(plain, config={**ALLOWED, 'label_elicitation': label})
    question = call.question()
    wanted = FORM.replace('"message":"', '"message":"[up] ') if label else FORM
    assert rawjson.get(question, 'params') == wanted
    call.reply(question, BIG)
    assert rawjson.get(call.upstream_got(), 'result') == BIG
    other = Asking(call.host, plain.arguments(method=SAMPLE, params='{"message":"m"}'), id='8')
    question = other.question()
    assert rawjson.get(question, 'params') == '{"message":"m"}'     # elicitation alone
    other.reply(question, '{}')


VISIT = ('{"code":-32042,"message":"log in","data":{"elicitations":[{"mode":"url","elicitationId":"e1",'
         '"url":"https://a.example/?b=\\u0063","message":"Log in at A","x":1.0}]},"y":1e2}')


@pytest.mark.parametrize('revision', [R1, R2, R3, R4])
def test_an_error_that_wants_pages_visited_is_told_as_its_host_can_read_it(plain, gateways, hosts, revision):
    gateway = gateways({'up': plain.entry(**ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN, revision=revision).open()
    answer = host.call('err', '{"error":%s}' % VISIT)
    if revision == R4:
        assert rawjson.get(answer.messages()[-1], 'error') == VISIT
        return
    result = json.loads(answer.result())
    assert result['isError'] and 'Log in at A: https://a.example/?b=c' in result['content'][0]['text']


@pytest.mark.parametrize('revision', [R1, R3, R4])
@pytest.mark.parametrize('method,params', [('prompts/get', {'name': 'p'}), ('resources/read', {'uri': 'x:1'})])
def test_a_prompt_or_a_resource_that_wants_pages_visited_says_so(fakes, gateways, hosts, revision, method, params):
    up = fakes('up', prompts=['p'], resources=['x:1'])
    up.errors[method] = VISIT
    host = hosts(gateways({'up': http(up, **ALLOWED)}).server_url('up'), capabilities=CAN, revision=revision).open()
    raw = rawjson.get(host.ask(method, params).messages()[-1], 'error')
    if revision == R4:
        assert raw == VISIT
        return
    error = json.loads(raw)
    assert error['code'] == -32603 and 'Log in at A: https://a.example/?b=c' in error['message']
    assert 'in a browser; then ask again' in error['message']
    assert rawjson.get(raw, 'data') == rawjson.get(VISIT, 'data')


COMPLETE = '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e\\u0031"}}'


def test_the_end_of_what_a_page_was_for_reaches_its_host_and_no_other(plain, gateways, hosts):
    url = gateways({'up': plain.entry(**ALLOWED)}).server_url('up')
    one, two = (hosts(url, capabilities=CAN).open() for _ in range(2))
    assert one.call('say', {'raw': [COMPLETE]}).messages()[:-1] == [COMPLETE]
    two.say('echo')
    streams = [h.listen() for h in (one, two)]
    plain.fake.wait(lambda: len(plain.fake.event_list('listening')) == 2)
    one.call('say', {'raw': [COMPLETE], 'via': 'get'}).messages()
    two.call('say', {'raw': [COMPLETE.replace('e\\u0031', 'two')], 'via': 'get'}).messages()
    heard = [next(e.text for e in s.events() if e.text) for s in streams]
    assert heard == [COMPLETE, COMPLETE.replace('e\\u0031', 'two')]


def test_cancelling_the_call_withdraws_its_question(up, asked):
    call = asked(up)
    question = call.question()
    call.host.cancel('7', 'enough')
    up.wait_for('cancelled')
    wait_until(lambda: up.answers(), what='the error upstream')
    assert [rawjson.get(a, 'result') for a in up.answers()] == [None]
    # Whoever answers all the same is not heard.
    call.reply(question, '{"action":"accept","content":{}}')
    assert call.host.ask('ping').result() == '{}' and len(up.answers()) == 1


def test_whatever_is_asked_while_its_call_is_cancelled_has_one_answer(up, gateways, hosts):
    """Before the cancel, on the way to the host when it comes, or after it."""
    gateway = gateways({'up': up.entry(**ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    host.say('echo')
    asked = []
    for n in range(12):
        id, asks_first = '"at %d"' % n, n % 2 == 0
        call = host.start_call('quiz', up.arguments(id=id, first_ms=0 if asks_first else 3 * n), id=str(500 + n))
        if asks_first:
            up.wait_for('asked', id=id)
        assert host.cancel(500 + n).status == 202
        call.answer().messages()
        asked.append(id)
    for id in asked:
        up.wait_for('asked', id=id)

    def of(id):
        return [a for a in up.answers() if rawjson.get(a, 'id') == id]
    wait_until(lambda: all(of(id) for id in asked), what='each to be answered')
    assert all(len(of(id)) == 1 and rawjson.get(of(id)[0], 'error') for id in asked), up.answers()


def test_late_double_and_unknown_answers_are_taken_and_dropped(plain, asked):
    call = asked(plain)
    question = call.question()
    call.reply(question, '{"action":"decline"}')
    call.reply(question, '{"action":"accept","content":{}}')
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'
    call.reply(question, '{"action":"cancel"}')
    for id in ('"nobody"', '99'):
        assert call.host.post('{"jsonrpc":"2.0","id":%s,"result":{}}' % id).status == 202
    assert call.host.ask('ping').result() == '{}' and len(plain.answers()) == 1


def test_an_answer_from_another_session_is_not_taken(plain, asked, hosts):
    call = asked(plain)
    question = call.question()
    other = hosts(call.host.url, capabilities=CAN).open()
    other.post('{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}' % rawjson.get(question, 'id'))
    call.reply(question, '{"action":"decline"}')
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'


def test_a_host_that_ends_its_session_leaves_an_error_upstream(up, asked):
    call = asked(up)
    call.question()
    call.host.end()
    wait_until(lambda: up.answers() or up.way == 'stdio', what='the error upstream')
    assert not [a for a in up.answers() if rawjson.get(a, 'result')]


def test_several_questions_of_one_session_at_once(plain, asked):
    first = asked(plain, id='1')
    second = Asking(first.host, plain.arguments(id='2', params='{"message":"two"}'), id='8')
    q1, q2 = first.question(), second.question()
    assert rawjson.get(q1, 'id') != rawjson.get(q2, 'id')
    second.reply(q2, '{"action":"cancel"}')
    first.reply(q1, '{"action":"decline"}')
    assert rawjson.get(first.upstream_got(), 'result') == '{"action":"decline"}'
    assert rawjson.get(second.upstream_got(), 'result') == '{"action":"cancel"}'


@pytest.mark.parametrize('way', ['get', 'stdio', 'sse'])
def test_a_question_on_a_shared_channel_with_two_calls_in_flight_is_refused(way, fakes, stdio_fakes, asked):
    up = Upstream(way, fakes, stdio_fakes)
    gateway_call = asked(up, id='"first"')
    question = gateway_call.question()
    other = Asking(gateway_call.host, up.arguments(id='"second"'), id='8')
    error = json.loads(rawjson.get(other.upstream_got(), 'error'))
    assert error['code'] == -32602
    gateway_call.reply(question, '{"action":"decline"}')
    assert rawjson.get(gateway_call.upstream_got(), 'result') == '{"action":"decline"}'


RELATED = '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"%s"}}'


@pytest.mark.parametrize('way', ['get', 'stdio', 'sse'])
def test_on_a_shared_channel_a_question_goes_to_the_call_of_the_task_it_names(way, fakes, stdio_fakes, asked):
    up = Upstream(way, fakes, stdio_fakes)
    asker = asked(up, id='"first"', params='{"message":"m",%s}' % RELATED % 't-\\u0031')
    # So far no call is about that task: refused, and named, though there is only one call to ask in.
    error = json.loads(rawjson.get(asker.upstream_got(), 'error'))
    assert error['code'] == -32602 and "'t-1'" in error['message'] and len(asker.messages) == 1
    host = asker.host
    about = Asking(host, up.arguments(id='"open"'), id='8', more=',' + RELATED % 't-1')
    first = about.question()
    other = Asking(host, up.arguments(id='"q2"', params='{"message":"m",%s}' % RELATED % 't-1'), id='9')
    second = about.question()           # asked by the other call, for this one's task
    about.reply(second, '{"action":"cancel"}')      # first, for the other answer ends the call
    about.reply(first, '{"action":"decline"}')
    assert rawjson.get(about.upstream_got(), 'result') == '{"action":"decline"}'
    assert rawjson.get(other.upstream_got(), 'result') == '{"action":"cancel"}'


@pytest.mark.parametrize('way', ['post', 'get', 'stdio', 'sse'])
def test_a_hundred_crossed_questions_of_two_hosts(way, fakes, stdio_fakes, gateways, hosts):
    up = Upstream(way, fakes, stdio_fakes)
    url = gateways({'up': up.entry(**ALLOWED)}).server_url('up')
    pair = [hosts(url, capabilities=CAN).open() for _ in range(2)]
    for i in range(50):
        calls = [Asking(h, up.arguments(id='"%d"' % i, params='{"message":"for %d"}' % n))
                 for n, h in enumerate(pair)]
        questions = [c.question() for c in calls]
        assert [rawjson.get(q, 'params') for q in questions] == ['{"message":"for 0"}', '{"message":"for 1"}']
        for n in (1, 0):
            calls[n].reply(questions[n], '{"action":"accept","content":{"who":%d,"i":%d}}' % (n, i))
        for n, call in enumerate(calls):
            got = json.loads(call.upstream_got())
            assert got['id'] == str(i) and got['result']['content'] == {'who': n, 'i': i}


@pytest.mark.parametrize('revision', [R3, R4])
def test_questions_on_the_aggregate(up, asked, revision, hosts, gateways):
    gateway = gateways({'up': up.entry(**ALLOWED)})
    host = hosts(gateway.mcp_url, capabilities=CAN, revision=revision).open()
    answer = host.begin('POST', host.text('tools/call', '{"name":"up-quiz","arguments":%s}'
                                          % rawjson.dumps(up.arguments()))).answer()
    texts = (e.text for e in answer.events() if e.text)
    question = next(texts)
    assert rawjson.get(question, 'params') == FORM
    host.post('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), BIG))
    final = next(texts)
    assert rawjson.get(json.loads(rawjson.get(final, 'result'))['content'][0]['text'], 'result') == BIG


def test_a_question_reaches_a_host_of_the_older_transport(up, gateways):
    gateway = gateways({'up': up.entry(**ALLOWED)})
    host = SseHost(gateway.server_url('up') + '/sse', capabilities=CAN).open()
    request = host.call_text('quiz', up.arguments())
    host.accepted(request)
    question = host.question(ELICIT)
    host.accepted('{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), BIG))
    got = json.loads(rawjson.get(host.answer_to(request), 'result'))['content'][0]['text']
    assert rawjson.get(got, 'result') == BIG
    host.close()


def test_a_session_that_nobody_may_ask_opens_no_stream_upstream(plain, gateways, hosts):
    host = hosts(gateways({'up': plain.entry()}).server_url('up'), capabilities=CAN).open()
    host.say('echo')
    assert not plain.fake.seen(method='GET')


def test_an_upstream_without_a_standing_stream_is_left_alone(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('post', fakes, stdio_fakes, get='405')
    host = hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    up.fake.wait(lambda: up.fake.seen(method='GET'))
    for _ in range(20):
        host.say('echo')
    assert len(up.fake.seen(method='GET')) == 1


def test_the_standing_stream_comes_back_after_it_was_cut(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('get', fakes, stdio_fakes)
    host = hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN, timeout=20).open()
    up.fake.wait_event('listening')
    up.fake.drop_connections()
    up.fake.wait(lambda: len(up.fake.event_list('listening')) == 2, timeout=15)
    call = Asking(host, up.arguments())
    call.reply(call.question(), '{"action":"decline"}')
    assert rawjson.get(call.upstream_got(), 'result') == '{"action":"decline"}'


def test_an_upstream_that_forgot_the_session_is_listened_to_anew(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('get', fakes, stdio_fakes)
    host = hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    up.fake.wait_event('listening')
    up.fake.expire_sessions()
    call = Asking(host, up.arguments())
    call.reply(call.question(), BIG)
    assert rawjson.get(call.upstream_got(), 'result') == BIG


def test_a_ping_on_the_standing_stream_is_answered(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('get', fakes, stdio_fakes)
    hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    up.fake.wait_event('listening')
    up.fake.push('{"jsonrpc":"2.0","id":"p","method":"ping"}')
    assert json.loads(up.fake.wait_event('answer', id='"p"')['text'])['result'] == {}


def test_a_question_of_no_call_is_refused(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('get', fakes, stdio_fakes)
    hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    up.fake.wait_event('listening')
    up.fake.push('{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}' % FORM)
    assert json.loads(up.fake.wait_event('answer', id='1')['text'])['error']['code'] == -32602


@pytest.mark.parametrize('capabilities', [CAN, {}])
def test_a_method_that_no_client_knows_is_not_found(up, asked, capabilities):
    if up.way == 'get' and not capabilities:
        pytest.skip('nothing was declared, so nobody listens there')
    call = asked(up, capabilities, method='vendor/ask')
    error = json.loads(rawjson.get(call.upstream_got(), 'error'))
    assert error['code'] == -32601 and 'vendor/ask' in error['message'], error
    assert len(call.messages) == 1      # the result


@pytest.mark.parametrize('way', ['get', 'stdio', 'sse'])
def test_a_method_that_no_client_knows_is_not_found_outside_calls_either(way, fakes, stdio_fakes, gateways, hosts):
    up = Upstream(way, fakes, stdio_fakes)
    host = hosts(gateways({'up': up.entry(**ALLOWED)}).server_url('up'), capabilities=CAN).open()
    slow = host.start_call('slow', {'seconds': 1})   # of two calls nobody can say which asks
    answer = json.loads(host.say('quiz', up.arguments(method='vendor/ask', id='5')))
    assert answer['error']['code'] == -32601 and answer['id'] == 5
    assert slow.answer().result()


FLOOD = 600


def flood(method, params='{}'):
    return ['{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}' % (i, method, params) for i in range(FLOOD)]


@pytest.mark.parametrize('method, params', [('ping', '{}'), (ELICIT, FORM), ('vendor/ask', '{}')])
def test_a_flood_of_questions_of_no_call_is_answered_to_the_last(fakes, stdio_fakes, gateways, hosts, method, params):
    up = Upstream('get', fakes, stdio_fakes)
    gateway = gateways({'up': up.entry(**ALLOWED)})
    hosts(gateway.server_url('up'), capabilities=CAN).open()
    up.fake.wait_event('listening')
    up.fake.push('\n\ndata: '.join(flood(method, params)))   # one piece, as far as the network has it so
    wait_until(lambda: len(up.answers()) >= FLOOD, 20, 'every answer')
    answers = [json.loads(a) for a in up.answers()]
    assert sorted(a['id'] for a in answers) == list(range(FLOOD))
    assert all('result' in a if method == 'ping' else a['error']['code'] in (-32602, -32601) for a in answers)
    assert gateway.metrics()['sluice_upstream_unanswered_total{server="up"}'] == 0


def test_a_flood_of_questions_in_a_call_is_answered_to_the_last(up, gateways, hosts):
    gateway = gateways({'up': up.entry(**ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    said = {'raw': flood(ELICIT, FORM), 'via': 'get' if up.way == 'get' else 'call'}
    assert host.call('say', said, timeout=30).messages()
    wait_until(lambda: len(up.answers()) >= FLOOD, 20, 'every answer')
    answers = [json.loads(a) for a in up.answers()]
    assert sorted(a['id'] for a in answers) == list(range(FLOOD))
    assert all(a['error']['code'] in (-32603, -32602) for a in answers)


def test_an_upstream_that_takes_no_answers_is_counted_and_named_once(fakes, stdio_fakes, gateways, hosts):
    up = Upstream('get', fakes, stdio_fakes)
    gateway = gateways({'up': up.entry(**ALLOWED)})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    up.fake.wait_event('listening')
    up.fake.deaf = True
    up.fake.push('\n\ndata: '.join(flood('ping')))
    unanswered = 'sluice_upstream_unanswered_total{server="up"}'
    wait_until(lambda: gateway.metrics()[unanswered] > 0, 10, 'them to be given up')
    up.fake.deaf = False
    assert host.say('whoami').startswith('up|')
    told = [line for line in gateway.err if 'upstream_failed' in line]
    assert len(told) == 1 and 'some got none' in told[0], told


def test_a_question_that_the_upstream_takes_back_is_withdrawn(plain, asked):
    call = asked(plain)
    question = call.question()
    live = next(iter(plain.fake.calls.values()))
    on_loop(live.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}'))
    note = call.until(lambda m: 'notifications/cancelled' in m)
    assert rawjson.get(note, 'params', 'requestId') == rawjson.get(question, 'id')
    assert not plain.answers()
    call.host.cancel('7')


def test_stopping_the_gateway_leaves_an_error_upstream(plain, gateways, hosts):
    gateway = gateways({'up': plain.entry(**ALLOWED)}, timeouts={'drain': '200ms'})
    host = hosts(gateway.server_url('up'), capabilities=CAN).open()
    call = Asking(host, plain.arguments())
    call.question()
    gateway.stop()
    assert [rawjson.get(a, 'result') for a in plain.answers()] == [None]
    try:
        assert not [m for m in call.answer.messages() if '"result"' in m]
    except Closed:
        pass
