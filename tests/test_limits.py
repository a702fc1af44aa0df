"""The command of --run, and limits of time: what is read, how it ends, what is left running."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import support
from support import (
    ENVIRON,
    IMPATIENT,
    ROOT,
    TIMEOUT,
    assistant,
    claude,
    completed,
    convert,
    init,
    result,
    returned,
    run,
    sections,
    signaled_again,
    start,
    started,
    table,
    use,
    whole_run,
)
from support import event as line_of

import agentfmt
from agentfmt import Activity, Limits

WHOLE, OPENED = whole_run().decode(), (init() + started()).decode()
TASK = {"task_id": "b1", "tool_use_id": "t1"}


BACKGROUND = b"".join(
    (
        line_of("system", subtype="init", cwd="/w", model="claude-sonnet-5", tools=["Bash"]),
        claude(use(command="npm run dev", run_in_background=True)),
        line_of("system", subtype="task_started", description="npm run dev", **TASK),
        claude(returned("started"), role="user", tool_use_result={"backgroundTaskId": "b1"}),
        claude({"type": "text", "text": "It runs."}),
        result(result="It runs.", num_turns=1),
    )
).decode()
WOKEN = line_of("system", subtype="task_notification", status="completed", **TASK).decode()


class Case(NamedTuple):
    """A script of a shell, in which $S prints a run, $O one up to an open call, and $B one with a
    server that goes on in the background. A heading names it, the exit status, and a part of the
    messages; options stand above it."""

    status: str
    said: str
    script: str
    options: str

    def slower(self, times: int) -> Case:
        """The same with longer times: those that have a point."""

        def longer(text: str) -> str:
            return re.sub(r"\b\d+\.\d\b", lambda number: f"{float(number[0]) * times:g}", text)

        return Case(*map(longer, self))


def case(heading: str, *options: str, script: str) -> tuple[str, Case]:
    name, status, said = f"{heading}: ".split(": ", 2)
    return name, Case(status, said.removesuffix(": "), script, " ".join(options))


CASES = dict(case(heading, *rows[:-1], script=rows[-1]) for heading, rows in sections("limits.txt"))


@contextlib.contextmanager
def nothing_left(script: str) -> Iterator[str]:
    """The script, whose processes that sleep can be told from all others; none may be left."""
    mark = f"sleep 60.{os.getpid()}"
    yield script.replace("sleep 60", mark)
    limit = time.monotonic() + 20  # what was killed takes a moment to go, and less than 60 s
    while subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout:
        assert time.monotonic() < limit


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment in which scripts find their streams."""
    texts = {"S": WHOLE, "O": OPENED, "B": BACKGROUND}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {**ENVIRON, "W": WOKEN.strip(), **{name: f"cat {tmp_path / name}" for name in texts}}


@pytest.mark.parametrize("name", CASES)
def test_a_command(name: str, shell: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "COMMAND", [sys.executable, "-c", IMPATIENT])
    try:
        check(CASES[name].slower(1), shell)
    except AssertionError:  # on a busy machine what takes no time takes some
        check(CASES[name].slower(8), shell)


def check(case: Case, shell: dict[str, str]) -> None:
    begun = time.monotonic()
    with nothing_left(case.script) as script:
        ended = run("-q", *case.options.split(), "--run", "sh", "-c", script, env=shell)
        assert ended.status == int(case.status), ended.stderr
        assert case.said in ended.stderr
        assert case.said or not ended.stderr
        assert time.monotonic() - begun < 50  # of what sleeps for longer


def test_what_a_command_leaves_may_tidy_up(shell: dict[str, str], tmp_path: Path) -> None:
    """It is killed only if it is there a second after SIGTERM."""
    tidy = f"trap 'sleep 0.2; echo tidy >{tmp_path}/done; exit' TERM"
    script = f"({tidy}; : >{tmp_path}/ready; while :; do sleep 0.02; done) & "
    script += f"while ! test -e {tmp_path}/ready; do sleep 0.02; done; $S"
    ended = run("-q", "--run", "sh", "-c", script, env=shell)
    assert (ended.status, (tmp_path / "done").read_text()) == (0, "tidy\n")


