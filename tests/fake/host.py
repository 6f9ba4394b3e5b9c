"""A raw MCP host: exact bytes out, exact bytes in, on plain blocking sockets with deadlines.

`Wire` is one TCP connection; `Answer` one HTTP response read as slowly as a test likes; `Host` an
MCP session over fresh or kept connections.  Nothing here repairs, retries or re-encodes.
"""
import itertools
import json
import re
import socket
import time
import urllib.parse

from . import rawjson

_EOL = re.compile(rb'\r\n|\n|\r')
JSON_AND_SSE = 'application/json, text/event-stream'


class Closed(Exception):
    """The peer ended the connection before what was waited for."""


class Wire:
    def __init__(self, address, timeout=10, rcvbuf=None):
        self.address, self.timeout = address, timeout
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b''

    def send(self, data):
        self.sock.sendall(data)

    def more(self, until=None):
        """Reads some bytes into the buffer; Closed at the end of the stream."""
        left = self.timeout if until is None else until - time.monotonic()
        if left <= 0:
            raise TimeoutError('nothing more came in time')
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(65536)
        except ConnectionError as e:
            raise Closed(str(e)) from e
        if not data:
            raise Closed('end of stream')
        self.buffer += data

    def line(self, end=b'\r\n', until=None):
        while end not in self.buffer:
            self.more(until)
        got, self.buffer = self.buffer.split(end, 1)
        return got

    def exactly(self, count, until=None):
        while len(self.buffer) < count:
            self.more(until)
        got, self.buffer = self.buffer[:count], self.buffer[count:]
        return got

    def answer(self, method='POST', timeout=None):
        return Answer(self, method, timeout)

    def closed_by_peer(self, timeout=10):
        """True once the peer has closed; bytes that still come are kept."""
        until = time.monotonic() + timeout
        try:
            while True:
                self.more(until)
        except Closed:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.sock.close()


class Event:
    def __init__(self):
        self.id = self.event = self.retry = None
        self.data = []

    @property
    def text(self):
        return '\n'.join(self.data)

    def __repr__(self):
        return 'Event(id=%r, retry=%r, data=%.120r)' % (self.id, self.retry, self.text)


