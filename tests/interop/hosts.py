"""The stock hosts, each as a function that carries out a plan and returns what it saw.

A plan: {url, steps: [{tool, args, resource, prompt, promptArgs}]}. What a host cannot do (a command line
has no progress, `claude mcp list` only connects) is absent from its answer and not asked of it."""
from __future__ import annotations

import json
import os
import tempfile
import uuid
from pathlib import Path

from lib import procs
from lib.paths import NODE, NODE_MODULES, PYTHON, npm_bin, tool_env

HERE = Path(__file__).resolve().parent / "hosts"
TIMEOUT = 45


class HostFailed(AssertionError):
    pass


def _run(argv, env) -> procs.Process:
    done = procs.run(argv, env=env, timeout=TIMEOUT)
    if done.returncode != 0:
        raise HostFailed(f"{' '.join(done.argv[1:])[:300]}\nended with {done.returncode}\n{done.tail()}")
    return done


def _json(argv, env) -> dict:
    done = _run(argv, env)
    try:
        return json.loads("\n".join(done.out))
    except ValueError:
        raise HostFailed(f"{' '.join(done.argv[1:])[:300]}\nsaid no JSON:\n{done.tail()}") from None


class Home:
    """A scratch home for a command-line host, and the end of whatever it left running in there."""

    def __enter__(self):
        self._dir = tempfile.TemporaryDirectory(prefix="sluice-host-", ignore_cleanup_errors=True)
        self._mark = f"SLUICE_TEST_HOME_{uuid.uuid4().hex}"
        env = tool_env(HOME=self._dir.name, NO_COLOR="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
        env[self._mark] = "1"
        keep = {"HOME", "PATH", "NO_COLOR", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", self._mark}
        self.env = {name: value for name, value in env.items() if name in keep}
        return self

    def __exit__(self, *_):
        for pid in procs.with_variable(self._mark):
            procs.end(pid)
        self._dir.cleanup()


def sdk1(plan):
    return _json([NODE, HERE / "sdk1.mjs", json.dumps(plan)], tool_env())


def sdk2_legacy(plan):
    return _json([NODE, HERE / "sdk2.mjs", json.dumps(plan), "legacy"], tool_env())


def sdk2_auto(plan):
    return _json([NODE, HERE / "sdk2.mjs", json.dumps(plan), "auto"], tool_env())


def python_sdk(plan):
    return _json([PYTHON, HERE / "py_sdk.py", json.dumps(plan), "mcp", "auto"], tool_env())


def python_sdk_legacy(plan):
    return _json([PYTHON, HERE / "py_sdk.py", json.dumps(plan), "mcp", "legacy"], tool_env())


def sdk1_sse(plan):
    return _json([NODE, HERE / "sdk1.mjs", json.dumps(plan), "sse"], tool_env())


def python_sse(plan):
    return _json([PYTHON, HERE / "py_sdk.py", json.dumps(plan), "mcp-sse", "legacy"], tool_env())


def python_sse_auto(plan):
    return _json([PYTHON, HERE / "py_sdk.py", json.dumps(plan), "mcp-sse", "auto"], tool_env())


def fastmcp(plan):
    return _json([PYTHON, HERE / "py_sdk.py", json.dumps(plan), "fastmcp", "auto"], tool_env())


def _pairs(args: dict, sign: str) -> list[str]:
    return [f"{key}{sign}{value}" for key, value in args.items()]


# Hosts that are asked: each runs `rounds` of one elicitation and one sampling at once.
ASKED = {"sdk1": ("asked.mjs", "v1"), "sdk2": ("asked.mjs", "v2"), "sdk1-sse": ("asked.mjs", "v1-sse"),
         "python-sdk": ("asked.py", "mcp"), "fastmcp": ("asked.py", "fastmcp"), "python-sse": ("asked.py", "mcp-sse")}


def asked(host, url, rounds):
    script, which = ASKED[host]
    return _json([NODE if script.endswith("mjs") else PYTHON, HERE / script, url, which, str(rounds)], tool_env())


def inspector(plan):
    with Home() as home:
        def ask(method, *args):
            argv = [NODE, npm_bin("mcp-inspector"), "--cli", plan["url"], "--transport", "http",
                    "--format", "json", "--method", method, *args]
            answer = _json(argv, home.env)
            return answer.get("result", answer)

        answer = {"tools": [tool["name"] for tool in ask("tools/list")["tools"]],
                  "prompts": [prompt["name"] for prompt in ask("prompts/list")["prompts"]],
                  "resources": [item["uri"] for item in ask("resources/list")["resources"]], "steps": []}
        for step in plan["steps"]:
            result = ask("tools/call", "--tool-name", step["tool"], "--tool-arg", *_pairs(step["args"], "="))
            read = ask("resources/read", "--uri", step["resource"])
            args = ["--prompt-args", *_pairs(step["promptArgs"], "=")] if step["promptArgs"] else []
            prompt = ask("prompts/get", "--prompt-name", step["prompt"], *args)
            answer["steps"].append(_step(result, read, prompt))
        return answer


def mcpc(plan):
    with Home() as home:
        def ask(*args):
            return _json([NODE, npm_bin("mcpc"), "--json", *args], home.env)

        ask("connect", plan["url"], "@it")
        answer = {"tools": [tool["name"] for tool in _list(ask("@it", "tools-list"), "tools")],
                  "prompts": [prompt["name"] for prompt in _list(ask("@it", "prompts-list"), "prompts")],
                  "resources": [item["uri"] for item in _list(ask("@it", "resources-list"), "resources")],
                  "steps": []}
        for step in plan["steps"]:
            result = ask("@it", "tools-call", step["tool"], *_pairs(step["args"], ":="))
            read = ask("@it", "resources-read", step["resource"])
            prompt = ask("@it", "prompts-get", step["prompt"], *_pairs(step["promptArgs"], ":="))
            answer["steps"].append(_step(result, read, prompt))
        ask("close", "@it")
        answer["terminated"] = True
        return answer


def _list(answer, key):
    return answer if isinstance(answer, list) else answer[key]


def _step(result, read, prompt) -> dict:
    return {"text": next(block["text"] for block in result["content"] if block["type"] == "text"),
            "error": result.get("isError", False), "resource": read["contents"][0]["text"],
            "prompt": prompt["messages"][0]["content"]["text"]}


def claude(plan):
    """Its own handshake and list, with no login and no model: `claude mcp list` says Connected or not."""
    with Home() as home:
        binary = os.path.realpath(NODE_MODULES / ".bin" / "claude")
        _run([binary, "mcp", "add", "--transport", "http", "gw", plan["url"]], home.env)
        out = _run([binary, "mcp", "list"], home.env).out
        if not any(line.startswith("gw:") and "Connected" in line for line in out):
            raise HostFailed("claude mcp list:\n" + "\n".join(out))
        return {}


HOSTS = {"sdk1": sdk1, "sdk2-legacy": sdk2_legacy, "sdk2-auto": sdk2_auto, "inspector": inspector, "mcpc": mcpc,
         "claude": claude, "python-sdk": python_sdk, "python-sdk-legacy": python_sdk_legacy, "fastmcp": fastmcp}
# Hosts of the older HTTP+SSE transport; url in their plans is the stream's.
SSE_HOSTS = {"sdk1-sse": sdk1_sse, "python-sse": python_sse, "python-sse-auto": python_sse_auto}
