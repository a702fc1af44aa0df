"""The command as a process: pipes, signals, descriptors, disks, memory; its arguments, FILEs, and
exit status. What a stream becomes is asked elsewhere, in process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest
import support
from click.shell_completion import ShellComplete
from stream import stream
from support import (
    COMMAND,
    ENVIRON,
    HERE,
    IMPATIENT,
    MANUAL,
    SAME,
    SESSION,
    TIMEOUT,
    Ended,
    assistant,
    completed,
    content,
    displays,
    init,
    label,
    result,
    run,
    run_of,
    signaled_again,
    start,
    table,
    user,
    whole_run,
)

import agentfmt

USAGE = 2
READ_LINE = f"{label('read')}\n".encode()
# A run that was begun on a line, and in a document that is cut within a string.
CUT = (init(), b"{\n" + init()[1:] + b'{\n"type": "unfinis')
SIGNALS = {signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts the command; it is killed after the test, however that ends."""
    with contextlib.ExitStack() as stack:

        def begin(*args: str, **options: Any) -> subprocess.Popen[bytes]:
            process = start(*args, **options)
            stack.callback(end, process)
            return process

        yield begin


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError):
            if pipe:
                pipe.close()


Begin = Callable[..., subprocess.Popen[bytes]]
File = Callable[[str, bytes], str]


@pytest.fixture
def file(tmp_path: Any) -> Callable[..., str]:
    def make(name: str, data: bytes) -> str:
        path = os.path.join(tmp_path, name)
        with open(path, "wb") as made:
            made.write(data)
        return path

    return make


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    process.stdin.write(data)
    process.stdin.flush()


def read(process: subprocess.Popen[bytes], count: int) -> bytes:
    """This many bytes of its output, without waiting for its end."""
    assert process.stdout
    fd, got = process.stdout.fileno(), b""
    while len(got) < count:
        ready, _, _ = select.select([fd], [], [], TIMEOUT)
        assert ready, f"only {got!r}"
        chunk = os.read(fd, count - len(got))
        assert chunk, f"ended after {got!r}"
        got += chunk
    return got


def finish(process: subprocess.Popen[bytes]) -> Ended:
    stdout, stderr = process.communicate(timeout=TIMEOUT)
    return Ended(stdout, stderr.decode(), process.returncode)


def reads(process: subprocess.Popen[bytes]) -> None:
    """Wait for the answer to a first event: then its signal handlers are installed."""
    write(process, b'{"type":"ready"}\n')
    assert read(process, 17) == b'{"type":"ready"}\n'


# ---------------------------------------------------------------- live


RESULT_LINE = (
    b'{"type":"result","subtype":"success","is_error":false,"duration_ms":null,'
    b'"duration_api_ms":null,"result":"","session_id":"%b"}\n' % SESSION.encode()
)


@pytest.mark.parametrize(("to", "line", "answer"), [
    pytest.param("text", completed(), READ_LINE, id="text"),
    pytest.param("stream-json", completed(), completed(), id="stream-json"),
    pytest.param("json", result(), RESULT_LINE, id="json"),
    pytest.param("text", b"{\n" + completed()[1:], READ_LINE, id="documents"),
    pytest.param("text", b"[\n" + completed(), READ_LINE, id="array"),
    pytest.param("text", b"\xef\xbb\xbf\n" + completed(), READ_LINE, id="BOM"),
    pytest.param("text", b"a | " + completed(), READ_LINE, id="prefix"),
])  # fmt: skip
def test_an_event_leaves_at_once(begin: Begin, to: str, line: bytes, answer: bytes) -> None:
    process = begin("-t", to)
    write(process, line)
    assert read(process, len(answer)) == answer
    assert process.poll() is None


def test_a_message_leaves_at_once(begin: Begin) -> None:
    process = begin()
    write(process, b"prose\n")
    assert process.stderr
    assert process.stderr.readline() == b"agentfmt: stdin:1: prose\n"


def test_an_event_in_two_writes_leaves_when_it_is_whole(begin: Begin) -> None:
    process = begin(*SAME)
    line = completed()
    for _ in range(3):
        write(process, line[:50])
        assert process.stdout
        assert not select.select([process.stdout], [], [], 0.05)[0]
        write(process, line[50:])
        assert read(process, len(line)) == line


