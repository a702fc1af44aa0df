"""The field's own forms: traces for OpenTelemetry, trajectories for Harbor, by their own models."""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from support import (
    HERE,
    SHARED,
    as_line,
    assistant,
    below,
    completed,
    convert,
    delta,
    event,
    init,
    result,
    run,
    started,
    whole_run,
)  # fmt: skip

import agentfmt

atif = pytest.importorskip("atif")  # it needs Python 3.11
FOLDERS = ("captures", "recordings", "sessions")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in Path(SHARED, folder).rglob("*")
    if path.is_file() and path.suffix in (".ndjson", ".jsonl", ".json")
) or [
    Path(HERE, name) for name in ("sample.ndjson", "sample-claude.ndjson", "sample-session.jsonl")
]
IDS = ("traceId", "spanId", "parentSpanId")


def spans_of(stdout: bytes) -> list[dict[str, Any]]:
    return [
        span
        for line in stdout.splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def told(span: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span."""
    found = {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}
    assert len(found) == len(span["attributes"])
    return found


def parse_requests(stdout: bytes) -> None:
    """Read lines by the official messages. Their JSON has IDs in hex; protobuf's own in base64."""
    for line in stdout.splitlines():
        request = json.loads(line)
        for span in spans_of(line):
            assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 10**18
        for resource in request["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                binary = {name: bytes.fromhex(span[name]) for name in IDS if name in span}
                span |= {name: base64.b64encode(data).decode() for name, data in binary.items()}
        ParseDict(request, ExportTraceServiceRequest())


def lead_to_a_root(spans: list[dict[str, Any]]) -> bool:
    """No parent is missing, and no span is below itself, which keeps Phoenix busy for ever."""
    above = {span["spanId"]: span.get("parentSpanId") for span in spans}
    at: set[str | None] = {*above}
    for _ in spans:
        at = {above[each] for each in at if each is not None}
    return at <= {None}


def trajectories(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield document
    for inner in document.get("subagent_trajectories", ()):
        yield from trajectories(inner)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_official_models_take_every_file(path: Path) -> None:
    data = {str(path): [path.read_bytes()]}
    runs, calls = (convert(data, "-t", to).objects for to in ("runs", "calls"))
    traced = convert(data, "-t", "otlp", "-m", "all")
    parse_requests(traced.stdout)
    spans = spans_of(traced.stdout)
    assert len({span["spanId"] for span in spans}) == len(spans)
    agents = [span for span in spans if span["name"].startswith("invoke_agent ")]
    good = [span["status"].get("code") is None for span in agents]
    assert good == [run["verdict"] == "succeeded" for run in runs if run["verdict"] != "none"]
    used = sorted(told(span)["gen_ai.tool.call.id"] for span in spans if span not in agents)
    assert used == sorted(call["call_id"] or "" for call in calls)
    assert lead_to_a_root(spans)
    documents = convert(data, "-t", "atif", "--thinking").objects
    for document in documents:
        atif.Trajectory.model_validate(document)
        assert all(one["steps"] for one in trajectories(document)), "Phoenix wants a step"
    assert [one["extra"]["verdict"] == "succeeded" for one in documents] == good
    steps = [step for one in documents for each in trajectories(one) for step in each["steps"]]
    kept = [call["tool_call_id"] for step in steps for call in step.get("tool_calls", ())]
    assert sorted(kept) == used


def test_ids_are_the_same_each_time_and_differ_by_run() -> None:
    data = b"".join([whole_run("a"), whole_run("a"), whole_run("b")])
    first, second = (spans_of(convert(data, "-t", "otlp").stdout) for _ in range(2))
    assert [span["spanId"] for span in first] == [span["spanId"] for span in second]
    assert len({span["spanId"] for span in first}) == len(first)
    assert len({span["traceId"] for span in first}) == 3


def test_a_trace_of_a_job_holds_those_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    monkeypatch.setenv("TRACEPARENT", f"00-{trace}-{span}-01")
    made = spans_of(convert([whole_run("a"), whole_run("b")], "-t", "otlp").stdout)
    roots = [one for one in made if one["name"].startswith("invoke_agent ")]
    assert {one["traceId"] for one in made} == {trace}
    assert [one["parentSpanId"] for one in roots] == [span, span]
    monkeypatch.setenv("TRACEPARENT", f"00-{'0' * 32}-{span}-01")
    assert "parentSpanId" not in spans_of(convert(result(), "-t", "otlp").stdout)[0]


def test_contents_are_left_out_unless_asked_for() -> None:
    secret = "what nobody should export"
    call = {"shellToolCall": {"args": {"command": "ls", "note": secret}}}
    lines = [
        init(),
        event("user", message={"content": secret}),
        event("tool_call", subtype="started", call_id="c", tool_call=call),
    ]
    lines.append(result(result=secret))
    assert secret.encode() not in convert(lines, "-t", "otlp").stdout
    assert convert(lines, "-t", "otlp", "-m", "all").stdout.count(secret.encode()) == 3
    hidden = convert(lines, "-t", "otlp", "-m", "all", "-r", "all")
    assert secret.encode() not in hidden.stdout
    assert [span["name"] for span in spans_of(hidden.stdout)] == [
        "execute_tool shell", "invoke_agent cursor"
    ]  # fmt: skip


@pytest.mark.parametrize("to", ["otlp", "atif"])
def test_a_run_that_is_cut_off_is_written_with_its_open_calls(to: str) -> None:
    ended = convert([init(), started()], "-t", to)
    assert ended.status == 1
    if to == "atif":
        (document,) = ended.objects
        atif.Trajectory.model_validate(document)
        assert document["extra"]["failure"] == "unfinished"
        assert [len(step["tool_calls"]) for step in document["steps"]] == [1]
        return
    parse_requests(ended.stdout)
    call, run = spans_of(ended.stdout)
    assert (told(call)["error.type"], told(run)["error.type"]) == ("unfinished", "unfinished")
    assert call["status"] == {"code": 2, "message": "unfinished"}
    assert run["status"]["code"] == 2
    assert call["parentSpanId"] == run["spanId"]


def test_what_a_sub_agent_did_is_below_its_call() -> None:
    inner = [below("t", line) for line in (started("c"), completed("c"))]
    task = [call("t", "taskToolCall") for call in (started, completed)]
    data = [init(), task[0], *inner, task[1], result()]
    below_it, call, run = spans_of(convert(data, "-t", "otlp").stdout)
    assert (below_it["parentSpanId"], call["parentSpanId"]) == (call["spanId"], run["spanId"])


def test_no_call_is_below_itself() -> None:
    def nested(name: str, parent: str) -> list[bytes]:
        below = f',"parent_tool_use_id":"{parent}"}}\n'.encode()
        return [line.rstrip()[:-1] + below for line in (started(name), completed(name))]

    (first, *ends), (second, *more) = nested("a", "b"), nested("b", "a")
    data = [init(), *nested("c", "c"), first, second, *ends, *more, result()]
    spans = spans_of(convert(data, "-t", "otlp").stdout)
    assert len(spans) == 4
    assert lead_to_a_root(spans)


def test_words_are_exported_once_each_part_between_calls() -> None:
    """Whether they came in deltas, whole or both: a call ends what a replay repeats."""
    first = [delta("I "), delta("look."), assistant("I look.")]
    then = [delta("It "), delta("works."), assistant("It works.")]
    stream = [init(), *first, started(), completed(), *then, result()]
    *_, run = spans_of(convert(stream, "-t", "otlp", "-m", "all").stdout)
    (message,) = json.loads(told(run)["gen_ai.output.messages"])
    assert [part["content"] for part in message["parts"]] == ["I look.", "It works."]
    assert message["finish_reason"] == "stop"  # without it, a message is none of the conventions'


def test_times_that_nothing_states_are_the_clocks() -> None:
    before = time.time()
    ((begun, ended),) = span_times(convert([init(), assistant("x"), result()], "-t", "otlp"))
    assert before - 1 < begun / 1000 <= ended / 1000 < time.time() + 1


def test_times_that_a_part_of_a_line_states_are_those_of_its_call() -> None:
    """OpenCode writes a call down when it is over."""
    state = {"status": "completed", "input": {"filePath": "a"}, "output": "b",
             "time": {"start": 1779782116692, "end": 1779782116694}}  # fmt: skip
    part = {"id": "p", "callID": "c", "messageID": "m", "tool": "read", "state": state}
    line = {"type": "tool_use", "timestamp": 1779782116750, "sessionID": "s", "part": part}
    call, _ = spans_of(convert(json.dumps(line).encode(), "-t", "otlp").stdout)
    times = [int(call[name]) // 10**6 for name in ("startTimeUnixNano", "endTimeUnixNano")]
    assert times == [1779782116692, 1779782116694]


@pytest.mark.parametrize("lines", [[init(), result()], [result(is_error=True, result="No quota.")]])
def test_a_run_that_did_nothing_has_a_step(lines: list[bytes]) -> None:
    (document,) = convert(lines, "-t", "atif").objects
    atif.Trajectory.model_validate(document)
    (step,) = document["steps"]
    assert step["source"] == "system"
    assert step["message"] == document["extra"].get("reason", "nothing more was said or done")


def test_a_call_is_no_sub_agent_of_its_own() -> None:
    """As in fixtures whose IDs were made equal."""
    lines = [init(), completed("c1"), result()]
    lines[1] = below("c1", lines[1])
    (document,) = convert(lines, "-t", "atif").objects
    assert "subagent_trajectory_ref" not in json.dumps(document)


def test_a_long_run_is_written_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentfmt, "MAX_SPANS", 2)
    calls = itertools.chain.from_iterable(
        (started(f"c{n}"), event("tool_call", subtype="completed", call_id=f"c{n}", tool_call={}))
        for n in range(5)
    )
    ended = convert([init(), *calls, result()], "-t", "otlp")
    assert [len(spans_of(line)) for line in ended.stdout.splitlines()] == [2, 2, 2]


@pytest.mark.parametrize("value", ["\ud800", "\0", "1e999", "::error::", 10**400, -5, [], {"a": 1}])
@pytest.mark.parametrize("to", ["otlp", "atif"])
def test_odd_members_break_no_form(value: object, to: str) -> None:
    call = {"shellToolCall": {"args": {"command": value}, "result": {"success": value}},
            "startedAtMs": value, "completedAtMs": value}  # fmt: skip
    lines = [
        event("system", subtype="init", model=value, timestamp_ms=value, version=value),
        event("tool_call", subtype="completed", call_id=value, tool_call=call, timestamp_ms=value),
        result(usage={"inputTokens": value}, duration_ms=value, total_cost_usd=value),
    ]
    ended = convert(lines, "-t", to, "-m", "all") if to == "otlp" else convert(lines, "-t", to)
    assert ended.status == 0
    if to == "otlp":
        parse_requests(ended.stdout)
    else:
        atif.Trajectory.model_validate_json(ended.stdout)


def span_times(ended: Any) -> list[tuple[int, int]]:
    names = ("startTimeUnixNano", "endTimeUnixNano")
    spans = spans_of(ended.stdout)
    return [(int(span[names[0]]) // 10**6, int(span[names[1]]) // 10**6) for span in spans]


AT = 1778411927583  # in May of 2026
SAID_AT = assistant("x", timestamp_ms=AT)


def at(line: bytes, time: int) -> bytes:
    return as_line({**json.loads(line), "timestamp_ms": time})


TIMES: dict[str, tuple[list[bytes], tuple[int, int]]] = {
    "start and duration": ([SAID_AT, result(duration_ms=5811)], (AT, AT + 5811)),
    "first and last": ([SAID_AT, at(started(), AT + 70), completed(), result()], (AT, AT + 70)),
    "killed": ([SAID_AT, at(started(), AT + 70), at(completed(), AT + 90)], (AT, AT + 90)),
    "a call goes on": ([at(started(), AT), assistant("x", timestamp_ms=AT + 80)], (AT, AT + 80)),
    "a call without": ([SAID_AT, started(), completed(), result(duration_ms=9)], (AT, AT + 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times_that_lines_state_are_not_mixed_with_the_clock(name: str) -> None:
    lines, expected = TIMES[name]
    *calls, whole = span_times(convert([init(), *lines], "-t", "otlp"))
    assert whole == expected
    assert all(whole[0] <= since <= until <= whole[1] for since, until in calls)
    (row,) = convert([init(), *lines], "-t", "runs").objects
    assert row["started_ms"] == AT


def test_a_file_without_times_ended_when_it_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(b"".join([init(), started(), completed(), result(duration_ms=5000)]))
    os.utime(path, (AT / 1000, AT / 1000))
    call, whole = span_times(run("-t", "otlp", str(path)))
    assert (call, whole) == ((AT, AT), (AT - 5000, AT))