class Answer:
    """One response: the head is read at once, the body on demand."""

    def __init__(self, wire, method, timeout=None):
        self.wire = wire
        self.timeout = timeout or wire.timeout
        until = time.monotonic() + self.timeout
        head = wire.line(b'\r\n\r\n', until).decode('latin-1').split('\r\n')
        self.status = int(head[0].split(' ')[1])
        self.headers = [tuple(p.strip() for p in line.split(':', 1)) for line in head[1:]]
        self.comments = []
        self.events_seen = []
        self.finished = False
        length = self.header('content-length')
        self.chunked = 'chunked' in (self.header('transfer-encoding') or '')
        self.left = int(length) if length is not None else (None if not self.chunked else 0)
        if method == 'HEAD' or self.status in (204, 304):
            self.left, self.chunked = 0, False
        self.text_buffer = b''

    def header(self, name):
        found = [v for n, v in self.headers if n.lower() == name.lower()]
        assert len(found) < 2, 'header %s came twice: %s' % (name, found)
        return found[0] if found else None

    @property
    def session(self):
        return self.header('mcp-session-id')

    @property
    def is_sse(self):
        return (self.header('content-type') or '').split(';')[0].strip() == 'text/event-stream'

    def piece(self, until=None):
        """The next bytes of the body; b'' when it has ended properly."""
        if self.finished:
            return b''
        until = until or time.monotonic() + self.timeout
        if self.chunked:
            size = int(self.wire.line(b'\r\n', until).split(b';')[0], 16)
            data = self.wire.exactly(size + 2, until)[:-2]
            self.finished = size == 0
            return data
        if self.left is None:
            try:
                if not self.wire.buffer:
                    self.wire.more(until)
            except Closed:
                self.finished = True
            data, self.wire.buffer = self.wire.buffer, b''
            return data
        if self.left == 0:
            self.finished = True
            return b''
        if not self.wire.buffer:
            self.wire.more(until)
        data = self.wire.exactly(min(self.left, len(self.wire.buffer)))
        self.left -= len(data)
        self.finished = self.left == 0
        return data

    def body(self, timeout=None):
        until = time.monotonic() + (timeout or self.timeout)
        out = b''
        while True:
            data = self.piece(until)
            if not data:
                return out
            out += data

    def events(self, timeout=None):
        """SSE events as they come, until the stream ends; comments are kept aside."""
        until = time.monotonic() + (timeout or self.timeout)
        event = Event()
        while True:
            line = self._sse_line(until)
            if line is None:
                return
            if line == b'':
                if event.data or event.id is not None or event.retry is not None:
                    self.events_seen.append(event)
                    yield event
                event = Event()
            elif line.startswith(b':'):
                self.comments.append((time.monotonic(), line))
            else:
                name, _, value = line.decode('utf-8').partition(':')
                value = value[1:] if value.startswith(' ') else value
                if name == 'data':
                    event.data.append(value)
                elif name == 'retry':
                    event.retry = int(value)
                elif name in ('id', 'event'):
                    setattr(event, name, value)

    def _sse_line(self, until):
        """A line of the stream; it ends with LF, CR or CRLF, and CR LF may arrive apart."""
        while True:
            found = _EOL.search(self.text_buffer)
            if found and (found.group() != b'\r' or found.end() < len(self.text_buffer)):
                line, self.text_buffer = self.text_buffer[:found.start()], self.text_buffer[found.end():]
                return line
            data = self.piece(until)
            if not data:
                line, self.text_buffer = self.text_buffer.rstrip(b'\r'), b''
                return line if found else None
            self.text_buffer += data

    def comment(self, timeout=None):
        """The next thing on the stream, which must be a comment."""
        until = time.monotonic() + (timeout or self.timeout)
        line = b''
        while line == b'':
            line = self._sse_line(until)
        assert line is not None and line.startswith(b':'), line
        return line

    def event(self, timeout=None):
        """The next event, or None at the end of the stream."""
        return next(self.events(timeout), None)

    def messages(self, timeout=None):
        """Every JSON-RPC message of the answer as exact text, JSON or SSE alike, to its end."""
        if self.is_sse:
            return [e.text for e in self.events(timeout) if e.data and e.text]
        body = self.body(timeout)
        if not body.strip():
            return []
        text = rawjson.text_of(body).strip()
        return rawjson.items(text) if text.startswith('[') else [text]

    def final(self, timeout=None):
        """The last message of the answer: the response."""
        messages = self.messages(timeout)
        assert messages, 'HTTP %d without a message: %s' % (self.status, self.headers)
        return messages[-1]

    def result(self, timeout=None):
        text = self.final(timeout)
        found = rawjson.get(text, 'result')
        assert found is not None, 'not a result (HTTP %d): %.300s' % (self.status, text)
        return found

    def error(self, timeout=None):
        text = self.final(timeout)
        found = rawjson.get(text, 'error')
        assert found is not None, 'not an error (HTTP %d): %.300s' % (self.status, text)
        return json.loads(found)

    def close(self):
        self.wire.close()


def address_of(url):
    parts = urllib.parse.urlsplit(url)
    return (parts.hostname, parts.port), parts.path or '/'


def request_bytes(method, path, headers, body=b''):
    lines = ['%s %s HTTP/1.1' % (method, path)] + ['%s: %s' % pair for pair in headers]
    return '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body


