"""What can repeat takes work in proportion to its number: tests/growth.py at a small size.

The work is the number of calls of functions, which no busy machine changes. Four times as much
input takes at most four times the work: what a conversion takes at the least makes it less, and
what looks at all that came before makes it up to sixteen times.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from growth import KINDS, OUTPUTS, calls

SIZE, LIMIT = 40, 4.4
TRIED = [OUTPUTS[name] for name in ("-v -r", "-t calls", "markdown", "stream -r")]


@pytest.mark.parametrize(("kind", "options"), [*zip(KINDS, itertools.cycle(TRIED), strict=False)])
def test_work_grows_no_faster_than_the_input(kind: str, options: tuple[str, ...]) -> None:
    def work(data: Any, more: tuple[str, ...]) -> int:
        return calls(data, (*options, *more))

    few, many = KINDS[kind](SIZE), KINDS[kind](4 * SIZE)
    tries = (work(*many) < LIMIT * work(*few) for _ in range(2))  # the first compiles expressions
    assert any(tries)
