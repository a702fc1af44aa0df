"""Text: action lines, details, words, summaries, what a terminal shows, and what it never must."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentfmt
from agentfmt import View

CWD = "/home/dev/project"
CAPTURES = Path(__file__).parents[2] / "shared" / "captures" / "cursor"


class Rendered(NamedTuple):
    out: list[str]
    err: list[str]
    status: int


def init(session: str = "2f4c27dc-1", **members: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "session_id": session, "cwd": CWD, **members}


def result(session: str = "2f4c27dc-1", **members: Any) -> dict[str, Any]:
    ok = {"type": "result", "subtype": "success", "is_error": False, "session_id": session}
    return {**ok, **members}


def said(text: str, session: str = "2f4c27dc-1", **members: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, "session_id": session, **members}


def delta(text: str, **members: Any) -> dict[str, Any]:
    return said(text, timestamp_ms=1, **members)


def call(subtype: str, tool: str, body: dict[str, Any], **members: Any) -> dict[str, Any]:
    times = {name: members.pop(name) for name in list(members) if name.endswith("AtMs")}
    event = {"type": "tool_call", "subtype": subtype, "call_id": "c1", "session_id": "2f4c27dc-1"}
    return {**event, "tool_call": {tool: body, **times}, **members}


def started(tool: str, args: dict[str, Any], **members: Any) -> dict[str, Any]:
    return call("started", tool, {"args": args}, **members)


def done(tool: str, args: Any, outcome: Any, **members: Any) -> dict[str, Any]:
    body = {"args": args, "result": outcome} if args is not None else {"result": outcome}
    return call("completed", tool, body, **members)


def spelled(*events: dict[str, Any]) -> bytes:
    text = "".join(json.dumps(event) + "\n" for event in events)
    return text.replace("Infinity", "1e400").encode()


def render(data: bytes, view: View = View(), to: str = "text", step: int = 0) -> Rendered:  # noqa: B008
    """What convert() writes; ``step`` is how many bytes each read delivers."""
    out, err = bytearray(), bytearray()
    output = agentfmt.Output(out.extend, view.screen)
    report = agentfmt.Report(output)
    chunks = [data[i : i + step] for i in range(0, len(data), step)] if step else [data]
    with mock.patch.object(agentfmt, "write_all", lambda _fd, line: err.extend(line)):
        agentfmt.convert([("-", iter(chunks))], to=to, view=view, report=report, out=output)
    return Rendered(lines(bytes(out)), lines(bytes(err)), report.status())


def lines(data: bytes) -> list[str]:
    assert data == b"" or data.endswith(b"\n")
    return data.decode().split("\n")[:-1]


def line_of(*events: dict[str, Any], detail: bool = True) -> str:
    [line] = render(spelled(init(), *events, result()), View(detail=detail)).out
    return line


def ok(**success: Any) -> dict[str, Any]:
    return {"success": success}


# ---------------------------------------------------------------- every tool

DONE: tuple[tuple[str, Any, Any, str], ...] = (
    ("read", {"path": f"{CWD}/notes.txt"}, ok(totalLines=4, fileSize=17), "Read file notes.txt (4 lines)"),
    ("read", {"path": "a"}, ok(totalLines="1"), "Read file a (1 line)"),
    ("read", {"path": "a"}, ok(totalLines=400, readRange={"startLine": 10, "endLine": 59}),
     "Read file a (lines 10-59 of 400)"),
    ("read", {"path": "a"}, ok(totalLines=4, readRange={"startLine": 1, "endLine": 4}), "Read file a (4 lines)"),
    ("read", {"path": "a.png"}, ok(fileSize="5184"), "Read file a.png (5.2 kB)"),
    ("read", {"path": "a"}, ok(totalChars=1254), "Read file a (1254 characters)"),
    ("read", {"path": "a"}, ok(isEmpty=True), "Read file a (empty)"),
    ("read", {"path": "a"}, ok(totalLines=[]), "Read file a"),
    ("shell", {"command": "wc -l notes.txt"}, ok(exitCode=0, executionTime=1200),
     "Ran terminal command wc -l notes.txt (exit 0, 1.2 s)"),
    ("shell", {"command": "make"}, {"failure": {"exitCode": 42, "executionTime": "90000"}},
     "Ran terminal command make (exit 42, 1 min 30 s)"),
    ("shell", {"command": "make"}, ok(exitCode="-1"), "Ran terminal command make (exit -1)"),
    ("shell", {"command": "make"}, ok(stdout="x"), "Ran terminal command make"),
    ("shell", {"command": "make"}, ok(exitCode=0, executionTime=-5), "Ran terminal command make (exit 0)"),
    ("shell", {"command": "cat <<E\nx\r\n\x1b[31mE"}, ok(exitCode=0),
     r"Ran terminal command cat <<E\nx\r\n\x1b[31mE (exit 0)"),
    ("edit", {"path": f"{CWD}/src/a.py"}, ok(linesAdded=12, linesRemoved=3, beforeFullFileContent="x"),
     "Edited file src/a.py (+12 -3)"),
    ("edit", {"path": "a"}, ok(linesAdded=12, beforeFullFileContent="x"), "Edited file a (+12)"),
    ("edit", {"path": "a"}, ok(linesAdded=1, linesRemoved=1, diffString="--- /dev/null\n+++ b/a"),
     "Created new file a (1 line)"),
    ("write", {"path": "s.txt"}, ok(linesCreated=19, fileSize=942), "Created new file s.txt (19 lines)"),
    ("write", {"path": "s.txt"}, ok(fileSize=942), "Created new file s.txt (942 bytes)"),
    ("delete", {"path": "a"}, ok(fileSize="2500000"), "Deleted file a (2.5 MB)"),
    ("glob", {"globPattern": "**/*.py"}, ok(files=["a", "b"], totalFiles=2), "Found files **/*.py (2 files)"),
    ("glob", {"globPattern": "*"}, ok(files=["a"]), "Found files * (1 file)"),
    ("grep", {"pattern": "TODO"}, ok(workspaceResults={CWD: {"content": {
        "matches": [{"file": "a"}, {"file": "b"}, {"file": "c"}], "totalMatchedLines": 14}}}),
     "Searched files TODO (14 matches in 3 files)"),
    ("grep", {"pattern": "x"}, ok(workspaceResults={"a": {"files": {"files": ["a"], "totalFiles": 1}}}),
     "Searched files x (1 file)"),
    ("grep", {"pattern": "x"}, ok(workspaceResults={"a": {"count": {"totalFiles": 2, "totalMatches": "1"}},
                                                    "b": {"count": {"totalFiles": 1, "totalMatches": 4}}}),
     "Searched files x (5 matches in 3 files)"),
    ("grep", {"pattern": "x"}, ok(workspaceResults={"a": {"content": {"matches": [], "totalMatchedLines": 0}}}),
     "Searched files x (0 matches)"),
    ("grep", {"pattern": "x"}, ok(workspaceResults=["a", 7]), "Searched files x"),
    ("semSearch", {"query": "where is it"}, ok(codeResults=[{}, {}]), "Searched codebase where is it (2 results)"),
    ("ls", {"path": CWD}, ok(directoryTreeRoot={"childrenDirs": [{}], "childrenFiles": [{}, {}]}),
     "Listed directory . (3 entries)"),
    ("readLints", {"paths": [f"{CWD}/a.py", "b.py"]}, ok(totalDiagnostics=2), "Checked lints a.py b.py (2 problems)"),
    ("updateTodos", {"todos": [], "merge": True}, ok(todos=[{"status": "TODO_STATUS_COMPLETED"},
                                                            {"status": "TODO_STATUS_PENDING"}]),
     "Updated to-do list (1 of 2 done)"),
    ("updateTodos", {"todos": [{"status": "TODO_STATUS_PENDING"}]}, ok(), "Updated to-do list (0 of 1 done)"),
    ("updateTodos", {"todos": [{"status": "TODO_STATUS_PENDING"}], "merge": True}, ok(), "Updated to-do list"),
    ("readTodos", {}, ok(todos=[{"status": "completed"}]), "Read to-do list (1 of 1 done)"),
    ("webSearch", {"searchTerm": "node lts"}, ok(references=[{}, {}, {}]), "Searched web node lts (3 results)"),
    ("webFetch", {"url": "https://a.b"}, ok(markdown="12345"), "Fetched web page https://a.b (5 characters)"),
    ("fetch", {"url": "https://a.b"}, ok(), "Fetched web page https://a.b"),
    ("fetch", {"url": "u"}, ok(markdown="[content: 1254 chars]"), "Fetched web page u (1254 characters)"),
    ("mcp", {"name": "gh-issue", "providerIdentifier": "gh", "toolName": "issue"}, ok(content=[]),
     "Called MCP tool gh/issue"),
    ("mcp", {"name": "gh-issue"}, ok(isError=False), "Called MCP tool gh-issue"),
    ("task", {"description": "look around"}, ok(conversationSteps=[{}, {}], durationMs="65000"),
     "Ran subagent look around (2 steps, 1 min 5 s)"),
    ("askQuestion", {"title": "T", "questions": [{"prompt": "Which?"}]}, ok(), "Asked question Which?"),
    ("askQuestion", {"title": "T"}, ok(), "Asked question T"),
    ("createPlan", {"name": "the plan"}, ok(), "Created plan the plan"),
    ("await", {"taskId": "7"}, ok(), "Waited for task 7"),
    ("getMcpTools", {"server": "gh"}, ok(), "Listed MCP tools gh"),
    ("generateImage", {"description": "a cat"}, ok(), "Generated image a cat"),
    ("mystery", {}, ok(), "Used tool mystery"),
    ("read", {"path": 7}, ok(totalLines=True), "Read file"),
    ("read", "notes", ok(), "Read file"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "args", "outcome", "line"), [pytest.param(*case, id=case[3]) for case in DONE]
)
def test_detail_of_a_call_that_happened(tool: str, args: Any, outcome: Any, line: str) -> None:
    assert line_of(done(f"{tool}ToolCall", args, outcome)) == line


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        pytest.param({"rejected": {"reason": "not now"}}, "(rejected: not now)", id="rejected"),
        pytest.param({"rejected": {"reason": ""}}, "(rejected)", id="no-reason"),
        pytest.param({"rejected": True}, "(rejected)", id="no-object"),
        pytest.param({"error": {"errorMessage": "bad"}}, "(error: bad)", id="errorMessage"),
        pytest.param({"error": {"error": "bad"}}, "(error: bad)", id="error"),
        pytest.param({"error": {"message": "bad\nand\x1b[2J"}}, r"(error: bad\nand\x1b[2J)", id="esc"),
        pytest.param({"error": "bad"}, "(error: bad)", id="bare-string"),
        pytest.param({"spawnError": {"error": "no sh"}}, "(error: no sh)", id="spawn"),
        pytest.param({"permissionDenied": {"error": "no"}}, "(permission denied: no)", id="denied"),
        pytest.param({"writePermissionDenied": {}}, "(permission denied)", id="denied-to-write"),
        pytest.param({"fileNotFound": {"path": "a"}}, "(not found)", id="notfound"),
        pytest.param({"timeout": {"timeoutMs": 30000}}, "(timed out after 30.0 s)", id="timeout"),
        pytest.param({"timeout": {}}, "(timed out)", id="timeout-unknown"),
        pytest.param({"notFile": {}}, "(error)", id="notFile"),
        pytest.param({"failure": {"signal": "SIGKILL"}}, "(error: killed by SIGKILL)", id="signal"),
        pytest.param({"quotaExceeded": {}}, "(error: quotaExceeded)", id="unknown-variant"),
        pytest.param({"quota": {"message": "none left"}}, "(error: none left)", id="unknown-message"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("args", [None, {"path": f"{CWD}/src/a.py"}], ids=["remembered", "given"])
def test_detail_of_a_call_that_failed(outcome: dict[str, Any], line: str, args: Any) -> None:
    begun = started("editToolCall", {"path": f"{CWD}/src/a.py"})
    got = line_of(begun, done("editToolCall", args, outcome))
    assert got == f"Failed to edit file src/a.py {line}"
    plain = line_of(begun, done("editToolCall", args, outcome), detail=False)
    assert plain == "Failed to edit file " + re.sub(r"(after|:).*\)", ")", line).replace(" )", ")")


def test_a_failed_mcp_call_says_what_its_content_says() -> None:
    outcome = ok(isError=True, content=[{"text": {"text": "no such issue"}}])
    line = line_of(done("mcpToolCall", {"providerIdentifier": "gh", "toolName": "issue"}, outcome))
    assert line == "Failed to call MCP tool gh/issue (error: no such issue)"


def test_a_completion_without_a_start_names_what_its_result_names() -> None:
    line = line_of(done("shellToolCall", None, {"rejected": {"command": "rm x", "reason": ""}}))
    assert line == "Failed to run terminal command rm x (rejected)"


@pytest.mark.parametrize(
    ("tool", "query", "target"),
    [
        ("webSearch", {"webSearchRequestQuery": {"args": {"searchTerm": "x y", "toolCallId": "c"}}}, "x y"),
        ("webFetch", {"webFetchRequestQuery": {"args": {"url": "https://a"}}, "toolCallId": "c"}, "https://a"),
        ("webSearch", {"webSearchRequestQuery": {"args": {"searchTerm": "x", "toolCallId": "b"}}}, ""),
        ("webSearch", {"webSearchRequestQuery": {"args": {"searchTerm": "x"}}}, ""),
        ("webSearch", {"webSearchRequestQuery": 7}, ""),
        ("webSearch", 7, ""),
    ],
    ids=["args", "query", "another-call", "no-call", "no-object", "no-query"],
)  # fmt: skip
def test_a_call_that_never_started_is_about_what_was_asked(
    tool: str, query: Any, target: str
) -> None:
    asked = {
        "type": "interaction_query", "subtype": "request", "session_id": "2f4c27dc-1", "query": query,
    }  # fmt: skip
    rejected = done(f"{tool}ToolCall", None, {"rejected": {"reason": ""}}, call_id="c")
    label = {"webSearch": "search web", "webFetch": "fetch web page"}[tool]
    assert line_of(asked, rejected) == " ".join(f"Failed to {label} {target} (rejected)".split())


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"name": "look_up", "arguments": '{"query": "x y"}'}, "Used tool look_up x y"),
        ({"name": "look_up", "arguments": '{"query"'}, "Used tool look_up"),
        ({"name": "look_up", "arguments": "\ud83d"}, "Used tool look_up"),
    ],
    ids=["arguments", "bad-arguments", "surrogate"],
)
def test_function(body: dict[str, Any], line: str) -> None:
    assert line_of(call("completed", "function", {**body, "result": ok()})) == line


@pytest.mark.parametrize(
    ("members", "success", "line"),
    [
        ({"startedAtMs": "1000", "completedAtMs": "2479"}, {"executionTime": 9}, "1.5 s"),
        ({"startedAtMs": "2000", "completedAtMs": "1000"}, {"executionTime": 900}, "0.9 s"),
        ({"startedAtMs": "2000", "completedAtMs": "1000"}, {}, ""),
        ({"completedAtMs": "1000"}, {"durationMs": "3723000"}, "1 h 2 min"),
        ({"startedAtMs": 5, "completedAtMs": 9}, {}, "4 ms"),
        ({}, {"executionTime": 1e400}, ""),
        ({}, {"executionTime": "9" * 5000}, ""),
    ],
    ids=["clocks", "backwards", "nothing-left", "hours", "short", "infinite", "digits"],
)
def test_duration(members: dict[str, Any], success: dict[str, Any], line: str) -> None:
    got = line_of(done("shellToolCall", {"command": "x"}, ok(**success), **members))
    assert got == f"Ran terminal command x ({line})".replace(" ()", "")


@pytest.mark.parametrize(
    ("path", "cwd", "shown"),
    [
        ("/p/a/b.py", "/p/a", "b.py"),
        ("/p/ab.py", "/p/a", "/p/ab.py"),
        ("/p/a", "/p/a", "."),
        ("/p/a/", "/p/a", "."),
        ("/p/a/b", "/p/a/", "b"),
        ("/a/b", "/", "/a/b"),
        ("/a/b", "", "/a/b"),
        ("b.py", "/p", "b.py"),
        ("/tmp/x/n.txt", "/private/tmp/x", "n.txt"),
        ("./b.py", ".", "b.py"),
        (r"F:\Users\me\p\a.py", r"F:\Users\me\p", "a.py"),
        (r"f:/users/me/p/s/a.py", r"F:\Users\me\p", "s/a.py"),
        (r"F:\Users\me\pq", r"F:\Users\me\p", r"F:\Users\me\pq"),
        (r"C:\a", "C:\\", r"C:\a"),
        (r"\\host\share\a", r"\\host\share", "a"),
        (r"/p/a\b", "/p/a", r"/p/a\b"),
    ],
)
def test_paths_are_relative_to_the_directory_of_the_run(path: str, cwd: str, shown: str) -> None:
    assert agentfmt.relative_path(path, cwd) == shown


def test_the_slow_decoder_gives_the_same_details() -> None:
    """A lone surrogate somewhere in the line must cost no detail."""
    for tool, args, outcome, line in DONE:
        if isinstance(args, dict):
            event = done(f"{tool}ToolCall", args, outcome, odd="\ud83d")
            assert line_of(event) == line


# ---------------------------------------------------------------- width

WIDE = "读取文件" * 60


@pytest.mark.parametrize("columns", [10, 40, 80, 200])
@pytest.mark.parametrize("target", ["x" * 500, WIDE, "e\u0301" * 300, "a b " * 100])
def test_a_line_is_cut_at_the_width(columns: int, target: str) -> None:
    screen = agentfmt.Screen()
    with mock.patch.object(screen, "width", return_value=columns):
        event = done("shellToolCall", {"command": target}, ok(exitCode=0, executionTime=1200))
        [line] = render(spelled(init(), event, result()), View(detail=True, screen=screen)).out
    assert agentfmt.display_width(line) <= columns
    assert "..." in line
    if columns >= 40:
        assert line.endswith("... (exit 0, 1.2 s)" if columns >= 80 else "... (exit 0)")
        assert agentfmt.display_width(line) >= columns - 2


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            200,
            "Failed to edit file src/deep/in/the/tree/a.py (rejected: the file is not yours, ask first)",
        ),
        (80, "Failed to edit file src/deep/in/the/tree/a.py (rejected: the file is not you...)"),
        (60, "Failed to edit file src/deep/in/the/tree/a.py (rejected)"),
        (40, "Failed to edit file .../a.py (rejected)"),
        (30, "Failed to edit file (rejected)"),
        (20, "Failed to edit fi..."),
    ],
)
def test_a_long_reason_gives_way(columns: int, line: str) -> None:
    outcome = {"rejected": {"reason": "the file is not yours, ask first"}}
    event = done("editToolCall", {"path": "src/deep/in/the/tree/a.py"}, outcome)
    screen = agentfmt.Screen()
    with mock.patch.object(screen, "width", return_value=columns):
        assert render(spelled(init(), event), View(detail=True, screen=screen)).out == [line]


@pytest.mark.parametrize(
    ("act", "columns", "line"),
    [
        (("Asked", "which of the files", "skipped: none of them"), 47,
         "Asked which of the files (skipped: none of...)"),
        (("Asked", "which of the files", "skipped: none of them"), 40,
         "Asked which of the files (skipped)"),
        (("Ran", "grep -r pattern src", "exit 0, 1.9 s"), 40, "Ran grep -r pattern src (exit 0, 1.9 s)"),
        (("Ran", "grep -r pattern src", "exit 0, 1.9 s"), 38, "Ran grep -r pattern src (exit 0)"),
        (("Ran", "a", "1 x in 2 y, 9 z"), 19, "Ran a (1 x in 2 y)"),
        (("Searched", "TODO", "14 matches in 3 files"), 30, "Searched TODO (14 matches)"),
        (("Read", "a.py", "lines 100-149 of 2500"), 30, "Read a.py (lines 100-149)"),
        (("Updated", "", "1 of 3 done"), 21, "Updated (1 of 3 done)"),
        (("Fetched", "https://example.com/a", "135 characters"), 32, "Fetched https://example.com/a"),
        (("Fetched", "https://example.com/a", "135 characters"), 25, "Fetched https://exampl..."),
        (("Failed to run a command", "", "rejected"), 32, "Failed to run a co... (rejected)"),
        (("Failed to run a command", "", "rejected"), 20, "Failed to run a c..."),
        (("Failed to run a command", "ls", "rejected"), 37, "Failed to run a command ls (rejected)"),
        (("Read", "src/very/deep/in/the/tree/a.py", ""), 25, "Read .../in/the/tree/a.py"),
        (("Read", "src/very/deep/in/the/tree/a.py", ""), 24, "Read .../the/tree/a.py"),
        (("Read", "src/a-name-that-is-too-long.py", ""), 20, "Read a-name-that-..."),
        (("Read", r"C:\one\two\three\four.py", ""), 23, r"Read ...\three\four.py"),
        (("Listed", "src/very/deep/", ""), 17, "Listed src/ver..."),
        (("Found", "a/b c/d", ""), 12, "Found a/b..."),
    ],
)  # fmt: skip
def test_what_there_is_room_for(act: tuple[str, str, str], columns: int, line: str) -> None:
    whole = agentfmt.Action(*act, failed=act[0].startswith("Failed"))
    assert agentfmt.render_action(whole, "", columns, False).decode() == line


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("文", 2),
        ("e\u0301", 1),
        ("a\u200bb", 2),
        ("ｱ", 1),
        ("😀", 2),
        ("각", 2),
        ("", 0),
    ],
)
def test_width(text: str, columns: int) -> None:
    assert agentfmt.display_width(text) == columns


@given(st.text(), st.integers(0, 50))
def test_cut_is_never_wider(text: str, limit: int) -> None:
    assert agentfmt.display_width(agentfmt.truncate(agentfmt.escape(text), limit)) <= limit


# ---------------------------------------------------------------- words

PARTS = ("I'll ", "read.\nThen", " I'll write.")
WHOLE = "".join(PARTS)


def turn(form: str) -> Iterator[dict[str, Any]]:
    """A segment, a call, another segment, as the three kinds of stream have them."""
    deltas = {"plain": [], "partial": [delta(part) for part in PARTS], "2025": map(said, PARTS)}
    yield init()
    yield from deltas[form]
    if form == "plain":
        yield said(WHOLE)
    elif form == "partial":
        yield said(WHOLE, timestamp_ms=2, model_call_id="m")
    yield started("readToolCall", {"path": "a"})
    yield done("readToolCall", {"path": "a"}, ok(totalLines=1))
    if form == "partial":
        yield from (delta("Do"), delta("ne.\n"))
    yield said("Done.\n")
    yield result(result=WHOLE + "Done.\n")


FORMS = pytest.mark.parametrize("form", ["plain", "partial", "2025"])
STEPS = pytest.mark.parametrize("step", [0, 1, 7])


@FORMS
@STEPS
def test_all_messages_stand_between_the_actions(form: str, step: int) -> None:
    rendered = render(spelled(*turn(form)), View(messages="all"), step=step)
    assert rendered.out == ["I'll read.", "Then I'll write.", "Read file", "Done."]


@FORMS
def test_the_final_message_is_the_last_segment(form: str) -> None:
    assert render(spelled(*turn(form)), View(messages="final", actions="none")).out == ["Done."]


@FORMS
def test_the_json_result_has_all_of_them(form: str) -> None:
    [line] = render(
        spelled(
            *turn(form),
        ),
        to="json",
    ).out
    assert json.loads(line)["result"] == WHOLE + "Done.\n"


def test_words_that_are_written_are_forgotten() -> None:
    segments = agentfmt.Segments()
    for text in ("A" * 1000, "B", " \n"):
        event = agentfmt.SpokenEvent(message=agentfmt.Message(text))
        assert segments.say(event) == text
        segments.close()
    assert (segments.text(), segments.answer) == ("", "B")


def test_a_replay_before_a_question_is_printed_once() -> None:
    question = {"type": "interaction_query", "subtype": "request", "session_id": "2f4c27dc-1"}
    events = (init(), delta("Hello"), delta("Hello"), question, delta("Bye"), result())
    assert render(spelled(*events), View(messages="all")).out == ["Hello", "Bye"]


def test_equal_deltas_are_both_printed() -> None:
    events = (init(), delta("ha"), delta("ha"), delta("ha"), result())
    assert render(spelled(*events), View(messages="all")).out == ["hahaha"]


def test_a_delta_held_at_the_end_of_input_is_printed_before_the_failure() -> None:
    rendered = render(spelled(init(), delta("ha"), delta("ha")), View(messages="all"))
    assert rendered.out == ["haha"]
    assert rendered.status == agentfmt.FAILED


@pytest.mark.parametrize("messages", ["all", "final"])
def test_a_failed_run_gives_no_answer_and_all_its_words(messages: str) -> None:
    events = (init(), said("Half an ans"), init(), said("Whole."), result())
    rendered = render(spelled(*events), View(messages=messages))
    assert rendered.out == (["Half an ans", "Whole."] if messages == "all" else ["Whole."])
    assert any("superseded" in line for line in rendered.err)


@pytest.mark.parametrize("messages", ["all", "final"])
def test_a_sub_agents_words_are_no_part_of_the_answer(messages: str) -> None:
    theirs = [said("theirs", parent_tool_use_id="t"), delta("theirs", parent_tool_use_id="t")]
    events = (init(), delta("A"), theirs[0], delta("B"), theirs[1], said("AB"), result())
    assert render(spelled(*events), View(messages=messages)).out == ["AB"]


@pytest.mark.parametrize("messages", ["all", "final"])
def test_a_filtered_stream_has_its_words_in_the_result(messages: str) -> None:
    assert render(spelled(result(result="A\n\nB")), View(messages=messages)).out == ["A", "", "B"]


def test_thinking_is_never_shown() -> None:
    thought = {"type": "thinking", "subtype": "delta", "text": "hm", "session_id": "2f4c27dc-1"}
    assert render(spelled(init(), thought, said("A"), result()), View(messages="all")).out == ["A"]


def test_a_character_that_deltas_cut_is_whole() -> None:
    events = (init(), delta("\ud83d"), delta("\ude00 \ud83d"), result())
    assert render(spelled(*events), View(messages="all")).out == ["😀 \\ud83d"]


# ---------------------------------------------------------------- several runs


def test_lines_say_whose_they_are_while_several_runs_are_open() -> None:
    def read(session: str) -> dict[str, Any]:
        return done("readToolCall", {"path": "a"}, ok(), session_id=session)

    events = (
        init("aaaaaaaa-1"), read("aaaaaaaa-1"), init("bbbbbbbb-2"), read("aaaaaaaa-1"),
        read("bbbbbbbb-2"), said("Bye", "aaaaaaaa-1"), result("aaaaaaaa-1"), read("bbbbbbbb-2"),
        result("bbbbbbbb-2"),
    )  # fmt: skip
    both = ["Read file", "[aaaaaaaa] Read file", "[bbbbbbbb] Read file"]
    assert render(spelled(*events)).out == [*both, "Read file"]
    rendered = render(spelled(*events), View(messages="all"))
    assert rendered.out == [*both, "[aaaaaaaa] Bye", "Read file"]
    detailed = render(spelled(*events), View(detail=True)).out
    assert detailed == [line.replace("file", "file a") for line in [*both, "Read file"]]


# ---------------------------------------------------------------- actions, summary


@pytest.mark.parametrize("to", ["text", "json", "stream-json"])
@pytest.mark.parametrize("detail", [False, True])
def test_actions_go_where_they_are_sent(to: str, detail: bool) -> None:
    data = spelled(init(), done("readToolCall", {"path": "a"}, ok(totalLines=2)), result())
    line = "Read file a (2 lines)" if detail else "Read file"
    alone = [] if to == "text" else render(data, to=to).out
    nowhere = render(data, View(detail=detail, actions="none"), to)
    assert (nowhere.out, nowhere.err) == (alone, [])
    beside = render(data, View(detail=detail, actions="stderr"), to)
    assert (beside.out, beside.err) == (alone, [line])


def test_summary() -> None:
    data = b"warning: x\n{bad\n" + spelled(
        init(),
        {"type": "surprise", "session_id": "2f4c27dc-1"},
        {"type": "stream_event", "session_id": "2f4c27dc-1"},  # of Claude, and known
        {"session_id": "2f4c27dc-1"},
        done("readToolCall", {"path": "a"}, ok()),
        done("readToolCall", {"path": "a"}, {"fileNotFound": {}}),
        done("shellToolCall", {"command": "x"}, {"failure": {"exitCode": 2}}),
        result(
            duration_ms=9679,
            usage={"inputTokens": "8830", "outputTokens": 185, "cacheReadTokens": 0},
        ),
        init("bbbbbbbb"),
    )
    *_, first, second, _failed = render(data, View(summary=True)).err
    assert first == (
        "agentfmt: run 2f4c27dc (stdin:3): succeeded, 3 actions (read 2, shell 1), 2 failed, 2 events of "
        "unknown type (surprise 1, without a type 1), 9.7 s, 8830 tokens in, 185 out, 1 damaged line, "
        "1 prose line"
    )
    assert second == "agentfmt: run bbbbbbbb (stdin:11): failed, 0 actions"


def test_summary_counts_many_names_together() -> None:
    types = ({"type": f"t{i}", "session_id": "2f4c27dc-1"} for i in range(100))
    line = render(spelled(init(), *types, result()), View(summary=True)).err[-1]
    assert "100 events of unknown type" in line
    assert "... 80)" in line


def test_summary_takes_the_redactions_by_rule() -> None:
    report = agentfmt.Report(agentfmt.Output(b"".join))  # type: ignore[arg-type]
    report.redactions.update({"github-token": 2, "env": 1})
    event = agentfmt.Event(type="result", raw=b"{}", run=agentfmt.Run(None, "stdin:1"))
    [line] = agentfmt.Summary(report).lines([event])
    assert line.endswith(b"3 redactions (github-token 2, env 1)")
    assert not report.redactions


# ---------------------------------------------------------------- hostile text

HOSTILE = (
    "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\r", "\b\b", "\x00", "\x7f", "\u202e", "\u2066", "\u2028",
    "\u2029", "\x85", "\n::set-output name=x::y", "\n \t::stop-commands::t", "\n\u3000::error::x",
    "::add-mask::", "##[add-matcher]x", "##vso[task.setvariable]", "##teamcity[x]", "###[", "\n##[group]",
    "#", "##", "[", ":", "::", "\n", "\ud83d", "\ude00", "ok ", "文",
)  # fmt: skip
RUNNER = re.compile(r"##(vso|teamcity)?\[|^\s*::[^\s:]", re.IGNORECASE)


def assert_safe(lines: list[str]) -> None:
    for line in lines:
        assert not agentfmt.CONTROL.search(line), line
        assert not RUNNER.search(line), line


def cuts(text: str) -> Iterator[list[str]]:
    yield [text]
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=5).map("".join))
def test_hostile_words_are_harmless_at_every_cut(text: str) -> None:
    texts = []
    for parts in cuts(text):
        events = [init(), *map(delta, parts), said(text, model_call_id="m"), result(result=text)]
        for messages in ("all", "final"):
            rendered = render(spelled(*events), View(messages=messages, summary=True))
            assert_safe(rendered.out + rendered.err)
            texts.append(rendered.out)
    assert all(each == texts[0] for each in texts[::2]), "what is shown depends on the cut"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=5).map("".join), st.booleans())
def test_hostile_text_is_harmless_everywhere(text: str, detail: bool) -> None:
    session = text
    who = {"session_id": session}
    events: list[dict[str, Any]] = [init(session, cwd=text)]
    for tool, args, outcome, _ in DONE:
        hostile = dict.fromkeys(args, text) if isinstance(args, dict) else text
        events.append(done(f"{tool}ToolCall", hostile, outcome, **who))
        events.append(done(f"{tool}ToolCall", hostile, {"rejected": {"reason": text}}, **who))
        events.append(done(f"{tool}ToolCall", None, {text: {"message": text}}, **who))
    events += [
        done(f"{text}ToolCall", {text: text}, ok(), **who),
        call(
            "completed", "function", {"name": text, "arguments": json.dumps({"path": text})}, **who
        ),
        {"type": text, **who},
        {"type": "error", "message": text, **who},
        init(session),
        {"type": "result", "is_error": True, "result": text, "subtype": text, **who},
    ]
    data = (
        b"prose\n"
        + text.encode("utf-8", "surrogatepass")
        + b"\n{"
        + text.encode("utf-8", "replace")
        + b"\n"
    )
    data += spelled(*events)
    rendered = render(data, View(detail, "all", "", True))
    assert_safe(rendered.out + rendered.err)
    assert len(rendered.out) == len(DONE) * 3 + 2


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("to", ["json", "stream-json"])
def test_ci_safe_json_has_equal_values(to: str, text: str, capfdbinary: Any) -> None:
    for odd in (text, f'"\\{text}', f"#{text}", f"\\u0023{text}"):
        data = spelled(init(), said(odd), {**result(result=odd), odd: 1})
        [*got] = render(data, to=to).out
        for line in got:
            agentfmt.write_ci_safe(1, line.encode())
            safe = capfdbinary.readouterr().out
            assert json.loads(safe) == json.loads(line)
            assert not re.search(rb"##(vso|teamcity)?\[", safe, re.IGNORECASE)


# ---------------------------------------------------------------- terminals


def on_terminal(
    data: bytes,
    *options: str,
    stdin: Any = subprocess.PIPE,
    columns: int = 80,
    ends: tuple[str, ...] = ("stdout", "stderr"),
    until: bytes = b"",
    env: dict[str, str] | None = None,
    pipe: bool = False,
) -> tuple[bytes, int]:
    """What a terminal gets of a process with these ``ends`` on it, and the process's status.

    The line of a started call, and what stands before it, is given alone: what comes after waits
    ``until`` the terminal shows that.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    other = subprocess.PIPE if pipe else subprocess.DEVNULL
    stdout, stderr = (theirs if end in ends else other for end in ("stdout", "stderr"))
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "agentfmt", *options],
        stdin=stdin, stdout=stdout, stderr=stderr, env={**plain, "TERM": "xterm", **(env or {})},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    if process.stdin:
        cut = data.index(b"\n", data.index(b'"started"')) + 1 if until else len(data)
        process.stdin.write(data[:cut])
        process.stdin.flush()
        seen = read(ours, until) if until else b""
        process.stdin.write(data[cut:])
        process.stdin.close()
    seen += read(ours)
    os.close(ours)
    process.communicate()
    return seen, process.returncode


