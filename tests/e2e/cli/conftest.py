"""Runs the command line as a person would: arguments in; status, stdout and stderr out."""
import json
import os
import pty
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib.paths import gateway_binary
from lib.procs import Process


@dataclass
class Said:
    status: int
    out: str
    err: str


@pytest.fixture
def cli():
    def run(*argv, stdin="", **env):
        plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        done = subprocess.run([gateway_binary(), *map(str, argv)], input=stdin, capture_output=True,
                              text=True, timeout=60, env={**plain, **env})
        return Said(done.returncode, done.stdout, done.stderr)
    return run


@pytest.fixture
def on_terminal():
    """The same with stdout and stderr on a terminal; what the terminal was sent."""
    def run(*argv, **env):
        child, far = pty.fork()
        if child == 0:
            os.environ.pop("NO_COLOR", None)
            os.environ.update({"TERM": "xterm", "COLUMNS": "80", **env})
            os.execv(gateway_binary(), ["sluice", *map(str, argv)])
        sent = b""
        while True:
            try:
                some = os.read(far, 65536)
            except OSError:  # the terminal is closed: the child has ended
                break
            if not some:
                break
            sent += some
        os.close(far)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return Said(status, sent.decode(), "")
    return run


@pytest.fixture
def demo():
    """Starts demo upstreams over HTTP; each must end with 0 on SIGTERM."""
    made = []

    def start(*options):
        made.append(Process([gateway_binary(), "demo-upstream", "--http", "0", *options], name="demo"))
        return made[-1].wait_line(r"demo upstream on (http://\S+/mcp)$")[1]
    yield start
    for one in made:
        assert one.returncode is None, "the demo upstream had ended: " + one.log
        os.kill(one.pid, 15)
        assert one._popen.wait(10) == 0, one.log
        one.stop()


class Site(ThreadingHTTPServer):
    """A scripted MCP server: `answer(handler, message)` decides; everything received is kept."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []  # (method, headers, message)
        self.calls = {}  # what to do for a method: function(handler, message)
        self.gets = []   # functions for GET requests, one after another
        self.url = "http://127.0.0.1:%d/mcp" % self.server_address[1]

    def messages(self, method):
        return [m for verb, _, m in self.seen if verb == "POST" and m.get("method") == method]

    def wait(self, condition, timeout=10):
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, "timed out; seen: %s" % [s[0::2] for s in self.seen]
            time.sleep(0.01)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def json(self, value, status=200, **headers):
        body = json.dumps(value).encode() if value is not None else b""
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def result(self, message, value, **headers):
        self.json({"jsonrpc": "2.0", "id": message["id"], "result": value}, **headers)

    def events(self, *texts):
        """A stream of these texts, then the connection's end."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for text in texts:
            self.wfile.write(text.encode())
            self.wfile.flush()
        self.close_connection = True

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(("POST", dict(self.headers), message))
        method = message.get("method")
        if method in self.server.calls:
            self.server.calls[method](self, message)
        elif method == "initialize":
            self.result(message, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                  "serverInfo": {"name": "site", "version": "1"}}, Mcp_Session_Id="s-1")
        elif "id" in message and method:
            self.result(message, {"content": [{"type": "text", "text": "done"}]})
        else:
            self.json(None, 202)

    def do_GET(self):
        self.server.seen.append(("GET", dict(self.headers), {}))
        if self.server.gets:
            self.server.gets.pop(0)(self)
        else:
            self.json(None, 405)

    def do_DELETE(self):
        self.server.seen.append(("DELETE", dict(self.headers), {}))
        self.json(None, 204)


@pytest.fixture
def site():
    server = Site()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def post():
    """One POST to an MCP endpoint: (status, headers, body text)."""
    def send(url, message, session=None, method="POST", **headers):
        body = message if isinstance(message, str) else json.dumps(message)
        asked = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        asked.update({k.replace("_", "-"): v for k, v in headers.items()})
        if session:
            asked["Mcp-Session-Id"] = session
        request = urllib.request.Request(url, body.encode() if method == "POST" else None, asked, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()
    return send
