"""A redis-server of the test's own, as the zero-loss figures want it: AOF on, every write on disk before it
is acknowledged, nothing evicted. It keeps its port and its data over stop(), kill() and start()."""
import os
import signal
import socket
import tempfile

from .ports import fixed_port
from .procs import Process


class Redis:
    def __init__(self, **options):
        self._dir = tempfile.TemporaryDirectory(prefix='sluice-redis-')
        self.port = fixed_port()
        self.options = {'appendonly': 'yes', 'appendfsync': 'always', 'save': '', 'maxmemory-policy': 'noeviction', **options}
        self.process = None
        self.start()

    @property
    def url(self):
        return 'redis://127.0.0.1:%d/0' % self.port

    @property
    def up(self):
        return self.process is not None

    def start(self):
        assert self.process is None
        words = ['redis-server', '--port', self.port, '--bind', '127.0.0.1', '--dir', self._dir.name, '--daemonize', 'no']
        for name, value in self.options.items():
            words += ['--' + name, value]
        self.process = Process(words, name='redis')
        try:
            self.process.wait_line('[Rr]eady to accept connections')
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """An orderly end; what was acknowledged is on disk."""
        if self.process is not None:
            self.process.stop()
            self.process = None

    def kill(self):
        if self.process is not None:
            self.process.signal(signal.SIGKILL)
            self.stop()

    def freeze(self):
        """It holds its connections and answers nobody."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def restart(self):
        self.stop()
        return self.start()

    def ask(self, *words, timeout=5):
        """One command, its answer as bytes, ints, None and lists."""
        with socket.create_connection(('127.0.0.1', self.port), timeout) as wire:
            wire.settimeout(timeout)
            parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
            wire.sendall(b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts))
            return read_answer(wire.makefile('rb'))

    def flush(self):
        assert self.ask('FLUSHALL') == b'OK'

    def keys(self, pattern='*'):
        return [k.decode() for k in self.ask('KEYS', pattern)]

    def close(self):
        if self.process is not None:
            self.thaw()
        self.stop()
        self._dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_answer(file):
    line = file.readline()
    assert line.endswith(b'\r\n'), 'redis closed the connection'
    kind, rest = line[:1], line[1:-2]
    if kind == b'+':
        return rest
    if kind == b'-':
        raise AssertionError('redis: ' + rest.decode())
    if kind == b':':
        return int(rest)
    if kind == b'$':
        size = int(rest)
        return None if size < 0 else file.read(size + 2)[:-2]
    if kind == b'*':
        return None if int(rest) < 0 else [read_answer(file) for _ in range(int(rest))]
    raise AssertionError('redis: %r' % line)