@pytest.mark.parametrize(("arguments", "status", "said"), table("usage.txt", "not started"))
def test_a_command_that_is_not_started(arguments: tuple[str, ...], status: int, said: str) -> None:
    ended = run(*arguments)
    assert (ended.status, said in ended.stderr) == (status, True), ended.stderr


def test_a_command_keeps_its_options_and_our_input() -> None:
    ended = run("-d", "--run", "--", "cat", "-u", "--", "-", data=whole_run())
    assert (ended.lines, ended.status) == (["Read file a"], 0)


def test_an_option_of_ours_behind_the_command_is_noted() -> None:
    """It is the command's there, and what it was to do would not happen."""
    ended = run("-d", "--run", "sh", "-c", "cat", "--fail-on=read", data=whole_run())
    said = "--fail-on=read is an option of sh's here: what is for agentfmt stands before --run"
    assert (ended.status, ended.stderr) == (0, f"agentfmt: {said}\n")


@pytest.mark.parametrize(("script", "codes", "status"), [
    ("$O; exec sleep 60", [signal.SIGTERM], 143),
    ("$O; exec sleep 60", [signal.SIGINT], 130),
    ("$O; exec sleep 60", [signal.SIGHUP], 129),
    ("trap '' INT; $O; exec sleep 60", [signal.SIGINT, signal.SIGINT], -signal.SIGINT),
])  # fmt: skip
def test_a_signal_reaches_the_command(
    script: str, codes: list[int], status: int, shell: dict[str, str]
) -> None:
    with nothing_left(script) as marked:
        process = start("-q", "--tee", "/dev/stderr", "--run", "sh", "-c", marked, env=shell)
        assert process.stderr
        process.stderr.readline()  # the command runs
        first, *second = codes
        process.send_signal(first)
        if second:
            time.sleep(0.3)
            signaled_again(process, *second)
        process.communicate(timeout=TIMEOUT)
        assert process.returncode == status


def test_last_words_behind_a_signal_are_read(shell: dict[str, str]) -> None:
    script = "trap '$S | tail -n 1; exit' TERM; $S | head -n 4; sleep 60 & wait"
    process = start("-t", "stream-json", "--run", "sh", "-c", script, env=shell)
    assert process.stdout
    begun = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=TIMEOUT)
    lines = WHOLE.encode().splitlines()
    assert b"".join([*begun, rest]).splitlines() == [*lines[:4], lines[-1]]


def test_a_reader_that_goes_away_ends_the_command(shell: dict[str, str]) -> None:
    with nothing_left("sleep 60 & while :; do $S; done") as script:
        process = start("--run", "sh", "-c", script, env=shell, stdin=subprocess.DEVNULL)
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(TIMEOUT) == 128 + signal.SIGPIPE
        assert process.stderr
        process.stderr.close()


# ---------------------------------------------------------------- --tee


@pytest.mark.parametrize("command", [("--run", "cat"), ()])
def test_tee_keeps_every_byte(command: tuple[str, ...], tmp_path: Path) -> None:
    data, kept = b"prose\n" + whole_run() + b'{"cut', tmp_path / "kept"
    kept.write_bytes(b"before\n")
    ended = run("-q", "-r", "all", "--tee", str(kept), *command, data=data)
    assert (ended.status, kept.read_bytes()) == (3, b"before\n" + data)
    (tmp_path / "new").unlink(missing_ok=True)
    run("-q", "--tee", str(tmp_path / "new"), *command, data=data)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_ends_the_command(shell: dict[str, str]) -> None:
    with nothing_left("$S; sleep 60") as script:
        ended = run("-q", "--tee", "/dev/full", "--run", "sh", "-c", script, env=shell)
    assert (ended.status, ended.stderr) == (
        2,
        "agentfmt: --tee /dev/full: No space left on device\n",
    )


