"""What a terminal shows: targets, words as what they mean, failures, to-do lists, sub-agents.

Every real stream beside the checkout is read at three widths.
"""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import pytest
from support import (
    EVERYTHING,
    GLYPHS,
    MESSAGES_ONLY,
    as_line,
    assistant,
    call,
    completed,
    content,
    convert,
    delta,
    event,
    failed,
    init,
    label,
    labeled,
    ok,
    on_terminal,
    result,
    run_of,
    table,
    thinking,
    verb,
    whole_run,
)

import agentfmt
from agentfmt import View

BOLD, CYAN, RED, GREEN, DIM, RESET = (
    "\x1b[1m", "\x1b[36m", "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m",
)  # fmt: skip


class Terminal(agentfmt.Screen):
    """A terminal of some width, in process."""

    def __init__(self, columns: int = 80, *, color: bool = False) -> None:
        super().__init__()
        self.fd, self.live, self.glyphs, self.color = 1, True, True, color
        self.columns = columns

    def width(self) -> int:
        return self.columns


class Shown(NamedTuple):
    rows: list[str]
    err: list[str]


def show(
    data: bytes | Iterable[bytes],
    screen: agentfmt.Screen | None = None,
    *,
    waits: float = 0,
    **more: Any,
) -> Shown:
    """What stays on a terminal, and what stderr gets. All data comes at once, or each chunk so
    many seconds after the one before it."""
    screen = screen or Terminal()
    chunks = [data] if isinstance(data, bytes) else [*data]
    now = iter([100 + waits * number for number in range(len(chunks) + 1)])
    out, err, clock = bytearray(), bytearray(), [100.0]

    def arriving() -> Any:
        for chunk in chunks:
            clock[0] = next(now)
            yield chunk

    output = agentfmt.Output(out.extend, agentfmt.LastLine(screen))
    view = View(True, "chat", summary="stderr", tail=agentfmt.TAIL, out=screen, err=screen, **more)
    with (
        mock.patch.object(agentfmt, "write_all", lambda _fd, line: err.extend(line)),
        mock.patch.object(time, "monotonic", side_effect=lambda: clock[0]),
    ):
        report = agentfmt.Reporter(output, MESSAGES_ONLY)
        given: Any = {"view": view, "reporter": report, "out": output, "thinking": view.thinking}
        agentfmt.convert([("-", arriving())], to="text", **given)
    told = re.sub("[^\n]*\r\x1b\\[K", "", err.decode())
    return Shown(out.decode().split("\n")[:-1], told.split("\n")[:-1])


# ---------------------------------------------------------------- what a command is about

HERE = "/work/app"


@pytest.mark.parametrize(
    ("command", "shown"), [*table("calls.txt", "commands"), (7, ""), ([7, None], "7 ''")]
)
def test_a_command_is_shown_as_it_runs(command: Any, shown: str) -> None:
    assert agentfmt.command_arg({"command": command}, HERE) == shown


def test_a_command_is_shown_as_it_runs_in_pipes_and_tables_too() -> None:
    stream = run_of(call("shell", {"command": "bash -lc 'cd /work && npm test'"}, ok(exitCode=0)))
    assert convert(stream, "-d").lines == [f"{label('shell')} npm test (exit 0)"]
    assert convert(stream, "-t", "calls").objects[0]["target"] == "npm test"


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(("tool", "args", "shown"), table("calls.txt", "labels"))
def test_a_label_is_its_verb_where_a_target_follows(tool: str, args: Any, shown: str) -> None:
    stream = init() + call(tool, args, ok()) + call(tool, {}, ok()) + result()
    line = shown.format(verb(tool))
    assert show(stream).rows == [f"  ✓ {line}", f"  ✓ {label(tool)}"]
    denied = init() + call(tool, args, {"rejected": {}}) + result()
    [row] = show(denied).rows
    do = agentfmt.TOOLS[tool].do.split()[0]
    assert row == f"  ✗ Failed to {do} {line.split(' ', 1)[1]}  rejected"
    assert convert(stream, "-d").lines[1] == label(tool)
    assert convert(denied).lines == [failed(tool, "rejected")]


