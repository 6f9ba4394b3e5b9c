"""Child processes of the tests: each in its own process group, its output read as it comes, its end
certain. A test waits for a line or a condition with a deadline, never for a fixed time."""
from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

_live: set["Process"] = set()


class ProcessDied(AssertionError):
    """The child ended, or stayed silent, while a test still needed it."""


def wait_until(condition: Callable[[], object], timeout: float = 10.0, what: str = "the condition",
               every: float = 0.02):
    """Returns the condition's first true value; fails, naming `what`, when the deadline passes."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {timeout} s waiting for {what}")
        time.sleep(every)


def parents() -> dict[int, int]:
    """pid -> parent pid of every process that /proc shows."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    found[int(name)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                pass
    return found


def descendants(pid: int) -> list[int]:
    """Children of pid, their children, and so on: what must be gone once pid has ended."""
    tree, found, todo = parents(), [], [pid]
    while todo:
        above = todo.pop()
        below = [child for child, parent in tree.items() if parent == above]
        found += below
        todo += below
    return found


def alive(pid: int) -> bool:
    """True while pid runs; a zombie counts as gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Process:
    """One child in a process group (and session) of its own. Use as a context manager."""

    def __init__(self, argv: Sequence[object], *, name: str = "", env: dict[str, str] | None = None,
                 cwd: object = None, stdin: int = subprocess.DEVNULL, capture_stdout: bool = True):
        self.argv = [str(arg) for arg in argv]
        self.name = name or os.path.basename(self.argv[0])
        self.out: list[str] = []
        self.err: list[str] = []
        self._changed = threading.Condition()
        self._popen = subprocess.Popen(
            self.argv, env=env, cwd=cwd, stdin=stdin, start_new_session=True, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE if capture_stdout else subprocess.DEVNULL)
        _live.add(self)
        self.pid = self._popen.pid
        self.stdin = self._popen.stdin
        pairs = [(self._popen.stderr, self.err)]
        if capture_stdout:
            pairs.append((self._popen.stdout, self.out))
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in pairs]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe, lines: list[str]) -> None:
        for raw in pipe:
            with self._changed:
                lines.append(raw.decode("utf-8", "replace").rstrip("\r\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

    @property
    def log(self) -> str:
        """Everything it wrote to stderr so far."""
        return "\n".join(self.err)

    def wait_line(self, pattern: str, timeout: float = 15.0) -> re.Match:
        """The first line of stdout or stderr that matches, whenever it was or will be written."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for line in [*self.out, *self.err]:
                    if match := wanted.search(line):
                        return match
                ended = self._popen.poll() is not None and not any(r.is_alive() for r in self._readers)
                left = deadline - time.monotonic()
                if ended or left <= 0:
                    why = f"ended with {self.returncode}" if ended else f"silent for {timeout} s"
                    raise ProcessDied(f"{self.name}: {why} before a line matching {pattern!r}\n{self.tail()}")
                self._changed.wait(min(left, 0.1))

    def wait(self, timeout: float = 10.0) -> int:
        """Its exit status, negative for a signal; fails when it does not end in time."""
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessDied(f"{self.name}: still running after {timeout} s\n{self.tail()}") from None

    def signal(self, number: int) -> None:
        """To the process alone, not to its group."""
        if self._popen.poll() is None:
            os.kill(self.pid, number)

    def tail(self, lines: int = 30) -> str:
        return "\n".join(f"  | {line}" for line in [*self.out, *self.err][-lines:])

    def stop(self, grace: float = 5.0) -> int:
        """TERM, then KILL to the group and to whatever else descends from it. Returns its status."""
        below = descendants(self.pid)
        if self._popen.poll() is None:
            self._signal_group(signal.SIGTERM)
            try:
                self._popen.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        self._signal_group(signal.SIGKILL)
        for pid in below:
            if alive(pid):
                _try_kill(pid, signal.SIGKILL)
        status = self._popen.wait(5)
        for reader in self._readers:
            reader.join(2)
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe and not (pipe is not self._popen.stdin and any(r.is_alive() for r in self._readers)):
                try:
                    pipe.close()
                except OSError:
                    pass
        _live.discard(self)
        return status

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _try_kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def run(argv: Sequence[object], *, timeout: float = 60.0, env: dict[str, str] | None = None,
        cwd: object = None) -> Process:
    """Runs to its end (or the deadline, which fails); the returned process has .out, .err, .returncode."""
    process = Process(argv, env=env, cwd=cwd)
    try:
        process.wait(timeout)
        for reader in process._readers:
            reader.join(2)
    finally:
        process.stop(grace=0.5)
    return process


@atexit.register
def stop_all() -> None:
    for process in list(_live):
        process.stop(grace=1.0)


def stop_all_on_sigterm() -> None:
    """For a runner's main: a TERM unwinds like Ctrl-C, so nothing outlives the run."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    signal.signal(signal.SIGTERM, leave)


def with_variable(name: str) -> list[int]:
    """Processes whose environment has this variable: finds the ones a child detached from us, by a mark
    that only that child was given."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if any(item.startswith(name.encode() + b"=") for item in environ.read().split(b"\0")):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end(pid: int, grace: float = 2.0) -> None:
    """TERM, then KILL, to one process that is not our child."""
    _try_kill(pid, signal.SIGTERM)
    try:
        wait_until(lambda: not alive(pid), grace, f"process {pid} to end")
    except AssertionError:
        _try_kill(pid, signal.SIGKILL)
