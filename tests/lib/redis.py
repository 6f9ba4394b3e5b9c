"""A real redis-server of the tests' own on a free port, in a folder of its own.

    with Redis() as store:
        store.url, store.command('DBSIZE'), store.kill(), store.start()

Durable by default (AOF, noeviction), as docs/state.md asks for; Redis(durable=False) comes back empty.
"""
from __future__ import annotations

import signal
import socket
import tempfile

from .procs import Process, ProcessDied, wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    def __init__(self, *args: str, durable: bool = True):
        self._dir = tempfile.TemporaryDirectory(prefix="sluice-redis-")
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no"]
        self._args = ["--save", "", *kept, "--maxmemory-policy", "noeviction", *args]
        self.port = 0
        self._process: Process | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Again on the same port once it has one."""
        for _ in range(5):
            port = self.port or free_port()
            self._process = Process(["redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", self._dir.name,
                                     *self._args], name="redis")
            try:
                self._process.wait_line("Ready to accept connections")
                self.port = port
                return
            except ProcessDied:   # somebody took the port first
                self._process.stop()
                if self.port:
                    raise
        raise AssertionError("redis-server does not start")

    def kill(self) -> None:
        """At once, as a power cut would."""
        if self._process:
            self._process.signal(signal.SIGKILL)
            self._process.stop()
            self._process = None

    def freeze(self) -> None:
        """Connections stay, nothing is answered."""
        self._process.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.signal(signal.SIGCONT)

    def command(self, *words: object) -> str:
        """One command on a connection of its own; the raw reply."""
        parts = [str(word).encode() for word in words]
        body = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        with socket.create_connection(("127.0.0.1", self.port), 5) as link:
            link.sendall(b"*%d\r\n%s" % (len(parts), body))
            link.shutdown(socket.SHUT_WR)
            answer = b""
            while more := link.recv(65536):
                answer += more
        return answer.decode("utf-8", "replace")

    def keys(self) -> list[str]:
        return [line for line in self.command("KEYS", "*").split("\r\n") if line and line[0] not in "*$"]

    def wait_connected(self, clients: int) -> None:
        wait_until(lambda: self.command("CLIENT", "LIST").count("name=") > clients, what="connections to redis")

    def stop(self) -> None:
        self.kill()
        self._dir.cleanup()

    def __enter__(self) -> "Redis":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
