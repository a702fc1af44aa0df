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
import itertools
import os
import random
import re
import shutil
import string
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
    floor: str = ""  # the writer whose types the floor loop decodes
    limit: float = 0  # times the floor


STREAM = ("-t", "stream-json", "--thinking")
DROP = ("-t", "stream-json", "--drop", "assistant")
ROWS = (
    Row("text", ("-t", "text"), PROJECTION, 5, 6.5, "text", 1.4),
    Row("json", ("-t", "json"), 'select(.type == "result")', 3, 4, "json", 1.6),
    Row("stream", STREAM, ".", 8, 10, "stream-json", 1.6),
    Row("drop", DROP, 'select(.type != "assistant")', 6, 8, "stream-json", 1.6),
    Row("secrets", (*STREAM, "-r", "secrets"), ".", 3.3, 5),
)  # fmt: skip


class Cost(NamedTuple):
    """What redaction costs: the same run with and without it."""

    name: str
    options: tuple[str, ...]
    secret: bool = False  # in every line


COSTS = (
    Cost("secrets/none", ("-r", "secrets")),
    Cost("secrets-100/none", ("--secrets-file", "{known}")),
    Cost("every-line/none", ("-r", "secrets"), secret=True),
)


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
    commands = {"ours": agentfmt(*row.options)}
    if row.floor:
        commands["floor"] = [sys.executable, "-c", FLOOR, row.floor]
    if shutil.which("jq"):
        commands["jq"] = ["jq", "-c", row.jq]
    took = best(commands, path, rounds)
    speed = path.stat().st_size / took["ours"] / 1e6
    jq = f"{took['jq'] / took['ours']:5.1f}" if "jq" in took else "    -"
    print(
        f"{row.name:22} {speed:5.0f} MB/s   {jq} x jq (target {row.target:g}, stretch "
        f"{row.stretch:g})",
        end="" if row.floor else "\n",
        flush=True,
    )
    if row.floor:
        print(f"   {took['ours'] / took['floor']:.2f} x floor (at most {row.limit:g})", flush=True)


def cost(row: Cost, path: Path, rounds: int) -> None:
    """How many times longer a run with redaction takes."""
    rng = random.Random(1)
    known, source = path.with_suffix(".known"), path
    values = ("".join(rng.choices(string.ascii_letters, k=24)) for _ in range(100))
    known.write_text("\n".join(values))
    if row.secret:
        source = path.with_suffix(".secrets")
        token = "ghp_" + "".join(rng.choices(string.ascii_letters, k=36))
        with path.open("rb") as plain, source.open("wb") as planted:
            for line in itertools.islice(plain, 100_000):
                planted.write(line.rstrip()[:-1] + f',"note":"{token}"}}\n'.encode())
    options = [option.format(known=known) for option in row.options]
    commands = {"with": agentfmt(*STREAM, "--exit-zero", *options)}
    commands["without"] = agentfmt(*STREAM, "--exit-zero")
    took = best(commands, source, rounds)
    limit = "no limit" if row.secret else "at most 3, stretch 2"
    print(f"{row.name:22} {took['with'] / took['without']:.2f} x without ({limit})", flush=True)


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
    chosen = options.only.split(",") if options.only else [row.name for row in (*ROWS, *COSTS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.ndjson"
        with path.open("wb") as file:
            file.writelines(stream(options.size))
        print(f"Python {sys.version.split()[0]}, {path.stat().st_size / 1e6:.0f} MB")
        for row in ROWS:
            if row.name in chosen:
                measure(row, path, options.rounds)
        for each in COSTS:
            if each.name in chosen:
                cost(each, path, options.rounds)
    start_up(options.rounds)


if __name__ == "__main__":
    main()
