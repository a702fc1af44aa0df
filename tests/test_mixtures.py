"""Whose a line is: the rule at the head of the room *sessions*, a row for each of its cases.

A row is the lines of one FILE, and what became of their runs in the order in which these ended:
agent, session and verdict, then what belongs to no run."""

from __future__ import annotations

import operator
import re
from typing import Any

import pytest
from support import assistant, completed, convert, event, init, interleaved, result, started, user
from test_joined import GOOD, UNKNOWN_SESSION, Lines, claude, gemini, lines

import agentfmt

ERROR = lines({"type": "error", "message": "not logged in"})
MARKED = lines({"type": "error", "message": "no", "converted_from": "codex"})
NEW = lines({"type": "brand_new"})
LOG = lines({"type": "log", "session_id": "web-1"})
ROLLOUT = lines(
    {"type": "event_msg", "timestamp": "2026-01-01T00:00:00Z",
     "payload": {"type": "agent_message", "message": "Hi"}}
)  # fmt: skip
SAID, DONE, ASKED = (
    [part(session=None)] for part in (lambda **s: assistant("Hi", **s), result, user)
)
NAMELESS = [init(None), started(session=None), completed(session=None), *DONE]
PLAIN = [init("p-1"), user("p-1"), assistant("Hi", "p-1"), result("p-1")]  # shows no agent
DROID = [line.replace(b'"reasoning_effort": "low", ', b"") for line in GOOD["droid"]]
TOOL = lines({"type": "tool_use", "tool_id": "t", "tool_name": "ls", "parameters": {}})
OPEN, AGAIN = GOOD["codex"][:-1], GOOD["codex"][-1:]
CLAUDE, CODEX = "claude cl-1 succeeded", "codex th-1 succeeded"
CUT = "codex th-1 unfinished"

TABLE: dict[str, tuple[Lines, str]] = {
    # 1: it names a conversation whose agent is known
    "two in turns": (interleaved(GOOD["claude"], GOOD["codex"]), f"{CLAUDE}, {CODEX}"),
    "a type of Claude's in a named run of Cursor's": ([*GOOD["cursor"][:-1], event("stream_event"),
        GOOD["cursor"][-1]], "cursor 5f0e4a1c succeeded"),
    # 2: it names none, and its type is the reader's own
    "items of Codex": ([*GOOD["claude"], *GOOD["codex"]], f"{CLAUDE}, {CODEX}"),
    "items, the thread is lost": (GOOD["codex"][1:], "codex ? succeeded"),
    # 3: it shows an agent
    "Codex within Claude": ([*claude(), *GOOD["codex"], GOOD["claude"][-1]], f"{CODEX}, {CLAUDE}"),
    "back to the last one of an agent": (interleaved(GOOD["gemini"], [*OPEN, *NEW * 3, *AGAIN]),
        f"gemini ge-1 succeeded, {CODEX}"),
    "an agent that names nobody": (GOOD["grok"], "grok ? succeeded"),
    "a prompt that names its session, and what shows its agent and names none": ([user("cl-1"),
        *(line.replace(b', "session_id": "cl-1"', b"") for line in claude()[1:])],
        "claude cl-1 unfinished"),
    "lines of Cursor's that name nobody, in an open run of another": ([*OPEN, *NAMELESS, *AGAIN],
        f"cursor None succeeded, {CODEX}"),
    "in turns with it": (interleaved(NAMELESS, [*OPEN, *AGAIN]),
        f"{CODEX}, cursor None unfinished"),
    "within a run of Cursor's": ([*GOOD["cursor"][:-1], started("c9", session=None),
        GOOD["cursor"][-1]], "cursor 5f0e4a1c succeeded"),
    "a service's event with data": ([*claude(),
        *lines({"specversion": "1.0", "type": "com.example.created", "data": {}}),
        GOOD["claude"][-1]], CLAUDE),
    "a very long name, and a line of an agent that names none": ([init("x" * 301),
        *lines({"type": "assistant", "uuid": "u", "message": {"content": []}})],
        "claude ? unfinished, cursor xxxxxxxx unfinished"),
    "a type of the saved form within the stream": ([*OPEN,
        *lines({"type": "event_msg"}, {"type": "compacted"}), *AGAIN], CODEX),
    "a line of the saved form within the stream": ([*OPEN, *ROLLOUT, *AGAIN],
        f"{CODEX}, codex ? succeeded"),
    "and the stream is cut": ([*OPEN, *ROLLOUT], f"codex ? succeeded, {CUT}"),
    # 4: it names a conversation that shows no agent yet
    "of no agent, behind one": ([*GOOD["codex"], *PLAIN], f"{CODEX}, cursor p-1 succeeded"),
    "its agent shows later": ([*GOOD["codex"], *DROID], f"{CODEX}, droid dr-1 succeeded"),
    "it never does anything": ([*GOOD["codex"], user("p-1")], f"{CODEX}, cursor p-1 unfinished"),
    "of no known type": ([*GOOD["codex"], *UNKNOWN_SESSION], CODEX),
    "only the last line names it": ([*NAMELESS[:-1], result("late")], "cursor None succeeded"),
    "the same of Copilot, converted": ([line.replace(b"co-1", b"late") for line in GOOD["copilot"]],
        "copilot ? succeeded"),
    # 5: nobody's, beside an agent at work
    "a new type": ([*OPEN, *NEW, *AGAIN], CODEX),
    "words": ([*OPEN, *SAID, *AGAIN], CODEX),
    "a success": ([*OPEN, *DONE], CUT),
    "a success in a run of Cursor's": ([*GOOD["cursor"][:-1], *DONE], "cursor 5f0e4a1c unfinished"),
    "an error": ([*OPEN, *ERROR, *AGAIN], CODEX),
    "an error, and no more": ([*OPEN, *ERROR], "codex th-1 not logged in"),
    "a type that several agents have": ([*gemini(), *TOOL, *GOOD["gemini"][2:]],
        "gemini ge-1 succeeded"),
    # 5: nobody's, and no agent is at work
    "a new type behind a run": ([*GOOD["codex"], *NEW], CODEX),
    "words behind a run": ([*GOOD["codex"], *SAID], f"{CODEX}, cursor None unfinished"),
    "a run behind a run": ([*GOOD["codex"], *ASKED, *SAID, *DONE],
        f"{CODEX}, cursor None succeeded"),
    "an error before any run": ([*ERROR, *GOOD["codex"]], CODEX),
    "before one whose errors name it": ([*ERROR, *GOOD["claude"]], f"{CLAUDE}, 1 event (error)"),
    "between two runs": ([*GOOD["codex"], *ERROR, *GOOD["codex"]], f"{CODEX}, {CODEX}"),
    "behind the last run": ([*GOOD["codex"], *ERROR], f"{CODEX}, 1 event (error)"),
    "behind Codex, where Claude spoke first": ([*GOOD["claude"], *GOOD["codex"], *ERROR],
        f"{CLAUDE}, {CODEX}, 1 event (error)"),
    "and then Claude again": ([*GOOD["claude"], *GOOD["codex"], *ERROR, *GOOD["claude"]],
        f"{CLAUDE}, {CODEX}, {CLAUDE}"),
    "between two runs of Cursor": ([*GOOD["cursor"], *ERROR, *GOOD["cursor"]],
        "cursor 5f0e4a1c succeeded, cursor 5f0e4a1c succeeded, 1 event (error)"),
    "that a conversion marked": ([*GOOD["cursor"], *MARKED, *GOOD["cursor"]],
        "cursor 5f0e4a1c succeeded, cursor 5f0e4a1c succeeded"),
}  # fmt: skip


