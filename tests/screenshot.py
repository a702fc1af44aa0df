"""Make the README's picture of a page, tests/page.png. It needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --hide-scrollbars "
    "--force-device-scale-factor=1.5 --window-size=860,560"
)


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        sys.exit("tests/screenshot.py: Chromium isn't installed")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        command = [sys.executable, "-m", "agentfmt", "-t", "html", str(HERE / "sample.ndjson")]
        with page.open("wb") as file:
            subprocess.run(command, stdout=file, cwd=HERE.parent, check=True)
        flags = [*FLAGS.split(), f"--user-data-dir={folder}", f"--screenshot={HERE / 'page.png'}"]
        subprocess.run([browser, *flags, page.as_uri()], stderr=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
