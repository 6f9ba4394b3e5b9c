"""`sluice call` puts a server's questions to the person at the terminal, and sends what that person said, exactly."""
import json
import os
import pty
import select
import signal
import threading
import time

import pytest

from lib.paths import gateway_binary

EVERY_FIELD = ['Anna', 'a@b.example', '', '5', '1.10', 'n', '3', 'green', '1,wed', 'none', 'y']
EVERY_ANSWER = ('{"action":"accept","content":{"name":"Anna","email":"a@b.example","day":"2025-11-25","count":5,'
                '"ratio":1.10,"fast":false,"size":"large","colour":"#0f0","days":["mon","wed"],"extras":[]}}')


class Terminal:
    """The command line on a terminal of its own: what it shows, and what is typed."""

    def __init__(self, *argv, stdout=None):
        self.pid, self.far = pty.fork()
        if self.pid == 0:
            os.environ.update({'TERM': 'dumb', 'COLUMNS': '80'})
            if stdout:
                os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT), 1)
            os.execv(gateway_binary(), ['sluice', *map(str, argv)])
        self.shown = ''
        self.at = 0
        self.status = None

    def read(self, wait=0.05):
        ready, _, _ = select.select([self.far], [], [], wait)
        if not ready:
            return True
        try:
            some = os.read(self.far, 65536)
        except OSError:
            return False
        self.shown += some.decode().replace('\r\n', '\n')
        return bool(some)

    def expect(self, text, timeout=20):
        """Waits until it has shown this after what was expected before."""
        deadline = time.monotonic() + timeout
        while True:
            found = self.shown.find(text, self.at)
            if found >= 0:
                self.at = found + len(text)
                return self
            assert self.read() and time.monotonic() < deadline, 'not shown: %r in %s' % (text, self.shown[self.at:])

    def type(self, text):
        os.write(self.far, text.encode())
        return self

    def answer(self, *lines):
        """Types each line at a prompt of its own."""
        for line in lines:
            # A description may hold ": " too: a prompt is what stands at the end.
            while not self.shown[self.at:].endswith(': '):
                assert self.read(), self.shown
            self.at = len(self.shown)
            self.type(line + '\n')
        return self

    def end(self, timeout=20):
        deadline = time.monotonic() + timeout
        while self.read():
            assert time.monotonic() < deadline, 'still running: ' + self.shown
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.far)


@pytest.fixture
def terminals():
    made = []

    def start(*argv, **more):
        made.append(Terminal(*argv, **more))
        return made[-1]
    yield start
    for one in made:
        one.close()


@pytest.fixture(params=['direct', 'gateway'])
def where(request, demo, gateways):
    """The demo upstream's own address, and one of a gateway before it."""
    url = demo()
    if request.param == 'direct':
        return url
    return gateways({'d': {'url': url, 'allow_elicitation': True}}).mcp_url.removesuffix('/mcp') + '/d/mcp'


def test_every_kind_of_field_is_asked_and_the_answer_arrives_byte_for_byte(terminals, where, tmp_path):
    file = tmp_path / 'out'
    person = terminals('call', where, 'ask', stdout=file)
    person.expect('asks:').expect('How shall it be?')
    person.answer(*EVERY_FIELD)
    assert person.end() == 0, person.shown
    assert file.read_text() == EVERY_ANSWER + '\n'
    for shown in ('[1/10] Name (name)', 'who it is for', 'a date, YYYY-MM-DD [Enter = 2025-11-25',
                  'a whole number from 1 to 12 [Enter = 3]', '1) Red (#f00)', 'Sugar (s)', 'This will be sent:',
                  '  Name (name) = Anna\n', '  colour = Green\n', '  extras = none\n'):
        assert shown in person.shown, shown


def test_what_is_wrong_is_asked_again_and_what_is_optional_may_be_left_out(terminals, where, tmp_path):
    file = tmp_path / 'out'
    person = terminals('call', where, 'ask', stdout=file)
    person.answer('', 'A', 'Anna', 'nobody', '', '/skip', '13', 'x', '', '2', '', '/skip', '/skip', 'blue', '1',
                  '/skip', '', 'y')
    assert person.end() == 0, person.shown
    assert file.read_text() == '{"action":"accept","content":{"name":"Anna","count":3,"colour":"#f00"}}\n'
    for said in ('this one is required', 'that is too short', 'that is no email', 'that is too large',
                 'that is no number', 'that is no choice'):
        assert said in person.shown, said


