"""Golden cases: one file each, fed whole, byte by byte, and without its last newline.

    what the case shows, in a line or more
    $ agentfmt -t json
    # input
    lines, byte for byte; `# input NAME` for one FILE of several
    # output
    # stderr
    # exit
    0

Only these headings, on lines of their own, separate the parts; everything between two of them is
taken literally. ``pytest --update-cases`` rewrites all that follows the input.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest
from support import HERE, Ended, content, convert, one_byte_at_a_time, texts

CASES = os.path.join(HERE, "cases")
NAMES = texts(CASES, ".txt")
COMMAND = re.compile(rb"^\$ agentfmt(.*)\n", re.MULTILINE)
HEADING = re.compile(rb"^# (input(?: \S+)?|output|stderr|exit)\n", re.MULTILINE)


class Case(NamedTuple):
    head: bytes  # all that precedes the output
    flags: list[str]
    files: dict[str, bytes]
    expected: Ended


def parse(text: bytes) -> Case:
    command = COMMAND.search(text)
    assert command, "no line $ agentfmt"
    _, *parts = HEADING.split(text[command.end() :])
    sections = dict(zip((part.decode() for part in parts[::2]), parts[1::2], strict=True))
    stdout, stderr, status = (sections.pop(name, b"") for name in ("output", "stderr", "exit"))
    files = {name.removeprefix("input").strip() or "-": data for name, data in sections.items()}
    assert files, "no input"
    expected = Ended(stdout, stderr.decode(), int(status or -1))
    head = text.partition(b"\n# output\n")[0].removesuffix(b"\n") + b"\n"
    return Case(head, shlex.split(command[1].decode()), files, expected)


def read(name: str) -> Case:
    return parse(content(CASES, name))


def update(name: str, case: Case, ended: Ended) -> None:
    with open(os.path.join(CASES, name), "wb") as file:
        file.write(case.head)
        file.write(b"# output\n" + ended.stdout)
        file.write(b"# stderr\n" + ended.stderr.encode())
        file.write(b"# exit\n%d\n" % ended.status)


def test_there_are_cases() -> None:
    assert NAMES


WAYS: dict[str, Callable[[bytes], Iterable[bytes]]] = {
    "whole": lambda data: [data],
    "one byte at a time": one_byte_at_a_time,
    "without the last newline": lambda data: [data.removesuffix(b"\n")],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_case(name: str, request: pytest.FixtureRequest) -> None:
    case = read(name)
    for way, chunks in WAYS.items():
        ended = convert({file: chunks(data) for file, data in case.files.items()}, *case.flags)
        if request.config.getoption("update_cases") and way == "whole":
            update(name, case, ended)
            case = read(name)
        assert ended == case.expected, f"fed {way}"
