"""Reading: frames, events, prose, damage and documents, whatever the bytes are."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import (
    SAME,
    Ended,
    Report,
    assistant,
    at_most,
    content,
    convert,
    corpus,
    event,
    init,
    left_after,
    named_sections,
    one_byte_at_a_time,
    one_in,
    parameters,
    result,
    whole_run,
)  # fmt: skip

import agentfmt

FORMATS = ("text", "json", "stream-json")
END = b'{"type":"result","is_error":false}\n'
BOM = b"\xef\xbb\xbf"
LIMIT = 100  # as --max-line
Pack = Callable[[bytes], bytes]
ROWS = named_sections("reading.txt")


def cuts(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """The bytes in chunks of these sizes, then the rest."""
    start = 0
    for size in sizes:
        if start < len(data):
            yield data[start : start + size]
            start += size
    if start < len(data):
        yield data[start:]


def among(line: bytes, *flags: str) -> Ended:
    """A line between others, which it must not harm."""
    ended = convert(b'{"type":"a"}\n' + line + b"\n" + END, *SAME, *flags)
    assert ended.stdout.startswith(b'{"type":"a"}\n')
    assert ended.stdout.endswith(END)
    return ended


def passed(line: bytes) -> Ended:
    return Ended(b'{"type":"a"}\n' + line + b"\n" + END, "", 0)


# ---------------------------------------------------------------- what a line is


@pytest.mark.parametrize("line", [
    *(row.encode() for row in ROWS["events"]),
    pytest.param(b'{"type":"x","v":' + b"7" * 5000 + b"}", id="5000 digits"),
    pytest.param(b'{"type":"x","v":-' + b"7" * 5000 + b"}", id="5000 digits, negative"),
    pytest.param(b'{"type":"x","v":' + b"7" * 100_000 + b"}", id="100000 digits"),
    pytest.param(b'{"type":5,"v":' + b"7" * 5000 + b"}", id="5000 digits, coerced"),
    pytest.param(b'{"type":"x","v":1.' + b"0" * 5000 + b"1}", id="a long fraction"),
    pytest.param('{"type":"x","v":"\u2028\u2029\x7f\x85"}'.encode(), id="line separators"),
    pytest.param(b'{"a": 1 , "b":\t[ ] }', id="blanks within"),
    pytest.param(b'{"a":' + b"[" * 511 + b"]" * 511 + b"}", id="512 levels"),
    pytest.param(b'{"a":' * 512 + b"1" + b"}" * 512, id="512 levels of objects"),
    pytest.param(b'{"type":5,"a":' + b"[" * 511 + b"]" * 511 + b"}", id="512 levels, coerced"),
    pytest.param(b'{"type":"tool_call","tool_call":{"readToolCall":' + b"[" * 500 + b"]" * 500
        + b"}}", id="deep within a call"),
    pytest.param(b'{"\\u007fraw":1,"\\u007frun":2,"\x7fstarted":3}', id="names used within"),
])  # fmt: skip
def test_an_event_passes_byte_for_byte(line: bytes) -> None:
    ended = among(line)
    if b"tool_call" in line and b"[[" in line:  # it opens a run, which the result then ends
        assert ended.stdout == passed(line).stdout
    else:
        assert ended == passed(line)
    for to in FORMATS:
        assert convert(line + b"\n" + END, "-t", to).status == 0


def test_a_session_may_be_a_lone_surrogate() -> None:
    data = init("\ud83d") + result("\ud83d")
    assert convert(data, *SAME) == Ended(data, "", 0)


@pytest.mark.parametrize(("line", "reason"), [
    *(tuple(row.split(" -> ")) for row in ROWS["damaged"]),
    pytest.param(b'{"a":"\0"}', "a NUL byte", id="NUL in a string"),
    pytest.param(b'{"a":1}\0', "a NUL byte", id="NUL after"),
    pytest.param(b'{"a":"\xff"}', "invalid UTF-8 at byte 7", id="invalid UTF-8"),
    pytest.param(b'{"a":"\xed\xa0\xbd"}', "invalid UTF-8 at byte 7", id="raw surrogate"),
    pytest.param(b'{"a":"\xc0\x80"}', "invalid UTF-8 at byte 7", id="overlong"),
    pytest.param(b'{"a":"\xe4\xb8"}', "invalid UTF-8 at byte 7", id="half a character"),
    pytest.param(b'{"type":"x","a":"\xff"}', "invalid UTF-8", id="in a skipped member"),
    pytest.param(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested", id="deep"),
    pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested", id="deep objects"),
    pytest.param(b'{"a":' * 100_000, "", id="deep and open"),
    pytest.param(b'{"a":1}\x0b', "bad JSON", id="VT after"),
    pytest.param(b'{"a":1}\xc2\xa0', "bad JSON", id="no-break space after"),
    pytest.param(b'{"a":1}\xe2\x80\xa8', "bad JSON", id="line separator after"),
])  # fmt: skip
def test_damage_costs_only_itself(line: bytes | str, reason: str) -> None:
    ended = among(line.encode() if isinstance(line, str) else line)
    assert ended.stdout == b'{"type":"a"}\n' + END
    assert ended.status == 3
    assert ended.stderr.startswith(f"agentfmt: stdin:2: {reason}")
    assert ended.stderr.count("\n") == 1
    assert len(ended.stderr) < 400
    assert ended.stderr.strip().isprintable()


@pytest.mark.parametrize("line", [
    b"42", b"null", b'"text"', b"[]", b"[INFO] x", b"[1,2]", b"\xfe binary \0\x1b[2J",
    b"}", b"a { b", b"a {} b", b"a {}", b"npm WARN {\"type\":\"x\"} trailing", b"\x0b",
    b'\x0b{"type":"x"} y', b"\xc2\xa0", b"x\0",
])  # fmt: skip
def test_prose_is_echoed_and_harmless(line: bytes) -> None:
    ended = among(line)
    assert (ended.stdout, ended.status) == (b'{"type":"a"}\n' + END, 0)
    assert ended.stderr.startswith("agentfmt: stdin:2")
    assert ended.stderr.count("\n") == 1
    assert not agentfmt.CONTROL.search(ended.stderr[:-1])


@pytest.mark.parametrize("last", ["password:", "hunter2hunter", "Fatal: x"])
def test_the_reason_stands_behind_much_prose(last: str) -> None:
    """What isn't shown is redacted when a run fails by it, in the order of the lines."""
    data = init() + b"npm warn\n" * 300 + f"password:\n{last}\n".encode()
    ended = convert(data, "-q")
    assert ended.stderr.count("npm warn") == agentfmt.REJECTS_SHOWN
    assert ("; Fatal: x" in ended.stderr) == (last == "Fatal: x")
    assert "hunter2" not in ended.stderr


