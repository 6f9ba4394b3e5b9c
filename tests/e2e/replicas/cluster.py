"""Some replicas of the gateway on one Redis behind one balancer. Each keeps its addresses over kill() and
start(), as a pod behind a service would look to the balancer."""
import signal

from fake.host import Host
from lib.gateway import Gateway
from lib.ports import fixed_port
from lib.procs import wait_until
from lib.redis import Redis

from balancer import Balancer

SALT = ['a salt that all replicas of the tests share']


def at(host, replica):
    """The same host, its next request to that replica."""
    other = Host('http://127.0.0.1:%d%s' % (replica.port, host.path), revision=host.revision, headers=host.headers,
                 timeout=host.timeout)
    other.session, other.ids = host.session, host.ids
    return other


class Replica:
    def __init__(self, number, config, env=None):
        self.number, self.env = number, env
        self.port, self.admin_port = fixed_port(), fixed_port()
        self.config = {**config, 'listen': '127.0.0.1:%d' % self.port, 'admin_listen': '127.0.0.1:%d' % self.admin_port,
                       'peer_listen': '127.0.0.1:0'}
        self.gateway = None
        self.problems = []
        self.kills = 0

    def start(self, **changes):
        assert self.gateway is None
        self.config.update(changes)
        self.gateway = Gateway(self.config, env=self.env)
        return self

    @property
    def up(self):
        return self.gateway is not None

    def url(self, *names):
        base = 'http://127.0.0.1:%d' % self.port
        return '%s/%s/mcp' % (base, ','.join(names)) if names else base + '/mcp'

    def metric(self, name, **labels):
        """The sum of a metric's samples that have these labels."""
        wanted = ['%s="%s"' % pair for pair in labels.items()]
        return sum(value for sample, value in self.gateway.metrics().items()
                   if sample.split('{')[0] == name and all(w in sample for w in wanted))

    def ready(self):
        try:
            return self.gateway.admin('/readyz', timeout=1).startswith('ready')
        except OSError:
            return False

    def kill(self):
        """kill -9: nothing is given back, nobody is told."""
        self.kills += 1
        self.gateway.signal(signal.SIGKILL)
        self.gateway.wait(10)
        self._end(killed=True)

    def stop(self):
        self._end(killed=False)

    def _end(self, killed):
        gateway, self.gateway = self.gateway, None
        died = gateway.returncode
        status = gateway.stop(grace=15)
        what = 'replica %d ' % self.number
        if not killed and died is not None:
            self.problems.append(what + 'had ended with %s\n%s' % (died, gateway.tail()))
        elif not killed and status != 0:
            self.problems.append(what + 'ended with %s on SIGTERM\n%s' % (status, gateway.tail()))
        if gateway.leaked:
            self.problems.append(what + 'left children: %s' % gateway.leaked)
        if 'AddressSanitizer' in gateway.log or 'runtime error:' in gateway.log:
            self.problems.append(what + 'sanitizer: ' + gateway.log[-3000:])
        if '"crash"' in gateway.log:
            self.problems.append(what + 'crashed inside: ' + gateway.log[-3000:])


class Cluster:
    def __init__(self, servers, count=3, redis=None, balanced=True, env=None, **top):
        self.redis, self.balancer, self.replicas = redis, None, []
        self.owns_redis = redis is None
        try:
            self.redis = redis or Redis()
            config = {'mcp_servers': servers, 'store': self.redis.url, 'salt_keys': SALT, **top}
            self.replicas = [Replica(i, config, env).start() for i in range(count)]
            if balanced:
                self.balancer = Balancer([(r.port, r.admin_port) for r in self.replicas])
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def __getitem__(self, number):
        return self.replicas[number]

    def __iter__(self):
        return iter(self.replicas)

    def url(self, *names):
        """Through the balancer."""
        return self.balancer.url + ('/%s/mcp' % ','.join(names) if names else '/mcp')

    def wait_ready(self, timeout=15):
        for replica in self.replicas:
            if replica.up:
                wait_until(replica.ready, timeout, 'replica %d to be ready' % replica.number)

    def others(self, replica):
        return [r for r in self.replicas if r is not replica and r.up]

    def close(self):
        """What was wrong with the replicas, over their whole life."""
        if self.balancer:
            self.balancer.close()
        for replica in self.replicas:
            if replica.up:
                replica.stop()
        if self.owns_redis and self.redis:
            self.redis.close()
        return [p for r in self.replicas for p in r.problems]