@pytest.mark.parametrize("tool", ["webSearch", "task", "readTodos", "await"])
def test_a_label_stays_whole_where_the_target_does_not_say_it(tool: str) -> None:
    args = dict.fromkeys(("query", "description", "taskId", "title"), "x")
    [row] = show(init() + call(tool, args, ok()) + result()).rows
    assert row.startswith(f"  ✓ {label(tool)}")


# ---------------------------------------------------------------- Markdown in words


@pytest.mark.parametrize(("line", "styled"), table("calls.txt", "styled", named=True))
def test_markdown_is_shown_as_what_it_means(line: str, styled: str) -> None:
    stream = init() + assistant(line) + result()
    assert show(stream, Terminal(color=True)).rows == [styled.replace("~", "\x1b")]
    assert show(stream, Terminal()).rows == [line]  # NO_COLOR
    assert convert(stream, "-m", "all", "--color", "always").lines == [line]


def test_a_style_ends_with_its_row() -> None:
    stream = init() + assistant("- **one two three four** five") + result()
    rows = show(stream, Terminal(12, color=True)).rows
    assert rows == [f"- {BOLD}one two{RESET}", f"{BOLD}  three four{RESET}", "  five"]


CODE = "Look:\n```python\nx = 1  # **no** bold, and a long line\n```\nand **this** line too"


def test_code_keeps_its_lines() -> None:
    rows = show(init() + assistant(CODE) + result(), Terminal(20, color=True)).rows
    code = ["```python", "x = 1  # **no** bold, and a long line", "```"]
    assert rows == ["Look:", *code, f"and {BOLD}this{RESET} line too"]


@pytest.mark.parametrize(("before", "line", "after"), table("calls.txt", "fences"))
def test_fences(before: str, line: str, after: str) -> None:
    assert agentfmt.fence_after(before, line) == after


def test_code_that_is_left_open_ends_with_the_words() -> None:
    stream = init() + assistant("```\ncode") + completed() + assistant("**bold**") + result()
    assert show(stream, Terminal(color=True)).rows[-1] == f"{BOLD}bold{RESET}"


# ---------------------------------------------------------------- how a run ended


def test_a_failure_is_one_red_thing() -> None:
    why = "Permission denied: cannot write to /root/secret.txt"
    stream = init() + result(is_error=True, result=why, duration_ms=1200)
    rows, told = show(stream, Terminal(40, color=True))
    first = f"{RED}✗ failed in 1.2 s: Permission denied:{RESET}"
    second = f"  {RED}cannot write to /root/secret.txt{RESET}"
    assert (rows, told) == ([], ["", first, second, f"  {DIM}no actions, Auto{RESET}"])
    [line] = convert(stream, "-q", "-s").stderr.splitlines()
    assert line == f"agentfmt: run 5f0e4a1c (stdin:1): failed in 1.2 s, no actions, Auto: {why}"
    [line] = convert(stream).stderr.splitlines()
    assert line == f"agentfmt: run 5f0e4a1c (stdin:1) failed: {why}"


TESTED = [call("shell", {"command": "npm test"}, {"failure": {"exitCode": 1}}),
          call("read", {"path": "a"}, ok(totalLines=2))]  # fmt: skip
FAILED_BELOW = {"failure": {"exitCode": 2, "stdout": "no"}}
LONG_PROMPT = "one two three four five six " * 9 + "x" * 99


