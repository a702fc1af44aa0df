"""The judge's constants are what its examples teach."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import train

import agentfmt

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 700_000  # bytes of what it learns from


def test_the_module_holds_what_the_script_prints() -> None:
    """In a process of its own: it takes some ten seconds, and the same bytes on every Python. What
    was written there before, from the same, need not be made again."""
    with open(train.TRAINED, encoding="utf-8") as file:
        current = file.read().strip() == train.made_from()
    if current and "CI" not in os.environ:
        return
    command = [sys.executable, os.path.join(HERE, "train.py")]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    with open(agentfmt.__file__, encoding="utf-8") as file:
        assert printed in file.read()
    assert current, "nothing new was learnt: tests/judge/train.py --write records that"


def test_what_it_learns_from_is_small() -> None:
    assert sum(entry.stat().st_size for entry in os.scandir(HERE) if entry.is_file()) < MOST


@pytest.mark.parametrize("digits", ["0123456789abcdef" * 2, "deadbeefcafe4711" * 2])
def test_digests_are_odd_by_definition(digits: str) -> None:
    assert agentfmt.odds(digits) == agentfmt.SURE
    assert agentfmt.odds("0" * 32) == agentfmt.odds("0a" * 16) == -agentfmt.SURE


def test_the_strengths_ask_for_more_and_more() -> None:
    assert [*agentfmt.REACHED] == sorted(agentfmt.REACHED)
    assert len(agentfmt.REACHED) == len(agentfmt.STRENGTHS)
