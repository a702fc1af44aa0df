"""Real streams, read in place where they stand beside the checkout."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from planting import redact
from support import (
    RECORDED,
    SHARED,
    STREAMS,
    check_conversion,
    content,
    convert,
    corpus,
    failed,
    label,
    one_in,
    strings,
)

import agentfmt

FOLDERS = ("captures", "recordings")
CURSOR = [path for folder in FOLDERS for path in corpus(folder, "cursor", suffix=".ndjson")]
FOREIGN = [path for path in RECORDED if not re.search("/(cursor|other)/", path.values[0])]
ORDER = (
    "type", "subtype", "is_error", "duration_ms", "duration_api_ms",
    "result", "session_id", "request_id",
)  # fmt: skip
FORMATS = ("text", "json", "stream-json")


EVERYTHING = agentfmt.View(detail=True, messages="all")


def expected() -> list[Any]:
    """The rows of EXPECTED.tsv: (file, exit status, succeeded, failed, finished calls)."""
    rows: list[Any] = []
    for folder in FOLDERS:
        (table,) = corpus(folder, suffix="EXPECTED.tsv")
        if table.marks:
            return [pytest.param("", 0, 0, 0, 0, marks=table.marks, id="absent")]
        _, *lines = content(table.values[0]).decode().splitlines()
        for file, *numbers in (line.split("\t") for line in lines):
            path = os.path.join(SHARED, folder, file)
            rows.append(pytest.param(path, *map(int, numbers), id=f"{folder}/{file}"))
    return rows


def lines_of(path: str) -> list[bytes]:
    """The events of a stream, each on a line; what is an array is as json writes it."""
    data = content(path)
    if data.lstrip().startswith(b"["):
        return [json.dumps(event).encode() for event in json.loads(data)]
    return objects(data)


def objects(data: bytes) -> list[bytes]:
    """The lines that are objects, without the blanks around them."""
    return [line.strip() for line in data.split(b"\n") if line.strip().startswith(b"{")]


def view(data: bytes) -> tuple[bytes, int]:
    ended = convert(data)
    return ended.stdout, ended.status


@pytest.mark.parametrize(("path", "status", "succeeded", "failed", "calls"), expected())
def test_verdict_and_calls(path: str, status: int, succeeded: int, failed: int, calls: int) -> None:
    data = content(path)
    text, results = convert(data), convert(data, "-t", "json")
    own = convert(data, "-t", "stream-json")
    assert text.status == results.status == own.status == status
    intents = data.count(b'"toolName":"report_intent"')  # the table counts them: they are no action
    assert text.stdout.count(b"\n") == calls - intents
    assert results.stdout.count(b"\n") == succeeded
    assert text.stderr.count(" failed: ") == own.stderr.count(" failed: ") == failed


def test_every_recording_is_expected() -> None:
    rows = {row.values[0] for row in expected()} - {""}
    assert rows >= {path.values[0] for path in RECORDED if "recordings" in path.values[0]}
    assert rows >= {path.values[0] for path in CURSOR} - {""}


@pytest.mark.parametrize("path", FOREIGN)
def test_what_a_conversion_of_a_recording_means(path: str) -> None:
    check_conversion(content(path))


ENDS = ("result", "turn.completed", "step_finish", "completion", "agent_end", "done")


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_is_killed_never_succeeds(path: str) -> None:
    """Of each beginning, as many runs succeed as ends have come, at most."""
    lines, ends, told = lines_of(path), 0, 0
    for number, line in enumerate(lines[:-1], 1):
        if json.loads(line).get("type") in ENDS:
            ends, told = ends + 1, number
        elif number - told < 3 or number % 50 == 0:  # not each of hundreds
            ended = convert(b"\n".join([*lines[:number], b""]), "-t", "json")
            assert ended.stdout.count(b"\n") <= ends
            assert ends or ended.status == 1


@pytest.mark.parametrize("path", FOREIGN)
def test_redaction_empties_fragments_and_nothing_else(path: str) -> None:
    lines = lines_of(path)
    data = b"\n".join([*lines, b""])
    ended = redact(data, "-t", "stream-json", "--thinking", "-r", "secrets")
    for line, left in zip(lines, ended.stdout.splitlines(), strict=True):
        if left != line:
            pairs = zip(strings(json.loads(line)), strings(json.loads(left)), strict=True)
            changed = [new for old, new in pairs if new != old]
            assert all(new == "" or "[REDACTED:" in new for new in changed)
            kept = (b"message_end", b'"result"', b"turn_end", b"agent_end", b"turn.completed")
            assert any(changed) or not any(kind in line[:40] for kind in kept)


STRUCTURAL = frozenset(
    "type subtype session_id sessionID sessionId thread_id id uuid role status kind name model "
    "toolId toolName tool tool_name callID toolCallId tool_id tool_use_id messageId stopReason "
    "severity source reason code parent_tool_use_id parentToolCallId phase "
    "selectedModel newModel".split()
)


def planted(value: Any, key: str = "") -> Any:
    """The same value with a canary in every string but those that say what things are."""
    if isinstance(value, dict):
        return {name: planted(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [planted(item, key) for item in value]
    plants = isinstance(value, str) and key not in STRUCTURAL
    return f"CANARY {value}" if plants else value


@pytest.mark.parametrize("path", FOREIGN)
def test_no_canary_survives(path: str) -> None:
    lines = (json.dumps(planted(json.loads(line))) for line in lines_of(path))
    data = "".join(f"{line}\n" for line in lines).encode()
    for to in one_in(3, ("text", "json", "cursor"), path):
        ended = redact(data, "-t", to, "--thinking", "-r", "all", view=EVERYTHING)
        assert b"CANARY" not in ended.stdout


@pytest.mark.parametrize("path", FOREIGN)
def test_selectors_and_short_events(path: str) -> None:
    data = content(path)
    labels = label("shell").encode(), failed("shell").encode(), b"Running terminal command"
    lines = convert(data).stdout.splitlines()
    shells = [line for line in lines if any(each in line for each in labels)]
    assert convert(data, "--only", "tool=shell").stdout.splitlines() == shells
    assert convert(data, "--drop", "tool_call").stdout == b""
    ended = convert(data, "-t", "cursor", "--max-event", "1000")
    assert ended.status == convert(data).status
    once, short = view(data), view(ended.stdout)
    assert short == once


@pytest.mark.parametrize("path", CURSOR)
def test_result_of_json_is_the_result(path: str) -> None:
    data = content(path)
    ended = [one for one in map(json.loads, objects(data)) if one["type"] == "result"]
    results = convert(data, "-t", "json").objects
    for one, made in zip(ended, results, strict=True):
        assert made == one | {"subtype": "success"}
        order = [key for key in ORDER if key in made]
        assert list(made)[: len(order)] == order


@pytest.mark.parametrize("path", CURSOR)
def test_aggregated_text_is_the_result(path: str) -> None:
    """FORMATS 1.3: computed with the member `result` taken out, it equals it."""
    lines, said = [], []
    for line in objects(content(path)):
        event = json.loads(line)
        if event["type"] == "result":
            said.append(event.pop("result"))
            line = json.dumps(event).encode()
        lines.append(line + b"\n")
    results = convert(lines, "-t", "json").stdout.splitlines()
    assert [json.loads(line)["result"] for line in results] == said


@pytest.mark.parametrize("path", RECORDED)
def test_identity(path: str) -> None:
    data = content(path)
    ended = convert(data, "-t", "stream-json", "--thinking")
    if objects(data):
        assert ended.stdout.split(b"\n") == [*objects(data), b""]
    else:  # an array: its values are the same
        assert ended.objects == json.loads(data)


THOUGHTS = ("thinking", "reasoning", "assistant.reasoning", "assistant.reasoning_delta")


def is_thinking(event: dict[str, Any]) -> bool:
    """Cursor's and others' own events; and messages and items that hold nothing else."""
    inner = event.get("item") or event.get("assistantMessageEvent") or event
    if "payload" in event:  # a rollout of Codex; a thought may be encrypted
        inner = event["payload"].get("item") or event["payload"]
        shown = inner.get("text") or inner.get("summary")
        return bool(shown) and inner.get("type") in ("agent_reasoning", "reasoning")
    if event.get("type") == "stream_event":
        inner = event["event"].get("delta", inner)
    if event.get("type") == "assistant":
        message = event["message"]
        blocks = message.get("content") or message["parts"]
        return all(block.get("thought") or block.get("type") == "thinking" for block in blocks)
    return inner.get("type") in (*THOUGHTS, "thinking_delta", "signature_delta")


@pytest.mark.parametrize("path", RECORDED)
def test_thinking_is_dropped(path: str) -> None:
    lines = lines_of(path)
    kept = [line for line in lines if not is_thinking(json.loads(line))]
    left = convert(b"\n".join([*lines, b""]), "-t", "stream-json").stdout
    assert left.split(b"\n") == [*kept, b""]


OTHERS = corpus("captures", "other", suffix=".ndjson")


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("path", OTHERS + corpus("captures", "cursor", suffix=".stderr.txt"))
def test_an_unknown_dialect_and_prose_never_succeed(path: str, to: str) -> None:
    ended = convert(content(path), "-t", to)
    assert ended.status == 1
    if path.endswith(".ndjson"):
        assert ended.stderr.count("\n") == 1
    else:
        assert (ended.stdout, "no events: " in ended.stderr) == (b"", True)
