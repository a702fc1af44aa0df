"""-t runs and -t calls: a stable schema, every run and every call once, and what loads them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import (
    CAPTURES,
    MANUAL,
    SIDECAR,
    TOKEN,
    as_line,
    assistant,
    completed,
    convert,
    displays,
    edit,
    event,
    init,
    message,
    result,
    run,
    run_of,
    sections,
    shell,
    started,
    table,
    user,
    whole_run,
)
from test_joined import DONE, EXIT, claude, codex, copilot, cursor, droid, gemini, opencode, pi

import agentfmt

PATHS = [str(one.values[0]) for one in CAPTURES if one.values[0]]

ANSWERS = agentfmt.View(messages="final")


def rows(data: Any, to: str, *flags: str, **more: Any) -> list[dict[str, Any]]:
    ended = convert(data, "-t", to, *flags, **more)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def schema(table: str) -> dict[str, tuple[str, str]]:
    """The columns that the manual states: the type of each, and when it is null."""
    stated = displays(MANUAL, f"{table.capitalize()} as a table")[0]
    lines = (re.split("  +", line) for line in stated.splitlines()[1:])
    return {name: (kind, null) for name, kind, null, *_ in lines}


def columns(table: str) -> list[str]:
    return [*schema(table)]


TYPES: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "list": list}


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize(("member", "time"), table("runs.txt", "times are milliseconds"))
def test_times_are_milliseconds(member: str, time: int | None) -> None:
    data = init().replace(b'"model"', member.encode() + b',"model"') + result()
    assert rows(data, "runs")[0]["started_ms"] == time


# How each agent says why a run failed.
FAILS: dict[str, Callable[[str], Any]] = {
    "cursor": lambda why: cursor(result(is_error=True, result=why)),
    "claude": lambda why: claude({**DONE, "is_error": True, "result": why}),
    "codex": lambda why: codex({"type": "turn.failed", "error": {"message": why}}),
    "gemini": lambda why: gemini(
        {"type": "result", "status": "error", "error": {"message": why}, "stats": {}}
    ),
    "opencode": lambda why: opencode(
        {"type": "error", "error": {"name": "APIError", "data": {"message": why}}}
    ),
    "droid": lambda why: droid({"type": "error", "source": "cli", "message": why}),
    "copilot": lambda why: copilot(
        {"type": "session.error", "data": {"message": why}}, {**EXIT, "exitCode": 1}
    ),
    "pi": lambda why: pi(
        {"type": "message_end", "message": {"role": "assistant", "content": [],
                                            "stopReason": "error", "errorMessage": why}},
        {"type": "agent_end", "messages": []},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("why", "word"), [
    *((why, word) for word, reasons in sections("reasons.txt") for why in reasons),
    ("You exceeded your current quota. " * 20, "limit"),
    ("503 UNAVAILABLE: The model is overloaded " * 30, "overloaded"),
])  # fmt: skip
def test_why_a_run_failed(why: str, word: str) -> None:
    """In a word, and whole, however long it is."""
    for agent, fails in FAILS.items():
        (row,) = rows(fails(why), "runs")
        assert (row["agent"], row["verdict"]) == (agent, "failed")
        assert (row["failure"], row["reason"].rstrip()) == (word, why.rstrip()), agent
        end = convert(fails(why), "-t", "cursor").objects[-1]
        assert agent == "cursor" or end["failure"] == word, agent


@pytest.mark.parametrize("verdict", [True, False])
def test_a_run_that_is_matched(verdict: bool) -> None:
    """If its result is an error, both reasons are named."""
    data = init() + started() + completed() + result(is_error=verdict, result="429")
    (row,) = rows(data, "runs", "--fail-on", "read")
    assert row["failure"] == "matched"
    assert row["reason"] == ("429; " if verdict else "") + "--fail-on read matched at stdin:2"


@pytest.mark.parametrize(("end", "word"), [
    (b"", "unfinished"), (init(), "unfinished"), (started() * 428, "unfinished"),
    (b"Error: usage limit reached\n", "limit"), (b"HTTP 529\n", "overloaded"),
])  # fmt: skip
def test_a_run_that_did_not_end(end: bytes, word: str) -> None:
    """What was printed behind its last event may tell why; numbers of our own words don't."""
    found = [row["failure"] for row in rows(init() + user() + end, "runs")]
    assert found[0] == word
    assert {*found} <= {word, "unfinished"}


