"""Streams of every agent, made by hand after recordings: tests/agents.txt.

Below ``# NAME: succeeds``, ``# NAME: fails: a part of the messages`` or ``# NAME: 1 2 1`` (the exit
status, the runs that succeed and those that fail) stand ``> `` and what -d shows, ``= `` and the
answer, ``! `` and the word for each run's failure, and the lines. ``@NAMES`` are parts that recur,
each below a heading of its own. In a ``message`` and a ``delta`` the lines behind ``* `` come once
for each text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from support import as_line, sections

Line = dict[str, Any]
SECTIONS = sections("agents.txt")
PARTS = {head: rows for head, rows in (*SECTIONS, *sections("verdicts.txt")) if head[0] == "@"}
ENDS = {"succeeds": "0 1 0", "fails": "1 0 1"}


class Stream(NamedTuple):
    lines: list[Line]
    status: int
    runs: tuple[int, int]  # that succeed, that fail
    why: str  # a part of the messages; without it there are none
    shown: list[str]  # the lines of -d: {tool} and {not tool} stand for labels
    answers: list[str]
    words: list[str]  # for failures, - for none

    @property
    def data(self) -> bytes:
        return stream(self.lines)


def stream(lines: Iterable[Line]) -> bytes:
    return b"".join(map(as_line, lines))


def part(*names: str) -> list[Line]:
    """The lines of some parts: step, stop."""
    return [*made(f"@{name}" for name in names)]


def made(rows: Iterable[str], *texts: str) -> Iterator[Line]:
    """The lines that rows stand for; what recurs does so with each text."""
    rows = [*rows]
    last = max((at for at, row in enumerate(rows) if row[0] == "*"), default=-1)
    for at, row in enumerate(rows):
        if row[0] == "@":
            for name in row.split():
                yield from made(PARTS[name])
        elif row[0] == "{":
            yield json.loads(row)
        if at == last:
            for text in texts:
                yield from (json.loads(filled(one, text)) for one in rows if one[0] == "*")


def filled(row: str, text: str) -> str:
    """A row that recurs, with its text, or the first character of that, and the rest."""
    for name, words in {"text": text, "head": text[:1], "tail": text[1:]}.items():
        row = row.replace(f"<{name}>", json.dumps(words)[1:-1])
    return row.removeprefix("* ").replace('"<number>"', str(len(text) + ord(text[0])))


def read_streams() -> Iterator[tuple[str, Stream]]:
    for head, rows in SECTIONS:
        name, _, how = head.partition(": ")
        kind, _, why = how.partition(": ")
        if head[0] not in "@-" and kind not in ("message", "delta", "fragment"):
            status, *runs = map(int, ENDS.get(kind, kind).split())
            shown, answers, words = ([row[2:] for row in rows if row[0] == sign] for sign in ">=!")
            lines, ends = [*made(rows)], (runs[0], runs[1])
            yield name, Stream(lines, status, ends, why, shown, answers, words)


STREAMS = dict(read_streams())
MESSAGES, DELTAS, FRAGMENTS = (
    {head.partition(":")[0]: rows for head, rows in SECTIONS if head.endswith(f": {kind}")}
    for kind in ("message", "delta", "fragment")
)
# Agents of which test_joined.py has no runs of its own: one that succeeds.
NEWER = {
    name.removesuffix("-good"): made.lines
    for name, made in STREAMS.items() if name.endswith("-good")
}  # fmt: skip
MORE = [name for name in STREAMS if name.partition("-")[0] in (*NEWER, "transcript")]
