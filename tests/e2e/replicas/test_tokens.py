"""Two hosts, two keys: every sealed token of one, tried by the other at every endpoint of every replica, is
answered exactly as garbage is (issue 3 E3)."""
import itertools
import json

from asking import ALLOWED, BIG, CAN, FORM, Asking
from fake import rawjson
from fake.host import Host
from fake.sse_host import SseHost
from kit import http, key

from counted import Counted
from quizzing import Quizzing

LISTS = ('tools/list', 'prompts/list', 'resources/list', 'resources/templates/list')
SECRETS = {'one': 'secret-1', 'two': 'secret-2'}


def headers_of(who):
    return [('x-sluice-api-key', SECRETS[who])]


def open_host(url, who):
    return Host(url, headers=headers_of(who), capabilities=CAN).open()


def garbage_of(token):
    """Of the same shape, nobody's: the letters turned round, and one letter changed."""
    first = 'A' if token[:1] != 'A' else 'B'
    return [token[::-1], first + token[1:], 'x', 'x.1', token + 'A']


def tokens_of(url, who):
    """Every kind of token that a host is given, by kind."""
    host = open_host(url, who)
    found = {'session': host.session}
    for method in LISTS:
        found['cursor ' + method] = json.loads(host.ask(method).result())['nextCursor']
    events = list(host.call('steps' if '/up/' in url else 'up-steps', '{"key":"%s","n":3}' % who, token='1').events())
    found['event'] = events[1].id
    found['last event'] = events[-1].id
    return host, found


class Open:
    """What is under way for somebody: a question that waits for its answer, and a session of HTTP+SSE."""

    def __init__(self, url, who):
        self.asking = Asking(open_host(url, who), {'method': 'elicitation/create', 'params': FORM, 'id': '"q"'})
        self.question = self.asking.question()
        self.older = SseHost(url + '/sse', headers=headers_of(who)).open()

    def tokens(self):
        return {'question': json.loads(rawjson.get(self.question, 'id')),
                'sse session': self.older.endpoint.split('session=')[1]}

    def check(self):
        """Nobody has touched it."""
        self.asking.reply(self.question, BIG)
        assert rawjson.get(self.asking.upstream_got(), 'result') == BIG
        assert rawjson.get(self.older.do(self.older.text('ping')), 'result') == '{}'
        self.older.leave()


def attempts(url, who, session, token):
    """What this caller gets for that token in every place where a token can stand: {place: (status, body)}."""
    def said(host, method='POST', body=None, **rest):
        answer = host.send(method, body, **rest)
        text = answer.body()[:4000]
        answer.close()
        return answer.status, text
    plain = Host(url, headers=headers_of(who))
    mine = Host(url, headers=headers_of(who))
    mine.session = session
    stolen = Host(url, headers=headers_of(who))
    stolen.session = token
    ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    listen = [('Accept', 'text/event-stream')]
    given = '{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"by":"another"}}}' % json.dumps(token)
    got = {
        'question': said(mine, body=given),
        'session, request': said(stolen, body=ping),
        'session, note': said(stolen, body=cancel),
        'session, answer': said(stolen, body=answer),
        'session, stream': said(stolen, 'GET', replace=listen),
        'session, end': said(stolen, 'DELETE'),
        'event': said(mine, 'GET', replace=[*listen, ('Last-Event-ID', token)]),
        'sse session': said(plain, body=ping, path=plain.path.replace('/mcp', '/mcp/sse/messages?session=' + token)),
    }
    for method in LISTS:
        text = '{"jsonrpc":"2.0","id":7,"method":"%s","params":{"cursor":%s}}' % (method, json.dumps(token))
        got['cursor ' + method] = said(mine, body=text)
    return got


def test_every_token_of_another_is_answered_as_garbage_is(fakes, clusters):
    up = fakes('up', kind=Quizzing, more_tools=['t1', 't2', 't3'], page_size=2, prompts=['p1', 'p2', 'p3'],
               resources=['r:1', 'r:2', 'r:3'], templates=['a:{x}', 'b:{x}', 'c:{x}'])
    other = fakes('other', kind=Counted)
    cluster = clusters({'up': http(up, timeout='10m', **ALLOWED), 'other': http(other)}, count=2, balanced=False,
                       keys=[key(name, secret) for name, secret in SECRETS.items()])
    under_way = Open(cluster[0].url('up'), 'one')
    kept = []
    for names in ((), ('up',)):
        host, stolen = tokens_of(cluster[0].url(*names), 'one')
        kept.append((host, stolen))
        assert len(set(stolen.values())) == len(stolen)
        if names:
            stolen = {**stolen, **under_way.tokens()}
        calls, lists = sum(up.executed.values()), len(up.seen(rpc='tools/list'))
        for replica, path in itertools.product(cluster, ((), ('up',), ('other',))):
            url = replica.url(*path)
            session = open_host(url, 'two').session
            for kind, token in stolen.items():
                theirs = attempts(url, 'two', session, token)
                for place, answer in theirs.items():
                    # An answer to no question is taken and dropped.
                    expected = (202,) if place == 'question' else (200, 400, 404, 405)
                    assert answer[0] in expected, (kind, place, answer)
                    assert b'"result"' not in answer[1], (kind, place, answer)
                for garbage in garbage_of(token):
                    assert attempts(url, 'two', session, garbage) == theirs, (kind, garbage, path)
        assert sum(up.executed.values()) == calls and len(up.seen(rpc='tools/list')) == lists
    for host, stolen in kept:           # and nothing of it was harmed
        assert host.ask('ping').status == 200
        for method in LISTS:
            assert '"result"' in host.ask(method, {'cursor': stolen['cursor ' + method]}).final()
    under_way.check()
