"""Log collectors: what they wrapped leaves byte for byte, joined where it came in pieces."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import (
    SAME,
    STREAMS,
    TOKEN,
    Ended,
    assistant,
    completed,
    content,
    convert,
    event,
    init,
    left_after,
    one_byte_at_a_time,
    result,
    started,
    user,
    whole_run,
)

import agentfmt

ODD = (
    rb'{"type":"x", "a":"\ud83d\u00e9 \/ \"q\"" ,"a":1E400}' + b"\n"
    b'{"type":"y","deep":' + b"[" * 90 + b"]" * 90 + b"}\n"
)
LINES = init() + user() + ODD + assistant("é😀 " * 12_000) + completed() + result()

Wrap = Callable[[bytes], bytes]


def objects(members: Iterable[dict[str, Any]], *, ascii: bool = True) -> bytes:  # noqa: A002
    return b"".join(
        json.dumps(one, ensure_ascii=ascii).encode("utf-8", "surrogatepass") + b"\n"
        for one in members
    )


def member(*path: str, **more: Any) -> Wrap:
    """Each line as a string in a member of an object."""

    def wrapped(line: str) -> Any:
        value: Any = line
        for name in reversed(path):
            value = {name: value}
        return more | value

    return lambda data: objects(wrapped(line) for line in data.decode().splitlines())


def pieces(lines: Iterable[Any], size: int) -> Iterator[tuple[Any, bool, bool]]:
    """What is split: each piece, whether it is the first, and the last, of its line."""
    for line in lines:
        for start in range(0, len(line), size):
            yield line[start : start + size], not start, start + size >= len(line)


def docker(data: bytes, stream: str = "stdout", size: int = 16384) -> bytes:
    """dockerd's json-file: a line over 16K is split, only the last piece ends with a newline."""
    split = pieces(data.decode().splitlines(keepends=True), size)
    more = {"stream": stream, "time": "2026-11-21T10:00:00.1Z"}
    return objects(({"log": one, **more} for one, *_ in split), ascii=False)


def cri(data: bytes, stream: str = "stdout", size: int = 8192) -> bytes:
    """CRI's text: pieces are marked P, the last one F."""
    head = f"2026-11-21T10:00:00.123456789Z {stream} ".encode()
    split = pieces(data.splitlines(), size)
    return b"".join(head + b"%s %s\n" % (b"PF"[last:][:1], one) for one, _, last in split)


def google(data: bytes) -> bytes:
    parsed = b'{"insertId":"1","jsonPayload":%s,"logName":"l"}\n'
    return b"".join(parsed % line for line in data.splitlines())


def prefixed(prefix: str) -> Wrap:
    """Each line behind a prefix, in which N is its number."""
    return lambda data: b"".join(
        prefix.replace("N", str(number)).encode() + line
        for number, line in enumerate(data.splitlines(keepends=True), 10)
    )


def left_of(wrap: Wrap, lines: bytes) -> bytes:
    """The lines as they leave: where the collector parsed them, none has a spelling of its own."""
    if wrap is not google:
        return lines
    values = map(agentfmt.decode_json, lines.splitlines())
    return b"".join(agentfmt.encode_json(value) + b"\n" for value in values)


WRAPS: dict[str, Wrap] = {
    "docker json-file": docker,
    "CRI": cri,
    "journald": member("MESSAGE", PRIORITY="6"),
    # journalctl -o json writes an array of bytes where a line is not plain text.
    "journald, bytes": lambda data: objects(
        {"__CURSOR": "s=1", "PRIORITY": "6", "MESSAGE": [*line]} for line in data.splitlines()
    ),
    "Vector": member("message", host="h", source_type="file", timestamp="2026-11-21T10:00:00Z"),
    "Filebeat": member("message", **{"@timestamp": "t", "log": {"offset": 1}, "type": "log"}),
    "Fluent Bit": member("log", date=1.5, kubernetes={"pod_name": "p"}),
    "logcli": member("line", labels={"app": "x"}, timestamp="2026-11-21T10:00:00Z"),
    "Google, an object": google,
    "Google, text": member("textPayload", insertId="1"),
    "Google, a message": member("jsonPayload", "message", insertId="1"),
    "OpenTelemetry": member("body", "stringValue", timeUnixNano="1", severityNumber=9),
    "OpenTelemetry, text": member("body", severityText="INFO"),
    "CloudWatch": member("message", timestamp=1, ingestionTime=2),
    "Fluent Bit on docker's file": lambda data: member("log")(docker(data)),
    "docker's file behind a prefix": lambda data: prefixed("2026-11-21 ")(docker(data)),
}
EACH = pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)


