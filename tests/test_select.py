"""Selecting: the grammar, what selectors ask, what is printed, and that verdicts stay."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support import (
    CURSOR_CAPTURES,
    ENVIRON,
    Ended,
    assistant,
    below,
    call,
    claude,
    completed,
    content,
    convert,
    event,
    init,
    label,
    message,
    named_sections,
    ok,
    result,
    returned,
    run,
    run_of,
    start,
    table,
    thinking,
    use,
    user,
    whole_run,
)

import agentfmt

STREAM = ("-t", "stream-json")
ROWS = named_sections("commands.txt")


def both(tool: str, identity: Any, args: Any, outcome: Any) -> list[bytes]:
    """The start and the end of a call."""
    named = {"call_id": str(identity)}
    return [call(tool, args, **named), call(tool, args, outcome, **named)]


CALLS = {
    name: both(*cells) for name, *cells in (row.values for row in table("commands.txt", "calls"))
}
READ, SHELL, EDIT = CALLS["read"], CALLS["shell"], CALLS["edit"]
FUNCTION = {"function": {"name": "lookup", "arguments": "{}"}}
CALLS["lookup"] = [
    event("tool_call", subtype=subtype, call_id="7", tool_call=FUNCTION)
    for subtype in ("started", "completed")
]
CALLS["rejected"] = [
    call("read", {"path": "src/secret.env"}, call_id="8"),
    call("read", None, {"rejected": {"reason": ""}}, call_id="8"),
]
LINES = {
    "init": init(), "user": user(), "thinking": thinking(), "assistant": assistant("Hi"),
    **{f"{name}-{n}": line for name, lines in CALLS.items() for n, line in enumerate(lines)},
    "other": event("connection", subtype="reconnecting"), "result": result(),
}  # fmt: skip
DATA = b"".join(LINES.values())


def kept(*flags: str) -> str:
    """The names of the lines that are left."""
    left = convert(DATA, *STREAM, *flags).stdout.splitlines(keepends=True)
    names = {line: name for name, line in LINES.items()}
    assert all(line in names for line in left)  # byte for byte
    return " ".join(names[line] for line in left if names[line] != "result")


NO_THINKING = " ".join(name for name in LINES if name not in ("thinking", "result"))


@pytest.mark.parametrize("row", ROWS["selected"])
def test_only_and_drop(row: str) -> None:
    choice, names = row.split(" -> ")
    assert kept("--only", choice) == (NO_THINKING if names == "*" else names)
    dropped = LINES if names == "*" else (*names.split(), "result")
    left = " ".join(name for name in LINES if name not in dropped)
    assert kept("--thinking", "--drop", choice) == left


def test_words_are_dropped_where_all_of_a_selector_holds() -> None:
    """Words that nobody reads are skipped early, but not for a selector of more than a type."""
    runs = [init(name) + assistant(name, name) + result(name) for name in "ab"]
    left = convert(b"".join(runs), "-t", "stream-json", "--drop", "assistant,session=b").stdout
    assert left == runs[0] + init("b") + result("b")
    none = convert(runs[1], "-t", "stream-json", "--drop", "assistant").stdout
    assert none == init("b") + result("b")


def test_options_repeated_mean_or() -> None:
    assert kept("--only", "user", "--only", "mcp") == "user mcp-0 mcp-1"
    assert kept("--only", "tool_call", "--drop", "subtype=started", "--drop", "status=ok") == (
        "shell-1 edit-1 mcp-1 new-1 rejected-1"
    )


@pytest.mark.parametrize("flags", [("--only", "path=x"), ("--fail-on", "path=x"), ("--drop", "path=x")])  # fmt: skip
def test_paths_are_remembered_for_every_selector(flags: tuple[str, ...]) -> None:
    """A completion may lack its arguments; who asked first must not take them away."""
    assert "rejected-1" in kept(*flags, "--only", "subtype=completed,path=*.env")
    ended = convert(DATA, *flags, "--fail-on", "subtype=completed,path=*.env")
    assert ended.status == 1
    assert "--fail-on subtype=completed,path=*.env matched" in ended.stderr


@pytest.mark.parametrize(("here", "path", "inside"), table("commands.txt", "places"))
@pytest.mark.parametrize("tool", ["edit", "read", "mcp"])
def test_where_a_path_leads(tool: str, here: str, path: str, inside: bool) -> None:
    """Compared without `.` and `..`; what isn't inside is outside."""
    args = {"args": {"file_path": path}} if tool == "mcp" else {"path": path}
    first, called = event("system", subtype="init", cwd=here), both(tool, "1", args, ok())
    data = b"".join([first, *called, result()])
    assert convert(data, "--fail-on", "path=src/*").status == inside
    assert convert(data, "--fail-on", "path!=src/*").status != inside


