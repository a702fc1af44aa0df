"""What grows faster than its input: all that can repeat, for each output, with and without -r.

    python tests/growth.py [ROW OR COLUMN]...

An own job; tests/test_hostile.py tries each row once, at a small size.

Each kind is converted in three sizes, one twice the other. What is
compared is the number of calls of Python and C functions, which a busy machine does not change. The
work of one C function isn't seen by that, so user time counts as well, with more room. The table
shows by how much both grew for a doubling: 2 is linear. What grows faster is marked.
"""

from __future__ import annotations

import cProfile
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import agents
from support import (
    HERE,
    TOKEN,
    as_line,
    assistant,
    claude,
    completed,
    content,
    convert,
    delta,
    event,
    init,
    interleaved,
    result,
    returned,
    run_of,
    shell,
    started,
    thinking,
    use,
    user,
    whole_run,
)  # fmt: skip

import agentfmt

LIMIT, TIME_LIMIT = 2.2, 3.0
Kind = Callable[[int], "tuple[Any, tuple[str, ...]]"]  # data, or FILEs of it, and options


def nested(count: int) -> bytes:
    """Sub-agents in sub-agents."""
    return b"".join(
        claude(use("Task", f"t{n}", prompt="do"), parent_tool_use_id=f"t{n - 1}" if n else None)
        for n in range(count)
    ) + b"".join(
        claude(returned("ok", f"t{n}"), role="user", parent_tool_use_id=f"t{n - 1}" if n else None)
        for n in reversed(range(count))
    )


def escaped(depth: int) -> bytes:
    """JSON in JSON, which needs twice the escapes each time: as deep as the size allows."""
    text = json.dumps({"password": "hunter2hunter"})
    while len(text) < depth * 20:
        text = json.dumps({"body": text})
    return completed(result={"success": {"content": text}})


def learnt(count: int) -> bytes:
    """Values that their names give away, and copies of them."""
    given = "".join(f"DB_PASSWORD=Zk3{n:06}qTpXw9\nhost Zk3{n:06}qTpXw9\n" for n in range(count))
    return run_of(shell("cat .env", printed=given))


def lines_of(name: str) -> Kind:
    stream = content(HERE, name).splitlines(keepends=True)
    return lambda count: (b"".join(stream[n % len(stream)] for n in range(count)), ())


def repeated(line: bytes, *options: str) -> Kind:
    return lambda count: (run_of(line * count), options)


def plain(make: Callable[[int], bytes], *options: str) -> Kind:
    return lambda count: (make(count), options)


