"""CONTRIBUTING.md is right: the code in it runs, and does what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from planting import made
from support import ROOT, TOKEN, completed, convert, init, result

import agentfmt

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MOST_LINES = 20  # of an agent


def block(kind: str, name: str) -> str:
    """The one block of the page with this language and name."""
    (found,) = re.findall(rf"^```{kind} {name}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def run_block(name: str) -> dict[str, Any]:
    """Run the code of a block as if it stood at the end of the module."""
    names = vars(agentfmt).copy()
    exec(block("python", name), names)
    return names


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block registers is gone afterwards."""
    for table in ("TOOLS", "TRANSLATORS", "WRITERS", "RULES"):
        monkeypatch.setattr(agentfmt, table, getattr(agentfmt, table).copy())
    agentfmt.plain_action.cache_clear()


def toy_stream() -> bytes:
    return block("ndjson", "agent").encode()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With a row of its signs, as the page says."""
    row = "    hello,words,do,done,bye  toy  session_id"
    monkeypatch.setattr(agentfmt, "AGENT_SIGNS", agentfmt.AGENT_SIGNS + row)
    agentfmt.signs_of.cache_clear()
    agentfmt.TRANSLATORS["toy"] = run_block("agent")["Toy"]
    yield
    agentfmt.signs_of.cache_clear()


def test_add_a_tool() -> None:
    run_block("tool")
    outcome = {"success": {"files": ["a.svg", "b.svg"]}}
    line = completed("c1", "renderChartToolCall", outcome, args={"title": "Sales by month"})
    assert convert([init(), line, result()], "-d").stdout.decode() == block("text", "tool")


@pytest.mark.usefixtures("toy")
def test_add_an_agent() -> None:
    ended = convert(toy_stream(), "-d", "-m", "all", dialect="toy")
    assert (ended.stdout.decode(), ended.stderr, ended.status) == (block("text", "agent"), "", 0)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("flags", [("-d", "-m", "all"), ("-t", "json"), ("-t", "cursor")])
def test_an_added_agent_is_converted_to_cursor(flags: tuple[str, ...]) -> None:
    converted = convert(toy_stream(), "-t", "cursor", dialect="toy")
    assert converted.status == 0
    assert convert(converted.stdout, *flags) == convert(toy_stream(), *flags, dialect="toy")


@pytest.mark.usefixtures("toy")
def test_an_added_agent_keeps_its_lines_and_no_secret() -> None:
    data = toy_stream()
    assert convert(data, "-t", "stream-json", dialect="toy").stdout == data
    leaky = data.replace(b"the tests.", TOKEN.encode())
    left = convert(leaky, "-t", "stream-json", "-r", "secrets", dialect="toy").stdout
    assert left == leaky.replace(TOKEN.encode(), b"[REDACTED:github-token]")


def test_an_agent_takes_few_lines() -> None:
    assert block("python", "agent").count("\n") <= MOST_LINES


def test_add_a_kind_of_secret() -> None:
    agentfmt.RULES.extend(agentfmt.token_rules(block("text", "secret")))
    scanner = agentfmt.Scanner({}, {})
    for token in ("toy_<40 hex>", "toy2-<32 alnum>"):
        text = f"I got {made(token).text}, use it\n"
        assert scanner.conceal(text) == block("text", "secret-found")
    assert "REDACTED" not in scanner.conceal(f"I got {made('toy_<8 hex>').text}, use it\n")


@pytest.mark.usefixtures("toy")
def test_add_an_output() -> None:
    run_block("output")
    ended = convert(toy_stream(), dialect="toy", to="failures")
    assert ended.stdout.decode() == block("text", "output")


def test_the_files_that_it_names_exist() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE)
    names = [name for row in rows for name in row.split(", ") if name not in ("where", "---")]
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_names_of_the_module_that_it_uses_exist() -> None:
    names = set(re.findall(r"`([A-Z][A-Za-z_]+)`", PAGE)) | set(re.findall(r"`(\w+)\(\)`", PAGE))
    assert {name for name in names if not hasattr(agentfmt, name)} == set()