@pytest.mark.parametrize("blank", [b"", b" ", b"\t", b"\r", b" \t\r ", b"\0", b"\0\0 \0", BOM])
def test_blank_lines_are_ignored(blank: bytes) -> None:
    ended = among(blank)
    assert ended == Ended(b'{"type":"a"}\n' + END, "", 0)


@pytest.mark.parametrize("data", [
    pytest.param(whole_run().replace(b"\n", b"\r\n"), id="CRLF"),
    pytest.param(BOM + whole_run(), id="BOM"),
    pytest.param(BOM + b"\r\n\r\n" + whole_run(), id="BOM and blank lines"),
    pytest.param(b"\n" * 30_000 + whole_run(), id="blank lines"),
    pytest.param(whole_run().replace(b"\n", b"\n\n \t\n"), id="blank lines between"),
    pytest.param(whole_run().replace(b"\n", b"  \n\t "), id="blanks around"),
    pytest.param(whole_run().removesuffix(b"\n"), id="no last newline"),
    pytest.param(b"a | " + whole_run().replace(b"\n", b"\na | ")[:-4], id="prefixes"),
    pytest.param(b"\0" * 100_000 + whole_run(), id="NULs of a file that was truncated"),
    pytest.param(whole_run().replace(b"\n", b"\n\0\0\0"), id="NULs between"),
])  # fmt: skip
def test_what_may_surround_an_object(data: bytes) -> None:
    assert convert(data, *SAME) == Ended(whole_run(), "", 0)
    for sizes in ([1] * 6000, [2] * 3000, [3] * 2000, [50_000]):
        assert convert(cuts(data, sizes), *SAME) == Ended(whole_run(), "", 0)


