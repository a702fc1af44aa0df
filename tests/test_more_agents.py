"""The agents of the room *more agents*, beside their neighbours and cut: what their lines mean is
in the tables of test_agents.py."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from agents import MORE, NEWER, STREAMS
from support import RECORDED, SHARED, content, convert
from test_envelopes import WRAPPINGS

import agentfmt

# What a stream is believed that states no end: that it goes no further.
WHOLE: dict[str, Callable[[Any], bool]] = {
    "kimi-cli": lambda last: last.get("role") == "assistant" and "tool_calls" not in last,
    "kimi-code-without": lambda last: last.get("role") == "assistant" and "tool_calls" not in last,
    "transcript-with-results": lambda last: last == STREAMS["transcript"].lines[-1],
}


def shown_by(line: bytes) -> str | None:
    return agentfmt.recognize(agentfmt.as_object(agentfmt.decoded(line)))


def lines_of(stream: list[Any]) -> list[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in stream]


def test_no_recording_of_another_agent_is_taken_for_theirs() -> None:
    paths = [row.values[0] for row in RECORDED if "antigravity" not in row.values[0]]
    found = {path: {*map(shown_by, content(path).splitlines())} for path in filter(None, paths)}
    assert {path: agents for path, agents in found.items() if agents & {*NEWER}} == {}


@pytest.mark.parametrize("name", MORE)
def test_no_line_of_theirs_is_taken_for_another_agents(name: str) -> None:
    own = {name.partition("-")[0], None}
    own = {"cursor", None} if "transcript" in own else own
    found = {*map(shown_by, lines_of(STREAMS[name].lines))}
    assert found <= own | ({"claude"} if name == "grok-messages" else set())
    assert found != {None}


@pytest.mark.parametrize(
    "name", [name for name in MORE if STREAMS[name].status == 0 and STREAMS[name].runs == (1, 0)]
)
@pytest.mark.parametrize("to", ["text", "json", "cursor", "runs"])
def test_a_stream_that_is_cut_fails_wherever_that_is(name: str, to: str) -> None:
    stream = STREAMS[name].lines
    lines = lines_of(stream)
    believed = next((rule for key, rule in WHOLE.items() if name.startswith(key)), None)
    passed = [
        count
        for count in range(1, len(lines))
        if convert(b"".join(lines[:count]), "-t", to).status == 0
        and not (believed and believed(stream[count - 1]))
    ]
    assert passed == []


@pytest.mark.parametrize("to", ["text", "cursor", "runs"])
def test_lines_before_another_session_add_no_run(to: str) -> None:
    """A line that names a session and says nothing belongs to the next run of its FILE, and a
    conversion adds none for it."""
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}
    stream = [
        {"jsonrpc": "2.0", "method": "session/new_kind", "params": {"sessionId": "a"}},
        {"jsonrpc": "2.0", "method": "session/update",
         "params": {"sessionId": "b", "update": text}},
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}},
    ]  # fmt: skip
    ended = convert(b"".join(lines_of(stream)), "-t", to)
    assert (ended.status, ended.stderr) == (0, "")


def test_an_error_that_the_command_prints_is_an_event() -> None:
    data = STREAMS["cline-error-line"].data
    assert convert(data, "-t", "cursor").objects[-1] == {
        "type": "error", "message": "API key is missing.", "failure": "auth", "session_id": "c-1",
    }  # fmt: skip


def test_a_prompt_that_an_editor_repeats() -> None:
    lines = STREAMS["acp"].data
    assert convert(lines, "-q", "-m", "chat").lines == ["> Do it.", "All done."]


@pytest.mark.skipif(not os.path.exists(SHARED), reason="needs recordings")
def test_the_samples() -> None:
    """Their calls are those of tools that are known, and what failed is shown as failed."""
    ended = convert(content(SHARED, "faults", "grok-build-stream-json.ndjson"), "-t", "calls")
    assert [(call["tool"], call["status"]) for call in ended.objects] == [
        ("ls", "ok"), ("read", "ok"), ("edit", "ok"), ("write", "ok"), ("shell", "nonzero"),
        ("read", "notfound"),
    ]  # fmt: skip
    ended = convert(content(SHARED, "faults", "cursor-agent-transcript.ndjson"), "-t", "runs")
    assert {run["agent"] for run in ended.objects} == {"cursor"}


def verdicts(data: bytes | str) -> Any:
    ended = convert(data if isinstance(data, bytes) else data.encode(), "-t", "runs")
    return ended.status, [(run["agent"], run["verdict"], run["actions"]) for run in ended.objects]


@pytest.mark.parametrize("name", MORE)
def test_lines_without_a_type_are_found_in_whatever_wraps_them(name: str) -> None:
    lines = lines_of(STREAMS[name].lines)
    data, values = b"".join(lines), [*map(json.loads, lines)]
    for how in ("a level", "CRI", "docker", "a message"):
        assert verdicts(WRAPPINGS[how](data)) == verdicts(data), how
    for array in (b"[" + b",".join(map(bytes.strip, lines)) + b"]", json.dumps(values, indent=1)):
        assert verdicts(array) == verdicts(data)
