"""A raw host of HTTP+SSE (2024-11-05): one GET stream, POSTs to the address that its first event names."""
import json
import time
import urllib.parse

from . import rawjson
from .host import Host


class SseHost(Host):
    """`url` is the stream's. What comes on the stream is read by `wait` and kept in `inbox`, in its order."""

    def __init__(self, url, revision='2024-11-05', **rest):
        super().__init__(url, revision=revision, **rest)
        self.stream = self.endpoint = None
        self.inbox = []

    def connect(self):
        """Opens the stream and takes its first event, which must name the address to post to."""
        self.stream = self.listen()
        assert self.stream.status == 200 and self.stream.is_sse, self.stream.headers
        first = self.stream.event(self.timeout)
        assert first.event == 'endpoint', first
        self.endpoint = urllib.parse.urljoin('http://%s:%d%s' % (*self.address, self.path), first.text)
        return self

    def open(self):
        self.connect()
        text = self.text('initialize', {'protocolVersion': self.revision, 'capabilities': self.capabilities,
                                        'clientInfo': {'name': 'raw-sse-host', 'version': '1'}})
        self.server = json.loads(rawjson.get(self.do(text), 'result'))
        self.revision = self.server['protocolVersion']
        assert self.notify('notifications/initialized').status == 202
        return self

    def post(self, body, **rest):
        parts = urllib.parse.urlsplit(self.endpoint)
        assert (parts.hostname, parts.port) == self.address, 'another origin: %s' % self.endpoint
        rest.setdefault('path', '%s?%s' % (parts.path, parts.query))
        return super().post(body, **rest)

    def accepted(self, body):
        answer = self.post(body)
        assert answer.status == 202, (answer.status, answer.body())
        return answer

    def wait(self, look, timeout=None):
        """The first message on the stream, old or new, that look(text) is true for."""
        for text in self.inbox:
            if look(text):
                return text
        until = time.monotonic() + (timeout or self.timeout)
        while True:
            event = self.stream.event(until - time.monotonic())
            assert event is not None, 'the stream ended; it had: %s' % self.inbox
            assert event.event == 'message', event
            self.inbox.append(event.text)
            if look(event.text):
                return event.text

    def answer_to(self, request, timeout=None):
        """The response to a request's text."""
        id = rawjson.get(request, 'id')
        return self.wait(lambda m: rawjson.get(m, 'id') == id and rawjson.get(m, 'method') is None, timeout)

    def question(self, method, timeout=None):
        """The first request of that method that came to us."""
        named = rawjson.dumps(method)
        return self.wait(lambda m: rawjson.get(m, 'method') == named and rawjson.get(m, 'id') is not None, timeout)

    def do(self, request, timeout=None):
        self.accepted(request)
        return self.answer_to(request, timeout)

    def leave(self):
        """Closes the stream's connection."""
        self.stream.close()