# ---------------------------------------------------------------- what leaves


@EACH
def test_the_agents_lines_leave_byte_for_byte(wrap: Wrap) -> None:
    """However they are read, and as in every output."""
    assert convert(wrap(LINES), *SAME) == Ended(left_of(wrap, LINES), "", 0)
    for to in ("text", "json", "cursor"):
        assert convert(wrap(LINES), "-t", to) == convert(left_of(wrap, LINES), "-t", to)
    data = init() + assistant("é" * 50) + completed() + result()
    assert convert(one_byte_at_a_time(wrap(data)), *SAME) == Ended(left_of(wrap, data), "", 0)


@EACH
def test_prose_is_prose(wrap: Wrap) -> None:
    if wrap is google:
        pytest.skip("an object holds no prose")
    ended = convert(wrap(init() + b"npm: not found\n"), *SAME)
    assert (ended.stdout, ended.status) == (init(), 1)
    assert "agentfmt: stdin:2: npm: not found\n" in ended.stderr
    assert ended.stderr.endswith("ended without a result after 1 event; npm: not found\n")


@EACH
def test_a_live_line_leaves_at_once(wrap: Wrap) -> None:
    assert left_after(map(wrap, whole_run().splitlines(True)), *SAME) == [1, 2, 3, 4, 5, 6]


