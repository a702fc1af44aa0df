"""agentfmt: read the event stream of a headless coding agent, write another form of it.

    stdin -> chunks -> frames -> events -> runs -> selected -> writer -> stdout

A chunk is what one read delivered. A frame is a block of whole lines. An event is one line,
decoded into the few members that the chosen output needs, with the line itself beside them.
Events travel one way, a block at a time: a stage takes events and gives events, and what a block
yields is written before the next read. A run is one answer of an agent: it opens with its first
init, user, assistant, thinking or tool_call event and ends with its terminal event (result, or
turn_ended with an error), as failed with a second init or with the input. Its verdict is the
exit status.

The format that is read is Cursor's `agent -p --output-format stream-json`.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import itertools
import os
import re
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click
import msgspec
from msgspec import Raw, Struct

__version__ = "0.1.0"

# ---------------------------------------------------------------- vocabulary

OK, FAILED, ERROR, DAMAGED = 0, 1, 2, 3  # exit statuses; a signal adds 128
EXITS = """\b
Exit status:
  0                   every run succeeded
  1                   a run failed, or there was no run at all
  2                   usage error, or an input or output error
  3                   every run succeeded, but lines were damaged
  129, 130, 141, 143  SIGHUP, SIGINT, SIGPIPE, SIGTERM"""

BLOCK = 64 * 1024  # bytes a read asks for: what a pipe holds, and what stays in the cache
DRAIN = 1024 * 1024  # bytes still read after a signal: more than a pipe holds
MAX_LINE = 64 * 1024 * 1024  # bytes of a line: edits carry a file four times
MAX_RUNS = 10_000  # open at a time: what a joined log of a day may hold
PREFIX = 256  # bytes that a log collector may put before an object
EXCERPT = 200  # characters of a refused line in a message
MESSAGES = 10  # refused lines that are shown, then counted, until a run of their FILE ends
OPEN_CALLS = 5  # that are named when a run ends without them
DIGITS = 4000  # of an integer: above, int() is refused by the interpreter

BLANKS = b" \t\r\n"
BOM = b"\xef\xbb\xbf"


class Label(NamedTuple):
    """What a call is called when it happened, and after "Failed to" when it did not."""

    done: str
    do: str


LABELS = {
    "shell": Label("Ran terminal command", "run terminal command"),
    "read": Label("Read file", "read file"),
    "edit": Label("Edited file", "edit file"),
    "write": Label("Created new file", "create new file"),
    "delete": Label("Deleted file", "delete file"),
    "glob": Label("Found files", "find files"),
    "grep": Label("Searched files", "search files"),
    "semSearch": Label("Searched codebase", "search codebase"),
    "ls": Label("Listed directory", "list directory"),
    "readLints": Label("Checked lints", "check lints"),
    "updateTodos": Label("Updated to-do list", "update to-do list"),
    "readTodos": Label("Read to-do list", "read to-do list"),
    "webSearch": Label("Searched web", "search web"),
    "webFetch": Label("Fetched web page", "fetch web page"),
    "fetch": Label("Fetched web page", "fetch web page"),
    "mcp": Label("Called MCP tool", "call MCP tool"),
    "task": Label("Ran subagent", "run subagent"),
    "askQuestion": Label("Asked question", "ask question"),
    "createPlan": Label("Created plan", "create plan"),
    "await": Label("Waited for task", "wait for task"),
}

# The variant of a call's result -> its status; every other variant is an error.
VARIANTS = {
    "success": "ok",
    "failure": "error",
    "rejected": "rejected",
    "permissionDenied": "denied",
    "readPermissionDenied": "denied",
    "writePermissionDenied": "denied",
    "fileNotFound": "notfound",
    "timeout": "timeout",
    "error": "error",
    "spawnError": "error",
    "notFile": "error",
    "fileBusy": "error",
}

REASONS = {
    "rejected": "rejected",
    "denied": "permission denied",
    "notfound": "not found",
    "timeout": "timed out",
    "error": "error",
}

# ---------------------------------------------------------------- types


class Success(Struct, gc=False):
    """The members of a successful result that decide what it is called."""

    exitCode: Any = None
    isError: Any = None
    diffString: Raw = Raw()
    beforeFullFileContent: Raw = Raw()


class Failure(Struct, gc=False):
    exitCode: Any = None


class Result(Struct, gc=False):
    """The known variants of a call's result: exactly one is there."""

    success: Success | None = None
    failure: Failure | None = None
    rejected: Any = None
    permissionDenied: Any = None
    readPermissionDenied: Any = None
    writePermissionDenied: Any = None
    fileNotFound: Any = None
    timeout: Any = None
    error: Any = None
    spawnError: Any = None
    notFile: Any = None
    fileBusy: Any = None


class Named(Struct, gc=False):
    """A tool's member of a call, for those who ask only which tool it is."""

    name: Any = None


class Tool(Named, gc=False):
    result: Result | None = None


KEYS = {f"{tool}ToolCall": tool for tool in LABELS} | {"function": "function"}


def calls(body: type[Named]) -> type[Struct]:
    """The type of ``tool_call``: one member for every tool that has a label."""
    return msgspec.defstruct("Call", [(key, body | None, None) for key in KEYS], gc=False)


NamedCall = calls(Named)
ToolCall = calls(Tool)


class Event(Struct, gc=False):
    """One event in Cursor's vocabulary: what the state machine looks at.

    ``raw`` is its line without the prefix of a log collector, blanks around it included; ``run``
    is the run it belongs to; ``started`` is the tool of a call that is completed. Each stage sets
    its own in every event, so that no member of these names in the input can.
    """

    type: str | None = None
    subtype: str | None = None
    session_id: str | None = None
    call_id: str | None = None
    tool_call: NamedCall | None = None  # type: ignore[valid-type]
    raw: Any = msgspec.field(name="\x7fraw", default=b"")
    started: Any = msgspec.field(name="\x7fstarted", default=None)
    run: Any = msgspec.field(name="\x7frun", default=None)


