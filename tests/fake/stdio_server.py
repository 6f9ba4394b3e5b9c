"""The scripted server over stdio, run as a child of the gateway: NDJSON, exact bytes.

    python3 stdio_server.py LOG.jsonl '{"name": "st", ...}'

What reaches it is appended to LOG as one JSON line per record or event, so that a test sees it
even after the process was killed.  Options beyond Script's: ignore_term, ignore_eof, die_at_start,
banner (a non-JSON line first).
"""
import asyncio
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fake import rawjson, tools                     # noqa: E402
from fake.script import Call, Script                # noqa: E402


class Lines:
    """The sink: one message a line, one writer at a time."""

    def __init__(self):
        self.fd = sys.stdout.fileno()

    async def send(self, raw):
        data = rawjson.bytes_of(raw) + b'\n'
        while data:
            done = await asyncio.get_running_loop().run_in_executor(None, os.write, self.fd, data) \
                if len(data) > 4096 else os.write(self.fd, data)
            data = data[done:]
        await asyncio.sleep(0)

    finish = send

    async def close(self):
        pass

    async def fault(self, kind, call):
        if kind in ('silent', 'stall'):
            return await tools._until(call, call.cancelled, call.released)
        if kind == 'badjson':
            return await self.send(call.envelope('"result":{"content":[}'))
        if kind == 'dup':
            return await self.send(call.envelope('"result":{},"result":{"content":[]}'))
        if kind == 'wrongid':
            return await self.send(call.envelope('"result":{}', id='"someone else"'))
        if kind == 'cut':
            os.write(self.fd, b'{"jsonrpc":"2.0","id":')
            os._exit(9)
        if kind == 'huge':
            os.write(self.fd, b'{"jsonrpc":"2.0","id":1,"result":"')
            while True:
                await self.send('e' * 65000)
        await call.error('{"code":-32603,"message":"no fault %s here"}' % kind)


async def main():
    log = open(sys.argv[1], 'a', buffering=1)
    options = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    flags = {k: options.pop(k, False) for k in ('ignore_term', 'ignore_eof', 'die_at_start', 'banner')}

    def say(kind, details):
        log.write(json.dumps({'kind': kind, 'pid': os.getpid(), **details}) + '\n')

    script = Script(on_event=say, **options)
    say('up', {'pgid': os.getpgid(0), 'cwd': os.getcwd()})
    if flags['die_at_start']:
        sys.exit(3)
    if flags['ignore_term']:
        signal.signal(signal.SIGTERM, lambda *_: say('ignored TERM', {}))
    if flags['banner']:
        os.write(1, b'Welcome to this server! not JSON\n')
    reader = asyncio.StreamReader(limit=64 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sink, running = Lines(), set()
    while line := await reader.readline():
        text = rawjson.text_of(line.rstrip(b'\n'))
        say('line', {'text': text})
        if rawjson.get(text, 'method') is None:
            await script.response(text, None)
            continue
        if rawjson.get(text, 'id') is None:
            await script.notification(text, None)
            continue
        task = asyncio.ensure_future(script.request(Call(script, sink, text, None)))
        running.add(task)
        task.add_done_callback(running.discard)
    say('end of input', {})
    if flags['ignore_eof']:
        await asyncio.sleep(60)


asyncio.run(main())
