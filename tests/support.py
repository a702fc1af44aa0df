"""What the tests share: the pipeline in process, the command as a process, events to feed both."""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import functools
import gc
import inspect
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from unittest import mock

import pytest

import agentfmt

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = Path(HERE).parent
PAGES = sorted((ROOT / "man").glob("*.[17]"), key=lambda page: page.suffix)
MANUAL, SIDECAR = (page.read_text(encoding="utf-8") for page in PAGES)
SHARED = os.path.join(os.path.dirname(os.path.dirname(HERE)), "shared")
ENVIRON = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | {
    "PYTHONPATH": os.path.dirname(agentfmt.__file__)
}
COMMAND = [sys.executable, "-m", "agentfmt"]
THOROUGH = os.environ.get("AGENTFMT_HYPOTHESIS") == "long"
Choice = TypeVar("Choice")
IMPATIENT = """
import sys, agentfmt
assert (agentfmt.LAST_SECONDS, agentfmt.TERM_SECONDS) == (5, 5)
agentfmt.LAST_SECONDS = agentfmt.TERM_SECONDS = 0.5
sys.exit(agentfmt.main())
"""  # the command, where the tests need not wait as long
TIMEOUT = 60.0  # seconds, for what should take one

SESSION = "5f0e4a1c-77b2-4a0e-9d7e-2f60c1b3a001"
TOKEN = "ghp_" + "a1B2" * 9  # a secret of GitHub's form
SAME = ("-t", "stream-json", "--thinking")  # the stream, byte for byte


