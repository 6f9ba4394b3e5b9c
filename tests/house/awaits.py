"""The statement lint: an awaiting statement holds names, moves, literals and calls.

Temporaries of class type in a statement that awaits are double-freed by g++ 12 (GCC PR 107288), so
these forms are refused whatever compiles us today: braces, lambda captures, ?: and an await inside a
larger condition. A coroutine has no braced default argument.
"""
from __future__ import annotations

import re

from cpp import blank_comments_and_strings

_OPEN = {"(": ")", "[": "]", "{": "}"}


def _end_of(text: str, at: int) -> int:
    """Where the statement that holds text[at] ends: ';', or the bracket that closes around it."""
    depth = 0
    while at < len(text):
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return at
            depth -= 1
        elif c == ";" and depth == 0:
            return at
        at += 1
    return at


def _begin_of(text: str, at: int) -> int:
    """Where that statement begins: after ';' or a block's brace. Open round brackets are stepped out of."""
    depth = 0
    i = at - 1
    while i >= 0:
        c = text[i]
        if c in ")]":
            depth += 1
        elif c in "([":
            depth -= 1
            if depth < 0:
                depth = 0
        elif c == ";" and depth == 0:
            return i + 1
        elif c == "{":
            return i + 1
        elif c == "}":
            if depth == 0 and not re.match(r"\s*[.,)]", text[i + 1 :]):
                return i + 1
            i = _opening(text, i)
        i -= 1
    return 0


def _opening(text: str, close: int) -> int:
    depth = 0
    for i in range(close, -1, -1):
        if text[i] == "}":
            depth += 1
        elif text[i] == "{":
            depth -= 1
            if depth == 0:
                return i
    return 0


_CAPTURE = re.compile(r"(?<![\w\])>])\s*\[\s*[&=\w*][^\]]*\]\s*(?:\(|\{|mutable|->)")
_CONDITION = re.compile(r"\b(?:if|while)\s*(?:constexpr\s*)?\(")
_DEFAULT = re.compile(r"\btask<[^;{}()]*>\s+[\w:]+\s*\([^;{}]*=\s*(?:[\w:]+\s*)?\{")


def breaches(source: str) -> list[tuple[int, str]]:
    text = blank_comments_and_strings(source)
    found = []
    line_of = lambda at: text.count("\n", 0, at) + 1  # noqa: E731
    seen = set()
    for hit in re.finditer(r"\bco_await\b", text):
        begin, end = _begin_of(text, hit.start()), _end_of(text, hit.end())
        statement = text[begin:end]
        # A braced group after the await or around it; the block of a loop begins after its ')'.
        if "{" in text[hit.end() : end] or re.search(r"\w\s*\{[^{}]*\}", text[begin : hit.start()]):
            why = "braces in an awaiting statement: name the value first"
        elif re.search(r"\?", statement):
            why = "?: in an awaiting statement: use if / else"
        elif _CAPTURE.search(statement):
            why = "a capturing lambda in an awaiting statement: name it first"
        elif _in_larger_condition(text, begin, hit.start(), end):
            why = "an await inside a larger condition: result first, test second"
        else:
            continue
        if (begin, why) not in seen:
            seen.add((begin, why))
            found.append((line_of(hit.start()), why))
    for hit in _DEFAULT.finditer(text):
        found.append((line_of(hit.start()), "a braced default argument on a coroutine"))
    return sorted(found)


def _in_larger_condition(text: str, begin: int, at: int, end: int) -> bool:
    heads = [h for h in _CONDITION.finditer(text, begin, at)]
    if not heads:
        return False
    before = text[heads[-1].end() : at]
    if re.search(r"[^=!<>]=\s*$", before):  # if (auto r = co_await f(); r), while (auto r = co_await f())
        return False
    if before.strip() == "" and text[end] == ")":  # the whole condition, when it closes the bracket
        inner = text[at:end]
        return bool(re.search(r"&&|\|\||[<>=!]=", inner))
    return before.count("(") >= before.count(")")


_BAD = [
    "co_await f({.name = n});",
    "co_await f(opts{a, b});",
    "auto x = co_await f(size_of(opts{a}));",
    "co_await f(vector<string>{a, b});",
    "co_await f(json::object{{k, v}});",
    "auto y = c ? co_await f() : g();",
    "co_return c ? co_await f() : g();",
    "if ((co_await f()).ok()) go();",
    "if (x && (co_await f())) go();",
    "if (x && co_await f()) go();",
    "auto z = co_await start([a, b](int n) { use(a, b, n); });",
    "co_await [x]() -> awaitable<void> { co_return; }();",
    "task<int> f(opts o = {});",
    "aio::task<> f(int a, settings s = settings{});",
]
_SOUND = [
    "auto r = co_await f(std::move(x));",
    "if (auto r = co_await f(); r) { go(); }",
    "while (auto r = co_await f()) { go(); }",
    "while (co_await f(until)) { go(); }",
    "for (auto& x : co_await f()) { go(x); }",
    "co_return co_await f(std::string(text));",
    "if (done) { stop(); } co_await f(a[i]);",
    "struct s { int a = 0; }; task<> g() { co_await f(); }",
    "auto [a, b] = co_await f(1'000, 2'000);",
    "// co_await f({.name = n})\nint x;",
    'auto text = "co_await f({})"; go();',
    "auto job = [&] { return 1; }; auto r = co_await f(job);",
    "task<> f(int a = 0, instant until = never);",
    "switch (x) { case 1: co_await f(); break; }",
]


def self_test() -> list[str]:
    wrong = [f"awaits.py: not flagged: {s}" for s in _BAD if not breaches("void h() {\n" + s + "\n}")]
    wrong += [f"awaits.py: flagged: {s}" for s in _SOUND if breaches("void h() {\n" + s + "\n}")]
    return wrong
