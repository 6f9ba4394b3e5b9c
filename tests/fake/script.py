"""What the scripted MCP server says, whatever the transport.

`Script` holds the lists and options, keeps what reached it, and turns one message into what a
sink writes.  A sink offers `send(raw)` for a message that is not final, `finish(raw)` for the
response, `close()` for ending without one, and `fault(kind, call)` where the transport can break.
"""
import asyncio
import base64
import itertools
import json
import threading
import time

from . import rawjson, tools


class Call:
    """One request being answered."""

    def __init__(self, script, sink, text, session):
        self.script, self.sink, self.text, self.session = script, sink, text, session
        self.id = rawjson.get(text, 'id')
        self.method = json.loads(rawjson.get(text, 'method') or 'null')
        self.params = rawjson.get(text, 'params') or '{}'
        self.token = rawjson.get(self.params, '_meta', 'progressToken')
        self.name = json.loads(rawjson.get(self.params, 'name') or 'null')
        self.arguments = json.loads(rawjson.get(self.params, 'arguments') or '{}')
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()

    def envelope(self, rest, id=None):
        return '{"jsonrpc":"2.0","id":%s,%s}' % (id or self.id, rest)

    async def result(self, raw):
        await self.sink.finish(self.envelope('"result":' + raw))

    async def error(self, raw):
        await self.sink.finish(self.envelope('"error":' + raw))

    async def text_result(self, text):
        await self.result('{"content":[{"type":"text","text":%s}]}' % rawjson.dumps(text))

    async def note(self, method, params_raw):
        await self.sink.send('{"jsonrpc":"2.0","method":"%s","params":%s}' % (method, params_raw))

    async def ask(self, method, params_raw, id_raw=None, via='call'):
        """A request to the host, on this call's stream or the session's own; the exact answer, or None when
        the call was cancelled before."""
        id_raw = id_raw or '"ask-%d"' % next(self.script.counter)
        answer = asyncio.get_running_loop().create_future()
        self.script.asking[(self.session, id_raw)] = answer
        raw = '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' % (id_raw, method, params_raw)
        await self.say(raw, via)
        self.script.event('asked', id=id_raw, session=self.session)
        off = asyncio.ensure_future(self.cancelled.wait())
        await asyncio.wait([answer, off], timeout=60, return_when=asyncio.FIRST_COMPLETED)
        off.cancel()
        return answer.result() if answer.done() else None

    async def say(self, raw, via='call'):
        if via == 'call':
            return await self.sink.send(raw)
        out = await self.script.standing(self.session)
        await out.event(raw)

    async def progress(self, value, rest=''):
        if self.token is not None:
            await self.note('notifications/progress',
                            '{"progressToken":%s,"progress":%s%s}' % (self.token, value, rest))