def test_output_and_messages_stay_in_order() -> None:
    data = b'{"a":1}\nprose\n{"b":1}\n' + result()
    both = run(*SAME, data=data, stderr=subprocess.STDOUT)
    assert both.stdout == b'{"a":1}\nagentfmt: stdin:2: prose\n{"b":1}\n' + result()


# ---------------------------------------------------------------- pipes that neighbours share

BIG = b"".join(stream(3_000_000))


@pytest.mark.parametrize("blocking", [True, False])
def test_nothing_is_lost_in_non_blocking_pipes(begin: Begin, blocking: bool) -> None:
    stdin, feed = os.pipe()
    drain, stdout = os.pipe()
    for fd in (stdin, stdout):
        os.set_blocking(fd, blocking)
    process = begin(*SAME, stdin=stdin, stdout=stdout)
    os.close(stdin)
    os.close(stdout)
    feeder = threading.Thread(target=feed_slowly, args=(feed,))
    feeder.start()
    got = bytearray()
    while chunk := os.read(drain, 100_000):
        got += chunk
        time.sleep(0.001)
    feeder.join()
    os.close(drain)
    assert process.wait(TIMEOUT) == 0
    assert process.stderr
    assert process.stderr.read() == b""
    assert bytes(got) == BIG


def feed_slowly(fd: int) -> None:
    with open(fd, "wb") as pipe:
        for i in range(0, len(BIG), 250_000):
            pipe.write(BIG[i : i + 250_000])
            pipe.flush()
            time.sleep(0.005)


@pytest.mark.parametrize("name", ["PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONSAFEPATH"])
def test_variables_of_the_interpreter_change_nothing(name: str) -> None:
    ended = run(*SAME, data=BIG, env=ENVIRON | {name: "1", "LC_ALL": "C"})
    assert (ended.stdout == BIG, *ended[1:]) == (True, "", 0)


