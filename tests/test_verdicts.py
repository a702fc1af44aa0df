"""Runs that say that they succeeded, and didn't: the samples beside the checkout, and other shapes.

The samples' table says how each ends, and the word for why it failed.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from agents import made, part, stream
from support import SHARED, Ended, as_line, content, convert, corpus, init, result, sections

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


# Heads: a name, the word for a failure, and what the reason says; or a name, and that it succeeds.
SHAPES = {
    head.partition(": ")[0]: (stream(made(rows)), *head.partition(": ")[2].partition(": ")[::2])
    for head, rows in sections("verdicts.txt") if head[0] not in "@-"
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape(name: str) -> None:
    data, word, reason = SHAPES[name]
    ended, rows = same_when_converted(data), convert(data, "-t", "runs").objects
    assert (ended.status, rows[-1]["failure"]) == ((1, word) if reason else (0, None))
    assert reason in (rows[-1]["reason"] or "")
    assert bool(rows[-1]["reason"]) == bool(reason)
    assert convert(data, "-t", "stream-json", "--thinking").status == ended.status


# ---------------------------------------------------------------- what belongs to which run


def test_pi_needs_no_session_line_to_succeed() -> None:
    session, *lines = part("pi", "pi-says", "pi-turn-end")
    for told in ([session, *lines], lines):
        assert same_when_converted(stream(told)).status == 0
    files = {name: [stream(lines)] for name in "ab"}
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
    data = as_line(HEADS[name])
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
        same_when_converted(stream(lines))


def test_redaction_hides_a_reason_but_not_its_word() -> None:
    """Cursor's own results state no word: it is found before the reason is redacted."""
    data = init() + result(is_error=True, result="You've hit your usage limit")
    assert verdicts(data, "-r", "all") == verdicts(data) == [("failed", "limit")]
