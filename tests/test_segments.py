"""What the assistant said, each text once, however often an agent repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import assistant, completed, convert, delta, event, result, started, table

import agentfmt

CALL = started() + completed()
QUERY = event("interaction_query", subtype="request", query_type="web")
THINKING = event("thinking", subtype="delta", text="hm")
CONNECTION = event("connection", subtype="reconnecting")


def replay(text: str) -> bytes:
    """The replay of a segment that a call follows."""
    return assistant(text, timestamp_ms=1, model_call_id="m")


def aggregated(*lines: bytes) -> str:
    """The result, which the words on a terminal or in a pipe repeat, each part on its lines."""
    ended = convert([*lines, result()], "-t", "json")
    assert (ended.stderr, ended.status) == ("", 0)
    text = json.loads(ended.stdout)["result"]
    assert isinstance(text, str)
    words = convert([*lines, result()], "-m", "all", "--actions", "none").stdout.decode()
    assert "".join(words.split()) == "".join(agentfmt.escape(text.replace("\n", " ")).split())
    return text


@pytest.mark.parametrize(("lines", "text"), [
    pytest.param([], "", id="nothing"),
    pytest.param([assistant("a"), assistant("b")], "ab", id="plain, or deltas of 2025"),
    pytest.param([assistant("a"), CALL, assistant("b")], "ab", id="plain segments"),
    pytest.param([assistant("a"), assistant("a")], "aa", id="plain and equal"),
    pytest.param([assistant("a"), assistant("ab")], "aab", id="plain, a prefix of the next"),
    pytest.param([delta("a"), delta("b")], "ab", id="deltas without a replay"),
    pytest.param([delta("a"), delta("b"), assistant("ab")], "ab", id="replay at the end"),
    pytest.param([delta("a"), delta("b"), replay("ab"), CALL], "ab", id="replay before a call"),
    pytest.param([delta("a"), delta("b"), delta("ab"), QUERY], "ab", id="before a question"),
    pytest.param([delta("a"), delta("b"), delta("ab"), CALL], "ab", id="like before a call"),
    pytest.param([delta("a"), delta("b"), delta("ab")], "ab", id="like a delta at the end"),
    pytest.param([delta("a"), delta("b"), delta("ab"), delta("c")], "ababc",
        id="equal, but no replay"),
    pytest.param([delta("a"), delta("b"), delta("ab"), THINKING, CONNECTION, QUERY], "ab",
        id="thinking and connection leave it held"),
    pytest.param([delta("a"), delta("b"), delta("ab"), THINKING, delta("c"),
        assistant("ababc")], "ababc", id="held, then a delta after thinking"),
    pytest.param([delta("ha"), delta("ha"), delta("ha")], "hahaha", id="equal deltas"),
    pytest.param([delta("a"), delta("a"), replay("aa")], "aa", id="two equal, then the replay"),
    pytest.param([delta("a"), assistant("abc")], "abc", id="the replay says more"),
    pytest.param([delta("a"), assistant("b")], "ab", id="another text is no replay"),
    pytest.param([delta(""), delta("a"), delta(""), assistant("a")], "a", id="empty deltas"),
    pytest.param([delta("a"), replay("a"), CALL, delta("a"), assistant("a")], "aa", id="again"),
    pytest.param([delta("a"), CALL, delta("a"), CALL], "aa", id="a call clears"),
    pytest.param([delta("a"), QUERY, delta("a"), QUERY], "aa", id="a question clears"),
    pytest.param([QUERY, delta("whole"), QUERY], "whole", id="plain before a question"),
    pytest.param([delta("\ud83d"), delta("\ude00"), assistant("\ud83d\ude00")], "😀",
        id="a surrogate pair cut in two"),
    pytest.param([delta("a\ud83d"), delta("\ude00"), assistant("a\ud83d\ude00")], "a😀",
        id="a pair behind a letter"),
    pytest.param([delta("\ud83d"), delta("!")], "\ud83d!", id="a lone surrogate"),
])  # fmt: skip
def test_each_text_is_said_once(lines: list[bytes], text: str) -> None:
    assert aggregated(*lines) == text


@pytest.mark.parametrize(("message", "text"), table("calls.txt", "shapes of a message", named=True))
def test_shapes_of_a_message(message: Any, text: str) -> None:
    assert aggregated(event("assistant", message=message)) == text


@pytest.mark.parametrize("lines", [
    pytest.param([assistant("mine"), assistant("not", parent_tool_use_id="t")], id="plain"),
    pytest.param([delta("mi"), delta("not", parent_tool_use_id="t"), delta("ne")], id="delta"),
    pytest.param([delta("mi"), assistant("not", parent_tool_use_id="t"), delta("ne"),
        assistant("mine")], id="amid deltas"),
])  # fmt: skip
def test_a_sub_agents_words_are_not_the_answer(lines: list[bytes]) -> None:
    assert aggregated(*lines) == "mine"


# ---------------------------------------------------------------- whatever was said

TEXT = st.text(st.sampled_from('ab \n"\\é中😀'), max_size=6)
SEGMENT = st.lists(TEXT.filter(bool), max_size=6)


def plain(deltas: list[str], *, last: bool) -> Iterator[bytes]:
    del last
    if deltas:
        yield assistant("".join(deltas))


def old(deltas: list[str], *, last: bool) -> Iterator[bytes]:
    del last
    yield from map(assistant, deltas)


def partial(deltas: list[str], *, last: bool) -> Iterator[bytes]:
    yield from map(delta, deltas)
    if deltas:
        yield assistant("".join(deltas)) if last else replay("".join(deltas))


def asked(deltas: list[str], *, last: bool) -> Iterator[bytes]:
    yield from map(delta, deltas)
    if deltas:
        yield assistant("".join(deltas)) if last else delta("".join(deltas)) + QUERY


@pytest.mark.parametrize("style", [plain, old, partial, asked])
@given(segments=st.lists(SEGMENT, max_size=5))
def test_the_result_is_what_was_said(style: Any, segments: list[list[str]]) -> None:
    if style is asked:  # a delta that repeats all before it looks like that replay
        assume(not any(repeats(deltas) for deltas in segments))
    lines = []
    for i, deltas in enumerate(segments, 1):
        lines += style(deltas, last=i == len(segments))
        lines += [THINKING, CALL]
    assert aggregated(*lines[:-1]) == "".join(map("".join, segments))


def repeats(deltas: list[str]) -> bool:
    return any(text == said for said, text in zip(accumulate(deltas), deltas[1:], strict=False))
