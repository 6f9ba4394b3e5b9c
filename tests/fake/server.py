"""Scripted upstreams over sockets: `HttpFake` (Streamable HTTP) and `SseFake` (HTTP+SSE).

One event loop runs in a thread of the test process; a test reads `fake.records`, `fake.events`
and waits with `fake.wait…`.  Every server binds a port the kernel picks.
"""
import asyncio
import itertools
import threading
import uuid

from . import wire
from .script import Call, Script

_loop = None
_conns = itertools.count(1)


def loop():
    """The one loop of all fakes in this process, started at first use."""
    global _loop
    if _loop is None:
        _loop = asyncio.new_event_loop()
        threading.Thread(target=_loop.run_forever, name='fakes', daemon=True).start()
    return _loop


def on_loop(coroutine, timeout=10):
    return asyncio.run_coroutine_threadsafe(coroutine, loop()).result(timeout)


class Fake(Script):
    path = '/mcp'

    def __init__(self, host='127.0.0.1', port=0, answers='json', answer_headers=(), **script):
        super().__init__(**script)
        self.script = self
        self.answers = answers              # 'json' or 'sse' for responses with nothing before them
        self.answer_headers = list(answer_headers)
        self.host, self.wanted_port = host, port
        self.tasks = set()
        self.writers = set()
        self.server = None
        self.redirect_to = None
        self.streams = {}

    def start(self):
        async def begin():
            self.server = await asyncio.start_server(self.connection, self.host, self.wanted_port, limit=64 << 20)
            return self.server.sockets[0].getsockname()[1]
        self.port = on_loop(begin())
        self.url = 'http://%s:%d%s' % (self.host, self.port, self.path)
        return self

    def stop(self):
        async def end():
            self.server.close()
            for writer in list(self.writers):
                writer.transport.abort()
            for task in list(self.tasks):
                task.cancel()
        if self.server:
            on_loop(end())
            self.server = None

    def restart(self):
        """The same port again, with nothing remembered of sessions."""
        self.wanted_port = self.port
        return self.start()

    def drop_connections(self):
        async def drop():
            for writer in list(self.writers):
                writer.transport.abort()
        on_loop(drop())

    def release(self, id=None, tool=None):
        """Lets waiting tools go on."""
        def go():
            for (_, key), call in list(self.calls.items()):
                if (id is None or key == id) and (tool is None or call.name == tool):
                    call.released.set()
        loop().call_soon_threadsafe(go)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    async def connection(self, reader, writer):
        conn = next(_conns)
        self.writers.add(writer)
        task = asyncio.current_task()
        self.tasks.add(task)
        self.event('connected', conn=conn)
        try:
            while True:
                record = await wire.read_request(reader, conn)
                self.record(record)
                out = wire.Out(self, record, reader, writer)
                await self.serve(record, out)
                if not out.keep:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            self.writers.discard(writer)
            writer.close()
            self.event('disconnected', conn=conn)


