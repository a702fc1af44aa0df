"""Runs that succeeded: they do, all calls are named, and no rule reads a failure out of what is
missing, when members that no reader needs are taken out, some of them or all."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from typing import Any

import pytest
from support import HERE, SAME, SHARED, as_line, content, convert, sections, texts

TABLES = "captures/EXPECTED", "recordings/EXPECTED", "unseen/EXPECTED", "unseen/new/INDEX"
SAVED = """sessions/cl-happy-task sessions/cl-viewer-5c03 sessions/cx-agentcmd-0924
    sessions/cx-agtrace sessions/qw-asess unseen/saved/cl-shitchell-2.1.77
    unseen/saved/cl-viewer-fe5e unseen/saved/cx-agentcmd-0925 unseen/saved/qw-splitrail""".split()
NEEDLESS = re.compile(  # but a result's stats, or its time, say whose it is
    r"""(?xi) .*usage(?:metadata)? | .*tokens? | .*cost(?:usd)? | .*(?:time|duration|latency|_)_?ms
    | \w+AtMs | .*_at | .*timestamp | num_turns | service_tier | (?:parent)?uuid
    | (?:request|response|message|turn|interaction|conversation|reasoning|model_call)_?id"""
)


def less(value: Any, chance: random.Random, share: float) -> Any:
    """A value without a share of the members that no reader needs."""
    if isinstance(value, list):
        return [less(one, chance, share) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, one in value.items():
        if not NEEDLESS.fullmatch(name) or chance.random() >= share:
            made[name] = less(one, chance, share)
            if name == "usage" and chance.random() < 0.5:  # a proxy that counts nothing
                made[name] = {"input_tokens": 0, "output_tokens": 0}
    return made


def healthy() -> list[str]:
    """Recordings whose runs succeeded, as whoever collected them says; else the project's own."""
    if not os.path.isdir(SHARED):
        return [os.path.join(HERE, name) for name in texts(HERE, (".ndjson", ".jsonl"))]
    found = {f"captures/{name}.ndjson" for name, _ in sections("captures.txt")}
    found |= {f"{name}.jsonl" for name in SAVED}  # no table states how these end: well
    for name in TABLES:
        lines = content(SHARED, f"{name}.tsv").decode().splitlines()
        for row in csv.DictReader(lines, delimiter="\t"):
            file = row.get("file") or f"{row['name']}.ndjson"
            good = row.get("exit") == "0" or {*row.get("verdicts", "").split()} == {"ok"}
            if good and "handmade" not in row.get("kind", ""):
                found.add(f"{os.path.dirname(name)}/{file}")
    real = (name for name in found if not re.search("handmade|error", name))
    return sorted(name for name in real if os.path.exists(os.path.join(SHARED, name)))


@pytest.mark.parametrize("name", healthy())
def test_a_healthy_run_stays_one(name: str) -> None:
    data = content(SHARED, name)
    rows = convert(data, "-t", "runs").objects
    assert {row["verdict"] for row in rows} == {"succeeded"}, rows
    events = [json.loads(line) for line in convert(data, *SAME).lines if line.startswith("{")]
    chance = random.Random(name)
    fewer = (b"".join(as_line(less(one, chance, share)) for one in events) for share in (0, 0.3, 1))
    called = []
    for given in (data, *fewer):
        ended = convert(given, "-t", "calls")
        assert ended.status == 0, ended.stderr
        called.append([row["tool"] for row in ended.objects])
    assert called == [called[0]] * 4
    assert "?" not in called[0]
