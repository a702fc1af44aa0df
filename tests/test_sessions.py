"""Saved sessions: the samples beside the checkout, and what each kind of line means.

tests/sessions.tsv says what the samples hold, as counted by reading them: runs, those that
succeeded, finished calls, and tokens, each message once (0 where they are not known).
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from planting import redact
from support import SAME, Ended, as_line, content, convert, corpus, label, returned, table, use

import agentfmt

HERE = Path(__file__).parent
SAMPLE = (HERE / "sample-session.jsonl").read_bytes()
SESSIONS = corpus("sessions", suffix=".jsonl")
EXPECTED = {
    file: [*map(int, numbers)]
    for file, *numbers in map(str.split, (HERE / "sessions.tsv").read_text().splitlines()[1:])
}
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def runs(data: Any) -> list[dict[str, Any]]:
    return convert(data, "-t", "runs").objects


def calls(data: Any) -> list[dict[str, Any]]:
    return convert(data, "-t", "calls").objects


@pytest.mark.parametrize("path", SESSIONS)
def test_samples(path: str) -> None:
    rows = runs(content(path))
    names = "actions", "tokens_in", "tokens_out"
    numbers = [sum(row[name] or 0 for row in rows) for name in names]
    good = [row["verdict"] for row in rows].count("succeeded")
    assert [len(rows), good, *numbers] == EXPECTED[os.path.basename(path)]


def test_all_samples_in_one_command() -> None:
    paths = [path.values[0] for path in SESSIONS if path.values[0]]
    alone = [row for path in paths for row in runs(content(path))]
    together = runs({path: [content(path)] for path in paths})
    for member in ("session", "verdict", "reason"):
        assert [row[member] for row in together] == [row[member] for row in alone]


@pytest.mark.parametrize("path", SESSIONS)
def test_a_session_that_is_dropped_leaves_nothing(path: str) -> None:
    data = content(path)
    names = {re.sub(r"[\[*?]", r"[\g<0>]", row["session"]) for row in runs(data)}
    flags = [flag for name in names for flag in ("--drop", f"session={name}")]
    for to in ("runs", "calls", "json", "text", "markdown", "cursor"):
        assert convert(data, "-t", to, *flags).stdout == b""


def test_a_run_that_stands_in_two_files_counts_once() -> None:
    """Who forks or resumes a session copies it. Lines without a time may be said twice."""
    files = {name: [SAMPLE] for name in ("one", "two")}
    for to, count in {"runs": 2, "calls": 2, "text": 2}.items():
        ended = convert(files, "-t", to)
        assert (ended.status, len(ended.lines)) == (0, count)
        assert ended.stderr == "agentfmt: two: 2 runs left out: also at one:4, one:10\n"
    forked = re.sub(rb'"sessionId":"[^"]*"', b'"sessionId":"another"', SAMPLE)
    both = {"one": [SAMPLE], "two": [forked]}
    assert len(runs(both)) == 2
    assert len(convert(both, "-t", "runs", "--fail-on", "command=git push*").objects) == 4
    odd = re.sub(rb'"uuid":"[^"]*"', b'"uuid":{"a":1}', SAMPLE)
    assert len(runs({"one": [odd], "two": [odd]})) == 2
    nameless = Path(__file__).with_name("sample.ndjson").read_bytes()
    stream = nameless.replace(b"{", b'{"uuid":"1",', 1)
    assert len(runs({"one": [stream], "two": [stream], "three": [nameless]})) == 2
    cut = stream[: stream.rindex(b"\n", 0, -1) + 1]
    assert len(runs({"cut": [cut], "whole": [stream]})) == 2
    ended = convert({"one": [stream], "two": [stream]}, "-t", "runs", "--fail-on", "write")
    assert len(ended.lines) == 2
    untimed = SAMPLE.replace(b"timestamp", b"time").replace(b'"uuid"', b'"id"')
    assert len(runs({name: [untimed] for name in files})) == 4


# ---------------------------------------------------------------- Claude Code


def test_each_prompt_is_a_run() -> None:
    first, second = runs(SAMPLE)
    assert (first["verdict"], second["verdict"]) == ("succeeded", "succeeded")
    assert first["session"] == "7c1f2a90-1111-4222-8333-444455556666"
    assert (first["agent"], first["model"]) == ("claude", "claude-opus-5")
    assert (first["started_ms"], first["duration_ms"]) == (1795165201000, 7100)  # as stated
    assert second["duration_ms"] == 5000  # from the first line to the last one
    assert (first["tokens_in"], first["tokens_out"], first["tokens_cached"]) == (14, 42, 1800)


def test_calls_last_as_long_as_their_lines_say() -> None:
    shell, edit = calls(SAMPLE)
    assert (shell["target"], shell["duration_ms"]) == ("python greet.py", 2500)
    assert (edit["target"], edit["outcome"], edit["duration_ms"]) == ("greet.py", "+1 -1", 200)


def prompts(data: Any) -> list[str]:
    converted = convert(data, "-t", "cursor").objects
    return [one["message"]["content"][0]["text"] for one in converted if one["type"] == "user"]


def claude(kind: str, content: Any, **more: Any) -> bytes:
    message = {"role": kind, "content": content, "id": more.pop("id", None)}
    return as_line({"type": kind, "sessionId": "s", "uuid": "u", "message": message, **more})


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def says(text: str, **more: Any) -> bytes:
    return claude("assistant", [said(text)], **more)


ASK, SAY = claude("user", "Go"), says("Done")
CALL = claude("assistant", [use("Bash", "c")])
INTERRUPTED = said("[Request interrupted by user for tool use]")
REJECTED = claude("user", [returned("No", "c", error=True), INTERRUPTED])
COMPACTED = (
    b'{"type":"system","subtype":"compact_boundary","sessionId":"s","uuid":"b"}\n'
    + claude("user", "This session is being continued from another.", isCompactSummary=True)
)  # fmt: skip


def test_no_verdict_rests_on_sums_that_not_each_output_makes() -> None:
    usage = {"input_tokens": 1, "output_tokens": 0}
    for stated, status in ((None, 0), (usage, 1)):
        first, last = (json.loads(says(text)) for text in ("a", "Unknown skill: x"))
        first["message"]["usage"] = usage
        last["message"] |= {"usage": stated} if stated else {}
        data = b"".join([claude("user", "/x"), *map(as_line, (first, last))])
        assert {convert(data, "-t", to).status for to in agentfmt.WRITERS} == {status}


def test_tokens_are_counted_as_others_of_their_agent() -> None:
    stated = {"input_tokens": 10, "output_tokens": "2", "cache_read_input_tokens": 4, "x": 1}
    for agent, read in (("claude", 10), ("qwen", 6)):
        translator = agentfmt.SavedClaude(agentfmt.EventMaker(agentfmt.Event))
        translator.agent = agent
        counts = {"inputTokens": read, "outputTokens": 2, "cacheReadTokens": 4}
        assert translator.usage_in(stated) == counts


def at(second: int, line: bytes) -> bytes:
    """A line with its time."""
    return line.replace(b'{"type"', b'{"timestamp":"2026-01-01T00:00:%02dZ","type"' % second, 1)


def test_what_a_person_does_between_prompts_takes_the_agent_no_time() -> None:
    status = claude("user", "<command-name>/status</command-name>")
    data = at(1, ASK) + at(3, SAY) + at(50, status) + at(58, COMPACTED) + at(58, ASK) + at(59, SAY)
    assert [row["duration_ms"] for row in runs(data)] == [2000, 1000]


def test_what_was_rejected_is_a_failed_call_of_its_run() -> None:
    (row, _) = runs(ASK + CALL + REJECTED + ASK + SAY)
    assert (row["actions"], row["failures"], row["reason"]) == (1, 1, "interrupted by the user")


def test_a_session_that_was_resumed_under_another_name() -> None:
    """Its file begins with the lines of the first, which may have the old name or the new one."""
    again = (ASK + SAY).replace(b'"sessionId": "s"', b'"sessionId": "s2"')
    assert [row["session"] for row in runs(ASK + SAY + again)] == ["s", "s2"]
    rows = runs({"s.jsonl": [ASK + SAY], "s2.jsonl": [again + again]})
    where = [row["location"] for row in rows]
    assert [row["session"] for row in rows] == ["s", "s2", "s2"]
    assert where == ["s.jsonl:1", "s2.jsonl:1", "s2.jsonl:3"]


TASK = use("Task", "t", prompt="Look")
SIDE = {"isSidechain": True}
NESTED = [
    claude("user", "Look", uuid="a", parentUuid=None, **SIDE),
    claude("assistant", [use("Read", "c", file_path="/a")], uuid="b", parentUuid="a", **SIDE),
    claude("user", [returned("x", "c")], uuid="d", parentUuid="b", **SIDE),
]


def test_sub_agents_in_a_session() -> None:
    """Two side by side: the prompt tells whose steps they are, then the line before."""
    other, begun = use("Task", "u", prompt="Else"), NESTED[0].replace(b"Look", b"Else")
    begun = begun.replace(b'"a"', b'"e"')
    done = claude("user", [returned("ok", "t")]) + claude("user", [returned("ok", "u")])
    data = b"".join([ASK, claude("assistant", [TASK, other]), NESTED[0], begun, *NESTED[1:]])
    data += done + SAY
    found = [(one["tool"], one["parent"]) for one in calls(data)]
    assert found == [("read", "t"), ("task", None), ("task", None)]
    (row,) = convert(data, "-t", "runs", "-m", "final").objects
    assert (row["verdict"], row["answer"]) == ("succeeded", "Done")


def test_a_sub_agents_own_file() -> None:
    seen = says("Seen", isSidechain=True)
    assert [one["parent"] for one in calls(b"".join(NESTED))] == [None]
    files = {"main.jsonl": [ASK + SAY], "agent-1.jsonl": [b"".join(NESTED) + seen]}
    assert [row["verdict"] for row in runs(files)] == ["succeeded"] * 2


@pytest.mark.parametrize(("cell", "tools"), [
    ("got:c Bash:c", ["shell"]), ("got:c got:d Bash:c Read:d", ["shell", "read"]),
    ("got:d Bash:c got:c Read:d", ["shell", "read"]), ("got:cd Bash:cd", ["shell", "shell"]),
    ("got:l", ["?"]),
])  # fmt: skip
def test_results_that_are_saved_above_their_calls(cell: str, tools: list[str]) -> None:
    data = ASK
    for name, identities in (word.split(":") for word in cell.split()):
        got = name == "got"
        blocks = [returned("x", one) if got else use(name, one) for one in identities]
        data += claude("user" if got else "assistant", blocks)
    data += SAY
    assert [row["tool"] for row in calls(data)] == tools
    assert {row["status"] for row in calls(data)} == {"ok"}
    (row,) = runs(data)
    assert (row["verdict"], row["actions"]) == ("succeeded", len(tools))
    assert convert(data, "-t", "stream-json", "--thinking").stdout == data


@pytest.mark.parametrize(
    "context", table("foreign.txt", "what a host adds to a prompt was not typed")
)
def test_what_a_host_adds_to_a_prompt_was_not_typed(context: str) -> None:
    asked = context.format("Fix <b>it</b>.")
    for typed in (asked, [said(asked)]):
        assert prompts(claude("user", typed) + SAY) == ["Fix <b>it</b>."]


def test_what_a_prompt_quotes_was_typed() -> None:
    typed = "Is <system-reminder> in a <system-reminder>b</system-reminder> shown?"
    assert prompts(claude("user", typed) + SAY) == [typed]


# ---------------------------------------------------------------- Codex


def codex(kind: str, **payload: Any) -> bytes:
    return as_line({"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload})


def item(kind: str, **payload: Any) -> bytes:
    return codex("response_item", type=kind, **payload)


def words(text: str) -> bytes:
    copy = [{"type": "output_text", "text": text}]
    told = codex("event_msg", type="agent_message", message=text)
    return told + item("message", role="assistant", content=copy)


META_LINE = codex("session_meta", id="s-1", cwd="/w") + codex("turn_context", model="gpt-x")
TYPED = item("message", role="user", content="Go")
TYPED += codex("event_msg", type="user_message", message="Go")
DONE = words("Done")


def function(name: str, arguments: str, told: Any, **more: Any) -> bytes:
    """A session with a call, and what it returned."""
    called = item("function_call", name=name, call_id="c", arguments=arguments, **more)
    output = item("function_call_output", call_id="c", output=told)
    return META_LINE + TYPED + called + output + DONE


def executed(code: str, told: Any) -> bytes:
    """One with a program that Codex ran, and what it printed."""
    ran = item("custom_tool_call", name="exec", call_id="c", input=code)
    return (
        META_LINE + TYPED + ran + item("custom_tool_call_output", call_id="c", output=told) + DONE
    )


@pytest.mark.parametrize(
    ("text", "status", "code", "took"), table("foreign.txt", "results of codex")
)
def test_results_of_codex(text: Any, status: str, code: int | None, took: int | None) -> None:
    (row,) = calls(function("shell", '{"command":["bash","-lc","make test"]}', text))
    assert (row["tool"], row["target"], row["status"]) == ("shell", "make test", status)
    assert (row["exit_code"], row["duration_ms"]) == (code, took)
    assert ("in background" in str(row["outcome"])) == ("running" in text)


def test_code_of_codex_that_runs_commands() -> None:
    code = 'const r = await tools.exec_command({cmd:"rm -rf build"}); text(r.output);'
    head = "Script completed\nWall time 0.2 seconds\nOutput:\n"
    told = [{"type": "input_text", "text": part} for part in (head, "gone")]
    (row,) = calls(data := executed(code, told))
    assert (row["tool"], row["target"], row["duration_ms"]) == ("shell", "rm -rf build", 200)
    assert convert(data, "--fail-on", "tool=shell,target=*rm -rf*").status == 1
    assert b"rm -rf" not in convert(data, "-t", "cursor", "-r", "all").stdout
    printed = json.dumps({"chunk_id": "1f", "exit_code": 2, "output": "no rule\n"})  # as a whole
    code = 'text(await tools.exec_command({cmd: "make"}))'
    (row,) = calls(executed(code, head + printed))
    assert (row["status"], row["exit_code"], row["duration_ms"]) == ("nonzero", 2, 200)


PATCH = "*** Begin Patch\\n*** Update File: a.py\\n@@\\n-x\\n+y\\n*** End Patch"


@pytest.mark.parametrize(("code", "found"), table("foreign.txt", "code"))
def test_what_code_of_codex_calls(code: str, found: list[list[str]]) -> None:
    rows = calls(executed(code, "ok"))
    assert [[row["tool"], row["target"]] for row in rows] == found
    assert {row["status"] for row in rows} == {"ok"}


@pytest.mark.parametrize("given", table("foreign.txt", "a command that is a patch is a change"))
def test_a_command_that_is_a_patch_is_a_change(given: dict[str, Any]) -> None:
    text = json.dumps(given).replace("\\nPATCH", f"\\n{PATCH}").replace('"PATCH"', f'"{PATCH}"')
    (row,) = calls(function("shell", text, "Done!"))
    path = "src/a.py" if "cd src" in text else "a.py"
    assert (row["tool"], row["target"], row["lines_added"]) == ("edit", path, 1)


def test_a_command_behind_a_patch_is_one() -> None:
    command = "apply_patch <<X\n*** Begin Patch\nX\ngit push\n*** End Patch\nX"
    (row,) = calls(function("shell", json.dumps({"cmd": command}), "ok"))
    assert row["tool"] == "shell"


@pytest.mark.parametrize("title", ["Context from my IDE setup:", "Files mentioned by the user:"])
def test_a_prompt_is_what_was_typed_into_an_editor(title: str) -> None:
    told = f"# {title}\n\n## Active file: a.py\n\n## Open tabs:\n- a.py: a.py\n\n"
    asked = codex("event_msg", type="user_message", message=f"{told}## My request for Codex:\nGo\n")
    (row,) = runs(META_LINE + asked + DONE)
    assert row["prompt"] == "Go"


def test_a_call_of_codex_to_a_server_names_it_beside_the_tool() -> None:
    for told in ("x", '{"success":false,"text":"x","metadata":{"exit_code":3}}', '{"exit_code":3}'):
        (row,) = calls(data := function("_list", "{}", told, namespace="mcp__gh"))
        assert (row["tool"], row["target"], row["status"]) == ("mcp", "gh/list", "ok")
        assert json.dumps(told).encode() in convert(data, "-t", "cursor").stdout


def test_words_of_codex_are_said_once() -> None:
    data = META_LINE + TYPED + DONE + DONE
    (result,) = convert(data, "-t", "json").objects
    assert (result["result"], result["session_id"]) == ("Done\nDone", "s-1")
    assert [row["model"] for row in runs(data)] == ["gpt-x"]


@pytest.mark.parametrize("more", [{}, {"forked_from_id": "s-1"}])
def test_a_codex_session_that_was_forked(more: dict[str, str]) -> None:
    """It begins with a copy of the other, whose name it holds; all of it is its own."""
    first = META_LINE + TYPED + DONE
    fork = codex("session_meta", id="s-2", cwd="/w", **more) + first
    fork += TYPED.replace(b"Go", b"On") + words("Done, too")
    rows = runs({"1.jsonl": [first], "2.jsonl": [fork]})
    assert [row["session"] for row in rows] == ["s-1", "s-2", "s-2"]
    joined = runs(first + META_LINE.replace(b"s-1", b"s-3") + TYPED + words("Hi"))
    assert [row["session"] for row in joined] == ["s-1", "s-3"]


# ---------------------------------------------------------------- Pi


def pi(second: int, kind: str = "message", **members: Any) -> bytes:
    line = {"type": kind, "id": f"e{second}", "parentId": None, **members}
    return as_line(line | {"timestamp": f"2026-07-01T10:00:{second:02}Z"})


def pi_asked(second: int, text: str = "Go") -> bytes:
    return pi(second, message={"role": "user", "content": [said(text)]})


def pi_said(second: int, *blocks: Any, why: str = "stop") -> bytes:
    usage = {"input": 7, "output": 3, "cost": {"total": 0.5}}
    message = {"role": "assistant", "content": blocks, "usage": usage, "stopReason": why}
    return pi(second, message=message | {"model": "m-1"})


def pi_got(second: int, text: str, *, failed: bool = False) -> bytes:
    told = {"role": "toolResult", "toolCallId": "c-1", "toolName": "bash", "isError": failed}
    return pi(second, message=told | {"content": [said(text)]})


PI_HEAD = b"""{"type":"session","version":3,"id":"019f-1","timestamp":"2026-07-02T00:00:00Z"}
""" + pi(0, "model_change", modelId="m-0")
PI_USE = {"type": "toolCall", "id": "c-1", "name": "bash", "arguments": {"command": "make"}}
PI_DONE = said("Done.")
PI_TURN = [
    pi_asked(1),
    pi_said(2, {"type": "thinking", "thinking": "Hm."}, PI_USE, why="toolUse"),
    pi_got(5, "no rule\n\nCommand exited with code 2", failed=True),
    pi_said(6, PI_DONE),
]
PI_NOTE = pi(7, "custom_message", customType="note", content="x", display=False)


def test_a_result_of_pi_whose_call_is_lost() -> None:
    (row,) = calls(PI_HEAD + pi_asked(1) + pi_got(2, "x") + pi_said(3, PI_DONE))
    assert (row["tool"], row["status"]) == ("shell", "ok")


def test_a_session_of_pi() -> None:
    data = PI_HEAD + b"".join(PI_TURN) + PI_NOTE + pi_asked(40, "And?") + pi_said(42, PI_DONE)
    first, second = runs(data)
    assert (first["session"], first["agent"], first["model"]) == ("019f-1", "pi", "m-1")
    assert (first["verdict"], first["duration_ms"]) == ("succeeded", 5000)
    assert (first["tokens_out"], first["cost_usd"], second["duration_ms"]) == (6, 1, 2000)
    (call,) = calls(data)
    assert (call["target"], call["status"]) == ("make", "nonzero")
    assert (call["exit_code"], call["duration_ms"]) == (2, 3000)
    shown = convert(data, "-m", "chat", "-d").lines
    ran = "Ran terminal command make (exit 2, 3.0 s)"
    assert shown == ["> Go", ran, "Done.", "> And?", "Done."]
    assert convert(data, "-t", "stream-json", "--thinking").stdout == data
    assert convert(data, "--from", "pi") == convert(data)
    assert runs(convert(data, "-t", "cursor").stdout)[0]["actions"] == 1


def test_a_run_has_the_cost_of_its_own_messages() -> None:
    rows = runs(PI_HEAD + b"".join([*PI_TURN, pi_asked(8), pi_said(9, PI_DONE)]))
    assert [(row["cost_usd"], row["tokens_out"]) for row in rows] == [(1.0, 6), (0.5, 3)]


# ---------------------------------------------------------------- forms that are not known


@pytest.mark.parametrize(("counts", "ended", "tokens"), [
    ([1], None, None), ([1, 1], None, None), ([1, 40], None, 40), ([25], None, 25),
    ([1], "end_turn", 1),
])  # fmt: skip
def test_a_count_from_when_the_message_began_is_none(
    counts: list[int], ended: str | None, tokens: int | None
) -> None:
    """Older versions wrote the lines of a message before it was over."""
    lines = [json.loads(says("word " * 30, id="m")) for _ in counts]
    for line, count in zip(lines, counts, strict=True):
        line["message"] |= {"usage": {"input_tokens": 4, "output_tokens": count}}
        line["message"] |= {"stop_reason": ended}
    (row,) = runs(ASK + b"".join(map(as_line, lines)))
    assert (row["tokens_in"], row["tokens_out"]) == (4, tokens)


@pytest.mark.parametrize(("parent", "found"), [("1", ["a", "b"]), ("x", ["a", "b", "b"])])
def test_a_session_that_was_resumed_under_another_id_is_one(parent: str, found: list[str]) -> None:
    """A line names its parent; a run keeps the ID with which it began."""
    lines = [
        claude("user", "Go", uuid="1", sessionId="a"),
        says("Done", uuid="2", parentUuid=parent, sessionId="b"),
        claude("user", "More", uuid="3", parentUuid="x", sessionId="b"), says("So", sessionId="b"),
    ]  # fmt: skip
    data = b"".join(lines)
    for given in (data, convert(data, "-t", "cursor").stdout):
        assert sorted(row["session"] for row in runs(given)) == found


def test_thoughts_of_qwen_are_no_output_that_was_miscounted() -> None:
    """They are counted apart."""
    line = json.loads(says("Done."))
    line["message"] = {"role": "model", "parts": [{"text": "Hm. " * 99, "thought": True}]}
    line["usageMetadata"] = {"promptTokenCount": 4, "candidatesTokenCount": 1}
    (row,) = runs(ASK + as_line(line))
    assert (row["tokens_in"], row["tokens_out"]) == (4, 1)


# ---------------------------------------------------------------- secrets


@pytest.mark.parametrize("path", SESSIONS)
def test_every_copy_of_a_secret_goes(path: str) -> None:
    """Words, arguments and members that nobody knows: the session stays as valid as before."""
    lines = []
    for line in content(path).splitlines():
        value = json.loads(line)
        if isinstance(value, dict):
            value["unknownMember"] = {"deep": [f"key {TOKEN}"]}
            message = value.get("message") or value.get("payload") or value.get("data")
            if isinstance(message, dict) and isinstance(message.get("content"), list):
                message["content"].append({"type": "text", "text": f"It is {TOKEN}."})
            line = json.dumps(value).encode()
        lines.append(line)
    data = b"\n".join([*lines, b""])
    ended: Ended = redact(data, "-t", "stream-json", "--thinking", "-r", "secrets")
    assert TOKEN.encode() not in ended.stdout
    assert [row["verdict"] for row in runs(ended.stdout)] == [row["verdict"] for row in runs(data)]


# ---------------------------------------------------------------- what a host wrote


def said_by(model: str, tokens: int, text: str = "No response requested.", **more: Any) -> Any:
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    message = {"role": "assistant", "model": model, "content": [said(text)], "usage": usage}
    return {"type": "assistant", "message": message, "sessionId": "s", "session_id": "s", **more}


def asked(content: Any) -> Any:
    return json.loads(claude("user", content, session_id="s", parentUuid=None, isSidechain=False))


HOSTS_WORDS = {
    "model": (said_by("<synthetic>", 0), "unfinished"),
    "escaped": (said_by("<synthetic>", 0), "unfinished"),  # as other encoders write < and >
    "error": (said_by("<synthetic>", 0, "API Error: 529", isApiErrorMessage=True), "failed"),
    "error-stream": (said_by("claude-x", 3, "API Error: 529", is_api_error_message=True), "failed"),
    "command": (said_by("<synthetic>", 0, "Unknown skill: x"), "failed"),
}


@pytest.mark.parametrize("name", HOSTS_WORDS)
def test_what_a_host_wrote_is_no_last_word_and_no_answer(name: str) -> None:
    hosts, verdict = HOSTS_WORDS[name]
    line = as_line(hosts)
    if name == "escaped":
        line = line.replace(b"<synthetic>", rb"\u003csynthetic\u003e")
    first = [asked("one"), said_by("claude-sonnet-5", 7, "Done."), asked("two")]
    data = b"".join(map(as_line, first))
    assert [row["verdict"] for row in runs(data)] == ["succeeded", "unfinished"]
    ended = convert(data + line, "-t", "runs").objects
    assert [row["verdict"] for row in ended] == ["succeeded", verdict]
    assert {row["model"] for row in ended} == {"claude-sonnet-5"}
    assert convert(data + line, "-q", "-m", "final").lines == ["Done."]
    assert convert(data + line, *SAME).stdout == data + line
    again = as_line(said_by("claude-sonnet-5", 7, "Well."))  # what was wrong before is over
    assert convert(data + line + again, "-m", "final").stdout == b"Done.\n\nWell.\n"


@pytest.mark.parametrize("saved", [True, False])
def test_a_message_that_states_no_tokens_is_the_agents(saved: bool) -> None:
    """Behind a proxy some messages state none: their calls are calls, their words the answer."""
    first = [asked("one"), said_by("glm-5.1", 7, "I look."), said_by("glm-5.1", 0, "")]
    first[-1]["message"]["content"] = [use(command="git push origin")]
    lines = [*first, asked([returned()]), said_by("glm-5.1", 0, "Pushed.")]
    if not saved:
        end = {"type": "result", "subtype": "success", "is_error": False, "result": "Pushed."}
        lines = [{k: v for k, v in line.items() if k != "sessionId"} for line in lines]
        lines.append(end | {"session_id": "s", "uuid": "r"})
    data = b"".join(map(as_line, lines))
    ended = convert(data, "-d", "-m", "all")
    shown = [line for line in ended.lines if line][-2:]
    assert (ended.status, shown) == (0, [f"{label('shell')} git push origin", "Pushed."])
    assert convert(data, "--fail-on", "command=git push*").status == 1