@pytest.mark.parametrize(("events", "screen", "rows"), [
    pytest.param(TESTED, Terminal(color=True),
        [f"  {RED}✗ Ran npm test  exit 1{RESET}", f"  {GREEN}✓{RESET} Read a {DIM} 2 lines{RESET}"],
        id="colors"),
    pytest.param([call("read", {"path": "a"}, ok(totalLines=2), parent_tool_use_id="c")], Terminal(),
        ["    ✓ Read a  2 lines"], id="below the call of its sub-agent"),
    pytest.param([call("shell", {"command": "make"}, FAILED_BELOW, parent_tool_use_id="p")],
        Terminal(40, color=True), [f"    {RED}✗ Ran make  exit 2{RESET}", f"      {DIM}no{RESET}"],
        id="the end of a command is dim, and below its action"),
    pytest.param([assistant("Alpha beta gamma delta epsilon zeta.\n- one two three four five six")],
        Terminal(24), ["Alpha beta gamma delta", "epsilon zeta.", "- one two three four", "  five six"],
        id="words wrap at word ends"),
    pytest.param([assistant("one two ::error::three"), call("shell", {"command": "x"}, {"failure": {
        "exitCode": 1, "stderr": "one two three ::warning::four"}})], Terminal(20),
        ["one two", r"\x3a:error::three", "", "  ✗ Ran x  exit 1", "    one two three", r"    \x3a:warning::four"],
        id="no row is a command of a CI runner"),
    pytest.param([event("user", message={"content": LONG_PROMPT})], Terminal(20),
        ["> one two three four", "> five six one two", "> three four five", "> ... (13 more", "> lines)"],
        id="rows of a prompt"),
])  # fmt: skip
def test_rows_of_a_terminal(events: list[bytes], screen: Terminal, rows: list[str]) -> None:
    shown = show(b"".join([init(), *events, result()]), screen)
    assert shown.rows == rows
    ended = f"{GREEN}✓ succeeded{RESET}" if screen.color else "✓ succeeded"
    assert (shown.err[0], shown.err[1].startswith(ended)) == ("", True)


@pytest.mark.parametrize(("data", "why"), [
    pytest.param(init(), "ended without a result after 1 event", id="cut-off"),
    pytest.param(init() + init() + result(), "superseded by another init at stdin:2", id="again"),
    pytest.param(init() + result(subtype="error_max_turns", is_error=True), "error_max_turns", id="subtype"),
])  # fmt: skip
def test_every_failure_is_told_once(data: bytes, why: str) -> None:
    alone, beside = convert(data), convert(data, "-q", "-s")
    assert alone.status == beside.status == 1
    assert alone.stderr.count("\n") == 1
    rows = convert(data, "-t", "runs").objects
    told = [line for line in beside.stderr.splitlines() if "agentfmt: run" in line]
    said = [line.split("): ")[1].split(",")[0] for line in told]
    assert said == [row["verdict"] for row in rows]
    assert alone.stderr.count(why) == beside.stderr.count(why) == 1


@pytest.mark.parametrize("table", ["runs", "calls"])
def test_messages_beside_a_table(table: str) -> None:
    data = init() + completed() + b"{x\n" + init() + completed() + result()
    seen, _ = on_terminal(data, "-t", table, "--color", "never")
    shown = seen.decode().replace("\r\x1b[K", "").splitlines()
    told = [line.startswith("agentfmt: ") for line in shown if line]
    said = 1 if table == "runs" else 2  # rows of runs say why they failed
    assert told == [True] * said + [False] * 3  # the first rows wait for the titles


def shown_as_table(data: bytes, to: str, columns: int) -> list[str]:
    out = bytearray()
    output = agentfmt.Output(out.extend)
    agentfmt.convert(
        [("-", iter([data]))], to=to, view=View(out=Terminal(columns)),
        reporter=agentfmt.Reporter(output, MESSAGES_ONLY), out=output,
    )  # fmt: skip
    return out.decode().splitlines()


@pytest.mark.parametrize(("runs", "titles"), [
    (init() + result(), ["verdict", "agent", "prompt or reason", "actions", "failed", "location"]),
    ((init() + completed() + result()) * 2, ["verdict", "prompt or reason", "location"]),
    (init() + result() + init() + completed() + result(), ["verdict", "prompt or reason", "actions", "location"]),
    (whole_run() * 50, ["verdict", "prompt or reason", "location"]),
])  # fmt: skip
def test_columns_that_tell_no_rows_apart_are_left_out(runs: bytes, titles: list[str]) -> None:
    head, *rows = shown_as_table(runs, "runs", 120)
    assert re.split("  +", head) == titles
    assert len(rows) == runs.count(b'"type":"result"')


def test_selectors_that_fail_a_run_are_the_reason() -> None:
    data = init() + completed() + result()
    [line] = convert(data, "-q", "-s", "--fail-on", "read").stderr.splitlines()
    assert line.endswith("failed, 1 action (read 1), Auto: --fail-on read matched at stdin:2")


