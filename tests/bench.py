"""Ratios of agentfmt to jq and to a floor loop, side by side in one run.

    python tests/bench.py [--size 200] [--rounds 5] [--only text,json]

The stream is made by tests/stream.py (seeded). Every round runs each program once, in turn, with
the stream as standard input and the output thrown away; the round of each that took the processor
least counts. Machines are noisy: only the ratios mean something, and nothing here passes or fails.

The floor is a bare loop in the same interpreter: it reads the lines and decodes them with msgspec
into the types that agentfmt decodes them into.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from stream import Contents, image, installed, source, stream

FLOOR = """
import sys, msgspec, agentfmt
kind = agentfmt.WRITERS[sys.argv[1]].event_type
kind = kind if sys.argv[2] in ("cursor", "real") else dict
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

    ``jq`` is jq's program for the same, ``without`` agentfmt with other options.
    """

    name: str
    options: tuple[str, ...]
    jq: str = ""
    without: tuple[str, ...] = ()
    stream: str = "cursor"


STREAM = ("-t", "stream-json", "--thinking")
SECRETS = (*STREAM, "-r", "secrets")
KNOWN = (*SECRETS, "--secrets-file", "known")  # a file in the folder of the streams

OWN = (  # of Cursor's streams, whatever their files hold
    Row("text", ("-t", "text"), PROJECTION),
    Row("json", ("-t", "json"), 'select(.type == "result")'),
    Row("stream", STREAM, "."),
    Row("drop", ("-t", "stream-json", "--drop", "assistant"), 'select(.type != "assistant")'),
    Row("detail", ("-d", "-m", "all", "-s"), without=("-t", "text")),
)
FOREIGN = {  # a projection for text
    "claude": 'select(.type == "user") | .message.content[] | select(.type == "tool_result")'
    " | .tool_use_id",
    "codex": 'select(.type == "item.completed") | .item | select(.type == "command_execution")',
    "pi": 'select(.type == "tool_execution_end") | .toolName',
}
SAVED = {  # for what all rows of a saved session need
    "saved claude": 'select(.type == "assistant") | .message.usage',
    "saved codex": 'select(.payload.type == "token_count") | .payload.info',
}
RESULT = 'select(.type == "result" or .type == "turn.completed" or .type == "agent_end")'
ROWS = (
    *OWN,
    *(row._replace(name=f"real {row.name}", stream="real") for row in OWN),
    *(
        Row(f"{agent} {name}", options, jq, stream=agent)
        for agent, projection in FOREIGN.items()
        for name, options, jq in (
            ("text", ("-t", "text"), projection),
            ("runs", ("-t", "runs"), projection),
            ("json", ("-t", "json"), RESULT),
            ("cursor", ("-t", "cursor", "--thinking"), "."),
            ("stream", STREAM, "."),
        )
    ),
    *(
        Row(f"{agent} {to}", ("-t", to), jq, stream=agent)
        for agent, jq in SAVED.items()
        for to in ("text", "runs", "calls", "json")
    ),
    *(
        Row(f"{name} {stream}", options, ".", STREAM, stream)
        for stream in ("cursor", "deltas", "results", "real results", "images", "worst")
        for name, options in (("secrets", SECRETS), ("known", KNOWN))
    ),
)


def worst(size: int) -> Iterator[bytes]:
    """A stream in which every line holds a secret, most of them in words."""
    for line in stream(size):
        token = f"ghp_{line[-40:-20].hex()}{len(line):06d}"
        if b'"text":"' in line:
            yield line.replace(b'"text":"', f'"text":"{token} '.encode(), 1)
        else:
            yield line.replace(b'"session_id"', f'"note":"{token}","session_id"'.encode(), 1)


def calls(size: int, *, these: bool, contents: Contents = source) -> Iterator[bytes]:
    """Of a stream the calls, with what files and commands hold; or all but these."""
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
    "real": partial(stream, contents=installed),
    **{agent: partial(stream, agent=agent) for agent in (*FOREIGN, *SAVED)},
    "deltas": partial(calls, these=False),
    "results": partial(calls, these=True),
    "real results": partial(calls, these=True, contents=installed),
    "images": partial(calls, these=True, contents=image),
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
    if row.without:
        commands["without"] = agentfmt(*row.without)
    else:
        commands["floor"] = [sys.executable, "-c", FLOOR, row.options[1], row.stream]
    if row.jq and shutil.which("jq"):
        commands["jq"] = ["jq", "-c", row.jq]
    took = best(commands, path, rounds)
    told = [f"{row.name:21} {path.stat().st_size / took['ours'] / 1e6:4.0f} MB/s"]
    named = {"jq": "jq", "floor": "the floor", "without": " ".join(row.without)}
    told += [
        f"{took['ours'] / took[name]:.2f} x {named[name]}" for name in commands if name != "ours"
    ]
    print("   ".join(told), flush=True)


def start_up(rounds: int) -> None:
    commands = {
        "ours": agentfmt("--exit-zero", os.devnull),
        "floor": [sys.executable, "-c", STARTUP],
    }
    took = best(commands, None, rounds * 4)
    ratio = took["ours"] / took["floor"]
    print(f"{'start-up':22} {ratio:.2f} x {STARTUP!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=200, help="of the stream, in MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows, by name, separated by commas")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start would compile it anew
    chosen = options.only.split(",") if options.only else [row.name for row in ROWS]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "known").write_text(known_values())
        print(f"Python {sys.version.split()[0]}, {options.size} MB")
        for row in ROWS:
            path = Path(folder) / row.stream
            if row.name not in chosen:
                continue
            if not path.exists():
                with path.open("wb") as file:
                    file.writelines(STREAMS[row.stream](options.size * 10**6))
            measure(row, path, options.rounds)
    start_up(options.rounds)


if __name__ == "__main__":
    main()
