"""Exact spans of a JSON text: the value of a member as the bytes that stood there.

The fakes must show what really crossed the wire, so numbers, escapes and member order are
never rebuilt from parsed values.  Bytes that are not UTF-8 survive by surrogateescape.
"""
import json
import re

_WS = re.compile(r'[ \t\r\n]*')
_DEC = json.JSONDecoder()


def text_of(raw):
    return raw.decode('utf-8', 'surrogateescape') if isinstance(raw, (bytes, bytearray)) else raw


def bytes_of(text):
    return text.encode('utf-8', 'surrogateescape') if isinstance(text, str) else bytes(text)


def _skip(text, at):
    return _WS.match(text, at).end()


def members(raw):
    """[(key, exact text of its value)] of an object, duplicates kept; [] for anything else."""
    text = text_of(raw)
    at = _skip(text, 0)
    if text[at:at + 1] != '{':
        return []
    out, at = [], _skip(text, at + 1)
    while text[at] != '}':
        key, at = json.decoder.scanstring(text, at + 1)
        start = _skip(text, _skip(text, at) + 1)
        _, at = _DEC.raw_decode(text, start)
        out.append((key, text[start:at]))
        at = _skip(text, at)
        if text[at] == ',':
            at = _skip(text, at + 1)
    return out


def items(raw):
    """The exact texts of an array's items."""
    text = text_of(raw)
    at = _skip(text, _skip(text, 0) + 1)
    out = []
    while text[at] != ']':
        start = at
        _, at = _DEC.raw_decode(text, start)
        out.append(text[start:at])
        at = _skip(text, at)
        if text[at] == ',':
            at = _skip(text, at + 1)
    return out


def get(raw, *path):
    """The exact text at a path of member names, or None."""
    text = text_of(raw)
    for key in path:
        found = [value for name, value in members(text) if name == key]
        if not found:
            return None
        text = found[0]
    return text


def dumps(value):
    """Compact JSON for texts we write ourselves."""
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)
