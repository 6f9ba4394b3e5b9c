"""The test's side of a scripted stdio server: its configuration entry and what it saw."""
import json
import os
import time

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'stdio_server.py')


class StdioFake:
    def __init__(self, folder, name='st', **options):
        self.name = name
        self.log = os.path.join(str(folder), name + '.jsonl')
        self.options = dict(options, name=name)
        open(self.log, 'w').close()

    def config(self, **more):
        return {'transport': 'stdio', 'command': 'python3',
                'args': [SERVER, self.log, json.dumps(self.options)], **more}

    def entries(self, kind=None):
        with open(self.log) as f:
            lines = [json.loads(line) for line in f.read().split('\n') if line.endswith('}')]
        return [e for e in lines if kind in (None, e['kind'])]

    def texts(self, method=None):
        """Exact lines that came in; of one JSON-RPC method if given."""
        return [e['text'] for e in self.entries('line')
                if method is None or json.loads(e['text']).get('method') == method]

    def wait(self, kind, count=1, timeout=10, **want):
        until = time.monotonic() + timeout
        while True:
            got = [e for e in self.entries(kind) if all(e.get(k) == v for k, v in want.items())]
            if len(got) >= count:
                return got
            assert time.monotonic() < until, 'stdio fake %s saw no %s: %s' % (
                self.name, kind, [e['kind'] for e in self.entries()])
            time.sleep(0.01)

    def pids(self):
        return [e['pid'] for e in self.entries('up')]
