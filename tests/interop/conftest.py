"""Fixtures of the interop tests. They run through the gateway (build/sluice or $SLUICE_BIN), or with
--direct straight against the stock servers, which proves the hosts, the servers and the tests themselves."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import procs, upstreams  # noqa: E402
from lib.gateway import Gateway  # noqa: E402
from lib.paths import require_tools  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--direct", action="store_true", help="hosts talk to the stock servers, no gateway")


def pytest_configure(config):
    require_tools()
    procs.stop_all_on_sigterm()


@pytest.fixture(scope="session")
def direct(request):
    return request.config.getoption("--direct")


@pytest.fixture(scope="session")
def everything():
    with upstreams.start_everything() as server:
        yield server


@pytest.fixture(scope="session")
def everything_sse():
    with upstreams.start_everything("sse") as server:
        yield server


@pytest.fixture(scope="session")
def fastmcp_server():
    with upstreams.start_fastmcp() as server:
        yield server


class Kept:
    """A gateway shared by tests; one that died is started anew, so that one failure is one failure."""

    def __init__(self, servers):
        self._config, self._gateway = upstreams.config(servers), None

    def get(self) -> Gateway:
        if self._gateway is None or self._gateway.returncode is not None:
            self.stop()
            self._gateway = Gateway(self._config)
        return self._gateway

    def stop(self):
        if self._gateway is not None:
            self._gateway.stop()
            self._gateway = None


@pytest.fixture(scope="session")
def single(everything, everything_sse, fastmcp_server):
    """Every stock server behind one gateway, for the routes of one server."""
    kept = Kept({"ev-http": everything.entry(), "ev-sse": everything_sse.entry(),
                 "ev-stdio": upstreams.stdio_everything(), "fm-http": fastmcp_server.entry(),
                 "fm-stdio": upstreams.stdio_fastmcp()})
    yield kept
    kept.stop()


@pytest.fixture(scope="session")
def aggregate(everything):
    """Two unlike servers behind one endpoint, names prefixed."""
    kept = Kept({"ev": everything.entry(), "fm": upstreams.stdio_fastmcp()})
    yield kept
    kept.stop()