def test_a_path_may_hold_brackets() -> None:
    data = run_of(*both("edit", "1", {"path": "app/[id]/page.tsx"}, {"success": {}}))
    assert convert(data, "--fail-on", "path=app/[id]/*").status == 1


@pytest.mark.parametrize(
    ("tool", "source", "outside"),
    [("x", "/etc/x", 1), ("x", "a.txt", 1), ("x", "src/a.txt", 0), ("x", "en", 0), ("x", "https://x.y/z", 0),
     ("move_file", "bin", 1)],
)  # fmt: skip
def test_what_a_tool_of_mcp_calls_its_source_may_be_a_path(
    tool: str, source: str, outside: int
) -> None:
    args = {"providerIdentifier": "fs", "toolName": tool, "args": {"source": source}}
    data = run_of(*both("mcp", "1", args, ok()))
    assert convert(data, "--fail-on", "path!=src/*").status == outside


@pytest.mark.parametrize(("selector", "status"), table("commands.txt", "below"))
def test_a_path_below_a_directory_that_no_line_states(selector: str, status: int) -> None:
    """As Codex writes them: any directory of it may be the run's."""
    called = both("edit", "1", {"path": "/home/me/app/a.lock"}, {"success": {}})
    data = event("system", subtype="init") + b"".join(called) + result()
    assert convert(data, "--fail-on", selector).status == status
    assert (convert(data, "--only", selector).stdout != b"") == status


@pytest.mark.parametrize(("line", "secret", "change"), table("commands.txt", "writes"))
@pytest.mark.parametrize("wrapped", [False, True])
def test_files_that_a_line_writes_into(line: str, secret: int, change: int, wrapped: bool) -> None:
    """Codex wraps each line: bash -lc LINE."""
    given = shlex.join(["bash", "-lc", line]) if wrapped else line
    data = run_of(shell_line(given))
    assert convert(data, "--fail-on", "path=secrets/*").status == secret
    assert convert(data, "--fail-on", "change").status == change


def test_the_directory_of_the_run_is_no_path_that_a_command_names() -> None:
    for place, outside in {"": 0, "/work": 0, "/work/../work/": 0, "/etc": 1}.items():
        data = run_of(*both("shell", "1", {"command": "ls", "workingDirectory": place}, {}))
        assert convert(data, "--fail-on", "path!=src/*").status == outside


CREATIONS = {
    "cursor": both("edit", "1", {"path": "a"}, {"success": {"diffString": "--- /dev/null\n+++ b/a\n+1"}}),
    "claude": [claude(use("Write", file_path="a", content="1"), uuid="u"), claude(returned(), role="user", uuid="u")],
}  # fmt: skip


@pytest.mark.parametrize("agent", CREATIONS)
def test_a_file_that_was_created_is_a_write(agent: str) -> None:
    data = run_of(*CREATIONS[agent])
    assert convert(data, "--only", "write").lines == [label("write")]
    assert convert(data, "--only", "edit").lines == []
    assert convert(data, "--only", "tool!=write").lines == []
    for choice, matched in {"write": 1, "change": 1, "edit": 0}.items():
        assert convert(data, "--fail-on", f"{choice},status=ok").status == matched
    assert "any of delete, edit, write" in run("--list", "tools").stdout.decode()


# ---------------------------------------------------------------- sub-agents


def test_what_sub_agents_did() -> None:
    """By the call that they belong to; the completion of a call need not name it."""
    inner = []
    for name, parent in {"x": "t1", "y": "t2"}.items():
        begun, done = both("read", name, {"path": "a"}, {})
        inner += [below(parent, begun), done]
    task, end = both("task", "t1", {}, {})
    data = run_of(task, *inner, end)

    def left(*flags: str) -> list[str]:
        found = (one.get("call_id") for one in convert(data, *STREAM, *flags).objects)
        return [identity for identity in found if identity]

    assert left("--only", "parent=*") == ["x", "x", "y", "y"]
    assert left("--only", "parent=t1") == ["x", "x"]
    assert left("--only", "parent!=t1") == ["y", "y"]
    assert left("--drop", "parent=*") == ["t1", "t1"]
    assert left("--drop", "task") == ["x", "x", "y", "y"]