class ToolEvent(Event, gc=False):
    """An event with what became of its call."""

    tool_call: ToolCall | None = None  # type: ignore[valid-type]


class Block(Struct, gc=False):
    text: str | None = None  # only blocks of type text have it


class Message(Struct, gc=False):
    content: list[Block] | str | None = None


class SpokenEvent(Event, gc=False):
    """An event with the assistant's words, and with what tells a delta from a replay."""

    message: Message | None = None
    timestamp_ms: Any = None
    model_call_id: Any = None
    parent_tool_use_id: Any = None


class UnknownCall(Struct, gc=False):
    """A call of a tool that has no label."""

    tool_call: Any = None


class Terminal(Struct, gc=False):
    """What an event that ends a run, or that reports an error, says of it."""

    is_error: Any = None
    status: Any = None
    result: Any = None
    message: Any = None
    error: Any = None
    errors: Any = None


class Refused(NamedTuple):
    """A line that is no event: damaged for a reason, or prose."""

    reason: str | None


class Piece(NamedTuple):
    """Part of a frame that is refused unread: a line that is too long, a document cut short."""

    data: bytes
    reason: str
    first: bool = False
    last: bool = False


class Run:
    """One answer of an agent, from its first event to its terminal event."""

    __slots__ = ("calls", "error", "events", "segments", "session", "state", "succeeded", "where")

    def __init__(self, session: str | None, where: str) -> None:
        self.session = session
        self.where = where  # FILE:LINE of its first event
        self.state = OPEN
        self.events = 1
        self.succeeded = False
        self.calls: dict[str | None, str] = {}  # started and not finished: call_id -> tool
        self.error: str | None = None  # what the last error event said
        self.segments: Segments | None = None

    def __str__(self) -> str:
        session = f"{shown(self.session[:8])} " if self.session else ""
        return f"run {session}({self.where})"


class Interrupted(Exception):  # noqa: N818
    """A signal ended the reading."""


class Gone(Exception):  # noqa: N818
    """The reader of the output is gone."""


class OutputError(Exception):
    """The output cannot be written; the message says which and why."""


# ---------------------------------------------------------------- text that others wrote

# What could drive a terminal: C0, DEL, C1, bidi controls, line and paragraph separators; and lone
# surrogates, which UTF-8 cannot spell.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape(match: re.Match[str]) -> str:
    char = match[0]
    return ESCAPES.get(char) or (
        f"\\x{ord(char):02x}" if char < "\u0100" else f"\\u{ord(char):04x}"
    )


def shown(text: str) -> str:
    """Text of an agent, a file or a tool, safe to print: control characters are escaped."""
    return CONTROL.sub(escape, text)


def excerpt(text: str) -> str:
    """The beginning of a text on one line, at most EXCERPT characters."""
    line = shown(text[:EXCERPT].strip())
    return line if len(text) <= EXCERPT >= len(line) else line[: EXCERPT - 3] + "..."


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# ---------------------------------------------------------------- JSON where msgspec does not do

TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[ \t\r\n]+', re.DOTALL)
UNICODE = b"\\u"


def members(text: bytes) -> dict[str, bytes]:
    """The members of a JSON object (RFC 8259), their values as they are spelled; the last wins."""
    try:
        values = msgspec.json.decode(text, type=dict[str, Raw])
    except (msgspec.DecodeError, RecursionError):
        return members_slowly(text)
    return {key: bytes(value) for key, value in values.items()}


def members_slowly(text: bytes) -> dict[str, bytes]:
    """The same by counting brackets: lone surrogates and any depth are no matter."""
    found: dict[str, bytes] = {}
    depth, key, start = 0, b"", 0
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in b"}]":
            depth -= 1
        if key and (depth == 0 or (depth == 1 and token == b",")):
            found[value_of(key)] = text[start : match.start()].strip()
            key = b""
        elif token in b"{[":
            depth += 1
        elif depth == 1 and not key and token[:1] == b'"':
            key = token
        elif depth == 1 and token == b":":
            start = match.end()
    return found


def compact(text: bytes) -> bytes:
    """A JSON value without blanks between tokens, in UTF-8; numbers keep their spelling."""
    return TOKEN.sub(_compact, text) if text[:1] in b"{[" or UNICODE in text else text


def _compact(match: re.Match[bytes]) -> bytes:
    token = match[0]
    if token[:1] != b'"':
        return token.strip()
    return literal(value_of(token)) if UNICODE in token else token


def literal(text: str) -> bytes:
    """A string as a JSON literal in UTF-8; a lone surrogate stays an escape."""
    import json

    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace")


def value_of(text: bytes) -> Any:
    """Any JSON value; see ``parse``."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return parse(text)


def parse(text: bytes) -> Any:
    """A JSON value, decoded slowly: lone surrogates and integers of any length are accepted.

    An integer too long for the interpreter stays a string of digits. Raises ValueError with the
    reason for a reader where the text is no JSON, RecursionError where it is nested too deeply.
    """
    import json

    try:
        decoder = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)
        return decoder.decode(text.strip(BLANKS).decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        what = "a NUL byte" if b"\0" in text else f"bad JSON ({error.msg})"
        raise ValueError(f"{what} at column {error.colno}") from None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= DIGITS else digits


def _constant(word: str) -> Any:
    raise ValueError(f"bad JSON ({word} is no JSON number)")


T = TypeVar("T", bound=Struct)
UNFIT = object()


def coerce(value: Any, kind: Any) -> Any:
    """What of a parsed value fits a type; a member of another shape counts as unknown."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        fits = (coerce(value, option) for option in get_args(kind))
        return next((fit for fit in fits if fit is not UNFIT), UNFIT)
    if origin is list:
        if not isinstance(value, list):
            return UNFIT
        items = (coerce(item, get_args(kind)[0]) for item in value)
        return [item for item in items if item is not UNFIT]
    if kind is Any:
        return value
    if kind is Raw:
        return Raw(literal(value) if isinstance(value, str) else b"null")
    if issubclass(kind, Struct):
        return coerce_struct(value, kind) if isinstance(value, dict) else UNFIT
    return value if isinstance(value, kind) else UNFIT


