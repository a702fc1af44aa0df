"""What the assistant said, each text once, however often an agent repeats it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import assistant, completed, convert, delta, event, result, started, table

import agentfmt

LINES = {
    "call": started() + completed(),
    "query": event("interaction_query", subtype="request", query_type="web"),
    "thinking": event("thinking", subtype="delta", text="hm"),
    "connection": event("connection", subtype="reconnecting"),
}


def replay(text: str) -> bytes:
    """The replay of a segment that a call follows."""
    return assistant(text, timestamp_ms=1, model_call_id="m")


SAYING: dict[str, Callable[[str], bytes]] = {
    "said": assistant, "delta": delta, "replay": replay,
    "timed": functools.partial(assistant, timestamp=1),
    "below": functools.partial(assistant, parent_tool_use_id="t"),
    "below_delta": functools.partial(delta, parent_tool_use_id="t"),
}  # fmt: skip


def events(cell: str) -> Iterator[bytes]:
    """What the words of a cell stand for: a line, or what is said on one."""
    for word in cell.split():
        name, _, text = word.partition(":")
        yield LINES[name] if name in LINES else SAYING[name](json.loads(f'"{text}"'))


def aggregated(*lines: bytes) -> str:
    """The result, which the words on a terminal or in a pipe repeat, each part on its lines."""
    ended = convert([*lines, result()], "-t", "json")
    assert (ended.stderr, ended.status) == ("", 0)
    text = json.loads(ended.stdout)["result"]
    assert isinstance(text, str)
    words = convert([*lines, result()], "-m", "all", "--actions", "none").stdout.decode()
    assert "".join(words.split()) == "".join(agentfmt.escape(text.replace("\n", " ")).split())
    return text


@pytest.mark.parametrize(("cell", "text"), table("calls.txt", "said once", named=True))
def test_each_text_is_said_once(cell: str, text: str) -> None:
    assert aggregated(*events(cell)) == text


@pytest.mark.parametrize(("message", "text"), table("calls.txt", "shapes of a message", named=True))
def test_shapes_of_a_message(message: Any, text: str) -> None:
    assert aggregated(event("assistant", message=message)) == text


@pytest.mark.parametrize("cell", table("calls.txt", "below", named=True))
def test_a_sub_agents_words_are_not_the_answer(cell: str) -> None:
    assert aggregated(*events(cell)) == "mine"


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
        yield assistant("".join(deltas)) if last else delta("".join(deltas)) + LINES["query"]


@pytest.mark.parametrize("style", [plain, old, partial, asked])
@given(segments=st.lists(SEGMENT, max_size=5))
def test_the_result_is_what_was_said(style: Any, segments: list[list[str]]) -> None:
    if style is asked:  # a delta that repeats all before it looks like that replay
        assume(not any(repeats(deltas) for deltas in segments))
    lines = []
    for i, deltas in enumerate(segments, 1):
        lines += style(deltas, last=i == len(segments))
        lines += [LINES["thinking"], LINES["call"]]
    assert aggregated(*lines[:-1]) == "".join(map("".join, segments))


def repeats(deltas: list[str]) -> bool:
    return any(text == said for said, text in zip(accumulate(deltas), deltas[1:], strict=False))
