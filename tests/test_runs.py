"""Which run an event belongs to, and how runs end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from support import (
    Ended,
    Report,
    assistant,
    at_most,
    completed,
    convert,
    event,
    init,
    result,
    started,
    table,
    thinking,
    user,
    whole_run,
)

import agentfmt

END = result()
ENDED_SO = "ended without a result after {}"
OK, FAILED = 0, 1
NAMES = [f"s{number}" for number in range(1000)]  # of sessions


def failures(ended: Ended) -> list[tuple[str, str]]:
    """(run, why) of each line that says that a run failed."""
    lines = [line.removeprefix("agentfmt: ") for line in ended.stderr.splitlines()]
    parts = (line.partition(" failed: ") for line in lines if line.startswith("run "))
    return [(run.removeprefix("run "), why) for run, _, why in parts]


@pytest.mark.parametrize("act", [user(), assistant("x"), thinking(), started(), init()])
@pytest.mark.parametrize("to", ["text", "json", "stream-json"])
def test_an_act_opens_a_run(act: bytes, to: str) -> None:
    assert convert([whole_run(), act], "-t", to).status == FAILED
    assert convert([whole_run(), act, END], "-t", to).status == OK


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(("terminal", "why"), table("runs.txt", "results"))
def test_verdict(terminal: dict[str, Any], why: str | None) -> None:
    ended = convert([init(), event("result", **terminal)])
    assert ended.status == (OK if why is None else FAILED)
    if why is None:
        assert ended.stderr == ""
    else:
        why = why or "its result does not say that it succeeded"
        assert failures(ended) == [("5f0e4a1c (stdin:1)", why)]


@pytest.mark.parametrize(("lines", "why"), [
    pytest.param([event("error", error="x"), event("error", error="why")], "why", id="last"),
    pytest.param([event("error", message="why"), event("error")], "why", id="last that speaks"),
    pytest.param([event("error", message="x"), started("1"), completed("1")],
        ENDED_SO.format("4 events"), id="overcome"),
    pytest.param([started("1"), event("error", message="why"), completed("1")], "why",
        id="not overcome: no act"),
    pytest.param([event("turn_ended", status="error", error="why")], "why", id="turn ended"),
    pytest.param([b"x\n", b"why\n"], "ended without a result after 1 event; why", id="prose"),
    pytest.param([started("1", "shellToolCall"), started("2"), completed("2"), b"why\n"],
        "ended without a result after 4 events; 1 call open (shell); why", id="open calls"),
])  # fmt: skip
def test_reason(lines: list[bytes], why: str) -> None:
    assert failures(convert([init(), *lines])) == [("5f0e4a1c (stdin:1)", why)]


def test_prose_before_a_result_is_not_the_reason_of_the_next_run() -> None:
    ended = convert([init(), b"harmless\n", END, init()])
    assert failures(ended) == [("5f0e4a1c (stdin:4)", ENDED_SO.format("1 event"))]


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize("name", [b'""', b"{}", b"[1]", b"7", b"null", b"true"])
def test_what_names_no_session_does_not_count(name: bytes) -> None:
    lines = [b'{"type":"user","session_id":%b}\n' % name, result(None)]
    assert convert(lines) == Ended(b"", "", OK)


# ---------------------------------------------------------------- limits and memory


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many runs may be open: fewer than the program allows."""
    assert agentfmt.MAX_RUNS == 10_000  # as the manual says
    monkeypatch.setattr(agentfmt, "MAX_RUNS", 100)
    return 100


def test_as_many_runs_may_be_open_as_the_limit_says(most: int) -> None:
    opened = b"".join(map(init, NAMES[:most]))
    assert convert([opened, *map(result, NAMES[:most])]) == Ended(b"", "", OK)


def test_one_more_run_closes_the_least_recently_active(most: int) -> None:
    ends = [result(s) for s in (*NAMES[:most], "more") if s != "s1"]
    ended = convert([*map(init, NAMES[:most]), user("s0"), init("more"), *ends])
    why = "least recently active of more than 100 open runs"
    assert failures(ended) == [("s1 (stdin:2)", why)]
    assert ended.status == FAILED


@pytest.mark.parametrize("again", [
    pytest.param(started(session=None), id="without a session"),
    pytest.param(event("connection", session="s1"), id="by another event"),
])  # fmt: skip
def test_activity_is_any_event(again: bytes, most: int) -> None:
    """Of all runs, s1 speaks last: the one closed is another."""
    ended = convert([*map(init, NAMES[:most]), user("s1"), again, init("more")])
    assert failures(ended)[0][0] == "s0 (stdin:1)"


def follow(lines: Iterable[bytes]) -> agentfmt.Sessions:
    """The state that is left after these lines."""
    runs = agentfmt.Runs(Report(agentfmt.Output(lambda _: None)))
    unread = ("assistant", "thinking")
    sessions = agentfmt.Sessions("auto", agentfmt.EventMaker(agentfmt.Event, unread=unread), runs)
    source = agentfmt.Source("-")
    sessions.begin_file(source)
    reader = agentfmt.Reader(source, agentfmt.Event)
    for line in lines:
        for _ in sessions.follow(reader.read(line)):
            pass
    return sessions


def test_state_is_freed_when_a_run_ends() -> None:
    known = follow(map(whole_run, NAMES))
    assert not any(session.run for session in known.table.values())


def test_the_calls_of_a_run_are_freed_as_they_finish() -> None:
    lines = (f(str(i)) for i in range(1000) for f in (started, completed))
    (session,) = follow(lines).table.values()
    assert session.run
    assert session.run.calls == {}


def test_sessions_that_are_over_are_forgotten(most: int) -> None:
    known = follow(map(whole_run, NAMES[: most + 50]))
    assert len(known.table) == most


def test_memory_does_not_grow_with_the_names_of_sessions() -> None:
    with at_most(5_000_000):
        convert(result(f"{i}" + "s" * 100_000) for i in range(200))


def test_memory_does_not_grow_with_what_stands_beside_tokens() -> None:
    def said(number: int) -> bytes:
        usage = {"output_tokens": 5, "more": [f"{number} {n}" for n in range(2000)]}
        message = {"id": f"m{number}", "content": [], "usage": usage}
        return event("assistant", message=message, parent_tool_use_id=None, uuid="u")

    with at_most(5_000_000):
        (row,) = convert(map(said, range(100)), "-t", "runs").objects
    assert row["tokens_out"] == 500


@pytest.mark.parametrize("files", [
    pytest.param({"one": [b"harmless\n", whole_run("A")], "two": [b"x\n"], "three": [init()]},
                 id="another FILE"),
    pytest.param({"one": [init(), b"harmless\n", init()]}, id="a superseded run"),
])  # fmt: skip
def test_prose_is_the_reason_of_one_run(files: dict[str, list[bytes]]) -> None:
    assert convert(files).stderr.endswith(ENDED_SO.format("1 event") + "\n")
