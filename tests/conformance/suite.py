"""Runs the pinned conformance suite and compares two runs of it, check by check."""
from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import procs  # noqa: E402
from lib.paths import NODE, NODE_MODULES, tool_env  # noqa: E402

SUITE = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


class Revision(NamedTuple):
    """Which scenarios a revision has, and how many checks pass when the server is right: the total keeps
    a run that silently does less from looking green."""
    args: list[str]
    total: int
    through: bool = True  # whether the gateway serves it yet
    unserved: str = r"(?!)"  # scenarios of extensions that the fixture does not have


REVISIONS = {
    "2025-03-26": Revision(["--suite", "all", "--spec-version", "2025-03-26"], 3),
    "2025-06-18": Revision(["--suite", "all", "--spec-version", "2025-06-18"], 56),
    "2025-11-25": Revision(["--requirements", "2025-11-25"], 84),
    "2026-07-28": Revision(["--requirements", "2026-07-28"], 164, through=False, unserved="tasks-"),
}
CLIENT_SCENARIOS = ["initialize", "tools_call", "sse-retry", "json-schema-2020-12-preservation"]

# Scenario name -> its checks, each (id, status, error message).
Checks = dict[str, list[tuple[str, str, str]]]


def _load(folder: Path) -> Checks:
    found: Checks = {}
    for path in folder.glob("*/checks.json"):
        name = re.fullmatch(r"(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", path.parent.name)
        if name:
            found[name[1]] = [(check["id"], check["status"], check.get("errorMessage") or "")
                              for check in json.loads(path.read_text())]
    return found


def run_server(url: str, revision: str, timeout: float = 300) -> Checks:
    """Every scenario of a revision against the server at url."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        done = procs.run([NODE, SUITE, "server", "--url", url, *REVISIONS[revision].args, "-o", folder],
                         env=tool_env(), timeout=timeout)
        found = _load(Path(folder))
    if not found:
        raise RuntimeError(f"the suite ran nothing against {url}:\n{done.tail()}")
    return found


def run_client(command: str, scenario: str, revision: str = "2025-11-25", timeout: float = 90) -> Checks:
    """One client scenario; the suite appends its mock server's URL to the command."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        done = procs.run([NODE, SUITE, "client", "--command", command, "--scenario", scenario,
                          "--spec-version", revision, "-o", folder], env=tool_env(), timeout=timeout)
        found = _load(Path(folder))
        if scenario not in found:
            raise RuntimeError(f"the suite did not run {scenario}:\n{done.tail()}")
        for log in Path(folder).glob("*/stderr.txt"):
            found[scenario + " stderr"] = [("stderr", "", log.read_text()[-2000:])]
    return found


def passed(checks: Checks) -> int:
    return sum(status == "SUCCESS" for found in checks.values() for _, status, _ in found)


def failures(checks: list[tuple[str, str, str]]) -> list[str]:
    return [f"{name}: {message}" for name, status, message in checks if status == "FAILURE"]


def without_traffic(checks: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Drops the suite's own notes of requests it saw: a gateway may well make others than a client."""
    return [check for check in checks if check[1] != "INFO"]


def differences(direct: list[tuple[str, str, str]], other: list[tuple[str, str, str]]) -> dict[str, str]:
    """Check id -> what differs, for each check whose statuses are not those of the direct run."""
    result = {}
    for name in sorted({check[0] for check in [*direct, *other]}):
        here = Counter(status for known, status, _ in direct if known == name)
        there = Counter(status for known, status, _ in other if known == name)
        if here != there:
            why = next((message for known, _, message in other if known == name and message), "")
            result[name] = f"direct {_counts(here)}, here {_counts(there)}{': ' + why[:300] if why else ''}"
    return result


def _counts(statuses: Counter) -> str:
    return "+".join(f"{n} {status}" for status, n in sorted(statuses.items())) or "absent"


class Expected:
    """expected-failures.yml: route -> `scenario:check-id` entries that may differ from the direct run.

    The file is the small part of YAML that this reads: a route at the margin, its entries as a list."""

    def __init__(self, text: str):
        self.routes: dict[str, set[str]] = {}
        self.seen: set[tuple[str, str]] = set()  # entries whose scenario ran
        self.used: set[tuple[str, str]] = set()  # entries that explained a difference
        route = None
        for number, line in enumerate(text.splitlines(), 1):
            line = re.sub(r"(^|\s)#.*", "", line).rstrip()
            if not line:
                continue
            if head := re.fullmatch(r"([\w-]+):(\s*\[\])?", line):
                route = self.routes.setdefault(head[1], set())
            elif (entry := re.fullmatch(r"\s+- (\S+:\S+)", line)) and route is not None:
                route.add(entry[1])
            else:
                raise ValueError(f"expected-failures.yml:{number}: not understood: {line}")

    def unexplained(self, route: str, scenario: str, found: dict[str, str]) -> dict[str, str]:
        """The differences that no entry covers; remembers which entries were needed."""
        entries = self.routes.get(route, set())
        self.seen |= {(route, entry) for entry in entries if entry.split(":")[0] == scenario}
        self.used |= {(route, f"{scenario}:{check}") for check in found} & {(route, e) for e in entries}
        return {check: why for check, why in found.items() if f"{scenario}:{check}" not in entries}

    def stale(self) -> list[str]:
        return [f"{route} {entry}" for route, entry in sorted(self.seen - self.used)]

    def never_ran(self, route: str, scenarios: set[str]) -> list[str]:
        """Entries of a route whose scenario no revision has: a slip of the pen."""
        return sorted(entry for entry in self.routes.get(route, set()) if entry.split(":")[0] not in scenarios)