def steps(run: list[agents.Line]) -> Kind:
    """The lines of a run but its end, again and again."""
    return plain(lambda n: b"".join(map(as_line, run[:-1] * (n // 4))))


def many(option: str, value: str) -> Kind:
    def kind(count: int) -> tuple[bytes, tuple[str, ...]]:
        data = run_of(shell("make && ls | wc") * 200)
        given = ((option, value.replace("N", str(n))) for n in range(count // 20))
        return data, tuple(word for pair in given for word in pair)

    return kind


KINDS: dict[str, Kind] = {
    "runs": plain(lambda n: whole_run() * n),
    "sessions": plain(lambda n: b"".join(whole_run(f"s{k}") for k in range(n))),
    "sessions, interleaved": plain(
        lambda n: b"".join(
            interleaved(*(whole_run(f"s{k}").splitlines(keepends=True) for k in range(n)))
        )
    ),
    "unfinished runs": plain(lambda n: b"".join(init(f"s{k}") + user(f"s{k}") for k in range(n))),
    "unfinished runs of FILEs": lambda n: ({f"f{k}": [init(f"s{k}")] for k in range(n)}, ()),
    "inits": plain(lambda n: init() * n),
    "prompts": repeated(user()),
    "results": plain(lambda n: result() * n),
    "deltas": repeated(delta("Some words. ")),
    "deltas, one line": repeated(delta("word ")),
    "deltas, a paragraph": repeated(delta("word\n")),
    "deltas, a list": repeated(delta("* item **x\n")),
    "deltas, a table": repeated(delta("| a | b |\n")),
    "deltas, code": repeated(delta("```\n")),
    "replays": repeated(delta("a") + assistant("a")),
    "thoughts": repeated(thinking("Some words. ")),
    "calls": repeated(started() + completed()),
    "open calls": plain(lambda n: run_of(*(started(f"c{k}") for k in range(n)))),
    "open calls, then ended": plain(
        lambda n: run_of(
            *(started(f"c{k}") for k in range(n)), *(completed(f"c{k}") for k in range(n))
        )
    ),
    "failed commands": repeated(shell("make", 2, "a\nb\n")),
    "files": plain(
        lambda n: run_of(
            *(completed(f"c{k}", "editToolCall", args={"path": f"a{k}"}) for k in range(n))
        )
    ),
    "questions": repeated(event("interaction_query", subtype="request", query={"a": {}})),
    "errors": repeated(event("error", message="no")),
    "unknown types": plain(lambda n: run_of(*(event(f"x{k}") for k in range(n)))),
    "strays": plain(lambda n: event("odd", session=None) * n),
    "Claude": lines_of("sample-claude.ndjson"),
    "saved": lines_of("sample-session.jsonl"),
    "sub-agents, nested": plain(lambda n: init() + nested(n) + result(uuid="u")),
    "sub-agents, beside": plain(
        lambda n: init() + b"".join(nested(1).replace(b'"t0"', b'"a%d"' % k) for k in range(n))
    ),
    "learnt values": plain(learnt),
    "tokens": repeated(assistant(f"token {TOKEN} ")),
    "known values": many("--pattern", "aN=aNb{9}"),
    "--only": many("--only", "shell,target=xN*"),
    "--drop": many("--drop", "shell,target=xN*"),
    "--fail-on": many("--fail-on", "command=xN*"),
    "--fail-unless": many("--fail-unless", "command=xN*"),
    "commands in a line": plain(
        lambda n: run_of(shell("; ".join(f"echo {k}" for k in range(n)))), "--fail-on", "command=x*"
    ),
    "commands of find": plain(
        lambda n: run_of(shell("find . " + "-exec a " * n)), "--fail-on", "command=x*"
    ),
    "commands that may leave": plain(
        lambda n: run_of(shell("a || exit;" * n)), "--fail-unless", "command=x*"
    ),
    "commands in commands": plain(
        lambda n: run_of(shell("$(" * (n // 20) + "x" + ")" * (n // 20))), "--fail-on", "command=x*"
    ),
    "prose": plain(lambda n: whole_run() + b"npm warn deprecated\n" * n),
    "prose before": plain(lambda n: b"npm warn deprecated\n" * n + whole_run()),
    "damage": repeated(b'{"type":"assistant","mess\n'),
    "blank lines": plain(lambda n: b"\n" * n * 10 + whole_run()),
    "blank lines behind": plain(lambda n: whole_run() + b"\n" * n * 10),
    "{} lines": plain(lambda n: b"{}\n" * n * 10 + whole_run()),
    "{} lines behind": plain(lambda n: whole_run() + b"{}\n" * n * 10),
    "envelopes": plain(lambda n: b'{"log":"npm warn\\n","stream":"stdout"}\n' * n),
    "envelopes without an event": plain(lambda n: b'{"level":"info","message":"x"}\n' * n),
    "pieces": plain(lambda n: b'{"log":"{\\"type","stream":"stdout"}\n' * n),
    "two wrappings": plain(lambda n: b"WARN x: " + init() + whole_run("other") * n),
    "prefixes": plain(
        lambda n: b"".join(b"12:00:01 INFO " + x for x in (whole_run() * n).splitlines(True))
    ),
    "events on a line": plain(lambda n: whole_run().replace(b"\n", b"") * n + b"\n"),
    "an array": plain(lambda n: b"[" + b",".join(whole_run().splitlines() * n) + b"]\n"),
    "documents": plain(lambda n: b"{\n" + whole_run()[1:] * n),
    "JSON in JSON": plain(lambda n: run_of(escaped(n))),
    "a long line": plain(lambda n: run_of(assistant("words and " * n))),
    "a long line of one word": plain(lambda n: run_of(assistant("w" * 20 * n))),
    "a long command": plain(lambda n: run_of(shell("echo " + "x " * n))),
    "a long output": plain(lambda n: run_of(shell("make", 2, "line\n" * n))),
    "a long path": plain(
        lambda n: run_of(completed("c", "editToolCall", args={"path": "a/" * n}))
    ),
    "a deep value": plain(
        lambda n: run_of(event("x", deep=json.loads("[" * (n // 8) + "]" * (n // 8))))
    ),
    "a wide value": plain(lambda n: run_of(event("x", wide={f"k{k}": k for k in range(n)}))),
    "assignments": plain(lambda n: run_of(shell("cat", printed="password=abc1234567\n" * n))),
    "a value in periods": plain(
        lambda n: run_of(shell("cat", printed=f"api_key={'aA1' * n}\n{'aA1' * n}"))
    ),
    "base64": plain(lambda n: run_of(shell("cat", printed="QWxhZGRpbjpvcGVu" * n))),
    "private keys": repeated(assistant("-----BEGIN PRIVATE KEY-----\nMIIE\n")),
    "quotes": plain(lambda n: run_of(assistant("'\"" * n))),
    "brackets": plain(lambda n: run_of(assistant("[" * n))),
    "stars": plain(lambda n: run_of(assistant("*a _b " * n))),
    "backquotes": plain(
        lambda n: run_of(assistant("".join("`" * (k % 50) + " " for k in range(n // 5))))
    ),
    "mentions": plain(lambda n: run_of(assistant("@a #1 " * n))),
    "Codex": plain(
        lambda n: as_line({"type": "thread.started", "thread_id": "t"}) + b"".join(
            as_line({"type": "item.completed", "item": {"id": f"i{k}", "type": "command_execution",
            "command": "ls", "exit_code": 0}}) for k in range(n))
    ),
    **{name: steps(made) for name, made in agents.NEWER.items()},
}  # fmt: skip
OUTPUTS: dict[str, tuple[str, ...]] = {
    "text": ("-q",), "-v": ("-v",), "json": ("-t", "json"), "stream": ("-t", "stream-json"),
    "cursor": ("-t", "cursor"), "-t runs": ("-t", "runs"), "-t calls": ("-t", "calls"),
    "markdown": ("-t", "markdown"), "html": ("-t", "html"), "otlp": ("-t", "otlp"),
    "atif": ("-t", "atif"), "-v -r": ("-v", "-r", "all"),
    "stream -r": ("-t", "stream-json", "-r", "secrets"),
    "cursor -r": ("-t", "cursor", "-r", "all"), "html -r": ("-t", "html", "-r", "secrets"),
    "--max-event": ("-t", "cursor", "--max-event", "1K"),
}  # fmt: skip


def calls(data: Any, options: tuple[str, ...]) -> int:
    """How many calls of functions a conversion takes."""
    profile = cProfile.Profile()
    profile.runcall(convert, data, *options)
    return sum(entry.callcount for entry in profile.getstats())


def time_of(data: Any, options: tuple[str, ...]) -> float:
    """The processor's time without counting calls, in chunks as they are read."""
    size, begun = agentfmt.BLOCK, time.process_time()
    chunks = (
        [data[at : at + size] for at in range(0, len(data), size)] if type(data) is bytes else data
    )
    convert(chunks, *options)
    return time.process_time() - begun


def growth(kind: Kind, options: tuple[str, ...], size: int) -> tuple[float, float]:
    """By how much steps and time grew: the larger of two doublings, and that of the second."""
    seen = []
    for count in (size, 2 * size, 4 * size):
        data, more = kind(count)
        seen.append((calls(data, (*options, *more)), time_of(data, (*options, *more))))
    (one, _), (two, short), (four, long) = seen
    return max(two / one, four / two), long / max(short, 0.02)


def main(words: list[str]) -> int:
    rows = [name for name in KINDS if name in words] or [*KINDS]
    columns = [name for name in OUTPUTS if name in words] or [*OUTPUTS]
    size, bad = int(os.environ.get("SIZE", "200")), 0
    print(f"{'':27}", *(f"{name:>11}" for name in columns))
    for row in rows:
        cells = []
        for column in columns:
            counted, took = growth(KINDS[row], OUTPUTS[column], size)
            over = counted > LIMIT or took > TIME_LIMIT
            bad += over
            cells.append(f"{counted:.2f}/{took:.1f}{'!' if over else ' '}")
        print(f"{row:27}", *(f"{cell:>11}" for cell in cells), flush=True)
    print(f"{len(rows) * len(columns)} cells, {bad} over {LIMIT} in steps or {TIME_LIMIT} in time")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
