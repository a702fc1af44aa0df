"""Whose a line is: the rule at the head of the room *sessions*, a row of mixtures.txt for each of
its cases.

A row has a name, the lines of one FILE, or of several with / between them, and what became of their
runs in the order in which these ended: agent, session and verdict, then what belongs to no run.
Lines are some of a part, or JSON, with + between them; with ~ they take turns."""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import pytest
from support import convert, interleaved, named_sections, result
from test_joined import GOOD, Lines, lines

import agentfmt

ROWS = named_sections("mixtures.txt")
PARTS = {**GOOD}


def lines_of(part: str) -> Lines:
    """Those that a part stands for: JSON of one, or a name, with a slice of what it names."""
    if part.startswith("{"):
        return lines(json.loads(part))
    name, *ends = re.split(r"[\[:\]]", part)
    return PARTS[name][slice(*(int(end) if end else None for end in ends[:2] or [""]))]


def joined(cell: str) -> Lines:
    return [line for part in cell.split(" + ") for line in lines_of(part)]


for row in ROWS["parts"]:
    name, cell = row.split(" -> ")
    PARTS[name] = joined(cell)
LOG = PARTS["log"]


def stream_of(cell: str) -> Lines | dict[str, Lines]:
    files = [interleaved(*map(joined, file.split(" ~ "))) for file in cell.split(" / ")]
    return files[0] if len(files) == 1 else {str(at): file for at, file in enumerate(files)}


def cases(*headings: str) -> list[Any]:
    rows = (re.split(r" (?:\||->) ", row) for heading in headings for row in ROWS[heading])
    return [pytest.param(*cells, id=name) for name, *cells in rows]


def outcome(stream: Lines | dict[str, Lines], *flags: str) -> str:
    ended = convert(stream, "-t", "runs", *flags)
    told = []
    for run in filter(operator.itemgetter("agent"), ended.objects):
        name = str(run["session"] or "?")[: agentfmt.SESSION_PREFIX]
        error = run["reason"] and "ended without" not in run["reason"]
        told.append(f"{run['agent']} {name} {run['reason'] if error else run['verdict']}")
    outside = re.findall(r"(\d+ events? .*?) belongs? to no run", ended.stderr)
    assert ended.status == any("succeeded" not in one for one in (*told, *outside))
    return ", ".join([*told, *outside])


@pytest.mark.parametrize(("cell", "expected"), cases(*[*ROWS][1:-2]))
def test_whose_a_line_is(cell: str, expected: str) -> None:
    stream = stream_of(cell)
    assert outcome(stream) == expected
    converted = convert(stream, "-t", "cursor").stdout.splitlines(keepends=True)
    assert convert(converted).status == convert(stream).status


def test_a_stranger_names_no_run_of_copilot() -> None:
    """Its own last line would, and a converted one, which this one can't be."""
    lines = [*GOOD["copilot"][:-1], result("late")]
    assert outcome(lines) == "cursor late succeeded, copilot ? unfinished"


@pytest.mark.parametrize(("agent", "cell", "expected"), cases("given"))
def test_with_a_given_agent(agent: str, cell: str, expected: str) -> None:
    assert outcome(stream_of(cell), "--from", agent) == expected


@pytest.mark.parametrize("agent", GOOD)
def test_no_stranger_takes_over_from_a_given_agent(agent: str) -> None:
    good = GOOD[agent]
    for strange in (LOG, lines({}), lines({"type": "log", "sessionId": "web-1"})):
        for at in range(len(good) + 1):
            ended = convert([*good[:at], *strange, *good[at:]], "--from", agent)
            assert ended == convert(good, "--from", agent)


@pytest.mark.parametrize("given", ["cursor", "claude", "codex", "pi"])
@pytest.mark.parametrize("agent", GOOD)
def test_a_wrong_agent_is_told(agent: str, given: str) -> None:
    """No run of another agent's succeeds, and no gate passes: its lines are not read at all."""
    ended = convert(GOOD[agent], "--from", given)
    own = agentfmt.TRANSLATORS[agent] is agentfmt.TRANSLATORS[given]
    assert ended.status == (not own)
    assert (f"{agent} wrote them: leave out --from {given}" in ended.stderr) is not own
    assert own or "ended without" not in ended.stderr


def test_an_error_among_the_lines_of_a_wrong_agent_is_no_reason() -> None:
    first, *rest = GOOD["cursor"]
    error = lines(
        {"type": "error", "message": "529", "session_id": json.loads(first)["session_id"]}
    )
    ended = convert([first, *error, *rest], "--from", "claude")
    assert ended.stderr.endswith(": cursor wrote them: leave out --from claude\n")


@pytest.mark.parametrize("agent", GOOD)
def test_no_strangers_end_makes_a_success(agent: str) -> None:
    """An end holds more than its type, which any program may print."""
    cut = GOOD[agent][:-1]
    before = convert(cut).status
    ended = {end: convert([*cut, *lines_of(end)]).status for end in ROWS["ends"]}
    assert [end for end in ended if ended[end] < before] == []