def test_a_run_that_was_killed_states_what_its_lines_did() -> None:
    begun = {"type": "step_start", "sessionID": "s", "part": {"messageID": "m"}}
    part = {"reason": "tool-calls", "cost": 0.25, "tokens": {"input": 3, "output": 5}}
    step = {"type": "step_finish", "sessionID": "s", "part": part | {"messageID": "m"}}
    (row,) = rows(
        b"".join(json.dumps(line).encode() + b"\n" for line in (begun, step, begun)), "runs"
    )
    assert (row["verdict"], row["tokens_in"], row["tokens_out"]) == ("unfinished", 3, 5)
    assert row["cost_usd"] == 0.25
    usage = {"input_tokens": 9, "output_tokens": 2}  # of what was not over
    said = {"id": "m", "usage": usage, "content": [{"type": "text", "text": "a long text " * 9}]}
    (row,) = rows(b"".join(claude({"type": "assistant", "message": said})), "runs")
    assert (row["tokens_in"], row["tokens_out"], row["cost_usd"]) == (9, None, None)


def test_another_process_of_claude_counts_from_0_again() -> None:
    """Its whole cost fell, so that none of its models went on, though some took more."""
    lines = [
        {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "uuid": "u",
         "total_cost_usd": cost, "modelUsage": {"haiku": {"costUSD": part}}}
        for cost, part in ((0.3, 0.02), (0.1, 0.025), (0.2, 0.035))
    ]  # fmt: skip
    rows = convert(b"".join(map(as_line, lines)), "-t", "runs").objects
    assert [(row["cost_usd"], row["models"][0]["cost_usd"]) for row in rows] == [
        (0.3, 0.02), (0.1, 0.025), (0.1, 0.01),
    ]  # fmt: skip


@pytest.mark.parametrize(("why", "wait"), table("runs.txt", "waits"))
def test_when_to_try_again(why: str, wait: int | None) -> None:
    (row,) = rows(FAILS["codex"](why), "runs")
    assert row["retry_after_ms"] == wait


@pytest.mark.parametrize(("said", "wait"), [
    ({}, 90_000),  # a limit resets 90 seconds behind the last time that a line states
    ({"timestamp": "2026-05-17T16:28:30Z"}, None),  # that has passed
    ({"timestamp": None}, None),  # nobody knows how long that is
])  # fmt: skip
def test_a_limit_that_resets_at_a_time(said: dict[str, Any], wait: int | None) -> None:
    at = {"timestamp": "2026-05-17T16:26:30Z"} | said
    told = [
        {"type": "user", "message": {"content": [{"type": "text", "text": "Go."}]}, **at},
        {
            "type": "rate_limit_event",
            "rate_limit_info": {"status": "rejected", "resetsAt": 1779035280},
        },
        DONE | {"is_error": True, "result": "You've hit your limit"},
    ]
    (row,) = rows(b"".join(claude(*told)), "runs")
    assert (row["failure"], row["retry_after_ms"]) == ("limit", wait)
    told.insert(2, {"type": "assistant", "message": {"id": "m", "content": []}})  # it was overcome
    assert rows(b"".join(claude(*told)), "runs")[0]["retry_after_ms"] is None


def test_an_edit_without_a_change_shows_none() -> None:
    none = {"success": {"linesAdded": 0, "linesRemoved": 0}}
    data = init() + completed("5", "editToolCall", none, args={"path": "same.py"}) + result()
    assert convert(data, "--fail-unless", "change").status == 1


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize("to", ["runs", "markdown", "html"])
def test_outputs_agree_with_the_status(to: str, status: int, tmp_path: Path) -> None:
    """A command that fails after a good result, and a FILE without a run, are on their pages."""
    (tmp_path / "run").write_bytes(init() + result())
    (tmp_path / "none").write_bytes(b"")
    command = ("--run", "sh", "-c", f"cat {tmp_path}/run; exit {status}")
    files = (str(tmp_path / "run"), str(tmp_path / ("none" if status else "run")))
    for ended in (run("-t", to, *command), run("-t", to, *files)):
        shown = ended.stdout.decode()
        failed = {
            "runs": '"verdict":"none"',
            "markdown": "<h2>❌",
            "html": '<div class="end bad">\n<h1>',
        }
        assert (ended.status, failed[to] in shown) == ((1, True) if status else (0, False))
        told = "sh exited with 3 after its result" in shown or "the agent wrote nothing" in shown
        assert told is (status > 0)


