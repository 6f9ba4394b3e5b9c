"""Fixtures of the end-to-end tests.

Every test has its own upstreams and gateway on kernel-picked ports, so tests may run in any order
and in parallel.  At the end of each the gateway must still live, stop with status 0 on SIGTERM,
leave no child and have reported no sanitizer finding.
With SLUICE_DIRECT=1 the tests marked `direct` talk to the fake itself: proof that they are sound.
"""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake.host import Host                          # noqa: E402
from fake.server import HttpFake, SseFake           # noqa: E402
from fake.stdio import StdioFake                    # noqa: E402
from lib.gateway import Gateway                     # noqa: E402
from lib.paths import gateway_binary                # noqa: E402
from kit import DIRECT, http                        # noqa: E402


def pytest_configure(config):
    config.addinivalue_line('markers', 'direct: also sound against the fake upstream itself')


def pytest_collection_modifyitems(items):
    for item in items:
        if DIRECT and not item.get_closest_marker('direct'):
            item.add_marker(pytest.mark.skip(reason='needs the gateway'))
        elif not DIRECT and not gateway_binary().exists():
            item.add_marker(pytest.mark.skip(reason='no gateway binary: %s' % gateway_binary()))


@pytest.fixture
def fakes():
    """Makes upstreams: fakes(name='a'), fakes(kind=SseFake, …)."""
    made = []

    def make(name='up', kind=HttpFake, **options):
        made.append(kind(name=name, **options).start())
        return made[-1]
    yield make
    for fake in made:
        fake.stop()


@pytest.fixture
def sse_fakes(fakes):
    return lambda name='old', **options: fakes(name, kind=SseFake, **options)


@pytest.fixture
def stdio_fakes(tmp_path):
    return lambda name='st', **options: StdioFake(tmp_path, name, **options)


@pytest.fixture
def gateways(request):
    """Makes gateways: gateways({'up': {...}}, sessionless='refuse'). Checks them at the end."""
    made = []

    def make(servers, env=None, **top):
        made.append(Gateway({'mcp_servers': servers, **top}, env=env))
        return made[-1]
    yield make
    problems = []
    for gateway in made:
        expected_dead = getattr(gateway, 'killed', False)
        died = gateway.returncode
        status = gateway.stop()
        if died not in (None, 0) and not expected_dead:      # 0: the test had stopped it
            problems.append('the gateway had ended with %s' % died)
        elif status != 0 and not expected_dead:
            problems.append('SIGTERM ended the gateway with %s' % status)
        if gateway.leaked:
            problems.append('left children: %s' % gateway.leaked)
        if 'AddressSanitizer' in gateway.log or 'runtime error:' in gateway.log:
            problems.append('sanitizer: ' + gateway.log[-3000:])
    assert not problems, problems


@pytest.fixture
def hosts():
    """Makes raw hosts: hosts(url, revision=…)."""
    made = []

    def make(url, **options):
        made.append(Host(url, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.fixture
def fake(fakes):
    """The upstream that most tests need, answering JSON where it can."""
    return fakes('up')


@pytest.fixture
def url(request, fake):
    """The transparent route of one upstream; the fake itself when direct."""
    if DIRECT:
        return fake.url
    return request.getfixturevalue('gateways')({'up': http(fake)}).server_url('up')


@pytest.fixture
def host(url, hosts):
    return hosts(url).open()


@pytest.fixture
def raw_host(url, hosts):
    """Not initialised yet."""
    return hosts(url)


def pytest_report_header(config):
    return 'gateway: %s' % ('none, straight to the fakes' if DIRECT else gateway_binary())