@pytest.mark.parametrize(("why", "columns", "rows"), table("calls.txt", "reasons", named=True))
def test_why_a_command_failed_is_shown_below_it_where_there_is_no_room(
    why: str, columns: int, rows: list[str]
) -> None:
    stream = init() + call("shell", {"command": "make"}, {"error": {"error": why}}) + result()
    first, *rest = rows
    shown = [f"  ✗ Failed to run make  {first}", *(f"    {row}" for row in rest)]
    assert show(stream, Terminal(columns)).rows == shown
    read = show(stream.replace(b"shellToolCall", b"readToolCall"), Terminal(columns)).rows
    assert len(read) == {"boom": 1}.get(why, 2)


def test_a_long_command_leaves_room_for_why_it_failed() -> None:
    stream = call("shell", {"command": "x" * 2000}, {"error": {"error": "boom"}})
    rows = show(init() + stream + result(), Terminal(60)).rows
    assert (len(rows) < 6, rows[-1].strip()) == (True, "error: boom")


def test_turns_stand_apart() -> None:
    asked = event("user", message={"content": "Do it."})
    stream = init() + asked + assistant("Done.") + asked + assistant("Again.") + result()
    assert show(stream).rows == ["> Do it.", "", "Done.", "", "> Do it.", "", "Again."]
    assert convert(stream, "-m", "chat").lines == ["> Do it.", "Done.", "> Do it.", "Again."]


# ---------------------------------------------------------------- to-do lists


def todos(done: int, kind: str = "item.updated") -> bytes:
    """Codex's list of two items, whose call is open for the whole turn."""
    items = [{"text": text, "completed": number < done} for number, text in enumerate("ab")]
    return as_line({"type": kind, "item": {"id": "i1", "type": "todo_list", "items": items}})


