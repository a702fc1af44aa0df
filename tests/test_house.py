"""The structure of the module: its table of contents, its sections, the size of its functions.

Whoever moves a definition or adds a section reads here what has to hold afterwards.
"""

from __future__ import annotations

import ast
import itertools
import re
import statistics
import symtable
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import agentfmt

with open(agentfmt.__file__, encoding="utf-8") as file:
    SOURCE = file.read()
LINES = SOURCE.splitlines()
TREE = ast.parse(SOURCE)
BANNER = re.compile(r"# -{16,} (.+)")
MOST_LINES = 60  # of a function
MEDIAN_LINES = 8  # of all functions
SECTION_LINES = 600  # what one person holds in the head


class Section(NamedTuple):
    name: str
    head: list[str]  # the comment below its banner
    lines: range


def sections() -> list[Section]:
    """The imports, and what stands below each banner."""
    found = [(n, match[1]) for n, line in enumerate(LINES, 1) if (match := BANNER.match(line))]
    firsts = [(0, "imports"), *found, (len(LINES) + 1, "")]
    return [
        Section(name, head(LINES[first:]), range(first, end))
        for (first, name), (end, _) in itertools.pairwise(firsts)
    ]


def head(lines: list[str]) -> list[str]:
    """The first paragraph of a comment: a drawing, or the idea of the room, may follow it."""
    comment = itertools.dropwhile(lambda line: line == "#", lines)
    return [*itertools.takewhile(lambda line: line.startswith("# "), comment)]


SECTIONS = sections()


def section_of(line: int) -> Section:
    return next(section for section in SECTIONS if line in section.lines)


# ---------------------------------------------------------------- sections


def test_the_table_of_contents_lists_the_sections_in_their_order() -> None:
    contents = (agentfmt.__doc__ or "").partition("Contents")[2].partition("\n\n")[2]
    rows = contents.partition("\n\n")[0].splitlines()
    wings = [row for row in rows if not row.startswith(" " * 4)]
    listed = [re.split(r" {2,}", row.strip())[0] for row in rows if row not in wings]
    assert listed == [each.name for each in SECTIONS[1:]]
    assert len(wings) == 7


@pytest.mark.parametrize("section", SECTIONS[1:], ids=lambda section: section.name)
def test_a_section_opens_with_a_short_head(section: Section) -> None:
    assert 1 <= len(section.head) <= 4


def test_sections_are_rooms_that_one_can_live_in() -> None:
    sizes = {section.name: len(section.lines) for section in SECTIONS}
    assert {name: size for name, size in sizes.items() if size > SECTION_LINES} == {}


# ---------------------------------------------------------------- names


def definitions() -> Iterator[tuple[str, int]]:
    """The names that the module defines, with their lines."""
    for statement in TREE.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name, statement.lineno
        for target in getattr(statement, "targets", [getattr(statement, "target", statement)]):
            names = [target, *getattr(target, "elts", ())]
            yield from ((name.id, name.lineno) for name in names if isinstance(name, ast.Name))


def test_no_name_is_defined_in_two_sections() -> None:
    sections: dict[str, set[str]] = {}
    for name, line in definitions():
        sections.setdefault(name, set()).add(section_of(line).name)
    assert {name: found for name, found in sections.items() if len(found) > 1} == {}


def uses(table: symtable.SymbolTable) -> Iterator[tuple[str, int]]:
    """The names of the module that functions use, with the line where the function begins.

    Annotations do not count. Nor does what runs on import: there the interpreter sees to it.
    """
    if table.get_type() == "function":
        for symbol in table.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                yield symbol.get_name(), table.get_lineno()
    for inner in table.get_children():
        yield from uses(inner)


def used_above() -> Iterator[str]:
    """The names that a section uses although a later section defines them."""
    defined = dict(definitions())
    for name, line in uses(symtable.symtable(SOURCE, agentfmt.__file__, "exec")):
        here, there = section_of(line), section_of(defined.get(name, 0))
        if SECTIONS.index(there) > SECTIONS.index(here):
            yield f"{here.name}, line {line}: {name} is defined in {there.name}"


def test_no_name_is_used_above_its_section() -> None:
    assert sorted(used_above()) == []


# ---------------------------------------------------------------- functions


def lengths() -> dict[str, int]:
    """The lines of each function, with its decorators and its docstring."""
    functions = [node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef)]
    ends = {f"{node.name}, line {node.lineno}": (node, node.end_lineno or 0) for node in functions}
    return {name: end - node.lineno + 1 for name, (node, end) in ends.items()}


def test_functions_are_short() -> None:
    assert statistics.median(lengths().values()) <= MEDIAN_LINES
    assert {name: size for name, size in lengths().items() if size > MOST_LINES} == {}


# ---------------------------------------------------------------- imports


def imported() -> set[str]:
    """The modules that are imported anywhere in the module."""
    found: set[str] = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_it_does_not_import_what_is_slow_to_import() -> None:
    assert imported().isdisjoint({"asyncio", "dataclasses", "logging"})


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("tool", agentfmt.TOOLS)
def test_a_label_has_three_forms_with_one_object(tool: str) -> None:
    label = agentfmt.TOOLS[tool][:3]
    verbs, objects = zip(*(form.split(" ", 1) for form in label), strict=True)
    assert len({*objects}) == 1
    assert verbs[2].endswith("ing")
    assert (verbs[0].istitle(), verbs[1].islower(), verbs[2].istitle()) == (True, True, True)


def test_names_of_other_agents_lead_to_tools() -> None:
    assert {*agentfmt.TOOL_NAMES.values()} <= {*agentfmt.TOOLS}
    assert {row.split()[0] for row in agentfmt.ARGUMENTS.strip().splitlines()} <= {
        "*",
        *agentfmt.TOOLS,
    }
    assert all(name == name.lower().replace("_", "") for name in agentfmt.TOOL_NAMES)


def test_no_name_of_another_agent_leads_to_two_tools() -> None:
    """The last would win, and nobody would see it."""
    table = SOURCE.partition("\nTOOL_NAMES = ")[2].partition("\n}\n")[0]
    rows = re.findall(r'"\w+": ((?:"[^"]+"\s*)+)', table)
    names = " ".join(rows).replace('"', "").split()
    assert {*names} | {tool.lower() for tool in agentfmt.TOOLS} == {*agentfmt.TOOL_NAMES}
    assert len(names) == len({*names})


def test_every_variant_has_a_status_and_every_failure_a_reason() -> None:
    assert {*agentfmt.VARIANTS.values()} == {"ok", *agentfmt.REASONS}
    assert {*agentfmt.FAILURES} <= {*agentfmt.VARIANTS}
    assert {*agentfmt.FAILURE_TEXT} <= {*agentfmt.VARIANTS}


def test_what_is_read_of_a_call_has_a_class() -> None:
    """What the allow-lists do not know is content, its name too: no action line would find it."""
    tables = (agentfmt.FAILURE_TEXT, *map(agentfmt.argument_names, agentfmt.TOOLS))
    assert {name for table in tables for name in table.values()} <= {*agentfmt.FIELDS}


def test_every_dialect_is_an_agent_that_messages_name() -> None:
    assert set(agentfmt.AGENTS) == set(agentfmt.TRANSLATORS)


def test_a_dialect_is_registered_by_its_name() -> None:
    relatives = {"amp": "claude", "qwen": "claude"}
    for name, kind in agentfmt.TRANSLATORS.items():
        assert kind.name == relatives.get(name, name)
