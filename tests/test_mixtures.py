"""Whose a line is: the rule at the head of the room *sessions*, a row for each of its cases.

A row is the lines of one FILE, or of several, and what became of their runs in the order in which
these ended: agent, session and verdict, then what belongs to no run."""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import pytest
from support import assistant, completed, convert, event, init, interleaved, result, started, user
from test_joined import (
    GOOD,
    STEP,
    UNKNOWN_SESSION,
    Lines,
    claude,
    copilot,
    gemini,
    lines,
    opencode,
)

import agentfmt

Stream = Lines | dict[str, Lines]  # of one FILE, or of several
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

TABLE: dict[str, tuple[Stream, str]] = {
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
    "its first line may be any agent's": (lines({"type": "system", "subtype": "init", "cwd": "/tmp",
        "session_id": "s-1"}, {"type": "message", "role": "user", "id": "u", "text": "Hi",
        "session_id": "s-1"}), "droid s-1 unfinished"),
    "an agent that names nobody": (GOOD["grok"], "grok 019e succeeded"),
    "a prompt that names its session, and what shows its agent and names none": ([user("cl-1"),
        *(line.replace(b', "session_id": "cl-1"', b"") for line in claude()[1:])],
        "claude cl-1 unfinished"),
    "lines of Cursor's that name nobody, in an open run of another": ([*OPEN, *NAMELESS, *AGAIN],
        f"cursor ? succeeded, {CODEX}"),
    "in turns with it": (interleaved(NAMELESS, [*OPEN, *AGAIN]),
        f"{CODEX}, cursor ? unfinished"),
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
    "only the last line names it": ([*NAMELESS[:-1], result("late")], "cursor late succeeded"),
    "the same of Copilot, converted": ([line.replace(b"co-1", b"late") for line in GOOD["copilot"]],
        "copilot late succeeded"),
    # 5: nobody's, beside an agent at work
    "a new type": ([*OPEN, *NEW, *AGAIN], CODEX),
    "words": ([*OPEN, *SAID, *AGAIN], CODEX),
    "a success": ([*OPEN, *DONE], CUT),
    "a success in a run of Cursor's": ([*GOOD["cursor"][:-1], *DONE], "cursor 5f0e4a1c unfinished"),
    "a success, and then its own": ([*GOOD["cursor"][:-1], *DONE, GOOD["cursor"][-1]],
        "cursor 5f0e4a1c succeeded"),
    "an error": ([*OPEN, *ERROR, *AGAIN], CODEX),
    "an error, and no more": ([*OPEN, *ERROR], "codex th-1 not logged in"),
    "a type that several agents have": ([*gemini(), *TOOL, *GOOD["gemini"][2:]],
        "gemini ge-1 succeeded"),
    "what lacks the members that the agent's lines of the type have": ([*gemini(),
        *lines({"type": "result", "status": "success"}, {"type": "error"}), *GOOD["gemini"][2:]],
        "gemini ge-1 succeeded"),
    "and no end follows": ([*gemini(), *lines({"type": "result", "status": "success"})],
        "gemini ge-1 unfinished"),
    # 5: nobody's, and no agent is at work
    "a new type behind a run": ([*GOOD["codex"], *NEW], CODEX),
    "words behind a run": ([*GOOD["codex"], *SAID], f"{CODEX}, {CUT}"),
    "a run behind a run": ([*GOOD["codex"], *ASKED, *SAID, *DONE], f"{CODEX}, {CUT}"),
    "an error before any run": ([*ERROR, *GOOD["codex"]], CODEX),
    "before one whose errors name it": ([*ERROR, *GOOD["claude"]], f"{CLAUDE}, 1 event (error)"),
    "between two runs": ([*GOOD["codex"], *ERROR, *GOOD["codex"]], f"{CODEX}, {CODEX}"),
    "behind the last run": ([*GOOD["codex"], *ERROR], f"{CODEX}, 1 event (error)"),
    "behind Codex, where Claude spoke first": ([*GOOD["claude"], *GOOD["codex"], *ERROR],
        f"{CLAUDE}, {CODEX}, 1 event (error)"),
    "and then Claude again": ([*GOOD["claude"], *GOOD["codex"], *ERROR, *GOOD["claude"]],
        f"{CLAUDE}, {CODEX}, {CLAUDE}"),
    "between two runs of Cursor": ([*GOOD["cursor"], *ERROR, *GOOD["cursor"]],
        "cursor 5f0e4a1c succeeded, cursor 5f0e4a1c succeeded"),
    "that a conversion marked": ([*GOOD["cursor"], *MARKED, *GOOD["cursor"]],
        "cursor 5f0e4a1c succeeded, cursor 5f0e4a1c succeeded"),
}  # fmt: skip


# ---------------------------------------------------------------- what follows a run, or is in it


def of_interaction(name: str, stream: Lines) -> Lines:
    """Lines of Copilot's that name their interaction."""
    made = map(json.loads, stream)
    return lines(*(one | {"data": one.get("data", {}) | {"interactionId": name}} for one in made))


