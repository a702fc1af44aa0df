"""Ratios of agentfmt to jq and to a floor loop, side by side in one run.

    python tests/bench.py [--size 200M] [--rounds 5] [--only text,json]

The stream is made by tests/stream.py (seeded). Every round runs each program once, in turn, with
the stream as standard input and the output thrown away; the round of each that took the processor
least counts. Machines are noisy: only the ratios mean something, and nothing here passes or fails.

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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from stream import Installed, source, stream

FLOOR = """
import sys, msgspec, agentfmt
kind = agentfmt.WRITERS[sys.argv[1]].event_type
kind = kind if sys.argv[2] == "Cursor" else dict
decode = msgspec.json.Decoder(kind).decode
for line in sys.stdin.buffer:
    decode(line)
"""
STARTUP = "import click, msgspec"
PROJECTION = (
    'select(.type == "tool_call" and .subtype == "completed") | .tool_call | keys_unsorted[]'
    ' | select(endswith("ToolCall"))'
)


class Row(NamedTuple):
    """One kind of work: agentfmt's options, and what it is held against.

    ``jq`` is jq's program for the same; the floor decodes the types that the output reads. With
    each go two figures, to reach and better still: how many times as fast as jq agentfmt shall be,
    and how many times the floor's time it may take. ``without``: as ``floor``, against agentfmt
    with other options.
    """

    name: str
    options: tuple[str, ...]
    jq: str = ""
    times: tuple[float, ...] = ()
    floor: tuple[float, ...] | None = None
    without: tuple[tuple[str, ...], tuple[float, ...]] | None = None
    stream: str = "cursor"
    dialect: str = "Cursor"  # whose lines the floor decodes


STREAM = ("-t", "stream-json", "--thinking")
SECRETS = (*STREAM, "-r", "secrets")
KNOWN = ("--secrets-file", "known")  # a file in the folder of the streams
DROP = ("-t", "stream-json", "--drop", "assistant")

OWN = (  # of Cursor's streams, whatever their files hold
    Row("text", ("-t", "text"), PROJECTION, (5.5, 7), (1.15, 1.1)),
    Row("json", ("-t", "json"), 'select(.type == "result")', (3.5, 4.5), (1.4, 1.2)),
    Row("stream", STREAM, ".", (9, 12), (1.3, 1.15)),
    Row("drop", DROP, 'select(.type!="assistant")', (8, 9), (1.2, 1.1)),
    Row("detail", ("-d", "-m", "all", "-s"), without=(("-t", "text"), (1.8, 1.4))),
)
FOREIGN = {  # a projection for text, and what to reach: text, runs, json, cursor, stream
    "claude": (
        'select(.type == "user") | .message.content[] | select(.type == "tool_result")'
        " | .tool_use_id",
        ((3, 5), (1.25,), (2, 3), (2, 3), (4, 6)),
    ),
    "codex": (
        'select(.type == "item.completed") | .item | select(.type == "command_execution") | .id',
        ((2, 3), (1.25,), (2, 3), (2, 3), (2, 3)),
    ),
    "pi": (
        'select(.type == "tool_execution_end") | .toolName',
        ((2, 3), (1.25,), (2, 3), (2, 3), (2, 3)),
    ),
}
SAVED = {  # jq's program for what all rows of a saved session need, and the agent's dialect
    "saved claude": ('select(.type == "assistant") | .message.usage', "SavedClaude"),
    "saved codex": ('select(.payload.type == "token_count") | .payload.info', "SavedCodex"),
}
SAVED_TIMES = {"text": (1.25,), "runs": (1,), "calls": (0.67,), "json": (1.25,)}
RESULT = 'select(.type == "result" or .type == "turn.completed" or .type == "agent_end")'
ROWS = (
    *OWN,
    *(row._replace(name=f"real {row.name}", stream="real") for row in OWN),
    *(
        Row(f"{agent} {name}", options, jq, times, (), None, agent)
        for agent, (projection, figures) in FOREIGN.items()
        for (name, options, jq), times in zip(
            (
                ("text", ("-t", "text"), projection),
                ("runs", ("-t", "runs"), projection),
                ("json", ("-t", "json"), RESULT),
                ("cursor", ("-t", "cursor", "--thinking"), "."),
                ("stream", STREAM, "."),
            ),
            figures,
            strict=True,
        )
    ),
    *(
        Row(f"{agent} {to}", ("-t", to), jq, times, (), None, agent, dialect)
        for agent, (jq, dialect) in SAVED.items()
        for to, times in SAVED_TIMES.items()
    ),
    Row("secrets", SECRETS, ".", (4, 5), None, (STREAM, (3,))),
    Row("secrets 100 known", (*SECRETS, *KNOWN), ".", (4, 5), None, (STREAM, (3,))),
    Row("secrets deltas", SECRETS, ".", (4, 5), None, (STREAM, (3,)), "deltas"),
    Row("deltas 100 known", (*SECRETS, *KNOWN), ".", (4, 5), None, (STREAM, (3,)), "deltas"),
    Row("secrets results", SECRETS, ".", (), None, (STREAM, (3,)), "results"),
    Row("results 100 known", (*SECRETS, *KNOWN), ".", (), None, (STREAM, (3,)), "results"),
    Row("secrets real", SECRETS, ".", (2.5, 4), None, (STREAM, ()), "real results"),
    Row("secrets images", SECRETS, ".", (10, 20), None, (STREAM, ()), "images"),
    Row("secrets in each line", SECRETS, ".", (), None, (STREAM, (20, 10)), "worst"),
)


def worst(size: int) -> Iterator[bytes]:
    """A stream in which every line holds a secret, most of them in words."""
    for line in stream(size):
        token = f"ghp_{line[-40:-20].hex()}{len(line):06d}"
        if b'"text":"' in line:
            yield line.replace(b'"text":"', f'"text":"{token} '.encode(), 1)
        else:
            yield line.replace(b'"session_id"', f'"note":"{token}","session_id"'.encode(), 1)


def calls(size: int, *, these: bool, kinds: Sequence[str] | None = None) -> Iterator[bytes]:
    """Of a stream the calls, with what files and commands hold; or all but these.

    With ``kinds`` their files hold what installed files of these kinds, or of all, hold.
    """
    contents = source if kinds is None else Installed(*kinds)
    for line in stream(sys.maxsize, contents=contents):
        frame = line.startswith((b'{"type":"system"', b'{"type":"result"'))
        if frame or line.startswith(b'{"type":"tool_call"') is these:
            size -= len(line)
            yield line
        if size < 0 and line.startswith(b'{"type":"result"'):
            return


def known_values() -> str:
    return "".join(
        f"KNOWN_{number}=value-{number * 7919:08d}-of-a-secret\n" for number in range(100)
    )


STREAMS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "cursor": stream,
    "real": lambda size: stream(size, contents=Installed()),
    **{agent: partial(stream, agent=agent) for agent in (*FOREIGN, *SAVED)},
    "deltas": partial(calls, these=False),
    "results": partial(calls, these=True),
    "real results": partial(calls, these=True, kinds=()),
    "images": partial(calls, these=True, kinds=("images",)),
    "worst": worst,
}


def seconds(command: list[str], stdin: Path | None) -> float:
    """What a process took of the processor: others may keep it waiting."""
    with open(stdin or os.devnull, "rb") as source, open(os.devnull, "wb") as sink:
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=sink)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return used.ru_utime + used.ru_stime


def best(commands: dict[str, list[str]], stdin: Path | None, rounds: int) -> dict[str, float]:
    """The least of some rounds of each command; within a round they take turns."""
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
    if row.floor is not None:
        commands["floor"] = [sys.executable, "-c", FLOOR, row.options[1], row.dialect]
    if row.without:
        commands["without"] = agentfmt(*row.without[0])
    if row.jq and shutil.which("jq"):
        commands["jq"] = ["jq", "-c", row.jq]
    took = best(commands, path, rounds)
    told = [f"{row.name:21} {path.stat().st_size / took['ours'] / 1e6:4.0f} MB/s"]
    if "jq" in took:
        told.append(f"{took['jq'] / took['ours']:.1f} x jq{wanted(row.times)}")
    if row.floor is not None:
        told.append(f"{took['ours'] / took['floor']:.2f} x the floor{wanted(row.floor)}")
    if row.without:
        ratio = took["ours"] / took["without"]
        told.append(f"{ratio:.2f} x {' '.join(row.without[0])}{wanted(row.without[1])}")
    print("   ".join(told), flush=True)


def wanted(figures: tuple[float, ...]) -> str:
    return f" ({', '.join(map(str, figures))})" if figures else ""


def start_up(rounds: int) -> None:
    commands = {
        "ours": agentfmt("--exit-zero", os.devnull),
        "floor": [sys.executable, "-c", STARTUP],
    }
    took = best(commands, None, rounds * 4)
    ratio = took["ours"] / took["floor"]
    print(f"{'start-up':22} {ratio:.2f} x {STARTUP!r}{wanted((1.15, 1.1))}")


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
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start would compile it anew
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