def coerce_struct(value: dict[str, Any], kind: type[T]) -> T:
    fits = {field: coerce(value[name], hint) for field, name, hint in fields(kind) if name in value}
    return kind(**{field: fit for field, fit in fits.items() if fit is not UNFIT})


@functools.cache
def fields(kind: type[Struct]) -> list[tuple[str, str, Any]]:
    """The members of a type: attribute, name in JSON, type."""
    hints = get_type_hints(kind)
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return [(field, name, hints[field]) for field, name in names]


def look(event: Event, kind: type[T]) -> T:
    """An event's line once more, for members that its own type leaves out."""
    try:
        return msgspec.json.decode(event.raw, type=kind)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return coerce_struct(parse(event.raw), kind)
    except RecursionError:
        return kind()


# ---------------------------------------------------------------- reading: chunks


class Signals:
    """Remembers the signal that asks the program to end, and wakes the read that waits."""

    CODES = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def __init__(self) -> None:
        self.caught = 0
        self.fd, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for code in self.CODES:
            if signal.getsignal(code) is not signal.SIG_IGN:  # nohup, a job in the background
                signal.signal(code, self._catch)

    def _catch(self, code: int, _frame: object) -> None:
        self.caught = self.caught or code
        signal.signal(code, signal.SIG_DFL)  # who asks twice is not kept waiting


def chunks(name: str, signals: Signals, report: Report) -> Iterator[bytes]:
    """What each read of a FILE delivers, until its end. A FILE that cannot be read is reported.

    Raises Interrupted after a signal, when what was there already has been delivered.
    """
    fd = -1
    try:
        fd = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        yield from reads(fd, signals)
    except OSError as error:
        report.wrong(f"{file_name(name)}: {error.strerror}")
    finally:
        if fd > 0:
            os.close(fd)


def reads(fd: int, signals: Signals) -> Iterator[bytes]:
    """Waits in select and not in read: a neighbour may have made the pipe non-blocking."""
    left = DRAIN
    while True:
        caught = signals.caught
        watched = [fd] if caught else [fd, signals.fd]
        ready, _, _ = select.select(watched, [], [], 0 if caught else None)
        if caught and (left <= 0 or not ready):
            raise Interrupted
        if fd not in ready:
            continue
        try:
            chunk = os.read(fd, BLOCK)
        except BlockingIOError:
            continue
        if not chunk and signals.caught:
            raise Interrupted
        if not chunk:
            return
        left -= len(chunk) if caught else 0
        yield chunk


def file_name(name: str) -> str:
    return "stdin" if name == "-" else shown(name)


# ---------------------------------------------------------------- reading: frames

# The first line that is not blank is `{` alone, `[` alone, or `[` followed by `{` or `]`: no lines.
UNDECIDED = re.compile(rb"(?:\xef(?:\xbb(?:\xbf)?)?)?[ \t\r\n]*(?:[{\[][ \t\r]*)?")
DOCUMENTS = re.compile(rb"[ \t\r\n]*(?:\{[ \t\r]*\n|\[[ \t\r]*[\n{\]])")

Frame: TypeAlias = "bytes | Piece"


class Source:
    """One FILE: what of it outlives a block."""

    __slots__ = ("anonymous", "documents", "last", "name", "number", "prefixed", "raw", "refused")

    def __init__(self, name: str) -> None:
        self.name = file_name(name)
        self.number = 0  # of the line, or object, that is being read,
        self.raw = b""  # and itself, without the prefix of a log collector
        self.documents = False  # JSON that is not lines
        self.prefixed = False  # an event stood behind a prefix
        self.refused = 0  # lines since the last end of a run
        self.last: Run | None = None  # the run that had the last event
        self.anonymous: Run | None = None  # the open run without a session

    def where(self) -> str:
        return f"{self.name}:{'#' if self.documents else ''}{self.number}"


def frames(source: Source, arriving: Iterator[bytes], limit: int) -> Iterator[Frame]:
    """Blocks of whole lines from the chunks of one FILE, as each arrives."""
    head = b""
    for chunk in arriving:
        head += chunk
        if len(head) > BLOCK or not UNDECIDED.fullmatch(head):
            break
    head = head.removeprefix(BOM)
    source.documents = DOCUMENTS.match(head) is not None
    framing = Documents(limit).frames if source.documents else functools.partial(lines, limit)
    return framing(itertools.chain((head,), arriving))


def lines(limit: int, arriving: Iterable[bytes]) -> Iterator[Frame]:
    """Blocks that end with a line; a line longer than ``limit`` bytes leaves in pieces."""
    reason = f"longer than --max-line {limit}"
    tail: list[bytes] = []  # of the line that is not complete yet
    size, cut = 0, False  # of the tail, in bytes; whether its beginning has left
    for chunk in arriving:
        if cut:
            end = chunk.find(b"\n") + 1
            yield Piece(chunk[: end or None], reason, last=bool(end))
            chunk = chunk[end or len(chunk) :]
            cut = not end
        end = chunk.rfind(b"\n") + 1
        if end:
            block = b"".join((*tail, memoryview(chunk)[:end]))
            yield from (block,) if len(block) <= limit else sized(block, limit, reason)
            tail, size = [], 0
        if end < len(chunk):
            tail.append(chunk[end:])
            size += len(tail[-1])
        if size > limit:
            yield Piece(b"".join(tail), reason, first=True)
            tail, size, cut = [], 0, True
    if cut:
        yield Piece(b"", reason, last=True)
    elif size:
        yield b"".join(tail)