@pytest.mark.parametrize('typed, action', [('/decline\n', 'decline'), ('\x04', 'cancel'), ('/cancel\n', 'cancel')])
def test_the_person_may_decline_or_cancel(terminals, where, typed, action, tmp_path):
    file = tmp_path / 'out'
    person = terminals('call', where, 'ask', stdout=file).answer('Anna')
    person.expect('[2/10]').expect(': ').type(typed)
    assert person.end() == 0, person.shown
    assert file.read_text() == '{"action":"%s"}\n' % action


def test_no_at_the_end_declines_and_sends_nothing(terminals, where, tmp_path):
    file = tmp_path / 'out'
    schema = {'type': 'object', 'properties': {'a': {'type': 'string', 'default': 'é'}}}
    person = terminals('call', where, 'ask', 'schema=' + json.dumps(schema), 'message=Really?', stdout=file)
    person.expect('Really?').answer('', 'n')
    assert person.end() == 0, person.shown
    assert file.read_text() == '{"action":"decline"}\n'


@pytest.mark.parametrize('typed, action', [('y\n', 'accept'), ('n\n', 'decline'), ('\x04', 'cancel')])
def test_a_page_is_shown_in_full_and_only_agreed_to(terminals, where, typed, action, tmp_path):
    file = tmp_path / 'out'
    url = 'https://connect.example/' + 'long/' * 30 + '?a=b#c'
    person = terminals('call', where, 'ask', 'mode=url', 'url=' + url, stdout=file)
    person.expect(url + '\n').expect('connect.example').expect('Do you agree').expect(': ').type(typed)
    assert person.end() == 0, person.shown
    assert file.read_text() == '{"action":"%s"}\n' % action


def test_what_was_typed_before_the_question_is_no_answer(terminals, demo, site, tmp_path):
    """A line typed while the call was running must not become the consent to what is asked later."""
    said = threading.Event()

    def ask(h, m):
        h.send_response(200)
        h.send_header('Content-Type', 'text/event-stream')
        h.send_header('Connection', 'close')
        h.end_headers()
        h.wfile.write(b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"up"}}\n\n')
        said.wait(10)
        h.wfile.write(b'data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Sure",'
                      b'"requestedSchema":{"type":"object","properties":{}}}}\n\n')
        site.wait(lambda: answers(site))
        h.wfile.write(b'data: {"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n\n' % m['id'])
        h.close_connection = True
    site.calls['tools/call'] = ask
    person = terminals('call', site.url, 't')
    person.expect('[info] up').type('y\n')
    person.expect('y\n')
    said.set()
    person.expect('Send it?').expect('edit: ')
    person.type('n\n')
    assert person.end() == 0, person.shown
    assert [m['result'] for m in answers(site)] == [{'action': 'decline'}]


def answers(site):
    return [m for verb, _, m in site.seen if verb == 'POST' and 'method' not in m]


def stream(h, *events):
    """The stream of a call; an event may be a function that is waited for."""
    h.send_response(200)
    h.send_header('Content-Type', 'text/event-stream')
    h.send_header('Connection', 'close')
    h.end_headers()
    for event in events:
        if callable(event):
            event()
            continue
        h.wfile.write(b'data: ' + json.dumps({'jsonrpc': '2.0', **event}).encode() + b'\n\n')
        h.wfile.flush()
    h.close_connection = True


FORM = {'message': 'Sure?', 'requestedSchema': {'type': 'object', 'properties': {}}}
DONE = {'content': [{'type': 'text', 'text': 'done'}]}


def test_a_question_that_is_withdrawn_is_no_longer_asked(terminals, site):
    asked, withdrawn = threading.Event(), threading.Event()
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 'q', 'method': 'elicitation/create', 'params': FORM}, lambda: asked.wait(20),
        {'method': 'notifications/cancelled', 'params': {'requestId': 'q'}}, lambda: withdrawn.wait(20),
        {'id': m['id'], 'result': DONE})
    person = terminals('call', site.url, 't').expect('Send it?')
    asked.set()
    person.expect('withdrawn')
    withdrawn.set()
    assert person.end() == 0 and 'done' in person.shown
    assert answers(site) == []


def test_a_question_of_a_call_that_is_over_is_no_longer_asked(terminals, site):
    asked = threading.Event()
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 'q', 'method': 'elicitation/create', 'params': FORM}, lambda: asked.wait(20),
        {'id': m['id'], 'result': DONE})
    person = terminals('call', site.url, 't').expect('Send it?')
    asked.set()
    assert person.end() == 0 and 'no longer asked' in person.shown and answers(site) == []