@pytest.mark.parametrize("args", [
    SAME, ("-d",), ("-m", "all"), ("-m", "final"), ("-s",), ("-t", "json", "--actions", "stderr"),
])  # fmt: skip
def test_it_ends_silently_when_its_reader_is_gone(args: tuple[str, ...]) -> None:
    script = '"$@" 2>/dev/null | head -n 1; echo "${PIPESTATUS[0]}"'
    script = script if "stderr" in args else script.replace(" 2>/dev/null", "")
    done = subprocess.run(
        ["bash", "-c", script, "-", *COMMAND, *args],
        input=BIG, capture_output=True, env=ENVIRON, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    *_, status, rest = done.stdout.split(b"\n")
    assert (rest, done.stderr) == (b"", b"")
    assert status == b"141" or (args != SAME and status == b"0")  # what a pipe takes in whole
    assert args != SAME or BIG.startswith(done.stdout.removesuffix(b"141\n"))


def test_a_reader_of_stderr_that_is_gone_does_no_harm(begin: Begin) -> None:
    drain, stderr = os.pipe()
    process = begin(*SAME, stderr=stderr)
    os.close(stderr)
    os.close(drain)
    data = b"prose\n" + whole_run()
    assert process.communicate(data, timeout=TIMEOUT)[0] == whole_run()
    assert process.returncode == 0


# ---------------------------------------------------------------- disks and descriptors

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")


@full
@pytest.mark.parametrize(("args", "data"), [
    ([], whole_run()), (["-t", "json"], whole_run()), (SAME, whole_run()), (["--help"], b""),
    (["--version"], b""), (SAME, CUT[1]),
])  # fmt: skip
def test_a_full_disk(args: list[str], data: bytes) -> None:
    with open("/dev/full", "wb") as disk:
        ended = run(*args, data=data, stdout=disk)
    assert ended[1:] == ("agentfmt: stdout: No space left on device\n", 2)


@full
def test_rejects_on_a_full_disk() -> None:
    ended = run("--rejects", "/dev/full", data=b"prose\n" + whole_run())
    assert ended.stderr.splitlines()[-1] == "agentfmt: --rejects /dev/full: No space left on device"
    assert ended.status == 2


@full
def test_messages_on_a_full_disk_do_no_harm() -> None:
    with open("/dev/full", "wb") as disk:
        ended = run(*SAME, data=b"prose\n" + whole_run(), stderr=disk)
        summary = run("-q", "-s", data=whole_run(), stderr=disk)
    assert ended == Ended(whole_run(), "", 0)
    assert summary.status == 2


def shell(redirection: str, *args: str, data: bytes = b"") -> Ended:
    """The command with descriptors as the shell makes them."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "-", *COMMAND, *args],
        input=data, capture_output=True, env=ENVIRON, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    return Ended(done.stdout, done.stderr.decode(), done.returncode)


def test_a_standard_descriptor_is_closed() -> None:
    empty = Ended(b"", "agentfmt: stdin is empty: the agent wrote nothing\n", 1)
    assert shell("<&-") == empty
    bad = Ended(b"", "agentfmt: stdout: Bad file descriptor\n", 2)
    assert shell(">&-", data=whole_run()) == bad


def test_standard_error_is_closed(file: File) -> None:
    path = file("file", b"prose\n" + whole_run())
    assert shell("2>&-", *SAME, path) == Ended(whole_run(), "", 0)
    assert content(path) == b"prose\n" + whole_run()


@pytest.mark.parametrize("closed", ["<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_several_descriptors_are_closed(closed: str, file: File) -> None:
    ended = shell(closed, path := file("file", whole_run()))
    assert ended.status == (0 if ">&- " not in f"{closed} ".replace("2>&- ", "") else 2)
    assert "Traceback" not in ended.stderr
    assert content(path) == whole_run()


# ---------------------------------------------------------------- signals


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Undo that a shell has commands in the background, and their children, ignore signals."""
    before = {code: signal.getsignal(code) for code in SIGNALS}
    for code in SIGNALS:
        signal.signal(code, signal.default_int_handler)
    yield
    for code, handler in before.items():
        signal.signal(code, handler)


@pytest.mark.parametrize(
    ("code", "status", "begun"), [(*one, CUT[0]) for one in SIGNALS.items()] + [(15, 143, CUT[1])]
)
def test_a_signal_ends_it_without_a_verdict(
    begin: Begin, code: int, status: int, begun: bytes
) -> None:
    process = begin(*SAME)
    write(process, begun)
    assert read(process, len(init())) == init()
    process.send_signal(code)
    assert finish(process) == Ended(b"", "", status)


@pytest.mark.parametrize(("code", "status"), SIGNALS.items())
def test_a_summary_of_what_a_signal_leaves_open(begin: Begin, code: int, status: int) -> None:
    process = begin("-s", "-m", "all")
    write(process, whole_run() + init("b") + assistant("Half a", "b") + completed(session="b"))
    summed = b"agentfmt: run 5f0e4a1c (stdin:1): succeeded, 1 action (read 1), Auto\n"
    lines = READ_LINE + b"Done.\n" + summed + b"Half a\n" + READ_LINE
    assert read(process, len(lines)) == lines
    process.send_signal(code)
    ended = finish(process)
    assert ended.status == status
    ended_after = "unfinished, 1 action (read 1), Auto: interrupted"
    assert ended.lines[0] == f"agentfmt: run b (stdin:7): {ended_after}"
    assert "2 runs: 1 succeeded, 1 unfinished" in ended.lines[1]
    assert ended.stderr == ""


def test_what_the_pipe_holds_at_a_signal_is_written(begin: Begin) -> None:
    process = begin(*SAME)
    reads(process)
    process.send_signal(signal.SIGSTOP)
    write(process, whole_run() * 20 + b'{"half":')
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    assert finish(process) == Ended(whole_run() * 20, "", 143)


def test_a_signal_while_nobody_reads_loses_nothing(begin: Begin) -> None:
    process = begin(*SAME)
    reads(process)
    sent = fill(process)  # the write to the other pipe has to wait, too
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    assert finish(process) == Ended(sent[: sent.rindex(b"\n") + 1], "", 143)


def fill(process: subprocess.Popen[bytes]) -> bytes:
    """Write to it until the pipes on both sides are full."""
    assert process.stdin
    fd, sent = process.stdin.fileno(), 0
    os.set_blocking(fd, False)
    while select.select([], [fd], [], 0.3)[1]:
        sent += os.write(fd, BIG[sent : sent + 4096])
    os.set_blocking(fd, True)
    assert 0 < sent < len(BIG)
    return BIG[:sent]


def feed_all(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    with contextlib.suppress(OSError):
        process.stdin.write(data)
        process.stdin.close()


def test_an_endless_writer_does_not_keep_it_from_ending(begin: Begin) -> None:
    feeder = subprocess.Popen(["yes", '{"type":"x"}'], stdout=subprocess.PIPE)
    process = begin(*SAME, stdin=feeder.stdout)
    assert feeder.stdout
    feeder.stdout.close()
    reached = b""
    while reached.count(b"\n") < 10:  # it reads: its signal handlers are installed
        reached += read(process, 1)
    drain = threading.Thread(target=process.communicate)
    drain.start()
    process.send_signal(signal.SIGTERM)
    # A busy machine refills the pipe, and the timer ends the program: a shell says 143 of both.
    assert process.wait(TIMEOUT) in (143, -signal.SIGTERM)
    assert feeder.wait(TIMEOUT) == -signal.SIGPIPE
    drain.join()


@pytest.mark.parametrize("last", [b'{"type":"y","session_id":"s"}', b'{"type":"y","sess'])
def test_a_line_that_had_arrived_but_for_its_end_is_not_lost(begin: Begin, last: bytes) -> None:
    process = begin(*SAME)
    assert process.stdin
    process.stdin.write(b'{"type":"x"}\n' + last)
    process.stdin.flush()
    first = read(process, 1)  # it reads: its signal handlers are installed
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=TIMEOUT)
    assert (first + rest).splitlines()[1:] == [last] * last.endswith(b"}")


def test_a_second_signal_does_not_wait(begin: Begin) -> None:
    process = begin(*SAME)
    reads(process)
    feeder = threading.Thread(target=feed_all, args=(process, BIG))
    feeder.start()
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    assert process.poll() is None
    assert signaled_again(process, signal.SIGTERM) in (-signal.SIGTERM, 143)
    feeder.join()


def wait_until_full(pipe: Any) -> None:
    """Until what it holds grows no more."""
    held, now = -1, 0
    while not now or held != now:
        time.sleep(0.3)
        held, (now,) = now, struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))