# ---------------------------------------------------------------- pipes, the clock


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--max-idle", "0.5"), "silent for 0.5 s with no call open"),
        (("--max-time", "1s"), "not over after 1 s"),
    ],
)
def test_a_limit_holds_for_a_pipe(options: tuple[str, ...], why: str) -> None:
    process = start("-t", "runs", *options)
    assert process.stdin
    assert process.stdout
    process.stdin.write(init() + assistant("Hm."))
    process.stdin.flush()
    row = process.stdout.readline().decode()
    process.stdin.close()
    process.stdin = None
    _, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert f"failed: timed out: {why}\n" in said.decode()
    assert f'"reason":"timed out: {why}","failure":"timeout"' in row


def deadline(now: float, activity: Activity, **options: Any) -> tuple[float, str]:
    """The next one of limits that were begun at 0, and looked at now."""
    limits = Limits(begun=0, activity=lambda: activity, **options)
    return min(limits.deadlines(now), default=(0, ""))


def test_deadlines() -> None:
    idle, busy = Activity({}, (), 0), Activity({1: lambda: "shell make"}, (), 0)
    assert deadline(7, idle, max_idle=10, max_time=60)[0] == 10
    assert deadline(7, busy, max_idle=10, max_time=60)[0] == 60
    called = deadline(7, busy, max_idle=10, max_time=60, max_call=20)
    assert called == (27, "shell make did not end in 20 s")
    assert deadline(7, idle) == (0, "")


@pytest.mark.parametrize(("text", "seconds"), {
    "90": 90, "90s": 90, "10m": 600, "1h30m": 5400, "0.5": 0.5, "0": 0,
}.items())  # fmt: skip
def test_times(text: str, seconds: float) -> None:
    assert agentfmt.parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "-1", "1m2h", "nan", "1 h", "1e3"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected one such as 90, 90s, 10m, 1h30m"):
        agentfmt.parse_time(text)


# ---------------------------------------------------------------- what a run may use


@pytest.mark.parametrize(
    ("options", "sample", "why"),
    [
        (("--max-calls", "7"), "sample", None),
        (("--max-calls", "6"), "sample", "more than 6 calls"),
        (("--max-calls", "0"), "sample-claude", "more than 0 calls"),
        (("--max-tokens", "9532"), "sample", None),  # 9,120 in, 412 out
        (("--max-tokens", "9531"), "sample", "more than 9531 tokens"),
        (("--max-tokens", "5"), "sample-claude", "more than 5 tokens"),
    ],
)
def test_a_run_may_use_so_much(options: tuple[str, ...], sample: str, why: str | None) -> None:
    for to in ("runs", "json"):  # with and without a look at each call
        ended = run("-t", to, *options, str(ROOT / "tests" / f"{sample}.ndjson"))
        assert ended.status == (why is not None)
        assert (why is None) or ended.stderr.endswith(f" failed: {why}\n")
        if to == "runs" and why:
            assert f'"reason":"{why}","failure":"budget"' in ended.stdout.decode()


def streamed(kind: str, **members: Any) -> bytes:
    inner = {"type": kind, **members}
    return line_of("stream_event", session_id="b", event=inner)


def counts(identity: str, tokens: int, parent: str | None = None) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": tokens}
    said = {"id": identity, "usage": usage, "content": [{"type": "text", "text": "So."}]}
    return line_of("assistant", session_id="b", message=said, parent_tool_use_id=parent)


BEGUN = line_of("system", subtype="init", session_id="b", cwd="/w", tools=[])
STREAMED = streamed("message_start", message={"id": "m"}) + counts("m", 1)
STREAMED += streamed("message_delta", delta={}, usage={"output_tokens": 30})
DELTAS = streamed("content_block_delta", delta={"type": "text_delta", "text": "So."})


