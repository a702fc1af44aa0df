"""Is a change of the module noticed, and by which test? CONTRIBUTING says how to ask. What runs the
changed line is tried, the quickest file of tests first, until one fails or MOST seconds are spent.
"""

from __future__ import annotations

import ast
import collections
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT, MOST = Path(__file__).resolve().parent.parent, 20.0
TURNED: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


class Mutant(NamedTuple):
    kind: str
    line: int
    change: str
    source: bytes


def mutants(source: bytes) -> Iterator[Mutant]:
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def changed(kind: str, node: Any, text: str, last: Any = None) -> Mutant:
        first = starts[node.lineno - 1] + node.col_offset
        end = starts[(last or node).end_lineno - 1] + (last or node).end_col_offset
        rest = source[end:] if text else re.sub(rb"^\s*,", b"", source[end:], count=1)
        change = f"{source[first:end].decode()!r} -> {text!r}"
        return Mutant(kind, node.lineno, change, source[:first] + text.encode() + rest)

    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield changed("comparison", node, f"({left} {TURNED[type(node.ops[0])]} {right})")
        elif isinstance(node, ast.BoolOp):
            other = " or " if isinstance(node.op, ast.And) else " and "
            parts = other.join(f"({ast.unparse(part)})" for part in node.values)
            yield changed("and/or", node, f"({parts})")
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


def drawn(source: bytes, rng: random.Random) -> Iterator[tuple[str, Mutant]]:
    """Room by room, and of each kind as many: else most would be comparisons."""
    banners = re.finditer(rb"^# -{5,} (.+)$", source, re.MULTILINE)
    heads = [(source.count(b"\n", 0, match.start()), match[1].decode()) for match in banners]
    rooms: dict[str, dict[str, list[Mutant]]] = {}
    for mutant in mutants(source):
        if before := [name for line, name in heads if line < mutant.line]:
            rooms.setdefault(before[-1], {}).setdefault(mutant.kind, []).append(mutant)
    while True:
        for name, kinds in rooms.items():
            yield name, rng.choice(kinds[rng.choice(sorted(kinds))])


def judged(folder: Path, tests: Mapping[str, float]) -> str:
    """The test that notices, or none."""
    files, spent = collections.defaultdict[str, dict[str, float]](dict), 0.0
    for test in sorted(tests, key=lambda test: tests[test]):
        files[test.partition("::")[0]][test] = tests[test]
    for some in sorted(files.values(), key=lambda some: sum(some.values())):
        command = f"timeout 300 {sys.executable} -m pytest -xqn0 -p no:cacheprovider".split()
        done = subprocess.run([*command, *some], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return failed[1] if failed else f"{next(iter(some))}: status {done.returncode}"
        if (spent := spent + sum(some.values())) > MOST:
            break
    return "LIVES"


def main(count: int, seed: int) -> None:
    seconds, named = collections.defaultdict[str, float](float), dict[str, str]()
    for case in ElementTree.parse(ROOT / "tests.xml").iter("testcase"):
        module, function = case.attrib["classname"], case.attrib["name"].partition("[")[0]
        if module not in ("tests.test_house", "tests.test_package"):  # of its form and its place
            test = f"{module.replace('.', '/')}.py::{function}"
            named[f"{module.rpartition('.')[2]}.{function}"] = test
            seconds[test] += float(case.attrib["time"])
    covered = json.loads((ROOT / "coverage.json").read_text())["files"]["agentfmt.py"]["contexts"]
    pairs = drawn((ROOT / "agentfmt.py").read_bytes(), random.Random(seed))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "agentfmt")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".*cache", ".venv"))
        Path(place, "shared").symlink_to(ROOT.parent / "shared")
        for room, mutant in itertools.islice(pairs, count):
            (folder / "agentfmt.py").write_bytes(mutant.source)
            ran = [named[one] for one in covered.get(str(mutant.line), ()) if one in named]
            by = judged(folder, {test: seconds[test] for test in ran or seconds})
            print(f"{room}, line {mutant.line}, {mutant.kind}: {mutant.change}: {by}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
