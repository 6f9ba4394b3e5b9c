"""When an answer is JSON and when a stream; priming, keep-alive, resume after a lost connection."""
import time

import pytest

from fake import rawjson
from fake.host import Closed
from kit import DIRECT, R1, R2, R3, R4, http, progress_notes, text_of
from lib.procs import wait_until


@pytest.mark.direct
@pytest.mark.parametrize('answers', ['json', 'sse'])
def test_an_answer_with_nothing_before_it_is_json(host, fake, answers):
    if DIRECT and answers == 'sse':
        pytest.skip('the fake streams what it is told to')
    fake.answers = answers
    answer = host.call('echo')
    assert answer.status == 200 and answer.header('content-type').startswith('application/json')
    assert text_of(answer.result())


@pytest.mark.direct
def test_a_call_with_progress_is_a_stream(host):
    answer = host.call('progress', token='1')
    assert answer.status == 200 and answer.is_sse
    if not DIRECT:
        assert answer.header('x-accel-buffering') == 'no'
        assert 'no-cache' in (answer.header('cache-control') or 'no-cache')
    assert len(answer.messages()) >= 4


def test_a_call_that_takes_long_becomes_a_stream(host, fake):
    wire = host.start_call('slow')
    answer = wire.answer()          # the head comes before the result exists
    assert answer.is_sse
    fake.release()
    assert text_of(answer.result()) == 'slow done'


def test_the_stream_of_a_call_ends_after_the_result_and_the_connection_lives(host):
    wire = host.start_call('progress', token='1')
    assert wire.answer().messages()
    assert host.ask('ping', wire=wire).result() == '{}'


@pytest.mark.parametrize('revision', [R2, R3])
def test_before_the_fourth_revision_there_is_no_priming_and_no_retry(hosts, url, revision):
    answer = hosts(url, revision=revision).open().call('progress', token='1')
    events = list(answer.events())
    assert not [e for e in events if not e.text or e.retry is not None]


def test_at_the_fourth_revision_a_stream_begins_with_an_id_and_a_retry(hosts, url, fake):
    answer = hosts(url, revision=R4).open().start_call('slow', {'first': True}, token='1').answer()
    fake.wait_event('started')
    fake.release()
    events = list(answer.events())
    assert events[0].id and events[0].text == '' and events[0].retry
    assert all(e.id for e in events)
    assert len({e.id for e in events}) == len(events)
    assert [e for e in events if e.retry is not None] == events[:1]


def test_event_ids_are_unique_within_a_session(host):
    ids = [e.id for _ in range(3) for e in host.call('progress', token='1').events()]
    assert len(ids) == len(set(ids))


def test_quiet_streams_carry_comments(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}, timeouts={'keepalive': '100ms'}).server_url('up')).open()
    listening = host.listen()
    call = host.start_call('slow').answer()
    for answer in (call, listening):
        while len(answer.comments) < 2:
            answer.text_buffer += answer.piece()
            while b'\n' in answer.text_buffer:
                line, answer.text_buffer = answer.text_buffer.split(b'\n', 1)
                if line.startswith(b':'):
                    answer.comments.append(line)
    fake.release()
    assert text_of(call.result()) == 'slow done'


@pytest.mark.direct
def test_a_get_stream_is_an_event_stream(host):
    answer = host.listen()
    assert answer.status == 200 and answer.is_sse


def test_a_get_stream_needs_its_accept(host):
    assert host.send('GET', replace=[('Accept', 'application/json')]).status == 406


def test_a_second_get_stream_never_carries_a_message_twice(host):
    first, second = host.listen(), host.listen()
    assert first.status == 200 and second.status in (200, 409)


def test_get_streams_per_session_are_bounded(gateways, fake, hosts):
    host = hosts(gateways({'up': http(fake)}, limits={'streams_per_session': 2}).server_url('up')).open()
    statuses = [host.listen().status for _ in range(4)]
    assert statuses[0] == 200 and statuses[-1] in (409, 429, 503)


def test_a_stream_ends_when_its_session_does(host):
    listening = host.listen()
    host.end()
    try:
        assert not [e for e in listening.events() if e.text]
    except Closed:
        pytest.fail('the stream was cut, not ended')


def drop_after(host, fake, count, tool='slow', **more):
    """Starts a call, reads `count` events that carry an id, closes the connection; returns the last id."""
    wire = host.start_call(tool, {'first': True}, token='"t"', **more)
    answer = wire.answer()
    events = [answer.event() for _ in range(count)]
    wire.close()
    return events


def test_a_lost_call_is_continued_from_its_last_event(host, fake):
    events = drop_after(host, fake, 2)
    assert rawjson.get(events[1].text, 'params', 'progressToken') == '"t"'
    fake.release()
    resumed = host.listen(last=events[1].id)
    assert resumed.status == 200 and resumed.is_sse
    got = list(resumed.events())
    assert got[0].id, 'a resumed stream of this revision begins with an id'
    texts = [e.text for e in got if e.text]
    assert len(texts) == 1 and text_of(rawjson.get(texts[0], 'result')) == 'slow done'


