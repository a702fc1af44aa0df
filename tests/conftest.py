"""How the tests are run: profiles of hypothesis, the option that rewrites golden cases, and what a
failure says: also the command that shows the same by hand."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from typing import Any

import hypothesis
import pytest
import support

for code in (signal.SIGHUP, signal.SIGINT):  # ignored by nohup or a job in the background
    if signal.getsignal(code) is signal.SIG_IGN:
        signal.signal(code, signal.SIG_DFL)

# Examples that failed are kept beside the tests, and bytecode beside the module, where these may
# be written. A process that compiles the module takes more memory than one that finds it compiled.
kept: dict[str, Any] = {} if os.access(os.curdir, os.W_OK) else {"database": None}
if kept and "PYTHONPYCACHEPREFIX" not in os.environ:
    os.environ["PYTHONPYCACHEPREFIX"] = support.ENVIRON["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp()
    subprocess.run(
        [*support.COMMAND, "--version"], env=support.ENVIRON, stdout=subprocess.DEVNULL, check=True
    )
    atexit.register(shutil.rmtree, os.environ["PYTHONPYCACHEPREFIX"], ignore_errors=True)
# In CI the examples are always the same: what fails there has to fail again.
kept["suppress_health_check"] = [hypothesis.HealthCheck.too_slow]  # on a busy machine
hypothesis.settings.register_profile(
    "quick", max_examples=30, deadline=None, derandomize="CI" in os.environ, **kept
)
hypothesis.settings.register_profile("long", max_examples=1000, deadline=None, **kept)
hypothesis.settings.load_profile(os.environ.get("AGENTFMT_HYPOTHESIS", "quick"))


def pytest_xdist_auto_num_workers() -> int:
    """One more than the cores: a test that waits for a clock or a process leaves its core idle."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else 4


def pytest_collection_finish() -> None:
    gc.freeze()  # the many tests stay: a full collection need not look at them again and again


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="rewrite the outputs in tests/cases; read the difference before you commit it",
    )


def pytest_runtest_setup() -> None:
    support.LATEST.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        by_hand = [f"pytest -n0 {shlex.quote(report.nodeid)}", *map(command_for, support.LATEST)]
        report.sections.append(("To repeat it by hand", "\n".join(by_hand)))
    return report


def command_for(latest: tuple[tuple[str, ...], Any]) -> str:
    """The command that converts the same, from files that are written for it."""
    flags, data = latest
    folder, files = tempfile.mkdtemp(prefix="agentfmt-"), []
    for name, chunks in (data if isinstance(data, Mapping) else {"stdin": data}).items():
        files.append(os.path.join(folder, "stdin" if name == "-" else os.path.basename(name)))
        with open(files[-1], "wb") as file:
            file.write(chunks if isinstance(chunks, bytes) else b"".join(chunks))
    return shlex.join(["agentfmt", *flags, *files])