class Script:
    """Options are plain attributes; a test may change them while the server runs."""

    def __init__(self, name='fake', tool_names=None, extra_tools=(), page_size=1000, prompts=(), resources=(),
                 templates=(), capabilities=None, instructions=None, revision=None, faults=None,
                 init_extra=None, on_event=None):
        self.name = name
        self.tools = [{'name': n, 'description': 'tool ' + n, 'inputSchema': {'type': 'object'}}
                      for n in (tool_names if tool_names is not None else tools.NAMES)] + list(extra_tools)
        self.prompts = [{'name': p} if isinstance(p, str) else p for p in prompts]
        self.resources = [{'uri': r, 'name': r} if isinstance(r, str) else r for r in resources]
        self.templates = [{'uriTemplate': t, 'name': t} if isinstance(t, str) else t for t in templates]
        self.page_size = page_size
        self.capabilities = capabilities
        self.instructions = instructions
        self.revision = revision            # None: echo what was asked for
        self.faults = dict(faults or {})    # method -> kind, answered by the transport
        self.init_extra = init_extra or {}
        self.errors = {}                    # method -> exact JSON-RPC error
        self.cursors = None                 # 'repeat', 'empty again', 'endless': never finishes; 'empty': one page more
        self.tools_of = None                # call.record -> names: the tools that one sees (HTTP only)
        self.list_revision = None           # `_meta.revision` of every page
        self.events = []                    # (kind, details), e.g. ('cancelled', {...})
        self.records = []
        self.calls = {}                     # (session, exact id text) -> Call, while it runs
        self.asking = {}                    # (session, exact id text) -> future of the answer
        self.changed = threading.Condition()
        self.counter = itertools.count(1)
        self.on_event = on_event

    # ---- what a test reads -------------------------------------------------------------
    def event(self, kind, **details):
        with self.changed:
            self.events.append((kind, dict(details, at=time.monotonic())))
            self.changed.notify_all()
        if self.on_event:
            self.on_event(kind, details)

    def record(self, record):
        with self.changed:
            self.records.append(record)
            self.changed.notify_all()

    def wait(self, look, timeout=10):
        """The first true value of look(), or an AssertionError that shows what did arrive."""
        until = time.monotonic() + timeout
        with self.changed:
            while True:
                got = look()
                if got:
                    return got
                left = until - time.monotonic()
                if left <= 0:
                    seen = [r.rpc or r.method for r in self.records][-20:]
                    raise AssertionError('upstream %s did not see it in %ss; requests: %s; events: %s'
                                         % (self.name, timeout, seen, [e[0] for e in self.events][-20:]))
                self.changed.wait(left)

    def seen(self, rpc=None, method=None, tool=None):
        return [r for r in self.records if (rpc is None or r.rpc == rpc)
                and (method is None or r.method == method) and (tool is None or r.tool == tool)]

    def wait_seen(self, rpc=None, method=None, tool=None, count=1, timeout=10):
        return self.wait(lambda: len(self.seen(rpc, method, tool)) >= count
                         and self.seen(rpc, method, tool), timeout)

    def wait_event(self, kind, timeout=10, **want):
        def look():
            return next((d for k, d in self.events
                         if k == kind and all(d.get(n) == v for n, v in want.items())), None)
        return self.wait(look, timeout)

    def event_list(self, kind):
        return [d for k, d in self.events if k == kind]

    # ---- the protocol ------------------------------------------------------------------
    async def notification(self, text, session):
        method = json.loads(rawjson.get(text, 'method'))
        if method != 'notifications/cancelled':
            return
        target = rawjson.get(text, 'params', 'requestId')
        call = self.calls.get((session, target))
        self.event('cancelled', id=target, matched=call is not None, tool=call.name if call else None,
                   reason=rawjson.get(text, 'params', 'reason'), session=session)
        if call:
            call.cancelled.set()

    async def response(self, text, session):
        """An answer to a question of ours; every one is an event, late and double ones too."""
        id = rawjson.get(text, 'id')
        self.event('answer', id=id, text=text, session=session)
        waiting = self.asking.get((session, id))
        if waiting and not waiting.done():
            waiting.set_result(text)

    async def request(self, call):
        key = (call.session, call.id)
        self.calls[key] = call
        try:
            kind = self.faults.get(call.method)
            if kind == 'held':              # answered when a test releases it
                await call.released.wait()
                await self.answer(call)
            elif kind == 'refused':
                await call.error('{"code":-32602,"message":"no such cursor"}')
            elif kind:
                await call.sink.fault(kind, call)
            else:
                await self.answer(call)
        finally:
            if self.calls.get(key) is call:
                del self.calls[key]

    def caps(self):
        if self.capabilities is not None:
            return self.capabilities
        caps = {'tools': {}}
        if self.prompts:
            caps['prompts'] = {}
            caps['completions'] = {}
        if self.resources or self.templates:
            caps['resources'] = {}
        return caps

    async def initialize(self, call):
        asked = json.loads(call.params).get('protocolVersion')
        body = {'protocolVersion': self.revision or asked, 'capabilities': self.caps(),
                'serverInfo': {'name': self.name, 'version': '1'}, **self.init_extra}
        if self.instructions:
            body['instructions'] = self.instructions
        await call.result(rawjson.dumps(body))

    async def listing(self, call, member, items):
        cursor = json.loads(call.params).get('cursor')
        at = int(base64.b64decode(cursor)[2:]) if cursor and not self.cursors else 0
        body = {member: items[at:at + self.page_size]}
        if self.cursors == 'empty' and cursor is not None:
            body = {member: items[self.page_size:]}
        elif self.cursors in ('empty', 'empty again'):
            body['nextCursor'] = ''
        elif self.cursors == 'repeat':
            body['nextCursor'] = 'always the same'
        elif self.cursors == 'endless':
            body['nextCursor'] = 'again %d' % next(self.counter)
        elif at + self.page_size < len(items):
            body['nextCursor'] = base64.b64encode(b'o:%d' % (at + self.page_size)).decode()
        if self.list_revision is not None:
            body['_meta'] = {'revision': self.list_revision}
        await call.result(rawjson.dumps(body))

    def tools_for(self, call):
        if self.tools_of is None:
            return self.tools
        return [{'name': n, 'inputSchema': {'type': 'object'}} for n in self.tools_of(call.record)]

    async def answer(self, call):
        method = call.method
        if method in self.errors:
            return await call.error(self.errors[method])
        if method == 'initialize':
            return await self.initialize(call)
        if method in ('resources/subscribe', 'resources/unsubscribe'):
            uri = json.loads(rawjson.get(call.params, 'uri'))
            if uri not in [r['uri'] for r in self.resources]:
                return await call.error('{"code":-32002,"message":"Resource not found"}')
            self.event(method.split('/')[1] + 'd', uri=uri, session=call.session)
            return await call.result('{}')
        if method in ('ping', 'logging/setLevel'):
            return await call.result('{}')
        if method == 'tools/list':
            return await self.listing(call, 'tools', self.tools_for(call))
        if method == 'prompts/list':
            return await self.listing(call, 'prompts', self.prompts)
        if method == 'resources/list':
            return await self.listing(call, 'resources', self.resources)
        if method == 'resources/templates/list':
            return await self.listing(call, 'resourceTemplates', self.templates)
        if method == 'resources/read':
            return await self.read(call)
        if method == 'prompts/get':
            if call.name not in [p['name'] for p in self.prompts]:
                return await call.error('{"code":-32602,"message":"no such prompt"}')
            return await call.result('{"messages":[{"role":"user","content":{"type":"text","text":%s}}]}'
                                     % rawjson.dumps('%s of %s' % (call.name, self.name)))
        if method == 'completion/complete':
            return await call.result('{"completion":{"values":["%s-1"],"total":1.0}}' % self.name)
        if method == 'tools/call':
            if call.name in [t['name'] for t in self.tools_for(call)]:
                return await tools.run(call)
            return await call.error('{"code":-32602,"message":"Unknown tool"}')
        await call.error('{"code":-32601,"message":"Method not found"}')

    async def read(self, call):
        uri = json.loads(rawjson.get(call.params, 'uri'))
        known = [r['uri'] for r in self.resources]
        heads = [t['uriTemplate'].split('{')[0] for t in self.templates]
        if uri in known or any(uri.startswith(h) for h in heads):
            return await call.result('{"contents":[{"uri":%s,"text":%s}]}'
                                     % (rawjson.dumps(uri), rawjson.dumps('from ' + self.name)))
        await call.error('{"code":-32002,"message":"Resource not found","data":{"uri":%s}}' % rawjson.dumps(uri))
