"""How the tests are run: profiles of hypothesis, and the option that rewrites golden cases."""

from __future__ import annotations

import gc
import os
import signal

import hypothesis
import pytest

for code in (signal.SIGHUP, signal.SIGINT):  # ignored by nohup or a job in the background
    if signal.getsignal(code) is signal.SIG_IGN:
        signal.signal(code, signal.SIG_DFL)

# In CI the examples are always the same: what fails there has to fail again.
hypothesis.settings.register_profile(
    "quick", max_examples=40, deadline=None, derandomize="CI" in os.environ
)
hypothesis.settings.register_profile("long", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("AGENTFMT_HYPOTHESIS", "quick"))


def pytest_collection_finish() -> None:
    gc.freeze()  # the many tests stay: a full collection need not look at them again and again


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="rewrite the outputs in tests/cases; read the difference before you commit it",
    )
