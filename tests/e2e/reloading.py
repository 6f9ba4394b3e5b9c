"""A gateway whose configuration file a test changes while it runs."""
import json
import os
import signal

from lib.procs import wait_until

SOMETIME = 10


class Reloading:
    """A gateway with the configuration that it has now."""

    def __init__(self, gateway, servers, top):
        self.gateway, self.top = gateway, {'mcp_servers': servers, **top}

    def text(self, **changed):
        self.top = {**self.top, **changed}
        whole = {'listen': '127.0.0.1:0', 'admin_listen': '127.0.0.1:0', **self.top}
        return json.dumps({k: v for k, v in whole.items() if v is not None}, indent=2)

    def count(self, outcome):
        return self.gateway.metrics()['sluice_config_reloads_total{outcome="%s"}' % outcome]

    def until(self, change, outcome='ok', more=1):
        """Makes the change, and waits until it has come to that."""
        before = self.count(outcome)
        change()
        wait_until(lambda: self.count(outcome) >= before + more, SOMETIME, 'the reload')
        assert self.count(outcome) == before + more

    def hup(self, outcome='ok', **changed):
        """By signal, too quickly for whoever watches the file to have seen it."""
        def change():
            self.replace(self.text(**changed))
            os.kill(self.gateway.pid, signal.SIGHUP)
        before = self.count(outcome)
        change()
        wait_until(lambda: self.count(outcome) > before, SOMETIME, 'the reload')

    def replace(self, text):
        new = self.gateway.config_path.with_suffix('.new')
        new.write_text(text)
        os.replace(new, self.gateway.config_path)
