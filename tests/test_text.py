"""Text: action lines, details, words, summaries, what a terminal shows, and what it never must."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import (
    GLYPHS,
    MESSAGES_ONLY,
    SESSION,
    TOKEN,
    as_line,
    assistant,
    call,
    convert,
    delta,
    event,
    failed,
    label,
    labeled,
    ok,
    on_terminal,
    result,
    run,
    table,
    verb,
    whole_run,
    with_odd_members,
)

import agentfmt
from agentfmt import View

CWD = "/home/dev/project"


class Rendered(NamedTuple):
    out: list[str]
    err: list[str]
    status: int


def init(session: str = SESSION, cwd: str = CWD) -> bytes:
    return event("system", subtype="init", cwd=cwd, session=session)


def function(body: dict[str, Any], **members: Any) -> bytes:
    return event("tool_call", subtype="completed", tool_call={"function": body}, **members)


def asked(content: Any, **members: Any) -> bytes:
    return event("user", message={"content": content}, **members)


def spelled(*events: bytes) -> bytes:
    return b"".join(events)


def render(data: bytes, view: View = View(), to: str = "text", step: int = 0) -> Rendered:  # noqa: B008
    """What convert() writes; ``step`` is how many bytes each read delivers."""
    chunks = [data[i : i + step] for i in range(0, len(data), step)] if step else data
    ended = convert(chunks, "-t", to, view=view)
    return Rendered(lines(ended.stdout), lines(ended.stderr.encode()), ended.status)


def lines(data: bytes) -> list[str]:
    assert data == b"" or data.endswith(b"\n")
    return data.decode().split("\n")[:-1]


def line_of(*events: bytes, detail: bool = True) -> str:
    [line] = render(spelled(init(), *events, result()), View(detail=detail)).out
    return line


# ---------------------------------------------------------------- every tool

DONE = table("calls.txt", "happened")
CALLS = [row.values for row in DONE]


@pytest.mark.parametrize(("tool", "args", "outcome", "line"), DONE)
def test_detail_of_a_call_that_happened(tool: str, args: Any, outcome: Any, line: str) -> None:
    """Also where a lone surrogate somewhere in the line is for the slow decoder."""
    for more in ({}, {"odd": "\ud83d"}):
        event = call(tool, args, outcome, **more)
        assert line_of(event) == labeled(line)
        shown = re.sub(r" \(exit .*\)\Z", "", line_of(event, detail=False))
        assert line_of(event).startswith(shown)


@pytest.mark.parametrize(("outcome", "line"), table("calls.txt", "failed"))
@pytest.mark.parametrize("args", [None, {"path": f"{CWD}/src/a.py"}], ids=["remembered", "given"])
def test_detail_of_a_call_that_failed(outcome: dict[str, Any], line: str, args: Any) -> None:
    begun = call("edit", {"path": f"{CWD}/src/a.py"})
    got = line_of(begun, call("edit", args, outcome))
    label = failed("edit")
    assert got == f"{label} src/a.py {line}"
    plain = line_of(begun, call("edit", args, outcome), detail=False)
    assert plain == f"{label} " + re.sub(r"(after|:).*\)", ")", line).replace(" )", ")")


@pytest.mark.parametrize(
    ("tool", "args", "outcome", "line"), table("calls.txt", "failed calls", named=True)
)
def test_what_a_failed_call_is_about(tool: str, args: Any, outcome: Any, line: str) -> None:
    assert line_of(call(tool, args, outcome)) == f"{failed(tool)} {line}"


@pytest.mark.parametrize(("tool", "query", "target"), table("calls.txt", "asked", named=True))
def test_a_call_that_never_started_is_about_what_was_asked(
    tool: str, query: Any, target: str
) -> None:
    asked = event("interaction_query", subtype="request", query=query)
    rejected = call(tool, None, {"rejected": {"reason": ""}}, call_id="c")
    assert line_of(asked, rejected) == " ".join(f"{failed(tool)} {target} (rejected)".split())


@pytest.mark.parametrize(("arguments", "target"), table("calls.txt", "function", named=True))
def test_function(arguments: str, target: str) -> None:
    body = {"name": "look_up", "arguments": arguments, "result": ok()}
    assert line_of(function(body)) == f"{label('look_up')} {target}".strip()


@pytest.mark.parametrize(("members", "success", "line"), [
    *table("calls.txt", "durations", named=True),
    pytest.param({}, {"executionTime": 1e400}, "", id="infinite"),
    pytest.param({}, {"executionTime": "9" * 5000}, "", id="digits"),
])  # fmt: skip
def test_duration(members: dict[str, Any], success: dict[str, Any], line: str) -> None:
    got = line_of(call("shell", {"command": "x"}, ok(**success), **members))
    assert got == f"{label('shell')} x ({line})".replace(" ()", "")


@pytest.mark.parametrize(("path", "cwd", "shown"), table("calls.txt", "paths"))
def test_paths_are_relative_to_the_directory_of_the_run(path: str, cwd: str, shown: str) -> None:
    assert agentfmt.relative_path(path, cwd) == shown


@pytest.mark.parametrize("tool", [tool for tool in agentfmt.TOOLS if tool not in ("edit", "write")])
def test_every_label_has_both_its_forms(tool: str) -> None:
    variants = {status: key for key, status in reversed(agentfmt.VARIANTS.items())}
    ends = ["success", *(variants[status] for status in agentfmt.REASONS)]
    lines = [call(tool, {"path": "a"}, {end: {}}) for end in ends]
    reasons = [f"{failed(tool)} ({words})" for words in agentfmt.REASONS.values()]
    assert convert(spelled(*lines)).lines == [label(tool), *reasons]


@pytest.mark.parametrize("code", [1, 42, 255, -9, "1", "-9", 2**31 - 1])
def test_an_exit_status_is_shown(code: object) -> None:
    for variant in ("success", "failure"):
        line = call("shell", {}, {variant: {"exitCode": code}})
        assert convert(line).lines == [f"{label('shell')} (exit {code})"]


def test_what_is_not_an_exit_status_is_not_shown() -> None:
    for code in (0, "0", None, "", "x", 0.0, True, [1], {"a": 1}, "1\n2", "9" * 99):
        assert convert(call("shell", {}, ok(exitCode=code))).lines == [label("shell")], code


# ---------------------------------------------------------------- width

WIDE = "读取文件" * 60


@pytest.mark.parametrize("columns", [10, 40, 80, 200])
@pytest.mark.parametrize("target", ["x" * 500, WIDE, "e\u0301" * 300, "a b " * 100])
def test_a_line_is_cut_at_the_width(columns: int, target: str) -> None:
    screen = agentfmt.Screen()
    with mock.patch.object(screen, "width", return_value=columns):
        event = call("shell", {"command": target}, ok(exitCode=0, executionTime=1200))
        [line] = render(spelled(init(), event, result()), View(detail=True, out=screen)).out
    assert agentfmt.display_width(line) <= columns
    assert "..." in line
    if columns >= 40:
        assert line.endswith(" (exit 0, 1.2 s)" if columns >= 80 else " (exit...1.2 s)")
        assert agentfmt.display_width(line) >= columns - 2


@pytest.mark.parametrize(
    ("verb", "target", "outcome", "columns", "line"), table("calls.txt", "room")
)
def test_a_line_shows_what_there_is_room_for(
    verb: str, target: str, outcome: str, columns: int, line: str
) -> None:
    whole = agentfmt.Action(verb, target, outcome, failed=verb.startswith("Failed"))
    assert agentfmt.render_action(whole, "", columns, agentfmt.PLAIN).decode() == line


@pytest.mark.parametrize(("name", "value", "shown"), [
    *table("calls.txt", "shown"),
    *(("format_cost", *row) for row in ((0.0004, "under $0.001"), (0.0123, "$0.012"), (0.5, "$0.50"))),
    ("format_cost", 1234.5, "$1,234.50"),
])  # fmt: skip
def test_how_a_value_is_shown(name: str, value: Any, shown: Any) -> None:
    assert getattr(agentfmt, name)(value) == shown


@given(st.text(), st.integers(0, 50))
def test_truncated_text_is_never_too_wide(text: str, limit: int) -> None:
    assert agentfmt.display_width(agentfmt.truncate(agentfmt.escape(text), limit)) <= limit


# ---------------------------------------------------------------- words

PARTS = ("I'll ", "read.\nThen", " I'll write.")
WHOLE = "".join(PARTS)


def turn(form: str) -> Iterator[bytes]:
    """A segment, a call, another segment, as the three kinds of stream have them."""
    replay = assistant(WHOLE, timestamp_ms=2, model_call_id="m")
    yield init()
    yield from {
        "plain": [assistant(WHOLE)],
        "partial": [*map(delta, PARTS), replay],
        "2025": map(assistant, PARTS),
    }[form]
    yield call("read", {"path": "a"})
    yield call("read", {"path": "a"}, ok(totalLines=1))
    if form == "partial":
        yield from (delta("Do"), delta("ne.\n"))
    yield assistant("Done.\n")
    yield result(result=WHOLE + "Done.\n")


FORMS = pytest.mark.parametrize("form", ["plain", "partial", "2025"])
STEPS = pytest.mark.parametrize("step", [0, 1, 7])


@FORMS
@STEPS
def test_all_messages_stand_between_the_actions(form: str, step: int) -> None:
    rendered = render(spelled(*turn(form)), View(messages="all"), step=step)
    assert rendered.out == ["I'll read.", "Then I'll write.", label("read"), "Done."]


@FORMS
def test_the_final_message_is_the_last_segment(form: str) -> None:
    assert render(spelled(*turn(form)), View(messages="final", actions="none")).out == ["Done."]


def test_words_that_are_written_are_forgotten() -> None:
    segments = agentfmt.Speech()
    for text in ("A" * 1000, "B", " \n"):
        event = agentfmt.SpokenEvent(message=agentfmt.Message(text))
        assert segments.say(event) == text
        segments.close()
    assert (segments.text(), segments.answer) == ("", "B")


def test_a_delta_held_at_the_end_of_input_is_printed_before_the_failure() -> None:
    rendered = render(spelled(init(), delta("ha"), delta("ha")), View(messages="all"))
    assert rendered.out == ["haha"]
    assert rendered.status == agentfmt.FAILED


@pytest.mark.parametrize("messages", ["all", "final"])
def test_a_failed_run_gives_no_answer_and_all_its_words(messages: str) -> None:
    events = (init(), assistant("Half an ans"), init(), assistant("Whole."), result())
    rendered = render(spelled(*events), View(messages=messages))
    assert rendered.out == (["Half an ans", "Whole."] if messages == "all" else ["Whole."])
    assert any("superseded" in line for line in rendered.err)


@pytest.mark.parametrize("messages", ["all", "final"])
def test_a_filtered_stream_has_its_words_in_the_result(messages: str) -> None:
    assert render(spelled(result(result="A\n\nB")), View(messages=messages)).out == ["A", "", "B"]


# ---------------------------------------------------------------- several runs


def test_several_files_have_headings_and_answers_stand_apart() -> None:
    files = {name: [whole_run(name)] for name in ("a", "b")} | {"c": [b""], "d": [whole_run() * 2]}
    line = label("read")
    headed = f"==> a <==\n{line}\n\n==> b <==\n{line}\n\n==> d <==\n{line}\n{line}\n"
    assert convert(files, view=View(headings=True)).stdout.decode() == headed
    final, done = View(actions="none", messages="final"), "Done.\n\nDone.\n"
    assert convert(files, view=final).stdout.decode() == f"{done}\n{done}"
    headed = f"==> a <==\nDone.\n\n==> b <==\nDone.\n\n==> d <==\n{done}"
    assert convert(files, view=final._replace(headings=True)).stdout.decode() == headed


# ---------------------------------------------------------------- actions, summary


@pytest.mark.parametrize("to", ["text", "json", "stream-json"])
@pytest.mark.parametrize("detail", [False, True])
def test_actions_go_where_they_are_sent(to: str, detail: bool) -> None:
    data = spelled(init(), call("read", {"path": "a"}, ok(totalLines=2)), result())
    line = label("read") + " a (2 lines)" * detail
    alone = [] if to == "text" else render(data, to=to).out
    nowhere = render(data, View(detail=detail, actions="none"), to)
    assert (nowhere.out, nowhere.err) == (alone, [])
    beside = render(data, View(detail=detail, actions="stderr"), to)
    assert (beside.out, beside.err) == (alone, [line])


def test_summary_counts_many_names_together() -> None:
    types = (event(f"t{i}") for i in range(100))
    line = render(spelled(init(), *types, result()), View(summary="stderr")).err[-1]
    assert "100 events of unknown type" in line
    assert "... 80)" in line


# ---------------------------------------------------------------- hostile text

HOSTILE = (
    "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\r", "\b\b", "\x00", "\x7f", "\u202e", "\u2066", "\u2028",
    "\u2029", "\x85", "\x1b[31m", "\u061c", "\u200e", "\u2069", "\t", "\n::set-output name=x::y", "\n \t::stop-commands::t", "\n\u3000::error::x",
    "::add-mask::", "##[add-matcher]x", "##vso[task.setvariable]", "##teamcity[x]", "###[", "\n##[group]",
    "#", "##", "[", ":", "::", "\n", "\ud83d", "\ude00", "ok ", "文",
)  # fmt: skip
RUNNER = re.compile(r"##(vso|teamcity)?\[|^\s*::[^\s:]", re.IGNORECASE)


def assert_safe(lines: list[str]) -> None:
    for line in lines:
        assert not agentfmt.CONTROL.search(line.replace("\t", "")), line  # words keep their tabs
        assert not RUNNER.search(line), line


def cuts(text: str) -> Iterator[list[str]]:
    yield [text]
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=5).map("".join))
def test_hostile_words_are_harmless_at_every_cut(text: str) -> None:
    texts = []
    for parts in cuts(text):
        replay = assistant(text, model_call_id="m")
        events = [init(), *map(delta, parts), replay, result(result=text)]
        for messages in ("all", "final"):
            rendered = render(spelled(*events), View(messages=messages, summary="stderr"))
            assert_safe(rendered.out + rendered.err)
            texts.append(rendered.out)
    assert all(each == texts[0] for each in texts[::2]), "what is shown depends on the cut"


def with_each_alone(test: Any) -> Any:
    for text in HOSTILE:
        test = example(text, True)(test)
    return test


@with_each_alone
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=5).map("".join), st.booleans())
def test_hostile_text_is_harmless_everywhere(text: str, detail: bool) -> None:
    session = text
    who = {"session": session}
    events = [init(session, cwd=text)]
    for tool, args, outcome, _ in CALLS:
        hostile = dict.fromkeys(args, text) if isinstance(args, dict) else text
        events.append(call(tool, hostile, outcome, **who))
        events.append(call(tool, hostile, {"rejected": {"reason": text}}, **who))
        events.append(call(tool, None, {text: {"message": text}}, **who))
    events += [
        call(text, {text: text}, ok(), **who),
        function({"name": text, "arguments": json.dumps({"path": text})}, **who),
        event(text, **who),
        event("error", message=text, **who),
        init(session),
        event("result", is_error=True, result=text, subtype=text, **who),
    ]
    data = (
        b"prose\n"
        + text.encode("utf-8", "surrogatepass")
        + b"\n{"
        + text.encode("utf-8", "replace")
        + b"\n"
    )
    data += spelled(*events)
    rendered = render(data, View(detail, "all", summary="stderr"))
    assert_safe(rendered.out + rendered.err)
    assert len(rendered.out) == len(DONE) * 3 + 2


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("to", ["json", "stream-json"])
def test_ci_safe_json_has_equal_values(to: str, text: str, capfdbinary: Any) -> None:
    for odd in (text, f'"\\{text}', f"#{text}", f"\\u0023{text}"):
        data = spelled(init(), assistant(odd), as_line(json.loads(result(result=odd)) | {odd: 1}))
        [*got] = render(data, to=to).out
        for line in got:
            agentfmt.write_ci_safe(1, line.encode())
            safe = capfdbinary.readouterr().out
            assert json.loads(safe) == json.loads(line)
            assert not re.search(rb"##(vso|teamcity)?\[", safe, re.IGNORECASE)


def test_json_in_a_ci_log() -> None:
    text = "##vso[task.complete]##[x]"
    ended = run("-t", "json", "--ci-safe", data=spelled(result(result=text)))
    assert b"##" not in ended.stdout
    assert ended.objects[0]["result"] == text


# ---------------------------------------------------------------- terminals


SHELL = (
    init(),
    call("shell", {"command": "npm test"}),
    call("shell", {"command": "npm test"}, {"failure": {"exitCode": 1}}),
    call("read", {"path": "a"}, ok(totalLines=2)),
    result(),
)
RAN, READ = verb("shell"), verb("read")
ACTIONS = f"{RAN} npm test (exit 1)\n{READ} a (2 lines)\n".encode()
ENDED = b"agentfmt: run 5f0e4a1c (stdin:1): succeeded, 2 actions (shell 1, read 1), 1 failed\n"
RUNNING = agentfmt.TOOLS["shell"].doing.split()[0].encode() + b" npm test"


def test_a_call_that_runs_shows_until_the_next_line() -> None:
    seen, status = on_terminal(spelled(*SHELL), "--color", "never", until=b"npm test")
    assert seen == RUNNING + b"\r\x1b[K" + ACTIONS + ENDED
    assert status == 0


def test_a_call_that_never_ends_is_a_line_at_the_end() -> None:
    seen, status = on_terminal(spelled(*SHELL[:2]), "--color", "never", until=b"npm test")
    why = "ended without a result after 2 events; 1 call open (shell npm test)"
    ended = f"agentfmt: run 5f0e4a1c (stdin:1): unfinished, no actions: {why}\n"
    line = RUNNING.strip() + b" (unfinished)\n"
    assert seen == RUNNING + b"\r\x1b[K" + line + ended.encode()
    assert status == agentfmt.FAILED


def test_the_call_that_runs_fits_the_terminal() -> None:
    begun = call("shell", {"command": "文" * 100})
    seen, _ = on_terminal(spelled(init(), begun), "--color", "never", columns=40, until=b"...")
    line = seen.split(b"\r")[0].decode()
    assert line.endswith("...")
    assert agentfmt.display_width(line) <= 40 - 1 - len("^C")  # which a terminal may echo behind it


@pytest.mark.parametrize(("options", "env", "coloured"), table("calls.txt", "colors", named=True))
def test_colors(options: tuple[str, ...], env: dict[str, str], coloured: bool) -> None:
    seen, _ = on_terminal(spelled(*SHELL), "-d", *options, env=env)
    red = f"\x1b[31m{RAN} npm test (exit 1)\x1b[0m\n".encode()
    dim = f"{READ} a \x1b[2m(2 lines)\x1b[0m\n".encode()
    assert ((red in seen), (dim in seen)) == (coloured, coloured)
    if env.get("TERM") == "dumb" and not coloured:
        assert b"\x1b" not in seen
        assert b"\r" not in seen


@pytest.mark.parametrize(("env", "utf8"), table("calls.txt", "locales", named=True))
def test_locale(env: dict[str, str], utf8: bool) -> None:
    assert agentfmt.is_utf8(env) == utf8


FAILING = labeled("{shell} (exit 1)\n{read}\n").encode()
PROMPTED = (SHELL[0], asked("Test it."), *SHELL[1:4], assistant("Ok."))
PROMPT = b"> Test it.\n"


@pytest.mark.parametrize(("options", "ends", "shown"), [
    ("", "stdout stderr", PROMPT + ACTIONS + b"Ok.\n" + ENDED),
    ("-v", "stdout stderr", PROMPT + ACTIONS + b"Ok.\n" + ENDED),
    ("--no-detail", "stdout stderr", PROMPT + FAILING + b"Ok.\n" + ENDED),
    ("-m all", "stdout stderr", ACTIONS + b"Ok.\n" + ENDED),
    ("-m none", "stdout stderr", ACTIONS + ENDED),
    ("-q", "stdout stderr", PROMPT + b"Ok.\n" + ENDED),
    ("-q -m final", "stdout stderr", b"Ok.\n" + ENDED),
    ("", "stdout", PROMPT + ACTIONS + b"Ok.\n" + ENDED),  # messages go elsewhere
    ("", "stderr", b""),  # the output does: what is no terminal gets nothing new
    ("-t stream-json --thinking", "stdout stderr", spelled(*PROMPTED, result())),
])  # fmt: skip
def test_a_terminal_shows_all_but_what_is_taken_away(options: str, ends: str, shown: bytes) -> None:
    seen, _ = on_terminal(
        spelled(*PROMPTED, result()), *options.split(), "--color", "never", ends=(*ends.split(),)
    )
    assert seen == shown


def test_words_keep_their_tabs_and_lose_blank_lines_before_them() -> None:
    """Of each part between two calls; a terminal has columns instead of tabs."""
    code = "\n \n```go\n\tx := 1\n\n\ty\n```\n"
    shown = ["```go", "\tx := 1", "", "\ty", "```"]
    data = spelled(init(), assistant(code), *SHELL[1:4], delta("\n"), delta("\nOk.\n"), result())
    words = render(data, View(messages="all", actions="none")).out
    assert words == [*shown, "Ok."]
    assert render(spelled(init(), assistant(code), result()), View(messages="final")).out == shown
    seen, _ = on_terminal(data, "-q", "-m", "all", "--color", "never")
    assert seen.decode().splitlines()[:4] == ["```go", "        x := 1", "", "        y"]


def test_a_summary_goes_with_the_action_lines() -> None:
    """So that a file of words, or a pager, has the verdict."""
    data = spelled(*PROMPTED, result(is_error=True, result="no"))
    ended = "agentfmt: run 5f0e4a1c (stdin:1): failed, 2 actions (shell 1, read 1), 1 failed: no"
    told = convert(data, "-v")
    assert (told.lines[-1], told.stderr) == (ended, "")
    for flags in (("-q",), ("--actions", "stderr"), ("-t", "runs"), ("-t", "markdown")):
        told = convert(data, "-s", *flags)
        assert (ended in told.lines, ended in told.stderr) == (False, True)


def test_a_terminal_says_how_long_the_agent_takes_to_begin() -> None:
    report = agentfmt.Reporter(agentfmt.Output(lambda _: None), MESSAGES_ONLY)
    last = report.out.last = agentfmt.LastLine(agentfmt.Screen())
    text = agentfmt.Text(View(), agentfmt.Notes(report))
    assert last.text(last.since + 0.5) == ""
    assert last.text(last.since + 12) == "Waiting for the agent 12 s"
    assert [*text.lines([agentfmt.Event(type="other", raw=b"{}")])] == []
    assert "Waiting" not in last.text(last.since + 12)


# ---------------------------------------------------------------- prompts

LIST = "\n".join(f"{number}. step" for number in range(1, 45))


PROMPTS = [
    *table("calls.txt", "prompts"),
    pytest.param(LIST, [f"> {number}. step" for number in range(1, 45)], id="many"),
    pytest.param("x" * 999, [f"> {'x' * 999}"], id="wide"),
]


@pytest.mark.parametrize(("text", "shown"), PROMPTS)
def test_the_prompt_is_shown_with_the_words(text: Any, shown: list[str]) -> None:
    theirs = asked(text, parent_tool_use_id="c1")  # for a sub-agent
    for prompt in (asked(text), asked([{"type": "text", "text": text}])):
        data = spelled(init(), prompt, theirs, assistant("Ok."), result())
        assert render(data, View(messages="chat")).out == [*shown, "Ok."]
        assert render(data, View(messages="all")).out == ["Ok."]


def test_a_terminal_shows_the_beginning_of_a_prompt_unless_it_is_asked_for() -> None:
    data = spelled(init(), asked(LIST), result())
    seen = on_terminal(data, "-v", "--color", "never")[0].decode().splitlines()
    assert seen[:4] == ["> 1. step", "> 2. step", "> 3. step", "> ... (41 more lines)"]
    whole = on_terminal(data, "-m", "chat", "--color", "never")[0].decode().splitlines()
    assert whole[:44] == [f"> {number}. step" for number in range(1, 45)]


def test_a_prompt_is_redacted() -> None:
    ended = convert(spelled(init(), asked(f"use {TOKEN}"), result()), "-m", "chat", "-r", "secrets")
    assert ended.lines == ["> use [REDACTED:github-token]"]
    ended = convert(spelled(init(), asked(f"use {TOKEN}"), result()), "-m", "chat", "-r", "all")
    assert ended.lines == ["> [words]"]


# ---------------------------------------------------------------- how a command failed


def printed(tool: str = "shell", status: str = "failure", **more: Any) -> bytes:
    return call(tool, {"command": "make"}, {status: {"exitCode": 2, **more}})


TAILS = [
    *table("calls.txt", "tails"),
    pytest.param("shell", "failure", {"stdout": "x" * 300}, ["x" * 193 + "..."], id="wide"),
    pytest.param("shell", "failure", {"stdout": "=" * 99 + " 1 failed " + "=" * 99},
        ["=== 1 failed ==="], id="rules"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "status", "found", "tail"), TAILS)
@pytest.mark.parametrize("detail", [False, True])
def test_the_last_lines_of_a_failed_command(
    tool: str, status: str, found: dict[str, Any], tail: list[str], detail: bool
) -> None:
    data = spelled(init(), printed(tool, status, **found), result())
    [_, *shown] = render(data, View(detail=detail, tail=2)).out
    assert shown == [f"    {line}" for line in tail]
    assert len(render(data, View(detail=detail)).out) == 1


def test_how_many_lines_of_a_failed_command() -> None:
    data = spelled(init(), printed(stdout="x\n" * 20), result())
    for options, rows in {"": 0, "-v": agentfmt.TAIL, "-v --tail 0": 0, "--tail 7": 7}.items():
        assert len(convert(data, *options.split()).lines) == 1 + rows + ("-v" in options)


# ---------------------------------------------------------------- words on a terminal


@pytest.mark.parametrize("room", [1, 5, 10, 40])
@pytest.mark.parametrize(
    "text", ["", "  indented words here", "a " * 50, "文字 " * 20, "x" * 90, "1. a  b", "   "]
)
def test_wrapped_rows_hold_all_words(text: str, room: int) -> None:
    rows = [*agentfmt.wrap(text, room)]
    assert " ".join(rows).split() == text.split()
    longest = max(map(agentfmt.display_width, text.split()), default=0)
    hang = len(agentfmt.BULLET.match(text)[0])  # type: ignore[index]
    assert all(agentfmt.display_width(row.rstrip()) <= max(room, hang + longest) for row in rows)


def test_a_run_without_actions_says_so() -> None:
    data = spelled(init(), assistant("4"), result())
    seen, _ = on_terminal(data, "--color", "never", env=GLYPHS)
    assert seen.decode() == "4\n\n✓ succeeded, no actions\n"
    assert render(data).out == []
    assert render(data, View(summary="stderr")).err[-1].endswith(": succeeded, no actions")


# ---------------------------------------------------------------- the last line


@pytest.fixture
def last() -> Iterator[agentfmt.LastLine]:
    """The last line of a terminal with 40 columns, at second 100."""
    screen = agentfmt.Screen()
    screen.live = screen.glyphs = True
    with mock.patch.object(screen, "width", return_value=40):
        made = agentfmt.LastLine(screen)
        made.since = 100.0
        yield made


def test_the_last_line_says_how_long_a_call_runs(last: agentfmt.LastLine) -> None:
    run = agentfmt.Run("2f4c27dc-1", "stdin:1")
    last.open[run] = None

    def begin(command: str, at: float) -> None:
        began = agentfmt.OpenCall("shell", {"command": command}, unprinted=False, started_at=at)
        agentfmt.notes_of(run).calls[command] = began

    begin("a", 100)
    assert last.text(100.5) == "  ⠋ Running a"
    assert last.text(102) == "  ⠹ Running a  2 s"
    begin("b" * 50, 103)
    assert last.text(108) == "  ⠇ Running bbbbbb...  5 s  (+1 more)"
    last.open.clear()
    assert last.text(109) == ""


def test_the_last_line_says_how_long_nothing_comes(last: agentfmt.LastLine) -> None:
    assert last.text(108) == ""  # no run is open
    last.open[agentfmt.Run("2f4c27dc-1", "stdin:1")] = None
    assert last.text(100.9) == ""
    assert last.text(108) == "  ⠇ Thinking 8 s"
    assert last.text(175) == "  ⠴ Thinking 1 min 15 s"


def test_the_last_line_grows_with_the_words(last: agentfmt.LastLine) -> None:
    last.words = ["I'll ", "read ", "\x1b[31m"]
    assert last.text(100) == "I'll read \\x1b[31m"
    last.words = ["one two three four five six ", "seven eight nine"]
    assert last.text(100) == "...ree four five six seven eight nine"


def test_the_last_line_ticks_while_nothing_comes() -> None:
    """Seen until the third second: the clock went on, and no event came. A busy machine may miss
    one."""
    seen, _ = on_terminal(spelled(*SHELL), "--color", "never", until=b"2 s", env=GLYPHS)
    lines = seen.decode().split("\r\x1b[K")
    assert all(re.fullmatch(rf".*{RUNNING.decode()}(  \d+ s)?", line) for line in lines[:-1])
    assert lines[-2].endswith("2 s")


def test_what_is_said_shows_as_it_grows() -> None:
    words = (delta("Hel"), delta("lo"), call("shell", {"command": "x"}))
    seen, _ = on_terminal(spelled(init(), *words), "-v", "--color", "never", until=b"x")
    assert b"Hello\n" in seen


@pytest.mark.parametrize(
    ("options", "ends", "env", "shown"), table("calls.txt", "where the last line is", named=True)
)
def test_where_the_last_line_is(
    options: tuple[str, ...], ends: tuple[str, ...], env: dict[str, str], shown: bool
) -> None:
    until = RUNNING if shown else b""
    seen, _ = on_terminal(spelled(*SHELL), *options, ends=ends, until=until, env=env)
    assert (b"\r\x1b[K" in seen) == shown


def test_no_last_line_where_a_pipe_may_lead_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(spelled(*SHELL))
    seen, _ = on_terminal(b"", str(path), stdin=subprocess.DEVNULL, ends=("stderr",), pipe=True)
    assert seen == b""


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("options", "option", "outputs"), table("calls.txt", "an option goes with some outputs")
)
def test_an_option_goes_with_some_outputs(options: str, option: str, outputs: str) -> None:
    ended = run(*options.split(), data=whole_run())
    only = f"goes with --to {' or '.join(outputs.split())} only"
    assert ended == (b"", f"agentfmt: {option} {only}; see agentfmt --help\n", agentfmt.ERROR)


# ---------------------------------------------------------------- any shape


@pytest.mark.parametrize("tool", sorted({tool for tool, *_ in CALLS}))
def test_members_of_any_shape_never_crash(tool: str) -> None:
    view = View(detail=True, messages="all", summary="stderr")
    for name, args, outcome, _ in CALLS:
        if name == tool:
            times = {"startedAtMs": "1", "completedAtMs": "5"}
            line = call(tool, args, outcome, parent_tool_use_id="p", **times)
            for odd in with_odd_members(json.loads(line)):
                rendered = render(spelled(init(), as_line(odd), result()), view)
                assert_safe(rendered.out + rendered.err)


@pytest.mark.parametrize(("usage", "said"), table("calls.txt", "one token is no plural"))
def test_one_token_is_no_plural(usage: dict[str, int], said: str) -> None:
    shown = render(spelled(init(), result(usage=usage)), View(summary="stderr"))
    assert shown.err[-1].endswith(f", {said}")
