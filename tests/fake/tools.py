"""The tools of the scripted server.  Each writes exact bytes; none waits on a clock by itself."""
import asyncio
import itertools
import os
import sys

from . import rawjson

# Escapes, a lone NUL escape, numbers that a rebuilt document would change, unknown members.
EXACT = ('{"content":[{"type":"text","text":"\\u00e9\\ud83d\\ude00 \\u2028 \\u0000 tail",'
         '"x-unknown":{"k":[1,2.0,1e2]}}],"structuredContent":{"big":9007199254740993,"neg":-0.0,'
         '"f":1.10,"u":18446744073709551615},"_meta":{"vendor/x":{"a":null}},"zzz":true}')
ERROR = '{"code":-32055,"message":"custom \u00e9","data":{"n":9007199254740993,"why":["a"]},"x-more":1.0}'
LONGEST = 60  # seconds after which a waiting tool gives up, so that nothing outlives a failed test

NAMES = ['exact', 'err', 'slow', 'progress', 'echo', 'late', 'flood', 'big', 'whoami', 'pid', 'logs',
         'fault', 'stall', 'cut', 'dribble', 'polling', 'breaks', 'env', 'crash', 'noise', 'stderr', 'fork', 'iserror', 'quiz', 'say']


async def exact(call):
    await call.result(EXACT)


async def err(call):
    await call.error(rawjson.get(call.params, 'arguments', 'error') or ERROR)


async def iserror(call):
    await call.result('{"content":[{"type":"text","text":"it failed"}],"isError":true}')


async def echo(call):
    """The params exactly as they came, as the text of the answer."""
    await call.text_result(call.params)


async def whoami(call):
    await call.text_result('%s|%s' % (call.script.name, call.session))


async def pid(call):
    await call.text_result(str(os.getpid()))


async def progress(call):
    """n notes with the token as received; the last one stands right before the result."""
    for i in range(1, call.arguments.get('n', 3) + 1):
        await call.progress('%d.50' % i, ',"total":1e1,"message":"step %d","x-note":9007199254740993' % i)
    await call.text_result('progress done')


async def logs(call):
    for i in range(call.arguments.get('n', 3)):
        await call.note('notifications/message', '{"level":"info","data":{"i":%d.0}}' % i)
    await call.text_result('logs done')


async def _until(call, *events):
    waits = [asyncio.ensure_future(e.wait()) for e in events]
    try:
        await asyncio.wait(waits, timeout=call.arguments.get('seconds', LONGEST),
                           return_when=asyncio.FIRST_COMPLETED)
    finally:
        for w in waits:
            w.cancel()


async def slow(call):
    """Runs until it is released or cancelled; a cancelled one ends without an answer."""
    if call.arguments.get('first', False):
        await call.progress('0')
    call.script.event('started', tool='slow', id=call.id, session=call.session, token=call.token)
    await _until(call, call.cancelled, call.released)
    if call.cancelled.is_set():
        return await call.sink.close()
    await call.text_result(call.arguments.get('say', 'slow done'))


async def late(call):
    """Answers although it was cancelled."""
    await call.progress('0')
    call.script.event('started', tool='late', id=call.id, session=call.session, token=call.token)
    await _until(call, call.cancelled, call.released)
    try:
        await call.progress('1')
        await call.text_result('late answer')
    except ConnectionError:
        pass            # the caller has hung up, which ends the matter as well
    call.script.event('answered', tool='late')


async def flood(call):
    """Many notes as fast as the pipe takes them, then the result."""
    pad = 'p' * call.arguments.get('pad', 0)
    for i in range(call.arguments.get('n', 10000)):
        await call.progress(str(i), ',"message":"%s"' % pad if pad else '')
    call.script.event('flooded')
    await call.text_result('flood done')


async def ask(call):
    """Asks the host `method` with `params`, and answers with the exact text of what came back."""
    params = call.arguments.get('params', {})
    raw = rawjson.get(call.params, 'arguments', 'params') if params else '{}'
    answer = await call.ask(call.arguments.get('method', 'elicitation/create'), raw)
    if answer is None:
        return await call.sink.close()
    await call.text_result(rawjson.get(answer, 'result') or rawjson.get(answer, 'error'))


async def big(call):
    size = int(call.arguments.get('mib', 1) * (1 << 20))
    await call.text_result('b' * size)


async def env(call):
    await call.text_result(rawjson.dumps(dict(os.environ)))


async def crash(call):
    call.script.event('crashing')
    os._exit(7)


async def noise(call):
    sys.stdout.write('this line is not JSON\n')
    sys.stdout.flush()
    await call.text_result('after noise')


async def stderr(call):
    sys.stderr.write(call.arguments.get('say', 'a line on stderr') + '\n')
    sys.stderr.flush()
    await call.text_result('said')


async def fork(call):
    """A grandchild that would live on: only a kill of the group reaches it, or not even that."""
    child = await asyncio.create_subprocess_exec('sleep', '300', stdin=asyncio.subprocess.DEVNULL,
                                                 stdout=asyncio.subprocess.DEVNULL,
                                                 start_new_session=call.arguments.get('apart', False))
    await call.text_result(str(child.pid))


async def _chatter(call, pause):
    for i in itertools.count(1):
        await call.progress(str(i))
        await asyncio.sleep(pause)


async def quiz(call):
    """Asks the host `method` with exact `params` under an exact `id`; the text is the answer as it came.
    Silent work of `first_ms` before, progress every `chatter_ms` meanwhile, silent work of `busy_ms` after."""
    a = call.arguments
    await asyncio.sleep(a.get('first_ms', 0) / 1000)
    chatter = asyncio.ensure_future(_chatter(call, a['chatter_ms'] / 1000)) if 'chatter_ms' in a else None
    answer = await call.ask(a['method'], a.get('params', '{}'), a.get('id', '"q"'), a.get('via', 'call'))
    if chatter:
        chatter.cancel()
    if answer is not None and 'busy_ms' in a:
        await asyncio.sleep(a['busy_ms'] / 1000)
    if answer is None:
        call.script.event('asked in vain', id=a.get('id', '"q"'), session=call.session)
        return await call.sink.close()
    await call.text_result(answer)


async def say(call):
    """Sends the exact messages `raw`, on the call's stream or the session's own."""
    for raw in call.arguments['raw']:
        await call.say(raw, call.arguments.get('via', 'call'))
    await call.text_result('said')


async def run(call):
    own = globals().get(call.name)
    if call.name == 'fault':
        return await call.sink.fault(call.arguments['kind'], call)
    if call.name in ('stall', 'cut', 'dribble', 'polling', 'breaks'):
        return await call.sink.fault(call.name, call)
    if call.name in (*NAMES, 'ask') and own:
        return await own(call)
    await call.text_result('%s of %s' % (call.name, call.script.name))
