"""Runs that succeeded: they do, all calls are named, and no rule reads a failure out of what is
missing, when members that no reader needs are taken out."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from agents import STREAMS
from support import SHARED, content, convert, corpus
from test_captures import expected
from test_sessions import EXPECTED, SESSIONS

NEEDLESS = (
    "usage", "modelUsage", "usageMetadata", "duration_ms", "duration_api_ms", "durationMs",
    "ttft_ms", "num_turns", "tokens", "cost", "service_tier", "stats", "timestamp_ms", "timestamp",
    "request_id", "requestId", "startedAtMs", "completedAtMs",
)  # fmt: skip
MAX_BYTES = 100_000  # what a file may hold: the suite is to be fast


def less(value: Any, chance: random.Random) -> Any:
    """A value without some members that no reader needs."""
    if isinstance(value, list):
        return [less(one, chance) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: less(one, chance) for name, one in value.items()}
    for name in sorted({*NEEDLESS} & made.keys()):
        if chance.random() < 0.3:
            del made[name]
        elif name == "usage" and chance.random() < 0.5:  # a proxy that counts nothing
            made[name] = {"input_tokens": 0, "output_tokens": 0}
    return made


def healthy() -> list[Any]:
    """Recordings whose runs succeeded, as whoever collected them says; else the project's own."""
    found = [row.values[0] for row in expected() if row.values[1] == 0 and not row.marks]
    for path in (row.values[0] for row in SESSIONS if not row.marks):
        runs, good, *_ = EXPECTED[os.path.basename(path)]
        found += [path] * (runs == good)
    (table,) = corpus("unseen", suffix="EXPECTED.tsv")
    for line in () if table.marks else content(table.values[0]).decode().splitlines()[1:]:
        name, _, _, kind, _, verdicts, *_ = line.split("\t")
        path = os.path.join(SHARED, "unseen", name)
        if kind != "handmade" and {*verdicts.split()} == {"ok"} and os.path.exists(path):
            found.append(path)
    return found or [name for name, told in STREAMS.items() if told.status == 0]


@pytest.mark.parametrize("name", healthy())
def test_a_healthy_run_stays_one(name: str) -> None:
    data = STREAMS[name].data if name in STREAMS else content(name)
    if len(data) > MAX_BYTES:
        pytest.skip("large")
    rows = convert(data, "-t", "runs").objects
    assert {row["verdict"] for row in rows} == {"succeeded"}, rows
    whole = data.lstrip().startswith(b"[")
    lines = [line for line in data.splitlines() if line.startswith(b"{")]
    values = json.loads(data) if whole else map(json.loads, lines)
    chance = random.Random(name.rpartition("/")[2])
    fewer = b"".join(json.dumps(less(value, chance)).encode() + b"\n" for value in values)
    called = []
    for given in (data, fewer):
        ended = convert(given, "-t", "calls")
        assert ended.status == 0, ended.stderr
        called.append([row["tool"] for row in ended.objects])
    assert called[0] == called[1]
    assert "?" not in called[0]