def sized(block: bytes, limit: int, reason: str) -> Iterator[Frame]:
    """A block in which a line may be too long: that one as a piece, the others in blocks."""
    start = end = 0
    for line in io.BytesIO(block):
        end += len(line)
        if len(line) > limit + 1:
            if start < end - len(line):
                yield block[start : end - len(line)]
            yield Piece(line, reason, first=True, last=True)
            start = end
    if start < end:
        yield block[start:end]


class Documents:
    """JSON that is not lines: each object of a stream, or of an array, becomes a line.

    ijson's lexer for Python finds the tokens; they are joined as they are spelled, and the line is
    decoded like any other. So numbers of any length, lone surrogates and depth are left to the one
    decoder, out of reach of what ijson does with them after its lexer: its C backend crashes on
    integers of 5,000 digits and corrupts lone surrogates. Bytes pass through as Latin-1, which
    makes the lexer's positions byte positions.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.tokens: list[str] = []  # of the object that is not complete yet
        self.depth = 0  # inside that object
        self.arrays = 0  # open around it
        self.bare = False  # the last token was a number or a word
        self.ready: list[Frame] = []
        self.broken = 0  # where, in bytes from the start, what cannot be understood ended

    def frames(self, arriving: Iterable[bytes]) -> Iterator[Frame]:
        from ijson.backends.python import Lexer
        from ijson.common import IncompleteJSONError

        lexer, read, size, reason = Lexer(self), 0, 0, ""
        for chunk in arriving:
            if reason:  # there is no way back into step
                yield Piece(chunk, reason)
                continue
            lexer.send(chunk.decode("latin-1"))
            size = len(chunk) if self.ready else size + len(chunk)
            yield from self.complete()
            if self.broken:
                reason = "no JSON object; the rest of the file is skipped"
                yield Piece(self.rest() + chunk[self.broken - read :], reason, first=True)
            elif size > self.limit + BLOCK:
                reason = f"longer than --max-line {self.limit}; the rest of the file is skipped"
                yield Piece(self.rest(), reason, first=True)
            read += len(chunk)
        if not reason:
            with contextlib.suppress(IncompleteJSONError):  # the depth tells
                lexer.close()
            yield from self.complete()
            if self.depth or self.arrays:
                yield Piece(self.rest(), "the document ends too early", first=True, last=True)
        else:
            yield Piece(b"", reason, last=True)

    def complete(self) -> Iterator[Frame]:
        yield from self.ready
        self.ready.clear()

    def rest(self) -> bytes:
        return "".join(self.tokens).encode("latin-1")

    def send(self, lexeme: tuple[int, str | None]) -> None:
        """Take one token from the lexer: (position, spelling), and None at the end."""
        position, token = lexeme
        if token is None or self.broken:
            return
        if not self.depth and token in SEPARATORS:
            self.arrays += SEPARATORS[token]
            return
        bare = token[0] not in STRUCTURAL
        if bare and self.bare:
            self.tokens.append(" ")
        self.bare = bare
        self.tokens.append(token)
        self.depth += NESTING.get(token, 0)
        if self.depth <= 0:
            self.finish(position + len(token))

    def finish(self, position: int) -> None:
        if self.tokens[0] != "{":
            self.broken = position
            return
        line = self.rest() + b"\n"
        reason = f"longer than --max-line {self.limit}"
        self.ready.append(line if len(line) <= self.limit + 1 else Piece(line, reason, True, True))
        self.tokens.clear()


SEPARATORS = {"[": 1, ",": 0, "]": -1}
STRUCTURAL = frozenset('"{}[]:,')
NESTING = {"{": 1, "[": 1, "}": -1, "]": -1}

# ---------------------------------------------------------------- reading: events


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Reader:
    """Frames in, events out: one line, one event. What is none goes to the report."""

    def __init__(self, kind: type[Event], report: Report) -> None:
        self.kind = kind
        self.report = report
        self.decode = msgspec.json.Decoder(kind).decode

    def read(self, source: Source, frame: Frame) -> Iterator[Event]:
        if isinstance(frame, Piece):
            self.report.piece(source, frame)
            return
        decode, is_ascii = self.decode, frame.isascii()
        for number, line in enumerate(io.BytesIO(frame), source.number + 1):
            source.number, source.raw = number, line
            try:
                if not is_ascii and not line.isascii():
                    line.decode()  # msgspec does not look into the strings that it skips
                event = decode(line)
            except UNREADABLE:
                examined = self.examine(source, line.strip(BLANKS))
                if not isinstance(examined, Event):
                    self.report.refuse(source, examined, line)
                    continue
                event = examined
            yield event

    def examine(self, source: Source, text: bytes) -> Event | Refused | None:
        """The one function that says of a difficult line what it is: event, damaged or prose.

        None for a blank line. Takes the prefix of a log collector off ``source.raw``.
        """
        if not text:
            return None
        brace = text.find(b"{", 0, PREFIX + 1)
        if brace < 0:
            return Refused(None)
        try:
            event = self.reread(text[brace:])
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            return Refused(reason if brace == 0 or source.prefixed else None)
        if brace and event.type is None:
            return Refused(None)
        if brace:
            source.prefixed, source.raw = True, text[brace:]
        return event

    def reread(self, text: bytes) -> Event:
        """Raises ValueError with the reason, or RecursionError, where it is no JSON object."""
        try:
            text.decode()
            return self.decode(text)
        except UNREADABLE:
            return coerce_struct(parse(text), self.kind)


# ---------------------------------------------------------------- what is said on stderr


class Report:
    """What went wrong so far: says it on stderr, keeps the refused lines, owns the exit status."""

    def __init__(self, out: Output, rejects: int | None = None) -> None:
        self.out = out
        self.rejects = rejects  # a descriptor
        self.prose: str | None = None  # the last line of it, mostly the reason of a failure
        self.damaged = self.failed = self.error = False

    def status(self) -> int:
        return ERROR if self.error else FAILED if self.failed else DAMAGED if self.damaged else OK

    def say(self, text: str) -> None:
        """One line on stderr, after the output that came before it."""
        self.out.flush()
        with contextlib.suppress(OSError):  # nobody left to tell
            write_all(2, f"agentfmt: {text}\n".encode("utf-8", "backslashreplace"))

    def wrong(self, text: str) -> None:
        self.error = True
        self.say(text)

    def fail(self, why: str) -> None:
        self.failed = True
        self.say(why)

    def refuse(self, source: Source, refused: Refused | None, line: bytes) -> None:
        """Take a line that is no event; None is a blank one."""
        if refused:
            self.keep(line.removesuffix(b"\n") + b"\n")
            self.note(source, refused.reason, line)

    def piece(self, source: Source, piece: Piece) -> None:
        """Take part of a frame that is refused unread."""
        if piece.first:
            source.number += 1
            object_ = source.prefixed or source.documents or piece.data.lstrip(BLANKS)[:1] == b"{"
            self.note(source, piece.reason if object_ else None, piece.data)
        self.keep(piece.data)
        if piece.last and not piece.data.endswith(b"\n"):
            self.keep(b"\n")

    def note(self, source: Source, reason: str | None, line: bytes) -> None:
        """Say which line is refused; without a reason it is prose."""
        text = excerpt(line[: 4 * EXCERPT].strip(BLANKS).decode("utf-8", "backslashreplace"))
        if reason is None:
            self.prose = text
        else:
            self.damaged = True
        source.refused += 1
        if source.refused <= MESSAGES:
            self.say(": ".join(filter(None, (source.where(), reason, text))))

    def keep(self, data: bytes) -> None:
        if self.rejects is not None:
            with output_errors("--rejects"):
                write_all(self.rejects, data)

    def settle(self, source: Source) -> None:
        """A run of this FILE, or the FILE, has ended: say how many lines were not shown."""
        if source.refused > MESSAGES:
            more = plural(source.refused - MESSAGES, "more line")
            self.say(f"{source.name}: {more} that are no events")
        source.refused = 0


# ---------------------------------------------------------------- runs

# Kinds of event, and states of a run. A run is open until it has its init, then begun.
INIT, ACT, END, OTHER = "init", "act", "end", "other"
ABSENT, OPEN, BEGUN, ENDED = "absent", "open", "begun", "ended"

KINDS = dict.fromkeys(("user", "assistant", "thinking", "tool_call"), ACT) | {"result": END}
NOBODY = object()  # the session of no event


class Runs:
    """The state machine: which run an event belongs to, when runs open and end, and how.

    Without ``thinking``, and without ``words``, the thinking and the assistant events, which are
    most of a stream, are followed here and go no further: the writer does not read them.
    """

    def __init__(self, report: Report, *, thinking: bool, words: bool) -> None:
        self.report = report
        self.thinking = thinking
        self.words = words
        self.runs: dict[str, Run] = {}  # the open ones by session, least recently active first
        self.named: dict[str, None] = {}  # the last MAX_RUNS sessions
        self.opened = self.strays = 0  # runs; events outside any run
        self.source = Source("")
        self.run: Run | None = None  # of the event before
        self.session: object = NOBODY  # of the event before, while its run is open

    def follow(self, source: Source, events: Iterator[Event]) -> Iterator[Event]:
        """Each event with its run. Most are acts in the run of the event before: only counted."""
        if source is not self.source:
            self.source, self.session = source, NOBODY
        thinking, words = self.thinking, self.words
        session, run, acts = self.session, self.run, 0
        for event in events:
            kind = event.type if event.session_id == session else None
            if kind == "thinking":
                acts += 1
                if not thinking:
                    continue
            elif kind == "assistant":
                acts += 1
                if not words:
                    continue
            elif kind == "tool_call":
                acts += 1
                event.raw = source.raw
                track(run, event)  # type: ignore[arg-type]
            else:
                if acts:
                    run.events += acts  # type: ignore[union-attr]
                    acts = 0
                event.raw = source.raw
                self.step(event)
                session, run = self.session, self.run
            event.raw, event.run = source.raw, run
            yield event
        if acts:
            run.events += acts  # type: ignore[union-attr]

    def step(self, event: Event) -> None:
        kind = kind_of(event)
        run = self.find(event.session_id, kind)
        for action in self.TRANSITIONS[run.state if run else ABSENT, kind]:
            run = action(self, run, event)
        if run:
            self.source.last = run
            if event.type == "tool_call":
                track(run, event)
            elif event.type == "error":
                run.error = complaint(event) or run.error
        self.run = run
        self.session = event.session_id if run and run.state != ENDED else NOBODY

    def find(self, session: str | None, kind: str) -> Run | None:
        """The open run that an event belongs to."""
        last, anonymous = self.source.last, self.source.anonymous
        if not session:
            return last if last and last.state != ENDED else anonymous
        run = self.runs.get(session)
        if run is None and kind == END and session not in self.named:
            run = anonymous
        if session != self.session:
            self.remember(session)
        return run

    def remember(self, session: str) -> None:
        """Another session than before speaks: it is the most recent one now."""
        if session in self.runs:
            self.runs[session] = self.runs.pop(session)
        self.named.pop(session, None)
        self.named[session] = None
        if len(self.named) > MAX_RUNS:
            del self.named[next(iter(self.named))]

    # What is done: each takes the open run, if there is one, and gives the one after it.

    def stray(self, _run: Run | None, _event: Event) -> None:
        self.strays += 1

    def start(self, _run: Run | None, event: Event) -> Run:
        self.opened += 1
        run = Run(event.session_id or None, self.source.where())
        if not run.session:
            self.source.anonymous = run
            return run
        if len(self.runs) >= MAX_RUNS:
            why = f"least recently active of more than {MAX_RUNS} open runs"
            self.fail(next(iter(self.runs.values())), why)
        self.runs[run.session] = run
        return run

    def take(self, run: Run, _event: Event) -> Run:
        run.events += 1
        return run

    def begin(self, run: Run, _event: Event) -> Run:
        run.state = BEGUN
        return run

    def supersede(self, run: Run, _event: Event) -> None:
        self.fail(run, f"superseded by another init at {self.source.where()}")

    def close(self, run: Run, event: Event) -> Run:
        why = failure(event)
        if why is None:
            run.succeeded = True
            self.end(run)
        else:
            self.fail(run, why or run.error or "its last event does not say that it succeeded")
        self.report.prose = None
        return run

    #  state  kind         done, in this order
    TRANSITIONS: ClassVar[dict[tuple[str, str], tuple[Callable[..., Any], ...]]] = {
        (ABSENT, INIT): (start, begin),
        (ABSENT, ACT): (start,),
        (ABSENT, END): (start, close),
        (ABSENT, OTHER): (stray,),
        (OPEN, INIT): (take, begin),
        (OPEN, ACT): (take,),
        (OPEN, END): (take, close),
        (OPEN, OTHER): (take,),
        (BEGUN, INIT): (supersede, start, begin),
        (BEGUN, ACT): (take,),
        (BEGUN, END): (take, close),
        (BEGUN, OTHER): (take,),
    }

    # How runs end.

    def end(self, run: Run) -> None:
        run.state = ENDED
        if run.session:
            del self.runs[run.session]
        elif self.source.anonymous is run:
            self.source.anonymous = None
        self.report.settle(self.source)

    def fail(self, run: Run, why: str) -> None:
        self.end(run)
        self.report.fail(f"{run} failed: {why}")

    def abandon(self, run: Run) -> None:
        """The input ended before the run did."""
        if run.error:
            self.fail(run, run.error)
            return
        why = [f"ended without a result after {plural(run.events, 'event')}"]
        if run.calls:
            names = ", ".join(excerpt(tool or "?") for tool in [*run.calls.values()][:OPEN_CALLS])
            more = ", ..." if len(run.calls) > OPEN_CALLS else ""
            why.append(f"{plural(len(run.calls), 'call')} open ({names}{more})")
        if self.report.prose:
            why.append(self.report.prose)
        self.fail(run, "; ".join(why))

    def end_of_file(self, source: Source) -> None:
        if source.anonymous:
            self.abandon(source.anonymous)
        self.report.settle(source)

    def end_of_input(self) -> None:
        for run in list(self.runs.values()):
            self.abandon(run)
        if self.report.error:  # said already why there is nothing
            return
        if self.strays and not self.opened:
            events = plural(self.strays, "event")
            self.report.fail(f"no run in {events} of unknown type: name the agent with --from")
        elif not self.opened:
            self.report.fail("no events: is this the output of --output-format stream-json?")


def kind_of(event: Event) -> str:
    if event.type == "system":
        return INIT if event.subtype == "init" else OTHER
    if event.type == "turn_ended":
        return END if look(event, Terminal).status == "error" else OTHER
    return KINDS.get(event.type or "", OTHER)


def failure(event: Event) -> str | None:
    """Why a terminal event says that its run failed, perhaps ""; None if it succeeded."""
    end = look(event, Terminal)
    error = (event.subtype or "").startswith("error")
    if event.type == "result" and end.is_error is False and not error:
        return None
    answer = end.result if end.is_error is True or error else None
    return excerpt(complaint(event) or message_of(answer) or (event.subtype or "" if error else ""))


def complaint(event: Event) -> str:
    """What an event says went wrong, or ""."""
    end = look(event, Terminal)
    return excerpt(message_of([end.error, end.errors, end.message]))


def message_of(value: Any, depth: int = 4) -> str:
    """The first text in an error: it is a text, an object with a message, or a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value[key] for key in MESSAGE_KEYS if key in value]
    if not isinstance(value, list) or not depth:
        return ""
    return next(filter(None, (message_of(item, depth - 1) for item in value)), "")


