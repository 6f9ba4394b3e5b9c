"""What stands between load and upstream in the bench: nothing, nginx, Sluice. And what they cost."""
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from lib.procs import Process, alive, descendants, wait_until    # noqa: E402

NGINX = """\
worker_processes 1;
daemon off;
error_log stderr error;
pid {folder}/nginx.pid;
worker_rlimit_nofile {files};
events {{ worker_connections {files}; }}
http {{
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream mcp {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://mcp;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      # JSON is buffered as nginx does by default; SSE is not: the upstream answers it with
      # "X-Accel-Buffering: no", which is what a real MCP server sends.
      proxy_read_timeout 1h;
    }}
  }}
}}
"""


def raise_open_files():
    """As many open files as we may have; children inherit it. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (65536, hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
            break
        except (ValueError, OSError):
            continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def cpu_seconds(pids):
    tick = os.sysconf('SC_CLK_TCK')
    spent = 0
    for pid in pids:
        try:
            with open('/proc/%d/stat' % pid) as f:
                fields = f.read().rsplit(')', 1)[1].split()
            spent += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return spent / tick


def rss_bytes(pids):
    """Resident memory: private pages and those shared with nobody else count once."""
    total = 0
    for pid in pids:
        with open('/proc/%d/status' % pid) as f:
            total += next(int(line.split()[1]) << 10 for line in f if line.startswith('VmRSS'))
    return total


class Target:
    """One of the things compared: where load connects, and the processes it consists of."""

    def __init__(self, name, port, path, process=None):
        self.name, self.port, self.path, self.process = name, port, path, process

    @property
    def pids(self):
        return [] if self.process is None else [self.process.pid, *descendants(self.process.pid)]

    def stop(self):
        if self.process is not None:
            self.process.stop()


def upstream(build):
    process = Process([build / 'tests/bench/bench-upstream', '0'], name='upstream')
    port = int(process.wait_line(r'listening on http://127\.0\.0\.1:(\d+)/mcp')[1])
    return Target('direct', port, '/mcp', process)


def connects(port):
    with socket.socket() as s:
        s.settimeout(0.2)
        return s.connect_ex(('127.0.0.1', port)) == 0


class Nginx(Target):
    def __init__(self, upstream_port, files):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-bench-')
        os.chmod(self.folder.name, 0o755)       # its worker is another user when we are root
        port = free_port()
        self.text = NGINX.format(folder=self.folder.name, port=port, upstream=upstream_port, files=min(files, 30000))
        path = Path(self.folder.name) / 'nginx.conf'
        path.write_text(self.text)
        process = Process([find_nginx(), '-c', path, '-p', self.folder.name], name='nginx')
        super().__init__('nginx', port, '/mcp', process)
        wait_until(lambda: connects(port), what='nginx to listen:\n' + process.tail())

    def stop(self):
        super().stop()
        self.folder.cleanup()


def find_nginx():
    for path in ('/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx'):
        if os.path.exists(path):
            return path
    raise SystemExit('nginx is missing: apt-get install nginx-light')


CONFIG = {
    'sessionless': 'refuse',
    'log': {'level': 'warn'},
    'limits': {'connections': 30000, 'sessions': 30000, 'sessions_per_key': 30000},
}


class Sluice(Target):
    def __init__(self, binary, upstream_port):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-bench-')
        self.admin = free_port()
        self.port_wanted = free_port()
        self.text = json.dumps({**CONFIG, 'listen': '127.0.0.1:%d' % self.port_wanted,
                                'admin_listen': '127.0.0.1:%d' % self.admin,
                                'mcp_servers': {'up': {'transport': 'http', 'url': 'http://127.0.0.1:%d/mcp' % upstream_port}}},
                               indent=2)
        path = Path(self.folder.name) / 'sluice.yaml'
        path.write_text(self.text)
        self.started = time.perf_counter()
        process = Process([binary, 'serve', '--config', path], name='sluice')
        super().__init__('sluice', self.port_wanted, '/up/mcp', process)
        self.ready_after = self.wait_ready()

    def wait_ready(self, timeout=15):
        """Seconds from the start of the process to the first 200 of /readyz."""
        while time.perf_counter() - self.started < timeout:
            try:
                with urllib.request.urlopen('http://127.0.0.1:%d/readyz' % self.admin, timeout=1) as answer:
                    if answer.status == 200:
                        return time.perf_counter() - self.started
            except OSError:
                if self.process.returncode is not None:
                    break
                time.sleep(0.001)
        raise SystemExit('sluice did not become ready:\n' + self.process.tail())

    def stop(self):
        super().stop()
        self.folder.cleanup()


def build_what_is_needed(build):
    """Ninja for the bench programs, and for the gateway when this tree has one."""
    if not (build / 'build.ninja').exists():
        subprocess.run(['meson', 'setup', str(build), '--native-file', 'clang19.ini'], cwd=REPO, check=True)
    targets = ['tests/bench/bench-upstream', 'tests/bench/bench-load']
    listed = subprocess.run(['ninja', '-C', str(build), '-t', 'targets', 'all'], capture_output=True, text=True).stdout
    if '\nsluice: ' in listed and not os.environ.get('SLUICE_BIN'):
        targets.append('sluice')
    done = subprocess.run(['ninja', '-C', str(build), *targets], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-3000:] + done.stderr)
        raise SystemExit('the build failed')


__all__ = ['Nginx', 'Sluice', 'Target', 'alive', 'build_what_is_needed', 'cpu_seconds', 'raise_open_files', 'rss_bytes', 'upstream']