def test_a_lost_call_is_replayed_from_its_first_event(host, fake):
    events = drop_after(host, fake, 2)
    fake.release()
    texts = [e.text for e in host.listen(last=events[0].id).events() if e.text]
    assert texts[0] == events[1].text and '"result"' in texts[-1] and len(texts) == 2


def test_a_resumed_stream_waits_for_what_is_still_to_come(host, fake):
    events = drop_after(host, fake, 2)
    resumed = host.listen(last=events[1].id)
    assert resumed.status == 200
    fake.release()
    texts = [e.text for e in resumed.events() if e.text]
    assert len(texts) == 1 and '"result"' in texts[0]


@pytest.mark.parametrize('revision', [R2, R3])
def test_older_revisions_resume_after_their_first_event_with_an_id(hosts, url, fake, revision):
    host = hosts(url, revision=revision).open()
    events = drop_after(host, fake, 1)
    assert events[0].id
    fake.release()
    texts = [e.text for e in host.listen(last=events[0].id).events() if e.text]
    assert '"result"' in texts[-1]


def test_a_resumed_stream_has_only_the_messages_of_its_own_call(host, fake):
    events = drop_after(host, fake, 2, id='1')
    other = host.start_call('slow', {'first': True, 'say': 'other'}, token='"u"', id='2').answer()
    fake.wait(lambda: len(fake.event_list('started')) == 2)
    fake.release()
    assert text_of(rawjson.get(other.messages()[-1], 'result')) == 'other'
    texts = [e.text for e in host.listen(last=events[0].id).events() if e.text]
    assert not [t for t in texts if '"u"' in t or 'other' in t] and rawjson.get(texts[-1], 'id') == '1'


def test_a_fully_delivered_stream_is_not_given_again(host):
    events = list(host.call('progress', token='1').events())
    assert host.listen(last=events[-1].id).status == 405


def test_a_delivered_stream_can_be_read_again_from_before_its_end(host):
    events = list(host.call('progress', token='1').events())
    texts = [e.text for e in host.listen(last=events[-2].id).events() if e.text]
    assert texts == [events[-1].text]


@pytest.mark.parametrize('last', ['nonsense', '', '.', 'a.b', 'x' * 2000, '99999999999999999999'])
def test_an_event_id_of_nobody_is_refused(host, last):
    assert host.listen(last=last).status in (400, 404, 405)


def test_an_event_id_of_another_session_is_refused(hosts, url, fake):
    one, two = hosts(url).open(), hosts(url).open()
    events = drop_after(one, fake, 2)
    fake.release()
    answer = two.listen(last=events[0].id)
    assert answer.status in (400, 404, 405)
    assert one.listen(last=events[0].id).status == 200


def test_kept_events_are_bounded(gateways, fake, hosts):
    gateway = gateways({'up': http(fake)}, limits={'events_per_stream': 50})
    host = hosts(gateway.server_url('up')).open()
    wire = host.start_call('flood', {'n': 500}, token='1')
    first = wire.answer().event()
    wire.close()
    # What comes while the resumed stream is read is passed on as well: first let the call end.
    until = time.monotonic() + 30
    while 'sluice_calls_in_flight 0' not in gateway.admin('/metrics') and time.monotonic() < until:
        pass
    answer = host.listen(last=first.id)
    if answer.status == 200:
        texts = [e.text for e in answer.events() if e.text]
        assert len(texts) <= 52 and ('"result"' in texts[-1] or '"error"' in texts[-1])
    else:
        assert answer.status in (400, 404, 405, 410)


def test_the_old_transport_is_not_on_this_endpoint(hosts, url):
    """2024-11-05 negotiates here as well; its hosts then use this transport."""
    host = hosts(url, revision=R1).open()
    assert text_of(host.call('echo').result())


@pytest.mark.direct
def test_three_calls_at_once_each_on_its_own_stream(host):
    wires = [host.start_call('progress', {'n': 5}, token='"%d"' % i, id=str(i)) for i in range(3)]
    for i, wire in enumerate(wires):
        messages = wire.answer().messages()
        assert {rawjson.get(n, 'progressToken') for n in progress_notes(messages)} == {'"%d"' % i}
        assert rawjson.get(messages[-1], 'id') == str(i)


def test_a_host_that_hangs_up_frees_its_stream(host, fake):
    for _ in range(40):     # more than the streams a session may have
        answer = host.listen()
        assert answer.status == 200, 'streams of hosts that left are still counted'
        answer.close()
        wait_until(lambda: probe(host), what='the stream to be freed', timeout=5)


def probe(host):
    answer = host.listen()
    answer.close()
    return answer.status == 200


def test_progress_is_relayed_when_it_happens(host, fake):
    answer = host.start_call('slow', {'first': True}, token='1').answer()
    begun = time.monotonic()
    while not (event := answer.event()).text:
        pass
    assert 'notifications/progress' in event.text and time.monotonic() - begun < 5
    assert fake.calls           # the tool is still running
    fake.release()
    assert text_of(answer.result()) == 'slow done'