MESSAGE_KEYS = ("message", "error", "errorMessage", "data")

# ---------------------------------------------------------------- calls


def track(run: Run, event: Event) -> None:
    """Remember a call while it is open: its completion may carry nothing but the outcome."""
    if event.subtype == "started":
        run.calls[event.call_id] = tool_of(event)[0]
    elif event.subtype == "completed":
        event.started = run.calls.pop(event.call_id, None)


def tool_of(event: Event) -> tuple[str, Any]:
    """The name of a call's tool, and what the event's type keeps of that member."""
    for key, tool in KEYS.items():
        body = getattr(event.tool_call, key, None)
        if body is not None:
            named = tool == "function" and isinstance(body.name, str)
            return body.name if named else tool, body
    return next(
        ((key.removesuffix("ToolCall"), coerce(body, Tool)) for key, body in unknown_tools(event)),
        ("", None),
    )


def unknown_tools(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    call = look(event, UnknownCall).tool_call
    for key, body in call.items() if isinstance(call, dict) else ():
        if key.endswith("ToolCall") and isinstance(body, dict):
            yield key, body


def outcome(event: Event, tool: str, body: Tool | None) -> tuple[str, int]:
    """How a finished call ended: ok, nonzero or a key of REASONS; and its exit code."""
    function = event.tool_call is not None and event.tool_call.function is not None
    result = body.result if isinstance(body, Tool) else None
    for variant, status in VARIANTS.items() if result else ():
        found = getattr(result, variant)
        if found is None:
            continue
        if function and variant == "success":
            return "ok", 0
        if code := exit_code(getattr(found, "exitCode", None)):
            return "nonzero", code
        return "error" if tool == "mcp" and getattr(found, "isError", False) is True else status, 0
    return "error" if result and not function and unknown_variant(event) else "ok", 0


def unknown_variant(event: Event) -> bool:
    """Does a result hold an object under a name that VARIANTS does not know?"""
    results = (body.get("result") for _, body in unknown_tools(event))
    found = (result.values() for result in results if isinstance(result, dict))
    return any(isinstance(value, dict) for value in itertools.chain.from_iterable(found))


def exit_code(value: Any) -> int:
    """Protobuf's JSON writes 64-bit integers as strings."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def created(tool: str, body: Tool | None) -> bool:
    """An edit may create its file: then there was nothing before."""
    success = body.result.success if tool == "edit" and body and body.result else None
    if success is None or bytes(success.beforeFullFileContent) not in (b"", b"null"):
        return False
    diff = bytes(success.diffString)
    return diff != b"" and str(value_of(diff)).startswith("--- /dev/null")


def call_line(event: Event) -> str:
    """The line for a finished call."""
    tool, body = tool_of(event)
    tool = tool or event.started or "?"
    done, do = LABELS.get(tool) or Label(f"Used tool {excerpt(tool)}", f"use tool {excerpt(tool)}")
    status, code = outcome(event, tool, body)
    if status in REASONS:
        return f"Failed to {do} ({REASONS[status]})"
    if status == "nonzero":
        return f"{done} (exit {code})"
    return LABELS["write"].done if created(tool, body) else done


# ---------------------------------------------------------------- words


class Segments:
    """What the assistant said in a run, each text once.

    A segment is the text between two calls. It comes whole, or in deltas, or in deltas and then
    once more whole (a replay). Only a delta has timestamp_ms and no model_call_id, but the replay
    before an interaction_query looks like one: a text that equals the segment so far is held
    until the next telling event. Written down in the captures' rule, FORMATS 1.3.
    """

    __slots__ = ("held", "length", "said", "segment")

    def __init__(self) -> None:
        self.said = io.StringIO()  # the segments that are complete
        self.segment: list[str] = []  # the deltas since the last call
        self.length = 0  # of them, in characters
        self.held = ""

    def text(self) -> str:
        """All that was said, at the end of the run."""
        return self.said.getvalue() + "".join(self.segment) + self.held

    def say(self, event: SpokenEvent) -> None:
        content = event.message.content if event.message is not None else None
        if type(content) is list and len(content) == 1 and event.parent_tool_use_id is None:
            text = content[0].text or ""  # nearly always: it saves a call
        else:
            text = words(event)
        if event.timestamp_ms is None or event.model_call_id is not None:
            self.cut(text)
        elif len(text) != self.length and not self.held:
            self.segment.append(text)
            self.length += len(text)
        else:
            self.repeat(text)

    def repeat(self, text: str) -> None:
        """A delta that may be a replay, or the one after it."""
        if self.held:  # two in a row: the first was no replay
            self.segment.append(self.held)
            self.length += len(self.held)
            self.held = ""
        if len(text) == self.length > 0 and "".join(self.segment) == text:
            self.held = text
        else:
            self.segment.append(text)
            self.length += len(text)

    def cut(self, whole: str = "") -> None:
        """The segment ends: with a call, a question, a result, or its whole text in one event."""
        segment = "".join(self.segment)
        self.said.write(segment + whole.removeprefix(segment))
        self.segment.clear()
        self.length, self.held = 0, ""


CUTTING = ("tool_call", "interaction_query", "result")  # an init opens a run of its own


def words(event: SpokenEvent) -> str:
    """The text of an assistant event; a sub-agent's is not part of the answer."""
    content = event.message.content if event.message is not None else None
    if not content or event.parent_tool_use_id is not None:
        return ""
    return content if isinstance(content, str) else "".join(block.text or "" for block in content)


# ---------------------------------------------------------------- writing


class Text:
    """Progress: one line for each finished call."""

    kind: type[Event] = ToolEvent
    thinking = words = False

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        for event in events:
            if event.type == "tool_call" and event.subtype == "completed":
                yield call_line(event).encode()


class Json:
    """The result of each run that succeeded, in one object: Cursor's `--output-format json`."""

    kind: type[Event] = SpokenEvent
    thinking, words = False, True

    # Members in Cursor's order; what else the result carried follows.
    ORDER = (
        "type", "subtype", "is_error", "duration_ms", "duration_api_ms",
        "result", "session_id", "request_id",
    )  # fmt: skip

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        for event in events:
            run = event.run
            if event.type == "assistant":
                segments = run.segments
                if segments is None:
                    segments = run.segments = Segments()
                segments.say(event)
            elif run and run.segments and event.type in CUTTING:
                run.segments.cut()
            if event.type == "result" and run.succeeded:
                yield self.result(event, run)

    def result(self, event: Event, run: Run) -> bytes:
        own = {key: compact(value) for key, value in members(event.raw).items()}
        said = run.segments.text() if run.segments else ""
        own |= {"type": b'"result"', "subtype": b'"success"', "is_error": b"false"}
        for key in ("duration_ms", "duration_api_ms"):
            own[key] = own[key] if NUMBER.fullmatch(own.get(key, b"")) else b"null"
        if own.get("result", b"")[:1] != b'"':
            own["result"] = literal(said)
        own["session_id"] = literal(run.session) if run.session else b"null"
        if own.get("request_id", b"null") == b"null":
            own.pop("request_id", None)
        keys = [key for key in self.ORDER if key in own]
        keys += [key for key in own if key not in self.ORDER]
        return b"{" + b",".join(literal(key) + b":" + own[key] for key in keys) + b"}"


class StreamJson:
    """The input's own lines."""

    kind: type[Event] = Event
    thinking = words = True

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        return (event.raw.strip() for event in events)


WRITERS: dict[str, type[Text] | type[Json] | type[StreamJson]] = {
    "text": Text,
    "json": Json,
    "stream-json": StreamJson,
}
NUMBER = re.compile(rb"-?[0-9][0-9.eE+-]*")


class Output:
    """Lines, written a block at a time. ``write_bytes`` takes them, and may raise OSError."""

    def __init__(self, write_bytes: Callable[[bytes], object]) -> None:
        self.write_bytes = write_bytes
        self.lines: list[bytes] = []
        self.write = self.lines.extend  # takes lines without their LF, as they are made

    def flush(self) -> None:
        """Raises Gone if nobody reads any more, OutputError if it cannot be written."""
        if not self.lines:
            return
        data = b"\n".join((*self.lines, b""))
        self.lines.clear()
        with output_errors("stdout"):
            self.write_bytes(data)


@contextlib.contextmanager
def output_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise Gone from None
    except OSError as error:
        raise OutputError(f"{name}: {error.strerror}") from None


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, also to a pipe that a neighbour made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])


