"""Make the README's pictures, man/*.svg: a run on a terminal and as a page, in both themes.

They show what the program prints now. tests/test_docs.py compares them, and --update-cases makes
them anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import html5lib
from support import COMMAND, ENVIRON, GLYPHS, ROOT, on_terminal

SAMPLE = Path(__file__).with_name("sample.ndjson")
SHOWN = 'agent -p --output-format stream-json "A test fails. Fix it, then push." | agentfmt'
COLUMNS, WIDTH, HEIGHT, MARGIN = 86, 8.4, 20, 16  # a character's, in pixels
PAGE = (860, 841)  # the part of the page that is shown
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "36": "cyan"}
THEMES = {
    "dark": {"paper": "#1e1e1e", "ink": "#d4d4d4", "dim": "#8a8a8a", "red": "#f47067",
             "green": "#6bc46d", "cyan": "#56d4dd"},
    "light": {"paper": "#f6f8fa", "ink": "#1f2328", "dim": "#656d76", "red": "#b3261e",
              "green": "#1a7f37", "cyan": "#0a6c74"},
}  # fmt: skip
FONT = 'font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre'


def svg(width: int, height: int, *rows: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join((head, *rows, "</svg>", ""))


# ---------------------------------------------------------------- a terminal


def spans(row: str) -> Iterator[tuple[int, str, str]]:
    """The parts of a row that have a style of their own: the column, the style, the text."""
    column, style = 0, ""
    for code, text in re.findall(r"\x1b\[(\d*)m|([^\x1b]+)", row):
        if text:
            yield column, style, text
            column += len(text)
        elif code in STYLES:
            style = f"{style} {STYLES[code]}".strip()
        else:
            style = ""


def sheet(theme: str) -> str:
    colors = THEMES[theme]
    rules = [f"text {{ {FONT}; fill: {colors['ink']} }} .bold {{ font-weight: bold }}"]
    rules += [f".{name} {{ fill: {colors[name]} }}" for name in ("dim", "red", "green", "cyan")]
    return "\n".join(("<style>", *rules, "</style>"))


def terminal_rows() -> list[str]:
    """The command, and what a terminal shows in the end."""
    with SAMPLE.open("rb") as file:
        seen, _ = on_terminal(b"", stdin=file, columns=COLUMNS, env=GLYPHS)
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", seen.decode())
    rows = [f"\x1b[2m$\x1b[0m {SHOWN}", *shown.removesuffix("\n").split("\n")]
    return [part for row in rows for part in wrapped(row)]


def wrapped(row: str) -> list[str]:
    """The rows that a terminal makes of one, in which codes have no width."""
    fits = re.match(rf"(?:(?:\x1b\[\d*m)*[^\x1b]){{0,{COLUMNS}}}(?:\x1b\[\d*m)*", row)
    cut = fits.end() if fits else len(row)
    return [row[:cut], *(wrapped(row[cut:]) if row[cut:] else ())]


def terminal(rows: list[str], theme: str) -> str:
    width, height = round(COLUMNS * WIDTH) + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    paper = THEMES[theme]["paper"]
    lines = [f'<rect width="{width}" height="{height}" rx="8" fill="{paper}"/>']
    for number, row in enumerate(rows):
        y = MARGIN + number * HEIGHT + 15
        for column, style, text in spans(row):
            x, length = MARGIN + column * WIDTH, len(text) * WIDTH
            named = f' class="{style}"' if style else ""
            lines.append(
                f'<text x="{x:g}" y="{y}" textLength="{length:g}"{named}>{escape(text)}</text>'
            )
    return svg(width, height, sheet(theme), *lines)


# ---------------------------------------------------------------- a page


def page_text() -> str:
    """The page as XHTML, with the edit open, and without what the picture doesn't show."""
    env = {**ENVIRON, "TZ": "UTC"}
    command = [*COMMAND, "-t", "html", "-"]
    data = SAMPLE.read_bytes()
    done = subprocess.run(command, input=data, capture_output=True, env=env, check=True)
    tree = html5lib.parse(done.stdout.decode())
    [head] = tree.iter("{http://www.w3.org/1999/xhtml}head")
    for meta in list(head):
        if not meta.tag.endswith("}style"):
            head.remove(meta)
    for details in tree.iter("{http://www.w3.org/1999/xhtml}details"):
        summary, *closed = details
        if "open" in details.attrib or "Edited" in "".join(summary.itertext()):
            details.set("open", "")
            continue
        for part in closed:
            details.remove(part)
    ElementTree.register_namespace("", "http://www.w3.org/1999/xhtml")
    ElementTree.register_namespace("svg", "http://www.w3.org/2000/svg")
    return ElementTree.tostring(tree, encoding="unicode")


def page(text: str, theme: str) -> str:
    width, height = PAGE
    themed = text.replace("color-scheme: light dark", f"color-scheme: {theme}", 1)
    assert themed != text
    return svg(
        width, height, f'<foreignObject width="{width}" height="{height}">', themed,
        "</foreignObject>",
    )  # fmt: skip


def make() -> dict[Path, str]:
    """The pictures by file, of what the program shows now."""
    rows, text = terminal_rows(), page_text()
    folder = ROOT / "man"
    runs = {folder / f"run-{theme}.svg": terminal(rows, theme) for theme in THEMES}
    pages = {folder / f"page-{theme}.svg": page(text, theme) for theme in THEMES}
    return runs | pages


if __name__ == "__main__":
    os.chdir(ROOT)
    for path, content in make().items():
        path.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
