"""The documented shell usages of text, run as a user's CI job runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import label, labeled

SESSION = {"session_id": "2f4c27dc-1"}


class Job(NamedTuple):
    out: str
    err: str
    status: int


def event(kind: str, **members: Any) -> str:
    return json.dumps({"type": kind, **members, **SESSION})


def words(text: str) -> str:
    return event("assistant", message={"content": [{"type": "text", "text": text}]})


def shell(subtype: str, **body: Any) -> str:
    members = {"subtype": subtype, "call_id": "c\n1", "tool_call": {"shellToolCall": body}}
    return event("tool_call", **members)


RUN = (
    event("system", subtype="init", cwd="/p"),
    words("I'll look.\n"),
    shell("started", args={"command": "npm test"}),
    shell("completed", args={"command": "npm test"}, result={"failure": {"exitCode": 1}}),
    words("One test fails.\n\nFix it."),
)
RESULT = event("result", subtype="success", is_error=False, result="...")


def job(script: str, tmp_path: Path, *, ends: bool = True) -> Job:
    """Run a script in which `agent` writes a run and `agentfmt` reads it."""
    stream = tmp_path / "stream.ndjson"
    stream.write_text("\n".join((*RUN, RESULT) if ends else RUN) + "\n")
    preamble = (
        f'agent() {{ cat "{stream}"; }}\nagentfmt() {{ "{sys.executable}" -m agentfmt "$@"; }}\n'
    )
    command = ["bash", "-o", "pipefail", "-e", "-c", preamble + script]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    return Job(done.stdout, done.stderr, done.returncode)


def test_the_result_goes_to_a_file_and_the_progress_to_the_log(tmp_path: Path) -> None:
    log = job("agent | agentfmt -t json --actions stderr > result.json", tmp_path)
    assert log == Job("", label("shell", 1) + "\n", 0)
    assert json.loads((tmp_path / "result.json").read_text())["result"] == "..."


def test_a_failed_run_leaves_no_result_and_fails_the_job(tmp_path: Path) -> None:
    script = "agent | agentfmt -t json --actions stderr > result.json; echo not reached"
    log = job(script, tmp_path, ends=False)
    assert (log.out, log.status) == ("", 1)
    assert log.err.splitlines()[0] == label("shell", 1)
    assert "ended without a result" in log.err
    assert (tmp_path / "result.json").read_text() == ""


def test_the_answer_alone(tmp_path: Path) -> None:
    script = 'answer=$(agent | agentfmt -m final --actions stderr)\nprintf "<%s>" "$answer"'
    log = job(script, tmp_path)
    assert log == Job("<One test fails.\n\nFix it.>", label("shell", 1) + "\n", 0)


def test_no_answer_of_a_run_that_failed(tmp_path: Path) -> None:
    script = 'answer=$(agent | agentfmt -m final --actions stderr) || echo "status $?, <$answer>"'
    assert job(script, tmp_path, ends=False).out == "status 1, <>\n"


def test_all_words_and_actions(tmp_path: Path) -> None:
    log = job("agent | agentfmt -d -m all -s", tmp_path)
    assert log.out.splitlines() == [
        "I'll look.", labeled("{shell} npm test (exit 1)"), "One test fails.", "", "Fix it.",
        "agentfmt: run 2f4c27dc (stdin:1): succeeded, 1 action (shell 1), 1 failed",
    ]  # fmt: skip
    assert log.err == ""


def test_json_in_a_ci_log(tmp_path: Path) -> None:
    hostile = event("result", subtype="success", is_error=False, result="##vso[task.complete]##[x]")
    (tmp_path / "hostile").write_text(hostile + "\n")
    log = job("agentfmt -t json --ci-safe hostile", tmp_path)
    assert "##vso[" not in log.out
    assert "##[" not in log.out
    assert json.loads(log.out)["result"] == "##vso[task.complete]##[x]"


@pytest.mark.parametrize("options", ["", "-d", "-m all", "-m final", "-s", "--actions stderr"])
def test_it_ends_silently_when_its_reader_leaves(options: str, tmp_path: Path) -> None:
    script = f"set +o pipefail; (agent; sleep 0.2; agent) | agentfmt {options} | true"
    log = job(script, tmp_path)
    assert log.status == 0
    assert "Traceback" not in log.err
    assert "Broken" not in log.err