class Ended(NamedTuple):
    """What a run of the program left behind."""

    stdout: bytes
    stderr: str
    status: int

    @property
    def lines(self) -> list[str]:
        """The lines of stdout."""
        return [line.decode() for line in self.stdout.splitlines()]

    @property
    def objects(self) -> list[Any]:
        """The values that the lines of stdout are in JSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]


SCANNER = agentfmt.Scanner({}, {})
LATEST: list[tuple[tuple[str, ...], Any]] = []  # flags and data of what was converted last
# Of texts alone: no class is to be hidden.
MESSAGES_ONLY = agentfmt.EventRedactor(None, frozenset(), [], lambda: SCANNER)
PARAMETERS = inspect.signature(agentfmt.convert).parameters


class Report(agentfmt.Reporter):
    """A report that keeps its messages."""

    def __init__(
        self, out: agentfmt.Output, redaction: agentfmt.EventRedactor | None = None
    ) -> None:
        super().__init__(out, redaction or MESSAGES_ONLY)
        self.said: list[str] = []

    def message(self, text: str) -> None:
        self.out.flush()
        self.said.append(f"agentfmt: {text}\n")


# ---------------------------------------------------------------- the pipeline, in process


def convert(
    data: bytes | Iterable[bytes] | Mapping[str, Iterable[bytes]],
    *flags: str,
    **more: Any,
) -> Ended:
    """Feed the pipeline: bytes, chunks of them, or the chunks of several FILEs by name.

    The flags are the command's; no value of the environment is a secret. ``more`` goes to
    agentfmt.convert as it is, but what is ``wrote`` is shown while it goes on.
    """
    LATEST[:] = [(flags, data)]
    wrote: list[bytes] = more.pop("wrote", [])
    out = agentfmt.Output(wrote.append)
    files = data if isinstance(data, Mapping) else {"-": data}
    streams = [
        (name, iter([chunks] if isinstance(chunks, bytes) else chunks))
        for name, chunks in files.items()
    ]
    given = {**parameters(*flags), **more}
    view = agentfmt.view_of(given)._replace(out=agentfmt.PLAIN, err=agentfmt.PLAIN)
    given.setdefault("view", view)
    given.setdefault("redaction", redaction(given["classes"], given["patterns"]))
    report = Report(out, given["redaction"])
    options = {key: value for key, value in given.items() if key in PARAMETERS}
    with mock.patch.object(
        agentfmt, "write_all", lambda _, line: report.said.append(line.decode())
    ):
        agentfmt.convert(streams, **options, reporter=report, out=out)
    return Ended(b"".join(wrote), "".join(report.said), report.status())


def left_after(chunks: Iterable[bytes], *flags: str, **more: Any) -> list[int]:
    """How many lines have left after each chunk that arrived, when the next one is asked for."""
    wrote: list[bytes] = []
    left: list[int] = []

    def arriving() -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            left.append(b"".join(wrote).count(b"\n"))

    convert(arriving(), *flags, wrote=wrote, **more)
    return left


def redaction(
    classes: frozenset[str],
    patterns: Mapping[str, str] = MappingProxyType({}),
    known: Mapping[str, list[str]] = MappingProxyType({}),
    homes: Iterable[str] = (),
) -> agentfmt.EventRedactor | None:
    """The redactor for these classes; known values and patterns count as secrets."""
    classes |= {"secrets"} if known or patterns else set()
    used = scanner_of(known, patterns) if known or patterns else SCANNER
    secrets = used if "secrets" in classes else None
    made = agentfmt.EventRedactor(secrets, classes, list(homes), lambda: used)
    return made if classes else None


def scanner_of(
    known: Mapping[str, list[str]], patterns: Mapping[str, str] = MappingProxyType({})
) -> agentfmt.Scanner:
    """The finder of these values, made once: to compile its expressions takes 30 ms."""
    values = tuple((name, tuple(stated)) for name, stated in known.items())
    found = made_scanner(values, tuple(patterns.items()))
    found.copies = None  # of the run before
    return found


@functools.lru_cache(50)
def made_scanner(
    known: tuple[tuple[str, tuple[str, ...]], ...], patterns: tuple[tuple[str, str], ...]
) -> agentfmt.Scanner:
    return agentfmt.Scanner({name: [*stated] for name, stated in known}, dict(patterns))


@functools.cache
def parameters(*flags: str) -> Mapping[str, Any]:
    """What these flags mean, parsed once: that takes longer than to convert a short stream."""
    given = agentfmt.command.make_context("agentfmt", [*flags, "-"]).params
    classes = frozenset().union(*given["classes"])
    return MappingProxyType({**given, "classes": classes, "patterns": dict(given["patterns"])})


def one_byte_at_a_time(data: bytes) -> Iterator[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


# ---------------------------------------------------------------- the command, as a process


def run(*args: str, data: bytes = b"", **options: Any) -> Ended:
    """The command with its input in a pipe: in this process, which takes a fiftieth of the time,
    unless descriptors or an environment are asked for."""
    if not options.keys() - {"cwd"} and COMMAND[-1] == "agentfmt":
        return run_here(args, data, options.get("cwd", os.curdir))
    pipe = subprocess.PIPE
    options = {"stdout": pipe, "stderr": pipe, "timeout": TIMEOUT, "env": ENVIRON, **options}
    done = subprocess.run([*COMMAND, *args], input=data, check=False, **options)
    return Ended(done.stdout or b"", (done.stderr or b"").decode(), done.returncode)


def run_here(args: Iterable[str], data: bytes, folder: str | os.PathLike[str]) -> Ended:
    """What main() does with these arguments, where the standard descriptors are pipes. Afterwards
    descriptors and handlers of signals are what they were."""
    before, kept, here = open_descriptors(), [os.dup(number) for number in range(3)], os.getcwd()
    handlers = {code: signal.getsignal(code) for code in signal.valid_signals()}
    (stdin, feed), (drain, stdout), (said, stderr) = (os.pipe() for _ in range(3))
    with (
        concurrent.futures.ThreadPoolExecutor(3) as others,
        mock.patch.object(sys, "argv", ["agentfmt", *args]),
        mock.patch.object(gc, "freeze"),
    ):
        fed = others.submit(feed_all, feed, data)
        read = [others.submit(read_all, fd) for fd in (drain, said)]
        for number, fd in enumerate((stdin, stdout, stderr)):
            os.dup2(fd, number)
            os.close(fd)
        os.chdir(folder)
        try:
            with open(1, "w", closefd=False) as file, mock.patch.object(sys, "stdout", file):
                status = agentfmt.main()
        finally:
            os.chdir(here)
            signal.set_wakeup_fd(-1)
            for code, handler in handlers.items():
                if handler != signal.getsignal(code):
                    signal.signal(code, handler)
            for number, fd in enumerate(kept):
                os.dup2(fd, number)
                os.close(fd)
        fed.result()
        written, errors = (one.result() for one in read)
    for fd in open_descriptors() - before:
        os.close(fd)
    return Ended(written, errors.decode(), status)


def open_descriptors() -> set[int]:
    return {int(name) for name in os.listdir("/dev/fd")}


def feed_all(fd: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(fd, "wb") as pipe:
        pipe.write(data)


def read_all(fd: int) -> bytes:
    with open(fd, "rb") as pipe:
        return pipe.read()


def start(*args: str, **options: Any) -> subprocess.Popen[bytes]:
    """The command with a pipe on each side, still running."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *args],
        **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "env": ENVIRON, **options},
    )


