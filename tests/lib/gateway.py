"""Starts the gateway under test on kernel-picked ports and stops it for certain.

    with Gateway({"mcp_servers": {"fx": {"url": url, "transport": "http"}}}) as gw:
        gw.mcp_url, gw.server_url("fx"), gw.admin_url, gw.log
"""
from __future__ import annotations

import json
import os
import signal
import tempfile
import urllib.request
from pathlib import Path

from .paths import gateway_binary, tool_env
from .procs import Process, alive, descendants, wait_until


class Gateway(Process):
    def __init__(self, config: dict, *, binary: object = None, env: dict[str, str] | None = None,
                 ready_timeout: float = 15.0, args: tuple[str, ...] = ()):
        self.binary = Path(binary or gateway_binary())
        if not self.binary.exists():
            raise FileNotFoundError(f"no gateway at {self.binary}: build it, or set SLUICE_BIN")
        self._dir = tempfile.TemporaryDirectory(prefix="sluice-test-")
        self.config_path = Path(self._dir.name) / "sluice.yaml"
        whole = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", **config}
        self.config_path.write_text(json.dumps(whole, indent=2))  # JSON is YAML
        super().__init__([self.binary, "serve", "--config", self.config_path, *args],
                         name="sluice", env=tool_env(**(env or {})))
        try:
            self.mcp_url = self.wait_line(r"listening on (http://\S+/mcp)\b", ready_timeout)[1]
            self.admin_url = self.wait_line(r"admin on (http://\S+)", ready_timeout)[1]
        except BaseException:
            self.stop()
            raise

    @property
    def base_url(self) -> str:
        return self.mcp_url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return int(self.base_url.rsplit(":", 1)[1])

    def server_url(self, *names: str) -> str:
        """The route of one upstream (transparent), or of a subset."""
        return f"{self.base_url}/{','.join(names)}/mcp"

    def admin(self, path: str, timeout: float = 5.0) -> str:
        with urllib.request.urlopen(self.admin_url + path, timeout=timeout) as answer:
            return answer.read().decode()

    def metrics(self) -> dict[str, float]:
        """Every sample of /metrics by its full name with labels."""
        samples = {}
        for line in self.admin("/metrics").splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                samples[name] = float(value)
        return samples

    def stop(self, grace: float = 10.0) -> int:
        """TERM to the gateway alone, so that it ends its own children; then KILL. Returns its status."""
        self.leaked = []
        if self.returncode is None:
            below = descendants(self.pid)
            os.kill(self.pid, signal.SIGTERM)
            try:
                self._popen.wait(grace)
                wait_until(lambda: not any(map(alive, below)), 3, "the gateway's children to end")
            except Exception:  # the ladder's last step follows; a test asserts on .leaked and the status
                self.leaked = [pid for pid in below if alive(pid)]
        status = super().stop(grace=0.5)
        for pid in self.leaked:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self._dir.cleanup()
        return status
