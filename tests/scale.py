"""Many cores: the verdicts and results of one process, whatever splits the log by session.

    python tests/scale.py [MEGABYTES]

An own job, not one of pytest's: it writes 200 MB of interleaved sessions and gives them to one
process, to the manual's awk, to GNU parallel, and to Spark (pyspark and a Java runtime). What is
not installed is left out, with a word.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from support import COMMAND, ENVIRON
from test_shippers import recipe

SHARDS = 4
OPEN = 500  # sessions at a time
AGENTFMT = " ".join([*COMMAND, "-t", "runs", "-m", "final", "--exit-zero"])


def event(kind: str, session: int, **members: object) -> str:
    return json.dumps(
        {"type": kind, **members, "session_id": f"session-{session}"}, separators=(",", ":")
    )


def words(text: str) -> dict[str, object]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def life(session: int) -> Iterator[str]:
    """The lines of a session; some fail, some never end, some have two runs."""
    for number in range(1 + session % 2):
        yield event("system", session, subtype="init", model="Auto", cwd="/work")
        for call in range(session % 7):
            args = {"args": {"command": f"make {call}"}}
            done = {**args, "result": {"success": {"exitCode": 0, "stdout": "x" * 400}}}
            ids = {"call_id": f"c{number}-{call}"}
            yield event(
                "tool_call", session, subtype="started", **ids, tool_call={"shellToolCall": args}
            )
            yield event(
                "tool_call", session, subtype="completed", **ids, tool_call={"shellToolCall": done}
            )
        yield from (
            event("assistant", session, message=words(f"{n} "), timestamp_ms=n) for n in range(9)
        )
        if session % 11:
            yield event(
                "result", session, subtype="success", is_error=session % 5 == 0, duration_ms=7
            )


def write_log(path: Path, size: int) -> None:
    """Sessions interleaved line by line, OPEN at a time."""
    alive, begun, wrote = list[Iterator[str]](), 0, 0
    with open(path, "w", encoding="utf-8") as file:
        while wrote < size or alive:
            while len(alive) < OPEN and wrote < size:
                alive.append(life(begun))
                begun += 1
            for one in list(alive):
                line = next(one, None)
                if line is None:
                    alive.remove(one)
                else:
                    wrote += file.write(f"{line}\n")


def shell(script: str, folder: Path) -> None:
    subprocess.run(["bash", "-euc", script], cwd=folder, env=ENVIRON, check=True)


def one_process(folder: Path) -> None:
    shell(f"{AGENTFMT} big.ndjson >out.0 2>err", folder)


def awk(folder: Path) -> None:
    (folder / "shard.awk").write_text(recipe("Many files, many cores"))
    shell(f'awk -v n={SHARDS} -v cmd="{AGENTFMT}" -f shard.awk big.ndjson', folder)


def parallel(folder: Path) -> None:
    """awk splits, parallel runs."""
    (folder / "shard.awk").write_text(recipe("Many files, many cores"))
    shell(f"awk -v n={SHARDS} -v cmd=cat -f shard.awk big.ndjson", folder)
    shell("for f in out.*; do mv $f in.$f; done", folder)
    shell(f"parallel '{AGENTFMT} {{}} >out.{{#}} 2>err' ::: in.*", folder)


def spark(folder: Path) -> None:
    script = f"""
import os
from pyspark.sql import SparkSession
from pyspark.sql.functions import monotonically_increasing_id, regexp_extract
spark = SparkSession.builder.master("local[2]").getOrCreate()
df = spark.read.text("big.ndjson")
rows = {recipe("Many files, many cores", 1).replace("agentfmt -t runs --exit-zero", AGENTFMT)}
with open("out.0", "w") as out:
    out.writelines(row + chr(10) for row in rows.toLocalIterator())
"""
    (folder / "job.py").write_text(script)
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    shell(f"{python} job.py 2>err || {{ tail -n 5 err >&2; exit 1; }}", folder)


def rows(folder: Path) -> list[dict[str, object]]:
    """What does not depend on where a line stands, in an order of its own."""
    lines = b"".join(path.read_bytes() for path in folder.glob("out.*")).splitlines()
    found = [json.loads(line) for line in lines]
    for row in found:
        del row["location"]
        row["reason"] = re.sub(r" at \S+:\d+", "", row["reason"] or "")
    return sorted(found, key=json.dumps)


def has_spark() -> bool:
    named = os.environ.get("PYSPARK_PYTHON") or importlib.util.find_spec("pyspark")
    return bool(named and shutil.which("java"))


WAYS: dict[str, tuple[Callable[[Path], None], Callable[[], object]]] = {
    "one process": (one_process, lambda: True),
    "awk": (awk, lambda: shutil.which("awk")),
    "parallel": (parallel, lambda: shutil.which("parallel")),
    "spark": (spark, has_spark),
}


def main(size: int) -> int:
    with tempfile.TemporaryDirectory() as parent:
        log, expected = Path(parent, "big.ndjson"), None
        write_log(log, size)
        for name, (way, is_there) in WAYS.items():
            if not is_there():
                print(f"{name}: not installed here")
                continue
            folder = Path(parent, name.replace(" ", "-"))
            folder.mkdir()
            (folder / "big.ndjson").symlink_to(log)
            begun = time.monotonic()
            way(folder)
            took, found = time.monotonic() - begun, rows(folder)
            expected = expected or found
            same = "the same" if found == expected else "DIFFERENT"
            failed = sum(row["verdict"] != "succeeded" for row in found)
            print(f"{name}: {len(found)} runs, {failed} failed, {same}, {took:.1f} s", flush=True)
            if found != expected:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1] if len(sys.argv) > 1 else 200) * 1_000_000))