@pytest.mark.parametrize(("lines", "tokens"), [
    pytest.param(counts("m", 30) * 3, (1, 30), id="a message whose lines all state it"),
    pytest.param(counts("m", 9) + counts("m", 30), (1, 30), id="its last line counts"),
    pytest.param(counts("m", 9) + counts("n", 20, "t"), (2, 29), id="a sub-agent's"),
    pytest.param(STREAMED + DELTAS, (1, 30), id="a delta of the message"),
])  # fmt: skip
def test_tokens_count_as_lines_state_them_before_the_result(
    lines: bytes, tokens: tuple[int, int]
) -> None:
    (row,) = convert(BEGUN + lines, "-t", "runs").objects
    assert (row["tokens_in"], row["tokens_out"]) == tokens
    for limit, reason in ((sum(tokens), "ended without"), (sum(tokens) - 1, "more than")):
        (row,) = run("-t", "runs", "--max-tokens", str(limit), data=BEGUN + lines).objects
        assert row["reason"].startswith(reason)
    stated: Any = {"usage": {"input_tokens": 5, "output_tokens": 7}}
    end = line_of(
        "result", subtype="success", is_error=False, result="So.", session_id="b", **stated
    )
    (row,) = convert(BEGUN + lines + end, "-t", "runs").objects
    assert (row["tokens_in"], row["tokens_out"]) == (5, 7)


def test_a_message_that_states_zeros_leaves_no_sum() -> None:
    """A proxy that does not count may state them; a limit counts what is stated."""
    lines = BEGUN + counts("m", 30) + counts("n", 0).replace(b":1", b":0")
    (row,) = convert(lines, "-t", "runs").objects
    assert (row["tokens_in"], row["tokens_out"]) == (None, None)
    (row,) = run("-t", "runs", "--max-tokens", "30", data=lines).objects
    assert row["reason"].startswith("more than")


def test_a_call_that_is_said_again_is_one() -> None:
    """Codex says a plan again for each step that is done."""
    again = init() + started("1") * 3 + completed("1") + result()
    assert run("-q", "--max-calls", "1", data=again).status == 0


def test_a_line_that_our_signal_cut_is_not_damaged(tmp_path: Path) -> None:
    """A good run whose agent stays is still a good run."""
    (tmp_path / "stream").write_bytes(init() + result())
    stays = 'trap \'printf "{\\"type"; exit\' TERM; cat stream; sleep 60 & wait'
    ended = run("--grace", "0.1", "--run", "sh", "-c", stays, cwd=tmp_path)
    why = "agentfmt: sh was ended: it did not exit within 0.1 s of its result\n"
    assert (ended.status, ended.stderr) == (0, why)


def test_what_a_silent_command_asks_is_shown() -> None:
    """A question has no LF: it says what the command waits for."""
    asks = "printf 'Enter API key: '; exec sleep 60"
    ended = run("--max-idle", "0.2", "--run", "sh", "-c", asks)
    assert ended.stderr.startswith("agentfmt: sh:1: Enter API key:\n")
    whole = 'printf \'{\n "session_id": "x",\n "response": "hi"\n}\'; exec sleep 60'
    assert "early" not in run("--max-idle", "0.2", "--run", "sh", "-c", whole).stderr  # a document


def test_an_agent_that_uses_too_much_is_ended(tmp_path: Path) -> None:
    stream = tmp_path / "stream"
    stream.write_bytes(init() + started("1") + started("2"))
    ended = run("-q", "--max-calls", "1", "--run", "sh", "-c", f"cat '{stream}'; sleep 60")
    assert ended.status == 1
    said = ended.stderr.splitlines()
    assert said[0].startswith("agentfmt: run ")
    assert "failed: more than 1 call; ended without a result" in said[0]
    assert said[1:] == ["agentfmt: sh was ended: more than 1 call at sh:3"]
    for data in (stream.read_bytes(), stream.read_bytes() + result()):  # the same word in both
        (row,) = convert(data, "-t", "runs", "--fail-on", "read").objects
        assert (row["verdict"], row["failure"]) == ("failed", "matched")
    (row,) = run("-t", "runs", "--max-calls", "1", str(stream)).objects
    assert (row["verdict"], row["failure"]) == ("failed", "budget")