def signaled_again(process: subprocess.Popen[bytes], code: int) -> int:
    """The status of a process that was sent a signal, and gets another: as often as needed, since
    two that come before it runs are one."""
    give_up = time.monotonic() + TIMEOUT
    while process.poll() is None:
        assert time.monotonic() < give_up
        process.send_signal(code)
        time.sleep(0.1)
    return process.wait()


# ---------------------------------------------------------------- terminals

GLYPHS = {"LC_ALL": "C.UTF-8"}


def on_terminal(
    data: bytes,
    *options: str,
    stdin: Any = subprocess.PIPE,
    columns: int = 80,
    ends: tuple[str, ...] = ("stdout", "stderr"),
    until: bytes = b"",
    env: dict[str, str] | None = None,
    pipe: bool = False,
) -> tuple[bytes, int]:
    """What a terminal gets of a process with these ``ends`` on it, and the process's status.

    The line of a started call, and what stands before it, is given alone: what comes after waits
    ``until`` the terminal shows that.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    other = subprocess.PIPE if pipe else subprocess.DEVNULL
    stdout, stderr = (theirs if end in ends else other for end in ("stdout", "stderr"))
    plain = {name: value for name, value in ENVIRON.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*COMMAND, *options],
        stdin=stdin, stdout=stdout, stderr=stderr,
        env={**plain, "TERM": "xterm", "LC_ALL": "C", **(env or {})},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        if process.stdin:
            cut = data.index(b"\n", data.index(b'"started"')) + 1 if until else len(data)
            process.stdin.write(data[:cut])
            process.stdin.flush()
            seen = read_terminal(ours, until) if until else b""
            process.stdin.write(data[cut:])
            process.stdin.close()
        seen += read_terminal(ours)
        process.communicate()
    finally:
        os.close(ours)
        process.kill()  # a test that waits in vain leaves no process
    return seen, process.returncode


def read_terminal(terminal: int, until: bytes = b"nothing that is ever written") -> bytes:
    seen = b""
    while until not in seen:
        assert select.select([terminal], [], [], TIMEOUT)[0], seen
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    return seen


# ---------------------------------------------------------------- files beside the checkout


def corpus(*path: str, suffix: str | tuple[str, ...]) -> list[Any]:
    """The files of a folder beside the checkout, and of the folders in it, one test for each.

    Without the folder the test is skipped. An empty folder is an error.
    """
    folder = os.path.join(SHARED, *path)
    if not os.path.isdir(folder):
        absent = pytest.mark.skip(reason=f"no {os.path.join('shared', *path)} beside the checkout")
        return [pytest.param("", marks=absent, id="absent")]
    names = texts(folder, suffix)
    assert names, f"{folder} is there, and empty"
    return [pytest.param(os.path.join(folder, name), id=name) for name in names]


def texts(folder: str, suffix: str | tuple[str, ...]) -> list[str]:
    """The files of a folder and of the folders in it, relative to it."""
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.endswith(suffix)
    )


CAPTURES = corpus("captures", suffix=".ndjson")
CURSOR_CAPTURES = corpus("captures", "cursor", suffix=".ndjson")
STREAMS = [*CAPTURES, *corpus("recordings", suffix=".ndjson")]
RECORDED = [*STREAMS, *corpus("sessions", suffix=".jsonl")]
EVERYTHING = [*RECORDED, *corpus("repro", suffix=".ndjson")]


ESCAPES = {r"\(aq": "'", r"\(dq": '"', r"\&": "", r"\fB": "", r"\fP": "", r"\-": "-", r"\e": "\\",
           r"\[u2713]": "✓", r"\[u2717]": "✗"}  # fmt: skip


def displays(page: str, heading: str) -> list[str]:
    """What a page of the manual shows literally below a heading, before the next."""
    below = re.split(rf"^\.S[sh] {heading}\n", page, flags=re.MULTILINE)[1]
    text = re.split(r"^\.S[sh] ", below, flags=re.MULTILINE)[0]
    blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", text, re.DOTALL | re.MULTILINE)
    escape = re.compile("|".join(map(re.escape, ESCAPES)))
    return [escape.sub(lambda found: ESCAPES[found[0]], block) for block in blocks]


def content(*path: str) -> bytes:
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def sections(name: str) -> list[tuple[str, list[str]]]:
    """The rows of a file in this folder, below each of its headings: ``# HEADING``. In a row ⏎ and
    ⇥ stand for the end of a line, and a tab."""
    parts = re.split(r"^# (.+)\n", content(HERE, name).decode(), flags=re.MULTILINE)[1:]
    parts = [part.rstrip("\n").replace("⇥", "\t") for part in parts]
    rows = ([row.replace("⏎", "\n") for row in part.split("\n") if row] for part in parts[1::2])
    return [*zip(parts[::2], rows, strict=True)]


def named_sections(name: str) -> dict[str, list[str]]:
    """The same, by what stands before the colon of a heading."""
    return {head.partition(":")[0]: rows for head, rows in sections(name)}


def table(name: str, heading: str, *, named: bool = False) -> list[Any]:
    """The rows below such a heading, for parametrize: cells have | between them, and -> before the
    last one; what can be is JSON, but for texts as they are. The first may be the row's name."""
    made = []
    for row in named_sections(name)[heading]:
        cells = re.split(r" (?:\||->) ", row)
        values = map(value_of, cells[named:])
        made.append(pytest.param(*values, id=cells[0] if named else row[:60]))
    return made