class Host:
    """One host.  `revision` is what it asks for at initialize and names in its header."""

    def __init__(self, url, revision='2025-11-25', headers=(), timeout=10, capabilities=None):
        self.url = url
        self.address, self.path = address_of(url)
        self.revision, self.timeout = revision, timeout
        self.headers = list(headers)
        self.capabilities = capabilities or {}
        self.session = None
        self.ids = itertools.count(0)       # stock hosts begin at 0
        self.opened = []

    # ---- plumbing ----------------------------------------------------------------------
    def standard(self, replace=()):
        """Headers of an ordinary request; pairs in `replace` win, a None value leaves one out."""
        given = [('Host', '%s:%d' % self.address), ('Accept', JSON_AND_SSE), *self.headers]
        if self.session is not None:
            given += [('Mcp-Session-Id', self.session)]
            if self.revision >= '2025-06-18':
                given += [('MCP-Protocol-Version', self.revision)]
        replaced = {n.lower() for n, _ in replace}
        return [p for p in given if p[0].lower() not in replaced] + [p for p in replace if p[1] is not None]

    def wire(self, **options):
        wire = Wire(self.address, self.timeout, **options)
        self.opened.append(wire)
        return wire

    def begin(self, method, body=None, replace=(), path=None, wire=None, **options):
        """Sends a request and returns its connection, unread."""
        wire = wire or self.wire(**options)
        headers = self.standard(replace)
        named = {n.lower() for n, _ in headers}
        data = b'' if body is None else rawjson.bytes_of(body)
        if body is not None:
            if 'content-type' not in named and 'content-type' not in {n.lower() for n, v in replace}:
                headers.append(('Content-Type', 'application/json'))
            if not {'content-length', 'transfer-encoding'} & named:
                headers.append(('Content-Length', len(data)))
        wire.send(request_bytes(method, path or self.path, headers, data))
        return wire

    def send(self, method, body=None, timeout=None, **rest):
        return self.begin(method, body, **rest).answer(method, timeout)

    def post(self, body, **rest):
        """POST of a dict (encoded), or of exact text or bytes."""
        return self.send('POST', rawjson.dumps(body) if isinstance(body, (dict, list)) else body, **rest)

    # ---- the protocol ------------------------------------------------------------------
    def initialize(self, **rest):
        answer = self.post({'jsonrpc': '2.0', 'id': next(self.ids), 'method': 'initialize', 'params': {
            'protocolVersion': self.revision, 'capabilities': self.capabilities,
            'clientInfo': {'name': 'raw-host', 'version': '1'}}}, **rest)
        return answer

    def open(self):
        """initialize and initialized; returns self with the session."""
        answer = self.initialize()
        result = json.loads(answer.result())
        self.session = answer.session
        self.revision = result['protocolVersion']
        self.server = result
        assert self.notify('notifications/initialized').status == 202
        return self

    def notify(self, method, params=None, **rest):
        message = {'jsonrpc': '2.0', 'method': method}
        if params is not None:
            message['params'] = params
        return self.post(message, **rest)

    def text(self, method, params='{}', id=None):
        """A request's exact text; params is exact text or a value."""
        params = params if isinstance(params, str) else rawjson.dumps(params)
        return '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' % (
            next(self.ids) if id is None else id, method, params)

    def ask(self, method, params='{}', id=None, **rest):
        return self.post(self.text(method, params, id), **rest)

    def call_text(self, tool, arguments='{}', token=None, id=None, more=''):
        arguments = arguments if isinstance(arguments, str) else rawjson.dumps(arguments)
        meta = '' if token is None else ',"_meta":{"progressToken":%s}' % token
        return self.text('tools/call', '{"name":"%s","arguments":%s%s}' % (tool, arguments, meta + more), id)

    def call(self, tool, arguments='{}', token=None, id=None, **rest):
        return self.post(self.call_text(tool, arguments, token, id), **rest)

    def start_call(self, tool, arguments='{}', token=None, id=None, more='', **rest):
        """Like call, but leaves the answer unread: returns the connection. `more`: members of params, as text."""
        return self.begin('POST', self.call_text(tool, arguments, token, id, more), **rest)

    def say(self, tool, arguments='{}', **rest):
        """The text of a call's first content block."""
        result = json.loads(self.call(tool, arguments, **rest).result())
        return result['content'][0]['text']

    def cancel(self, id, reason=None):
        params = '{"requestId":%s%s}' % (id, '' if reason is None else ',"reason":' + rawjson.dumps(reason))
        return self.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}' % params)

    def listen(self, last=None, **rest):
        replace = [('Accept', 'text/event-stream')] + ([('Last-Event-ID', last)] if last is not None else [])
        return self.send('GET', replace=replace, **rest)

    def tools(self, **rest):
        return [t['name'] for t in json.loads(self.ask('tools/list', **rest).result())['tools']]

    def end(self):
        return self.send('DELETE')

    def close(self):
        for wire in self.opened:
            wire.close()