def test_each_file_may_begin_with_a_bom() -> None:
    files = {"one": [BOM + init()], "two": [BOM + result()]}
    assert convert(files, *SAME) == Ended(init() + result(), "", 0)


def test_a_prefix_has_at_most_256_bytes() -> None:
    for length in (0, 1, 255, 256, 257):
        ended = convert(b"x" * length + b'{"type":"x"}\n' + END, *SAME)
        assert ended.stdout == b'{"type":"x"}\n' * (length <= 256) + END
        assert ended.status == 0


def test_an_object_behind_a_prefix_needs_a_type() -> None:
    ended = convert(b'x {"a":1}\nx {"type":7}\n' + END, *SAME)
    assert (ended.stdout, ended.status) == (END, 0)
    assert ended.stderr.count("\n") == 2


def test_prefixes_are_remembered_per_file() -> None:
    prefixed = b"".join(b"x " + line for line in whole_run().splitlines(keepends=True))
    files = {"one": [prefixed], "two": [b'x {"type":\n', whole_run()]}
    assert convert(files).status == 0
    assert convert(prefixed + b'x {"type":\n').status == 3
    assert convert(prefixed + b"x type\n").status == 0


# ---------------------------------------------------------------- the longest line


def sized(size: int) -> bytes:
    """An event of this many bytes, without its newline."""
    return b'{"type":"retry","v":"' + b"v" * (size - 23) + b'"}'


@pytest.mark.parametrize("newline", [b"\n", b""])
@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, 10 * LIMIT])
@pytest.mark.parametrize("step", [1, 7, LIMIT, LIMIT + 1, 10_000])
def test_max_line_is_exact(size: int, newline: bytes, step: int) -> None:
    line = sized(size)
    assert len(line) == size
    data = END + line + newline
    ended = convert(cuts(data, [step] * len(data)), *SAME, "--max-line", str(LIMIT))
    if size <= LIMIT:
        assert ended == Ended(END + line + b"\n", "", 0)
    else:
        assert (ended.stdout, ended.status) == (END, 3)
        assert ended.stderr.startswith(f"agentfmt: stdin:2: longer than --max-line {LIMIT}: ")
        assert ended.stderr.count("\n") == 1


@given(sizes=st.lists(st.integers(23, 2 * LIMIT), max_size=12), cut=st.lists(st.integers(1, 300)))
def test_lines_around_one_that_is_too_long(sizes: list[int], cut: list[int]) -> None:
    lines = [sized(size) + b"\n" for size in sizes]
    ended = convert(cuts(b"".join(lines) + END, cut), *SAME, "--max-line", str(LIMIT))
    assert ended.stdout == b"".join(line for line in lines if len(line) <= LIMIT + 1) + END
    long = [i for i, size in enumerate(sizes, 1) if size > LIMIT]
    numbers = [int(line.split(":")[2]) for line in ended.stderr.splitlines() if "longer" in line]
    assert numbers[: len(long)] == long[:10]


@pytest.mark.parametrize("char", [b"x", b" "])
def test_a_long_line_that_is_no_object_is_no_damage(char: bytes) -> None:
    assert convert(char * 1000 + b"\n" + END, "--max-line", str(LIMIT)).status == 0


@pytest.mark.parametrize(("begin", "end", "status"), [
    pytest.param(b"", b"\n" + END, 3, id="line"),
    pytest.param(b"[\n", b",\n" + END + b"]", 3, id="document"),
])  # fmt: skip
def test_memory_of_what_is_far_too_long(begin: bytes, end: bytes, status: int) -> None:
    def arriving() -> Iterator[bytes]:
        yield begin + b'{"type":"x","v":"'
        for _ in range(200):
            yield b"v" * 65536
        yield b'"}' + end

    with at_most(5_000_000):
        ended = convert(arriving(), "--max-line", "1M")
    assert ended.status == status


def test_sizes() -> None:
    for size, count in {"1": 1, "5k": 5 << 10, "64M": 64 << 20, "2G": 2 << 30}.items():
        assert parameters("--max-line", size)["max_line"] == count


# ---------------------------------------------------------------- rejects


