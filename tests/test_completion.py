"""Completion, in the shells themselves: a line and TAB are typed, and what the command is given."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from support import ENVIRON, MANUAL, TIMEOUT, displays

import agentfmt

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SOURCES = dict(zip(SHELLS, displays(MANUAL, "COMPLETION")[0].splitlines(), strict=True))
BEFORE = {"zsh": "autoload compinit; compinit -u -D; "}

LINES = {  # for the shells themselves, each of a kind
    "agentfmt --fr": "--from",
    "agentfmt -t js": "-t json",
    "agentfmt r": "run.ndjson",
    "agentfmt my": "my file.ndjson",
    "agentfmt -d --secrets-file folder/d": "-d --secrets-file folder/deep.ndjson",
    "true | agentfmt -t js": "-t json",
}
WORDS = {  # what a shell is given to choose from
    "-f cla": "claude", "-m fin": "final", "-r con": "content", "-r secrets,con": "secrets,content",
    "--only she": "shell",
    "--drop tool=shell,status=rej": "tool=shell,status=rejected", "--fail-unless stat": "status=",
}  # fmt: skip

# Asked to complete, it does; run, it prints what it was given.
STUB = f"""#!/bin/sh
if [ -n "$_AGENTFMT_COMPLETE" ]; then exec "{sys.executable}" -m agentfmt; fi
echo "GIVEN <$*>"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    for name in ("run.ndjson", "my file.ndjson", "folder/deep.ndjson"):
        (tmp_path / name).touch()
    (tmp_path / "bin").mkdir()
    stub = tmp_path / "bin" / "agentfmt"
    stub.write_text(STUB)
    stub.chmod(0o755)
    return tmp_path


def terminal_of_its_own() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def type_in(shell: str, lines: list[str], folder: Path) -> list[str]:
    """What the command is given for each line, after TAB and Enter."""
    ours, theirs = pty.openpty()
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**ENVIRON, "PATH": path, "TERM": "xterm", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        SHELLS[shell], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=env,
        start_new_session=True, preexec_fn=terminal_of_its_own,
    )  # fmt: skip
    os.close(theirs)
    try:
        os.write(ours, f"{BEFORE.get(shell, '')}{SOURCES[shell]}; agentfmt ready\r".encode())
        given = [read_given(ours)]
        for line in lines:
            os.write(ours, f"{line}\t\r".encode())
            given.append(read_given(ours))
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert given[0] == "ready"
    return given[1:]


def read_given(terminal: int) -> str:
    seen, limit = b"", time.monotonic() + TIMEOUT
    while b">\r\n" not in seen[seen.rfind(b"GIVEN <") :] or b"GIVEN <" not in seen:
        assert select.select([terminal], [], [], limit - time.monotonic())[0], seen
        seen += os.read(terminal, 4096)
    return seen.rpartition(b"GIVEN <")[2].partition(b">\r\n")[0].decode()


@pytest.mark.parametrize("shell", SHELLS)
def test_completion(shell: str, folder: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    given = type_in(shell, [*LINES], folder)
    assert dict(zip(LINES, map(str.rstrip, given), strict=True)) == LINES


@pytest.mark.parametrize("line", WORDS)
def test_a_word_is_completed(line: str) -> None:
    *args, incomplete = line.split()
    complete = ShellComplete(agentfmt.command, {}, "agentfmt", "_AGENTFMT_COMPLETE")
    assert [item.value for item in complete.get_completions(args, incomplete)] == [WORDS[line]]
