"""The ways an HTTP upstream can break, by name.  A number is a status with a canary body."""
import asyncio
import gzip as zip

from . import rawjson, tools, wire

CANARY = 'CANARY-prose http://canary.internal:1234/secret'


async def run(kind, call, out):
    if str(kind).isdigit():
        return await status(int(kind), call, out)
    await globals()[kind](call, out)


async def status(code, call, out):
    more = [('WWW-Authenticate', 'Bearer realm="%s"' % CANARY.replace('"', ''))] if code == 401 else []
    body = ('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"%s"}}' % CANARY).encode()
    await out.plain(code, [('Content-Type', 'application/json'), *more], body)


async def _hang(call, out):
    call.script.event('hanging', tool=call.name, method=call.method, id=call.id)
    waits = [asyncio.ensure_future(w) for w in (wire.gone(out.reader), call.released.wait(), call.cancelled.wait())]
    await asyncio.wait(waits, timeout=tools.LONGEST, return_when=asyncio.FIRST_COMPLETED)
    for w in waits:
        w.cancel()
    call.script.event('hung up', tool=call.name, method=call.method, id=call.id)
    out.abort()


async def silent(call, out):
    await _hang(call, out)


async def stall(call, out):
    """SSE headers, then nothing."""
    await out.begin_stream()
    await _hang(call, out)


async def stallbody(call, out):
    await out.raw(wire.head(200, [('Content-Type', 'application/json'), ('Content-Length', 500)]) + b'{"jsonrpc":')
    await _hang(call, out)


async def cut(call, out):
    """One whole note, then half an event, then the end of the connection."""
    await call.progress('1')
    await out.raw(wire.chunk(b'event: message\ndata: {"jsonrpc":"2.0","id":%s,"result":{"con'
                             % rawjson.bytes_of(call.id)))
    out.abort()


async def cutjson(call, out):
    await out.raw(wire.head(200, [('Content-Type', 'application/json'), ('Content-Length', 500)]) + b'{"jsonrpc":')
    out.abort()


async def close(call, out):
    out.abort()


async def reset(call, out):
    out.abort(reset=True)


async def dribble(call, out):
    """The whole SSE answer one byte at a time, headers and chunk sizes too."""
    note = ''
    if call.token is not None:
        note = ('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}'
                '\r\n\r\n' % call.token)
    events = rawjson.bytes_of(': a comment\n\n' + note + 'id: 7\revent: message\rdata: '
                              + call.envelope('"result":' + tools.EXACT) + '\r\r')
    whole = wire.head(200, [('Content-Type', 'text/event-stream'), ('Transfer-Encoding', 'chunked')])
    whole += wire.chunk(events[:11]) + wire.chunk(events[11:]) + b'0\r\n\r\n'
    out.done = True
    for i in range(len(whole)):
        await out.raw(whole[i:i + 1])
        await asyncio.sleep(0)


async def _json(out, raw):
    await out.plain(200, [('Content-Type', 'application/json')], rawjson.bytes_of(raw))


async def badjson(call, out):
    await _json(out, call.envelope('"result":{"content":[}'))


async def badutf8(call, out):
    await _json(out, rawjson.bytes_of(call.envelope('"result":{"content":[{"type":"text","text":"@@"}]}'))
                .replace(b'@@', b'\xff\xfe'))


async def dup(call, out):
    await _json(out, call.envelope('"result":{"content":[]},"result":{"content":[1]}'))


async def dupid(call, out):
    await _json(out, call.envelope('"\\u0069d":99,"result":{"content":[]}'))


async def wrongid(call, out):
    await _json(out, call.envelope('"result":{"content":[{"type":"text","text":"CANARY wrong"}]}', id='"someone else"'))


async def both(call, out):
    await _json(out, call.envelope('"result":{},"error":{"code":1,"message":"x"}'))


async def html(call, out):
    await out.plain(200, [('Content-Type', 'text/html')], b'<html>' + CANARY.encode() + b'</html>')


