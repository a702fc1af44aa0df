"""Log shippers with agentfmt as their child: each numbered event arrives once, and no secret.

And the logs of container runtimes: what they cut and wrapped leaves as the agent wrote it.

What is not installed is skipped. SHIPPERS_ROOT names a folder into which packages were unpacked:
syslog-ng cannot be installed beside rsyslog, and docker starts itself where it is installed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import (
    COMMAND,
    ENVIRON,
    SIDECAR,
    TIMEOUT,
    TOKEN,
    Ended,
    assistant,
    completed,
    convert,
    displays,
    init,
    interleaved,
    result,
    run,
    started,
    user,
    whole_run,
)

EVENTS = 1500
ROOT = os.environ.get("SHIPPERS_ROOT", "")
DAEMONS = {
    **os.environ,
    "PATH": f"{ROOT}/usr/bin:{ROOT}/usr/sbin:{os.environ['PATH']}:/usr/sbin",
    "LD_LIBRARY_PATH": ":".join({str(path.parent) for path in Path(ROOT, "usr").rglob("lib*.so*")})
    if ROOT
    else "",
}


def daemon(name: str) -> str:
    """The path of a program; without it the test is skipped."""
    found = shutil.which(name, path=DAEMONS["PATH"])
    return found or pytest.skip(f"{name} is not installed, nor in SHIPPERS_ROOT")


class Shipper:
    """A daemon that follows agent.ndjson in a folder and feeds agentfmt what is new."""

    def __init__(self, folder: Path, command: list[str], config: str) -> None:
        self.folder, self.command = folder, command
        self.log, self.out = folder / "agent.ndjson", folder / "out.ndjson"
        self.log.touch()
        self.out.touch()
        ship = folder / "ship"
        ship.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={ENVIRON['PYTHONPATH']}\n"
            f"exec {sys.executable} -m agentfmt -t stream-json --thinking -r secrets --exit-zero"
            f" >>{self.out} 2>>{folder}/err\n"
        )
        ship.chmod(ship.stat().st_mode | stat.S_IXUSR)
        for there, here in (
            ("/logs", folder), ("/usr/local/bin/ship", ship), ("/var/spool/rsyslog", folder),
        ):  # fmt: skip
            config = config.replace(there, str(here))
        (folder / "config").write_text(config)
        self.sent = 0
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with open(self.folder / "said", "ab") as said:
            return subprocess.Popen(
                self.command, stdout=said, stderr=said, cwd=self.folder, env=DAEMONS
            )

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
        limit = time.monotonic() + 20
        while self.out.read_bytes().count(b"\n") < count and time.monotonic() < limit:
            time.sleep(0.1)


def rsyslog(folder: Path) -> Shipper:
    command = [daemon("rsyslogd"), "-n", "-f", f"{folder}/config", "-i", f"{folder}/pid"]
    return Shipper(folder, command, displays(SIDECAR, "rsyslog")[0])


def syslog_ng(folder: Path) -> Shipper:
    command = [daemon("syslog-ng"), "-F", "--no-caps", "-f", f"{folder}/config", "-R",
               f"{folder}/persist", "-p", f"{folder}/pid", "-c", f"{folder}/control"]  # fmt: skip
    if ROOT:
        modules = next(path.parent for path in Path(ROOT).rglob("libafprog.so"))
        command += [f"--module-path={modules}"]
    return Shipper(folder, command, f"@version: 3.38\n{displays(SIDECAR, 'syslog-ng')[0]}")


@pytest.fixture(params=[rsyslog, syslog_ng])
def shipper(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shipper]:
    make: Callable[[Path], Any] = request.param
    started = make(tmp_path)
    time.sleep(1)
    if started.process.poll() is not None:
        pytest.skip(f"it does not run here: {(tmp_path / 'said').read_text()[-300:]}")
    yield started
    started.stop()


def test_each_event_arrives_once_and_no_secret(shipper: Shipper) -> None:
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


# ---------------------------------------------------------------- logs of container runtimes


def wait_for(path: Path, data: bytes) -> None:
    limit = time.monotonic() + TIMEOUT
    while not (path.exists() and data in path.read_bytes()):
        assert time.monotonic() < limit
        time.sleep(0.05)


def long_options(values: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def conmon(folder: Path) -> Path:
    """The log of a stream by conmon, which podman and CRI-O start for each container. It asks a
    runtime for one: here a script that starts cat."""
    runtime = folder / "runtime"
    start = f'cat {folder}/stream & echo $! >"$2"'
    runtime.write_text(f'#!/bin/sh\nwhile [ "$1" != --pid-file ]; do shift; done\n{start}\n')
    runtime.chmod(0o755)
    options = {"cid": "ended", "cuuid": 1, "runtime": runtime, "bundle": folder, "exit-dir": folder,
               "socket-dir-path": folder, "container-pidfile": folder / "pid",
               "log-path": f"k8s-file:{folder}/log"}  # fmt: skip
    subprocess.run([daemon("conmon"), *long_options(options)], env=DAEMONS, check=True)
    wait_for(folder / "ended", b"")
    return folder / "log"


def docker(folder: Path) -> Path:
    """dockerd's json-file of a container in which cat writes a stream; the image is cat alone."""
    host = f"unix://{folder}/socket"
    options = {"host": host, "data-root": folder / "data", "exec-root": folder / "exec",
               "pidfile": folder / "pid", "storage-driver": "vfs", "bridge": "none",
               "iptables": "false", "ip-forward": "false"}  # fmt: skip
    command = [daemon("dockerd"), *long_options(options)]
    cat = str(shutil.which("cat"))
    needs = re.findall(r"/\S+", subprocess.check_output(["ldd", cat], text=True))
    image = subprocess.check_output(["tar", "-chP", cat, *needs])

    def client(*words: str, data: bytes = b"") -> str:
        command = [daemon("docker"), f"--host={host}", *words]
        return subprocess.check_output(command, env=DAEMONS, input=data, timeout=TIMEOUT).decode()

    with open(folder / "said", "ab") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=DAEMONS)
    try:
        while not (folder / "socket").exists():
            if process.poll() is not None:
                pytest.skip(f"it does not run here: {(folder / 'said').read_text()[-300:]}")
            time.sleep(0.1)
        client("import", "-", "cat", data=image)
        ran = {"name": "one", "network": "none", "volume": f"{folder}/stream:/stream:ro"}
        client("run", "--log-driver=json-file", *long_options(ran), "cat", cat, "/stream")
        log = client("inspect", "--format={{.LogPath}}", "one").strip()
        return Path(shutil.copy(log, folder / "log"))
    finally:
        process.terminate()
        process.wait(TIMEOUT)


