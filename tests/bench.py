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
import base64
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from stream import Session, stream

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
    """One kind of work: agentfmt's options, and what it is held against, with the target of each.

    ``jq`` is jq's program for the same and how many times as fast agentfmt shall be (target,
    stretch); ``floor`` the writer whose types the floor loop decodes, and how many times its time
    agentfmt may take; ``without`` the options of another run of agentfmt, and the same of that.
    """

    name: str
    options: tuple[str, ...]
    jq: tuple[str, float, float] | None = None
    floor: tuple[str, float] | None = None
    without: tuple[tuple[str, ...], float] | None = None
    stream: str = "cursor"


STREAM = ("-t", "stream-json", "--thinking")
SECRETS = (*STREAM, "-r", "secrets")
KNOWN = ("--secrets-file", "known")  # a file in the folder of the streams

ROWS = (
    Row("text", ("-t", "text"), (PROJECTION, 5, 6.5), ("text", 1.4)),
    Row("json", ("-t", "json"), ('select(.type == "result")', 3, 4), ("json", 1.6)),
    Row("stream", STREAM, (".", 8, 10), ("stream-json", 1.6)),
    Row("drop", ("-t", "stream-json", "--drop", "assistant"), ('select(.type!="assistant")', 6, 8)),
    Row("secrets", SECRETS, (".", 3.3, 5), None, (STREAM, 3)),
    Row("secrets 100 known", (*SECRETS, *KNOWN), (".", 3.3, 5), None, (STREAM, 3)),
    Row("secrets deltas", SECRETS, (".", 4, 5), None, (STREAM, 3), "deltas"),
    Row("deltas 100 known", (*SECRETS, *KNOWN), None, None, (STREAM, 3), "deltas"),
    Row("secrets results", SECRETS, None, None, (STREAM, 3), "results"),
    Row("results 100 known", (*SECRETS, *KNOWN), None, None, (STREAM, 3), "results"),
    Row("secrets code", SECRETS, (".", 2.5, 4), None, (STREAM, 0), "code"),
    Row("secrets base64", SECRETS, (".", 10, 20), None, (STREAM, 0), "base64"),
    Row("secrets in each line", SECRETS, (".", 0, 0), None, (STREAM, 20), "worst"),
    # Nothing is promised for what is translated.
    Row("claude text", ("-t", "text"), (CLAUDE_PROJECTION, 0, 0), None, None, "claude"),
    Row("claude json", ("-t", "json"), ('select(.type == "result")', 0, 0), None, None, "claude"),
    Row("claude cursor", ("-t", "cursor", "--thinking"), (".", 0, 0), None, None, "claude"),
    Row("claude stream", STREAM, (".", 0, 0), None, None, "claude"),
)


def worst(size: int) -> Iterator[bytes]:
    """A stream in which every line holds a secret, most of them in words."""
    for line in stream(size):
        token = f"ghp_{line[-40:-20].hex()}{len(line):06d}"
        if b'"text":"' in line:
            yield line.replace(b'"text":"', f'"text":"{token} '.encode(), 1)
        else:
            yield line.replace(b'"session_id"', f'"note":"{token}","session_id"'.encode(), 1)


def calls(size: int, *, these: bool) -> Iterator[bytes]:
    """Of a stream the calls, with what files and commands hold; or all but these."""
    for line in stream(sys.maxsize):
        frame = line.startswith((b'{"type":"system"', b'{"type":"result"'))
        if frame or line.startswith(b'{"type":"tool_call"') is these:
            size -= len(line)
            yield line
        if size < 0 and line.startswith(b'{"type":"result"'):
            return


# What tool results hold: by share, and by the ends of the names of files that this machine has.
MIX = (
    (0.50, (".py", ".js", ".ts", ".c", ".h", ".go", ".rs", ".pm", ".php", ".java", ".sh")),
    (0.20, (".md", ".rst", ".html", ".txt")),
    (0.15, (".toml", ".yaml", ".yml", ".cfg", ".conf", ".ini", ".xml")),
    (0.10, (".lock", ".json")),
)
INSTALLED = (sys.base_prefix, sys.prefix, "/usr/lib", "/usr/local/lib", "/usr/share")


def installed(rng: random.Random, ends: tuple[str, ...], size: int) -> Iterator[str]:
    """Texts of this machine's files, some of them more than once if it has too few."""
    found = sorted(
        os.path.join(folder, name)
        for root in INSTALLED
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(ends)
    )
    while found and size > 0:
        for path in rng.sample(found, len(found)):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                text = Path(path).read_text("utf-8")[:100_000]
                size -= len(text)
                yield text
            if size < 0:
                break


def images(rng: random.Random, size: int) -> Iterator[str]:
    for _ in range(0, size, 80_000):
        yield base64.b64encode(rng.randbytes(60_000)).decode()


def results(texts: Callable[[random.Random], Iterable[str]]) -> Iterator[bytes]:
    """A run that reads files: these are what it reads."""
    rng = random.Random(1)
    session = Session(rng)
    first, *_, last = session.run()
    yield first
    for text in texts(rng):
        yield from session.call("readToolCall", {"path": "a"}, {"success": {"content": text}})
    yield last


def code(size: int) -> Iterator[bytes]:
    """What agents really read: shares of MIX, and images."""

    def texts(rng: random.Random) -> list[str]:
        mixed = [text for share, ends in MIX for text in installed(rng, ends, int(share * size))]
        mixed += images(rng, size // 20)
        return rng.sample(mixed, len(mixed))

    return results(texts)


def known_values() -> str:
    return "".join(
        f"KNOWN_{number}=value-{number * 7919:08d}-of-a-secret\n" for number in range(100)
    )


STREAMS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "cursor": stream,
    "claude": partial(stream, agent="claude"),
    "deltas": partial(calls, these=False),
    "results": partial(calls, these=True),
    "worst": worst,
    "code": code,
    "base64": lambda size: results(lambda rng: images(rng, size)),
}


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
    os.chdir(path.parent)
    commands = {"ours": agentfmt(*row.options)}
    if row.floor:
        commands["floor"] = [sys.executable, "-c", FLOOR, row.floor[0]]
    if row.without:
        commands["without"] = agentfmt(*row.without[0])
    if row.jq and shutil.which("jq"):
        commands["jq"] = ["jq", "-c", row.jq[0]]
    took = best(commands, path, rounds)
    told = [f"{row.name:21} {path.stat().st_size / took['ours'] / 1e6:4.0f} MB/s"]
    if row.jq and "jq" in took:
        target = f" (target {row.jq[1]:g}, stretch {row.jq[2]:g})" if row.jq[1] else ""
        told.append(f"{took['jq'] / took['ours']:.1f} x jq{target}")
    for name, limit in (("floor", row.floor), ("without", row.without)):
        if limit:
            most = f" (at most {limit[1]:g})" if limit[1] else ""
            told.append(f"{took['ours'] / took[name]:.2f} x the time of {NAMES[name]}{most}")
    print("   ".join(told), flush=True)


NAMES = {"floor": "the floor", "without": "the same without -r"}


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
        (Path(folder) / "known").write_text(known_values())
        print(f"Python {sys.version.split()[0]}, {options.size / 1e6:.0f} MB")
        for row in ROWS:
            path = Path(folder) / row.stream
            if row.name not in chosen:
                continue
            if not path.exists():
                with path.open("wb") as file:
                    file.writelines(STREAMS[row.stream](options.size))
            measure(row, path, options.rounds)
    start_up(options.rounds)


if __name__ == "__main__":
    main()