async def gzip(call, out):
    """Compressed, though nobody asked for it."""
    body = zip.compress(rawjson.bytes_of(call.envelope('"result":' + tools.EXACT)))
    await out.plain(200, [('Content-Type', 'application/json'), ('Content-Encoding', 'gzip')], body)


async def gzipped_events(call, out):
    event = zip.compress(b'data: %s\n\n' % rawjson.bytes_of(call.envelope('"result":' + tools.EXACT)))
    await out.plain(200, [('Content-Type', 'text/event-stream'), ('Content-Encoding', 'x-rot13 ' + CANARY[:6])], event)


async def nolist(call, out):
    await _json(out, call.envelope('"result":{"things":[]}'))


async def empty202(call, out):
    await out.plain(202)


async def hugehead(call, out):
    await out.raw(b'HTTP/1.1 200 OK\r\nX-Pad: ' + b'h' * (256 << 10) + b'\r\n\r\n')
    out.abort()


async def _endless(out, call):
    block = b'e' * 65536
    try:
        for _ in range(1600):       # 100 MiB, unless the reader gives up as it should
            await out.raw(wire.chunk(block))
            call.script.sent_bytes = getattr(call.script, 'sent_bytes', 0) + len(block)
    except ConnectionError:
        pass
    out.abort()


async def huge(call, out):
    await out.raw(wire.head(200, [('Content-Type', 'application/json'), ('Transfer-Encoding', 'chunked')]))
    await out.raw(wire.chunk(rawjson.bytes_of(call.envelope('"result":{"x":"'))))
    await _endless(out, call)


async def hugeevent(call, out):
    await out.begin_stream()
    await out.raw(wire.chunk(b'data: '))
    await _endless(out, call)


async def after(call, out):
    """Messages after the result: they must reach nobody."""
    await call.progress('1')
    await out.event(call.envelope('"result":{"content":[{"type":"text","text":"first"}]}'))
    await call.progress('2')
    await out.event(call.envelope('"result":{"content":[{"type":"text","text":"second"}]}'))
    await out.close()


async def noanswer(call, out):
    """A stream that ends properly without the response."""
    await call.progress('1')
    await out.close()


async def nonote(call, out):
    """Progress for a token nobody gave."""
    await call.note('notifications/progress', '{"progressToken":"nobody gave this","progress":1}')
    await call.text_result('ok')


async def redirect(call, out):
    await out.plain(307, [('Location', call.script.redirect_to)])


async def multiline(call, out):
    """One message over several data lines, as SSE allows."""
    await out.begin_stream()
    whole = call.envelope('"result":{"content":[{"type":"text","text":"many lines"}]}')
    lines = whole.replace(',"result"', '\n,"result"').replace('[{', '[\n{').split('\n')
    await out.raw(wire.chunk(b''.join(b'data: %s\n' % rawjson.bytes_of(line) for line in lines) + b'\n'))
    await out.close()


async def _log(call, first):
    """Events of a stream that a GET with Last-Event-ID can fetch, numbered from `first`."""
    stream = 's%d' % next(call.script.counter)
    events = []
    if call.token is not None:
        events = ['{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}'
                  % (call.token, i) for i in (1, 2, 3, 4)]
    events.append(call.envelope('"result":{"content":[{"type":"text","text":"resumed"}]}'))
    call.script.streams[stream] = events
    return stream, events


async def polling(call, out):
    """The voluntary close of 2025-11-25: priming event, retry, end; the rest comes by GET."""
    stream, _ = await _log(call, 1)
    await out.event('', id=stream + '-0', retry=call.arguments.get('retry', 50))
    await out.close()
    call.script.event('polled', stream=stream)


async def breaks(call, out):
    """Two events with ids, half of the third, then the connection dies; the rest comes by GET."""
    stream, events = await _log(call, 1)
    await out.event('', id=stream + '-0', retry=call.arguments.get('retry', 50))
    for i, data in enumerate(events[:2], 1):
        await out.event(data, id='%s-%d' % (stream, i))
    await out.raw(wire.chunk(b'id: %s-3\ndata: {"jsonrpc"' % stream.encode()))
    out.abort()
    call.script.event('broke', stream=stream)