HANGING = """
import re, sys, agentfmt
agentfmt.LAST_SECONDS, agentfmt.HASHES = {seconds}, re.compile("(#|##)+x")
sys.exit(agentfmt.main())
"""


@pytest.mark.parametrize(
    ("seconds", "second"),
    [(0.2, None), (1000, signal.SIGTERM), (1000, signal.SIGINT)],
    ids=["deadline", "same", "another"],
)
def test_a_signal_ends_what_hangs(
    monkeypatch: pytest.MonkeyPatch, begin: Begin, seconds: float, second: int | None
) -> None:
    """An expression that takes for ever."""
    script = HANGING.format(seconds=seconds)
    monkeypatch.setattr(support, "COMMAND", [sys.executable, "-c", script])
    process = begin("-m", "all")
    write(process, init() + completed())
    assert read(process, len(READ_LINE)) == READ_LINE
    write(process, assistant("#" * 100 + "\n"))
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    if second:
        time.sleep(0.2)
        assert process.poll() is None
        assert signaled_again(process, second) == -signal.SIGTERM
    assert process.wait(TIMEOUT) == -signal.SIGTERM


def test_nohup(begin: Begin) -> None:
    process = begin(*SAME, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    reads(process)
    process.send_signal(signal.SIGHUP)
    write(process, result())
    assert finish(process) == Ended(result(), "", 0)


def test_a_signal_while_a_fifo_has_no_writer(begin: Begin, tmp_path: Any) -> None:
    os.mkfifo(fifo := os.path.join(tmp_path, "fifo"))
    process = begin("-t", "stream-json", "-", fifo)
    reads(process)
    assert process.stdin
    process.stdin.close()
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT) == 143


def test_a_fifo_is_a_file(begin: Begin, tmp_path: Any) -> None:
    os.mkfifo(fifo := os.path.join(tmp_path, "fifo"))
    process = begin(*SAME, fifo)
    with open(fifo, "wb", 0) as pipe:
        pipe.write(completed())
        assert read(process, len(completed())) == completed()
        pipe.write(result())
    assert finish(process) == Ended(result(), "", 0)


# ---------------------------------------------------------------- command line and FILEs


@pytest.mark.parametrize(("args", "message"), [
    *((shlex.split(row.values[0]), row.values[1]) for row in table("usage.txt", "usage")),
    (["--max-line", "9" * 5000], "invalid size"),
    (["\x1b[31m\n"], "\\x1b[31m\\n: No such file or directory"),
    (["\udcff"], "No such file or directory"),
    (["x" * 300], "File name too long"),
    ([""], "No such file or directory"),
    ([f"{HERE}/sample.ndjson", "/nonexistent"], "/nonexistent: No such"),  # before it reads
])  # fmt: skip
def test_usage(args: list[str], message: str) -> None:
    ended = run(*args, data=whole_run())
    assert (ended.stdout, ended.status) == (b"", USAGE)
    assert message in ended.stderr
    assert ended.stderr.startswith("agentfmt: ")
    assert ended.stderr.count("\n") == 1


