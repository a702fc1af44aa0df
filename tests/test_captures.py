"""Real streams, read in place where they stand beside the checkout."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from support import SHARED, content, convert, corpus

CURSOR = corpus("captures", "cursor", suffix=".ndjson")
ALL = corpus("captures", suffix=".ndjson")
ORDER = (
    "type", "subtype", "is_error", "duration_ms", "duration_api_ms",
    "result", "session_id", "request_id",
)  # fmt: skip
FORMATS = ("text", "json", "stream-json")


def expected(dialect: str) -> list[Any]:
    """The rows of EXPECTED.tsv: (file, exit status, succeeded, failed, finished calls)."""
    (table,) = corpus("captures", suffix="EXPECTED.tsv")
    if table.marks:
        return [pytest.param("", 0, 0, 0, 0, marks=table.marks, id="absent")]
    _, *rows = content(table.values[0]).decode().splitlines()
    cells = [row.split("\t") for row in rows if row.startswith(f"{dialect}/")]
    assert cells, f"no row for {dialect}"
    return [
        pytest.param(os.path.join(SHARED, "captures", file), *map(int, numbers), id=file)
        for file, *numbers in cells
    ]


def objects(data: bytes) -> list[bytes]:
    """The lines that are objects, without the blanks around them."""
    return [line.strip() for line in data.split(b"\n") if line.strip().startswith(b"{")]


@pytest.mark.parametrize(("path", "status", "succeeded", "failed", "calls"), expected("cursor"))
def test_verdict_and_calls(path: str, status: int, succeeded: int, failed: int, calls: int) -> None:
    data = content(path)
    text, results = convert(data), convert(data, "-t", "json")
    assert text.status == results.status == status
    assert text.stdout.count(b"\n") == calls
    assert results.stdout.count(b"\n") == succeeded
    assert text.stderr.count(" failed: ") == failed


def test_every_cursor_capture_is_expected() -> None:
    rows = {row.id for row in expected("cursor")} - {"absent"}
    assert rows == {f"cursor/{row.id}" for row in CURSOR} - {"cursor/absent"}


@pytest.mark.parametrize("path", CURSOR)
def test_result_of_json_is_the_result(path: str) -> None:
    data = content(path)
    ended = next(o for o in map(json.loads, objects(data)) if o["type"] == "result")
    made = json.loads(convert(data, "-t", "json").stdout)
    assert made == ended | {"subtype": "success"}
    order = [key for key in ORDER if key in made]
    assert list(made)[: len(order)] == order


@pytest.mark.parametrize("path", CURSOR)
def test_aggregated_text_is_the_result(path: str) -> None:
    """FORMATS 1.3: computed with the member `result` taken out, it equals it."""
    lines, said = [], None
    for line in objects(content(path)):
        event = json.loads(line)
        if event["type"] == "result":
            said = event.pop("result")
            line = json.dumps(event).encode()
        lines.append(line + b"\n")
    assert isinstance(said, str)
    assert json.loads(convert(lines, "-t", "json").stdout)["result"] == said


@pytest.mark.parametrize("path", ALL)
def test_identity(path: str) -> None:
    data = content(path)
    ended = convert(data, "-t", "stream-json", "--thinking")
    assert ended.stdout.split(b"\n") == [*objects(data), b""]


THOUGHTS = ("thinking", "reasoning", "assistant.reasoning", "assistant.reasoning_delta")


def is_thinking(event: dict[str, Any]) -> bool:
    """Cursor's and others' own events; and messages and items that hold nothing else."""
    inner = event.get("item") or event.get("assistantMessageEvent") or event
    if event.get("type") == "assistant":
        return {block["type"] for block in event["message"]["content"]} == {"thinking"}
    return inner.get("type") in (*THOUGHTS, "thinking_delta")


@pytest.mark.parametrize("path", ALL)
def test_thinking_is_dropped(path: str) -> None:
    data = content(path)
    kept = [line for line in objects(data) if not is_thinking(json.loads(line))]
    assert convert(data, "-t", "stream-json").stdout.split(b"\n") == [*kept, b""]


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("path", corpus("captures", "other", suffix=".ndjson"))
def test_an_unknown_dialect_never_succeeds(path: str, to: str) -> None:
    ended = convert(content(path), "-t", to)
    assert ended.status == 1
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("path", corpus("captures", "cursor", suffix=".stderr.txt"))
def test_prose_alone_is_a_failure(path: str, to: str) -> None:
    ended = convert(content(path), "-t", to)
    assert (ended.stdout, ended.status) == (b"", 1)
    assert "no events: " in ended.stderr
