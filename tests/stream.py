"""A synthetic stream of an agent: seeded, of any size, shaped like real captures.

tests/streams.txt holds what each agent writes, as templates. What a placeholder stands for is a
method of `Run`; a line with a star comes several times, as deltas do. What files hold is made up as
well, or stands in Python's library.
"""

from __future__ import annotations

import base64
import datetime
import functools
import json
import os
import random
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = (
    "the a file test module reads writes error stream function returns value index parser line "
    "config update check run build fix path with from into each when after before event buffer"
).split()
PROSE = WORDS * 3 + ["naïve", "“quoted”"]  # of the captures' lines one in twenty is not ASCII


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(PROSE, k=count))


def source(rng: random.Random, lines: int) -> str:
    """A file's content: indented lines, quotes, tabs and backslashes as code has them."""
    return "".join(
        "    " * rng.randrange(4)
        + f'{rng.choice(WORDS)} = "{" ".join(rng.choices(WORDS, k=6))}"  # \\n {i}\n'
        for i in range(lines)
    )


Contents = Callable[[random.Random, int], str]  # of a file of so many lines


SOURCES = sorted(Path(os.__file__).parent.glob("*.py"))


def installed(rng: random.Random, lines: int) -> str:
    """What a part of Python's own library holds, about as large as so many lines."""
    text = read(rng.choice(SOURCES))
    start = rng.randrange(max(1, len(text) - lines * 50))
    return text[start : start + lines * 50]


@functools.cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore")


def image(rng: random.Random, lines: int) -> str:
    return base64.b64encode(rng.randbytes(lines * 300)).decode()


TEMPLATES: dict[str, list[list[str]]] = {}  # by agent and part of a run
PARTS = Path(__file__).with_name("streams.txt").read_text(encoding="utf-8")
for part in re.split("^# ", PARTS, flags=re.MULTILINE)[1:]:
    name, *lines = part.rstrip("\n").split("\n")
    TEMPLATES.setdefault(name, []).append(lines)


class Run:
    """Fills in the templates of one run."""

    def __init__(self, rng: random.Random, contents: Contents) -> None:
        self.rng, self.contents = rng, contents
        self.name, self.latest, self.now = self.new_uuid(), "", 1_784_819_288_883
        self.told, self.segment, self.held = "", "", ""
        self.ids: dict[str, str] = {}

    def lines(self, agent: str) -> Iterator[bytes]:
        parts = [f"{agent} begin", *[f"{agent} turn"] * self.rng.randrange(10, 60), f"{agent} end"]
        for part in parts:
            self.ids.clear()
            for line in self.rng.choice(TEMPLATES[part]):
                times = self.rng.randrange(4, 30) if line.startswith("* ") else 1
                for _ in range(times):
                    text = re.sub("<([a-z]+) ?([a-z0-9]*)>", self.filled, line.removeprefix("* "))
                    yield text.encode() + b"\n"

    def filled(self, match: re.Match[str]) -> str:
        """What a placeholder stands for, as it is spelled in JSON."""
        value = getattr(self, match[1])(*filter(None, match.groups()[1:]))
        return json.dumps(value, ensure_ascii=False)[1:-1] if isinstance(value, str) else str(value)

    def words(self, most: str) -> str:
        return words(self.rng, self.rng.randrange(int(most) // 2, int(most)) + 1)

    def delta(self) -> str:
        """Some words, which go on with those before."""
        text = self.words("4") + " "
        self.segment += text
        return text

    def said(self) -> str:
        """The deltas since it was asked last."""
        text, self.segment = self.segment, ""
        self.told += text
        return text

    def answer(self) -> str:
        return self.told

    def file(self, most: str) -> str:
        """What a file of so many lines holds."""
        self.held = self.contents(self.rng, self.rng.randrange(int(most)) + 1)
        return self.held

    def same(self) -> str:
        return self.held

    def path(self) -> str:
        return f"/home/dev/project/src/agent/{self.rng.choice(WORDS)}.py"

    def id(self, key: str) -> str:
        """Hexadecimal digits, the same within a turn."""
        return self.ids.setdefault(key, f"{self.rng.getrandbits(64):016x}")

    def session(self) -> str:
        return self.name

    def uuid(self) -> str:
        self.latest = self.new_uuid()
        return self.latest

    def before(self) -> str:
        """The latest UUID."""
        return self.latest

    def new_uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def clock(self) -> int:
        """Milliseconds."""
        self.now += self.rng.randrange(40)
        return self.now

    def time(self) -> str:
        clock = datetime.datetime.fromtimestamp(self.clock() / 1000, datetime.timezone.utc)
        return clock.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


def stream(
    size: int, seed: int = 1, agent: str = "cursor", contents: Contents = source
) -> Iterator[bytes]:
    """Complete runs, line by line, until at least ``size`` bytes have been made."""
    rng, made = random.Random(seed), 0
    while made < size:
        for line in Run(rng, contents).lines(agent):
            made += len(line)
            yield line
