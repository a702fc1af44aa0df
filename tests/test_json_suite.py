"""JSONTestSuite (https://github.com/nst/JSONTestSuite), read in place beside the checkout.

y_ texts must be accepted, n_ texts refused, i_ texts are for each parser to decide.
"""

from __future__ import annotations

import json
import os

import pytest
from support import SAME, Ended, content, convert, corpus, result

SUITE = corpus("jsontestsuite", "test_parsing", suffix=".json")


def wrapped(path: str) -> bytes:
    """The text as a member of an event on one line."""
    return b'{"type":"x","v":' + content(path) + b"}"


def is_json(line: bytes) -> bool:
    """Does Python's own parser take it for one object, as RFC 8259 has it?"""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        return isinstance(json.loads(line.decode(), parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def fed(line: bytes, *flags: str) -> Ended:
    """The line between others, which it must not harm."""
    return convert(b'{"type":"a"}\n' + line + b"\n" + result(), *flags)


def test_the_suite_is_complete() -> None:
    assert len(SUITE) in (1, 318)


ON_A_LINE = [row for row in SUITE if row.marks or b"\n" not in content(row.values[0])]


@pytest.mark.parametrize("path", ON_A_LINE)
def test_a_line_with_a_text_passes_byte_for_byte_or_is_damaged(path: str) -> None:
    line, kind = wrapped(path), os.path.basename(path)[0]
    ended = fed(line, *SAME)
    passed = ended == Ended(b'{"type":"a"}\n' + line + b"\n" + result(), "", 0)
    if not passed:
        assert (ended.stdout, ended.status) == (b'{"type":"a"}\n' + result(), 3)
        assert ended.stderr.startswith("agentfmt: stdin:2: ")
        assert ended.stderr.count("\n") == 1
    if kind != "i":  # is_json: an object closed early, say
        assert passed == (kind == "y" or is_json(line))


@pytest.mark.parametrize("path", SUITE)
def test_whole_files_and_members_that_are_read(path: str) -> None:
    """No file is a run: none crashes, and none succeeds. Two consist of depth alone."""
    text = content(path)[:30_000]
    for to in ("text", "json", "stream-json"):
        assert convert(text, "-t", to).status == 1
        assert convert(text + b"\n" + text + b"\n", "-t", to).status == 1
    text = text.replace(b"\n", b" ")
    lines = [
        b'{"type":"assistant","session_id":"s","message":' + text + b"}\n",
        b'{"type":"tool_call","subtype":"completed","session_id":"s","tool_call":' + text + b"}\n",
        b'{"type":"result","session_id":"s","is_error":false,"result":' + text + b"}\n",
    ]
    for to in ("text", "json"):
        ended = convert(lines, "-t", to)
        assert ended.status in (0, 1, 3)
        assert ended.stderr.count("\n") <= 4
        assert to != "json" or not ended.stdout or is_json(ended.stdout)