def read(terminal: int, until: bytes = b"nothing that is ever written") -> bytes:
    seen = b""
    while until not in seen:
        assert select.select([terminal], [], [], 30)[0], seen
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    return seen


SHELL = (
    init(),
    started("shellToolCall", {"command": "npm test"}),
    done("shellToolCall", {"command": "npm test"}, {"failure": {"exitCode": 1}}),
    done("readToolCall", {"path": "a"}, ok(totalLines=2)),
    result(),
)
PLAIN_LINES = b"Ran terminal command (exit 1)\nRead file\n"


def test_a_call_that_runs_shows_until_the_next_line() -> None:
    seen, status = on_terminal(spelled(*SHELL), "--color", "never", until=b"npm test")
    running = b"Running terminal command npm test"
    assert seen == running + b"\r\x1b[K" + PLAIN_LINES
    assert status == 0


def test_a_call_that_ran_within_one_read_does_not_flash() -> None:
    seen, _ = on_terminal(spelled(*SHELL), "--color", "never")
    assert seen == PLAIN_LINES


def test_a_call_that_never_ends_is_erased_at_the_end() -> None:
    seen, status = on_terminal(spelled(*SHELL[:2]), until=b"npm test")
    assert seen.startswith(b"Running terminal command npm test\r\x1b[Kagentfmt: run 2f4c27dc")
    assert status == agentfmt.FAILED