def outcome(stream: Lines, *flags: str) -> str:
    ended = convert(stream, "-t", "runs", *flags)
    told = []
    for run in filter(operator.itemgetter("agent"), ended.objects):
        name = str(run["session"])[: agentfmt.SESSION_PREFIX]
        name = "?" if re.fullmatch("[0-9a-f]{8}", name) and name != "5f0e4a1c" else name
        error = run["reason"] and "ended without" not in run["reason"]
        told.append(f"{run['agent']} {name} {run['reason'] if error else run['verdict']}")
    outside = re.findall(r"(\d+ events? .*?) belongs? to no run", ended.stderr)
    assert ended.status == any("succeeded" not in one for one in (*told, *outside))
    return ", ".join([*told, *outside])


@pytest.mark.parametrize(("stream", "expected"), TABLE.values(), ids=TABLE.keys())
def test_whose_a_line_is(stream: Lines, expected: str) -> None:
    assert outcome(stream) == expected
    converted = convert(stream, "-t", "cursor").stdout.splitlines(keepends=True)
    assert convert(converted).status == convert(stream).status


def test_a_stranger_names_no_run_of_copilot() -> None:
    """Its own last line would, and a converted one, which this one can't be."""
    lines = [*GOOD["copilot"][:-1], result("late")]
    assert outcome(lines) == "cursor late succeeded, copilot ? unfinished"


GIVEN: dict[str, tuple[str, Lines, str]] = {
    "its own": ("codex", OPEN + AGAIN, CODEX),
    "what shows no agent": ("claude", PLAIN, "claude p-1 succeeded"),
    "another's, which names nobody": ("claude", [*GOOD["claude"], *TOOL],
        f"{CLAUDE}, 1 event (tool_use)"),
    "another's, which names its session": ("claude", GOOD["droid"][1:],
        "2 events (message, completion)"),
    "a type of another's saved form": ("codex",
        [*OPEN, *lines({"type": "progress", "pct": 3}), *AGAIN], CODEX),
    "an error first": ("codex", [*ERROR, *GOOD["codex"]], CODEX),
    "a stranger's that names a session": ("codex", [*OPEN[:1], *LOG, *OPEN[1:], *AGAIN], CODEX),
    "a relative's": ("qwen", GOOD["claude"], "qwen cl-1 succeeded"),
}  # fmt: skip


@pytest.mark.parametrize(("agent", "stream", "expected"), GIVEN.values(), ids=GIVEN.keys())
def test_with_a_given_agent(agent: str, stream: Lines, expected: str) -> None:
    assert outcome(stream, "--from", agent) == expected


@pytest.mark.parametrize("agent", GOOD)
def test_no_stranger_takes_over_from_a_given_agent(agent: str) -> None:
    good = GOOD[agent]
    for strange in (LOG, lines({}), lines({"type": "log", "sessionId": "web-1"})):
        for at in range(len(good) + 1):
            ended = convert([*good[:at], *strange, *good[at:]], "--from", agent)
            assert ended == convert(good, "--from", agent)


def test_an_unread_line_may_show_the_agent() -> None:
    """Though the output reads no words, one with a call is no word."""
    call: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    said = {"type": "assistant", "session_id": "p-1", "message": {"content": [call]}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    heard = {"type": "user", "session_id": "p-1", "message": {"content": [answer]}}
    (made,) = convert([*OPEN, init("p-1"), *lines(said, heard)], "-t", "calls").objects
    assert made["name"] == "Bash"