def rejected(data: Iterable[bytes]) -> bytes:
    """What --rejects keeps of a stream."""
    out, kept = agentfmt.Output(lambda _: None), list[bytes]()
    report = Report(out)
    report.save_rejected = kept.append
    agentfmt.convert([("-", iter(data))], to="text", max_line=LIMIT, reporter=report, out=out)
    return b"".join(kept)


@pytest.mark.parametrize("step", [1, 50, 100_000])
def test_rejects_are_kept_byte_for_byte(step: int) -> None:
    refused = [b"prose \xff\0\x1b[1m\r\n", b'  {"damaged":  \n', b"x" * 5000 + b"\n"]
    refused += [b'{"long":"' + b"x" * 5000 + b'"}\r\n', b"\tlast, without a newline"]
    data = b"".join(line + END + b" \n" for line in refused[:-1]) + refused[-1]
    kept = rejected(cuts(data, [step] * len(data)))
    assert kept == b"".join(refused) + b"\n"


# ---------------------------------------------------------------- documents


def pretty(*events: bytes) -> bytes:
    return b"".join(json.dumps(json.loads(e), indent=2).encode() + b"\n" for e in events)


RUN = whole_run().splitlines()


@pytest.mark.parametrize("data", [
    pytest.param(pretty(*RUN), id="pretty"),
    pytest.param(BOM + b"\n\n" + pretty(*RUN), id="BOM and blank lines"),
    pytest.param(pretty(*RUN).replace(b"\n", b"\r\n"), id="CRLF"),
    pytest.param(b"[" + b",".join(RUN) + b"]", id="array"),
    pytest.param(b"[\n" + b",\n".join(RUN) + b"\n]\n", id="array, one a line"),
    pytest.param(b"[ \t" + b" , ".join(RUN) + b" ] ", id="array with blanks"),
    pytest.param(b"[" + b",".join(RUN[:3]) + b"]\n[" + b",".join(RUN[3:]) + b"]", id="two"),
    pytest.param(b"[\n" + pretty(*RUN).replace(b"\n}\n{", b"\n},\n{") + b"]", id="both"),
    pytest.param(b"{\n" + RUN[0][1:] + b"\n" + b"\n".join(RUN[1:]), id="lines after one"),
])  # fmt: skip
def test_documents(data: bytes) -> None:
    for chunks in ([data], one_byte_at_a_time(data), cuts(data, [7] * len(data))):
        ended = convert(chunks, *SAME)
        assert ended == Ended(whole_run(), "", 0)


def test_documents_or_lines_is_decided_per_file() -> None:
    files = {"one": [pretty(*RUN[:3])], "two": [b"\n".join(RUN[3:5])], "three": [pretty(RUN[5])]}
    assert convert(files, *SAME) == Ended(whole_run(), "", 0)


@pytest.mark.parametrize("value", [
    b"7" * 5000, b"1E400", b'"\\ude00\\ud83d"', '"é中😀\u2028\x85"'.encode(), b'"{\\\\"',
    b'"' + b'\\"' * 100_000 + b'"', b'{"a":' * 500 + b"1" + b"}" * 500, b'{"":[],"a":[{}]}',
], ids=lambda value: value[:20].decode())  # fmt: skip
def test_values_in_documents(value: bytes) -> None:
    document = b'{\n  "type": "x", "v": %b\n}\n' % value
    ended = convert(document + END, *SAME)
    assert ended == Ended(b'{"type":"x","v":%b}\n' % value + END, "", 0)


