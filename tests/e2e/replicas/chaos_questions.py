#!/usr/bin/env python3
"""The chaos run with people in it (issue 4 D3): hosts of which some calls are asked something, through round robin,
while replicas are killed -9 and stopped. Each question has a scripted person, who accepts, declines, cancels, says
nothing, or goes away for good. An upstream may see an answer that its person gave, once, or an explicit error; never
one that nobody gave, and never no word at all. Each call ends with a result or an error. Seeded, as chaos.py.

    chaos_questions.py [--seed N] [--seconds 30] [--hosts 8] [--replicas 3]

Its last line is "N passed, N failed", one for each cell.
"""
import argparse
import json
import os
import random
import sys
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

from asking import ALLOWED, CAN                             # noqa: E402
from fake import rawjson                                    # noqa: E402
from fake.host import Host                                  # noqa: E402
from kit import http                                        # noqa: E402
from lib.procs import stop_all_on_sigterm, wait_until       # noqa: E402

from cluster import Cluster                                 # noqa: E402
from quizzing import Quizzing                               # noqa: E402
from tally import BROKEN, PATIENCE, Tally                   # noqa: E402

CELLS = ('answers that nobody gave', 'answers that came twice', 'answers to another question', 'hung hosts',
         'questions left open upstream', 'calls without result or error', 'lost sessions', 'duplicate executions', 'replicas that ended badly',
         'things that did not happen')
WANTED = ('answers that arrived', 'errors upstream', 'questions withdrawn', 'streams resumed', 'kill -9 of a replica',
          'silent people', 'people who went away for good', 'answers handed over')
ACTIONS = ('accept', 'accept', 'accept', 'decline', 'cancel', 'silent', 'leave')
SETTLED = 60                # seconds in which every question has an end, whoever was killed when


class Book(Tally):
    """What the scripted people said and what happened, written by all threads."""

    def __init__(self):
        super().__init__()
        self.said = {}              # key of a question -> the exact result that its person gave
        self.unheard = set()        # keys of calls whose replica died before it had said anything of them


class Person(threading.Thread):
    """A host and who sits before it."""

    def __init__(self, number, url, seed, book, stop):
        super().__init__(name='host %d' % number, daemon=True)
        self.number, self.url, self.book, self.stop = number, url, book, stop
        self.dice = random.Random('%s person %d' % (seed, number))
        self.turn, self.session, self.doing = 0, None, 'nothing yet'

    def host(self):
        one = Host(self.url, timeout=PATIENCE, capabilities=CAN)
        if self.session:
            one.session, one.revision = self.session, self.revision
        return one

    def until_served(self, what, send):
        return self.book.until_served(self.name, what, send)

    def begin(self):
        self.session = None
        answer = self.until_served('initialize', lambda: self.host().initialize())
        if answer is None:
            return False
        self.revision = json.loads(answer.result())['protocolVersion']
        self.session = answer.session
        return self.until_served('initialized', lambda: self.host().notify('notifications/initialized')) is not None

    def call(self):
        self.turn += 1
        key = '%d.%d' % (self.number, self.turn)
        self.doing = 'call ' + key
        arguments = {'key': key, 'id': '"%s"' % key, 'params': '{"message":"%s"}' % key, 'patience': 2 * SETTLED}
        text = self.host().call_text('inquire', arguments, token='"%s"' % key, id=1000 + self.turn)
        try:
            answer = self.host().post(text)
        except TimeoutError:
            return self.book.complain('hung hosts', key + ': no answer')
        except BROKEN:
            return self.nothing_heard(key, 'connections lost before an answer')
        if answer.status == 404:
            self.book.complain('lost sessions', key)
            return self.begin()
        if answer.status != 200:
            return self.nothing_heard(key, 'refused with %d' % answer.status)
        return self.follow(key, answer)

    def nothing_heard(self, key, what):
        with self.book.lock:
            self.book.unheard.add(key)
        self.book.count(what)

    def follow(self, key, answer):
        """Reads the call to its end, over resumes; answers what is asked, once."""
        state = {'last': None, 'asked': False, 'left': False}
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                for event in answer.events(max(0.1, until - time.monotonic())):
                    state['last'] = event.id or state['last']
                    if event.text and self.take(key, event.text, state):
                        return None
                    if state['left']:
                        answer.close()
                        return self.begin()
            except TimeoutError:
                break
            except BROKEN + (AssertionError,):
                pass
            answer.close()
            if state['last'] is None:
                return self.book.count('connections lost before an event')
            answer = self.until_served(key + ': resume', lambda: self.host().listen(last=state['last']))
            if answer is None:
                return None
            if answer.status == 409:
                time.sleep(0.2)
            elif answer.status != 200:
                cell = 'lost sessions' if answer.status == 404 else 'calls without result or error'
                return self.book.complain(cell, '%s: resume: %d %.200s' % (key, answer.status, answer.body()))
            else:
                self.book.count('streams resumed')
        return self.book.complain('hung hosts', key + ': neither result nor error')

    def take(self, key, text, state):
        """True at the end of the call."""
        method = rawjson.get(text, 'method')
        if method is None:
            self.book.count('calls: a result' if rawjson.get(text, 'result') else 'calls: an error')
            return True
        if 'notifications/cancelled' in method:
            self.book.count('questions withdrawn')
        if rawjson.get(text, 'id') is not None and not state['asked']:
            state['asked'] = True
            state['left'] = self.decide(key, text) == 'leave'
        return False

    def decide(self, key, question):
        if json.loads(rawjson.get(question, 'params'))['message'] != key:
            self.book.complain('answers to another question', '%s was asked %.200s' % (key, question))
        action = self.dice.choice(ACTIONS)
        time.sleep(self.dice.choice([0, 0, 0.1, 0.5]))
        if action == 'leave':
            self.book.count('people who went away for good')
            return action
        if action == 'silent':
            return self.book.count('silent people')
        content = ',"content":{"n":%d}' % self.turn if action == 'accept' else ''
        result = '{"action":"%s"%s,"key":"%s"}' % (action, content, key)
        with self.book.lock:
            self.book.said[key] = result
        text = '{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), result)
        # As a stock host: one try more where it is told so, and no more.
        for _ in range(2):
            try:
                answer = self.host().post(text)
            except BROKEN:
                return self.book.count('answers on a connection that broke')
            if answer.status == 202:
                return self.book.count('answers handed over')
            self.book.count('answers told to try again')
            time.sleep(0.3)
        return None

    def run(self):
        try:
            if self.begin():
                while not self.stop.is_set():
                    self.call()
        except Exception:
            self.book.complain('calls without result or error', '%s: %s' % (self.name, traceback.format_exc()))
        self.doing = None


