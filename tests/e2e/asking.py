"""Questions of upstreams as a raw host sees and answers them, over whatever transport the upstream speaks."""
import json

from fake import rawjson
from fake.server import SseFake
from kit import http, sse

ELICIT = 'elicitation/create'
SAMPLE = 'sampling/createMessage'
ROOTS = 'roots/list'
WAYS = ['post', 'get', 'stdio', 'sse']
FORM = '{"message":"caf\\u00e9?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"x":1.0}'
ALLOWED = {'allow_elicitation': True, 'allow_sampling': True, 'allow_roots': True}
CAN = {'elicitation': {}, 'sampling': {}, 'roots': {'listChanged': True}}
STDIO = {'enabled': True, 'restart_min': '50ms', 'restart_max': '200ms', 'shutdown_step': '300ms'}
BIG = '{"action":"accept","content":{"n":9007199254740993,"s":"\\u00e9\\u0000","f":1.10}, "zz":null}'


class Upstream:
    """One scripted upstream that asks in one of four ways; `answers()` = the answers that reached it."""

    def __init__(self, way, fakes, stdio_fakes, **options):
        self.way = way
        if way == 'stdio':
            self.fake = stdio_fakes('up', **options)
        else:
            self.fake = fakes('up', **({'kind': SseFake} if way == 'sse' else {}), **options)

    def entry(self, **more):
        if self.way == 'stdio':
            return self.fake.config(**more)
        return sse(self.fake, **more) if self.way == 'sse' else http(self.fake, **more)

    def answers(self):
        if self.way != 'stdio':
            return [e['text'] for e in self.fake.event_list('answer')]
        return [e['text'] for e in self.fake.entries('answer')]

    def wait_for(self, event, **want):
        if self.way == 'stdio':
            return self.fake.wait(event, **want)[0]
        return self.fake.wait_event(event, **want)

    def initialize(self):
        """The params of the last initialize that a host's own session sent: the gateway's own, which declares
        nothing, may come after it."""
        texts = (self.fake.texts('initialize') if self.way == 'stdio'
                 else [seen.text for seen in self.fake.seen(rpc='initialize')])
        params = [json.loads(text)['params'] for text in texts]
        return ([p for p in params if p['capabilities']] or params)[-1]

    def arguments(self, method=ELICIT, params=FORM, id='"q"', **more):
        return {'method': method, 'params': params, 'id': id, 'via': 'get' if self.way == 'get' else 'call', **more}


class Asking:
    """A call under way that asks: the question as the host saw it, then the answer and the end; `last` = the last
    event id seen."""

    def __init__(self, host, arguments, **rest):
        self.host, self.messages, self.last = host, [], None
        self.answer = host.start_call('quiz', arguments, **rest).answer()
        self.texts = self.arriving()

    def arriving(self):
        if not self.answer.is_sse:
            yield from self.answer.messages()
            return
        for event in self.answer.events():
            self.last = event.id or self.last
            if event.text:
                yield event.text

    def question(self):
        """The exact text of the next request of the upstream."""
        return self.until(lambda m: rawjson.get(m, 'method') and rawjson.get(m, 'id'))

    def until(self, look):
        for text in self.texts:
            self.messages.append(text)
            if look(text):
                return text
        raise AssertionError('the stream ended without it: %s' % self.messages)

    def reply(self, question, result):
        text = '{"jsonrpc":"2.0","id":%s,"result":%s}' % (rawjson.get(question, 'id'), result)
        answer = self.host.post(text)
        assert answer.status == 202, answer.status
        return text

    def upstream_got(self):
        """The exact answer that the upstream had, as its tool reports it at the end of the call."""
        final = self.until(lambda m: rawjson.get(m, 'method') is None)
        result = rawjson.get(final, 'result')
        assert result, final
        return json.loads(result)['content'][0]['text']