@pytest.mark.parametrize(
    ("to", "place"),
    [("markdown", "<code>a.ndjson:1</code>"), ("html", "run 5f0e4a1c (a.ndjson:1)")],
)
def test_reports_of_several_files_name_them(to: str, place: str, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ndjson").write_bytes(init() + result())
    shown = [
        run("-t", to, *names, cwd=tmp_path).stdout.decode()
        for names in (("a.ndjson",), ("a.ndjson", "b.ndjson"))
    ]
    assert [place in text for text in shown] == [False, True]
    assert shown[1].count("b.ndjson") == 2  # also among the runs on top


def test_a_row_of_a_cut_emoji_has_its_files() -> None:
    changed = completed("c", "editToolCall", {"success": {"linesAdded": 1}}, args={"path": "a.py"})
    [row] = rows(run_of(event("user", message=message("cut \ud83d", "user")), changed), "runs")
    assert (row["prompt"], [file["path"] for file in row["files"]]) == ("cut \ud83d", ["a.py"])


def test_a_file_without_a_run_has_a_row() -> None:
    """So that whoever counts the logs of a night sees all of them."""
    files = {
        "empty": b"", "prose": b"Error: usage limit reached\n", "good": whole_run(),
        "other": b"\x89PNG\r\n", "unknown": b'{"type":"x"}\n', "damaged": b'{"type":\n',
    }  # fmt: skip
    found = rows({name: [data] for name, data in files.items()}, "runs")
    assert [(row["location"], row["verdict"], row["failure"]) for row in found] == [
        ("empty", "none", None), ("prose", "none", "limit"), ("good:1", "succeeded", None),
        ("other", "none", None), ("unknown", "none", None), ("damaged", "none", None),
    ]  # fmt: skip
    assert all([*row] == columns("runs") for row in found)
    assert found[1]["reason"] == "Error: usage limit reached"
    ended = convert({name: [data] for name, data in files.items()}, "-t", "text", "-q", "-s")
    assert ended.status == 1
    for to in agentfmt.WRITERS:
        assert convert({"empty": [b""]}, "-t", to).stdout.count(b"\n\n") < 2


# ---------------------------------------------------------------- calls


def test_the_directory_of_a_call() -> None:
    (row,) = rows(init() + completed() + result(), "calls")
    assert (row["cwd"], [*row]) == ("/work", columns("calls"))
    home = init().replace(b'"/work"', b'"/home/ann/work"')
    assert rows(home + completed() + result(), "calls", "-r", "paths")[0]["cwd"] == "."
    assert rows(completed() + result(), "calls")[0]["cwd"] is None


@pytest.mark.parametrize(("tool", "args", "found", "expected"), table("calls.txt", "changes"))
def test_lines_of_a_change(tool: str, args: Any, found: Any, expected: list[Any]) -> None:
    """As its result states them, or by the diff that this states; a file that is created is a
    write."""
    changed = completed("c1", f"{tool}ToolCall", {"success": found}, args={"path": "a"} | args)
    data = init() + changed + result()
    (row,) = rows(data, "calls")
    assert [row["tool"], row["lines_added"], row["lines_removed"]] == expected
    (run,) = rows(data, "runs")
    assert [one["tool"] for one in run["tools"]] == [expected[0]]


def test_the_agents_own_names() -> None:
    path = Path(__file__).parent / "sample-claude.ndjson"
    (row,) = rows({str(path): [path.read_bytes()]}, "calls")
    assert (row["tool"], row["name"], row["location"]) == ("read", "Read", f"{path}:3")


def test_selectors() -> None:
    data = init() + started("c1") + started("c2", "shellToolCall") + completed("c3", "editToolCall")
    assert [row["tool"] for row in rows(data, "calls", "--only", "shell")] == ["shell"]
    assert [row["tool"] for row in rows(data, "calls", "--drop", "shell")] == ["edit", "read"]
    two = whole_run("a") + whole_run("b")
    assert [row["session"] for row in rows(two, "runs", "--drop", "session=a")] == ["b"]
    assert [row["actions"] for row in rows(two, "runs", "--drop", "read")] == [1, 1]


def test_rows_have_the_length_of_max_event() -> None:
    for line, flags in (
        (shell("x" * 5000), ("-t", "calls")),
        (assistant("y" * 5000), ("-t", "runs", "-m", "final")),
        (assistant("y" * 300) * 9, ("-t", "json")),  # no event of them is longer
    ):
        ended = convert(run_of(line), *flags, "--max-event", "550")
        assert len(ended.stdout) <= 551
        assert b"[cut: " in ended.stdout
    made = run_of(edit("+x y\n" * 900, "a.py").replace(b':"x"', b':""'))
    short = convert(made, "-t", "stream-json", "--max-event", "550").stdout
    assert max(map(len, short.split(b"\n"))) <= 550
    assert "Created new file a.py" in convert(short, "-v").stdout.decode()
    made = run_of(edit("@@ -0,0 +1,9 @@\n" + "+x y\n" * 900, "a.py").replace(b':"x"', b':""'))
    short = convert(made, "-t", "stream-json", "--max-event", "64").stdout
    assert "Created new file a.py" in convert(short, "-v").stdout.decode()  # a gate sees it, too


@pytest.mark.parametrize("to", ["runs", "calls"])
def test_redaction(to: str) -> None:
    said = assistant(f"it is {TOKEN}") + shell(f"echo {TOKEN}", code=1, printed=TOKEN)
    for classes, is_error in itertools.product(("secrets", "all"), (True, False)):
        data = run_of(said, result=f"failed with {TOKEN}", is_error=is_error)
        ended = convert(data, "-t", to, "-r", classes, view=ANSWERS)
        assert TOKEN.encode() not in ended.stdout
        assert TOKEN not in ended.stderr


def test_messages_go_with_runs() -> None:
    assert run("-t", "runs", "-m", "final", data=whole_run()).status == 0
    for flags in (("-t", "runs", "-m", "all"), ("-t", "calls", "-m", "final")):
        assert run(*flags, data=whole_run()).status == 2


# ---------------------------------------------------------------- all captures, and what loads them


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Both tables of all captures, as files."""
    if not PATHS:
        pytest.skip("no captures beside the checkout")
    folder = tmp_path_factory.mktemp("tables")
    made = {}
    for to in ("runs", "calls"):
        more = ("-m", "final") if to == "runs" else ()
        ended = run("-t", to, *more, "--exit-zero", *PATHS)
        assert "Traceback" not in ended.stderr
        path = folder / f"{to}.ndjson"
        path.write_bytes(ended.stdout)
        made[to] = str(path)
    return made


def test_the_schema_is_stable(tables: dict[str, str]) -> None:
    for to, path in tables.items():
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        assert len(lines) > 40
        stated = schema(to)
        for row in map(json.loads, lines):
            assert [*row] == [*stated]
            for name, value in row.items():
                kind, null = stated[name]
                assert null != "never" if value is None else isinstance(value, TYPES[kind]), name


@pytest.mark.parametrize("capture", CAPTURES)
def test_tables_agree_with_text_and_json(capture: str) -> None:
    data = Path(capture).read_bytes()
    runs, calls = rows(data, "runs"), rows(data, "calls")
    good = [row for row in runs if row["verdict"] == "succeeded"]
    assert len(good) == len(rows(data, "json"))
    finished = [row for row in calls if row["status"] != "unfinished"]
    assert len(finished) == convert(data, "-t", "text").stdout.count(b"\n")
    assert sum(row["actions"] for row in runs) == len(finished)
    bad = [row for row in finished if row["status"] != "ok"]
    assert sum(row["failures"] for row in runs) == len(bad)


@pytest.mark.parametrize("query", displays(SIDECAR, "QUERIES"))
def test_duckdb(tables: dict[str, str], query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    monkeypatch.chdir(Path(tables["runs"]).parent)
    for to in tables:
        found = duckdb.sql(f"select * from read_json_auto('{to}.ndjson')")
        assert found.columns == columns(to)
    duckdb.sql(query).fetchall()
