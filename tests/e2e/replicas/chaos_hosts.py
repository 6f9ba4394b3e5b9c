"""The hosts of the chaos run: each is a thread with a session of its own behind the balancer, that lists, calls,
cancels and resumes, and writes down what became of it. A host may be told "try again"; what it must never meet
is a lost session, a lost listing, silence, or an answer that is neither a result nor an explicit error."""
import json
import random
import socket
import threading
import time
import traceback

from fake import rawjson
from fake.host import Host

from tally import AGAIN, BROKEN, PATIENCE, Tally


class Ledger(Tally):
    """What happened, counted by everybody."""

    def __init__(self):
        super().__init__()
        self.started = set()        # keys of calls that were sent
        self.results = {}           # key -> how many results

    def result(self, key):
        with self.lock:
            self.results[key] = self.results.get(key, 0) + 1


class Worker(threading.Thread):
    def __init__(self, number, url, seed, ledger, stop, items):
        super().__init__(name='host %d' % number, daemon=True)
        self.number, self.url, self.ledger, self.stop = number, url, ledger, stop
        self.dice = random.Random('%s host %s' % (seed, number))
        self.items = items          # {server: names of tools, in order}
        self.turn = 0
        self.doing = 'nothing yet'
        self.since = time.monotonic()

    def until_served(self, what, send):
        return self.ledger.until_served(self.name, what, send)

    def host(self):
        one = Host(self.url, timeout=PATIENCE)
        if self.session:
            one.session, one.revision = self.session, self.revision
        return one

    def begin(self):
        self.session = None
        hosts = []

        def send():
            hosts.append(self.host())
            return hosts[-1].initialize()
        answer = self.until_served('initialize', send)
        if answer is None:
            return False
        text = answer.final()
        if answer.status != 200:
            self.ledger.complain('calls without result or error', '%s: initialize: %d %.200s' % (self.name, answer.status, text))
            return False
        self.revision = json.loads(text)['result']['protocolVersion']
        self.session = answer.session
        self.ledger.count('sessions opened')
        noted = self.until_served('initialized', lambda: self.host().notify('notifications/initialized'))
        return noted is not None and self.alive(noted, 'initialized')

    def alive(self, answer, what):
        """False, with a complaint, when the gateway no longer knows the session."""
        if answer.status != 404:
            return True
        self.ledger.complain('lost sessions', '%s: %s: 404 %.200s' % (self.name, what, answer.body()))
        self.begin()
        return False

    # ---- what a host does -----------------------------------------------------------------
    def list_all(self):
        """Every page; a page that fails is asked for again with the same cursor."""
        got, cursor, pages, first = [], None, 0, None
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            params = {} if cursor is None else {'cursor': cursor}
            answer = self.until_served('tools/list', lambda: self.host().ask('tools/list', params, id=7))
            if answer is None or not self.alive(answer, 'tools/list'):
                return
            try:
                text = answer.final()
            except BROKEN + (AssertionError,):
                self.ledger.count('connections lost')
                continue
            finally:
                answer.close()
            message = json.loads(text)
            if 'error' in message:
                if message['error']['code'] == -32602:
                    return self.ledger.complain('lost listings', '%s: page %d: %.300s' % (self.name, pages + 1, text))
                self.ledger.count('pages that failed and were asked for again')
                time.sleep(0.2)
                continue
            page = message['result']
            first = first or page.get('_meta', {}).get('sluice/server_outcomes', {})
            got += [tool['name'] for tool in page['tools']]
            pages += 1
            cursor = page.get('nextCursor')
            if cursor is None:
                return self.judge_listing(got, first, pages)
        self.ledger.complain('lost listings', '%s: not at its end after %d s, page %d' % (self.name, PATIENCE, pages))

    def judge_listing(self, got, outcomes, pages):
        """Each server that page 1 served is there whole, in order, each item once; no other is."""
        self.ledger.count('listings read to the end')
        self.ledger.count('pages read', pages)
        words = {name: o if isinstance(o, str) else o['outcome'] for name, o in outcomes.items()}
        for server, names in self.items.items():
            mine = [n for n in got if n.startswith(server + '-')]
            wanted = [server + '-' + n for n in names] if words.get(server) == 'ok' else []
            if mine != wanted:
                self.ledger.complain('lost listings', '%s: %s: %d of %d tools, outcome %s' % (
                    self.name, server, len(mine), len(wanted), words.get(server)))

    def new_key(self):
        self.turn += 1
        key = '%d.%d' % (self.number, self.turn)
        with self.ledger.lock:
            self.ledger.started.add(key)
        return key

    def call(self, tool, arguments, leave_after=None, cancel_after=None):
        """One call to its end: over its first answer, and over resumes when that breaks or we leave it."""
        key = self.new_key()
        server = self.dice.choice(sorted(self.items))
        what = 'call %s (%s of %s)' % (key, tool, server)
        id, until = str(1000 + self.turn), time.monotonic() + PATIENCE
        text = self.host().call_text(server + '-' + tool, {**arguments, 'key': key}, token='"%s"' % key, id=id)
        state = {'last': None, 'seen': 0, 'final': None}
        try:
            answer = self.host().post(text)
        except TimeoutError:
            return self.ledger.complain('hung hosts', what + ': no answer')
        except BROKEN:
            return self.ledger.count('calls: the connection was lost before an answer')
        if answer.status != 200:
            return self.refused(answer, what)
        while True:
            how = self.read(answer, state, id, leave_after, cancel_after, until)
            answer.close()
            if how == 'final':
                return self.ended(key, state['final'], what)
            if how == 'end' and cancel_after is not None:
                return self.ledger.count('calls: cancelled, the stream ended')
            if how == 'late':
                return self.ledger.complain('hung hosts', what + ': neither result nor error in %d s' % PATIENCE)
            if state['last'] is None:
                return self.ledger.count('calls: the connection was lost before an event')
            leave_after = None
            answer = self.resume(what, state['last'], until, cancel_after)
            if answer is None:
                return None

    def refused(self, answer, what):
        if answer.status == 404:
            return self.alive(answer, what)
        self.ledger.count('calls: refused with %d' % answer.status)
        try:
            text = answer.body()
        except BROKEN:
            text = b''
        answer.close()
        # A balancer's own 502 to 504 has a page of its own: explicit as well.
        if answer.status not in AGAIN and rawjson.get(text, 'error') is None:
            self.ledger.complain('calls without result or error', '%s: %d %.200s' % (what, answer.status, text))
        return None

    def read(self, answer, state, id, leave_after, cancel_after, until):
        """'final', 'end' (a stream that ended without one), 'broken', 'left' or 'late'."""
        try:
            if not answer.is_sse:
                state['final'] = answer.final()
                return 'final'
            for event in answer.events(max(0.1, until - time.monotonic())):
                state['last'] = event.id or state['last']
                if not event.text:
                    continue
                if rawjson.get(event.text, 'method') is None:
                    state['final'] = event.text
                    return 'final'
                state['seen'] += 1
                if leave_after is not None and state['seen'] >= leave_after:
                    self.ledger.count('streams left by the host')
                    return 'left'
                if cancel_after is not None and state['seen'] == cancel_after:
                    self.cancel(id)
            return 'end'
        except (TimeoutError, socket.timeout):
            return 'late'
        except BROKEN + (AssertionError,):
            self.ledger.count('streams broken under the host')
            return 'broken'

    def cancel(self, id):
        answer = self.until_served('cancel', lambda: self.host().cancel(id))
        if answer is not None and self.alive(answer, 'cancel'):
            self.ledger.count('cancels acknowledged')
            answer.close()

    def resume(self, what, last, until, cancelled):
        """The rest of a stream, wherever; None when that was its end, in one way or another."""
        while time.monotonic() < until:
            answer = self.until_served(what + ': resume', lambda: self.host().listen(last=last))
            if answer is None:
                return None
            if answer.status == 200:
                self.ledger.count('streams resumed')
                return answer
            if answer.status == 409:        # the old connection is not seen to be gone yet
                answer.close()
                time.sleep(0.2)
                continue
            if answer.status == 405 and cancelled is not None:
                self.ledger.count('calls: cancelled, the stream ended')
                return None
            text = answer.body()
            cell = 'lost sessions' if answer.status == 404 and b'session' in text and b'Last-Event-ID' not in text \
                else 'calls without result or error'
            self.ledger.complain(cell, '%s: resume from %s: %d %.200s' % (what, last, answer.status, text))
            return None
        self.ledger.complain('hung hosts', what + ': could not resume in %d s' % PATIENCE)
        return None

    def ended(self, key, final, what):
        message = json.loads(final)
        if 'result' in message:
            self.ledger.result(key)
            text = json.dumps(message['result'])
            if 'done ' + key not in text and not message['result'].get('isError'):
                self.ledger.complain('calls without result or error', '%s: the wrong result: %.200s' % (what, final))
            return self.ledger.count('calls: a result')
        if 'error' not in message:
            return self.ledger.complain('calls without result or error', '%s: %.200s' % (what, final))
        kind = 'outcome unknown' if 'unknown' in message['error']['message'] else 'another error'
        return self.ledger.count('calls: an error (%s)' % kind)

    # ---- the thread -----------------------------------------------------------------------
    def run(self):
        try:
            if not self.begin():
                return
            while not self.stop.is_set():
                self.step()
            self.doing = 'the last ping'
            answer = self.until_served('the last ping', lambda: self.host().ask('ping', id=7))
            if answer is not None and self.alive(answer, 'the last ping'):
                self.ledger.count('sessions alive at the end')
        except Exception:           # a bug of this file, or an answer it cannot read
            self.ledger.complain('calls without result or error', '%s: %s' % (self.name, traceback.format_exc()))
        self.doing = None

    def step(self):
        pause = self.dice.choice([0.02, 0.05, 0.2])
        choice = self.dice.randrange(10)
        self.since = time.monotonic()
        self.doing = 'kind %d' % choice
        if choice < 3:
            self.list_all()
        elif choice < 5:
            self.call('quick', {})
        elif choice < 7:
            self.call('steps', {'n': self.dice.randint(3, 40), 'pause': pause})
        elif choice < 9:
            self.call('steps', {'n': self.dice.randint(10, 40), 'pause': pause}, leave_after=self.dice.randint(1, 8))
        else:
            self.call('wait', {'seconds': 15}, cancel_after=1)