def value_of(cell: str) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(cell) if re.match(r'[{["]|(?:null|true|false|-?\d+)\Z', cell) else cell
    return cell


# ---------------------------------------------------------------- what action lines say


class Labels(dict[str, str]):
    """What a call that happened is called, by its tool."""

    def __missing__(self, tool: str) -> str:
        return agentfmt.tool_named(tool).done


def label(tool: str, code: int | None = None) -> str:
    """The line of a call that happened: ``Read file``, ``Ran terminal command (exit 3)``."""
    return Labels()[tool] + (f" (exit {code})" if code is not None else "")


def verb(tool: str) -> str:
    """What stands before the target of a call that happened, on a terminal."""
    return agentfmt.TOOLS[tool].done.split()[0]


def labeled(text: str) -> str:
    """A text in which ``{read} a.py`` stands for ``Read file a.py``, ``{not read}`` for how that
    failed, and ``{begin task}`` for what it says while it runs."""
    return re.sub(r"{(not |begin )?(\w+)}", lambda found: FORMS[found[1]](found[2]), text)


def failed(tool: str, status: str = "") -> str:
    """The line of a call that did not happen, whatever it is called: ``Failed to read file``, or
    with a status of agentfmt.REASONS ``Failed to read file (not found)``."""
    line = f"Failed to {agentfmt.tool_named(tool).do}"
    return f"{line} ({agentfmt.REASONS[status]})" if status else line


FORMS: dict[str | None, Callable[[str], str]] = {
    None: label, "not ": failed, "begin ": lambda tool: agentfmt.TOOLS[tool].doing,
}  # fmt: skip

# ---------------------------------------------------------------- events


def event(kind: str | None = None, /, *, session: str | None = SESSION, **members: Any) -> bytes:
    """An event on a line of its own."""
    made = {"type": kind} if kind else {}
    made |= members
    if session is not None:
        made["session_id"] = session
    line = json.dumps(made, separators=(",", ":")).replace("Infinity", "1e400")
    return line.encode() + b"\n"


def init(session: str | None = SESSION) -> bytes:
    return event("system", subtype="init", model="Auto", cwd="/work", session=session)