# ---------------------------------------------------------------- runs of a FILE

PROMPTS = [
    whole_run(name).replace(b"?", b"prompt %d?" % number)
    for number, name in enumerate(("one", "one", "two"), 1)
]  # fmt: skip
TWO_FILES = {"a": b"".join(PROMPTS), "b": whole_run("one") + user("one")}


@pytest.mark.parametrize(
    ("choice", "runs"),
    {
        "run=1": ["a:1", "b:1"], "run=3": ["a:13"], "run=-1": ["a:13", "b:7"], "run=-2": ["a:7", "b:1"],
        "run=-3": ["a:1"], "run=4": [], "run=-4": [], "run!=-1": ["a:1", "a:7", "b:1"],
        "session=one,run=1": ["a:1", "b:1"], "session=one,run!=1": ["a:7", "b:7"],
    }.items(),
)  # fmt: skip
def test_one_run_of_a_file(choice: str, runs: list[str], tmp_path: Path) -> None:
    """Counted in each FILE; a run is selected as a whole, with its result."""
    for name, data in TWO_FILES.items():
        (tmp_path / name).write_bytes(data)

    def left(option: str) -> list[str]:
        rows = run("-t", "runs", option, choice, "a", "b", cwd=tmp_path).objects
        return [row["location"] for row in rows]

    every = [row["location"] for row in run("-t", "runs", "a", "b", cwd=tmp_path).objects]
    assert left("--only") == runs
    assert left("--drop") == [place for place in every if place not in runs]
    ended = run("-q", "--fail-on", choice, "a", "b", cwd=tmp_path)
    assert ended.stderr.count("failed: --fail-on") == sum(place != "b:7" for place in runs)


@pytest.mark.parametrize(("choices", "told"), table("commands.txt", "no such run"))
def test_a_run_that_is_not_there_is_told(choices: list[str], told: bool) -> None:
    """Else its number, or its name, would pass for one of which nothing is to be printed."""
    flags = [flag for choice in choices for flag in ("--only", choice)]
    ended = convert(whole_run("one") * 2, *flags)
    why = f"agentfmt: --only {' or '.join(choices)}: no such run; there is run one (stdin:1), run one (stdin:7)\n"
    assert (ended.status, ended.stderr) == (int(told), why if told else "")


@pytest.mark.parametrize(
    ("choice", "counts"), [("run=-1", True), ("run=2", True), ("session=one", False)]
)
def test_files_without_a_run_count_where_runs_are_numbered(
    choice: str, counts: bool, tmp_path: Path
) -> None:
    """A log of an agent that died at once is not left out of a night's."""
    for name, data in {"good": whole_run("one") * 2, "dead": b"agent: not found\n"}.items():
        (tmp_path / name).write_bytes(data)
    ended = run("-t", "runs", "--only", choice, "good", "dead", cwd=tmp_path)
    rows = [row for row in ended.objects if row["location"] == "dead"]
    assert (ended.status, len(rows)) == (int(counts), int(counts))
    assert ("dead: no events" in ended.stderr) == counts


