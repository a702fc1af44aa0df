"""What each agent's stream means: hand-made streams, one for each rule of its format."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import DELTAS, FRAGMENTS, MESSAGES, STREAMS, made, part, stream
from support import (
    ENVIRON,
    SHARED,
    TOKEN,
    Ended,
    check_conversion,
    content,
    convert,
    corpus,
    label,
    labeled,
    returned,
    run,
    sections,
    table,
    use,
)

import agentfmt

Line = dict[str, Any]


def item(what: str, **members: Any) -> Line:
    return {"type": "item.completed", "item": {"id": "i1", "type": what, **members}}


def used(**state: Any) -> Line:
    part = {"tool": state.pop("tool", "bash"), "callID": "c"}
    state = {"status": "completed", "input": {}, **state}
    return {"type": "tool_use", "sessionID": "ses_1", "part": part | {"state": state}}


def copilot_call(name: str, arguments: Any, **outcome: Any) -> list[Line]:
    begun = {"toolCallId": "c", "toolName": name, "arguments": arguments}
    done = {"toolCallId": "c", "success": True, **outcome}
    calls = {"tool.execution_start": begun, "tool.execution_complete": done}
    return [*({"type": kind, "data": data} for kind, data in calls.items()), *part("copilot-end")]


def says(role: str, *content: Line, **members: Any) -> Line:
    message = {"role": role, "content": [*content]}
    return {"type": role, "session_id": "cl-1", "uuid": "u", "message": message, **members}


MOVES = (
    "*** Begin Patch\n*** Update File: old/a.py\n*** Move to: new/a.py\n@@\n-x\n+y\n"
    "*** Delete File: c.py\n*** End Patch\n"
)
[CLAUDE_INIT], [CLAUDE_OK] = part("claude-init"), part("claude-end")


@pytest.mark.parametrize("member", ["structured_output", "structured_result"])
def test_answer_by_a_schema(member: str) -> None:
    """It is the answer, whatever was said before; the result repeats it, or is empty."""
    ended = CLAUDE_OK | {"result": "", member: {"age": 3}}
    data = stream([CLAUDE_INIT, says("assistant", {"type": "text", "text": "Well:"}), ended])
    assert view(data, messages="final").lines == ['{"age":3}']
    [result] = convert(data, "-t", "json").lines
    assert json.loads(result)["result"] == '{"age":3}'
    unnamed_end = {name: value for name, value in ended.items() if name != "uuid"}
    assert view(stream([unnamed_end]), messages="final").lines == ['{"age":3}']


NATIVE = ("-t", "stream-json", "--thinking", "-r", "secrets")


@pytest.mark.parametrize("flags", [(), ("-r", "secrets")])
def test_the_time_of_a_call_is_that_of_the_line_that_ends_it(flags: tuple[str, ...]) -> None:
    """Claude Code states it where a tool answers, and nowhere else."""
    times = [f"2026-01-02T03:0{minute}:00.500Z" for minute in (4, 5)]
    calls = []
    for name, at in zip("ab", times, strict=True):
        calls += [says("assistant", use(identity=name, command=f"echo {TOKEN}"))]
        calls += [says("user", returned(identity=name), timestamp=at)]
    data = stream([CLAUDE_INIT, *calls, CLAUDE_OK])
    shown = run("--time", *flags, data=data, env=ENVIRON | {"TZ": "UTC"}).lines
    assert [line[:9] for line in shown] == ["03:04:00 ", "03:05:00 "]


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_that_follow_each_other_begin_lines(name: str) -> None:
    data = stream(made(MESSAGES[name], "one", "two"))
    assert view(data, messages="all").lines[:2] == ["one", "two"]  # some state an answer, too
    assert convert(data, *NATIVE).stdout == data


def view(data: bytes, **how: Any) -> Ended:
    return convert(data, view=agentfmt.View(**how))


streams = pytest.mark.parametrize("name", STREAMS)


@streams
def test_what_a_stream_means(name: str) -> None:
    told = STREAMS[name]
    detailed, results = view(told.data, detail=True), convert(told.data, "-t", "json")
    assert detailed.status == results.status == told.status
    assert (results.stdout.count(b"\n"), results.stderr.count(" failed: ")) == told.runs
    assert detailed.lines == [*map(labeled, told.shown)]
    detail = r"inish(?!ed\))|{begin|Waiting for the API"
    plain = [line for line in told.shown if not re.search(detail, line)]
    assert convert(told.data).stdout.count(b"\n") == len(plain)
    assert told.why in detailed.stderr
    assert told.why or not detailed.stderr
    for words in told.words:
        rows = convert(told.data, "-t", "runs").objects
        assert [row["failure"] or "-" for row in rows] == words.split()
    for answer in told.answers:
        assert results.objects[-1]["result"] == answer
        assert convert(told.data, "-q", "-m", "final").lines == [answer]


@streams
def test_the_converted_stream_means_the_same(name: str) -> None:
    check_conversion(STREAMS[name].data)


@streams
def test_own_lines_leave_as_they_came(name: str) -> None:
    told = STREAMS[name]
    ended = convert(told.data, "-t", "stream-json", "--thinking")
    assert (ended.stdout, ended.status) == (told.data, told.status)
    assert told.why in ended.stderr


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_are_emptied(name: str) -> None:
    *before, last = FRAGMENTS[name]
    line = json.loads(last.replace("<half of a token>", TOKEN[:20]))
    data = stream([*made(before), line])
    left = convert(data, "-t", "stream-json", "--thinking", "-r", "secrets").stdout
    assert left.splitlines()[:-1] == data.splitlines()[:-1]
    assert TOKEN[:8].encode() not in left
    assert json.loads(left.splitlines()[-1])["type"] == line["type"]
    assert convert(data, "-t", "stream-json", "--thinking").stdout == data


def test_a_line_with_a_thought_and_words_that_were_said_is_no_thought() -> None:
    said = {"type": "text_delta", "delta": "Hi"}
    blocks = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}]
    message = {"role": "assistant", "content": blocks, "stopReason": "stop"}
    data = stream(
        [*part("pi"), {"type": "message_update", "assistantMessageEvent": said},
         {"type": "message_end", "message": message}, {"type": "agent_settled"}]
    )  # fmt: skip
    assert convert(data, "-t", "stream-json").stdout == data
    assert convert(data, "-m", "all").stdout == b"Hi\n"


def test_a_prompt_of_pi_is_no_fragment() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Go"}]}
    data = stream([*part("pi"), {"type": "message_start", "message": asked}])
    assert convert(data, "-t", "stream-json", "--thinking", "-r", "secrets").stdout == data


@pytest.mark.parametrize("to", ["stream-json", "cursor", "json"])
@pytest.mark.parametrize("size", [1, 7, 20])
@pytest.mark.parametrize("name", DELTAS)
def test_a_secret_in_deltas(name: str, size: int, to: str) -> None:
    text = f"The token is {TOKEN}, and\nno more."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    data = stream(made(DELTAS[name], *pieces))
    left = convert(data, "-t", to, "-r", "secrets").stdout.decode()
    assert "a1B2" not in left
    copies = 2 if to == "cursor" and '"success"' in left else 1  # it has all words
    assert left.count("[REDACTED:github-token]") == (copies if left else 0)


def test_summary_counts_what_subagents_do_apart() -> None:
    *actions, closing = run("-s", data=STREAMS["claude-subagents"].data).lines
    assert "succeeded, 1 action (task 1), 2 subagent actions (shell 1, task 1)" in closing
    assert actions == [label("shell"), *[label("task")] * 2]


def test_no_event_of_a_known_agent_is_of_unknown_type() -> None:
    new: list[Any] = [{"type": "turn_start"}, {"type": "entry_appended"}]
    lines = [*part("pi"), *new, *part("pi-end")]
    assert "unknown" not in run("-q", "-s", data=stream(lines)).stderr
    assert "tokens in" in run("-q", "-s", data=stream(part("step", "stop"))).stderr


def test_selectors_know_tools_of_servers() -> None:
    data = STREAMS["opencode-tools-of-servers"].data
    for name in ("=mcp__git__hub_*", "==git_hub_list_issues", "==docs_web_search", "=mcp"):
        assert convert(data, "--fail-on", f"tool{name}").status == 1
    called = item("mcp_tool_call", server="gh", tool="list", arguments={})
    data = stream([*part("thread"), called, *part("turn-ended")])
    assert convert(data, "-t", "calls").objects[0]["name"] == "mcp__gh__list"
    data = STREAMS["gemini-tools-of-servers"].data
    assert convert(data, "--fail-on", "tool=mcp__*__get_figma_file").status == 0


def test_fail_on_a_denied_call() -> None:
    denied = "claude-denied-and-never-answered claude-denied-and-only-its-result-says-so"
    for name in (*denied.split(), "gemini-denied", "copilot-denied"):
        assert convert(STREAMS[name].data, "--fail-on", "status=denied").status == 1
    assert convert(STREAMS["codex-declined"].data, "--fail-on", "status=rejected").status == 1
    late = STREAMS[denied.split()[1]].data
    for to in ("runs", "cursor"):
        for gate, line in {"shell,status=denied": 4, "shell": 2}.items():
            told = convert(late, "-t", to, "--fail-on", gate).stderr
            assert told.endswith(f"--fail-on {gate} matched at stdin:{line}\n")
    assert convert(late, "--fail-on", "edit,status=denied").status == 0


@pytest.mark.parametrize(("selector", "status"), table("runs.txt", "fail on what a patch does"))
def test_fail_on_what_a_patch_does(selector: str, status: int) -> None:
    for lines in (
        [*part("step"), used(tool="apply_patch", input={"patchText": MOVES}), *part("stop")],
        copilot_call("apply_patch", MOVES),
    ):
        assert convert(stream(lines), "--fail-on", selector).status == status


@pytest.mark.parametrize("name", [name for name in agentfmt.TRANSLATORS if name != "cursor"])
def test_from_names_every_agent(name: str) -> None:
    """What an agent writes is read the same, recognised or named."""
    given = "claude" if name in ("amp", "qwen") else name
    data = next(told.data for key, told in STREAMS.items() if key.startswith(given))
    assert convert(data, "--from", name) == convert(data)


@pytest.mark.parametrize("agent", ["auto", "cursor", "claude", "codex", "pi"])
@pytest.mark.parametrize(("lines", "what"), [
    (['{"type":"mystery"}'], "type: mystery"),
    (['{"type":"begin","id":"x"}', '{"type":"say","text":"y"}'] * 9, "types: begin, say"),
    (['{"role":"user","content":"Hi"}'], "objects without a type"),
    (['{"level":"info","msg":"x"}'] * 20, "objects without a type"),
])  # fmt: skip
def test_a_stream_of_an_unknown_agent(agent: str, lines: list[str], what: str) -> None:
    """No --from would help, and after one it is said, too."""
    ended = convert("\n".join(lines).encode(), "--from", agent)
    told = f"agentfmt: stdin: no agent that I know wrote this ({what})"
    assert (ended.stdout, ended.status) == (b"", 1)
    assert ended.stderr.startswith(told)


@pytest.mark.parametrize("line", table("runs.txt", "a known agent that never began"))
def test_a_known_agent_that_never_began(line: Line) -> None:
    ended = convert(stream([{"type": "mystery"}, *[line] * 12]))
    assert (ended.status, ended.stderr.count("\n")) == (1, 1)
    assert "to no run" in ended.stderr
    assert "no agent that I know" not in ended.stderr


SHORT = [
    ({"x": "short"}, "{mystery} short"),
    ({"x": "short", "y": "s" * 100, "n": 1}, "{mystery} short"),
    ({"x": "one", "y": "two"}, "{mystery}"),
    ({"x": "two\nlines"}, "{mystery}"),
    ({"x": "s" * 100}, "{mystery}"),
    ({"x": " "}, "{mystery}"),
    ({"x": "short", "path": "/w/a"}, "{mystery} a"),
]


@pytest.mark.parametrize(("given", "line"), SHORT)
def test_unknown_tools_show_a_short_argument(given: Line, line: str) -> None:
    lines = [CLAUDE_INIT, says("assistant", use("mystery", **given)), says("user", returned())]
    assert view(stream([*lines, CLAUDE_OK]), detail=True).stdout.decode() == f"{labeled(line)}\n"


# ---------------------------------------------------------------- tokens, times, diffs


PI_USAGE = {"input": 4, "output": 7, "cacheRead": 6, "cacheWrite": 2, "totalTokens": 19}
PI_SAID = {"role": "assistant", "content": [], "stopReason": "stop", "usage": PI_USAGE}
USED = {"inputTokens": 4, "outputTokens": 7, "cacheReadTokens": 6, "cacheWriteTokens": 2}
CLAUDE_USAGE = {
    "output_tokens": 7, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2,
    "service_tier": "standard", "server_tool_use": {"web_search_requests": 0},
}  # fmt: skip
CLAUDE_RESULT: Line = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
CLAUDE_BEGUN: Line = {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u"}
CODEX_USAGE = {"cached_input_tokens": 6, "cache_write_input_tokens": 2, "output_tokens": 7}
TOKENS: dict[str, list[Line]] = {
    "claude": [CLAUDE_BEGUN, CLAUDE_RESULT | {"usage": CLAUDE_USAGE | {"input_tokens": 4}}],
    "qwen": [CLAUDE_BEGUN | {"qwen_code_version": "0.25"},
        CLAUDE_RESULT | {"usage": CLAUDE_USAGE | {"input_tokens": 12, "total_tokens": 19}}],
    "codex": [*part("thread"), {"type": "turn.completed", "usage": CODEX_USAGE | {"input_tokens": 12}}],
    "droid": [{"type": "system", "subtype": "init", "session_id": "s", "reasoning_effort": "off"},
        {"type": "completion", "session_id": "s", "usage": CLAUDE_USAGE | {"input_tokens": 4}}],
    "opencode": [*part("step"), *(
        {"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason, "tokens": tokens}}
        for reason, tokens in (("tool-calls", {"input": 1, "output": 3}),
            ("stop", {"input": 3, "output": 4, "cache": {"read": 6, "write": 2}})))],
    "pi": [{"type": "session", "id": "s"}, {"type": "agent_start"},
        {"type": "message_end", "message": PI_SAID}, {"type": "agent_end", "willRetry": False}],
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("to", ["cursor", "json"])
def test_tokens_mean_the_same(name: str, to: str) -> None:
    """Cursor's names, and nothing of the agent's own; the input has no part from a cache."""
    last = convert(stream(TOKENS[name]), "-t", to).objects[-1]
    assert (last["type"], last["usage"]) == ("result", USED)


def test_times_of_pi() -> None:
    """Messages say when they began, and entries when they were over; older versions write none."""
    begun = {"type": "session", "id": "s", "version": 3, "timestamp": "2026-08-17T10:00:00.000Z"}
    first, last = 1786960801000, 1786960805500
    lines: list[Line] = [
        begun, {"type": "agent_start"},
        {"type": "message_end", "message": {"role": "user", "content": [], "timestamp": first}},
        {"type": "message_end", "message": PI_SAID | {"timestamp": last}},
    ]  # fmt: skip
    entry = {"type": "entry_appended", "entry": {"timestamp": "2026-08-17T10:00:07.000Z"}}
    for more, took in ([], None), ([entry], 7000):
        data = stream([*lines, *more, {"type": "agent_end", "willRetry": False}])
        (row,) = convert(data, "-t", "runs").objects
        assert (row["started_ms"], row["duration_ms"]) == (1786960800000, took)


def test_diffs_of_copilot() -> None:
    head = "\ndiff --git a/w/a b/w/a\nindex 0..0\n--- a/w/a\n+++ b/w/a\n@@ -1,2 +1,3 @@\n"
    told = {"content": "File updated.", "detailedContent": f"{head} x\n-y\n+z\n+z\n"}
    data = stream(copilot_call("edit", {"path": "/w/a"}, result=told))
    assert convert(data, "-d").lines == [*map(labeled, ["{edit} /w/a (+2 -1)"])]
    assert "\n-y\n+z\n" in convert(data, "-t", "markdown").stdout.decode()
    cursor = convert(data, "-t", "cursor").stdout
    assert convert(cursor, "-d").lines == convert(data, "-d").lines


@pytest.mark.parametrize("mark", ["exited", "shellId: 0 completed"])
def test_what_copilot_adds_to_an_output_is_none(mark: str) -> None:
    told = {"content": f"no rule\n<{mark} with exit code 1>"}
    lines = copilot_call("bash", {"command": "make"}, result=told)
    (row,) = convert(stream(lines), "-t", "calls").objects
    assert (row["status"], row["exit_code"]) == ("nonzero", 1)
    converted = convert(stream(lines), "-t", "cursor").objects[2]
    assert converted["tool_call"]["shellToolCall"]["result"]["failure"]["stdout"] == "no rule"


@pytest.mark.parametrize(("called", "line"), table("runs.txt", "a call of opencode", named=True))
def test_a_call_of_opencode(called: Line, line: str) -> None:
    data = stream([*part("step"), used(**called), *part("stop")])
    assert convert(data, "-d").lines == [labeled(line)]


def test_a_plan_that_is_proposed_is_shown_once() -> None:
    plan = "Here it is.\n<proposed_plan>\n# Plan\n1. Look\n</proposed_plan>"
    data = stream([*part("thread"), item("agent_message", text=plan), *part("turn-ended")])
    assert convert(data, "-m", "final").lines == ["Here it is.", "# Plan", "1. Look"]


# ---------------------------------------------------------------- the smallest real faults

# What goes wrong easily in how a call ended, what it is about and what came of it: with -d.
SAMPLES = dict(sections("samples.txt"))


def samples() -> Iterator[Any]:
    """The files that the table names, beside the checkout, where all have to be."""
    for folder in sorted({name.partition("/")[0] for name in SAMPLES}):
        found = corpus(folder, suffix=(".ndjson", ".jsonl"))
        rows = {f"{folder}/{Path(row.values[0]).stem}": row for row in found}
        wanted = {name for name in SAMPLES if name.startswith(f"{folder}/")}
        assert found[0].marks or wanted <= {*rows}
        yield from (row for name, row in rows.items() if row.marks or name in SAMPLES)


@pytest.mark.parametrize("path", [*samples()])
def test_a_sample(path: str) -> None:
    """Also converted, and its calls keep their statuses whatever is hidden."""
    data, lines = content(path), SAMPLES[f"{Path(path).parent.name}/{Path(path).stem}"]
    for given in (data, convert(data, "-t", "cursor").stdout):
        ended = convert(given, "-d", "-m", "none")
        assert (ended.status, ended.lines) == (0, [*map(labeled, lines)])
    assert {convert(data, "-t", to).status for to in agentfmt.WRITERS} == {0}
    states = [row["status"] for row in convert(data, "-t", "calls").objects]
    for classes in ("secrets", "secrets,content", "all"):
        shipped = convert(data, "-t", "cursor", "-r", classes).stdout
        assert [row["status"] for row in convert(shipped, "-t", "calls").objects] == states


@pytest.mark.parametrize(("names", "wanted"), table("runs.txt", "samples"))
def test_mended_rows(names: str, wanted: list[Line]) -> None:
    """Of files that are given together."""
    given = os.path.join(SHARED, "faults6")
    if not os.path.isdir(given):
        pytest.skip("no samples beside the checkout")
    paths = [os.path.join(given, name) for one in names.split() for name in os.listdir(given)
             if name.partition(".")[0] == one]  # fmt: skip
    rows = run("-t", "runs", "-m", "final", *paths).objects
    assert [{key: row[key] for key in wanted[0]} for row in rows] == wanted


def test_a_command_that_was_stopped_in_the_background_failed() -> None:
    (row,) = convert(STREAMS["claude-background-command"].data, "-t", "calls").objects
    assert (row["status"], row["outcome"]) == ("error", "failed")
    path = os.path.join(SHARED, "faults6", "claude-background-command-killed.ndjson")
    if not os.path.exists(path):
        pytest.skip("no samples beside the checkout")
    (row,) = run("-t", "calls", path).objects
    assert (row["status"], row["outcome"]) == ("error", "stopped")


def test_results_of_codex_that_are_objects_stay_whole() -> None:
    for name, held in (("b-cx-json", "degraded"), ("b-cx-json2", "crash")):
        path = os.path.join(SHARED, "faults6", f"{name}.jsonl")
        if not os.path.exists(path):
            pytest.skip("no samples beside the checkout")
        assert held.encode() in convert(content(path), "-t", "cursor").stdout


def test_members_of_a_result_have_any_names() -> None:
    odd = {"self": 1, "kind": 2, "error": None, "session": 3, "counted": 4}
    (result,) = convert(stream([CLAUDE_INIT, {**CLAUDE_OK, **odd}]), "-t", "json").objects
    assert {name: result.get(name) for name in odd} == odd


@pytest.mark.parametrize("levels", [100, 960, 980, 985, 990, 9990, 10**6])
def test_deep_members(levels: int) -> None:
    """No depth breaks it, or costs the run; what cannot be read at all is damage."""
    deep = "[" * levels + "]" * levels
    done = item("command_execution", command=["x", "@"], aggregated_output="@", exit_code=0)
    lines = [json.dumps(done), json.dumps({"type": "turn.completed", "usage": {"a": "@"}})]
    first, last = part("thread"), part("turn-ended")
    middle = "".join(f"{line}\n" for line in lines).replace('"@"', deep).encode()
    data = stream(first) + middle + stream(last)
    for to in ("cursor", "runs"):
        ended = run("-t", to, data=data)
        assert ended.status in (0, 3)
        assert "Traceback" not in ended.stderr
    assert json.loads(ended.lines[0])["verdict"] == "succeeded"
