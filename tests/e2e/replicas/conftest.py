"""Fixtures of the replica tests: real processes, a real redis-server, Debian's HAProxy. Nothing stays behind."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lib.redis import Redis             # noqa: E402

from cluster import Cluster             # noqa: E402


@pytest.fixture
def redis():
    with Redis() as server:
        yield server


@pytest.fixture
def memory():
    """A Redis that does not wait for its disk, for tests that never take it away."""
    with Redis(appendonly='no') as server:
        yield server


@pytest.fixture
def clusters():
    """Makes clusters: clusters({'up': http(fake)}, count=3, …). Checks every replica at the end."""
    made = []

    def make(servers, **options):
        made.append(Cluster(servers, **options))
        return made[-1]
    yield make
    problems = [p for cluster in made for p in cluster.close()]
    assert not problems, '\n'.join(problems)