def test_a_directory_is_its_sessions(tmp_path: Path) -> None:
    """All below it, the one that changed first at first, each once; others are counted."""
    files = {"deep/er/a.log": "early", "b.ndjson": "late", "notes.txt": "", "c.png": ""}
    contents = {"notes.txt": b"no events\n" * 30, "c.png": b"\x89PNG\r\n" * 9}
    (tmp_path / "deep/er").mkdir(parents=True)
    for at, (name, session) in enumerate(files.items()):
        (tmp_path / name).write_bytes(contents.get(name) or whole_run(session))
        os.utime(tmp_path / name, (at * 1e6 + 1e9,) * 2)
    for link, target in {"itself": "itself", "here": ".", "again": "b.ndjson"}.items():
        (tmp_path / link).symlink_to(target)
    (tmp_path / "empty").mkdir()
    with (tmp_path / "table").open("wb") as table:
        ended = run("-t", "runs", str(tmp_path), stdout=table)
    left = f"{tmp_path}: 2 other files left out: no session that can be read"
    assert (ended.status, ended.stderr) == (0, f"agentfmt: {left}\n")
    table_rows = map(json.loads, (tmp_path / "table").read_text().splitlines())
    assert [row["session"] for row in table_rows] == ["early", "late"]
    (tmp_path / "table").unlink()
    ended = run("-t", "runs", "empty", "b.ndjson", cwd=tmp_path)
    assert (ended.status, len(ended.objects)) == (1, 1)
    assert ended.stderr == "agentfmt: empty: no file in this directory\n"
    ended = run("-t", "runs", "--since", "2001-09-15", ".", cwd=tmp_path)
    assert [row["session"] for row in ended.objects] == ["late"]
    ended = run("--since", "1d", ".", "b.ndjson", cwd=tmp_path)
    assert (ended.status, ended.stdout) == (1, b"")
    why = r"\.: no file in this directory changed since \d+ \w+ 20\d\d, .+\n"
    assert re.search(why, ended.stderr)


def test_lines_before_the_first_run_of_a_file_in_a_directory_are_not_lost(tmp_path: Path) -> None:
    """They are shown, saved and judged as those of a FILE that is named; others' are not."""
    before = b"waiting for a runner\n" + init()[:40] + b"\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/run.log").write_bytes(before + whole_run())
    (tmp_path / "logs/other.log").write_bytes(b"no agent's\n")
    ended = run("-q", "--rejects", "lost", "logs", cwd=tmp_path)
    named = run("-q", "--rejects", "named", "logs/run.log", cwd=tmp_path)
    assert ended.stderr.startswith(named.stderr)
    assert ended.stderr.count("\n") == 3
    assert (ended.status, named.status) == (3, 3)
    assert (tmp_path / "lost").read_bytes() == (tmp_path / "named").read_bytes() == before


def test_the_head_of_a_session_in_a_directory_may_be_long(tmp_path: Path) -> None:
    """A picture in the first prompt."""
    pasted = json.dumps({"type": "summary", "summary": "x", "leafUuid": "x"}).encode() + b"\n"
    for size in (50_000, 3_000_000):
        first = init().replace(b"/w", b"/w" * size)
        (tmp_path / f"{size}.jsonl").write_bytes(pasted + first + result())
    ended = run("-q", str(tmp_path))
    assert (ended.status, ended.stderr) == (0, "")


def test_a_line_may_begin_with_its_time() -> None:
    data = run_of(event("user", message=message("do", "user"), timestamp_ms=1700000000000))
    [line] = run("--time", "-m", "chat", data=data, env=ENVIRON | {"TZ": "UTC"}).lines
    assert line == "22:13:20 > do"
    now = run("--time", data=whole_run()).lines
    assert all(re.match(r"[0-9]{2}:[0-9]{2}:[0-9]{2} \S", line) for line in now)


def test_a_label_names_the_standard_input() -> None:
    ended = run("-t", "runs", "--label", "job 7", data=whole_run())
    assert [row["location"] for row in ended.objects] == ["job 7:1"]
    assert run("--label", "x", data=b"").stderr == "agentfmt: x is empty: the agent wrote nothing\n"


@pytest.mark.parametrize("option", ["--only", "--drop"])
def test_the_beginning_of_a_name_may_fit_several_sessions(option: str) -> None:
    """Codex's sessions of one minute begin alike: what messages print is what tells them apart."""
    names = [f"019c8143-{number}" for number in (11, 12, 22)]
    data = b"".join(map(whole_run, names))
    ended = convert(data, option, "session=019c8143")
    told = f"agentfmt: session=019c8143 fits several: {', '.join(names)}\n"
    assert (ended.status, ended.stderr[-len(told) :]) == (1, told)
    printed = re.findall(r"run (\S+)", convert(data.replace(b"success", b"error"), "-q").stderr)
    assert printed == ["019c8143", "019c8143-1", "019c8143-2"]
    for name in (names[0], *printed[1:]):
        assert convert(data, option, f"session={name}").status == 0