def waited(how: str) -> Lines:
    """A run of Copilot with a second prompt, which came while it worked, or when it was idle."""
    prompt = {"type": "user.message", "data": {"content": "and", "delivery": how}}
    return [*copilot(prompt), *GOOD["copilot"][1:]]


def hooks(name: str, session: str = "passing") -> Lines:
    named = {"type": "system", "hook_name": name, "session_id": session, "uuid": "u"}
    return lines(*({**named, "subtype": kind} for kind in ("hook_started", "hook_response")))


def claudes(kind: str, *content: Any, **more: Any) -> Lines:
    return lines({"type": kind, "session_id": "cl-1", "message": {"content": [*content]}, **more})


INIT, HI, END = ([line] for line in GOOD["claude"])
LATE = lines({**json.loads(HI[0]), "parent_tool_use_id": "toolu_1"})
GO_ON = claudes("user", {"type": "text", "text": "and"}, uuid="u")
TASK = {"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"description": "x"}}
STARTED = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "launched"}
LAUNCHED = [*INIT, *claudes("assistant", TASK),
            *claudes("user", STARTED, tool_use_result={"isAsync": True}), *END]  # fmt: skip
HOST = claudes(
    "user", {"type": "text", "text": "Go on."}, session_id="cl-2", uuid="u", isSynthetic=True
)
NOTED = lines({"type": "system", "subtype": "task_notification", "tool_use_id": "toolu_1",
               "status": "completed", "session_id": "cl-1"})  # fmt: skip
CONTROLS = ("control_response", "control_cancel_request", "keep_alive")
CONTROL = lines(*({"type": kind, "request_id": "r"} for kind in CONTROLS))
TOOLS = lines({"type": "session.tools_updated", "data": {"model": "m"}})
READ = {"type": "tool_use", "part": {"tool": "read", "callID": "c",
                                     "state": {"status": "completed", "input": {}}}}  # fmt: skip
LISTED = lines({"type": "tool_result", "tool_id": "t", "status": "success"})
NO = {"type": "error", "message": "no"}
BOOM = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "boom"}
CURSOR, COPILOT = "cursor 5f0e4a1c succeeded", "copilot co-1 succeeded"
PI, DROID_OK = "pi pi-1 succeeded", "droid dr-1 succeeded"
BOTH = f"{CLAUDE}, {CLAUDE}"
SUPERSEDED = "superseded by another init at stdin"

TABLE |= {
    # behind an end
    "an error that names the run": ([*GOOD["cursor"], event("error", message="late")], CURSOR),
    "a loop's error behind a completion": ([*GOOD["droid"],
        *lines({**NO, "source": "agent_loop", "session_id": "dr-1"})],
        f"{DROID_OK}, droid dr-1 no"),
    "an error of its command line": ([*GOOD["droid"], *lines({**NO, "source": "cli"})],
        f"{DROID_OK}, droid dr-1 no"),
    "a message that failed": ([*GOOD["pi"], *lines({"type": "message_end", "message": BOOM})],
        f"{PI}, pi pi-1 boom"),
    "a turn of Pi": ([*GOOD["pi"], *lines({"type": "turn_start"})], f"{PI}, pi pi-1 unfinished"),
    "a turn of Codex": ([*GOOD["codex"], *lines({"type": "turn.started"})], f"{CODEX}, {CUT}"),
    "another agent's run": ([*GOOD["claude"], *OPEN], f"{CLAUDE}, {CUT}"),
    "the sub-agent that outlives it": ([*GOOD["claude"], *LATE, *LATE], CLAUDE),
    "and a run behind that": ([*GOOD["claude"], *LATE, *GOOD["claude"]], BOTH),
    "what the host of another session says": ([*GOOD["claude"], *HOST], CLAUDE),
    "words that are no sub-agent's": ([*GOOD["claude"], *HI, *GOOD["claude"]],
        f"{CLAUDE}, claude cl-1 {SUPERSEDED}:5, {CLAUDE}"),
    "a sub-agent that never ended": (LAUNCHED,
        f"{CLAUDE}, claude cl-1 a sub-agent in the background never ended"),
    "one that did": ([*LAUNCHED, *NOTED, *GOOD["claude"]], BOTH),
    "latecomers in another FILE": ({"one": GOOD["cursor"],
        "two": [event("connection"), event("new")]}, CURSOR),
    # the same session again
    "Copilot's": (GOOD["copilot"] * 2, f"{COPILOT}, {COPILOT}"),
    "Copilot's, in another FILE": ({"a": GOOD["copilot"], "b": GOOD["copilot"]},
        f"{COPILOT}, {COPILOT}"),
    "OpenCode's, in another FILE": ({"a": GOOD["opencode"], "b": GOOD["opencode"]},
        "opencode ses_1 succeeded, opencode ses_1 succeeded"),
    "an interaction that was cut off, and the next": ([*of_interaction("one", copilot()),
        *of_interaction("two", copilot()), GOOD["copilot"][-1]],
        f"copilot ? {SUPERSEDED}:3, {COPILOT}"),
    "a prompt behind a prompt": ([*of_interaction("one", copilot()[:1]), *GOOD["copilot"]],
        f"copilot ? {SUPERSEDED}:2, {COPILOT}"),
    "a prompt that waited": (waited("queued"), COPILOT),
    "one that steers": (waited("steering"), COPILOT),
    "one that came when it was idle": (waited("idle"), f"copilot ? {SUPERSEDED}:3, {COPILOT}"),
    "Copilot that died before its prompt": ([*GOOD["copilot"], *TOOLS],
        f"{COPILOT}, copilot ? unfinished"),
    "its tools before its prompt": ([*TOOLS, *GOOD["copilot"]], COPILOT),
    "an init behind acts": ([*GOOD["cursor"][2:4], *GOOD["cursor"]],
        f"cursor 5f0e4a1c {SUPERSEDED}:3, {CURSOR}"),
    "an init behind a prompt": ([*GOOD["cursor"][1:2], *GOOD["cursor"]], CURSOR),
    "prompts within a later run": ([*GOOD["claude"], *GO_ON, *HI, *GO_ON, *HI, *END], BOTH),
    "hooks of a session that the run resumes": (
        [*hooks("SessionStart:resume"), *GOOD["claude"]], CLAUDE),
    "hooks of one that began, and no more": ([*hooks("SessionStart:startup"), *GOOD["claude"]],
        f"{CLAUDE}, 2 events (system)"),
    "hooks of its own before a run": ([*GOOD["claude"], *hooks("SessionStart:resume", "cl-1"),
        *GOOD["claude"]], BOTH),
    # within a run
    "a last step that failed": (opencode({"type": "step_finish", "part": {"reason": "error"}}),
        "opencode ses_2 it was stopped (last step error)"),
    "controls that name no session": ([*CONTROL, *INIT, *CONTROL, *HI, *END, *CONTROL], CLAUDE),
    "types that Gemini and OpenCode have": ([*gemini()[:1], *TOOL, *opencode()[:2], *LISTED,
        *opencode(READ, STEP)[2:], *GOOD["gemini"][1:]],
        "gemini ge-1 succeeded, opencode ses_2 succeeded"),
}  # fmt: skip


