"""Words the end-to-end tests share: configuration entries, members of answers, small checks."""
import hashlib
import json
import itertools
import os
import threading
import time

from fake import rawjson
from fake.host import Host
from lib.procs import wait_until

# Sanitizers keep freed memory for a while, so bounds on memory mean nothing under them.
SANITIZED = os.environ.get('SLUICE_SANITIZED') == '1'
DIRECT = os.environ.get('SLUICE_DIRECT') == '1'
R1, R2, R3, R4, R5 = '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'
OUTCOMES = 'sluice/server_outcomes'
MARK = '{"jsonrpc":"2.0","method":"notifications/x/marker","params":{"n":%d}}'
CLOSED_SET = {'ok', 'auth_required', 'forbidden', 'timeout', 'unreachable', 'upstream_error', 'internal'}


def http(fake, **more):
    return {'transport': 'http', 'url': fake.url, **more}


def sse(fake, **more):
    return {'transport': 'sse', 'url': fake.url, **more}


def key(name, secret, **more):
    return {'name': name, 'sha256': hashlib.sha256(secret.encode()).hexdigest(), **more}


def progress_notes(messages):
    return [rawjson.get(m, 'params') for m in messages if '"notifications/progress"' in m]


def text_of(result):
    return json.loads(result)['content'][0]['text']


def outcomes_of(result):
    """{server: outcome word} of a list's _meta, whichever shape an entry has."""
    found = json.loads(result).get('_meta', {}).get(OUTCOMES)
    assert found is not None, 'no outcomes in %.300s' % result
    return {name: entry if isinstance(entry, str) else entry['outcome'] for name, entry in found.items()}


def rss(pid):
    with open('/proc/%d/status' % pid) as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('VmRSS'))


def grew_less(pid, before, bound, highest=None):
    grown = (highest or rss(pid)) - before
    assert SANITIZED or grown < bound, 'grew by %.1f MiB' % (grown / 1048576)


def no_canary(*texts):
    for text in texts:
        text = rawjson.text_of(text)
        assert 'canary' not in text.lower(), 'upstream prose leaked: %.500s' % text


def message_error(answer, status=None, code=None):
    """The JSON-RPC error of an answer; checks HTTP status and code if given."""
    if status is not None:
        allowed = status if isinstance(status, (tuple, list, set)) else (status,)
        assert answer.status in allowed, 'HTTP %d, wanted %s' % (answer.status, status)
    error = answer.error()
    assert isinstance(error['code'], int) and isinstance(error['message'], str)
    if code is not None:
        assert error['code'] == code, error
    return error


def paged(fakes, name='up', count=7, size=3, **more):
    """An upstream whose lists have pages."""
    return fakes(name, tool_names=['t%d' % i for i in range(count)], prompts=['p%d' % i for i in range(count)],
                 resources=['%s:r%d' % (name, i) for i in range(count)], templates=['%s:t%d{x}' % (name, i) for i in range(count)],
                 page_size=size, **more)


def page(host, method='tools/list', cursor=None, **rest):
    return host.ask(method, {} if cursor is None else {'cursor': cursor}, **rest)


class Listener:
    """A host's standing stream; `last` = the last event id seen."""
    marks = itertools.count(1)

    def __init__(self, host, **rest):
        self.host = host
        self.answer = host.listen(**rest)
        assert self.answer.status == 200, (self.answer.status, self.answer.body())
        self.seen, self.last = [], None

    def until(self, look, timeout=10):
        end = time.monotonic() + timeout
        while True:
            event = self.answer.event(end - time.monotonic())
            assert event is not None, 'the stream ended: %s' % self.seen
            self.last = event.id or self.last
            if event.text:
                self.seen.append(event.text)
                if look(event.text):
                    return event.text

    def all(self, up):
        """Everything that came before a marker that the upstream says now; markers of others are left out."""
        mark = MARK % next(self.marks)
        up.push(mark)
        self.until(lambda m: m == mark)
        return [m for m in self.seen if 'x/marker' not in m]


def host(url, **options):
    return Host(url, **options)


def while_the_list_is_held(gateway, up, callers, ask, reached):
    """What those get who ask at once: the upstream holds its list until it is `reached` and all of them wait."""
    up.faults['tools/list'] = 'held'
    got = []
    threads = [threading.Thread(target=lambda h=h: got.append(ask(h))) for h in callers]
    for t in threads:
        t.start()
    reached()
    wait_until(lambda: gateway.metrics()['sluice_calls_in_flight'] == len(threads), 5, 'all to wait')
    up.faults.clear()
    up.release()
    for t in threads:
        t.join(10)
    return got
