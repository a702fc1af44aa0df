"""Runs that succeeded: they do, all calls are named, and no rule reads a failure out of what is
missing, when members that no reader needs are taken out."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from more_streams import STREAMS
from support import RECORDED, SHARED, content, convert, corpus

NEEDLESS = (
    "usage", "modelUsage", "usageMetadata", "duration_ms", "duration_api_ms", "durationMs",
    "ttft_ms", "num_turns", "tokens", "cost", "service_tier", "stats",
)  # fmt: skip
MAX_BYTES = 100_000  # what a file may hold: the suite is to be fast


def less(value: Any, chance: random.Random) -> Any:
    """A value without some members that no reader needs."""
    if isinstance(value, list):
        return [less(one, chance) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: less(one, chance) for name, one in value.items()}
    for name in sorted({*NEEDLESS} & made.keys()) if made.get("type") != "result" else ():
        if chance.random() < 0.3:
            del made[name]
        elif name == "usage" and chance.random() < 0.5:  # a proxy that counts nothing
            made[name] = {"input_tokens": 0, "output_tokens": 0}
    return made


# Of the last line of a run: the members that say that it ended well, whatever a reader makes of it.
GOOD_ENDS = (
    {"type": "result", "subtype": "success", "is_error": False},
    {"type": "result", "status": "success"},
    {"type": "turn.completed"},
    {"type": "step_finish", "part": {"reason": "stop"}},
    {"type": "completion", "isError": False},
    {"type": "result", "exitCode": 0},
    {"type": "agent_end", "willRetry": False},
)
BAD = (
    b'"turn.failed"',
    b'"is_error":true',
    b'"error_',
    b"API Error",
    b'"stop_reason":"max_tokens"',
)


def holds(line: Any, wanted: dict[str, Any]) -> bool:
    """Has a line some members, with these values?"""
    return isinstance(line, dict) and all(
        holds(line.get(name), value) if isinstance(value, dict) else line.get(name) == value
        for name, value in wanted.items()
    )


def says_it_is_good(data: bytes) -> bool:
    """Does a stream itself say that it has ended well?"""
    try:
        whole = data.lstrip().startswith(b"[")
        last = json.loads(data)[-1] if whole else json.loads(data.strip().rpartition(b"\n")[2])
    except (ValueError, IndexError):
        return False
    ended = any(holds(last, wanted) for wanted in GOOD_ENDS)
    return ended and not any(sign in data.replace(b'": ', b'":') for sign in BAD)


def expected() -> dict[str, str]:
    """The verdicts of streams from outside, as whoever collected them read them."""
    (table,) = corpus("unseen", suffix="EXPECTED.tsv")
    if table.marks:
        return {}
    rows = [line.split("\t") for line in content(table.values[0]).decode().splitlines()[1:]]
    return {os.path.join(SHARED, "unseen", row[0]): row[5] for row in rows if row[3] != "handmade"}


def healthy() -> list[Any]:
    """Recordings that say that all went well, or that were read so; else the project's streams."""
    files = [param.values[0] for param in RECORDED if not param.marks]
    good = [name for name in files if says_it_is_good(content(name))]
    good += [name for name, verdicts in expected().items()
             if {*verdicts.split()} == {"ok"} and os.path.exists(name)]  # fmt: skip
    return good or [name for name in STREAMS if says_it_is_good(data_of(name))]


def data_of(name: str) -> bytes:
    if name not in STREAMS:
        return content(name)
    lines = (line if isinstance(line, str) else json.dumps(line) for line in STREAMS[name][0])
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("name", healthy())
def test_a_healthy_run_stays_one(name: str) -> None:
    data = data_of(name)
    if len(data) > MAX_BYTES:
        pytest.skip("large")
    rows = convert(data, "-t", "runs").objects
    assert {row["verdict"] for row in rows} == {"succeeded"}, rows
    whole = data.lstrip().startswith(b"[")
    lines = [line for line in data.splitlines() if line.startswith(b"{")]
    values = json.loads(data) if whole else map(json.loads, lines)
    chance = random.Random(name.rpartition("/")[2])
    fewer = b"".join(json.dumps(less(value, chance)).encode() + b"\n" for value in values)
    for given in (data, fewer):
        ended = convert(given, "-t", "calls")
        assert ended.status == 0, ended.stderr
        assert all(row["tool"] != "?" for row in ended.objects)