# ---------------------------------------------------------------- the pipeline


def convert(
    streams: Iterable[tuple[str, Iterator[bytes]]],
    *,
    to: str,
    thinking: bool = False,
    max_line: int = MAX_LINE,
    report: Report,
    out: Output,
) -> None:
    """Read the streams of agents, write them to ``out`` in another form.

    ``streams`` are FILEs in their order: the name for messages, and its bytes as they arrive.
    ``to`` is a key of WRITERS; ``max_line`` is in bytes. What went wrong goes to ``report``, which
    then knows the exit status. Raises Gone, OutputError, and what ``streams`` raises. The format
    is Cursor's: https://cursor.com/docs/cli/reference/output-format.
    """
    writer = WRITERS[to]()
    reader = Reader(writer.kind, report)
    runs = Runs(report, thinking=thinking and writer.thinking, words=writer.words)
    for name, arriving in streams:
        source = Source(name)
        for frame in frames(source, arriving, max_line):
            events = reader.read(source, frame)
            events = runs.follow(source, events)
            out.write(writer.lines(events))
            out.flush()
        runs.end_of_file(source)
    runs.end_of_input()


# ---------------------------------------------------------------- the command


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Bytes, with a suffix K, M or G."""

    name = "bytes"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,12})([KMG]?)", value, re.IGNORECASE)
        size = int(match[1]) << 10 * " KMG".index(match[2].upper() or " ") if match else 0
        return size or self.fail(f"{value!r} is no size: try 64M", param, ctx)


@click.command(
    options_metavar="[OPTION]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
    epilog=EXITS,
)
@click.option(
    "-t", "--to", type=click.Choice(list(WRITERS)), default="text", show_default=True,
    help="Write progress, the result of each run, or the stream's own lines.",
)  # fmt: skip
@click.option(
    "-f", "--from", "dialect", type=click.Choice(["auto", "cursor"]), default="auto",
    show_default=True, help="The agent that wrote the stream.",
)  # fmt: skip
@click.option("--thinking", is_flag=True, help="Keep thinking events in stream-json.")
@click.option(
    "--max-line", type=Size(), default="64M", show_default=True,
    help="The longest line that is accepted; suffixes K, M, G.",
)  # fmt: skip
@click.option(
    "--rejects", metavar="FILE", help="Append every line that is not an event to FILE, as it is."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 instead of 1 or 3.")
@click.version_option(__version__, "-V", "--version", message="agentfmt %(version)s")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    *,
    to: str,
    dialect: str,  # noqa: ARG001
    thinking: bool,
    max_line: int,
    rejects: str | None,
    exit_zero: bool,
) -> int:
    """Read the event stream of a headless coding agent, write progress, its result, or the
    stream itself.

    Without FILE, or where it is -, standard input is read. The exit status tells whether the
    agent's runs succeeded.
    """
    if not files and os.isatty(0):
        raise click.UsageError("standard input is a terminal: pipe an agent into agentfmt", context)
    for file in files:
        check_readable(file)
    signals = Signals()
    out = Output(functools.partial(write_all, 1))
    report = Report(out, open_rejects(rejects))
    streams = ((file, chunks(file, signals, report)) for file in files or ("-",))
    try:
        convert(streams, to=to, thinking=thinking, max_line=max_line, report=report, out=out)
        with output_errors("stdout"):
            os.close(os.dup(1))  # some file systems say only here that the disk is full
    except Interrupted:
        return 128 + signals.caught
    except Gone:
        return 128 + signal.SIGPIPE
    except OutputError as error:
        report.wrong(str(error))
    status = report.status()
    return OK if exit_zero and status in (FAILED, DAMAGED) else status


def check_readable(file: str) -> None:
    """Raises click.FileError for what certainly cannot be read, before anything is."""
    if file == "-":
        return
    try:
        if stat.S_ISDIR(os.stat(file).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(file, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{shown(file)}: {reason_of(error)}") from None


def open_rejects(file: str | None) -> int | None:
    if file is None:
        return None
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"--rejects {shown(file)}: {reason_of(error)}") from None


def reserve_standard_descriptors() -> None:
    """A standard descriptor that is closed must not become a FILE: then it would be written to."""
    for fd, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free


def main() -> int:
    """The command: returns the exit status of EXITS."""
    reserve_standard_descriptors()
    try:
        status = command.main(prog_name="agentfmt", standalone_mode=False)
        if sys.stdout:  # None where the descriptor is closed
            sys.stdout.flush()
        return int(status or OK)
    except click.ClickException as error:
        complain(
            " ".join(error.format_message().split()).rstrip("."),
            hint=isinstance(error, click.UsageError),
        )
        return ERROR
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
    except OSError as error:  # --help > /dev/full
        complain(f"stdout: {reason_of(error)}")
        return ERROR


def complain(text: str, *, hint: bool = False) -> None:
    with contextlib.suppress(OSError):
        more = "; see agentfmt --help" if hint else ""
        write_all(2, f"agentfmt: {text}{more}\n".encode("utf-8", "backslashreplace"))


def reason_of(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


if __name__ == "__main__":
    sys.exit(main())