def test_help_ends_with_the_exit_statuses() -> None:
    for option in ("-h", "--help"):
        ended = run(option)
        assert ended.status == 0
        assert ended.stdout.rstrip().endswith(b"SIGHUP, SIGINT, SIGPIPE, SIGTERM")


@pytest.mark.parametrize("line", displays(MANUAL, "COMPLETION")[0].splitlines())
def test_the_lines_that_set_up_completion(line: str) -> None:
    """What they ask for is click's own script of the shell."""
    (shell,) = re.findall(r"_AGENTFMT_COMPLETE=(\w+)_source agentfmt", line)
    ended = run(env=ENVIRON | {"_AGENTFMT_COMPLETE": f"{shell}_source"})
    assert (ended.status, ended.stderr) == (0, "")
    assert f"_AGENTFMT_COMPLETE={shell}_complete" in ended.stdout.decode()
    by_hand = run(env=ENVIRON | {"_AGENTFMT_COMPLETE": f"{shell}_complete"})
    assert "Traceback" not in by_hand.stderr


@pytest.mark.parametrize(("line", "word"), [("-f cla", "claude"), ("-m fin", "final")])
def test_a_word_is_completed(line: str, word: str) -> None:
    *args, incomplete = line.split()
    complete = ShellComplete(agentfmt.command, {}, "agentfmt", "_AGENTFMT_COMPLETE")
    assert [item.value for item in complete.get_completions(args, incomplete)] == [word]


def test_version() -> None:
    for option in ("-V", "--version"):
        ended = run(option)
        assert ended == Ended(f"agentfmt {agentfmt.__version__}\n".encode(), "", 0)


def test_help_names_each_option() -> None:
    text = run("--help").stdout.decode()
    assert max(map(len, text.splitlines())) <= 80
    for option in agentfmt.command.params:
        if isinstance(option, click.Option):
            assert re.search(rf"(?<!\S){option.opts[-1]}(?![\w-])", text), option.opts
    for words in ("SELECTOR is KEY=GLOB", "Hide secrets, paths", "Show the manual"):
        assert words in text
    examples = text.partition("Examples:")[2].partition("Exit status")[0]
    assert examples.count("agentfmt") == 3
    assert "x>=0" not in text  # a formula


@pytest.mark.parametrize(("page", "file", "words"), table("usage.txt", "the manual"))
@pytest.mark.parametrize("viewer", ["man", "mandoc", ""])
def test_the_manual(
    viewer: str, page: tuple[str, ...], file: str, words: str, tmp_path: Any
) -> None:
    if viewer:
        made = os.path.join(tmp_path, viewer)
        with open(made, "w") as script:
            script.write('#!/bin/sh\necho "$0 shows $*"\n')
        os.chmod(made, 0o755)
    ended = run("--man", *page, env={**ENVIRON, "PATH": str(tmp_path)})
    assert (ended.stderr, ended.status) == ("", 0)
    text = ended.stdout.decode()
    if viewer:
        assert text.startswith(made)
        assert text.endswith(f"/{file}\n")
    else:
        assert words in text
        assert not re.search(r"^\.[A-Z][a-z]\b|\bFl\b", text, re.MULTILINE)


def test_verbose_is_four_options() -> None:
    failed = completed(
        key="shellToolCall", result={"failure": {"exitCode": 1, "stdout": "x\n" * 9}}
    )
    data, tail = init() + user() + failed + result(), ("--tail", "5")
    assert run("-v", data=data) == run("-d", "-m", "chat", "-s", *tail, data=data)
    assert run("-v", "-m", "none", data=data) == run("-d", "-s", *tail, data=data)
    assert run("-v", "-t", "json", data=data) == run("-s", "-t", "json", data=data)
    assert run("-v", "--no-detail", data=data) == run("-m", "chat", "-s", *tail, data=data)
    assert run("-v", "--tail", "0", data=data) == run("-d", "-m", "chat", "-s", data=data)


