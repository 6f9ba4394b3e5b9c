"""An upstream that counts what it executes and, when told so, gives event ids and lets a broken answer be
resumed. A call runs to its end whoever listens; it can be stopped and come back on its port, and then knows
no session and no stream of before, but still counts."""
import asyncio
import collections
import json
import uuid

from fake.server import HttpFake

TOOLS = ['quick', 'steps', 'wait']


class Stream:
    """What one call has said, numbered from 1, and whether it has ended."""

    def __init__(self, session):
        self.session = session
        self.name = uuid.uuid4().hex
        self.said = []
        self.done = False
        self.changed = asyncio.Event()

    def say(self, raw, last=False):
        self.said.append(raw)
        self.done = self.done or last
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self, out, after, with_ids):
        while True:
            while after < len(self.said):
                after += 1
                await out.event(self.said[after - 1], id='%s-%d' % (self.name, after) if with_ids else None)
            if self.done:
                return await out.close()
            await self.changed.wait()


class Counted(HttpFake):
    """Tools: quick (at once), steps (n notes, `pause` seconds apart) and wait (until cancelled, or `seconds`).
    Each execution is counted under arguments.key."""

    def __init__(self, name='up', event_ids=True, more_tools=(), **rest):
        super().__init__(name=name, tool_names=[*TOOLS, *more_tools], answers='sse', **rest)
        self.event_ids = event_ids
        self.executed = collections.Counter()
        self.cancelled = collections.Counter()
        self.ended = collections.Counter()
        self.logs = {}
        self.running = set()
        self.resumes = 0

    def doubled(self):
        return sorted(key for key, count in self.executed.items() if count > 1)

    def stop(self):
        self.logs.clear()
        self.live.clear()
        for task in list(self.running):
            asyncio.run_coroutine_threadsafe(_cancel(task), task.get_loop()).result(5)
        super().stop()

    async def answer(self, call):
        if call.method != 'tools/call' or call.name not in TOOLS:
            return await super().answer(call)
        self.executed[call.arguments.get('key')] += 1
        await self.run_apart(call)

    async def run_apart(self, call):
        stream = Stream(call.session)
        self.logs[stream.name] = stream
        task = asyncio.ensure_future(self.execute(call, stream))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        await stream.follow(call.sink, 0, self.event_ids)

    async def execute(self, call, stream):
        a = call.arguments
        text = 'done ' + str(a.get('key'))
        if call.name == 'wait':
            self.say_progress(call, stream, 0)
            try:
                await asyncio.wait_for(call.cancelled.wait(), a.get('seconds', 20))
                self.cancelled[a.get('key')] += 1
            except asyncio.TimeoutError:
                pass
        elif call.name == 'steps':
            for i in range(a.get('n', 5)):
                self.say_progress(call, stream, i)
                try:
                    await asyncio.wait_for(call.cancelled.wait(), a.get('pause', 0.05))
                    self.cancelled[a.get('key')] += 1
                    break
                except asyncio.TimeoutError:
                    pass
        self.ended[a.get('key')] += 1
        result = {'content': [{'type': 'text', 'text': text}]}
        stream.say(call.envelope('"result":' + json.dumps(result)), last=True)

    @staticmethod
    def say_progress(call, stream, value):
        if call.token is not None:
            stream.say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}'
                       % (call.token, value))

    async def request(self, call):
        """As Script.request, but a cancel must find the call after its connection has gone."""
        key = (call.session, call.id)
        self.calls[key] = call
        kind = self.faults.get(call.method)
        if kind:
            return await call.sink.fault(kind, call)
        await self.answer(call)

    async def resume(self, last, out):
        name, _, at = last.rpartition('-')
        stream = self.logs.get(name)
        self.event('resumed', last=last, known=stream is not None)
        if stream is None or stream.session != out.record.session:
            return await out.plain(400)
        self.resumes += 1
        await stream.follow(out, int(at), True)


async def _cancel(task):
    task.cancel()