def test_the_last_run_of_a_file_that_is_given_twice(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(whole_run())
    ended = run("-t", "runs", "--only", "run=-1", "a", "a", ".", cwd=tmp_path)
    assert (ended.status, len(ended.objects)) == (0, 3)


def test_the_last_run_of_what_is_read_once() -> None:
    """Its number is known when the input ends."""
    ended = run("--only", "run=-1", data=whole_run())
    assert (ended.status, ended.stdout) == (2, b"")
    assert ended.stderr.startswith("agentfmt: run=-N needs FILEs, which can be read twice")


def test_the_last_run_of_a_file_on_stdin(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(TWO_FILES["a"])
    with (tmp_path / "a").open("rb") as file:
        file.seek(len(PROMPTS[0]))
        rows, _ = start("-t", "runs", "--only", "run=-1", stdin=file).communicate()
    assert json.loads(rows)["session"] == "two"


# ---------------------------------------------------------------- targets


LONG = {"command": "a\nb" + 3000 * "x" + " && rm -rf /"}
TARGETS = [*table("calls.txt", "targets"), ("shell", LONG, "*rm -rf /")]


@pytest.mark.parametrize(("tool", "args", "glob"), TARGETS)
@pytest.mark.parametrize("told", ["both", "started", "completed"])
def test_target(tool: str, args: dict[str, str], glob: str, told: str) -> None:
    """The arguments may stand in the start, in the completion, or in both."""
    begun, ended = both(tool, "1", args, {"success": {}})
    if told == "completed":
        begun = b""
    elif told == "started":
        ended = ended.replace(json.dumps(args, separators=(",", ":")).encode(), b"{}")
    data = init() + begun + ended + result()
    glob = glob.replace(",", r"\,")
    found = convert(data, *STREAM, "--only", f"target={glob},subtype=completed").stdout
    assert found == ended + result()
    assert convert(data, "--fail-on", f"target={glob}").status == 1
    assert convert(data, "--fail-on", f"target=x{glob}").status == 0


def test_a_target_is_no_output() -> None:
    """What a command printed says nothing of what it was about."""
    lines = both("new", "1", {"path": "a"}, {"success": {"command": "rm -rf /"}})
    assert convert(b"".join(lines) + result(), "--fail-on", "target=*rm*").status == 0


@pytest.mark.parametrize("path", CURSOR_CAPTURES)
def test_what_action_lines_name_is_a_target(path: str) -> None:
    """Except that of a call which wasn't allowed to start: only a question named it."""
    data = content(path)
    rows = [row for row in convert(data, "-t", "calls").objects if row["status"] != "rejected"]
    for target in {row["target"] for row in rows} - {None, ""}:
        glob = re.sub(r"[*?[]", r"[\g<0>]", target).replace(",", r"\,")
        assert convert(data, *STREAM, "--only", f"tool_call,target={glob}").stdout.count(b"\n") > 1


# ---------------------------------------------------------------- results and verdicts


@pytest.mark.parametrize(("flags", "left"), table("commands.txt", "results"))
def test_a_result_is_dropped_only_by_name(flags: tuple[str, ...], left: bool) -> None:
    for to in ("stream-json", "json"):
        ended = convert(DATA, "-t", to, *flags)
        assert (b'"type":"result"' in ended.stdout) == left
        assert ended.status == 0  # decided by what was read


SESSIONS = ("one", "two", "three", "four")


@pytest.mark.parametrize(("flags", "left"), table("commands.txt", "sessions"))
def test_a_session_is_selected_as_a_whole(flags: tuple[str, ...], left: tuple[str, ...]) -> None:
    """Its run has no row, no result, no summary, no part in the totals, nor in the exit status."""
    bad = result("one", is_error=True)
    ends = [whole_run(name) for name in SESSIONS[1:-1]] + [init("four"), user("four")]
    data = init("one") + user("one") + completed("1", session="one") + bad + b"".join(ends)
    assert [row["session"] for row in convert(data, "-t", "runs", *flags).objects] == [*left]
    printed = {one["session_id"] for one in convert(data, *STREAM, *flags).objects}
    assert printed - {"four"} == {*left} - {"four"}  # it has no result
    report = convert(data, "-t", "markdown", *flags).stdout.decode()
    assert report.count("<h3>") == len(left)
    ended = convert(data, "-q", "-s", *flags)
    failed = not {"one", "four"}.isdisjoint(left) or not left
    assert ended.status == failed
    assert ended.stderr.count(" action") == len(left) + (len(left) > 1)
    assert (f"{len(left)} runs" in ended.stderr) == (len(left) > 1)
    for name in SESSIONS:
        assert (f"run {name} (" in ended.stderr.partition("no run is left")[0]) == (name in left)
    assert ("no run is left" in ended.stderr) == (not left)


@pytest.mark.parametrize("flags", [("--only", "shell"), ("--drop", "type=*"), ("--drop", "tool_call"), ("--only", "status=failed"), ("--drop", "system", "--drop", "user")], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("path", CURSOR_CAPTURES)
def test_filtered_stream_keeps_its_verdict(path: str, flags: tuple[str, ...]) -> None:
    data = content(path)
    first = convert(data, *STREAM, *flags)
    again = convert(first.stdout, *STREAM, *flags)
    assert first.status == again.status == convert(data).status
    assert again.stdout == first.stdout
    lines = {line.strip() for line in data.splitlines()}
    assert lines.issuperset(first.stdout.splitlines())


@pytest.mark.parametrize("path", CURSOR_CAPTURES)
def test_selecting_does_not_change_the_answer(path: str) -> None:
    data = content(path)
    assert convert(data, "-t", "json", "--drop", "type=*") == convert(data, "-t", "json")


@pytest.mark.parametrize("to", ["runs", "json"])
def test_selectors_of_events_do_not_select_runs(to: str) -> None:
    told = f"agentfmt: shell selects events, and -t {to} shows whole runs: select them by run= or session=\n"
    ended = run("-t", to, "--only", "run=1,read", "--drop", "shell", data=whole_run())
    assert (len(ended.lines), ended.stderr) == (1, told)
    ended = run("-t", to, "--drop", "shell", "--actions", "stderr", data=whole_run())
    assert (len(ended.lines), "selects" in ended.stderr) == (1, False)


def test_text_prints_only_what_is_selected() -> None:
    assert convert(DATA, "--only", "shell").lines == [label("shell", 3)]
    assert convert(DATA, "--drop", "tool_call").stdout == b""
    assert convert(DATA, "--only", "read,status=ok").lines == [label("read")]


@pytest.mark.parametrize("to", ["text", "json", "stream-json"])
@pytest.mark.parametrize(("choice", "status"), table("commands.txt", "fail on sees every event"))
def test_fail_on_sees_every_event(to: str, choice: str, status: int) -> None:
    ended = convert(DATA, "-t", to, "--drop", "type=*", "--fail-on", choice)
    assert ended.status == status
    assert (f"--fail-on {choice} matched " in ended.stderr) == bool(status)


def test_fail_on_counts_and_names_the_first() -> None:
    ended = convert(DATA, "--fail-on", "status=failed", "--fail-on", "user")
    assert ended.stderr == (
        "agentfmt: run 5f0e4a1c (stdin:1) failed: --fail-on user matched at stdin:2; "
        "--fail-on status=failed matched 5 times, first at stdin:8\n"
    )


# ---------------------------------------------------------------- thinking


@pytest.mark.parametrize(("flags", "left"), table("commands.txt", "thinking"))
def test_thinking(flags: tuple[str, ...], left: bool) -> None:
    assert ("thinking" in kept(*flags)) == left


# ---------------------------------------------------------------- usage errors


@pytest.mark.parametrize("option", ["--only", "--drop", "--fail-on"])
@pytest.mark.parametrize(
    "choice", ["", "user,", "kind=x", "type=", "=user", "word=user", "user,,x", "type=user,path="]
)
def test_usage_errors(option: str, choice: str) -> None:
    ended = run(*STREAM, option, choice, data=whole_run())
    assert (ended.status, ended.stdout) == (2, b"")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("agentfmt: ")


HINTS = dict(row.split(" -> ") for row in ROWS["hints"])
HINTS["duration>5"] = f"no key 'duration'; the keys are {', '.join(agentfmt.KEYS)}"


def test_what_can_match_nothing_is_an_error_with_a_hint() -> None:
    for choice, hint in HINTS.items():
        with pytest.raises(ValueError, match=f"^{re.escape(f'{choice!r}: {hint}')}$"):
            agentfmt.parse_selector(choice)


@pytest.mark.parametrize("choice", table("commands.txt", "anything"))
def test_paths_targets_and_sessions_may_hold_anything(choice: str) -> None:
    assert agentfmt.parse_selector(choice).text == choice


@pytest.mark.parametrize(
    "choice", ["Bash", "bash", "shell", "tool=execute", "Ba*", "tool=*sh", "tool==BASH"]
)
def test_an_agent_calls_its_tools_by_its_own_names(choice: str) -> None:
    first = event("system", subtype="init", slash_commands=[])
    lines = [first, claude(use(command="ls"), uuid="u"), result(uuid="u")]
    assert convert(lines).status == 0
    assert convert(lines, "--fail-on", choice).status == 1


def test_globs_take_no_time() -> None:
    data = event("a" * 50_000) + result()
    assert json.loads(convert(data, *STREAM, "--only", "type=" + "a*" * 20 + "b").stdout)


@pytest.mark.parametrize("option", ["--only", "--drop", "--fail-on"])
def test_a_path_of_a_call_outside_any_run(option: str) -> None:
    """A sub-agent in the background may outlive the result."""
    late = call("read", {"path": "src/a"}, ok(), parent_tool_use_id="call-1")
    ended = convert(whole_run() + late, *STREAM, option, "path=src/*")
    assert (ended.status, late in ended.stdout) == (option == "--fail-on", option != "--drop")


# ---------------------------------------------------------------- command lines


def shell_line(line: Any, **more: Any) -> bytes:
    return b"".join(both("shell", "c", {"command": line, **more}, {"success": {"exitCode": 0}}))


def gated(line: Any, option: str, glob: str) -> Ended:
    """A run that succeeds, of this line of a shell, with a gate for commands."""
    return convert(run_of(shell_line(line)), option, f"command={glob}")


@pytest.mark.parametrize("line", [*ROWS["unclear"], "sudo " * 3000 + "curl x"])
def test_a_line_of_which_nobody_knows_what_it_runs(line: str) -> None:
    data = init() + shell_line(line) + result()
    ended = convert(data, "--fail-on", "command=no such thing")
    assert ended.stderr.endswith(" matched at stdin:2, where it isn't clear what runs\n")
    assert ended.status == 1
    assert convert(data, "--fail-unless", "command=no such thing").status == 1
    assert convert(data, "--drop", "command=no such thing", *STREAM).stdout == data


@pytest.mark.parametrize("row", ROWS["commands"])
def test_commands_of_a_line(row: str) -> None:
    line, expected = row.split(" -> ")
    made = [" ".join(command.words) for command in agentfmt.read_line(line)]
    once = " | ".join(dict.fromkeys(made)).replace(agentfmt.UNKNOWN, "")
    assert once == " | ".join(dict.fromkeys(expected.split(" | ")))
    for command in filter(None, expected.split(" | ")[-1:]):
        glob = re.sub(r"[*?[;|&<>]", "?", command.strip()).replace(",", r"\,")
        assert gated(line, "--fail-on", glob).status == 1
    assert gated(line, "--fail-on", "no such thing").status == 0


@pytest.mark.parametrize("starter", ROWS["starters"])
def test_a_command_that_another_program_starts(starter: str) -> None:
    commands = [[*one.words] for one in agentfmt.read_line(f"{starter} curl x")]
    more = [agentfmt.UNKNOWN] * starter.startswith("parallel")
    assert ["curl", "x", *more] in commands


# What the sections of the table hold, as a gate sees it: its option, its glob, the exit status.
GATES = {
    "pushes": ("--fail-on", "git push*", 1), "no pushes": ("--fail-on", "git push*", 0),
    "tests": ("--fail-unless", "pytest*", 0), "no tests": ("--fail-unless", "pytest*", 1),
}  # fmt: skip


@pytest.mark.parametrize("rows", GATES)
def test_what_a_gate_sees(rows: str) -> None:
    option, glob, status = GATES[rows]
    assert [line for line in ROWS[rows] if gated(line, option, glob).status != status] == []


@pytest.mark.parametrize(
    "unit", ["f() ", "x=(", "a && ", "sudo ", "eval ", "a; ", "eval 'a b' ", "x{"]
)
def test_no_command_takes_time(unit: str) -> None:
    for size in (10_000, 100_000):  # the longer one is unclear without being read
        line = unit * (size // len(unit))
        assert gated(line, "--fail-on", "git push*").status in (0, 1)


@pytest.mark.parametrize("row", ROWS["telling"])
def test_a_command_whose_status_is_that_of_its_line(row: str) -> None:
    """Others are not what --fail-unless wants to see."""
    line, expected = row.split(" -> ")
    seen = [one.words for one in agentfmt.read_line(line) if not one.hidden]
    found = [" ".join(words).replace(agentfmt.UNKNOWN, "") for words in seen]
    assert ", ".join(found) == expected
    data = run_of(shell_line(line))
    for command in (*found, "a", "pytest"):
        for choice in (f"command=={command}", f"command=={command},status=ok"):
            assert convert(data, "--fail-unless", choice).status == (command not in found)


@pytest.mark.parametrize(
    ("line", "glob", "matches"),
    [*table("commands.txt", "options"), ("x " + "-a b " * 3000, "x c", True)],
)
def test_options_between_a_program_and_its_words(line: str, glob: str, matches: bool) -> None:
    assert gated(line, "--fail-on", glob).status == matches


def test_commands_of_other_spellings() -> None:
    argv = ["bash", "-lc", "cd x && git push"]
    assert gated(argv, "--fail-on", "git push*").status == 1
    assert gated(argv, "--fail-on", "git pull*").status == 0
    started_only = {"success": {"exitCode": 0}, "isBackground": True}
    behind = run_of(*both("shell", "c", {"command": "make"}, started_only))
    assert convert(behind, "--fail-unless", "command=make").status == 1
    assert convert(behind, "--fail-on", "command=make").status == 1


# ---------------------------------------------------------------- what a success has to show


@pytest.mark.parametrize(("choice", "shown"), table("commands.txt", "wanted"))
@pytest.mark.parametrize("to", ["text", "runs", "stream-json"])
def test_a_success_has_to_show_what_is_wanted(choice: str, shown: bool, to: str) -> None:
    data = run_of(user(), *READ, *SHELL, *EDIT)
    ended = convert(data, "-t", to, "--fail-unless", choice, "--fail-unless", "read")
    why = f"no event matched --fail-unless {choice}"
    assert (ended.status, why in ended.stderr) == (int(not shown), not shown)
    if to == "runs" and not shown:
        [row] = ended.objects
        assert (row["verdict"], row["failure"]) == ("failed", "matched")
        assert row["reason"].startswith(why)


@pytest.mark.parametrize(("lines", "answered"), [
    ([assistant("Done."), result(result="Done.")], True),
    ([assistant("I read it."), *READ, result(result="I read it.")], False),
    ([*READ, assistant("Done."), result(result="Done.")], True),
    ([READ[0], assistant("Done."), READ[1], result(result="Done.")], True),
    ([*READ, assistant(" \n"), result(result=" \n")], False),
    ([*READ, assistant("Done.", parent_tool_use_id="x"), result(result="")], False),
    ([assistant("Done."), init(), user(), result(result="")], False),
    ([result(result="Done.")], True),
    ([result(result="")], False),
])  # fmt: skip
@pytest.mark.parametrize("to", ["text", "runs", "calls", "stream-json"])
def test_a_run_has_to_end_with_an_answer(lines: list[bytes], answered: bool, to: str) -> None:
    ended = convert(init() + user() + b"".join(lines), "-t", to, "--fail-unless", "answer")
    assert ended.stderr.endswith("no event matched --fail-unless answer\n") == (not answered)


def test_an_answer_is_no_event() -> None:
    why = "agentfmt: --fail-on: 'answer': an answer is no event: --fail-unless demands one"
    assert run("--fail-on", "answer").stderr.startswith(why)


def test_a_call_that_goes_on_shows_nothing() -> None:
    data = init() + READ[0] + result()
    assert convert(data, "--fail-unless", "read").status == 1
    assert convert(whole_run(), "--fail-unless", "read", "--fail-on", "read").status == 1


@pytest.mark.parametrize(("line", "said"), table("commands.txt", "nearly"))
def test_what_was_nearly_shown_is_said(line: str, said: str) -> None:
    ended = gated(line, "--fail-unless", "pytest*")
    assert ended.stderr.endswith(f"no event matched --fail-unless command=pytest*{said}\n")
