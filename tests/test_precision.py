"""What is taken for a secret on a fixed corpus: each hit has been judged, a new one fails.

tests/precision.txt holds a line for each: rule, file, the line it stands in, redacted. Read what
``pytest --update-cases tests/test_precision.py`` adds to it before you commit it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pytest
from planting import redact, scanner
from support import HERE, SHARED, content, event, texts

import agentfmt

LIBRARY = (3, 13, 0)  # whose sources are the corpus
JUDGED = os.path.join(HERE, "precision.txt")
STANDARD = os.path.dirname(os.__file__)


def hits(name: str, data: bytes) -> Iterator[str]:
    """The lines of a text in which something is hidden, found as in a stream: all at once."""
    lines = data.splitlines()
    for line in (lines[number] for number in sorted(scanner().suspects(lines))):
        if spans := scanner().spans(line):
            changes = [(first, last, agentfmt.marker(rule)) for first, last, rule in spans]
            shown = agentfmt.splice(line, changes).decode(errors="replace").strip()
            yield f"{spans[0][2]}\t{name}\t{shown[:160]}"


def own() -> list[str]:
    found = [*hits("agentfmt.py", content(agentfmt.__file__))]
    captures = os.path.join(SHARED, "captures")
    for name in texts(captures, ".ndjson") if os.path.isdir(captures) else []:
        found += hits(f"captures/{name}", content(captures, name))
    return found


def library() -> tuple[list[str], int]:
    found: list[str] = []
    size = 0
    for name in texts(STANDARD, ".py"):
        if "site-packages" not in name:
            data = content(STANDARD, name)
            size += len(data)
            found += hits(name, data)
    return found, size


def judged() -> list[str]:
    return [line for line in content(JUDGED).decode().split("\n") if line[:1] not in ("", "#")]


def test_own_source_and_captures() -> None:
    assert set(own()) - set(judged()) == set()


@pytest.mark.skipif(sys.version_info[:3] != LIBRARY, reason="another version's library")
def test_library(request: pytest.FixtureRequest) -> None:
    found, size = library()
    if request.config.getoption("update_cases"):
        with open(JUDGED, "w", encoding="utf-8") as file:
            file.write(f"# Python {'.'.join(map(str, LIBRARY))}, {size / 1e6:.1f} MB: ")
            file.write(f"{len(found) / size * 1e6:.1f} hits a megabyte\n")
            file.writelines(f"{hit}\n" for hit in [*dict.fromkeys([*own(), *found])])
    assert set(found) - set(judged()) == set()
    assert len(found) / size * 1e6 < 2


def test_no_judged_hit_is_forgotten() -> None:
    """What is hidden no longer leaves the list, so that it is noticed if it comes back."""
    if sys.version_info[:3] == LIBRARY:
        assert set(judged()) <= {*library()[0], *own()} or not os.path.isdir(SHARED)


def test_tool_results_are_hit_as_text_is() -> None:
    """The same sources as an agent prints them, on lines of JSON."""
    name = os.path.join("http", "cookiejar.py")
    text = content(STANDARD, name).decode()
    success = {"readToolCall": {"result": {"success": {"content": text}}}}
    line = event("tool_call", subtype="completed", call_id="1", tool_call=success)
    left = redact(line, "-t", "stream-json", "-r", "secrets").stdout
    body = json.loads(left)["tool_call"]["readToolCall"]["result"]["success"]["content"]
    assert body == scanner().conceal(text)
