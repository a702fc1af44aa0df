"""Runs that say that they succeeded, and didn't: the samples beside the checkout, and other shapes.

The samples' table says how each ends, and the word for why it failed.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from support import SHARED, Ended, content, convert, corpus, returned, use

import agentfmt

Line = dict[str, Any]

# Nothing in these streams tells them from genuine successes: of denied calls the agent may have
# found another way, silence may have been asked for, and what states no tokens may be selected.
UNTOLD = {
    "claude-all-denied", "codex-nothing", "opencode-stop-nothing", "copilot-nothing",
    "copilot-call-failure-exit0",
}  # fmt: skip


CUT = "claude-max-tokens claude-thinking-used-all claude-context-window opencode-length-void"
CUT += " pi-length"
# Words that the table doesn't know.
NEWER = {f"false/{name}.ndjson": "cut" for name in CUT.split()}
NEWER["false/gemini-max-turns.ndjson"] = "budget"


def samples() -> list[Any]:
    """The rows of cases.tsv: (file, exit status, the word for the failure)."""
    (table,) = corpus("verdicts", suffix="cases.tsv")
    if table.marks:
        return [pytest.param("", 0, "", marks=table.marks, id="absent")]
    rows = [line.split("\t") for line in content(table.values[0]).decode().splitlines()[1:]]
    told = [(file, int(status), NEWER.get(file, word)) for file, _, status, word, *_ in rows]
    assert {file for file, status, _ in told if status} >= {
        f"false/{name}.ndjson" for name in UNTOLD
    }
    return [
        pytest.param(os.path.join(SHARED, "verdicts", file), status, word, id=file)
        for file, status, word in told
        if os.path.basename(file).removesuffix(".ndjson") not in UNTOLD
    ]


def verdicts(data: bytes | Mapping[str, Iterable[bytes]], *flags: str) -> list[Any]:
    rows = convert(data, "-t", "runs", *flags).objects
    return [(row["verdict"], row["failure"]) for row in rows]


def same_when_converted(data: bytes) -> Ended:
    """A stream, whose conversions mean the same, also without texts, and after another one."""
    ended, wanted = convert(data), verdicts(data)
    for flags in ((), ("-r", "all")):
        once = convert(data, "-t", "cursor", *flags)
        assert (once.status, verdicts(once.stdout)) == (ended.status, wanted)
        assert convert(once.stdout).status == ended.status
    assert verdicts(convert(once.stdout, "-t", "cursor").stdout) == wanted
    return ended


@pytest.mark.parametrize(("path", "status", "word"), samples())
def test_a_sample(path: str, status: int, word: str) -> None:
    data = content(path)
    assert same_when_converted(data).status == status
    for to in agentfmt.WRITERS:
        ended = convert({"a.ndjson": [data]}, "-t", to)
        assert ended.status == convert(data, "-t", to).status == status
        if to == "json":
            late = path.endswith("-after-result.ndjson")  # it was printed before anybody knew
            assert bool(ended.stdout) == (not status or late)
    own = [line for line in data.splitlines() if line.startswith(b"{")]
    assert convert(data, "-t", "stream-json", "--thinking").stdout.splitlines() == own
    assert [failure for _, failure in verdicts(data)][-1] == (word or None)
    assert (" failed: " in convert(data).stderr) == bool(status)


# ---------------------------------------------------------------- shapes that no sample has


def data_of(*lines: Line) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def claude(kind: str, **members: Any) -> Line:
    return {"type": kind, "session_id": "s", **members}


def says(*blocks: Any, out: int | None = None, **members: Any) -> Line:
    """A line of the assistant: texts, and blocks of other types."""
    parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    usage = {} if out is None else {"usage": {"input_tokens": 9, "output_tokens": out}}
    return claude("assistant", message={"role": "assistant", "content": parts, **usage}, **members)


def told(text: Any, **members: Any) -> Line:
    return claude("user", message={"role": "user", "content": text}, **members)


def ends(result: str = "Done.", out: int | None = 7, **members: Any) -> Line:
    usage = {} if out is None else {"usage": {"input_tokens": 9, "output_tokens": out}}
    return claude("result", subtype="success", is_error=False, result=result, **usage, **members)


INIT = claude("system", subtype="init", cwd="/w", tools=["Bash"], claude_code_version="2.1.300")
QWEN = claude("system", subtype="init", cwd="/w", tools=[], qwen_code_version="0.21.9")
AMP = {**INIT, "session_id": "T-1"}
BY_SCHEMA = {**INIT, "tools": ["Bash", "StructuredOutput"]}
CLAUDE_WORKS = [INIT, says(use(), out=9), told([returned("ok")])]
API_ERROR = "[API Error: 401 status code (no body)]"
QUOTA = '[API Error: {"error":{"details":[{"ids":[1]}]}} (Status: 429)]\nPlease wait and try again.'
BLOCKED = claude(
    "system", subtype="informational", content="Blocked: no.", preventContinuation=True
)
STDERR = "<local-command-stderr>Error: no such file</local-command-stderr>"
WOKEN = claude("system", subtype="task_notification", task_id="a1", status="completed")


def launched(**end: Any) -> list[Line]:
    """A sub-agent in the background, and how it ended."""
    return [
        INIT,
        says(use("Agent", description="look")),
        claude("system", subtype="task_started", task_id="a1", tool_use_id="t1"),
        told([returned("launched")], tool_use_result={"isAsync": True, "agentId": "a1"}),
        says("It runs."),
        claude("system", subtype="task_notification", task_id="a1", tool_use_id="t1", **end),
    ]


def gemini(*lines: Line, out: int | None = 5) -> list[Line]:
    begun = {"type": "init", "session_id": "s", "model": "m"}
    stats = {} if out is None else {"stats": {"output_tokens": out}}
    end = {"type": "result", "status": "success", "timestamp": "2026-01-01T00:00:00.000Z"}
    return [begun, *lines, {**end, **stats}]


def warns(message: str) -> Line:
    return {"type": "error", "severity": "warning", "message": message}


def step(*parts: Line, reason: str = "stop", message: str = "m1", out: int = 5) -> list[Line]:
    finish = {"reason": reason, "tokens": {"input": 9, "output": out}}
    return [
        {"type": kind, "sessionID": "s", "part": {"messageID": message, **one}}
        for kind, one in (
            ("step_start", {}), *((part.pop("kind"), part) for part in map(dict, parts)),
            ("step_finish", finish),
        )
    ]  # fmt: skip


TEXT = {"kind": "text", "text": "So."}
THOUGHT = {"kind": "reasoning", "text": "Hm."}
REJECTED = {
    "kind": "tool_use", "callID": "c1", "tool": "read", "id": "p1",
    "state": {"status": "error", "input": {}, "error": "The user rejected permission to use this"},
}  # fmt: skip
CRASHED = {"type": "error", "sessionID": "s", "error": {"name": "Transport", "message": "reset"}}
DONE = {"type": "done", "sessionID": "s", "reason": "idle", "rejected": ["bash"]}


def droid(*lines: Line, text: str = "", out: int = 3) -> list[Line]:
    init = {"type": "system", "subtype": "init", "reasoning_effort": "low"}
    end = {"type": "completion", "finalText": text, "numTurns": 1, "usage": {"output_tokens": out}}
    return [{**line, "session_id": "s"} for line in (init, *lines, end)]


LOOP_ERROR = {"type": "error", "source": "agent_loop", "message": "529 overloaded"}


def pi(stop: str, *blocks: Line, saved: bool = False, out: int = 5) -> list[Line]:
    head = {"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00Z"}
    message: Line = {"role": "assistant", "content": [*blocks], "stopReason": stop}
    message["usage"] = {"input": 9, "output": out}
    ids = {"id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:01Z"}
    asked = {"role": "user", "content": [{"type": "text", "text": "Do it"}]}
    if saved:
        return [head, *({"type": "message", **ids, "message": one} for one in (asked, message))]
    ended = [{"type": "message_end", "message": message}, {"type": "turn_end", "message": message}]
    return [head, {"type": "agent_start"}, *ended, {"type": "agent_end", "messages": [message]}]


HELLO = {"type": "text", "text": "Hello"}


def codex(*items: tuple[str, Any, str | None], out: int | None = 5) -> list[Line]:
    """Items: a type, a text, and a phase."""
    begun = [{"type": "thread.started", "thread_id": "x"}, {"type": "turn.started"}]
    lines: list[Line] = [
        {"type": "item.completed", "item": {"id": str(number), "type": what, "text": text}}
        for number, (what, text, _) in enumerate(items)
    ]
    for line, (*_, phase) in zip(lines, items, strict=True):
        line["item"] |= {"phase": phase} if phase else {}
    return [*begun, *lines, {"type": "turn.completed", "usage": {"output_tokens": out}}]


CURSOR = claude("system", subtype="init", apiKeySource="login", cwd="/w")
CURSOR_CALL = [
    claude("tool_call", subtype=when, call_id="c", tool_call={"readToolCall": {"args": {}}})
    for when in ("started", "completed")
]


def cursor_end(result: str = "", out: int | None = 0, **members: Any) -> Line:
    usage = {} if out is None else {"usage": {"inputTokens": 9, "outputTokens": out}}
    return claude(
        "result", **{"is_error": False, **members}, result=result, request_id="r", **usage
    )


COPILOT_SAVED = [
    {"type": "session.start", "data": {"sessionId": "s", "producer": "copilot-agent"}},
    {"type": "user.message", "data": {"content": "hi", "attachments": []}},
    {"type": "session.error", "data": {"message": "No quota left"}},
]  # fmt: skip
ASIDE = ("agent_message", "I'll look.", "commentary")


def saved_claude(stop: str | None, text: str = "So", **members: Any) -> list[Line]:
    shared = {"sessionId": "s", "cwd": "/w"}
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], **members}
    message["stop_reason"] = stop
    asked = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Do it"}}
    answer = {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": message}
    return [{**shared, **line} for line in (asked, answer)]


def host_says(text: str, **members: Any) -> Line:
    line = says(text, out=0, **members)
    line["message"]["model"] = "<synthetic>"
    return line


def saved_codex(phase: str | None, last: str | None) -> list[Line]:
    answer = {"type": "message", "role": "assistant", "phase": phase}
    return [
        {"type": kind, "timestamp": "2026-01-01T00:00:00Z", "payload": told}
        for kind, told in (
            ("session_meta", {"id": "x", "cwd": "/w"}),
            ("event_msg", {"type": "user_message", "message": "Do it"}),
            ("response_item", {**answer, "content": [{"type": "output_text", "text": "I look."}]}),
            ("event_msg", {"type": "task_complete", "last_agent_message": last}),
        )
    ]


# What the reason says ("": a success), and the word for it.
SHAPES: dict[str, tuple[list[Line], str, str | None]] = {
    # The last message is an error of the host.
    "qwen-blocks": ([QWEN, says("On it.", API_ERROR, out=0), ends(API_ERROR)], "401", "auth"),
    "qwen-behind-words": ([QWEN, says(f"I'll fix it{API_ERROR}", out=0), ends("I'll")],
        "ends in an error", "auth"),
    "qwen-quota": ([QWEN, says(QUOTA, out=0), ends(QUOTA)], "Status: 429)]", "limit"),
    "qwen-after-a-call": ([QWEN, says(use("edit"), out=9), told([returned("ok")]),
        says(API_ERROR, out=0), ends(API_ERROR)], "is only an error", "auth"),
    "qwen-result-alone": ([QWEN, ends(API_ERROR, out=0)], "is only an error", "auth"),
    "qwen-stated-at-the-end": ([QWEN, says(API_ERROR), ends(out=0)], "is only", "auth"),
    "qwen-unstated": ([QWEN, says(API_ERROR), ends(API_ERROR, out=None)], "", None),
    "qwen-explains": ([QWEN, says(f"{API_ERROR} means [this]", out=0), ends(out=0)], "", None),
    "qwen-quotes": ([QWEN, says(f"It says: {API_ERROR}", out=0), ends(out=0)], "", None),
    "qwen-recovers": ([QWEN, says(API_ERROR, out=0), says("Done.", out=3), ends()], "", None),
    "claude-repeats-an-error": ([INIT, says("You're out of credits", error="billing_error"),
        ends("You're out of credits")], "is only an error: You're out", "limit"),
    "claude-unknown-command": ([INIT, ends("Unknown slash command: x", out=0)], "command: x",
        "error"),
    "claude-explains-skills": ([INIT, says("Unknown skill: x", out=4), ends()], "", None),
    # What the host of Claude Code wrote in the model's place, and its result repeats.
    "claude-host-in-its-work": ([*CLAUDE_WORKS, host_says("No."), ends("No.")],
        "only its host's: No.", "unfinished"),
    "claude-host-fails": ([*CLAUDE_WORKS, host_says("No.", isApiErrorMessage=True), ends("No.")],
        "error: No.", "error"),
    "claude-host-after-the-answer": ([*CLAUDE_WORKS, says("Done.", out=5), host_says("No."),
        ends("No.")], "", None),
    "claude-host-recovers": ([*CLAUDE_WORKS, host_says("No.", error="x"), says("Done.", out=5),
        ends("Done.")], "", None),
    "claude-host-command": ([INIT, host_says("3 files"), ends("3 files")], "", None),
    # Why the model stopped, or the host.
    "amp-max-tokens": ([AMP, {**ends(stop_reason="max_tokens"), "session_id": "T-1"}], "cut off",
        "cut"),
    "claude-deferred": ([INIT, ends("", stop_reason="tool_deferred")], "waits", "unfinished"),
    "claude-structured-refusal": ([INIT, ends(stop_reason="tool_use", structured_output={"a": 1})],
        "", None),
    "claude-budget": ([INIT, ends(terminal_reason="budget_exhausted")], "budget_ex", "budget"),
    "claude-aborted": ([INIT, says("So"), ends("So", terminal_reason="aborted_new")], "aborted",
        "interrupted"),
    "claude-new-reasons": ([INIT, ends(stop_reason="new", terminal_reason=["new"])], "", None),
    "claude-saved-length": (saved_claude("max_tokens"), "cut off", "cut"),
    "claude-saved-refusal": (saved_claude("refusal"), "refused", "error"),
    "claude-saved-end": (saved_claude("end_turn"), "", None),
    "pi-saved-length": (pi("length", HELLO, saved=True), "cut off", "cut"),
    "pi-saved-stop": (pi("stop", HELLO, saved=True), "", None),
    "copilot-saved-error": (COPILOT_SAVED, "No quota left", "limit"),
    "copilot-status": ([*COPILOT_SAVED[:2], {"type": "session.error", "data": {"message": "No.",
        "statusCode": 429, "errorType": "x"}}], "No.", "limit"),
    "copilot-kind": ([*COPILOT_SAVED[:2], {"type": "session.error", "data": {"message": "No.",
        "errorType": "rate_limit"}}], "No.", "limit"),
    "opencode-status": ([CRASHED | {"error": {"name": "APIError", "data": {"message": "No.",
        "statusCode": 503}}}], "No.", "overloaded"),
    "opencode-name": ([CRASHED | {"error": {"name": "ProviderAuthError", "data": {"message":
        "No."}}}], "No.", "auth"),
    "opencode-length": (step(TEXT, reason="length"), "cut off at", "cut"),
    "opencode-filter": (step(TEXT, reason="content-filter"), "a filter", "cut"),
    "opencode-unknown-words": (step(TEXT, reason="unknown"), "", None),
    "opencode-rejected": ([*step(REJECTED, reason="tool-calls"), DONE], "permitted: bash", "error"),
    "opencode-rejected-cut": (step(REJECTED, reason="tool-calls"), "permitted: read", "unfinished"),
    # A notice with nothing after it.
    "claude-blocked": ([INIT, BLOCKED, ends("", num_turns=0)], "Blocked: no.", "error"),
    "claude-blocked-repeated": ([INIT, BLOCKED, ends("Blocked: no.")], "Blocked: no.", "error"),
    "claude-blocked-thinks": ([INIT, BLOCKED, says({"type": "thinking", "thinking": "Hm"}),
        ends("")], "Blocked", "error"),
    "claude-blocked-once": ([INIT, BLOCKED, says(use()), ends("")], "", None),
    "claude-blocked-but-answers": ([INIT, BLOCKED, ends("4")], "", None),
    "claude-stderr-in-blocks": ([INIT, told([{"type": "text", "text": STDERR}]),
        ends("", out=0, num_turns=0)], "no such file", "error"),
    "claude-stdout": ([INIT, told("<local-command-stdout>4</local-command-stdout>"),
        ends("", out=0)], "", None),
    "gemini-loop": (gemini(warns("Loop detected, stopping execution")), "Loop", "error"),
    "gemini-blocked": (gemini(warns("Agent execution blocked: quota")), "blocked", "limit"),
    "gemini-other-warning": (gemini(warns("Deprecated")), "", None),
    "droid-error": (droid(LOOP_ERROR), "529 overloaded", "overloaded"),
    "droid-error-and-text": (droid(LOOP_ERROR, text="Done."), "", None),
    # Nothing said, nothing done.
    "claude-nothing": ([INIT, ends("", out=0, num_turns=1)], "said nothing", "error"),
    "claude-no-turns": ([INIT, ends("", out=0, num_turns=0)], "", None),
    "claude-blank": ([INIT, says("\n", out=0), ends("\n", out=0)], "said nothing", "error"),
    "claude-unstated": ([INIT, ends("", out=None)], "", None),
    "claude-new-block": ([INIT, says({"type": "new", "x": 1}, out=0), ends("", out=0)], "", None),
    "gemini-unstated": (gemini(out=None), "", None),
    "codex-nothing": (codex(out=0), "said nothing", "error"),
    "codex-unstated": (codex(out=None), "", None),
    "codex-new-item": (codex(("new_item", None, None), out=0), "", None),
    "droid-nothing": (droid(out=0), "said nothing", "error"),
    "opencode-nothing": (step(THOUGHT, out=0), "said nothing", "error"),
    "pi-nothing": (pi("stop", out=0), "said nothing", "error"),
    "cursor-nothing": ([CURSOR, cursor_end()], "said nothing", "error"),
    "cursor-answers": ([CURSOR, cursor_end("4")], "", None),
    "cursor-only-calls": ([CURSOR, *CURSOR_CALL, cursor_end()], "", None),
    "cursor-unstated": ([CURSOR, cursor_end(out=None)], "", None),
    # What the agent left behind.
    "claude-killed": ([*launched(status="killed"), ends()], "ended: look", "unfinished"),
    "claude-killed-and-told": ([*launched(status="killed"), says("It died."), ends()], "", None),
    "claude-stops-it": ([*launched(status="running"), says(use("TaskStop", "t2", task_id="a1")),
        claude("system", subtype="task_notification", task_id="a1", status="stopped"), ends()], "",
        None),
    "claude-never-woken": ([INIT, says(use("ScheduleWakeup")), ends("")], "woken", "unfinished"),
    "claude-woken": ([INIT, says(use("ScheduleWakeup")), ends(), INIT, says("So"), ends()], "",
        None),
    "claude-no-schema": ([BY_SCHEMA, says("4"), ends("4")], "schema", "error"),
    "claude-schema": ([BY_SCHEMA, ends("", structured_output={"a": 4})], "", None),
    "codex-commentary": (codex(ASIDE, ("reasoning", "Hm.", None)), "final answer", "unfinished"),
    "codex-final": (codex(ASIDE, ("agent_message", "4", "final_answer")), "", None),
    "codex-no-phase": (codex(ASIDE, ("agent_message", "4", None)), "", None),
    "codex-saved-commentary": (saved_codex("commentary", None), "final answer", "unfinished"),
    "codex-saved-answer": (saved_codex("commentary", "I look."), "", None),
    # What only looks like a failure.
    "claude-leftover-of-a-task": ([WOKEN, INIT, says("So"), ends()], "", None),
    "claude-spurious": ([INIT, says("So"), ends(), ends() | {"subtype": "error_during_execution",
        "is_error": True, "num_turns": 0, "duration_ms": 0}], "", None),
    "opencode-recovers": ([*step(TEXT, reason="tool-calls"), CRASHED, *step(TEXT, message="m2")],
        "", None),
    "opencode-recovers-silently": ([CRASHED, *step(message="m2")], "reset", "error"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape(name: str) -> None:
    lines, reason, word = SHAPES[name]
    data = data_of(*lines)
    ended, rows = same_when_converted(data), convert(data, "-t", "runs").objects
    assert (ended.status, rows[-1]["failure"]) == (int(bool(reason)), word)
    assert reason in (rows[-1]["reason"] or "")
    assert bool(rows[-1]["reason"]) == bool(reason)
    assert convert(data, "-t", "stream-json", "--thinking").status == ended.status


# ---------------------------------------------------------------- what belongs to which run


def test_pi_needs_no_session_line_to_succeed() -> None:
    session, *lines = pi("stop", HELLO)[:-1]
    for stream in ([session, *lines], lines):
        assert same_when_converted(data_of(*stream)).status == 0
    files = {name: [data_of(*lines)] for name in "ab"}
    assert verdicts(files) == [("succeeded", None)] * 2


HEADS: dict[str, Line] = {
    "claude-system": {"type": "system", "subtype": "turn_duration", "sessionId": "s", "uuid": "u"},
    "claude-summary": {"type": "summary", "summary": "Fix", "leafUuid": "u"},
    "codex": {"type": "session_meta", "timestamp": "2026-01-01T00:00:00Z", "payload": {"id": "x"}},
    "copilot": {"type": "session.start", "data": {"sessionId": "c"}},
}


@pytest.mark.parametrize("to", agentfmt.WRITERS)
@pytest.mark.parametrize("name", HEADS)
def test_the_head_of_a_session_alone_is_no_run(name: str, to: str) -> None:
    data = data_of(HEADS[name])
    ended = convert(data, "-t", to)
    assert ended.status == 1
    assert ended.stderr == "agentfmt: stdin: only the head of a saved session, without a run\n"
    assert ended.stdout == data if to == "stream-json" else b'"result"' not in ended.stdout


CODEX_LINES: dict[str, Line] = {
    "error": {"type": "error", "message": "429 no"},
    "begins": {"type": "turn.started"},
    "says": {"type": "item.completed", "item": {"type": "agent_message", "text": "Hi"}},
    "ends": {"type": "turn.completed"},
    "fails": {"type": "turn.failed", "error": {"message": "No."}},
}


@pytest.mark.parametrize("last", CODEX_LINES)
def test_an_early_error_of_codex_stays_with_its_run(last: str) -> None:
    for names in itertools.product(CODEX_LINES, repeat=2):
        lines = [CODEX_LINES[name] for name in ("error", *names, last)]
        same_when_converted(data_of(*lines))


def test_redaction_hides_a_reason_but_not_its_word() -> None:
    """Cursor's own results state no word: it is found before the reason is redacted."""
    failed = cursor_end(is_error=True, result="You've hit your usage limit")
    data = data_of(CURSOR, failed)
    assert verdicts(data, "-r", "all") == verdicts(data) == [("failed", "limit")]
