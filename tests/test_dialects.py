"""Other agents' streams: recognized, turned into Cursor's vocabulary, or passed on as they are."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from support import (
    SHARED,
    TOKEN,
    claude,
    content,
    convert,
    corpus,
    event,
    label,
    labeled,
    returned,
    run,
    sections,
    table,
    use,
    whole_run,
)
from test_captures import objects

import agentfmt

# ---------------------------------------------------------------- what Claude writes


def init() -> bytes:
    more = {"cwd": "/home/dev/app", "model": "claude-opus-5", "claude_code_version": "2.1.238"}
    return event("system", subtype="init", tools=["Bash"], **more)


def message(role: str, *blocks: Any, **more: Any) -> bytes:
    return claude(*blocks, role=role, uuid="u-1", **more)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def deltas(*texts: str) -> Iterator[bytes]:
    for words in texts:
        inner = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}
        yield event("stream_event", event=inner, parent_tool_use_id=None)


def result(**members: Any) -> bytes:
    said = {"subtype": "success", "is_error": False, "result": "Done.", **members}
    return event("result", **said)


def one_call(name: str, given: dict[str, Any], answer: dict[str, Any], **beside: Any) -> bytes:
    """A run with one call, and what came back from it."""
    called = message("assistant", use(name, **given))
    return init() + called + message("user", answer, **beside) + result()


def made(data: bytes | Iterable[bytes], *flags: str) -> list[dict[str, Any]]:
    """The events of -t cursor."""
    return [json.loads(line) for line in objects(convert(data, "-t", "cursor", *flags).stdout)]


def body_of(call: dict[str, Any]) -> Any:
    (body,) = (value for key, value in call["tool_call"].items() if key.endswith("ToolCall"))
    return body


# ---------------------------------------------------------------- captures


@pytest.mark.parametrize("path", corpus("captures", "cursor", suffix=".ndjson"))
def test_cursor_leaves_as_it_came(path: str) -> None:
    data = content(path)
    for flags in ((), ("--thinking",), ("-r", "secrets"), ("-r", "all")):
        passed, converted = (convert(data, "-t", to, *flags) for to in ("stream-json", "cursor"))
        assert converted.stdout == passed.stdout


# ---------------------------------------------------------------- recognition


def test_recognition() -> None:
    for agent, lines in sections("recognized.txt"):
        wanted = None if agent.startswith("nobody") else agent
        found = {line: agentfmt.recognize(json.loads(line)) for line in lines}
        assert [line for line in lines if found[line] != wanted] == [], wanted


# Lines that a program may print that is no agent: a type that an agent has.
STRANGERS: list[dict[str, Any]] = [
    *({"type": kind} for kind in sorted(map(str, agentfmt.CURSOR_TYPES | agentfmt.SAVED_TYPES))),
    *({"type": kind} for kind in sorted(agentfmt.ROLLOUT_TYPES)),
    *({"type": kind, "payload": {"id": 1}} for kind in sorted(agentfmt.ROLLOUT_TYPES)),
    *(
        {"type": kind, "session_id": "web-1", "name": "x"}
        for kind in sorted(map(str, agentfmt.Pi.own_types))
    ),
    *({"type": kind} for kind in ("keep_alive", "stream_event", "control_request", "message_end")),
]


@pytest.mark.parametrize("event", STRANGERS, ids=json.dumps)
def test_a_type_alone_shows_no_agent(event: dict[str, Any]) -> None:
    """Any program may use the word; within a run of the agent such a line is still its own."""
    assert agentfmt.recognize(event) is None


@pytest.mark.parametrize("dropped", ["assistant", "thinking"])
def test_what_is_dropped_takes_nothing_else_along(dropped: str) -> None:
    start = event("stream_event", event={"type": "message_start"})
    kept = [init(), start, result()]
    data = b"".join([*kept[:2], *deltas("al", "pha"), *kept[2:]])
    left = convert(data, "-t", "stream-json", "--drop", dropped).stdout.splitlines(True)
    assert [line for line in left if b"delta" not in line] == kept


def test_from_overrides() -> None:
    data = one_call("Bash", {"command": "ls"}, returned())
    assert convert(data, "--from", "claude").lines == [label("shell")]
    assert convert(data, "--from", "cursor").lines == []
    assert convert(whole_run(), "--from", "cursor") == convert(whole_run())


def test_thinking_first_in_a_run_is_dropped_too() -> None:
    line = b'{"type":"thinking","subtype":"delta","text":"x","session_id":"%s"}\n'
    data = b"".join((line % b"a", line % b"b", line % b"a"))
    assert convert(data, "-t", "stream-json").stdout == b""


# ---------------------------------------------------------------- tools

TOOLS = [row.values for row in table("foreign.txt", "tools")]


@pytest.mark.parametrize(
    ("name", "tool"), [(name, tool) for tool, names in TOOLS for name in names.split()]
)
def test_tools(name: str, tool: str) -> None:
    data, line = one_call(name, {"x": 1}, returned()), label(tool)
    assert convert(data).lines == [line]
    assert convert(data, "--only", f"tool=={tool}").lines == [line]
    events = made(data)
    kinds = ["init", "started", "completed", "success"]
    assert [each["subtype"] for each in events] == kinds
    for each in events[1:3]:
        assert each["call_id"] == each["tool_call"]["toolCallId"] == "t1"
        assert each["tool_call"]["name"] == name
        assert f"{tool}ToolCall" in each["tool_call"]
    assert events[2]["tool_call"][f"{tool}ToolCall"]["result"].keys() == {"success"}


@pytest.mark.parametrize(("name", "given", "args"), table("foreign.txt", "arguments"))
def test_arguments(name: str, given: dict[str, Any], args: dict[str, Any]) -> None:
    for each in made(one_call(name, given, returned()))[1:3]:
        assert body_of(each)["args"] == args


@pytest.mark.parametrize(("name", "answer", "beside", "line"), table("foreign.txt", "outcomes"))
def test_outcomes(name: str, answer: dict[str, Any], beside: dict[str, Any], line: str) -> None:
    data, line = one_call(name, {}, answer, tool_use_result=beside), labeled(line)
    assert convert(data).lines == [line]
    assert convert(convert(data, "-t", "cursor").stdout).lines == [line]
    status = 1 if line.startswith("Failed") or "exit" in line else 0
    assert convert(data, "--fail-on", "status=failed").status == status


@pytest.mark.parametrize(("tool", "told", "line"), table("foreign.txt", "files"))
def test_lines_of_a_file(tool: str, told: dict[str, Any], line: str) -> None:
    """The empty line behind the last newline is none, where the content shows it. What stands over
    a file is no new one, even if there was nothing in it."""
    data = one_call(tool, {"file_path": "x", "content": "b\n"}, returned(), tool_use_result=told)
    assert convert(data, "-d").lines == [labeled(line)]
    assert convert(convert(data, "-t", "cursor").stdout, "-d").lines == [labeled(line)]


@pytest.mark.parametrize(("told", "text"), table("foreign.txt", "numbers of lines are not content"))
def test_numbers_of_lines_are_not_content(told: str, text: str) -> None:
    events = made(one_call("Read", {"file_path": "x"}, returned(told)))
    assert body_of(events[2])["result"]["success"]["content"] == text


STRUCTURED: dict[str, Any] = {"result": '{"n":7}', "structured_output": {"n": 7}}


@pytest.mark.parametrize("flags", [("-v",), ("-m", "all"), ("-t", "markdown"), ("-m", "final")])
@pytest.mark.parametrize("words", [["It is seven."], ["It is: ", '{"n":7}'], []])
def test_a_structured_answer_is_shown_once(flags: tuple[str, ...], words: list[str]) -> None:
    data = [init(), message("assistant", *map(text, words)), result(**STRUCTURED)]
    assert convert(data, *flags).stdout.decode().count('{"n":7}') == 1


@pytest.mark.parametrize("names", [*itertools.permutations(agentfmt.STRUCTURED)])
def test_the_structured_answer_is_the_one_that_is_stated(names: tuple[str, str]) -> None:
    data = [init(), result(result="", **dict[str, Any](zip(names, ({"n": 7}, None), strict=True)))]
    assert json.loads(convert(data, "-t", "json").stdout)["result"] == '{"n":7}'


@pytest.mark.parametrize(("name", "given", "beside", "success"), table("foreign.txt", "results"))
def test_results(
    name: str, given: dict[str, Any], beside: dict[str, Any], success: dict[str, Any]
) -> None:
    _, _, completed, _ = made(one_call(name, given, returned(), tool_use_result=beside))
    assert body_of(completed)["result"] == {"success": success}


# ---------------------------------------------------------------- vocabulary


@pytest.mark.parametrize(("members", "status"), table("foreign.txt", "verdicts", named=True))
@pytest.mark.parametrize("to", ["text", "json", "stream-json", "cursor"])
def test_verdict(members: dict[str, Any], status: int, to: str) -> None:
    assert convert(init() + result(**members), "-t", to).status == status


@pytest.mark.parametrize(("members", "why"), table("foreign.txt", "interrupted"))
def test_who_was_interrupted(members: dict[str, Any], why: str) -> None:
    data = init() + result(subtype="error_during_execution", is_error=True, **members)
    for lines in (data, convert(data, "-t", "cursor").stdout):
        ended = convert(lines)
        assert ended.status == 1
        assert f" failed: {why}\n" in ended.stderr


@pytest.mark.parametrize(("told", "status"), table("foreign.txt", "failures"))
def test_how_a_call_failed(told: str, status: str) -> None:
    (row,) = convert(one_call("Bash", {}, returned(told, error=True)), "-t", "calls").objects
    assert row["status"] == status


# ---------------------------------------------------------------- words


def test_lone_surrogates() -> None:
    data = init() + one_call("Read", {"file_path": "\ud83d", "n": [1]}, returned("\ude00"))
    body = made(data)[-2]["tool_call"]["readToolCall"]
    assert body["args"] == {"path": "\ud83d", "n": [1]}
    assert body["result"] == {"success": {"content": "\ude00"}}
    ended = convert([init(), *deltas("\ud83d", "\ude00"), result(result=None)], "-t", "json")
    assert ended.objects[0]["result"] == "\U0001f600"


# ---------------------------------------------------------------- selecting

BOTH = message("assistant", text("Hm."), use("Bash"))


@pytest.mark.parametrize(("flags", "kept"), table("foreign.txt", "selected", named=True))
def test_an_event_of_several_parts(flags: list[str], kept: bool) -> None:
    assert (BOTH in convert(init() + BOTH, "-t", "stream-json", *flags).stdout) is kept


# ---------------------------------------------------------------- redacting


def test_paths_in_foreign_lines() -> None:
    data = one_call("Read", {"file_path": "/home/dev/app/a.py"}, returned("/home/dev/x"))
    ended = convert(data, "-t", "stream-json", "-r", "paths").stdout.decode()
    assert '"file_path":"./a.py"' in ended
    assert '"content":"~/x"' in ended


def test_action_lines_beside_the_agents_own_lines() -> None:
    data = one_call(
        "Bash", {"command": f"x {TOKEN} /home/dev/y"}, returned("Exit code 3", error=True)
    )
    data += one_call("Read", {"file_path": "/home/dev/app/a.py"}, returned())
    flags = ("-t", "stream-json", "--actions", "stderr", "--detail")
    ended = run(*flags, "-r", "secrets,paths", data=data)
    assert ended.stderr.splitlines() == [
        labeled("{shell} x [REDACTED:github-token] ~/y (exit 3)"),
        labeled("{read} a.py"),
    ]
    ended = run(*flags, "--only", "read", data=data)
    assert ended.stderr.splitlines() == [labeled("{read} a.py")]
    assert run(*flags, data=data).stdout == data


@pytest.mark.parametrize("classes", ["all", "content"])
def test_structural_classes_need_cursor(classes: str) -> None:
    data = whole_run("s") + one_call("Bash", {"command": "CANARY"}, returned())
    with pytest.raises(agentfmt.OutputError, match="-t cursor"):
        convert(data, "-t", "stream-json", "-r", classes)
    assert convert(data, "-t", "cursor", "-r", classes).status == 0
    assert convert(data, "-t", "stream-json", "-r", "secrets,paths").status == 0


# ---------------------------------------------------------------- other agents


@pytest.mark.skipif(not os.path.isdir(SHARED), reason="no captures beside the checkout")
@pytest.mark.parametrize(("name", "lines"), sections("captures.txt"))
def test_other_agents(name: str, lines: list[str]) -> None:
    """What is printed; how they end says EXPECTED.tsv, see test_captures.py."""
    assert convert(content(SHARED, "captures", f"{name}.ndjson")).lines == lines


def test_redacting_thoughts_leaves_the_words_beside_them() -> None:
    said, thought = text("Plain."), {"type": "thinking", "thinking": TOKEN}
    for blocks in ([said, thought], [thought, said]):
        data = b"".join([init(), message("assistant", *blocks), result()])
        ended = convert(data, "-t", "stream-json", "--thinking", "-r", "secrets", "-s")
        hidden = data.replace(TOKEN.encode(), b"[REDACTED:github-token]")
        assert ended.stdout == hidden
        assert "1 redaction (github-token 1)" in ended.stderr


@pytest.mark.parametrize("odd", [7, True, [], {}, "x", [{}], [[]]])
def test_ends_of_any_shape(odd: Any) -> None:
    """Members that tell how a run or a task of it ended."""
    for line in (
        event("result", subtype="error_during_execution", is_error=True, errors=odd),
        event("system", subtype="task_updated", task_id="t", status=odd, patch={"status": odd}),
    ):
        assert len(convert([init(), line, result()], "-t", "runs").objects) >= 1