def test_quiet_is_the_verdict_alone() -> None:
    assert run("-q", data=whole_run()) == Ended(b"", "", 0)
    assert run("-q", "-m", "final", data=whole_run()) == Ended(b"Done.\n", "", 0)
    assert run("-q", data=init()).status == 1


def test_a_terminal_as_standard_input_is_a_usage_error(begin: Begin) -> None:
    ours, theirs = pty.openpty()
    ended = finish(begin(stdin=theirs))
    os.close(ours)
    os.close(theirs)
    assert (ended.stdout, ended.status) == (b"", USAGE)
    assert ended.stderr.startswith("agentfmt: standard input is a terminal")
    assert ended.stderr.count("\n") == 1


def test_a_terminal_is_read_if_it_is_named(begin: Begin) -> None:
    ours, theirs = pty.openpty()
    process = begin(*SAME, "-", stdin=theirs)
    os.close(theirs)
    os.write(ours, b'{"type":"x"}\n' + result())
    assert read(process, 13) == b'{"type":"x"}\n'
    assert read(process, len(result())) == result()
    os.write(ours, b"\x04")
    assert finish(process) == Ended(b"", "", 0)
    os.close(ours)


def test_files_are_read_in_order(file: File) -> None:
    one, two = file("one", init() + b'{"n":1}'), file("two", b'{"n":3}\n' + result() + b"\n")
    ended = run(*SAME, one, "-", two, data=user().rstrip())
    assert ended == Ended(init() + b'{"n":1}\n' + user() + b'{"n":3}\n' + result(), "", 0)