def test_the_call_that_runs_fits_the_terminal() -> None:
    begun = started("shellToolCall", {"command": "文" * 100})
    seen, _ = on_terminal(spelled(init(), begun), columns=40, until=b"...")
    line = seen.split(b"\r")[0].decode()
    assert line.endswith("...")
    assert agentfmt.display_width(line) <= 40 - 1 - len(
        "^C"
    )  # which the terminal may echo behind it


def test_stderr_that_is_a_terminal_shows_the_call_too() -> None:
    data = spelled(*SHELL)
    options = ("-t", "json", "--actions", "stderr")
    seen, _ = on_terminal(data, *options, ends=("stderr",), until=b"npm test")
    assert b"Running terminal command npm test\r\x1b[K" in seen


@pytest.mark.parametrize(
    ("options", "env", "coloured"),
    [
        pytest.param((), {}, True, id="auto"),
        pytest.param((), {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param((), {"TERM": "dumb"}, False, id="dumb"),
        pytest.param(("--color", "never"), {}, False, id="never"),
        pytest.param(("--color", "always"), {"NO_COLOR": "1", "TERM": "dumb"}, True, id="always"),
    ],
)
def test_colours(options: tuple[str, ...], env: dict[str, str], coloured: bool) -> None:
    seen, _ = on_terminal(spelled(*SHELL), "-d", *options, env=env)
    red = b"\x1b[31mRan terminal command npm test (exit 1)\x1b[0m\n"
    dim = b"Read file a \x1b[2m(2 lines)\x1b[0m\n"
    assert ((red in seen), (dim in seen)) == (coloured, coloured)
    if env.get("TERM") == "dumb" and not coloured:
        assert b"\x1b" not in seen
        assert b"\r" not in seen


def test_a_regular_file_has_a_progress_bar(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(b"a warning\n" + spelled(*SHELL) * 20)
    with path.open("rb") as file:
        on_stdin, status = on_terminal(b"", stdin=file, ends=("stderr",))
    assert status == 0
    as_file, _ = on_terminal(b"", str(path), stdin=subprocess.DEVNULL, ends=("stderr",))
    for seen in (on_stdin, as_file):
        assert b"Reading" in seen
        assert b"100%" in seen
        assert seen.endswith(b"\x1b[?25h\n")
        assert re.search(rb"\x1b\[Kagentfmt: [^ ]*:1: a warning\n", seen)


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_the_progress_bar_fits_the_terminal(columns: int, tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(spelled(*SHELL) * 20)
    source = subprocess.DEVNULL
    seen, _ = on_terminal(b"", str(path), stdin=source, ends=("stderr",), columns=columns)
    bars = re.findall(rb"Reading  \[[#-]+\][^\r\n\x1b]*", seen)
    assert bars
    assert all(len(bar) < columns for bar in bars)


def test_no_progress_bar_where_a_pipe_may_lead_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(spelled(*SHELL))
    seen, _ = on_terminal(b"", str(path), stdin=subprocess.DEVNULL, ends=("stderr",), pipe=True)
    assert b"Reading" not in seen


@pytest.mark.parametrize(
    ("options", "ends", "env"),
    [
        pytest.param((), ("stdout", "stderr"), {}, id="stdout-too"),
        pytest.param((), (), {}, id="no-terminal"),
        pytest.param((), ("stderr",), {"TERM": "dumb"}, id="dumb"),
        pytest.param(("--actions", "stderr"), ("stderr",), {}, id="actions-there"),
    ],
)
def test_no_progress_bar(
    options: tuple[str, ...], ends: tuple[str, ...], env: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(spelled(*SHELL))
    seen, _ = on_terminal(b"", *options, str(path), stdin=subprocess.DEVNULL, ends=ends, env=env)
    assert b"Reading" not in seen


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-t", "json", "-m", "final"), "--messages goes with --to text only"),
        (("-t", "stream-json", "-m", "none"), "--messages goes with --to text only"),
        (("-t", "json", "--actions", "stdout"), "--actions stdout goes with --to text only"),
    ],
)
def test_usage(options: tuple[str, ...], message: str) -> None:
    command = [sys.executable, "-m", "agentfmt", *options, os.devnull]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (agentfmt.ERROR, "")
    assert process.stderr == f"agentfmt: {message}; see agentfmt --help\n"


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures beside the checkout")
def test_every_capture_says_what_its_result_says() -> None:
    paths = sorted(CAPTURES.glob("*.ndjson"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        events = [json.loads(line) for line in data.splitlines()]
        stated = [event["result"] for event in events if event["type"] == "result"]
        rendered = render(data, View(messages="all", actions="none"))
        assert "".join("".join(rendered.out).split()) == "".join("".join(stated).split()), path.name
        final = render(data, View(messages="final", actions="none"))
        assert "\n".join(rendered.out).endswith("\n".join(final.out)), path.name
        assert final.out, path.name


def test_the_bench_floor_reads_what_the_writers_read() -> None:
    assert [writer.kind for writer in agentfmt.WRITERS.values()] == [
        agentfmt.Event, agentfmt.SpokenEvent, agentfmt.Event, agentfmt.Event,
    ]  # fmt: skip


# ---------------------------------------------------------------- any shape

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e400,
    "",
    "\ud83d",
    [],
    [[]],
    [{}],
    {},
    {"a": {"b": [1]}},
    "7",
    7,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member and item of a value: its container and its key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


@pytest.mark.parametrize("tool", sorted({tool for tool, *_ in DONE}))
def test_members_of_any_shape_never_crash(tool: str) -> None:
    view = View(detail=True, messages="all", summary=True)
    for name, args, outcome, _ in DONE:
        if name == tool:
            event = done(f"{tool}ToolCall", args, outcome, startedAtMs="1", completedAtMs="5")
            for container, key in list(places(event)):
                kept = container[key]
                for odd in ODD:
                    container[key] = odd
                    rendered = render(spelled(init(), event, result()), view)
                    assert_safe(rendered.out + rendered.err)
                container[key] = kept
