# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "click>=8.1", "google-re2>=1.1", "jinja2>=3.1", "markdown-it-py>=3",
#     "msgspec>=0.18.6", "tree-sitter>=0.23", "tree-sitter-bash>=0.23"
# ]
# ///
"""agentfmt: read the event stream of a headless coding agent and write it in another form.

    stdin -> chunks -> frames -> lines -> sessions -> selected -> redacted -> shortened
          -> noted -> writer -> stdout            (lines of JSON are shortened behind the writer)

A chunk is the result of one read. A frame is a block of whole lines. An event is a line, out of any
log collector's envelopes, decoded into the few members that the chosen output needs; it keeps the
line itself. Another agent's line is translated into any number of events, which refer to it
where it is printed in their place.
Events travel one way, a block at a time: a stage takes events and returns events, and the output
of a block is written before the next read. A run is one answer of an agent: it opens with its
first init, user, assistant, thinking or tool_call event and ends with its terminal event (result,
or turn_ended with an error), which may stand alone. A second init, or the end of the input, ends
it as failed. The verdicts of all runs make the exit status.

Contents, in the order of the file, in seven wings:

  Reading: what flows through the program, and how it comes in
    vocabulary       numbers of exit statuses, limits and their reasons
    text             escaping for terminals and CI runners, widths, cutting, sizes, durations, paths
    JSON             undecoded values, partial types for objects, the positions of strings
    files            signals, reading and writing descriptors
    commands         the command of --run, and limits of time on what is read
    events           one line and the few members that stages look at
    calls            what the line of a call says, and what it is about
    finished calls   what writers read of a call: its action, diff, output and times; tools, labels
    messages         messages on stderr, excerpts, rejected lines, the exit status
    reading          frames, envelopes of log collectors, lines to events
  Agents: another agent's lines become events of Cursor's
    foreign calls    other agents' tools, arguments and failures in Cursor's terms
    turns            what is remembered of a run: what was said, and what it took
    conversations    the moves that turn an agent's lines into events
    Claude           Claude Code and its relatives, Amp and Qwen Code: their streams
    Claude sessions  what Claude Code and Qwen Code save
    Codex            its stream, and its saved sessions
    other agents     Gemini, OpenCode, Droid, Copilot, Pi
    more agents      Kimi, Grok Build, Antigravity, Cline, Goose, ACP; transcripts of Cursor
    recognition      which agent wrote a line, and in which form
  Runs: which run an event belongs to, and how it ended
    runs             the state machine: when runs open and end, and their verdicts
    sessions         one table of conversations: whose a line is, and when a session is over
    words            the assistant's words, each text once
    notes            what writers read of runs: open calls, counts, how runs ended
  Choosing: what is printed, and what fails a run
    command lines    the commands that a line of a shell runs
    selecting        selectors, and which events are printed
  Hiding: secrets, paths and contents
    tokens           what the tokens of each issuer look like; private keys; known values
    names and forms  which names are secret, and how a value is written after one
    the judge        the odds that a value is a secret: trained, see tests/judge
    plain readings   a text without line numbers, escapes, entities, codes, and the way back
    the scanner      the spans of the secrets in a text, or the text with markers
    structure        which strings of an event are structure, and the class of all others
    redacted events  markers in place of strings of one event
    redacted words   words that span several events, decided line by line
  Showing: for people, and for programs
    shortening       cutting the longest strings of an event until its line fits
    action lines     one line for each call, cut to the terminal's width; a path keeps its end
    text output      progress: action lines and words; the status line of a terminal
    summaries        closing lines: how runs ended, and what they took
    Markdown         texts of others in a report, whose structure they can't change
    report           runs as a tree: what was asked, said, thought and done; the tree in Markdown
    page             the tree as a page: its sheet, and its template; each call opens
    outputs          json, stream-json, cursor; tables of runs and of calls
    traces           OpenTelemetry's spans of runs and calls
    trajectories     documents of what was said and done, for Harbor and Phoenix
    writers          all outputs by name, and the blocks in which their lines leave
  The command: all of it together
    pipeline         convert(): connects the stages
    options          values on the command line: sizes, selectors, secrets
    command          files, completion, and the exit status

The vocabulary is that of Cursor's `agent -p --output-format stream-json`. A translator puts another
agent's lines into it; no later stage knows which agent wrote a line.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import errno
import functools
import gc
import io
import itertools
import operator
import os
import re
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    AnyStr,
    ClassVar,
    NamedTuple,
    TypeAlias,
    cast,
)

if os.path.basename(sys.argv[0]).startswith("agentfmt") and (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until main: no traceback out of the imports
gc.disable()  # until main: collecting during the imports takes a tenth of the start-up time

import click
import msgspec
from msgspec import Raw, Struct

__version__ = "0.3.0"


# ---------------------------------------------------------------- vocabulary
#
# Exit statuses, limits and their reasons, regular expressions that are compiled on first use.
# Constants, and how patterns are compiled; this section must not use any other.


class LazyPattern:
    """A regular expression, compiled on first use: all together take a tenth of the start-up."""

    def __init__(self, *source: Any) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self.source), name)
        setattr(self, name, value)
        return value


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


OK, FAILED, ERROR, DAMAGED = 0, 1, 2, 3  # exit statuses; a signal adds 128
EXIT_HELP = """Exit status:
  0                   every run succeeded
  1                   a run failed, or there was no run at all
  2                   usage error, or an input or output error
  3                   every run succeeded, but some lines could not be read
  126, 127            the command of --run can't be executed, or doesn't exist
  129, 130, 141, 143  ended by SIGHUP, SIGINT, SIGPIPE, SIGTERM"""

BLOCK = 64 * 1024  # bytes per read: the capacity of a pipe, and small enough for the cache
DRAIN = 4 * 1024 * 1024  # bytes still read after a signal: while a busy writer refills the pipe
LAST_SECONDS = 5  # after a signal, for what the pipe held
GRACE = 10  # seconds that the command of --run may stay after its result
SILENCE_MS = 1000  # without input, after which the stages look at the clock
MAX_LINE = 64 * 1024 * 1024  # bytes of a line: an edit carries its file four times
MAX_WAIT = 60  # seconds of silence after which a run's incomplete words are redacted and released
MAX_RUNS = 10_000  # open at a time: a joined log of a day may hold so many
MAX_PREFIX = 256  # bytes that a log collector may put before an object
CONCEALED = 8192  # characters searched for secrets before an excerpt is cut from them
EXCERPT = 200  # characters of a rejected line in a message
HEAD = 1024  # bytes of a FILE that show what it is if it holds no event
REJECTS_SHOWN = 10  # rejected lines shown per run of a FILE; the others are only counted
KEPT_PROSE = 100  # others kept: one may say why a run failed; a private key fits
SESSION_PREFIX = 8  # characters of a session ID that messages show
NAMES_SHOWN = 5  # names that a message lists: open calls, types
LINES_OF_AN_AGENT = 3  # unknown types that show an unknown agent; fewer may be a wrapper's
TELLTALE = 12  # bytes of a known value whose occurrence triggers the full search
SHORTEST = 8  # characters: shorter values of variables or --secrets-file aren't hidden
DEFAULT_WIDTH = 200  # columns of an action line without a terminal
MIN_TARGET = 8  # columns of what is left in a table
MAX_TAIL = 64 * 1024  # characters of an output among which its last lines are looked for
MAX_TARGET = 2000  # characters of a target: more than any terminal is wide
CACHED_DECISIONS = 1000  # kinds of events whose selection is remembered
MAX_FILES = 10_000  # changed files that a summary tells apart
MAX_DEPTH = 10  # nested sub-agents that are indented, or shown in a report
PROMPT_ROWS = 3  # of a prompt that are shown
DIFF_ROWS = 20  # of an edit that --diff shows
FAILURE_ROWS = 10  # of a call that failed
TARGET_ROWS = 3  # of these, of what it was about
TAIL = 5  # last lines of a failed command that -v shows
SHORT_TEXT = 80  # characters of an argument that can be the target of an unknown tool
MAX_REPORT = 1_000_000  # bytes: GitHub takes 1 MiB for the summary of a step, or nothing of it
MAX_PAGE = 32_000_000  # bytes of a page: browsers take seconds for more
MAX_WORDS = 100_000  # characters between two actions in a report
MAX_PARAGRAPH = 8000  # characters that are read as Markdown: brackets without end take long
MAX_IMAGE, MAX_IMAGES = 1_000_000, 4  # bytes of an image on a page, and images of a call
PROMPT_LINES, DIFF_LINES, OUTPUT_LINES = 10, 100, 10  # lines of each in a report
PAGE_LINES, PAGE_TAIL = 200, 100  # the first and the last lines of a text on a page
SLOW_MS = 1000  # once a call takes so long, a run's times are drawn as bars
TITLE = 100  # columns of the title of a run or call
REPORT_COLUMNS = 500  # of a line of output in a report
ITEM_COLUMNS, FILE_COLUMNS = 240, 40  # of an action in a report, of a FILE in its contents
MAX_NAMES = 20  # tools, or unknown types, that a summary tells apart
SPARE_LEVELS = 100  # of nesting: for code that decodes a line again, or rewrites it
MAX_DIGITS = 4000  # of an integer: the interpreter refuses to parse longer ones

AGENTS = (
    "cursor claude amp qwen codex gemini opencode droid copilot pi "
    "kimi grok antigravity cline goose acp".split()
)
BLANKS = b" \t\r\n"
BOM = b"\xef\xbb\xbf"


# ---------------------------------------------------------------- text
#
# Escaping for terminals and CI runners, widths, cutting, sizes, durations, paths.
# Strings in, strings out. It must not know events.

# Characters that control a terminal: C0, DEL, C1, bidi controls, line and paragraph separators; and
# lone surrogates, which UTF-8 cannot encode.
CONTROL = regex(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


# Commands of CI runners: `##[`, `##vso[` and `##teamcity[` anywhere in a line, and `::name` at its
# start, after any blanks.
HASHES = regex(r"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)
COLONS = regex(r"^([\s\u180e\u200b\u2060\ufeff]*):(?=:[^\s:])")


def escape(text: str) -> str:
    """Escape control characters and CI commands, so that untrusted text is safe within a line."""
    if not text.isprintable():
        text = CONTROL.sub(lambda char: char[0].encode("unicode_escape").decode(), text)
    return HASHES.sub(r"\\x23", text) if "#" in text else text


PAIR = regex("[\ud800-\udbff][\udc00-\udfff]")


def join_surrogates(text: str) -> str:
    """Join pairs of surrogates into the characters that they encode."""
    if text.isascii():
        return text
    return PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def escape_line(line: str) -> str:
    """Escape an agent's line so that it is safe on its own; its tabs stay. Deltas may have split a
    character."""
    line = join_surrogates(line.removesuffix("\r"))
    safe = "\t".join(map(escape, line.split("\t"))) if "\t" in line else escape(line)
    return COLONS.sub(r"\1\\x3a", safe)


def excerpt(text: str) -> str:
    """The beginning of a text, escaped, on one line of at most EXCERPT characters."""
    line = escape(text[:EXCERPT].strip())
    return line if len(text) <= EXCERPT >= len(line) else line[: EXCERPT - 3] + "..."


# Names of classes that a program puts around a reason.
CLASSES_AROUND = regex(r"\A(?:Error: )?[A-Z]\w?: (?:\[(\w+)\] Error\Z|(\[\w+\] ))")


def excerpt_reason(text: str) -> str:
    """A one-line reason: for a stack trace, its message."""
    text = JS_FRAMES.split(PYTHON_TRACE.sub("", text), maxsplit=1)[0].strip()
    return cut_middle(escape(" ".join(filter(None, map(str.strip, text.split("\n"))))), EXCERPT)


JS_FRAMES = regex(r"\n[ \t]+at \S")
PYTHON_TRACE = regex(r"(?s)Traceback \(most recent call last\):.*\n[ \t]+\S[^\n]*\n")


def encode_line(line: str) -> bytes:
    return line.encode("utf-8", "backslashreplace")


def plural(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def first_names(names: Iterable[str]) -> str:
    """The first few names, with commas."""
    some = [*itertools.islice(names, NAMES_SHOWN + 1)]
    if len(some) > NAMES_SHOWN:
        some[NAMES_SHOWN] = "..."
    return ", ".join(some)


def elements_in(text: str, name: str) -> list[str]:
    """Texts of the elements named so."""
    parts = (part.partition(f"</{name}>") for part in text.split(f"<{name}>")[1:])
    return [inner.strip() for inner, end, _ in parts if end]


SGR_CODES = regex("\x1b\\[[0-9]*m")


def display_width(text: str) -> int:
    """The terminal columns of a text whose only control characters are codes of style."""
    text = SGR_CODES.sub("", text) if "\x1b" in text else text
    return len(text) if text.isascii() else sum(map(char_width, text))


@functools.lru_cache(4096)
def char_width(char: str) -> int:
    import unicodedata

    if unicodedata.category(char) in ("Mn", "Me", "Cf") and char != "\xad":
        return 0
    if "\u1160" <= char <= "\u11ff":  # the rest of a Hangul syllable
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, limit: int) -> str:
    """Cut a text to at most ``limit`` columns, including the dots that mark the cut."""
    if display_width(text) <= limit:
        return text
    ends = list(itertools.accumulate(map(char_width, text)))
    end = bisect.bisect_right(ends, limit - 3)
    return text[:end].rstrip() + "..."[: max(limit, 0)]


def cut_middle(text: str, limit: int) -> str:
    """Cut a text in the middle, for its cause may stand at its end."""
    if len(text) <= 2 * limit and display_width(text) <= limit:
        return text
    if limit < len("......"):
        return truncate(text, limit)
    more = " " * limit  # or texts without width are not cut
    head = truncate(text[:limit] + more, limit // 2 + 2).removesuffix("...")
    end = truncate(text[: -limit - 1 : -1] + more, limit - display_width(head)).removesuffix("...")
    return f"{head}...{end[::-1]}"


def cut_lines(text: str, first: int = 0, last: int = 0) -> list[str]:
    """The first and the last lines of a text, none too long, and how many are missing."""
    lines = text.strip("\r\n").split("\n")
    missing = len(lines) - first - last
    if missing > 0:
        lines[first : first + missing] = [f"... ({plural(missing, 'more line')})"]
    sure = REPORT_COLUMNS // 2  # characters that fit, however wide: to measure them takes time
    return [line if len(line) <= sure else truncate(line[: 8 * sure], 2 * sure) for line in lines]


def format_duration(milliseconds: int) -> str:
    if milliseconds < 59950:  # which is 60.0 s
        return f"{milliseconds / 1000:.1f} s" if milliseconds >= 50 else f"{milliseconds} ms"
    minutes, seconds = divmod((milliseconds + 500) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def format_clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 59.5 else format_duration(round(seconds) * 1000)


def utc(milliseconds: float) -> Any:
    """Milliseconds since 1970, of ``as_time`` or a file, as a datetime."""
    import datetime

    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)


DATE = "%-d %b %Y, %H:%M %Z"


def local_time(milliseconds: float | None, form: str) -> str:
    """A time since 1970 in the local zone; "" for none."""
    return "" if milliseconds is None else f"{utc(milliseconds).astimezone():{form}}"


def iso_time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return str(utc(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def format_size(count: int) -> str:
    """A number of bytes with a decimal unit: "1.2 kB"."""
    if count < 1000:
        return plural(count, "byte")
    amount, unit = count / 1000, "kB"
    for larger in ("MB", "GB"):
        if amount >= 999.5:
            amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def format_cost(dollars: float) -> str:
    if dollars < 0.001:
        return "under $0.001" if dollars else ""
    return f"${dollars:,.2f}" if dollars >= 0.1 else f"${dollars:.3f}"


def wrap(text: str, room: int) -> list[str]:
    """Break a line at blanks into rows of at most ``room`` columns; longer words stay whole. No row
    begins with a CI runner's command."""
    rows = [""]
    for word in ROW_WORD.findall(text):
        if rows[-1].strip() and display_width(rows[-1] + word) > room:
            rows.append(" " * len(BULLET.match(text)[0]))  # type: ignore[index]
            word = word.lstrip(" ")
        rows[-1] += word
    return [COLONS.sub(r"\1\\x3a", row) for row in rows]


ROW_WORD = regex(r" *[^ ]+| +\Z")
BULLET = regex(r" *(?:[-*+] |[0-9]+[.)] )?")  # the rows of a list item are indented below its text

WINDOWS = regex(r"[A-Za-z]:[\\/]|\\\\")


def relative_path(path: str, here: str) -> str:
    """A path relative to a directory that contains it. macOS also spells /tmp as /private/tmp."""
    if not here:
        return path
    windows = WINDOWS.match(here) is not None
    separators = "\\/" if windows else "/"
    for base in (here, here.removeprefix("/private"), f"/private{here}"):
        base = base.rstrip(separators)
        begin, rest = path[: len(base)], path[len(base) :]
        if windows:
            begin, base = (text.replace("/", "\\").lower() for text in (begin, base))
        inside = begin == base and rest[:1] in ("", *separators)
        if inside and base and not base.endswith(":"):
            return rest.lstrip(separators) or "."
    return path


# ---------------------------------------------------------------- JSON
#
# Undecoded values, partial types for objects, the slow decoder, the positions of strings.
# Bytes in; values, positions or bytes out. It must not know events.

UNICODE = b"\\u"

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Number(float):
    """A number that is no integer, or too long for one, as it is spelled."""

    spelling: str

    def __new__(cls, spelling: str) -> Number:
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


DECODE = msgspec.json.Decoder(float_hook=Number).decode
ENCODE = msgspec.json.Encoder(enc_hook=lambda number: Raw(number.spelling.encode())).encode


def encode_json(value: Any) -> bytes:
    """A value as compact JSON in UTF-8; lone surrogates are escaped."""
    try:
        return ENCODE(value)
    except UnicodeEncodeError:  # as the input may well be
        return spell_out(value).encode("utf-8", "backslashreplace")


def spell_out(value: Any) -> str:
    """The same as text, with lone surrogates."""
    import json

    if isinstance(value, Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        members = (f"{spell_out(name)}:{spell_out(one)}" for name, one in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(spell_out, value))}]"
    return value.spelling if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


@contextlib.contextmanager
def spare_levels() -> Iterator[None]:
    """Parse with a lower recursion limit, so that the result can be decoded again or rewritten."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit - SPARE_LEVELS)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def decode_json(text: bytes) -> Any:
    """Decode a JSON value, with lone surrogates and integers of any length.

    Raises ValueError with a readable reason if the text isn't JSON, or is nested too deeply.
    """
    try:
        return DECODE(text)
    except DECODE_ERRORS:
        import json

    text = bytes(text)
    decoder = json.JSONDecoder(
        parse_float=Number,
        parse_int=lambda digits: (int if len(digits) <= MAX_DIGITS else Number)(digits),
        parse_constant=refuse_constant,
    )
    try:
        return decoder.decode(text.strip(BLANKS).decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        what = "a NUL byte" if b"\0" in text else f"bad JSON ({error.msg.removesuffix(' at')})"
        raise ValueError(f"{what} at column {error.colno}") from None


def refuse_constant(word: str) -> Any:
    raise ValueError(f"bad JSON ({word} isn't a JSON number)")


def as_integer(value: Any) -> int | None:
    """An integer of 64 bits, or None; protobuf's JSON writes them as strings."""
    if type(value) is int:
        return value if -(1 << 63) <= value < 1 << 63 else None
    if isinstance(value, str) and INTEGER.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and abs(value) < 1e15 else None


INTEGER = regex(r"-?[0-9]{1,19}")


def as_count(value: Any) -> int | None:
    number = value if type(value) is int and value < 1 << 63 else as_integer(value)
    return None if number is None or number < 0 else number


def as_milliseconds(seconds: Any) -> int | None:
    """A number of seconds, perhaps in a text, in milliseconds."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        return as_count(round(float(seconds) * 1000))
    return None


def decoded(text: str | bytes) -> Any:
    """What a text of JSON says; None if it is malformed, or nested too deeply."""
    try:
        return decode_json(to_utf8(text) if isinstance(text, str) else text) if text else None
    except ValueError:
        return None


def as_time(value: Any) -> int | None:
    """A time in milliseconds since 1970, given as that number or in ISO 8601; or None."""
    at = time_in(value) if isinstance(value, str) else as_count(value)
    return at if at is not None and at < LAST_DATE else None


LAST_DATE = 253_000_000_000_000  # in 9987: calendars have no more than four digits


@functools.lru_cache(256)  # a line's time is asked for by each of its calls, more than once
def time_in(value: str) -> int | None:
    if INTEGER.fullmatch(value):
        return as_count(value)
    import datetime

    iso = value.replace("Z", "+00:00")
    try:
        return round(datetime.datetime.fromisoformat(iso).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def elapsed(begin: Any, end: Any) -> int | None:
    """The milliseconds between two times; None if one isn't known, or they are out of order."""
    if begin is None or end is None:
        return None
    first, last = as_time(begin), as_time(end)
    return None if first is None or last is None or last < first else last - first


def first_text(*values: Any) -> str:
    """The first string that isn't blank, or ""."""
    for value in values:
        if isinstance(value, str) and value.strip():
            return value
    return ""


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if type(value) is list else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array."""
    return [item for item in value if type(item) is dict] if type(value) is list else []


def known_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Those that aren't None."""
    return {name: value for name, value in members.items() if value is not None}


def as_text(value: Any) -> str:
    return value if type(value) is str else ""


def as_word(value: Any) -> str:
    """A string, or a number as one, or ""."""
    return as_text(value) or ("" if (number := as_integer(value)) is None else str(number))


def as_dollars(value: Any) -> float | None:
    """An amount of money, or None."""
    return +value if isinstance(value, (int, float)) and 0 <= value < 1e9 else None


class Node:
    """A JSON value with lenient access: a path leads to a value, or to None."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, path: str) -> Any:
        value = self.value
        for name in path.split("."):
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value

    def each(self, path: str = "") -> list[Node]:
        """The objects in the array at a path, or in this one."""
        return [*map(Node, objects(self[path] if path else self.value))]


NOTHING = Node(None)


class StringLiteral(NamedTuple):
    """A string in a line: its span, its value, the names that lead to it, and its container."""

    start: int
    end: int
    text: str
    path: tuple[str, ...]
    is_key: bool
    holder: int
    in_array: bool


# Without escapes: a string, with the colon if it is a name; or a bracket.
LITERAL = regex(rb'("[^"]*")([ \t\r\n]*:)?|[{}\[\]]')


def without_escapes(raw: bytes) -> bytes:
    """A line whose quotes are those around strings; positions stay."""
    return raw.replace(rb"\\", b"__").replace(rb"\"", b"__")


def find_strings(raw: bytes) -> Iterator[StringLiteral]:
    """All strings of a valid JSON object, including the names of its members."""
    stack: list[tuple[tuple[str, ...], bool, int]] = []
    path: tuple[str, ...] = ()  # of the next value
    base, array, holder, count = path, False, 0, 0
    for match in LITERAL.finditer(without_escapes(raw)):
        kind = match.lastindex
        if kind:
            start, end = match.span(1)
            literal = raw[start:end]
            text = decode_json(literal) if b"\\" in literal else literal[1:-1].decode()
            path = (*base, text) if kind == 2 else path
            yield StringLiteral(start, end, text, path, kind == 2, holder, array)
        elif match[0] in b"{[":
            stack.append((base, array, holder))
            count += 1
            base, array, holder = path, match[0] == b"[", count
        else:
            path = base
            base, array, holder = stack.pop()


def edit_strings(
    raw: bytes, strings: Iterable[StringLiteral], change: Callable[[StringLiteral], str]
) -> bytes:
    """Change some strings of a line, and no other byte."""
    edits = [
        (string.start, string.end, encode_json(new))
        for string in strings
        if (new := change(string)) != string.text
    ]
    return splice(raw, edits) if edits else raw


Place: TypeAlias = "tuple[str, ...]"  # names of members, outermost first
Places: TypeAlias = "tuple[Place, ...]"


def blank_strings(raw: bytes, places: Places) -> bytes:
    """Blank the strings of a line at some places and below them."""
    if UNICODE not in raw and not any(b'"%b"' % place[-1].encode() in raw for place in places):
        return raw  # nearly always; an escape may spell a name
    values = (string for string in find_strings(raw) if not string.is_key)
    there = (
        string for string in values if any(string.path[: len(place)] == place for place in places)
    )
    return edit_strings(raw, there, lambda _string: "")


def splice(text: AnyStr, edits: Iterable[tuple[int, int, AnyStr]]) -> AnyStr:
    """Replace spans of a text, given in order, by other texts."""
    done: list[Any] = []
    position = 0
    for start, end, new in edits:
        done += [text[position:start], new]
        position = end
    return text[:0].join([*done, text[position:]])


def to_utf8(text: str) -> bytes:
    """Encode a text for RE2, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def from_utf8(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


# ---------------------------------------------------------------- files
#
# Signals, os.read and os.write.
# Reading turns descriptors into chunks of bytes, writing the reverse. It must not know lines.


class Interrupted(Exception):  # noqa: N818
    """A signal stopped the input."""


class Stopped(Exception):  # noqa: N818
    """A limit or a gate has ended the stream: its last line may be cut."""


class ReaderGone(Exception):  # noqa: N818
    """Nobody reads the output any more. Not a BrokenPipeError: click would exit with status 1."""


class OutputError(Exception):
    """An output cannot be written; the message says which and why."""


class Signals:
    """Remembers the signal that asks the program to end, and wakes the waiting read. Another one,
    or LAST_SECONDS, end it at once, even within a regular expression, or where nobody reads what it
    writes. ``forward`` passes signals to a command that was started."""

    def __init__(self) -> None:
        self.caught = 0
        self.forward: Callable[[int], object] | None = None
        self.patience: float = LAST_SECONDS
        self.fd, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for code in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
            if signal.getsignal(code) is not signal.SIG_IGN:  # nohup, a job in the background
                signal.signal(code, self._catch)

    def _catch(self, code: int, _frame: object) -> None:
        if self.caught:
            if self.forward:
                self.forward(signal.SIGKILL)
            signal.signal(self.caught, signal.SIG_DFL)
            os.kill(os.getpid(), self.caught)
        self.caught = code
        if self.forward:
            self.forward(code)
        else:
            signal.signal(code, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self.patience)


def open_chunks(
    name: str,
    signals: Signals,
    report_error: Callable[[str], object],
    wait: Callable[[], int] = lambda: SILENCE_MS,
) -> Iterator[bytes]:
    """The chunks of a FILE until its end. A FILE that cannot be read is reported.

    Raises Interrupted after a signal, once the input that had arrived has been delivered.
    """
    fd = -1
    try:
        # Non-blocking: a signal must also end the wait for a FIFO that nobody writes to.
        fd = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        yield from read_chunks(fd, signals, wait)
    except OSError as error:
        report_error(f"{file_name(name)}: {error.strerror}")
    finally:
        if fd > 0:
            with contextlib.suppress(OSError):  # read_chunks may have closed it
                os.close(fd)


def read_chunks(
    fd: int,
    signals: Signals,
    wait: Callable[[], int],
    stop: Callable[[], object] = lambda: None,
) -> Iterator[bytes]:
    """The chunks of a descriptor, and b"" after each second of silence, for stages that wait.

    ``wait`` gives the most milliseconds to wait for the next chunk, or 0 to read no more; then, and
    after a signal, ``stop`` is called, and what has arrived until then is delivered. Waits in poll,
    not in read: another process may have made the pipe non-blocking.
    """
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    waiting.register(signals.fd, select.POLLIN)
    room = bytearray(BLOCK)  # os.read would shrink what it allocates, and the heap grow for ever
    while not signals.caught and (most := wait()):
        ready = [number for number, _ in waiting.poll(most)]
        if fd not in ready:
            if not ready and most >= SILENCE_MS:
                yield b""
            continue
        try:
            size = os.readv(fd, (room,))
        except BlockingIOError:
            continue
        if not size:
            break
        yield bytes(memoryview(room)[:size])
    else:
        stop()
        if not stat.S_ISREG(os.fstat(fd).st_mode):  # no writer loses what is left in a file
            yield from drain(fd)
    if signals.caught:
        raise Interrupted


def drain(fd: int) -> list[bytes]:
    """What has arrived before a signal, DRAIN bytes or slightly more. The descriptor is closed
    before any of it is processed: the writer must learn that nobody reads any more."""
    arrived = select.poll()
    arrived.register(fd, select.POLLIN)
    chunks, size = list[bytes](), 0
    with contextlib.suppress(OSError):
        while size < DRAIN and arrived.poll(0) and (chunk := os.read(fd, BLOCK)):
            chunks.append(chunk)
            size += len(chunk)
    os.close(fd)
    return chunks


def file_name(name: str) -> str:
    return "stdin" if name == "-" else escape(name)


@contextlib.contextmanager
def output_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise OutputError(f"{name}: {error.strerror}") from None


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, even to a pipe that another process has made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            room = select.poll()
            room.register(fd, select.POLLOUT)
            room.poll()


def write_ci_safe(fd: int, data: bytes) -> None:
    """Write JSON with every CI command escaped; its values stay the same."""
    write_all(fd, HASHES_IN_JSON.sub(rb"\\u0023", data))


HASHES_IN_JSON = regex(rb"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)


# ---------------------------------------------------------------- commands
#
# The command of --run, and limits of time on what is read.
# A command in, the chunks of what it prints out, until it ends or a limit is reached. It must not
# know events: the pipeline tells it what is open.

TERM_SECONDS = 5  # between SIGTERM and SIGKILL
LOOK_SECONDS = 0.1  # between two looks at what is open, while chunks arrive
LEFT_SECONDS = 1  # for what a command has started, and its pipe, once the command has left


class Activity(NamedTuple):
    """What a stream shows so far. ``calls``: what each open call is about. ``background``: what
    runs there. ``over``: how many runs have ended, or 0 while one is open."""

    calls: Mapping[int, Callable[[], str]]
    background: Sequence[Callable[[], str]]
    over: int


NOTHING_OPEN = Activity({}, (), 0)


class Limits(Struct, eq=False):
    """When to stop reading: a limit, in seconds or a number, is None if there is none. ``grace`` is
    the time for a command to leave after the end of its last run."""

    grace: float = 0
    max_idle: float | None = None
    max_call: float | None = None
    max_time: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    activity: Callable[[], Activity] = lambda: NOTHING_OPEN  # the pipeline's
    left: Callable[[], bool] | None = None  # has the command ended, if there is one?
    begun: float = msgspec.field(default_factory=time.monotonic)
    heard: float = 0  # when the last byte arrived
    since: dict[Any, float] = {}  # an open call, or a state -> since when
    next_look: float = 0
    reached: str = ""  # the limit that failed what was open
    gate: str = ""  # why to end the command now
    stayed: bool = False  # the command did not leave after its last run
    ending: str = ""  # how the command failed by itself

    def watch(
        self, arriving: Iterator[bytes], tee: Callable[[bytes], None] | None
    ) -> Iterator[bytes]:
        """The same chunks; each is given to ``tee`` first. Raises Stopped."""
        self.heard = time.monotonic()  # what came before has been worked on until now
        for chunk in arriving:
            if tee:
                tee(chunk)
            yield chunk
            if chunk:
                self.heard = time.monotonic()
        if self.reached or self.gate or self.stayed:
            raise Stopped

    def close_gate(self, why: str) -> None:
        """End the command, if there is one, at once."""
        if self.left and not self.gate:
            self.gate = why

    @property
    def counts(self) -> bool:
        """Is there a limit of what a run may use?"""
        return self.max_calls is not None or self.max_tokens is not None

    def wait(self) -> int:
        """The most milliseconds to wait for input; 0 once a limit is reached."""
        if self.gate:
            return 0
        now = time.monotonic()
        if now < self.next_look:
            return round(1000 * LOOK_SECONDS)
        self.next_look = now + LOOK_SECONDS
        deadline, why = min(self.deadlines(now), default=(float("inf"), ""))
        if deadline > now:
            return max(round(min(1000 * (deadline - now), SILENCE_MS)), 1)
        self.stayed = why == STAYED
        self.reached = "" if why in (STAYED, LEFT) else f"timed out: {why}"
        return 0

    def deadlines(self, now: float) -> Iterator[tuple[float, str]]:
        """When each limit that applies now is reached, and what to say then."""
        calls, background, over = self.activity()
        lasting: list[object] = [*calls]
        if self.left and over and not background:
            lasting.append((STAYED, over))  # the next run will be another state
        if self.left and self.left():
            lasting.append(LEFT)
        self.since = {item: self.since.get(item, now) for item in lasting}
        if self.max_time is not None:
            yield self.begun + self.max_time, f"not over after {self.max_time:g} s"
        if self.max_call is not None and calls:
            longest = min(calls, key=self.since.__getitem__)
            took = f"{self.max_call:g} s"
            yield self.since[longest] + self.max_call, f"{calls[longest]()} did not end in {took}"
        if self.max_idle is not None and not calls:
            named = ", ".join(name() for name in background)
            still = f", and in the background: {named}" if named else ""
            took = f"{self.max_idle:g} s"
            yield self.heard + self.max_idle, f"silent for {took} with no call open{still}"
        if (STAYED, over) in self.since:
            yield self.since[STAYED, over] + self.grace, STAYED
        if LEFT in self.since:
            yield self.since[LEFT] + (LEFT_SECONDS if over else self.grace), LEFT


AFTER_RESULT = " after its result"
STAYED, LEFT = "stayed", "left"  # --run's command after its run: still there, or gone by itself


class CannotStart(click.ClickException):
    """The command of --run can't be started; the exit status is a shell's."""

    def __init__(self, name: str, error: Exception) -> None:
        absent = isinstance(error, FileNotFoundError)
        why = "no such command" if absent else getattr(error, "strerror", None) or str(error)
        if absent and " " in name:
            why += ": write the words without quotes"
        super().__init__(f"--run {escape(name)}: {why}")
        self.status = 127 if absent else 126


class Child:
    """A command with a pipe for its output, in a session of its own. All of it gets the signals
    that we get, and none of it is left in the end. It may read our terminal without being stopped.
    Raises CannotStart."""

    def __init__(self, command: Sequence[str], signals: Signals, limits: Limits) -> None:
        import subprocess

        self.name = os.path.basename(command[0])
        self.signals, self.limits = signals, limits
        self.fd, theirs = os.pipe()
        try:
            self.process = subprocess.Popen(
                command, stdout=theirs, stderr=theirs, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise CannotStart(command[0], error) from None
        finally:
            os.close(theirs)
        self.ended = self.stopped = False  # stopped: by us, rather than by itself
        limits.left, signals.forward = self.has_left, self.signal
        signals.patience += TERM_SECONDS + LEFT_SECONDS

    def chunks(self) -> Iterator[bytes]:
        """What the command prints until it ends or is ended, then what is left in the pipe."""
        yield from read_chunks(self.fd, self.signals, self.limits.wait, self.stop)
        self.leave()

    def has_left(self) -> bool:
        return self.process.poll() is not None

    def signal(self, code: int) -> bool:
        """Send a signal to all of the session; is any of it left?"""
        left = False
        for group in groups_in(self.process.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, code)
                left = True
        return left

    def stop(self) -> None:
        """End the session, unless the command has left by itself: politely at first."""
        if self.ended:
            return
        self.ended, self.stopped = True, not self.has_left()
        if not self.signals.caught:
            self.signal(signal.SIGTERM)
        try:
            self.wait_for(TERM_SECONDS, self.has_left)
            self.wait_for(LEFT_SECONDS, lambda: not self.signal(0))
        finally:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def wait_for(self, seconds: float, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            time.sleep(LOOK_SECONDS / 10)

    def leave(self) -> None:
        """Wait for the command once it has stopped printing, and end what is left of it."""
        if not (self.limits.reached or self.limits.gate or self.signals.caught):
            self.wait_for(self.limits.grace, self.has_left)
            self.limits.stayed = self.limits.stayed or not self.has_left()
        self.stop()
        code = self.process.returncode
        if not self.stopped and code:
            how = f"exited with {code}" if code > 0 else f"was killed by signal {-code}"
            self.limits.ending = f"{escape(self.name)} {how}"


def groups_in(session: int) -> set[int]:
    """The process groups of a session, as far as /proc tells: timeout(1) opens one of its own."""
    groups = {session}
    with contextlib.suppress(OSError):
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{process}/stat", "rb") as file:
                _state, _parent, group, own, *_ = file.read().rpartition(b")")[2].split()
                if int(own) == session:
                    groups.add(int(group))
    return groups


# ---------------------------------------------------------------- events
#
# One line, and the few members of it that stages look at.
# Rarely needed members are decoded from the line on demand. It must not know runs or writers.

if TYPE_CHECKING:
    Internal: TypeAlias = Any
else:
    Internal = None  # members that stages set: in the input only null is valid there


class Header(Struct, gc=False):
    """The members of a line that the state machine needs."""

    type: str | None = None
    subtype: str | None = None
    session_id: str | None = None
    call_id: str | None = None
    parent_tool_use_id: str | None = None  # the call that started the sub-agent


class Event(Header, gc=False, rename="\x7f{}".format):  # no line has members of these names
    """One event in Cursor's vocabulary: what its line says first, and what stages set."""

    raw: Internal = b""  # its line, with any blanks around it, or the line that a translator made
    decoded: Internal = None  # all of it, or what makes that, once ``details`` were asked for
    original: Internal = None  # the line of another agent, where that is printed in its place
    kind: Internal = "act"  # what it means for runs
    started: Internal = None  # of a completed call: the event that started it
    run: Internal = None
    unprinted: Internal = False  # it only counts
    where: Internal = None  # its FILE:LINE
    finished_call: Internal = None  # only while writers read it
    stamp: Internal = None  # the time that another agent's line states
    redacted: Internal = None  # its words as they are shown, if redaction changes any
    hidden: Internal = None  # counts what redaction hid in it, by rule or class


class OriginalLine(Struct, gc=False, eq=False):
    """A line of another agent that is printed, and the places of its words. Its events refer to it,
    and it must not refer to them: such a cycle would never be collected."""

    raw: bytes
    places: Places
    run: Internal = None  # of its last event: redaction keeps its events together


# Kinds of events (``Event.kind``): what they mean for the run of their session.
INIT = "init"  # opens a run, and supersedes one that is begun
ACT = "act"  # opens a run, or goes on in it
END = "end"  # ends the run
OTHER = "other"  # belongs to the run
IMPLIED = "implied"  # stands for an end that no line states: of a run, else of the input
NO_RUN = "no run"  # stands for a FILE that has none, or for --run's command that failed
# Kinds of another agent's lines that no event of ours can express. They belong to the open run;
# where none is open, they show:
ASIDE = "aside"  # that there was a run whose end is unknown
SAVED = "saved"  # that a session was saved, which holds no run so far
RUNLESS = "runless"  # nothing
EARLY = "early"  # something for the next run of their FILE, whatever session that run names
STRAY = "stray"  # an error without a session, for the next run of an agent that prints those
UNREADABLE = "unreadable"  # of a run that nobody reads: excluded by --from
NO_SESSION = object()  # differs from any event's session


class TextBlock(Struct, gc=False):
    text: str | None = None  # only in blocks of type text


class Message(Struct, gc=False):
    content: list[TextBlock] | str | None = None


class SpokenEvent(Event, gc=False, rename={}):
    """An event with words: thoughts, or the assistant's, which may be a delta or a replay."""

    message: Message | None = None
    timestamp_ms: Any = None
    model_call_id: Any = None
    text: str | None = None  # in thinking events


def ends_run(event: Event) -> bool:
    return event.kind in (END, IMPLIED)


def details(event: Event) -> dict[str, Any]:
    """All members of an event's line, decoded or made once; {} if that fails."""
    own: dict[str, Any] | Callable[[], dict[str, Any]] | None = event.decoded
    if type(own) is not dict:
        event.decoded = own = own() if callable(own) else as_object(decoded(event.raw))
    return own


def read_event(kind: type[Event], text: bytes) -> Event:
    """An event by its line. Raises ValueError with the reason if it is none."""
    with spare_levels():
        try:
            text.decode()
            return msgspec.json.decode(text, type=kind)
        except DECODE_ERRORS:
            line = Node(decode_json(text))
    names = Header.__struct_fields__
    texts = [line[name] if type(line[name]) is str else None for name in names]
    event = kind(*texts)
    if isinstance(event, SpokenEvent):
        event.message = Message(joined_text(line["message.content"]))
        event.timestamp_ms, event.model_call_id = line["timestamp_ms"], line["model_call_id"]
        event.text = as_text(line["text"])
    return event


def line_time(event: Event) -> int | None:
    """When an event's line was written, in milliseconds since 1970, if it says so. Small numbers
    count from something else."""
    stated = event.stamp
    if stated is None:
        if b'"timestamp' not in event.raw:
            return None
        line = details(event)
        stated = line.get("timestamp") if line.get("timestamp_ms") is None else line["timestamp_ms"]
    at = as_time(stated)
    return at if at is not None and at >= FIRST_DATE else None


FIRST_DATE = 10**12  # in 2001


def error_message(value: Any, depth: int = 4) -> str:
    """The first text in an error: a string, perhaps of JSON, an object, or a list of these."""
    if isinstance(value, str):
        inner = decoded(value) if depth and value.startswith("{") else None
        return error_message(inner, depth - 1) or value
    if isinstance(value, dict):
        value = [value[key] for key in MESSAGE_KEYS if key in value]
    if not isinstance(value, list) or not depth:
        return ""
    return next(filter(None, (error_message(item, depth - 1) for item in value)), "")


MESSAGE_KEYS = ("message", "error", "errors", "errorMessage", "data", "details", "text")


def error_text(event: Event) -> str:
    """The error that an event reports, or ""."""
    end = details(event)
    return error_message([end.get("error"), end.get("errors"), end.get("message")])


def message_text(content: list[TextBlock] | str | None) -> str:
    """The text of a message: its content is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join([block.text or "" for block in content or ()])


def joined_text(content: Any) -> str:
    """The same for a message that is fully decoded."""
    if isinstance(content, str):
        return content
    return "".join([as_text(block.get("text")) for block in objects(content)])


def words_of(event: Any) -> str:
    if event.type == "thinking":
        return event.text or ""
    return message_text(event.message.content) if event.message else ""


def images_in(line: bytes) -> list[str]:
    """The images that JSON holds, as addresses: strings in Base64 that begin as these do, whatever
    stands around them. SVG is none, for it may hold scripts."""
    found = ((image.lastgroup, image[image.lastgroup or 0]) for image in IMAGE.finditer(line))
    most = MAX_IMAGE * 4 // 3
    images = ((kind, data) for kind, data in found if len(data) <= most and len(data) % 4 == 0)
    return [f"data:image/{kind};base64,{data.decode()}" for kind, data in images][:MAX_IMAGES]


def image_name(address: str) -> str:
    """An image in a few words."""
    kind, _, data = address.removeprefix("data:image/").partition(";base64,")
    return f"image: {kind.upper()}, {format_size(len(data.rstrip('=')) * 3 // 4)}"


IMAGES = {
    "png": "iVBORw0KGgo",
    "jpeg": "/9j/",
    "gif": "R0lGOD[dl]h",
    "webp": r"UklGR[\w+/]{6}XRUJQ",
}
IMAGE_DATA = "|".join(
    f"(?P<{kind}>{begin}[A-Za-z0-9+/]*={{0,2}})" for kind, begin in IMAGES.items()
)
IMAGE = regex(rf'"(?:data:[\w/+.-]{{1,40}};base64,)?(?:{IMAGE_DATA})"'.encode())


def is_prompt(event: Any) -> bool:
    """Is it a prompt of the user's, not a sub-agent's, and printed?"""
    return event.type == "user" and event.parent_tool_use_id is None and not event.unprinted


IN_THE_MIDDLE = "error_unfinished"  # the subtype of a result that no line of a session states
# A word for what a failed run needs before it is started again: the first wording found. A bare
# number or word isn't enough: names of tests, places in files and counts hold them, too.
STATUS_CODE = (
    r"(?:\A\W*|\b(?:status|code|http|error|repeated|with)(?:/\d\.\d)?\W{{0,3}}"
    r"(?:code\W{{1,2}})?|\()(?:{})(?!\w|[:.,/-]\w)(?! (?:tests?|files?|lines?|times)\b)"
)
# A phrase that a reason begins with, or that it says of the model or the account; or its last word.
STATED_PHRASE = (
    r"(?:\A(?:None )?|[:(\[{{\"']\s?|\b(?:is|current(?:ly)?|temporarily|your|\w+'s|of|more|no) "
    r"| (?=\w+\Z))(?:{})(?![\w/-]|\.\w|\(| tests?\b)"
)
LIMITED = (
    r"(?:rate[ _-]?limit(?:s|ed|ing)?|quota)(?:[ _]?(?:error|exceeded|exhausted|reached))?"
    r"|credits?|billing"
)
RUN_FAILURES = {
    "budget": (
        r"(?i)max(?:imum)?[ _-]?(?:(?:number of|allowed|session|agent|tool|steps?|api)[ _-]?)*"
        r"(?:turn|step|action|iteration|budget|cost)|(?:turn|step|iteration|cost)s? limit"
        r"|\b(?:stopped|finished): max|\bbudget (?:\w+ ){0,2}(?:exceed|reach|exhaust|spent)"
        r"|(?:exceed|reach|exhaust|over)\w{0,9} (?:\w+ ){0,3}budget\b|\bcredit balance is too low"
        r"|\binsufficient[ _](?:balance|funds)|\bpayment required"
    ),
    "overloaded": (
        rf"(?i){STATUS_CODE.format('503|529')}|{STATED_PHRASE.format('overloaded(?:_error)?')}"
        r"|\bat (?:full )?capacity\b|\bcapacity[ _]exhausted|\bno capacity available"
        r"|\bhigh demand\b|\bservice (?:is )?(?:currently |temporarily )?unavailable"
        r"|\b(?:server|service|model|engine) is (?:currently |too )?busy"
    ),
    "limit": (
        rf"(?i){STATUS_CODE.format('429')}"
        rf"|{STATED_PHRASE.format(LIMITED)}|\btoo many requests\b|\bresource[ _]exhausted"
        r"|\busage limit|\bout of (?:\w+ )?usage|\bhit your .{0,40}limit"
        r"|\byou(?:'ve| have)? (?:hit|reached|exceeded) (?:the|your) .{0,40}limit"
        r"|\b(?:rate|session|weekly|daily|monthly|hour|spend(?:ing)?|request|token|quota)s?[ _-]"
        r"limits? (?:reached|exceeded)"
    ),
    "auth": (
        rf"(?i){STATUS_CODE.format('401|403')}|authori[sz]|forbidden|log(?:ged)?[ -]?in\b"
        r"|authenticat|auth ?(?:method|error)|api[ _-]?key|credentials"
        r"|(?:invalid|expired) .{0,20}token|\btoken (?:\w+ ){0,2}(?:invalid|expired|revoked)"
    ),
    "timeout": (
        rf"(?i){STATUS_CODE.format('504')}|\btim(?:ed|e)[ -]?out|ETIMEDOUT|deadline exceeded"
    ),
    # At the end, or before `by`: what was aborted for a reason is another failure.
    "interrupted": (
        r"(?i)(?<!connection )(?:interrupted|\baborted|cancell?ed)(?: manually)?"
        r"(?:\W*(?:error\w*|success)?\Z| by )"
    ),
    "unfinished": rf"{IN_THE_MIDDLE}|ended without an answer",
    "cut": r"(?i)max_output_tokens|output token (?:maximum|limit)",
}
FAILURE_WORDS = (*RUN_FAILURES, "matched", "error")  # matched: a gate of the command line
# Why an agent stopped, in small letters: the word for the failure, and what to say. Where there is
# no word, it was an error, which the last words tell. Other reasons are no failure.
STOPS: dict[str, tuple[str | None, str]] = {
    stop: (failure, why)
    for (failure, why), stops in {
        ("cut", "its answer was cut off at the output limit"): "maxtokens length",
        ("cut", "its answer was cut off, the context window is full"): "modelcontextwindowexceeded",
        ("cut", "its answer was cut off by a filter"): "contentfilter",
        ("error", "the model refused"): "refusal",
        ("unfinished", "it ended in the middle of its work"): "tooluse pauseturn",
        ("unfinished", "it ended at a call that waits for somebody"): "tooldeferred",
        ("unfinished", "it was stopped"): "malformedtooluseexhausted tooldeferredunavailable",
        ("interrupted", "it was stopped"):
            "hookstopped aborted cancelled canceled",
        ("budget", "it was stopped"):
            "maxturns budgetexhausted maxturnrequests maxiterations",
        ("limit", "it was stopped"): "blockinglimit rapidrefillbreaker prompttoolong",
        (None, "it was stopped"):
            "error unknown other apierror imageerror modelerror turnsetupfailed "
            "structuredoutputretryexhausted",
    }.items()
    for stop in stops.split()
}  # fmt: skip
# The wait before a retry, if the reason states it.
RETRY_AFTER = regex(
    r"(?i)\b(?:retry|try again|wait|resets?)(?:[ -](?:again|after|in|for)){0,2}\W{1,2}(?:about )?"
    r"((?:\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?"
    r"|days?)(?![a-z]) ?(?:and )?){1,4})"
)
UNITS = {"ms": 1, "mil": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def retry_after(reason: str) -> int | None:
    """The milliseconds to wait before a retry, if the reason states them."""
    if not (told := RETRY_AFTER.search(reason)):
        return None
    parts = re.findall(r"([0-9.]{1,19}) ?([a-z]+)", told[1].lower())
    units = (UNITS.get(unit) or UNITS.get(unit[:3]) or UNITS[unit[0]] for _, unit in parts)
    return round(sum(float(part[0]) * unit for part, unit in zip(parts, units, strict=True)))


def failure_in(reason: str) -> str | None:
    """The word for a reason, if its wording shows one."""
    words = (word for word, wording in RUN_FAILURES.items() if re.search(wording, reason))
    return next(words, None)


# ---------------------------------------------------------------- calls
#
# What the line of a call says: its tool, how it ended, what it changed; what it is about.
# Events of calls in, members and texts out. It must not know runs.

# Variant of a call's result -> status; every other variant is an error.
VARIANTS = {
    "success": "ok", "failure": "error", "rejected": "rejected", "permissionDenied": "denied",
    "readPermissionDenied": "denied", "writePermissionDenied": "denied", "fileNotFound": "notfound",
    "timeout": "timeout", "error": "error", "spawnError": "error", "notFile": "error",
    "fileBusy": "error",
}  # fmt: skip
REASONS = {
    "rejected": "rejected", "denied": "permission denied", "notfound": "not found",
    "timeout": "timed out", "error": "error",
}  # fmt: skip


def call_of(event: Event) -> dict[str, Any]:
    """The ``tool_call`` of a line."""
    return as_object(details(event).get("tool_call"))


def tool_of(event: Event) -> tuple[str, dict[str, Any]]:
    """The name of a call's tool, and its body; the name may stand only in its start."""
    for key, body in call_of(event).items():
        if isinstance(body, dict):
            if key.endswith("ToolCall"):
                return key[: -len("ToolCall")] or started_tool(event), body
            if key == "function":  # its arguments are JSON in a string
                given = body.get("args") or decoded(as_text(body.get("arguments")))
                return as_text(body.get("name")) or key, body | {"args": given}
    return started_tool(event), {}


def started_tool(event: Event) -> str:
    return tool_of(event.started)[0] if event.started else ""


def variant_of(result: dict[str, Any]) -> str:
    """The variant of a result: an object, or a known failure, perhaps without a value."""
    if isinstance(result.get("success"), dict):
        return "success"  # nearly always
    named = [
        key
        for key, held in result.items()
        if isinstance(held, dict) or VARIANTS.get(key, "ok") != "ok"
    ]
    return min(named, key=lambda variant: result[variant] is None, default="")


# The diff of a file that was created: it says so, or there was nothing before but an empty line.
CREATED = "--- /dev/null"
CREATED_BEGIN = regex(rf"{CREATED}|(?:@@ .{{,80}}\n)?(?:-\n)?\+")
CREATED_DIFF = regex(rf"{CREATED}|(?:@@ .*\n)?(?:-\n)?\+.*(?:\n(?:\+.*|[- ]?))*\Z")


def count_changes(lines: Iterable[str]) -> dict[str, int]:
    """How many lines a diff adds and removes, below the name of its file."""
    marks = [line[:1] for line in lines]
    return {"linesAdded": marks.count("+"), "linesRemoved": marks.count("-")}


def diff_lines(result: dict[str, Any]) -> list[str]:
    """The diff that a change states, without the file's name."""
    return DIFF_HEAD.sub("", as_text(result.get("diffString"))).split("\n")


DIFF_HEAD = regex(r"\A--- .*\n\+\+\+ .*\n")


def counts_in(values: Iterable[Any]) -> Iterator[int]:
    """The numbers that are stated, and the lengths of lists."""
    for value in values:
        count = len(value) if isinstance(value, list) else as_count(value)
        if count is not None:
            yield count


RETURNED = "content markdown output text message".split()


def content_text(content: Any) -> str:
    """The text of a result: a string, or the texts of a list of blocks, as agents and MCP have
    them."""
    if isinstance(content, str):
        return content
    places = ("text", "text.text", "content.text")
    texts = (Node(block)[path] for block in objects(content) for path in places)
    return "\n".join(text for text in texts if isinstance(text, str))


def outline(members: Mapping[str, Any]) -> str:
    """Members of an object, a line or more each."""
    import json

    texts = {
        name: value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        for name, value in members.items()
    }
    return "\n".join(f"{name}: {text}" for name, text in texts.items())


# A line that an agent adds to an output; the action line says so already.
STATES_EXIT = regex(
    r"(?im)^[^\w\n]{0,9}(?:\w+ ){0,3}exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? -?[0-9]+"
    r"[^\w\n]*(?:\n|\Z)"
)


CHANGING_TOOLS = frozenset(("edit", "write", "delete"))
EDITED = (
    ("-", "old_string old_str oldString oldText".split()),
    ("+", "new_string new_str newString newText".split()),
)


TERMINAL_CODE = regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
OVERWRITTEN = regex(r"^.*\r(?=[^\r\n])", re.MULTILINE)


# What a call is about, from its arguments and the run's directory; "" if they don't say.
Target: TypeAlias = Callable[[dict[str, Any], str], str]


def arg(*names: str) -> Target:
    """The first of some arguments that is present."""
    return lambda args, _here: first_text(*map(args.get, names))


def first_line_arg(name: str) -> Target:
    return lambda args, _here: as_text(args.get(name)).strip().partition("\n")[0]


def command_arg(args: dict[str, Any], here: str) -> str:
    """A command without the agent's shell wrapper, and without a `cd` to the run's own directory:
    else many lines would differ in nothing else."""
    command = first_text(as_command(args.get("command"))).strip()
    if wrapped := WRAPPED.fullmatch(command):
        command = unquote(wrapped[1] or wrapped[2])
    change = CHANGE.match(command)
    needless = change and relative_path(unquote(change[1]), here) == "."
    return (command[change.end() :].lstrip() if change and needless else "") or command


def as_command(command: Any) -> Any:
    """A command that is a list of words, as one text."""
    if not isinstance(command, list):
        return command
    import shlex

    return shlex.join(map(as_word, command))


# Of a POSIX shell: a quoted part of a word, a word, `sh -c WORD`, and `cd WORD &&`.
QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\."""
SHELL_WORD = rf"""(?:{QUOTED}|[^\s'"\\;&|<>()])+"""
SHELLS = r"(?:(?:ba|z|da|k|fi|a|pw)?sh|powershell)(?:\.exe)?"
SHELL = rf"""(?:(?:\S*[/\\])?{SHELLS}|'(?:[^']*[/\\])?{SHELLS}'|"(?:[^"]*[/\\])?{SHELLS}")"""
WRAPPED = regex(
    rf"{SHELL}(?:\s+(?:-[-\w]+|pipefail))*?\s+(?:-\w*c\s+({SHELL_WORD})|-command\s+(\S.*))",
    re.DOTALL | re.IGNORECASE,
)
CHANGE = regex(rf"\s*cd\s+({SHELL_WORD})[^\S\n]*(?:&&|;|\n)", re.DOTALL)
QUOTED_PART = regex(QUOTED, re.DOTALL)
ONE_WORD = regex(SHELL_WORD, re.DOTALL)


def unquote(word: str) -> str:
    """What a shell makes of a word; several stay as they are."""

    def inner(part: re.Match[str]) -> str:
        text = part[0][1:].removesuffix(part[0][0])
        return re.sub(r'\\([$`"\\\n])', r"\1", text) if part[0][0] == '"' else text

    return QUOTED_PART.sub(inner, word) if ONE_WORD.fullmatch(word) else word


def path_arg(args: dict[str, Any], here: str) -> str:
    named = first_text(args.get("path"), args.get("filePath")) or args.get("paths")
    paths = named if isinstance(named, list) else [named]
    return " ".join([relative_path(path, here) for path in paths if isinstance(path, str)])


def mcp_tool_arg(args: dict[str, Any], here: str) -> str:
    """A server's tool, and the first argument that is a short text."""
    server = arg("providerIdentifier", "serverIdentifier", "server")(args, here)
    name = "/".join(filter(None, (server, arg("toolName", "name")(args, here))))
    given = as_object(args.get("args"))
    return f"{name} {next(short_texts(given), '')}".strip()


def question_arg(args: dict[str, Any], here: str) -> str:
    asked = Node(args.get("questions")).each()
    prompts = (first_text(question["prompt"], question["question"]) for question in asked)
    return " ".join(filter(None, prompts)) or arg("title", "question")(args, here)


def plan_arg(args: dict[str, Any], here: str) -> str:
    """The name of a plan, or its first line."""
    plan = as_text(args.get("plan")).strip("# \n").split("\n")[0]
    return arg("name", "title")(args, here) or plan


def any_arg(args: dict[str, Any], here: str) -> str:
    """The target of a tool that has no other."""
    names = "command query pattern globPattern searchTerm url title description taskId".split()
    return path_arg(args, here) or arg(*names)(args, here) or mcp_tool_arg(args, here)


def short_texts(args: dict[str, Any]) -> Iterator[str]:
    texts = map(first_text, args.values())
    return (text for text in texts if 0 < len(text) <= SHORT_TEXT and "\n" not in text)


# ---------------------------------------------------------------- finished calls
#
# A call, while it is open, and once it has ended: its action, what came out of it.
# Events of calls in, actions, diffs and outputs out, by a table of tools. It must not know runs.


class Action(Struct, frozen=True, gc=False):
    """The parts of an action line; ``verb`` can stand for the label before a target."""

    label: str
    target: str = ""
    outcome: str = ""
    failed: bool = False
    verb: str = ""
    running: bool = False  # or a notice: neither good nor bad
    waits: int = 0  # for the API, in a row
    waited_ms: int = 0

    @property
    def short(self) -> str:
        return self.verb if self.verb and self.target else self.label


class OpenCall(Struct, gc=False):
    """What is noted of a call while it is open: by its start, or by the question that asked for it
    to be allowed."""

    asked: str = ""  # the tool that the question names
    question: Any = None  # its arguments, as the question has them
    parent: str | None = None  # the call of the sub-agent that made it
    unprinted: bool = True
    started_at: float = 0.0
    event: Event | None = None  # its start
    shown: Action | None = None  # its line, if that did not wait for its end

    @property
    def tool(self) -> str:
        return tool_of(self.event)[0] if self.event else self.asked

    @property
    def arguments(self) -> Any:
        return tool_of(self.event)[1].get("args") if self.event else self.question


NOT_BEGUN = OpenCall()


class FinishedCall:
    """A call that has ended, or, of one that goes on, what it has done so far. Writers read it.

    ``status`` says how it ended: ok, nonzero, a key of REASONS, or STILL_OPEN; ``held`` is what the
    variant of its result holds, ``found`` the same if it is a success, or a failure with an exit
    status.
    """

    def __init__(self, event: Event, start: OpenCall = NOT_BEGUN, cwd: str = "") -> None:
        self.event, self.start = event, start
        self.cwd = cwd
        tool, self.body = tool_of(event)
        self.result = as_object(self.body.get("result"))
        self.variant = variant_of(self.result)
        self.held = self.result.get(self.variant)
        self.found = as_object(self.held) if self.variant in ("success", "failure") else {}
        self.exit_code = as_integer(self.found.get("exitCode"))
        known = VARIANTS.get(self.variant) if self.variant else "ok"
        self.status = "nonzero" if self.exit_code else known or "error"
        if tool == "mcp" and self.found.get("isError") is True:
            self.status = "error"
        may_be_any = self.status != "ok" and known in (None, "ok")  # as a function's result
        if may_be_any and isinstance(call_of(event).get("function"), dict):
            self.status = "ok"
        if tool == "edit" and self.status == "ok" and not self.found.get("beforeFullFileContent"):
            created = CREATED_DIFF.match(as_text(self.found.get("diffString")))
            tool = "write" if created else tool
        self.tool = tool or "?"

    @property
    def begun(self) -> bool:
        """Does it go on in the background? Cursor says so beside what it found."""
        return True in (self.found.get("isBackground"), self.result.get("isBackground"))

    @property
    def name(self) -> str:
        """The agent's own name for the tool."""
        return first_text(call_of(self.event).get("name"), self.body.get("name")) or self.tool

    @property
    def parent(self) -> str | None:
        """The call of the sub-agent that made it."""
        return self.event.parent_tool_use_id or self.start.parent

    @functools.cached_property
    def arguments(self) -> dict[str, Any]:
        """Its arguments; perhaps only its start has them."""
        return as_object(self.body.get("args") or self.start.arguments)

    @property
    def label(self) -> Action:
        """Its action without a target, and its outcome in a word."""
        return plain_action(self.tool[: EXCERPT + 1], self.status, self.exit_code, self.begun)

    @functools.cached_property
    def action(self) -> Action:
        """The call's action with its target, and with its facts or the reason of its failure."""
        named, act, here = tool_named(self.tool), self.label, self.cwd
        target = target_in(self.tool, self.arguments, here)
        if not target and self.start.arguments:
            target = target_in(self.start.tool, self.start.arguments, here)
        if self.status in REASONS:
            about = named.target(as_object(self.held), here)
            target = target or about[:MAX_TARGET].strip()
            return replace(act, target=target, outcome=self.reason())
        if self.status == STILL_OPEN:
            return replace(act, target=target)
        facts = filter(None, [fact(self) for fact in named.facts])
        return replace(act, target=target, outcome=", ".join(facts) or act.outcome)

    def reason(self) -> str:
        """Why it failed, with its own message."""
        own, reason = as_object(self.held), REASONS[self.status]
        limit, signal = as_count(own.get("timeoutMs")), first_text(own.get("signal"))
        if self.status == "timeout" and limit is not None:
            return f"{reason} after {format_duration(limit)}"
        killed = f"killed by {signal}" if signal else ""
        unknown = "" if self.variant in VARIANTS else self.variant
        texts = killed, own.get("reason"), error_message(self.held), unknown
        text = first_text(*texts, error_message(own.get("content"))).strip()
        text = re.sub(rf"\A(?:Error|{reason})(?::\s+|\Z)", "", text, flags=re.IGNORECASE)
        return ": ".join(filter(None, (reason, cut_middle(text, MAX_TARGET))))

    @functools.cached_property
    def duration_ms(self) -> int | None:
        """By the timestamps of the call, else as its result states, else by the times of its two
        lines."""
        event, body = self.event, call_of(self.event)
        took = elapsed(body.get("startedAtMs"), body.get("completedAtMs"))
        if took is None:
            took = next(counts_in(map(self.found.get, ("executionTime", "durationMs"))), None)
        if took is None and event.started and event.stamp is None:  # translators know more of calls
            took = elapsed(line_time(event.started), line_time(event)) or None
        return took

    @functools.cached_property
    def started_ms(self) -> int | None:
        """When it began, in milliseconds since 1970, if a line states that."""
        for event in filter(None, (self.event, self.event.started)):
            stated = as_time(call_of(event).get("startedAtMs"))
            if stated is not None and stated >= FIRST_DATE:
                return stated
        begun, took = self.event.started or self.event, self.duration_ms
        since = line_time(begun) if begun.subtype == "started" else None
        if since is None and begun is not self.event and took is not None:
            ended = line_time(self.event)
            since = None if ended is None else ended - took
        return since

    @property
    def span(self) -> tuple[int, int] | None:
        """When it began and ended, if that is known."""
        since, took = self.started_ms, self.duration_ms
        return None if since is None or took is None else (since, since + took)

    @functools.cached_property
    def diff(self) -> str:
        """What it changed in a file, as a diff without the file's name; "" if it doesn't say."""
        stated = diff_lines(self.found)
        if self.tool == "write":  # it may replace an empty line that was never there
            stated = [line for line in stated if line.startswith("+")]
        diff = "\n".join(stated)
        args = Node(self.arguments) if self.tool in CHANGING_TOOLS else Node(None)
        if diff or args["patch"]:
            return diff or as_text(args["patch"])
        texts = [("+", as_text(args["fileText"]))]
        for edit in (args, *args.each("edits")):
            texts += [(sign, first_text(*map(edit.__getitem__, names))) for sign, names in EDITED]
        lines = ((sign, text.removesuffix("\n").split("\n")) for sign, text in texts if text)
        return "\n".join(sign + line for sign, each in lines for line in each)

    @functools.cached_property
    def printed(self) -> str:
        """What a command printed, as a terminal shows it: without codes, and of a line that was
        written again only the last. Both streams as they came, else one after the other; or the
        message of a failure, if one line of it can't be all."""
        own = as_object(self.held)
        streams = filter(None, (as_text(own.get("stdout")), as_text(own.get("stderr"))))
        text = first_text(own.get("interleavedOutput")) or "\n".join(streams)
        if not text and self.status in ("error", "timeout"):
            message = error_message(self.held)
            text = message if "\n" in message.strip() else ""
        text = OVERWRITTEN.sub("", TERMINAL_CODE.sub("", text))
        return text if self.status == "ok" else STATES_EXIT.sub("", text)

    @functools.cached_property
    def returned(self) -> str:
        """What it returned, less a failure's reason."""
        if self.tool == "shell":
            return self.printed
        if self.status != "ok":
            return self.printed if self.printed.strip() not in self.action.outcome else ""
        own = as_object(self.held)
        texts = (content_text(own.get(name)) for name in RETURNED)
        lists = {name: value for name, value in own.items() if isinstance(value, (dict, list))}
        return first_text(*texts) or ("" if self.images else outline(lists))

    @functools.cached_property
    def images(self) -> list[str]:
        """The images that it returned, as addresses that hold them."""
        return images_in(encode_json(self.held))

    def last_printed(self, count: int) -> list[str]:
        """The last lines that a failed command printed."""
        if not count or self.tool != "shell" or self.status == "ok":
            return []
        text = self.printed
        if not text and self.status in ("error", "timeout"):  # a line, which the action may cut
            text = error_message(self.held)
        if not text.strip():
            return []
        lines = (line.expandtabs() for line in text[-MAX_TAIL:].rstrip().split("\n"))
        return [*lines][-count:]


# What came out of a call; "" if it doesn't say.
Fact: TypeAlias = Callable[[FinishedCall], str]


def time_taken(call: FinishedCall) -> str:
    return format_duration(call.duration_ms) if call.duration_ms else ""


def exit_status(call: FinishedCall) -> str:
    return "" if call.exit_code is None else f"exit {call.exit_code}"


def counted(members: str, noun: str) -> Fact:
    """The first number that is stated, or the length of a list, with its unit."""

    def fact(call: FinishedCall) -> str:
        counts = counts_in(map(call.found.get, members.split()))
        count = next(counts, None)
        if count is None:
            return ""
        return format_size(count) if noun == "byte" else plural(count, noun)

    return fact


def first_fact(*facts: Fact) -> Fact:
    """The first of some facts that isn't empty."""
    return lambda call: next(filter(None, (fact(call) for fact in facts)), "")


def in_background(call: FinishedCall) -> str:
    return "in background" if call.begun else ""


file_size = counted("fileSize", "byte")
length_read = first_fact(file_size, counted("totalChars", "character"))


def lines_read(call: FinishedCall) -> str:
    result, total = call.found, as_count(call.found.get("totalLines"))
    start, end = map(
        as_count, map(as_object(result.get("readRange")).get, ("startLine", "endLine"))
    )
    content = result.get("content")
    if total and isinstance(content, str) and content.endswith("\n"):
        total -= total == (start or 1) + content.count("\n")  # nothing follows the last newline
        end = min(end, total) if end else None
    if total and start and end and start <= end and end - start + 1 < total:
        return f"lines {start}-{end} of {total}"
    if total is None and result.get("isEmpty") is True:
        return "empty"
    return length_read(call) if total is None else plural(total, "line")


def line_counts(call: FinishedCall) -> tuple[int | None, int | None]:
    """How many lines a change added and removed, by what it states, or by the diff that it states.
    Where a file was created, Cursor's count has an empty line that was never there."""
    result = call.found
    added, removed = as_count(result.get("linesAdded")), as_count(result.get("linesRemoved"))
    if call.tool == "write":
        added = next(counts_in((result.get("linesCreated"), added)), None)
        removed = None if added is None else 0
    if added is None and removed is None and result.get("diffString") is not None:
        added, removed = count_changes(diff_lines(result)).values()
        return added, 0 if call.tool == "write" else removed
    return added, removed


def changes_nothing(call: FinishedCall) -> bool:
    """Does an edit say that it changed no line? An empty file may still be new."""
    return call.tool == "edit" and line_counts(call) == (0, 0)


def lines_changed(call: FinishedCall) -> str:
    added, removed = line_counts(call)
    if added == removed == 0:
        return "no changes"
    signed = (("+", added), ("-", removed))
    counts = [f"{sign}{count}" for sign, count in signed if count is not None]
    return " ".join(counts) or counted("linesCreated", "line")(call)  # all that it has now


def grep_outcome(call: FinishedCall) -> str:
    """The outcome of a grep call, as "4 matches in 2 files", in any of its three output modes."""
    spaces = as_object(call.found.get("workspaceResults")).values()
    modes = [as_object(mode) for space in spaces for mode in as_object(space).values()]
    lines, names = ("totalMatchedLines", "totalMatches"), "totalFiles matches files counts".split()
    matched = [count for mode in modes for count in counts_in(map(mode.get, lines))]
    first = (next(counts_in(map(mode.get, names)), None) for mode in modes)
    files = [count for count in first if count is not None]
    where = plural(sum(files), "file") if sum(files) or (files and not matched) else ""
    what = plural(sum(matched), "match", "matches") if matched else ""
    return " in ".join(filter(None, (what, where)))


def entries_listed(call: FinishedCall) -> str:
    root = as_object(call.found.get("directoryTreeRoot"))
    counts = [*counts_in(map(root.get, ("childrenDirs", "childrenFiles")))]
    return plural(sum(counts), "entry", "entries") if counts else ""


def page_size(call: FinishedCall) -> str:
    """The size of a page; if redaction replaced it, as its marker states."""
    page = call.found.get("markdown")
    marker = MARKER.fullmatch(page) if isinstance(page, str) else None
    if marker:
        return plural(int(marker[1]), "character")
    return plural(len(page), "character") if isinstance(page, (str, list)) else ""


MARKER = regex(r"\[[a-z]+: ([0-9]{1,19}) chars\]")


def todos_done(call: FinishedCall) -> str:
    """Progress of the whole list; the arguments of a merging update hold only a part of it."""
    args = as_object(call.body.get("args"))
    given = None if args.get("merge") is True else args.get("todos")
    lists = (value for value in (call.found.get("todos"), given) if isinstance(value, list))
    states = [as_text(todo.get("status")) for todo in next(lists, ()) if isinstance(todo, dict)]
    done = sum(state.upper().endswith("COMPLETED") for state in states)
    return f"{done} of {len(states)} done" if states else ""


class Tool(NamedTuple):
    """The label of a call once it is done, after "Failed to" and while it runs; its details.
    ``plain``: a target says by itself what it is, so that the verb alone can stand before it."""

    done: str
    do: str
    doing: str
    target: Target
    facts: tuple[Fact, ...]
    plain: bool = False


def tool(label: str, target: Target = any_arg, *facts: Fact) -> Tool:
    """A tool with a label in three forms; an object in brackets isn't needed before a target."""
    verbs, _, what = label.partition(" ")
    plain = what.startswith("[")
    done, do, doing = (f"{verb} {what[plain : -plain or None]}" for verb in verbs.split("/"))
    if target is any_arg:
        facts = facts or (time_taken,)
    return Tool(done, do, doing, target, facts, plain)


TOOLS = {
    "shell": tool("Ran/run/Running [terminal command]", command_arg,
                  first_fact(in_background, exit_status), time_taken),
    "read": tool("Read/read/Reading [file]", path_arg, lines_read),
    "edit": tool("Edited/edit/Editing [file]", path_arg, lines_changed),
    "write": tool("Created/create/Creating [new file]", path_arg,
                  first_fact(counted("linesCreated linesAdded", "line"), file_size)),
    "delete": tool("Deleted/delete/Deleting [file]", path_arg, file_size),
    "glob": tool("Found/find/Finding [files]", arg("globPattern", "pattern"),
                 counted("totalFiles files", "file")),
    "grep": tool("Searched/search/Searching [files]", arg("pattern"), grep_outcome),
    "semSearch": tool("Searched/search/Searching codebase", arg("query"),
                      counted("codeResults", "result")),
    "ls": tool("Listed/list/Listing [directory]", path_arg, entries_listed),
    "readLints": tool("Checked/check/Checking [lints]", path_arg,
                      counted("totalDiagnostics", "problem")),
    "updateTodos": tool("Updated/update/Updating to-do list", arg(), todos_done),
    "readTodos": tool("Read/read/Reading to-do list", arg(), todos_done),
    "webSearch": tool("Searched/search/Searching web", arg("searchTerm", "query"),
                      counted("references", "result"), time_taken),
    "webFetch": tool("Fetched/fetch/Fetching [web page]", arg("url"), page_size, time_taken),
    "fetch": tool("Fetched/fetch/Fetching [web page]", arg("url"), page_size, time_taken),
    "mcp": tool("Called/call/Calling [MCP tool]", mcp_tool_arg, time_taken),
    "task": tool("Ran/run/Running subagent", first_line_arg("description"),
                 in_background, counted("conversationSteps", "step"), time_taken),
    "askQuestion": tool("Asked/ask/Asking question", question_arg),
    "createPlan": tool("Created/create/Creating plan", plan_arg),
    "await": tool("Waited/wait/Waiting for task", arg("taskId"), time_taken),
    "exaSearch": tool("Searched/search/Searching web", arg("query"), time_taken),
    "exaFetch": tool("Fetched/fetch/Fetching [web page]"),
    "writeShellStdin": tool("Wrote/write/Writing to terminal", arg()),
    "getMcpTools": tool("Listed/list/Listing MCP tools"),
    "listMcpResources": tool("Listed/list/Listing MCP resources"),
    "readMcpResource": tool("Read/read/Reading MCP resource"),
    "switchMode": tool("Switched/switch/Switching mode"),
    "generateImage": tool("Generated/generate/Generating image"),
    "computerUse": tool("Used/use/Using computer"),
    "applyAgentDiff": tool("Applied/apply/Applying diff"),
    "recordScreen": tool("Recorded/record/Recording screen"),
    "setupVmEnvironment": tool("Prepared/prepare/Preparing VM environment"),
    "reflect": tool("Reflected/reflect/Reflecting on progress"),
    "skill": tool("Used/use/Using skill"),
    "taskStop": tool("Stopped/stop/Stopping task"),
    "taskList": tool("Listed/list/Listing tasks"),
    "taskGet": tool("Read/read/Reading task"),
    "toolSearch": tool("Searched/search/Searching tools"),
    "lsp": tool("Queried/query/Querying language server"),
    "structuredOutput": tool("Returned/return/Returning structured output"),
    "monitor": tool("Monitored/monitor/Monitoring task"),
    "sendMessage": tool("Sent/send/Sending message"),
    "saveMemory": tool("Saved/save/Saving memory"),
    "workflow": tool("Ran/run/Running workflow"),
    "enterWorktree": tool("Entered/enter/Entering worktree"),
    "exitWorktree": tool("Left/leave/Leaving worktree"),
    "cronCreate": tool("Scheduled/schedule/Scheduling task"),
    "cronDelete": tool("Unscheduled/unschedule/Unscheduling task"),
    "cronList": tool("Listed/list/Listing scheduled tasks"),
    "readThread": tool("Read/read/Reading thread"),
    "advisor": tool("Consulted/consult/Consulting advisor"),
}  # fmt: skip


IN_BACKGROUND = {"task": tool("Started/start/Starting subagent")}  # what goes on in the background


def tool_named(name: str) -> Tool:
    """A tool, or a stand-in labeled with the name of an unknown one."""
    return TOOLS.get(name) or tool(f"Used/use/Using tool {excerpt(name)}")


PATH_MEMBERS = (
    "path paths targetDirectory targetDirectories workingDirectory files "
    "filePath file_path source destination".split()  # as MCP's servers name them
)


@functools.lru_cache(256)
def plain_action(tool: str, status: str, code: int | None = None, begun: bool = False) -> Action:
    named = tool_named(tool)
    if begun:
        named = IN_BACKGROUND.get(tool, named)
    if status == STILL_OPEN:
        return Action(named.doing, "", status, verb=verb_of(named, named.doing), running=True)
    label = f"Failed to {named.do}" if status in REASONS else named.done
    outcome = f"exit {code}" if status == "nonzero" else REASONS.get(status, "")
    return Action(label, "", outcome, status != "ok", verb_of(named, label))


def verb_of(named: Tool, label: str) -> str:
    """A form of a tool's label as it can stand before a target."""
    return label.removesuffix(named.do.partition(" ")[2]).rstrip() if named.plain else label


def target_in(tool: str, args: Any, here: str) -> str:
    """What a call is about, from its arguments."""
    args, target = as_object(args), tool_named(tool).target
    text = target(args, here)
    if not text and target is any_arg and len(short := [*short_texts(args)]) == 1:
        text = short[0]
    return text[:MAX_TARGET].strip()


def running_action(call: OpenCall, here: str) -> Action:
    """A call that runs, by what its start says."""
    target = target_in(call.tool, call.arguments, here)
    return replace(plain_action(call.tool or "?", STILL_OPEN), target=target, outcome="")


NOTICES = ("task_notification", "warning", "blocked")  # subtypes of events that action lines tell
RECONNECTING = "Reconnecting..."  # how Codex says that it tries again


STILL_OPEN = "unfinished"  # status of a call that was open when its run ended
WENT_WELL = ("", "completed", "success")  # statuses of background tasks


def notice_action(event: Event) -> Action | None:
    """The action that the end of a background task becomes, a warning, what the agent needs of
    somebody, or that it tries again to reach its model, unless its line is untranslated."""
    retries = event.type in ("retry", "error")
    if event.unprinted or not (retries or (event.subtype in NOTICES and event.kind == OTHER)):
        return None
    notice = Node(details(event))
    message, delay = as_text(notice["message"])[:MAX_TARGET], as_count(notice["retry_delay_ms"])
    if retries:
        tries = event.type == "retry" or delay is not None or message.startswith(RECONNECTING)
        return api_wait(message, 1, delay or 0) if tries else None
    if event.subtype != "task_notification":
        label, blocked = (event.subtype or "").capitalize(), event.subtype == "blocked"
        return Action(label, message, failed=blocked, running=not blocked)
    status, took = as_text(notice["status"]), as_count(notice["duration_ms"])
    failed = status not in WENT_WELL
    what = "background task" if notice["title"] else "subagent"
    label = f"{'Failed to finish' if failed else 'Finished'} {what}"
    time = "" if took is None else format_duration(took)
    outcome = excerpt(status) if failed else time
    target = first_text(notice["description"], notice["title"], notice["summary"])[:MAX_TARGET]
    return Action(label, target, outcome, failed)


def api_wait(why: str, waits: int, took: int) -> Action:
    """That an agent waits before it tries again, so many times in a row: no success."""
    facts = [f"{waits} times"] if waits > 1 else []
    facts += [format_duration(took)] if took else []
    outcome = ", ".join(facts)
    return Action("Waiting for the API", why, outcome, running=True, waits=waits, waited_ms=took)


replace = msgspec.structs.replace


# ---------------------------------------------------------------- messages
#
# Messages on stderr, excerpts, rejected lines, the exit status; what is known of a FILE for them.
# What went wrong in, messages out, between the lines of the output and without what redaction
# hides. It must not know the forms of lines, nor when runs open and end.


# Characters that are rare in text; text in another encoding has many, but no control characters.
STRANGE = regex("[\0-\7\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]")


def is_binary(line: bytes) -> bool:
    text = line[:EXCERPT].decode("utf-8", "replace")
    strange = STRANGE.findall(text)
    return len(strange) > 5 and len(strange) > len(text) // 4 and {*strange} != {"\ufffd"}


def add_count(counts: dict[str, Any], name: str, number: float = 1) -> str:
    """Add to the count of a name; names beyond MAX_NAMES share one, whose name is returned."""
    if name not in counts and len(counts) >= MAX_NAMES:
        name = "..."
    counts[name] = counts.get(name, 0) + number
    return name


class Outside(NamedTuple):
    """Events outside any run: FILE:LINE of the first, and how many there are of each type."""

    where: str
    types: dict[str, float]


class Source:
    """A FILE: its name, the place that is read, and what is known of its lines."""

    def __init__(self, name: str) -> None:
        self.name = file_name(name)
        self.at = 0  # the number of the current line, or object
        self.documents = False  # JSON that is not lines
        self.looks_like = ""  # the format of a FILE that is no stream, and a hint, once it is known
        self.head = b""  # its first bytes, but blanks
        self.has_run_begun = False  # an event has opened a run, as an end alone does not
        self.prose = ""  # the last line of prose since a run ended, usually why the next one fails
        self.due = ""  # what its last line began and the next may continue
        self.rejected = 0  # lines since the last end of a run
        # The last ones that nobody has looked at, each with how it is damaged.
        self.waiting = collections.deque[tuple[str | None, bytes]](maxlen=KEPT_PROSE)
        self.runs = 0  # that began in it
        self.has_lines_of_run = False  # more than an end alone
        self.has_run = self.is_saved = False
        self.elsewhere = ""  # the place of the first event that is wrapped in another way
        self.copies: list[str] = []  # where its runs stand in other FILEs
        # Of agents that are known, by the session or what else they may belong to; the others.
        self.outside: dict[object, Outside] = {}
        self.unknown: dict[str, float] = {}  # by type
        self.untyped = 0  # others without a type that are no lines of a log
        self.error = ""  # the message of the last error among them, or whose they are

    def with_head(self, arriving: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks; notes their first bytes."""
        for chunk in arriving:
            if len(self.head) < HEAD:
                self.head = (self.head + chunk[:HEAD]).removeprefix(BOM).lstrip(BLANKS)
            yield chunk

    def where(self) -> str:
        return f"{self.name}:{'#' if self.documents else ''}{self.at}"

    def is_stream(self) -> bool:
        return self.has_run or not self.looks_like

    def is_only_head(self) -> bool:
        """Is it only the head of a saved session? That one line is no run."""
        return self.is_saved and not self.has_lines_of_run

    def unexplained(self) -> list[Outside]:
        """Events of known agents that belong to no run."""
        groups = self.outside.items()
        return [one for name, one in groups if name is not None or not self.has_run]

    def is_unknown_agents(self) -> bool:
        """Is it an unknown agent's? A lone end doesn't explain many types."""
        only_ends = self.has_run and not self.has_lines_of_run
        types = len([*filter(None, self.unknown)])
        many = max(types, self.untyped) >= LINES_OF_AN_AGENT
        return bool(self.unknown) and (not self.has_run or (only_ends and many))


# Prose that is no reason for a failure: marks alone, such as the bracket behind a reason.
MARKS = regex(r"\W*\Z")
# What follows the message in a stack trace.
FRAME = regex(
    r"at \S.*[:(]|Node\.js v[0-9]|\.\.\. [0-9]+ more|note: run with|goroutine [0-9]+ \["
    r"|\S+\.go:[0-9]+|\w[\w./*()]*\(.*\)\Z|exit status [0-9]+\Z"
)


class Reporter:
    """Reports what goes wrong on stderr, saves rejected lines, and knows the exit status."""

    def __init__(
        self, out: Any, redaction: Any, save: Callable[[bytes], None] | None = None
    ) -> None:
        """``save`` keeps rejected lines; ``redaction`` hides what untrusted texts may not show."""
        self.out = out
        self.save_rejected = save or (lambda _line: None)
        self.redaction = redaction
        # Values of variables and files that are too weak to search for.
        self.unused = redaction.scanner.unused if redaction.scanner else 0
        self.damaged = self.failed = self.has_error = False
        self.stopped_at = ""  # where a signal stopped the reading, and what was open there
        self.shows_failures = False  # a table on the same terminal shows why runs failed

    def status(self) -> int:
        if self.has_error:
            return ERROR
        if self.failed:
            return FAILED
        return DAMAGED if self.damaged else OK

    def message(self, text: str) -> None:
        """One line on stderr, after the output that came before it; a value that has become known
        since the text was made isn't in it."""
        self.write(encode_line(f"agentfmt: {self.redaction.learnt.hidden_in(text)}"))

    def write_output(self, line: bytes) -> None:
        """Write a line of an output that goes to stderr: unlike a message, it may not be lost."""
        self.has_error = not self.write(line) or self.has_error

    def write(self, line: bytes) -> bool:
        """Write a line; False if the disk is full. If stderr is closed, nobody wants it."""
        self.out.write_lines()
        self.out.last.erase()
        try:
            write_all(2, line + b"\n")
        except OSError as error:
            return error.errno != errno.ENOSPC
        return True

    def error(self, text: str) -> None:
        self.has_error = True
        self.message(text)

    def failure(self, why: str) -> None:
        self.failed = True
        self.message(why)

    def reject(self, file: Source, reason: str | None, line: bytes) -> None:
        """Save a line that isn't an event, and show or count it; without a reason it is prose."""
        if not (file.has_run or file.looks_like):
            form = foreign_form(file.head) if not file.rejected else ""
            binary = "binary data" if reason is None and is_binary(line) else ""
            file.looks_like = form or binary
        self.save_rejected(line)
        self.damaged = self.damaged or reason is not None
        file.rejected += 1
        shown = file.rejected <= REJECTS_SHOWN and file.is_stream()
        file.waiting.append((reason, line if shown else line[: 4 * CONCEALED]))
        if shown:
            text = self.catch_up(file)
            self.message(": ".join(filter(None, (file.where(), reason, text))))

    def catch_up(self, file: Source) -> str:
        """Redact the rejected lines that wait for it, and return the last one, for people."""
        text = ""
        for reason, line in file.waiting:
            seen = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
            shown, file.due = self.redaction.prose(seen, file.due)
            text, begin = excerpt(shown), seen.lstrip()[:EXCERPT]
            if reason is None and not (MARKS.match(begin) or (file.prose and FRAME.match(begin))):
                file.prose = excerpt_reason(shown)
        file.waiting.clear()
        return text

    def explain(self, file: Source, limit: str) -> str:
        """Say, and return, what a FILE without a run is, or that it has events outside of runs."""
        self.catch_up(file)
        where, hint, groups = f"{file.name}: ", "", file.unexplained()
        counts = [group.types for group in groups] or [file.unknown]
        types = [*dict.fromkeys(kind for each in counts for kind in each if kind)]
        named = self.list_names(types)
        if limit:
            story = limit
        elif file.looks_like and not file.has_run:
            story = f"this is {file.looks_like}"
        elif groups:
            count = round(sum(sum(each.values()) for each in counts))
            what = plural(count, "event") + (f" ({named})" if named else "")
            story = f"{what} {'belongs' if count == 1 else 'belong'} to no run"
            story += f": {file.error}" if file.error else ""
            where = f"{groups[0].where}: "
        elif file.is_unknown_agents():
            noun = "types" if len(types) > 1 else "type"
            what = f"{noun}: {named}" if named else "objects without a type"
            story = f"no agent that I know wrote this ({what})"
            hint = "" if named else f"; {NAME_MEMBER}"
        elif file.is_only_head():
            story = "only the head of a saved session, without a run"
        elif not (file.at or file.documents):
            where, story = f"{file.name} ", "is empty: the agent wrote nothing"
        elif file.prose:
            where += "no events: "
            story, hint = file.prose, f"; if this is an agent's text, {AS_EVENTS}"
        else:
            story = f"no events: {AS_EVENTS}"
        self.message(where + story + hint)
        return story

    def list_names(self, names: Iterable[str]) -> str:
        """The first few names of tools or types, without secrets."""
        shown = (name if name in TOOLS else self.redaction.text(name, "type") for name in names)
        return first_names(excerpt(name) or "?" for name in shown)

    def report_unshown(self, file: Source) -> None:
        """Say how many rejected lines weren't shown, at the end of a run or a FILE."""
        if file.rejected > REJECTS_SHOWN and file.is_stream():
            more = plural(file.rejected - REJECTS_SHOWN, "more line")
            self.message(f"{file.name}: {more} without an event")
        self.catch_up(file)
        file.rejected = 0


NOT_READ = "a session that {} saved; not read yet"
# How a FILE begins that is no stream -> what it is, and a hint.
FOREIGN = {what: regex(pattern, re.IGNORECASE) for pattern, what in (
    (rb"\x1f\x8b", "gzip data: zcat FILE | agentfmt"),
    (rb"PK\x03\x04", "a zip archive: unzip -p FILE | agentfmt"),
    (rb"\xfd7zXZ\0", "xz data: xzcat FILE | agentfmt"),
    (rb"\x28\xb5\x2f\xfd", "zstd data: zstdcat FILE | agentfmt"),
    (rb"BZh", "bzip2 data: bzcat FILE | agentfmt"),
    (rb"\xff\xfe\0\0|\0\0\xfe\xff", "UTF-32: iconv -f UTF-32 -t UTF-8 FILE | agentfmt"),
    (rb"\xff\xfe|\xfe\xff", "UTF-16: iconv -f UTF-16 -t UTF-8 FILE | agentfmt"),
    (rb"<!doctype html|<html", "an HTML page: download the log as text"),
    (rb'\[?\s*\{\s*"session":\s*(?:null|"[^"]*"),\s*"run":\s*\w+,\s*"(?:agent|call_id)":',
     "a table that agentfmt wrote"),
    (rb'\s*\{"type":"session_start","id":', NOT_READ.format("Droid")),
    (rb'\{"id":"[^"]*","timestamp":"[^"]*","instructions":', NOT_READ.format("an old Codex")),
    (rb'\s*\{\s*"sessionId":\s*"[^"]*",\s*"projectHash":', NOT_READ.format("Gemini CLI")),
    (rb'\{"type":"system","content":"(?s:.{0,900}?)"(?:prompt_index|model_id)":',
     NOT_READ.format("Grok Build")),
    (rb'\{"type":"metadata","protocol_version":', NOT_READ.format("Kimi")),
    (rb'\s*\{\s*"(?:info":\s*\{|id":\s*"[^"]*",\s*"sessionID":)', NOT_READ.format("OpenCode")),
)}  # fmt: skip


def foreign_form(head: bytes) -> str:
    """The format of a file that begins so, and a hint; or ""."""
    return next((what for what, pattern in FOREIGN.items() if pattern.match(head)), "")


NAME_MEMBER = "if a member holds an agent's lines, name it with --unwrap"
AS_EVENTS = (
    "run the agent with --output-format stream-json (Claude Code also needs --verbose; Codex has "
    "--json instead)"
)


# ---------------------------------------------------------------- reading
#
# Frames of whole lines or documents, envelopes of log collectors, lines to events.
# Chunks in, events out; a damaged line affects no other. It must not know agents or runs.

ARRAY = regex(rb'\[[ \t]*\{[ \t]*"type"')  # of events, behind other lines
# As in files that were joined without LF: no object has this.
NEXT_EVENT = regex(rb'(?<=\})[ \t]*(?=\{"(?:type|timestamp|id|parentUuid)")')
# The first object of a FILE, or array; a document if its line is `{` or `[` alone, or if the FILE
# begins with `[` and `{`.
FIRST_OBJECT = regex(
    rb"^(?:\xef\xbb\xbf)?[ \t]*(?:([{\[])[ \t\r]*\n|(\[[ \t\r]*\{))|\{", re.MULTILINE
)


class Rejected(NamedTuple):
    """What isn't an event, in the place of one: a line, or a part of one that is too long to be
    read, of which the last ends with LF. The reason says how it is damaged; None: it is prose; "":
    it is the rest of what was rejected before. ``elsewhere`` is the event that it holds, where that
    is wrapped in another way than the first of its FILE."""

    reason: str | None
    elsewhere: bytes = b""
    session_id: object = NO_SESSION
    type: None = None


NO_EVENT, CONTINUED = Rejected(None), Rejected("")
Frame: TypeAlias = "bytes | tuple[bytes, Rejected]"


def read_frames(
    source: Source, arriving: Iterator[bytes], limit: int = MAX_LINE
) -> Iterator[Frame]:
    """Blocks of whole lines from the chunks of one FILE; an empty block for an empty chunk.
    ``limit``: bytes of a line."""
    frames = line_frames(source.with_head(arriving), limit)
    for frame in frames:
        found = FIRST_OBJECT.search(frame) if isinstance(frame, bytes) else None
        if found and (found[1] or (found[2] and source.head.startswith(found[2]))):
            before, rest = found.string[: found.start()], found.string[found.start() :]
            if before:
                yield before
            source.at, source.documents = 0, True
            yield from document_frames(itertools.chain((rest,), frames), limit)
            return
        yield frame
        if found or isinstance(frame, tuple):
            yield from frames


def line_frames(arriving: Iterable[bytes], limit: int) -> Iterator[Frame]:
    """Blocks of whole lines; a line that is too long is rejected in pieces."""
    tail, cut = io.BytesIO(), False  # the incomplete line; was its beginning rejected?
    ended: Exception | None = None  # by whom, if the writer did not end it
    try:
        for chunk in arriving:
            if not chunk:
                yield b""
                continue
            if cut:
                end = chunk.find(b"\n") + 1
                yield chunk[: end or None], CONTINUED
                chunk = chunk[end or len(chunk) :]
                cut = not end
            end = chunk.rfind(b"\n") + 1
            while end:  # a large line is yielded alone and without LF, so that it is never copied
                large = tail.tell() > BLOCK
                stop = chunk.find(b"\n") + 1 if large else end
                tail.write(memoryview(chunk)[: stop - large])
                block, tail = tail.getvalue(), io.BytesIO()
                chunk, end = chunk[stop:], end - stop
                for frame in (block,) if len(block) <= limit else io.BytesIO(block):
                    whole = frame.removesuffix(b"\n") + b"\n" if len(frame) > limit + 1 else b""
                    yield (whole, Rejected(too_long(limit))) if whole else frame
            tail.write(chunk if tail.tell() else chunk.lstrip(b"\0"))
            if tail.tell() > limit:
                yield tail.getvalue(), Rejected(too_long(limit))
                tail, cut = io.BytesIO(), True
    except (Interrupted, Stopped) as why:
        ended = why
    last = tail.getvalue()
    if cut:
        yield b"\n", CONTINUED
    elif last and not (ended and leaves_open(last)):
        yield last
    if isinstance(ended, Interrupted):
        raise ended


def leaves_open(line: bytes) -> bool:
    """Is an object cut off? A last line may lack only its LF, or be prose, such as a question."""
    bare = PLAIN_STRINGS.sub(b"", without_escapes(line))
    return bare.count(b"{") > bare.count(b"}")


PLAIN_STRINGS = regex(rb'"[^"]*"?')  # without escapes, each of which takes memory


def lines_of(block: bytes) -> list[bytes]:
    """The lines of a block; a single one, which may be large, isn't copied."""
    alone = block.find(b"\n") in (-1, len(block) - 1)
    return [block] if alone and block else io.BytesIO(block).readlines()


def document_frames(frames: Iterable[Frame], limit: int) -> Iterator[Frame]:
    """Frames of a FILE that isn't JSON Lines: one line for each object, which may span several
    lines or be an element of an array. Lines of prose between objects are passed on.

    An object ends with its closing brace. Braces in strings don't count; these hold no line break.
    One that was cut off ends where a line begins with another, unless its own members begin lines.
    """
    text, depth, cut = bytearray(), 0, False  # the open object; was its start rejected?
    for frame in frames:
        if isinstance(frame, tuple):
            yield bytes(text) + frame[0], frame[1]
            text, cut = bytearray(), depth > 0
            continue
        if not frame:
            yield b""  # silence
        for line in lines_of(frame):
            if depth and line[:1] == b"{" and text[1:4].lstrip(b"\r")[:2] != b'\n"':
                yield bytes(text), CONTINUED if cut else CUT_OFF
                text, depth, cut = bytearray(), 0, False
            for part, deep in at_braces(line, depth):
                if not depth and part[:1] != b"{":
                    if part.strip(BLANKS + BOM + b"[],"):
                        yield part
                    continue
                text += part
                if not deep:
                    yield (bytes(text + b"\n"), CONTINUED) if cut else one_line(bytes(text))
                    text, cut = bytearray(), False
                depth = deep
            if len(text) > limit:
                yield bytes(text), CONTINUED if cut else Rejected(too_long(limit))
                text, cut = bytearray(), True
    if depth:
        yield bytes(text + b"\n"), CONTINUED if cut else CUT_OFF


CUT_OFF = Rejected("the document ends too early")
A_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"?'
STRINGS, BRACES = regex(A_STRING), regex(rb"[{}]|" + A_STRING)


def at_braces(line: bytes, depth: int) -> Iterator[tuple[bytes, int]]:
    """A line in parts that begin and end where objects do, and how many braces are open then."""
    bare = STRINGS.sub(b"", line) if depth and (b"{" in line or b"}" in line) else b""
    if (closed := bare.count(b"}")) < depth:  # nearly always
        yield line, depth + bare.count(b"{") - closed
        return
    begin = 0
    for mark in BRACES.finditer(line):
        before, depth = depth, max(depth + (mark[0] == b"{") - (mark[0] == b"}"), 0)
        if before + depth == 1:
            end = mark.end() if before else mark.start()
            yield line[begin:end], 0
            begin = end
    yield line[begin:], depth


def one_line(text: bytes) -> bytes:
    """An object of several lines in one, written compactly. If it is no JSON, it stays so: no end
    of a line becomes a part of a string."""
    value = decoded(text) if b"\n" in text else None
    return (text.replace(b"\n", b"\r") if value is None else encode_json(value)) + b"\n"


def too_long(limit: int) -> str:
    return f"longer than --max-line {limit}"


# Where log collectors put the lines that they wrap: after CRI's tag, or in a member of an object.
CRI, OBJECT = "CRI", "jsonPayload"
ENVELOPES = (
    CRI, "log", "message", "line", "MESSAGE", "body.stringValue", "body", "textPayload",
    "jsonPayload.message", OBJECT,
)  # fmt: skip
MAX_LAYERS = 2  # of envelopes: one collector may read what another wrote
COLLECTED = frozenset(("log", "logs", "container", "docker", "syslog", "journald", "file", "stdin"))
STREAMS = ("stdout", "stderr")
WRITERS_OF_PIECES = ("stream", "container_id", "CONTAINER_ID", "kubernetes")
CRI_LINE = regex(
    rb"[0-9]\S* (?:(stdout|stderr) ([PF])(?::\S*)? |[0-9a-f]{2}([OE])[ +])(.*)", re.DOTALL
)  # or GitLab's, which says of a piece that it follows one


class Wrapped(NamedTuple):
    """The line in an envelope, or a piece of one."""

    place: str  # a member, or CRI
    text: bytes
    writer: str  # pieces of one writer are joined
    ended: bool  # the line is known to end here
    stream: str  # one of STREAMS, if the envelope says so


def unwrap_text(value: Any) -> bytes:
    """The text that a string is, or journald's array of bytes, in UTF-8; else b""."""
    if isinstance(value, str):
        return to_utf8(value)
    with contextlib.suppress(TypeError, ValueError):
        return bytes(as_list(value))
    return b""


def object_in(text: bytes) -> dict[str, Any]:
    """The JSON object that a text is, decoded; {} if it is anything else."""
    return as_object(decoded(text)) if text.lstrip(BLANKS)[:1] == b"{" else {}


def contents(line: bytes, places: Sequence[str], *, named: bool) -> Iterator[Wrapped]:
    """The possible contents of an envelope at some places; none for an event, unless the user
    ``named`` the place."""
    if CRI in places and (match := CRI_LINE.fullmatch(line)):
        stream = (match[1] or b"").decode() or STREAMS[match[3] == b"E"]
        yield Wrapped(CRI, match[4].rstrip(b"\r\n"), stream, match[2] == b"F", stream)
    outer = object_in(line[max(0, line.find(b"{", 0, MAX_PREFIX + 1)) :]) if places else {}
    kind = outer.get("type")
    if not outer or (not named and isinstance(kind, str) and kind not in COLLECTED):
        return
    writer, stream = repr([*map(outer.get, WRITERS_OF_PIECES)]), as_text(outer.get("stream"))
    for place in places:
        value = Node(outer)[place]
        whole = isinstance(value, dict) and (named or place == OBJECT)
        if text := encode_json(value) if whole else unwrap_text(value):
            ended = whole or text.endswith(b"\n")
            yield Wrapped(place, text, writer, ended, stream if stream in STREAMS else "")


def holds_event(text: bytes, layers: int = MAX_LAYERS) -> bool:
    """Is a text an event, the beginning of one, or an envelope of either?"""
    if not (outer := object_in(text)):
        return text[:1] == b"{" and b'"type"' in text
    inner = contents(text, ENVELOPES, named=False) if layers else ()
    return says_kind(outer) or any(holds_event(piece.text, layers - 1) for piece in inner)


def says_kind(line: Mapping[str, Any]) -> bool:
    """Does a line say what it is: by its type, else by a role, by an event that names one of its
    members, or as JSON-RPC?"""
    if "type" in line:
        return isinstance(line["type"], str)
    speaks = "role" in line and line.keys() & {"content", "message", "tool_calls"}
    return bool(speaks or "jsonrpc" in line or as_text(line.get("event")) in line)


class Pieces:
    """Joins the pieces of lines that a container runtime has split, by their writers."""

    def __init__(self, limit: int) -> None:
        self.limit = limit  # bytes of a line
        self.begun: dict[object, bytearray] = {}
        self.size = 0  # bytes of these

    def join(self, writer: object, piece: Wrapped) -> list[Frame]:
        """The lines that a piece completes."""
        text, line = piece.text, self.begun.pop(writer, bytearray())
        self.size -= len(line)
        if line and object_in(text):  # the rest of the line before is lost
            return [bytes(line), text]
        line += text
        closed = text.rstrip(BLANKS)[-1:] == b"}"
        if piece.ended or line[:1] != b"{" or (closed and object_in(bytes(line))):
            return [bytes(line)]
        long = self.size + len(line) > self.limit
        self.begun[writer] = bytearray(b"{") if long else line  # the rest is damaged, too
        self.size += 1 if long else len(line)
        return [(bytes(line + b"\n"), Rejected(too_long(self.limit)))] if long else []


# What a terminal takes for a command: to set a title or a color, to move, to clear the screen.
TERMINAL_CODES = regex(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*([@-~])")
MOVES = b"ABCDEFGHJKf"


def stripped(line: bytes) -> bytes:
    """A line without blanks, terminal codes, NULs (of a log that was truncated while it was
    written), and what a terminal draws over, such as a progress bar without a line end."""
    text = line.removeprefix(BOM)
    if b"\x1b" in text:
        text = TERMINAL_CODES.sub(lambda code: b"\r" * ((code[1] or b"m") in MOVES), text)
    brace = text.find(b"{")
    text = text[brace:] if b"\r" in text[: max(brace, 0)] else text
    return text.lstrip(BLANKS + b"\0").rstrip(BLANKS)


# What came off a line: of each envelope the kind of its prefix, its place and stream; at last the
# kind of the object's prefix.
Wrapping: TypeAlias = "tuple[str, ...]"
BARE: Wrapping = ("",)


class Reader:
    """Turns the frames of a FILE into events with their lines; other lines are rejected.

    The event that opens the first run decides what a line of its FILE is wrapped in: what comes off
    any other event has to be the same, else somebody else wrote it, and it is prose. A prefix that
    the next event lacks is none: another program's text, which did not end its line.
    """

    def __init__(
        self,
        source: Source,
        event_type: type[Event],
        limit: int = MAX_LINE,
        unwrap: str = "auto",
    ) -> None:
        """``limit``: bytes of a line; ``unwrap``: auto, none, or the member of an envelope that
        holds the agent's lines."""
        self.source = source
        self.event_type = event_type
        self.decode = msgspec.json.Decoder(event_type).decode
        self.pieces = Pieces(limit)
        self.named = unwrap not in ("auto", "none")
        self.places = {"auto": ENVELOPES, "none": ()}.get(unwrap, (unwrap,))
        self.wrapping: Wrapping | None = None  # of each event, once one has opened a run
        self.last: Wrapping = BARE  # of the last event
        self.alone = True  # one line at most has been wrapped so

    def read(self, frame: Frame) -> Iterable[tuple[bytes, Any]]:
        """The lines of a frame with their events; whoever takes them counts those that pass."""
        if isinstance(frame, tuple):
            return [self.reject(*frame)]
        return self.events_of(frame)

    def events_of(self, frame: bytes) -> Iterable[tuple[bytes, Any]]:
        """The lines of a block with their events, decoded all at once where that is possible."""
        expected, lines = self.decide(), lines_of(frame)
        if expected != BARE and (expected or self.named):
            return self.read_one_by_one(lines)
        try:  # msgspec doesn't validate the strings that it skips
            if not frame.isascii():
                b"".join([line for line in lines if not line.isascii()]).decode()
            with spare_levels():
                events = [*map(self.decode, lines)]
        except DECODE_ERRORS:
            return self.read_one_by_one(lines)
        if expected is None:
            if any(event.type is None or event.type in COLLECTED for event in events):
                return self.read_one_by_one(lines)
            self.last, self.alone = BARE, True
        return zip(lines, events, strict=True)

    def read_one_by_one(self, lines: list[bytes]) -> Iterator[tuple[bytes, Any]]:
        """The same line by line, for a block with a difficult one, or with envelopes: damage
        affects that line alone."""
        begin = self.source.at
        for number, line in enumerate(lines):
            if not (text := line.strip(BLANKS)):
                continue
            self.source.at = begin + number
            if b"{" not in text and text.isascii() and not CRI_LINE.match(text):
                if stripped(text):
                    yield line.removesuffix(b"\n") + b"\n", NO_EVENT
                continue
            for pair in self.peel(line):
                self.source.at = begin + number
                yield pair
        self.source.at = begin + len(lines)

    def finish(self) -> Iterator[tuple[bytes, Any]]:
        """What is left of lines that came in pieces."""
        for text in self.pieces.begun.values():
            self.source.at -= 1
            yield self.examine(bytes(text), bytes(text), (self.wrapping or self.last)[:-1])

    def decide(self) -> Wrapping | None:
        """What each event of the FILE is wrapped in, if one has opened a run."""
        if self.wrapping is None and self.source.has_run_begun:
            self.wrapping = self.last
        return self.wrapping

    def reject(self, data: bytes, rejected: Rejected) -> tuple[bytes, Rejected]:
        if rejected is CONTINUED:
            self.source.at -= 1  # it goes on in a line that counts
            return data, CONTINUED
        wrapped = self.decide() not in (None, BARE)
        braced = wrapped or self.source.documents or data.lstrip(BLANKS)[:1] == b"{"
        return data, rejected if braced else NO_EVENT

    def peel(self, line: bytes, off: Wrapping = ()) -> Iterator[tuple[bytes, Any]]:
        """The event in a line, or those in the lines that are complete now of envelopes that the
        FILE has, or may have. One collector may read what another wrote."""
        layers = 1 if self.named else MAX_LAYERS
        places = self.places if len(off) < 3 * layers else ()
        if expected := self.decide():
            places = expected[len(off) + 1 : len(off) + 2]
        known = self.named or expected is not None
        for piece in contents(line, places, named=self.named):
            writer = off, piece.place, piece.writer
            begun = writer in self.pieces.begun
            if known or begun or piece.stream or piece.ended or holds_event(piece.text):
                brace = 0 if piece.place == CRI else line.find(b"{")
                inside = (*off, prefix_kind(line[:brace]), piece.place, piece.stream)
                for whole in self.pieces.join(writer, piece):
                    if isinstance(whole, tuple):
                        yield whole
                    else:
                        yield from self.peel(whole, inside)
                return
        text = stripped(line)
        array = decoded(text) if ARRAY.match(text) else None
        for one in map(encode_json, array) if array else filter(None, (text,)):
            found = self.examine(one if array else line, one, off)
            if isinstance(found[1], Rejected) and NEXT_EVENT.search(one):
                prefix = one[: one.find(b"{")]
                for part in NEXT_EVENT.split(one.removeprefix(prefix)):
                    yield self.examine(part, prefix + part, off)
            else:
                yield found

    def examine(self, line: bytes, text: bytes, off: Wrapping) -> tuple[bytes, Any]:
        """The event in a line that has been peeled, if it was wrapped as the others are; ``text``
        is the line without what surrounds it."""
        expected, whole = self.decide(), line.removesuffix(b"\n") + b"\n"
        if reason := "" if text[:4].isascii() else foreign_form(text):
            return whole, Rejected(reason)
        if (brace := text.find(b"{", 0, MAX_PREFIX + 1)) < 0:
            return whole, NO_EVENT
        wrapping, text = (*off, prefix_kind(text[:brace])), text[brace:]
        try:
            event = read_event(self.event_type, text)
        except ValueError as error:
            # Is it wrapped as the others are, or a broken envelope?
            damaged = wrapping == expected if expected else not brace
            if expected and len(wrapping) == 1 < len(expected):
                damaged = text[:2] == b'{"'
            return whole, Rejected(str(error)) if damaged else NO_EVENT
        if brace and event.type is None and not says_kind(object_in(text)):
            return whole, NO_EVENT
        if self.alone and expected and len(expected) == 1 and wrapping == BARE:
            expected = self.wrapping = BARE
        if expected not in (None, wrapping):
            return whole, Rejected(None, text)
        self.alone, self.last = expected is None, wrapping
        return text, event


def prefix_kind(prefix: bytes) -> str:
    """What the prefixes of a log collector's lines have in common: everything but numbers, levels,
    and the names of months, days, halves of a day and time zones."""
    if not prefix:
        return ""  # nearly always
    text = prefix.decode("utf-8", "replace")
    kind = re.sub(r"[0-9]+(?:[.,:][0-9]+)*", "0", VARYING.sub("0", text))
    return " ".join(kind.split()) or ("blank" if text else "")


VARYING = regex(
    r"\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
    r"|[AP]M|UTC|GMT|[A-Z]{1,4}T)\b|\b[DIWEF](?=[0-9]{4}\b)"
    r"|(?i:(?<![\w-])(?:trace|debug|info|notice|warn(?:ing)?|error|critical|fatal|severe"
    r"|trc|dbg|inf|wrn|err|crit|ftl)(?![\w-]))"
)


# ---------------------------------------------------------------- foreign calls
#
# Other agents' tools, arguments and failures in Cursor's terms.
# A call and how it ended in, the members of Cursor's lines out. It must not know agents.

# Other agents' names for Cursor's tools, in lower case without underscores -> Cursor's name.
TOOL_NAMES = {name.lower(): name for name in TOOLS} | {
    name: tool
    for tool, names in {
        "read": "notebookread readfile readfiles readmanyfiles readmediafile view viewfile "
        "viewimage lookat",
        "write": "createfile writefile writetofile create",
        "edit": "multiedit notebookedit editnotebook editfile editor replace strreplace patch "
        "applypatch filechange undoedit searchreplace strreplacefile replacefilecontent "
        "multireplacefilecontent",
        "shell": "bash runshellcommand execute powershell "
        "shellcommand execcommand commandexecution localshell container.exec exec runcommand "
        "runcommands runterminalcommand runterminalcmd",
        "grep": "searchfilecontent grepsearch rg searchcodebase",
        "semSearch": "finder semanticsearch",
        "glob": "find findbyname",
        "ls": "list listdirectory listdir tree",
        "webFetch": "readwebpage fetchurl fetchwebcontent readurlcontent",
        "webSearch": "googlewebsearch searchweb",
        "updateTodos": "todowrite taskcreate taskupdate writetodos updatetodo updateplan "
        "settodolist todolist",
        "readTodos": "todoread",
        "task": "agent oracle librarian codebaseinvestigator invokeagent spawnagent subagent "
        "spawnsubagent invokesubagent delegate agentswarm",
        "mcp": "callmcptool usetool",
        "createPlan": "exitplanmode",
        "switchMode": "enterplanmode planenter planexit",
        "askQuestion": "askuserquestion askuser ask question requestuserinput",
        "await": "bashoutput taskoutput agentoutputtool wait waitagent getcommandorsubagentoutput "
        "commandstatus",
        "taskStop": "killshell killbash closeagent stopbash killcommandorsubagent",
        "sendMessage": "sendinput",
        "listMcpResources": "listmcpresourcestool",
        "readMcpResource": "readmcpresourcetool readmcpresourcedirtool fetchmcpresource",
        "writeShellStdin": "writebash writepowershell writestdin sendcommandinput",
        "generateImage": "imagegeneration imagegen",
        "taskGet": "readbash readagent",
        "taskList": "listbash listagents",
        "skill": "activateskill skills loadskill",
        "toolSearch": "toolsearchtool searchtool",
        "structuredOutput": "submitandexit",
        "cronCreate": "schedulercreate",
        "cronDelete": "schedulerdelete",
        "cronList": "schedulerlist",
    }.items()
    for name in names.split()
}
MCP_TOOL = regex(r"(?:mcp__)?(.+?)_{2,3}(.+)|mcp_([^_]+)_(.+)", re.DOTALL)
PATCHED = regex(
    r"^\*\*\* (Add|Update|Delete) File: (.*\S)\s*?(?:\n\*\*\* Move to: (.*\S)\s*?)?$", re.MULTILINE
)

# Cursor's tools (* for any), their arguments, and other agents' names for these.
ARGUMENTS = """
    *  path  file_path filePath absolute_path notebook_path dir_path directory_path target_file
    *  path  AbsolutePath TargetFile DirectoryPath SearchPath
    *  command  cmd CommandLine
    *  workingDirectory  directory workdir Cwd
    *  outputMode  output_mode
    *  caseInsensitive  -i
    *  subagentType  subagent_type
    *  taskId  task_id bash_id shell_id
    *  description  fact
    *  name  skill recipient to
    *  url  uri Url
    shell  command  input
    write  fileText  content file_text CodeContent
    edit  fileText  content file_text CodeContent
    ls  path  target_directory
    grep  glob  include
    grep  pattern  Query
    glob  globPattern  pattern filePattern Pattern
    glob  targetDirectory  path directory SearchDirectory
    mcp  server  ServerName
    mcp  toolName  ToolName tool_name
    mcp  args  Arguments arguments tool_input
    webSearch  searchTerm  query search_term objective
    updateTodos  todos  plan
    task  description  task message objective instructions
    task  subagentType  agent_name
"""


@functools.cache
def argument_names(tool: str) -> dict[str, str]:
    """Other agents' names for the arguments of a tool -> Cursor's."""
    rows = map(str.split, ARGUMENTS.strip().splitlines())
    found = [row for row in rows if row[0] in ("*", tool)]
    return {name: known for _, known, *names in found for name in names}


# Beginning of a failed call's result, or the agent's word for it, by Cursor's variant.
FAILURES = {
    "rejected": regex(
        r"(?i)The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user"
        r"|Command cancelled|(?:The )?User (?:rejected|declined|denied|cancelled|did not allow)"
        r"|.{0,80}rejected by (?:the )?user|denied-interactively|(?:user-)?(?:declined|rejected)\b"
        r"|The tool use was rejected"
    ),
    "permissionDenied": regex(
        r"(?i).{0,80}requested permissions? |.{0,80}haven't granted it yet"
        r"|(?:Commands|This (?:\w+ )?command)\b.{0,200}"
        r"\b(?:requires?|needs?) (?:explicit )?approval|Exit plan mode\?|denied\b"
        r"|.{0,200}\bpermission (?:was|has been|is) (?:declined|denied)"
        r"|Permission(?:_denied| (?:to use|for|denied))|policy_violation|permission-rule"
        r"|Contains [a-z_]+(?: [a-z]+)?(?: \(\w+\))?(?: that cannot be statically analyzed)?\Z"
        r"|.{0,100} can hide arguments from path validation\Z"
        r"|(?:Hook )?\w+ToolUse:\S+ (?:hook error|denied)|.{0,400}was blocked\. For security"
        r"|.{0,200}denied by (?:your permission settings|policy)"
        r"|The user has specified a rule which prevents"
    ),
    "timeout": regex(
        r"(?i)Command (?:timed out|was automatically cancelled)|timeout\b"
        r"|(?:Error: )?Exit code (?:124|137|143)\n(?s:.*\n)?Command timed out after "
        r"|(?s:.*\n)Command (?:timed out after [0-9.]+ seconds|killed by timeout \([0-9.]+s\))\Z"
        r"|Command killed by timeout \("
    ),
    "fileNotFound": regex(r"(?i)(?:File|Path)[ _](?:does not exist|not[ _]found)|.{0,200}ENOENT"),
}
# The same words as MCP servers begin with, too, whatever the agent thought of the call.
SERVERS_WORDS = regex(
    r"(?i)(?:permission[ _])?denied\b|(?:timeout|declined|rejected)\b(?! by (?:the )?user)"
    r"|(?:File|Path)[ _]|.{0,200}ENOENT"
)
OVERWRITTEN_FILE = regex(
    r"(?i)Successfully overwr|(?:The )?File [^\n]{1,2000}? has been (?:updated|overwritten)"
)
ERROR_TAG = regex(r"(?s)<tool_use_error>(.*?)(?:</tool_use_error>)?\Z")
FAILURE_TEXT = {"rejected": "reason", "permissionDenied": "error", "timeout": "message"}


class ForeignCall(Struct, gc=False):
    """A call by another agent, with Cursor's name for its tool. It makes its lines."""

    id: str
    session: str | None = None
    parent: str | None = None  # the call of the sub-agent that made it
    tool: str = ""
    name: str = ""  # the agent's own name for the tool
    arguments: Any = None  # as the agent wrote them
    started: Any = None  # when it started, as its line says
    server: str = ""  # of an MCP tool whose name does not show it
    overlaps: bool = False  # others were open, so that no line says when it ended

    def line(self, subtype: str, body: Any, ended: int | None = None) -> dict[str, Any]:
        """A line of the call, with Cursor's names for when it started and ended."""
        call = {f"{self.tool}ToolCall": body, "toolCallId": self.id, "name": self.name}
        for name, clock in (("startedAtMs", as_time(self.started)), ("completedAtMs", ended)):
            if clock is not None:
                call[name] = str(clock)
        line = {"type": "tool_call", "subtype": subtype, "tool_call": call, "call_id": self.id}
        ids = ("parent_tool_use_id", self.parent), ("session_id", self.session)
        return line | {name: identity for name, identity in ids if identity is not None}

    def start(self) -> dict[str, Any]:
        return self.line("started", {"args": self.args()})

    def args(self) -> dict[str, Any]:
        """Its arguments, with Cursor's names."""
        args = as_object(self.arguments)
        if isinstance(self.arguments, str):
            args = {"input": self.arguments}
        mcp = MCP_TOOL.fullmatch(self.name) if self.tool == "mcp" else None
        if mcp or self.server:
            parts = self.server, self.name.removeprefix(f"{self.server}_")
            server, tool = filter(None, mcp.groups()) if mcp else parts
            return {
                "name": self.name, "args": args, "providerIdentifier": server, "toolName": tool
            }  # fmt: skip
        names = argument_names(self.tool if self.tool in TOOLS else "")
        args = {names.get(key, key): value for key, value in args.items()}
        if self.tool == "updateTodos":
            if listed := translate_todos(args.get("todos")):
                args["todos"] = listed
        elif self.tool == "shell" and "command" in args:
            args["command"] = as_command(args["command"])
        elif self.tool == "glob" and isinstance(args.get("patterns"), list):
            args |= {"globPattern": " ".join(map(as_text, args.pop("patterns")))}
        return args

    def by_file(self) -> list[ForeignCall]:
        """The calls that it is: one, but for a patch, which is one for each of its files."""
        args = self.args() if self.tool == "edit" else {"path": ""}
        if "path" in args:
            return [self]
        files = [file for text in map(as_text, args.values()) for file in patched_files(text)]
        ids = [f"{self.id}.{number}" for number in range(len(files))] if files[1:] else [self.id]
        return [
            replace(self, id=identity, tool=tool, arguments=args)
            for identity, (tool, args) in zip(ids, files, strict=False)
        ] or [self]


# What puts a command in the background, and what it returns while it runs.
BACKGROUND_ARGS = "run_in_background is_background background isBackground fireAndForget".split()
STILL_RUNS = regex(r"<command with shellId: \S{1,40} is still running[^<>]{1,400}>\s*\Z")


def goes_on(call: ForeignCall, content: Any) -> bool:
    """Does a command that stated no exit status run in the background, or still run?"""
    given = as_object(call.arguments)
    asked = given.get("mode") == "async" or True in map(given.get, BACKGROUND_ARGS)
    note = as_text(content)[-500:]  # below what the command printed
    return asked or STILL_RUNS.search(note) is not None


class Answer(Struct, gc=False):
    """How a call by another agent ended. It makes the line of its end."""

    call: ForeignCall
    content: Any = None  # what it returned; if it failed, the text says why
    failed: bool = False
    kind: Any = ""  # the agent's word for the failure
    code: Any = None  # an exit status
    facts: dict[str, Any] = {}  # members of Cursor's result
    until: Any = None  # when it ended, as its line says
    existed: bool = False  # the file that it wrote was there before
    begun: bool = False  # it goes on in the background

    def line(self) -> dict[str, Any]:
        call, content = self.call, "" if self.content is None else self.content
        existed = self.existed or OVERWRITTEN_FILE.match(as_text(content))
        if call.tool == "write" and existed and not self.failed:
            call = replace(call, tool="edit")
        args, (variant, code, why) = call.args(), self.ending()
        held: dict[str, Any] = {FAILURE_TEXT.get(variant, "errorMessage"): why}
        if variant in ("success", "failure"):
            facts = self.facts | ({"isBackground": True} if self.begun else {})
            held = make_success(call.tool, args, content) | known_members(facts)
        result = {variant: known_members(held | {"exitCode": code})}
        return call.line("completed", {"args": args, "result": result}, self.ended())

    def ended(self) -> int | None:
        """When it ended, by its lines, if it doesn't state how long it took. Lines that were
        written at once don't tell."""
        stated = self.facts.get("executionTime"), self.facts.get("durationMs")
        if stated != (None, None) or self.call.overlaps:
            return None
        first, last = as_time(self.call.started), as_time(self.until)
        return None if first is None or last is None or first >= last else last

    def ending(self) -> tuple[str, int | None, str]:
        """Cursor's variant of its result, its exit status, and why it failed. What counts, in this
        order: the agent's own word, the wording of a timeout, the exit status, other wordings."""
        stated = type(self.code) is int and self.call.tool == "shell" and not self.kind
        code = self.code if stated else None
        if not self.failed and not code:
            return "success", code, ""
        text = as_text(self.content)
        if stated and not (self.failed and FAILURES["timeout"].match(text)):
            return "failure" if code else "success", code, ""
        tagged = ERROR_TAG.match(text)
        kind, why = as_text(self.kind), tagged[1] if tagged else text
        words = [kind] if self.call.tool == "mcp" and SERVERS_WORDS.match(why) else [kind, why]
        variants = (name for word in words for name, rule in FAILURES.items() if rule.match(word))
        return next(variants, "error"), None, why


def patched_files(patch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a patch does to each file: a tool and its arguments. A move deletes one file and creates
    another."""
    heads = [*PATCHED.finditer(patch)]
    ends = [*(head.start() for head in heads), len(patch)][1:]
    for head, end in zip(heads, ends, strict=True):
        (what, path, moved), lines = head.groups(), patch[head.end() + 1 : end]
        lines = lines.partition("*** End Patch")[0]
        if moved or what == "Delete":
            yield "delete", {"path": path}
        if moved:
            yield "write", {"path": moved, "patch": lines}
        elif what == "Add":
            added = (line[1:] for line in lines.split("\n") if line.startswith("+"))
            yield "write", {"path": path, "fileText": "".join(f"{line}\n" for line in added)}
        elif what == "Update":
            yield "edit", {"path": path, "patch": lines}


@functools.lru_cache(256)
def translate_tool(name: str) -> str:
    translated = TOOL_NAMES.get(name.replace("_", "").lower(), name)
    return "mcp" if MCP_TOOL.fullmatch(name) else translated


def translate_todos(given: Any) -> list[dict[str, str]]:
    """A to-do list with Cursor's members and statuses."""
    texts, listed = "content text description step title".split(), []
    for number, todo in enumerate(objects(given), 1):
        stated = todo.get("status")
        done = todo.get("completed") is True or stated == "done"
        status = "completed" if done else as_text(stated) or "pending"
        content = first_text(*map(todo.get, texts))
        identity = as_word(todo.get("id")) or str(number)
        listed.append(
            {"id": identity, "content": content, "status": f"TODO_STATUS_{status}".upper()}
        )
    return listed


def make_success(tool: str, args: dict[str, Any], content: Any) -> dict[str, Any]:
    """The members of Cursor's result that hold the returned content."""
    text = content if isinstance(content, str) else ""
    if tool == "shell":
        streams = {"stdout": text, "stderr": "", "interleavedOutput": content}
        return {"command": args.get("command", ""), **streams}
    if tool == "write" or (tool == "edit" and "fileText" in args):
        lines = len(as_text(args.get("fileText")).splitlines()) or None
        return {"message": content, "linesCreated": lines}
    if tool == "webFetch":
        return {"url": args.get("url", ""), "markdown": content or None}
    if tool == "mcp":
        return {"content": [{"text": {"text": text}}], "isError": False}
    if tool == "edit":
        counts = count_changes(as_text(args.get("patch")).split("\n"))
        return {"message": content} | (counts if "patch" in args else {})
    return {"content": content}


def diff_facts(diff: str) -> dict[str, Any]:
    """What a diff of one file says of an edit; of several files, or without a change, nothing."""
    heads = [*re.finditer(r"(?m)^--- .*\n\+\+\+ .*\n", diff)]
    lines = diff[heads[0].start() :].rstrip("\n").split("\n") if len(heads) == 1 else []
    counts = count_changes(lines[2:])
    return {"diffString": "\n".join(lines), **counts} if any(counts.values()) else {}


def make_line(
    kind: str, subtype: str | None, session: str | None, members: Mapping[str, Any]
) -> dict[str, Any]:
    """A line with some members, less those that are None."""
    return known_members({"type": kind, "subtype": subtype, **members, "session_id": session})


def mcp_name(server: Any, tool: Any) -> str:
    """The name of a server's tool. What isn't stated is no part of it."""
    parts = [as_text(part) for part in (server, tool) if part]
    return "__".join(["mcp", *parts] if parts[1:] else parts) or "mcp"


def find_code(pattern: str, text: str) -> int | None:
    """The exit status of a command if its output states it."""
    codes = re.findall(pattern, text)
    return int(codes[-1]) if codes else None


# ---------------------------------------------------------------- turns
#
# What is remembered of one run of an agent: what was said, and what it took.
# Texts, tokens and times in. It must not know agents, events or lines.

MAX_FINISHED = 100  # remembered finished calls, or messages: their lines may be repeated


class Said:
    """What was said in a run: pieces, which may come again whole, and messages."""

    def __init__(self) -> None:
        self.pieces = collections.defaultdict[Any, list[str]](list)  # by kind and sub-agent
        # IDs of messages, by sub-agent: of one that has said nothing yet, and of the last words.
        self.begun: dict[str | None, Any] = {}
        self.spoken: dict[str | None, Any] = {}
        self.words: list[str] = []  # the agent's own, where lines are converted

    def rest(self, kind: str, parent: str | None, text: str, *, delta: bool) -> str:
        """The part of a text that wasn't said yet: all of a piece."""
        pieces = self.pieces[kind, parent]
        if delta:
            pieces.append(text)
        if delta or not pieces:
            return text
        before = "".join(pieces)
        pieces[:] = [before[len(text) :]] if before.startswith(text) else []
        return "" if pieces else text.removeprefix(before)

    def forget(self, parent: str | None) -> None:
        """No whole text of these pieces will follow."""
        for kind in ("thinking", "assistant", "user"):
            self.pieces.pop((kind, parent), None)


class Counted:
    """What a run took, as its lines state it so far: its result may state more."""

    def __init__(self) -> None:
        self.tokens: dict[str, int] = {}  # of all steps, and of sub-agents
        self.messages: dict[Any, dict[str, int]] = {}  # those of the last messages, by their IDs
        self.stated: Any = None  # the ID of the last one, and its tokens as they stand there
        self.sizes: dict[Any, int] = {}  # characters of the last messages
        self.unknown: dict[Any, Sequence[str]] = {}  # counts that a message does not state
        self.dollars: float | None = None
        self.models: tuple[str, ...] = ()  # all that worked, sub-agents' too
        self.first_model: Any = None  # as the init states it; it may be the last run's
        # When the first line was written, and the last one (in saved sessions of those that say or
        # do something).
        self.first: Any = None
        self.last: Any = None

    def usage(self) -> dict[str, int]:
        """The tokens, as far as they are known."""
        left = {name for names in self.unknown.values() for name in names}
        return {name: count for name, count in self.tokens.items() if name not in left}

    def use_model(self, model: str) -> None:
        if model not in self.models and len(self.models) < MAX_NAMES:
            self.models += (model,)

    def other_models(self, stated: Sequence[str]) -> list[str] | None:
        """All models, by the result or by messages, unless the init's is the only one."""
        used = [*(stated or self.models)]
        return None if used in ([], [self.first_model]) else used


# Cursor's counts of tokens -> where other agents' lines state them.
USAGE = {
    "inputTokens": ("input_tokens", "input", "inputTokens", "promptTokenCount"),
    "outputTokens": ("output_tokens", "output", "outputTokens", "candidatesTokenCount"),
    "cacheReadTokens": (
        "cache_read_input_tokens", "cached_input_tokens", "cached", "cacheRead",
        "cacheReadTokens", "cachedContentTokenCount",
    ),
    "cacheWriteTokens": (
        "cache_creation_input_tokens", "cache_write_input_tokens", "cacheWrite",
        "cacheWriteTokens",
    ),
}  # fmt: skip
CACHE_IN_INPUT = frozenset(("codex", "gemini", "qwen"))  # whose input is all that was read


def tokens_out(usage: Any) -> int | None:
    """The tokens that the model wrote, if that is stated."""
    return first_count(as_object(usage), USAGE["outputTokens"])


def first_count(told: dict[str, Any], names: Iterable[str]) -> int | None:
    """The first count that an object states by some names."""
    for name in names:
        if name in told and (count := as_count(told[name])) is not None:
            return count
    return None


def remember(known: dict[Any, Any], key: Any, value: Any, most: int = MAX_FINISHED) -> None:
    """Remember a value among the last ones."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]


# ---------------------------------------------------------------- conversations
#
# The moves that make events of what an agent's lines say.
# Members of a foreign line in, events in Cursor's vocabulary out. It must not know runs or writers.

SPOKEN_PLACES: Places = (("message", "content", "text"), ("message", "content"), ("text",))


def places_in(*rows: str) -> dict[str, Places]:
    """Places by type of line; each row is a type, or - for lines without one, and its paths."""
    split = (row.split() for row in rows)
    return {
        kind.strip("-"): tuple(tuple(path.split(".")) for path in paths) for kind, *paths in split
    }


SHARED_TYPES = frozenset(("user", "assistant", "error", "result"))  # other agents' as well
CURSOR_TYPES = SHARED_TYPES | word_set(
    "system thinking tool_call interaction_query connection retry turn_ended"
)
CURSOR_ALONE = CURSOR_TYPES - SHARED_TYPES - {"system"}
ACT_TYPES: Sequence[str | None] = ("assistant", "thinking", "tool_call")  # of the agent itself
STRUCTURED = ("structured_output", "structured_result")  # of results: the answer by a schema


def structured_answer(result: Mapping[str, Any]) -> str:
    """The answer by a schema that a result holds, as JSON, or ""."""
    asked = next((result[key] for key in STRUCTURED if result.get(key) is not None), None)
    return "" if asked is None else encode_json(asked).decode()


KINDS = dict.fromkeys(("user", *ACT_TYPES), ACT) | {"result": END}
PLAN = "plan"  # the subtype of words that a question of the agent's holds
CERTAIN_DELTA = object()  # a ``timestamp_ms``: the event is a delta, not a replay


class EventMaker(Struct, frozen=True, gc=False):
    """What stages want of events, and how translators make them: of the type ``event_type``.

    ``native``: the input's own lines are printed. ``converts``: the made lines are printed;
    ``encodes``: they are printed or redacted.
    ``blanks``: fragments, which can't be redacted, are blanked. ``unread`` are the types of words
    that no stage reads; ``silent``: no stage reads any, nor deltas. ``sums``: a stage reads what a
    run took. ``strict``: classes of redaction for which lines must be Cursor's own.
    """

    event_type: type[Event]
    native: bool = False
    converts: bool = False
    encodes: bool = False
    blanks: bool = False
    unread: tuple[str, ...] = ()
    silent: bool = False
    sums: bool = True
    strict: str = ""


# Lines of words up to their text, by type: templates take a third of the time of dicts.
SAID = {
    "thinking": b'thinking","subtype":"delta","text":%b',
    "assistant": b'assistant","message":{"role":"assistant","content":[{"type":"text","text":%b}]}',
    "user": b'user","message":{"role":"user","content":[{"type":"text","text":%b}]}',
}


class Translator:
    """Translates a conversation with an agent: a few moves turn its lines into our events.

    Each agent's class overrides ``read``, which makes the moves of a line. What it remembers of a
    run are the attributes in ``of_run``: the next one begins with those of the class.

    By type of line, ``places`` are the paths of pieces of words, ``fragments`` those of other
    pieces that another line repeats. ``names_session`` says where lines name the session if not in
    session_id ("": those of any type). Lines of ``delta_types`` hold nothing but pieces of words;
    those of ``own_types`` are no other agent's, whatever they hold (no ends: these have to show
    whose they are). Where its ``init_names`` the session, other lines may lack it; ``named_late``:
    only the last line names it; ends of the types in ``named_ends`` always name it;
    ``takes_strays``: its errors may come before all else, and name nobody.
    """

    name: ClassVar[str]
    translates: ClassVar[bool] = True
    own_types = delta_types = named_ends = frozenset[str | None]()
    places = fragments = places_in()
    names_session: ClassVar[Mapping[str | None, str]] = {}
    init_names = named_late = takes_strays = False
    tells = b""  # what shows that a delta's line states tokens
    saved = False  # is it a session that the agent saved? No line ends its runs.
    clocks = False  # lines are written when things happen: calls that overlap state their times
    names_servers = False  # do names of unknown tools begin with their server's?
    exit_code = ""  # an expression for the last line of a command's output, which states its status
    good_stops: Collection[str] = ()  # if given: reasons to stop that are no failure
    stop_member = "stopReason"  # that states the reason
    reason: Any = None  # why the agent stopped, as it says
    of_run: tuple[str, ...] = ()

    def in_background(self) -> Iterable[str]:
        """The names of what still runs in the background after a run's end."""
        return ()

    def __init__(self, maker: EventMaker, session: str | None = None) -> None:
        self.maker = maker
        self.agent = self.name  # or a relative's
        self.session = session
        self.unnamed: str | None = None  # what keeps its lines together if no session does
        self.skipped_types = tuple(self.delta_types) if maker.silent else ()
        self.names_agent = False  # an event showed whose it is
        self.has_aside = False  # lines showed that there was a run, but nothing else of it
        self.cwd: Any = None  # as lines state it, if no init does
        self.model: Any = None  # the agent's own, of the last line that names one
        # The current line.
        self.event = Event()
        self.events: list[Event] = []  # its translation
        self.original: Any = None  # if it is printed
        self.parent: str | None = None  # the call of its sub-agent
        self.stamp: Any = None  # when it was written, as it says
        # The current run, or the last one.
        self.begun = False
        self.latest = ""  # the type of its last event, but errors, notices, and sub-agents' events
        self.silent_reason = ""  # why a success isn't one, unless the agent goes on
        self.forget_run()

    def forget_run(self) -> None:
        self.said, self.counted = Said(), Counted()
        self.calls: dict[str, ForeignCall] = {}  # open ones
        self.finished: dict[str, Any] = {}  # IDs of calls -> where they ended, if that matters
        self.fatal_error = ""  # an error that fails the run, unless a result follows
        self.failure: str | None = None  # the word for it
        for name in self.of_run:
            setattr(self, name, getattr(type(self), name))

    @property
    def ended(self) -> bool:
        """Nothing was said or done since the last result."""
        return self.latest == "result"

    def close(self) -> list[Event]:
        """The events that are due at the end."""
        self.events, self.original = [], None
        self.finish()
        for event in self.events:
            event.unprinted = self.maker.native
        return self.events

    @property
    def aside(self) -> str:
        """The kind of its lines that say nothing in our words."""
        return SAVED if self.saved else ASIDE

    @property
    def in_turn(self) -> bool:
        return self.begun and self.latest != "result"

    def goes_on_as(self, _line: Node, _name: str) -> bool:
        """Does a line that names another session continue this one?"""
        return False

    def is_answered(self, _line: Node) -> bool:
        """Does a line that names no session answer what was asked in this one?"""
        return False

    @property
    def settled(self) -> bool:
        """Is its run over at the end of a FILE, though no line says so?"""
        return self.saved

    def read(self, line: Node) -> None:
        """Make the moves of a line."""

    def finish(self) -> None:
        """Make the moves that are due at the end of the input, or of a saved session's FILE."""
        if self.fatal_error:
            self.end(self.fatal_error)
        elif self.maker.converts and self.has_aside and not self.latest:
            self.begin()  # its lines have no counterpart: an unfinished run stands for them

    @classmethod
    def session_in(cls, event: Any) -> str | None:
        """The session that a line names."""
        if event.session_id:
            return str(event.session_id)
        paths = cls.names_session.get(event.type) or cls.names_session.get("", "session_id")
        return first_text(*map(Node(details(event)).__getitem__, paths.split())) or None

    def translate(self, event: Event, *, strange: bool = False) -> Sequence[Event]:
        """Translate an event; one without a counterpart, or a stranger's, is returned itself."""
        maker, self.event, self.events = self.maker, event, []
        early = not self.latest and not event.session_id  # a line that follows may name it
        if not event.session_id:
            event.session_id = self.session
        if maker.native:
            kind = event.type or ""
            self.original = OriginalLine(event.raw, self.places.get(kind, ()))
            self.blank(self.fragments.get(kind, ()))
        line = details(event)
        self.stamp = line.get("timestamp")
        if line and not strange:  # it isn't nested too deeply
            self.read(Node(line))
        if self.stamp is not None and (self.events or not self.saved):
            self.counted.last = self.stamp
            if self.counted.first is None:
                self.counted.first = self.stamp
        if self.events:
            first = self.events[0]
            if self.maker.converts and not (self.begun or self.names_agent):  # its init is lost
                first.decoded = details(first) | {"converted_from": self.agent}
                first.raw = encode_json(first.decoded)
            self.names_agent = True
            return self.events
        if event.kind is ACT and event.type not in ACT_TYPES:
            event.kind = EARLY if early and not self.saved else self.aside
        self.has_aside |= event.kind == ASIDE
        event.original = self.original
        event.unprinted = not maker.native and event.type not in CURSOR_ALONE
        return (event,)

    def blank(self, places: Places) -> None:
        """Blank pieces of the line that another one repeats whole."""
        if self.maker.blanks and places:
            self.event.raw = self.original.raw = blank_strings(self.event.raw, places)

    def make(self, kind: str, subtype: str | None = None, /, **members: Any) -> None:
        line = make_line(kind, subtype, self.session, members)
        ids = line.get("call_id"), line.get("parent_tool_use_id")
        self.add_event(kind, subtype, *ids, line)

    def add_event(
        self, kind: str, subtype: str | None, call_id: str | None, parent: str | None, line: Any
    ) -> Any:
        """Add an event to the translation, by its line, or what makes that when somebody reads it;
        None: it has words, and its line is made with these."""
        means = INIT if subtype == "init" else KINDS.get(kind, OTHER)
        ids = self.session, call_id, parent
        new = self.maker.event_type(kind, subtype, *ids, b"", line, self.original, means)
        if line is not None and self.session is None and self.unnamed is not None:
            new.decoded = details(new) | {"unnamed_session": self.unnamed}
        if line is not None and self.maker.encodes:
            new.raw = encode_json(details(new))
        new.stamp = self.stamp
        self.events.append(new)
        if not (kind == "error" or subtype in NOTICES or parent):
            self.latest = kind
        return new

    def words(self, kind: str, text: str) -> Any:
        """Add an event with words."""
        maker, parent, thought = self.maker, self.parent, kind == "thinking"
        if self.silent_reason and kind == "assistant" and parent is None and text.strip():
            self.silent_reason = ""
        if maker.converts and kind == "assistant" and parent is None:
            self.said.words.append(text)
        asks = kind == "user" and all(made.type == "system" for made in self.events)
        images = images_in(self.event.raw) if asks else []
        new = self.add_event(kind, "delta" if thought else None, None, parent, None)
        if maker.event_type is SpokenEvent and thought:
            new.text = text
        elif maker.event_type is SpokenEvent:
            new.message = Message(text)
        if self.original or not (maker.encodes or kind == "user"):  # that may hold images
            return new
        ids = b"" if parent is None else b',"parent_tool_use_id":%b' % encode_json(parent)
        if self.session is not None:
            ids += b',"session_id":%b' % encode_json(self.session)
        elif self.unnamed:
            ids += b',"unnamed_session":%b' % encode_json(self.unnamed)
        said = SAID[kind] % encode_json(text)
        if images:
            blocks = encode_json([{"type": "image", "url": image} for image in images])
            said = b"%b,%b}" % (said.removesuffix(b"]}"), blocks.removeprefix(b"["))
        new.raw = b'{"type":"%b%b}' % (said, ids)
        return new

    # The moves.

    def begin(self, **members: Any) -> None:
        if self.counted.tokens or self.latest in ACT_TYPES:  # of a run that did not end
            self.counted = Counted()
        self.begun, self.counted.first, self.silent_reason = True, self.stamp, IDLE
        members |= {"timestamp_ms": as_time(self.stamp)}
        self.counted.first_model = members.get("model")
        self.said.words.clear()
        self.make("system", "init", converted_from=self.agent, **members)

    def begin_once(self, **members: Any) -> None:
        """Begin, unless that was done since the last end."""
        if not self.begun or self.ended:
            self.begin(**members)

    def begin_message(self, identity: Any = None) -> None:
        """The words that follow belong to a message; they begin a line behind another message's.
        One without an ID differs from all others."""
        self.said.begun[self.parent] = object() if identity is None else identity

    def ask(self, text: Any) -> None:
        self.said.spoken.clear()
        self.words("user", as_text(text))

    def say(self, text: Any, kind: str = "assistant", *, delta: bool = False) -> None:
        """Add the part of a text that wasn't said yet: deltas may be followed by their whole text,
        which stays whole where the agent's own line is printed. Messages begin lines."""
        maker, text = self.maker, text if type(text) is str else ""
        rest = self.said.rest(kind, self.parent, text, delta=delta)
        whole = maker.native and kind == "assistant"
        if self.said.begun and rest and kind == "assistant" and not whole:
            last = self.said.spoken.get(self.parent)
            message = self.said.begun.pop(self.parent, last)
            self.said.spoken[self.parent] = message
            rest = rest if last in (None, message) else f"\n{rest}"
        if rest or delta:
            part = self.words(kind, text if whole else rest)
            if whole and delta and maker.blanks:
                part.timestamp_ms = CERTAIN_DELTA
        elif whole:
            self.repeat(kind, text)

    def repeat(self, kind: str, text: Any) -> None:
        """Add words that were said before: only where the line is printed, and without meaning."""
        if self.maker.native:
            latest, reason, event = self.latest, self.silent_reason, self.event
            part = self.words(kind, as_text(text))
            part.kind = event.kind if event.type in ACT_TYPES else self.aside
            self.latest, self.silent_reason = latest, reason

    def think(self, text: Any, *, delta: bool = False) -> None:
        self.say(text, "thinking", delta=delta)
        if not delta:
            self.make("thinking", "completed", parent_tool_use_id=self.parent)

    def call(self, identity: Any, name: Any, given: Any, *, once: bool = False) -> None:
        """Start a call; ``given``: its arguments. ``once``: if it has finished, the line only
        repeats that. A to-do list may change while its call is open: it starts again."""
        identity, name, parent = as_text(identity), as_text(name) or "?", self.parent
        earlier = self.calls.get(identity)
        if once and identity in self.finished:
            return
        self.finished.pop(identity, None)
        if not parent:
            self.silent_reason = ""
        if earlier and (earlier.name, earlier.arguments) == (name, given):
            return
        tool, server = translate_tool(name), ""
        if tool == name and "_" in name and self.names_servers:
            tool, server = "mcp", name.partition("_")[0]
        since = earlier.started if earlier else self.stamp
        called = ForeignCall(identity, self.session, parent, tool, name, given, since, server)
        if earlier is None or (tool == "updateTodos" and earlier.arguments != given):
            self.said.spoken.clear()
            for each in called.by_file():
                self.add_event("tool_call", "started", each.id, parent, each.start)
        self.calls[identity] = called
        if not self.clocks and len(self.calls) > 1:
            siblings = [call for call in self.calls.values() if call.parent == parent]
            for call in siblings:
                call.overlaps = call.overlaps or len(siblings) > 1

    def answer(
        self, identity: Any, content: Any, *, error: Any = None, failed: bool = False, **more: Any
    ) -> None:
        """Complete a call, or all that a patch is: it returned a content, perhaps in blocks, or an
        error. For ``more`` of its outcome see ``Answer``."""
        identity = as_text(identity)
        if identity in self.finished:
            return
        if error is not None:
            failed, content = True, error_message(error) or content
        content = content_text(content) or content if isinstance(content, list) else content
        called, text = self.calls.pop(identity, None), as_text(content)
        called = called or ForeignCall(identity, self.session, self.parent)
        if self.exit_code and called.tool == "shell" and (end := re.search(self.exit_code, text)):
            more["code"], content = int(end[1]), text[: end.start()]
        if called.tool == "shell" and not failed and more.get("code") is None:
            more["begun"] = more.get("begun") or goes_on(called, content)
        self.mark_finished(identity)
        self.said.spoken.clear()
        for each in called.by_file():
            made = Answer(each, content, failed, until=self.stamp, **more).line
            self.add_event("tool_call", "completed", each.id, each.parent, made)

    def end(self, error: Any = None, /, *, subtype: str | None = None, **members: Any) -> None:
        """End the run: as an error if one is given, or with another subtype ("": none). A false
        success becomes an error; an error states its word. ``session_id``: one that only the last
        line names."""
        counted, session = self.counted, self.session
        if subtype is None:
            subtype = "error" if error else "success"
        members["usage"] = self.usage_in(members.get("usage")) or counted.usage() or None
        members = {"error": error or None} | members
        if not members.get("result") and (asked := structured_answer(members)):
            members["result"] = asked
        if subtype == "success" and (flaw := self.flaw(Node(members))):
            subtype, members = "error", members | dict(zip(("error", "failure"), flaw, strict=True))
        if subtype not in ("success", ""):
            reason = [members.get(name) for name in ("error", "errors", "message", "result")]
            said = f"{members.get('api_error_status')} {error_message(reason)} {subtype}"
            told = self.failure if self.fatal_error else None
            word = members.get("failure") or failure_in(said) or told
            members["failure"] = word or ("error" if error_message(reason) else None)
        stated = {"is_error": subtype != "success"} if subtype else {}
        if members.get("duration_ms") is None:
            members["duration_ms"] = elapsed(counted.first, self.stamp or counted.last)
        known = {"total_cost_usd": counted.dollars, "model": self.model}
        members = known_members(known) | members
        members["models"] = counted.other_models(sorted(as_object(members.get("modelUsage"))))
        if self.maker.converts and subtype == "success" and type(members.get("result")) is not str:
            members["result"] = join_surrogates("".join(self.said.words))
        self.session = first_text(members.pop("session_id", None)) or session
        self.make("result", subtype or None, **stated, **members)
        self.session = session
        self.forget_run()

    def flaw(self, result: Any) -> Flaw | None:
        """Why a result that says success, with these members, isn't one: something stopped the
        agent, and nothing followed; it never did anything, and took no tokens; its last words are
        its host's error, which took none; or it stopped for a reason other than being done."""
        answer, (words, tokens) = result["result"], self.last_words(result)
        reason = self.silent_reason
        silent = not answer or (isinstance(answer, str) and answer.strip() in ("", reason))
        stops = (self.stop_flaw(*stop, words) for stop in self.stop_reasons(result))
        stopped = next(filter(None, stops), None)
        sure = is_idle(result) and not stopped if reason == IDLE else silent
        if reason and sure and not self.saved:
            return reason, failure_in(reason)
        error = ERROR_ANSWER.search(words) if tokens == 0 else None
        if error and (error[1] or not self.finished):  # a host refuses at once
            where = "ends in" if error.start() else "is only"
            reason = f"its answer {where} an error: {(error[1] or error[0]).strip()}"
            return reason, failure_in(reason)
        return stopped

    def stop_reasons(self, _result: Any) -> Iterable[tuple[str, Any]]:
        """Why the agent stopped, as its lines say: the names of members, and reasons."""
        return [(self.stop_member, self.reason)]

    def stop_flaw(self, member: str, stop: Any, words: str) -> Flaw | None:
        """What is wrong with a run that was stopped for a reason. Where that is an error, the last
        words tell it."""
        spelling = re.sub(r"(?<=^aborted)_.*|[_ -]", "", as_text(stop).lower())
        unknown = (None, "it was stopped") if self.good_stops and stop else None
        known = None if spelling in self.good_stops else STOPS.get(spelling, unknown)
        if known is None:
            return None
        failure, why = known
        told = words.strip() if failure is None else ""
        return told or f"{why} ({member} {stop})", failure or (None if told else "error")

    def last_words(self, result: Any) -> tuple[str, int | None]:
        """The last message of a run, with the tokens that it took: as its result has them."""
        return as_text(result["result"]), tokens_out(result["usage"])

    def usage_in(self, tokens: Any) -> dict[str, int]:
        """Tokens as Cursor counts them: what was read from a cache, or written to one, is no part
        of the input."""
        told = as_object(tokens)
        usage = known_members({name: first_count(told, own) for name, own in USAGE.items()})
        if self.agent in CACHE_IN_INPUT and "inputTokens" in usage:
            cached = usage.get("cacheReadTokens", 0) + usage.get("cacheWriteTokens", 0)
            usage["inputTokens"] = max(usage["inputTokens"] - cached, 0)
        return usage

    def add_usage(self, tokens: Any, identity: Any = None, cost: Any = None) -> dict[str, int]:
        """Add the tokens of a message, less those that a line of it stated before, and its dollars;
        returns its tokens."""
        counted = self.counted
        usage = counted.messages.get(identity, {})
        if identity is None or counted.stated != (identity, tokens):  # nearly always it repeats
            before, usage = usage, usage | self.usage_in(tokens)
            for name, count in usage.items():
                counted.tokens[name] = counted.tokens.get(name, 0) + count - before.get(name, 0)
            if identity is not None:
                remember(counted.messages, identity, usage)
                counted.stated = identity, tokens
        if (dollars := as_dollars(cost)) is not None:
            counted.dollars = (counted.dollars or 0) + dollars
        return usage

    def use_model(self, model: Any) -> None:
        """Note which model works, if a line says so: for the agent itself, or for a sub-agent."""
        if not isinstance(model, str) or not model or model.startswith("<"):  # the host itself
            return
        if not self.parent:
            self.model = model
        self.counted.use_model(model)

    def report_error(
        self, message: Any, *, fatal: bool = False, delay: Any = None, kinds: Sequence[Any] = ()
    ) -> None:
        """Make an error event; ``fatal``: the run has failed unless a result follows. After
        ``delay`` milliseconds the agent tries again. ``kinds``: a status of HTTP, or names."""
        text = error_message(message)
        words = map(failure_in, [text, *(f"status {as_word(kind)}" for kind in kinds)])
        failure = next(filter(None, words), None)
        if fatal and not self.ended:
            self.begin_once()
            self.fatal_error, self.failure = text or "error", failure
        self.make("error", message=text, failure=failure, retry_delay_ms=delay)
        if fatal and self.ended:  # a later turn failed before it began
            self.end(text or "error", failure=failure)

    def mark_finished(self, identity: Any, place: Any = None) -> None:
        """What is said of a call from here on only repeats, or is no action."""
        if identity := as_text(identity):
            remember(self.finished, identity, place)


class Saved(Translator):
    """A session that an agent saved: a prompt opens a run, and the next one ends it."""

    saved = True
    answer_due = False  # the agent has yet to answer
    took: int | None = None  # the run's milliseconds, if a line says so

    def finish(self) -> None:
        if self.saved:
            self.end_turn("ended without an answer")
        else:
            super().finish()

    def begin_prompt(self, *texts: str) -> None:
        """Begin the run of a prompt, in one text or more; that ends the run before."""
        self.end_turn("superseded by the next prompt")
        self.go_on()
        for text in texts:
            self.ask(text)

    def go_on(self) -> None:
        """The agent works, whatever went wrong before: on a prompt, or without one."""
        self.fatal_error = ""
        if not self.in_turn:
            self.answer_due, self.took = False, None
            self.begin(cwd=self.cwd, model=self.model)
            self.imply()

    def end_turn(self, why: str) -> None:
        """End the open run, if any, before the current line: well if the agent had the last word,
        and no call is open."""
        if not self.in_turn:
            return
        good = self.latest == "assistant" and not (
            self.calls or self.fatal_error or self.answer_due
        )
        took = self.took or elapsed(self.counted.first, self.counted.last)
        if good or self.fatal_error:
            self.end(self.fatal_error, duration_ms=took)
        else:
            self.end(why, subtype=IN_THE_MIDDLE, duration_ms=took)
        self.imply()

    def stop(self, error: str = "interrupted by the user", **members: Any) -> None:
        """End the open run, if any, as the current line says."""
        if self.in_turn:
            self.end(error, **members)

    def imply(self) -> None:
        """No line states the last event: where the agent's own lines are printed, it isn't."""
        self.events[-1].unprinted, self.events[-1].original = self.maker.native, None


IDLE = "the agent said nothing and did nothing"
Flaw: TypeAlias = "tuple[str, str | None]"  # why a run failed, and the word for it, if it has one
# A whole answer, or the end of one, that its host wrote: Gemini CLI's relatives, Claude Code.
ERROR_ANSWER = regex(
    r"(?<![ \t\"'`(<>*:])(\[API Error: (?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*\])"
    r"(?:\n(?:Please wait|Possible quota|You have|We a|Slow response)(?s:.*))?\s*\Z"
    r"|\AUnknown (?:skill|command|slash command): .+\s*\Z"
)


def is_idle(result: Any) -> bool:
    """Does a result hold no words, and state that the model wrote none?"""
    answer, turns, tokens = result["result"], result["num_turns"], tokens_out(result["usage"])
    silent = not (answer.strip() if isinstance(answer, str) else answer)
    return silent and tokens == 0 and turns != 0


class Cursor(Translator):
    """agentfmt's own vocabulary: its lines are never translated."""

    name = "cursor"
    names_session: ClassVar = {"": "unnamed_session"}  # of a conversion, where no line does
    translates = False
    named_ends = frozenset(("result",))


# ---------------------------------------------------------------- Claude
#
# Claude Code and its relatives, Amp and Qwen Code.
# A line in, moves out. A class has `read`, and the places of words. It must not know runs.

# Types of lines between Claude and its host.
CONTROL_TYPES = {"control_request", "control_response", "control_cancel_request", "keep_alive"}
# Types of lines that only saved sessions hold, some of which name no session.
SAVED_TYPES = word_set(
    "summary file-history-snapshot attachment progress queue-operation permission-mode mode "
    "ai-title custom-title agent-name last-prompt pr-link frame-link worktree-state "
    "bridge-session relocated started atis-latch"
)
CLAUDE_INIT = {"permission_mode": "permissionMode"} | {
    name: name for name in "apiKeySource cwd model permissionMode tools mcp_servers".split()
}
COSTS_GO_ON = [2, 1, 277]  # from this version on, costs include those of processes before


class Claude(Translator):
    """`claude -p --output-format stream-json --verbose`, and its relatives Amp and Qwen Code.

    An assistant event holds blocks of text, thinking and calls; a user event holds their results,
    or a prompt. With --include-partial-messages, stream events with deltas come first.
    https://code.claude.com/docs/en/headless
    """

    name = "claude"
    named_ends = frozenset(("result",))
    init_names = True
    own_types = frozenset(CONTROL_TYPES | {"stream_event", "rate_limit_event"})
    names_session: ClassVar = {"": "sessionId"}
    delta_types = frozenset(("stream_event",))
    tells = b'"message_delta"'
    places = places_in("stream_event event.delta.text event.delta.thinking")
    fragments = places_in("stream_event event.delta.partial_json")

    of_run = ("final", "stopped_agent", "words_of_host", "resets")
    woken = False  # by the end of a task, and nothing was said since
    final: Mapping[str, Any] = {}  # the agent's own last line
    by_schema = False  # a schema is given for the answer
    last_call: str | None = None  # the tool that the agent itself used last
    stopped_agent = ""  # a sub-agent in the background; the agent said nothing since
    words_of_host = ""  # in the agent's place, silent since
    host_failed = False  # they are an error
    resets: int | None = None  # when the limit reached resets, in seconds since 1970

    def __init__(self, maker: EventMaker, session: str | None = None) -> None:
        super().__init__(maker, session)
        self.streamed: dict[str | None, Any] = {}  # IDs of messages that come in pieces, by caller
        self.denied: set[str] = set()  # calls that were denied permission
        self.background: dict[str, Any] = {}  # tasks in the background: call -> what it is about
        self.running: set[str] = set()  # calls whose sub-agents have not ended
        self.ongoing: dict[str, str] = {}  # calls whose tasks have not ended -> their names
        self.tasks: dict[str, str] = {}  # task -> its call
        self.titles: dict[str, str] = {}  # task in the background -> its command, or what it does
        self.dismissed: set[str] = set()  # tasks that the agent itself stopped

    def read(self, line: Node) -> None:
        kind, subtype = self.event.type, self.event.subtype
        self.parent = self.event.parent_tool_use_id
        if kind == "stream_event":
            self.stream(line.value.get("event"))
        elif kind in ("assistant", "user"):
            self.message(kind, line.value)
        elif kind == "result":
            self.result(line)
        elif kind == "rate_limit_event" and line["rate_limit_info.status"] == "rejected":
            self.resets = as_count(line["rate_limit_info.resetsAt"])
        elif kind == "error":
            self.report_error(error_text(self.event))
        elif subtype == "init":
            self.init(line)
        elif kind in CONTROL_TYPES:
            self.event.kind = RUNLESS
        elif as_text(line["hook_name"]).endswith(":resume"):
            self.event.kind = EARLY
        elif subtype == "permission_denied":
            self.denied.add(as_text(line["tool_use_id"]))
        elif subtype in CLAUDE_TASKS:
            self.task(subtype, line)
        elif kind == "system":
            self.notice(subtype, line)

    def notice(self, subtype: str | None, line: Node) -> None:
        """What Claude's host says of the agent's work."""
        if subtype == "informational" and line["preventContinuation"] is True:
            self.silent_reason = as_text(line["content"]).strip() or self.silent_reason
        elif subtype == "api_retry":  # the last line of a run that is killed while it waits
            why = filter(None, map(as_word, (line["error"], line["error_status"])))
            self.report_error(" ".join(why), delay=line["retry_delay_ms"] or 0)
        elif subtype == "post_turn_summary" and line["status_category"] == "blocked":
            needs = first_text(line["needs_action"], line["status_detail"])
            self.make("system", "blocked", message=needs)  # the result that follows is a success

    def init(self, line: Node) -> None:
        """Begin a run, unless a task's end wakes the agent in the middle of one."""
        if self.woken and self.in_turn:
            return
        self.woken, self.stopped_agent, self.last_call, self.final = False, "", None, {}
        self.by_schema = "StructuredOutput" in as_list(line["tools"])
        told = {CLAUDE_INIT[key]: line[key] for key in line.value if key in CLAUDE_INIT}
        version = as_text(line["claude_code_version"])
        if [int(part) for part in re.findall(r"[0-9]{1,9}", version)] >= COSTS_GO_ON:
            told["claude_code_version"] = version
        self.begin(**told)

    def task(self, subtype: str, notice: Any) -> None:
        task = as_text(notice["task_id"])
        call = as_text(notice["tool_use_id"]) or self.tasks.get(task, "")
        if subtype == "task_started":
            self.tasks[task] = call
            self.ongoing[call] = as_text(notice["description"]) or task
        elif subtype == "task_notification" or notice["patch.status"] not in TASK_STATES:
            states = {as_text(notice["status"]), as_text(notice["patch.status"])}
            stopped = not states.isdisjoint(("stopped", "killed"))
            if stopped and task in self.dismissed:  # as the agent wanted
                self.background.pop(call, None)
            elif stopped and call in self.running:
                about = self.background.get(call, {}).get("description")
                self.stopped_agent = as_text(about) or as_text(notice["summary"]) or task
            self.running.discard(call)
            self.ongoing.pop(call, None)
        if subtype == "task_notification":
            self.woken = True
            if call in self.background:
                took = {"status": notice["status"], "duration_ms": notice["usage.duration_ms"]}
                self.make("system", subtype, call_id=call, **self.background.pop(call), **took)

    def start_task(self, call: ForeignCall, task: Any, member: str, argument: str) -> None:
        """Note a task that a call started in the background. What it is about is an ``argument`` of
        the call, and a ``member`` of its end."""
        task, about = as_text(task), as_text(call.args().get(argument))
        if task:  # else it would be each call's that names none
            self.tasks[task], self.titles[task] = call.id, about
        self.background[call.id] = {member: about}
        self.ongoing.setdefault(call.id, about or call.tool)

    def in_background(self) -> Iterable[str]:
        return self.ongoing.values()

    def finish(self) -> None:
        super().finish()
        if self.running and self.ended:
            self.end("a sub-agent in the background never ended")
        elif self.ended and not self.saved and (flaw := self.unanswered()):
            self.end(flaw[0], failure=flaw[1])

    def message(self, role: str, line: dict[str, Any]) -> None:
        """A message of the agent's, a prompt, or what the host wrote in place of either."""
        message = as_object(line.get("message"))
        content = message.get("content")
        if role == "assistant":
            failed = any(map(line.get, FAILED_MARKS))
            if failed or message.get("model") == SYNTHETIC:
                self.hear_host(joined_text(content).strip(), line.get("error"), failed=failed)
                return
        elif role == "user" and (heard := joined_text(content)):
            printed = LOCAL_COMMAND.match(heard)
            if printed and not self.ended:
                self.silent_reason = printed[2].strip() if printed[1] == "stderr" else ""
            if not self.saved and (printed or line.get("isSynthetic") is True):
                self.event.kind = RUNLESS  # from a hook, a summary or a host command: no run
                return
        self.woken = False
        if role == "assistant":
            self.follow_message(line, message)
        self.begin_message(message.get("id"))
        self.blocks(role, line, content)

    def follow_message(self, line: dict[str, Any], message: dict[str, Any]) -> None:
        """Note what the run's end needs of an agent's message."""
        if self.parent is None:
            self.final, self.stopped_agent, self.words_of_host = line, "", ""
            self.resets = None
        if model := as_text(message.get("model")):
            self.counted.use_model(model)
        if self.maker.sums:
            self.count(line, message)

    def count(self, line: dict[str, Any], message: dict[str, Any]) -> None:
        """Add the tokens of a message. Its lines are written while it is not over, and may state
        the output as it was when it began. Zeros, as of a proxy that counts nothing, are no sum."""
        identity = as_text(message.get("id") or line.get("uuid")) or object()  # Amp's have none
        whole = line.get("usageMetadata")  # Qwen counts at the end
        stated, counted = whole or message.get("usage"), self.counted
        if not stated:
            return
        tokens = self.add_usage(stated, identity)
        counted.unknown.pop(identity, None)
        if not any(tokens.values()):
            counted.unknown[identity] = tuple(USAGE)
        elif not whole and message.get("stop_reason") is None:
            blocks = objects(message.get("content"))
            said = [as_text(each.get("text") or each.get("thinking")) for each in blocks]
            given = [each["input"] for each in blocks if each.get("input") is not None]
            size = counted.sizes.get(identity, 0) + len("".join(said)) + len(encode_json(given))
            remember(counted.sizes, identity, size)
            if size > tokens.get("outputTokens", size) * MAX_PER_TOKEN:
                counted.unknown[identity] = ("outputTokens",)

    def blocks(self, role: str, line: dict[str, Any], content: Any) -> None:
        say = self.say if role == "assistant" else self.hear
        if isinstance(content, str):
            say(content)
        for block in objects(content):
            kind, answered, name = map(block.get, ("type", "tool_use_id", "name"))
            if kind == "tool_result" or type(answered) is str:
                self.returned(block, line)  # also an assistant's: of the model's servers
            elif type(text := block.get("text")) is str:
                say(text)
            elif type(text := block.get("thinking")) is str:
                self.think(text)
            elif type(name) is str:
                self.use_tool(name, block)
            elif role == "assistant" and type(kind) is str:
                self.silent_reason = ""  # it may be an act, of a kind that is new

    def use_tool(self, name: str, block: dict[str, Any]) -> None:
        given, tool = block.get("input"), translate_tool(name)
        task = task_of(given) if tool in ("await", "taskStop") else ""
        work = self.titles.get(task)
        self.call(block.get("id"), name, {"task_id": work} if work else given)
        self.last_call = self.last_call if self.parent else name
        if tool == "taskStop":
            self.dismissed.add(task)

    def hear_host(self, text: str, error: Any, *, failed: bool) -> None:
        """What the host writes in the model's place, an error or a notice, is neither words, answer
        nor act of the agent. Zero tokens don't prove it: behind a proxy, real messages state
        none."""
        self.host_failed = failed or ERROR_ANSWER.match(text) is not None
        if self.parent is None:
            self.words_of_host = text
        if self.host_failed:
            self.report_error([text, error], fatal=self.saved)
        else:
            self.event.kind = RUNLESS

    def hear(self, text: str) -> None:
        """The words of a user line are a prompt, or the host's."""
        typed = without_context(text)
        if typed and not INJECTED.match(typed) and not typed.startswith(INTERRUPTED):
            self.ask(text)

    def stream(self, inner: Any) -> None:
        inner = as_object(inner)
        delta = as_object(inner.get("delta"))
        if "text" in delta:
            self.say(delta["text"], delta=True)
        elif "thinking" in delta or delta.get("type") == "signature_delta":
            self.think(delta.get("thinking"), delta=True)
        elif inner.get("type") == "message_start":
            identity = self.streamed[self.parent] = as_text(Node(inner)["message.id"])
            self.begin_message(identity)
            self.said.forget(self.parent)
        elif inner.get("type") == "message_delta" and self.streamed.get(self.parent):
            self.add_usage(inner.get("usage"), self.streamed[self.parent])
            self.counted.unknown.pop(self.streamed[self.parent], None)

    def result(self, line: Node) -> None:
        """Only the subtype success without is_error succeeds; an error keeps its members. An error
        may follow a result, with no line or work in between."""
        own, subtype = {**line.value}, self.event.subtype
        if (
            self.ended
            and subtype != "success"
            and own.get("num_turns") == own.get("duration_ms") == 0
        ):
            self.event.kind = RUNLESS
            return
        for denial in line.each("permission_denials"):
            if as_text(denial["tool_use_id"]) in self.calls:  # it got no result
                self.answer(denial["tool_use_id"], "", failed=True, kind="denied")
        stated = subtype or ""
        ended = stated if stated == "success" or stated.startswith("error") else ""
        if own.pop("is_error", None) not in (None, False) and not ended.startswith("error"):
            ended = "error"
        if ended != "success" and was_interrupted(line):
            own["error"] = "interrupted"
        now = as_time(self.stamp or self.counted.last)  # no clock: the stream may be old
        if self.resets and now and self.resets * 1000 > now:
            own["retry_after_ms"] = self.resets * 1000 - now
        repeats_host = own.get("result") == self.words_of_host != ""
        if repeats_host and self.latest == "assistant":  # whose words are the answer
            own.pop("result")
        for key in ("type", "subtype", "session_id"):
            own.pop(key, None)
        self.end(own.pop("error", None), subtype=ended, **own)
        if ended != "success":
            self.last_call = None

    def flaw(self, result: Any) -> Flaw | None:
        """A run fails, too, if the model or the host stopped it, if it lost a sub-agent, or owes an
        answer by a schema; and a host's error is no answer."""
        answer = as_text(result["result"]).strip()
        if flaw := super().flaw(result):
            return flaw
        if self.by_schema and not structured_answer(result.value):
            return "it gave no answer by the schema that was asked for", None
        if answer and answer == self.words_of_host:
            if self.host_failed:
                return f"its answer is only an error: {answer}", failure_in(answer)
            if self.latest == "tool_call":
                return f"its answer is only its host's: {answer}", "unfinished"
        return self.unanswered() if self.stopped_agent else None

    def stop_reasons(self, result: Any) -> Iterator[tuple[str, Any]]:
        if not structured_answer(result.value):
            last = Node(self.final)["message.stop_reason"]
            stop = last if self.saved else result["stop_reason"]
            yield "stop_reason", stop
        yield "terminal_reason", result["terminal_reason"]

    def unanswered(self) -> Flaw | None:
        """What the agent left going and never came back to, if anything."""
        if self.stopped_agent:
            what = "a sub-agent in the background was stopped before it ended"
            return f"{what}: {self.stopped_agent}", "unfinished"
        if self.last_call == "ScheduleWakeup":
            return "it was to be woken again, and never was", "unfinished"
        return None

    def last_words(self, result: Any) -> tuple[str, int | None]:
        """The same by the last line; for a saved session only that: not every output sums up
        tokens."""
        line = Node(self.final)
        words = content_text(line["message.content"]).strip()
        answer, tokens = super().last_words(result)
        stated = tokens_out(line["message.usage"] or line["usageMetadata"])
        by_line = words and (self.saved or stated is not None)
        return words or answer, stated if by_line else tokens

    def returned(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        identity, result = as_text(block.get("tool_use_id")), result_beside(line)
        called = self.calls.get(identity) or ForeignCall(identity)
        content, failed = block.get("content"), block.get("is_error") is True
        text, status = content_text(content), result.get("status")
        told = BACKGROUND_ID.match(text) if called.tool == "shell" else None
        marks = objects(line.get("tool_result_meta"))
        kinds = (mark.get("non_execution_kind") for mark in marks if mark.get("id") == identity)
        kind = "denied" if identity in self.denied else next(kinds, "")
        if not kind and status == "cancelled":
            kind = "rejected"
        if result.get("isAsync") is True or status == "async_launched":
            self.running.add(identity)
            task = result.get("agentId") or result.get("taskId")
            self.start_task(called, task, "description", "description")
        elif task := result.get("backgroundTaskId") or (told and told[1]):
            self.start_task(called, task, "title", "command")
        elif identity not in self.background:
            self.ongoing.pop(identity, None)
        more = {"kind": kind, "existed": result.get("type") == "update"}
        if called.tool == "shell":
            more["code"] = claude_code(text, result, failed=failed)
        if called.name == "Read" and not failed:
            read = as_object(result.get("file")).get("content")
            text = read or without_numbers(text)
        self.answer(
            identity,
            text or content,
            failed=failed,
            facts=claude_facts(called.tool, result),
            **more,
        )


FAILED_MARKS = ("error", "is_api_error_message", "isApiErrorMessage")


def result_beside(line: dict[str, Any]) -> dict[str, Any]:
    """What a call returned, as its host has it: in a stream, or in a session of either agent."""
    saved = line.get("toolUseResult") or line.get("toolCallResult")
    return as_object(saved or line.get("tool_use_result"))


def task_of(given: Any) -> str:
    """The ID of the task in the background that a call waits for, or stops."""
    args = as_object(given)
    return next((as_text(args[key]) for key in args if key.endswith("_id")), "")


MAX_PER_TOKEN = 8  # characters: a message with more is not fully counted yet
BACKGROUND_ID = regex(r"Command running in background with ID: (\w+)")
SYNTHETIC = "<synthetic>"  # the model of messages that the host wrote


# What a command of the host printed.
LOCAL_COMMAND = regex(r"\s*<local-command-(\w+)>(.*?)(?:</local-command-|\Z)", re.DOTALL)
# What the host adds to what a person typed.
INJECTED = regex(
    r"\s*(?:Caveat: The messages below|<(?:local-command-|bash-|system-reminder|task-notification"
    r"|ide_|user-memory-input|qwen:))"
)
INTERRUPTED = "[Request interrupted by user"  # begins what the host writes of a stop
DIAGNOSTIC = "[ede_diagnostic]"  # begins the error of a run that ended in the middle of something


def without_context(text: str) -> str:
    """What a person typed, without the elements that the host put before it and behind it."""
    elements, begin, end = [*CONTEXT.finditer(text)], 0, len(text)
    for each in elements:
        if text[begin : each.start()].strip():
            break
        begin = each.end()
    for each in reversed(elements):
        if each.start() < begin or text[each.end() : end].strip():
            break
        end = each.start()
    return text[begin:end].strip() if (begin, end) != (0, len(text)) else text


CONTEXT = regex(
    r"(?s)<(ide_[a-z_]{1,40}|system-reminder)>(?:(?!<(?:ide_|system-reminder>)).)*</\1>"
)


def was_interrupted(result: Node) -> bool:
    """Was the run aborted? Older versions state no reason, and then only print diagnostics."""
    reason, errors = as_text(result["terminal_reason"]), as_list(result["errors"])
    texts = map(as_text, errors or [result["result"]])
    diagnosed = all(text.startswith(DIAGNOSTIC) for text in texts)
    return reason.startswith("aborted") or (not reason and diagnosed)


CLAUDE_TASKS = ("task_started", "task_updated", "task_notification")
TASK_STATES = (None, "pending", "running", "paused")  # of tasks that have not ended

# Members of Cursor's results -> Claude Code's, by tool.
CLAUDE_FACTS: dict[str, dict[str, str]] = {
    "shell": {"stdout": "stdout", "stderr": "stderr", "executionTime": "durationMs"},
    "glob": {"files": "filenames", "totalFiles": "numFiles"},
    "grep": {
        "totalMatchedLines": "numLines", "totalMatches": "numMatches", "totalFiles": "numFiles",
        "files": "filenames",
    },
    "task": {"durationMs": "totalDurationMs"},
}  # fmt: skip


def claude_facts(tool: str, result: dict[str, Any]) -> dict[str, Any]:
    """Members of Cursor's result."""
    facts = {name: result.get(own) for name, own in CLAUDE_FACTS.get(tool, {}).items()}
    hunks = objects(result.get("structuredPatch")) if tool in ("edit", "write") else []
    started = result.get("isAsync") is True
    started = started or result.get("status") in ("async_launched", "teammate_spawned")
    if result.get("backgroundTaskId") or (tool == "task" and started):
        facts["isBackground"] = True
    if tool == "read":
        file = as_object(result.get("file"))
        facts["totalLines"] = file.get("totalLines")
        start, count = as_count(file.get("startLine")), as_count(file.get("numLines"))
        if start and count:
            facts["readRange"] = {"startLine": start, "endLine": start + count - 1}
    elif result.get("type") == "update" and result.get("structuredPatch") == []:
        facts = {"linesAdded": 0, "linesRemoved": 0}  # it wrote what was there
    elif hunks:
        lines = []
        for hunk in hunks:
            ranges = "oldStart oldLines newStart newLines".split()
            places = [as_count(hunk.get(name)) or 0 for name in ranges]
            lines += ["@@ -{},{} +{},{} @@".format(*places)]
            lines += map(as_text, as_list(hunk.get("lines")))
        facts = {**count_changes(lines)}
        path = as_text(result.get("filePath"))  # without it, a diff may look like a new file's
        head = [f"--- {path}", f"+++ {path}"] if result.get("type") == "update" else []
        facts["diffString"] = "\n".join(head + lines)
    elif tool == "grep":
        where = as_text(result.get("mode")).partition("_")[0]  # of the names of files
        facts = {"workspaceResults": {"": {where or "content": known_members(facts)}}}
    if tool != "shell":
        facts.setdefault("durationMs", result.get("durationMs"))
    return facts


def without_numbers(text: str) -> str:
    """A text without the numbers that Claude puts before the lines of a file, and without what it
    adds below."""
    content = text.partition("\n\n<system-reminder>")[0]
    return LINE_NUMBER.sub("", content) if LINE_NUMBER.match(text) else text


LINE_NUMBER = regex(r"^ {0,9}[0-9]{1,9}(?:\u2192|\t)", re.MULTILINE)


def claude_code(text: str, result: dict[str, Any], *, failed: bool) -> int | None:
    """The exit status of a command, as stated beside its result or in its text."""
    codes = [result.get("exit_code"), result.get("exitCode")]
    if text.startswith('{"') and '"exitCode"' in text:  # Amp
        codes.append(as_object(decoded(text)).get("exitCode"))
    if failed:
        codes.append(find_code(r"\A(?:Error: )?Exit code:? (-?[0-9]{1,9})\b", text))
    if text.startswith("Command: "):  # Qwen: its output comes before the status
        codes.append(find_code(r"(?m)^Exit Code: (-?[0-9]{1,9})$", text))
    return next((code for code in codes if type(code) is int), None)


# ---------------------------------------------------------------- Claude sessions
#
# What Claude Code and Qwen Code save: prompts, slash commands, sub-agents, tokens.
# A line in, moves out. A class has `read`, and the places of words. It must not know runs.
#
# Twins on purpose: what both save is one form with other members, so one class reads both and asks
# for either spelling; a class each would have to follow every change of the other.


class SavedClaude(Saved, Claude):
    """A session of Claude Code: the stream's lines with other names for some members, and more
    types; of Qwen Code: the same around Gemini's messages."""

    delta_types = frozenset[str | None]()
    side: bool | None = None  # is the session a sub-agent's own?

    def __init__(self, maker: EventMaker, session: str | None = None) -> None:
        super().__init__(maker, session)
        self.last_line: str | None = None  # the ID of the last line that has one
        self.next_session: str | None = None  # its ID after it was resumed
        self.typed: list[str] = []  # slash commands that are not shown yet
        self.early: dict[str, Any] = {}  # results whose calls are saved below them, by their IDs
        self.callers: dict[Any, str] = {}  # of the last lines of sub-agents, by their IDs

    def read(self, line: Node) -> None:
        kind, subtype = self.event.type, self.event.subtype
        own = as_streamed(line.value)
        self.last_line = own.get("uuid") or self.last_line
        self.parent = self.caller(own)
        alone = self.parent and not self.in_turn  # the host itself started this sub-agent
        if kind in ("assistant", "user", "tool_result") and not alone:
            self.message(kind, own)
            return
        self.event.kind = SAVED
        if subtype == "turn_duration":
            self.took = as_count(line["durationMs"])
        elif subtype == "api_error" and not self.parent and self.in_turn:
            self.report_error(error_text(self.event) or subtype, fatal=True)
        elif line["attachment.commandMode"] == "prompt" and self.in_turn and not self.parent:
            self.ask_all(content_text(line["attachment.prompt"]))  # typed while the agent worked

    def goes_on_as(self, line: Node, name: str) -> bool:
        """Does the session get a new ID here (resumed)? An open run keeps its first one."""
        parent = line["parentUuid"]
        if goes_on := parent is not None and parent == self.last_line:
            self.next_session = name
        return goes_on

    def begin(self, **members: Any) -> None:
        self.session = self.next_session or self.session
        super().begin(**members)

    def message(self, role: str, line: dict[str, Any]) -> None:
        self.cwd = line.get("cwd") or self.cwd
        hosts = role == "assistant" or self.parent or True in map(line.get, HOSTS_MARKS)
        text = "" if hosts else prompt_text(line)
        stops = text.startswith(INTERRUPTED)
        if text and not stops:
            self.take(text)
        super().message(role, line)
        if stops:  # what it stopped stands in the same line
            self.stop()

    def work(self) -> None:
        """The agent works on a prompt, or without one."""
        if not self.parent:
            if self.typed and not self.calls and self.latest == "assistant":
                self.end_turn("superseded by the next prompt")
            self.go_on()
            self.ask_all()

    def hear_host(self, text: str, error: Any, *, failed: bool) -> None:
        if failed:
            self.work()
        super().hear_host(text, error, failed=failed)

    def follow_message(self, line: dict[str, Any], message: dict[str, Any]) -> None:
        self.work()
        super().follow_message(line, message)
        if not self.parent:
            self.answer_due = message.get("stop_reason") == "tool_use"
        self.use_model(message.get("model") or line.get("model"))

    def take(self, text: str) -> None:
        """Take what a person typed: a prompt, or a slash command. A command waits: the host may
        answer it in the next line, else the agent gets it."""
        called = text.startswith("<command-")
        if called and (command := elements_in(text, "command-name")[:1]):
            given = elements_in(text, "command-args")[:1]
            self.take_command(" ".join(filter(None, command + given)))
        elif SLASH_COMMAND.match(text):
            self.take_command(text)
        elif text.startswith("<local-command-"):  # the host answered: the agent doesn't get it
            self.typed = self.typed[:-1]
        elif text.strip() and not INJECTED.match(text):
            self.begin_prompt()
            self.ask_all(text)

    def take_command(self, text: str) -> None:
        """Take a slash command; its line may say again what was typed."""
        if self.typed[-1:] != [text]:
            self.typed.append(text)

    def ask_all(self, *texts: str) -> None:
        for text in (*self.typed, *texts):
            self.ask(text)
        self.typed = []

    def hear(self, _text: Any) -> None:
        """The prompt is known, and the rest is the host's."""

    def returned(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """A result that is saved above its call waits for it, or for the end of the turn."""
        identity = as_text(block.get("tool_use_id"))
        if not (self.in_turn or self.parent):  # it was interrupted
            return
        if identity in self.calls or identity in self.finished:
            super().returned(block, line)
        else:
            remember(self.early, identity, (block, line, self.stamp, self.parent))

    def call(self, identity: Any, *call: Any, **how: Any) -> None:
        super().call(identity, *call, **how)
        self.take_early(as_text(identity))

    def take_early(self, *identities: str) -> None:
        now = self.stamp, self.parent
        for early in filter(None, [self.early.pop(identity, None) for identity in identities]):
            block, line, self.stamp, self.parent = early
            super().returned(block, line)
            self.stamp, self.parent = now

    def end(self, error: Any = None, /, **members: Any) -> None:
        self.take_early(*self.early)
        super().end(error, **members)

    def caller(self, line: dict[str, Any]) -> str | None:
        """The call whose sub-agent wrote a saved line: that of the line before, or an open one with
        the same prompt, or the last; else an ID in the line. None: the agent itself wrote it, or
        the whole file is the sub-agent's."""
        inner = line.get("isSidechain") is True
        if self.side is None and self.event.type in ("user", "assistant"):
            warms_up = joined_text(Node(line)["message.content"]) == WARM_UP
            self.side = inner and not (warms_up and line.get("agentId") is None)
        if not inner or self.side:
            return None
        own, caller = as_text(line.get("uuid")), self.callers.get(as_text(line.get("parentUuid")))
        if not caller:
            tasks = [call for call in self.calls.values() if call.tool == "task"]
            text = joined_text(Node(line)["message.content"])
            asked = [call for call in tasks if text and Node(call.arguments)["prompt"] == text]
            latest = [call.id for call in asked or tasks][-1:]
            caller = first_text(*latest, line.get("agentId"), own)
        if own:
            remember(self.callers, own, caller)
        return caller


def as_streamed(line: dict[str, Any]) -> dict[str, Any]:
    """A saved line with parts of Qwen Code's messages as blocks of Claude's."""
    message = as_object(line.get("message"))
    if not (parts := Node(message).each("parts") if "parts" in message else ()):
        return line
    status = Node(line)["toolCallResult.status"]
    content = [as_block(part, status) for part in parts]
    return {**line, "message": {**message, "content": content}}


def as_block(part: Node, status: Any) -> dict[str, Any]:
    """A part of Qwen Code's message as a block of Claude's; ``status`` is a call's."""
    if part["thought"] is True:
        return {"thinking": part["text"]}
    if part["functionCall.name"]:
        names = {"id": "id", "name": "name", "input": "args"}
        return {name: part[f"functionCall.{own}"] for name, own in names.items()}
    if (identity := part["functionResponse.id"]) is None:
        return cast("dict[str, Any]", part.value)
    response, output = part["functionResponse.response"], part["functionResponse.response.output"]
    failed = status not in (None, "success") or (output is None and response is not None)
    text = error_message(response) if failed else as_text(output)
    return {"tool_use_id": identity, "is_error": failed, "content": text}


def prompt_text(line: dict[str, Any]) -> str:
    """What a person typed, by a saved line. Beside results only an interruption is theirs."""
    content = as_object(line.get("message")).get("content")
    if line.get("subtype") is not None:  # Qwen Code's notifications
        return ""
    if isinstance(content, str):
        return without_context(content)
    blocks = objects(content)
    typed = [each for each in blocks if each.get("type") in (None, "text")]
    texts = [without_context(as_text(each.get("text"))) for each in typed]
    if any(block.get("tool_use_id") for block in blocks):
        return next((text for text in texts if text.startswith(INTERRUPTED)), "")
    shown = as_text(Node(line)["systemPayload.displayText"])
    return shown or "\n".join(text for text in texts if text and not INJECTED.match(text))


HOSTS_MARKS = ("isMeta", "isCompactSummary")
WARM_UP = "Warmup"  # what the host asks a sub-agent of its own, in the file of the session
SLASH_COMMAND = regex(r"/[\w:-]+(?: [^\n]*)?\Z")  # typed, as versions of 2026 save it


# ---------------------------------------------------------------- Codex
#
# Codex, its stream and its saved sessions.
# A line in, moves out. A class has `read`, and the places of words. It must not know runs.


# Types of lines that only saved sessions hold.
ROLLOUT_TYPES = word_set("session_meta turn_context response_item event_msg compacted world_state")


class Codex(Translator):
    """`codex exec --json`: a thread, its turns, their items.

    https://github.com/openai/codex/blob/main/codex-rs/exec/src/exec_events.rs
    """

    name = "codex"
    takes_strays = True
    own_types = word_set("item.started item.updated item.completed turn.started")
    fragments = places_in(
        "item.started item.text item.aggregated_output item.result",
        "item.updated item.text item.aggregated_output item.result",
        "item.plan.delta delta",
    )
    names_session: ClassVar = {"thread.started": "thread_id"}
    of_run = ("answered", "commented")
    answered: Any = None  # the last message that is not commentary
    commented = False  # there was commentary, and says so

    def read(self, line: Node) -> None:
        kind = self.event.type or ""
        if not self.begun and kind.startswith(("item.", "turn.")):  # its beginning is lost
            self.begin()
        if type(line["item"]) is dict:
            item = Node(line["item"])
            what = as_text(item["type"] or item["item_type"])  # until 0.44
            self.item(item, what, done=kind == "item.completed")
        elif kind == "thread.started":
            self.begin()
        elif kind == "turn.started":
            self.begin_once()
        elif kind == "turn.completed":
            self.end(result=self.answered, usage=line["usage"])
        elif kind == "turn.failed":
            self.end(error_message(line["error"]), subtype="error")
        elif kind == "error" and self.latest:
            self.report_error(line["message"])

    def flaw(self, result: Any) -> Flaw | None:
        """A turn fails, too, if all of its messages are commentary."""
        if self.commented and self.answered is None and result["result"] is None:
            return "it ended without a final answer, only with commentary", "unfinished"
        return super().flaw(result)

    def item(self, item: Node, what: str, *, done: bool) -> None:
        if what in CODEX_CALLS:
            name, given = CODEX_CALLS[what](item)
            self.use(item["id"], item, name, given, done=done)
        elif what == "file_change":
            for number, change in enumerate(item.each("changes")):
                name = CODEX_CHANGES.get(as_text(change["kind"]), "edit")
                identity = f"{as_text(item['id'])}.{number}"
                self.use(identity, item, name, {"path": change["path"]}, done=done)
        elif what in ("agent_message", "assistant_message") and done:
            aside, text = item["phase"] == "commentary", as_text(item["text"])
            text = PLAN_MARK.sub("", text)
            if not aside:
                self.answered = text
            self.commented |= aside
            self.begin_message(item["id"])
            self.say(text)
        elif what == "reasoning" and done:
            self.think(item["text"])
        elif what == "error" and done:  # it is not fatal
            self.make("system", "warning", message=error_message(item["message"]))
        elif what not in ("reasoning", "agent_message", "assistant_message", "error"):
            self.silent_reason = ""  # it may be an act, of a kind that is new

    def use(self, identity: Any, item: Node, name: str, given: Any, *, done: bool) -> None:
        self.call(identity, name, given, once=done)
        if done:
            declined = item["status"] == "declined"
            failed, kind = declined or item["status"] == "failed", "declined" if declined else ""
            starts = {"isBackground": True} if name == SPAWN and not failed else {}
            more = {"kind": kind, "code": item["exit_code"], "facts": starts}
            output = content_text(item["result.content"]) or item["aggregated_output"]
            self.answer(identity, output, error=item["error"], failed=failed, **more)


SPAWN = "spawn_agent"
PLAN_MARK = regex(r"\n{0,3}</?proposed_plan>")  # in a message


def web_use(action: Any, query: Any = None) -> tuple[str, dict[str, str]]:
    """A search, or pages that were opened, or searched: of an item, or of code that lists them."""
    if action["type"] in ("open_page", "find_in_page"):
        return "webFetch", {"url": first_text(action["url"], query)}
    if pages := [entry["ref_id"] for entry in action.each("open")]:
        return "webFetch", {"url": " ".join(map(first_text, pages))}
    asked = (entry["q"] for entry in action.each("search_query"))
    stated = first_text(query, action["query"], *as_list(action["queries"]), *asked)
    return "webSearch", {"searchTerm": stated}


CODEX_CHANGES = {"add": "write", "delete": "delete"}
# Type of an item -> a tool and its arguments.
CODEX_CALLS: dict[str, Callable[[Node], tuple[str, Any]]] = {
    "command_execution": lambda item: ("shell", {"command": item["command"]}),
    "mcp_tool_call": lambda item: (mcp_name(item["server"], item["tool"]), item["arguments"]),
    "web_search": lambda item: web_use(Node(item["action"]), item["query"]),
    "todo_list": lambda item: ("updateTodos", {"todos": item["items"]}),
    "plan": lambda item: ("createPlan", {"plan": item["text"]}),
    "collab_tool_call": lambda item: (item["tool"] or "task", {"description": item["prompt"]}),
}  # fmt: skip


def scripted(code: str) -> tuple[str, Any]:
    """What code of Codex does, as a tool and its arguments: the commands that are written out in
    it, or else its patch, or the one other tool that it calls."""
    texts = (CODE_ESCAPE.sub(r"\1\2", match[1][1:-1]) for match in CODE_COMMAND.finditer(code))
    literals = (text.encode("latin-1", "backslashreplace") for text in texts)
    if command := "; ".join(each.decode("unicode_escape", "replace") for each in literals if each):
        return "exec", {"command": join_surrogates(command)}
    called, runs = CODE_TOOL.search(code), "exec_command" in code
    patch = code.partition("*** Begin Patch")[2].replace("\\n", "\n")
    if patch and not runs:
        return "apply_patch", patch
    if runs or not called:  # which command, only the code knows
        return "exec", code
    given = decoded(code[called.end() : code.rfind("})") + 1])
    return web_use(Node(given)) if called[1] == "web__run" else (called[1], given)


CODE_TOOL = regex(r"\btools\.(\w+)\(")
# A literal of JavaScript that is a command, as a member or in a variable; what it escapes.
CODE_STRING = "|".join(rf"{mark}(?:[^{mark}\\]|\\.)*{mark}" for mark in "\"'`")
CODE_COMMAND = regex(rf"""\bcmd["']?\s*[:=]\s*({CODE_STRING})""", re.DOTALL)
CODE_ESCAPE = regex(r"(\\[bfnrtux'\"\\])|\\(?:\n|(.))")  # other than these, they mean nothing


class SavedCodex(Saved, Codex):
    """A session of Codex. Words stand twice: as the model wrote them (response_item), and as they
    were shown (event_msg). A session that was forked begins with a copy of another.

    https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs
    """

    own_types = ROLLOUT_TYPES - {"session_meta"}
    fragments = places_in()
    names_session: ClassVar = {"session_meta": "payload.id"}

    def __init__(self, maker: EventMaker, session: str | None = None) -> None:
        super().__init__(maker, session)
        self.source: dict[str, Any] = {}  # whose words -> the type of lines that holds them first
        self.tokens: dict[str, int] = {}  # of the session so far
        self.grown: dict[str, int] = {}  # by how many they have grown since the last end

    def read(self, line: Node) -> None:
        kind, payload = self.event.type, Node(line["payload"])
        tells = kind in ("event_msg", "response_item")
        # Behind a session_meta, another one is a copy, too.
        self.own_types = ROLLOUT_TYPES if kind == "session_meta" else SavedCodex.own_types
        self.event.kind = ACT if tells else SAVED
        what = as_text(payload["type"]) if tells else kind
        if what == "item_completed":
            self.completed(Node(payload["item"]))
        elif what in ROLLOUT and kind in ROLLOUT_TYPES:
            ROLLOUT[what](self, payload)

    def completed(self, item: Node) -> None:
        """An item of the stream, whose type is spelled in another way."""
        what = re.sub(r"\B(?=[A-Z])", "_", as_text(item["type"])).lower()
        if what in ("user_message", "agent_message", "reasoning"):
            ROLLOUT[what](self, item)
        elif what in CODEX_CALLS and what != "web_search":
            self.go_on()
            self.item(item, what, done=True)

    def context(self, payload: Node) -> None:
        self.cwd = as_text(payload["cwd"]) or self.cwd
        self.use_model(payload["model"])

    def texts_in(self, payload: Node, whose: str) -> Iterator[tuple[str, bool]]:
        """Texts, and whether each is new: not yet of this speaker in another type of line."""
        parts = [as_text(payload["message"] or payload["text"] or payload["content"])]
        for name in ("content", "summary", "summary_text"):
            parts += as_list(payload[name])
        texts = [as_text(part) or as_text(Node(part)["text"]) for part in parts]
        kind = self.event.type, payload["type"]
        for text in filter(None, [part for whole in texts for part in PLAN_MARK.split(whole)]):
            yield text, self.source.setdefault(whose, kind) == kind

    def prompted(self, payload: Node) -> None:
        if texts := [typed_in(text) for text, new in self.texts_in(payload, "user") if new]:
            self.begin_prompt(*texts)

    def spoke(self, payload: Node) -> None:
        thought = "reasoning" in as_text(payload["type"]).lower()
        if payload["role"] not in (None, "assistant") or payload["recipient"]:
            return  # of the host, or of another agent
        kind = "reasoning" if thought else "agent_message"
        identity = payload["id"] or object()  # of all its parts
        for text, new in self.texts_in(payload, kind):
            item = Node({**payload.value, "id": identity, "text": text})
            if new:
                self.go_on()
                self.item(item, kind, done=True)
            else:
                self.repeat("thinking" if thought else "assistant", text)

    def called(self, payload: Node) -> None:
        """A call; the arguments are JSON in a text, a text, or an object."""
        self.go_on()
        given = payload["arguments"] or payload["input"] or payload["action"]
        if isinstance(given, str) and given.startswith("{"):
            given = given if (args := decoded(given)) is None else args
        name = as_text(payload["name"]) or as_text(payload["type"]).removesuffix("_call")
        if (server := as_text(payload["namespace"])).startswith("mcp__"):
            name = f"{server.rstrip('_')}__{name.strip('_')}"
        identity = as_text(payload["call_id"] or payload["id"])
        command = Node(given)["command"] or Node(given)["cmd"]
        words = [as_text(word) for word in as_list(command) or [command]]
        patch = PATCH_COMMAND.fullmatch(words[-1])
        patch = None if patch and NO_PATCH.search(patch[4]) else patch
        if patch or (words[0] in ("apply_patch", "applypatch") and words[1:]):
            name, given = "apply_patch", patch[4] if patch else words[1]
            if patch and patch[1]:
                given = PATCHED_PATH.sub(lambda head: head[0] + f"{patch[1]}/", given)
        if payload["type"] == "web_search_call":
            name, given = web_use(Node(payload["action"]), payload["query"])
        if name == "exec" and isinstance(given, str):
            name, given = scripted(given)
        self.call(identity, name, given)
        if payload["type"] in ("web_search_call", "image_generation_call"):
            self.answer(identity, "")  # no line has what they returned

    def returned(self, payload: Node) -> None:
        """How a call ended is a member of its output, or stands in its text."""
        if (called := self.calls.get(as_text(payload["call_id"]))) is None:
            return  # its turn was aborted
        inner, text = output_of(payload["output"], called.tool)
        metadata = as_object(inner.get("metadata"))
        code, took = metadata.get("exit_code"), metadata.get("duration_seconds")
        failed, running = text.startswith(("Script failed", "Script terminated")), False
        if head := CODEX_HEAD.match(text):
            code, took, running = head[1] or head[3], head[2], head[4] is not None
            text = text[head.end() :]
        if called.name == "exec" and text.startswith('{"'):  # code that prints all of a result
            printed = as_object(decoded(text))
            if as_integer(printed.get("exit_code")) is not None:
                code, text = printed["exit_code"], as_text(printed.get("output"))
        code = as_integer(code)
        failed |= inner.get("success") is False or CODEX_FAILED.match(text) is not None
        failed |= bool(code) and called.tool != "shell"
        facts = {} if took is None else {"executionTime": as_milliseconds(took)}
        if called.name == SPAWN and not failed:
            facts = {"isBackground": True}
        self.answer(called.id, text, failed=failed, code=code, facts=facts, begun=running)

    def count(self, payload: Node) -> None:
        """Note by how many the totals have grown; one that fell began again."""
        for name, stated in as_object(payload["info.total_token_usage"]).items():
            total, before = as_count(stated) or 0, self.tokens.get(name, 0)
            more = total - before if total >= before else total
            self.grown[name] = self.grown.get(name, 0) + more
            self.tokens[name] = total

    def end(self, error: Any = None, /, **members: Any) -> None:
        self.add_usage(self.grown)
        self.grown.clear()
        super().end(error, **members)

    def turn_ended(self, payload: Node) -> None:
        """A turn without an answer has failed, though only newer versions say why."""
        answer, error = payload["last_agent_message"], error_message(payload["error"])
        if payload["type"] == "turn_aborted":
            reason = as_text(payload["reason"])
            error = "interrupted by the user" if reason in ("", "interrupted") else reason
        elif payload["type"] == "error":
            self.report_error(payload["message"], fatal=self.in_turn)
            return
        elif answer is None and self.latest in ("system", "user"):
            error = error or self.fatal_error or "the turn ended without an answer"
        self.stop(error, result=answer, duration_ms=as_count(payload["duration_ms"]))


PATCH_COMMAND = regex(
    r"\s*(?:cd ([\w./-]+) && )?apply_?patch\s+<<\s*(['\"]?)(\w+)\2\n"
    r"(\*\*\* Begin Patch\n.*\n)\3\s*",
    re.DOTALL,
)
NO_PATCH = regex(r"^[^*+@ \n-]", re.MULTILINE)  # a line behind the end of the here-document
PATCHED_PATH = regex(r"^\*\*\* (?:\w+ File|Move to): (?!/)", re.MULTILINE)


def output_of(given: Any, tool: str) -> tuple[dict[str, Any], str]:
    """Codex's own members around an output, if it is an object, perhaps in a text, which of an MCP
    tool is the server's; and the output, which is all of an object that has no other."""
    text = type(given) is str and given.startswith('{"') and tool != "mcp"
    told = decoded(given) if text else given
    if type(told) is not dict:
        return {}, as_text(given) or content_text(given)
    own = [told[name] for name in ("output", "content", "text") if type(told.get(name)) is str]
    return told, own[0] if own else given if type(given) is str else encode_json(told).decode()


def typed_in(prompt: str) -> str:
    """What a person typed, without what their editor told before."""
    head, mark, typed = prompt.partition("\n## My request for Codex:")
    return typed.strip() if mark and head.lstrip().startswith("# ") else prompt


ROLLOUT: dict[str, Callable[[Any, Node], None]] = {
    what: move
    for move, names in (
        (SavedCodex.context, "session_meta turn_context"),
        (SavedCodex.prompted, "user_message"),
        (SavedCodex.spoke, "agent_message agent_reasoning message reasoning"),
        (SavedCodex.called, "function_call custom_tool_call local_shell_call tool_search_call "
                       "web_search_call image_generation_call"),
        (SavedCodex.returned, "function_call_output custom_tool_call_output tool_search_output"),
        (SavedCodex.count, "token_count"),
        (SavedCodex.turn_ended, "task_complete turn_complete turn_aborted error"),
    )
    for what in names.split()
}  # fmt: skip
# What precedes the output of a command: its exit status, and the time that it took.
CODEX_HEAD = regex(
    r"(?:(?:Chunk ID:|Script) .*\n)?(?:Exit code: (-?[0-9]{1,9})\n)?"
    r"Wall time:? ([0-9.]{1,20}) seconds\n"
    r"(?:Process exited with code (-?[0-9]{1,9})\n)?(Process running .*\n)?(?:.*\n){0,3}?Output:\n"
)
CODEX_FAILED = regex(  # a literal after a repeat is found fast, unless case is ignored
    r"(?i:apply_patch verification failed|(?:failed to|unsupported call|tool call error)\b"
    r"|aborted by user|rejected by (?:the )?user)|.{0,80}rejected by (?:the )?user"
)


# ---------------------------------------------------------------- other agents
#
# Gemini, OpenCode, Droid, Copilot, Pi.
# A line in, moves out. A class has `read`, and the places of words. It must not know runs.


class Gemini(Translator):
    """`gemini --output-format stream-json`.

    https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/output/types.ts
    """

    name = "gemini"
    places = places_in("message content")
    exit_code = r"\ACommand exited with code: (-?[0-9]{1,9})\Z"
    stops = r"Loop detected, stopping|Agent execution (?:blocked|stopped)"  # warnings that say so

    def read(self, line: Any) -> None:
        kind = self.event.type
        asks = kind == "message" and line["role"] == "user"
        if asks and self.latest in ("", "result"):  # a wrapper logged it, before Gemini itself
            self.event.kind = EARLY
            return
        if kind == "init":
            self.begin(model=line["model"])
        if asks:
            self.ask(line["content"])
        elif kind == "message":
            self.say(line["content"], delta=line["delta"] is True)
        elif kind == "tool_use":
            self.said.forget(None)
            self.call(line["tool_id"], line["tool_name"], line["parameters"])
        elif kind == "tool_result":
            self.returned(line)
        elif kind == "result" and line["status"]:
            error = error_message(line["error"]) or self.fatal_error
            good = line["status"] == "success" and not self.fatal_error
            self.counted.models = (*sorted(as_object(line["stats.models"])),)
            took = {"duration_ms": line["stats.duration_ms"], "usage": line["stats"]}
            self.end(error, subtype="success" if good else "error", **took)
        elif kind == "error" and line["severity"] != "warning":
            self.report_error(line["message"], fatal=True)
        elif kind == "error" and re.match(self.stops, as_text(line["message"])):
            self.silent_reason = line["message"].strip()

    def returned(self, line: Any) -> None:
        """How a command ended is stated only in place of an output."""
        output = as_text(line["output"])
        stopped = re.fullmatch(r"Command (?:was automatically|cancelled|terminated) .*", output)
        failed, kind = line["status"] == "error" or stopped is not None, line["error.type"]
        self.answer(line["tool_id"], output, error=line["error"], failed=failed, kind=kind)
        if line["error.type"] == "stop_execution":
            self.silent_reason = error_message(line["error"]).strip() or "a hook stopped the agent"


class OpenCode(Translator):
    """`opencode run --format json`. Only the newest version prints a last line, `done`. The run has
    succeeded if its last step finished for another reason than calling tools, and wasn't cut."""

    name = "opencode"
    names_session: ClassVar = {"": "sessionID"}
    named_ends = frozenset(("step_finish", "done"))
    names_servers = True
    of_run = ("reason",)
    stop_member = "last step"
    message: Any = None  # that the last step is a part of; a retry repeats a step of the same one
    void = False  # the last step neither said nor called anything
    failed_before = False  # the current step: an error ended an earlier one
    refused = ""  # the last call, if it was rejected

    def read(self, line: Node) -> None:
        kind, part = self.event.type, Node(line["part"])
        self.void = self.void and kind not in ("text", "tool_use")
        if kind == "step_start":
            self.begin_step(part["messageID"])
        elif not self.begun and line["sessionID"]:
            self.begin_once()
        if kind == "text" and part["synthetic"] is True:  # after a compaction, the run goes on
            self.reason = "tool-calls"
            self.ask(part["text"])
        elif kind == "text":
            self.say(part["text"])
        elif kind == "reasoning":
            self.think(part["text"])
        elif kind == "tool_use":
            self.use(part, Node(part["state"]))
        elif kind == "step_finish":
            self.reason = part["reason"] or "stop"
            if self.failed_before and self.reason == "stop" and not self.void:
                self.fatal_error = ""  # a later step ended well
            cached = {
                "cacheRead": part["tokens.cache.read"],
                "cacheWrite": part["tokens.cache.write"],
            }
            self.add_usage(as_object(part["tokens"]) | cached, cost=part["cost"])
        elif kind == "error":
            self.failed_before = False
            told = Node(line["error"])
            kinds = [told["data.statusCode"], told["name"]]
            self.report_error([told.value, kinds[1]], fatal=True, kinds=kinds)
        elif kind == "done":
            self.done(line)

    def begin_step(self, message: Any) -> None:
        """Begin a step: one that follows an error may still end the run well."""
        another = self.message not in (None, message)
        if another and self.reason is None and not (self.ended or self.fatal_error):
            self.end("superseded by a step of another message")
        self.begin_once()
        self.reason, self.message, self.void = None, message, True
        self.failed_before = bool(self.fatal_error)
        self.begin_message(message)

    def done(self, line: Node) -> None:
        """End the run: OpenCode says that it is idle, or what permissions it rejected."""
        rejected = as_list(line["rejected"])
        if rejected and self.reason == "tool-calls" and self.latest != "assistant":
            self.stop_at(first_names(map(str, rejected)))
        elif line["reason"] == "idle" and self.latest in ACT_TYPES and self.reason in GOING_ON:
            self.reason = "stop"
        self.finish()

    def use(self, part: Node, state: Node) -> None:
        identity, tool = as_text(part["callID"] or part["id"]), as_text(part["tool"])
        ended, now = state["status"] in ("completed", "error"), self.stamp
        if self.finished.get(identity, part["id"]) != part["id"]:  # some models number calls anew
            del self.finished[identity]
        self.stamp = state["time.start"] or now
        self.call(identity, tool, state["input"], once=ended)
        self.stamp = now
        if not ended:
            return
        meta = Node(state["metadata.metadata"] or state["metadata"])
        failed = state["status"] == "error"
        text = error_message(state["error"]) if failed else state["output"]
        start, end = as_count(state["time.start"]), as_count(state["time.end"])
        facts = {"executionTime": end - start} if start and end else {}
        if translate_tool(tool) == "edit":
            facts |= diff_facts(as_text(meta["diff"]))
        outcome = {"failed": failed, "code": meta["exit"], "facts": facts}
        self.answer(identity, text, existed=meta["exists"] is True, **outcome)
        self.mark_finished(identity, part["id"])
        refused = failed and FAILURES["rejected"].match(text)
        self.refused = tool if refused else ""

    def stop_at(self, name: str, failure: str | None = None) -> None:
        self.end(f"it stopped at a call that was not permitted: {name}", failure=failure)

    @property
    def settled(self) -> bool:
        return self.in_turn and (self.fatal_error or self.reason or "tool-calls") != "tool-calls"

    def stop_reasons(self, result: Any) -> Iterable[tuple[str, Any]]:
        """Some say nothing, unless the step was empty."""
        told = self.void or self.reason not in ("unknown", "other")
        return super().stop_reasons(result) if told else ()

    def finish(self) -> None:
        if self.fatal_error:
            self.end(self.fatal_error)
        elif self.reason == "tool-calls" and self.latest != "assistant" and self.refused:
            self.stop_at(self.refused, "unfinished")
        elif self.reason not in GOING_ON:
            self.end()
        elif self.reason is None and self.latest in ACT_TYPES:
            what = "its last step never finished; OpenCode sometimes loses its last event"
            self.report_error(what)


GOING_ON = (None, "tool-calls")  # reasons after which other steps follow


class Droid(Translator):
    """`droid exec -o stream-json`."""

    name = "droid"
    named_ends = frozenset(("completion",))
    names_session: ClassVar = {"": "sessionId"}
    exit_code = r"(?m)^\[Process exited with code (-?[0-9]{1,9})\]\s*\Z"
    thought: Any = None  # the last thought's ID: a thought may come twice
    failed = False  # the loop stated its error; the command only repeats it

    def read(self, line: Any) -> None:
        kind = self.event.type
        if kind == "system" and self.event.subtype == "init":
            self.begin(cwd=line["cwd"], model=line["model"])
        elif kind == "message":
            self.begin_message(line["id"])
            say = self.ask if line["role"] == "user" else self.say
            say(line["text"])
        elif kind == "reasoning" and line["id"] != self.thought:
            self.thought = line["id"]
            self.think(line["text"])
        elif kind == "reasoning":
            self.repeat("thinking", line["text"])
        elif kind == "tool_call":
            self.call(line["id"], line["toolName"] or line["toolId"], line["parameters"])
        elif kind == "tool_result":
            failed = line["isError"] is True
            self.answer(line["id"], line["value"], error=line["error"], failed=failed)
        elif kind == "error" and (line["source"] == "agent_loop" or not self.failed):
            self.failed = line["source"] == "agent_loop"
            self.report_error(line["message"], fatal=True)
            self.silent_reason = self.fatal_error.strip()
        elif kind == "completion":
            self.failed = False
            outcome = {"duration_ms": line["durationMs"], "num_turns": line["numTurns"]}
            outcome |= {"result": line["finalText"], "usage": line["usage"]}
            if line["isError"] is True:
                self.end(self.fatal_error or outcome["result"], subtype="error", **outcome)
            else:
                self.end(**outcome)


class Copilot(Saved):
    """GitHub Copilot, `copilot --output-format json`. A saved session is the same without a result.

    https://github.com/github/copilot-sdk/blob/main/nodejs/src/generated/session-events.ts
    """

    name = "copilot"
    named_late = True
    places = places_in(
        "assistant.message data.content",
        "assistant.message_delta data.deltaContent",
        "assistant.reasoning_delta data.deltaContent",
    )
    fragments = places_in(
        "assistant.tool_call_delta data.inputDelta",
        "tool.execution_partial_result data.partialOutput",
    )
    names_session = dict.fromkeys(("session.start", "session.resume"), "data.sessionId")
    beginnings = (
        r"user\.message|session\.(start|resume|tools_updated|\w+_loaded)"
        r"|assistant\.(turn_start|intent|message|reasoning|streaming|tool_call)"
    )
    saved = False  # until a line shows it
    clocks = True
    exit_code = r"(?:\A|\n)<(?:exited|[^<>\n]{1,99} completed) with exit code (-?[0-9]{1,9})>\s*\Z"
    of_run = ("summary",)
    streamed: Any = None  # the message whose deltas came
    summary: Any = None  # the answer, unless words follow

    def forget_run(self) -> None:
        super().forget_run()
        self.agents: dict[str, Any] = {}  # sub-agents -> the calls that started them
        self.requests: dict[str, Any] = {}  # for permission -> the calls that they are about
        self.permissions: dict[str, str] = {}  # the answers, by the call

    def read(self, line: Any) -> None:
        kind, data = self.event.type or "", Node(line["data"])
        self.parent = self.caller(line, data)
        if kind == "result" and line["exitCode"] is not None:
            self.result(line)
            return
        self.open_run(kind, data)
        if kind == "user.message":
            self.prompt(data)
        elif kind == "assistant.message_delta":
            self.streamed = as_text(data["messageId"])
            self.begin_message(self.streamed)
            self.say(data["deltaContent"], delta=True)
        elif kind == "assistant.message":  # it may come in chunks
            self.begin_message(as_text(data["messageId"]))
            parts = (as_count(data["chunkCount"]) or 1) > 1
            if data["content"] and not self.parent:
                self.summary = None
            self.add_usage(line["data"], as_text(data["messageId"]))
            self.say(data["content"], delta=parts and data["messageId"] != self.streamed)
        elif kind in ("assistant.reasoning_delta", "assistant.reasoning"):
            delta = kind.endswith("_delta")
            self.think(data["deltaContent"] or data["content"], delta=delta)
        elif kind == "tool.execution_start":
            self.use(data)
        elif kind == "session.task_complete":
            self.summary = first_text(data["summary"]) or None
        elif kind.startswith("permission."):
            self.permit(as_text(data["requestId"]), data)
        elif kind == "tool.execution_complete":
            self.returned(data)
        elif kind in ("session.error", "model.call_failure") and (self.in_turn or not self.saved):
            kinds = [data["statusCode"], data["errorType"]]
            self.report_error(line["data"], fatal=True, kinds=kinds)

    def open_run(self, kind: str, data: Any) -> None:
        self.use_model(first_text(data["model"], data["newModel"], data["selectedModel"]))
        begins = self.ended and not self.parent and re.match(self.beginnings, kind)
        if kind in ("session.start", "session.resume") or self.saved:
            self.follow_saved(kind, data)
        elif begins or (not self.begun and type(data.value) is dict):
            self.session = first_text(data["sessionId"]) or self.session
            self.begin(model=data["model"])

    def follow_saved(self, kind: str, data: Any) -> None:
        """A saved session begins with a line of its own; its lines show where runs begin."""
        self.saved = True
        early = kind == "assistant.turn_start"  # it may stand above its prompt
        self.event.kind = SAVED if early or kind.startswith("session.") else ACT
        if data["sessionId"]:
            self.end_turn("ended without an answer")
        self.cwd = data["context.cwd"] or self.cwd
        if kind == "abort":
            self.stop()
        elif kind.startswith(("assistant.", "tool.")) and not (self.parent or early):
            self.go_on()
            if kind in ("assistant.message", "assistant.message_delta"):
                self.answer_due = kind.endswith("_delta") or bool(data["toolRequests"])

    def use(self, data: Any) -> None:
        name = data["toolName"]
        if data["mcpServerName"] and data["mcpToolName"]:
            name = mcp_name(data["mcpServerName"], data["mcpToolName"])
        if name == "report_intent":  # it only says what comes
            self.mark_finished(data["toolCallId"])
        else:
            self.call(data["toolCallId"], name, data["arguments"])

    def permit(self, request: str, data: Any) -> None:
        """Note what permission was asked for, and the answer; some only name the request."""
        if data["result.kind"] is None:
            remember(self.requests, request, data["permissionRequest.toolCallId"])
        else:
            call = first_text(data["toolCallId"], self.requests.pop(request, None))
            remember(self.permissions, call, as_text(data["result.kind"]))

    def caller(self, line: Any, data: Any) -> str | None:
        agent = first_text(line["agentId"])
        if agent and self.event.type == "subagent.started":
            self.agents[agent] = data["toolCallId"]
        return first_text(data["parentToolCallId"], self.agents.get(agent), agent) or None

    def returned(self, data: Any) -> None:
        failed, identity = data["success"] is False, as_text(data["toolCallId"])
        told = identity if identity in self.permissions else ""  # older versions name no call
        asked = self.permissions.pop(told, "")
        kind = asked if failed and asked.startswith("denied") else data["error.code"]
        text = error_message(data["error"]) or content_text(data["result.content"])
        call = self.calls.get(identity)
        shown = as_text(data["result.detailedContent"]) if call and call.tool == "edit" else ""
        self.answer(identity, text, failed=failed, kind=kind, facts=diff_facts(shown))

    def prompt(self, data: Any) -> None:
        """One that the user typed while the agent was idle follows a result, or a run cut off."""
        injected = data["isAutopilotContinuation"] is True or self.parent
        typed = data["delivery"] in (None, "idle")
        if data["source"] not in (None, "user"):
            return  # of the host: an instruction that it found, a skill
        if self.saved and not injected:
            self.begin_prompt(as_text(data["content"]))
            return
        if typed and not injected and self.latest not in ("system", "result"):
            self.begin()
        self.ask(data["content"])

    def result(self, line: Any) -> None:
        """End the run; no line before names the session."""
        code, took = line["exitCode"], line["usage.sessionDurationMs"]
        good = code == 0 and code is not False
        error = "" if good else self.fatal_error or f"exit {code}"
        self.end(error, session_id=line["sessionId"], duration_ms=took, result=self.summary)


class Pi(Saved):
    """`pi --mode json`. The last message decides the verdict, once no retry follows. A saved
    session has the same first line, and then entries, most of which hold a whole message.

    https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/json.md
    https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md
    """

    name = "pi"
    entries = word_set(
        "message model_change thinking_level_change custom custom_message compaction "
        "branch_summary label session_info"
    )
    delta_types = frozenset(("message_update",))
    own_types = delta_types | {"tool_execution_end"}
    places = places_in("message_update assistantMessageEvent.delta")
    fragments = places_in(
        "message_update message assistantMessageEvent.partial",
        "tool_execution_update partialResult",
    )
    names_session: ClassVar = {"session": "id"}
    final = NOTHING  # the agent's last message
    due = False  # the run has ended, unless a retry follows
    busy = False  # an agent_start had no agent_end yet
    stopped = False  # the last line ended the last turn: some versions add no agent_end
    failures = ("error", "aborted")
    saved = False  # until a line shows it
    exit_code = r"(?:\A|(?<=\n\n))Command exited with code (-?[0-9]{1,9})\s*\Z"

    def read(self, line: Node) -> None:
        kind, message = self.event.type, Node(line["message"])
        if kind in self.delta_types:  # most outputs skip it
            part = Node(line["assistantMessageEvent"])
            self.update(part["type"], part["delta"])
            return
        spoken = message["role"] == "assistant"  # then it says when it began
        told = line["entry.timestamp"] or (None if spoken else message["timestamp"])
        self.stamp = self.stamp or told
        self.stopped = kind == "turn_end" and self.final["stopReason"] == "stop"
        told = self.saved or message.value or "parentId" in line.value  # old ones have none
        if kind in self.entries and told:
            self.saved = True
            self.entry(message)
        elif kind in ("session", "agent_start"):
            self.finish()
            self.cwd = line["cwd"] or self.cwd
            self.begun = self.begun and kind != "session" and not self.busy
            self.busy = kind == "agent_start"
            self.begin_once(cwd=self.cwd)
        elif kind == "turn_start":
            self.begin_once(cwd=self.cwd)
        elif kind == "message_start" and message["role"] == "assistant":
            self.begin_message()
            self.blank((("message", "content"),))  # its first delta
        elif kind == "message_end":
            self.message(message)
        elif kind == "tool_execution_start":
            self.call(line["toolCallId"], line["toolName"], line["args"])
        elif kind == "tool_execution_end":
            self.returned(line, line["result.content"])
        elif kind == "agent_end":
            self.agent_end(line)
        elif kind == "auto_retry_start" or line["willRetry"] is True:
            self.due = False
        elif kind == "agent_settled" or line["success"] is False:
            self.finish()

    def update(self, what: str | None, delta: Any) -> None:
        if what == "text_delta":
            self.say(delta, delta=True)
        elif what == "thinking_delta":
            self.think(delta, delta=True)
        elif what == "toolcall_delta":
            self.blank((("assistantMessageEvent", "delta"),))

    def message(self, message: Node) -> None:
        role = message["role"]
        said = self.ask if role == "user" else self.say
        for block in message.each("content") if role in ("user", "assistant") else ():
            if block["type"] == "text":
                said(block["text"])
            elif block["type"] == "thinking":
                self.think(block["thinking"])
            elif block["type"] == "toolCall":
                self.call(block["id"], block["name"], block["arguments"])
        if role == "assistant":
            self.final, self.counted.last = message, None
            self.reason = message["stopReason"]
            self.add_usage(message["usage"], cost=message["usage.cost.total"])
            self.use_model(message["model"])
            if message["stopReason"] in self.failures:
                why = [message["errorMessage"], message["stopReason"]]
                self.report_error(why, fatal=self.ended)

    def returned(self, result: Node, content: Any) -> None:
        identity, name = result["toolCallId"], result["toolName"]
        if name and as_text(identity) not in self.calls:  # the line of its call is lost
            self.call(identity, name, None, once=True)
        self.answer(identity, content, failed=result["isError"] is True)

    def entry(self, message: Node) -> None:
        """Read a message of a saved session; its first line has begun the first run."""
        role = message["role"]
        if role == "user" and self.latest == "system":
            self.counted.first = self.stamp
            self.ask(joined_text(message["content"]))
        elif role == "user":
            self.begin_prompt(joined_text(message["content"]))
        elif role == "toolResult":
            self.returned(message, message["content"])
        elif role == "assistant":
            self.go_on()
            self.begin_message()
            self.message(message)
            if message["stopReason"] == "aborted":
                self.stop()
            elif message["stopReason"] in self.failures:
                self.fatal_error = first_text(message["errorMessage"], message["stopReason"])

    def agent_end(self, line: Node) -> None:
        """Older versions don't announce a retry: then only a success is certain."""
        self.busy = False
        for message in line.each("messages"):
            if message["role"] == "assistant":
                self.final, self.reason = message, message["stopReason"]
        self.due = line["willRetry"] is not True and line["isTerminal"] is not False
        certain = line["willRetry"] is False or line["isTerminal"] is True
        if certain or self.final["stopReason"] not in self.failures:
            self.finish()

    def finish(self) -> None:
        if self.saved:
            super().finish()
            return
        due, last, self.due = self.due or self.stopped, self.final, False
        if due and last.value and last["stopReason"] not in self.failures:
            self.end(result=joined_text(last["content"]) or None)
        elif due:
            self.end(first_text(last["errorMessage"], last["stopReason"]), subtype="error")
        self.final = NOTHING


# ---------------------------------------------------------------- more agents
#
# Kimi, Grok Build, Antigravity, Cline, Goose; Cursor's transcripts; the Agent Client Protocol.
# A line in, moves out. A class has `read`, and the places of words. It must not know runs.


class Kimi(Saved):
    """`kimi -p --output-format stream-json`: messages as chat models exchange them, without a type.

    Kimi Code says last how to resume the session, only if the turn was completed; if it says its
    version first, it is sure to do so. Its predecessor Kimi CLI states no end at all.

    https://github.com/MoonshotAI/kimi-code/blob/main/apps/kimi-code/src/cli/prompt-render.ts
    https://github.com/MoonshotAI/kimi-cli/blob/main/src/kimi_cli/ui/print/visualize.py
    """

    name = "kimi"
    named_late = True
    exit_code = r"(?m)^Command failed with exit code: (-?[0-9]{1,9})\.?\s*\Z"
    saved = False  # until a line shows it
    states_end = False

    @classmethod
    def session_in(cls, _event: Any) -> None:
        """Only the last line names it."""

    def read(self, line: Any) -> None:
        kind = self.event.type
        role = line["role"] if kind is None else ""
        self.saved |= as_text(role).startswith("_")  # in what Kimi CLI saves
        if kind == "system.version":
            self.finish()
            self.states_end = True
            self.begin_once()
        elif kind == "turn.step.retrying":
            self.go_on()
            self.report_error(line["error_message"])
        elif kind == "session.resume_hint":
            self.stop("", session_id=line["session_id"])
        elif role == "user":  # in what Kimi CLI saves
            self.begin_prompt(joined_text(line["content"]))
        elif role == "assistant":
            self.go_on()
            self.message(line)
        elif role == "tool":
            self.returned(line["tool_call_id"], message_parts(line["content"]))

    def message(self, line: Any) -> None:
        self.begin_message()
        for part in message_parts(line["content"]):
            if part["type"] == "think":
                self.think(part["think"])
            else:
                self.say(part["text"])
        for call in line.each("tool_calls"):
            given = as_text(call["function.arguments"])
            args = decoded(given)
            self.call(call["id"], call["function.name"], given if args is None else args)

    def returned(self, identity: Any, parts: list[Node]) -> None:
        """Answer a call. Older versions add a part, <system>...</system>, that may be an error."""
        texts = [as_text(part["text"]) for part in parts]
        notes = [KIMI_NOTE.fullmatch(text) for text in texts]
        why = next((note[1] for note in notes if note and note[1].startswith("ERROR: ")), "")
        said = [text for text, note in zip(texts, notes, strict=True) if not note]
        text = "\n".join([*said, why.removeprefix("ERROR: ")] if why else said)
        self.answer(identity, text, failed=bool(why))

    def finish(self) -> None:
        self.answer_due = self.states_end
        self.end_turn("ended without an answer")


KIMI_NOTE = regex(r"<system>(.*)</system>", re.DOTALL)


def message_parts(content: Any) -> list[Node]:
    """The parts of a message, which may be a text."""
    return [Node({"text": content})] if isinstance(content, str) else Node(content).each()


class Grok(Translator):
    """Grok Build, `grok -p "..." --output-format streaming-json`.

    https://github.com/xai-org/grok-build/blob/main/crates/codegen/xai-grok-pager/docs/user-guide/14-headless-mode.md
    """

    name = "grok"
    named_late = True
    places = places_in("text data", "thought data")
    good_stops = ("endturn",)
    responses = 0  # of the model

    def read(self, line: Any) -> None:
        kind = self.event.type
        if kind in ("text", "thought", "tool_call", "usage", "max_turns_reached"):
            self.begin_once()
        if kind == "text":
            self.begin_message(self.responses)
            self.say(line["data"], delta=True)
        elif kind == "thought":
            self.think(line["data"], delta=True)
        elif kind == "tool_call":
            self.call(line["toolCallId"], line["toolName"] or line["title"], line["rawInput"])
        elif kind == "tool_call_update" and line["status"] in ("completed", "failed"):
            failed, output = line["status"] == "failed", Node(line["rawOutput"])
            text = as_text(output.value) or content_text(line["content"])
            self.answer(line["toolCallId"], **grok_answer(output, text, failed=failed))
        elif kind == "usage":
            self.responses += 1
        elif kind == "error":
            self.report_error(line["message"], fatal=True)
        elif kind == "end" and line["stopReason"]:  # no line before names the session
            self.reason = line["stopReason"]
            self.end(
                self.fatal_error,
                session_id=line["sessionId"],
                structured_output=line["structuredOutput"],
                **{name: line[name] for name in ("usage", "num_turns", "total_cost_usd")},
            )


class GrokMessages(Claude):
    """The same with `streaming-messages-json`: Claude's form around results of other tools."""

    name = "grok"

    def returned(self, block: dict[str, Any], _line: dict[str, Any]) -> None:
        text = content_text(block.get("content"))
        output = Node(decoded(text) if text.startswith('{"type":') else None)
        failed = block.get("is_error") is True
        self.answer(block.get("tool_use_id"), **grok_answer(output, text, failed=failed))


GROK_TEXTS = ("output_for_prompt", "tool_output_for_prompt", "raw_output", "content", "message")


def grok_answer(output: Node, text: str, *, failed: bool) -> dict[str, Any]:
    """The arguments of ``answer`` for a tool's output: an object with the tool's type, and either
    its members, or one capitalized member (FileNotFound) that says how it ended and holds them.

    https://github.com/xai-org/grok-build/blob/main/crates/codegen/xai-grok-tools/src/types/output.rs
    """
    own = as_object(output.value)
    kinds = [name for name in own if name != "type" and name[:1].isupper()]
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kinds[0]) if kinds else ""  # FileNotFound
    inner = own[kinds[0]] if kinds else own
    body = Node(inner)
    said = first_text(inner, *map(body.__getitem__, GROK_TEXTS)) if own else text
    facts = {"totalLines": body["total_lines"]} if kind == "File Content" else {}
    if own.get("type") == "BackgroundTaskStarted":
        facts["isBackground"] = True
    if body["timed_out"] is True:
        kind, failed = "timeout", True
    elif not failed:
        kind = ""
    return {
        "content": said, "failed": failed, "kind": kind, "code": body["exit_code"], "facts": facts
    }  # fmt: skip


class Antigravity(Translator):
    """`agy -p "..." --output-format stream-json`. Its result may say SUCCESS though nothing was
    answered, because calls were denied, or though time ran out within a step.

    https://antigravity.google/docs/cli/headless/
    https://github.com/google-antigravity/antigravity-cli/issues/794
    """

    name = "antigravity"
    names_session: ClassVar = {
        "": "conversation_id init.conversation_id step_update.conversation_id "
        "result.conversation_id"
    }
    places = places_in("- step_update.text_delta")
    exit_code = r"(?:\A|\n)exit status (-?[0-9]{1,9})\s*\Z"
    going: Any = None  # the step with words that has not ended

    def read(self, line: Any) -> None:
        what = as_text(line["event"])
        payload = Node(line[what])
        if what == "init":
            self.begin(cwd=payload["cwd"], model=payload["model"])
        elif what == "step_update":
            self.begin_once()
            self.step(payload)
        elif what == "result":
            self.result(payload)

    def step(self, update: Any) -> None:
        index, kind, state = update["step_index"], update["step_type"], update["state"]
        if kind == "agent_response":
            self.begin_message(index)
            self.say(update["text_delta"], delta=True)
            self.going = index if state == "ACTIVE" else None
        elif kind == "error_message":
            self.report_error([update["error"], update["text_delta"]])
        elif kind in ("tool", "subagent"):
            info, ended = Node(update["tool_info"]), state != "ACTIVE"
            name, given = info["name"] or update["tool_name"] or kind, info["parameters"]
            self.call(as_word(index), name, given, once=ended)
            if ended:
                error, text = info["error"], as_text(info["output"])
                kind = "denied" if "denied permission" in error_message(error) else ""
                self.answer(as_word(index), text, error=error, failed=state != "DONE", kind=kind)

    def result(self, result: Any) -> None:
        status, response = as_text(result["status"]), as_text(result["response"])
        structured = result["structured_output"]
        error = first_text(error_message(result["error"]), self.fatal_error)
        if status.upper() != "SUCCESS":
            error = error or status.lower() or "no status"
        elif self.going is not None:
            error = "stopped within a step, though it says success"
        elif structured is None and not response.strip():
            error = "no answer, though it says success"
        else:
            error = ""
        self.going = None
        took = as_milliseconds(result["duration_seconds"])
        more = {"duration_ms": took, "num_turns": result["num_turns"], "usage": result["usage"]}
        self.end(error, result=response or None, structured_output=structured, **more)


class Cline(Translator):
    """`cline --json "..."`: events of the agent, each in an event of the command.

    https://github.com/cline/cline/blob/main/apps/cli/src/utils/events.ts
    https://github.com/cline/cline/blob/main/sdk/packages/shared/src/agents/types.ts
    """

    name = "cline"
    own_types = frozenset(("agent_event",))
    good_stops = ("completed",)
    stop_member = "finishReason"
    places = places_in("agent_event event.text event.reasoning")
    fragments = places_in("agent_event event.accumulated event.update")
    exit_code = r"(?m)^\[?Command exited with code (-?[0-9]{1,9})\]?\s*\Z"

    def read(self, line: Any) -> None:
        kind, self.parent, self.stamp = self.event.type, None, line["ts"]
        if kind == "run_start":
            self.session = first_text(line["sessionId"]) or self.session
            self.begin(model=line["modelId"])
        elif kind == "agent_event":
            self.begin_once()
            event = Node(line["event"])
            self.parent = event["agentId"] if event["parentAgentId"] else None
            self.follow(event["type"], event["contentType"], event)
        elif kind == "error":  # stderr's
            self.report_error(line["message"])
        elif kind == "run_result":
            self.reason = as_text(line["finishReason"]) or "unknown"
            names = {"duration_ms": "durationMs", "num_turns": "iterations", "usage": "usage"}
            stated = {name: line[own] for name, own in names.items()}
            self.use_model(line["model.id"])
            good = self.reason in self.good_stops
            self.end("" if good else self.fatal_error, result=line["text"], **stated)

    def follow(self, what: Any, of: Any, event: Any) -> None:
        delta = what == "content_start"
        if what == "iteration_start":
            self.begin_message()
        elif what == "error":
            self.report_error(event["error"], fatal=event["recoverable"] is False)
        elif what not in ("content_start", "content_end"):
            return
        elif of == "text":
            self.say(event["text"], delta=delta)
        elif of == "reasoning":
            self.think(event["reasoning"], delta=delta)
        elif of == "tool" and delta:
            self.call(event["toolCallId"], *cline_tool(event["toolName"], event["input"]))
        elif of == "tool":
            self.returned(event)

    def returned(self, event: Any) -> None:
        """What came back: how each thing that was asked for went."""
        output = event["output"]
        parts = Node(output).each() or [Node(output)]
        failed = any(part["success"] is False or part["error"] is not None for part in parts)
        texts = [as_text(part["error"]) or as_text(part["result"]) for part in parts]
        text = as_text(output) or "\n".join(filter(None, texts))
        codes = filter(None, [find_code(self.exit_code, part) for part in texts])
        took = dict.fromkeys(("executionTime", "durationMs"), event["durationMs"])
        identity, error, code = event["toolCallId"], event["error"], next(codes, None)
        self.answer(identity, text, error=error, failed=failed, code=code, facts=took)


# Arguments of Cline's tools that are lists, one item for each thing to do: Cursor's names, and the
# separator where Cursor has one text for all items.
CLINE_LISTS = {
    "files": ("paths", None), "file_paths": ("paths", None), "commands": ("command", "; "),
    "queries": ("pattern", " "), "requests": ("url", " "),
}  # fmt: skip


def cline_tool(name: Any, given: Any) -> tuple[Any, Any]:
    """A tool's name and its arguments, with texts in place of lists of what is to be done. The
    editor changes no file without saying where."""
    args, made = as_object(given), {}
    if name == "editor" and args.get("old_text") is None and args.get("insert_line") is None:
        return "write", {"path": args.get("path"), "content": args.get("new_text")}
    for key, value in args.items():
        cursor_key, between = CLINE_LISTS.get(key, (key, None))
        if cursor_key == key:
            made[key] = value
            continue
        items = value if isinstance(value, list) else [value]
        texts = [
            as_text(item) or first_text(*map(Node(item).__getitem__, ("path", "url")))
            or as_text(as_command([Node(item)["command"], *as_list(Node(item)["args"])]))
            for item in items
        ]  # fmt: skip
        made[cursor_key] = texts if between is None else between.join(texts)
    return name, made or given


class Goose(Translator):
    """`goose run --output-format stream-json -t "..."`: pieces of messages. The last line counts
    tokens, after a failure too: that is an error before it, or last words of the program's own.

    https://github.com/aaif-goose/goose/blob/main/crates/goose-cli/src/session/mod.rs
    """

    name = "goose"
    places = places_in("message message.content.text message.content.thinking")
    of_run = ("closing",)
    message: Any = None  # the ID of the last one
    closing = ""  # what it says

    def read(self, line: Any) -> None:
        kind = self.event.type
        if kind == "message":
            self.begin_once()
            message = Node(line["message"])
            if message["id"] != self.message:
                self.closing = ""
            self.message = message["id"]
            self.begin_message(as_text(self.message))
            self.use_model(message["metadata.inference.requestedModel"])
            if message["metadata.userVisible"] is not False:
                for block in message.each("content"):
                    self.block(block, message["role"])
        elif kind == "error":
            self.report_error(line["error"], fatal=True)
        elif kind == "complete":
            last = self.closing.strip() if GOOSE_ERROR.match(self.closing) else ""
            cost = line["cost_usd"]
            self.end(self.fatal_error or last, usage=as_object(line.value), total_cost_usd=cost)

    def block(self, block: Any, role: Any) -> None:
        kind = block["type"]
        if kind == "text" and role == "user":
            self.ask(block["text"])
        elif kind == "text":
            self.closing += as_text(block["text"])
            self.say(block["text"], delta=True)
        elif kind == "thinking":
            self.think(block["thinking"], delta=True)
        elif kind == "toolRequest":
            call = Node(block["toolCall.value"] or block["toolCall"])
            owner = as_text(block["_meta.goose_extension"])
            self.call(block["id"], *goose_tool(as_text(call["name"]), owner, call["arguments"]))
        elif kind == "toolResponse":
            self.returned(block["id"], Node(block["toolResult"]))
        elif kind == "systemNotification" and block["notificationType"] == "creditsExhausted":
            self.report_error(first_text(block["msg"]) or "credits exhausted", fatal=True)

    def returned(self, identity: Any, response: Any) -> None:
        value = response["value"] if as_object(response.value) else response.value
        result = Node(value)
        failed = response["status"] == "error" or result["isError"] is True
        text, error = content_text(result["content"] or value), response["error"]
        code = result["structuredContent.exit_code"]
        kind = "timeout" if result["structuredContent.timed_out"] is True else ""
        if GOOSE_REFUSAL.match(text):
            failed, kind = True, "rejected"
        self.answer(identity, text, error=error, failed=failed, kind=kind, code=code)


GOOSE_ERROR = regex(
    r"\s*(?:Ran into this error|Network error): "
    r"|\s*I've reached the maximum number of actions I can do without user input\."
)
# What stands for the output of a call that was not made; older versions call that no error.
GOOSE_REFUSAL = regex(
    r"The user has declined to run this tool\.|Let the user know the tool call was skipped"
)
GOOSE_OWN = ("developer", "todo", "summon", "skills", "memory", "platform", "computercontroller")


def goose_tool(name: str, owner: str, given: Any) -> tuple[str, Any]:
    """A tool's name and its arguments: tools of Goose's own extensions are no server's, and its
    editor is several tools."""
    prefix, _, own = name.rpartition("__")
    owner = prefix or owner
    if owner in GOOSE_OWN:
        name = own
    elif owner and not prefix:
        name = f"mcp__{owner}__{name}"
    if name == "text_editor":
        name = {"view": "view", "write": "write"}.get(as_text(Node(given)["command"]), "edit")
        given = {key: value for key, value in as_object(given).items() if key != "command"}
    return name, given


class SavedCursor(Saved):
    """What Cursor saves by itself: ~/.cursor/projects/*/agent-transcripts/**/*.jsonl. Lines have a
    role in place of a type. Calls have no IDs, and seldom results: they are done when the agent
    goes on.

    https://cursor.com/docs/agent/third-party-hooks
    """

    name = "cursor"
    own_types = frozenset(("turn_ended",))
    number = 0  # of calls, which have no IDs

    def read(self, line: Any) -> None:
        kind = self.event.type
        role = line["role"] if kind is None else ""
        if kind == "turn_ended":
            self.settle_calls()
            status = as_text(line["status"])
            good = status in ("success", "completed")
            self.stop("" if good else error_message(line["error"]) or status)
        elif role == "user":
            self.prompt(message_parts(line["message.content"]))
        elif role == "assistant":
            self.settle_calls()
            self.go_on()
            self.begin_message()
            for block in message_parts(line["message.content"]):
                self.block(block)

    def settle_calls(self) -> None:
        for identity in list(self.calls):
            self.answer(identity, None)

    def prompt(self, blocks: list[Node]) -> None:
        for block in blocks:
            if (stated := block["tool_use_id"]) is not None:
                identity = as_text(stated)
                if identity not in self.calls:
                    identity = next(iter(self.calls), identity)
                failed = block["is_error"] is True
                self.answer(identity, block["content"], failed=failed)
        texts = [as_text(block["text"]) for block in blocks if block["text"] is not None]
        asked = [query for text in texts for query in elements_in(text, "user_query")]
        if texts:
            self.settle_calls()
            self.begin_prompt(*(asked or texts))

    def block(self, block: Any) -> None:
        if block["type"] == "tool_use":
            self.number += 1
            self.call(block["id"] or str(self.number), block["name"], block["input"])
        elif block["type"] == "thinking":
            self.think(block["thinking"])
        elif text := as_text(block["text"]).removesuffix("[REDACTED]").rstrip("\n"):
            self.say(text)


class Acp(Translator):
    """The Agent Client Protocol: what an agent sends to its client, as Zed, acpx and others log it;
    lines of the client do no harm. The answer to a prompt ends the run.

    https://agentclientprotocol.com/protocol/prompt-turn
    """

    name = "acp"
    names_session: ClassVar = {"": "params.sessionId"}
    places = places_in("- params.update.content.text")
    of_run = ("prompted",)
    good_stops = ("endturn",)
    prompted: str | None = None  # the ID of the prompt, if it is logged
    replays = False  # after session/load, until the next prompt, what was said before
    plans = 0

    def __init__(self, maker: EventMaker, session: str | None = None) -> None:
        super().__init__(maker, session)
        self.asked: dict[str, bool] = {}  # IDs of what else is asked, by the agent or its client

    def is_answered(self, line: Node) -> bool:
        asked = self.asked if line["result.stopReason"] is None else ()  # by its own numbers
        return line["method"] is None and as_word(line["id"]) in (*asked, self.prompted)

    def read(self, line: Any) -> None:
        method, reason, identity = line["method"], line["result.stopReason"], as_word(line["id"])
        if method in ("session/load", "session/prompt"):
            self.replays = method == "session/load"
        if method == "session/prompt":
            if self.prompted is not None:  # and the agent never answered
                self.begin()
            self.begin_once()
            self.prompted = identity
            for block in line.each("params.prompt"):
                self.ask(block["text"])
        elif method == "session/update" and not self.replays:
            update = Node(line["params.update"])
            self.update(update["sessionUpdate"], update)
        elif method:
            remember(self.asked, identity, True)
        elif not reason and self.asked.pop(identity, False) and self.prompted is not None:
            return
        elif not self.in_turn or self.prompted not in (None, identity):
            return  # an earlier prompt, which was cancelled
        elif reason:
            self.reason = reason
            self.end(usage=line["result.usage"])
        elif line["error"] is not None:
            told = [error_message(line[name]) for name in ("error", "error.data")]
            told = told[1:] if told[0] == "Internal error" and told[1] else told
            self.end(": ".join(filter(None, told)) or "error")

    def update(self, what: Any, update: Any) -> None:
        text = update["content.text"]
        if as_text(what) in ACP_ACTS:
            self.begin_once()
        if what == "agent_message_chunk":
            self.begin_message(as_text(update["messageId"]))
            self.say(text, delta=True)
        elif what == "agent_thought_chunk":
            self.think(text, delta=True)
        elif what == "user_message_chunk":
            self.ask(text)
        elif what in ("tool_call", "tool_call_update"):
            self.use(update)
        elif what == "plan":
            self.plans += 1
            self.call(f"plan-{self.plans}", "updatePlan", {"plan": update["entries"]})
            self.answer(f"plan-{self.plans}", "")

    def use(self, update: Any) -> None:
        """A call, or what is new of it; its last update says how it ended."""
        identity, call = update["toolCallId"], self.calls.get(as_text(update["toolCallId"]))
        status, title, kind = update["status"], as_text(update["title"]), update["kind"]
        known = call.name if call and (call.tool in TOOLS or not kind) else ""
        name = known or ACP_TOOLS.get(as_text(kind), title)
        name = first_text(update["_meta.claudeCode.toolName"], name)
        given = as_object(update["rawInput"])
        changes = [item for item in update.each("content") if item["type"] == "diff"]
        if changes and not given:  # of one file; of several it is not told apart
            old, new = changes[0]["oldText"], changes[0]["newText"]
            name = "write" if old is None else name
            change = {"content": new} if old is None else {"oldText": old, "newText": new}
            given = {"path": changes[0]["path"], **change}
        paths = [item["path"] for item in update.each("locations")]
        if paths and "path" not in given and kind in ("read", "edit", "delete"):
            given = {**given, "path": paths[0]}
        if kind == "execute" and "command" not in given and title:
            given = {**given, "command": title.strip("`")}
        if given or not call:
            self.call(identity, name, given, once=True)
        if status in ("completed", "failed"):
            texts = (content_text(update[name]) for name in ("content", "rawOutput"))
            text = next(filter(None, texts), "") or error_message(update["rawOutput"])
            failed, code = status == "failed", update["rawOutput.exitCode"]
            self.answer(identity, text, failed=failed, code=code)


ACP_ACTS = word_set("agent_message_chunk agent_thought_chunk tool_call tool_call_update plan")
ACP_TOOLS = {
    "read": "read", "edit": "edit", "delete": "delete", "execute": "shell", "fetch": "webFetch",
    "search": "grep", "switch_mode": "switchMode",
}  # fmt: skip


# ---------------------------------------------------------------- recognition
#
# Which agent wrote a line, and in which form.
# A line in, the name of an agent out. It must not know sessions.

# A row each: types of lines (- for lines without one; TYPE/SUBTYPE where that matters), an agent
# whom they show, and what they must hold for that. Any program may use such a type: so a row
# asks for members that only this agent writes together. `a` is a member, `a.b` one within it, `a=b`
# a text, `a=b*` its beginning; `a={`, `a=[`, `a="` any object, list or text; `a|b` is one of
# several, `!a` none of them; `:a` is a row of AGENT_CHECKS; `<a,b` no member beside these and the
# type: only where other lines show the agent as well, since a new version may add one. The first
# row that holds counts: agentfmt's own conversions, other agents, Claude and its relatives, Cursor.
CLAUDE_SAVED_IT = (
    'sessionId=" isSidechain|parentUuid|logicalParentUuid|message.content|message.parts'
)
CODEX_SAVED_IT = 'payload={ timestamp="|payload.type="|payload.id="|payload.cwd="'
CURSORS_KEY = "apiKeySource=env|apiKeySource=flag|apiKeySource=login"
COPILOT_TYPES = (
    "assistant.*,hook.*,model.*,permission.*,session.*,skill.*,subagent.*,tool.*,user.message,"
    "abort,system.message,system.notification"
)
AGENT_SIGNS = f"""
    *  cursor  converted_from="
    system.version,turn.step.retrying  kimi  role=meta
    session.resume_hint  kimi  role=meta session_id="|command="
    text,thought  grok  data=" !:logged
    tool_call,tool_call_update  grok  toolCallId=" title|status|toolName|rawInput
    end  grok  stopReason=" sessionId="|requestId="
    available_commands  grok  tools=[ commands=[
    agent_event  cline  event.type
    run_start  cline  providerId=" modelId="
    run_result  cline  finishReason=" iterations|usage|durationMs
    hook_event  cline  hookEventName=" agentId|taskId
    message  goose  !parentId|timestamp !:logged message.role message.content
    complete  goose  total_tokens input_tokens|output_tokens|<total_tokens
    notification  goose  extension_id
    *  qwen  {CLAUDE_SAVED_IT} systemPayload|toolCallResult|message.parts
    *  claude  {CLAUDE_SAVED_IT}
    {",".join(sorted(kind for kind in SAVED_TYPES if "-" in kind))}  claude  sessionId="|messageId="
    summary  claude  leafUuid=" summary="
    attachment,progress,mode,relocated  claude  sessionId=" attachment|data|mode|relocatedCwd
    thread.started  codex  thread_id="
    item.started,item.updated,item.completed  codex  item.type|item.item_type
    turn.started  codex  !:logged
    turn.completed  codex  usage={{|<
    turn.failed  codex  error={{
    {",".join(sorted(ROLLOUT_TYPES))}  codex  {CODEX_SAVED_IT}
    {COPILOT_TYPES}  copilot  data={{ !object !:logged
    result  copilot  sessionId=" exitCode
    step_start,step_finish,text,reasoning,tool_use  opencode  sessionID=" part={{
    error  opencode  sessionID=" error
    done  opencode  sessionID=" reason
    agent_start,turn_start,agent_settled  pi  <
    agent_end  pi  messages=[|<willRetry
    message_start,message_end,turn_end  pi  message.role
    message_update  pi  assistantMessageEvent={{
    tool_execution_start,tool_execution_update,tool_execution_end  pi  toolCallId=" toolName="
    auto_retry_start,auto_retry_end  pi  attempt maxAttempts|success
    entry_appended  pi  entry={{
    session  pi  id=" cwd="|version|thinkingLevel !createdAt
    {",".join(sorted(Pi.entries - {"message"}))}  pi  id=" parentId timestamp
    message  pi  parentId|timestamp message.role message.timestamp
    response  pi  command=" success
    init  gemini  session_id=" model="
    message  gemini  role=user|role=assistant content=" timestamp="|delta|<role,content
    tool_use  gemini  tool_id=" tool_name="
    tool_result  gemini  tool_id=" status="
    result  gemini  status=" stats={{|error={{|timestamp="
    error  gemini  severity=warning|severity=error message="
    message  droid  role=" text=" session_id|id
    tool_call,tool_result  droid  toolName|toolId parameters|isError|value|error
    completion  droid  session_id="|sessionId=" finalText|numTurns|durationMs|isError
    error  droid  source=agent_loop|source=cli message="
    system/init  droid  reasoning_effort
    system/init  qwen  qwen_code_version
    system,{",".join(sorted(SHARED_TYPES))}  amp  session_id=T-*
    result  amp  error=" subtype=error_during_execution !session_id|uuid|result
    system/init  grok  !claude_code_version :grok
    system/init  claude  claude_code_version|uuid|slash_commands
    system/init  claude  mcp_servers !{CURSORS_KEY}
    system/hook_*  claude  session_id="
    system  claude  session_id="|sessionId=" uuid="
    stream_event,rate_limit_event  claude  event={{|rate_limit_info={{|uuid="
    control_request,control_response,control_cancel_request  claude  response={{|request_id="
    assistant,user  claude  message={{ uuid|parent_tool_use_id|:calls
    result  claude  subtype|is_error total_cost_usd|uuid|parent_tool_use_id
    tool_call  cursor  tool_call={{
    thinking/delta,thinking/completed  cursor
    turn_ended  cursor  status="
    assistant  cursor  message={{ timestamp_ms|model_call_id
    result  cursor  request_id="
    system/init  cursor  !tools {CURSORS_KEY}
    -  kimi  role=_checkpoint|role=_usage|role=_system_prompt id|token_count|content
    -  kimi  role=assistant|role=tool :kimi
    -  cursor  role=user|role=assistant message.content
    -  antigravity  event=init conversation_id|init.conversation_id|init.permission_mode
    -  antigravity  event step_update.step_type|step_update.conversation_id|result.num_turns
    -  acp  jsonrpc=2.0 method=session/*|params.sessionId|params.clientCapabilities
    -  acp  jsonrpc=2.0 result.stopReason|result.sessionId|result.agentCapabilities|result.agentInfo
"""


def recognize(line: dict[str, Any]) -> str | None:
    """The agent that a line shows, or None."""
    kind, subtype = line.get("type"), as_text(line.get("subtype"))
    if not line or not (kind is None or isinstance(kind, str)):
        return None
    parted = kind in ("system", "thinking")
    for _, agent, needed, tests in signs_of(kind, subtype if parted else ""):
        if needed <= line.keys() and all(holds(line, test) for test in tests):
            return agent
    return None


def lacks_signs(event: Event, agent: str) -> bool:
    """Should a line in which no sign was found have one, if it is this agent's? Not messages,
    lines with a subtype, or lines without type or event."""
    kind = event.type or ("-" if "event" in details(event) else "")
    return not event.subtype and kind not in MESSAGE_TYPES and has_signs(kind, agent)


def has_signs(kind: str | None, agent: str) -> bool:
    return any(types != "*" and name == agent for types, name, *_ in signs_of(kind, ""))


@functools.lru_cache(maxsize=CACHED_DECISIONS)
def signs_of(kind: str | None, subtype: str) -> list[tuple[str, str, frozenset[str], list[str]]]:
    """AGENT_SIGNS for a type: types, agent, members required, other tests."""
    rows, names = [], (kind or "", f"{kind}/{subtype}")
    for types, agent, *tests in map(str.split, AGENT_SIGNS.strip().splitlines()):
        if types == "-" if kind is None else fits(names, types):
            plain = [test for test in tests if test[0].isalpha() and "|" not in test]
            needed = frozenset(re.split("[.=]", test)[0] for test in plain)
            rows.append((types, agent, needed, [test for test in tests if test not in needed]))
    return rows


def fits(names: Iterable[str], types: str) -> bool:
    """Is a name one of the types of a row? One that ends in * stands for all that begin so."""
    return any(
        name.startswith(each[:-1]) if each.endswith("*") else name == each
        for each in types.split(",")
        for name in names
    )


def holds(line: dict[str, Any], test: str) -> bool:
    """Does a line hold what a test of AGENT_SIGNS asks for?"""
    if test.startswith("!"):
        return not holds(line, test[1:])
    if test.startswith("<"):
        return line.keys() <= {"type", *test[1:].split(",")}
    if "|" in test:
        return any(holds(line, each) for each in test.split("|"))
    if test.startswith(":"):
        return bool(AGENT_CHECKS[test[1:]](line))
    path, equals, wanted = test.partition("=")
    outer, _, name = path.rpartition(".")
    holder = as_object(line.get(outer)) if outer else line
    value = holder.get(name)
    if not equals or name not in holder:
        return name in holder
    if wanted in JSON_TYPES:
        return type(value) is JSON_TYPES[wanted]
    text = as_text(value)
    return text.startswith(wanted[:-1]) if wanted.endswith("*") else text == wanted


JSON_TYPES = {"{": dict, "[": list, '"': str}


# Names of tools that only Kimi has; and names that others have, too: these count unless the ID of
# the call is another model's.
KIMI_TOOLS = word_set(
    "CreateSubagent FetchURL PatchFile ReadFile ReadMediaFile SearchWeb SendDMail SetTodoList "
    "StrReplaceFile WriteFile"
)
COMMON_TOOLS = word_set(
    "Agent AskUserQuestion Bash Edit Glob Grep Read Shell Task Think TodoList Write"
)
MESSAGE_TYPES = ("user", "assistant", "message")
OTHER_MODELS = ("call_", "toolu_", "chatcmpl-")


def is_kimis(own: dict[str, Any]) -> bool:
    """Does a message of a chat hold what only Kimi writes: thoughts in a part of their own, its
    tools, notes on what they returned? Others write the rest of it, too."""
    line = Node(own)
    parts = message_parts(line["content"])
    if line["tool_call_id"] is not None:
        return any(KIMI_NOTE.fullmatch(as_text(part["text"])) for part in parts)
    for call in line.each("tool_calls"):
        name, identity = as_text(call["function.name"]), as_text(call["id"])
        if name in KIMI_TOOLS:
            return True
        if name in COMMON_TOOLS and identity and not identity.startswith(OTHER_MODELS):
            return True
    return any("think" in part.value for part in parts)


GROK_TOOLS = word_set("run_terminal_command run_terminal_cmd search_replace list_dir")


LOG_MEMBERS = word_set("level severity msg logger service pid hostname")
AGENT_CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "grok": lambda own: not GROK_TOOLS.isdisjoint(map(as_text, as_list(own.get("tools")))),
    "calls": lambda own: any(
        block["type"] in ("tool_use", "tool_result") for block in Node(own).each("message.content")
    ),
    "kimi": is_kimis,
    "logged": lambda own: not LOG_MEMBERS.isdisjoint(own),
}


def wraps_event(event: Event) -> bool:
    """Does an envelope that isn't taken off hold an event of an agent?"""
    places = ENVELOPES if event.type is None and b":" in event.raw else ()
    lines = (object_in(piece.text) for piece in contents(event.raw, places, named=False))
    return any(recognize(line) or line.get("type") in CURSOR_TYPES for line in lines)


def is_empty(event: Event) -> bool:
    """Does an event with a type of Cursor's lack its other members? Chats saved by Gemini CLI and
    Grok Build share only the types: nothing here reads them."""
    needs = {"user": "message", "assistant": "message", "system": "subtype"}.get(event.type or "")
    return needs is not None and details(event).keys().isdisjoint((needs, "session_id"))


TRANSLATORS: dict[str, type[Translator]] = {"amp": Claude, "qwen": Claude} | {
    each.name: each
    for each in (
        Cursor, Claude, Codex, Gemini, OpenCode, Droid, Copilot, Pi,
        Kimi, Grok, Antigravity, Cline, Goose, Acp,
    )
}  # fmt: skip


def form_of(kind: type[Translator], event: Event) -> type[Translator]:
    """The translator for a line of an agent: of its stream, of another kind of stream, or of a
    saved session."""
    own = details(event).keys()
    if kind is Claude and (event.type in SAVED_TYPES or "sessionId" in own):
        return SavedClaude
    if kind is Codex and event.type in ROLLOUT_TYPES:
        return SavedCodex
    if kind is Cursor and event.type is None and own >= {"role", "message"}:
        return SavedCursor
    return GrokMessages if kind is Grok and event.type in ("system", *SAID, "result") else kind


def event_kind(event: Event) -> str:
    """The kind of an event of Cursor's, or of an unknown agent."""
    if event.type == "system":
        return INIT if event.subtype == "init" else OTHER
    if event.type == "turn_ended":
        return END if details(event).get("status") == "error" else OTHER
    if is_empty(event):
        return OTHER
    return KINDS.get(event.type or "", OTHER)


# ---------------------------------------------------------------- runs
#
# The state machine: when runs open and end, and their verdicts.
# Events of a session in, the same events with their run out: redaction hides what messages say of
# it, selectors say what gates match. It must not know what agents' lines look like, nor writers.

ALL_RUNS, BY_NUMBER, BY_SESSION = "all", "number", "session"  # which runs are selected, and how

TAKEN_BY_KIND = (EARLY, STRAY, UNREADABLE)  # of events outside any run, whatever they name

Matches: TypeAlias = "dict[str, tuple[int, str]]"  # selector -> matches, FILE:LINE of the first


class Run:
    """One answer of an agent, from its first event to its terminal event."""

    def __init__(self, session: str | None, where: str) -> None:
        self.session = session
        self.label: str | None = None  # as it is printed: null until a line states it
        self.short = ""  # its first characters, as messages and prefixes print them
        self.where = where  # FILE:LINE of its first event
        self.number = 0  # of the runs that begin in its FILE, from 1
        self.from_end = ""  # counted from the end, "-1" is the last; if known
        self.begun = self.ended = False  # begun: after its init, or its first act
        self.has_act = False
        self.events = 1  # lines that were read
        self.succeeded = False
        self.agent = "cursor"
        # In milliseconds since 1970, as its first line states it, and the first one that does.
        self.first_ms: int | None = None
        self.started_ms: int | None = None
        self.reason: str | None = None  # why it failed
        self.first: object = None  # what its first line says, if it may be a copy's
        self.left_out: bool | None = None  # it is left out, and nothing of it counts
        self.calls: dict[str | None, Event] = {}  # started and not finished, by call_id
        self.failed: dict[str | None, Event] = {}  # its last failed calls, if --fail-on is used
        self.cwd = ""  # as its init states
        self.matches: Matches = {}  # of --fail-on
        self.unmet: list[Any] = []  # selectors of --fail-unless that no event has matched
        self.shortfalls: dict[str, str] = {}  # such a selector -> why its match isn't enough
        self.error: str | None = None  # the message of the last error event
        self.failure: str | None = None  # a word for error or reason
        self.retry_ms: int | None = None  # after so long it may be tried again
        self.called = 0  # calls that it has begun
        self.counted = Counted()
        self.last_act = ""  # the type of its last call or words, where --fail-unless may ask
        self.unnamed_end = ""  # where a result stands that names no session
        self.over = ""  # the limit it exceeds: "more than 5 calls"
        self.notes: Any = None  # kept by later stages

    @property
    def name(self) -> str:
        return f"run {self.short}" if self.label else str(self)

    @property
    def file(self) -> str:
        """The name of the FILE in which it began."""
        return self.where.rpartition(":")[0]

    @property
    def is_more_than_an_end(self) -> bool:
        """More than the end, or the head, of a run."""
        return self.has_act or self.events > 1

    def __str__(self) -> str:
        return f"{self.name if self.label else 'run'} ({self.where})"


class Session:
    """One conversation with an agent, whoever names it: what reads its lines (as Cursor's, while
    nothing shows whose they are), its open run, and what outlives that."""

    def __init__(self, key: str | int | None, file: Source, translator: Translator) -> None:
        self.key = key  # its session_key: a name, a hash, or None
        self.file = file  # the FILE of its last event
        self.agent: str | None = None  # None until an event shows it
        self.translator = translator
        self.anonymous = key is None  # no line names it: it ends with its FILE
        self.run: Run | None = None
        self.has_begun = False

    @property
    def origin(self) -> type[Translator]:
        """What its agent prints, whoever has converted it."""
        return TRANSLATORS[self.agent or Cursor.name]


class Runs:
    """Follows events through the runs of their sessions."""

    def __init__(
        self,
        reporter: Reporter,
        fail_on: Sequence[Any] = (),
        fail_unless: Sequence[Any] = (),
        limits: Limits | None = None,
        runs_in: Mapping[str, int] | None = None,
        selects: str = ALL_RUNS,
        *,
        tells: bool = True,
    ) -> None:
        """``fail_on``, ``fail_unless``: selectors. ``tells``: messages, not a summary, say why runs
        failed. ``selects``: how runs are selected; nothing else counts then, but with BY_NUMBER a
        FILE without a run. ``runs_in``: how many runs each FILE has, if that is known."""
        self.tells, self.selects = tells, selects
        self.runs_in = runs_in or {}
        self.reporter = reporter
        self.limits = limits or Limits()
        self.fail_on, self.fail_unless = fail_on, fail_unless
        self.matches: Matches = {}  # of --fail-on, outside any run
        self.file = Source("")
        self.line = b""  # the current one, as it was read
        self.lines = 1  # input lines to count with this event: a line counts once
        self.shows_agent = False  # does the current line?
        self.missing_ends: list[Event] = []  # for runs that ended without an event
        self.failures: list[tuple[Run, str]] = []  # messages that follow the output of their runs
        self.seen = collections.Counter[str]()  # what a selector may match, for a summary
        self.matched = set[str]()  # selectors of --fail-on
        self.first_lines: dict[object, str] = {}  # session, first line of a run -> FILE:LINE
        self.labels: dict[str, int] = {}  # prefix of a session's name -> hash of the whole name

    def step(self, session: Session, event: Event) -> None:
        """Give an event its run. Call ``ends`` for events due before or after it."""
        self.find_run(session, event)
        if run := event.run:
            self.file.has_run, session.file = True, self.file
            run.counted = session.translator.counted
            run.agent = session.agent or run.agent
            if event.type == "tool_call":
                self.track(run, event)
            elif event.type == "error":
                run.error = self.redacted(error_text(event), "error", run) or run.error
                run.failure = stated_failure(event, error_text(event))
            if run.started_ms is None:
                run.started_ms = line_time(event)
            if run.error and event.type in ACT_TYPES and not event.started:  # it was overcome
                run.error = run.failure = None
            if self.limits.counts and not run.ended:
                self.check_budget(run, event)

    def check_budget(self, run: Run, event: Event) -> None:
        """Note a run that takes more calls or tokens than it may; --run's command ends at once."""
        limits = self.limits
        stated = as_object(details(event).get("usage")) if event.kind == END else {}
        stated = stated or run.counted.tokens
        tokens = sum(as_count(stated.get(name)) or 0 for name in ("inputTokens", "outputTokens"))
        if limits.max_calls is not None and run.called > limits.max_calls:
            run.over = f"more than {plural(limits.max_calls, 'call')}"
        elif limits.max_tokens is not None and tokens > limits.max_tokens:
            run.over = f"more than {plural(limits.max_tokens, 'token')}"
        if run.over:
            limits.close_gate(f"{run.over} at {self.file.where()}")

    def track(self, run: Run, event: Event) -> None:
        """Remember a call while it is open: its completion may hold nothing but the outcome."""
        if event.subtype == "started":  # which Codex says again for each step of its plan
            run.called += event.call_id not in run.calls
            run.calls[event.call_id] = event
        elif event.subtype == "completed":
            event.started = run.calls.pop(event.call_id, None)
            run.called += event.started is None
            if self.fail_on and FinishedCall(event).status != "ok":
                remember(run.failed, event.call_id, event)
        event.where = self.file.where()

    def ends(self) -> Iterator[Event]:
        """The implied ends: events without a line. Then report why runs failed."""
        implied, self.missing_ends = self.missing_ends, []
        yield from (event for event in implied if not (event.run and event.run.left_out))
        for run, why in self.failures:
            if not run.left_out:
                self.reporter.failed = True
                if self.tells and not self.reporter.shows_failures:
                    self.reporter.message(f"{run} failed: {why}")
        self.failures.clear()

    # What becomes of an event, by its kind and how far the run is.

    def find_run(self, session: Session, event: Event) -> None:
        kind, run = event.kind, session.run
        event.run = run
        if run is None and event.parent_tool_use_id is not None and session.has_begun:
            kind = OTHER  # a sub-agent in the background outlives the result
        if kind == UNREADABLE or (run is None and kind not in (INIT, ACT, END)):
            self.outside_run(session, event)
        elif run is None or (run.begun and kind == INIT):
            if run:
                self.end_unfinished(session, f"superseded by another init at {self.file.where()}")
                self.file.prose = ""
            self.start(session, event)
        else:
            self.go_on(run, event)
        if kind == INIT:
            event.run.begun = True
            event.run.cwd = first_text(details(event).get("cwd"))
        elif kind == ACT:
            event.run.has_act = True
        elif kind == END:
            self.judge(session, event)

    def outside_run(self, session: Session, event: Event) -> None:
        """An event of a session that had a run is late, and ignored. One of a type that is known,
        or an error, belongs to a run whose beginning or end nobody knows."""
        file, kind = self.file, event.kind
        if kind != UNREADABLE:
            self.check_selectors(event, self.matches)
        if kind in (SAVED, RUNLESS):
            file.is_saved = file.is_saved or kind == SAVED
            return
        stray = event.type == "error" and session.key is None
        if session.has_begun and not stray and kind not in TAKEN_BY_KIND:
            file.has_run = True
            return
        if event.type == "error" and kind != UNREADABLE:
            said = self.redacted(error_text(event), "error")
            file.error = excerpt_reason(said) or file.error
        ours = event.type in CURSOR_TYPES and not is_empty(event)
        named = session.key is not None and not session.anonymous
        shown = kind != OTHER and (named or self.shows_agent)
        if stray or ours or shown or kind == UNREADABLE:
            name: object = STRAY if stray else session.key
            name = kind if kind in TAKEN_BY_KIND else name
            if name in file.outside or len(file.outside) < MAX_RUNS:
                group = file.outside.setdefault(name, Outside(self.file.where(), {}))
                add_count(group.types, event.type or "")
            return
        add_count(file.unknown, event.type or "")
        if not event.type:
            names = details(event).keys()
            file.untyped += bool(names) and names.isdisjoint(LOG_MEMBERS)

    def redacted(self, text: str, member: str, run: Run | None = None) -> str:
        """The text of a member, for people."""
        shown: str = self.reporter.redaction.text(text, member, cwd=run.cwd if run else "")
        return shown

    def describe(self, call: Event) -> str:
        """An open call, for people: its tool, and what it is about, if no class may hide that."""
        tool, run = tool_of(call)[0], cast("Run", call.run)
        named = self.reporter.list_names([tool])
        if self.reporter.redaction.strict:
            return named
        target = running_action(OpenCall(event=call), run.cwd).target
        return f"{named} {excerpt(self.redacted(target, 'command', run))}".strip()

    def open_calls(self, run: Run) -> list[str]:
        """The calls that an ended run left open: one phrase, or none."""
        if not run.calls:
            return []
        named = first_names(map(self.describe, run.calls.values()))
        return [f"{plural(len(run.calls), 'call')} open ({named})"]

    def start(self, session: Session, event: Event) -> None:
        event.run = session.run = run = Run(event.session_id or None, self.file.where())
        session.has_begun = True
        self.file.runs += 1
        if event.kind != END:
            self.file.has_run_begun = True
        run.number, run.first_ms = self.file.runs, line_time(Event(raw=self.line))
        if in_file := self.runs_in.get(self.file.name):
            run.from_end = str(run.number - in_file - 1)
        self.find_copy(session, run)
        # An init after an act begins another run.
        run.begun = event.type in ACT_TYPES
        run.unmet = [*self.fail_unless]
        self.check_selectors(event, run.matches)
        if not session.anonymous or run.session != session.key:  # that name was made up
            self.name(run)
        if event.kind != END:  # an end alone is not the run that an error came before
            self.file.outside.pop(EARLY, None)
        if session.origin.takes_strays:
            self.file.outside.pop(STRAY, None)
        if session.key is not None:
            self.file.outside.pop(session.key, None)

    def find_copy(self, session: Session, run: Run) -> None:
        """Leave out a run that another FILE holds, too: a session that was forked or resumed, or a
        stream that was copied. Its first line is the same, with an ID or a time; or that of a new
        session has both: but that may go on in another way, so that --fail-on looks at it, too. A
        stream may be cut off, or filtered: its copy has to follow an end, and gates look at all."""
        identity, saved = as_text(object_in(self.line).get("uuid")), session.translator.settled
        gates = self.fail_on or self.fail_unless or self.limits.counts
        if not (identity or run.first_ms) or (gates and not saved):
            return
        forked = identity and run.first_ms and not self.fail_on
        run.first = (identity, run.first_ms) if forked else (session.key, hash(self.line))
        place = self.first_lines.get(run.first, run.where)
        if place.rpartition(":")[0] != run.file:
            run.left_out = True
            self.file.copies.append(place)
        elif saved:
            self.note_first_line(run)

    def note_first_line(self, run: Run) -> None:
        remember(self.first_lines, run.first, self.first_lines.get(run.first, run.where), MAX_RUNS)

    def name(self, run: Run) -> None:
        """Label a run by its session's ID."""
        if run.session:
            run.label = self.reporter.redaction.identity(run.session)
            run.short = self.short_label(run.label)

    def short_label(self, label: str) -> str:
        """Its shortest prefix that no earlier session has; a marker stays whole."""
        size, whole = SESSION_PREFIX if "[" not in label else len(label), hash(label)
        if len(self.labels) > MAX_RUNS:
            self.labels.clear()
        while size < len(label) and (
            label[size - 1] == "-" or self.labels.setdefault(label[:size], whole) != whole
        ):
            size += 1
        return escape(label[:size])

    def go_on(self, run: Run, event: Event) -> None:
        run.events += self.lines
        run.begun = run.begun or event.type in ACT_TYPES
        if self.fail_on or run.unmet:
            self.check_selectors(event, run.matches)

    def check_selectors(self, event: Event, matches: Matches) -> None:
        """Count matches of --fail-on, a call once, and note where the first is: they fail a run
        whatever its result says. Cross off what --fail-unless wants, once it is met."""
        run = event.run
        if run and event.type == "tool_call" and (self.fail_on or run.unmet):
            event.started = run.calls.get(event.call_id)
        if self.fail_on and not self.tells:
            kinds = ["event"]
            if event.type == "tool_call" and not event.started:
                kinds += ["call", "command"] if tool_of(event)[0] == "shell" else ["call"]
            self.seen.update(kinds)
        for choice in self.fail_on:
            noted = event.started and choice.matches(event.started, unclear=True)
            if not noted and choice.matches(event, unclear=True):
                here = self.file.where()
                if not choice.matches(event):
                    here += ", where it isn't clear what runs"
                self.matched.add(choice.text)
                count, where = matches.get(choice.text, (0, here))
                matches[choice.text] = (count + 1, where)
                self.limits.close_gate(f"--fail-on {choice.text} matched at {here}")
        if run and run.unmet:
            self.note_act(run, event)
            for choice in [*run.unmet]:
                why = choice.shortfall(event, self.file.where())
                if why == "":
                    run.unmet.remove(choice)
                elif why:
                    run.shortfalls[choice.text] = f": {self.redacted(why, 'command', run)}"

    def check_denials(self, run: Run, event: Event) -> None:
        """Check --fail-on again for failed calls that, as only the result states, were denied."""
        for denial in Node(details(event)).each("permission_denials") if run.failed else ():
            identity = as_text(denial["tool_use_id"])
            if call := run.failed.pop(identity, None):
                run.calls[identity] = call  # so that an earlier match isn't counted again
                self.check_selectors(as_denied(call), run.matches)
                del run.calls[identity]

    def note_act(self, run: Run, event: Event) -> None:
        """Note what the agent itself did last: it called a tool, or wrote words."""
        if event.parent_tool_use_id is not None:
            return
        begins = event.type == "tool_call" and not event.started
        if begins or (event.type == "assistant" and words_of(event).strip()):
            run.last_act = str(event.type)

    def judge(self, session: Session, event: Event) -> None:
        """The verdict that a terminal event states, unless a limit or a gate says otherwise."""
        run, failure = event.run, failure_of(event)
        if run.first and not run.left_out:
            self.note_first_line(run)
        if event.session_id not in (None, run.session):  # only the last line names it
            run.session = event.session_id
            self.name(run)
        self.check_denials(run, event)
        if self.limits.counts:
            self.check_budget(run, event)
        idle = run.agent == Cursor.name and not run.called and is_idle(Node(details(event)))
        if self.limits.reached:
            failure = self.limits.reached, "error"
        elif failure is None and idle:  # its result has all words
            failure = IDLE, "error"
        self.file.prose = ""
        if failure is None:
            unmet = "; ".join(
                f"no event matched --fail-unless {choice.text}{run.shortfalls.get(choice.text, '')}"
                for choice in run.unmet
            )
            good = not (unmet or run.matches or run.over)
            self.end(session, None if good else unmet, None if good else "matched")
            return
        why = self.redacted(*failure, run)
        if event.subtype == IN_THE_MIDDLE:
            why = "; ".join([why, *self.open_calls(run)])
        run.retry_ms = as_count(details(event).get("retry_after_ms"))
        word = stated_failure(event, failure[0]) if failure[0] else run.failure
        why = why or run.error or "its result does not say that it succeeded"
        self.end(session, why, word or "error", stated=True)

    # How runs end.

    def end(
        self,
        session: Session,
        why: str | None = None,
        failure: str | None = None,
        *,
        stated: bool = False,
    ) -> None:
        """End a run. It failed if there is a reason ``why``; ``failure`` is a word for that, unless
        --fail-on matched or the budget is exceeded. ``stated``: the reason is the agent's."""
        run, session.run = cast("Run", session.run), None
        run.ended, run.succeeded = True, why is None
        if run.is_more_than_an_end or why is not None:
            session.file.has_lines_of_run = True
        run.calls.clear()  # they refer to the run, and events are not collected
        run.failed.clear()
        self.reporter.report_unshown(self.file)
        if why is not None:
            shown, matched = why, describe_matches(run.matches)
            if stated:
                why = CLASSES_AROUND.sub(lambda match: match[1] or match[2], why)
                shown = excerpt_reason(why)
            failure = "matched" if matched else "budget" if run.over else failure
            run.reason = "; ".join(filter(None, (run.over, why, matched)))
            self.failures.append((run, "; ".join(filter(None, (run.over, shown, matched)))))
        run.failure = failure

    def end_unfinished(self, session: Session, why: str = "") -> None:
        """Fail the run, if any, of a session that is over without a terminal event, for a reason if
        one is given."""
        run, failure, stated = session.run, None, False
        if run is None:
            return
        if not why:
            self.reporter.catch_up(session.file)
            why, failure = self.limits.reached, failure_in(self.limits.reached)
            if not why and run.error:
                why, failure = run.error, run.failure
            stated = why != ""
        if not why:
            whys = [f"ended without a result after {plural(run.events, 'event')}"]
            whys += self.open_calls(run)
            if run.unnamed_end:
                whys.append(f"the result at {run.unnamed_end} names no session, and doesn't count")
            if session.file.prose:
                whys.append(session.file.prose)
            why, failure = "; ".join(whys), failure_in(session.file.prose)
        self.missing_ends.append(implied_end(run))
        self.end(session, why, failure or "unfinished", stated=stated)

    def end_file(self) -> Iterator[Event]:
        """Report on a FILE as a whole, after its runs; yield an event for a FILE without one."""
        file, reporter = self.file, self.reporter
        reporter.report_unshown(file)
        matches, self.matches = describe_matches(self.matches), {}
        story = ""
        if file.elsewhere:
            reporter.message(f"{file.elsewhere}: {WRAPPED_OTHERWISE}")
        if file.copies:
            left = f"{plural(len(file.copies), 'run')} left out"
            reporter.message(f"{file.name}: {left}: also at {first_names(file.copies)}")
        file.looks_like = file.looks_like or foreign_form(file.head)
        unknown = file.unexplained() or file.is_unknown_agents() or file.is_only_head()
        runless = not (file.runs or file.has_run)
        counts = self.selects == ALL_RUNS or (runless and self.selects == BY_NUMBER)
        if matches and self.selects == ALL_RUNS:
            reporter.failure(f"{matches} after the end of a run")
        if (unknown or not (file.has_run or reporter.has_error)) and counts:
            reporter.failed = True
            story = reporter.explain(file, self.limits.reached)
        if runless:
            yield no_run(file.name, story, failure_in(file.prose))

    def end_command(self) -> Iterator[Event]:
        """An event if --run's command failed by itself after a good result."""
        limits = self.limits
        if limits.ending and not (limits.stayed or self.reporter.failed):
            event = no_run(self.file.name, limits.ending + AFTER_RESULT, "error")
            event.type = COMMAND_END
            yield event

    def end_input(self) -> None:
        """With a summary: say which gates matched nothing."""
        for choice in self.fail_on if not self.tells else ():
            if choice.text not in self.matched:
                seen = plural(self.seen[choice.kind()], choice.kind())
                self.reporter.message(f"--fail-on {choice.text}: none of {seen}")


WRAPPED_OTHERWISE = (
    "prose, since the first event was wrapped in another way; sed 's/^[^{]*{/{/' takes prefixes off"
)
COMMAND_END = "command"  # type of the event that says that --run's command failed


def implied_end(run: Run | None) -> Event:
    """The event for a run's end that no line states, with what the run took so far; without a run,
    for the input's end."""
    took: dict[str, Any] = {}
    if run is not None:
        took = {"usage": run.counted.usage(), "total_cost_usd": run.counted.dollars}
    return SpokenEvent(run=run, unprinted=True, kind=IMPLIED, decoded=took)


def no_run(name: str, why: str, word: str | None) -> Event:
    """What stands for a FILE without a run: its name, why it has none, and a word for that."""
    return SpokenEvent(subtype=word, text=why, where=name, unprinted=True, kind=NO_RUN)


def as_denied(call: Event) -> Event:
    """A call that has ended, as if it had been denied."""
    bodies = {
        key: {**body, "result": {"permissionDenied": {}}} if isinstance(body, dict) else body
        for key, body in call_of(call).items()
    }
    return replace(call, decoded={**details(call), "tool_call": bodies})


def describe_matches(matches: Matches) -> str:
    return "; ".join(
        f"--fail-on {text} matched {f'{count} times, first ' if count > 1 else ''}at {where}"
        for text, (count, where) in matches.items()
    )


def stated_failure(event: Event, reason: str) -> str | None:
    """The word for an error: as it is stated, or by the wording of its reason."""
    stated = details(event).get("failure")
    valid = stated in FAILURE_WORDS
    return str(stated) if valid else failure_in(f"{reason} {event.subtype or ''}")


def failure_of(event: Event) -> tuple[str, str] | None:
    """Why a terminal event failed its run, and the member that says so; "" if it gives no reason,
    None if it is a success."""
    end, error = details(event), (event.subtype or "").startswith("error")
    failed, stated = end.get("is_error"), event.type == "result" and not error
    if stated and failed is False:
        return None
    if stated and failed is not True:  # its text is the answer, not an error
        return error_message([end.get("error"), end.get("errors")]), "error"
    reasons = {"error": error_text(event), "result": error_message(end.get("result"))}
    if error:
        reasons["subtype"] = event.subtype or ""
    return next(((why, name) for name, why in reasons.items() if why), ("", ""))


# ---------------------------------------------------------------- sessions
#
# One table of conversations: which one a line belongs to, who translates it, and when it is over.
# Lines in, events in Cursor's vocabulary with their run out. It must not know selectors or writers.
#
# Whose a line is:
#
#   1. It names a conversation, or answers what was asked there: then it is part of that. A new one
#      is of the agent that the line shows; if none, it is read as Cursor's until a line shows one.
#   2. It shows an agent: that agent's last conversation in the FILE, else a new one.
#
# Others belong to the last one's. With --from all lines show its agent; one that shows
# another is not read at all, nor what follows in the conversation that it names.


class Sessions:
    """The sessions of all FILEs, the least recently active first."""

    def __init__(self, given: str, maker: EventMaker, runs: Runs) -> None:
        """``given`` overrides recognition."""
        self.given = None if given == "auto" else given
        self.maker, self.runs = maker, runs
        self.cursors = Cursor(maker)  # reads the lines of all sessions in Cursor's vocabulary
        self.table: dict[str | int | None, Session] = {}
        self.excluded: dict[object, str] = {}  # conversations of others than the given agent
        self.begin_file(Source(""))
        runs.limits.activity = self.activity

    def begin_file(self, source: Source) -> None:
        self.file = self.runs.file = source
        self.current = self.new_session(None)  # of the last line
        self.last: dict[object, Session] = {}  # in the FILE, by what reads it, or its agent
        self.going_on: GoingOn = NOT_GOING_ON

    def follow(self, lines: Iterable[tuple[bytes, Any]]) -> Iterator[Event]:
        """The events of lines, or what they are translated into, with their runs."""
        source, runs, unread = self.file, self.runs, self.maker.unread
        acts = [kind for kind in ACT_TYPES if kind not in unread]
        types, name, run, tells = self.going_on
        for line, event in lines:
            source.at += 1
            joins = event.type in types and event.session_id == name  # nearly always
            if joins and not (tells and tells in line):
                run.events += 1
                if event.type in acts:
                    event.raw, event.run = line, run
                    if event.type == "tool_call":
                        runs.track(run, event)
                    yield event
                continue
            if event.type is None and self.is_rejected(line, event):
                continue
            event.raw = runs.line = line
            runs.lines = 1
            stated = event.session_id
            session, own = self.session_of(event)
            for one in self.translate(session, event, own=own):
                is_read = one.type not in unread and not (one is event and one.unprinted)
                runs.step(session, one)
                if runs.missing_ends:  # of a run that this event supersedes
                    yield from runs.ends()
                runs.lines = 0
                if is_read and not (one.run and one.run.left_out):
                    yield one
                if runs.missing_ends or runs.failures:
                    yield from runs.ends()
            changed = session.run is not run or stated != name or (run and run.error)
            if changed or tells or session.translator.skipped_types:
                types, name, run, tells = self.going_on = self.lines_to_join(session, stated)

    def lines_to_join(self, session: Session, name: str | None) -> GoingOn:
        """What the next lines must be like to join this run without translation or other checks:
        Cursor's acts, or other agents' deltas that no output reads."""
        run, translator = session.run, session.translator
        if not (run and run.begun) or run.error:  # until it is overcome
            return NOT_GOING_ON
        sees_all = self.runs.fail_on or run.unmet or self.runs.limits.counts
        if sees_all or not session.agent or not (name or session is self.current):
            return NOT_GOING_ON  # what follows may show its agent, or belong to another one
        if not translator.translates:
            tells = b'"timestamp' if run.started_ms is None else b""
            return (ACT_TYPES, name, run, tells) if name or session.key is None else NOT_GOING_ON
        types = translator.skipped_types if translator.latest in ACT_TYPES else ()
        return types, name, run, translator.tells if self.maker.sums else b""

    def is_rejected(self, line: bytes, event: Any) -> bool:
        """Report a line that isn't an event, or is in another wrapping than those of its FILE."""
        reporter, file = self.runs.reporter, self.file
        reason = None
        if type(event) is Rejected:
            reason = event.reason
            if event.elsewhere and not file.elsewhere and recognize(object_in(event.elsewhere)):
                file.elsewhere = file.where()
        else:
            event.raw = line
            if not (file.has_run_begun and wraps_event(event)):
                return False
        if reason == "":
            reporter.save_rejected(line)
        else:
            reporter.reject(file, reason, line)
        return True

    # Whose an event is.

    def session_of(self, event: Event) -> tuple[Session, bool]:
        """The session of an event; and whether the event itself says so; if not, it follows
        one of that session."""
        current, stated = self.current, event.session_id
        self.runs.shows_agent = True
        if not stated and event.type in current.translator.own_types:
            return self.enter(current), True
        name = stated or current.translator.session_in(event)
        known = self.table.get(session_key(name)) if name else None
        if known and known.agent:
            return self.enter(known), True
        if name and not known and (late := self.named_by_its_end(event)):
            return late, True
        if name and not known and current.translator.goes_on_as(Node(details(event)), name):
            self.table.pop(current.key, None)  # it was resumed
            current.key, current.anonymous = session_key(name), False
            return self.enter(current), True
        if not (name or event.type) and "id" in details(event):
            line = Node(details(event))
            if asked := [one for one in self.table.values() if one.translator.is_answered(line)]:
                return self.enter(asked[-1]), True
        agent = recognize(details(event))
        self.runs.shows_agent = agent is not None
        if self.given and agent and TRANSLATORS[agent] is not TRANSLATORS[self.given]:
            self.file.error = f"{agent} wrote them: leave out --from {self.given}"
            remember(self.excluded, session_key(name), agent, MAX_RUNS)
            event.kind = UNREADABLE
        elif name and not agent and session_key(name) in self.excluded:
            event.kind = UNREADABLE
        if event.kind == UNREADABLE:
            return current, False
        given = TRANSLATORS[self.given].name if self.given else ""
        if agent or (given and (not name or has_signs(event.type or "-", given))):
            return self.enter(self.session_of_agent(event, self.given or agent or "")), True
        if name:
            return self.enter(known or self.new_session(name)), False
        return self.enter(current), False

    def session_of_agent(self, event: Event, agent: str) -> Session:
        """Find or make the session of an event that shows its agent."""
        kind, current = form_of(TRANSLATORS[agent], event), self.current
        name, stated = kind.session_in(event), details(event).get("converted_from")
        agent = stated if stated in AGENTS else agent
        before = self.last.get(kind if kind.translates else agent)
        if before and agent not in (before.agent, kind.name):  # a relative's
            before = None
        if kind.init_names and not (name or current.agent) and isinstance(current.key, str):
            name = current.key
        if not (name or kind.translates):
            before = current if current.agent in (None, agent) else before or self.table.get(None)
        session = self.table.get(session_key(name)) if name else before
        if session and session.agent and isinstance(session.translator, kind):
            return session
        if session is None:
            session = self.new_session(name)
            if not name and kind.translates:
                session.key = self.new_name(event)
        session.agent = agent
        if session.run:  # it began with a line that may be any agent's
            session.run.agent = agent
        session.translator = self.cursors
        if kind.translates:
            session.translator = kind(self.maker, name)
            session.translator.unnamed = None if name else str(session.key)
            session.translator.agent = agent
        return session

    def named_by_its_end(self, event: Event) -> Session | None:
        """The session in Cursor's vocabulary that this line, its result, names first."""
        if event.type != "result" or not event.session_id:
            return None
        late = [one for one in self.last.values() if one.run and not one.translator.translates]
        named = [one for one in late if one.key is not None and one.origin.named_late]
        if not named and recognize(details(event)) in (None, Cursor.name):  # a conversion needn't
            named = [one for one in late if one.key is None]
        return named[0] if named else None

    def enter(self, session: Session) -> Session:
        """Move a session to the table's end, and make it current; one without an agent doesn't
        replace one that translates. Beyond MAX_RUNS end the oldest."""
        self.table.pop(session.key, None)
        self.table[session.key] = session
        session.file = self.file
        if session.agent or not self.current.translator.translates:
            reader = session.translator
            form = type(reader) if reader.translates else session.agent
            self.current = self.last[form] = session
        if len(self.table) > MAX_RUNS:
            oldest = next(iter(self.table.values()))
            why = f"least recently active of more than {MAX_RUNS} open runs"
            self.end_session(oldest, why)
        return session

    def new_session(self, name: str | None) -> Session:
        return Session(session_key(name), self.file, self.cursors)

    def translate(self, session: Session, event: Event, *, own: bool) -> Sequence[Event]:
        """An event in Cursor's vocabulary; one of Cursor's is returned itself.

        Raises OutputError if only Cursor's lines may be printed.
        """
        if event.kind is not ACT:
            return (event,)
        stray = event.type == "error" and not (session.run or event.session_id)
        if stray and not (own and session.translator.translates):
            event.kind = EARLY if session.agent else STRAY
        elif is_strangers_end(event, session):
            event.kind, cast("Run", session.run).unnamed_end = OTHER, self.file.where()
        elif not session.translator.translates:
            event.kind = event_kind(event)
        if event.kind is not ACT or not session.translator.translates:
            return (event, *self.plan_in(event))
        if self.maker.strict:
            what = f"with -t stream-json, -r {self.maker.strict} works only on Cursor's own streams"
            raise OutputError(f"{self.file.where()}: {what}; use -t cursor")
        strange = not own and lacks_signs(event, session.translator.name)
        made: Sequence[Event] = session.translator.translate(event, strange=strange)
        if not own and made[0] is event and event.kind is ACT:  # words, as Cursor has them
            event.unprinted = False
            if self.maker.converts:
                reader = session.translator
                names = {"session_id": reader.session, "unnamed_session": reader.unnamed}
                event.decoded = details(event) | known_members(names)
                event.raw = encode_json(event.decoded)
        return made

    def plan_in(self, event: Event) -> Sequence[Event]:
        """A plan that Cursor asks to approve, as words: it is the run's answer. No output of
        Cursor's own lines has it."""
        if event.subtype != "request" or b"createPlanRequestQuery" not in event.raw:
            return ()
        plan = Node(details(event))["query.createPlanRequestQuery.args.plan"]
        speaker = Cursor(self.maker, event.session_id)
        speaker.say(plan)
        for said in speaker.events:
            said.subtype, said.unprinted = PLAN, self.maker.native or self.maker.converts
        return speaker.events

    def new_name(self, event: Event) -> str:
        """Make up a session name, which keeps lines of an agent that name none together. It is a
        checksum of this event's members, so that it is the same each time; other events
        get other names."""
        import json
        import zlib

        line = json.dumps(details(event), sort_keys=True).encode()
        names = (f"{zlib.crc32(line, number):08x}" for number in itertools.count())
        return next(name for name in names if name not in self.table)

    # When sessions are over.

    def end_session(self, session: Session, why: str = "") -> None:
        """Close a session: what its translator adds is due, and the end of a run that is open."""
        self.table.pop(session.key, None)
        here, self.runs.file = self.runs.file, session.file
        self.runs.line, self.runs.lines = b"", 0
        for event in session.translator.close():
            self.runs.step(session, event)
            self.runs.missing_ends.append(event)
        self.runs.end_unfinished(session, why)
        self.runs.file = here

    def end_file(self) -> Iterator[Event]:
        """Close the sessions that go with their FILE: those that no line names, or that were
        saved."""
        file = self.file
        last = itertools.takewhile(lambda one: one.file is file, reversed(self.table.values()))
        active = [*last][::-1]
        for session in active:
            if session.run and session.run.is_more_than_an_end:
                file.has_lines_of_run = True
            if session.anonymous or session.translator.settled:
                self.end_session(session)
        yield from self.runs.ends()
        yield from self.runs.end_file()

    def end_input(self) -> Iterator[Event]:
        self.runs.end_input()
        for session in [*self.table.values()]:
            self.end_session(session)
            yield from self.runs.ends()
        yield implied_end(None)

    def activity(self) -> Activity:
        """What is open in all runs."""
        runs = [*self.open_runs()]
        calls: dict[int, Callable[[], str]] = {
            id(call): functools.partial(self.runs.describe, call)
            for run in runs
            for call in run.calls.values()
        }
        sessions = self.table.values()
        background = [
            functools.partial(self.runs.redacted, name, "command")
            for one in sessions
            for name in one.translator.in_background()
        ]
        return Activity(calls, background, 0 if runs else self.file.runs)

    def open_runs(self) -> Iterator[Run]:
        return (session.run for session in self.table.values() if session.run)

    def interrupted(self) -> Iterator[Event]:
        """The implied ends of runs that a signal interrupts."""
        for run in self.open_runs():
            run.reason = run.failure = "interrupted"
            yield implied_end(run)
        yield implied_end(None)


# Which lines join a run unchecked: their types; the session that they name; the run; bytes: a line
# with these is checked.
GoingOn: TypeAlias = "tuple[Sequence[str | None], str | None, Any, bytes]"
NOT_GOING_ON: GoingOn = ((), None, None, b"")


def session_key(name: str | None) -> str | int | None:
    """What a session is known by: its name, or the hash of a long one."""
    return name if name is None or len(name) <= EXCERPT else hash(name)


def is_strangers_end(event: Event, session: Session) -> bool:
    """Does an end fail to name this session, though its agent's ends always do?"""
    named = session.run and not (session.anonymous or event.session_id)
    if event.type not in session.translator.named_ends or not named:
        return False
    stated = session.translator.session_in(event)
    return stated is None or session_key(stated) != session.key


# ---------------------------------------------------------------- words
#
# The assistant's words, each text once, whether it came in deltas, whole, or both.
# Assistant events of one run in, their text out. It must not know forms of output.


class Speech:
    """The assistant's words in a run, each text once.

    A segment is the text between two calls. It comes whole, or in deltas, or in deltas and then
    once more whole (a replay). Only a delta has timestamp_ms and no model_call_id, but the replay
    before an interaction_query looks like one: a text that equals the segment so far is held until
    the next event: after another delta it was a delta, at the segment's end a replay.
    """

    def __init__(self) -> None:
        self.said: list[str] = []  # complete segments
        self.segment: list[str] = []  # the deltas since the last call
        self.length = 0  # of these deltas, in UTF-16
        self.held = ""  # a delta or a replay
        self.whole = ""  # the last whole text of the segment: the next one may hold it, too
        self.planned = False  # that is a plan: no result states it
        self.answer = ""  # the last closed segment that isn't blank
        self.letters = 0  # of all closed segments, without blanks

    def text(self) -> str:
        """All words of the run, at its end."""
        return join_surrogates("".join((*self.said, *self.segment, self.held)))

    def say(self, event: Any) -> str:
        """Take an assistant event; its text that wasn't said yet."""
        if event.parent_tool_use_id is not None:  # a sub-agent's words are not part of the answer
            return ""
        text = message_text(event.message.content) if event.message else ""
        if event.timestamp_ms is None or event.model_call_id is not None:
            before, self.planned = self.whole, event.subtype == PLAN
            # Deltas of 2025 look the same, but state no time.
            grows = len(before) <= len(text) and b'"timestamp":' in event.raw
            new = self.cut(text.removeprefix(before) if grows else text)
            self.whole = text
            return new
        size, new, self.held = len(text), self.held, ""
        if not text.isascii():
            size = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if new:  # two in a row: the first was a delta, as long as all before it
            self.segment.append(new)
            self.length *= 2
        if size == self.length > 0 and self.segment_text() == text:
            self.held = text
            return new
        self.segment.append(text)
        self.length += size
        return new + text

    def segment_text(self) -> str:
        """The deltas since the last call; two of them may hold a half of a character each."""
        return join_surrogates("".join(self.segment))

    def cut(self, whole: str = "") -> str:
        """End the segment: at a call, a question, a result, or its whole text in one event."""
        segment = self.segment_text()
        new = whole.removeprefix(segment)
        self.said += (segment, new)
        self.segment.clear()
        self.length, self.held, self.whole = 0, "", ""
        return new

    def close(self) -> None:
        """End the segment, and keep it as the answer unless it is blank."""
        self.cut()
        segment = "".join(self.said)
        if letters := len("".join(segment.split())):
            self.answer = segment
            self.letters += letters
        self.said.clear()


SPOKEN_TYPES = frozenset(("assistant", "thinking"))
SEGMENT_ENDS = ("tool_call", "interaction_query", "user", "result")  # an init opens another run


# ---------------------------------------------------------------- notes
#
# What writers read of runs: open calls, what was counted, how runs ended.
# Events in, the same events out, noted as far as a writer asks for that. It stands behind
# redaction: what was read and what is written are open at different times.


class Totals:
    """What a run did and took, or all runs; each count is by name."""

    def __init__(self) -> None:
        self.verdicts: dict[str, int] = {}  # runs
        self.command_failed = False  # that of --run, after good runs
        self.actions: dict[str, int] = {}  # finished calls, by tool
        self.nested: dict[str, int] = {}  # finished calls of sub-agents
        self.failures: dict[str, int] = {}  # finished calls that failed, by tool
        self.unknown: dict[str, int] = {}  # events of unknown type, by type
        self.stated: dict[str, float] = {}  # time, turns, tokens, cost, as results state them
        self.runs_stating: dict[str, int] = {}  # how many runs state each of these
        self.redactions: dict[str, int] = {}  # what is hidden in its events, by rule
        self.unused = 0  # secret values that are too weak to search for
        self.runless = 0  # FILEs without a run
        self.files: dict[str, FileChange] = {}  # by their path in the run's directory
        self.blocked = ""  # what the agent needs of somebody to go on
        self.model = ""
        self.models: dict[str, Any] = {}  # all of them, in order -> what each took, if stated

    @property
    def verdict(self) -> str:
        """That of a run which has ended."""
        return "".join(self.verdicts)

    @property
    def took(self) -> int:
        """Milliseconds; 0 if that isn't stated."""
        return int(self.stated.get("duration_ms", 0))

    @property
    def cost(self) -> str:
        return format_cost(self.stated.get("cost_usd", 0))

    @property
    def all_succeeded(self) -> bool:
        return [*self.verdicts] == ["succeeded"] and not (self.runless or self.command_failed)

    @property
    def tokens_read(self) -> int | None:
        """All that the model read, with what came from a cache or went into it."""
        parts = map(self.stated.get, ("tokens_in", "tokens_cached", "tokens_cache_written"))
        read = [part for part in parts if part is not None]
        return int(sum(read)) if read else None

    def count(self, event: Event) -> None:
        """Count what a line about the run says."""
        if event.finished_call:
            self.count_call(event.finished_call)
        elif event.type == "result" or (event.type == "system" and event.subtype == "init"):
            self.count_models(details(event))
        elif event.type == "system" and event.subtype == "blocked":
            self.blocked = as_text(details(event).get("message"))
        elif event.type not in KNOWN_TYPES and event.kind == OTHER:
            add_count(self.unknown, event.type or "without a type")

    def count_models(self, members: dict[str, Any]) -> None:
        """Note the models that an init or a result names; a list has all that worked."""
        self.model = first_text(members.get("model"), self.model)
        listed = [*filter(None, map(as_text, as_list(members.get("models"))))][:MAX_NAMES]
        usage = as_object(members.get("modelUsage"))
        if listed:
            self.models = dict.fromkeys(listed)
        elif self.model:
            self.models[self.model] = None
        self.models |= {name: usage[name] for name in self.models if name in usage}

    def count_call(self, call: FinishedCall) -> None:
        tool, failed = call.tool, call.status != "ok"
        nested = call.event.parent_tool_use_id is not None
        name = add_count(self.nested if nested else self.actions, tool)
        self.failures[name] = self.failures.get(name, 0) + failed
        if tool in CHANGING_TOOLS and not failed:
            self.count_change(call)

    def count_change(self, call: FinishedCall) -> None:
        """Note what a call did to a file."""
        lines = line_counts(call)
        path = target_in(call.tool, call.arguments, call.cwd) or call.event.call_id or ""
        key, change = os.path.normpath(os.path.join(call.cwd, path)), CHANGES[call.tool]
        before = self.files.get(key)
        full = before is None and len(self.files) >= MAX_FILES
        if full or not path or changes_nothing(call):
            return
        if before:
            change = JOINED_CHANGES.get((before.change, change), change)
            lines = sum_known(before.added, lines[0]), sum_known(before.removed, lines[1])
        self.files[key] = FileChange(path.removeprefix("./"), change, *lines)

    def add(self, other: Totals) -> None:
        numbers = "verdicts actions nested failures unknown stated runs_stating redactions"
        for kind in numbers.split():
            add_counts(getattr(self, kind), getattr(other, kind))
        if len(self.files) < MAX_FILES:
            self.files |= other.files


class FileChange(Struct, gc=False):
    """What a run did to a file; the lines are None if a change of it doesn't state them."""

    path: str
    change: str
    added: int | None
    removed: int | None


CHANGES = {"write": "created", "edit": "edited", "delete": "deleted"}  # by tool
# Of a file that was changed before, where that is not the last change.
JOINED_CHANGES = {("created", "edited"): "created", ("deleted", "created"): "edited"}


def sum_known(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def add_counts(counts: dict[str, Any], new: Mapping[str, float]) -> None:
    for name, number in new.items():
        add_count(counts, name, number)


KNOWN_TYPES = CURSOR_TYPES | {"stream_event", "rate_limit_event"}


class RunNotes:
    """What is noted of a run."""

    def __init__(self) -> None:
        self.speech = Speech()
        self.cwd = ""
        self.calls: dict[str | None, OpenCall] = {}
        self.totals = Totals()
        self.sums_up = False  # the cost that it states is its session's, of other processes as well
        self.since = time.monotonic()

    def ancestors(self, parent: str | None) -> list[str]:
        """The calls of the sub-agents that a call is below, outermost first."""
        parents: list[str] = []
        while parent is not None and parent not in parents and len(parents) < MAX_DEPTH:
            parents.insert(0, parent)
            parent = self.calls.get(parent, NOT_BEGUN).parent
        return parents

    def follow(self, event: Event) -> None:
        """Note what a completion may lack: the call's target, and the directory."""
        if event.type == "tool_call":
            if event.subtype == "completed":
                begun = self.calls.pop(event.call_id, NOT_BEGUN)
                event.finished_call = FinishedCall(event, begun, self.cwd)
            elif event.subtype == "started":
                self.begin(event)
        elif event.type == "interaction_query":
            self.ask(event)
        elif event.type == "system" and event.subtype == "init":
            told = details(event)
            self.cwd = first_text(told.get("cwd"))
            self.sums_up = "claude_code_version" in told  # it stands where that is so

    def begin(self, event: Event) -> None:
        call = self.calls.get(event.call_id)
        if call and call.event:  # what it is about has changed
            event.where, call.event = call.event.where, event
            return
        noted = event.parent_tool_use_id, event.unprinted, time.monotonic(), event
        self.calls[event.call_id] = OpenCall("", None, *noted)

    def unfinished(self, renew: Callable[[Event | None], None]) -> Iterator[FinishedCall]:
        """The calls that were still open when the run ended, and are shown, inner ones first.
        ``renew`` hides in their starts what has become known since."""
        for call in self.calls.values():
            renew(call.event)
        for call in sorted(self.calls.values(), key=lambda call: -len(self.ancestors(call.parent))):
            if call.event and not call.unprinted:
                finished = FinishedCall(call.event, call, self.cwd)
                finished.status = STILL_OPEN
                yield finished

    def ask(self, event: Event) -> None:
        """Note the target in a question: a call that isn't allowed never starts."""
        query = as_object(details(event).get("query"))
        for name, body in query.items():
            given = as_object(as_object(body).get("args"))
            call_id = first_text(given.get("toolCallId"), query.get("toolCallId"))
            if given and call_id and call_id not in self.calls:
                tool = re.sub("(Request|Interaction)Query$", "", name)
                self.calls[call_id] = OpenCall(tool, given)


def notes_of(run: Run) -> RunNotes:
    notes: RunNotes = run.notes or RunNotes()
    run.notes = notes
    return notes


class Notes:
    """Notes what writers read: of each run, and the totals of all runs that ended so far."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.total = Totals()
        self.so_far: dict[Any, dict[Any, float]] = {}  # what all runs of a session took, by place
        self.outside = dict[str, int]()  # redactions outside any run, until one ends
        self.sums = False  # does a writer read totals?

    def keep(self, events: Iterable[Event], writers: Sequence[Any]) -> Iterable[Event]:
        """Note each event before it is written, as far as somebody reads that."""
        self.sums = any(writer.noted and writer.sums for writer in writers)
        return self.note(events) if any(writer.noted for writer in writers) else events

    def note(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            run = event.run
            if event.hidden and self.sums and not event.unprinted:
                add_counts(notes_of(run).totals.redactions if run else self.outside, event.hidden)
            if run is None:
                self.note_outside(event)
                yield event
            elif event.type in SPOKEN_TYPES:
                yield event
            else:
                notes = notes_of(run)
                notes.follow(event)
                if self.sums:
                    notes.totals.count(event)
                if ends := ends_run(event):
                    self.note_end(event, run, notes)
                yield event
                event.finished_call = None  # they refer to each other, and events are not collected
                if ends:
                    notes.calls.clear()  # for the same reason

    def note_outside(self, event: Event) -> None:
        if event.kind == IMPLIED:  # the end of the input
            self.total.unused = self.reporter.unused
            add_counts(self.total.redactions, self.outside)
        self.total.runless += event.kind == NO_RUN and event.type is None
        self.total.command_failed |= event.type == COMMAND_END

    def note_end(self, event: Event, run: Run, notes: RunNotes) -> None:
        """Note how a run ended."""
        totals = notes.totals
        add_counts(totals.redactions, self.outside)
        self.outside = {}
        place = run.session, "" if notes.sums_up else run.file
        states = event.type == "result" or event.kind == IMPLIED
        numbers = numbers_in(details(event) if states else {}, NUMBERS)
        cost, so_far = numbers["cost_usd"], self.so_far.get(place, {}) if place[0] else {}
        if cost and cost < so_far.get("", 0):  # a new process, of whose models some took more
            so_far = {}
        remember(self.so_far, place, so_far, MAX_RUNS)
        numbers["cost_usd"] = self.added(cost, so_far, "")
        totals.stated = {name: number for name, number in numbers.items() if number is not None}
        rows = {model: numbers_in(took, MODEL_NUMBERS) for model, took in totals.models.items()}
        for model, row in rows.items():
            row |= {name: self.added(took, so_far, (model, name)) for name, took in row.items()}
        # One that took nothing worked in another run of the session.
        totals.models = {model: row for model, row in rows.items() if {*row.values()} != {0}}
        totals.runs_stating = dict.fromkeys(totals.stated, 1)
        ended = event.kind == END and event.subtype != IN_THE_MIDDLE
        verdict = "failed" if ended or run.failure in ("budget", "matched") else "unfinished"
        add_count(totals.verdicts, "succeeded" if run.succeeded else verdict)
        totals.unused = self.reporter.unused
        self.total.add(totals)

    def added(self, stated: float | None, so_far: dict[Any, float], key: Any) -> float | None:
        """A run's part of a number that is stated for all runs of its session so far. A new process
        counts from 0."""
        if not stated:
            return stated
        before = so_far.get(key, 0)
        remember(so_far, key, stated, MAX_RUNS)
        return round(stated - before, 10) if before <= stated else stated


# Numbers of a run, as rows name them -> where a result states them; the same of a model.
NUMBERS = {
    "duration_ms": "duration_ms", "turns": "num_turns", "cost_usd": "total_cost_usd",
    "tokens_in": "usage.inputTokens", "tokens_out": "usage.outputTokens",
    "tokens_cached": "usage.cacheReadTokens", "tokens_cache_written": "usage.cacheWriteTokens",
}  # fmt: skip
MODEL_NUMBERS = {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "cost_usd": "costUSD"}


def numbers_in(stated: Any, places: Mapping[str, str]) -> dict[str, float | None]:
    members = Node(stated)
    return {
        name: as_dollars(members[place]) if name == "cost_usd" else as_count(members[place])
        for name, place in places.items()
    }


# ---------------------------------------------------------------- command lines
#
# The commands that a line of a shell runs, each by itself: of lists, pipelines, bodies, subshells
# and substitutions, and those that other commands may start. What a line redirects into a file is
# a command, too: `>` and the file.
# A line in, lists of words out, without quotes. It must not know events.


class UnclearError(ValueError):
    """What a command line runs can't be told from it."""


UNKNOWN = "\0"  # precedes what a shell expands: variables, braces, file names
INTO = ">"  # the program of a redirection


class ShellCommand(NamedTuple):
    """A command: its program without directory, and what follows. ``hidden``: what keeps its
    failure from failing the line, or ""."""

    words: Sequence[str]
    hidden: str

    def spellings(self) -> Iterator[str]:
        """As it stands, and without the options between program and words. A word behind an option
        may be the value of that; those of git are known."""
        yield " ".join(self.words)
        first, *words = self.words
        options, is_value = VALUED["git"] if first == "git" else "-.*", False
        for at, word in enumerate(words):
            if at >= MAX_INNER:
                raise UnclearError
            if word.startswith("-"):
                is_value = re.fullmatch(options, word) is not None
                continue
            if not (is_value and first == "git"):
                if at:
                    yield " ".join((first, *words[at:]))
                if not is_value:
                    break
            is_value = False


@functools.lru_cache(256)  # each gate asks about the start of a call, and about its end
def read_line(line: str) -> Sequence[ShellCommand]:
    """Read a line for bash: its commands in turn. Raises UnclearError."""
    import tree_sitter
    import tree_sitter_bash

    for spelled, plain in REWRITTEN:
        line = spelled.sub(plain, line)
    source = line.encode("utf-8", "replace")
    signs = len(re.findall(rb"=\(|[|]", source))
    if len(source) > MAX_SOURCE or signs > MAX_SIGNS or CUT_WORD.search(source):
        raise UnclearError
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    root = parser.parse(source).root_node
    if root.has_error:
        raise UnclearError
    try:
        found = [*itertools.islice(commands_in(root), MAX_COMMANDS)]
    except RecursionError:
        raise UnclearError from None
    if len(found) == MAX_COMMANDS:
        raise UnclearError
    return [*in_turn(found)]


# Bytes of a line, and signs in it for which the parser takes quadratic time.
MAX_SOURCE, MAX_SIGNS = 32_768, 2000
MAX_INNER = 300  # behind a program that starts others: each may begin a command
MAX_COMMANDS = 20_000
CUT_WORD = regex(rb"\S\\\n\S")  # the parser takes it for two
# What the parser for bash takes for something else, or an error -> the same for it: assignments,
# calls and conditions of PowerShell, whose words may begin commands as its blocks' may; an exit
# with the status of what has failed; a translated text.
REWRITTEN = (
    (regex(r"(?m)((?:^|;)[ \t]*)\$(?:env:)?\w+[ \t]*=(?!=)[ \t]*"), r"\1"),
    (regex(r"(?m)^[ \t]*&[ \t]+"), ""),
    (regex(r"\b(?:if|elseif|while|foreach|switch)[ \t]*\(((?:[^()]|\([^()]*\))*)\)\s*(?=\{)"),
     lambda found: f"block {{ {re.sub('[()|&;<>]', ' ', found[1])} }} "),
    (regex(r"(\|\|\s*exit)(?=\s*(?:[;\n}]|\Z))"), r"\1 1"),
    (regex(r'\$(?=")'), ""),
)  # fmt: skip


def in_turn(commands: Iterable[ShellCommand]) -> Iterator[ShellCommand]:
    """Commands in turn: earlier ones may change what others mean."""
    import posixpath

    changed, replaced, directory = "", ShellCommand((), ""), ""
    for command in commands:
        program, *rest = command.words
        started = [*replaced.words][-len(command.words) :] == [*command.words]  # exec pytest
        yield command if started else command._replace(hidden=command.hidden or changed)
        if program == INTO and directory:  # a subshell may have changed it, and ended
            yield command._replace(words=[INTO, posixpath.join(directory, *rest)])
        if program in ("cd", "pushd"):
            directory = posixpath.join(directory, placed(*rest[-1:]))
        if CHANGES_LINE.match(" ".join(command.words)):
            changed = f"{program} before it"
            replaced = command if program == "exec" else replaced


def placed(path: str = "~") -> str:
    """A path, or a directory to change to; it begins with UNKNOWN if only the shell knows it."""
    return UNKNOWN + path if path[:1] == "~" or path == "-" else path


# What may end its line early with success, or change what the rest means; a function is `name ()`.
CHANGES_LINE = regex(
    r"(?:exit|return)\Z|(?:exit|return) (?!0*[1-9][0-9]*(?: |\Z))|exec ."
    r"|set .*(?:-[a-zA-Z]*n[a-zA-Z]*|noexec)\b|(?:alias|enable|hash)\b|\S+ \(\)\Z"
)


def commands_in(
    node: Any, hidden: str = "", *, fed: Fed = None, behind: Any = ()
) -> Iterator[ShellCommand]:
    """The commands of a node of the syntax. ``behind``: words of a command behind a redirection's
    file, which the parser takes for more files (echo >&2 x). Raises UnclearError."""
    kind, parts = node.type, node.children
    if kind == "redirected_statement":
        fed = next(filter(None, map(input_from, parts)), fed)
        joined = [[part, *part.children_by_field_name("redirect")] for part in parts[1:]]
        behind = [word for part in itertools.chain(*joined) for word in files_of(part)[1:]]
    elif kind == "command":
        fed = next(filter(None, map(input_from, parts)), fed)
        named = [node.child_by_field_name("name"), *node.children_by_field_name("argument")]
        words = [word_of(part) for part in (*named, *behind) if part.is_named]
        yield from started_by(words, hidden, fed=fed)
    elif kind == "file_redirect":
        for file in files_of(node)[:1]:
            name = placed(word_of(file)) if file.type != "number" else "/dev/fd"
            if ">" in source_of(node).split(name)[0] and not name.startswith("/dev/"):
                yield ShellCommand([INTO, name], "a redirection")
    elif kind == "function_definition":
        yield ShellCommand([source_of(node.named_children[0]), "()"], kind)
    elif kind in ("declaration_command", "unset_command"):
        yield ShellCommand(source_of(node).split(), hidden)
    elif kind == "variable_assignment":
        yield from set_by(["".join(map(word_of, parts))])
    elif kind == "heredoc_redirect" and not QUOTED_END.match(source_of(node).lstrip("<-")):
        yield from substitutions_in(body_of(node))
    elif kind == "word":
        yield from substitutions_in(source_of(node))
    for part, why, piped in inner_parts(node):
        last = parts[0] if kind == "redirected_statement" else parts[-1]
        more = behind if part == last and part.type in ("command", *ENDS_IN_COMMAND) else ()
        given = UNKNOWN if piped else fed
        yield from commands_in(part, hidden or why, fed=given, behind=more)


ENDS_IN_COMMAND = ("list", "pipeline", "negated_command")


def files_of(redirect: Any) -> list[Any]:
    """What a redirection names: its file, or the word of a document, and what the parser adds. One
    that only closes a descriptor names none, and the parser takes the next word for a file."""
    named = redirect.children_by_field_name("destination")
    words = redirect.children_by_field_name("argument")
    closes = any(part.type in (">&-", "<&-") for part in redirect.children)
    return [redirect, *named, *words] if closes or words else named


def substitutions_in(line: str) -> Iterator[ShellCommand]:
    """The commands of the substitutions in a text where the parser doesn't see them all."""
    if UNREAD.search(line):
        quoted = re.sub(r'(?<!\\)"', r'\\"', line)
        _, *found = read_line(f': "{quoted}"')
        yield from (command._replace(hidden="what it is put in") for command in found)


UNREAD = regex(r"(?<!\\)`|\$\(")  # a substitution
QUOTED_END = regex(r"\s*[\w-]*[\"'\\]")  # the end of a document whose text nothing is done to
# A command's input: a document's text, or UNKNOWN; None if nothing is redirected.
Fed: TypeAlias = "str | None"


def body_of(document: Any) -> str:
    return "".join(source_of(part) for part in document.children if part.type == "heredoc_body")


def input_from(redirect: Any) -> Fed:
    """What a redirection gives a command to read."""
    text = source_of(redirect).lstrip("0123456789")
    if redirect.type == "herestring_redirect":
        return word_of(redirect.named_children[-1]) or UNKNOWN
    if redirect.type != "heredoc_redirect":
        return UNKNOWN if redirect.type == "file_redirect" and text[:1] == "<" else None
    body = body_of(redirect)
    plain = QUOTED_END.match(text.lstrip("<-")) or not re.search(r"[$`\\]", body)
    return body if plain and body.strip() else UNKNOWN


def inner_parts(node: Any) -> Iterator[tuple[Any, str, bool]]:
    """The parts of a node, each with what hides its status, and whether it is fed. Only the last
    command, and a chain of && before it, decide the status. What follows `<<E` on its line stands
    in the document. Raises UnclearError of nested backticks, which the parser doesn't know."""
    kind, parts = node.type, node.children
    if kind == "command_substitution" and re.match(r"`[^`]*\\`", source_of(node)):
        raise UnclearError
    kinds = [part.type for part in parts]
    named = [at for at, part in enumerate(parts) if part.is_named and part.type != "comment"]
    joined = [part for each in parts for part in each.children if each.type == "heredoc_redirect"]
    for at in named:
        why, last = "", excerpt_of(parts[named[-1]])
        if kinds[at + 1 : at + 2] == ["&"]:
            why = "&"
        elif kind in ("program", "subshell", "compound_statement"):
            why = f"; {last}" if at != named[-1] else ""
        elif kind == "pipeline":
            why = "!" if kinds[0] == "negated_command" else f"| {last}" if at != named[-1] else ""
        elif kind == "list":
            why = f"|| {last}" if "||" in kinds else ""
        elif kind == "redirected_statement":
            why = next((excerpt_of(one) for one in joined if one.type in IN_DOCUMENT), "")
        elif not (kind == "heredoc_redirect" and "&&" in kinds):
            why = "!" if kind == "negated_command" else "what it is a part of"
        yield parts[at], why, kind == "pipeline" and at != named[0]


IN_DOCUMENT = ("||", "pipeline", "list", "&", ";")


def excerpt_of(node: Any) -> str:
    return "".join(source_of(node).split()[:1])[:30]


def source_of(node: Any) -> str:
    return bytes(node.text).decode("utf-8", "replace")


def word_of(node: Any) -> str:
    """A word without quotes. What a shell expands stays as it is spelled, after UNKNOWN."""
    kind, text = node.type, source_of(node)
    if kind in ("command_name", "concatenation"):
        return LIST.sub(UNKNOWN, "".join(map(word_of, node.children)), 1)
    if kind == "raw_string":
        return text[1:-1]
    if kind == "ansi_c_string":
        return text[2:-1].encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
    if kind == "string":
        text = re.sub(r"(?<!\\)(?=`|\$[\w({@*#?$!-])", UNKNOWN, text[1:-1], count=1)
        return re.sub(r'\\([$`"\\]|\n)', lambda found: found[1].strip("\n"), text)
    if "expansion" in kind or "substitution" in kind:
        return UNKNOWN + text
    if re.match(r"(?:[A-Za-z]:|\.[\w.-]*)\\\w", text):  # of Windows, in a line for its shells
        return text
    text = re.sub(r"(?<!\\)[*?[]", rf"{UNKNOWN}\g<0>", text, count=1)
    return re.sub(r"\\(\n|.)", lambda found: found[1].strip("\n"), LIST.sub(UNKNOWN, text, 1))


LIST = regex(r"(?<![\\\0$])(?=\{\S)")  # in braces


def started_by(words: Sequence[str], hidden: str, *, fed: Fed = None) -> Iterator[ShellCommand]:
    """A command, and those that it may start: any word behind it that is no option may begin one,
    or be a line, for nobody knows all programs and their options. The one behind known words tells
    how it ended. Raises UnclearError of what known programs start."""
    yield from set_by(words)
    words, begun = [*words], {0: (hidden, CERTAIN)}  # where one begins
    for at, word in enumerate(words):
        if at not in begun:
            continue
        hidden, needed = begun[at]
        if at and ENDS_WORD.search(word):
            certain = needed == CERTAIN
            yield from read_input(word, hidden) if certain else read_text(word, needed)
            continue
        name, rest = base_name(word), words[at + 1 :]
        program = NAME_END.sub("", name)
        about = ["-h"] if program in ("ctest", "mvn") else ["-h", "-V"]
        if (rest and rest[-1] in about) or not HELP.isdisjoint(rest):
            hidden = hidden or "its option"
        for spelled in dict.fromkeys((name, program)):
            yield ShellCommand([spelled, *rest], hidden)
        if program in FEEDERS:
            words[at + 1 :] = rest = completed_words(program, rest)
        with contextlib.nullcontext() if needed else contextlib.suppress(UnclearError):
            yield from scripts_of(program, rest, hidden, fed)
        if needed == CERTAIN and plain_name(program) in TEXTS:  # what follows are its words
            ends = (n for n in range(at + 1, len(words)) if NEXT_BEGINS.search(words[n]))
            end = next(ends, len(words))
            lines = {n for n in begun if begun[n][1] == A_LINE and ENDS_WORD.search(words[n])}
            begun = {n: begun[n] for n in begun if n > end or n in lines}
        if needed == GUESSED and not is_starter(program):
            continue  # what it might start has begun by the same guess
        for to, why, need in inner_words(program, rest):
            why, to = hidden or why, at + 1 + to
            before, least = begun.get(to, (why, need))
            begun[to] = before and why, max(least, need)


# A command that another may start: nobody knows; a known program might; if it is a line; it does.
GUESSED, LIKELY, A_LINE, CERTAIN = range(4)


def read_text(text: str, needed: int) -> Iterator[ShellCommand]:
    """The commands of what may be a line; of one that can't be read, those of its pieces."""
    try:
        found = [*read_input(text.lstrip("+:!|"), "a text")]
    except UnclearError:
        pieces = [] if SENTENCES.search(text) else re.split(r"[\n;&|()`'\"]", text)
        found = [ShellCommand(words, "a text") for words in map(str.split, pieces) if words]
    left_out = (UNKNOWN,) if needed == A_LINE else (UNKNOWN, INTO)
    yield from (one for one in found if one.words[0][:1] not in left_out)


def inner_words(program: str, rest: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    """Where commands may begin behind a program, each with what hides its end, and how much of it
    has to be known: the first behind known words; of others that only the shell knows nothing."""
    if (begin := first_inner(program, rest)) == NOWHERE or joined_line(program, rest):
        return
    if len(rest) > MAX_INNER:
        raise UnclearError
    known = count_known(program, rest) if is_starter(program) else NOWHERE
    inner = [at for at in range(begin, len(rest)) if not NO_PROGRAM.match(rest[at])]
    first = next((at for at in inner if at >= known), NOWHERE)
    names = rest if TEXTS.get(plain_name(program), "").startswith(RUN) else ()
    last = max((at for at, word in enumerate(names) if word == "--"), default=-1)
    others = A_LINE if program in TAKES_LINES else LIKELY if known < NOWHERE else GUESSED
    for at in inner:
        is_line = others == A_LINE and ENDS_WORD.search(rest[at])
        if at == first or is_line or not base_name(rest[at]).startswith(UNKNOWN):
            hides = program in HIDES_STATUS or at != known
            need = CERTAIN if at == first and at in (known, begin) else others
            if at <= last:
                need = LIKELY  # the name of a place: mise exec node@20 -- x
            yield at, f"{program} {rest[min(known, at)]}" if hides else "", need


def scripts_of(program: str, rest: Sequence[str], hidden: str, fed: Fed) -> Iterator[ShellCommand]:
    """The commands of what a shell is given to run: the first word behind its options, or its
    input; and of what a program may give to one. Raises UnclearError."""
    if UNTOLD.match(" ".join((program, *rest))):
        raise UnclearError
    if program in JOINING:
        yield from read_script(" ".join(rest) if len(rest) < MAX_INNER else UNKNOWN, hidden)
    elif line := joined_line(program, rest):
        yield from read_script(line, hidden)
    elif plain_name(program) in SHELL_NAMES:
        known = count_known(program, rest)
        flag = next((at for at, word in enumerate(rest) if SCRIPT.fullmatch(word)), 0)
        behind = range(max(known, flag), len(rest))
        at = next((at for at in behind if rest[at][:1] not in "-+"), len(rest))
        options, script = rest[:at], "".join(rest[at : at + 1])
        if known < at:
            hidden = hidden or f"{program} {rest[known]}"
        if any(map(SCRIPT.fullmatch, options)):
            yield from read_script(script, hidden)
        elif script.strip(UNKNOWN).startswith(PIPES):
            raise UnclearError
        elif program in ("source", ".") and not script:  # "ruff check ."
            return
        elif ("-s" in options or at == len(rest)) and HELP.isdisjoint(rest):
            yield from read_input(fed or UNKNOWN, hidden)
    elif fed is not None and program != "xargs" and first_inner(program, rest) < NOWHERE:
        known = count_known(program, rest) if is_starter(program) else NOWHERE
        if known == len(rest) or program == "at":
            yield from read_input(fed, hidden or ("" if program in READ_LINES else program))


def joined_line(program: str, rest: Sequence[str]) -> str:
    """The line of several words that ssh makes, for the shell of its host, if one has signs."""
    words = rest[count_known(program, rest) :] if program == "ssh" else []
    several = len(words) > 1 and not words[0].startswith("-")
    return " ".join(words) if several and re.search(r"[;&|\n]", "".join(words)) else ""


def read_script(script: str, hidden: str) -> Iterator[ShellCommand]:
    """The commands of a script among words. One that begins with an expansion is one command that
    nobody knows: what stands behind it in the line is still known."""
    expanded = script.startswith(UNKNOWN) and script != UNKNOWN
    yield from [ShellCommand([UNKNOWN], hidden)] if expanded else read_input(script, hidden)


def read_input(script: str, hidden: str) -> Iterator[ShellCommand]:
    """The commands of a script within a line. Raises UnclearError if it isn't known."""
    if script.startswith(UNKNOWN):
        raise UnclearError
    for command in read_line(script.replace(UNKNOWN, "")):
        yield command._replace(hidden=hidden or command.hidden)


def set_by(words: Sequence[str]) -> Iterator[ShellCommand]:
    """The commands that settings among words name: others may stand behind them. Of a value that
    can't be read, or only the shell knows, nothing is said: most are names of editors, or texts."""
    entries = [f"{one}={word}" for one, word in itertools.pairwise(words) if one == "--entrypoint"]
    program, *rest = map(base_name, words)
    glued = first_inner(program, rest) < NOWHERE
    for word in (*words, *entries):
        if setting := SETS_COMMAND.match(word) or (glued and GLUED_LINE.match(word)):
            try:
                found = [*read_input(f'{setting[1]} "$@"', "a setting")]
            except UnclearError:
                if word.startswith("--entrypoint="):
                    raise
            else:
                yield from (one for one in found if not one.words[0].startswith(UNKNOWN))


def base_name(word: str) -> str:
    """A program's name without directory or flake; UNKNOWN precedes it if it isn't known."""
    name = re.split(r"[/\\#](?=[^/\\#]*\Z)", word)[-1]
    known = UNKNOWN not in word or UNKNOWN in name or re.fullmatch(r"[\w.+-]+", name)
    return name if known else UNKNOWN + name


def plain_name(program: str) -> str:
    return re.sub(r"(?<=[a-z])[-.0-9]+\Z", "", program)  # python3.12


def is_starter(program: str) -> bool:
    return not {program, plain_name(program)}.isdisjoint(STARTERS)  # run0


def first_inner(program: str, rest: Sequence[str]) -> int:
    """Where the first command may begin that a program starts, or NOWHERE."""
    name = plain_name(program)
    if name in SHELL_NAMES or (name == "command" and rest[:1] in (["-v"], ["-V"])):
        return NOWHERE
    flag = r"\{" if NO_NAME.fullmatch(name) else TEXTS.get(name)
    if flag is None:
        return 0
    return next((at + 1 for at, word in enumerate(rest) if re.fullmatch(flag, word)), NOWHERE)


NOWHERE = 1 << 30


def count_known(program: str, rest: Sequence[str]) -> int:
    """How many words behind a program are known to be no command: options that don't keep it from
    telling how it ended, their values, and the name of a place."""
    if flag := TELLS.get(program.lower()):  # all before it is about what it runs
        at = next((at + 1 for at, word in enumerate(rest) if re.fullmatch(flag, word)), 0)
        if at:
            return at
    text = "".join(re.sub(r"\s", "_", word) + " " for word in rest)
    return known_words(plain_name(program)).match(text)[0].count(" ")  # type: ignore[index]


@functools.lru_cache(256)
def known_words(name: str) -> re.Pattern[str]:
    is_shell = name in SHELL_NAMES
    name = "sh" if is_shell else name
    valued, loses = VALUED.get(name, VALUED[""]), DETACHED.get(name, "(?!)")
    setting = "(?!)" if is_shell else r"[A-Za-z_]\w*=\S*"  # a script may begin so
    options = rf"(?:(?!(?:{loses}) )(?:(?:{valued}) \S+|[-+]\S*|{setting}|{VERB}) )*"
    place = rf"(?:(?!(?:{loses}) ){PLACES[name]} {options})?" if name in PLACES else ""
    return re.compile(options + place)


def completed_words(program: str, rest: Sequence[str]) -> list[str]:
    """The words of xargs or parallel, with UNKNOWN where they put in what they read."""
    mark = re.search(r"(?:\A| )(?:-[IJ]|--replace=) ?(\S+)", " ".join(rest))
    put_in = mark[1].replace(UNKNOWN, "") if mark else "{"
    marked = (word.replace(UNKNOWN, "").replace(put_in, f"{UNKNOWN}{{}}") for word in rest)
    words = [UNKNOWN if word.startswith(":::") else word for word in marked]
    return [*words, UNKNOWN] if count_known(program, rest) < len(rest) else words


NAME_END = regex(r"(?<=[\w+])(?:\.exe|@(?:v?\d.*|latest|next|beta|canary))\Z")  # of npm
NEXT_BEGINS = regex(r"[;&|]\Z|\0?\+\Z")  # behind it, another command may begin
NO_PROGRAM = regex(r"-|[{}]\Z|\0?\$_|[A-Za-z_]\w*=|\Z")
ENDS_WORD = regex(r"[\s;&|`(<>]")  # in a line that is more than a word
HELP = frozenset(
    "--help --version --dry-run --collect-only --collectonly --co --fixtures --fixtures-per-test "
    "--markers --setup-plan --setup-only --cache-show --no-run --list --listTests "
    "--list-tests".split()
)
# Settings of what programs run: GIT_EDITOR=x, core.pager=x, --entrypoint=x, and any that is a line.
SETS_COMMAND = regex(
    r"(?is)(?:[\w.-]*(?:editor|pager|visual|cmd|[\w.-]command|-filter|-exec|extcmd|-string|-call|-run"
    r"|--rsh|shell)=|--entrypoint=|(?:[\w-]+\.[\w.-]+|(?-i:[A-Z_]+))=[!|]?(?=\S*\s))(.+)"
)
GLUED_LINE = regex(r"(?is)(?:-[a-z]*[sc](?=\w+ )|-[a-z]|[\w.-]+[=:](?:exec=)?[!|]?)(?=\S*\s)(.+)")
SHELL_NAMES = frozenset(
    "sh bash zsh dash ksh fish ash mksh lksh oksh osh ysh hush ion posh yash csh tcsh rbash "
    "elvish nu xonsh source .".split()
)
# Words of programs which leave it open what these run.
UNTOLD = regex(r"(?i:(?:pwsh|powershell)\b.* -e(?:c|nc[a-z]*)?(?: |\Z))|git .*\balias\.")
PIPES = ("<(", "$@", "/dev/stdin", "/dev/fd/", "/proc/self/fd/")
SCRIPT = regex("-[a-zA-Z]*[cC][a-zA-Z]*|--(?:session-)?commands?")  # precedes that of a shell
READ_LINES = ("ssh", "su", "runuser", "sudo", "doas", "chroot", "wsl")  # given no command
JOINING = ("eval", "iex", "Invoke-Expression")  # their words make one script
TELLS = {
    **dict.fromkeys(("nix", "nix-shell"), "-c|--command|--run"),
    **dict.fromkeys(("pwsh", "powershell"), "(?i)-c|-command"),
    "cmd": "(?i)//?[ck]",
}
DOCKERS = "docker podman nerdctl docker-compose podman-compose".split()
# Programs whose words are texts, names, and files: none begins a command but behind these.
RUN = r"run|exec|rsh|--|\{"
RUNNERS = (
    "aws-vault bundle composer conda direnv doppler mamba op pipenv pipx poetry pyenv rbenv rustup "
    "rye tox".split()
)
TEXTS = {
    **dict.fromkeys(
        ": [ [[ ack ag agentfmt apk apt apt-get awk aws basename black bzip2 cat cd chgrp chmod "
        "chown claude cmp codex column comm cp curl cut date dd declare deno df diff dirname dnf "
        "dotnet dpkg du echo egrep eslint exit export expr fgrep file flutter fold gawk gemini "
        "glab grep gsutil gzip hash head helm hexdump id java javac jest journalctl jq kill "
        "killall ln local logger ls make md5sum mkdir mktemp mv mypy mysql nl node notify-send od "
        "pacman paste patch pgrep php pip pkill playwright prettier printf ps psql pushd pytest "
        "read readlink realpath return rg rm rmdir rpm ruby ruff say scp sed seq service "
        "sha256sum shasum sleep sort sqlite3 stat strings systemctl tail tee terraform test touch "
        "tr tree true truncate type uniq unset unzip vitest wc wget whereis which winget yq yum "
        "zip zypper".split(), "(?!)"),
    **dict.fromkeys([*DOCKERS, *RUNNERS, *"asdf kubectl oc lxc incus opam stack".split()], RUN),
    **dict.fromkeys("npm bun mise pixi hatch pdm go uv nix guix devbox devenv coverage".split(),
                    RUN + "|x|dlx|tool|start|shell|develop|-m|-c|--command|--call"),
    **dict.fromkeys(("python", "py", "pypy"), "-m"),
    "git": "foreach|run|-x|--exec|--extcmd|--[a-z]+-filter",
    "nix-shell": "--run|--command", "cmd": "(?i)//?[ck]", "gh": "ssh", "brew": "exec",
    "cargo": "watch", "find": "-(?:exec|ok)(?:dir)?", "fd": "-x|-X|--exec|--exec-batch",
}  # fmt: skip
# What is no program's name: it begins a sentence, or is its word. And where two sentences meet.
NO_NAME = regex(r"(?!Start-|Invoke-)[A-Z][^=]*|.*[.,:?]")
SENTENCES = regex(r"[\w)*`][.:!]+\s+[A-Z*#]")
VERB = r"(?:run|exec|rsh|x|dlx|tool|shell|develop|compose|[0-9.]*[0-9][smhd]?)"  # or a time
# Behind these, or their verb, comes the name of a host, a container, a file, or a time first.
PLACES = {
    **dict.fromkeys(DOCKERS, r"\S+"),
    **dict.fromkeys("ssh chroot gosu su-exec mosh flock kubectl oc lxc incus at aws-vault "
                    "direnv".split(), r"\S+"),
    "timeout": r"(?<!\d )(?<!\d[smhd] )\0\S+",
    "su": r"(?<!c )(?<!d )\S+(?= -| \Z)",
    "runuser": r"(?<!c )(?<!d )(?<!-- )(?:\S+(?= -[a-zA-Z]*[cC] | - \Z)"
               r"|(?:(?<!\w )|(?<=-l ))\S+(?= \Z))",
}  # fmt: skip
# Options with a value, of programs that start others.
VALUED = {
    "ssh": "-[BbcDEeFIiJLlmOopQRSWw]",
    **dict.fromkeys(("python", "py", "pypy"), "-[WX]"),
    "exec": "-a", "time": "-[fo]", "command": "(?!)", "doas": "-[Cu]",
    "sh": "[-+][a-zA-Z]*[oO]|--(?:rc|init-)file", "timeout": "-[ks]", "su": "-[sgG]",
    **dict.fromkeys(DOCKERS, "-[acefhlmpuvw]|--(?!(?:rm|interactive|tty|init|privileged|detach"
                    "|read-only|replace|quiet|quiet-pull|publish-all|build|no-[a-zA-Z-]+|all"
                    "|remove-orphans|service-ports|use-aliases|debug|tls|tlsverify) )[a-z-]+"),
    "entr": "(?!)", "flock": "-[wE]|--(?:wait|timeout|conflict-exit-code)",
    **dict.fromkeys(("kubectl", "oc"), "-[cn]|--(?:container|namespace|context)"),
    **dict.fromkeys(("hatch", "pixi"), "-[ep]|--env(?:ironment)?|--project"),
    "poetry": "-[CP]|--(?:directory|project)",
    "git": "-[Cc]|--(?:git-dir|work-tree|namespace|config-env|attr-source|super-prefix)",
    "sudo": "-[CDghpRrTtuU]|--(?:user|group|host|chdir|prompt)",
    "strace": "-[abeEIopPsSuUX]",
    "": "-[CDFIPUfghnopsuw]|--(?:with(?:-[a-z]+)?|from|package|spec|name|namespace|user|group"
    "|signal|kill-after|extra|python|env|env-file|file|workdir|directory|project|source|container"
    "|context|profile|adjustment|chdir|unset|host|prefix|filter|cwd|network|volume|publish|image)",
}  # fmt: skip
FEEDERS = frozenset(("xargs", "parallel", "sem"))
# What is known to start the first word behind its options, and how that ended isn't told.
HIDES_STATUS = FEEDERS | frozenset(
    "find fd trap coproc setsid script watch systemd-run tmux screen entr start-stop-daemon "
    "hyperfine at batch gdb git nodemon watchexec Start-Process Start-Job start concurrently "
    "! and or not if then elif else while until do".split()  # for the parser, words behind `!`
)
TAKES_LINES = HIDES_STATUS - TEXTS.keys() - {"xargs"}  # as any word
# And is told.
STARTERS = (
    HIDES_STATUS
    | PLACES.keys()
    | {name for name in TEXTS if TEXTS[name] != "(?!)"}
    | set(
        "sudo doas env timeout time nice ionice stdbuf exec strace ltrace command npx yarn "
        "pnpm taskset xvfb-run cross-env bunx uvx nohup builtin unbuffer chronic "
        "caffeinate wsl dbus-run-session dotenv firejail proxychains unshare tini "
        "torsocks setpriv chrt sshpass busybox toybox "
        "fakeroot perf valgrind nsenter bwrap prlimit systemd-inhibit faketime pkexec run0 "
        "dumb-init envdir rlwrap retry pwsh powershell "
        "mpirun mpiexec srun flatpak-spawn "
        "call sg ssh-agent runcon setarch eatmydata torify tsocks fakechroot proot".split()
    )
)
# Options with which a program doesn't wait for what it starts, or starts nothing.
DETACHED = {
    "sh": "-[a-zA-Z]*[nD][a-zA-Z]*|-o noexec|--dump-.*|--pretty-print",
    "ssh": "-[a-zA-Z]*[fNG][a-zA-Z]*",
    "python": "-V+|-h|-",
    **dict.fromkeys(("sudo", "doas"), "-[a-zA-Z]*[blveKV][a-zA-Z]*|--background|--list"),
    **dict.fromkeys(PLACES.keys() - {"ssh", "su"}, "-[a-z]*d[a-z]*|--detach.*|--entrypoint.*"),
    "kubectl": "run|--dry-run.*",
}


# ---------------------------------------------------------------- selecting
#
# Selectors, and which events are printed.
# Events in, the same events out, some of them hidden. It must not know writers.


# What an event says under a key: for each thing that it names, the spellings of its name.
Named: TypeAlias = "Iterable[Iterable[str | None]]"


def event_tools(event: Event) -> Iterator[str]:
    """The names of a call's tool: Cursor's, the agent's own, an MCP tool's with its server. An edit
    that created its file was a write, as its action line says."""
    if event.type != "tool_call":
        return
    tool, _ = tool_of(event)
    yield FinishedCall(event).tool if tool == "edit" and event.subtype == "completed" else tool
    own = call_of(event).get("name")
    if isinstance(own, str):
        yield own
    for name, args in call_groups(event) if tool == "mcp" else ():
        if name == "args" and args.get("toolName") and args.get("providerIdentifier"):
            yield f"mcp__{args['providerIdentifier']}__{args['toolName']}"


ANY_CHANGE = "change"


def event_statuses(event: Event) -> Iterator[Sequence[str]]:
    if event.type == "tool_call" and event.subtype == "completed":
        status = FinishedCall(event).status
        yield status, "" if status == "ok" else "failed"


def call_groups(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments of a call, or of its start, and what the variants of its result hold."""
    if event.type != "tool_call":
        return
    for call in (event, event.started) if event.started else (event,):
        for body in map(as_object, call_of(call).values()):
            groups = {"args": body.get("args"), **as_object(body.get("result"))}
            yield from ((name, as_object(group)) for name, group in groups.items())


def event_paths(event: Event) -> Named:
    """The paths that a call names, or writes into by a redirection. That a command ran in the run's
    own directory says nothing. Raises UnclearError."""
    here = event.run.cwd if event.run else ""
    for path in written_files(event):
        yield path_spellings(path, here)
    groups = [group for _, group in call_groups(event)]
    groups += [as_object(group.get("args")) for group in groups]  # of an MCP tool
    of_files = re.search("file|move|copy|rename", " ".join(event_tools(event)), re.IGNORECASE)
    for member, value in ((name, group.get(name)) for group in groups for name in PATH_MEMBERS):
        paths = filter(None, map(first_text, value if isinstance(value, list) else [value]))
        for path in paths:
            named = path_spellings(path, here)
            own = member == "workingDirectory" and "." in named
            if not own and (member not in MAYBE_PATHS or of_files or IS_PATH.match(path)):
                yield named


MAYBE_PATHS = ("source", "destination")  # or a language, a branch, the name of a service
IS_PATH = regex(r"(?!\w+://).*(?:[/\\]|\.\w+\Z)")


def path_spellings(path: str, here: str) -> Sequence[str]:
    """A path without `.` and `..`: as it is, relative to the run's directory, absolute."""
    import ntpath
    import posixpath

    windows = WINDOWS.match(here or path)
    paths = ntpath if windows else posixpath
    own = paths.normpath(path.removeprefix("/") if path.startswith("//") else path)
    whole = paths.normpath(paths.join(here, own))
    near = relative_path(whole, here)
    spelled = {own, near, whole, paths.normpath(os.path.join(here, near))}
    if not (paths.isabs(near) or near.startswith("..")):
        spelled.add(f"./{near}")
    elif paths.isabs(here):
        with contextlib.suppress(ValueError):  # it is on another drive
            spelled.add(paths.relpath(whole, here))
    if not here and (windows or own.startswith("/")):  # any directory of it may be the run's
        parts = re.split(r"[/\\]", own)[1:][-MAX_PARTS:]
        below = ["/".join(parts[at:]) for at in range(len(parts))]
        spelled |= {*below, *(f"./{one}" for one in below)}
    return [*spelled, *(spelling.replace("\\", "/") for spelling in spelled if windows)]


MAX_PARTS = 100  # of a path that are compared by themselves


def event_targets(event: Event) -> Named:
    """What a call is about: as action lines show it, and as the call spells it."""
    here = event.run.cwd if event.run else ""
    for name, group in call_groups(event):
        if name != "success":
            spelled = map(first_text, map(group.get, TARGET_MEMBERS))
            yield target_in(tool_of(event)[0], group, here), *spelled


TARGET_MEMBERS = "command path filePath pattern globPattern query searchTerm url".split()


def commands_of(event: Event) -> Iterator[ShellCommand]:
    """The commands that a call of a shell runs. Raises UnclearError."""
    if event.type != "tool_call" or tool_of(event)[0] != "shell":
        return
    for name, group in call_groups(event):
        given = group.get("command") if name == "args" else None
        if argv := [word for word in as_list(given) if isinstance(word, str)]:
            yield from started_by(argv, "")
        elif line := as_text(given):
            yield from read_line(line)


def written_files(event: Event) -> Iterator[str]:
    """The files that a shell's line redirects output into. Raises UnclearError."""
    return (command.words[1] for command in commands_of(event) if command.words[0] == INTO)


def event_changes(event: Event) -> Named:
    """Does a call change a file: by its tool, or by a shell's redirection to a file outside /tmp?
    Raises UnclearError."""
    if event.type != "tool_call":
        return ()
    written = (file for file in written_files(event) if not file.startswith("/tmp/"))
    changes = tool_of(event)[0] in CHANGING_TOOLS or any(written)
    return [[ANY_CHANGE if changes else "no change"]]


def event_sessions(event: Event) -> Iterator[str | None]:
    """The event's and its run's: the last line of a run may name another."""
    for name in (event.session_id, event.run and event.run.session):
        yield from (name, name and name[:SESSION_PREFIX])
    yield event.run and event.run.short


ANSWER = "answer"


def event_answers(event: Event) -> Named:
    """Of the end of a run: did its last act hold words, or do only its members?"""
    if event.kind != END or not event.run:
        return ()
    end = details(event)
    stated = first_text(end.get("result")).strip() or end.get("structured_output") is not None
    last = event.run.last_act
    return [[ANSWER]] if last == "assistant" or (stated and not last) else ()


SELECTOR_KEYS: dict[str, Callable[[Event], Named]] = {
    "type": lambda event: [[event.type]],
    "subtype": lambda event: [[event.subtype]],
    "tool": lambda event: [event_tools(event)],
    "status": event_statuses,
    "path": event_paths,
    "target": event_targets,
    "command": lambda event: (command.spellings() for command in commands_of(event)),
    "change": event_changes,
    ANSWER: event_answers,
    # The call whose sub-agent an event belongs to; only its start may name it.
    "parent": lambda event: [[one.parent_tool_use_id for one in (event, event.started) if one]],
    "session": lambda event: [event_sessions(event)],
    # Its number in the FILE where the run began, from its begin and from its end.
    "run": lambda event: [[str(event.run.number), event.run.from_end]] if event.run else [],
    "word": lambda event: [(event.type, *event_tools(event))],
}

KEYS = [key for key in SELECTOR_KEYS if key not in ("word", "change", ANSWER)]
KINDS_ALONE = frozenset(("type", "subtype", "tool", "word"))  # they ask for the kind of an event
WHOLE_RUNS = frozenset(("session", "run"))  # keys of terms that hold for a run as a whole
STATUSES = ("ok", "nonzero", *REASONS, "failed")


class Term(NamedTuple):
    """KEY=GLOB asks whether an event names anything that matches; KEY!=GLOB whether it names
    anything of which no spelling matches."""

    key: str
    glob: str
    negated: bool = False
    pattern: Any = None

    def matches(self, event: Event, *, unclear: bool = False) -> bool:
        """``unclear`` is the answer if it can't be told."""
        try:
            return any(self.fits(each, unclear=unclear) for each in SELECTOR_KEYS[self.key](event))
        except UnclearError:
            return unclear

    def fits(self, spellings: Iterable[str | None], *, unclear: bool) -> bool:
        names, seen = [*filter(None, spellings)], self.pattern.match
        if names and any(seen(name.replace(UNKNOWN, "")) for name in names) != self.negated:
            return True
        return unclear and not self.negated and any(map(self.may_fit, names))

    def may_fit(self, name: str) -> bool:
        """Could it match once a shell expands it: does it begin like the glob?"""
        known, unknown, _ = name.partition(UNKNOWN)
        begin = WILDCARD.split(self.glob)[0]
        same = begin.startswith(known) or (begin != "" and known.startswith(begin))
        return unknown != "" and same


class Selector(NamedTuple):
    """KEY=GLOB[,KEY=GLOB]...: all terms must match. A bare word is a type or a tool."""

    text: str
    terms: tuple[Term, ...]

    def matches(self, event: Event, *, unclear: bool = False) -> bool:
        return all(term.matches(event, unclear=unclear) for term in self.terms)

    def shortfall(self, event: Event, where: str) -> str | None:
        """Why an event that matches isn't enough for --fail-unless, or "" if it is: a call has to
        have ended, and well unless a term asks for its status. None if nothing matches."""
        is_call = event.type == "tool_call"
        if (is_call and event.subtype != "completed") or not self.matches(event):
            return None
        if is_call:
            call, what = FinishedCall(event), f"what matches at {where}"
            if call.begun:
                return f"{what} goes on in the background"
            if call.status != "ok" and all(term.key != "status" for term in self.terms):
                return f"{what} ended with status {call.status}"
            if changes_nothing(call):
                return f"{what} changed nothing"
        for term in (term for term in self.terms if term.key == "command"):
            ran = commands_of(event)
            found = [one for one in ran if term.fits(one.spellings(), unclear=False)]
            if all(one.hidden for one in found):
                hidden = f"but its status is hidden by {found[0].hidden}"
                return f"{found[0].words[0]} ran at {where}, {hidden}"
        return ""

    def kind(self) -> str:
        """What is asked, for people: an event, a call, or a command."""
        keys = {term.key for term in self.terms}
        return "command" if "command" in keys else "event" if keys.isdisjoint(OF_CALLS) else "call"

    def names(self, kind: str) -> bool:
        """Does a term name this type without a wildcard?"""
        return any(term[:3] == ("type", kind, False) for term in self.terms)

    def of_run(self) -> Selector:
        """Its terms about whole runs; all runs match if it has none."""
        return self._replace(terms=tuple(term for term in self.terms if term.key in WHOLE_RUNS))


def parse_selector(text: str) -> Selector:
    """Parse a selector. Raises ValueError if it is invalid, or no event could ever match a term,
    with what was meant if that is known."""
    meant = all_meant_by(text)
    terms = [term.replace(r"\,", ",") for term in BETWEEN_TERMS.split(meant)]
    try:
        parsed = [parse_term(term) for term in terms]
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    if both := contradiction(parsed):
        raise ValueError(f'{text!r}: no {both}: repeat the option for "or"')
    if meant != text:
        raise ValueError(f"{text!r}: nothing can match: {asks(meant)}")
    return Selector(text, tuple(term._replace(pattern=compile_term(term)) for term in parsed))


BETWEEN_TERMS = regex(r"(?<!\\),")


def contradiction(terms: Iterable[Term]) -> str:
    """Two names of which an event has one, or two globs that no text matches: people read a comma
    as "or"."""
    asked: dict[str, str] = {}
    for key, glob, negated, _ in terms:
        said = [("type", "tool_call")] if key in OF_CALLS else []
        plain = not negated and not WILDCARD.search(glob)
        if plain and key == "status":
            said += [(key, glob if glob == "ok" else "failed")]
        alone = plain and (key in ("type", "subtype") or (key == "tool" and glob in TOOLS))
        if alone or (key in OF_PARTS and not negated):
            said += [(key, glob)]
        for thing, name in said:
            other = asked.setdefault(thing, name)
            if other != name and (thing not in OF_PARTS or differ(other, name)):
                return f"{thing if thing in OF_PARTS else 'event'} is both {other} and {name}"
    return ""


def differ(*globs: str) -> bool:
    """Do two globs begin, or the names of files in them end, in two ways?"""
    heads = (WILDCARD.split(glob)[0].removeprefix("=") for glob in globs)
    tails = ((FILE_END.search(glob) or [""])[0][::-1] for glob in globs)
    return any(not (a.startswith(b) or b.startswith(a)) for a, b in (heads, tails))


OF_PARTS = ("path", "command")  # an event may have several of them
FILE_END = regex(r"(?<=[*?])\.\w+\Z")


OF_CALLS = frozenset(("tool", "status", "path", "target", "command", "change"))


def compile_term(term: Term) -> re.Pattern[str]:
    """A command may have words behind it, and what is in a directory is the directory, too."""
    import fnmatch

    globs, ahead = [term.glob.removeprefix("=")], ""
    if term.key == "path":
        if not re.match(r"\.\.?(?:/|\Z)", term.glob):  # .* is no ./x or ../x, nor is */x ./x
            ahead = r"(?!\.\.?/)" if term.glob[:1] in (".", "?", "[") else r"(?!\./)"
        named = globs[0].removesuffix("/*")
        globs = [named, named.replace("**/", ""), named.replace("[", "[[]")]  # app/[id]/page.tsx
        globs += [f"{name}/*" for name in globs]
    elif term.key == "command" and term.glob[:1] != "=" and term.glob[-1:] != "*":
        globs.append(f"{term.glob} *")
    any_case = re.IGNORECASE if term.key in ("tool", "word") else 0
    pattern = ahead + f"(?:{'|'.join(map(fnmatch.translate, globs))})"
    return re.compile(pattern, any_case)


# Names that a term may have without a wildcard: types, and any agent's names of tools.
EVENT_TYPES = CURSOR_TYPES | {"text", "stream_event", "rate_limit_event"}

KEY = f"(?:{'|'.join(KEYS)})"
NAME = f"(?i:{'|'.join(sorted({*TOOL_NAMES, *EVENT_TYPES, ANY_CHANGE, ANSWER}))})"
STATUS = f"(?:{'|'.join(STATUSES)})"
SEVERAL = rf"(?:(?:tool|type)!?=)?{NAME}(?: or (?:{NAME}|{STATUS})|(?: and)? {NAME})"
A_SHELL = "(?:tool=)?(?i:bash|shell|sh|cmd|exec|terminal)"
# What people write -> what they mean. Blanks and quotes around; another order or sign; two terms in
# one; rules of Claude Code; names alone; bare commands and paths; regular expressions.
MEANT = (
    (rf"\s+(.*)|((?!{KEY}=.*\\\Z).*\S)\s+|((?!command){KEY}!?=)\s+(.*)", r"\1\2\3\4"),
    (rf"((?:{KEY}!?==?)?)[\"'`“‘](.*)[\"'`”’]", r"\1\2"),
    (rf"({KEY})\s*(?:[:~]=?|=~(?!/)|(?<=\s)==?)\s*(.+)", r"\1=\2"),
    (rf"(?:!\s*|not )({KEY})=(.*)|(?!target)({KEY})=(?:!|not )(.*)", r"\1\3!=\2\4"),
    (rf"((?!target|command).*?)(?: and|,)?\s({KEY}!?=.*)", r"\1,\2"),
    (r"(command.*?)(?: and|,)?\s((?:tool|status|subtype|session|run)!?=.*)", r"\1,\2"),
    (rf"(?!{SEVERAL}\Z)(?:({NAME}) and (.+)|({NAME}) ({STATUS}))", r"\1\3,\2\4"),
    (rf"((?!target|command){KEY}!?=.+) and ({NAME}|{STATUS})", r"\1,\2"),
    (rf"not ({NAME}|{STATUS})", r"!\1"),
    (rf"(!?)\s*({STATUS})", r"status\1=\2"),
    (r"(command!?=)(?:\w+=\S* )+(.*)", r"\1\2"),
    (r"(command!?=)=(.*[*?].*)", r"\1\2"),
    (rf"(!?)\s*(?:{A_SHELL}\s*(!?)[(:=]+|shell\s(?!or ))\s*(.+?)\)?", r"command\1\2=\3"),
    (r"(command!?=)(?i:bash|shell)?\((.*)\)(?:\*|\Z)", r"\1\2"),
    (r"(command!?=)(?:[$#%]\s+|\(\?\w+\)|shell\s+)(.*)|(command!?=)(?:\[|{)([^]}]*\s[^]}]*)[]}]",
     r"\1\3\2\4"),
    (r"!\s*(\w+)", r"tool!=\1"),
    (r"(?:type=)?(?i:prompts?)", "type=user"),
    (r"(?:tool=)?(mcp__(?:(?!__)\w)+)", r"\1__*"),
    (r"(?:tool=)?(\w+)\(domain:(.*)\)", r"\1,target=*\2*"),
    (r"(?:tool=)?(\w+)\((.*)\)|(?:tool[=:])?(\w+):(?!//)(.*[/.].*)", r"\1\3,path=\2\4"),
    (r"([^=\s]*/[^=\s]*|\*?\.[\w.*]+)", r"path=\1"),
    (rf"(?!{SEVERAL}\Z)(?:(?:tool|type)(!?)=(?!=)|(?!{KEY}!?=))([^=]*[\s^$:][^=]*)",
     r"command\1=\2"),
    (r"(command!?=)/(.*)/[a-z]?", r"\1^\2"),
    (r"(path!?=.*)\$", r"\1"),
    (r"(path!?=(?:.*?(?=\$))?)(?:~(?=/)|\$\w+|\$\{\w+\})(.*)", r"\1*\2"),
    (r"(command!?=)(?!=)\^?(.*)\$", r"\1=\2"),
    (r"((?:command|path)!?=)\^(.*?)[.:]?\*?", r"\1\2*"),
    (r"(command!?=(?!=).*?)(?:\\ |\\s[+*]?)(.*)", r"\1 \2"),
    (r"((?:command|path)!?=(?!=).*?)(?:\.\+|(?<=[\w=]):\*|\.\*(?=\\)|\[[^]]*\]\+)(.*)",
     r"\1*\2"),
    (r"(command!?=(?!=).*?)(?<=[\w=])\.\*(.*)", r"\1*\2"),
    (r"((?:command|path)!?=(?!=).*?)\\(?:b|([*?.]))(.*)", r"\1\2\3"),
)  # fmt: skip
# What could match nothing, and why.
MISTAKES = (
    (r"[\"'].*|.*[\u200b-\u200f\u2060\ufeff\x00-\x1f].*|command!?=(?!=).*[\"'`“”‘’].*",
     "no quotes inside a selector, and nothing that can't be seen: leave them out"),
    (rf"command!?=(?!=).*[|;&<>](?!\]).*|{KEY}!?=.*\{{[^}}]*|"
     r"(?!(?:path|target|command|parent|session)!?=).*\|.*", "no | & ; < > and braces: repeat the "
     'option for "or", for a part of a line give its command; for a sign within quotes write [|]'),
    (rf"{SEVERAL}|command!?=(\S+) .*\s(?i:or|/)\s+\1 .*|path!?=\S*[/*]\S* (?i:or) \S*[/*]\S*",
     'a term has one name: repeat the option for "or"'),
    (r"(?:command|path)!?=(?!=).*(?:\(\?|\[\[:).*", "a glob is no regular expression: write *"),
    (rf"{KEY}[<>].*", "a term compares with = or !="),
    (rf"(?!{KEY}!?=)(\w*)[<>!]?=?[<>=].*", rf"no key '\1'; the keys are {', '.join(KEYS)}"),
    (r"(?:\w+!?==?)?", "an empty pattern matches nothing"),
    (r"-?[0-9]+", 'a number needs its key, as in run=2: repeat the option for "or"'),
    (r"(?!\w+!?==)(?:[^[]|\[!?\]?[^]]*\])*\[!?\]?[^]]*", "a [ without ]: write [[] for it"),
    (r"(\w+)!=\*+", r"nothing can match: for events without \1, write --drop '\1=*'"),
    (r"run!?=(?!-?[1-9][0-9]{0,8}\Z).*", "a run is a number, such as 3, or -1 for the last"),
)  # fmt: skip


def meant_by(term: str) -> str:
    """What a term means: itself, if it is well written."""
    for written, means in MEANT:
        if found := re.fullmatch(written, term, re.DOTALL):
            return found.expand(means)
    key, negation, glob = split_term(term)
    if key not in ("word", "tool", "type") or WILDCARD.search(glob) or find_name(key, glob):
        return term
    if named := find_name("word", glob):
        return f"{named[0]}{negation}={named[1]}"
    import difflib

    near = difflib.get_close_matches(glob.lower(), sorted(names_for(key)), 1, cutoff=0.75)
    return term.removesuffix(glob) + names_for(key)[near[0]][1] if near else term


def all_meant_by(text: str) -> str:
    """What the terms of a selector mean: what one row makes may be what another is for."""
    for _ in MEANT:
        before, text = text, ",".join(map(meant_by, BETWEEN_TERMS.split(text)))
        if text == before:
            break
    return text


def asks(*meant: str) -> str:
    import shlex

    return f"did you mean {', or '.join(map(shlex.quote, meant))}?"


def parse_term(term: str) -> Term:
    """The key and the pattern of a term; a word without a wildcard becomes a type or a tool."""
    import fnmatch

    for mistake, why in MISTAKES:
        if match := re.fullmatch(mistake, term, re.DOTALL):
            raise ValueError(match.expand(why))
    key, negation, glob = split_term(term)
    if key == "word" and glob == ANSWER:
        key = ANSWER
    elif key in ("word", "tool", "type"):
        if (named := find_name(key, glob)) is None:
            equals = "=" if WILDCARD.search(glob) else "=="
            spelled = glob.replace(",", r"\,")
            meant = [f"{key}{negation}{equals}{spelled}"]
            if key == "word":
                meant = [f"command={spelled}", f"tool{equals}{spelled}"]
            meant = [*filter(None, map(plainly, meant))]
            raise ValueError(f'no such name "{glob}"' + (f": {asks(*meant)}" if meant else ""))
        key, glob = named
    elif key == "status" and not fnmatch.filter(STATUSES, glob):
        raise ValueError(NO_STATUS)
    elif key == "path":  # a directory is what is in it
        glob = "./" if glob == "." else glob
        within = glob.startswith("./")  # the directory of the run
        glob = os.path.normpath(f"{glob}*" if glob.endswith("/") else glob)
        glob = f"./{glob}" if within and glob[:2] != ".." else glob
    elif key == "command" and glob.startswith("="):
        glob = WILDCARD.sub(r"[\g<0>]", glob)
    elif key == "command":
        words = " ".join(re.sub(r"\*+", "*", glob).split()).removesuffix(" *")  # may be missing
        glob = re.sub(r"\A[^\s*?[]*/", "", words)  # as the directory of a program
    return Term(key, glob, negation == "!")


def plainly(term: str) -> str:
    """A term as it has to be written, or "" if it can match nothing."""
    term = all_meant_by(term)
    return "" if any(re.fullmatch(mistake, term, re.DOTALL) for mistake, _ in MISTAKES) else term


NO_STATUS = f"no such status; they are {', '.join(STATUSES)}"


def split_term(term: str) -> tuple[str, str, str]:
    """Its key, "!" if it is negated, and its glob."""
    parts = re.fullmatch(rf"({KEY})(!?)=(.*)", term, re.DOTALL)
    return (parts[1], parts[2], parts[3]) if parts else ("word", "", term)


WILDCARD = regex(r"[*?[]")


def names_for(key: str) -> dict[str, tuple[str, str]]:
    """What a term with a key may name -> the key and the name that are meant."""
    types = {name: ("type", name) for name in EVENT_TYPES if key != "tool"}
    tools = {name: ("tool", tool) for name, tool in TOOL_NAMES.items() if key != "type"}
    return types | tools | ({ANY_CHANGE: (ANY_CHANGE, ANY_CHANGE)} if tools else {})


def find_name(key: str, glob: str) -> tuple[str, str] | None:
    """The key and the name that are meant by that of a type or a tool, if it is known, or given
    with ==."""
    import fnmatch

    if glob.startswith("="):
        return key, WILDCARD.sub(r"[\g<0>]", glob[1:])
    names, plain = names_for(key), glob.replace("_", "").lower().removesuffix("toolcall")
    if WILDCARD.search(glob):
        alike = any(fnmatch.filter(names, one) for one in (glob.lower(), plain))
        if alike or key != "word" or glob.startswith("mcp_"):
            return key, glob
    if key != "type" and MCP_TOOL.fullmatch(glob):
        return "tool", glob
    return names.get(glob) or names.get(plain)


class Selection:
    """Hides the events that aren't printed; later stages still aggregate them. A run that isn't
    selected, by its session or its number, is hidden: no later stage counts or prints it."""

    def __init__(
        self, only: Sequence[Selector], drop: Sequence[Selector], tell: Callable[[str], object]
    ) -> None:
        """``tell`` takes why it fails: --only names runs or sessions which aren't there."""
        self.only, self.drop, self.tell = only, drop, tell
        self.terms = [term for choice in (*only, *drop) for term in choice.terms]
        keys = {term.key for term in self.terms}
        self.simple = keys <= KINDS_ALONE  # cacheable by kind of event
        self.names_tools = not keys.isdisjoint(("tool", "word"))
        self.known: dict[object, bool] = {}
        self.only_runs = [choice.of_run() for choice in only]
        self.drop_runs = [choice for choice in drop if choice.of_run() == choice]
        self.selects = ALL_RUNS
        if only and all(choice.terms for choice in self.only_runs):
            keys = {term.key for choice in self.only_runs for term in choice.terms}
            self.selects = BY_NUMBER if keys == {"run"} else BY_SESSION
        self.found = False  # a run that is selected
        self.there: dict[str, None] = {}  # the first runs, whether they are selected or not
        # The beginning of a name -> the sessions that it fits.
        self.begun = collections.defaultdict[str, dict[str, None]](dict)

    def mark(self, events: Iterable[Event]) -> Iterator[Event]:
        simple, decisions = self.simple, self.known
        for event in events:
            if event.run is None and event.kind in (IMPLIED, NO_RUN):
                if event.kind == IMPLIED:  # the end of all
                    self.check_choices()
                if event.kind == IMPLIED or self.selects != BY_SESSION:
                    yield event
                continue
            tools = event_tools(event) if self.names_tools else ()
            kind = (event.type, event.subtype, *tools) if simple else None
            if kind is None or kind not in decisions:
                if len(decisions) > CACHED_DECISIONS:  # the input may have any number of types
                    decisions.clear()
                decisions[kind] = self.keeps(event)
            if not decisions[kind]:
                event.unprinted = True
            yield event

    def check_choices(self) -> None:
        """Say that no run was picked, and which names of sessions fit several."""
        only, there = self.selects != ALL_RUNS, first_names(self.there)
        choices = self.only if only else self.drop_runs
        asked = self.selects == BY_SESSION or (there and (only or choices))
        if asked and not self.found:
            given = " or ".join(escape(choice.text) for choice in choices)
            if only:
                there = f"there is {there or 'none at all'}"
            what = f"--only {given}: no such run;" if only else f"--drop {given}: no run is left of"
            self.tell(f"{what} {there}")
        for name, sessions in self.begun.items():
            if len(sessions) > 1:
                self.tell(f"session={name} fits several: {first_names(sessions)}")

    def note(self, run: Run) -> None:
        """Note that there is a run, for a message."""
        for term in self.terms:
            if term.key == "session" and (run.session or "")[:SESSION_PREFIX] == term.glob:
                sessions = self.begun[term.glob]
                if len(sessions) <= NAMES_SHOWN:
                    sessions[escape(run.label or "")] = None
        if len(self.there) <= NAMES_SHOWN:
            self.there[str(run)] = None

    def keeps(self, event: Event) -> bool:
        """A result is dropped only if it or its whole run is named, so that a filtered stream keeps
        its verdicts."""
        if not self.keeps_run(event):
            return False
        result = event.type == "result"
        drop = (choice for choice in self.drop if not result or choice.names("result"))
        asked = result or not self.only or any(choice.matches(event) for choice in self.only)
        return asked and not any(choice.matches(event) for choice in drop)

    def shown(self, events: Iterable[Event]) -> Iterable[Event]:
        """The events of runs that are shown."""
        if self.simple:
            return events
        return (event for event in events if event.run is None or not event.run.left_out)

    def keeps_run(self, event: Event) -> bool:
        """Is anything of the event's run printed? Its first event decides."""
        run = event.run
        if run and run.left_out is not None:
            return not run.left_out
        asked = not self.only or any(choice.matches(event) for choice in self.only_runs)
        asked = asked and not any(choice.matches(event) for choice in self.drop_runs)
        if run:
            run.left_out = not asked
            self.found = self.found or asked
            self.note(run)
        return asked


# ---------------------------------------------------------------- tokens
#
# What the tokens of each issuer look like: a table of expressions, and what is made of each: the
# first look at a raw line, the search itself, the search at the end of a text that is cut off.
# Known values: those of variables and files, and how they may be spelled.


class Rule(NamedTuple):
    """What the tokens of one issuer look like.

    ``source`` is an expression (RE2) in parts: what may stand before the token's literal, the
    literal, the rest. Its group is hidden, else all; ``^`` is an EDGE, ``$`` the same behind it.
    Lengths are open-ended, so that no tail is left. A ``token`` may be of any issuer: it must look
    random, and stand by itself.
    """

    name: str
    source: str

    def expression(self) -> str:
        body = "".join(self.parts())
        body = body if re.search(GROUP, body) else f"({body})"
        return self.edge() + body + EDGE_AFTER * self.source.endswith("$")

    def hint(self) -> str:
        """The expression of the first look: fast, for it begins with a literal and is bounded."""
        _, literal, rest = self.parts()
        body = re.sub(GROUP, "(?:", literal + rest)
        if self.source.endswith("$"):
            return body + EDGE_AFTER  # or each ID of Claude's calls would look like one of ngrok's
        return re.sub(r",}$", "}", body)  # no more than the least

    def beginning(self) -> str:
        """An expression for a token that a text cuts off at its end."""
        before, literal, rest = self.parts()
        hidden = re.search(GROUP, rest)
        head = before + literal
        shown = f"{head}{rest[: hidden.start()]}(" if hidden else f"({head}"
        return rf"{self.edge()}{shown}\S*)$"

    def parts(self) -> list[str]:
        parts = [spell(part) for part in self.source.removeprefix("^").removesuffix("$").split(" ")]
        return [*[""] * (3 - len(parts)), *parts]

    def edge(self) -> str:
        return ALONE if self.name == "token" else EDGE * self.source.startswith("^")


GROUP = r"(?<!\\)\((?!\?)"
BEGINS_WITH_WORD = regex(r"(?:\(\?i?:)*[A-Za-z0-9]")


def spell(source: str) -> str:
    """``\\h`` is a blank or a tab, which a JSON string may spell; <words> are AHEAD of a token."""
    return re.sub("<([a-z]+)>", lambda match: PARTS_OF_RULES[match[1]], source).replace(
        r"\h", r"(?:[ \t]|\\+t)"
    )


# A token that could be part of a word follows neither a letter nor a digit; an escape or an ANSI
# code may precede it.
EDGE = (
    r"(?:^|[^A-Za-z0-9]|\\[abefnrtv]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}"
    r"|(?:\x1b|\\(?:u001b|x1b|033|e))\[[0-9;]*[A-Za-z])"
)
EDGE_AFTER = r"(?:[^\w+/=-]|$)"
# A token of any issuer is no part of a path, a digest or base64; words may precede it.
ALONE = EDGE.replace("[^A-Za-z0-9]", r"[^\w+/=.-]|[A-Za-z_]=")
AHEAD = "(?:(?:[a-z][a-z0-9]*|[A-Z][A-Z0-9]*)[_-])*"
# Cookies, up to the name of one that says who somebody is.
WHO = r"[\w.%-]*(?i:sess|sid|auth|token|jwt|csrf|xsrf|logged|remember|identity)[\w.%-]*"
PAIRS = rf"(?:[\w.%-]+=[^;\n\"'\\]*;\h*)*?{WHO}"
# In a raw line, one of these precedes a literal that may have an EDGE.
WORD_BEGIN = r"(?:\b|_|\\(?:[abefnrtv]|u[0-9a-fA-F]{4})|%[0-9a-fA-F]{2}|\[[0-9;]*[A-Za-z])"
# In a command: up to an option, a password, programs that read one from a pipe.
STDIN = (
    r"(?:\h--?(?:password-stdin|with-token|stdin|passphrase-fd|passwd-on-stdin|data-file=-|from-file)"
    rf"|{WORD_BEGIN}(?:sudo\h[^|;&\n]*-\w*S|passwd\b|(?:gh|wrangler)\h+secret\h+(?:set|put)|(?:su|kinit|cryptsetup)\h))"
)
PARTS_OF_RULES = {
    "words": AHEAD, "who": WHO, "pairs": PAIRS, "stdin": STDIN, "to": r"(?:[^|;&\n]|\\\r?\n)*\h",
    "pw": r"""["'\\]*([^\s"'\\|>&;][^\s"'\\]+)""", "gap": r"(?:[\x20\t\r\n]|\\+[rnt])+",
}  # fmt: skip


def token_rules(table: str) -> Iterator[Rule]:
    """The rules of a table of names, each with an expression for each form of its tokens; what two
    or more blanks part is an expression if it holds a blank."""
    name = ""
    for item in re.split(r"\n|  +", table.strip()):
        if " " in item:
            yield Rule(name, item)
        else:
            name = item


RULES = [
    *token_rules(
        r"""
anthropic-key  ^sk-ant- [a-z]{2,8}[0-9]{2}-[\w-]{16,}
openrouter-key  ^sk-or-v1- [0-9a-f]{40,}          langfuse-key  ^sk-lf- [0-9a-f-]{30,}
openai-key  ^sk-(?:proj|svcacct|admin)- [\w-]{20,}  ^sk- [A-Za-z0-9]{32,}  sk-[\w-]* T3BlbkFJ [\w-]{10,}  ^sk-[a-z]{2,12}- (?:[a-z0-9]{2,8}-)?[A-Za-z0-9]{32,}
github-token  ^gh[opusr]_ [A-Za-z0-9]{20,}\w*  ^ghs_ [0-9]+_eyJ[\w-]{8,}(?:\.[\w-]+)*  ^github_pat_ [A-Za-z0-9]{16,}\w*
gitlab-token  ^(?:gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas|ffct|rtr|wt)-|GR1348941) [\w.-]{16,}  _gitlab_session= ([0-9a-f]{32,})
aws-key-id  ^A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9]) [A-Z0-9]{16,}  ^A[KS]IA [A-Z0-9]{16}(?:\\+[nt]|[\s,:;|"'\\]){1,4}[A-Za-z0-9+/]{40}$
aws-bedrock-key  ^ABSK [A-Za-z0-9+/]{80,}={0,2}  ^bedrock-api-key- [A-Za-z0-9+/=]{20,}
aws-session-token  ^IQoJb3JpZ2lu [A-Za-z0-9+/=]{60,}
cursor-key  ^(?:key|crsr)_ [0-9a-f]{32,}          aws-appsync-key  ^da2- [a-z0-9]{26}$
google-api-key  ^AIza [\w-]{30,}  ^AQ\.Ab [\w-]{30,}
google-oauth  ^(?:GOCSPX-|ya29\.|1//0) [\w-]{20,}
azure-storage-key  AccountKey= ([A-Za-z0-9+/]{40,}={0,2})
aws-mws-token  ^amzn\.mws\. [0-9a-f-]{36}         azure-sas  [?&]sig= ([A-Za-z0-9%+/=_-]{30,})
azure-key  ^[A-Za-z0-9+/]{30,80} (?:JQQJ9|\+AS[tbm]|\+ACR|\+ARm|AzCa|AzSe|AzFu|AZDO) [A-Za-z0-9+/]{4,44}={0,2}$
slack-token  ^xox[abcdeoprs] [.-][\w.%-]{10,}  ^(?:xapp-[0-9]|xwfp) -[\w-]{10,}
slack-webhook  ^hooks\.slack\.com/ (?:services|workflows|triggers)/[\w/+-]{20,}
stripe-key  ^[rs]k_(?:live|test|prod)_ [A-Za-z0-9]{10,}\w*  ^sk_org_ [A-Za-z0-9_]{10,}
stripe-webhook-secret  ^whsec_ [A-Za-z0-9+/=_-]{20,}
azure-ad-secret  [\w.~-]{3}[0-9] Q~ [\w.~-]{31,}  twilio-key  ^SK [0-9a-f]{32,}
sendgrid-key  ^SG\. [\w-]{16,}\.[\w-]{16,}  ^SG\. [\w=-]{60,}
npm-token  ^npm_ [A-Za-z0-9]{30,}                 pypi-token  ^pypi-AgE [\w-]{30,}
hugging-face-token  ^(?:hf|api_org)_ [A-Za-z0-9]{30,}
docker-hub-token  ^dckr_[po]at_ [\w-]{20,}        digitalocean-token  ^do[opr]_v1_ [0-9a-f]{40,}
databricks-token  ^(?:dapi|dose) [0-9a-fA-F]{32,}(?:-[0-9]+)?
linear-key  ^lin_(?:api|oauth)_ [A-Za-z0-9]{30,}  notion-token  ^(?:ntn|secret)_ [A-Za-z0-9]{40,}
shopify-token  ^shp(?:at|ca|pa|ss|ua|tka)_ [A-Za-z0-9]{30,}
discord-token  ^[MNO][\w-]{22,} \. [\w-]{6}\.[\w-]{27,}
discord-webhook  ^discord(?:app)?\.com/api/webhooks/ [0-9]+/[\w-]{40,}
doppler-token  ^dp\. (?:pt|st|sa|ct|scim|audit)\.[\w.-]{36,}
vault-token  ^(?:hv[sbr]\.|b\.AAAAAQ) [\w-]{20,}  ^s\. [A-Za-z]{0,8}[0-9][A-Za-z0-9]{15,23}$
telegram-token  ^[0-9]{5,16} :A [\w-]{34}$  /bot [0-9]{5,16}:(A[\w-]{33,})
posthog-key  ^ph[xas]_ \w{30,}                    buildkite-token  ^bk(?:ua|aj|ct)_ [A-Za-z0-9]{30,}
vault-unseal-key  (?i:unseal_keys_(?:b64|hex)) ["'\\]*\h*:\h*\[([^\]{}]{20,})  ^(?i:unseal\x20key\x20) [0-9]{1,2}:\h+([A-Za-z0-9+/=]{40,})
seed-phrase  (?i:mnemonic|(?:seed|recovery|backup)[\x20_-]?phrase|seed) ["'\\]*\h*[:=]\h*["'\\]*((?:[a-z]{3,8}\x20+){11,23}[a-z]{3,8})
terraform-secret  bcrypt_hash\\*" [^{}]*?"result\\*":\h*\\*"([^"\\\s]{4,})
age-key  ^AGE-SECRET-KEY-1 [0-9A-Za-z]{40,}
grafana-token  ^eyJrIjoi [A-Za-z0-9+/]{60,}={0,2}  ^gl(?:sa|c)_ [A-Za-z0-9+/=_]{32,}
jwt  ^eyJ [\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?  ^eyJ [\w-]{8,}\.[\w-]{20,}\.[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}  ^ZXlK [A-Za-z0-9+/]{40,}={0,2}
groq-key  ^gsk_ [A-Za-z0-9]{40,}                  xai-key  ^xai- [A-Za-z0-9_]{70,}
perplexity-key  ^pplx- [A-Za-z0-9]{40,}           tavily-key  ^tvly- [\w-]{24,}
langsmith-key  ^lsv2_ [a-z]{2}_[0-9a-f]{32}_[0-9a-f]{8,}
pinecone-key  ^pcsk_ [A-Za-z0-9_]{40,}            replicate-token  ^r8_ [A-Za-z0-9]{30,}
fireworks-key  ^fw_ [A-Za-z0-9]{20,}              together-key  ^tgp_v1_ [\w-]{30,}
nvidia-key  ^nvapi- [\w-]{50,}                    wandb-key  ^wandb_v1_ \w{40,}
llamacloud-key  ^llx- [\w-]{40,}                  jina-key  ^jina_ [0-9a-f]{32}[\w-]{20,}
runpod-key  ^rpa_ [A-Z0-9]{30,}\w*                modal-token  ^a[ks]- [A-Za-z0-9]{22}$
composio-key  ^ak_ [\w-]{18,}$                    voyage-key  ^pa- [\w-]{40,}
supabase-key  ^sbp_ (?:oauth_|v[0-9]_)?[0-9a-f]{40,}  ^sb_secret_ [\w-]{24,}
vercel-token  ^vc[pkaicr]_ [A-Za-z0-9]{24,}  ^vercel_blob_rw_ \w{24,}
fly-token  ^fo1_ [\w-]{40,}  ^fm[12][ar]?_ [A-Za-z0-9+/=_-]{80,}
render-key  ^rnd_ [A-Za-z0-9]{24,}                heroku-key  ^HRKU- [\w-]{30,}
cloudflare-token  ^cf(?:ut|at|k)_ [A-Za-z0-9]{40,}
cloudflare-ca-key  ^v1\.0- [0-9a-f]{24}-[0-9a-f]{100,}
newrelic-key  ^NR(?:AK|II|IQ|AA|RA|SP|JS)- [\w-]{19,}  ^[0-9a-f]{30,}[0-9A-F]{0,8} NRAL (?:)
sentry-token  ^sntr(?:ys_eyJ|yu_) [\w+/=]{40,}    figma-token  ^fig[a-z]{1,2}_ [\w-]{30,}
airtable-token  ^pat[A-Za-z0-9]{14} \. [0-9a-f]{60,}
bitbucket-token  ^ATBB [A-Za-z0-9]{24,}  ^BBDC- [A-Za-z0-9+/]{30,}
atlassian-token  ^AT[AC]TT3 [\w=-]{60,}           planetscale-token  ^pscale_ [a-z]+_[\w.=-]{30,}
neon-key  ^npg_ [A-Za-z0-9]{12,}                  mongodb-atlas-key  ^mdb_sa_sk_ [\w-]{30,}
crates-token  ^cio [A-Za-z0-9]{32}$               resend-key  ^re_ [A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
tailscale-key  ^tskey- [a-z]+-[\w-]{20,}          1password-token  ^ops_eyJ [A-Za-z0-9+/=_-]{60,}
infisical-token  ^st\. [0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32,}
terraform-token  ^[A-Za-z0-9]{14} \.atlasv1\. [\w=-]{40,}
1password-key  ^A3- [A-Z0-9]{6}-[A-Z0-9-]{20,}    circleci-token  ^CCIP(?:AT|RJ)_ \w{40,}
square-token  ^EAAA [\w-]{56,64}$  ^sq0[a-z]{3}- [\w-]{22,}
razorpay-key  ^rzp_(?:live|test)_ [A-Za-z0-9]{14,}
braintree-token  ^access_token\$(?:production|sandbox)\$ [0-9a-z]{16}\$[0-9a-f]{32,}
teams-webhook  [\w.-]{1,60} webhook\.office\.com/webhookb2/ [^\s"'\\,]{40,}  ^IncomingWebhook/ ([\w/-]{40,})
facebook-token  ^EAA [0-9A-F]*[G-Za-z][A-Za-z0-9]*[A-Za-z0-9]{90,}$  ^[0-9]{15,16} \| [\w-]{27,}
twitter-token  ^A{15} [A-Za-z0-9%+/=]*[A-Za-z0-9%+/=]{60,}$
asana-token  ^[12] /[0-9]{10} [0-9]*(?:/[0-9]{10,})?:[0-9a-f]{32,}
dropbox-token  ^sl\.(?:u\.)? [\w-]{100,}          mapbox-token  ^[st]k\.eyJ [\w-]{20,}\.[\w-]{16,}
dynatrace-token  ^dt0[a-z][0-9]{2}\. [A-Z0-9]{24}\.[A-Z0-9]{60,}
contentful-token  ^CFPAT- [\w-]{40,}              snyk-token  ^snyk_[a-z]{3}\. [\w.-]{60,}
jfrog-token  ^(?:AKCp|cmVmdGtu) [A-Za-z0-9]{50,}  nuget-key  ^oy2 [a-z0-9]{43}$
sourcegraph-token  ^(?:sg[pd]|slk)_ (?:local_|[0-9a-f]{16}_)?[0-9A-Za-z]{40,}
clickhouse-key  ^4b1d [A-Za-z0-9]{38}$            openshift-token  ^sha256~ [\w-]{40,}
shippo-token  ^(?:shippo|duffel)_(?:live|test)_ [\w=-]{30,}
typeform-token  ^tfp_ [\w=-]{40,}                 easypost-key  ^EZ[AT]K [A-Za-z0-9]{50,}
harness-token  ^[ps]at\.[\w-]{22} \. [0-9a-f]{24}\.[A-Za-z0-9]{20,}
alibaba-key  ^LTAI [A-Za-z0-9]{16,24}$            tencent-key  ^AKID [A-Za-z0-9]{32}$
zapier-webhook  ^hooks\.zapier\.com/hooks/catch/ [\w/]{10,}
mailgun-key  ^[0-9a-f]{32} - [0-9a-f]{8}-[0-9a-f]{8}$
ngrok-token  ^[12][A-Za-z0-9]{26} _ [0-9][A-Za-z0-9]{20}$
mailchimp-key  ^[0-9a-f]{32} -us [0-9]{1,2}$      adobe-secret  ^p8e- [A-Za-z0-9-]{32,}
adafruit-key  ^aio_ [A-Za-z0-9]{28,}              aiven-token  ^AVNS_ [\w+/=-]{19,}
authress-key  ^(?:sc|ext|scauth|authress)_ [a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}
baidu-key  ^bce-v3/ALTAK- [A-Za-z0-9]{16,}/[0-9a-f]{40,}
cockroach-key  ^CCDB1_ [A-Za-z0-9]{20,}_[A-Za-z0-9]{20,}
datastax-token  ^AstraCS: [A-Za-z]{20,}:[0-9a-f]{40,}
volcengine-key  ^AKLT [A-Za-z0-9+/_=-]{40,}       defined-key  ^dnkey- [\w=-]{26}-[\w=-]{40,}
flutterwave-key  ^FLW(?:SEC|PUB)K (?:_TEST)?-[0-9a-h]{12,}(?:-X)?
elastic-key  ^essu_ [A-Za-z0-9+/=_-]{40,}         frameio-token  ^fio-u- [\w=-]{40,}
intercom-token  ^dG9rO [A-Za-z0-9+/]{50,}={0,2}   clickup-token  ^pk_[0-9]{6,9}_ [0-9A-Z]{32,}
maxmind-key  ^[A-Za-z0-9]{6}_[A-Za-z0-9]{29} _mmk (?:)
klaviyo-key  ^pk_ [0-9a-f]{34}$                   octopus-key  ^API- [A-Z0-9]{26}$
onfido-token  ^api_(?:live|sandbox) (?:_[a-z]{2})?\.[\w-]{11}\.[\w-]{32,}
pubnub-key  ^[sp](?:ec|ub|ub)-c- [A-Za-z0-9+/=-]{36,}
salesforce-token  ^00D[A-Za-z0-9]{12,15} ! [\w.]{80,}
paypal-token  ^A21AA [\w-]{70,}                   sanity-token  ^sk [A-Za-z0-9]*[A-Za-z0-9]{78,}$
settlemint-token  ^sm_(?:aat|pat|sat)_ [A-Za-z0-9]{16,}
stackhawk-key  ^hawk\. [\w-]{20,}\.[\w-]{20,}
trigger-key  ^tr_(?:dev|prod|stg|pat|preview)_ [A-Za-z0-9]{20,}
tinybird-token  ^p\.eyJ [\w-]{20,}\.[\w-]{16,}    yandex-key  ^YC [\w-]{38}$  ^AQVN [\w-]{35,}
jenkins-secret  ^AQAAABAAA \x20?([^\s<>{}"'\\]{16,})
quay-token  ^[a-z0-9][\w.-]*\+[\w.-]+ : ([A-Z0-9]{60,})
yandex-token  ^t1\. [\w-]{10,}=*\.[\w-]{80,}={0,2}
zhipu-key  ^[0-9a-f]{28} [0-9a-f]{4}\. [A-Za-z0-9]{16}$
password-hash  \$2[abxy]\$ [0-9]{2}\$[./A-Za-z0-9]{50,}  \$(?:[15678y]|gy|2k|apr1)\$ (?:rounds=[0-9]+\$|j9T\$)?[./A-Za-z0-9]{1,22}\$[./A-Za-z0-9]{20,}
password-hash  ^(?:pbkdf2[\w-]*|scrypt|bcrypt_sha256) [$:](?:[\w:]{3,30}\$)+[./A-Za-z0-9+]{20,}=?  \$argon2[id]{1,2}\$ [\w=,$+/]{30,}
private-key  ^LS0tLS1CRUdJTiB (?:QU|[SFPE])[A-Za-z0-9+/=]{60,}
zoho-token  ^1000\. [0-9a-f]{32}\.[0-9a-f]{32,}
url-password  [A-Za-z][A-Za-z0-9+.-]* :\\*/\\*/[^\s/:@"'<>`\\]*: ([^\s/"'<>`\\]+)@[\w\[./${%-]
url-password  jdbc:oracle: (?:thin|oci):[\w.$#-]+/["'\\]*([^\s"'<>/@\\]+)@
url-user  https? ://([^\s/:@"'<>`\\]{15}[^\s/:@"'<>`\\]+)@ [\w.\[]
cookie  (?i:cookie) ["'\\]*\h*[:=]?\h*["'\\]*<pairs>=([^\s;"'\\,]{12,})  ^curl [^|;&\n]*\h-b\h*["'\\]+<pairs>=([^\s;"'\\,]{12,})
cookie  (?i:cookies) ["'\\]*\]?\h*[:=]\h*[\[{\(][^{}\n]*?["'\\]+<who>["'\\]+\h*[:,]\h*["'\\]+([^\s;"'\\,)\]}]{12,})  (?i:cookies?)[.\w]{0,12} \h*\(\h*["'\\]+<who>["'\\]+\h*,\h*["'\\]+([^\s;"'\\,)\]}]{12,})
cookie  (?:TRUE|FALSE) \h+/\S*\h+(?:TRUE|FALSE)\h+[0-9]+\h+<pairs>\h+([^\s"'\\]{8,})
bearer-token  ^(?i:bearer) \h+([A-Za-z0-9._~+/=-]{16,})
authorization  (?i:authorization) ["'\\]*\h*[:=]\h*["'\\]*(?i:(?:bearer|basic|token|digest|apikey|negotiate)\h+)([^\s"'\\,]+)
command-password  ^curl (?:[^|;&\n]|\\\n)*\h(?:-\w*[uU]|--user|--proxy-user)(?:\h|=)*["'\\]*(?:[^\s:@"'$<]+(?:@[\w.-]+)?)?["'\\]*:<pw>
command-password  ^(?:xh|https?)\h+ (?:<to>)?(?:-a|--auth)(?:\h|=)*["'\\]*[^\s:@"'$<]+:<pw>  ^curl <to>--oauth2-bearer(?:\h+|=)<pw>  ^redis-cli <to>-a\h+<pw>  ^openssl <to>-(?:k\h+|pass(?:in|out)?\h+["'\\]*pass:)<pw>
command-password  ^(?:(?i:psexec)|sshpass|user(?:add|mod)|(?:az|docker|podman|registry)\h+login|twine\h+upload|mongo\w*|cqlsh|snowsql|cypher-shell|rabbitmqadmin|rdesktop|nxc|netexec|security\h+unlock-keychain) <to>-p\h*<pw>
command-password  ^(?:sqlcmd|bcp|unzip|zip|mosquitto_[ps]ub|ipmitool|security\h+import) <to>-P\h*<pw>  ^(?:ldap(?:search|add|modify|delete|whoami|passwd)|security\h+add-\w+-password) <to>-w\h*<pw>
command-password  ^(?:7z|mysql|mariadb) (?:-?dump|-?admin)?(?:[^|;&\n]|\\\r?\n)*(?:\h|["'])-p<pw>  ^machine \h+[^\s\\]+<gap>login\h+[^\s\\]+<gap>password\h+<pw>
command-password  ^htpasswd (?:\h+-\w+)*\h+-\w*b\w*(?:\h+-\w+)*(?:\h+[\w./~$-]*(?:[./]|passw|users)[\w./-]*)?\h+[\w@.-]+\h+<pw>  ^(?:rabbitmqctl\h+(?:add_user|change_password)|mosquitto_passwd\h+-b\h+\S+|net\h+user) \h+[\w@.-]+\h+<pw>
command-password  ^ConvertTo-SecureString (?:\h+-String)?\h+["'\\]+([^"'\\$\n]{4,})  ^net\h+use <to>/user:\S+?\h+<pw>  ^sqlplus (?:\h+-\w+)*\h+["']?[\w$#]+/([^\s"'\\/@$&]{4,})
command-password  ::add-mask:: <pw>  ^(?:smb|rpc)client <to>-U\h*["'\\]*[^\s"'\\%]+%<pw>  ^lftp <to>-u\h*["'\\]*[^\s"'\\,]+,<pw>  ^[a-z]freerdp <to>/p:<pw>
command-password  ^(?:vault|cargo)\h+login (?:\h+-\S+)*\h+["'\\]*([^\s"'\\$-][^\s"'\\=]{15,}={0,2})
command-password  ^(?:echo|printf) \h+(?:-\w+\h+)?["'\\]*(?:%s(?:\\+n)?["'\\]*\h+["'\\]*)?([^\s"'\\$|][^\s"'\\|]+)[^\s|]*\h*\|[^|;&\n]*<stdin>
command-password  ^(?:echo|printf) \h+(?:-\w+\h+)?["'\\]*[\w.-]+:([^\s"'\\$|][^\s"'\\|]+)[^\s|]*\h*\|[^|;&\n]*\bchpasswd
command-password  <stdin>[^|;&\n]* <<< \h*<pw>  chpasswd\h* <<< \h*["'\\]*[\w.-]+:<pw>  ^ssh-keygen <to>-[NP]\h*<pw>
command-password  ^(?:new\h+(?:PDO|mysqli)|mysqli_connect|getConnection) \h*\([^,\n]{1,120},[^,\n]{1,40},\h*\\*["']([^\s"'\\$][^\s"'\\]{3,})
command-password  ^poetry\h+config \h+(?:--\w+\h+)?http-basic\.[\w-]+\h+[\w@.+-]+\h+<pw>  ^wpa_passphrase \h+["'\\]*[^\s"'\\]+["'\\]*\h+<pw>
command-password  ^(?:secretsdump|(?:ps|wmi|smb|at|dcom)exec|mssqlclient|GetUserSPNs|lookupsid)(?:\.py)? <to>["'\\]*(?:[\w.-]+/)?[\w.$-]+:([^\s"'\\@]{4,})@
command-password  (?i:assword|passphrase)[^\w\s]*(?:[\s;{}]|\\+[nrt])*(?:exp_)? send \h+(?:--\h+)?\\*"([^"\\\s$]{3,})\\+r  ^(?i:acl\h+setuser|user) \h+[\w.-]+\h+(?:\S+\h+){0,4}on\h+(?:\S+\h+){0,4}>([^\s"'\\]{4,})
command-password  ^snmp-server\h+community \h+([^\s"'\\$][^\s"'\\]{3,})\h+R[OW]
command-password  ^jwt\.(?:sign|verify|encode|decode)\( [^,\n]{1,60},\h*["'\\]+([^\s"'\\]*?[0-9][^\s"'\\]{6,})
command-password  [\w.*-]+ :(?:54[0-9]{2}|\*): [\w*-]+:[\w*-]*[g-z*_][\w*-]*:([^\s:"'\\]{4,})  (?i:set\h+password\h+for) \h+\S+\h*=\h*\\*["']<pw>
login-password  ^(?i:log-?in|sign-?in|cred(?:ential)?s|(?:user(?:name)?|e-?mail|login)\h*[/|&+]\h*pass[a-z]*) ["'*`\\]*\h*[:=]\h*["'`\\]*[\w.@+-]+\h*[/|]\h*["'`\\]*([^\s"'`\\,;/<>\(){}]{6,})
login-password  ^(?i:(?:log|sign)\h*in\h+(?:with|as|using)) \h+["'`\\]*[\w.@+-]+["'`\\]*(?:\h*/\h*|:)["'`\\]*([^\s"'`\\,;/<>\(){}]{6,})
login-password  \.(?:login|authenticate) \(\h*\\*["'][^"'\n]{1,60}["'],\h*\\*["']([^\s"'\\]{3,}[0-9][^\s"'\\]*)
login-password  ^(?i:us(?:e|ing)) \h+["'`\\]*[\w.@+-]+:([^\s"'`\\]{6,})["'`\\]*\h+to\h+(?:log|sign)
login-password  ^(?i:admin(?:istrator)?|root|postgres) ["'*`\\]*\h+/\h+["'*`\\]*([^\s"'`\\,;/<>\(){}]{6,})  ^[\w.+-]+ @[\w-]+\.[\w.-]+["'*`\\]*\h+/\h+["'*`\\]*([^\s"'`\\,;/<>\(){}]{6,})
login-password  ^(?i:(?:user|role)\h+\S+\h+identified\h+by|with\h+password) \h+([^\s"'`\\,;<>$\(){}]{6,})
command-password  ^(?i:identified\h+(?:with\h+\w+\h+)?by) \h+\\*'([^\s"'\\]{6,})  ^IDENTIFIED\h+BY \h+\\*"([^\s"'\\]{6,})
token  ^<words>(?:[a-z][a-z0-9]*)? (?:[a-z0-9]_|[a-z]{2}-)[0-9a-f]*[g-zA-Z][a-z]*[A-Z0-9] [A-Za-z0-9]{26,}[\w=-]*
token  ^<words>[A-Z]* [A-Z]{2}[_-][0-9a-f]*[g-zA-Z][a-z]*[A-Z0-9] [A-Za-z0-9]{26,}[\w=-]*
token  ^<words> (?:live|test|prod|production|sandbox|pat|oat|sk|secret|apikey|api|token|key|sec)[_-] [A-Za-z0-9]{24,}[\w=-]*
token  ^<words> (?:CLOJARS_|PMAK-|access-(?:sandbox|production|development)-|e2b_|fc-|mlsn\.|pat-(?:na|eu)[0-9]-|pul-|rubygems_|s-s4t2(?:ud|af)-|(?:sdk|api|mob)-|sgp_|sq[apu]_|vlt_|waka_|x(?:key|smtp)sib-|xa[ap]t-|[a-z]{2}[0-9]-) [0-9a-f-]{32,}\w*
token  ^<words> (?:APP_USR-|ATTA|K10|KGAT_|RGAPI-|bpk-|c[ksu]_|cfsk_ma_(?:prod|test)_|depot_(?:user|org|project)_|dtn_|luma-|mzp_|n8n_api_|oc_gs_|ovsxat_|persona_(?:production|sandbox)_|rootly_|wk-1\.) [0-9a-f-]{32,}[\w:-]*
token  ^<words> (?:SWMTKN-1-|akab-|api_[A-Za-z0-9]{22}\.|cnvca|configcat-sdk-1/|Mid-server-|ory_[a-z]{2,6}_|os_v2_(?:app|org)_|ptr_|secret-(?:live|test)-|secret-token:|sktsec_|t(?:id|lk|sec)_|z[qtuw]t_) [\w+/.=-]{22,}
"""  # noqa: E501
    )
]

NEAR = 256  # bytes around a name that are examined
MOST_WAITING = 100  # lines whose end may stand behind them, as those of a continued command

Span: TypeAlias = "tuple[int, int, str]"  # from, to, name of the rule
Finder: TypeAlias = "Callable[[bytes], Iterable[Span]]"
Look: TypeAlias = "Callable[[bytes, int, int], int | None]"  # a place between two
Change: TypeAlias = "tuple[int, int, bytes]"  # from, to, what takes the place

# A private key may span many lines, and its end may be missing.
KEY_BEGIN = f"-----BEGIN {'PRIVATE KEY'}-----"
OPEN_KEY = f"{KEY_BEGIN}\n{'A1' * 8}\n"  # stands for what was said of one: more than a mention
PEM_BEGIN = regex(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
KEY_BEGUN = regex(rb"-----BEGIN [A-Z0-9 ]*\Z")
PEM_END = regex(rb"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")


# Prose about a key, or code that looks for one, has no base64 near it: names have few digits.
PEM_BODY = regex(rb"(?:(?!-----)[\s\S]){0,200}?(?=[A-Za-z/]{0,60}[0-9+])[A-Za-z0-9+/]{16}")


def private_keys(text: bytes) -> Iterator[Span]:
    """The private keys whose first lines are more than mentioned."""
    position, last = 0, len(text.rstrip())
    for begin in PEM_BEGIN.finditer(text):
        start, behind = begin.span()
        if start >= position and (PEM_BODY.match(text, behind) or behind == last):
            end = PEM_END.search(text, behind)
            position = end.end() if end else len(text)
            yield start, position, "private-key"


def ends_inside_key(text: bytes, *, inside: bool = False) -> bool:
    """Does a text end inside a private key? ``inside``: it began inside one."""
    text = OPEN_KEY.encode() * inside + text
    keys = [*private_keys(text)]
    return bool(keys) and not PEM_END.search(text, keys[-1][0])


PATH_LIKE = regex(r"(?:~|\.{1,2})?/.*|[A-Za-z]:\\.*", re.DOTALL)


def is_usable(value: str) -> bool:
    """Is a known value long enough to search for, and no path, number or boolean?"""
    if len(value) < SHORTEST or PATH_LIKE.fullmatch(value):
        return False
    with contextlib.suppress(ValueError):
        float(value)
        return False
    return not value.isspace()


def options(*, latin: bool = True) -> Any:
    import re2

    given = re2.Options()
    given.log_errors = False
    given.max_mem = 64 << 20  # less makes it a hundred times slower with many known values
    if latin:  # bytes, so that lone surrogates and cut characters match a negated class
        given.encoding = re2.Options.Encoding.LATIN1
    return given


@functools.cache
def expression(text: str, *, latin: bool = True) -> Any:
    import re2

    return re2.compile(text.encode("latin-1") if latin else text, options(latin=latin))


def spellings(value: str) -> set[bytes]:
    """What shows a value: itself and its lines, as programs spell them in JSON, URLs, HTML and
    shells, in base64 and in hex."""
    import html
    from urllib.parse import quote, quote_plus

    texts, shown = {value, *filter(is_usable, value.splitlines())}, set[str]()
    for text in texts | {re.sub("\r?\n", "\r\n", text) for text in texts}:
        data = to_utf8(text)
        whole = from_utf8(data)  # a pair of surrogates, too
        urls = {quote(data, safe=safe) for safe in ("", "/", "!*'();:@&=+$,/?#[]~")}
        urls |= {quote_plus(data), quote(quote(data, safe=""))}
        shown |= urls | {re.sub("%..", lambda code: code[0].lower(), url) for url in urls}
        shown |= {whole, html.escape(whole), re.sub(r"([^\w\n])", r"\\\1", whole)}
        once = in_json({whole})
        once |= {one.translate(IN_HTML) for one in once}
        twice = in_json(once)
        inside = once | twice | in_json(twice)  # JSON in JSON, and inside of that
        shown |= inside | {text.replace("/", "\\/") for text in inside}
        shown |= in_base64(data) | {data.hex(), data.hex().upper()}
    return {to_utf8(text) for text in shown}


def in_json(texts: set[str]) -> set[str]:
    """How JSON spells texts."""
    import json

    return {json.dumps(text, ensure_ascii=to)[1:-1] for text in texts for to in (False, True)}


def in_base64(data: bytes) -> set[str]:
    """How base64 spells what holds some bytes: the characters whose bits all belong to them."""
    import base64

    spelled = set[str]()
    for shift, begin in enumerate((0, 2, 3)):
        text = base64.b64encode(bytes(shift) + data).decode()
        text = text[begin : (shift + len(data)) * 8 // 6]
        spelled |= {text, text.replace("+", "-").replace("/", "_")} if len(text) > 3 else set()
    return spelled


IN_HTML = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}  # JSON in a page


class KnownValues:
    """Values that are searched for in all their spellings."""

    def __init__(self, forms: dict[bytes, str]) -> None:
        self.forms = forms  # and the names of their values

    @functools.cached_property
    def pattern(self) -> Any:
        """An expression for all spellings, the longest first; of long ones for their beginnings,
        since an expression takes quadratic time for those that repeat themselves."""
        import re2

        begun = {form[:LONG_FORM] for form in self.forms}
        forms = b"|".join(map(re.escape, sorted(begun, key=len)[::-1]))
        return re2.compile(forms or NO_MATCH, options())

    @functools.cached_property
    def heads(self) -> tuple[bytes, ...]:
        """What values of several words may begin with."""
        ends = ((form, end.end()) for form in self.forms for end in BLANK.finditer(form[:-1]))
        return tuple(form[:end] for form, end in ends)

    def spans(self, text: bytes, position: int = 0) -> Iterator[Span]:
        """The spans of values from every start: they may overlap."""
        while match := self.pattern.search(text, position):
            start, form = match.start(), match[0]
            if len(form) == LONG_FORM:
                whole = (each for each in self.forms if text.startswith(each, start))
                form = max(whole, key=len, default=b"")
            if form:
                yield start, start + len(form), self.forms[form]
            position = start + 1

    def begun(self, text: bytes) -> Iterator[Span]:
        """Spans at the end of a text that may be the beginning of a value, whose last character may
        be cut, too."""
        whole = HALF_AT_END.sub(b"", text)
        for form, name in self.forms.items():
            at = max(0, len(whole) - len(form) + 1)
            while (at := whole.find(form[:LEAST_BEGUN], at)) >= 0:
                if form.startswith(whole[at:]):
                    yield at, len(text), name
                    break
                at += 1


NO_MATCH = rb"[^\x00-\xff]"
BLANK = regex(rb"[ \t\r\n]")
HALF_AT_END = regex(rb"\xed[\xa0-\xaf][\x80-\xbf]\Z")
LONG_FORM = 256  # bytes
LEAST_BEGUN = 4  # bytes at the end of a text that may begin a known value


# ---------------------------------------------------------------- names and forms
#
# Which names are those of secrets, how a name and its value are written, and where a value ends.
# A position behind a name in; the span of its value out. It must not know what the value tells.


# How strong a value must be to count as a secret: ANY one, a WORD, what a HUMAN makes up, a MIXED
# or a RANDOM one.
STRENGTHS = "any", "word", "human", "mixed", "random"
ANY, WORD, HUMAN, MIXED, RANDOM = range(5)
# Endings of secret names, by the strength that their values need. Case, `-` and `_` are ignored; a
# blank, too, where `_` stands.
NAME_ENDS = {
    WORD: "password passwd passphrase pass pwd pw passwort kennwort contrasena contraseña senha "
    "mot_de_passe wachtwoord lösenord passord adgangskode salasana hasło heslo jelszó parola şifre "
    "пароль 密码 密碼 パスワード 비밀번호",
    HUMAN: "networkcredential psk secret token api_key access_key secret_key private_key sshkey "
    "credentials auth authorization dsn connectionstring webhookurl databaseurl secretkeybase "
    "secretid mfaseed totpseed otpseed pepper секрет токен 令牌",
    RANDOM: "key credential passwordhash authcookie sessioncookie signature sig keydata jwt "
    "sk creds pat crumb api encryptionkey signingkey authkey masterkey sessionkey "
    "appkey 密钥",
}
NEEDED = {
    name.replace("_", ""): least for least, names in NAME_ENDS.items() for name in names.split()
}
NAME_SIZES = [slice(-size, None) for size in sorted(set(map(len, NEEDED)))]
WITHIN_NAMES = tuple(
    name for name, least in NEEDED.items() if least < RANDOM and name not in ("psk", "pw", "pepper")
)
# Names that end like a secret's, but are not.
OTHERS = tuple(
    "bypass compass keepass oldpwd sksk requesttoken locktoken sequencetoken publictoken nexttoken "
    "publickeytoken pagetoken continuationtoken idempotencytoken idempotencykey publickey pubkey "
    "objectkey s3key websocketkey hotkey cachekey bykey nopass nopasswd topass askpass multipass "
    "updatepassword".split()
)
# They end other words, too, and count only where a word begins.
SYLLABLES = ("sk", "pat", "sig", "api", "psk", "pw", "pepper")
# Many of these are no secrets: public ones, and names of things.
GENERAL = frozenset({"key", "api", "creds", "credential"})
# Their values say how to connect, often without a login.
CONNECTIONS = frozenset({"dsn", "connectionstring", "databaseurl"})
PUBLISHED = regex("public|publishable|gpg|pgp")
ALPHANUMERIC = bytes([*range(48, 58), *range(65, 91), *range(97, 123)])
IN_NAMES = b"-_" + ALPHANUMERIC
ESCAPE = regex(rb"\\(?:[abefnrtv]|u[0-9a-fA-F]{4})")
WITHIN = regex(r"[a-z0-9][a-z]\Z|[A-Z0-9][A-Z]\Z")
# What may follow in a name.
FURTHER = (
    "[_-]*(?:v?[0-9]{1,3}|string|binary|base64|b64|hex|prod|production|staging|live|dev|test"
    "|old|new|current|previous|next|primary|secondary)"
)
FURTHER_END = regex(f"(?i:{FURTHER})$")


def squash(name: str) -> str:
    return name.translate(JOINTS).lower()


JOINTS = dict.fromkeys(map(ord, "-_ "))
ESCAPED = regex(r"\\+(?:u|U[0-9a-fA-F]{4})([0-9a-fA-F]{4})")


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\\" in text else text


@functools.lru_cache(4096)
def ends_of(name: str) -> tuple[str, ...]:
    """The secret names that a name ends in, and the name itself; nothing for any other name."""
    name = unescaped(name)[-NEAR:]
    for whole in (name, FURTHER_END.sub("", name)):
        squashed = squash(whole)
        ends = tuple(
            end
            for end in map(squashed.__getitem__, NAME_SIZES)
            if end in NEEDED and not (end in SYLLABLES and WITHIN.search(whole[: 1 - len(end)]))
        )
        published = GENERAL.intersection(ends) and PUBLISHED.search(squashed)
        if ends and not published and not squashed.endswith(OTHERS):
            return (squashed, *ends)
    return ()


@functools.lru_cache(4096)
def needed_by(name: str) -> int:
    """The strength that a value of this name needs to be a secret."""
    if name.lower() == "pass":  # it is also a verb
        return HUMAN
    return min((NEEDED[end] for end in ends_of(name)[1:]), default=RANDOM)


def is_secret_name(name: str) -> bool:
    return needed_by(name) < RANDOM


class Form(NamedTuple):
    """A way to write a name and its value: what stands between the two, where the value ends, and
    how strong it must be at least.

    ``between`` is an expression for RE2 and re alike. ``value``: as its quotes say, up to a blank,
    such a one at the end of a line (``line``), the only word of a line (``alone``), or an element.
    """

    name: str
    value: str
    least: int
    between: str
    found: str
    left: str


MAKES_IT = regex(r"_*(?i:create|find|generate|get|load|make|parse|read|split)(?:[A-Z_]|pass)")
# The names that are written in some forms; a call that makes or gets one takes what it is for.
SUITS: dict[str, Callable[[str], object]] = {
    "option": lambda name: name.startswith("-"),
    "variable": lambda name: name.removeprefix("-e").isupper() or name.startswith("ansible_"),
    "column": lambda name: not name.startswith("-"),
    "call": lambda name: not MAKES_IT.match(name),
    "authorization": lambda name: name.lower().endswith("authorization"),
}
# <H>: blanks; <Q>: any quotes; <B>: some; <O>: opening quotes; <N>: a line end; <F>: a fence;
# <A>: an assignment.
MACROS = {
    "H": r"(?:[ \t]|\\+t)*",
    "Q": r"[\\\"'`]*",
    "B": r"[\\\"'`]{0,12}",
    "O": r"(?:[@bBfFrRuUN]{1,2}|&\w+ |!!\w+ )?\\*[\"'`]",
    "F": r"(?:`{3}\w*(?:\r?\n|(?:\\+r)?\\+n)[ \t]*)?",
    "Y": r"(?:&\w+ |!!\w+ )?",
    "P": r"(?:\\*[\"'`])?",
    "N": r"(?:\r?\n|(?:\\+r)?\\+n)",
    "A": r"(?:=>|->|<-|\xe2\x86\x92|\\+u2192|[?.+|]{1,2}=|:{0,3}=|:{1,2}\*{0,2})",
}


def form(line: str) -> Form:
    name, value, least, between, found, left = re.split("  +", line)
    between = re.sub("<([A-Z])>", lambda match: MACROS[match[1]], between)
    examples = (example.replace("·", "\n").replace("⇥", "\t") for example in (found, left))
    return Form(name, value, STRENGTHS.index(least), between, *examples)


FORMS = [
    form(line)
    for line in r"""
authorization   value     human   <Q><H>[:=]<H><P>[A-Za-z][\w-]{2,30}(?:[ \t]+|\\+t)  Authorization: GenieKey «<24 hex>»  authorization: the user is
quoted          value     word    <Q>[\])*]{0,4}<H><A><H>[\[(]?<N>?<H><O>       password = "«<12 alnum>»"       password = "$PASSWORD"
typed           value     word    (?:\[\])?[?]?<H>(?::<H>[\w.<>\[\]|&']{1,40}|[ ][*&]?(?:string|str|char|text)|\{[^{}\n]{1,40}\})?<H>=<H><O>  let password: String = "«<12 alnum>»"  password: str = ""
spaced          value     human   [ \t]+\\*[\"']                                  WITH PASSWORD '«<12 alnum>»'    the password "is"
pair            value     human   <B>[:=,{ \t]{0,5}<N>?<H><B>(?:\w{1,20}<B><H>[:=]<H><B>[\w()]{1,20}<B>,?<H>(?:<N><H>)?<B>){0,2}(?:(?i:(?:parameter|output)?value|default(?:value)?|content)<B><H>[:=]<H>|--(?:value|secret-string)[ =])<P>  {"name": "API_TOKEN", "value": "«<24 hex>»"}  {"name": "API_TOKEN", "value": ""}
fallback        value     mixed   <Q>[\])]{0,3}<H>(?:,|\|\||\?\?|[ ]or[ ])<H><O>  process.env.API_TOKEN || "«<24 hex>»"  getenv("API_TOKEN", "none")
tuple           value     human   (?:<H>=<H>)?\(<O>[^\"'`\n]{1,40}[\"'`],<H><O>  auth=("user", "«<24 hex>»")   auth=("user", "name")
call            value     mixed   <H>\(<H><O>                                   setPassword("«<24 hex>»")     getpass("Password: ")
wrapped         value     mixed   <Q>\]?<H><A><H>(?:\[\])?[\w.:>]{1,40}(?:\([^()\n]{0,40}\)<H>(?:or|\|\||\?\?)<H>|<H>\|\|<H>|\()<O>  password = String.new("«<24 hex>»")  password = getenv("NAME")
element         element   word    <Q>(?:[ \t]+[\w:.-]+[ ]?=[^<>\n]{0,80})?>                 <password>«<12 alnum>»</password>  <password></password>
element         element   word    </key><N>?<H><(?:string|value)>                       <key>ApiToken</key>·<string>«<24 hex>»</string>  <key>token</key>·<string></string>
block           line      mixed   (?:[ \t]+[\w:.-]+[ ]?=[^<>\n]{0,80})?><N><H>              <token>· «<24 hex>»·</token>   <token>· string·</token>
option          value     human   (?:<Q>,<H>|[ \t]+|\\+t)<P>                    --password «<16 hex>»         --token string
option          value     human   <Q>,?<H><N><H>(?:-[ ])?<P>                   "--password",·"«<16 hex>»"         "--token",·"string"
variable        blank     any       =<P>                                          CI_TOKEN=«vbnmlkjhzq»           PASSWORD=$X
set             blank     any       [ \t]+<P>                                      set -x CI_TOKEN «vbnmlkjhzq»      set -x PASSWORD $X
set in Windows  blank     any       (?:[ \t]*=|\\*[\"'],)[ \t]*\\*[\"']         $env:CI_TOKEN = "«vbnmlkjhzq»"    $env:PASSWORD = "$X"
property        line      word      =                                             db.password=«<12 alnum>»          db.password=$X
yaml            line      word    <Q>\*{0,2}(?:<H>|\xc2\xa0)(?::(?:[ \t]|\\+t)|=>|\xe2\x86\x92|\\+u2192)<H><Y>      password: «<12 alnum>»          password: null
next            value     human   :<H>(?:[|>]-?)?<H><N><H><N>?<H><F><P>          password: |·«<24 hex>»        password:·next: x
below           alone     mixed   <Q><H><A>?<H>\\?<N><H><N>?<H><P>  API key·«<24 hex>»        API key·next
after           value     mixed   (?:[ ]\([^()\n]{1,40}\)|[ ][a-z]{2,12}){0,4}:<H><N>?<H><N>?<H><F><P>  Your token (copy it):·«<24 hex>»  your token:·see below
assigned        value     human   <Q>\]?<H><A><H>                               x.password=«<12 alnum>»         token = next(tokens)
enclosed        value     mixed   <H><A>[<\[({]                                 token=<«<24 hex>»>            token=<token>
command         value     random  [ \t]+(?:--body |-b|<<<|[05-9][ ])?[ \t]*<P>                      aws configure set aws_secret_access_key «<40 hex>»  secret of the house
compared        value     random  <Q>\]?<H>[!=]==?<H><O>                          if token == "«<24 hex>»"  if token == "string"
prose           value     mixed   (?:[ ](?:for|of|to)(?:[ ][\w.@/-]{1,30}){1,3})?[ \t](?:is|was|are|ist|lautet|es|est|production|(?:(?:changed|set|reset|updated)[ ])?to)(?:[ \t]?:|[ ]<<<)?[ \t]<P>  the password is «<24 hex>»  the password is wrong
cell            element   mixed   (?:</\w{1,9}>){1,2}<H><N>?<H>(?:<\w{1,9}[^<>\n]{0,40}>){1,2}  <td>API token</td><td>«<24 hex>»</td>  <th>token</th><td>string</td>
column          blank     mixed   (?:[ ][ ]+|[ ]*(?:\t|\\+t)[ \t]*)          API_TOKEN⇥«<24 hex>»   API_TOKEN⇥string
list            blank     random  <Q>,<P>                                     API_TOKEN,«<24 hex>»   token,string
table           value     mixed   [ \t\"'`]*(?:\||\xe2\x94[\x82\x83]|\\+u250[23])[ \t]*<P>                                | password | «<24 hex>» |     | password | string |
""".strip().splitlines()  # noqa: E501
]

ALONE_WORD = regex(rb"[\w+/.~!@#$%^&*-]{8,}={0,2}(?=[\"'`,;\\]{0,3}[ \t]*(?:$|\r?\n|\\+[rn]))")
LINE_END = regex(
    rb"[\"'`,;]?[ \t]*(?:(?:#|//|--)[^\n]*)?(?:$|\r?\n|\\+[rn]|(?!'[a-z]{1,2}[ ])[\"'`\\])"
)
AFTER_QUOTE = regex(rb"[ \t]*(?:[,)\]};%+:?]|\|\||\.[A-Za-z$]|$)", re.MULTILINE)
LETTER = rb"\\+u(?!00[0-7])[0-9a-fA-F]{4}"  # beyond ASCII, as JSON spells it
# An ampersand separates pairs, commands and entities, or is part of a value.
UNQUOTED = regex(
    rb"(?![@bBfFrRuU]{1,2}[\"'`])(?:%b|[^\s\"'`,;)}\]<>&|\\]|\\[!#$&*]" % LETTER
    + rb"|&(?![\w.%~\[\]-]*=|#?\w+;|[^\w!#$%@^*?+-]|\Z))+"
)
# Behind them, and behind a quote or a backslash that is within a word, a password goes on.
TO_BLANK = regex(
    rb"(?![@bBfFrRuU]{1,2}[\"'`])(?:%b|[^\s\"'`\\])(?:%b|[^\s\"'`\\,;&]"
    % (LETTER, LETTER)
    + rb"|[,;&](?![\w.-]+=)|\\[^\s\"'`\\nrtux]"
    rb"|\\?[\"'`](?=[\w!#$%^*@?~])(?![\w.-]*[=:]|[\w.-]*[\"'`]))*"
)
WORD_REST = regex(
    rb"(?:[{(\[<][\w!#$%^*@?~+-]+[>\])}]"
    rb"|(?:[,;(){}\[\]<>&\"'`]|\\(?![nrtux])){1,2}[\w!#$%^*@?~+-]+)+"
    rb"(?=\\+[nr]|\\*[\"'`]|[,;).]?(?:\s|\Z)|;[\w.-]+(?:[ ][\w.-]+)*=)"
)
DIGIT = regex(rb"[0-9]")
ELEMENT = regex(rb"(?![\"'`][.,)+])[^<>\n]+(?=\\?</)")
QUOTE_ENDS = {quote: re.compile(rb"[%b\r\n]" % quote) for quote in (b'"', b"'", b"`")}
OPENING = regex(rb"(\\*)([\"'`])\Z")
KEY_END = regex(rb"\\*[\"'`][ \t]*(?:=>|[=!]==?[ ])")  # behind what is a key, or compared


def value_of(
    text: bytes, end: int, start: int, kind: str, limit: int
) -> tuple[int, int, bool] | None:
    """The start and end of the value at ``start``, and whether it is quoted; ``end`` is the end of
    its name. Nothing behind ``limit`` is read."""
    opening = OPENING.search(text, end, start)
    if kind in ("value", "blank") and opening:
        line = text[max(0, start - NEAR) : start].rpartition(b"\n")[2]
        if line.count(opening[0]) % 2 == 0 and AFTER_QUOTE.match(text, start):
            return None  # it ends a string
        start += 2 * text.startswith(opening[2] * 2, start)
        stop = quote_end(text, start, opening[0], limit)
        is_command = opening[2] == b"`" and b" " in text[start:stop]
        return None if is_command or KEY_END.match(text, stop) else (start, stop, True)
    if kind in ("element", "alone"):
        whole = (ELEMENT if kind == "element" else ALONE_WORD).match(text, start, limit)
        return (*whole.span(), kind == "element") if whole else None
    word = (UNQUOTED if kind == "value" else TO_BLANK).match(text, start, limit)
    if not word or (kind == "line" and not LINE_END.match(text, word.end())):
        return None
    return start, start + len(word[0].rstrip(b",;)" if kind == "value" else b",;")), False


def end_of_word(text: bytes, start: int, stop: int, limit: int) -> int:
    """The end of a value that continues past a sign of code, if it has a digit."""
    rest = WORD_REST.match(text, stop, limit)
    return rest.end() if rest and DIGIT.search(text, start, rest.end()) else stop


def quote_end(text: bytes, start: int, opening: bytes, limit: int) -> int:
    """The end of a quoted value: a quote escaped as often as the opening one, or its line's end."""
    escapes, position = len(opening) - 1, start
    for match in QUOTE_ENDS[opening[-1:]].finditer(text, start, limit):
        if match[0] in b"\r\n":
            return match.start()
        before = text[position : match.start()]
        position = match.end()
        if (len(before) - len(before.rstrip(b"\\"))) % (2 * escapes + 2) == escapes:
            return match.start() - escapes
    return min(limit, len(text))


def any_name(strengths: Iterable[int]) -> str:
    """An expression for the names of some strengths, the longest first."""
    names = " ".join(map(NAME_ENDS.__getitem__, strengths)).split()
    return "|".join(map(spelled_name, sorted(names, key=len)[::-1]))


def spelled_name(name: str) -> str:
    """A name with any joints, which only ASCII names have, and blanks between its words. Of the
    backslashes before its first character it needs one: else each of a text might begin it, and
    the first look takes longer."""
    joint, between = ("[_-]*", "[_-]*(?:[ ][_-]*)?") if name.isascii() else ("", "[ ]?")
    first, *others = name.split("_")
    words = [joint.join(map(spelled, first, [r"\\u", *[r"\\+u"] * (len(first) - 1)]))]
    words += [joint.join(spelled(char, r"\\+u") for char in word) for word in others]
    return between.join(words)


def spelled(char: str, escape: str) -> str:
    """A character of a name in UTF-8, or as JSON may spell it."""
    if char.isascii():
        return char
    cases = dict.fromkeys((char, char.upper()))
    plain = "|".join(case.encode().decode("latin-1") for case in cases)
    return rf"(?:{plain}|{escape}(?:{'|'.join(f'{ord(case):04x}' for case in cases)}))"


# A name at the end of a line, if the next one has before its text what tools put there: its number,
# the name of its file, the sign of a difference, a quote or a comment, a service, a time.
COMMENT_SIGN = r"[ \t]*(?:#+|//+|;+|\*|<!--|REM)[ ]"
BEFORE_LINES = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+(?:Z|[+-][0-9:]+)?[ ]"
    r"|[ \t]*[0-9]{1,6}(?:\xe2\x86\x92|\\+u2192|\t|\\+t|[ ]?\||[:-])"
    r"|[\w./@+-]{1,99}[:-][0-9]{1,6}[:-]|[\w./@+-]{1,99}/[\w.-]{1,60}:"
    r"|[+-]|>[ ]?|[\w.-]{1,40}-[0-9]+[ ]+\|[ ]"
    rf"|{COMMENT_SIGN})"
)
# A comment that is no single word, or a member, is prose.
LONE_WORD = r"[ \t]*(?:- )?(?:\w+[\"']*[:=][ \t]*)?[^\s\\]{6,}[ \t]*(?:\\|\n|$)"
_BEFORE = BEFORE_LINES.replace(COMMENT_SIGN, COMMENT_SIGN + LONE_WORD)
_NEXT_LINE = r"(?:\\+r|\r)?(?:\\+n|\n)" + re.sub(r"\{1,[0-9]+\}", "+", _BEFORE)  # no counts: states
TO_NEXT_LINE = rf"(?:</key>|[^\w\n]|\\+t)*{_NEXT_LINE}"
NUMBERED_NAMES = (
    rf"(?i:{any_name(NAME_ENDS)}){FURTHER}?{TO_NEXT_LINE}"
    rf"|(?i:value)[\"'\\]*[ \t]*[:=][^\n\\]+(?:\\+\"[^\n\\]*)?{_NEXT_LINE}"
)
# A name in the head of a table: another cell follows, a rule, or a row of cells.
TO_NEXT_CELL = (
    r"(?:[ *`]*(?:\||\xe2\x94[\x82\x83]|\\u250[23]|(?:\\+n|\n)[ |:=]*[-+|]{3})"
    r"|[\\\"']*(?:(?:[,;\t]|\\+t)[\w .#\\\"'-]*)*(?:\\+r|\r)?(?:\\+n|\n)"
    r"[\\\"']*[\w@.+-][\w@.+ -]*[\\\"']*(?:[,;\t]|\\+t))"
)
HEAD_CELL = rf"(?i:{any_name([WORD, HUMAN])}){TO_NEXT_CELL}"
# These names may have their value on the next line, or after a blank one or a fence; a command or
# what .netrc says of a machine goes on there.
_HEADS = {form.between.partition(MACROS["N"])[0] for form in FORMS if MACROS["N"] in form.between}
_HEAD = "|".join(sorted(_HEADS))
UNFINISHED = (
    rf"(?i:{any_name(NAME_ENDS)})(?:{_HEAD})[ \t]*\r?\n(?:[ \t]*\r?\n)?$"
    r"|(?:\\|^[ \t]*`{3}\w*|(?:machine|login)(?:[ \t]|\\+t)+\S+)[ \t]*\r?\n$"
)
# A name, and what may begin what stands behind it.
_BEHIND = r"[^\w;!@/%#~^$"
SEEN_NAME = (
    rf"(?i:(?:{any_name([WORD, HUMAN])})(?:{FURTHER})?{_BEHIND}]"
    rf"|(?:{any_name([RANDOM])})(?:{FURTHER})?{_BEHIND}).])"
)


# What several lines tell together: looked for in whole texts, not in words that come line by line.
# A value before its name; what a generator made; PuTTY's private keys. Each behind its first look.
PARTS_OF_RULES.update({
    "sign": r"[\"'\\]*\h*[:=]\h*[\"'\\]*", "assigns": r"[\\\"]*\h*[:=]\h*\\*",
    "more": r"[\"'\\]*,?\h*(?:\r?\n|(?:\\+r)?\\+n)?\h*", "quoted": r"\"([^\"\\\s]{4,})",
    "secret": rf"(?i:{any_name(NAME_ENDS)}){FURTHER}?",
})  # fmt: skip
OVER_LINES = [
    (spell(hint), Rule(name, source))
    for hint, name, source in (
        re.split("  +", line)
        for line in r"""
(?i:value)[\\"']*[ \t]*[:=][ \t\\"']*[^\s"'`]*?[0-9][^{}();]*?(?i:name|key)[\\"']*[ \t]*[:=]  assignment  (?i:value) <sign>([^\s"'\\,{}]{8,})<more>(?:["'\\]*\w+<sign>[\w./()-]*<more>){0,3}?["'\\]*\w{0,12}(?i:name|key)<sign>[\w./-]*<secret>(?:[\s"',}\\]|$)
random_password  terraform-secret  random_password [^{}]*(?:\{[^{}]*){0,3}?["\\]*result<assigns><quoted>
sensitive<assigns>true  terraform-secret  (?:value|default) <assigns><quoted>\\*"[^{}]*?[^\w]sensitive<assigns>true
sensitive<assigns>true  terraform-secret  sensitive <assigns>true[^{}]*?[^\w](?:value|default)<assigns><quoted>
Private-Lines:  private-key  Private-Lines: \h*[0-9]+((?:\s|(?:\\+r)?\\+n)+(?:[A-Za-z0-9+/]{16,64}={0,2}(?:\s|(?:\\+r)?\\+n)*)+)
""".strip().splitlines()  # noqa: E501
    )
]


# ---------------------------------------------------------------- the judge
#
# What a value tells: the odds that it was made up, by people or machines, rather than named. They
# are trained (tests/judge). Rules here say only what no value tells: see CONTRIBUTING.md.


# What each trait adds to the odds: a character each, "O" is nothing. And the odds that a strength
# asks for. Both are printed by tests/judge/train.py: mend its examples, not these.
WEIGHTS = (
    b"DSRFU<TR]PSTVLNA]VRXEJ@[KOMUR[VOTDNO?HPPUMMXY.QPV@OQ7?GLTRM`TCObLPOS8O@PANXJQOML>OMNWLPMRaQM"
    b"NUMCLCHVRIMTa5_XTVGL:HFSEQNKTUOj@IQDS`:g><USSFOZK>QBgWHWN0LVWIS@:LN#@QCXTQ]QI7=NIQC[SLCGNTKK"
    b"EO8YLQNMRTSPLNRS:PQDVT2SHN]TfVJUGEPFOMQGSPIPESNN@NMH;KNaddNWDYP`^9HaPZYGKJH@TRSQBPITTRNROW`P"
    b"RNLXMK>QSPQ]QQ]QcKPOMMXG:LZRJPRSHIKNQNPL[8=hPPK`SNQRGWRLOM=KFLCJ]QDPYcYOT]`NNPQUGD[NKJOAVRQW"
    b"ONJU3Oj_NOP?,@GmIRNU^ORNLLU[PhXIEZ?NNL@OW_NAOBGWLHYCNa`RJQRT]VGLBjNJFVNNRQXLUDFUGQLIXMMQSPMN"
    b"_GSSNQ=`PDVBFMRQPY`YOIWNWeYH/ST7CLVUGFQ]UOULJQFJAPRPRXIRSROGZQTGPKPPQPOXT=4IcRJQNOJ7dLRR]ONG"
    b"CHSFdIVlVO=RX]ZPFLURMLKUNGNTYUSRUU]O[MZUVD7WPH:PQ4OdB=LLY=DX<]MRQFXPJRN3JUUDVTEKLJS@ODD[OHQY"
    b"`GXLP=W;^@MR]<2QNNTXLNHQEKJLI=SGK[BST^VRMHQdG-AEKWPBWWNF;?I`LF[QG]TcTGFIIMPLTNTASKNC]BTPGZWW"
    b"N]IM[IVkFTERKSgW[IUFT0I?RR`EHRYXCHQMNkZ6UIOZBIWRIWV9VZ]cJLSERK]XUQHm`ORaLRT]UZU>AYWHY`McPUOG"
    b"JOLVKQ?TRRJZ]PEXC:JZHMVSFQLMdXK[MQ*PTLOOQRGRRaXVJMOQ]QLLURTALPOK=OAbUZ1KO<NeRNRRLUG]MDF[WTTR"
    b"QSIMP?cKPO[GKRP>XJFIXRDTR$hVVAe]NJJYL9>>]YULI[OSBAO9SbM>VKWJPQMROJUHOONCHJNYWSEMRWUQQYTRQKSM"
    b"WP9TNNXQL[WDMQZLRWR]PONOWNP7CQQDMDXVSVPYDVQREcU?VTJLMRRJJ<fWFVaOVYHXFMWQZPPNMMPLLSUG>SPPGW^?"
    b"T_8LJX]UMErTUV`OcW@UIQ?PJYEMQWLKgKQOWCOOM;hKJUCRMN@JLHXP?S[ONOV?WLJOTL_ND_QTK[IGON?MGS=VQZWG"
    b"OIGBRSSQRIAN]WYHPGUcYPOOPePTJIGB^]SGCQTH+BO?QUTRKCHUNONTYHaZIQNELR[AQDXPEMTi9PV5DPFELLFOKG1R"
    b"MM@TWM?M[^KKNElLMUNND]]PPMHFTWMNGrKXQU[PPP7KMPD/HIPPQVASOM_POJKbCLUW`SK@NOUYLMVN^MXm]cJQDWhP"
    b"2HZPTOQ]]]UUNYQH[KNB]KYF`=GNWNPDPGc?OIcPUOSOQOHIQgFNWFQ+UIGJJIWY9Y<RDRIPFPFDONaWMPS[ISSTQHQU"
    b"LM9;]JSXVLZLFOV@LQCQM]BBQSSRE@U@cWPLIGQ[YLIOTQILLQIRUWTSCSOXL]PSGRI-UL:IUSTOK>FFYFTYQAUR?PJR"
    b"NPD]OMHLMKHKBQdTpKCKQAQZRKfQN`ULN[6EPLhNVPSC[RXGRI]PJQPRdPNdjGRD]WYnRBNHGKZ>XCPPOKXDIRKJTNTJ"
    b"WPTVKBSVPTKPTASZ>SLCRJ[FUTJ?LTZGCNNVRGOOSEfLSUHOTJIL>XPPN]RHHIMCYNJ_JNR6S:DLVLIPRQNhLPLSN,EN"
    b"HHTXQJKEOgK_NPZNOJTOIU6EGVJS(OW]IaELOKWPMFLPIQIUTMRQNRKCPKPSQQUJSFHQG_ZB`LIaWOIKfqHRVEN?OWS^"
    b"CYOOKYZQMX8RPQ<Lc?CXR]<VTPNUPKOQDQ]ULULTbYJCIFNDARHpR^dTRWKUKPRMGXTWTWPVQLSOKMQ`R_QSKSYJ]LYL"
    b"UoLPOEWZQ>TLKTVQ<NH>UWIERPTIOFMcLHaJK[R^PM<PQXPENINWJF@JMO6J?NRNJGPN[KJMLW;NNP^<E;KOVQPNQ`RJ"
    b"MQPOJPTRO5EY]RH"
)
REACHED = (-500, -104, -14, 23, 40)
SLOTS, EVEN, SURE = 2039, ord("O"), 500
LOWER = b"abcdefghijklmnopqrstuvwxyz"
REST = LOWER.upper() + b"0123456789"
FOLDED = bytes.maketrans(REST, LOWER + b"0" * 10)
SHAPED = bytes.maketrans(LOWER + REST, b"a" * 26 + b"A" * 26 + b"0" * 10)
LETTERS = regex(rb"[a-z]+|[A-Z]+")


def traits(value: str) -> list[bytes]:
    """The value and its words; pairs of characters, all of these with neither case nor digits;
    triples of classes of characters; the length, and that of the longest run of letters."""
    data = value[:40].encode("ascii", "replace")
    folded, shape = b"^%b$" % data.translate(FOLDED), b"^%b$" % data.translate(SHAPED)
    longest = max(map(len, LETTERS.findall(data)), default=0)
    features = [b"#%d" % len(data), b"digit" * (b"0" in shape), b"run%d" % longest, folded]
    features += LETTERS.findall(folded)
    features += [folded[at : at + 2] for at in range(len(folded) - 1)]
    return features + [shape[at : at + 3] for at in range(len(shape) - 2)]


@functools.lru_cache(4096)
def odds(value: str) -> int:
    """How sure it is that a value was made up: log-odds, in twelfths. Sources teach that digests
    are harmless; behind a name they are not."""
    if HEX.fullmatch(value):
        return SURE if len(set(value)) > 5 else -SURE
    from zlib import crc32  # not needed where nothing is redacted

    features = traits(value)
    return sum([WEIGHTS[crc32(trait) % SLOTS] for trait in features]) - EVEN * len(features)


def greatest_odds(value: str) -> int:
    """The odds of a value, or of a long part of it: a random one may have a name before it."""
    return max(map(odds, [value, *(part for part in PARTS.split(value) if len(part) > 11)]))


HEX = regex(r"(?=.*[0-9])(?:[0-9a-f-]{16,}|[0-9A-F-]{16,})")
HEX_END = regex(r"[0-9a-f][0-9a-f-]{30,}[0-9a-f]\Z")  # a UUID, too
PARTS = regex(r"[-_./:@&=$ ]")
STRETCHES = regex(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# What a program puts in; it is taken out, and the rest is judged.
PLACEHOLDER = regex(
    r"\$?\{\{(?:\{\{.*?\}\}|.)*?(?:\}\}+|\Z)|\{%.*?%\}|<%.*?(?:%>|\Z)|[$#]\{.*?(?:\}|\Z)"
    r"|\$\(.*?(?:\)|\Z)|\{[\w .!:\[\]\"'-]*\}|<[^<>]*>"
    r"|(?:(?<![^:/=@.,\s])\$[A-Za-z_]|\$[A-Z_]{2})[\w.:>-]*|%\(\w+\)[a-z]|%[-0-9.]*[a-zA-Z@](?!\w)"
    r"|%[A-Za-z_]+%|@@?[A-Z_]+@@?|&lt;.*?&gt;|\[REDACTED:[^\]]*\]|\A[\[(][A-Za-z ]+[\])]\Z"
    r"|\$[0-9]|\{[\w.]+\(.*|\A[<\[]\w*\Z"
)


# No secret, whatever it looks like: why, an expression, an example. Behind a variable of a shell
# stands no ``(code)``.
class Reason(NamedTuple):
    why: str
    expression: str
    example: str


NO_SECRET = [
    Reason(*re.split("  +", line))
    for line in r"""
too short                 .{0,2}                                                      ab
a number                  [+-]?[0-9][0-9_]{0,14}|0[xX][0-9a-fA-F]{1,16}[uUlL]{0,3}|0b[01_]+  0xdeadbeefUL
a time, a range           [+-]?[0-9]+[.,:TZ-][0-9.,:TZeE+-]*                          2026-01-04T10:20:30Z
a size                    [0-9.]+(?:px|r?em|fr|pt|vh|vw|m?s|%)                           120px
bytes in hex              (?:\\*x[0-9a-fA-F]{2}){1,8}                                 \x00\x7f
a sum                     \s*\+(?: .*|[\w.]+\+)                                       +name+
one character             (?P<one>.)(?P=one)*                                         zzzzzz
signs                     (?:\\[nrt]|\W)*                                             ---
a version                 [\^~<>=]{0,2} ?v?[0-9]+(?:\.[0-9x*]+)+(?:[-+.][a-z0-9]{1,16}){0,4}(?:/go\.mod)?  ^7.1.2-beta.1
a requirement             [\w.-]+ ?[<>~=!]= ?[0-9].*                                  pyjwt>=2.1
a URL without a login     (?:[a-z][a-z0-9+.-]*|[A-Z]+)://(?:[a-z_]{1,16}:?@)?[^\s@]*  https://example.org/token
a path                    (?:~|#|\.{1,2}|[A-Za-z]:)?(?:[/\\]+[\w. @#:+-]+)+[/\\]?     ./run/secrets/x
a path                    [a-z0-9_.-]+(?:/[a-z0-9_.-]+){2,}                           app/config/token
an address                [\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,4}                    me@example.org
a file                    (?:[\w-]+/)*[\w.-]+\.(?:pem|crt|cer|key|pub|jks|p12|json|ya?ml|toml|txt|conf|cfg|env|log|xml|html?|jpe?g|png|gif|svg|sh|py|js|ts|go|rb|java)(?:#[\w.-]+)?  keys/server.pem
a prompt of a shell       [\w.@-]+:[~/]\S*[$#]                                        me@host:~/app$
camelCase (code)          [a-z]{2,}(?:[A-Z][a-z]{2,})+|(?:[A-Z][a-z]{2,}){2}          newTokenValue
a member (code)           [A-Za-z_]{2,}(?:\.[A-Za-z_]{2,})+                           settings.SECRET_KEY
a constant (code)         [A-Z]{2,}(?:_+[A-Z]{2,})+                                   SECRET_KEY
an element (code)         [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\[-?\w*\](?:\.[A-Za-z_]\w*)*  args.tokens[0]
a tag                     [abglstvw]:\w+                                              s:name
nobody                    -?(?i:anonymous)@?[\w.]*                                    anonymous
what it is the ID of      (?:uuid|file|id|object)=.*                                  id=7f
an elision, an example    .*(?:\.\.\.|…|\*{3}|[xX•]{5}|EXAMPLE|(?i:abcdefghijkl)).*   sk-ab...yz
a type, nothing           (?i:true|false|null|none|nil|undef(?:ined)?|yes|no|str|string|text|bool|int|integer|number|value|boolean|float|bytes|void)\??  undefined
what is said of one       (?i:(?:in|un)?(?:correct|valid|changed|set)|missing|mis-?match(?:ed)?|wrong|expired|empty|blank|hidden|redacted|(?:not[ ])?(?:accepted|allowed|found|provided|given|matching)|denied|rejected|refused|failed|verified|match(?:es|ed)|weak|strong|pending|locked|forgotten|prompt|auto|failure|success|ok(?:ay)?|unknown|enabled|disabled|updated|protected|encrypted|masked|needed|erforderlich|falsch|ung(?:ü|ue)ltig|fehlt|leer|requise|obligatoire|incorrect[oa]|inv[aá]lid[ao])[.!]?  mismatch
the end of a parameter    ;?[a-z]+=                                                   ;name=
an option                 --[a-z][a-z-]+                                              --prompt
a reference               (?:workspace|npm|link|catalog|arn|urn|env|file|vault|ssm):.*  env:GITHUB_TOKEN
a rule for a form         (?:required|optional|nullable|sometimes|confirmed|hashed)(?:[|_:].*)?  required|min:8
a digest                  (?:sha[0-9]{1,3}|md5)[=:-].*                                sha256:0a1b
a certificate, an image   (?:LS0tLS1CRUdJTiB(?:D|QVUJ)|iVBORw0KGgo|/9j/4|R0lGOD).*    iVBORw0KGgoAAAA
asks to be replaced       (?i:_*(?:replace|change|insert|put|enter)[_ -].*|replace(?:me)?|your.*|base64[ _-]?encoded.*|redacted.*)  your-token-here
of a variable in a shell  \?[A-Za-z]\w*                                               ?required
a member (code)           [A-Z]\w+::[A-Za-z_]+                                        Config::TOKEN
an object in JSON         \{\\*["'].*                                                 {"a": 1}
a public key              age1[0-9a-z]{50,}|(?:\w+[_-])?(?:pk|pub|public|publishable)[_-](?:live_|test_)?[\w-]{16,}  pk_live_9aK2mQ7xB4tR1zW8
a placeholder             __[A-Z_]+__                                                 __TOKEN__
a colour                  (?:[a-z]+=)?#[0-9a-fA-F]{3,8}                               #ff8800
an expression             (?=.*[a-z]-[a-z]|.*\.\*).*\[.*|.*\\[wdsb][*+].*             [a-z0-9]+
prose                     (?:\S+ ){4,}.*                                              at least one of each kind
""".strip().splitlines()  # noqa: E501
]


def any_reason(reasons: Iterable[Reason]) -> re.Pattern[str]:
    return regex("|".join(f"(?:{reason.expression})" for reason in reasons), re.DOTALL)


IS_NO_SECRET = any_reason(NO_SECRET)
IS_NO_LITERAL = any_reason(reason for reason in NO_SECRET if "(code)" not in reason.why)
# Behind names that say little: an ID, a digest, a fingerprint. The first word that is one decides.
DIGEST_WORD = (
    r"(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:0x)?[0-9a-fA-F]{40}"
    r"|[0-9A-F]{16}|[0-9a-fA-F]{56}|(?:[0-9a-fA-F]{32}){2,4})(?![A-Za-z0-9])"
)
DIGEST = regex(
    rf"(?:(?!{DIGEST_WORD})[A-Za-z0-9]+[-_./:])*{DIGEST_WORD}(?:[-_./:][A-Za-z0-9]+)*"
    r"|[0-9]+|(?:[0-9a-fA-F]{2,4}[: ]){7,}[0-9a-fA-F]{2,4}"
)
# Code, if unquoted: a member call, or a call left open; any call, an operator.
CALL = regex(
    r"[&*!/]*(?:[A-Za-z_]\w*(?:\.|::|->))+[A-Za-z_]\w*[!?]?[({\[<]"
    r"|\w+(?:\)[.,;]|\[[\w:-]|\((?:.*[({\[])?\Z)"
)
CODE = regex(r"[\w.:>$!?&-]*(?:[(\[{<,\]})]|[=%/*].).*|[:@~!&|].*", re.DOTALL)
# A member, camelCase or PascalCase, an optional type (`T?`), snake_case.
CODE_NAME = regex(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|(?=[a-z]*[A-Z])[A-Za-z]*[a-z][A-Za-z]*"
    r"|[A-Za-z]+\?|[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+|_?[a-z]+(?:[A-Z][a-z]+[0-9]?){2,}"
)
# As in code: a_b, a.b, camelCase, Word.
JOINED = regex(
    r"\W*(?:_?[A-Za-z][A-Za-z0-9]*(?:[_.]+[A-Za-z0-9]+)+"
    r"|_?[A-Za-z]+(?:[A-Z][a-z]+[0-9]?|[a-z][A-Z]+)|[A-Z][a-z]+)\W*"
)
# What people read: words with a capital, also a question, or of another alphabet.
LABEL = regex(
    r"[^\W\d_a-z][^\W\d_A-Z]*(?:[ .:'()-]+[^\W\d_]+)*(?:[.:)]*| [^\W\d_]+(?:[ '-][^\W\d_]+){0,2}\?)"
    r"|[A-Z][a-z]+(?: [a-z]+)+ [0-9]{1,3}(?: [a-z]+)+[.!]?|[^\d_]*[^\x00-\x7f][^\d_]*"
)
PHRASE = regex(r"[^\W\d_]+(?: [^\W\d_]+){1,3}(?: [0-9]{1,2})?")
# A password with who has it.
OF_LOGIN = regex(r"\A[a-z][\w.@-]*[:/](\S+)\Z")
# What says how to connect: pairs of which none is a login.
NO_LOGIN = regex(
    r"(?is)(?!.*(?:[:/][^:/@]+@|(?:pass[a-z]{0,6}|pwd|key|secret|token|sig)=[^;&])).*[=:]\w.*"
)
SCHEME = regex(r"(?i)(?:basic|bearer|token|digest|apikey|negotiate|ntlm)[ \t]+(?=.)")
NAMES = regex(r"[a-z]+(?:[-_.][a-z]+){2,}")  # joined words: no token
# Such a word before a token says that it is no secret.
PUBLIC = regex(
    r"(?i)(?:[\w-]+[_-])?(?:sha[0-9]{1,3}|pk|pub(?:lic|lishable)?|id|nonce|run|(?:chat)?cmpl)[_-]"
    r"(?:(?:live|test|prod|key)[_-])?[A-Za-z0-9]+[\w=-]{0,20}"
)


# An unquoted value in a form that asks for more than a name.
TANGLED = "(?:[a-z][A-Z][a-z][A-Z]|[a-z]{16})"  # letters that no word has
MIXED_WORD = regex(rf"(?=[^\s,;(){{}}<>\\]{{8}})[^\s,;(){{}}<>\\]*?(?:[0-9]|{TANGLED})")
FEWEST = 0, 0, 6, 0, 12  # characters of a value, by the strength that its name needs


def is_plain(
    name: str, value: str, least: int = WORD, needed: int | None = None, *, quoted: bool = True
) -> bool:
    """Is this value no secret, given its name? ``least`` is the strength that its form needs,
    ``needed`` the one that its name needs, which a form that takes ANY value does not ask; ANY for
    what a shell assigns: a literal, whatever its characters."""
    ends = ends_of(name)
    if not ends or (len(name) > 20 and name.isalnum() and odds(name) > 2 * REACHED[RANDOM]):
        return True  # no name, or base64 that happens to end in one
    value = value[(scheme.end() if (scheme := SCHEME.match(value)) else 0) :][:NEAR]
    value = unescaped(value).strip("\"'`\\ ").replace("&nbsp;", " ")
    closed = "" if quoted or least == ANY else value[len(value.rstrip(")]};:,")) :]
    value = value.removesuffix(closed)
    rest = PLACEHOLDER.sub("", value)
    if "credentials" in ends:
        rest = OF_LOGIN.sub(r"\1", rest)
    needed = needed_by(name) if needed is None else needed
    if needed <= HUMAN and is_tangled(value):
        return IS_NO_SECRET.fullmatch(rest) is not None
    if needed == ANY:
        said = squash(value.strip("@:$").rpartition(".")[2]) in ends
        called = not quoted and (value[:1] == "(" or CALL.match(value) is not None)
        return said or called or IS_NO_LITERAL.fullmatch(rest) is not None
    if IS_NO_SECRET.fullmatch(rest) or (least and needed > WORD and " " in value):
        return True
    if least and (
        len(value) < FEWEST[needed]
        or (least >= MIXED and not quoted and not MIXED_WORD.match(value))
    ):
        return True
    if CONNECTIONS.issuperset(ends[1:]) and NO_LOGIN.fullmatch(rest):
        return True
    if least and not quoted and (value[:1] == "-" or ":" in closed):  # an option, a name
        return True
    if least and GENERAL.issuperset(ends[1:]) and DIGEST.fullmatch(value):
        return True
    score = greatest_odds(rest.replace("\\", ""))  # the same in JSON in JSON
    random = random_odds(value)
    likely = score < (REACHED[MIXED] if quoted else random)
    if squash(value).lstrip("@:$") == ends[0] or repeats(value, needed, likely, quoted=quoted):
        return True
    code = any(
        (closed.strip(";:,"), CODE.fullmatch(value), needed > WORD and CODE_NAME.fullmatch(value))
    )
    if least and not quoted and (CALL.match(value) or (score < random and code)):
        return True
    asked = max(least, needed) if least else ANY
    return (
        score < (random if asked == RANDOM else REACHED[asked])
        or LABEL.fullmatch(value) is not None
    )


ALL_KINDS = regex(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?=.*[^\w.,/-])\S{8,40}")


def is_tangled(value: str) -> bool:
    """Has a value all kinds of characters, and another one at every second? No code has."""
    stretches = STRETCHES.findall(value)
    return 2 * len(stretches) >= len(value) and ALL_KINDS.fullmatch(value) is not None


def random_odds(value: str) -> int:
    """The odds that ask for a random value: doubled for one that changes its kind of character as
    seldom as words and numbers do."""
    return REACHED[RANDOM] * (1 + (3 * len(STRETCHES.findall(value)) < len(value)))


def repeats(value: str, needed: int, likely: bool, *, quoted: bool) -> bool:
    """Is this a secret name, or something that is ``likely`` an identifier that holds one? People
    choose such a word as a password, and words with hyphens, which no program has for a name."""
    plain = squash(value).strip("[]().:")
    chosen = needed == WORD and not JOINED.fullmatch(value)
    if chosen and PHRASE.fullmatch(value):
        return any(map(plain.__contains__, WITHIN_NAMES))
    if chosen:
        return NEEDED.get(plain.rstrip("12"), RANDOM) <= (WORD if quoted else HUMAN)
    return plain.rstrip("12") in NEEDED or (likely and any(map(plain.__contains__, WITHIN_NAMES)))


def is_plain_token(rule: Rule, shown: str) -> bool:
    """Is what a rule found no secret?"""
    if rule.name == "login-password":
        return is_plain("password", shown.rstrip("."), HUMAN)
    if rule.name.endswith("password"):
        return is_plain(rule.name, shown)
    if rule.name == "assignment":
        return is_plain("token", shown, MIXED)
    if rule.name == "token":
        longest = max((*PARTS.split(shown), *HEX_END.findall(shown[-NEAR:])), key=len)
        return (
            odds(longest) < REACHED[MIXED]
            or 4 * len(STRETCHES.findall(longest)) < len(longest)
            or shown.isupper()  # a constant
            or longest.isalpha()  # a name: a random one would have digits
            or PUBLIC.match(shown) is not None
        )
    if rule.name in ("authorization", "bearer-token", "cookie", "url-user"):
        shown = PLACEHOLDER.sub("", shown[:NEAR])
        return IS_NO_SECRET.fullmatch(shown) is not None or greatest_odds(shown) < REACHED[HUMAN]
    documented = "..." in shown or "EXAMPLE" in shown
    return documented or len(set(shown)) < 6 or NAMES.fullmatch(shown) is not None


INSERTED_SIGN = rf"(?i:insert\s+into\s[^()]{{1,80}}\([^()]*(?:{any_name([WORD, HUMAN])}))"
INSERTED = regex(
    rb"(?i)\binsert\s+into\s+[\w.`\"\[\]\\]{1,80}\s*\(([^()]{1,1000})\)(?:\s|\\+n)*values(?:\s|\\+n)*"
)
ROW = regex(rb"(?:\s|\\+n|,)*\(((?:'[^'\n]{0,256}'|\"[^\"\n]{0,256}\"|[^()'\"]){0,2000})\)")
FIELD = regex(rb"(?:((?:'[^'\n]*'|\"[^\"\n]*\")+)|[^,'\"])+")


def cell_secret(name: str, text: bytes, begin: int, end: int) -> Iterator[Span]:
    """The value of a table's cell below a name, if it is that of a secret."""
    value = text[begin:end].strip(b" \t\r\n\"'`\\")
    if value and ends_of(name) and not is_plain(name, value.decode("utf-8", "replace"), HUMAN):
        begin = text.index(value, begin)
        yield begin, begin + len(value), "assignment"


def sql_secrets(text: bytes) -> Iterator[Span]:
    """The values of SQL's INSERT in the columns with names of secrets."""
    for head in INSERTED.finditer(text) if expression(INSERTED_SIGN).search(text) else ():
        names = [from_utf8(name.strip(b' \t\r\n`"[]\\')) for name in head[1].split(b",")]
        at = head.end()
        while row := ROW.match(text, at):
            at = row.end()
            for name, field in zip(names, FIELD.finditer(text, *row.span(1)), strict=False):
                if field[1]:
                    yield from cell_secret(name, text, *field.span(1))


# ---------------------------------------------------------------- plain readings
#
# How a text looks to a person: without what programs put before lines, escapes, entities, codes.
# A text in, the changes that make it plain out; what is found there is carried back.


# Codes for a terminal, as they are and as programs and JSON inside JSON spell them; with links, and
# what nobody sees.
CODE_BEGIN = r"(?:\x1b|\\u001[bB]|\\(?:x1[bB]|033|e)[\[\]]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8d])"
_ESCAPE = rb"(?:\x1b|(?<!\\)\\+(?:u001[bB]|x1[bB]|033|e))"
_CODES = (
    _ESCAPE + rb"(?:\[[0-?]*[ -/]*[@-~]|[()][0AB]"
    rb"|\][0-9]{1,4};[^\x07\x1b\\\n]{0,4096}(?:\x07|\\+u0007|\\+x07|\\+a|" + _ESCAPE + rb"\\+))"
    rb"|\xc2\x9b[0-?]*[ -/]*[@-~]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8d]|\xef\xbb\xbf"
)
CODES = regex(_CODES)


class Reading(NamedTuple):
    """What programs write for something else: a sign of it, an expression of what is written, and
    what that stands for. A text costs nothing without its sign."""

    name: str
    sign: str  # an expression
    written: bytes  # an expression with a group, which tells what it stands for
    plain: Callable[[bytes], bytes]


def char_in_hex(code: bytes) -> bytes:
    number = int(code.lstrip(b"ux"), 16)
    return bytes([number]) if number < 128 else narrow(code[-1:])


def entity(name: bytes) -> bytes:
    """The character of an HTML entity."""
    if name[:1] != b"#":
        return ENTITIES[name]
    number = int(name[2:], 16) if name[1:2] in b"xX" else int(name[1:])
    return to_utf8(chr(min(number, sys.maxunicode)))


def narrow(sign: bytes) -> bytes:
    return b": " if sign in b"\x9aa" else b"="


ENTITIES = {
    b"quot": b'"', b"apos": b"'", b"lt": b"<", b"gt": b">", b"amp": b"&", b"nbsp": b" ",
    b"equals": b"=", b"colon": b":",
}  # fmt: skip
# No line of a private key begins with the sign of a difference.
LINE_PREFIX = rb"(%b{1,3})" % BEFORE_LINES.replace("[+-]|", "[+-](?![+-])|").encode("latin-1")
CUT_PAIR = "\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]"
# The signs are expressions of RE2; each begins with a byte that is found much faster than a class.
READINGS = [
    Reading(*given)
    for given in (
        ("code of a terminal", CODE_BEGIN, b"(%b)" % _CODES, lambda _: b""),
        ("what tools put before lines", NUMBERED_NAMES, rb"\n" + LINE_PREFIX, lambda _: b""),
        (
            "escape of JSON or JavaScript", r"\\(?:(?:u00|x)[2-7]|uff1[ad])",
            rb"\\+((?:u00|x)[2-7][0-9a-fA-F]|uff1[ad])", char_in_hex,
        ),
        (
            "entity of HTML", r"&(?:[a-z]{2,6}|#[xX]?[0-9a-fA-F]{2,5});",
            rb"&(?:amp;)*(%b|#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,5});" % b"|".join(ENTITIES), entity,
        ),
        (
            "character that events cut", CUT_PAIR, rb"(%b)" % CUT_PAIR.encode("latin-1"),
            lambda halves: to_utf8(join_surrogates(from_utf8(halves))),
        ),
        ("wide sign", r"\xef\xbc[\x9a\x9d]", rb"\xef\xbc([\x9a\x9d])", narrow),
    )
]  # fmt: skip


def plain_reading(text: bytes) -> list[Change]:
    """The changes that make a text plain, as a person would read it."""
    some = [reading for reading in READINGS if expression(reading.sign).search(text)]
    if not some:
        return []
    written = re.compile(b"|".join(reading.written for reading in some))
    changes = list[Change]()
    for match in written.finditer(b"\n" + text):  # each line has an end before it: that's fast
        group = match.lastindex or 1
        new = some[group - 1].plain(match[group])
        start, end = match.span() if new else match.span(group)
        changes.append((start - 1, end - 1, new))
    return changes


def sources(text: bytes, changes: list[Change]) -> tuple[Any, Any]:
    """Where each byte of a plain reading comes from: from, to."""
    from array import array

    froms, tos, done = array("L"), array("L"), 0
    for start, end, new in [*changes, (len(text), len(text), b"")]:
        froms.extend(range(done, start))
        tos.extend(range(done + 1, start + 1))
        froms.extend([start] * len(new))
        tos.extend([end] * len(new))
        done = end
    return froms, tos


def carried_back(spans: Iterable[Span], froms: Any, tos: Any) -> Iterator[Span]:
    """The spans in a text of what was found in its plain reading, without what that leaves out."""
    for first, last, name in spans:
        begin = first
        for at in range(first, last):
            if at + 1 == last or tos[at] < froms[at + 1]:
                yield froms[begin], tos[at], name
                begin, name = at + 1, ""


# ---------------------------------------------------------------- the scanner
#
# A text in; the spans of its secrets, or the text with markers, out. It must not know events.
# A first look rules out most texts at once; the finders of what it finds are asked one by one.


BASE64 = b"+/" + ALPHANUMERIC
ROUNDS = 8  # of searching for more where a rule found one: a command may hold two passwords
LONG_STRING = 4096  # of base64: more than any token has
LIKE_BASE64 = regex(rb"[A-Za-z0-9+/]{64}")
MASK = b"\f"  # stands for each byte of a marker: a blank that no form allows
REFERS = regex(rb":[\w-]+:[^\s:\\]|(?<=checksum)/")  # within an ARN or a URN; a digest of it
IN_BASE64 = regex(rb"(?=.{0,23}[a-z])(?=.{0,23}[A-Z])(?=.{0,23}[0-9])[A-Za-z0-9+/]{24}")
UNMARKED_LINE = regex(rb"[^\n\f]+")
SEAM = b"\n\n\0"  # between texts that are searched together: no expression goes on behind it


def mask(text: bytes, spans: Iterable[tuple[int, int, Any]]) -> bytes:
    """A text whose spans are made unrecognizable; positions stay."""
    return splice(text, [(start, end, MASK * (end - start)) for start, end, _ in spans])


KIND_SECRET = r"kind[\"'\\]*:[ \t]*[\"'\\]*Secret\b"
SECRET_DATA = regex(
    rb"^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+\S[^\n]*(?:\n|\Z))+)"
    rb"|()\"(?:data|stringData)\\*\":\s*\{([^{}]*)\}",
    re.MULTILINE,
)
DOCUMENT_OF_YAML = regex(rb"(?ms)^.+?(?=^---|\Z)")
SECRET_ENTRY = regex(rb"(?<![\w.-])[\w.-]+[\"\\]{0,8}:[ \t]*[\"'\\]*([^\s\"'\\|>{}\[\]]{4,})")


def kubernetes_secrets(text: bytes) -> Iterator[Span]:
    """The values of Kubernetes' secrets, whatever their names."""
    kind = expression(KIND_SECRET)
    documents = DOCUMENT_OF_YAML.finditer(text) if kind.search(text) else ()
    spans = (document.span() for document in documents if kind.search(document[0]))
    for block in itertools.chain(*(SECRET_DATA.finditer(text, *span) for span in spans)):
        for entry in SECRET_ENTRY.finditer(text, *block.span(2 if block[2] else 4)):
            if not is_plain("token", entry[1].decode("utf-8", "replace"), ANY):
                yield *entry.span(1), "assignment"


# Columns with the name of a secret at their head.
CELL_ENDS = [regex(end) for end in (rb"\||\xe2\x94[\x82\x83]", rb"\t", rb",", rb";")]
HEADER_CELL = regex(rb"(?:[^\W\d][\w.-]*(?:[ ][\w.-]+){0,3})?")
LINE = regex(rb"[^\r\n]+")
MOST_ROWS = 200
MOST_RECENT = 4  # texts: a line is as long as it likes


def columns(text: bytes) -> Iterator[Span]:
    """The values in the columns of tables whose heads are names of secrets."""
    done = 0
    for head in expression(HEAD_CELL).finditer(text):
        if head.start() < done:
            continue
        start = text.rfind(b"\n", done, head.start()) + 1 or done
        line = LINE.match(text, start)
        if not line:
            continue
        done = line.end()
        ends = next((end for end in CELL_ENDS if end.search(line[0])), None)
        cells = [cell.strip(b" '\"*`#") for cell in ends.split(line[0])] if ends else []
        before = text[text.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start]
        is_first = not ends or len(ends.split(before)) != len(cells)
        heads = sum(map(bool, cells)) > 1 and all(map(HEADER_CELL.fullmatch, cells))
        if not (ends and is_first and heads):
            continue
        names = [cell.decode() for cell in cells]
        for row in itertools.islice(LINE.finditer(text, done), MOST_ROWS):
            starts = [0, *(match.end() for match in ends.finditer(row[0]))]
            if len(starts) != len(names):
                if row[0].strip(b"-+| "):  # no rule between head and rows
                    break
                continue
            done = row.end()  # no row is the head of another table
            for name, at, cell in zip(names, starts, ends.split(row[0]), strict=True):
                begin = row.start() + at
                yield from cell_secret(name, text, begin, begin + len(cell))


def next_name(text: bytes, position: int, limit: int) -> tuple[int, int, str] | None:
    """The next name of a secret: from, to, the name."""
    seen = expression(SEEN_NAME)
    while match := seen.search(text, position, limit):
        position = match.end() - 1
        begin, name = name_before(text, match.start(), position)
        if ends_of(name):
            return begin, position, name
    return None


def next_assigned(text: bytes, position: int, limit: int) -> int | None:
    """Where the next name of a secret begins that may have a value. In a line of JSON a string may
    end in one: a member, an option, the name of a pair; a table has its values below."""
    while found := next_name(text, position, limit):
        begin, position, name = found
        near = text[begin : position + 2 * NEAR]
        in_other = needed_by(name) < RANDOM and (
            near.startswith(b'"', position - begin)
            or expression(TO_NEXT_CELL).match(near, position - begin)
        )
        on_next = in_other or expression(TO_NEXT_LINE).match(near, position - begin)
        if on_next or assigned_value(text, *found):
            return begin
    return None


def name_before(text: bytes, start: int, end: int) -> tuple[int, str]:
    """Complete a name to the left: its start, and the name, without an escape before it."""
    head = text[max(0, start - NEAR) : start]
    begin = start - len(head) + len(head.rstrip(IN_NAMES))
    if text[begin - 1 : begin] == b"\\" and (escape := ESCAPE.match(text, begin - 1, start)):
        begin = escape.end()
    return begin, text[begin:end].decode()


# An end of a line within base64 whose printer wrapped it, at 64 or 76 columns, perhaps indented.
WRAPPED_BASE64 = r"[A-Za-z0-9+/]{60}((?:\r?\n|(?:\\+r)?\\+n)[ \t]*)"


def shown_in(text: bytes, known: KnownValues) -> Iterator[Span]:
    """The spans of known values, also in wrapped base64."""
    if not known.forms:  # nearly always
        return
    yield from known.spans(text)
    if changes := [(*end.span(1), b"") for end in expression(WRAPPED_BASE64).finditer(text)]:
        plain = merged([*known.spans(splice(text, changes))])
        yield from carried_back(plain, *sources(text, changes))


def first_look(hints: Iterable[str]) -> Any:
    """An expression whose match ends where a text may hold a secret. Where it begins is not asked
    for: that would be looked for backwards, which takes some twenty times as long, since a token's
    end tells so little about its kind."""
    within = {rule.hint() for rule in RULES if rule.edge() and rule.parts()[0] in ("", AHEAD)}
    sources = any_of({*hints} - within), WORD_BEGIN + any_of(within.intersection(hints))
    return expression(f"(?s:.*?)(?:{'|'.join(sources)})")


def place_of_end(pattern: Any, text: bytes, begin: int, stop: int) -> int | None:
    match = pattern.match(text, begin, stop)
    return match.end() - 1 if match else None


def place_of(pattern: Any, text: bytes, begin: int, stop: int) -> int | None:
    match = pattern.search(text, begin, stop)
    return match.start() if match else None


class Scanner:
    """Finds the secrets in a text, which is UTF-8 (lone surrogates as if they were characters).

    ``known`` are values by name, ``patterns`` the user's RE2 expressions by name. Everything else
    is derived from the tables. Raises ImportError without RE2, ValueError for a pattern that it
    refuses.
    """

    unused = 0  # values too short, or too plain, to search for

    def __init__(self, known: dict[str, list[str]], patterns: dict[str, str]) -> None:
        import re2  # noqa: F401 (without it nothing can be found)

        values = [(name, value) for name, stated in known.items() for value in stated]
        self.known = KnownValues({form: name for name, text in values for form in spellings(text)})
        self.copies: Learnt | None = None  # of the run whose events are being redacted
        self.found = functools.lru_cache(MOST_RECENT)(self.find_spans)
        self.patterns = {name: user_expression(name, text) for name, text in patterns.items()}
        starts = {re.escape(form[:TELLTALE]).decode("latin-1") for form in self.known.forms}
        self.finders: list[Finder] = [functools.partial(rule_spans, rule) for rule in RULES]
        self.finders += [private_keys]
        self.hints = [*(rule.hint() for rule in RULES), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"]
        hints = [*self.hints, *starts]
        # What begins with a word is looked for apart from what begins with a sign or any letter: an
        # automaton for both would have three times as many states as both of them. In a raw line an
        # escape may hide any character except blanks, quotes and backslashes; a user's pattern may
        # match any character that an escape hides.
        escape = r"[^\\](?:\\\\)*\\(?:[/bf]|u00(?:0[9a-dA-D]|[2-7]))"
        words = [*filter(BEGINS_WITH_WORD.match, hints)]
        tell = [KIND_SECRET, INSERTED_SIGN, *(hint for hint, _ in OVER_LINES)]
        others = [escape, CODE_BEGIN, *({*hints} - {*words})]
        self.first_looks = [first_look([*words, *tell]), first_look(others)]
        # The signs of other readings are found at the first look.
        signs = expression(any_of(reading.sign for reading in READINGS[2:]))
        self.signs: Look = functools.partial(place_of, signs)
        # Rules over several lines look for themselves: the first look proves none.
        self.over_lines: list[Finder] = [kubernetes_secrets, columns, sql_secrets]
        self.over_lines += [functools.partial(rule_spans, rule) for _, rule in OVER_LINES]
        # A raw line does not show where a string begins and ends.
        self.has_anchors = any(ANCHOR.search(text) for text in patterns.values())

    @functools.cached_property
    def marker(self) -> re.Pattern[bytes]:
        names = {rule.name for rule in RULES} | {"authorization", "assignment", "overlong"}
        names |= self.patterns.keys() | set(self.known.forms.values())
        escaped = b"|".join(re.escape(name.encode()) for name in names)
        return re.compile(rb"\[REDACTED:(?:" + escaped + rb")\]")

    @functools.cached_property
    def looks(self) -> list[Look]:
        """All first looks at a block: a place in the first text that may hold a secret."""
        patterns = [*self.patterns.values(), *([expression(r"\\")] if self.patterns else [])]
        patterns += [expression(WRAPPED_BASE64)] if self.known.forms else []
        looks: list[Look] = [functools.partial(place_of_end, look) for look in self.first_looks]
        return [*looks, next_assigned, *(functools.partial(place_of, each) for each in patterns)]

    def suspects(self, texts: list[bytes]) -> set[int]:
        """The numbers of the texts that may hold secrets. One search looks at all texts together:
        the expressions must not be anchored, and a match may belong to the next text."""
        block = SEAM.join(texts)

        @functools.cache
        def ends() -> list[int]:  # where each text ends, with what follows; nearly never needed
            return [*itertools.accumulate(len(text) + len(SEAM) for text in texts)]

        def numbers(look: Look, begin: int, stop: int) -> Iterator[int]:
            while begin < stop and (place := look(block, begin, stop)) is not None:
                yield (number := bisect.bisect_right(ends(), place + 1))  # a seam's end: the next's
                begin = ends()[number] - 1

        looks = itertools.product(self.looks, self.stretches(block))
        suspects = {number for look, part in looks for number in numbers(look, *part)}
        for number in {*numbers(self.signs, 0, len(block))} - suspects:
            text = splice(texts[number], plain_reading(texts[number]))
            if any(look(text, 0, len(text)) is not None for look in self.looks):
                suspects.add(number)
        return suspects

    def stretches(self, text: bytes) -> list[tuple[int, int]]:
        """The spans of a text that may hold secrets: all but the middles of long strings of base64,
        such as images, in which a token would be chance; known values may be in them, too."""
        stretches, done, examined, at = list[tuple[int, int]](), 0, 0, 0
        size = sys.maxsize if self.known.forms or self.patterns else LONG_STRING // 2
        while (at := at + size) < len(text):
            if LIKE_BASE64.match(text, at):
                before = [text.rfind(quote, examined, at) for quote in (b'"', b",")]
                start = max(*before, examined - 1) + 1
                at = examined = text.find(b'"', at) % (len(text) + 1)  # or its end
                string = text[start:examined].rstrip(b"=\\")
                if len(string) >= LONG_STRING and not string.translate(None, BASE64):
                    stretches.append((done, start + NEAR))
                    done = examined
        return [*stretches, (done, len(text))]

    @functools.cached_property
    def which(self) -> Any:  # much slower; a stream without secrets does not need it
        return expression_set(self.hints)

    @functools.cached_property
    def beginnings(self) -> Any:
        return expression_set(rule.beginning() for rule in RULES)

    def spans(self, text: bytes, *, whole: bool = True) -> list[Span]:
        """The spans of secrets in order; overlapping ones are merged.

        Finds in the text and in its plain reading are merged. Unless ``whole``, the text is words
        that come line by line. A text is searched some times in a row: as a line, and as events.
        """
        return self.found(text, whole, self.copies, len(self.copies.forms if self.copies else ()))

    def find_spans(self, text: bytes, whole: bool, *_known: object) -> list[Span]:
        text = self.masked(text)
        changes = plain_reading(text)
        if not changes:
            return self.search(text, whole)
        found = self.search(splice(text, changes), whole)
        return merged([*carried_back(found, *sources(text, changes)), *self.given(text)])

    def given(self, text: bytes) -> list[Span]:
        """The spans of what the user names: known values, and matches of patterns."""
        found = [span for name in self.patterns for span in self.matches(name, text)]
        return [*shown_in(text, self.known), *found]

    def search(self, text: bytes, whole: bool) -> list[Span]:
        """The spans of secrets in a text as it stands, and of what these make known."""
        skipped = [(a, b) for (_, a), (b, _) in itertools.pairwise(self.stretches(text))]
        bare = splice(text, [(begin, end, b"B" * (end - begin)) for begin, end in skipped])
        seen = any(look.match(bare) for look in self.first_looks)
        numbers = sorted(self.which.Match(bare) or ()) if seen else ()
        finders = [self.finders[number] for number in numbers] + self.over_lines * whole
        spans, assigned = list[Span](), [*self.assigned(bare)]
        for _ in range(ROUNDS):
            found = merged(span for finder in finders for span in finder(bare))
            if not found:
                break
            spans += found
            bare = mask(bare, found)
        spans = merged(spans + assigned)
        if self.copies is not None:
            spans += [*shown_in(text, self.copies), *self.copies.taught(text, spans, whole=whole)]
        return merged(spans + self.given(text))

    def matches(self, name: str, text: bytes) -> Iterator[Span]:
        """Match a user's pattern line by line, as in deltas, and outside markers."""
        pattern = self.patterns[name]
        for line in UNMARKED_LINE.finditer(text):
            for match in pattern.finditer(line[0]):
                first, last = match.span(1 if pattern.groups else 0)
                if first < last:
                    yield line.start() + first, line.start() + last, name

    def masked(self, text: bytes) -> bytes:
        """A text with its markers made unrecognizable; positions stay."""
        if b"[REDACTED:" not in text:
            return text
        return self.marker.sub(lambda match: MASK * len(match[0]), text)

    def settled(self, text: bytes) -> int:
        """How much of some lines is final: no name awaits its value on a later line, no key its
        body, no known value its rest. Only the last names wait: each delta looks at them again."""
        for number in itertools.count():
            begin = text.rfind(b"-----BEGIN ", max(0, len(text) - NEAR))
            key = PEM_BEGIN.match(text, begin) if begin >= 0 else None
            is_open = key and not PEM_BODY.match(text, key.end())
            end = text.rfind(b"\n", 0, begin if is_open else len(text.rstrip())) + 1
            line = CODES.sub(b"", text[end:])
            is_due = number < MOST_WAITING and expression(UNFINISHED).search(line)
            if not (is_open or is_due or text.endswith(self.known.heads)):
                break
            text = text[:end]
        return len(text)

    def is_cut(self, text: bytes) -> bool:
        """Is a text cut off within a known value, or the first line of a private key?"""
        return text.endswith(self.known.heads) or KEY_BEGUN.search(text) is not None

    def assigned(self, text: bytes) -> Iterator[Span]:
        """The spans of values assigned to secret names, without the full stop of their sentence. A
        rejected value consumes nothing."""
        position = 0
        while name := next_name(text, position, len(text)):
            span = assigned_value(text, *name)
            position = span[1] if span else name[1]
            if span:
                begin, end, what = span
                stop = text[end - 1 : end + 1].strip() == b"."
                yield begin, end - stop, what

    def conceal(self, text: str) -> str:
        """A text with markers for secrets."""
        data = to_utf8(text)
        return from_utf8(splice(data, markers_for(self.spans(data))))

    def begun(self, text: bytes) -> list[Span]:
        """Spans at the end of a cut-off text that may be the beginning of a secret."""
        text = self.masked(text)
        tail = text[-CONCEALED:]
        begin = len(text) - len(tail)
        starts = [
            (begin + match.start(1), RULES[number].name)
            for number in sorted(self.beginnings.Match(tail) or ())
            if (match := expression(RULES[number].beginning()).search(tail)) and match.group(1)
        ]
        spans = [(start, len(text), name) for start, name in starts]
        values = filter(None, (self.known, self.copies))
        return spans + [span for known in values for span in known.begun(text)]


# Rules whose values are secrets only by what stands before them.
TOLD = frozenset(
    "assignment authorization bearer-token command-password cookie login-password url-password "
    "url-user".split()
)
MIXTURE = regex(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?=.*[!#$%&*+,;=?@^~])\S*")  # no word's
LEAST_COPY = 8  # characters of a value whose copies are hidden


def is_worth_knowing(value: str) -> bool:
    """Is a value that was hidden no ordinary word, which may stand elsewhere by chance?"""
    if len(value) < LEAST_COPY or not is_usable(value):
        return False
    return MIXTURE.fullmatch(value) is not None or greatest_odds(value) >= REACHED[HUMAN]


class Learnt(KnownValues):
    """Values hidden for what stood before them, and then wherever they recur: one run's, or without
    ``of_all`` the last of all runs, for what is printed outside of events."""

    def __init__(self, of_all: Learnt | None = None) -> None:
        super().__init__({})
        self.of_all = of_all
        self.size = 0  # bytes of all forms

    def add(self, forms: dict[bytes, str]) -> None:
        self.forms |= forms
        self.size += sum(map(len, forms))
        self.__dict__.pop("pattern", None)
        while not self.of_all and self.size > 16 * MAX_LEARNT:
            oldest = next(iter(self.forms))
            del self.forms[oldest]
            self.size -= len(oldest)

    def learn(self, value: str, name: str = "assignment") -> dict[bytes, str]:
        """Know a value from now on, unless its run has shown too many: its forms, if it is new."""
        is_known = to_utf8(value) in self.forms or (self.of_all and self.size > MAX_LEARNT)
        if is_known or not is_worth_knowing(value):
            return {}
        forms = dict.fromkeys(spellings(value), name)
        for values in filter(None, (self, self.of_all)):
            values.add({form: name for form in forms if form not in values.forms})
        return forms

    def taught(self, text: bytes, spans: Iterable[Span], *, whole: bool = True) -> Iterator[Span]:
        """Copies of the values just found. In words, which come line by line, earlier lines stay as
        they are."""
        for begin, end, name in (span for span in spans if span[2] in TOLD):
            value = text[begin:end].decode("utf-8", "replace")
            for each in (value, *OF_LOGIN.findall(value)):
                copies = shown_in(text, KnownValues(self.learn(each, name)))
                since = 0 if whole else text.rfind(b"\n", 0, begin) + 1
                yield from (copy for copy in copies if copy[0] >= since)

    def holds(self, line: bytes) -> bool:
        """Does a raw line, or any text, hold a copy of one of these values?"""
        if not self.forms:  # nearly always
            return False
        text = line.replace(rb"\\", b"\\")
        plain = splice(text, plain_reading(text))
        texts = [line] if plain == line else [line, plain]
        return any(next(shown_in(text, self), None) for text in texts)

    def hidden_in(self, text: str) -> str:
        """A text without these values, or their beginnings where it is cut off."""
        if not self.forms:  # nearly always
            return text
        data = to_utf8(text)
        spans = [*self.spans(data)]
        for cut in CUT.finditer(data):
            spans += self.begun(data[: cut.start()])
        return from_utf8(splice(data, markers_for(merged(spans))))


CUT = regex(rb"\.\.\.|\xe2\x80\xa6|\Z")  # where a text may be cut off
MAX_LEARNT = 16 * 1024  # bytes of their forms in a run: each makes what is searched for larger


def any_of(expressions: Iterable[str]) -> str:
    return f"(?:{'|'.join(f'(?:{text})' for text in sorted(expressions))})"


ANCHOR = regex(r"(?<!\[)\^|\$|\\[AzZ]")


def expression_set(expressions: Iterable[str], *, anchored: bool = False) -> Any:
    """An RE2 set: its Match() gives the numbers of the expressions that match a text."""
    import re2

    pattern_set = (re2.Set.MatchSet if anchored else re2.Set.SearchSet)(options())
    for text in expressions:
        pattern_set.Add(text.encode("latin-1"))
    pattern_set.Compile()
    return pattern_set


def user_expression(name: str, text: str) -> Any:
    import re2

    try:
        pattern = expression(text, latin=False)
    except re2.error as error:
        why = error.args[0] if error.args else b"refused by RE2"
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else why
        raise ValueError(f"{name}: {why}") from None
    if pattern.search(b""):
        raise ValueError(f"{name}: matches the empty string")
    return pattern


@functools.cache
def rule_pattern(rule: Rule) -> Any:
    return expression(rule.expression())


def rule_spans(rule: Rule, text: bytes) -> Iterator[Span]:
    for match in rule_pattern(rule).finditer(text):
        first, last = match.span(1)
        if rule.name == "command-password":
            opening, limit = OPENING.search(text, match.start(), first), last + NEAR
            end = quote_end(text, first, opening[0], limit) if opening else len(text)
            is_closed = opening and text.startswith(opening[0], end)
            last = end if is_closed else end_of_word(text, first, last, limit)
        shown = text[first:last][:NEAR].decode("utf-8", "replace")
        if not is_plain_token(rule, shown):
            yield first, last, rule.name


@functools.cache
def forms_of_values() -> Any:
    """The numbers of the forms that a text behind a name begins with."""
    return expression_set((form.between for form in FORMS), anchored=True)


# Before a variable, by form; IMAP writes AUTH=PLAIN.
SETS = {
    "set": regex(rb"(?i)\bset(?:x|env|[ \t]+-\w*x\w*)[ \t]+\Z"),
    "set in Windows": regex(rb"(?i)(?:\$env:|\bSetEnvironmentVariable\(\\*[\"'])\Z"),
}
IN_A_SHELL = regex(rb"(?:(?<![^\s\0;&|(\"'`+=])|(?<=\\[nrt]))(?!AUTH=)")


judged = functools.lru_cache(4096)(is_plain)  # of the same value again and again


def assigned_value(text: bytes, begin: int, end: int, name: str) -> Span | None:
    """The span of the value behind a name, in the first form with a value that is not plain."""
    if text[begin - 2 : begin] == b"::" or REFERS.match(text, begin - 1):
        return None
    if text[begin - 1 : begin] in (b"/", b"+") and IN_BASE64.match(text, max(0, begin - 24)):
        return None
    # A test's, unless a random value follows.
    verdict = text[begin : end + 1] == b"PASS:"
    needed = RANDOM if verdict else needed_by(name)
    for number in sorted(forms_of_values().Match(text[end : end + 2 * NEAR]) or ()):
        form = FORMS[number]
        if not SUITS.get(form.name, bool)(name):
            continue
        sets = SETS.get(form.name)
        if sets and not sets.search(text, max(0, begin - 32), begin):
            continue
        between = expression(form.between).match(text, end, end + 2 * NEAR)
        if not between:
            continue
        if form.name == "table" and text[begin - 1 : begin] in (b"$", b"{"):  # into a pipe
            continue
        value = value_of(text, end, between.end(), form.value, between.end() + NEAR)
        if not value:
            continue
        start, stop, quoted = value
        # After a quoted name come words, in a document, or a name, in code.
        doubts = {b"`": MIXED, b'"': HUMAN, b"'": HUMAN}
        least = max(form.least, WORD, 0 if quoted else doubts.get(text[end : end + 1], 0))
        # A shell, or a file of its variables, assigns a literal.
        in_shell = sets or IN_A_SHELL.match(text, begin)
        literal = form.least == ANY and needed < RANDOM and in_shell
        whole = stop if quoted else end_of_word(text, start, stop, stop + NEAR)
        for shown in sorted({text[start:whole], text[start:stop]}, key=len):
            strengths = (ANY, ANY) if literal and b" " not in shown else (least, needed)
            said = shown.replace(MASK, b"").decode("utf-8", "replace")
            if not judged(name, said, *strengths, quoted=quoted):
                value = value_of(text, end, between.end(), form.value, len(text)) or value
                last = max(value[1], whole)
                return value[0], last, form.name if form.name == "authorization" else "assignment"
    return None


def merged(spans: Iterable[Span]) -> list[Span]:
    """Merge overlapping spans under the name of the first; adjacent ones stay apart."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not result or span[0] >= result[-1][1]:
            result.append(span)
        elif span[1] > result[-1][1]:
            result[-1] = result[-1][0], span[1], result[-1][2]
    return result


def markers_for(spans: Iterable[Span]) -> list[Change]:
    """The markers for spans; "" for the rest of a private key."""
    return [(max(start, 0), end, marker(name) if name else b"") for start, end, name in spans]


def marker(name: str) -> bytes:
    return f"[REDACTED:{name}]".encode()


# ---------------------------------------------------------------- structure
#
# Which strings of an event are structure, and the class of all others.
# The path of a member in, a class out, by one table; unknown members are content.

WORDS = frozenset(
    "system init user assistant thinking tool_call interaction_query connection retry result "
    "turn_ended error delta completed started request response reconnecting reconnected starting "
    "success task_notification warning blocked text env flag login default plan ask force none "
    "askQuestionInteractionQuery webFetchRequestQuery webSearchRequestQuery content "
    "files_with_matches count TIMEOUT_BEHAVIOR_BACKGROUND TIMEOUT_BEHAVIOR_CANCEL "
    "TODO_STATUS_PENDING TODO_STATUS_IN_PROGRESS TODO_STATUS_COMPLETED TODO_STATUS_CANCELLED "
    "SIGHUP SIGINT SIGKILL SIGTERM SIGSEGV SIGABRT SIGPIPE".split()
) | frozenset((IN_THE_MIDDLE, *TRANSLATORS, *FAILURE_WORDS))
# Kinds of structure, each with its check. Other kinds in the tables are classes.
STRUCTURE: dict[str, Callable[[str], object]] = {
    "word": WORDS.__contains__,
    "name": re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}").fullmatch,
    "reference": re.compile(r"[!-~][!-~\n]{0,199}(?: [0-9]+)?").fullmatch,
    "id": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:\n-]{0,199}").fullmatch,
    "model": re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._()/:\[\]-]{0,63}").fullmatch,
    "digits": re.compile(r"-?[0-9]{1,20}").fullmatch,
}
CLASSES = ("secrets", "paths", "content", "all")  # what only "all" hides has that class


def members(table: str, **others: Any) -> dict[str, Any]:
    """What members hold, by their names: a kind stands before its names; others have a table."""
    kinds, kind = dict[str, Any](), ""
    for word in table.split():
        if word.endswith(":"):
            kind = word[:-1]
        else:
            kinds[word] = kind
    return kinds | others


COMMAND = members("all: name fullText type value operator destination")
PARSED = members(
    "digits: parsingFailed hasRedirects hasCommandSubstitution",
    executableCommands=COMMAND | {"args": COMMAND}, redirects=COMMAND,
)  # fmt: skip
QUESTION = members("all: id prompt label digits: allowMultiple")

# The members of arguments and results of all tools.
FIELDS = members(
    """
    paths: path filePath paths workingDirectory targetDirectory targetDirectories ignore
        globPattern glob file files deletedFile url relatedCursorRulePaths absPath
    all: command simpleCommands description prompt title question plan
    id: toolCallId conversationId agentId taskId asyncOriginalToolCallId id
    word: timeoutBehavior outputMode signal type
    model: model
    digits: timeout timeoutMs hardTimeout offset limit exitCode executionTime localExecutionTimeMs
        totalLines totalChars fileSize isEmpty exceededLimit startLine endLine linesAdded
        linesRemoved linesCreated totalFiles totalMatches totalMatchedLines totalDiagnostics
        totalCount durationMs isError isBackground isReadonly skipApproval closeStdin merge
        hasInputRedirect hasOutputRedirect fileOutputThresholdBytes runAsync caseInsensitive
        multiline headLimit lineNumber
    content: content contents stdout stderr interleavedOutput streamContent fileText diffString
        beforeFullFileContent afterFullFileContent message error errorMessage reason markdown
        chunk references results codeResults explanation query pattern searchTerm strReplace
        multiStrReplace applyPatch prevContent directoryTreeRoot fileDiagnostics args arguments
        relatedCursorRules conversationSteps subagentType name toolName providerIdentifier
        serverIdentifier answers workspaceResults server text old_string new_string patch
    """,
    parsingResult=PARSED,
    readRange=members("digits: startLine endLine"),
    todos=members("content: content word: status id: id"),
    questions=QUESTION | {"options": QUESTION},
)
VARIANT = dict.fromkeys(VARIANTS, FIELDS) | members("digits: isBackground")
SERVER = members("name: name toolName providerIdentifier serverIdentifier server")
OPAQUE = {"args": FIELDS | SERVER | {"args": "content"}, "result": VARIANT | {"success": FIELDS}}

QUERIES = [name for name in WORDS if name.endswith("Query")]
QUERY = members("id: toolCallId digits: skipApproval", args=FIELDS)
RESPONSE = VARIANT | {"approved": FIELDS, "result": VARIANT}

CALLED = "ToolCall"  # ends the name of each member that is a call, whatever its tool
COUNTS: dict[str, Any] = {}  # of tokens, by names that agents choose
COUNTS[""] = COUNTS
SHAPE = members(
    """
    word: apiKeySource permissionMode query_type status converted_from failure
    name: type subtype tools
    reference: session_id unnamed_session call_id model_call_id request_id parent_tool_use_id
    model: model models
    digits: timestamp_ms duration_ms duration_api_ms is_error attempt is_resume total_cost_usd
        num_turns
    paths: cwd endpoint_url
    all: text result
    content: error errors mcp_servers
    """,
    usage=COUNTS,
    message=members("word: role", content=members("word: type spoken: text")),
    tool_call=members(
        "reference: toolCallId digits: startedAtMs completedAtMs all: description "
        "content: hookAdditionalContexts name: name",
        mcpToolCall=OPAQUE,
        function=members("name: name content: arguments", result=VARIANT),
        **{CALLED: members("all: description", args=FIELDS, result=VARIANT)},
    ),
    query=members("id: id toolCallId") | dict.fromkeys(QUERIES, QUERY),
    response=members("id: id") | {name.replace("Query", "Response"): RESPONSE for name in QUERIES},
)


@functools.lru_cache(maxsize=4096)
def class_of(path: tuple[str, ...], *, is_key: bool = False) -> str:
    """The class or structure kind at a path: "" for a known member name, content if unknown."""
    node: Any = SHAPE
    for key in path[:-1] if is_key else path:
        if isinstance(node, str):
            return node if node in CLASSES else "content"
        node = node.get(key) or node.get(CALLED * key.endswith(CALLED)) or "content"
    if is_key and isinstance(node, dict):
        return "" if path[-1] in node else "name" if "" in node else "content"
    if is_key:
        return node if node in CLASSES else "content"
    spoken = "spoken" if path == ("message", "content") else "content"
    return node if isinstance(node, str) else spoken


# Names of members that say which session, call, message or the like is meant, in lower case without
# underscores; but what calls take and return may have members of the same names.
IDENTITY = regex(
    "(?:agent|async|call|conversation|event|interaction|item|leaf|message|model|original|parent"
    "|part|prompt|request|response|run|session|step|task|thread|tool|turn|use){0,6}(?:uu)?id"
)
GIVEN = frozenset(
    "args arguments details input metadata output parameters params partialResult result state "
    "structured_content structured_output structured_result tool_input tool_use_result "
    "toolTelemetry toolUseResult value".split()
)


@functools.lru_cache(maxsize=4096)
def is_identity(path: tuple[str, ...]) -> bool:
    """Does a member of any agent's line say which session, call or message is meant?"""
    given = path.count("content") > 1 or not GIVEN.isdisjoint(path)
    name = path[-1].replace("_", "").lower() if path else ""
    return not given and IDENTITY.fullmatch(name) is not None


# ---------------------------------------------------------------- redacted events
#
# Markers in place of strings of one event, by what its run has shown so far.
# An event in, its changed line out. It must not know the order of events.

# Markers: a text hidden by class; any marker.
WORDS_MARKER = "[words]"
_CLASS = r"(paths|content|words)(?:: [0-9]+ chars)?"
STAND_IN = regex(rf"(?:{CREATED})?\[{_CLASS}\](?: [0-9]+)?")
ANY_MARKER = regex(rf"\[(?:REDACTED:([\w.:-]+)|{_CLASS})\]")
FLAG = regex(r"--?[A-Za-z][\w-]*")
# Here-documents: from the line behind the last that a line announces, to its end if there is one.
COMMAND_PLACES = (("command",), ("simpleCommands",), ("fullText",))
DOCUMENT = regex(
    r"(?s)(?P<head>(?<![^\n])[^\n]*(?<!<)<<-?[ \t]*[\"'\\]?(?P<end>[A-Za-z_]\w*)[^\n]*\n)"
    r"(?P<body>.+?)(?=\n[ \t]*(?P=end)[ \t)\"']*(?:\n|\Z)|\Z)"
)


# Documents in arguments: a here-string, code for an interpreter, text that echo puts in a file.
_WORD = r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"|;&<>])"""
ARGUMENT = regex(
    r"(?s)(?P<head><<<[ \t]*|\b(?:bash|node|perl|php|python[0-9.]*|ruby|z?sh)(?:[ \t]+-[\w-]+)*?"
    rf"[ \t]+-\w*[ce][ \t]+)(?P<body>(?!\[content: ){_WORD}+)"
    rf"|(?P<echo>\b(?:echo|printf)[ \t]+)(?P<said>(?:{_WORD}|[ \t])*)(?P<to>>>?(?!&))?"
)


NAME_ALONE = regex(r"(?<![^\n])([^\n]*[:=][ \t\"']*)[-\\|>]*\s*\Z")  # prose, YAML, shell


class EventRedactor:
    """Redacts strings of an event, and no other byte of it; and texts printed outside events."""

    def __init__(
        self,
        scanner: Scanner | None,
        classes: frozenset[str],
        homes: list[str],
        find_scanner: Callable[[], Scanner | None] = lambda: None,
    ) -> None:
        """``find_scanner`` makes one for texts outside of events, which hide secrets whatever the
        classes; without a scanner they aren't shown."""
        self.scanner = scanner
        self.find_scanner = (lambda: scanner) if scanner else find_scanner
        self.classes = classes - {"secrets"}  # these are the scanner's
        self.strict = bool(self.classes - {"paths"})  # strings are redacted by class
        self.homes = homes
        self.learnt = Learnt()  # by all runs, for what is printed outside of events
        self.catch_up: Callable[[], object] = lambda: None  # redact what came before
        # Identity -> its replacement; redacted text -> how many identities became it.
        self.renamed: dict[str, str] = {}
        self.repeated: dict[str, int] = {}

    def redact_event(self, event: Event, cwd: str | None, words: str | None) -> bytes:
        """The redacted line of an event; ``words``: its words as they are shown, in the first of
        the strings that hold them. None: these are redacted like any other string."""
        raw = event.raw.strip()
        strings = [*find_strings(raw)]
        places = event.original.places if event.original else SPOKEN_PLACES
        spoken = [string for string in strings if string.path in places and not string.is_key]
        decided: dict[int, str] = {}
        if words == "".join(string.text for string in spoken):
            decided = {string.start: string.text for string in spoken}
        elif words is not None and words != words_of(event):  # else there is a duplicate member
            decided = {string.start: words * (string is spoken[0]) for string in spoken}
        rest = [string for string in strings if string.start not in decided]
        assigned = secret_members(rest) if self.scanner else set[int]()
        suspects = self.suspects([to_utf8(string.text) for string in rest])
        doubtful = {*assigned, *(rest[number].start for number in suspects)}
        copies = self.scanner.copies if self.scanner else None
        has_copies = copies is not None and copies.holds(raw)
        names: dict[tuple[int, str], int] = {}  # equal markers of names in one object
        hidden = event.hidden = collections.Counter[str]()

        def change(string: StringLiteral) -> str:
            if string.start in decided:
                hidden.update(new_markers(decided[string.start], string.text))
                return decided[string.start]
            if not (has_copies or string.start in doubtful):
                return string.text
            new = self.redact_string(string, event.type, cwd, whole=string.start in assigned)
            if new != string.text:
                hidden.update(new_markers(new, string.text))
                if is_identity(string.path) and not string.is_key:
                    return self.numbered(string.text, new)
                number = names[string.holder, new] = (
                    names.get((string.holder, new), 0) + string.is_key
                )
                new += f" {number}" * (number > 1 and string.is_key)
            return new

        return edit_strings(raw, strings, change)

    def suspects(self, texts: list[bytes]) -> Iterable[int]:
        """The numbers of the texts that may have to change; see ``Scanner.suspects``."""
        if self.classes or not self.scanner or self.scanner.has_anchors:
            return range(len(texts))
        return self.scanner.suspects(texts)

    def redact_string(
        self, string: StringLiteral, kind: str | None, cwd: str | None, *, whole: bool
    ) -> str:
        if string.is_key and string.path[:-1] == ("tool_call",) and string.text.endswith(CALLED):
            tool = string._replace(
                text=string.text.removesuffix(CALLED), path=("tool_call", "name"), is_key=False
            )
            return self.redact_string(tool, kind, cwd, whole=False) + CALLED
        stand_in = self.marker_for(string, kind) if self.strict and string.text else None
        if stand_in is not None:
            return stand_in
        data = to_utf8(string.text)
        if is_identity(string.path) and not string.is_key and STRUCTURE["reference"](string.text):
            # Only the user's own secrets: an identity that looks like a token is none.
            own = self.scanner.given(self.scanner.masked(data)) if self.scanner else []
            return from_utf8(splice(data, markers_for(merged(own))))
        if whole and self.scanner and not self.scanner.marker.fullmatch(data):
            if self.scanner.copies:
                self.scanner.copies.learn(string.text)
            return "[REDACTED:assignment]"
        spans = self.scanner.spans(data) if self.scanner else []
        return self.shown(data, spans, cwd, string.path)

    def shown(
        self, text: bytes, secrets: Iterable[Span], cwd: str | None, path: tuple[str, ...]
    ) -> str:
        """A text without its secrets and paths; a command also without the documents in it, which
        are content."""
        left = from_utf8(splice(text, self.with_paths(text, cwd, markers_for(secrets))))
        if not self.strict or path[-1:] not in COMMAND_PLACES:
            return left
        left = DOCUMENT.sub(lambda found: found["head"] + sized("content", found["body"]), left)
        return ARGUMENT.sub(without_argument, left)

    def text(self, text: str, member: str, *, cwd: str = "", begun: Sequence[Span] = ()) -> str:
        """A text that is printed outside of events, redacted like this member of one; a long one is
        cut. ``cwd``: its run's directory; ``begun``: spans of secrets cut off by its end."""
        string = literal_of(text, member)
        stand_in = self.marker_for(string, None) if self.strict and text else None
        if stand_in is not None:
            return stand_in
        scanner = self.find_scanner() if text else None
        if scanner is None:
            return ""
        self.catch_up()
        data = to_utf8(text[:CONCEALED])
        scanner.copies = self.learnt
        spans = [*scanner.spans(data), *begun]
        spans += scanner.begun(data) if len(text) >= CONCEALED else []
        scanner.copies = None
        return self.shown(data, merged(spans), self.directory(cwd) if cwd else None, string.path)

    def without_copies(self, text: bytes) -> bytes:
        """A document without the values that have become known since its texts were redacted."""
        spans = merged([*shown_in(text, self.learnt)]) if self.scanner else []
        return splice(text, markers_for(spans))

    def renew(self, event: Event | None) -> None:
        """Hide in an event, if any, what has become known since it was redacted."""
        if not (event and self.learnt.forms):
            return
        raw = event.raw or encode_json(details(event))
        if (shown := self.without_copies(raw)) != raw:
            event.raw, event.decoded = shown, None

    def prose(self, line: str, due: str) -> tuple[str, str]:
        """Redact a line that is no event. Returns also what the next line may go on with, which is
        its ``due``: a private key, a known value, or a name whose value is to come. The line may
        be cut off within a known value."""
        if self.strict or not line.strip():
            return f"[content: {len(line.strip())} chars]" * bool(line.strip()), due
        text, scanner = line[: 4 * CONCEALED], self.find_scanner()
        self.catch_up()
        data = to_utf8(due + text)
        inside = due == OPEN_KEY
        began = "" if inside else self.text(due, "prose")
        values = [*scanner.known.begun(data), *self.learnt.begun(data)] if scanner else []
        shown = self.text(due + text, "prose", begun=values).removeprefix(began)
        if ends_inside_key(to_utf8(text), inside=inside):
            return shown, OPEN_KEY
        name = NAME_ALONE.search(from_utf8(CODES.sub(b"", to_utf8(text[-EXCERPT:]))))
        if values:
            return shown, from_utf8(data[min(values)[0] :])[-CONCEALED:] + "\n"
        return shown, name[1] if name else ""

    def identity(self, identity: str) -> str:
        """A session's ID as it is printed anywhere."""
        new = self.redact_string(literal_of(identity, "session_id"), None, None, whole=False)
        return identity if new == identity else self.numbered(identity, new)

    def directory(self, cwd: str) -> str | None:
        """A run's directory as it is looked for: it has two or more components and no secret."""
        cwd = self.scanner.conceal(cwd) if self.scanner else cwd
        parts = [part for part in re.split(r"[/\\]", cwd) if part]
        return cwd.rstrip("/\\") if len(parts) > 1 and "[REDACTED:" not in cwd else None

    def numbered(self, identity: str, new: str) -> str:
        """What replaces an identity: ``new``, numbered from the second on."""
        if identity not in self.renamed:
            number = self.repeated[new] = self.repeated.get(new, 0) + 1
            name = f"{new} {number}" if number > 1 else new
            remember(self.renamed, identity, name, MAX_RUNS)
        return self.renamed[identity]

    def with_paths(self, text: bytes, cwd: str | None, changes: list[Change]) -> list[Change]:
        """Add the changes of paths that don't overlap with others: home directories become ~ and
        the run's cwd a dot; whole components only."""
        if "paths" not in self.classes or not any(sign in text for sign in PATH_SIGNS):
            return changes
        found = home_pattern(tuple(self.homes), cwd).finditer(mask(text, changes))
        paths = ((*path.span(), b"." if path.lastgroup else b"~") for path in found)
        return sorted([*changes, *paths])

    def marker_for(self, string: StringLiteral, kind: str | None) -> str | None:
        """The marker that replaces a whole string because of its class; None: the string stays."""
        named, text = class_of(string.path, is_key=string.is_key), string.text
        if named == "spoken":
            named = "all" if kind in ("user", "assistant") else "content"
        if named in STRUCTURE:
            if STRUCTURE[named](ANY_MARKER.sub("x", text)):  # valid, so it stays
                return None
            named = "content"
        if named not in self.classes or STAND_IN.fullmatch(text):
            return None
        if named == "all":
            return WORDS_MARKER
        # The diff alone says that an edit created its file.
        head = CREATED if string.path[-1:] == ("diffString",) and CREATED_DIFF.match(text) else ""
        return head + sized(named, text)


def new_markers(new: str, old: str) -> collections.Counter[str]:
    """The markers that a change adds, by rule or class."""
    counts = collections.Counter(match[match.lastindex or 0] for match in ANY_MARKER.finditer(new))
    counts.subtract(match[match.lastindex or 0] for match in ANY_MARKER.finditer(old))
    return counts


def sized(name: str, text: str) -> str:
    """The marker of a text that a class hides; a marker stays as it is."""
    return text if STAND_IN.fullmatch(text) else f"[{name}: {len(text)} chars]"


def without_argument(found: re.Match[str]) -> str:
    """A find of ARGUMENT without its document; unchanged if it writes no file."""
    if found["head"]:
        return found["head"] + sized("content", found["body"])
    said = (found["said"] or "").strip()
    if not found["to"] or not said:
        return found[0]
    return f"{found['echo']}{sized('content', said)} {found['to']}"


def literal_of(text: str, member: str) -> StringLiteral:
    """A text as a member of an event."""
    return StringLiteral(0, 0, text, (member,), False, 0, False)


# Signatures of thoughts: without them no session can go on.
SIGNED = ("content",), ("delta",), ("content_block",)


def secret_members(strings: list[StringLiteral]) -> set[int]:
    """The starts of values whose name is that of a secret.

    Forms: {NAME: VALUE}; {"name": NAME, "value": VALUE}; ["--name", VALUE], also with an object
    for each word.
    """
    starts: set[int] = set()
    named: set[int] = set()  # objects that name a secret in another member
    values: dict[int, int] = {}  # holder -> start of its `value`
    flag = False
    for string in strings:
        if string.is_key or not string.path:
            continue
        key = string.path[-1]
        if key == "signature" and string.path[-2:-1] in SIGNED:
            continue
        name = "token" if flag else key
        if ends_of(name) and not is_plain(name, string.text, 0 if is_secret_name(name) else WORD):
            starts.add(string.start)
        if key in ("name", "key", "variable") and is_secret_name(string.text):
            named.add(string.holder)
        if key == "value":
            values[string.holder] = string.start
        if string.in_array or key == "value":
            flag = FLAG.fullmatch(string.text) is not None and is_secret_name(string.text)
    return starts | {values[holder] for holder in named if holder in values}


@functools.lru_cache(maxsize=256)
def home_pattern(homes: tuple[str, ...], cwd: str | None) -> re.Pattern[bytes]:
    here = {cwd, cwd.removeprefix("/private")} if cwd else ()  # macOS also spells /tmp so
    named = b"|".join(re.escape(to_utf8(path)) for path in here) or NO_MATCH
    encoded = [re.escape(home.encode("utf-8", "surrogateescape")) for home in homes]
    whole = b"|".join([rb"(?P<cwd>%b)" % named, *encoded, ANY_HOME])
    return re.compile(rb"(?<![\w~.-])(?:" + whole + rb")(?![\w-]|\.\w)")


ANY_HOME = (
    rb"/home/\w(?:[\w.-]*\w)?|/Users/\w(?:[\w.-]*\w)?|/root"
    rb"|[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)\w(?:[\w.-]*\w)?"
)
PATH_SIGNS = (b"/", b"\\")


# ---------------------------------------------------------------- redacted words
#
# Words are decided line by line, however events cut them; events wait for their words.
# Events in, the same events out in order, redacted. It must not know writers.

LONG_LINE = 64 * 1024  # characters of words that may wait for the end of their line
MAX_HELD = 64 * 1024 * 1024  # bytes of waiting events in all runs
EVENT_OVERHEAD = 1024  # bytes of memory per event, besides its line


class Passage:
    """The words of one kind between two calls, redacted line by line, however events split them."""

    left = 0  # characters that are not decided
    done = 0  # characters of the first event that are
    changed = False  # is something in these hidden?
    due = False  # a line was completed, or is too long to wait
    closed = cut_off = False
    marker = WORDS_MARKER  # if words are replaced; "" where it stands already
    rest: re.Pattern[bytes] | None = None  # what ends a secret whose beginning is hidden

    def __init__(self) -> None:
        self.events: list[Any] = []  # that wait
        self.texts: list[str] = []  # of these events, but for a last one that may be a replay
        self.shown: list[str] = []  # what the first one shows of what is decided
        self.said = io.StringIO()  # the assistant's deltas: a replay may follow

    def collect(self, *, whole: bool = False) -> None:
        """Take the texts of new events. Unless ``whole``, a last delta that equals all before
        it must wait: it may be a replay, which looks like a delta before a question."""
        texts = [*map(words_of, self.events[len(self.texts) :])]
        if texts and not whole and self.events[0].type == "assistant":
            last = texts[-1]
            self.said.write("".join(texts))
            if self.said.tell() == 2 * len(last) > 0 and self.said.getvalue() == last * 2:
                texts.pop()
                self.said.seek(len(last))
                self.said.truncate()
        text = "".join(texts)
        self.texts += texts
        self.left += len(text)
        self.due = self.due or self.left > LONG_LINE or "\n" in text

    def close(self, end: str | None) -> list[Passage]:
        """End it, by an event of this type; None: the input was cut off, maybe within a secret."""
        self.collect()
        self.closed, self.cut_off = True, end is None
        if end == "interaction_query" and len(self.events) > len(self.texts):
            replay = Passage()
            replay.events.append(self.events.pop())
            return [self, *replay.close("replay")]
        self.collect(whole=True)
        return [self]

    def advance(self, size: int, new: str | None = None) -> None:
        """Decide so many characters, and let go of the events that they complete. ``new`` replaces
        all of them, if some are hidden: in the event in which they begin."""
        self.left -= size
        count = 0
        for event, text in zip(self.events, self.texts, strict=False):
            part = text[self.done : self.done + size]
            self.done += len(part)
            size -= len(part)
            if part and new is not None:
                self.changed, part, new = True, new, ""
            self.shown.append(part)
            if self.done < len(text):
                break
            if self.changed:
                event.redacted = "".join(self.shown)
            self.done, self.changed, self.shown = 0, False, []
            count += 1
        del self.events[:count], self.texts[:count]


class RunWords:
    """Redaction's state of a run: its passages, and its waiting events in order."""

    def __init__(self, copies: Learnt) -> None:
        self.copies = copies
        self.last_s = 0.0  # time of the last event
        self.open: dict[str, Passage] = {}  # by kind and parent
        self.closed: list[Passage] = []  # undecided ones
        self.pending: list[Event] = []
        self.sizes: list[int] = []  # bytes of pending events
        self.cwd: str | None = None
        self.ended = False

    def close(self, *keys: str, end: str | None) -> None:
        for key in keys:
            if key in self.open:
                self.closed += self.open.pop(key).close(end)


def searched_line(event: Any) -> bytes:
    """An event's line, and the one printed for it: a call's end repeats what its start said, which
    the printed one may lack."""
    if event.original is None:
        return cast("bytes", event.raw)
    made = b"" if event.type in SPOKEN_TYPES else event.raw
    return b"\n".join((event.original.raw, made))


def run_of(event: Event) -> Run | None:
    """The run among whose events an event waits: that of its line's last one."""
    run: Run | None = (event.original or event).run
    return run


class Redactor:
    """Redacts events, and returns them in order.

    Most of a stream holds no secret: one search over the lines of a block finds the suspects, and
    another over its words, where a secret may span events. All other events stay unchanged.
    """

    def __init__(
        self, redaction: EventRedactor, event_type: type[Event], max_wait: float = MAX_WAIT
    ) -> None:
        """``max_wait``: seconds of a run's silence after which its words are decided."""
        self.max_wait = max_wait
        self.redaction = redaction
        self.scanner = redaction.scanner
        self.learnt = redaction.learnt
        redaction.catch_up = self.know_all
        self.arrived: list[Event] = []  # of a block that is being read
        self.now = 0.0  # when the last of them were taken
        self.event_type = event_type
        self.replaces_words = "all" in redaction.classes  # words are replaced by markers
        wordy = redaction.classes & {"all", "paths"}
        self.word_types = SPOKEN_TYPES if wordy or self.scanner else frozenset[str]()
        self.runs: dict[Run | None, RunWords] = {}
        self.waiting: dict[Run | None, RunWords] = {}  # those that wait, longest silent first
        self.size = 0  # bytes of waiting events
        self.ready: list[Event] = []

    def redact(self, events: Iterable[Event]) -> list[Event]:
        for event in events:
            self.arrived.append(event)
        self.catch_up()
        self.release_overdue(self.now)
        ready, self.ready = self.ready, []
        return ready

    def catch_up(self) -> None:
        """Take the events that have arrived: what is said of the next one hides what they show."""
        batch: list[Any] = self.arrived
        self.arrived, self.now = [], time.monotonic()
        suspects = self.redaction.suspects([*map(searched_line, batch)])
        for number in suspects:
            batch[number].redacted = words_of(batch[number])
        for event in batch:
            if event.original is not None:
                event.original.run = event.run
        stretch: list[Any] = []
        for event, after in zip(batch, [*batch[1:], None], strict=False):
            stretch.append(event)
            if after is None or self.concerns(event, after):
                run = run_of(event)
                state = self.runs.get(run) or self.runs.setdefault(
                    run, RunWords(Learnt(self.learnt))
                )
                state.last_s = self.now
                state.pending += stretch
                self.take(state, stretch)
                self.settle(run, state)
                stretch = []

    def know_all(self) -> None:
        """Take the events that have arrived, and know the values in words that wait, too."""
        self.catch_up()
        scanner = self.scanner
        if not scanner:
            return
        for state in self.waiting.values():
            texts = ["".join(each.texts)[each.done :] for each in state.open.values()]
            scanner.copies = state.copies
            for number in self.redaction.suspects([*map(to_utf8, texts)]):
                scanner.spans(to_utf8(texts[number]), whole=False)
            scanner.copies = None

    def concerns(self, event: Any, after: Any) -> bool:
        """Must an event be settled before the next: may that repeat a value or directory that this
        shows, or is it another run's? Events of one line stay together."""
        if event.original and event.original is after.original:
            return False
        shows = event.redacted is not None and event.type not in SPOKEN_TYPES
        return shows or "paths" in self.redaction.classes or run_of(event) is not run_of(after)

    def take(self, state: RunWords, stretch: list[Any]) -> None:
        """Take consecutive events of one run."""
        for event in stretch:
            if event.type in self.word_types:
                self.hear(state, event)
            else:
                self.pause(state, event)

    def hear(self, state: RunWords, event: Any) -> None:
        """Take an event with words; one that ends thoughts or repeats all deltas ends a passage."""
        kind, parent = event.type, event.parent_tool_use_id
        key = kind if parent is None else f"{kind} {parent}"
        if kind == "thinking" and event.subtype == "completed":
            state.close(key, end=kind)
        passage = state.open.get(key) or state.open.setdefault(key, Passage())
        if kind == "thinking" or (event.timestamp_ms is not None and event.model_call_id is None):
            passage.events.append(event)
            return
        passage.collect()
        if replay := passage.said.tell():
            state.close(key, end=kind)
            passage = state.open[key] = Passage()
        passage.events.append(event)
        passage.collect(whole=True)
        if replay:
            state.close(key, end=kind)

    def pause(self, state: RunWords, event: Event) -> None:
        """Take an event without words, which may end passages."""
        state.ended = state.ended or (ends_run(event) and event.run is run_of(event))
        if state.ended or event.type in SEGMENT_ENDS or event.kind == INIT:
            state.close(*state.open, end=None if event.kind == IMPLIED else event.type)
        if event.type == "system" and "paths" in self.redaction.classes:
            cwd = first_text(details(event).get("cwd"))
            state.cwd = self.redaction.directory(cwd) or state.cwd

    def settle(self, run: Run | None, state: RunWords, *, overdue: bool = False) -> None:
        """Decide the words of a run so far, and release its events up to one that must wait."""
        if self.scanner:
            self.scanner.copies = state.copies
        passages, state.closed = state.closed, []
        for passage in state.open.values():
            passage.collect(whole=overdue)
            passage.advance(0)
            if passage.due or overdue or self.replaces_words:
                passages.append(passage)
        self.decide(state, passages, overdue=overdue)
        self.release(state)
        if self.scanner:
            if run and run.reason and state.ended:
                run.reason = self.learnt.hidden_in(run.reason)
            self.scanner.copies = None
        self.waiting.pop(run, None)
        if state.pending:
            self.waiting[run] = state
        elif run is None or state.ended:
            self.runs.pop(run, None)

    def decide(self, state: RunWords, passages: list[Passage], *, overdue: bool) -> None:
        """Decide words: all of closed passages; of others complete lines, or all if overdue."""
        texts = ["".join(passage.texts)[passage.done :] for passage in passages]
        suspects = self.redaction.suspects([*map(to_utf8, texts)]) if texts else ()
        for number, (passage, text) in enumerate(zip(passages, texts, strict=True)):
            passage.due = False
            suspect = number in suspects or state.copies.holds(to_utf8(text))
            if suspect:  # what stands before it doesn't change by what it shows
                self.release(state, passages[number:])
            whole, cut_off = passage.closed or overdue, passage.cut_off or overdue
            if self.replaces_words:
                passage.advance(len(text), passage.marker)
                passage.marker = "" if text else passage.marker
            elif suspect or cut_off or passage.rest or len(text) > LONG_LINE:
                for unit, goes_on in self.units(text, whole=whole, cut_off=cut_off):
                    self.redact_words(passage, unit, state.cwd, goes_on=goes_on)
            elif passage.changed or not passage.closed:  # else nothing is left to do
                passage.advance(len(text) if whole else self.settled(text))

    def release(self, state: RunWords, undecided: Sequence[Passage] = ()) -> None:
        """Release events, in order, up to the first one that waits for its words."""
        pending, sizes = state.pending, state.sizes
        waiting = (*state.open.values(), *undecided)
        held = {id(passage.events[0]) for passage in waiting if passage.events}
        count = next((n for n, event in enumerate(pending) if id(event) in held), len(pending))
        line = pending[count].original if count < len(pending) else None
        while line and count and pending[count - 1].original is line:  # its events stay together
            count -= 1
        self.ready += self.rewrite(pending[:count], state.cwd, state.copies)
        self.size -= sum(sizes[:count])
        del pending[:count], sizes[:count]
        for event in pending[len(sizes) :]:
            if event.raw:
                event.decoded = None  # its line says it again
            sizes.append(len((event.original or event).raw) + EVENT_OVERHEAD)
            self.size += sizes[-1]

    def release_overdue(self, now: float) -> None:
        """Release events that waited for too long, or that exceed MAX_HELD."""
        while self.waiting:
            run, state = next(iter(self.waiting.items()))
            if self.size <= MAX_HELD and now - state.last_s <= self.max_wait:
                break
            self.settle(run, state, overdue=True)
        if len(self.runs) > 2 * MAX_RUNS:  # runs that had events after their end
            self.runs = {run: state for run, state in self.runs.items() if run and not run.ended}

    def finish(self) -> list[Event]:
        """Release all events at the end of the input, which may have been cut off: beginnings of
        secrets are hidden."""
        self.catch_up()
        for run, state in [*self.waiting.items()]:
            state.close(*state.open, end=None)
            self.settle(run, state)
        ready, self.ready = self.ready, []
        return ready

    def rewrite(self, events: list[Any], cwd: str | None, copies: Learnt) -> list[Event]:
        """Events with those redacted that need it; a line that is printed in place of its events
        changes by the edits of all of them."""
        if copies.holds(b"\n".join(map(searched_line, events))):
            for event in events:  # it may hold a copy of what one before it showed
                if event.redacted is None and copies.holds(searched_line(event)):
                    event.redacted = words_of(event)
        elif all(event.redacted is None for event in events):
            return events
        done: list[Event] = []
        for line, group in itertools.groupby(events, operator.attrgetter("original")):
            parts = [*group]
            changes = any(part.redacted is not None for part in parts)
            if line and changes:
                whole = join_words(line, parts)
                line.raw = self.redacted(whole, cwd)
            parts = [self.rewritten(part, cwd) for part in parts]
            if line and changes:  # what is printed counts
                for part in parts:
                    part.hidden = whole.hidden if part is parts[-1] else None
            done += parts
        return done

    def rewritten(self, event: Any, cwd: str | None) -> Any:
        # No output reads the words of what is printed as another line.
        if event.redacted is None or (event.original and event.type in SPOKEN_TYPES):
            return event
        raw = self.redacted(event, cwd)
        if raw == event.raw.strip():
            return event
        new = read_event(self.event_type, raw)
        new.raw, new.run, new.unprinted, new.where = raw, event.run, event.unprinted, event.where
        new.original, new.kind, new.hidden = event.original, event.kind, event.hidden
        new.stamp = event.stamp
        if event.started and started_tool(event) in TOOLS:  # else it may be a name to hide
            new.started = event.started
        return new

    def redacted(self, event: Any, cwd: str | None) -> bytes:
        words = redacted_words(event) if event.type in self.word_types else None
        return self.redaction.redact_event(event, cwd, words)

    def settled(self, text: str) -> int:
        """How many characters of a text are whole lines that await nothing."""
        data = to_utf8(text[: text.rfind("\n") + 1])
        end = self.scanner.settled(data) if self.scanner else len(data)
        return len(from_utf8(data[:end]))

    def units(self, text: str, *, whole: bool, cut_off: bool) -> Iterator[tuple[bytes, bool]]:
        """Words that are decided together, and whether a secret in them may go on: whole lines. One
        that is too long is cut behind a blank, or within a word."""
        begin = 0
        for piece in PIECE.finditer(text):
            data, end = to_utf8(text[begin : piece.end()]), piece.end()
            if end < len(text) and not (self.scanner and self.scanner.is_cut(data)):
                yield data, not text[end - 1].isspace()
                begin = end
        end = len(text) if whole else begin + self.settled(text[begin:])
        if begin < end:
            yield to_utf8(text[begin:end]), cut_off

    def redact_words(
        self, passage: Passage, text: bytes, cwd: str | None, *, goes_on: bool
    ) -> None:
        """Decide words: what stands for a secret goes to the event in which it begins."""
        hidden = passage.rest.search(text) if passage.rest else None
        done = hidden.end() if hidden else len(text) if passage.rest else 0
        passage.advance(len(from_utf8(text[:done])), "")
        text = text[done:]
        spans = self.scanner.spans(text, whole=False) if self.scanner else []
        if goes_on and self.scanner:
            is_overlong = len(text) >= LONG_LINE and not BLANK.search(text)
            whole = [(0, len(text), "overlong")] * is_overlong  # too long to wait for its end
            spans = merged([*spans, *self.scanner.begun(text), *whole])
        done = 0
        for first, last, new in self.redaction.with_paths(text, cwd, markers_for(spans)):
            passage.advance(len(from_utf8(text[done:first])))
            passage.advance(len(from_utf8(text[first:last])), from_utf8(new))
            done = last
        passage.advance(len(from_utf8(text[done:])))
        if ends_inside_key(text):
            passage.rest = PEM_END
        elif text or hidden:
            passage.rest = BEFORE_BLANK if goes_on and done == len(text) > 0 else None


def join_words(original: OriginalLine, events: list[Any]) -> Event:
    """A line that is printed as one event, with the words that stand in its places. Where it holds
    both, these are the assistant's; its thoughts are redacted like other strings."""
    kinds = {event.type for event in events if event.type in SPOKEN_TYPES}
    kind = "assistant" if "assistant" in kinds else "thinking" if kinds else events[-1].type
    said = [event for event in events if event.type == kind]
    words = "".join(map(words_of, said))
    whole = SpokenEvent(kind, message=Message(words), text=words)
    whole.raw, whole.original = original.raw, original
    whole.redacted = "".join(map(redacted_words, said))
    return whole


BEFORE_BLANK = regex(rb"(?=[ \t\r\n])")
# Short lines, a long one up to its last blank, or a part of a word.
PIECE = regex(
    rf"(?:[^\n]{{0,{LONG_LINE}}}(?:\n|\Z))+|[^\n]{{0,{LONG_LINE - 1}}}[ \t\r]"
    rf"|[^ \t\r\n]{{{LONG_LINE}}}"
)


def redacted_words(event: Any) -> str:
    words: str | None = event.redacted
    return words_of(event) if words is None else words


# ---------------------------------------------------------------- shortening
#
# Cutting the longest strings of a line until it fits.
# Lines of JSON in, the same lines out, with their structure intact. It must not know writers.


class Shortener:
    """Cuts the longest strings of a line until it fits; structure stays, but for names of tools: an
    init may have hundreds."""

    def __init__(self, limit: int, reporter: Reporter) -> None:
        self.limit = limit
        self.reporter = reporter
        self.told = False

    def fit(self, line: bytes) -> bytes:
        return self.shorten(line) if len(line) > self.limit and b'"' in line else line

    def shorten(self, raw: bytes) -> bytes:
        strings = [
            string
            for string in find_strings(raw)
            if not string.is_key
            and (class_of(string.path) not in STRUCTURE or string.path[-1:] == ("tools",))
            and not is_identifier(string)
        ]

        def cut(length: int) -> bytes:
            return edit_strings(raw, strings, lambda string: shorten_text(string.text, length))

        longest = max((len(string.text) for string in strings), default=0)
        length = bisect.bisect(range(longest + 1), self.limit, key=lambda size: len(cut(size)))
        short = cut(max(length - 1, 0))
        if len(short) > self.limit and not self.told:
            self.told = True
            name = self.reporter.list_names([as_text(Node(decoded(raw))["type"])])
            self.reporter.message(
                f"an event of type {name} doesn't fit in --max-event {self.limit}"
            )
        return short


def is_identifier(string: StringLiteral) -> bool:
    """Is a string short, and named as agents name sessions, calls, types and states?"""
    short = len(string.text) < 100 and len(string.path) <= 3
    return short and IDENTIFIER.search(string.path[-1]) is not None


IDENTIFIER = regex(
    "(?:^|_)id$|I[dD]$|^(?:sub|step_)?type$"
    "|^(?:role|status|state|(?:stop|finish)?[rR]eason|event|method|sessionUpdate)$"
)


def shorten_text(text: str, length: int) -> str:
    """The beginning of a text, and how much is missing, also since it was cut before; cuts no
    marker and no surrogate pair."""
    created = CREATED_DIFF.match(text) and CREATED_BEGIN.match(text)  # structure of an edit
    length = max(length, created.end() if created else 0)
    if len(text) <= length:
        return text
    begin = max(0, length - 200)
    for match in ANY_MARKER.finditer(text[begin : length + 200]):
        start, end = (begin + place for place in match.span())
        if start < length < end:
            length = start
    if "\ud800" <= text[length - 1 : length] <= "\udbff" and length:
        length -= 1
    before = CUT_BEFORE.search(text, max(len(text) - 40, 0))
    length = min(length, before.start()) if before else length
    missing = int(before[1]) - len(before[0]) if before else 0
    begun = text[:length].removesuffix("\n")  # each line of a diff has a sign
    short = f"{begun}[cut: {plural(len(text) - len(begun) + missing, 'char')}]"
    return min(short, text, key=len)


CUT_BEFORE = regex(r"\[cut: ([0-9]{1,15}) chars?\]\Z")


# ---------------------------------------------------------------- action lines
#
# One line for each call, whose parts are cut in the middle where the terminal has no room.
# An action in, a line out. It must not know events.


class Screen:
    """Where lines go: its width and capabilities if it is a terminal."""

    def __init__(self, fd: int | None = None, color: str = "auto") -> None:
        self.fd = fd if fd is not None and os.isatty(fd) else None
        self.live = self.fd is not None and os.environ.get("TERM", "dumb") not in ("", "dumb")
        self.glyphs = self.live and is_utf8(os.environ)
        plain = not self.live or bool(os.environ.get("NO_COLOR"))
        self.color = color == "always" or (color == "auto" and not plain)

    def width(self) -> int:
        if self.fd is not None:
            with contextlib.suppress(OSError):
                return os.get_terminal_size(self.fd).columns or DEFAULT_WIDTH
        return DEFAULT_WIDTH

    def paint(self, code: str, text: str) -> str:
        return f"{code}{text}{RESET}" if self.color and text else text


def is_utf8(env: Mapping[str, str]) -> bool:
    """Does the locale use UTF-8? LC_CTYPE=C.UTF-8 is ignored: Python sets it in the C locale."""
    kind = env.get("LC_CTYPE", "").replace("C.UTF-8", "")
    locale = env.get("LC_ALL") or kind or env.get("LANG") or ""
    return "utf8" in locale.lower().replace("-", "")


PLAIN = Screen()
RED, GREEN, CYAN = "\x1b[31m", "\x1b[32m", "\x1b[36m"
BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
CHECK_MARK, CROSS_MARK, BEGIN_MARK, SPINNER = "✓", "✗", "▸", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@functools.lru_cache(256)
def render_action(act: Action, prefix: str, room: int, screen: Screen) -> bytes:
    """An action's line, at most ``room`` columns wide."""
    glyphs, margin = screen.glyphs, ""
    label = act.label if screen.fd is None else act.short
    if glyphs:
        margin = "  " + prefix[: len(prefix) - len(prefix.lstrip())]
        prefix, room = prefix.lstrip(), room - len(margin) - len("✓ ")
    label, target = prefix + label, escape(act.target)
    outcome = escape(beside_mark(act.outcome) if glyphs else act.outcome)
    wraps = act.failed and screen.fd is not None
    if wraps:
        target = cut_middle(target, TARGET_ROWS * room)  # or it leaves no row for why
        outcome = "\n".join(map(escape, act.outcome.split("\n")))
    else:
        label, target, outcome = fit_action(label, target, outcome, room)
    if outcome:
        outcome = f" {outcome}" if glyphs else f"({outcome})"
    line = " ".join(filter(None, (label, target, outcome)))
    line = line if wraps else truncate(line, room)
    if act.failed:
        mark = f"{CROSS_MARK} " if glyphs else ""
        rows = hang(line, room) if wraps else [line]
        rows = [screen.paint(RED, mark + rows[0]), *(screen.paint(RED, row) for row in rows[1:])]
        line = f"\n{margin}{' ' * len(mark)}  ".join(rows)
    else:
        if outcome and line.endswith(outcome):
            line = line.removesuffix(outcome) + screen.paint(DIM, outcome)
        mark = screen.paint(DIM, BEGIN_MARK) if act.running else screen.paint(GREEN, CHECK_MARK)
        line = f"{mark} {line}" if glyphs else line
    return encode_line(margin + line)


def beside_mark(outcome: str) -> str:
    """How an action ended, without what its mark says."""
    return ", ".join(fact for fact in outcome.split(", ") if fact != "exit 0")


def hang(text: str, room: int) -> list[str]:
    """A text in rows, of which all but the first will be indented."""
    rows = [row for line in text.split("\n") for row in wrap(line, room - 2) if row.strip()]
    return rows if len(rows) <= FAILURE_ROWS else [*rows[:FAILURE_ROWS], "..."]


def fit_action(label: str, target: str, outcome: str, room: int) -> tuple[str, str, str]:
    """Cut an action to ``room`` columns: the outcome to what the others leave, or to a third; then
    the target to the rest, then the label."""
    free = room - (len(" ") if target else 0) - len(" ()")
    rest = free - display_width(label) - display_width(target)
    outcome = cut_middle(outcome, max(rest, free // 3))
    free -= display_width(outcome) if outcome else -len(" ()")
    label = truncate(label, free)
    return label, cut_middle(target, free - display_width(label)), outcome


class Column(NamedTuple):
    """A member of rows on a terminal: its width, 0 for what is left. Of several names the last that
    has a value counts. ``show`` writes a number."""

    names: str
    width: int
    title: str = ""
    show: Callable[[Any], str] = str

    def text(self, row: Mapping[str, Any]) -> str:
        values = [row[name] for name in self.names.split() if row.get(name) is not None]
        return escape(self.show(values[-1])) if values else ""

    def fitted(self, rows: Sequence[Mapping[str, Any]]) -> Column | None:
        """No wider than what it holds; None if that tells no rows apart."""
        told = {self.text(row) for row in rows}
        if told == {""} or len(told) < min(len(rows), 2):
            return None
        wide = max(len(self.title or self.names), *map(display_width, told))
        return self._replace(width=min(self.width, wide))


class Grid:
    """A table on a terminal: its first rows wait to show which columns tell them apart, the others
    are printed as they come."""

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self.screen, self.columns = screen, [*columns]
        self.waiting: list[Mapping[str, Any]] | None = []

    def encode(self, rows: Iterable[Mapping[str, Any]], *, over: bool = False) -> Iterator[bytes]:
        """The lines of rows that have come; ``over``: no more rows will."""
        if self.waiting is not None:
            rows = self.waiting = [*self.waiting, *rows]
            if not rows or (len(rows) < SAMPLE_ROWS and not over):
                return
            yield self.head(rows)
            self.waiting = None
        for row in rows:
            line = self.line([column.text(row) for column in self.columns])
            failed = row.get("verdict", row.get("status")) not in ("succeeded", "ok")
            yield encode_line(self.screen.paint(RED, line) if failed else line)

    def head(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """The titles of the columns, once it is clear which are left."""
        first, *others = self.columns
        fitted = (each.fitted(rows) if each.width else each for each in others)
        self.columns, room = [first, *filter(None, fitted)], self.screen.width() - 1
        while (
            len(self.columns) > 2
            and sum(each.width + 2 for each in self.columns) + LEAST_TEXT > room
        ):
            self.columns.remove([each for each in self.columns if each.width][-1])
        self.left = max(room - sum(each.width + 2 for each in self.columns), MIN_TARGET)
        titles = [column.title or column.names.partition(" ")[0] for column in self.columns]
        return encode_line(self.screen.paint(DIM, self.line(titles)))

    def line(self, texts: Iterable[str]) -> str:
        cells = []
        for column, text in zip(self.columns, texts, strict=True):
            width = column.width or self.left
            shown = cut_middle(text, width)
            blank = " " * (width - display_width(shown))
            cells.append(shown + blank if column.show is str else blank + shown)
        return "  ".join(cells).rstrip()


LEAST_TEXT = 40  # columns of the one that has what is left
SAMPLE_ROWS = 40  # that wait for the titles above them: a screenful
grouped = "{:,}".format  # digits of a number


# ---------------------------------------------------------------- text output
#
# Progress: action lines and words, and the status line of a terminal.
# Events in, lines out. It must not know agents.


class Writer:
    """Makes lines from events. ``event_type`` holds the members that it reads; ``thinking`` and
    ``words`` say whether it reads such events, ``noted`` whether it reads what is noted of
    calls and runs, ``sums`` whether their totals.

    ``prose``: its lines aren't JSON. ``options`` are those that it goes with, or one of their
    values, ``defaults`` their values for people.
    """

    event_type: type[Event] = Event
    thinking = words = prose = False
    noted = sums = True
    hides = False  # hides secrets by default: it is made to be passed on
    options: ClassVar[frozenset[str]] = frozenset(("max-event", "ci-safe"))
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, view: View, notes: Notes) -> None:
        self.view, self.notes, self.last = view, notes, notes.reporter.out.last

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        raise NotImplementedError


class LastLine:
    """The status line of a terminal, erased before other lines are written. It knows the runs open
    in the output, which lags behind while redaction holds events back."""

    ERASE: ClassVar[bytes] = b"\r\x1b[K"

    def __init__(self, screen: Screen = PLAIN, saved: Mapping[str, int] | None = None) -> None:
        self.screen = screen
        # When each FILE was last changed, in milliseconds since 1970, if nobody waits for more.
        self.saved = saved or {}
        self.open: dict[Run, Any] = {}
        self.mixed = ""  # a FILE in which several were open at once: its lines say whose they are
        self.words: Sequence[str] = ()  # an unfinished line
        self.since = time.monotonic()  # the time of the last other line
        self.visible = ""
        self.waits = False  # for the first event that a writer of text gets

    def prefix_of(self, run: Run) -> str:
        """The prefix of the lines of a run, if there are several."""
        return f"[{run.short}] " if run.file == self.mixed and run.label else ""

    def text(self, now: float) -> str:
        """The current words, the running call, or "Thinking"."""
        # One column stays free, or the line would wrap; and two for the echo of ^C.
        room = self.screen.width() - 3
        what = rest = ""
        silent = now - self.since
        calls = [(run, call) for run in self.open for call in notes_of(run).calls.values()]
        calls = [(run, call) for run, call in calls if not call.unprinted and not call.shown]
        if self.words:
            return truncate(escape_line("".join(self.words[-room:]).expandtabs())[::-1], room)[::-1]
        if calls:
            run, call = max(calls, key=lambda pair: pair[1].started_at)
            notes = notes_of(run)
            act, depth = running_action(call, notes.cwd), len(notes.ancestors(call.parent))
            doing = f"{'  ' * depth}{act.short} {escape(act.target)}"
            what, took = f"{self.prefix_of(run)}{doing.rstrip()}", now - call.started_at
            rest = f"  {format_clock(took)}" if took >= 1 else ""
            if len(calls) > 1:
                rest += f"  (+{len(calls) - 1} more)"
        elif silent >= 1 and (self.open or self.waits):
            what = "Thinking" if self.open else "Waiting for the agent"
            rest = f" {format_clock(silent)}"
        lead = f"  {SPINNER[int(now) % len(SPINNER)]} " if what and self.screen.glyphs else ""
        return lead + truncate(what, room - len(lead) - len(rest)) + rest

    def show(self) -> None:
        """Update the line: after each write, and after each second of silence."""
        self.draw(self.text(time.monotonic()) if self.screen.live else "")

    def erase(self) -> None:
        """Erase the line before another one is written."""
        self.since = time.monotonic()
        self.draw("")

    close = erase

    def draw(self, line: str) -> None:
        if line != self.visible:
            erased, self.visible = self.ERASE if self.visible else b"", line
            with contextlib.suppress(OSError):  # a lost status line does no harm
                drawn = encode_line(self.screen.paint(DIM, line))
                write_all(self.screen.fd or 0, erased + drawn)


class View(NamedTuple):
    """The text to print besides the output itself, and where.

    ``messages`` is none, final, all, or chat, which has the prompts, too. ``actions`` is stdout (of
    prose), stderr or none; ``out`` and ``err`` are their screens. ``tail`` is how many of the last
    lines of a failed command are shown, ``max_report`` the most bytes of a report. ``summary`` is
    stdout, stderr or "". ``whole``: a terminal shows prompts uncut, too. ``diff`` shows the
    lines of edits, ``thinking`` thoughts. ``headings``: a FILE's lines stand below its name;
    ``time``: lines begin with the time of their event.
    """

    detail: bool = False
    messages: str = "none"
    actions: str = "stdout"
    summary: str = ""
    tail: int = 0
    whole: bool = False
    out: Screen = PLAIN
    err: Screen = PLAIN
    max_report: int | None = None
    diff: bool = False
    thinking: bool = False
    headings: bool = False
    time: bool = False


PLAIN_VIEW = View()


class Record:
    """What is kept of a run while it is open: what was said or thought, and is not told yet."""

    prompt = reply = ""  # for a row

    def __init__(self, run: Run) -> None:
        self.run, self.notes = run, notes_of(run)
        self.words: list[str] = []
        self.thoughts: list[str] = []
        self.begun: Event | None = None  # the first event of these

    def end_words(self, event: Event, *, final: bool) -> str:
        """End a segment: return its last words; if ``final``, the answer at a run's end."""
        segments = self.notes.speech
        if event.kind == IMPLIED:
            self.words.append(segments.held)
        segments.close()
        good = event.type == "result" and self.run.succeeded
        members = details(event) if good else {}
        asked = structured_answer(members)
        stated = "" if segments.planned else first_text(members.get("result"), asked)
        # A filtered stream may hold no other words.
        rest = "".join(self.words)
        # The result may hold the only answer, or repeat words of before, the last or all of them.
        said, repeated = ("".join(text.split()) for text in (segments.answer, stated))
        all_said = repeated.endswith(said) and len(repeated) <= segments.letters
        other = not (said.endswith(repeated) or all_said)
        if not said or other or (asked and not segments.answer.endswith(stated)):
            rest = "\n".join(filter(None, (rest, stated)))
        self.words.clear()
        if final:
            answer = segments.answer or rest
            if stated and (asked or not repeated.endswith("".join(answer.split()))):
                answer = stated  # not words that the agent doesn't call its answer
            rest = answer if good and not event.unprinted else ""
        return rest


class Follower(Writer):
    """A writer that keeps a record (``record``) of each open run. Its hooks add lines to ``made``:
    ``tell`` what was asked, said or thought, ``notice`` an action, ``did`` a call, once it or its
    run has ended, ``ended`` the end of a run, ``outside`` events of no run."""

    event_type: type[Event] = SpokenEvent
    words = acts = chat = True
    detail = final = False
    begin: Any = Record
    tell = notice = did = ended = cast("Any", None)

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.open: dict[Run, Any] = {}
        self.made: list[bytes] = []
        if self.prose:  # what the view asks for
            self.acts, self.chat = view.actions == "stdout", view.messages == "chat"
            self.detail = self.acts and view.detail
            self.words, self.final = view.messages != "none", view.messages == "final"

    def lines(self, events: Iterable[Any]) -> Iterator[bytes]:
        run, record = None, None
        for event in events:
            if event.run is None:
                self.outside(event)
            else:
                if event.run is not run or self.view.time:
                    run, record = event.run, self.turn_to(event)
                self.follow(event, record)
            if self.made:
                yield from self.made
                self.made.clear()

    def turn_to(self, event: Any) -> Any:
        """The record of an event's run; the event before belonged to another run."""
        return self.open.get(event.run) or self.open.setdefault(event.run, self.begin(event.run))

    def outside(self, event: Any) -> None:
        """Take an event of no run."""

    def follow(self, event: Any, record: Any) -> None:
        if event.type == "thinking":
            if not event.unprinted and event.parent_tool_use_id is None:
                self.think(event, record)
            return
        if record.thoughts:
            self.end_words(record, join_surrogates("".join(record.thoughts)), "thought")
            record.thoughts.clear()
        if event.type == "assistant":
            new = record.notes.speech.say(event) if self.words else ""
            if new:
                record.begun = record.begun or event
                if not (self.final or event.unprinted):
                    record.words.append(new)
                    if "\n" in new:
                        self.end_lines(record)
            return
        ends = ends_run(event)
        if self.words and (ends or event.type in SEGMENT_ENDS):
            self.end_words(record, record.end_words(event, final=self.final))
        if self.acts:
            self.act(event, record)
        if self.chat and is_prompt(event):
            asked, images = words_of(event).strip(), images_in(event.raw)
            self.tell(record, "asked", asked, line_time(event), images)
        if ends:
            del self.open[record.run]
            self.ended(record)

    def think(self, event: Any, record: Any) -> None:
        if not record.thoughts:  # words before them are over
            self.end_words(record, "".join(record.words))
            record.words.clear()
        record.thoughts.append(event.text or "")
        record.begun = record.begun or event

    def end_lines(self, record: Any) -> None:
        """Take words that end a line."""

    def end_words(self, record: Any, words: str, kind: str = "said") -> None:
        """Tell a text that was said or thought, once it is complete."""
        if words.strip():
            self.tell(
                record, kind, words.strip(), line_time(record.begun) if record.begun else None
            )
        if words or kind == "said":
            record.begun = None

    def act(self, event: Event, record: Any) -> None:
        """Report a call that ends; at a run's end all open ones."""
        if self.detail and (notice := notice_action(event)):
            self.notice(record, notice)
        redaction: EventRedactor = self.notes.reporter.redaction
        if (ended := event.finished_call) and not event.unprinted:
            if redaction.learnt.forms:
                calls, above = record.notes.calls, record.notes.ancestors(ended.parent)
                for begun in (ended.start, *(calls.get(each, NOT_BEGUN) for each in above)):
                    redaction.renew(begun.event)
            self.did(record, ended)
        if ends_run(event):
            for call in record.notes.unfinished(redaction.renew):
                self.did(record, call)


class TextRecord(Record):
    """A run in text."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.fence = ""  # of code in the words, while it is open
        self.has_text = False  # has the current segment a line that isn't blank?
        self.below: list[str] = []  # the open calls of sub-agents above the last line
        self.going: dict[str | None, Event] = {}  # open calls, where nothing is noted of calls


class Text(Follower):
    """Progress: a line for each finished call; with ``detail`` its target and outcome, too. The
    assistant's words, each line once it is complete, or the last segment of each successful run. On
    a terminal, the status line shows the running call, and lines of words wrap between words.
    """

    event_type = Event
    prose, sums = True, False
    options = frozenset(("messages", "messages all", "messages chat", "actions stdout"))
    options |= {"diff", "thinking", "time"}
    defaults: ClassVar[Mapping[str, Any]] = {"actions": "stdout"}

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.screen, self.thinking = view.out, view.thinking
        if self.words or self.thinking or view.time:
            self.event_type = SpokenEvent
        self.labels = not (self.detail or view.diff or view.tail)  # nothing else of a call is shown
        self.live = self.acts and self.last.screen.live
        self.noted = self.live or not self.labels
        self.kind = ""  # of the last line: asked, said, done; after a run: ended, answered
        self.blank = 0  # empty lines of words that wait for a line after them
        self.last.waits, self.last.open = True, self.open
        self.nobody = TextRecord(Run(None, ""))  # of events outside any run
        self.record = self.nobody  # of the run of the current event
        self.prefix = ""
        self.file = ""  # the FILE in the last heading
        self.at: int | None = None  # when the last event was, in milliseconds since 1970

    def begin(self, run: Run) -> TextRecord:
        before = next(reversed(self.open), None)  # those of a FILE stand together
        if before and run.file == before.file:
            self.last.mixed = run.file
        return TextRecord(run)

    def turn_to(self, event: Event) -> TextRecord:
        record: TextRecord = super().turn_to(event)
        self.show_run(event, record)
        return record

    def outside(self, event: Event) -> None:
        record = self.nobody
        self.show_run(event, record)
        if event.type == "tool_call" and event.subtype == "completed":
            event.finished_call = FinishedCall(event)
        if self.acts:
            self.act(event, record)
        event.finished_call = None  # they refer to each other, and events are not collected

    def show_run(self, event: Event, record: TextRecord) -> None:
        self.record, self.last.words, self.last.waits = record, record.words, False
        self.prefix = self.clock(event) + self.last.prefix_of(record.run)

    def clock(self, event: Event) -> str:
        """When an event was, if that is wanted: as its line states, else now, if it is live, else
        when the last one was."""
        if not self.view.time:
            return ""
        call = event.finished_call
        ended = call.span[1] if call and call.span else None
        at = line_time(event) or ended
        self.at = at or (self.at if self.last.saved else round(time.time() * 1000))
        return f"{local_time(self.at, '%H:%M:%S'):8} "

    def apart(self, kind: str) -> None:
        """Add what separates the next line: the name of another FILE; an empty line after an
        answer, and on a terminal between a run's prompts, words and actions, and after it."""
        run_file = self.record.run.file
        file = run_file if run_file and self.view.headings else self.file
        named = file != self.file
        if self.kind != kind or named:
            alone = not run_file or run_file != self.last.mixed
            apart = self.screen.glyphs and (alone or self.kind == "ended")
            self.blank = int(self.kind != "" and (apart or named or self.kind == "answered"))
        self.made += (b"",) * self.blank
        if named:
            self.made.append(encode_line(f"==> {file} <=="))
        self.kind, self.blank, self.file = kind, 0, file

    def notice(self, _kept: TextRecord, act: Action, indent: str = "") -> bytes:
        """Add the line of an action, which is returned."""
        if self.kind != "done" or self.view.headings:
            self.apart("done")
        self.made.append(render_action(act, self.prefix + indent, self.screen.width(), self.screen))
        return self.made[-1]

    def act(self, event: Event, record: TextRecord) -> None:
        if not self.labels:
            super().act(event, record)
        elif event.type == "tool_call":
            if event.subtype == "started":
                record.going[event.call_id] = event
            elif event.subtype == "completed":
                record.going.pop(event.call_id, None)
                if not event.unprinted:
                    self.notice(record, FinishedCall(event).label)
        elif ends_run(event):
            for call in record.going.values():
                if not call.unprinted:
                    self.notes.reporter.redaction.renew(call)
                    self.notice(record, plain_action(tool_of(call)[0], STILL_OPEN))
        if self.live and self.detail and event.type == "tool_call":
            self.set_todos(event, record)

    def set_todos(self, event: Event, record: TextRecord) -> None:
        """A to-do list is shown as it is set: its call may stay open until the run ends."""
        call = record.notes.calls.get(event.call_id, NOT_BEGUN)
        if call.tool == "updateTodos" and not call.unprinted:
            action = FinishedCall(event, call, record.notes.cwd).action
            if action.outcome and action != call.shown:
                call.shown = action
                self.notice(record, action)

    def did(self, record: TextRecord, call: FinishedCall) -> None:
        """The lines of a call: its own, below the line of the sub-agent that made it, and, if it is
        a command that failed, the end of what it printed."""
        action, indent = call.label, ""
        if self.detail:
            above = record.notes.ancestors(call.parent)
            if above or record.below:
                self.begin_above(above, record)
            action, indent = call.action, "  " * len(above)
        shown = b"" if action == call.start.shown else self.notice(record, action, indent)
        tail = [escape_line(line) for line in call.last_printed(self.view.tail)]
        whole = self.screen.fd is not None and shown.count(b"\n") < FAILURE_ROWS
        known = escape(action.outcome) if whole else b" ".join(shown.split()).decode()
        if (whole or len(tail) == 1) and all(line.strip() in known for line in tail):
            tail = []  # its line says so
        indent += "    "
        room = self.screen.width() - len(self.prefix + indent)
        tail = [RULE.sub(r"\1\1\1", line) if len(line) > room else line for line in tail]
        if self.screen.fd is None:
            tail = [truncate(line, room) for line in tail]
        self.below(tail, "", DIM, indent)
        diff = call.diff if self.view.diff and not action.failed else ""
        for line in cut_lines(diff, first=DIFF_ROWS) if diff else ():
            row = truncate(escape_line(line.expandtabs()), room)
            self.below((row,), "", DIFF_COLORS.get(line[:1], DIM), indent)

    def below(self, lines: Iterable[str], lead: str, code: str, indent: str = "") -> None:
        """Lines of a text behind a lead, which a terminal wraps."""
        margin, terminal = self.prefix + indent, self.screen.fd is not None
        room = self.screen.width() - len(margin + lead)
        for line in lines:
            shown = escape_line(line.expandtabs() if terminal else line)
            for row in wrap(shown, room) if terminal else (shown,):
                painted = self.screen.paint(code, (lead + row).rstrip())
                self.made.append(encode_line(margin + painted))

    def begin_above(self, above: list[str], record: TextRecord) -> None:
        """Lines for the open sub-agent calls above a line, unless they are there already."""
        for depth, call_id in enumerate(above):
            call = record.notes.calls.get(call_id, NOT_BEGUN)
            if above[: depth + 1] != record.below[: depth + 1] and not call.unprinted:
                self.notice(record, running_action(call, record.notes.cwd), "  " * depth)
        record.below = above

    def ended(self, _kept: TextRecord) -> None:
        if self.kind not in ("", "asked"):  # else prompts alone are shown
            answered = self.final and self.kind == "said"
            self.kind = "answered" if answered else "ended"

    def tell(self, _kept: TextRecord, _kind: str, text: str, *_: Any) -> None:
        """Show a prompt."""
        lead, lines = "> ", text.split("\n")
        self.blank = int(self.kind == "asked")
        self.apart("asked")
        if self.screen.fd is not None and not self.view.whole:
            shown = (escape_line(line.expandtabs()) for line in lines if line.strip())
            room = self.screen.width() - len(self.prefix + lead)
            rows = (row for line in shown for row in wrap(line, room))
            lines = cut_lines("\n".join(rows), first=PROMPT_ROWS)
        self.below(lines if any(lines) else (), lead, BOLD)

    def end_lines(self, record: TextRecord) -> None:
        *whole, rest = "".join(record.words).split("\n")
        record.words[:] = (rest,)
        self.rows(whole, record)

    def end_words(self, record: TextRecord, words: str, kind: str = "said") -> None:
        """Print the words that are left of a segment, or a whole thought."""
        if kind == "said":
            self.rows(words.removesuffix("\n").split("\n") if words else (), record)
            record.fence, record.has_text = "", False
        elif thoughts := words.strip():
            self.apart("said")
            self.below(thoughts.split("\n"), "~ ", DIM)

    def rows(self, lines: Iterable[str], record: TextRecord) -> None:
        """Lines of words, wrapped on a terminal."""
        room, terminal = self.screen.width() - len(self.prefix), self.screen.fd is not None
        for said in lines:
            record.has_text = record.has_text or said.strip() != ""
            if not record.has_text:  # blank lines before the first that isn't
                continue
            if self.screen.glyphs and not said.strip():
                self.blank += 1
                continue
            self.apart("said")
            line = escape_line(said.expandtabs() if terminal else said)
            rows: Iterable[str] = (line,)
            if terminal:
                fence, record.fence = record.fence, fence_after(record.fence, line)
                if not fence and not record.fence:  # code keeps its lines
                    styled = style_words(line) if self.screen.color else line
                    rows = carry_style(wrap(styled, room))
            for row in rows:
                self.made.append(encode_line(self.prefix + row))
            record.below = []


DIFF_COLORS = {"+": GREEN, "-": RED}
RULE = regex(r"([=_*#~-])\1{9,}")  # it may be wider than this terminal


def fence_after(fence: str, line: str) -> str:
    """The fence of code that is open after a line of Markdown, if ``fence`` was before it."""
    match = CODE_FENCE.match(line)
    if not match or (fence and (match[2] or not match[1].startswith(fence))):
        return fence
    return "" if fence else match[1]


CODE_FENCE = regex(r"\s*(`{3,}(?![^`]*`)|~{3,})\s*(.*)")


def style_words(line: str) -> str:
    """Bold, code and headings of a line of Markdown as what they mean."""
    heading = HEADING.match(line)
    return f"{BOLD}{style_spans(heading[1], BOLD)}{RESET}" if heading else style_spans(line)


def style_spans(text: str, outer: str = "") -> str:
    def style(span: re.Match[str]) -> str:
        inner = CYAN + span[2] if span[1] else BOLD + style_spans(span[3] or span[4], BOLD)
        return inner + RESET + outer

    return SPAN.sub(style, text)


HEADING = regex(r" {0,3}#{1,6} +(\S(?:.*\S)?)")  # in linear time for trailing blanks
SPAN = regex(
    r"(?<!`)(`+)(?!`)(.{1,1000}?)(?<!`)\1(?!`)|\*\*(?=\S)((?:[^*]|\*(?!\*))+)(?<=\S)\*\*(?!\*)"
    r"|(?<![*\w])\*(?=[^\s*])([^*]+)(?<=\S)\*(?![*\w])"
)


def carry_style(rows: Iterable[str]) -> Iterator[str]:
    """End an open style at the end of each row; begin it again in the next one."""
    style = ""
    for row in rows:
        codes = SGR_CODES.findall(row)
        begun, style = style, codes[-1].replace(RESET, "") if codes else style
        yield begun + row + (RESET if style else "")


# ---------------------------------------------------------------- summaries
#
# Closing lines: how runs ended, and what they took.
# Events in, a line for each run out, and one for all of them. It must not know agents.


class Summary(Writer):
    """A closing line for each run, and one with the totals of several."""

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.screen = view.out if view.summary == "stdout" else view.err

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        for event in events:
            run, total = event.run, self.notes.total
            if run is None:
                if event.kind == IMPLIED and run_count(total) > 1:
                    good = total.all_succeeded
                    yield encode_line(self.line(verdict_of_all(total), total, good=good))
            elif ends_run(event):
                notes = notes_of(run)
                why, totals = excerpt_reason(run.reason or ""), notes.totals
                ended = self.name_of(run) + verdict_of(totals)
                yield encode_line(self.line(ended, totals, good=run.succeeded, why=why))

    def name_of(self, run: Run) -> str:
        """On a terminal a lone run needs no name; of several, failures show their place."""
        if self.screen.glyphs:
            several = run_count(self.notes.total) > 1 or self.last.open
            return f"{run.name if run.succeeded else run} " if several else ""
        return f"{run}: "

    def line(self, verdict: str, totals: Totals, *, good: bool, why: str = "") -> str:
        """The summary line, which ends with the reason of a failure; on a terminal, rows."""
        screen, color = self.screen, GREEN if good else RED
        if not screen.glyphs:
            facts = join_facts((verdict, *facts_of(totals, named=True)), ", ")
            line = ": ".join(filter(None, ("agentfmt", facts, why)))
            return line if good else screen.paint(RED, line)
        room, facts = screen.width() - len("✓ "), join_facts(facts_of(totals), ", ")
        ended = f"{CHECK_MARK if good else CROSS_MARK} {verdict}{': ' if why else ''}{why}"
        if why:
            rows = [screen.paint(color, row) for row in wrap(ended, room)]
            rows += (screen.paint(DIM, row) for row in wrap(facts, room))
        else:
            first, *rest = wrap(f"{ended}, {facts}", room)
            rows = [screen.paint(color, first[: len(ended)]) + first[len(ended) :], *rest]
        return "\n" + "\n  ".join(rows)


def run_count(total: Totals) -> int:
    return sum(total.verdicts.values())


def verdict_of(totals: Totals) -> str:
    return totals.verdict + time_spent(totals)


def verdict_of_all(total: Totals) -> str:
    counted = ((total.verdicts.get(word), word) for word in VERDICTS)
    verdicts = [f"{number:,} {word}" for number, word in counted if number]
    if total.runless:
        verdicts.append(f"{plural(total.runless, 'FILE')} without a run")
    if total.command_failed:
        verdicts.append("but the command failed")
    runs = run_count(total)
    return f"{runs:,} run{'' if runs == 1 else 's'}{time_spent(total)}: {', '.join(verdicts)}"


VERDICTS = ("succeeded", "failed", "unfinished")


def facts_of(totals: Totals, *, named: bool = False) -> Iterator[str]:
    """All facts of a run, or of all; some are empty."""
    yield from facts_done(totals, named=named)
    yield from facts_stated(totals)


def join_facts(facts: Iterable[str], between: str = " · ") -> str:
    return between.join(filter(None, facts))


def facts_done(totals: Totals, *, named: bool = False) -> Iterator[str]:
    """What a run did."""
    failures = sum(totals.failures.values())
    yield format_counts(totals.actions, "action", named=named) or "no actions"
    yield format_counts(totals.nested, "subagent action", named=named)
    yield f"{failures:,} failed" if failures else ""
    yield f"blocked: {excerpt_reason(totals.blocked)}" if totals.blocked else ""
    nouns = "event of unknown type", "events of unknown type"
    yield format_counts(totals.unknown, *nouns, named=named)
    yield f"{plural(len(totals.files), 'file')} changed" if totals.files else ""


TOKEN_WORDS = {
    "tokens_in": "in", "tokens_out": "out",
    "tokens_cached": "from cache", "tokens_cache_written": "to cache",
}  # fmt: skip


def facts_stated(totals: Totals) -> Iterator[str]:
    """What a run took, and what was found in it besides."""
    unit = " token"  # beside the first number only
    for name, word in TOKEN_WORDS.items():
        if number := totals.stated.get(name):
            if unit and number != 1:
                unit = " tokens"
            yield f"{at_least(name, totals)}{number:,}{unit} {word}"
            unit = ""
    turns = int(totals.stated.get("turns", 0))
    yield at_least("cost_usd", totals) + totals.cost if totals.cost else ""
    taken = format_counts({"": turns}, "turn", named=False)
    yield at_least("turns", totals) + taken if turns else ""
    yield excerpt(totals.model)
    redactions = {name: number for name, number in totals.redactions.items() if number > 0}
    yield format_counts(redactions, "redaction")
    yield f"{plural(totals.unused, 'secret value')} not used" if totals.unused else ""


def at_least(number: str, totals: Totals) -> str:
    """What stands before a sum to which not all runs state their part."""
    return "at least " if totals.runs_stating.get(number, 0) < run_count(totals) else ""


def time_spent(totals: Totals) -> str:
    took = format_duration(totals.took)
    return f" in {at_least('duration_ms', totals)}{took}" if totals.took else ""


def format_counts(counts: dict[str, int], noun: str, nouns: str = "", *, named: bool = True) -> str:
    if not counts:
        return ""
    total = sum(counts.values())
    each = ", ".join(f"{excerpt(name)} {number:,}" for name, number in counts.items())
    text = f"{total:,} {noun if total == 1 else nouns or noun + 's'}"
    return f"{text} ({each})" if named else text


# ---------------------------------------------------------------- Markdown
#
# Texts of others in a report: in blocks of HTML, in which nothing is Markdown, or blocks of code.
# Words are HTML by their own Markdown. On GitHub they call nobody.
# Strings in, Markdown and HTML out. It must not know events.

# What GitHub takes for the name of a user, an issue or a commit, and the addresses of these: a user
# is notified, and a reference shows in the other thread. Names within code do neither.
ISSUE = r"[^\s/]{1,100}/[^\s/]{1,100}/(?:issues|pulls?|commits?|discussions|compare)/"  # on GitHub
COMMIT = r"(?=[0-9]{0,40}[a-f])(?=[a-f]{0,40}[0-9])[0-9a-f]{7,40}"  # a number or a word is none
MENTION = (
    r"(?:(?<![A-Za-z0-9])@[A-Za-z0-9]|(?:(?<![\w./-])[\w.-]{1,100}/[\w.-]{1,100})?#\d"
    r"|(?<![A-Za-z0-9])GH-\d"
    rf"|(?<![A-Za-z0-9])(?<![A-Za-z0-9]_){COMMIT}(?:(?![A-Za-z0-9])|(?=https?:|www\.)))"
    r"(?:[\w@#/.:-]*[A-Za-z0-9])?"  # what follows would begin a text
)
ADDRESS = r"(?:https?://|www\.)(?!\.\.)[^\s<>\"'`|\\]{1,2000}[\w/#=&]"
LINKED = regex(f"({ADDRESS})", re.IGNORECASE)
LINKED_OR_CALLED = regex(f"({ADDRESS}|{MENTION})", re.IGNORECASE)
GITHUB = regex(rf"(?<=//)(?:www\.)?github\.com/(?={ISSUE})", re.IGNORECASE)


def fenced(kind: str, code: str) -> str:
    """A block of code, between more backticks than stand in a row in it."""
    text = "\n".join(escape_line(line.expandtabs(4)) for line in code.split("\n"))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{kind}\n{text}\n{fence}"


def inline(text: str) -> str:
    """A text in a line of a report: what is left of an address leads nowhere."""
    parts = CUT_ADDRESS.split(escape(text))
    parts[::2] = (linked(part, for_github=True) for part in parts[::2])
    parts[1::2] = map(code_html, parts[1::2])
    return "".join(parts)


CUT_ADDRESS = regex(r"((?:https?://|www\.)[^\s<>\"'`|\\]*?\.{3}[^\s<>\"'`|\\)]*)", re.IGNORECASE)


def as_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code_html(text: str) -> str:
    return f"<code>{as_html(escape(text))}</code>" if text else ""


def escape_html(text: str) -> str:
    """A text as it stands in HTML and in its attributes; control characters are shown."""
    return without_commands(as_html(show_controls(text)).replace('"', "&quot;"))


def show_controls(text: str) -> str:
    return text if text.isprintable() else CONTROL.sub(show_control, join_surrogates(text))


def show_control(char: re.Match[str]) -> str:
    return char[0] if char[0] in "\n\t" else char[0].encode("unicode_escape").decode()


def without_commands(text: str) -> str:
    """HTML that no CI runner takes for commands."""
    text = HASHES.sub("&#35;", text) if "#" in text else text
    return text.replace("::", "&#58;:")


def linked(text: str, *, for_github: bool) -> str:
    """A text as HTML with links. ``for_github``: there, @names and numbers call people and issues:
    these become code, and links to issues are redirected, which leaves no trace there."""

    def link(found: str) -> str:
        if not LINKED.fullmatch(found):
            return code_html(found)
        to = found if WEB.match(found) else f"https://{found}"
        to = away(to) if for_github else to
        return f'<a href="{escape_html(to)}" rel="{REL}">{as_html(found)}</a>'

    parts = (LINKED_OR_CALLED if for_github else LINKED).split(text)
    parts[::2], parts[1::2] = map(as_html, parts[::2]), map(link, parts[1::2])
    return "".join(parts)


def away(address: str) -> str:
    return GITHUB.sub("redirect.github.com/", address)


REL = "noopener noreferrer nofollow"
WEB = regex(r"(?i)https?://")


@functools.cache
def markdown_reader(*, for_github: bool) -> Any:
    """A parser of Markdown that makes neither HTML of others nor images, and links to the web only.
    Its import takes as long as all others."""
    from markdown_it import MarkdownIt

    def text(_renderer: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
        shown, in_link = tokens[at].content, tokens[at].meta.get("linked")
        return as_html(shown) if in_link else linked(shown, for_github=for_github)

    reader = MarkdownIt("js-default", {"html": False, "linkify": False}).disable("image")
    reader.validateLink = WEB.match  # type: ignore[method-assign, assignment]
    reader.core.ruler.push("tame", functools.partial(tame, for_github=for_github))
    reader.add_render_rule("text", text)
    return reader


def tame(state: Any, *, for_github: bool) -> None:
    """A rule of markdown-it: headings rank below the document's own, the first two alike, for
    GitHub shows lower ones smaller than text; style attributes go, which a page's policy forbids,
    links send no referrer, and words in a link are no further links."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(max(int(token.tag[1]) + 2, 4), 6)}"
        if style := token.attrs.pop("style", ""):  # of a cell
            token.attrs["align" if for_github else "class"] = str(style).removeprefix("text-align:")
        depth = 0
        for inner in token.children or ():
            depth += inner.nesting if inner.type in ("link_open", "link_close") else 0
            inner.meta["linked"] = depth > 0
            if inner.type == "link_open":
                to = str(inner.attrs.pop("href"))
                there = {"href": away(to) if for_github else to} if to else {}  # `[x]()`
                inner.attrs = {**there, **inner.attrs, "rel": REL}


def words_html(text: str, *, for_github: bool = False) -> str:
    """Words, which are Markdown, as HTML."""
    text = show_controls(text.strip().replace("\r\n", "\n"))
    if has_no_markup(text):
        return f"<p>{text}</p>"
    if max(map(len, text.split("\n\n"))) > MAX_PARAGRAPH:
        return f"<pre>{escape_html(text)}</pre>"
    return without_commands(markdown_reader(for_github=for_github).render(text).strip())


def said_in_markdown(text: str) -> str:
    """Words as HTML in a report in Markdown, where an empty line would end it. A line without any
    markup stays as it is."""
    if has_no_markup(text):
        return text
    return EMPTY_LINE.sub("&#10;", words_html(text, for_github=True))


def has_no_markup(text: str) -> bool:
    """Is a text a line without any sign of Markdown or HTML, address or name?"""
    plain = PLAIN_WORDS.fullmatch(text) is not None and text.isprintable()
    return plain and not LINKED_OR_CALLED.search(text)


PLAIN_WORDS = regex(r"(?!\d+[.)])[^\W_](?:[^\n\\`*_\[\]<>&#~|@$^:]|:(?= ))*")
EMPTY_LINE = regex(r"\n(?=[ \t\n])")


def asked_in_markdown(text: str) -> str:
    """A prompt in such a report: it is typed text, and shown as it was typed."""
    shown = linked(show_controls(text.replace("\r\n", "\n").expandtabs(4)), for_github=True)
    shown = INDENT.sub(lambda blanks: "&nbsp;" * len(blanks[0]), shown).replace("\n", "<br>\n")
    return f"<blockquote>{without_commands(shown)}</blockquote>"


INDENT = regex("^ +", re.MULTILINE)


# ---------------------------------------------------------------- report
#
# A report for people as a tree: of each run what was asked, said, thought and done, and how it
# ended. A form renders it once, at the end. What doesn't fit is left out of the tree before. In
# Markdown each run is a chapter, the answer first, its steps closed.
# Events in, blocks of Markdown out. It must not know agents.


def other_arguments(call: FinishedCall) -> str:
    """The arguments of a call that its line doesn't name."""
    tool, target = call.tool, call.action.target
    if call.diff or tool in SHOWN_AS_WORDS:
        return ""
    args = as_object(call.arguments.get("args") if tool == "mcp" else call.arguments)
    beside = {name: value for name, value in args.items() if name not in IN_THE_LINE}
    return outline({name: value for name, value in beside.items() if value != target})


def whole_command(call: FinishedCall) -> str:
    """What a call is about, if its line doesn't show all of it."""
    command = call.tool == "shell"
    target = command_arg(call.arguments, call.cwd) if command else call.action.target
    return target if "\n" in target or len(target) > ITEM_COLUMNS else ""


def words_of_call(call: FinishedCall) -> str:
    """The answer of a sub-agent, or the tasks of a to-do list: words in Markdown."""
    if call.tool == "task" and call.status == "ok":
        return shorten_text(call.returned, MAX_WORDS)
    todos = [*Node(call.arguments.get("todos")).each()][:PAGE_LINES]
    marks = (TODO_MARKS.get(as_text(todo["status"]).rpartition("_")[2].lower()) for todo in todos)
    rows = zip(marks, todos, strict=True)
    return "  \n".join(f"{mark or '○'} {as_text(todo['content'])}" for mark, todo in rows)


IN_THE_LINE = ("command", "path", "toolCallId")  # arguments in its line, or without meaning
SHOWN_AS_WORDS = ("task", "updateTodos")
TODO_MARKS = {"completed": CHECK_MARK, "progress": BEGIN_MARK, "cancelled": "–"}


def returned_text(call: FinishedCall) -> str:
    """What a call returned, if that isn't just that it was done."""
    done = call.status == "ok" and (call.diff or call.tool in SHOWN_AS_WORDS)
    return "" if done else call.returned


# What a call opens, by kind.
CALL_DETAILS: dict[str, Callable[[FinishedCall], str]] = {
    "prompt": lambda call: as_text(call.arguments.get("prompt")) if call.tool == "task" else "",
    "sh": whole_command,
    "diff": operator.attrgetter("diff"),
    "given": other_arguments,
    "words": words_of_call,
    "images": lambda call: "\n".join(call.images),
    "text": returned_text,
    "printed": lambda call: call.printed if call.action.failed else "",
}

NO_ACTION = Action("")


class Step(Struct, kw_only=True):
    """Something that was asked, said, thought or done in a run."""

    kind: str  # asked, said, thought or done
    text: str = ""
    at: int | None = None  # when it was said, in milliseconds since 1970
    images: list[str] = []  # addresses
    act: Action = NO_ACTION
    call: str | None = None  # its ID
    parent: str | None = None  # the call of the sub-agent that did it
    place: str = ""  # the address of a call
    tool: str = ""
    took: int | None = None
    span: tuple[int, int] | None = None
    details: dict[str, str] = {}  # by kind
    cut: bool = False  # are they cut?
    below: list[Step] = []  # what its sub-agent did, in the tree

    @property
    def failed(self) -> bool:
        return self.act.failed or any(step.failed for step in self.below)

    @property
    def good(self) -> bool:
        return self.kind == "done" and not self.act.running and not self.failed

    @property
    def state(self) -> str:
        if self.act.running:
            return "running"
        return "bad" if self.act.failed else "ok"

    @property
    def outcome(self) -> str:
        """How it ended, without what a mark says."""
        return beside_mark(self.act.outcome)

    @property
    def size(self) -> int:
        """About how many characters it takes."""
        line = self.act.target[:ITEM_COLUMNS], self.act.outcome[:ITEM_COLUMNS]
        texts = (self.text, *line, *self.images, *self.details.values())
        return STEP_SIZE + sum(map(len, texts))


STEP_SIZE = 25  # characters around its texts, or more


def shorten_step(step: Step, excess: float) -> int:
    """Cut the words of a step by so many characters, if it has them; returns by how many."""
    size, length = step.size, len(step.text) - STEP_SIZE - int(excess)
    step.text = shorten_text(step.text, max(length, TITLE))
    return size - step.size


def in_groups(steps: Iterable[Step]) -> Iterator[tuple[str, list[Step]]]:
    """Steps one by one; many good calls in a row as one named group."""
    for good, row in itertools.groupby(steps, operator.attrgetter("good")):
        some = [*row]
        if good and len(some) >= MANY_GOOD:
            yield f"{plural(len(some), 'action')}, all ok", some
        else:
            yield from (("", [step]) for step in some)


MANY_GOOD = 12


def title_of(text: str) -> str:
    """The first line of words that isn't blank."""
    first = next(filter(str.strip, text.split("\n")), "")
    return truncate(first.strip("*# "), TITLE)


def brief(target: str) -> str:
    first, *more = target.split("\n", 1)
    return cut_middle(first, ITEM_COLUMNS) + (" ..." if more else "")


class Chapter(Record):
    """A run in a report."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__(run)
        self.number = number  # of the runs in the report
        self.steps: list[Step] = []
        self.going = 0  # calls that never ended
        self.missing = 0  # steps that are left out
        self.most_files = MOST_FILES  # that are named
        self.title = ""  # the first line that was asked or said

    @property
    def totals(self) -> Totals:
        return self.notes.totals

    @property
    def size(self) -> int:
        return CHAPTER_SIZE + self.size_of_files + sum(step.size for step in self.steps)

    @property
    def size_of_files(self) -> int:
        return sum(len(file.path) + 2 * STEP_SIZE for file in self.files)

    @property
    def files(self) -> list[FileChange]:
        """The changed files that are named."""
        return [*itertools.islice(self.totals.files.values(), self.most_files)]

    def place(self, call: FinishedCall) -> str:
        """The address of the last finished call, or of the next one that never ended."""
        self.going += call.status == STILL_OPEN
        number = sum((*self.totals.actions.values(), *self.totals.nested.values()))
        return f"{self.number}.{number + self.going}"

    def tree(self) -> list[Step]:
        """The steps, those of a sub-agent below its call, unless that isn't shown, too deep, or
        below itself."""
        calls = {step.call: step for step in reversed(self.steps)}
        top: list[Step] = []
        for step in self.steps:
            step.below = []
        for step in self.steps:
            above = parent = calls.get(step.parent) if step.parent else None
            for _ in range(MAX_DEPTH):
                above = calls.get(above.parent) if above and above.parent else None
            (parent.below if parent and not above else top).append(step)
        return top

    def shrink(self, left: int, room: float) -> int:
        """Leave things out until what is left fits the room, in this order: details of good calls,
        of failed ones; first steps, of the last of these only the end of its words if that is
        enough; names of files; the ends of answer and prompt; both. Returns how much is left."""
        last = [step for step in (self.answer, self.asked) if step]
        for failed, step in itertools.product((False, True), self.steps):
            if left > room and step.details and step.act.failed is failed:
                left -= step.size
                step.details, step.cut = {}, True
                left += step.size
        for step in [*self.steps]:
            if left > room and not any(step is each for each in last):
                enough = len(step.text) - 2 * TITLE > left - room
                left -= shorten_step(step, left - room) if enough else self.leave_out(step)
        if left > room:
            left -= self.size_of_files
            self.most_files = 0
        for step in last:
            if left > room:
                left -= shorten_step(step, left - room)
        for step in last:
            if left > room:
                left -= self.leave_out(step)
        return left

    def leave_out(self, step: Step) -> int:
        self.steps.remove(step)
        self.missing += 1
        return step.size

    @property
    def name(self) -> str:
        """The agent, and which of its runs."""
        run = self.run
        return f"{run.agent}, run {run.number}" if run.number > 1 else run.agent

    @property
    def about(self) -> str:
        return self.title or title_of(self.run.reason or "") or self.run.name

    @property
    def asked(self) -> Step | None:
        """The prompt of the run."""
        first = self.steps[0] if self.steps else None
        return first if first and first.kind == "asked" else None

    @property
    def answer(self) -> Step | None:
        """Its last words; of a failed run only if nothing was done after them."""
        said = [step for step in self.steps if step.kind == "said"][-1:]
        return said[0] if said and (self.run.succeeded or said[0] is self.steps[-1]) else None

    def left_out(self) -> str:
        steps = plural(self.missing, "step") if self.missing else ""
        bare = sum(step.cut for step in self.steps)
        details = f"details of {plural(bare, 'call')}" if bare else ""
        return f"{join_facts((steps, details), ', ')} left out" if steps or details else ""


CHAPTER_SIZE = 400  # bytes around its steps
FILES_OPEN, MOST_FILES = 10, 100  # in the table of a run
LEAST_CHAPTER = 1000  # bytes; with less room per run, runs are dropped


class Document(Follower):
    """A report, written at the end of the input, for its head says how all ended: of each run the
    prompts, the words, the actions, and how it ended, as long as there is room. What a sub-agent
    did stands below its own action. A form renders the chapters."""

    prose = hides = True
    options = Text.options - {"diff", "thinking", "time"} | {"max-report"}
    defaults: ClassVar[Mapping[str, Any]] = {
        "actions": "stdout", "messages": "chat", "detail": True, "tail": OUTPUT_LINES,
    }  # fmt: skip
    most: ClassVar[int]  # bytes
    # Subclasses set: how to render chapters, and an image; the kinds of details of a call, with how
    # many first and last lines of each, None: all.
    render = picture = opens = cast("Any", None)

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.room = view.max_report or self.most
        self.begun = 0  # chapters so far
        self.chapters: list[Chapter] = []
        self.size = 0

    def outside(self, event: Any) -> None:
        if event.kind == IMPLIED:
            self.made += filter(None, [self.report()])  # an empty report adds no line
        elif event.kind == NO_RUN:
            run = Run(None, event.where)
            run.agent, run.reason = "", event.text
            self.ended(self.begin(run))
        elif self.chapters and self.detail and (notice := notice_action(event)):
            self.notice(self.chapters[-1], notice)

    def begin(self, run: Run) -> Chapter:
        self.begun += 1
        self.chapters.append(Chapter(run, self.begun))
        return self.chapters[-1]

    def tell(
        self, part: Chapter, kind: str, text: str, at: int | None, images: Sequence[str] = ()
    ) -> None:
        # Claude repeats a prompt when it has begun to answer.
        first = kind == "asked" and {each.kind for each in part.steps} <= {"said", "thought"}
        if kind != "thought":
            part.title = title_of(text) if first else part.title or title_of(text)
        step = Step(kind=kind, text=shorten_text(text, MAX_WORDS), at=at)
        step.images = [*map(self.picture, images)]
        if text or images:
            self.put(part, step, first=first)

    def notice(self, part: Chapter, act: Action) -> None:
        """Add a notice; waits in a row are one."""
        before = part.steps[-1].act if part.steps else NO_ACTION
        if act.waits and before.waits:
            self.size -= part.steps.pop().size
            both = before.waits + act.waits, before.waited_ms + act.waited_ms
            act = api_wait(act.target, *both)
        self.put(part, Step(kind="done", act=act))

    def did(self, part: Chapter, call: FinishedCall) -> None:
        act = call.action if self.detail else call.label
        step = Step(kind="done", act=act, place=part.place(call))
        step.call, step.parent, step.tool = call.event.call_id, call.parent, call.tool
        if self.detail:
            step.took, step.span, step.details = call.duration_ms, call.span, self.details(call)
        self.put(part, step)

    def details(self, call: FinishedCall) -> dict[str, str]:
        """What the line of a call opens."""
        texts = {kind: CALL_DETAILS[kind](call) for kind in self.opens}
        return {
            kind: "\n".join(cut_lines(text, *most)) if (most := self.opens[kind]) else text
            for kind, text in texts.items()
            if text.strip()
        }

    def ended(self, part: Chapter) -> None:
        """Note that a run has ended."""
        part.notes.speech = Speech()  # its words are kept once
        self.size += CHAPTER_SIZE
        if len(self.chapters) > max(self.room // LEAST_CHAPTER, 2):
            self.drop()

    def put(self, part: Chapter, step: Step, *, first: bool = False) -> None:
        """Keep a step. What there will be no room for is left out."""
        part.steps.insert(0 if first else len(part.steps), step)
        self.size += step.size
        if self.size > 2 * self.room:
            self.fit(self.room / self.size)

    # What is left out.

    def fit(self, kept: float) -> bool:
        """Shrink the longest runs, so that this share (``kept``) of all is left; drop a run if none
        can shrink. Was anything left out?"""
        sizes = [part.size for part in self.chapters]
        longest, whole = sorted(sizes), sum(sizes)
        room = kept * whole
        while longest and longest[0] * len(longest) <= room:
            room -= longest.pop(0)
        most = itertools.repeat(room / max(len(longest), 1))
        self.size = sum(map(Chapter.shrink, self.chapters, sizes, most))
        if self.size == whole and self.begun > 1 and self.chapters:
            self.drop()
        return self.size < whole

    def drop(self) -> None:
        """Leave out a run: the last that succeeded, or the last."""
        over = [part for part in self.chapters if part.run not in self.open] or self.chapters
        last = max(reversed(over), key=lambda part: part.run.succeeded)
        self.chapters.remove(last)
        self.size -= last.size

    def report(self) -> bytes:
        """The report. What there is no room for is left out of the tree, until it fits."""
        text = self.render(self.chapters)
        while len(text) >= self.room and self.fit(0.99 * self.room / len(text)):  # "\n" ends it
            text = self.render(self.chapters)
        if len(text) >= self.room:
            self.notes.reporter.message(
                f"no report fits in --max-report {self.room}: this one has {len(text) + 1:,} bytes"
            )
        redaction: EventRedactor = self.notes.reporter.redaction
        return redaction.without_copies(text)


def change_words(file: FileChange) -> str:
    """What a run did to a file, as "+4 -2", or "new, +11"."""
    signed = (("+", file.added), ("-", file.removed))
    lines = " ".join(f"{sign}{count}" for sign, count in signed if count)
    word = {"created": "new", "edited": ""}.get(file.change, file.change)
    return ", ".join(filter(None, (word, lines)))


class Markdown(Document):
    """A report in Markdown. Of a run there is its verdict, the prompt, the answer, the files that
    it changed; and its steps in closed details: words as they stand, and actions as items, which a
    diff or a command of several lines is folded behind."""

    most = MAX_REPORT

    picture = staticmethod(image_name)

    @property
    def opens(self) -> Mapping[str, tuple[int, int]]:
        """What was run, a diff, and the end of what a failed command printed."""
        opens = {"sh": (DIFF_LINES, 0), "diff": (DIFF_LINES, 0)}
        return opens | {"printed": (0, self.view.tail)} if self.view.tail else opens

    def render(self, chapters: list[Chapter]) -> bytes:
        blocks = [*self.head(chapters)] if self.begun > 1 else []
        blocks += (block for part in chapters for block in self.chapter(part))
        return b"\n\n".join(map(encode_line, filter(None, blocks)))

    def head(self, chapters: list[Chapter]) -> Iterator[str]:
        """Of several runs their verdict, and a table of them."""
        total, rows = self.notes.total, [*map(self.row, chapters)]
        yield f"<h2>{GOOD if total.all_succeeded else BAD} {inline(verdict_of_all(total))}</h2>"
        if len(rows) < self.begun:
            rows.append(("", "", f"... and {plural(self.begun - len(rows), 'more run')}", "", ""))
        whose = "file" if self.view.headings else "agent"
        yield table(("run", whose, "about", "time", "actions"), rows, right=3)
        yield stated(facts_stated(total))

    def row(self, part: Chapter) -> Sequence[str]:
        """A run in the table of several."""
        run, totals = part.run, part.totals
        texts = inline(part.title), inline(excerpt_reason(run.reason or ""))
        about = " – ".join(filter(None, texts)) or inline(run.name)
        mark = GOOD if run.succeeded else BAD
        time = format_duration(totals.took).replace(" ", "\u00a0") if totals.took else ""
        sums = inline(join_facts((*facts_done(totals), totals.cost), ", "))
        file = code_html(cut_middle(run.file or run.where, FILE_COLUMNS))
        whose = file if self.view.headings else inline(run.agent)
        return f"{mark}\u00a0{run.number or '-'}", whose, about, time, sums

    def chapter(self, part: Chapter) -> Iterator[str]:
        """A run: the answer first, then what else there is, then the steps."""
        run, totals, steps = part.run, part.totals, part.tree()
        where, name = code_html(run.where), inline(part.name)
        named = f"{name} ({where})" if name and self.view.headings else name or where
        heads = named, verdict_of(totals), inline(excerpt_reason(run.reason or ""))
        yield f"<h3>{GOOD if run.succeeded else BAD} {': '.join(filter(None, heads))}</h3>"
        if part.asked:
            yield words_in_markdown(steps.pop(0))
        if answer := part.answer:
            yield words_in_markdown(answer)
        last = steps[-1] if steps else None
        if last and last is answer:
            steps.pop()
        elif last and last.failed and not run.succeeded:
            yield listed(self.item(steps.pop()))  # it shows why
        yield files_table(part.files, len(totals.files)) if part.files else ""
        missing = part.left_out()
        yield f"*{missing}*" if missing else ""
        if steps:
            yield f"<details><summary>{inline(join_facts(facts_done(totals)))}</summary>"
            yield from self.steps(steps)
            yield "</details>"
        yield stated((local_time(run.started_ms, DATE), *facts_stated(totals)))

    def steps(self, steps: Iterable[Step]) -> Iterator[str]:
        """Steps one below the other; calls make lists."""
        for done, some in itertools.groupby(steps, lambda step: step.kind == "done"):
            if done:
                yield listed(*(self.group(name, row) for name, row in in_groups(some)))
            else:
                yield from map(words_in_markdown, some)

    def group(self, name: str, steps: list[Step]) -> str:
        """A call, or many good ones, folded."""
        if not name:
            return self.item(steps[0])
        inside = listed(*map(self.item, steps))
        return f"<li><details><summary>{GOOD} {name}</summary>\n{inside}\n</details>"

    def item(self, step: Step) -> str:
        """A call; what it opens is folded behind it, but not what a failed command printed."""
        target, facts = code_html(brief(step.act.target)), inline(brief(step.outcome))
        words = STATE_MARKS[step.state], inline(step.act.short), target, facts and f"({facts})"
        line = join_facts(words, " ")
        folded = [fenced(*each) for each in step.details.items() if each[0] != "printed"]
        if folded:
            folded = [f"<details><summary>{line}</summary>", *folded, "</details>"]
        printed = step.details.get("printed")
        shown = [fenced("text", printed)] if printed else []
        return "<li>" + "\n\n".join((*(folded or [line]), *shown, *self.steps(step.below)))


def listed(*items: str) -> str:
    return "\n".join(("<ul>", *items, "</ul>"))


def words_in_markdown(step: Step) -> str:
    """Words; a long prompt is folded."""
    text = join_facts((step.text, *(f"[{image}]" for image in step.images)), "\n")
    if step.kind == "said":
        return said_in_markdown(text)
    quote = asked_in_markdown(text)
    if text.count("\n") < PROMPT_LINES and len(text) <= PROMPT_LINES * TITLE:
        return quote
    return f"<details><summary>{inline(title_of(text))}</summary>\n\n{quote}\n\n</details>"


def stated(facts: Iterable[str]) -> str:
    """Facts in small letters."""
    shown = join_facts(map(inline, facts))
    return f"<p><sub>{shown}</sub></p>" if shown else ""


def table(titles: Iterable[str], rows: Iterable[Iterable[str]], *, right: int) -> str:
    """A table; the column ``right`` is aligned right."""
    lines = ["<table>"]
    if head := "".join(f"<th>{title}" for title in titles):
        lines.append(f"<tr>{head}")
    for row in rows:
        cells = (f"<td{' align=right' * (at == right)}>{text}" for at, text in enumerate(row))
        lines.append(f"<tr>{''.join(cells)}")
    return "\n".join((*lines, "</table>"))


def files_table(files: Sequence[FileChange], count: int) -> str:
    """The files that a run changed, with their lines; many are folded."""
    rows = [(code_html(file.path), change_words(file)) for file in files]
    if count > len(files):
        rows.append((f"... and {plural(count - len(files), 'more file')}", ""))
    title, opened = f"{plural(count, 'file')} changed", "" if count > FILES_OPEN else " open"
    shown = table((), rows, right=1)
    return f"<details{opened}><summary>{title}</summary>\n{shown}\n</details>"


GOOD, BAD, RUNNING = "✅", "❌", "▶️"
STATE_MARKS = {"ok": GOOD, "bad": BAD, "running": RUNNING}


# ---------------------------------------------------------------- page
#
# A report as a page, on which the line of a call opens: what it was given, and what it returned.
# Its sheet, and its template, in which every value is escaped.
# Chapters in, HTML out. It must not know agents.


SHEET = """
:root { color-scheme: light dark;
  --paper: light-dark(#fff, #16181c); --wash: light-dark(#f5f6f7, #1f2228);
  --line: light-dark(#e3e5e8, #30343b); --ink: light-dark(#1c1f23, #dcdfe4);
  --soft: light-dark(#646b75, #949ba6); --link: light-dark(#0a5bc4, #7db3ff);
  --good: light-dark(#1a7f37, #57c878); --bad: light-dark(#b3261e, #ff8f85);
  --added: light-dark(#e6f5ea, #15301f); --cut: light-dark(#fcebea, #3a1d1d); }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { display: flex; flex-direction: column; max-width: 110rem; margin: 0 auto;
  padding: 1rem 1.5rem 4rem; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
pre, code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .5rem 0; padding: .6rem .8rem; border-radius: .4rem;
  white-space: pre-wrap; max-height: 32rem; overflow: auto; tab-size: 4; }
pre.given { padding: 0; background: none; color: var(--soft); }
:not(pre) > code { padding: .1em .25em; border-radius: .25rem; background: var(--wash); }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
nav ol { margin: 1rem 0 0; padding: 0; list-style: none; }
nav li a { display: flex; gap: .5rem; align-items: baseline; padding: .25rem 0; color: inherit;
  font-size: .9375rem; border-bottom: 1px solid var(--line); }
nav li a:hover { text-decoration: none; background: var(--wash); }
nav .title, .what { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav .title { flex: 1; }
.end { margin: 1.25rem 0 0; padding-top: .6rem; border-top: 1px solid var(--line);
  font-size: .875rem; }
.end :is(h1, h3) { display: inline; margin: 0 .5rem 0 0; font-size: inherit; color: var(--good); }
.end a { color: inherit; } main > .end { margin: 0; padding: 0; border: 0; }
.end h1 { display: block; font-size: 1.375rem; font-weight: 650; line-height: 1.4; }
.end.bad :is(h1, h3), .bad > .mark, .bad > * > .mark, .why, .bad > .what b, .bad > * > .what b {
  color: var(--bad); }
.end .why, .about { display: block; white-space: pre-wrap; } .about { color: var(--soft); }
.links { position: relative; font-size: .8125rem; color: var(--soft); }
.time, .cost, time { color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
nav .time, nav .cost { min-width: 3.5rem; text-align: right; }
nav span:is(.file, .cost):empty { display: none; }
.fact { color: var(--soft); }
.act.bad > .fact, .act.bad > summary > .fact { color: var(--bad); }
.mark { flex: none; width: 1rem; color: var(--good); }
.running > .mark, .running > * > .mark { color: var(--soft); }
.note { font-style: italic; } .file { color: var(--soft); }
.run { display: flex; flex-direction: column; margin: 0 -1.25rem; padding: 2.25rem 1.25rem 0;
  content-visibility: auto; contain-intrinsic-size: auto 50rem; }
.run > header { display: flex; flex-wrap: wrap; justify-content: space-between;
  gap: 0 1rem; margin-bottom: .25rem; border-top: 2px solid var(--ink); padding-top: .5rem; }
h2 { margin: 0; font-size: .8125rem; font-weight: 400; } h2 a { color: var(--soft); }
.words, .prompt, .links { margin: .75rem 0; } .words, .prompt, pre { unicode-bidi: plaintext; }
.prompt { padding-left: 1rem; border-left: 3px solid var(--link); font-weight: 500;
  white-space: pre-wrap; max-height: 16rem; overflow: auto; }
.prompt, .why, pre:not(.given) { background: no-repeat local 0 100% / 100% 2.5rem
  linear-gradient(#0000, var(--ground) 50%), no-repeat 0 calc(100% - 1px) / 100% 1rem
  linear-gradient(#0000, var(--line)) var(--ground); }
.prompt, .why { --ground: var(--paper); } pre { --ground: var(--wash); }
.words > :is(p, ul, ol, blockquote), .prompt { max-width: 52rem; }
:is(.words, .prompt) > time { float: right; margin: 0 max(0px, 100% - 52rem) 0 1rem;
  line-height: 1.6rem; }
.words :is(h3, h4, h5, h6) { margin: 1.25em 0 .4em; font-size: 1.0625em; }
.words :is(p, ul, ol, table, blockquote) { margin: .6rem 0; }
.words :is(ul, ol) { padding-left: 1.4rem; } .words li > :is(ul, ol) { margin: 0; }
.words > :is(:first-child, time + *) { margin-top: 0; } .words > :last-child { margin-bottom: 0; }
blockquote { padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .875rem; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
.right { text-align: right; } hr { border: 0; border-top: 1px solid var(--line); }
.act, .thought { margin-left: -1rem; padding-left: 1rem; font-size: .875rem; line-height: 1.5;
  content-visibility: auto; contain-intrinsic-size: auto 1.6rem; }
.act > summary, div.act { position: relative; display: grid; padding-block: .15rem;
  grid-template-columns: 1rem minmax(0, 1fr) auto var(--bar, auto) minmax(5.25rem, auto);
  gap: 0 .5rem; align-items: baseline; }
:is(.act, .thought, .links) > summary::before { content: "›"; content: "›" / "";
  position: absolute; left: -.9rem; color: var(--soft); }
:is(.act, .thought, .links)[open] > summary::before { rotate: 90deg; }
.act:not(.bad):has(.bad) > summary::before { color: var(--bad); font-weight: 700; }
.act > summary:hover { background: var(--wash); }
.what b { font-weight: 400; } .what code { padding: 0; background: none; }
[open] > summary > .what { white-space: normal; }
.act .fact { grid-column: 3; white-space: nowrap; }
.act .time { grid-column: 5; text-align: right; }
.act .why { grid-column: 2 / -1; grid-row: 2; white-space: pre-wrap; max-height: 9rem;
  overflow: auto; }
.act .tail { grid-column: 2 / -1; grid-row: 3; white-space: pre-wrap; color: var(--soft);
  font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
[open] > summary > .tail { display: none; }
img { display: block; align-self: start; max-width: 100%; max-height: 40rem; margin: .5rem 0;
  border: 1px solid var(--line); }
html:has(:target) :is(.run, .act, .thought) { content-visibility: visible; }
:target:not(.run) { outline: 2px solid var(--link); outline-offset: -2px; }
.inside { margin: .1rem 0 .75rem 1.5rem; scroll-margin-top: 6rem; }
.below { padding-left: 1.25rem; border-left: 1px solid var(--line); }
.thought { position: relative; margin: .5rem 0 .5rem -1rem; color: var(--soft); }
.diff > * { display: block; margin: 0 -.8rem; padding: 0 .8rem; text-decoration: none; }
.diff ins { background: var(--added); } .diff del { background: var(--cut); }
.diff b { color: var(--soft); font-weight: 400; }
.when { grid-column: 4; align-self: center; width: 10rem; height: .375rem; background: var(--wash);
  border-radius: .2rem; } .when rect { fill: var(--soft); rx: .1rem; }
.bad > .when rect, .bad > * > .when rect { fill: var(--bad); } .run:has(.when) { --bar: 10rem; }
.first, .next { position: fixed; z-index: 1; top: .6rem; right: 1rem; padding: .1rem .6rem;
  border-radius: 1rem; background: var(--bad); color: var(--paper); font-size: .8125rem; }
.next { display: none; } :target > .next { display: block; }
html:has(.act :target, .act:target) .first { visibility: hidden; }
@media (max-width: 40rem) {
  main { padding: 1rem 1.25rem 3rem; } .first + .end h1 { padding-right: 6rem; }
  .what { white-space: normal; }
  .act > summary, div.act { grid-template-columns: 1rem 1fr auto; } .when { display: none; }
  .act .fact { grid-column: 2 / -1; grid-row: 2; white-space: normal; }
  .act .time { grid-column: 3; }
  nav li a { flex-wrap: wrap; } .file { flex: 1; }
  .file:not(:empty) ~ .title { order: 1; flex: 0 0 100%; padding-left: 1.5rem; }
  .inside { margin-left: .25rem; } }
@media print {
  :root { color-scheme: light; }
  body { font-size: 10pt; }
  .first, .next { visibility: hidden; }
  .run, .act, .thought { content-visibility: visible; }
  pre, .prompt { max-height: none; } }
"""

PAGE = """\
{%- macro clock(at) %}
{% if at|local(MINUTE) %}<time datetime="{{ at|utc }}">{{ at|local(MINUTE) }}</time>{% endif %}
{% endmacro -%}

{%- macro pictures(addresses) %}
{% for each in addresses %}<img src="{{ each }}" alt="{{ each|image }}">{% endfor %}
{% endmacro -%}

{%- macro opened(kind, text) %}
{% if kind == "prompt" %}<div class="prompt">{{ text|linked }}</div>
{% elif kind == "words" %}<div class="words">{{ text|words }}</div>
{% elif kind == "images" %}{{ pictures(text.split("\\n")) }}
{% elif kind == "diff" %}<pre class="diff">
{%- for sign, lines in text|diff %}<{{ sign }}>{{ lines }}</{{ sign }}>{% endfor %}</pre>
{% else %}<pre{% if kind == "given" %} class="given"{% endif %}>{{ text }}</pre>
{% endif %}
{% endmacro -%}

{%- macro line(step, scale) %}
<span class="mark">{{ MARKS[step.state] }}</span>
<span class="what"><b>{{ step.act.short }}</b>
{%- if step.act.target %} <code>{{ step.act.target|brief }}</code>{% endif %}</span>
{% set facts = step|facts %}
{% if facts %}<span class="{{ 'why' if facts|long else 'fact' }}">{{ facts }}</span>{% endif %}
{% if step.span and scale %}{% set x, width = step.span|bar(scale) %}
<svg class="when" aria-hidden="true"><rect x="{{ x }}%" width="{{ width }}%" height="100%"/></svg>
{% endif %}
{% if step.place %}<a class="time" href="#{{ step.place }}">
{{- step|took or "#" ~ step.place }}</a>{% endif %}
{% set tail = page.last_lines(step) %}
{% if tail %}<span class="tail">{{ tail }}</span>{% endif %}
{% endmacro -%}

{%- macro next(step) %}
{% if step.place and step.place in following %}
<a class="next" href="#{{ following[step.place] }}">next failure</a>{% endif %}
{% endmacro -%}

{%- macro done(step, scale) %}
{% if step.details or step.below %}
<details class="act {{ step.state }}"><summary>{{ line(step, scale) }}</summary>
<div class="inside"{% if step.place %} id="{{ step.place }}"{% endif %}>{{ next(step) }}
{% for kind, text in step.details.items() if kind == "prompt" %}{{ opened(kind, text) }}{% endfor %}
{% if step.below %}<div class="below">{{ steps(step.below, scale) }}</div>{% endif %}
{% for kind, text in step.details.items() if kind != "prompt" %}{{ opened(kind, text) }}{% endfor %}
</div></details>
{% else %}
<div class="act {{ step.state }}"{% if step.place %} id="{{ step.place }}"{% endif %}>
{{- line(step, scale) }}{{ next(step) }}</div>
{% endif %}
{% endmacro -%}

{%- macro one(step, scale) %}
{% if step.kind == "done" %}{{ done(step, scale) }}
{% elif step.kind == "asked" %}
{% if step.text %}<div class="prompt">{{ clock(step.at) }}{{ step.text|linked }}</div>{% endif %}
{{ pictures(step.images) }}
{% elif step.kind == "said" %}<div class="words">{{ clock(step.at) }}{{ step.text|words }}</div>
{% else %}
<details class="thought"><summary>{{ step.text|title or "Thoughts" }}</summary>
<div class="inside words">{{ step.text|words }}</div></details>
{% endif %}
{% endmacro -%}

{%- macro steps(some, scale) %}
{% for name, group in some|groups %}
{% if name %}
<details class="act ok"><summary><span class="mark">{{ MARKS.ok }}</span>
<span class="what">{{ name }}</span></summary>
<div class="below">{% for step in group %}{{ one(step, scale) }}{% endfor %}</div></details>
{% else %}{{ one(group[0], scale) }}
{% endif %}
{% endfor %}
{% endmacro -%}

{%- macro ending(good, verdict, totals, part=None, linked=False) %}
{% set state = "ok" if good else "bad" %}
<div class="end {{ state }}">
{% if linked %}<h3><a href="#{{ part.number }}">{{ MARKS[state] }} {{ verdict }}</a></h3>
{% else %}<h1>{{ MARKS[state] }} {{ verdict }}</h1>{% endif %}
{% if part and part.run.reason %}<span class="why">{{ part.run.reason }}</span>{% endif %}
<span class="fact">{{ totals|counts }}</span>
{% if part %}<span class="about">{{ part.notes.cwd }}</span>{% endif %}
</div>
{% endmacro -%}

{%- macro ended(part, linked) %}
{{ ending(part.run.succeeded, part.totals|verdict, part.totals, part, linked) }}
{% endmacro -%}

<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>{{ runs[0][0].about if runs else "agentfmt" }}</title>
<style>{{ SHEET }}</style>
<main>
{% if following[""] %}<a class="first" href="#{{ following[''] }}">first failure</a>{% endif %}
{% if begun == 1 and runs %}{{ ended(runs[0][0], False) }}
{% else %}{{ ending(total.all_succeeded, verdict, total) }}{% endif %}
{% if begun > 1 %}
<nav><ol>
{% for part, _ in runs %}
{% set state = "ok" if part.run.succeeded else "bad" %}
<li class="{{ state }}"><a href="#{{ part.number }}"><span class="mark">{{ MARKS[state] }}</span>
<span class="file">{{ part.run|file if several }}</span><span class="title">{{ part.about }}</span>
<span class="time">{{ part.totals|took }}</span><span class="cost">{{ part.totals.cost }}</span>
</a></li>
{% endfor %}
{% set more = begun - runs|length %}
{% if more %}<li>... and {{ more|plural("more run") }}</li>{% endif %}
</ol></nav>
{% endif %}
{% for part, tree in runs %}
<section class="run" id="{{ part.number }}">
<header><h2><a href="#{{ part.number }}">{{ part.name or part.run.where }}
{%- if part.name %}: {{ part.run if several else part.run.name }}{% endif %}</a></h2>
{% set began = part.run.started_ms|local(DATE) %}
{% if began %}<time datetime="{{ part.run.started_ms|utc }}">{{ began }}</time>{% endif %}
</header>
{% if part.asked %}{{ one(part.asked, None) }}{% endif %}
{% set places, more = part|places, part.totals.files|length - part.files|length %}
{% if part.files %}<details class="links"{% if part.totals.files|length <= FILES_OPEN %} open
{%- endif %}><summary>{{ part.totals.files|length|plural("file") }} changed</summary>
{% for file in part.files %}
{% if file.path in places %}<a href="#{{ places[file.path] }}">{{ file.path }}</a>
{%- else %}{{ file.path }}{% endif %}{% if file|change %} {{ file|change }}{% endif %}
{%- if not loop.last %}, {% endif %}
{% endfor %}{% if more %}, {{ more }} more{% endif %}</details>{% endif %}
{% if part.left_out() %}<p class="note">{{ part.left_out() }}</p>{% endif %}
{% set scale = part|scale %}
{% for name, group in (tree[1:] if part.asked else tree)|groups %}
{{ steps(group, scale) }}
{% endfor %}
{% if begun > 1 %}{{ ended(part, True) }}{% endif %}
</section>
{% endfor %}
</main></html>
"""


@functools.cache
def page_template() -> Any:
    """The template of a page. Its import takes as long as all others together."""
    import jinja2
    from markupsafe import Markup

    def safe(value: Any) -> Any:
        return value if isinstance(value, Markup) else Markup(escape_html(str(value)))

    env = jinja2.Environment(
        autoescape=True, finalize=safe, trim_blocks=True, lstrip_blocks=True, optimized=False,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    env.filters |= FILTERS | {
        "words": lambda text: Markup(words_html(text)),
        "linked": lambda text: Markup(
            without_commands(linked(show_controls(text), for_github=False))
        ),
    }
    env.globals |= {
        "MARKS": STATES, "MINUTE": "%H:%M", "DATE": DATE, "SHEET": Markup(SHEET),
        "FILES_OPEN": FILES_OPEN,
    }  # fmt: skip
    return env.from_string(PAGE)


def diff_parts(diff: str) -> Iterator[tuple[str, str]]:
    """What was added and removed, as elements of that meaning."""
    for sign, lines in itertools.groupby(diff.split("\n"), lambda line: line[:1]):
        yield SIGNS.get(sign, "span"), "".join(f"{line}\n" for line in lines)


def facts_beside(step: Step) -> str:
    """How a call ended, but for its time, which stands beside."""
    known = ("0 ms", time_beside(step))
    return ", ".join(fact for fact in step.outcome.split(", ") if fact not in known)


def time_beside(step: Step | Totals) -> str:
    return format_duration(step.took) if step.took else ""


def time_scale(part: Chapter) -> tuple[int, int] | None:
    """When the time of a run began and how long it is, unless no call took a while."""
    spans = [step.span for step in part.steps if step.span]
    if all(until - since < SLOW_MS for since, until in spans):
        return None
    began = min(part.run.started_ms or spans[0][0], *(since for since, _ in spans))
    return began, max(began + part.totals.took, *(until for _, until in spans)) - began


def time_bar(span: tuple[int, int], scale: tuple[int, int]) -> tuple[str, str]:
    """A call's bar on its run's time scale: left and width in percent."""
    since, until = span
    began, whole = scale
    width = max(100 * (until - since) / whole, 1)
    return f"{min(100 * (since - began) / whole, 100 - width):.1f}", f"{width:.1f}"


def places_of(part: Chapter) -> dict[str, str]:
    """Where the files were changed first."""
    changes = (step for step in reversed(part.steps) if step.tool in CHANGING_TOOLS)
    return {step.act.target: step.place for step in changes}


STATES = {"ok": CHECK_MARK, "bad": CROSS_MARK, "running": BEGIN_MARK}
SIGNS = {"+": "ins", "-": "del", "@": "b"}
FILTERS: dict[str, Any] = {
    "bar": time_bar, "brief": brief, "change": change_words,
    "counts": lambda totals: join_facts(facts_of(totals)), "diff": diff_parts,
    "facts": facts_beside, "file": lambda run: cut_middle(run.file or run.where, FILE_COLUMNS),
    "groups": in_groups, "image": image_name, "local": local_time,
    "long": lambda facts: len(facts) > 36 or "\n" in facts,
    "places": places_of, "plural": plural, "scale": time_scale, "took": time_beside,
    "title": title_of, "utc": lambda at: f"{utc(at):%Y-%m-%dT%H:%M:%SZ}",
    "verdict": lambda totals: verdict_of(totals).capitalize() or "No run",
}  # fmt: skip


MIDDLE_CUT = PAGE_LINES, PAGE_TAIL
PAGE_DETAILS = {
    "prompt": None, "sh": MIDDLE_CUT, "diff": MIDDLE_CUT, "given": MIDDLE_CUT,
    "words": None, "images": None, "text": MIDDLE_CUT,
}  # fmt: skip


class Page(Document):
    """A report as a page of HTML: it lets no script run and fetches nothing."""

    most, thinking = MAX_PAGE, True
    options = Document.options | {"thinking"}
    picture, opens = str, PAGE_DETAILS

    def render(self, chapters: list[Chapter]) -> bytes:
        total = self.notes.total
        failed = (
            step.place
            for part in chapters
            for step in part.steps
            if step.state == "bad" and step.place
        )
        pieces = page_template().stream(
            page=self, runs=[(part, part.tree()) for part in chapters], begun=self.begun,
            policy=page_policy(), total=total, several=self.view.headings,
            verdict=verdict_of_all(total) if self.begun else "No run",
            following={"": ""} | dict(itertools.pairwise(("", *failed))),
        )  # fmt: skip
        pieces.enable_buffering(1000)  # or each piece of a line would take memory of its own
        return b"".join(map(encode_line, pieces))

    def last_lines(self, step: Step) -> str:
        """The last that a failed call printed, beside its line."""
        text = step.details.get("text", "") if step.state == "bad" else ""
        return "\n".join(cut_lines(text, last=self.view.tail)) if text and self.view.tail else ""


def page_policy() -> str:
    """What a page may do: nothing, but have its own sheet and the images that it holds."""
    import base64
    import hashlib

    digest = base64.b64encode(hashlib.sha256(SHEET.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    return f"{policy}; form-action 'none'"


# ---------------------------------------------------------------- outputs
#
# A class for each other output: json, stream-json and cursor, tables of runs and of calls.
# Events in, lines out, a block in one write. It must not know agents.


class Json(Writer):
    """The result of each successful run as one object: Cursor's `--output-format json`."""

    event_type, words, noted = SpokenEvent, True, False

    # Cursor's order of members; all others follow.
    ORDER = "type subtype is_error duration_ms duration_api_ms result session_id request_id".split()

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        speaker, say = None, Speech().say
        for event in events:
            run = event.run
            if event.type == "assistant":
                if run and run is not speaker:
                    speaker, say = run, notes_of(run).speech.say
                say(event)
            elif event.type in SEGMENT_ENDS and run:
                notes_of(run).speech.cut()
                if event.type == "result" and run.succeeded and not event.unprinted:
                    yield self.result(event, run)

    def result(self, event: Event, run: Run) -> bytes:
        own = {**details(event), "type": "result", "subtype": "success", "is_error": False}
        for name in ("converted_from", "unnamed_session"):
            own.pop(name, None)
        for key in ("duration_ms", "duration_api_ms"):
            own[key] = own[key] if type(own.get(key)) in (int, Number) else None
        if type(own.get("result")) is not str:
            own["result"] = notes_of(run).speech.text()
        if type(own.get("session_id")) is not str:
            own["session_id"] = run.label
        if own.get("request_id") is None:
            own.pop("request_id", None)
        return encode_json(
            {key: own[key] for key in dict.fromkeys((*self.ORDER, *own)) if key in own}
        )


class CursorLines(Writer):
    """The line of each event, in Cursor's vocabulary."""

    thinking = words = True
    noted = False
    options = Writer.options | {"thinking"}

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        return (event.raw.strip() for event in events if not event.unprinted)


class StreamJson(CursorLines):
    """The input's own lines: each once, if an event of it is not hidden."""

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        last = None
        for event in events:
            line = event.original or event
            if not event.unprinted and line is not last:
                last = line
                yield line.raw.strip()


class Table(Follower):
    """Rows about runs or calls, each an object; on a terminal a table of some of their members."""

    columns: ClassVar[tuple[Column, ...]]

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.prose = view.out.fd is not None
        self.grid = Grid(view.out, self.columns) if self.prose else None

    def add(self, row: Mapping[str, Any]) -> None:
        self.made += self.grid.encode([row]) if self.grid else (encode_json(row),)

    def outside(self, event: Event) -> None:
        if self.grid and event.kind == IMPLIED:
            self.made += self.grid.encode((), over=True)


class RunTable(Table):
    """A table of the runs: a row for each at its end, whatever its verdict."""

    acts = chat = False
    options = Writer.options | {"messages"}
    columns = (
        Column("verdict", 10), Column("agent", 11),
        Column("session prompt reason", 0, "prompt or reason"),
        Column("duration_ms", 11, "time", format_duration), Column("actions", 7, "", grouped),
        Column("failures", 6, "failed", grouped), Column("cost_usd", 12, "cost", format_cost),
        Column("tokens_in", 9, "in", grouped), Column("tokens_out", 9, "out", grouped),
        Column("location", 48),
    )  # fmt: skip

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        notes.reporter.shows_failures = self.prose and view.err.fd is not None
        self.words = self.final = view.messages == "final"

    def outside(self, event: Any) -> None:
        if event.kind == NO_RUN:  # a row for a FILE without a run
            row = row_of(Record(Run(None, event.where)))
            stated = {"verdict": "none", "reason": event.text, "failure": event.subtype}
            self.add(row | {"run": None, "agent": None} | stated)
        super().outside(event)

    def follow(self, event: Any, record: Record) -> None:
        if event.type == "user" and event.parent_tool_use_id is None and not record.prompt:
            record.prompt = words_of(event).strip().partition("\n")[0][:MAX_TARGET]
        super().follow(event, record)

    def tell(self, record: Record, _kind: str, text: str, *_: Any) -> None:
        record.reply = text

    def ended(self, record: Record) -> None:
        self.add(row_of(record))


def row_of(record: Record) -> dict[str, Any]:
    """What is known of a run, whatever its verdict."""
    run, notes, totals = record.run, record.notes, record.notes.totals
    numbers = totals.stated
    counts = collections.Counter(totals.actions) + collections.Counter(totals.nested)
    tools = [
        {"tool": name, "actions": number, "failures": totals.failures.get(name, 0)}
        for name, number in counts.items()
    ]
    return {
        "session": run.label,
        "run": run.number,
        "agent": run.agent,
        "model": totals.model or None,
        "models": [{"model": name, **took} for name, took in totals.models.items()],
        "prompt": record.prompt or None,
        "verdict": totals.verdict,
        "reason": run.reason,
        "failure": run.failure,
        "retry_after_ms": retry_after(run.reason or "") or run.retry_ms,
        "location": run.where,
        "started_ms": run.started_ms,
        "started": iso_time(run.started_ms),
        "duration_ms": numbers.get("duration_ms"),
        "turns": numbers.get("turns"),
        "actions": sum(counts.values()),
        "failures": sum(totals.failures.values()),
        "tools": tools,
        "files": [*totals.files.values()],
        **{name: numbers.get(name) for name in TOKEN_WORDS},
        "cost_usd": numbers.get("cost_usd"),
        "answer": record.reply or None,
        "cwd": notes.cwd or None,
    }


class CallTable(Table):
    """A table of the calls: a row for each at its end, or at the end of its run."""

    sums = words = chat = False
    event_type = Event
    columns = (
        Column("status", 10), Column("tool", 12), Column("target", 0),
        Column("duration_ms", 10, "time", format_duration), Column("outcome", 24),
        Column("location", 48),
    )  # fmt: skip

    def __init__(self, view: View, notes: Notes) -> None:
        super().__init__(view, notes)
        self.going: dict[Any, dict[str, Any]] = {}  # rows of commands in the background, by call

    def follow(self, event: Event, record: Record) -> None:
        self.end_background(event)
        super().follow(event, record)

    def outside(self, event: Event) -> None:
        self.end_background(event)
        while self.going and event.kind == IMPLIED:
            self.add(self.going.pop(next(iter(self.going))))
        super().outside(event)

    def end_background(self, event: Event) -> None:
        """What goes on in the background waits for the notice of its end, which may be the last
        line of all: whether it was stopped is stated nowhere else."""
        key = event.session_id, event.call_id
        if event.subtype == "task_notification" and key in self.going:
            row, status = self.going.pop(key), as_text(details(event).get("status"))
            failed = {"status": "error", "outcome": status}
            self.add(row if status in WENT_WELL else row | failed)

    def did(self, _kept: Record, call: FinishedCall) -> None:
        row, key = self.row(call), (call.event.session_id, call.event.call_id)
        if call.status == STILL_OPEN:
            self.add(row | {"outcome": None})
        elif call.begun and row["tool"] == "shell" and key not in self.going:
            self.going[key] = row
            if len(self.going) > MAX_NAMES:
                self.add(self.going.pop(next(iter(self.going))))
        else:
            self.add(row)

    def ended(self, record: Record) -> None:
        """Its calls are told."""

    def row(self, call: FinishedCall) -> dict[str, Any]:
        event, begun = call.event, call.start.event
        changes = call.tool in CHANGING_TOOLS and call.status == "ok"
        added, removed = line_counts(call) if changes else (None, None)
        return {
            "session": event.run.label,
            "run": event.run.number,
            "agent": event.run.agent,
            "call_id": event.call_id,
            "tool": call.tool,
            "name": call.name,
            "target": call.action.target or None,
            "status": call.status,
            "outcome": call.action.outcome or None,
            "exit_code": call.exit_code,
            "lines_added": added,
            "lines_removed": removed,
            "started_ms": call.started_ms,
            "started": iso_time(call.started_ms),
            "duration_ms": call.duration_ms,
            "parent": call.parent,
            "location": (begun or event).where,
            "cwd": call.cwd or None,
        }


# ---------------------------------------------------------------- traces
#
# OpenTelemetry with the conventions for GenAI: a span for each run, and for each of its calls.
# Events in, requests in OTLP/JSON out. It must not know agents.

# https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
# https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/ (of 2026: Development)
TRACEPARENT = regex(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
MAX_SPANS = 500  # in a request: a run of a day has more calls than a memory should hold
INTERNAL, FAILED_SPAN = 1, 2  # kinds and statuses of spans


def any_value(value: Any) -> dict[str, Any]:
    """A value as OTLP's AnyValue: integers are strings in its JSON."""
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def attributes(members: Mapping[str, Any]) -> list[dict[str, Any]]:
    items = known_members(members).items()
    return [{"key": name, "value": any_value(value)} for name, value in items]


class Trace(Record):
    """The spans of a run that are not written yet. IDs are made of what the run's lines say, so
    that they are the same each time."""

    def __init__(self, run: Run, parent: tuple[str, str] | None) -> None:
        super().__init__(run)
        self.key = "\0".join(map(str, (run.session, run.where, run.number, run.first_ms)))
        self.trace_id = parent[0] if parent else self.identity("trace", 32)
        self.root, self.parent = self.identity("run", 16), parent[1] if parent else None
        # When the last thing happened, in milliseconds since 1970, as lines state it.
        self.last: int | None = None
        self.ids: dict[str | None, int] = {}  # calls -> how many before them had the same ID
        self.above: dict[str | None, str] = {}  # nested calls -> those of their sub-agents
        self.spans: list[dict[str, Any]] = []
        self.told: dict[str, list[str]] = {"asked": [], "said": []}

    def identity(self, name: str, size: int) -> str:
        import hashlib

        return hashlib.sha256(f"{self.key}\0{name}".encode("utf-8", "replace")).hexdigest()[:size]

    def id_of(self, call: str | None) -> str:
        return self.identity(f"call\0{call or ''}\0{self.ids.get(call, 0)}", 16)

    def nest(self, call: str | None, parent: str | None, calls: Container[str | None]) -> str:
        """The span above a call's: its parent's, if that is known and isn't below the call itself,
        which would be an endless loop for readers; else the run's."""
        at = parent
        while at is not None and at != call:
            at = self.above.get(at)
        if parent is None or at == call or not (parent in calls or parent in self.ids):
            return self.root
        self.above[call] = parent
        return self.id_of(parent)

    def add(
        self, name: str, ids: tuple[str, str | None], span: tuple[int, int],
        told: Mapping[str, Any], failure: str | None,
    ) -> None:  # fmt: skip
        """Add a span; ``ids``: its own and its parent's; ``span``: milliseconds since 1970;
        ``failure``: why it failed, None if it did not."""
        since, until = (str(milliseconds * 1_000_000) for milliseconds in span)
        status = {} if failure is None else {"code": FAILED_SPAN, "message": failure}
        made = {
            "traceId": self.trace_id, "spanId": ids[0], "name": name, "kind": INTERNAL,
            "parentSpanId": ids[1], "startTimeUnixNano": since, "endTimeUnixNano": until,
            "attributes": attributes(told), "status": status,
        }  # fmt: skip
        self.spans.append(known_members(made))


class Otlp(Follower):
    """A request for a collector at the end of each run (ExportTraceServiceRequest); a long run has
    several. The contents of prompts, words and calls only with ``-m all``."""

    hides = True
    options = Writer.options | {"messages", "messages all"}

    def begin(self, run: Run) -> Trace:
        found = TRACEPARENT.fullmatch(os.environ.get("TRACEPARENT", ""))
        return Trace(run, (found[1], found[2]) if found else None)

    def tell(self, trace: Trace, kind: str, text: str, *_: Any) -> None:
        trace.told.setdefault(kind, []).append(text)

    def follow(self, event: Any, trace: Trace) -> None:
        trace.last = max(filter(None, (trace.last, line_time(event))), default=None)
        super().follow(event, trace)
        if len(trace.spans) >= MAX_SPANS:
            self.part(trace)

    def time_of(self, trace: Trace, first: int | None, took: int, since: float) -> tuple[int, int]:
        """When a call or a run began and ended: as lines state it; else a saved FILE has ended when
        it was last changed, and what is live ends now. These are never mixed in a run."""
        if first is None and trace.last is not None:
            first = trace.last - took
        if first is not None:
            return first, max(first + took, trace.last or first)
        if end := self.last.saved.get(trace.run.file):
            return end - took, end
        now, clock = round(time.time() * 1000), round(1000 * (time.monotonic() - since))
        return now - max(took, clock), now

    def did(self, trace: Trace, call: FinishedCall) -> None:
        identity = call.event.call_id
        trace.ids[identity] = trace.ids.get(identity, -1) + 1
        above = trace.nest(identity, call.parent, trace.notes.calls)
        since = call.start.started_at or time.monotonic()
        span = call.span or self.time_of(trace, call.started_ms, call.duration_ms or 0, since)
        if call.span:
            trace.last = max(call.span[1], trace.last or 0)
        command = call.arguments.get("command") if call.tool == "shell" else None
        fields = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": identity,
            "gen_ai.tool.type": "extension" if call.tool == "mcp" else "function",
            "error.type": None if call.status == "ok" else call.status,
            "process.command_line": command if isinstance(command, str) else None,
            "process.exit.code": call.exit_code,
            "agentfmt.tool": call.tool,
        }
        if self.view.messages == "all":
            fields["gen_ai.tool.call.arguments"] = encode_json(call.arguments).decode()
            fields["gen_ai.tool.call.result"] = call.returned[:MAX_WORDS] or None
        ids = trace.id_of(identity), above
        why = None if call.status == "ok" else call.action.outcome or call.status
        trace.add(f"execute_tool {call.name}", ids, span, fields, why)

    def ended(self, trace: Trace) -> None:
        run, totals = trace.run, trace.notes.totals
        stated, failure = totals.stated, run.failure
        span = self.time_of(trace, run.started_ms, totals.took, trace.notes.since)
        fields = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": run.agent,
            "gen_ai.conversation.id": run.label,
            "gen_ai.request.model": totals.model or None,
            "gen_ai.usage.input_tokens": totals.tokens_read,
            "gen_ai.usage.output_tokens": stated.get("tokens_out"),
            "gen_ai.usage.cache_read.input_tokens": stated.get("tokens_cached"),
            "gen_ai.usage.cache_creation.input_tokens": stated.get("tokens_cache_written"),
            "error.type": failure,
            "agentfmt.run": run.number,
            "agentfmt.cost_usd": stated.get("cost_usd"),
            "agentfmt.turns": stated.get("turns"),
        }
        if self.view.messages == "all":
            reason = "error" if failure else "stop"
            fields["gen_ai.input.messages"] = messages_of(trace.told["asked"], role="user")
            fields["gen_ai.output.messages"] = messages_of(
                trace.told["said"], role="assistant", finish_reason=reason
            )
        ids, why = (trace.root, trace.parent), (run.reason or failure) if failure else None
        trace.add(f"invoke_agent {run.agent}", ids, span, fields, why)
        self.part(trace)

    def part(self, trace: Trace) -> None:
        """A request with the spans so far."""
        spans, trace.spans = trace.spans, []
        scope = {"scope": {"name": "agentfmt", "version": __version__}, "spans": spans}
        resource = {"attributes": attributes({"service.name": trace.run.agent})}
        parts = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
        self.made.append(without_halves(parts))


def without_halves(value: Any) -> bytes:
    """A value as JSON that any reader takes: half a character, which UTF-8 can't encode, is
    replaced."""
    return LONE_SURROGATE.sub(rb"\1\\ufffd", encode_json(value))


LONE_SURROGATE = regex(rb"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")


def messages_of(texts: Iterable[str], **more: str) -> str | None:
    """A message as the conventions have it, in JSON; None if nothing was said."""
    parts = [{"type": "text", "content": text[:MAX_WORDS]} for text in texts if text.strip()]
    return encode_json([{"parts": parts, **more}]).decode() if parts else None


# ---------------------------------------------------------------- trajectories
#
# Harbor's Agent Trajectory Interchange Format: what was said and done, step by step.
# Events in, a document for each run out. It must not know agents.

ATIF = "ATIF-v1.8"  # https://www.harborframework.com/docs/agents/trajectory-format


class Trajectory(Record):
    """The documents of an agent and its sub-agents that are not written yet, by their calls."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.name, self.version = f"{run.label or 'run'}-{run.number}", "unknown"
        self.documents: dict[str | None, dict[str, Any]] = {}

    def steps(self, there: str | None) -> list[dict[str, Any]]:
        if there not in self.documents:
            identity = self.name if there is None else f"{self.name}/{there}"
            agent = {"name": "subagent", "version": "unknown"}
            made = {"schema_version": ATIF, "trajectory_id": identity, "agent": agent, "steps": []}
            self.documents[there] = made
        return cast("list[dict[str, Any]]", self.documents[there]["steps"])

    def step(
        self, there: str | None, source: str, at: int | None, text: str = ""
    ) -> dict[str, Any]:
        steps = self.steps(there)
        step = {"step_id": len(steps) + 1, "source": source, "timestamp": iso_time(at)}
        steps.append(known_members(step) | {"message": text})
        return steps[-1]

    def agent_step(self, there: str | None, at: int | None, *, speaks: bool) -> dict[str, Any]:
        """The step in which the agent speaks, or calls a tool: calls follow their words."""
        last = (self.steps(there) or [{}])[-1]
        goes_on = last.get("source") == "agent" and not (speaks and "tool_calls" in last)
        return last if goes_on else self.step(there, "agent", at)

    def tell(self, there: str | None, kind: str, text: str, at: int | None) -> None:
        if kind == "asked":
            self.step(there, "user", at, text)
        elif text:
            member = "message" if kind == "said" else "reasoning_content"
            step = self.agent_step(there, at, speaks=True)
            step[member] = "\n\n".join(filter(None, (step.get(member), text)))


class Atif(Follower):
    """A document for each run, with its sub-agents' documents in it."""

    thinking = hides = True
    options = frozenset(("ci-safe", "thinking"))
    begin = Trajectory
    KINDS: ClassVar = {"user": "asked", "assistant": "said", "thinking": "thought"}

    def follow(self, event: Any, record: Trajectory) -> None:
        super().follow(event, record)
        there, kind = event.parent_tool_use_id, self.KINDS.get(event.type)
        if event.type == "system" and event.subtype == "init":
            record.version = first_text(details(event).get("version"), record.version)
        elif kind and there is not None and not event.unprinted:
            record.tell(there, kind, words_of(event), line_time(event))

    def tell(self, record: Trajectory, kind: str, text: str, at: int | None, *_: Any) -> None:
        record.tell(None, kind, text, at)

    def did(self, record: Trajectory, call: FinishedCall) -> None:
        identity, above = call.event.call_id or "", call.parent
        step = record.agent_step(above, call.span[0] if call.span else None, speaks=False)
        made = {"tool_call_id": identity, "function_name": call.name, "arguments": call.arguments}
        step.setdefault("tool_calls", []).append(made)
        result: dict[str, Any] = {"source_call_id": identity}
        if identity in record.documents and identity != above:
            inner = record.documents[identity]["trajectory_id"]
            result["subagent_trajectory_ref"] = [{"trajectory_id": inner}]
        if call.status != STILL_OPEN:
            text = call.diff or call.returned
            why = call.action.outcome if call.status != "ok" else ""
            result["content"] = "\n".join(filter(None, (why, text)))
            extra = {"status": call.status, "duration_ms": call.duration_ms}
            result["extra"] = known_members(extra)
        if len(result) > 1:
            step.setdefault("observation", {"results": []})["results"].append(result)

    def ended(self, record: Trajectory) -> None:
        row, totals = row_of(record), record.notes.totals
        if not record.steps(None):  # the format's readers want one
            record.step(None, "system", None, row["reason"] or "nothing more was said or done")
        metrics = {
            "total_prompt_tokens": totals.tokens_read,
            "total_completion_tokens": row["tokens_out"],
            "total_cached_tokens": row["tokens_cached"],
            "total_cost_usd": row["cost_usd"],
            "total_steps": len(record.steps(None)),
        }
        names = "verdict failure reason started_ms duration_ms location"
        facts = {name: row[name] for name in names.split()}
        main, inner = record.documents.pop(None), [*record.documents.values()]
        agent = {"name": row["agent"], "version": record.version, "model_name": row["model"]}
        stated = {"session_id": row["session"] or None, "subagent_trajectories": inner or None}
        more = {"final_metrics": known_members(metrics), "extra": known_members(facts)}
        main["agent"] = known_members(agent)
        self.made.append(without_halves(main | known_members(stated) | more))


# ---------------------------------------------------------------- writers
#
# All outputs by name, and the blocks in which their lines leave.
# Events in, bytes out. It must not know agents.


WRITERS: dict[str, type[Writer]] = {
    "text": Text, "json": Json, "stream-json": StreamJson, "cursor": CursorLines,
    "runs": RunTable, "calls": CallTable, "markdown": Markdown, "html": Page,
    "otlp": Otlp, "atif": Atif,
}  # fmt: skip


Beside: TypeAlias = "list[tuple[Writer, Callable[[bytes], object]]]"  # and where their lines go


def pass_on(events: Iterable[Event], others: Beside) -> Iterator[Event]:
    """Pass each event to other writers after the main one."""
    for event in events:
        yield event
        if event.type not in SPOKEN_TYPES:
            for other, write in others:
                for line in other.lines((event,)):
                    write(line)


def make_writers(to: str, view: View, notes: Notes) -> tuple[Writer, Beside]:
    """The writer of an output, and those beside it that a view asks for."""
    others: Beside = []
    if view.actions == "stderr":
        aside = view._replace(out=view.err, actions="stdout", messages="none", headings=False)
        others.append((Text(aside, notes), notes.reporter.write_output))
    if view.summary:
        reporter, beside = notes.reporter, view.summary == "stdout"
        write = reporter.out.lines.append if beside else reporter.write_output
        others.append((Summary(view, notes), write))
    return WRITERS[to](view, notes), others


class Output:
    """Collects lines and writes a block of them at a time; ``write_bytes`` may raise OSError."""

    def __init__(
        self, write_bytes: Callable[[bytes], object], last: LastLine | None = None
    ) -> None:
        self.write_bytes = write_bytes
        self.last = last or LastLine()
        self.lines: list[bytes] = []
        self.write = self.lines.extend  # takes an iterator of lines without LF

    def flush(self) -> None:
        self.write_lines()
        self.last.show()

    def write_lines(self) -> None:
        """Write the collected lines. Raises ReaderGone or OutputError."""
        if not self.lines:
            return
        self.last.erase()
        large = len(self.lines) == 1 and len(self.lines[0]) > BLOCK  # it isn't copied
        parts = (self.lines[0], b"\n") if large else (b"\n".join((*self.lines, b"")),)
        self.lines.clear()
        with output_errors("stdout"):
            for part in parts:
                self.write_bytes(part)


# ---------------------------------------------------------------- pipeline
#
# convert() connects the stages. Everything is pulled by its write(): an event is read, followed,
# and reported on stderr, while the writer's lines are taken.
# Streams of bytes in, output and messages out. It must not know options or files.

Streams: TypeAlias = Iterable[tuple[str, Iterator[bytes]]]


def unread_types(
    writer: Writer,
    only: Sequence[Selector],
    drop: Sequence[Selector],
    *,
    thinking: bool,
    redacts: bool,
) -> tuple[str, ...]:
    """The types of words that no output needs."""
    thinking = thinking or any(choice.names("thinking") for choice in only)
    heard = writer.words or redacts  # a reason hides what words told
    reads = {"assistant": heard, "thinking": writer.thinking and thinking}
    prints = writer.words and writer.event_type is Event  # lines as they are: it hears none
    whole = [choice for choice in drop if len(choice.terms) == 1] if prints else ()
    return tuple(
        kind for kind in reads if not reads[kind] or any(choice.names(kind) for choice in whole)
    )


def follow_streams(
    streams: Streams, sessions: Sessions, max_line: int, unwrap: str
) -> Iterator[Iterable[Event]]:
    """The events of each frame with their runs, and the implied ends."""
    reporter = sessions.runs.reporter
    try:
        for name, arriving in streams:
            source = Source(name)
            sessions.begin_file(source)
            reader = Reader(source, sessions.maker.event_type, max_line, unwrap)
            for frame in read_frames(source, arriving, max_line):
                yield sessions.follow(reader.read(frame))
            yield sessions.follow(reader.finish())
            yield sessions.end_file()
        yield sessions.runs.end_command()
        yield sessions.end_input()
    except Interrupted:
        runs = [*sessions.open_runs()]
        reporter.stopped_at = sessions.file.where()
        if runs:
            reporter.stopped_at += f", with {plural(len(runs), 'run')} open"
        yield sessions.interrupted()
        raise


def convert(
    streams: Streams,
    *,
    to: str,
    dialect: str = "auto",
    thinking: bool = False,
    view: View = PLAIN_VIEW,
    max_line: int = MAX_LINE,
    unwrap: str = "auto",
    max_wait: float = MAX_WAIT,
    max_event: int | None = None,
    only: Sequence[Selector] = (),
    drop: Sequence[Selector] = (),
    fail_on: Sequence[Selector] = (),
    fail_unless: Sequence[Selector] = (),
    runs_in: Mapping[str, int] | None = None,
    redaction: EventRedactor | None = None,
    limits: Limits | None = None,
    reporter: Reporter,
    out: Output,
) -> None:
    """Read the streams of agents and write them to ``out`` in another form.

    ``streams`` are FILEs in order: a name, and the chunks of bytes as they arrive. ``to`` is a key
    of WRITERS, ``view`` the text beside it, ``dialect`` auto or one of TRANSLATORS. ``max_line``
    and ``max_event`` are bytes, ``max_wait`` seconds. ``only`` and ``drop`` select events to print,
    ``fail_on`` and ``fail_unless`` what fails a run; ``runs_in`` numbers runs from the end;
    ``limits`` may end the streams. Raises ReaderGone, OutputError, and what ``streams`` raise.
    """
    writer, others = make_writers(to, view, notes := Notes(reporter))
    kind = SpokenEvent if redaction or fail_unless else writer.event_type
    selection = Selection(only, drop, reporter.failure) if only or drop else None
    gates = (fail_on, fail_unless, limits, runs_in, selection.selects if selection else ALL_RUNS)
    runs = Runs(reporter, *gates, tells=not view.summary)
    unread = unread_types(writer, only, drop, thinking=thinking, redacts=redaction is not None)
    counts = limits is not None and limits.counts
    silent = not (writer.words or writer.thinking or fail_on or fail_unless or counts)
    writers = writer, *(other for other, _ in others)
    sums = counts or any(each.sums for each in writers)
    own = redaction if to == "stream-json" else None  # of lines that leave as they came
    strict = ",".join(sorted(own.classes - {"paths"})) if own else ""
    prints = to == "stream-json", to == "cursor", to == "cursor" or bool(redaction), bool(own)
    sessions = Sessions(dialect, EventMaker(kind, *prints, unread, silent, sums, strict), runs)
    redactor = Redactor(redaction, kind, max_wait) if redaction else None
    shortener = Shortener(max_event, reporter) if max_event else None

    def write(events: Iterable[Event]) -> None:
        events = selection.shown(events) if selection else events
        events = notes.keep(events, writers)
        lines = writer.lines(pass_on(events, others) if others else events)
        out.write(map(shortener.fit, lines) if shortener and not writer.prose else lines)
        out.flush()

    try:
        for events in follow_streams(streams, sessions, max_line, unwrap):
            events = selection.mark(events) if selection else events
            write(redactor.redact(events) if redactor else events)
    finally:  # also after a signal: held events are written
        if redactor:
            write(redactor.finish())


# ---------------------------------------------------------------- options
#
# Values on the command line: sizes, selectors, patterns, secrets, lists.
# Texts in, values out. It must not know the pipeline.


def reason_of(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def parser(
    what: str, pattern: str, expected: str, make: Callable[..., Any]
) -> Callable[[str], Any]:
    """A parser: makes a value of a pattern's groups, or says what is expected."""

    def parse(text: str) -> Any:
        if match := re.fullmatch(pattern, text, re.ASCII | re.DOTALL):
            return make(*match.groups())
        raise click.BadParameter(f"invalid {what} {text!r}: expected {expected}")

    return parse


def seconds_of(*units: str | None) -> float:
    hours, minutes, seconds = (float(number or 0) for number in units)
    return 3600 * hours + 60 * minutes + seconds


parse_size = parser(
    "size", "(?=.*[1-9])([0-9]{1,12})([KMGkmg]?)", "bytes, optionally with K, M or G",
    lambda digits, unit: int(digits) << 10 * " KMG".index(unit.upper() or " "),
)  # fmt: skip
A_TIME = r"(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9}(?:\.\d{1,3})?)s?)?"
TIMES = "one such as 90, 90s, 10m, 1h30m"
parse_time = parser("time", rf"(?!\Z){A_TIME}", TIMES, seconds_of)
parse_limit = parser("time", rf"(?=.*[1-9]){A_TIME}", TIMES, seconds_of)  # nothing takes no time
parse_count = parser("number", "([0-9]{1,9})", "a whole number", int)
parse_pattern = parser(
    "pattern", r"([\w.-]+)=(.+)", "NAME=REGEX, such as ticket='TICKET-[0-9]{6}'",
    lambda *pair: pair,
)  # fmt: skip


def parse_since(text: str) -> float:
    """When a time before now, a date or a date with a time was, in seconds since 1970."""
    import datetime

    if ago := re.fullmatch("([0-9]{1,5})([wdhm])", text):
        return time.time() - int(ago[1]) * {"w": 604800, "d": 86400, "h": 3600, "m": 60}[ago[2]]
    with contextlib.suppress(ValueError, OverflowError):
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    expected = "expected one such as 7d, 12h, 2026-11-01, 2026-11-01T08:30"
    raise click.BadParameter(f"invalid time {text!r}: {expected}")


def parse_choice(text: str, *, answers: bool = False) -> Selector:
    try:
        choice = parse_selector(text)
        if not answers and any(term.key == ANSWER for term in choice.terms):
            raise ValueError(f"{text!r}: an answer is no event: --fail-unless demands one")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return choice


def parse_classes(text: str) -> frozenset[str]:
    named, allowed = {name.strip() for name in text.split(",")}, (*CLASSES, "none")
    if unknown := named.difference(allowed):
        expected = f"expected one of {', '.join(allowed)}"
        raise click.BadParameter(f"unknown class {min(unknown)!r}; {expected}")
    return frozenset(CLASSES) if "all" in named else frozenset(named)


NamedValue: TypeAlias = "tuple[str, str]"  # name for markers, secret value


class SecretValues(NamedTuple):
    """What --secrets-file names: the values, and where lines of a file assign none."""

    values: list[NamedValue]
    others: list[str]


def read_secrets(path: str) -> SecretValues:
    """The values in a file or a directory. Raises click.BadParameter if there are none.

    Lines that assign none are reported only if others do: a file may also be a plain list."""
    values, others = list[NamedValue](), list[str]()
    try:
        if os.path.isdir(path):
            values += directory_values(path)
        else:
            with open(path, "rb") as file:
                data = file.read()
            wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # as PowerShell writes it
            form = ("utf-16", "replace") if wide else ("utf-8-sig", "surrogateescape")
            values += file_values(data.decode(*form), others)
    except OSError as error:
        raise click.BadParameter(f"{escape(path)}: {reason_of(error)}") from None
    if not any(is_usable(value) for _, value in values):
        expected = f"at least {SHORTEST} characters, not a path, a number or a boolean"
        raise click.BadParameter(f"{escape(path)}: no usable value: expected {expected}")
    assigns = any(name != "secrets-file" for name, _ in values)
    return SecretValues(values, [f"{escape(path)}:{at}" for at in others] if assigns else [])


# As dotenv reads it, or YAML: blanks around the sign, quotes over several lines, a comment behind a
# blank.
ASSIGNMENT = regex(
    r"""[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]{0,63})[ \t]*(?:=|:(?=[ \t]))[ \t]*
    ((?P<quote>["'`])(?P<quoted>(?:\\[\s\S]|(?!(?P=quote))[^\\])*)(?P=quote)
        (?:[ \t]+\#[^\r\n]*|[ \t]*)
        |(?!["'`])[^\r\n]*)
    \r?(?:\n|\Z)""",
    re.VERBOSE,
)
VALUE_COMMENT = regex(r"[ \t]#")
SINGLE_ESCAPE = regex(r"\\([\\'])")  # between single quotes
DOUBLE_ESCAPE = regex(r"\\([\\'\"abfnrtv])")
BACKSLASHED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def file_values(text: str, others: list[str]) -> Iterator[NamedValue]:
    """The values in lines of VALUE or NAME=VALUE: the value, and each form in which it stands in
    the file. The numbers of lines that assign none go to ``others``."""
    position, number = 0, 1
    while position < len(text):
        end = text.find("\n", position) + 1 or len(text)
        named = ASSIGNMENT.match(text, position)
        if named and named[2].strip("="):  # else padding of base64, not an assignment
            end, quoted = named.end(), named["quoted"]
            if quoted is None:
                given = value = VALUE_COMMENT.split(named[2], 1)[0].rstrip(" \t")
            else:
                given = named["quote"] + quoted + named["quote"]
                escaped = SINGLE_ESCAPE if named["quote"] == "'" else DOUBLE_ESCAPE
                value = escaped.sub(lambda found: BACKSLASHED.get(found[1], found[1]), quoted)
            name, line = f"file:{named[1]}", text[position:end].strip(" \t\r\n")
            if is_usable(value):
                stands = text[named.start(2) : end].strip(" \t\r\n")
                forms = (value, quoted or value, given, stands, line)
                yield from ((name, form) for form in dict.fromkeys(forms))
            else:
                yield (name, value) if "=" in line else ("secrets-file", line)
        else:
            line = text[position:end].strip(" \t\r\n")
            if line and not line.startswith("# ") and line != "#":
                others.append(str(number))
                yield from (
                    ("secrets-file", form) for form in dict.fromkeys((line, line.strip("\"'`")))
                )
        number += text.count("\n", position, end)
        position = end


def directory_values(path: str) -> Iterator[NamedValue]:
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.is_file() and not entry.name.startswith("."):
            with open(entry.path, encoding="utf-8", errors="surrogateescape", newline="") as file:
                name = re.sub(r"[^\w.-]", "_", entry.name)
                yield f"file:{name}", file.read().removesuffix("\n").removesuffix("\r")


def environment_values(globs: tuple[str, ...]) -> list[NamedValue]:
    """The values of variables whose name is secret or matches --secret-env."""
    import fnmatch

    return [
        (f"env:{re.sub('[^A-Za-z0-9_.-]', '_', name)}", value)
        for name, value in os.environ.items()
        if name not in ("PWD", "OLDPWD")  # directories, though their names look secret
        if is_secret_name(name)
        or name.lower().endswith("key")
        or any(fnmatch.fnmatchcase(name, glob) for glob in globs)
    ]


def doubts_about_secrets(given: dict[str, Any]) -> Iterator[str]:
    """What may stay visible though the options seem to hide it. Raises click.ClickException for a
    variable that is named in full."""
    import fnmatch

    short = f"shorter than {SHORTEST} characters, or a path, a number or a boolean"
    for glob in given["secret_env"]:
        option, named = f"--secret-env {escape(glob)}", fnmatch.filter(os.environ, glob)
        unused = [name for name in named if os.environ[name] and not is_usable(os.environ[name])]
        if not named and not set(glob).intersection("*?["):
            raise click.UsageError(f"{option}: this variable isn't set")
        if unused == [glob]:
            raise click.ClickException(f"{option}: its value can't be hidden: {short}")
        if not named:
            yield f"{option}: no variable has such a name"
        elif unused:
            yield f"{option}: not hidden, because it is {short}: {escape(first_names(unused))}"
    for place in itertools.chain(*(file.others for file in given["secrets_file"])):
        yield f"{place}: no assignment: the whole line is hidden"


def doubts_about_selectors(given: dict[str, Any], view: View) -> Iterator[str]:
    """What selects events, where lines are about whole runs, and nothing else shows events."""
    to = given["to"]
    if to in ("json", "runs") and view.actions == "none":
        for choice in (*given["only"], *given["drop"]):
            if not (choice.of_run().terms or choice.names("result")):
                what = f"{escape(choice.text)} selects events, and -t {to} shows whole runs"
                yield f"{what}: select them by run= or session="


def make_scanner(given: dict[str, Any]) -> Scanner:
    files = (file.values for file in given["secrets_file"])
    stated = itertools.chain(environment_values(given["secret_env"]), *files)
    secrets, unused = collections.defaultdict[str, list[str]](list), 0
    for name, value in stated:
        if is_usable(value):
            secrets[name].append(value)
        else:
            unused += value != ""
    try:
        scanner = Scanner(secrets, dict(given["patterns"]))
    except ValueError as error:
        raise click.UsageError(f"--pattern {escape(str(error))}") from None
    scanner.unused = unused
    return scanner


def classes_of(given: dict[str, Any]) -> frozenset[str]:
    """What is to be hidden: what was asked for, and secrets where an output hides them by itself.
    Raises click.UsageError for "none" beside others."""
    classes = frozenset(itertools.chain(*given["classes"]))
    if given["secret_env"] or given["secrets_file"] or given["patterns"]:
        classes |= {"secrets"}
    if "none" in classes and len(classes) > 1:
        raise click.UsageError("--redact none stands alone, without other classes or secrets")
    if not classes.isdisjoint(("none", "secrets")) or not WRITERS[given["to"]].hides:
        return classes - {"none"}
    return classes | {"secrets"}


def choice_of(
    names: Iterable[str], default: str | None = None, metavar: str | None = None
) -> dict[str, Any]:
    return {"type": click.Choice([*names]), "default": default, "metavar": metavar}


def repeatable(metavar: str, parse: Callable[[str], Any] = str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "multiple": True, "type": parse, **more}


SELECTORS = ("only", "drop", "fail_on", "fail_unless")  # options that take one
SIZE: dict[str, Any] = {"metavar": "BYTES", "type": parse_size}
TIME: dict[str, Any] = {"metavar": "TIME", "type": parse_time}
LIMIT: dict[str, Any] = {"metavar": "TIME", "type": parse_limit}
MOST: dict[str, Any] = {"metavar": "N", "type": parse_count}
A_PATH = click.Path(allow_dash=True, readable=False)  # what opens it says why it can't
APPENDED: dict[str, Any] = {"metavar": "FILE", "type": A_PATH}
SELECTOR = repeatable("SELECTOR", parse_choice)
DEMAND = repeatable("SELECTOR", lambda text: parse_choice(text, answers=True))


PAGES = {"agentfmt": "agentfmt.1", "sidecar": "agentfmt-sidecar.7"}  # of the manual


def show_manual(context: click.Context, _param: Any, name: str | None) -> None:
    """Show a page of the manual with man or mandoc, else as plain text, as its jobs are."""
    if not name or context.resilient_parsing:
        return
    page = PAGES.get(name, PAGES["agentfmt"])
    here, home = os.path.dirname(os.path.abspath(__file__)), os.path.expanduser("~/.local")
    shared = (f"{prefix}/share/man/man{page[-1]}" for prefix in (sys.prefix, home))
    paths = (f"{folder}/{page}" for folder in (f"{here}/man", *shared))
    path = next(filter(os.path.exists, paths), None)
    if path is None:
        raise click.ClickException(f"{page} isn't installed: reinstall agentfmt with pip")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # what they start ends quietly with its reader
    for viewer in (["man", path], ["mandoc", "-a", path]) if name in PAGES else ():
        status = os.spawnvp(os.P_WAIT, viewer[0], viewer)
        if status != 127:  # of a command that isn't there, as of a shell
            context.exit(max(status, OK))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    jobs = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh", text, re.DOTALL | re.MULTILINE)
    click.echo_via_pager(strip_mdoc(jobs[1] if jobs and name == "jobs" else text))
    context.exit()


def strip_mdoc(text: str) -> str:
    """Remove the two-letter macros of mdoc(7) from a manual."""
    text = re.sub(r"(?m)^\.(?:Bl|El|Bd|Ed|Dd|Dt|Os).*\n", "", text).replace(".Nm", "agentfmt")
    text = re.sub(r"\bFl (?=[-\w])", "-", text)
    text = re.sub(r"\\\[u(\w+)\]", lambda char: chr(int(char[1], 16)), text)
    text = re.sub(r"\\(?:&|f[BP])", "", text).replace(r"\e", "\\")
    return re.sub(r"(?m)^\.(.*)", lambda line: re.sub(r"\b[A-Z][a-z]\b ?", "", line[1]), text)


LISTS: dict[str, Callable[[], Iterable[str]]] = {
    "rules": lambda: dict.fromkeys(
        [*(rule.name for rule in RULES), *(f"assignment ({form.name})" for form in FORMS)]
    ),
    "names": lambda: " ".join(NAME_ENDS.values()).split(),
    "tools": lambda: (
        *(f"{name:16}  {tool.done}" for name, tool in TOOLS.items()),
        f"{ANY_CHANGE:16}  any of {', '.join(sorted(CHANGING_TOOLS))}",
    ),
    "types": lambda: sorted(CURSOR_TYPES),
    "agents": lambda: AGENTS,
    "classes": lambda: (*CLASSES, "none"),
}


def print_list(context: click.Context, _param: Any, name: str | None) -> None:
    if name:
        click.echo("\n".join(LISTS[name]()))
        context.exit()


FLAG_OPTION = {"is_flag": True}
OPTIONS: tuple[str | tuple[str, dict[str, Any], str], ...] = (
    "Input",
    ("-f --from dialect", choice_of(["auto", *AGENTS], "auto", "AGENT"),
     "The agent that wrote the stream."),
    ("--since", {"metavar": "TIME", "type": parse_since},
     "Read only FILEs that changed since: 7d, 12h, or a date such as 2026-11-01."),
    ("--label", {"metavar": "NAME"},
     "Name the standard input, or what --run reads, in rows, messages and reports."),
    ("--max-line", SIZE | {"default": "64M"},
     "Longest line to accept; suffixes K, M, G."),
    ("--unwrap", {"metavar": "auto|none|MEMBER", "default": "auto"},
     "Field of a log collector's JSON that contains the agent's line."),
    ("--rejects", APPENDED,
     "Append lines that aren't events to FILE, byte for byte."),
    ("--tee", APPENDED,
     "Append all that is read to FILE, byte for byte, before anything else."),
    "Hangs",
    ("--run", {"metavar": "COMMAND...", "type": lambda text: (text,)},
     "Read what this command prints, and end it if it hangs. It takes the rest of the line."),
    ("--grace", TIME | {"default": f"{GRACE}s"},
     "With --run, how long the command may stay after its result, such as 90s or 1h30m."),
    ("--max-idle", LIMIT, "Fail runs after this much silence while no call is open."),
    ("--max-call", LIMIT, "Fail runs with a call that is open for longer."),
    ("--max-time", LIMIT, "Fail runs that are not over after this."),
    ("--max-calls", MOST, "Fail runs that make more calls."),
    ("--max-tokens", MOST, "Fail runs that take more tokens, in and out."),
    "Output",
    ("-t --to", choice_of(WRITERS, "text", "FORMAT"),
     f"What to write: {', '.join(WRITERS)}."),
    ("--thinking", FLAG_OPTION, "Show thoughts in text and html; keep them in JSON."),
    ("--max-event", SIZE,
     "Shorten an event's longest strings until its line is no longer than this; suffixes K, M, G."),
    ("--max-report", SIZE,
     "End a report or page at this size, default 1M and 32M; the verdict stays."),
    ("--ci-safe", FLAG_OPTION, "Escape JSON so that CI runners don't interpret it as commands."),
    "Selecting",
    ("--only", SELECTOR, "Print only matching events; repeatable. The results of runs stay."),
    ("--drop", SELECTOR, "Don't print matching events; repeatable."),
    "Redaction",
    ("-r --redact classes",
     repeatable("CLASS,...", parse_classes),
     f"Hide {', '.join(CLASSES[:-1])}, or all; repeatable. markdown, html, otlp and atif hide "
     "secrets unless it is none."),
    ("--secret-env", repeatable("GLOB"),
     "Hide the values of these variables, too; repeatable."),
    ("--secrets-file", repeatable("PATH", read_secrets, shell_complete=A_PATH.shell_complete),
     "Hide the lines of a file, or the files in a directory, too; repeatable."),
    ("--pattern patterns", repeatable("NAME=REGEX", parse_pattern),
     "Hide what this RE2 expression matches, too; repeatable."),
    ("--max-wait", TIME | {"default": f"{MAX_WAIT}s"},
     "Under redaction, print an unfinished line of words after this much silence in its run."),
    "Text",
    ("-v --verbose", FLAG_OPTION,
     f"Same as -d -m chat -s --tail {TAIL}; the default on a terminal."),
    ("-q --quiet", FLAG_OPTION, "No action lines; same as --actions none."),
    ("-d --detail/--no-detail", FLAG_OPTION | {"default": None},
     "Name each action's target and outcome; the default on a terminal."),
    ("--tail", {"metavar": "N", "type": parse_count},
     "Show the last N lines that a failed command printed."),
    ("--time", FLAG_OPTION, "Begin each line with the local time of its event."),
    ("--diff", FLAG_OPTION, f"Show the first {DIFF_ROWS} lines of each edit."),
    ("-m --messages", choice_of(["none", "final", "all", "chat"], metavar="WORDS"),
     "Print the assistant's words: none, final (answer), all, chat (and prompts)."),
    ("--actions", choice_of(["stdout", "stderr", "none"], metavar="WHERE"),
     "Where action lines go: stdout (default of text, markdown and html), stderr, none."),
    ("-s --summary", FLAG_OPTION,
     "Sum up each run in a line: verdict, time, actions, tokens, cost, redactions."),
    ("--color", choice_of(["auto", "always", "never"], "auto", "WHEN"),
     "Color action lines: auto, always, never."),
    "Verdict",
    ("--fail-on", SELECTOR, "Fail runs that have a matching event; repeatable."),
    ("--fail-unless", DEMAND,
     "Fail runs without a matching event, such as a command that ended well; repeatable."),
    ("--exit-zero", FLAG_OPTION, "Exit 0 instead of 1 or 3."),
    "Help",
    ("--list", {"type": click.Choice([*LISTS]), "metavar": "NAMES", "callback": print_list,
                "is_eager": True, "expose_value": False},
     f"List {', '.join(LISTS)}, and exit."),
    ("--man", {"type": click.Choice(["agentfmt", "jobs", "sidecar"]), "metavar": "[PAGE]",
               "callback": show_manual,
               "is_eager": True, "expose_value": False, "is_flag": False, "flag_value": "agentfmt"},
     "Show the manual, which explains everything, or its part: jobs, sidecar."),
)  # fmt: skip


# ---------------------------------------------------------------- command
#
# Files, completion, and the exit status.
# A command line in, an exit status out; the stages know none of its options.


def run(files: tuple[str, ...], **given: Any) -> int:
    """Read the event stream of a headless coding agent; write its progress, its result, a report,
    a table, or the stream itself, filtered and redacted. The exit status says whether it succeeded.
    A directory means its sessions. Without FILE, or for -, read standard input.
    """
    check_outputs(given)
    source = click.get_current_context().get_parameter_source("grace")
    if source is not click.core.ParameterSource.DEFAULT and not given["run"]:
        raise click.UsageError("--grace goes with --run only: nothing else can be ended")
    if given["label"] and files and "-" not in files:
        raise click.UsageError("--label names the standard input: FILEs have names of their own")
    unread: list[str] = []
    inputs = find_inputs(files, given, unread)
    classes = classes_of(given)

    def scanner() -> Scanner | None:
        with contextlib.suppress(click.ClickException, ImportError):
            return make_scanner(given)
        return None

    used = make_scanner(given) if "secrets" in classes else None
    home = os.environ.get("HOME", "").rstrip("/")
    redaction = EventRedactor(used, classes, [home] if home else [], functools.cache(scanner))
    signals = Signals()
    view = view_of(given)._replace(headings=len(inputs) > 1, time=given["time"])
    saved = {file_name(one.name): round(1000 * one.status.st_mtime) for one in inputs}
    if not all(is_regular(one.status) for one in inputs):
        saved = {}
    write = write_ci_safe if given["ci_safe"] else write_all
    out = Output(functools.partial(write, 1), status_line(given["to"], view, saved))
    reporter = Reporter(out, redaction, appender("rejects", given, inputs))
    for what in unread:
        reporter.error(what)
    for what in (*doubts_about_secrets(given), *doubts_about_selectors(given, view)):
        reporter.message(what)
    options = {name: given[name] for name in given.keys() & convert.__annotations__.keys()}
    options |= {"view": view, "redaction": redaction if classes else None, "reporter": reporter}
    try:
        options["runs_in"] = count_runs(inputs, signals, options)
        with contextlib.closing(out.last):
            read(inputs, files, given, signals, out, options)
        with output_errors("stdout"):
            os.close(os.dup(1))  # some file systems say only here that the disk is full
    except Interrupted:
        heard = select.select((), (2,), (), 0)[1]
        told = WRITERS[given["to"]].prose and not view.summary
        if signals.caught == signal.SIGTERM and heard and told:
            reporter.message(f"ended by SIGTERM at {reporter.stopped_at}")
        return 128 + signals.caught
    except OutputError as error:
        reporter.error(str(error))
        if signals.caught:
            return 128 + signals.caught
    status = reporter.status()
    return OK if given["exit_zero"] and status in (FAILED, DAMAGED) else status


class Input(NamedTuple):
    """A FILE that is read: its path, its name in messages and rows, its status, and the directory
    that it stands for, with the other files below that."""

    path: str
    name: str
    status: os.stat_result
    folder: str = ""


def find_inputs(
    files: Sequence[str], given: Mapping[str, Any], unread: list[str]
) -> Sequence[Input]:
    """The FILEs as they are given, and in place of each directory the files below it, the oldest
    first. Raises click.ClickException for a FILE that can't be read; what can't be below a
    directory is added to ``unread``."""
    if given["run"] and files:
        what = f"FILE {file_name(files[0])} can't be read as well"
        raise click.UsageError(f"--run reads what its command prints: {what}")
    if given["run"]:
        return ()
    if not files and os.isatty(0):
        raise click.UsageError("standard input is a terminal: pipe an agent into agentfmt")
    output, inputs = os.fstat(1), list[Input]()
    seen = {identity(output)}  # a table in the directory that it is about
    for path in files or ("-",):
        try:
            status = os.fstat(0) if path == "-" else os.stat(path)
            if stat.S_ISDIR(status.st_mode) and path != "-":
                inputs += files_below(path, seen, unread)
                continue
        except (OSError, ValueError) as error:
            why, selects = reason_of(error), given["fail_on"] or given["fail_unless"]
            if "*" in path or (selects and re.fullmatch(r"[\w-]+", path)):
                why += ": a selector with a blank needs quotes around it"
            raise click.ClickException(f"{file_name(path)}: {why}") from None
        if is_same_file(status, output):  # reading it would never end
            raise click.ClickException("standard output is also an input file")
        label = given["label"] if path == "-" else None
        inputs.append(Input(path, label or path, status))
    since = given["since"] or 0
    return [one for one in inputs if one.status.st_mtime >= since or not is_regular(one.status)]


def is_regular(file: os.stat_result) -> bool:
    return stat.S_ISREG(file.st_mode)


def identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def is_same_file(one: os.stat_result, other: os.stat_result) -> bool:
    return is_regular(one) and identity(one) == identity(other)


def files_below(folder: str, seen: set[tuple[int, int]], unread: list[str]) -> list[Input]:
    """The files below a directory, the oldest first, each once, whatever links lead to it."""
    found, waiting = list[Input](), [folder]
    while waiting:
        path = waiting.pop()
        try:
            status = os.stat(path)
            if identity(status) in seen:
                continue
            seen.add(identity(status))
            if stat.S_ISDIR(status.st_mode):
                with os.scandir(path) as entries:
                    waiting += (entry.path for entry in entries)
            elif is_regular(status):
                found.append(Input(path, path, status, folder))
        except OSError as error:
            if path == folder:
                raise
            if error.errno not in (errno.ENOENT, errno.ELOOP):  # a link to nowhere is no session
                unread.append(f"{escape(path)}: {reason_of(error)}")
    return sorted(found, key=lambda one: (one.status.st_mtime_ns, one.path))


def report_inputs(
    files: Sequence[str],
    inputs: Sequence[Input],
    others: Sequence[Input],
    since: float | None,
    reporter: Reporter,
) -> None:
    """Say how many files below each directory are no sessions; one without any session fails."""
    changed = f" changed since {local_time(1000 * since, DATE)}" if since else ""
    for folder in filter(os.path.isdir, files):
        below, left = (sum(one.folder == folder for one in each) for each in (inputs, others))
        if not below:
            reporter.failure(f"{escape(folder)}: no file in this directory{changed}")
        elif left:
            told = reporter.failure if left == below else reporter.message
            noun = plural(left, "other file")
            told(f"{escape(folder)}: {noun} left out: no session that can be read")
    if not (inputs or any(map(os.path.isdir, files))):
        reporter.failure(f"no FILE{changed}")


def appender(
    option: str, given: Mapping[str, Any], inputs: Iterable[Input]
) -> Callable[[bytes], None] | None:
    """What appends to the FILE of --rejects or --tee. Raises click.ClickException, also if it is an
    input, or the output without appending to it."""
    if (file := given[option]) is None:
        return None
    if file == "-":
        raise click.ClickException(f"--{option} -: write ./- for a file of that name")
    import fcntl

    name = f"--{option} {escape(file)}"
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        status = os.fstat(fd)
        if any(is_same_file(status, one.status) for one in inputs):
            raise ValueError("is also an input file")
        if is_same_file(status, os.fstat(1)) and not fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND:
            raise ValueError("is also the standard output")  # they would write over each other
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{name}: {reason_of(error)}") from None

    def append(data: bytes) -> None:
        with output_errors(name):
            write_all(fd, data)

    return append


def read(
    inputs: Sequence[Input],
    files: Sequence[str],
    given: Mapping[str, Any],
    signals: Signals,
    out: Output,
    options: dict[str, Any],
) -> None:
    """Convert FILEs, or what the command of --run prints, within the limits of time."""
    names = ("grace", "max_idle", "max_call", "max_time", "max_calls", "max_tokens")
    limits = Limits(*map(given.__getitem__, names))
    reporter, child = options["reporter"], None
    tee = appender("tee", given, inputs)
    others: list[Input] = []  # files below directories that hold no run

    def opened() -> Iterator[tuple[str, Iterator[bytes]]]:
        for one in inputs:
            if one.folder and not holds_a_run(one, signals, options):
                others.append(one)
            else:
                yield one.name, open_chunks(one.path, signals, reporter.error, limits.wait)

    arriving: Streams = opened()
    if given["run"]:
        child = Child(given["run"], signals, limits)
        if ours := next(filter(MISPLACED.match, given["run"]), None):
            what = f"{escape(ours)} is an option of {escape(child.name)}'s here"
            reporter.message(f"{what}: what is for agentfmt stands before --run")
        arriving = [(given["label"] or child.name, child.chunks())]
    streams = ((name, limits.watch(chunks, tee)) for name, chunks in arriving)
    try:
        convert(streams, limits=limits, out=out, **options)
        if not child:
            report_inputs(files, inputs, others, given["since"], reporter)
        if limits.reached and not reporter.failed:
            reporter.message(f"stopped: {limits.reached}")
        if child:
            report_command(child, reporter)
    finally:
        if child:
            child.stop()


# Options of ours that no agent has, and that would be missed in silence.
MISPLACED = regex("--(?:fail-|redact|secret|max-(?!tokens)|exit-zero|rejects)")


def report_command(child: Child, reporter: Reporter) -> None:
    """Say how the command of --run ended, unless it ended well."""
    limits, name = child.limits, escape(child.name)
    if limits.gate:
        reporter.message(f"{name} was ended: {escape(limits.gate)}")
    elif limits.stayed:
        took, last = f"{limits.grace:g} s", "output" if reporter.failed else "result"
        reporter.message(f"{name} was ended: it did not exit within {took} of its {last}")
    elif limits.ending and reporter.failed:
        reporter.message(limits.ending)
    elif limits.ending:
        reporter.failure(limits.ending + AFTER_RESULT)


class Silence(Reporter):
    """Says nothing: what it could say is said when the FILEs are read again."""

    def __init__(self) -> None:
        super().__init__(Output(id), EventRedactor(None, frozenset(), []))

    def write(self, _line: bytes) -> bool:
        return True


def read_in_silence(
    inputs: Iterable[Input], signals: Signals, unread: list[str], options: Mapping[str, Any]
) -> Iterator[tuple[Source, Iterable[Event]]]:
    """First of two passes over FILEs: the events of each frame, and its FILE as known so far."""
    streams = ((one.name, open_chunks(one.path, signals, unread.append)) for one in inputs)
    sessions = Sessions(options["dialect"], EventMaker(Event), Runs(Silence()))
    for events in follow_streams(streams, sessions, options["max_line"], options["unwrap"]):
        yield sessions.file, events


def holds_a_run(file: Input, signals: Signals, options: Mapping[str, Any]) -> bool:
    """Does a file hold a run, and more than the head of one? It is read only until that is known.
    True if it can't be read, so that the real reading says why."""
    unread, source = list[str](), Source("")
    for source, events in read_in_silence([file], signals, unread, options):
        if any(event.run and event.run.is_more_than_an_end for event in events):
            return True
        if source.looks_like and not source.has_run:
            return False
    return bool(unread) or (source.has_run and not source.is_only_head())


def count_runs(
    inputs: Sequence[Input], signals: Signals, options: dict[str, Any]
) -> dict[str, int] | None:
    """How many runs each FILE holds, if a selector has `run=-1`: that is known only at their ends,
    and they are read twice. Raises click.UsageError if they can't be."""
    terms = (term for name in SELECTORS for item in options[name] for term in item.terms)
    if not any(term.key == "run" and term.glob.startswith("-") for term in terms):
        return None
    if not inputs or not all(is_regular(one.status) for one in inputs):
        raise click.UsageError("run=-N needs FILEs, which can be read twice: save the stream first")
    reads_stdin = any(one.path == "-" for one in inputs)
    begin = os.lseek(0, 0, os.SEEK_CUR) if reads_stdin else 0
    runs: dict[str, int] = {}
    for source, events in read_in_silence(inputs, signals, [], options):
        collections.deque(events, 0)
        runs[source.name] = max(runs.get(source.name, 0), source.runs)  # it may be given twice
    if reads_stdin:
        os.lseek(0, begin, os.SEEK_SET)
    return runs


def check_outputs(given: dict[str, Any]) -> None:
    """Raises click.UsageError for an option that the output doesn't support."""
    for option in sorted(set().union(*(writer.options for writer in WRITERS.values()))):
        name, _, value = option.partition(" ")
        chosen = given[name.replace("-", "_")]
        outputs = [to for to, writer in WRITERS.items() if option in writer.options]
        if chosen and chosen == (value or chosen) and given["to"] not in outputs:
            raise click.UsageError(f"--{option} goes with --to {' or '.join(outputs)} only")


def view_of(given: dict[str, Any]) -> View:
    """The view that the options ask for; a terminal gets all of it by default. Raises
    click.UsageError if they contradict each other."""
    writer, quiet, actions = WRITERS[given["to"]], given["quiet"], given["actions"]
    more = [f"--{name}" for name in ("detail", "tail", "diff") if given[name]]
    if quiet and actions not in (None, "none"):
        more.append(f"--actions {actions}")
    if more and (quiet or actions == "none"):
        none = "--quiet" if quiet else "--actions none"
        raise click.UsageError(f"{none} and {more[0]} contradict each other")
    out, err = Screen(1, given["color"]), Screen(2, given["color"])
    shown = writer is Text and out.fd is not None
    verbose = given["verbose"] or shown
    usual = PLAIN_VIEW._asdict() | {"actions": "none"} | (VERBOSE if verbose else {})
    if "messages chat" not in writer.options:
        usual["messages"] = "none"
    usual |= writer.defaults
    actions = "none" if quiet else actions or usual["actions"]
    acts = {"stdout": out, "stderr": err}.get(actions, PLAIN)
    detail = usual["detail"] or acts.fd is not None
    detail = detail if given["detail"] is None else given["detail"]
    tail = usual["tail"] if detail or verbose else 0
    tail = tail if given["tail"] is None else given["tail"]
    place = "stdout" if writer is Text and actions == "stdout" else "stderr"
    seen = shown and (place == "stdout" or err.fd is not None)
    summary = place if given["summary"] or given["verbose"] or seen else ""
    messages, whole = given["messages"] or usual["messages"], given["messages"] == "chat"
    most, diff, thinking = given["max_report"], given["diff"], given["thinking"]
    return View(detail, messages, actions, summary, tail, whole, out, err, most, diff, thinking)


VERBOSE = {"messages": "chat", "detail": True, "tail": TAIL}


def status_line(to: str, view: View, saved: Mapping[str, int]) -> LastLine:
    """It goes to stdout with -t text, else to stderr, unless stdout may mix with it: the reader of
    a pipe may write to the same terminal; of a document, only once it is whole. Files are read at
    once, and need none."""
    live = view.out if to == "text" and view.out.live else PLAIN
    pipe = stat.S_IFMT(os.fstat(1).st_mode) in (stat.S_IFIFO, stat.S_IFSOCK)
    mixes = os.isatty(1) or (pipe and not issubclass(WRITERS[to], Document))
    if not live.live and (view.actions == "stderr" or not mixes):
        live = view.err
    return LastLine(PLAIN if saved else live, saved)


HELP_EPILOG = f"""SELECTOR is KEY=GLOB,... (all have to match), a tool, or a type: shell;
'change,path!=src/*'; 'command=git push*'. A GLOB matches a whole value.

\b
Examples:
  agent -p --output-format stream-json "fix the tests" | agentfmt
  claude -p --output-format stream-json --verbose "fix it" | agentfmt -t json
  agentfmt -t stream-json -r secrets run.ndjson > shipped.ndjson

\b
{EXIT_HELP}"""
GROUPS: dict[str, list[click.Parameter]] = {}
for row in OPTIONS:
    if isinstance(row, str):
        group = GROUPS.setdefault(row, [])
    else:
        group.append(click.Option(row[0].split(), help=row[2], **row[1]))


class Command(click.Command):
    """A command whose help shows the options in groups. What follows --run is another command."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        end = args.index("--run") if "--run" in args else len(args)
        rest = super().parse_args(context, args[:end])
        if end < len(args):
            words = args[end + 1 :]
            context.params["run"] = tuple(words[1:] if words[:1] == ["--"] else words)
            if not context.params["run"] and not context.resilient_parsing:
                raise click.UsageError("--run needs a command")
        return rest

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, options in GROUPS.items():
            with formatter.section(group):
                records = (option.get_help_record(context) for option in options)
                formatter.write_dl([*filter(None, records)])


command = Command(
    "agentfmt",
    callback=run,
    params=[*itertools.chain(*GROUPS.values()),
            click.Argument(["files"], metavar="[FILE]...", nargs=-1, type=A_PATH)],
    help=run.__doc__,
    options_metavar="[OPTION]...",
    context_settings={"max_content_width": 80, "show_default": True},
    add_help_option=False,
    epilog=HELP_EPILOG,
)  # fmt: skip
click.version_option(__version__, "-V", "--version", message="agentfmt %(version)s")(command)
click.help_option("-h", "--help")(command)
GROUPS["Help"] += command.params[-2:]


def main() -> int:
    """Run the command; returns the exit status (see EXIT_HELP)."""
    gc.freeze()  # imported objects stay
    while os.open(os.devnull, os.O_RDONLY) < 3:
        pass  # else a FILE would take the place of a closed standard descriptor
    if os.environ.get("_AGENTFMT_COMPLETE", "").endswith("_complete"):  # by hand, without a shell
        os.environ.update({"COMP_WORDS": "", "COMP_CWORD": "0"} | os.environ)
    try:
        status = command.main(prog_name="agentfmt", standalone_mode=False)
        if sys.stdout:  # None where the descriptor is closed
            sys.stdout.flush()
        return int(status or OK)
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except (BrokenPipeError, ReaderGone):
        return 128 + signal.SIGPIPE
    except (click.ClickException, ImportError, OSError) as error:
        hint = "; see agentfmt --help" if isinstance(error, click.UsageError) else ""
        with contextlib.suppress(OSError):
            write_all(2, encode_line(f"agentfmt: {escape(describe_error(error))}{hint}\n"))
        return error.status if isinstance(error, CannotStart) else ERROR


def describe_error(error: click.ClickException | ImportError | OSError) -> str:
    if isinstance(error, OSError):  # --help > /dev/full
        return f"stdout: {reason_of(error)}"
    if isinstance(error, ImportError):
        return f"{error}: pip install {PACKAGES.get(error.name or '', error.name)}"
    if isinstance(error, click.NoSuchOption):
        if error.option_name in OPTION_HINTS:
            return f"no option {error.option_name}: use {OPTION_HINTS[error.option_name]}"
        import difflib

        near = difflib.get_close_matches(error.option_name, error.possibilities or (), cutoff=0.75)
        error = click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        return f"{error.param.opts[-1]}: {error.message.rstrip('.')}"
    if isinstance(error, click.UsageError):  # click's sentences
        text = " ".join(error.format_message().split()).rstrip(".")
        return text[0].lower() + text[1:]
    return error.message


PACKAGES = {"re2": "google-re2", "markdown_it": "markdown-it-py"}  # what has another module
# Options of other programs -> agentfmt's.
OPTION_HINTS = {
    **dict.fromkeys(("--output-format", "--format"), "--to FORMAT, such as -t json"),
    **dict.fromkeys(("--output", "-o"), "> FILE, such as -t html > x.html"),
    "--agent": "--from AGENT", "--filter": "--only SELECTOR", "--timeout": "--max-time",
    "--session": "--only session=NAME", "--last": "--only run=-1",
    "--follow": "--run tail -n +1 -F FILE",
    **dict.fromkeys(("--stats", "--cost", "--usage"), "-s, or -t runs"),
    "-p": "--run, and the agent's command behind it",
    **{f"--{to}": f"--to {to}" for to in WRITERS},
}  # fmt: skip


gc.enable()

if __name__ == "__main__":
    sys.exit(main())
