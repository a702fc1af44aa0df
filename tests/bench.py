"""Ratios of agentfmt to jq and to a floor loop, side by side in one run.

    python tests/bench.py [--size 200M] [--rounds 5] [--only text,json]

The stream is made by tests/stream.py (seeded). Every round runs each program once, in turn, with
the stream as standard input and the output thrown away; the best round of each counts. Machines
are noisy: only the ratios mean something, and nothing here passes or fails.

The floor is a bare loop in the same interpreter: it reads the lines and decodes them with msgspec
into the types that agentfmt decodes them into.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from stream import stream

FLOOR = """
import sys, msgspec, agentfmt
decode = msgspec.json.Decoder(agentfmt.WRITERS[sys.argv[1]].kind).decode
for line in sys.stdin.buffer:
    decode(line)
"""
STARTUP = "import click, msgspec"
CLAUDE_PROJECTION = (
    'select(.type == "user") | .message.content[] | select(.type == "tool_result") | .tool_use_id'
)
PROJECTION = (
    'select(.type == "tool_call" and .subtype == "completed") | .tool_call | keys_unsorted[]'
    ' | select(endswith("ToolCall"))'
)


class Row(NamedTuple):
    """One kind of work: agentfmt's options, jq's program for the same, the targets of both."""

    name: str
    options: tuple[str, ...]
    jq: str
    target: float  # times jq
    stretch: float
    floor: str  # the writer whose types the floor loop decodes
    limit: float  # times the floor
    agent: str = "cursor"


ROWS = (
    Row("text", ("-t", "text"), PROJECTION, 5, 6.5, "text", 1.4),
    Row("json", ("-t", "json"), 'select(.type == "result")', 3, 4, "json", 1.6),
    Row("stream", ("-t", "stream-json", "--thinking"), ".", 8, 10, "stream-json", 1.6),
    # Nothing is promised for what is translated.
    Row("claude text", ("-t", "text"), CLAUDE_PROJECTION, 0, 0, "text", 0, "claude"),
    Row("claude json", ("-t", "json"), 'select(.type == "result")', 0, 0, "json", 0, "claude"),
    Row("claude cursor", ("-t", "cursor", "--thinking"), ".", 0, 0, "cursor", 0, "claude"),
    Row("claude stream", ("-t", "stream-json", "--thinking"), ".", 0, 0, "cursor", 0, "claude"),
)  # fmt: skip


def seconds(command: list[str], stdin: Path | None) -> float:
    with open(stdin or os.devnull, "rb") as source, open(os.devnull, "wb") as sink:
        begin = time.perf_counter()
        subprocess.run(command, stdin=source, stdout=sink, check=True)
        return time.perf_counter() - begin


def best(commands: dict[str, list[str]], stdin: Path | None, rounds: int) -> dict[str, float]:
    """The fastest of some rounds of each command; within a round they take turns."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command, stdin))
    return {name: min(found) for name, found in times.items()}


def agentfmt(*options: str) -> list[str]:
    return [sys.executable, "-m", "agentfmt", *options]


def measure(row: Row, path: Path, rounds: int) -> None:
    commands = {
        "ours": agentfmt(*row.options),
        "floor": [sys.executable, "-c", FLOOR, row.floor],
    }
    if shutil.which("jq"):
        commands["jq"] = ["jq", "-c", row.jq]
    took = best(commands, path, rounds)
    speed = path.stat().st_size / took["ours"] / 1e6
    jq = f"{took['jq'] / took['ours']:5.1f}" if "jq" in took else "    -"
    print(
        f"{row.name:22} {speed:5.0f} MB/s   {jq} x jq (target {row.target:g}, stretch "
        f"{row.stretch:g})   {took['ours'] / took['floor']:.2f} x floor (at most {row.limit:g})",
        flush=True,
    )


def start_up(rounds: int) -> None:
    commands = {
        "ours": agentfmt("--exit-zero", os.devnull),
        "floor": [sys.executable, "-c", STARTUP],
    }
    took = best(commands, None, rounds * 4)
    print(f"{'start-up':22} {took['ours'] / took['floor']:.2f} x {STARTUP!r} (at most 1.3)")


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no size")
    scale: int = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}[match[2]]
    return int(match[1]) * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=size, default="200M", help="of the stream (default 200M)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows, by name, separated by commas")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [row.name for row in ROWS]
    with tempfile.TemporaryDirectory() as folder:
        print(f"Python {sys.version.split()[0]}, {options.size / 1e6:.0f} MB")
        for row in ROWS:
            path = Path(folder) / row.agent
            if row.name not in chosen:
                continue
            if not path.exists():
                with path.open("wb") as file:
                    file.writelines(stream(options.size, agent=row.agent))
            measure(row, path, options.rounds)
    start_up(options.rounds)


if __name__ == "__main__":
    main()
