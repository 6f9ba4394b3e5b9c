"""Reading C++ well enough for the house rules: which files, and their text without comments and strings."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

_SKIP = {"node_modules", ".cache", ".venv", "__pycache__"}

_TOKENS = re.compile(
    r"""
    //[^\n]*
  | /\*.*?\*/
  | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])+'
    """,
    re.S | re.X,
)


def sources(*roots: Path) -> Iterator[Path]:
    for root in roots:
        for path in sorted(root.rglob("*.[ch]pp")):
            if not _SKIP.intersection(path.parts):
                yield path


def blank_comments_and_strings(text: str) -> str:
    """The same text with comments, string and character literals blanked; lines and columns stay."""

    def blank(found: re.Match) -> str:
        whole = found[0]
        # A digit separator (1'000) is no character literal.
        if whole[0] == "'" and found.start() and text[found.start() - 1].isalnum():
            return whole
        return "".join(c if c == "\n" else " " for c in whole)

    return _TOKENS.sub(blank, text)