@pytest.mark.parametrize("runtime", [conmon, docker])
def test_a_containers_log(runtime: Callable[[Path], Path]) -> None:
    """Lines that it cut leave as they were, and redaction sees what the cuts went through."""
    lines = (assistant("x" * n + f" {TOKEN}" * 1000 + "\n") for n in range(9))
    stream = init() + user() + b"".join(lines) + result()
    with tempfile.TemporaryDirectory() as name:  # tmp_path is too long for the path of a socket
        folder = Path(name)
        (folder / "stream").write_bytes(stream)
        log = runtime(folder).read_bytes()
    assert log.count(b"\n") > stream.count(b"\n")
    assert log.count(TOKEN.encode()) < stream.count(TOKEN.encode())
    assert run("-t", "stream-json", "--thinking", data=log) == Ended(stream, "", 0)
    hidden = run("-t", "stream-json", "-r", "secrets", data=log).stdout
    assert hidden == stream.replace(TOKEN.encode(), b"[REDACTED:github-token]")


# ---------------------------------------------------------------- containers, many cores


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
    process.communicate(timeout=10)
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
    process.communicate(timeout=10)
    assert process.returncode == 1  # the run that the signal cut short has failed


@pytest.mark.parametrize("status", [0, 3])
def test_the_entrypoint_has_the_status_of_an_agent_whose_run_succeeded(
    status: int, folder: Path
) -> None:
    (folder / "stream").write_bytes(whole_run())
    (folder / "bin" / "agent").write_text(f"#!/bin/sh\ncat stream; exit {status}\n")
    process = shell(folder, displays(SIDECAR, "Containers")[1])
    process.communicate(timeout=10)
    assert process.returncode == status


@pytest.mark.skipif(not shutil.which("awk"), reason="awk is not installed")
def test_a_log_that_awk_splits_by_session(tmp_path: Path) -> None:
    """Each session goes whole to one of several processes: their rows are those of one."""
    ends = [[], [result("s1", is_error=True)], [result("s2")], [result("s3"), user("s3")]]
    runs = [[init(f"s{n}"), started(session=f"s{n}"), completed(session=f"s{n}"), *ends[n]]
            for n in range(4)]  # fmt: skip
    (tmp_path / "shard.awk").write_text(displays(SIDECAR, "MANY FILES, MANY CORES")[0])
    (tmp_path / "big.ndjson").write_bytes(b"".join(interleaved(*runs)))
    each = f"cmd={shlex.join([*COMMAND, '-t', 'runs', '--exit-zero'])}"
    awk = ["awk", "-v", "n=3", "-v", each, "-f", "shard.awk", "big.ndjson"]
    subprocess.run(awk, cwd=tmp_path, env=ENVIRON, check=True)
    out = [path.read_bytes() for path in tmp_path.glob("out.*")]
    one = convert(interleaved(*runs), "-t", "runs").objects
    several = [json.loads(line) for line in b"".join(out).splitlines()]
    assert len(out) == 3
    names = ("session", "verdict", "failure", "actions", "tools")
    told = [sorted(str([row[name] for name in names]) for row in rows) for rows in (one, several)]
    assert told[0] == told[1]
    assert len(told[0]) == 5
