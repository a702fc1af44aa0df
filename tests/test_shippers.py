"""rsyslog with agentfmt as its child: each numbered event arrives once, and no secret. And the
entrypoints of containers. Without rsyslog its test is skipped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ENVIRON, SIDECAR, TIMEOUT, TOKEN, assistant, displays, init, whole_run

EVENTS = 1500
DAEMON = shutil.which("rsyslogd", path=f"{os.environ['PATH']}:/usr/sbin") or ""


class Rsyslog:
    """A daemon that follows agent.ndjson in a folder and feeds agentfmt what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sent = folder, 0
        self.log, self.out = folder / "agent.ndjson", folder / "out.ndjson"
        self.log.touch()
        self.out.touch()
        config, ship = displays(SIDECAR, "rsyslog")[0], folder / "ship"
        ship.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={ENVIRON['PYTHONPATH']}\n"
            f"exec {sys.executable} -m agentfmt -t stream-json -r secrets --exit-zero"
            f" >>{self.out} 2>>{folder}/err\n"
        )
        ship.chmod(0o755)
        for there, here in (
            ("/logs", folder), ("/usr/local/bin/ship", ship), ("/var/spool/rsyslog", folder),
        ):  # fmt: skip
            config = config.replace(there, str(here))
        (folder / "config").write_text(config)
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with open(self.folder / "said", "ab") as said:
            options = ("-n", "-f", f"{self.folder}/config", "-i", f"{self.folder}/pid")
            return subprocess.Popen([DAEMON, *options], stdout=said, stderr=said, cwd=self.folder)

    def restart(self) -> None:
        self.stop()
        self.process = self.start()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def rotate(self) -> None:
        """By renaming, as logrotate does."""
        self.log.rename(self.folder / "agent.ndjson.1")
        self.log.touch()

    def write(self, count: int, pause: float = 0.001) -> None:
        """Numbered events; what is said in some of them is secret."""
        with open(self.log, "ab", 0) as log:
            for number in range(self.sent, self.sent + count):
                text = f"token {TOKEN}" if number % 5 == 0 else f"\u00e9 {number}" * (number % 90)
                line = {
                    "type": "user",
                    "n": number,
                    "message": text,
                    "session_id": f"s{number % 7}",
                }
                log.write(json.dumps(line).encode() + b"\n")
                time.sleep(pause)
        self.sent += count

    def numbers(self) -> list[int]:
        return [json.loads(line)["n"] for line in self.out.read_bytes().splitlines()]

    def wait_for(self, count: int) -> None:
        limit = time.monotonic() + TIMEOUT
        while self.out.read_bytes().count(b"\n") < count and time.monotonic() < limit:
            time.sleep(0.1)


@pytest.fixture
def shipper(tmp_path: Path) -> Iterator[Rsyslog]:
    started = Rsyslog(tmp_path)
    time.sleep(1)
    if started.process.poll() is not None:
        pytest.skip(f"it does not run here: {(tmp_path / 'said').read_text()[-300:]}")
    yield started
    started.stop()


@pytest.mark.skipif(not DAEMON, reason="rsyslogd is not installed")
def test_each_event_arrives_once_and_no_secret(shipper: Rsyslog) -> None:
    """Through SIGHUP, rotation and a restart."""
    shipper.write(1)
    shipper.wait_for(1)  # a signal while its child starts would end that at once
    for disturb in (shipper.reload, shipper.rotate, shipper.reload, shipper.restart):
        shipper.write(EVENTS // 6)
        disturb()
        shipper.write(EVENTS // 30, 0.005)
        shipper.wait_for(shipper.sent)
    shipper.write(100)
    shipper.wait_for(shipper.sent)
    arrived = shipper.out.read_bytes()
    found = shipper.numbers()
    said = (shipper.folder / "err").read_text()
    assert (len(found), len(set(found))) == (shipper.sent, shipper.sent)
    assert TOKEN.encode() not in arrived
    assert TOKEN not in said
    assert arrived.count(b"[REDACTED:github-token]") == len(range(0, shipper.sent, 5))
    assert "failed" not in said


# ---------------------------------------------------------------- containers


def wait_for(path: Path, data: bytes) -> None:
    limit = time.monotonic() + TIMEOUT
    while not (path.exists() and data in path.read_bytes()):
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with agentfmt, and an agent, in bin."""
    (tmp_path / "bin").mkdir()
    for name, body in {
        "agentfmt": f'exec "{sys.executable}" -m agentfmt "$@"',
        "agent": 'trap "exit 143" TERM; cat stream; while :; do sleep 0.1; done',
    }.items():
        command = tmp_path / "bin" / name
        command.write_text(f"#!/bin/sh\n{body}\n")
        command.chmod(0o755)
    return tmp_path


def shell(folder: Path, script: str, **env: str) -> subprocess.Popen[bytes]:
    path = f"{folder}/bin:{os.environ['PATH']}"
    return subprocess.Popen(
        ["sh", "-c", script.replace("/tmp/p", f"{folder}/p"), "sh", "do it"],
        cwd=folder, env={**ENVIRON, **env, "PATH": path}, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_the_entrypoint_of_a_sidecar(folder: Path) -> None:
    log, out = folder / "log", folder / "out"
    log.write_bytes(whole_run())
    process = shell(folder, displays(SIDECAR, "Containers")[0], LOG=str(log), OUT=str(out))
    wait_for(out, b"result")
    with open(log, "ab", 0) as file:  # a word that waits for its line
        file.write(init("b") + assistant(f"token {TOKEN}", "b", timestamp_ms=1))
    wait_for(out, init("b"))
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT)
    assert out.read_bytes().startswith(whole_run() + init("b"))
    assert b"token [REDACTED:github-token]" in out.read_bytes()


def test_the_entrypoint_of_an_agent(folder: Path) -> None:
    (folder / "stream").write_bytes(whole_run() + init("b"))
    process = shell(folder, displays(SIDECAR, "Containers")[1])
    assert process.stdout
    got = b""
    while got.count(b"\n") < 7:
        got += os.read(process.stdout.fileno(), 65536)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1  # the run that the signal cut short has failed


@pytest.mark.parametrize("status", [0, 3])
def test_the_entrypoint_has_the_status_of_an_agent_whose_run_succeeded(
    status: int, folder: Path
) -> None:
    (folder / "stream").write_bytes(whole_run())
    (folder / "bin" / "agent").write_text(f"#!/bin/sh\ncat stream; exit {status}\n")
    process = shell(folder, displays(SIDECAR, "Containers")[1])
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == status
