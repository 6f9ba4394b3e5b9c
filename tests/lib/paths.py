"""Where things are: the repository, the installed test tools, the gateway's binary."""
import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REPO = TESTS.parent
CACHE = TESTS / ".cache"
NODE_MODULES = CACHE / "node" / "node_modules"
NODE = CACHE / "bin" / "node"
PYTHON = CACHE / "venv" / "bin" / "python"
FIXTURE = TESTS / "conformance" / "fixture" / "server.mjs"


def gateway_binary() -> Path:
    """The gateway under test: $SLUICE_BIN, else the release build."""
    return Path(os.environ.get("SLUICE_BIN") or REPO / "build" / "sluice")


def npm_bin(name: str) -> str:
    """The script behind a package's command, to be run by our own Node."""
    return str((NODE_MODULES / ".bin" / name).resolve())


def tool_env(**extra: str) -> dict[str, str]:
    """This process's environment with the installed Node first on PATH."""
    env = dict(os.environ)
    env["PATH"] = f"{CACHE / 'bin'}:{env.get('PATH', '/usr/bin:/bin')}"
    env.update(extra)
    return env


def require_tools() -> None:
    """Says plainly what to do when the tools have not been installed."""
    if not NODE.exists() or not PYTHON.exists():
        raise SystemExit("test tools are missing: run tests/lib/install first")