def test_documents_nested_too_deeply() -> None:
    ended = convert(b'{\n"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n" + END, *SAME)
    assert ended.stderr.startswith("agentfmt: stdin:#1: nested too deeply: ")
    assert (ended.stdout, ended.status) == (END, 3)


@pytest.mark.parametrize("inner", [b'"a" 1', b'"a":[1}', b'"a":"\0"', b'"a":\xc2\xa01'])
def test_damage_in_documents(inner: bytes) -> None:
    ended = convert(b"{\n" + inner + b"}\n" + END, *SAME)
    assert (ended.stdout, ended.status) == (END, 3)
    assert ended.stderr.startswith("agentfmt: stdin:#1: ")


@pytest.mark.parametrize(
    "data", [b'{\n"a":1', b'{\n"a":"x', b'{\n"a"\n\n', b'[{"a":{', b'{"a":"\\']
)
def test_documents_that_are_cut(data: bytes) -> None:
    ended = convert(b"{\n" + END[1:] + data, *SAME)
    why = "stdin:#2: the document ends too early: "
    assert (ended.stdout, ended.status, why in ended.stderr) == (END, 3, True)


@pytest.mark.parametrize("size", [1, 20, 60])
def test_a_document_that_is_cut_costs_only_itself(size: int) -> None:
    """The next one begins where the line before doesn't want a value."""
    assert convert(b"{\n" + whole_run(), *SAME)[::2] == (whole_run(), 3)
    first, *others = map(pretty, RUN)
    ended = convert(first + others[0][:size] + b"\n" + b"".join(others), *SAME)
    assert (ended.stdout, ended.status) == (whole_run(), 3)
    assert ended.stderr.startswith("agentfmt: stdin:#2: the document ends too early: {")


@pytest.mark.parametrize("data", [pretty(*RUN), b"[\n" + b",".join(RUN) + b"]"])
def test_prose_before_documents(data: bytes) -> None:
    for chunks in ([b"a\n\nb\n" + data], one_byte_at_a_time(b"a\n\nb\n" + data)):
        ended = convert(chunks, *SAME)
        assert (ended.stdout, ended.status) == (whole_run(), 0)
        assert ended.stderr == "agentfmt: stdin:1: a\nagentfmt: stdin:3: b\n"


@pytest.mark.parametrize("between", [b"nonsense\n", b"42", b'"open string\n', b"[INFO] x\n", b"}"])
def test_prose_between_documents(between: bytes) -> None:
    ended = convert(b"{\n" + END[1:] + between + b"{\n" + END[1:] + between, *SAME)
    assert (ended.stdout, ended.status) == (END * 2, 0)
    assert [line.split(":")[2] for line in ended.stderr.splitlines()] == ["#2", "#4"]


@pytest.mark.parametrize("first", [b"{\n", b"[\n", b"[]\n", b"[{}]\n", b" \n[ \t{}]"])
@pytest.mark.parametrize("to", FORMATS)
def test_documents_without_a_run(first: bytes, to: str) -> None:
    assert convert(first, "-t", to).status == 1


def test_an_empty_array_before_lines() -> None:
    """What a tool printed first doesn't make a document of all that follows."""
    assert convert(b"[]\n" + whole_run(), "-q").status == 0


def test_a_document_longer_than_max_line() -> None:
    long = b'{"type":"x","v":"' + b"v" * 1000 + b'"}'
    ended = convert(b"[\n" + long + b",\n" + END + b"]", *SAME, "--max-line", str(LIMIT))
    assert (ended.stdout, ended.status) == (END, 3)
    assert ended.stderr.startswith("agentfmt: stdin:#1: longer than --max-line 100: ")


def test_documents_leave_as_they_arrive() -> None:
    assert left_after([b'{\n "type": "x"\n}\n'] * 5, *SAME) == [1, 2, 3, 4, 5]


# ---------------------------------------------------------------- binary data


@pytest.mark.parametrize("data", [
    *(random.Random(seed).randbytes(20_000) for seed in range(5)),
    b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20\0\0\0\2\0\0\0\2\0\0\0\0\0",
], ids=range(6))  # fmt: skip
@pytest.mark.parametrize("size", [1, 4096, 65536])
def test_binary_data_is_named_in_one_line(data: bytes, size: int) -> None:
    if size == 1:
        data = data[:2000]
    ended = convert(cuts(data, [size] * (len(data) // size)))
    told = [line for line in ended.stderr.splitlines() if ": " not in line or "{" not in line]
    assert (told, ended.status) == (["agentfmt: stdin: this is binary data"], 1)


def test_lines_before_the_first_event_are_no_reason_for_a_hint() -> None:
    job = b"".join(b"step %d of the job, of 60\n" % number for number in range(60))
    ended = convert(job + whole_run())
    assert (ended.status, "no event" in ended.stderr) == (0, False)
    assert "no events: step 59 of the job, of 60; if this is an agent's" in convert(job).stderr


TRACE = "Error: boom\n    at run (/srv/app.js:12:11)\n    at node:internal/main:36:49"


@pytest.mark.parametrize(("reason", "shown"), [
    ("Error: T: [resource_exhausted] Error", "resource_exhausted"),
    ("T: [unavailable] upstream is gone", "[unavailable] upstream is gone"),
    (TRACE, "Error: boom"),
    ('Traceback (most recent call last):\n  File "a", line 1, in f\n    f()\nOSError: full',
     "OSError: full"),
    ("a" * 300 + "the end", f"{'a' * 99}...{'a' * 91}the end"), ("b" * 200, "b" * 200),
])  # fmt: skip
def test_reasons_are_shown_as_a_person_would(reason: str, shown: str) -> None:
    """Of a stack trace the message; of what is too long, the middle goes."""
    ended = convert(result(is_error=True, result=reason))
    assert ended.stderr == f"agentfmt: run 5f0e4a1c (stdin:1) failed: {shown}\n"
    assert convert(result(is_error=True, result=reason), "-s").lines[-1].endswith(f": {shown}")


def test_a_stack_trace_on_stderr_tells_its_message() -> None:
    """Lines behind the message are no reason, and of what is too long the middle goes."""
    for said, shown in ((f"{TRACE}\n\nNode.js v22.3.0", "Error: boom"), (f"{'a' * 300}z", "aaz")):
        ended = convert(whole_run()[:-200] + f"\n{said}\n".encode())
        assert ended.stderr.endswith(f"{shown}\n")


@pytest.mark.parametrize("text", [
    "Erreur: accès refusé, réessayez plus tard".encode("latin-1"),
    "エラー：ファイルが見つかりません".encode("shift-jis"),
    "错误：没有权限访问该文件".encode("gbk"),
    b"\x1b[32mready\x1b[0m \x1b[2K\r\x1b[1A\x1b[?25l",
    b"\2\0\0\0\0\0\0\x28a warning, as docker frames it in its streams",
])  # fmt: skip
def test_text_in_any_encoding_is_shown(text: bytes) -> None:
    ended = convert(text + b"\n")
    assert ended.stderr.startswith("agentfmt: stdin:1: ")
    assert "binary" not in ended.stderr


def test_a_run_behind_binary_data_is_read() -> None:
    noise = b"\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\n"
    ended = convert(noise + whole_run() + b"last words\n")
    assert ended.status == 0
    assert ended.stderr == f"agentfmt: stdin:{len(RUN) + 2}: last words\n"


# ---------------------------------------------------------------- whatever the bytes are

LINES = st.sampled_from(
    [
        *RUN,
        event("thinking", subtype="delta", text="x").strip(),
        b'prefix {"type":"x"}', b'prefix {"type":', b"prose", b"", b"\r", b"{", b"}", b"[", b"]",
        b'{"type":"x"} {}', b'{"type":5,"v":1E400}', b'"', b"\\", b"\xff", "é中".encode(), BOM,
        b'{"type":"x","v":"' + b"v" * 200 + b'"}', b"w" * 200,
        b'{"type":"user","session_id":"b"}', b'{"type":"result","is_error":false}', b'[{"a":1},',
    ]
)  # fmt: skip
STREAMS = st.lists(LINES, max_size=12).map(b"\n".join) | st.binary(max_size=60)


@pytest.mark.parametrize("to", FORMATS)
@given(data=STREAMS, sizes=st.lists(st.integers(1, 40)), limit=st.sampled_from([None, "150"]))
def test_chunks_do_not_matter(to: str, data: bytes, sizes: list[int], limit: str | None) -> None:
    flags = ["-t", to, *(["--max-line", limit] if limit else [])]
    whole, cut = convert(data, *flags), convert(cuts(data, sizes), *flags)
    assert (cut.stdout, cut.status) == (whole.stdout, whole.status)
    assert cut.stderr.count("\n") == whole.stderr.count("\n")


NAMES = st.text(max_size=3) | st.sampled_from(
    [
        "type", "subtype", "session_id", "message", "content", "text", "tool_call", "call_id",
        "readToolCall", "shellToolCall", "function", "result", "success", "failure", "error",
        "exitCode", "is_error", "timestamp_ms", "model_call_id", "name", "parent_tool_use_id",
        "diffString", "status", "errors", "raw", "run", "started",
    ]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(["assistant", "tool_call", "result", "user"]),
    lambda value: st.lists(value, max_size=3) | st.dictionaries(NAMES, value, max_size=3),
    max_leaves=10,
)  # fmt: skip
OBJECTS = st.dictionaries(NAMES, JSON, max_size=6).filter(  # a collector's line may hold nothing
    lambda each: not any(isinstance(text, str) and not text.strip() for text in each.values())
)


@st.composite
def spelled(draw: st.DrawFn) -> bytes:
    """A JSON object on a line, in one of its spellings."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()), separators=separators)
    spelling = draw(st.sampled_from([("", ""), ("/", "\\/"), ("e", "\\u0065"), ("1", "1E400")]))
    other = text.replace(*spelling)
    try:
        json.loads(other)
    except ValueError:
        other = text
    return other.encode("utf-8", "replace")


BLANK = st.sampled_from([b"", b" ", b"\t", b"\r", b" \r"])


@given(lines=st.lists(st.tuples(BLANK, spelled(), BLANK)), sizes=st.lists(st.integers(1, 99)))
@example(lines=[(b"", b'{"type":"thinking"}', b"\r")], sizes=[])
def test_identity(lines: list[tuple[bytes, bytes, bytes]], sizes: list[int]) -> None:
    data = b"\n".join(map(b"".join, lines))
    ended = convert(cuts(b'{"a":1}\n' + data, sizes), *SAME)
    assert ended.stdout == b'{"a":1}\n' + b"".join(line + b"\n" for _, line, _ in lines)
    assert ended.status in (0, 1)


@given(values=st.lists(OBJECTS, min_size=1), indent=st.integers(1, 4), array=st.booleans())
def test_documents_hold_equal_values(values: list[Any], indent: int, array: bool) -> None:
    texts = [json.dumps(value, indent=indent) for value in values]
    data = f"[\n{','.join(texts)}\n]" if array else "{\n}\n" + "\n".join(texts)
    ended = convert(data.encode(), *SAME)
    made = [json.loads(line) for line in ended.stdout.split(b"\n")[:-1]]
    assert made == (values if array else [{}, *values])


@pytest.mark.parametrize("to", FORMATS)
@given(data=st.binary())
def test_nothing_crashes(to: str, data: bytes) -> None:
    for start in (b"", b"{\n", b"[{", b'{"type":"user"}\n'):
        assert convert(start + data, "-t", to).status in (0, 1, 3)


@pytest.mark.parametrize(("pack", "said"), [
    pytest.param(gzip.compress, "gzip data: zcat FILE | agentfmt", id="gzip"),
    pytest.param(bz2.compress, "bzip2 data: bzcat FILE | agentfmt", id="bzip2"),
    pytest.param(lzma.compress, "xz data: xzcat FILE | agentfmt", id="xz"),
    pytest.param(lambda data: b"\x28\xb5\x2f\xfd" + gzip.compress(data),
        "zstd data: zstdcat FILE | agentfmt", id="zstd"),
    pytest.param(lambda data: b"PK\x03\x04" + gzip.compress(data),
        "a zip archive: unzip -p FILE | agentfmt", id="zip"),
    pytest.param(lambda data: data.decode().encode("utf-16"),
        "UTF-16: iconv -f UTF-16 -t UTF-8 FILE | agentfmt", id="UTF-16"),
    pytest.param(lambda _: b"<HTML>\n<body>\n", "an HTML page: download the log as text",
        id="HTML"),
    pytest.param(lambda data: convert(data, "-t", "runs").stdout, "a table that agentfmt wrote",
        id="table"),
    pytest.param(lambda data: json.dumps(convert(data, "-t", "calls").objects, indent=2).encode(),
        "a table that agentfmt wrote", id="table of jq's"),
])  # fmt: skip
def test_what_is_no_stream_is_named_for_what_it_is(pack: Pack, said: str) -> None:
    data = pack(whole_run())
    wanted = Ended(b"", f"agentfmt: stdin: this is {said}\n", 1)
    assert convert(data) == wanted
    assert convert(one_byte_at_a_time(data)) == wanted
    assert convert({"good": [whole_run()], "-": [data]})[1:] == wanted[1:]


@pytest.mark.parametrize("line", [b"B\n", b"BZ2 is no such line\n", b"P K\n", b"<p>\n", b"{\n"])
def test_lines_that_begin_like_something_else(line: bytes) -> None:
    assert "this is" not in convert(line + whole_run()).stderr


# ---------------------------------------------------------------- codes for terminals

TITLE, PROGRESS, COLOR = "\x1b]0;{a}: ready\x07", "\x1b]9;4;0;\x1b\\", "\x1b[?2004h\x1b[0m"


@pytest.mark.parametrize(
    "codes", [TITLE, TITLE * 40, PROGRESS, COLOR, f"{TITLE} {COLOR}{PROGRESS}"]
)
def test_codes_for_a_terminal_are_no_part_of_a_line(codes: str) -> None:
    data, code = whole_run(), codes.encode()
    for place in ("before", "behind"):
        lines = [code + line if place == "before" else line[:-1] + code + b"\n"
                 for line in data.splitlines(True)]  # fmt: skip
        ended = convert([*lines, code], *SAME)
        assert (ended.stdout, ended.status, ended.stderr) == (data, 0, "")


def test_silence_is_told_within_documents() -> None:
    """Who prints events over several lines may fall silent within one: stages look at the clock."""
    chunks = [b'{\n  "type": "x",\n', b"", b'  "n": 1\n}\n', b"", b"{}\n"]
    frames = agentfmt.read_frames(agentfmt.Source("-"), iter(chunks))
    assert [*frames] == [b"", b'{"type":"x","n":1}\n', b"", b"{}\n"]


def test_words_of_documents_are_released_after_silence() -> None:
    data = pretty(init(), assistant("hello", timestamp_ms=1))
    assert left_after([data, b""], *SAME, "-r", "secrets", max_wait=0) == [1, 2]


# ---------------------------------------------------------------- JSONTestSuite

# https://github.com/nst/JSONTestSuite, beside the checkout: y_ texts must be accepted, n_ texts
# refused, and i_ texts are for each parser to decide.
SUITE = corpus("jsontestsuite", "test_parsing", suffix=".json")


def is_json(line: bytes) -> bool:
    """Does Python's own parser take it for one object, as RFC 8259 has it?"""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        return isinstance(json.loads(line.decode(), parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


ON_A_LINE = [row for row in SUITE if row.marks or b"\n" not in content(row.values[0])]


@pytest.mark.parametrize("path", ON_A_LINE)
def test_a_line_with_a_text_passes_byte_for_byte_or_is_damaged(path: str) -> None:
    line, kind = b'{"type":"x","v":' + content(path) + b"}", os.path.basename(path)[0]
    ended = among(line)
    if ended != passed(line):
        assert (ended.stdout, ended.status) == (b'{"type":"a"}\n' + END, 3)
        assert re.fullmatch("agentfmt: stdin:2: .*\n", ended.stderr)
    if kind != "i":  # is_json: an object closed early, say
        assert (ended == passed(line)) == (kind == "y" or is_json(line))


@pytest.mark.parametrize("path", SUITE)
def test_whole_files_and_members_that_are_read(path: str) -> None:
    """No file is a run: none crashes, and none succeeds. Two consist of depth alone."""
    text = content(path)[:30_000]
    for to in one_in(3, ("text", "json", "stream-json"), path):
        assert convert(text, "-t", to).status == 1
        assert convert(text + b"\n" + text + b"\n", "-t", to).status == 1
    text = text.replace(b"\n", b" ")
    lines = [
        b'{"type":"assistant","session_id":"s","message":' + text + b"}\n",
        b'{"type":"tool_call","subtype":"completed","session_id":"s","tool_call":' + text + b"}\n",
        b'{"type":"result","session_id":"s","is_error":false,"result":' + text + b"}\n",
    ]
    for to in one_in(2, ("text", "json"), path):
        ended = convert(lines, "-t", to)
        assert ended.status in (0, 1, 3)
        assert ended.stderr.count("\n") <= 4
        assert to != "json" or not ended.stdout or is_json(ended.stdout)