def test_several_questions_are_asked_one_after_another_and_notes_wait(terminals, site):
    asked = threading.Event()
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 1, 'method': 'elicitation/create', 'params': {**FORM, 'message': 'First?'}},
        lambda: asked.wait(20),
        {'method': 'notifications/message', 'params': {'level': 'info', 'data': 'meanwhile'}},
        {'method': 'ping', 'id': 'p'},
        {'id': '1', 'method': 'elicitation/create', 'params': {**FORM, 'message': 'Second?'}},
        lambda: site.wait(lambda: len(answers(site)) == 3),
        {'id': m['id'], 'result': DONE})
    person = terminals('call', site.url, 't').expect('First?').expect('edit: ')
    asked.set()
    site.wait(lambda: answers(site))  # the ping: what came before it has been read
    person.type('y\n').expect('meanwhile').expect('Second?').answer('n')
    assert person.end() == 0, person.shown
    assert [m['id'] for m in answers(site)] == ['p', 1, '1']
    assert [m['result'].get('action') for m in answers(site)] == [None, 'accept', 'decline']


def test_a_question_may_take_longer_than_the_servers_silence_may(terminals, site):
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 'q', 'method': 'elicitation/create', 'params': FORM},
        lambda: site.wait(lambda: answers(site)), {'id': m['id'], 'result': DONE})
    person = terminals('call', site.url, 't', '--timeout', '1')
    person.expect('Send it?')
    begun = time.monotonic()
    while time.monotonic() - begun < 1.6:  # it must not give up: there is nothing to see of that
        assert person.read(), person.shown
    person.answer('y')
    assert person.end() == 0, person.shown


def test_what_cannot_be_asked_is_refused_with_an_error(terminals, site):
    odd = {'message': 'm', 'requestedSchema': {'type': 'object', 'properties': {'o': {'type': 'object'}}}}
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 'q', 'method': 'elicitation/create', 'params': odd},
        {'id': 'r', 'method': 'roots/list'},
        lambda: site.wait(lambda: len(answers(site)) == 2), {'id': m['id'], 'result': DONE})
    person = terminals('call', site.url, 't')
    assert person.end() == 0 and 'was refused' in person.shown
    assert {m['id']: m['error']['code'] for m in answers(site)} == {'q': -32602, 'r': -32601}


def test_capabilities_are_declared_on_a_terminal_only(terminals, cli, site):
    assert terminals('call', site.url, 't').end() == 0
    assert cli('call', site.url, 't').status == 0
    assert cli('list', site.url).status == 3  # the site has no tools to list
    declared = [m['params']['capabilities'] for m in site.messages('initialize')]
    assert declared == [{'elicitation': {'form': {}, 'url': {}}}, {}, {}]


def test_yes_refuses_to_invent_an_answer(cli, where):
    said = cli('call', where, 'ask', '--yes')
    assert said.status == 4
    assert 'How shall it be?' in said.err and 'nobody was there to answer' in said.err
    refused = json.loads(said.out)
    assert refused['code'] == -32603 and 'accept' not in said.out


def test_yes_on_a_terminal_does_not_ask_either(terminals, where):
    person = terminals('call', where, 'ask', '--yes')
    assert person.end() == 4 and 'Send it?' not in person.shown


def test_without_a_terminal_a_tool_that_wants_to_ask_is_told_that_it_cannot(cli, where):
    said = cli('call', where, 'ask')
    assert (said.status, said.out) == (1, 'this host cannot be asked\n')


def test_pages_that_an_error_wants_visited_are_shown(cli, site):
    site.calls['tools/call'] = lambda h, m: h.json({'jsonrpc': '2.0', 'id': m['id'], 'error': {
        'code': -32042, 'message': 'log in first', 'data': {'elicitations': [
            {'mode': 'url', 'elicitationId': 'e', 'message': 'Log in', 'url': 'https://a.example/?b=c'}]}}})
    said = cli('call', site.url, 't')
    assert said.status == 3 and 'log in first' in said.err and 'Log in: https://a.example/?b=c' in said.err


def test_an_interrupt_while_asked_cancels_the_call(terminals, site):
    site.calls['tools/call'] = lambda h, m: stream(
        h, {'id': 'q', 'method': 'elicitation/create', 'params': FORM},
        lambda: site.wait(lambda: site.messages('notifications/cancelled')))
    person = terminals('call', site.url, 't').expect('Send it?').expect('edit: ').type('\x03')
    assert person.end() == 130 and answers(site) == []