def blows(cluster, dice, book, until):
    while time.monotonic() < until:
        time.sleep(dice.uniform(0.5, 3))
        replica = dice.choice([r for r in cluster if r.up])
        if dice.random() < 0.8:
            replica.kill()
            book.count('kill -9 of a replica')
        else:
            replica.stop()
            book.count('SIGTERM to a replica')
        time.sleep(dice.choice([0.1, 1, 3.5]))
        replica.start()


def judge(up, book):
    """Each answer that the upstream saw against what was said."""
    seen = {}
    for event in up.event_list('answer'):
        key, result = json.loads(event['id']), rawjson.get(event['text'], 'result')
        if result is None:
            book.count('errors upstream')
            continue
        seen.setdefault(key, []).append(result)
    for key, results in seen.items():
        book.count('answers that arrived')
        if any(r != book.said.get(key) for r in results):
            book.complain('answers that nobody gave', '%s: %s; said was %s' % (key, results, book.said.get(key)))
        if len(results) > 1:
            book.complain('answers that came twice', '%s: %s' % (key, results))
    for key in up.doubled():
        book.complain('duplicate executions', key)


def open_questions(up, book):
    """But for those of calls that died within their first milliseconds, before any record was made: their hosts had
    no answer from the gateway at all, and no connection is left that knows of them."""
    settled = {json.loads(event['id']) for event in up.event_list('answer')}
    return [e['key'] for e in up.event_list('asked')
            if e['key'] not in settled | book.unheard and not up.cancelled[e['key']]]


def await_settled(up, book):
    try:
        wait_until(lambda: not open_questions(up, book), SETTLED, 'every question to have an end')
    except AssertionError:
        for key in open_questions(up, book):
            book.complain('questions left open upstream', key)


def run(options):
    book, stop = Book(), threading.Event()
    up = Quizzing('up').start()
    cluster = Cluster({'up': http(up, **{**ALLOWED, 'timeout': '5s'})}, count=options.replicas, lease='2s',
                      timeouts={'drain': '500ms', 'ask_resume_grace': '3s'})
    try:
        people = [Person(i, cluster.url('up'), options.seed, book, stop) for i in range(options.hosts)]
        for person in people:
            person.start()
        blows(cluster, random.Random('%s blows' % options.seed), book, time.monotonic() + options.seconds)
        stop.set()
        until = time.monotonic() + 2 * PATIENCE
        for person in people:
            person.join(max(0.1, until - time.monotonic()))
            if person.is_alive():
                book.complain('hung hosts', '%s: %s' % (person.name, person.doing))
        await_settled(up, book)
    finally:
        problems = cluster.close()
        up.stop()
    for problem in problems:
        book.complain('replicas that ended badly', problem)
    judge(up, book)
    for what in WANTED:
        if not book.counts.get(what):
            book.complain('things that did not happen', what)
    return book


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=int.from_bytes(os.urandom(2), 'big'))
    parser.add_argument('--seconds', type=float, default=30)
    parser.add_argument('--hosts', type=int, default=8)
    parser.add_argument('--replicas', type=int, default=3)
    options = parser.parse_args(argv)
    stop_all_on_sigterm()
    book = run(options)
    return book.table(CELLS, options.seed, most=40)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
