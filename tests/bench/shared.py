"""What a shared store costs: calls through one and three replicas on Redis against one with the memory store, a page of
a listing, the replay of a stream at another replica, and the commands that Redis gets for a call."""
import json
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / 'e2e'), str(HERE.parent / 'e2e' / 'replicas')]

from lib.gateway import Gateway                                 # noqa: E402
from lib.procs import Process, descendants                      # noqa: E402
from lib.redis import Redis                                     # noqa: E402
from fake.host import Host                                      # noqa: E402

from balancer import Balancer                                   # noqa: E402
from cluster import Cluster                                     # noqa: E402
from proxies import CONFIG, Target                              # noqa: E402

CONNECTIONS = 32
TOOLS, PAGE = 400, 20
SALT = ['a salt of the bench']


def server(port):
    return {'up': {'transport': 'http', 'url': 'http://127.0.0.1:%d/mcp' % port}}


class Replicas(Target):
    """Gateways that load reaches through one address."""

    def __init__(self, name, gateways, port):
        super().__init__(name, port, '/up/mcp')
        self.gateways = gateways

    @property
    def pids(self):
        roots = [g.pid for g in self.gateways]
        return [p for pid in roots for p in [pid, *descendants(pid)]]


class SharedStore:
    """Fills `cells` (as the other calls are), `facts`; `bench` runs and judges the rounds."""

    def __init__(self, bench, upstream_port):
        self.bench, self.upstream_port = bench, upstream_port
        self.facts = []

    def run(self):
        with ExitStack() as stack:
            def closing(thing, close='close'):
                stack.callback(getattr(thing, close))
                return thing
            redis = closing(Redis(appendfsync='everysec'))
            alone = closing(Gateway({**CONFIG, 'mcp_servers': server(self.upstream_port), 'salt_keys': SALT}), 'stop')
            one = closing(Cluster(server(self.upstream_port), count=1, redis=redis, balanced=False, **CONFIG))
            three = closing(Cluster(server(self.upstream_port), count=3, redis=redis, balanced=False,
                                    **{**CONFIG, 'salt_keys': SALT}))
            before_one = closing(Balancer([(alone.port, int(alone.admin_url.rsplit(':', 1)[1]))], reuse='always'))
            before_three = closing(Balancer([(r.port, r.admin_port) for r in three], reuse='always'))
            self.calls(alone, one, three, before_one, before_three)
            self.commands(one)
            self.replays(three)
        self.pages()

    def calls(self, alone, one, three, before_one, before_three):
        gateways = [r.gateway for r in three]
        targets = [Replicas('memory', [alone], alone.port), Replicas('redis', [one[0].gateway], one[0].port),
                   Replicas('memory, balancer', [alone], before_one.port), Replicas('redis ×3, balancer', gateways, before_three.port)]
        for kind in ('json', 'sse'):
            rounds = {t.name: [] for t in targets}
            for _ in range(self.bench.options.rounds):
                for target in targets:
                    rounds[target.name].append(self.bench.one(target, kind, CONNECTIONS))
            for target in targets:
                self.bench.cell(kind, CONNECTIONS, target, rounds[target.name])

    def fact(self, what, value, base=None):
        self.facts.append([what, value, base or '–'])
        self.bench.verdict(True, what)

    def commands(self, one):
        """Redis commands for a call in a known session, from the gateway's own count."""
        def asked():
            return one[0].metric('sluice_store_commands_total')
        for tool, what in (('fast', 'an answer'), ('stream100', '100 notes and an answer')):
            host = Host(one[0].url('up')).open()
            host.call(tool, '{}').final()
            calls, before, begun = 200, asked(), time.perf_counter()
            for _ in range(calls):
                host.call(tool, '{}', token='1').final()
            # Less what the replica's own lease took meanwhile: three commands every third of it.
            lease = (time.perf_counter() - begun) / (5 / 3) * 2
            self.fact('Redis commands for a call: ' + what, '%.2f' % max((asked() - before - lease) / calls, 0))
            host.close()

    def replays(self, three):
        """A stream that broke at its first event, read to its end at another replica."""
        events = spent = 0
        host = Host(three[0].url('up')).open()
        for turn in range(max(int(self.bench.options.seconds * 25), 5)):
            answer = host.call('stream100', '{}', token='1')
            first = next(e.id for e in answer.events() if e.id)
            answer.close()
            other = Host(three[1 + turn % 2].url('up'), revision=host.revision)
            other.session = host.session
            begun = time.perf_counter()
            got = [e for e in other.listen(last=first).events(10) if e.text]
            spent += time.perf_counter() - begun
            events += len(got)
            self.bench.verdict('"result"' in got[-1].text, 'a replay ends with the result')
        self.fact('events replayed at another replica, a second', '%.0f' % (events / spent))

    def pages(self):
        binary = self.bench.binary
        demo = Process([binary, 'demo-upstream', '--http', 0, '--tools', TOOLS, '--page-size', PAGE], name='demo')
        try:
            port = int(demo.wait_line(r'http://127\.0\.0\.1:(\d+)/mcp')[1])
            with ExitStack() as stack:
                gateway = Gateway({**CONFIG, 'mcp_servers': server(port), 'salt_keys': SALT})
                stack.callback(gateway.stop)
                cluster = Cluster(server(port), count=1, balanced=False, **CONFIG)
                stack.callback(cluster.close)
                direct = self.page_time('http://127.0.0.1:%d/mcp' % port)
                memory = self.page_time(gateway.server_url('up'))
                redis = self.page_time(cluster[0].url('up'))
        finally:
            demo.stop()
        for name, value in (('memory', memory), ('redis', redis)):
            self.fact('a page of %d tools, µs: %s' % (PAGE, name), '%.0f' % value, '%.2f × direct' % (value / direct))

    def page_time(self, url):
        host, times = Host(url).open(), []
        wire = host.wire()
        for _ in range(max(int(self.bench.options.seconds * 5), 1)):
            cursor = None
            while True:
                params = {} if cursor is None else {'cursor': cursor}
                begun = time.perf_counter()
                answer = host.begin('POST', json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list', 'params': params}),
                                    wire=wire).answer('POST', 10)
                result = json.loads(answer.result())
                times.append(time.perf_counter() - begun)
                cursor = result.get('nextCursor')
                if cursor is None:
                    break
        host.close()
        return statistics.median(times) * 1e6
