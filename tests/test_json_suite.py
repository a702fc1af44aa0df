"""JSONTestSuite (https://github.com/nst/JSONTestSuite), read in place beside the checkout.

y_ texts must be accepted, n_ texts refused, i_ texts are for each parser to decide.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import SAME, Ended, content, convert, corpus, result

SUITE = corpus("jsontestsuite", "test_parsing", suffix=".json")


def of(kind: str) -> list[Any]:
    """The texts of a kind that fit on one line."""
    return [
        row
        for row in SUITE
        if row.marks or (row.id.startswith(kind) and b"\n" not in content(row.values[0]))
    ]


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


@pytest.mark.parametrize("path", of("y_"))
def test_legal_json_passes_byte_for_byte(path: str) -> None:
    line = wrapped(path)
    assert fed(line, *SAME) == Ended(b'{"type":"a"}\n' + line + b"\n" + result(), "", 0)


@pytest.mark.parametrize("path", of("n_"))
def test_illegal_json_is_damaged(path: str) -> None:
    line = wrapped(path)
    ended = fed(line, *SAME)
    if is_json(line):  # an object closed early, say
        assert ended == Ended(b'{"type":"a"}\n' + line + b"\n" + result(), "", 0)
        return
    assert (ended.stdout, ended.status) == (b'{"type":"a"}\n' + result(), 3)
    assert ended.stderr.startswith("agentfmt: stdin:2: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("path", of("i_"))
def test_json_that_implementations_disagree_on_passes_whole_or_is_damaged(path: str) -> None:
    line = wrapped(path)
    ended = fed(line, *SAME)
    passed = b'{"type":"a"}\n' + line + b"\n" + result()
    damaged = b'{"type":"a"}\n' + result()
    assert (ended.stdout, ended.status) in [(passed, 0), (damaged, 3)]


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