def user(session: str | None = SESSION) -> bytes:
    return event("user", message=message("do", "user"), session=session)


def message(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def assistant(text: str, session: str | None = SESSION, **members: Any) -> bytes:
    return event("assistant", message=message(text), session=session, **members)


def delta(text: str, **members: Any) -> bytes:
    return assistant(text, timestamp_ms=1, **members)


def thinking(text: str = "hm", session: str | None = SESSION) -> bytes:
    return event("thinking", subtype="delta", text=text, session=session)


def started(call_id: str = "c1", key: str = "readToolCall", session: str | None = SESSION) -> bytes:
    call = {key: {"args": {"path": "a"}}}
    return event("tool_call", subtype="started", call_id=call_id, tool_call=call, session=session)


def completed(
    call_id: str = "c1",
    key: str = "readToolCall",
    result: Any = None,
    session: str | None = SESSION,
    args: Any = None,
) -> bytes:
    call = {key: {"args": args or {"path": "a"}, "result": result or {"success": {}}}}
    return event("tool_call", subtype="completed", call_id=call_id, tool_call=call, session=session)


def call(
    tool: str, args: Any, outcome: Any = None, *, call_id: str = "c1", **members: Any
) -> bytes:
    """An event of a call: its start, or with an outcome its end. Without args it names none."""
    times = {name: members.pop(name) for name in list(members) if name.endswith("AtMs")}
    body = {"args": args, "result": outcome}
    body = {name: value for name, value in body.items() if value is not None}
    subtype = "started" if outcome is None else "completed"
    made = {f"{tool}ToolCall": body, **times}
    return event("tool_call", subtype=subtype, call_id=call_id, tool_call=made, **members)


def ok(**success: Any) -> dict[str, Any]:
    return {"success": success}


def below(call: str | None, line: bytes) -> bytes:
    """A line of a sub-agent, which that call started."""
    return json.dumps(json.loads(line) | {"parent_tool_use_id": call}).encode() + b"\n"


def result(session: str | None = SESSION, **members: Any) -> bytes:
    return event("result", **{"subtype": "success", "is_error": False, **members}, session=session)


def run_of(*lines: bytes, **end: Any) -> bytes:
    return b"".join((init(), *lines, result(**end)))


def shell(command: str = "make", code: int = 0, printed: str = "", call_id: str = "c1") -> bytes:
    ended = {"exitCode": code, "stdout": printed, "stderr": "", "interleavedOutput": printed}
    how = {"failure" if code else "success": ended}
    return completed(call_id, "shellToolCall", how, args={"command": command})


def edit(diff: str, path: str = "a.py") -> bytes:
    success = {"success": {"path": path, "diffString": diff, "beforeFullFileContent": "x"}}
    return completed(key="editToolCall", result=success, args={"path": path})


def whole_run(session: str | None = SESSION) -> bytes:
    """A run that succeeds: six events, one finished call."""
    called = started(session=session) + completed(session=session)
    return init(session) + user(session) + called + assistant("Done.", session) + result(session)


def interleaved(*streams: Iterable[bytes]) -> list[bytes]:
    """The lines of several streams in turns."""
    return [line for lines in itertools.zip_longest(*streams) for line in lines if line]


def claude(*blocks: Any, role: str = "assistant", **more: Any) -> bytes:
    """A message of Claude's."""
    return event(role, message={"role": role, "content": [*blocks]}, **more)


def use(name: str = "Bash", identity: str = "t1", **given: Any) -> dict[str, Any]:
    """Claude's block for a call."""
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def returned(answer: Any = "ok", identity: str = "t1", *, error: bool = False) -> dict[str, Any]:
    """Claude's block for what a call returned."""
    return {"type": "tool_result", "tool_use_id": identity, "content": answer, "is_error": error}


# ---------------------------------------------------------------- conversions

VIEWS: tuple[dict[str, Any], ...] = (
    {}, {"detail": True}, {"messages": "all"}, {"messages": "final", "detail": True},
)  # fmt: skip


def meanings(data: bytes | Mapping[str, Iterable[bytes]], *flags: str) -> list[Any]:
    """Of each run its verdict, the word for a failure, and its agent."""
    rows = convert(data, "-t", "runs", *flags).objects
    return [(row["verdict"], row["failure"], row["agent"]) for row in rows]


def check_conversion(data: bytes) -> None:
    """What -t cursor writes means the same: it looks the same, has the same results and runs, and
    names no session that the stream did not; it stays what it is when it is converted again."""
    converted = convert(data, "-t", "cursor", "--thinking").stdout
    assert convert(converted, "-t", "cursor", "--thinking").stdout == converted
    for how in VIEWS:
        view = agentfmt.View(**how)
        once, twice = convert(data, view=view), convert(converted, view=view)
        assert (once.stdout, once.status) == (twice.stdout, twice.status), how
    results, wanted = convert(data, "-t", "json"), meanings(data)
    assert convert(converted, "-t", "json").stdout == results.stdout
    assert meanings(converted) == wanted
    assert meanings(convert(data, "-t", "cursor", "-r", "all").stdout) == wanted
    lines = [json.loads(line) for line in converted.splitlines()]
    assert all(line["type"] for line in lines)
    answers = [row["result"] for row in results.objects]
    ends = [line for line in lines if line["type"] == "result"]
    assert [line.get("result", "") for line in ends if line.get("is_error") is False] == answers
    named = [line.get("session_id") for line in lines]
    assert [name for name in named if name is not None and name.encode() not in data] == []


# ---------------------------------------------------------------- time


class Hung(BaseException):
    """Not an Exception: nothing catches it."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raises Hung after so many seconds of computing, even within an expression, but not within a
    collection of garbage, where hypothesis listens and nobody would catch it."""

    def give_up(*_: object) -> None:
        raise Hung

    gc.disable()
    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


@contextlib.contextmanager
def at_most(size: int) -> Iterator[None]:
    """What is done within never holds more bytes."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size


def check_linear(work: Callable[[float], object], seconds: float) -> None:
    """Raises Hung if work, done for a share of its size, isn't linear in that: the whole takes
    longer than so many seconds of computing, and half of it, in three tries, seven times as long
    as an eighth. On a machine that is slow or busy only the first is true."""
    try:
        with limit(seconds):
            work(1)
    except Hung:
        if not any(in_proportion(work, seconds) for _ in range(3)):
            raise


def in_proportion(work: Callable[[float], object], seconds: float) -> bool:
    try:
        with limit(seconds):
            begun = time.process_time()
            work(1 / 8)
        with limit(7 * max(time.process_time() - begun, 0.001)):
            work(1 / 2)
    except Hung:
        return False
    return True


# ---------------------------------------------------------------- values of any shape


def one_in(most: int, choices: Sequence[Choice], key: object) -> Sequence[Choice]:
    """One in so many of some choices: which ones is chance, and for a key always the same. In the
    long profile it is all of them."""
    return choices if THOROUGH else choices[zlib.crc32(repr(key).encode()) % most :: most]


ODD: tuple[Any, ...] = (
    None, True, -1, 7, 10**30, 1e400, "", "7", "\ud83d", [], [[]], [{}], {}, {"a": {}},
    {"a": {"b": [1]}},
)  # fmt: skip


def with_odd_members(value: Any, most: int | None = None) -> Iterator[Any]:
    """The same value again and again, each time with one member or item of an odd shape: a seventh
    of them, the next member another seventh. Members recur in many lines."""
    for number, (holder, key) in enumerate([*places(value)][:most]):
        kept = holder[key]
        for odd in ODD[number % 7 :: 7]:
            holder[key] = odd
            yield value
        holder[key] = kept


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member and item of a value: what holds it, and its key there."""
    for key, inner in [*(value.items() if isinstance(value, dict) else enumerate(value))]:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def strings(value: Any, *, names: bool = False) -> Iterator[str]:
    """Every string of a value, and the names of members if asked for."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from [key] if names and isinstance(key, str) else ()
            yield from strings(inner, names=names)


def string_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to the strings in a value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str):
            yield (*path, key)
        elif isinstance(inner, (dict, list)):
            yield from string_paths(inner, (*path, key))


def as_line(value: Any) -> bytes:
    """A value on a line of JSON, which knows no Infinity."""
    return json.dumps(value).replace("Infinity", "1e400").encode() + b"\n"