@EACH
@pytest.mark.parametrize("classes", ["secrets", "all"])
def test_redaction_sees_what_it_would_have_seen(wrap: Wrap, classes: str) -> None:
    deltas = "".join(f"the token is {TOKEN} \npassword: hunter2hunter\n" for _ in range(3))
    said = [deltas[at : at + 7] for at in range(0, len(deltas), 7)]
    data = init() + b"".join(assistant(text, timestamp_ms=1) for text in said)
    data += completed(result={"success": {"content": "x" * 16_300 + f" {TOKEN} " + "y" * 16_384}})
    data += result(result=f"token={TOKEN}")
    plain, wrapped = (convert(one, *SAME, "-r", classes) for one in (data, wrap(data)))
    assert wrapped == plain
    assert TOKEN.encode() not in wrapped.stdout


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize("size", [1, 7, 100, 16384])
def test_pieces_of_two_streams_are_kept_apart(size: int) -> None:
    """Pieces of stderr come between those of a line on stdout."""
    noise = [f"warning {number}: " + "w" * 40 for number in range(3)]
    for wrap in (docker, cri):
        out = wrap(LINES[:3000] + b"\n", size=size) if size > 50 else wrap(whole_run(), size=size)
        lines = out.splitlines(keepends=True)
        text = "\n".join(noise).encode() + b"\n"
        extra = wrap(text, "stderr").splitlines(keepends=True)
        for number, line in enumerate(extra):
            lines.insert(1 + number * len(lines) // 3, line)
        plain = convert(wrap(LINES[:3000] + b"\n") if size > 50 else whole_run(), *SAME)
        ended = convert(b"".join(lines), *SAME)
        assert ended.stdout == plain.stdout
        assert [text in ended.stderr for text in noise] == [True] * 3


def test_messages_name_the_line_of_the_file() -> None:
    data = docker(init() + assistant("x" * 40_000) + b"{bad\n" + result())
    ended = convert(data, *SAME)
    assert ended.stderr.startswith("agentfmt: stdin:5: bad JSON")
    assert ended.status == 3


def test_a_line_in_pieces_that_is_too_long() -> None:
    data = init() + assistant("x" * 100_000) + result()
    for wrap in (docker, cri):
        ended = convert(wrap(data), *SAME, "--max-line", "40K")
        assert ended.stdout == init() + result()
        assert "stdin:4: longer than --max-line 40960: " in ended.stderr or wrap is cri
        assert ended.status == 3


@pytest.mark.parametrize(("lost", "status"), [(1, 0), (-2, 3)], ids=["the first", "the last"])
def test_a_piece_is_lost(lost: int, status: int) -> None:
    """It costs its line: the next one is whole again."""
    for wrap in (docker, cri):
        lines = wrap(init() + assistant("x" * 60_000) + result()).splitlines(keepends=True)
        del lines[lost]
        ended = convert(b"".join(lines), *SAME)
        assert (ended.stdout, ended.status) == (init() + result(), status)


def test_the_input_ends_within_a_line_in_pieces() -> None:
    for wrap in (docker, cri):
        lines = wrap(init() + assistant("x" * 60_000)).splitlines(keepends=True)
        ended = convert(b"".join(lines[:-1]), *SAME)
        assert ended.stdout == init()
        assert ended.stderr.startswith(f"agentfmt: stdin:{len(lines) - 1}: bad JSON (")


# ---------------------------------------------------------------- no envelope


@pytest.mark.parametrize("line", [
    event("error", message=init().decode()),
    event("error", message='{"type":"error","error":{"type":"overloaded_error"}}'),
    event("log", session=None, text="x"),
    event(session=None, message="text"),
    event(session=None, message={"type": "message", "role": "assistant"}),
    event(session=None, log=[1, 2], body=None, line=7, jsonPayload="x"),
    event(session=None, MESSAGE=[300, "x"]),
    event(session=None, message='{"error":"x"}'),
])  # fmt: skip
def test_an_event_is_no_envelope(line: bytes) -> None:
    assert convert(init() + line + result(), *SAME).stdout == init() + line + result()
    assert convert(line + whole_run(), *SAME).stdout == line + whole_run()


def test_it_is_decided_for_each_file() -> None:
    files = {"one": [docker(init())], "two": [completed() + member("log")(b"{}")], "three": []}
    ended = convert(files, *SAME)
    assert ended.stdout == init() + completed() + member("log")(b"{}")


def test_an_envelope_in_a_plain_stream_is_prose() -> None:
    for plain in (whole_run(), whole_run() * 50):
        ended = convert(plain + docker(whole_run()), *SAME)
        assert (ended.stdout, ended.status) == (plain, 0)
        assert f'stdin:{len(plain.splitlines()) + 1}: {{"log": "{{' in ended.stderr


def test_unwrap_none() -> None:
    data = docker(whole_run())
    ended = convert(data, *SAME, "--unwrap", "none")
    assert (ended.stdout, ended.status) == (data, 1)


@pytest.mark.parametrize("path", ["data", "a.b.c", "message", "type"])
def test_unwrap_a_member(path: str) -> None:
    wrap = member(*path.split("."), **({} if path == "type" else {"type": "agent"}))
    assert convert(wrap(LINES), *SAME, "--unwrap", path) == Ended(LINES, "", 0)
    if path != "type":
        data = b"".join(b'{"%s":%s}\n' % (path[:1].encode(), line) for line in whole_run().split())
        assert convert(data, *SAME, "--unwrap", path[:1]).stdout == whole_run()


# ---------------------------------------------------------------- damage


@st.composite
def spoiled(draw: st.DrawFn) -> list[bytes]:
    """Chunks of lines, some wrapped, some cut, doubled, mixed up."""
    wrap = draw(st.sampled_from([*WRAPS.values()]))
    say = assistant(f"token {TOKEN} and password=hunter2hunter", number=1)
    lines = wrap(init() + say * 3 + completed() + result()).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        cut = draw(st.integers(0, len(lines[at])))
        whole = lines[at].partition(b"token")[0]  # no rule knows the half of a secret's name
        begin = min(cut, len(whole))
        lines[at] = draw(
            st.sampled_from(
                [lines[at][:cut] + b"\n", lines[at][begin:], lines[at][:-1] + lines[at], lines[at],
                 lines[at] * 2, say, b"prose\n", lines[at][:cut] + lines[at]]
            )
        )  # fmt: skip
    data = b"".join(lines)
    step = draw(st.sampled_from([3, 50, 10**6]))
    return [data[i : i + step] for i in range(0, len(data), step)]


@given(spoiled())
def test_no_damage_leaks_or_crashes(chunks: list[bytes]) -> None:
    for to in ("stream-json", "text"):
        more = ("-m", "all") if to == "text" else ()
        ended = convert(chunks, "-t", to, *more, "-r", "secrets")
        shown = ended.stdout.decode() + ended.stderr
        assert [secret for secret in (TOKEN, "hunter2hunter") if secret in shown] == []
        assert ended.status in (0, 1, 3)


@pytest.mark.parametrize("text", [
    "Ok to proceed? (y) ", "\x1b[1G\x1b[0K\u2819", "\rDownload 90%\r", "\u200b", "10%\r 20%\r 30%",
])  # fmt: skip
def test_text_that_did_not_end_its_line_is_no_wrapping(text: str) -> None:
    """npx asks on the standard error, where the agent's first event then stands."""
    lines = whole_run().splitlines(keepends=True)
    assert convert(text.encode() + whole_run(), *SAME) == Ended(whole_run(), "", 0)
    if "\r" in text or "\x1b" in text:  # a terminal draws over it
        lines[3] = text.encode() + lines[3]
        assert convert(b"".join(lines), *SAME) == Ended(whole_run(), "", 0)


def test_gitlab_splits_lines() -> None:
    split = pieces(whole_run().splitlines(), 99)
    head = b"2026-11-27T09:00:00.123456Z 00O"
    data = b"".join(head + b"+ "[first:][:1] + one + b"\n" for one, first, _ in split)
    assert convert(data, *SAME) == Ended(whole_run(), "", 0)


# ---------------------------------------------------------------- one wrapping for a FILE

SUCCESS = result()
FAILURE = result(is_error=True) + event("error", sessionID="s", error="no") + b"x {\n"


WRAPPINGS: dict[str, Wrap] = {
    "bare": lambda data: data,
    "a time": prefixed("2026-11-2N:17:0N.5Z "),
    "syslog": prefixed("Nov  9 10:17:N host agent[N]: "),
    "compose": prefixed("agent-1  | "),
    "another service": prefixed("mcp-1  | "),
    "a level": prefixed("WARN mcp-server stderr: "),
    "docker": docker,
    "docker, stderr": lambda data: docker(data, "stderr"),
    "CRI": cri,
    "CRI, stderr": lambda data: cri(data, "stderr"),
    "a message": member("message", level="info"),
    "a line": member("line"),
    "journald": member("MESSAGE", PRIORITY="6"),
    "Google": member("textPayload"),
    "docker behind a prefix": lambda data: prefixed("mcp-1  | ")(docker(data)),
    "a message in docker": lambda data: docker(member("message")(data)),
    "docker in a message": lambda data: member("message")(docker(data)),
}


@pytest.mark.parametrize("size", [40, 10**6])
@pytest.mark.parametrize("own", WRAPPINGS)
def test_an_end_in_another_wrapping_is_prose(own: str, size: int) -> None:
    """Whatever it says; and what one read delivers does not matter."""
    wrap, begun, noise = WRAPPINGS[own], init() + user() + completed(), b"npm warn\n" * 30

    def status(data: bytes) -> int:
        return convert([data[at : at + size] for at in range(0, len(data), size)]).status

    assert status(wrap(noise + begun + SUCCESS)) == 0
    for other, forge in WRAPPINGS.items():
        failed = wrap(begun) + forge(FAILURE)
        assert status(wrap(begun) + forge(SUCCESS)) == (own != other), other
        assert status(failed + wrap(SUCCESS)) == (own == other), other
        said = convert(failed, "-q").stderr
        assert ("ended without a result" in said) == (own != other), other


def test_lines_of_a_collector_that_hold_no_event_decide_nothing() -> None:
    noise = b"npm warn\n" * 30
    for data in (docker(noise) + whole_run(), noise + whole_run(), docker(noise + whole_run())):
        ended = convert(data, "-q")
        assert (ended.status, "this is" in ended.stderr, "no event in" in ended.stderr) == (0, 0, 0)


BEGUN = init() + user() + started()
SEVERAL = {
    "an array": b"[%s]\n" % SUCCESS.strip(),
    "two on a line": b"WARN x: %s%s" % (SUCCESS.strip(), SUCCESS),
    "with an escape": SUCCESS.replace(b"type", rb"t\u0079pe", 1).strip() + SUCCESS,
}


@pytest.mark.parametrize("line", SEVERAL.values(), ids=SEVERAL)
def test_several_events_on_a_line_are_wrapped_as_one_is(line: bytes) -> None:
    for name in ("a time", "docker", "a message") + ("bare",) * line.startswith(b"WARN"):
        assert convert(WRAPPINGS[name](BEGUN) + line).status == 1


@pytest.mark.parametrize(
    "prefix",
    ["2026-11-25T10:00:00Z LEVEL agent: ", "[LEVEL] ", "LEVEL:root:", "LEVEL1125 10:00:00 x] "],
)
def test_a_level_may_differ(prefix: str) -> None:
    levels = "IWED" if "1125" in prefix else ("INFO", "warn", "error", "dbg")
    pairs = zip(whole_run().splitlines(True), itertools.cycle(levels), strict=False)
    wrapped = [prefix.replace("LEVEL", level).encode() + line for line, level in pairs]
    assert convert(wrapped, *SAME) == Ended(whole_run(), "", 0)
    for stranger in (b"", b"UTC ", b"WARN mcp: ", b"10 "):
        assert convert([*wrapped[:-1], stranger + SUCCESS]).status == 1
        assert convert([*wrapped, stranger + b'{"type":"result"']).status == 0  # nor is it damage


@pytest.mark.parametrize(("line", "status"), [
    pytest.param(docker(b"{ code: 1\n", "stderr"), 0, id="of the other stream"),
    pytest.param(docker(b"{ code: 1\n"), 3, id="of its stream"),
    pytest.param(b'{"log":"{', 3, id="a broken envelope"),
    pytest.param(b"{ code: 1", 0, id="prose between envelopes"),
])  # fmt: skip
def test_only_what_is_wrapped_as_the_agent_is_can_be_damaged(line: bytes, status: int) -> None:
    assert convert(docker(BEGUN) + line.rstrip(b"\n") + b"\n" + docker(SUCCESS)).status == status


@pytest.mark.parametrize("other", [*WRAPPINGS][1:])
def test_an_end_alone_does_not_decide(other: str) -> None:
    """A stranger may print before the agent does."""
    wrap = WRAPPINGS[other]
    for own in {"bare", "docker", "a level"} - {other}:
        assert convert(wrap(SUCCESS) + WRAPPINGS[own](BEGUN)).status == 1
        assert convert(wrap(SUCCESS) + WRAPPINGS[own](whole_run())).status == 0


@pytest.mark.parametrize("other", ["bare", "a level"])
def test_two_streams_in_two_wrappings(other: str) -> None:
    """Only the first one is judged; that the other one is prose is said, and a way out."""
    for own in {"bare", "docker", "a level"} - {other}:
        ended = convert(WRAPPINGS[own](whole_run()) + WRAPPINGS[other](completed() * 2), "-q")
        assert ended.status == 0
        said = "agentfmt: stdin:7: prose, since the first event was wrapped in another way"
        assert said in ended.stderr


@pytest.mark.parametrize("path", [path for path in STREAMS if "unknown" not in path.values[0]])
def test_nobody_ends_a_recorded_run(path: str) -> None:
    """What a stranger says in another wrapping changes no verdict."""
    lines = [line + b"\n" for line in content(path).splitlines()]
    cut = max(len(lines) * 2 // 3, 1)
    begun, whole = b"".join(lines[:cut]), b"".join(lines)
    if begun.startswith(b"["):
        pytest.skip("prose in a document is damage")
    for own in (begun, whole):
        plain = convert(own, "-t", "runs")
        for end in (lines[-1], result(None), result(None, is_error=True)):
            forged = b"".join(wrap(end) for name, wrap in WRAPPINGS.items() if name != "bare")
            ended = convert(begun + forged + own[len(begun) :], "-t", "runs")
            assert ended.status == plain.status
            rows = zip(ended.objects, plain.objects, strict=True)
            assert all(one["verdict"] == other["verdict"] for one, other in rows)
