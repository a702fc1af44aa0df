"""Make the README's picture of a run on a terminal that failed, man/failed.svg."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from support import GLYPHS, ROOT, on_terminal

PICTURE = ROOT / "man" / "failed.svg"
SAMPLE = Path(__file__).with_name("sample.ndjson")
OPTIONS = ("--fail-on", "shell,target=*git push*")
COLUMNS, WIDTH, HEIGHT, MARGIN = 80, 8.4, 20, 16  # a character's, in pixels
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "36": "cyan"}
SHEET = """
text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d4d4d4;
       white-space: pre }
.bold { font-weight: bold } .dim { fill: #8a8a8a } .red { fill: #f47067 }
.green { fill: #6bc46d } .cyan { fill: #56d4dd }
"""


def spans(row: str) -> Iterator[tuple[int, str, str]]:
    """The parts of a row that have a style of their own: the column, the style, the text."""
    column, style = 0, ""
    for code, text in re.findall(r"\x1b\[(\d*)m|([^\x1b]+)", row):
        if text:
            yield column, style, text
            column += len(text)
        else:
            style = f"{style} {STYLES[code]}".strip() if code in STYLES else ""


def picture(command: str, shown: str) -> str:
    rows = [f"\x1b[2m$\x1b[0m {command}", *shown.removesuffix("\n").split("\n")]
    width, height = round(COLUMNS * WIDTH) + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{SHEET}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1e1e1e"/>',
    ]
    for number, row in enumerate(rows):
        y = MARGIN + number * HEIGHT + 15
        for column, style, text in spans(row):
            x, length = MARGIN + column * WIDTH, len(text) * WIDTH
            named = f' class="{style}"' if style else ""
            lines.append(
                f'<text x="{x:g}" y="{y}" textLength="{length:g}"{named}>{escape(text)}</text>'
            )
    return "\n".join((*lines, "</svg>", ""))


def make() -> str:
    """The picture of what the program shows now."""
    with SAMPLE.open("rb") as file:
        seen, _ = on_terminal(b"", *OPTIONS, stdin=file, columns=COLUMNS, env=GLYPHS)
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", seen.decode())
    return picture("agentfmt --fail-on 'shell,target=*git push*' < run.ndjson", shown)


if __name__ == "__main__":
    PICTURE.write_text(make(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE}\n")