def outcome(stream: Stream, *flags: str) -> str:
    ended = convert(stream, "-t", "runs", *flags)
    told = []
    for run in filter(operator.itemgetter("agent"), ended.objects):
        name = str(run["session"] or "?")[: agentfmt.SESSION_PREFIX]
        error = run["reason"] and "ended without" not in run["reason"]
        told.append(f"{run['agent']} {name} {run['reason'] if error else run['verdict']}")
    outside = re.findall(r"(\d+ events? .*?) belongs? to no run", ended.stderr)
    assert ended.status == any("succeeded" not in one for one in (*told, *outside))
    return ", ".join([*told, *outside])


@pytest.mark.parametrize(("stream", "expected"), TABLE.values(), ids=TABLE.keys())
def test_whose_a_line_is(stream: Stream, expected: str) -> None:
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


@pytest.mark.parametrize("given", ["cursor", "claude", "codex", "pi"])
@pytest.mark.parametrize("agent", GOOD)
def test_a_wrong_agent_is_told(agent: str, given: str) -> None:
    """No run of another agent's succeeds, and no gate passes: its lines are not read at all."""
    ended = convert(GOOD[agent], "--from", given)
    own = agentfmt.TRANSLATORS[agent] is agentfmt.TRANSLATORS[given]
    assert ended.status == (not own)
    assert (f"{agent} wrote them: leave out --from {given}" in ended.stderr) is not own
    assert own or "ended without" not in ended.stderr


STRANGE_ENDS: list[dict[str, Any]] = [
    {"type": "result", "status": "success"}, {"type": "result", "exitCode": 0},
    {"type": "result", "subtype": "success", "is_error": False, "sessionId": "x"},
    {"type": "turn.completed", "player": "x"}, {"type": "agent_end", "name": "x"},
    {"type": "turn_end"}, {"type": "completion", "finalText": "x"},
    {"type": "done", "reason": "idle"},
    {"type": "run_result", "finishReason": "completed"}, {"type": "complete", "x": 1},
    {"type": "end", "stopReason": "end_turn"}, {"type": "message", "role": "user", "content": "x"},
    {"event": "result", "result": {"status": "SUCCESS", "response": "x"}},
    {"role": "meta", "type": "session.resume_hint"},
]  # fmt: skip


@pytest.mark.parametrize("agent", GOOD)
def test_no_strangers_end_makes_a_success(agent: str) -> None:
    """An end holds more than its type, which any program may print."""
    cut = GOOD[agent][:-1]
    before = convert(cut).status
    ended = {str(end): convert([*cut, *lines(end)]).status for end in STRANGE_ENDS}
    assert [end for end in ended if ended[end] < before] == []
