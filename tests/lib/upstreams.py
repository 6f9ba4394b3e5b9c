"""The MCP servers that tests put behind the gateway: our fixture, and stock servers by others.

Each start_* returns a running Upstream with .url; each stdio_* returns an mcp_servers entry."""
from __future__ import annotations

from .paths import FIXTURE, NODE, PYTHON, TESTS, npm_bin, tool_env
from .procs import Process

LOOPBACK = TESTS / "lib" / "loopback.cjs"
FASTMCP = TESTS / "interop" / "fastmcp_server.py"
EVERYTHING = "mcp-server-everything"
# What the gateway must be told to run these; they are listed by absolute path.
ALLOWED_COMMANDS = [str(NODE), str(PYTHON)]


class Upstream(Process):
    """A server process that listens on 127.0.0.1."""
    transport = "http"

    def __init__(self, argv, *, ready: str, path: str = "/mcp", transport: str = "http", **how):
        super().__init__(argv, **how)
        self.transport = transport
        try:
            port = self.wait_line(ready, 30)[1]
        except BaseException:
            self.stop()
            raise
        self.url = f"http://127.0.0.1:{port}{path}"

    def entry(self, **more) -> dict:
        """Its mcp_servers entry."""
        return {"url": self.url, "transport": self.transport, **more}


def start_fixture(port: int = 0) -> Upstream:
    return Upstream([NODE, FIXTURE, "--http", port], name="fixture", env=tool_env(),
                    ready=r"^http://127\.0\.0\.1:(\d+)/mcp$")


def start_everything(mode: str = "streamableHttp") -> Upstream:
    """server-everything over streamableHttp or sse, kept to loopback by the preload."""
    sse = mode == "sse"
    return Upstream([NODE, "--require", LOOPBACK, npm_bin(EVERYTHING), mode], name=f"everything-{mode}",
                    env=tool_env(PORT="0"), ready=r"^loopback: listening on 127\.0\.0\.1:(\d+)$",
                    path="/sse" if sse else "/mcp", transport="sse" if sse else "http")


def start_fastmcp(transport: str = "http") -> Upstream:
    return Upstream([PYTHON, FASTMCP, "--http"], name="fastmcp", env=tool_env(),
                    ready=r"^http://127\.0\.0\.1:(\d+)/mcp$")


def _stdio(command, *args) -> dict:
    return {"transport": "stdio", "command": str(command), "args": [str(arg) for arg in args]}


def stdio_fixture() -> dict:
    return _stdio(NODE, FIXTURE, "--stdio")


def stdio_everything() -> dict:
    return _stdio(NODE, npm_bin(EVERYTHING), "stdio")


def stdio_fastmcp() -> dict:
    return _stdio(PYTHON, FASTMCP, "--stdio")


def config(servers: dict, **more) -> dict:
    """A gateway configuration over these mcp_servers entries, stdio allowed only where one needs it."""
    whole = {"mcp_servers": servers, **more}
    if any(entry.get("transport") == "stdio" for entry in servers.values()):
        whole["stdio"] = {"enabled": True, "allowed_commands": ALLOWED_COMMANDS}
    return whole
