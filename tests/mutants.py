"""Is a change of the module noticed, and by which test? CONTRIBUTING says how to ask. What runs the
changed line, or those around a table's, is tried, the quickest file of tests first, until one
fails. "Undecided": none did, and some were left when MOST seconds of the processor were spent."""

from __future__ import annotations

import ast
import collections
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT, MOST = Path(__file__).resolve().parent.parent, 60.0
PYTEST = ["sh", "-c", 'ulimit -t 300; exec "$@"', "-", sys.executable, "-m", "pytest"]
PYTEST += "-xq -n0 --assert=plain --tb=native -p no:cacheprovider".split()
PASSED_BY = (".git", ".*cache", ".venv", ".hypothesis")  # the last: examples that failed elsewhere
COSTS = collections.defaultdict[str, float](float)  # what a file of tests took last
# Its kind, its line, the change; where what stands there begins and ends, and what is put there.
Mutant = tuple[str, int, str, tuple[int, int, str]]
TURNED = dict(zip("Eq NotEq Lt GtE Gt LtE In NotIn Is IsNot".split(),
                  "!=,==,>=,<,<=,>,not in,in,is not,is".split(","), strict=True))  # fmt: skip


def mutants(source: bytes) -> Iterator[Mutant]:
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def changed(kind: str, node: Any, text: str, last: Any = None) -> Mutant:
        first = starts[node.lineno - 1] + node.col_offset
        end = starts[(last or node).end_lineno - 1] + (last or node).end_col_offset
        change = f"{source[first:end].decode()!r} -> {text!r}"
        return kind, node.lineno, change, (first, end, text)

    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield changed(
                "comparison", node, f"({left} {TURNED[type(node.ops[0]).__name__]} {right})"
            )
        elif isinstance(node, ast.BoolOp):
            other = ") or (" if isinstance(node.op, ast.And) else ") and ("
            yield changed("and/or", node, f"(({other.join(map(ast.unparse, node.values))}))")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield changed("constant", node, str(node.value + 1))
        elif isinstance(node, (ast.If, ast.IfExp)) and ":=" not in ast.unparse(node.test):
            yield changed("branch", node.test, "False")
        elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
            yield changed("return", node.value, "None")
    for table in (getattr(node, "value", None) for node in tree.body):
        if isinstance(table, ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                yield changed("row", key or value, "" if key else "{}", value)
        elif isinstance(table, (ast.Tuple, ast.List)) and len(table.elts) > 2:
            yield from (changed("row", item, "") for item in table.elts)


def mutated(source: bytes, first: int, end: int, text: str) -> bytes:
    rest = source[end:] if text else re.sub(rb"^\s*,", b"", source[end:], count=1)
    return source[:first] + text.encode() + rest


def drawn(source: bytes, rng: random.Random) -> Iterator[tuple[str, Mutant]]:
    """Room by room, and of each kind as many: else most would be comparisons."""
    banners = re.finditer(rb"^# -{5,} (.+)$", source, re.MULTILINE)
    heads = [(source.count(b"\n", 0, match.start()), match[1].decode()) for match in banners]
    rooms: dict[str, dict[str, list[Mutant]]] = {}
    for mutant in mutants(source):
        if before := [name for line, name in heads if line < mutant[1]]:
            rooms.setdefault(before[-1], {}).setdefault(mutant[0], []).append(mutant)
    while True:
        for name, kinds in rooms.items():
            yield name, rng.choice(kinds[rng.choice(sorted(kinds))])


def judged(folder: Path, tests: Iterable[str]) -> str:
    """The test that notices, or none."""
    grouped = itertools.groupby(sorted(tests), lambda test: test.partition("::")[0])
    files, spent = {file: [*some] for file, some in grouped}, 0.0
    for tried, file in enumerate(sorted(files, key=COSTS.__getitem__)):
        if spent > MOST:
            return f"undecided, {len(files) - tried} of {len(files)} files left"
        begun = sum(os.times()[2:4])
        done = subprocess.run([*PYTEST, *files[file]], cwd=folder, capture_output=True, text=True)
        spent += (took := sum(os.times()[2:4]) - begun)
        COSTS[file] = took
        if done.returncode not in (0, 5):  # 5: the test of a row went with it
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return failed[1] if failed else f"{file}: status {done.returncode}"
    return "LIVES"


def main(count: int, seed: int) -> None:
    every = {path.stem: f"tests/{path.name}" for path in sorted(ROOT.glob("tests/test_*.py"))}
    del every["test_house"], every["test_package"]  # of its form and its place
    covered = json.loads((ROOT / "coverage.json").read_text())["files"]["agentfmt.py"]["contexts"]
    source = (ROOT / "agentfmt.py").read_bytes()
    pairs = drawn(source, random.Random(seed))

    def reaching(lines: Iterable[int]) -> set[str]:
        found = itertools.chain(*(covered.get(str(line), ()) for line in lines))
        parts = (context.partition(".") for context in found)
        return {f"{every[module]}::{test}" for module, _, test in parts if module in every}

    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "agentfmt")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*PASSED_BY))
        Path(work, "shared").symlink_to(ROOT.parent / "shared")
        for number, (room, mutant) in enumerate(itertools.islice(pairs, count)):
            kind, line, change, place = mutant
            (folder / "agentfmt.py").write_bytes(mutated(source, *place))
            os.utime(folder / "agentfmt.py", (number, number))  # else another's bytecode may do
            near = range(line - 200, line + 200)  # what uses a table stands in its room
            by = judged(folder, reaching([line]) or reaching(near) or every.values())
            print(f"{room}, line {line}, {kind}: {change}: {by}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
