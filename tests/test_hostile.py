"""No text makes the program hang: every regular expression, and every output, is tried with texts
that repeat what it looks at.

A loop within a loop, or two in a row that take the same characters, need quadratic or exponential
time. A try has a limit of computing of which a linear one needs some percent; what reaches it is
looked at again, with two parts of its text.
"""

from __future__ import annotations

import ast
import collections
import functools
import itertools
import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from growth import KINDS, OUTPUTS, calls
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Hung, check_linear, content, convert, corpus, string_paths

import agentfmt

with open(agentfmt.__file__, encoding="utf-8") as module:
    SOURCE = module.read()


# ---------------------------------------------------------------- every expression

SIZE = 10_000  # characters: two loops make a hundred million steps of these
BEGUN = time.process_time()
re.search("a*b", "a" * (SIZE // 2))  # the quickest of what isn't linear takes four times as long
SECONDS = time.process_time() - BEGUN  # what is linear takes a tenth
METHODS = frozenset("search match fullmatch sub split findall finditer".split())
FLAGS = {"regex": 1, "compile": 1, "split": 3, "sub": 4}  # which argument, if it isn't the third
TAKE_PATTERNS = {f"re.{name}" for name in (*METHODS, "compile")} | {"regex", "find_code"}


class Expression(NamedTuple):
    name: str
    pattern: Any
    flags: int = 0
    methods: Iterable[str] = ("search",)  # how it is used
    size: int = SIZE


# What functions get to look for, by the name of a variable. What is made of escaped texts is not
# tried, nor what the user gives, or what looks at that.
TABLES: Mapping[str, Iterable[Any]] = {
    "rule": agentfmt.FAILURES.values(),
    "flag": [*agentfmt.TEXTS.values(), *agentfmt.TELLS.values()],
    "detached": agentfmt.DETACHED.values(),
    "options": agentfmt.VALUED.values(),
    "spelled": [pattern for pattern, _ in agentfmt.REWRITTEN],
    "escaped": [agentfmt.SINGLE_ESCAPE, agentfmt.DOUBLE_ESCAPE],
    "wording": agentfmt.RUN_FAILURES.values(),
    "form": [form.between.encode() for form in agentfmt.FORMS],
    "quote": [b"[%b\n]" % quote for quote in agentfmt.QUOTE_ENDS],
    "begin": agentfmt.IMAGES.values(),
    "source": [agentfmt.FIRST_OBJECT.pattern],
} | dict.fromkeys(
    (
        "expression pattern mistake written fnmatch numbered escaped named whole fence reason some "
        "end"
    ).split(),
    (),
)
# What these look at is cut to so many characters.
SEEN = {
    **dict.fromkeys("NAME_ALONE SETTING".split(), agentfmt.EXCERPT),
    **dict.fromkeys("PLACEHOLDER FURTHER_END HEX_END ESCAPED CODE_NAME".split(), agentfmt.NEAR),
    **dict.fromkeys("OPENING".split(), 2 * agentfmt.NEAR),
}


def expressions() -> Iterator[Expression]:
    """All that stand in the module, whether they have a name or not."""
    tree = ast.parse(SOURCE)
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    calls = ((part, node) for node in assigned for part in ast.walk(node))
    names = {
        part: ast.unparse(node.targets[0]) for part, node in calls if isinstance(part, ast.Call)
    }
    used = collections.defaultdict[str, set[str]](set)
    for name, method in re.findall(rf"\b(\w+)(?=(?:\[.*?\])?\.({'|'.join(METHODS)})\()", SOURCE):
        used[name].add(method)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in TAKE_PATTERNS:
            method = called(node).removeprefix("re.")
            name = names.get(node, "")
            methods = METHODS & {method, *used[name]} or {"match", "fullmatch"}
            for pattern in patterns_of(node.args[0]):
                flags = flags_of(node, FLAGS.get(method, 2))
                yield Expression(
                    name or f"line {node.lineno}", pattern, flags, methods, SEEN.get(name, SIZE)
                )


def called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return f"{node.func.value.id}.{node.func.attr}"
    return node.func.id if isinstance(node.func, ast.Name) else ""


def patterns_of(node: ast.expr) -> Iterable[Any]:
    """The values of an expression of Python: of an attribute, those of all classes."""
    source = ast.unparse(node).removeprefix("*")
    if source.startswith("self."):
        classes = (one for one in vars(agentfmt).values() if isinstance(one, type))
        found = {getattr(one, source.removeprefix("self."), None) for one in classes}
        return sorted(one for one in found if isinstance(one, str))  # for all workers the same
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if known := names & TABLES.keys():
        return TABLES[known.pop()]
    try:
        return [eval(source, vars(agentfmt))]
    except (NameError, TypeError):
        return [None]


def flags_of(call: ast.Call, position: int) -> int:
    named = [word.value for word in call.keywords if word.arg == "flags"]
    flags = [*call.args[position : position + 1], *named]
    return int(eval(ast.unparse(flags[0]), vars(agentfmt))) if flags else 0


COMMON = (
    " ", "\n", "\t", "\r", "'", '"', "\\", '\\"', "[", "`", "- ", "a", "A", "0", "_", "-", ".", "/",
    "<", ">", "&", "#", ":", "=", "{", ";", "a b ", "\x1b", "é",
)  # fmt: skip


def hostile(one: Expression) -> Iterator[tuple[str, str]]:
    """What texts repeat: a character or a word of the expression, or what is common. And an end
    that does not match."""
    source = one.pattern.decode("latin-1") if isinstance(one.pattern, bytes) else one.pattern
    words = re.findall(r"[^\W_]+|[^\w\s\\]{2,}|[^\\()\[\]{}*+?|.^$]+", source)
    for unit in sorted({*COMMON, *source, *words}):
        yield from ((unit, end) for end in ("\0", "\n\0"))


def try_out(one: Expression) -> None:
    compiled = re.compile(one.pattern, one.flags)
    for unit, end in hostile(one):
        for method in sorted(one.methods):

            def look(share: float, unit: str = unit, end: str = end, method: str = method) -> None:
                text: Any = unit * int(share * one.size / len(unit)) + end
                if isinstance(one.pattern, bytes):
                    text = text.encode("latin-1", "replace")
                if method in ("search", "match", "fullmatch"):
                    getattr(compiled, method)(text)
                else:
                    collections.deque(compiled.finditer(text), 0)

            check_linear(look, SECONDS)


EXPRESSIONS = [pytest.param(one, id=f"{one.name}-{n}") for n, one in enumerate(expressions())]


@pytest.mark.parametrize("one", EXPRESSIONS)
def test_an_expression_is_linear_in_what_it_looks_at(one: Expression) -> None:
    assert one.pattern is not None, "where it comes from must stand in TABLES"
    try_out(one)


@pytest.mark.parametrize("pattern", [
    r"(?:a|aa)+x", r"(?:- |-| )*\[", r"\s*\s*x", r"\s*,", r'"(?:[^"\\]|\\.)*"', r"(\w+)\s*=",
    r"a(.*?)\s*\Z", r"<b>(.*?)</b>", r"(?:x+y?)*z",
])  # fmt: skip
def test_an_expression_that_is_not_linear_is_noticed(pattern: str) -> None:
    with pytest.raises(Hung):
        try_out(Expression("", pattern))


# ---------------------------------------------------------------- every output

FOLDERS = (("recordings", ".ndjson"), ("captures", ".ndjson"), ("sessions", ".jsonl"))
PATHS = [param.values[0] for name, suffix in FOLDERS for param in corpus(name, suffix=suffix)]
VIEWS = {
    "text": ("-d", "-m", "all", "--thinking"),
    "summary": ("-q", "-s"),
} | {to: ("-t", to) for to in agentfmt.WRITERS if to != "text"}
LONG, LIMIT = 200_000, 2.0  # characters, and some 50 times what they need
PIECES = (
    *COMMON, "- - ", "\n- ", "\n1. ", "\n> ", "![", "](", "[a](", "http://a.b/", "www.", "`` `",
    "```\n", "~~~\n", "|", "**", "_a_", "@@\n", "\n+", "\n-", "\r1%", "\x1b[1m", "\x1b]", "sh -c '",
    "cd a && ", "*** Add File: a\n", "<command-name>", "exit code: 1\n", "::error::", "##[",
    "mcp__", "\ud83d", "漢", "\u202e", "...", ", ", "\\u0041", "=a ", "$(",
)  # fmt: skip


@functools.cache
def fields() -> dict[str, list[tuple[str, int, tuple[Any, ...]]]]:
    """Where strings stand in short streams, by the names of their members."""
    found = collections.defaultdict(list)
    for path in PATHS:
        if path and len(content(path)) < 50_000:
            for number, line in enumerate(objects(path)):
                for way in string_paths(line) if isinstance(line, (dict, list)) else ():
                    found[repr([key for key in way if isinstance(key, str)][-2:])].append(
                        (path, number, way)
                    )
    return dict(found)


def objects(path: str) -> list[Any]:
    try:
        return [json.loads(line) for line in content(path).splitlines()]
    except ValueError:
        return []


needs_streams = pytest.mark.skipif(not any(PATHS), reason="no recordings beside the checkout")


@needs_streams
@pytest.mark.parametrize("view", VIEWS)
@settings(max_examples=10, deadline=None)
@given(
    rng=st.randoms(use_true_random=False),
    units=st.lists(st.sampled_from(PIECES), min_size=1, max_size=2),
)
def test_no_text_makes_an_output_hang(view: str, rng: random.Random, units: list[str]) -> None:
    path, number, way = rng.choice(fields()[rng.choice(sorted(fields()))])
    lines, unit = objects(path), "".join(units)
    holder = functools.reduce(lambda value, key: value[key], way[:-1], lines[number])
    begin, end = holder[way[-1]][:100], rng.choice(("", "x", "\n"))

    def show(share: float) -> None:
        holder[way[-1]] = begin + unit * int(share * LONG / len(unit)) + end
        convert(b"".join(json.dumps(line).encode() + b"\n" for line in lines), *VIEWS[view])

    check_linear(show, LIMIT)


def test_a_prompt_of_many_elements_is_read_in_linear_time() -> None:
    element = "<system-reminder>Be careful.</system-reminder>\n"
    for typed in ("{}", "Go {}", "{} Go", "{} Go {}"):

        def read(share: float, typed: str = typed) -> None:
            agentfmt.without_context(typed.replace("{}", element * int(share * 4000)))

        check_linear(read, SECONDS)


# ---------------------------------------------------------------- what can repeat

# tests/growth.py at a small size: the work is the number of calls of functions, which no busy
# machine changes. Four times the input takes at most four times the work: what a conversion takes
# at the least makes it less, and what looks at all that came before up to sixteen times.
FEW, MOST = 40, 4.4
TRIED = [OUTPUTS[name] for name in ("-v -r", "-t calls", "markdown", "stream -r")]


@pytest.mark.parametrize(("kind", "options"), [*zip(KINDS, itertools.cycle(TRIED), strict=False)])
def test_work_grows_no_faster_than_the_input(kind: str, options: tuple[str, ...]) -> None:
    def work(data: Any, more: tuple[str, ...]) -> int:
        return calls(data, (*options, *more))

    few, many = KINDS[kind](FEW), KINDS[kind](4 * FEW)
    tries = (work(*many) < MOST * work(*few) for _ in range(2))  # the first compiles expressions
    assert any(tries)