CODEX = as_line({"type": "thread.started", "thread_id": "t1"}) + as_line({"type": "turn.started"})
ENDED = as_line({"type": "turn.completed"})
SAID = as_line({"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}})
LISTED = (
    CODEX + todos(0, "item.started") + todos(0) + todos(1) + SAID
    + todos(2, "item.completed") + ENDED
)  # fmt: skip


def test_a_list_is_shown_as_it_is_set() -> None:
    lines = [f"  ✓ {label('updateTodos')}  {done} of 2 done" for done in (0, 1, 2)]
    assert show(LISTED).rows == [*lines[:2], "", "Done.", "", lines[2]]
    same = LISTED.replace(todos(2, "item.completed"), todos(1, "item.completed"))
    assert show(same).rows == [*lines[:2], "", "Done."]


def test_a_list_is_no_running_call() -> None:
    screen = Terminal()
    with mock.patch.object(agentfmt.LastLine, "draw") as draw:
        show([CODEX, todos(0, "item.started"), todos(1)], screen, waits=2)
    assert not any(agentfmt.TOOLS["updateTodos"].doing in str(each) for each in draw.mock_calls)


def test_a_list_that_could_not_be_set_says_so() -> None:
    args = {"todos": [{"status": "TODO_STATUS_PENDING"}]}
    stream = init() + call("updateTodos", args) + call("updateTodos", args, {"rejected": {}})
    told = f"  ✓ {label('updateTodos')}  0 of 1 done", f"  ✗ {failed('updateTodos')}  rejected"
    assert show(stream + result()).rows == [*told]


# ---------------------------------------------------------------- sub-agents


def read(path: str, parent: str | None = None) -> bytes:
    return call("read", {"path": path}, ok(), call_id=path, parent_tool_use_id=parent)


def happened(cell: str) -> Iterator[bytes]:
    """Words of a row: what is done, of what, and within which call."""
    for word in cell.split():
        act, name, parent = re.match(r"(\w+):([^<]+)<?(.*)", word).groups()  # type: ignore[union-attr]
        if act == "said":
            yield assistant(name)
        elif act == "read":
            yield read(name, parent or None)
        else:
            more, done = {"parent_tool_use_id": parent or None}, ok() if act == "done" else None
            yield call("task", {"description": name}, done, call_id=name, **more)


@pytest.mark.parametrize(("lines", "rows"), [
    ([assistant("\n\na\n\n\n"), read("x"), read("y"), assistant("\nb\n\nc\n")],
     ["a", "", "  ✓ Read x", "  ✓ Read y", "", "b", "", "c"]),
    ([assistant("a"), assistant("\n\nb"), read("x")], ["a", "", "b", "", "  ✓ Read x"]),
    ([assistant("a\n"), read("x"), result(), init(), assistant("b")], ["a", "", "  ✓ Read x", "", "b"]),
    ([assistant("```\n\n\nb\n```\n"), read("x")], ["```", "", "", "b", "```", "", "  ✓ Read x"]),
])  # fmt: skip
def test_words_and_actions_stand_apart(lines: list[bytes], rows: list[str]) -> None:
    """By one empty line, whatever empty lines the words begin and end with."""
    stream = run_of(*lines)
    assert show(stream).rows == rows
    assert b"" not in convert(stream, "-d").stdout.split(b"\n")[:-1]


def test_lines_of_several_runs_stand_together() -> None:
    """Their prefixes tell them apart."""
    lines = [init("a"), init("b"), *(line for name in "ab" for line in (
        assistant("Hm.", session=name), completed(session=name), result(name)))]  # fmt: skip
    rows = ["[a] Hm.", "  ✓ [a] Read a", "", "[b] Hm.", "  ✓ [b] Read a"]
    assert show(b"".join(lines)).rows == rows


RUNNING = agentfmt.TOOLS["task"].doing
RAN = label("task")


@pytest.mark.parametrize(("cell", "rows"), table("calls.txt", "sub-agents", named=True))
def test_what_a_sub_agent_does_stands_below_its_call(cell: str, rows: list[str]) -> None:
    assert show(b"".join((init(), *happened(cell), result()))).rows == [*map(labeled, rows)]


def test_labels_alone_have_no_line_for_the_start_of_a_sub_agent() -> None:
    stream = run_of(*happened("task:A read:x<A done:A"))
    assert convert(stream).lines == [label("read"), RAN]
    assert convert(stream, "-d").lines == [f"{RUNNING} A", f"  {label('read')} x", f"{RAN} A"]
    assert convert(stream, "-d", "--drop", "task").lines == [f"  {label('read')} x"]


# ---------------------------------------------------------------- real streams

STYLE = re.compile("\x1b\\[[0-9]*m")


@pytest.mark.parametrize("path", EVERYTHING)
def test_real_streams_fit_any_terminal(path: str) -> None:
    for columns in (40, 80, 200):
        rows, told = show(content(path), Terminal(columns, color=True))
        fence = ""
        for row in (*rows, *(line for line in told if not line.startswith("agentfmt: "))):
            plain = STYLE.sub("", row)
            assert not agentfmt.CONTROL.search(plain)
            before, fence = fence, agentfmt.fence_after(fence, plain)
            *_, last = plain.rsplit(" ", 1)
            whole = agentfmt.display_width(plain.lstrip(" -*>")) - agentfmt.display_width(last) < 4
            assert agentfmt.display_width(plain) <= columns or before or whole, plain


def test_a_real_terminal_shows_the_same() -> None:
    data = init() + call("shell", {"command": "bash -lc 'npm test'"}, ok(exitCode=0)) + result()
    seen, _ = on_terminal(data, "--color", "never", env=GLYPHS)
    rows, told = show(data)
    assert seen.decode().splitlines() == [*rows, *told]


def test_silence_is_passed_on_before_the_first_bytes_show_a_form() -> None:
    """Else a terminal could not say that it waits for the agent."""
    frames = agentfmt.read_frames(agentfmt.Source("-"), iter([b"", b" ", b"", init(), b""]))
    assert [bool(frame) for frame in frames] == [False, False, True, False]


# ---------------------------------------------------------------- waits, edits, thoughts, tables


def claude_retry(delay: int | None) -> bytes:
    told: Any = {} if delay is None else {"retry_delay_ms": delay}
    return event("system", subtype="api_retry", error="overloaded", error_status=529, **told)


def codex_error(number: int) -> bytes:
    return as_line({"type": "error", "message": f"Reconnecting... {number}/5 (disconnected)"})


CLAUDE = event("system", subtype="init", cwd="/w", model="m", tools=[], mcp_servers=[])


@pytest.mark.parametrize(("lines", "shown"), [
    pytest.param([CLAUDE, claude_retry(500), claude_retry(39_500), assistant("Hi.")],
        "Waiting for the API overloaded 529 (39.5 s)", id="claude"),
    pytest.param([CODEX, codex_error(1), codex_error(2)],
        "Waiting for the API Reconnecting... 2/5 (disconnected)", id="codex"),
    pytest.param([init(), event("connection", subtype="reconnecting", timestamp_ms=1790000000000),
        event("retry", subtype="starting", timestamp_ms=1790000010000),
        event("connection", subtype="reconnected", timestamp_ms=1790000030000), assistant("Hi.")],
        "Waiting for the API", id="cursor"),
])  # fmt: skip
def test_each_retry_is_a_line(lines: list[bytes], shown: str) -> None:
    data = b"".join((*lines, ENDED if lines[0] == CODEX else result()))
    said = [line for line in convert(data, "-v").lines if "API" in line]
    assert (said[-1], len(said)) == (shown, 1 if len(lines) == 5 else 2)
    assert b"Waiting for the API" in convert(data, "-t", "markdown").stdout
    assert "API" not in convert(data).stdout.decode()
    assert b"API" not in convert(data, "-v", "--only", "shell").stdout


def test_waits_in_a_row_are_one_row_of_a_report_and_a_notice_is_no_success() -> None:
    waits = [claude_retry(500), claude_retry(39_500), claude_retry(None)]
    data = b"".join((CLAUDE, *waits, completed(), claude_retry(1000), result()))
    text = convert(data, "-t", "markdown").stdout.decode()
    rows = [line for line in text.split("\n") if "API" in line]
    why = "Waiting for the API <code>overloaded 529</code>"
    assert rows == [f"<li>▶️ {why} (3 times, 40.0 s)", f"<li>▶️ {why} (1.0 s)"]
    assert show(data, Terminal()).rows[1].startswith("  ▸ Waiting for the API")
    warned = b"".join((init(), event("system", subtype="warning", message="Slow"), result()))
    assert "<li>▶️ Warning <code>Slow</code>" in convert(warned, "-t", "markdown").stdout.decode()


def test_an_edit_shows_its_lines() -> None:
    added = "".join(f"+{n}\n" for n in range(30))
    diff = f"--- a/x\n+++ b/x\n@@ -1 +1,30 @@\n-old [REDACTED:x]\n{added}"
    data = run_of(call("edit", {"path": "x"}, ok(diffString=diff)))
    plain = convert(data, "--diff").stdout.decode().splitlines()
    assert plain[1:4] == ["    @@ -1 +1,30 @@", "    -old [REDACTED:x]", "    +0"]
    assert plain[-1] == "    ... (12 more lines)"
    assert len(plain) == 1 + agentfmt.DIFF_ROWS + 1
    rows = show(data, Terminal(color=True), diff=True).rows
    assert rows[2:4] == [f"    {RED}-old [REDACTED:x]{RESET}", f"    {GREEN}+0{RESET}"]
    failing = data.replace(b'"success"', b'"rejected"')
    assert len(convert(failing, "--diff").lines) == 1


def test_thoughts_are_marked_and_dimmed() -> None:
    """On lines of their own, also where words had not ended theirs."""
    deep = event("thinking", subtype="delta", text="deep", parent_tool_use_id="t")
    thoughts = thinking("Let\n"), thinking("me see")
    data = run_of(deep, delta("Well,"), *thoughts, delta(" done."), completed())
    shown = ["Well,", "~ Let", "~ me see", " done.", "Read file"]
    assert convert(data, "--thinking", "-m", "all").lines == shown
    assert convert(data, "-m", "all").lines == ["Well, done.", "Read file"]
    rows = show(data, Terminal(color=True), thinking=True).rows
    assert rows[1:3] == [f"{DIM}~ Let{RESET}", f"{DIM}~ me see{RESET}"]


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("to", ["runs", "calls"])
def test_tables_are_tables_on_a_terminal(to: str, columns: int) -> None:
    long = f"make {'x' * 90} end"
    made = call("shell", {"command": long}, ok(exitCode=0))
    data = run_of(made, completed(), duration_ms=1500)
    head, first, *more = shown_as_table(data, to, columns)
    assert max(map(len, (head, first, *more))) < columns
    if to == "runs" and columns > 40:
        assert first.index("1.5 s") + len("1.5 s") == head.index("time") + len("time")
    elif to == "calls" and columns < 200:
        assert re.search(r"make x+\.\.\.x* end", first)