class HttpFake(Fake):
    """Streamable HTTP.  Sessions are strict: an id it did not give, or ended, is 404."""

    def __init__(self, sessions=True, get='open', strict=True, **rest):
        super().__init__(**rest)
        self.uses_sessions, self.get, self.strict = sessions, get, strict
        self.live, self.deleted = set(), []
        self.deaf = False                   # takes no answers to its questions
        self.listeners = {}                 # session -> Out of its GET stream

    def expire_sessions(self):
        self.live.clear()

    def push(self, raw, session=None):
        """A message on the GET stream of one session, or of all."""
        async def write():
            for key, out in list(self.listeners.items()):
                if session in (None, key):
                    await out.event(raw)
        on_loop(write())

    async def standing(self, session):
        while session not in self.listeners:
            await asyncio.sleep(0.01)
        return self.listeners[session]

    async def serve(self, record, out):
        if record.path.split('?')[0] != self.path:
            return await out.plain(404, body=b'no such path')
        if record.method == 'POST':
            return await self.post(record, out)
        if record.method == 'DELETE' and self.unknown(record):
            return await out.plain(404)
        if record.method == 'DELETE':
            self.live.discard(record.session)
            self.deleted.append(record.session)
            self.event('deleted', session=record.session)
            return await out.plain(200)
        if record.method == 'GET':
            return await self.listen(record, out)
        await out.plain(405)

    def unknown(self, record):
        return self.uses_sessions and self.strict and record.session not in self.live

    async def post(self, record, out):
        if record.rpc == 'unreadable':
            return await out.plain(400)
        if record.rpc == 'initialize':
            if self.uses_sessions and 'initialize' not in self.faults:
                out.new_session = str(uuid.uuid4())
                self.live.add(out.new_session)
        elif self.unknown(record):
            self.event('unknown session', session=record.session)
            return await out.plain(404 if record.session else 400)
        if record.rpc == 'response' or record.raw('id') is None:
            if record.rpc == 'response' and self.deaf:
                return await wire.gone(out.reader)
            if record.rpc == 'response':
                await self.response(record.text, record.session)
            else:
                await self.notification(record.text, record.session)
            return await out.plain(202)
        call = Call(self, out, record.text, record.session or out.new_session)
        call.record = record
        watch = asyncio.ensure_future(self.watch(call, out)) if record.rpc == 'tools/call' else None
        try:
            await self.request(call)
        finally:
            if watch:
                watch.cancel()
        if not out.done:
            await out.close()

    async def watch(self, call, out):
        """Notes that the caller hung up while a tool was still running."""
        while not out.reader.at_eof() and out.reader.exception() is None:
            await asyncio.sleep(0.02)
        if not out.done:
            self.event('closed early', tool=call.name, id=call.id)

    async def listen(self, record, out):
        last = record.header('last-event-id')
        if self.unknown(record):
            return await out.plain(404 if record.session else 400)
        if last is not None:
            return await self.resume(last, out)
        if self.get != 'open':
            return await out.plain(int(self.get))
        await out.begin_stream()
        await out.raw(wire.chunk(b': hello\n\n'))
        self.listeners[record.session] = out
        self.event('listening', session=record.session)
        await wire.gone(out.reader)
        self.listeners.pop(record.session, None)
        out.abort()

    async def resume(self, last, out):
        stream, _, at = last.rpartition('-')
        events = self.streams.get(stream)
        self.event('resumed', last=last)
        if events is None:
            return await out.plain(400)
        for i, data in enumerate(events[int(at):], int(at) + 1):
            await out.event(data, id='%s-%d' % (stream, i))
        await out.close()


class SseFake(Fake):
    """HTTP+SSE of 2024-11-05: one GET stream, POSTs to the endpoint it names."""
    path = '/sse'

    def __init__(self, endpoint='/messages?s={s}', **rest):
        super().__init__(**rest)
        self.endpoint = endpoint
        self.streams_open = {}

    def push(self, raw, session=None):
        """A message outside calls on one stream, or on all."""
        async def write():
            for key, out in list(self.streams_open.items()):
                if session in (None, key):
                    await out.event(raw)
        on_loop(write())

    async def serve(self, record, out):
        if record.method == 'GET' and record.path.startswith(self.path):
            return await self.open(record, out)
        if record.method == 'POST' and '?s=' in record.path:
            return await self.post(record, out)
        await out.plain(405 if record.path.startswith(self.path) else 404)

    async def open(self, record, out):
        session = uuid.uuid4().hex
        self.streams_open[session] = out
        await out.begin_stream()
        await out.raw(wire.chunk(b'event: endpoint\ndata: %s\n\n' % self.endpoint.format(s=session).encode()))
        self.event('listening', session=session)
        await wire.gone(out.reader)
        self.streams_open.pop(session, None)
        self.event('stream closed', session=session)
        out.abort()

    async def post(self, record, out):
        session = record.path.split('?s=')[1]
        stream = self.streams_open.get(session)
        if stream is None:
            return await out.plain(404)
        await out.plain(202)
        if record.rpc == 'response':
            return await self.response(record.text, session)
        if record.raw('id') is None:
            return await self.notification(record.text, session)
        call = Call(self, _OnStream(stream), record.text, session)
        task = asyncio.ensure_future(self.request(call))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class _OnStream:
    """The sink of a call whose messages share one stream."""

    def __init__(self, stream):
        self.stream = stream

    async def send(self, raw):
        await self.stream.event(raw)

    finish = send

    async def close(self):
        pass

    async def fault(self, kind, call):
        if kind == 'cut':
            await call.progress('1')
            await self.stream.raw(wire.chunk(b'data: {"jsonrpc":"2.0","id":1,"resu'))
            return self.stream.abort()
        if kind in ('stall', 'silent'):
            call.script.event('hanging', tool=call.name, id=call.id)
            return await call.released.wait()
        if kind == 'badjson':
            return await self.send(call.envelope('"result":{"content":[}'))
        if kind == 'wrongid':
            return await self.send(call.envelope('"result":{}', id='"someone else"'))
        await call.error('{"code":-32603,"message":"no fault %s here"}' % kind)
