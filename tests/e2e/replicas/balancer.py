"""HAProxy before the replicas: round robin by request, no stickiness, a request that found nobody goes to the
next one, and who fails /readyz gets none. It sends on what it has at once (http-no-delay): else it gathers the
small chunks of a stream for up to 200 ms, and npm SDK v1 loses progress that comes in one read with its answer."""
import os
import tempfile

from lib.ports import fixed_port, open_port
from lib.procs import Process, wait_until

CONFIG = '''
global
  maxconn 8000
  nbthread 1
defaults
  mode http
  option http-no-delay
  option redispatch 1
  retries 3
  retry-on conn-failure
  timeout connect 1s
  timeout client 10m
  timeout server 10m
  timeout http-request 30s
  timeout queue 5s
frontend hosts
  bind 127.0.0.1:%(port)d
  default_backend replicas
backend replicas
  balance roundrobin
  http-reuse %(reuse)s
  option httpchk GET /readyz
  default-server check inter 100ms fall 2 rise 1 fastinter 100ms downinter 100ms
%(servers)s
'''


class Balancer:
    def __init__(self, replicas, reuse='never'):
        """replicas: (port, admin port) of each; reuse: of its connections to them."""
        self._dir = tempfile.TemporaryDirectory(prefix='sluice-haproxy-')
        self.port = fixed_port()
        servers = '\n'.join('  server r%d 127.0.0.1:%d check port %d' % (i, port, admin) for i, (port, admin) in enumerate(replicas))
        path = os.path.join(self._dir.name, 'haproxy.cfg')
        with open(path, 'w') as f:
            f.write(CONFIG % {'port': self.port, 'servers': servers, 'reuse': reuse})
        self.process = Process(['haproxy', '-db', '-f', path], name='haproxy')
        try:
            wait_until(lambda: open_port(self.port) or self.process.returncode is not None, 10, 'haproxy to listen')
            assert self.process.returncode is None, self.process.tail()
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        return 'http://127.0.0.1:%d' % self.port

    def close(self):
        self.process.stop()
        self._dir.cleanup()
