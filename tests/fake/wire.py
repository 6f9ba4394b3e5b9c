"""HTTP/1.1 as the fakes speak it: exact request bytes kept, responses written by hand."""
import dataclasses
import json
import time

from . import rawjson

REASONS = {200: 'OK', 202: 'Accepted', 307: 'Temporary Redirect', 400: 'Bad Request', 401: 'Unauthorized',
           403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 429: 'Too Many Requests',
           500: 'Internal Server Error', 502: 'Bad Gateway', 503: 'Service Unavailable'}


@dataclasses.dataclass
class Record:
    """One request as it reached the upstream."""
    method: str
    path: str
    headers: list
    head: bytes
    body: bytes
    conn: int
    at: float
    rpc: str = None     # the JSON-RPC method, 'response', or None
    tool: str = None    # params.name

    def header(self, name):
        found = self.header_all(name)
        return found[0] if found else None

    def header_all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    @property
    def session(self):
        return self.header('mcp-session-id')

    @property
    def text(self):
        return rawjson.text_of(self.body)

    def raw(self, *path):
        return rawjson.get(self.body, *path)

    def name_the_message(self):
        try:
            method = rawjson.get(self.body, 'method')
            self.rpc = json.loads(method) if method else ('response' if self.body else None)
            name = rawjson.get(self.body, 'params', 'name')
            self.tool = json.loads(name) if name else None
        except (ValueError, IndexError):
            self.rpc = 'unreadable'


async def read_request(reader, conn):
    head = await reader.readuntil(b'\r\n\r\n')
    lines = head.decode('latin-1').split('\r\n')
    method, path, _ = lines[0].split(' ', 2)
    headers = [tuple(part.strip() for part in line.split(':', 1)) for line in lines[1:] if line]
    lower = {n.lower(): v for n, v in headers}
    if 'chunked' in lower.get('transfer-encoding', '').lower():
        body = await read_chunks(reader)
    else:
        body = await reader.readexactly(int(lower.get('content-length', 0)))
    record = Record(method, path, headers, head, body, conn, time.monotonic())
    record.name_the_message()
    return record


async def read_chunks(reader):
    body = b''
    while True:
        size = int((await reader.readline()).split(b';')[0], 16)
        body += await reader.readexactly(size)
        await reader.readline()
        if size == 0:
            return body


def head(status, headers=()):
    lines = ['HTTP/1.1 %d %s' % (status, REASONS.get(status, 'Status'))]
    lines += ['%s: %s' % pair for pair in headers]
    return ('\r\n'.join(lines) + '\r\n\r\n').encode('latin-1')


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


async def gone(reader):
    """Returns when the peer closes (pipelined bytes do not happen in these tests)."""
    while await reader.read(4096):
        pass


class Out:
    """The response of one HTTP request: JSON or SSE, decided as late as possible."""

    def __init__(self, server, record, reader, writer):
        self.server, self.record, self.reader, self.writer = server, record, reader, writer
        self.script = server.script
        self.streaming = False
        self.done = False
        self.keep = True                # whether the connection may carry another request
        self.new_session = None

    def extra(self):
        more = list(self.server.answer_headers)
        if self.new_session:
            more.append(('Mcp-Session-Id', self.new_session))
        return more

    async def raw(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def plain(self, status, headers=(), body=b''):
        self.done = True
        await self.raw(head(status, [*headers, *self.extra(), ('Content-Length', len(body))]) + body)

    async def begin_stream(self):
        if not self.streaming:
            self.streaming = True
            await self.raw(head(200, [('Content-Type', 'text/event-stream'), *self.extra(),
                                      ('Transfer-Encoding', 'chunked')]))

    async def event(self, data, id=None, retry=None):
        await self.begin_stream()
        lines = b''
        if id is not None:
            lines += b'id: %s\n' % rawjson.bytes_of(id)
        if retry is not None:
            lines += b'retry: %d\n' % retry
        lines += b'event: message\n' if data else b''
        await self.raw(chunk(lines + b'data: ' + rawjson.bytes_of(data) + b'\n\n'))

    async def send(self, raw):
        if not self.done:
            await self.event(raw)

    async def finish(self, raw):
        if self.done:
            return
        if not self.streaming and self.server.answers == 'json':
            body = rawjson.bytes_of(raw)
            return await self.plain(200, [('Content-Type', 'application/json')], body)
        await self.event(raw)
        await self.close()

    async def close(self):
        """Ends the response, without an answer if none was given."""
        if self.done:
            return
        await self.begin_stream()
        self.done = True
        await self.raw(b'0\r\n\r\n')

    def abort(self, reset=False):
        self.done, self.keep = True, False
        if reset:
            self.writer.transport.abort()
        else:
            self.writer.close()

    async def fault(self, kind, call):
        from . import faults
        await faults.run(kind, call, self)