def test_a_file_that_cannot_be_read(file: File) -> None:
    path = file("secret", whole_run())
    os.chmod(path, 0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    assert run(path) == Ended(b"", f"agentfmt: {path}: Permission denied\n", 2)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no /proc/self/mem")
def test_a_file_that_fails_while_it_is_read(file: File) -> None:
    ended = run(*SAME, "/proc/self/mem", file("good", whole_run()))
    assert (ended.stdout, ended.status) == (whole_run(), 2)
    assert ended.stderr == "agentfmt: /proc/self/mem: Input/output error\n"


def test_a_file_that_disappears_while_others_are_read(begin: Begin, file: File) -> None:
    gone = file("gone", whole_run())
    process = begin(*SAME, "-", gone)
    reads(process)
    os.unlink(gone)
    ended = finish(process)
    assert (ended.stdout, ended.status) == (b"", 2)
    assert ended.stderr.endswith(f"agentfmt: {gone}: No such file or directory\n")


def test_rejects(tmp_path: Any) -> None:
    """Their mode is 0600, whatever the umask."""
    rejects = os.path.join(tmp_path, "rejects")
    first, second, last = refused = [b"prose \xff\r\n", b'{"half":\n', b"\x1b[0mbye"]
    data = first + second + whole_run() + last
    ended = run(*SAME, "--rejects", rejects, data=data, preexec_fn=lambda: os.umask(0))
    assert (ended.stdout, ended.status) == (whole_run(), 3)
    assert stat.S_IMODE(os.stat(rejects).st_mode) == 0o600
    run("--rejects", rejects, data=b"appended\n")
    assert content(rejects) == b"".join(refused) + b"\nappended\n"


def test_rejects_cannot_be_an_input(file: File) -> None:
    both = file("both", b"prose\n" + whole_run())
    assert run("--rejects", both, both).status == USAGE


@pytest.mark.parametrize(("mode", "status"), [("wb", USAGE), ("ab", 0)])
def test_rejects_in_the_file_of_the_output(mode: str, status: int, tmp_path: Any) -> None:
    """Two that write over each other lose lines; two that append do not."""
    both = os.path.join(tmp_path, "both")
    with open(both, mode) as file:
        command = [sys.executable, "-m", "agentfmt", "--rejects", both]
        data = b"prose\n" + whole_run()
        done = subprocess.run(command, input=data, stdout=file, stderr=subprocess.PIPE, check=False)
    assert done.returncode == status
    if status:
        assert done.stderr.endswith(b"both: is also the standard output\n")
    else:
        assert b"prose\n" in content(both)


# ---------------------------------------------------------------- exit status


@pytest.mark.parametrize(("data", "status", "zero"), [
    pytest.param(whole_run(), 0, 0, id="ok"),
    pytest.param(init(), 1, 0, id="failed"),
    pytest.param(b"", 1, 0, id="no run"),
    pytest.param(whole_run() + b"{\n", 3, 0, id="damaged"),
    pytest.param(init() + b"{\n", 1, 0, id="failed and damaged"),
])  # fmt: skip
def test_exit_status(data: bytes, status: int, zero: int) -> None:
    ended = run(data=data)
    assert ended.status == status
    assert run("--exit-zero", data=data) == ended._replace(status=zero)


def test_an_error_beats_every_verdict(file: File) -> None:
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("no /proc/self/mem")
    bad = file("bad", init() + b"{\n")
    assert run("/proc/self/mem", bad).status == 2
    assert run("--exit-zero", "/proc/self/mem", bad).status == 2


# ---------------------------------------------------------------- size

# Runs a command, prints the most memory it held, in KiB, on stderr, and exits as it did.
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("peak", peak // (1024 if sys.platform == "darwin" else 1), file=sys.stderr)
sys.exit(status)
"""


def measured(data: Iterator[bytes], *args: str) -> tuple[int, float, str]:
    """Exit status, peak of memory in MB, messages."""
    process = subprocess.Popen(
        [sys.executable, "-c", MEASURE, *COMMAND, *args],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRON,
    )  # fmt: skip
    assert process.stdin
    for chunk in data:
        process.stdin.write(chunk)
    process.stdin.close()
    assert process.stderr
    *messages, peak = process.stderr.read().decode().splitlines(keepends=True)
    process.stderr.close()
    return process.wait(TIMEOUT), int(peak.split()[1]) / 1024, "".join(messages)


def huge(size: int) -> Iterator[bytes]:
    """An event this long on one line, between two others."""
    yield init() + b'{"type":"x","v":"'
    for _ in range(size // 65536):
        yield b"v" * 65536
    yield b'"}\n' + result()


@pytest.mark.parametrize(("limit", "most"), [("64M", 250), ("1M", 60)])
def test_memory_of_a_line_of_100_mb(limit: str, most: int) -> None:
    status, peak, messages = measured(huge(100 << 20), "--max-line", limit)
    assert status == 3
    assert messages.startswith("agentfmt: stdin:2: longer than --max-line ")
    assert messages.count("\n") == 1
    assert peak < most


def test_memory_of_a_line_just_short_enough() -> None:
    status, peak, messages = measured(huge(63 << 20), *SAME)
    assert (status, messages) == (0, "")
    assert peak < 2.5 * 63  # the line, what it holds, and the interpreter


def test_memory_of_a_result_of_many_tokens() -> None:
    """Bounded by the longest line: a small multiple of it."""
    line = b'{"type":"result","is_error":false,"v":[' + b"1," * 1_000_000 + b"1]}\n"
    status, peak, _ = measured(iter([line]), "-t", "json")
    assert status == 0
    assert peak < 60


@pytest.mark.parametrize("to", ["text", "json", "stream-json"])
def test_memory_is_flat(to: str) -> None:
    once = b"".join(stream(2_000_000))
    peaks = []
    for times in (1, 10):
        status, peak, messages = measured((once for _ in range(times)), "-t", to)
        assert (status, messages) == (0, "")
        peaks.append(peak)
    assert max(peaks) < 60
    assert peaks[1] - peaks[0] < 2.5


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_the_manual_may_be_read_in_part() -> None:
    command = shlex.join([*COMMAND, "--man"]) + " | head -n 1"
    ended = subprocess.run(
        ["bash", "-c", command], env=ENVIRON, capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("AGENTFMT(1)")
    assert ended.stderr == ""


# ---------------------------------------------------------------- a reader that is stuck


@pytest.mark.parametrize(("to", "option"), [("text", "--color"), ("runs", "--actions")])
def test_one_signal_ends_it_though_nobody_reads(
    monkeypatch: pytest.MonkeyPatch, begin: Begin, to: str, option: str
) -> None:
    """After a while, five seconds: what reads a pipe for so long has stopped."""
    monkeypatch.setattr(support, "COMMAND", [sys.executable, "-c", IMPATIENT])
    value = {"--color": "never", "--actions": "stderr"}[option]
    line = run_of(*(completed(str(number)) for number in range(30_000)))
    with tempfile.TemporaryFile() as file:
        file.write(line)
        file.seek(0)
        process = begin("-t", to, option, value, stdin=file)
        assert process.stdout
        assert process.stderr
        wait_until_full(process.stderr if option == "--actions" else process.stdout)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        process.communicate()
