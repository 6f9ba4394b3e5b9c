"""A counted upstream whose calls ask: its questions stand in the call's stream like all it says, with event
ids, so a call that is waiting for an answer can be gone on with after its caller has died."""
import asyncio
import json

from counted import Counted


class Quizzing(Counted):
    """One tool more: inquire, which asks `method` with exact `params` under an exact `id` and ends with the
    exact answer. Every answer is an event; executions are counted under arguments.key."""

    def __init__(self, name='up', more_tools=(), **rest):
        super().__init__(name=name, more_tools=['inquire', 'quiz', 'say', 'echo', *more_tools], **rest)

    async def execute(self, call, stream):
        if call.name != 'inquire':
            return await super().execute(call, stream)
        a = call.arguments
        self.say_progress(call, stream, 0)
        id = a.get('id', '"q"')
        answer = asyncio.get_running_loop().create_future()
        self.asking[(call.session, id)] = answer
        stream.say('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}'
                   % (id, a.get('method', 'elicitation/create'), a.get('params', '{"message":"m"}')))
        self.event('asked', id=id, session=call.session, key=a.get('key'))
        off = asyncio.ensure_future(call.cancelled.wait())
        await asyncio.wait([answer, off], timeout=a.get('patience', 20), return_when=asyncio.FIRST_COMPLETED)
        off.cancel()
        if call.cancelled.is_set():
            self.cancelled[a.get('key')] += 1
        self.ended[a.get('key')] += 1
        text = answer.result() if answer.done() else 'no answer'
        stream.say(call.envelope('"result":' + json.dumps({'content': [{'type': 'text', 'text': text}]})), last=True)

    async def answer(self, call):
        if call.method != 'tools/call' or call.name != 'inquire':
            return await super().answer(call)
        self.executed[call.arguments.get('key')] += 1
        return await self.run_apart(call)
