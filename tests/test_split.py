"""Secrets that are split over events: any cut gives what the whole text gives."""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from planting import GRAMMARS, PEM, Planted, hide, made, pem, redact, stands_in
from support import (
    SAME,
    SESSION,
    TIMEOUT,
    assistant,
    completed,
    event,
    init,
    left_after,
    one_in,
    result,
    scanner_of,
    start,
    started,
    thinking,
    user,
)
from test_process import measured

import agentfmt
from agentfmt import LONG_LINE

STREAM = (*SAME, "-r", "secrets")
TOKEN = made("ghp_<36 alnum>").text
MARKER = "[REDACTED:github-token]"
FLUTTERWAVE = made("FLWPUBK_TEST-<12 hex>").text  # no sign parts it from what stands behind it

# ---------------------------------------------------------------- words as events


Style = Callable[..., list[bytes]]


def each(say: Callable[..., bytes], **more: Any) -> Style:
    return lambda texts, session=SESSION: [say(text, session, **more) for text in texts]


partial, plain, thoughts = each(assistant, timestamp_ms=7), each(assistant), each(thinking)
STYLES = {"partial": partial, "plain": plain, "thinking": thoughts}


def words_of(said: Any) -> str:
    if said["type"] == "thinking":
        return str(said.get("text", ""))
    return "".join(block["text"] for block in said["message"]["content"])


def said(output: bytes, style: str = "partial") -> list[str]:
    """What the deltas say, one text an event."""
    kind = "thinking" if style == "thinking" else "assistant"
    return [words_of(one) for one in map(json.loads, output.splitlines()) if one["type"] == kind]


def stream(lines: Sequence[bytes], session: str = SESSION) -> bytes:
    return b"".join([init(session), *lines, result(session)])


def cuts(text: str, places: Iterable[int]) -> list[str]:
    ends = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(ends)]


def check(texts: Sequence[str], style: str, known: dict[str, list[str]] | None = None) -> list[str]:
    ended = redact(stream(STYLES[style](texts)), *STREAM, known=known)
    found = said(ended.stdout, style)
    assert len(found) == len(texts)
    assert "".join(found) == hidden_words("".join(texts), known or {})[0]
    return found


def hidden_words(text: str, known: dict[str, list[str]]) -> tuple[str, str]:
    """A text as deltas show it, and as their replay does: it knows what their last line told."""
    scanner, data = scanner_of(known), agentfmt.to_utf8(text)
    scanner.copies = agentfmt.Learnt(agentfmt.Learnt())
    spans = scanner.spans(data, whole=False), scanner.spans(data, whole=False)
    scanner.copies = None  # others use it, too
    deltas, replay = (agentfmt.splice(data, agentfmt.markers_for(found)) for found in spans)
    return agentfmt.from_utf8(deltas), agentfmt.from_utf8(replay)


# ---------------------------------------------------------------- every rule, every cut

TEMPLATES = [
    pytest.param(grammar.rule, grammar.found[0], id=f"{grammar.rule}-{number}")
    for number, grammar in enumerate(GRAMMARS)
]


def cut_places(planted: Planted, text: str) -> list[int]:
    """About where the secret begins and ends, and its literals; a few anywhere else."""
    begin = text.index(planted.secret)
    end = begin + len(planted.secret)
    signs = [match.end() for match in re.finditer(r"[^A-Za-z0-9]+|^.", text)]
    near = {place + off for place in (begin, end) for off in (-1, 0, 1, 4)}
    anywhere = random.Random(text).sample(range(1, len(text)), 6)
    return sorted({*near, *signs[:8], *anywhere} & {*range(1, len(text))})


@pytest.mark.parametrize(("rule", "template"), TEMPLATES)
def test_cuts_of_a_secret(rule: str, template: str) -> None:
    """Many runs in one stream: one for each cut of the text, in turns as each kind of words, and
    one with an event for each character."""
    planted = made(template)
    text = f"a {planted.text} b\nc"
    ways = [*zip(cut_places(planted, text), itertools.cycle(STYLES), strict=False)]
    sessions = {
        f"{style}-{cut}": (style, cuts(text, [cut])) for cut, style in one_in(2, ways, text)
    } | {"each": ([*STYLES][len(text) % len(STYLES)], [*text])}  # which one is chance
    runs = (stream(STYLES[way](texts, name), name) for name, (way, texts) in sessions.items())
    ended = redact(b"".join(runs), *STREAM)
    assert not stands_in(planted.secret, ended.stdout)
    found: dict[str, list[str]] = {}
    for line in ended.objects:
        if line["type"] in ("assistant", "thinking"):
            found.setdefault(line["session_id"], []).append(words_of(line))
    wanted = f"a {planted.hidden(rule)} b\nc"
    wrong = {name: left for name, left in found.items() if "".join(left) != wanted}
    assert wrong == {}
    assert [*map(len, found.values())] == [len(texts) for _, texts in sessions.values()]


@pytest.mark.parametrize("style", STYLES)
def test_marker_stands_where_the_secret_begins(style: str) -> None:
    found = check([f"a {TOKEN[:9]}", TOKEN[9:20], TOKEN[20:], " b"], style)
    assert found == [f"a {MARKER}", "", "", " b"]


# ---------------------------------------------------------------- random texts and cuts

FRAGMENTS = st.one_of(
    st.sampled_from([template for grammar in GRAMMARS for template in grammar.found]).map(
        lambda template: made(template).text
    ),
    st.sampled_from(
        ["\n", "\n", " ", "\r\n", "password=", "token: '", '"', "known value", "known ", "value",
         "two\nlines", "two\n", "lines", "[REDACTED:jwt]", PEM.format("BEGIN", "", ""),
         PEM.format("END", "", ""), "Bearer ", "é", "\ud83d", "\ude00", "😀", "\\n"]
    ),
    st.text("ab \n", max_size=4),
)  # fmt: skip


TEXTS = (
    st.lists(FRAGMENTS, min_size=1, max_size=9)
    .map("".join)
    .map(agentfmt.join_surrogates)
    .filter(bool)
)
KNOWN = {"k": ["known value", "two\nlines"]}


@given(TEXTS, st.lists(st.integers(0, 200), max_size=8), st.sampled_from([*STYLES]))
def test_any_cut_of_any_text(text: str, places: list[int], style: str) -> None:
    texts = cuts(text, places)
    check(texts, style, KNOWN)


def unnamed(text: str) -> str:
    """A rule over several lines is not the first to hide where others queue behind each of them."""
    return re.sub(r"\[REDACTED:[\w-]+\]", "*", text)


@given(TEXTS, st.lists(st.integers(0, 200), max_size=6))
def test_a_replay_is_redacted_like_its_deltas(text: str, places: list[int]) -> None:
    texts = cuts(text, places)
    replay = assistant(text, timestamp_ms=7, model_call_id="m")
    ended = redact(stream([*partial(texts), replay, started(), completed()]), *STREAM, known=KNOWN)
    *deltas, whole = said(ended.stdout)
    assert ("".join(deltas), whole) == hidden_words(text, KNOWN)


@pytest.mark.parametrize(("lines", "found"), [
    pytest.param([*partial([TOKEN[:9], TOKEN[9:], TOKEN]),
        event("interaction_query", subtype="request")], [MARKER, "", MARKER],
        id="a replay that looks like a delta"),
    pytest.param([*partial([""]), started(), *plain([TOKEN[:20], TOKEN[20:]]), result()],
        ["", MARKER, ""], id="an empty delta begins no segment"),
    pytest.param(partial([TOKEN[:12] + "ghp_" + TOKEN[:3]]), [MARKER],
        id="the input ends behind two anchors"),
])  # fmt: skip
def test_a_token_in_pieces(lines: list[bytes], found: list[str]) -> None:
    assert said(redact(b"".join([init(), *lines]), *STREAM).stdout) == found


def test_a_delta_that_looks_like_a_replay() -> None:
    found = check(["ab", "ab", f" {TOKEN[:9]}", TOKEN[9:]], "partial")
    assert found == ["ab", "ab", f" {MARKER}", ""]


@pytest.mark.parametrize("style", STYLES)
def test_segments_are_decided_separately(style: str) -> None:
    """Two halves with a call between them are not one secret: nothing joins them."""
    lines = [*STYLES[style]([TOKEN[:9]]), started(), completed(), *STYLES[style](["x"])]
    ended = redact(stream(lines), *STREAM)
    assert said(ended.stdout, style)[0] == TOKEN[:9]


RUNS = ("run-a", "run-b", "run-c")


@given(
    texts=st.lists(TEXTS, min_size=3, max_size=3),
    places=st.lists(st.integers(0, 100), max_size=5),
    rng=st.randoms(use_true_random=False),
)
@example([TOKEN, f"password=\n{TOKEN}two\nlines", TOKEN], [], random.Random(0))
@example(["a", f"{TOKEN}\n{FLUTTERWAVE}{TOKEN}", "b"], [], random.Random(0))
@example(["a", f"{agentfmt.KEY_BEGIN}\n{'A1' * 8}two\n{'A1' * 8}", "b"], [60], random.Random(0))
def test_interleaved_runs_and_other_events(
    texts: list[str], places: list[int], rng: random.Random
) -> None:
    queues: dict[str, list[bytes]] = {}
    for name, text in zip(RUNS, texts, strict=True):
        lines = thoughts(cuts(text, places), name)
        for number in range(4):
            other = event("connection", subtype="reconnecting", attempt=number, session=name)
            lines.insert(rng.randrange(len(lines) + 1), other)
        queues[name] = [init(name), *lines, result(name)]
    data = []
    while any(queues.values()):
        data.append(queues[rng.choice([name for name in RUNS if queues[name]])].pop(0))
    ended = redact(b"".join(data), *STREAM, known=KNOWN)
    for name, text in zip(RUNS, texts, strict=True):
        both = [*map(json.loads, data)], ended.objects
        before, after = ([e for e in es if e["session_id"] == name] for es in both)
        for member in ("type", "attempt"):
            assert [e.get(member) for e in before] == [e.get(member) for e in after]
        deltas = "".join(e["text"] for e in after if e["type"] == "thinking")
        assert unnamed(deltas) == unnamed(hidden_words(text, KNOWN)[0])


# ---------------------------------------------------------------- keys and values of many lines


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("style", STYLES)
def test_a_private_key_over_lines_and_deltas(style: str, newline: str) -> None:
    key = pem("RSA ", newline=newline)
    text = f"see{newline}{key}{newline}there {key}"
    for size in (1, 5, 64, 1000):
        found = check([text[at : at + size] for at in range(0, len(text), size)], style)
        assert not any(line in "".join(found) for line in key.split(newline)[1:-1])


@pytest.mark.parametrize("style", STYLES)
def test_a_key_without_its_end_hides_the_rest_of_the_segment(style: str) -> None:
    key = pem()[:-30] + "\nmore\nand more"
    found = check([*f"a\n{key}"], style)
    assert "".join(found) == "a\n[REDACTED:private-key]"
    lines = [*STYLES[style]([key, "\nx"]), started(), completed(), *STYLES[style](["free"])]
    assert said(redact(stream(lines), *STREAM).stdout, style)[-1] == "free"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_known_value_of_several_lines(newline: str) -> None:
    known = {"k": ["ab\ncd\nef", "cd\nxy"]}
    text = newline.join(["", "1 ab", "cd", "ef 2", "ab", "cd", "xy", "cd", "ab", "cd", "e"])
    for style in STYLES:
        for size in (1, 2, 3, 7):
            check([text[at : at + size] for at in range(0, len(text), size)], style, known)


@pytest.mark.parametrize("style", STYLES)
def test_deltas_that_cut_a_surrogate_pair(style: str) -> None:
    value = "pass😀word😀"
    first = "a pass\ud83d"
    for texts in ([first, "\ude00word😀 b"], [first, "\ude00word\ud83d", "\ude00 b"]):
        ended = redact(stream(STYLES[style](texts)), *STREAM, known={"k": [value]})
        assert "".join(said(ended.stdout, style)) == "a [REDACTED:k] b"


# ---------------------------------------------------------------- long lines


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("blank", [None, 0, LONG_LINE - 1, LONG_LINE])
@pytest.mark.parametrize("size", [LONG_LINE, LONG_LINE + 1, 2 * LONG_LINE + 1])
def test_long_lines_whatever_the_cut(size: int, blank: int | None, end: str) -> None:
    text = "x" * size
    if blank is not None:
        text = f"{text[:blank]} {text[blank + 1 :]}"
    text = f"first\n{text}{end}{'last ' + TOKEN if end else ''}"
    outputs = set()
    for piece, style in ((len(text), "plain"), (1000, "thinking"), (4093, "plain")):
        texts = [text[at : at + piece] for at in range(0, len(text), piece)]
        ended = redact(stream(STYLES[style](texts)), *STREAM)
        outputs.add("".join(said(ended.stdout, style)))
    assert len(outputs) == 1
    line = text.split("\n")[1]  # which CR belongs to
    (output,) = outputs
    if blank is None and len(line) > LONG_LINE:
        assert output.startswith("first\n[REDACTED:overlong]")
    elif len(line) <= LONG_LINE:
        assert "overlong" not in output


def test_a_long_line_is_cut_at_its_last_blank() -> None:
    """What follows a piece without one is hidden up to its first: a token may have been cut."""
    assert check_long("word " * 30_000 + TOKEN) == "word " * 30_000 + MARKER
    assert check_long("a" * (LONG_LINE + 5) + " b") == "[REDACTED:overlong] b"
    hidden = check_long("a" * (LONG_LINE - 9) + TOKEN + "\nb")
    assert hidden == "[REDACTED:overlong]\nb"


def check_long(text: str) -> str:
    found = set()
    for piece in (len(text), 999):
        lines = thoughts([text[at : at + piece] for at in range(0, len(text), piece)])
        found.add("".join(said(redact(stream(lines), *STREAM).stdout, "thinking")))
    assert len(found) == 1
    return found.pop()


# ---------------------------------------------------------------- what is held, and until when


@pytest.mark.parametrize(("lines", "left"), [
    pytest.param([init(), *partial(["one ", "line", "\n", "next"]), started(), result()],
        [1, 1, 1, 4, 4, 6, 7], id="text leaves with its line"),
    pytest.param([init(), *thoughts(["a", "b"]), event("thinking", subtype="completed"),
        *partial(["line\n", "", "x"]), started(), result()],
        [1, 1, 1, 4, 5, 6, 6, 8, 9], id="thinking that is complete holds nothing"),
    pytest.param([init("a"), *partial(["held"], "a"), init("b"), *partial(["x\n"], "b"), user("b")],
        [1, 1, 2, 3, 4], id="runs never wait for each other"),
    pytest.param([init(), *thoughts(["held"]), event("retry"), event("connection"),
        *thoughts(["\n"])], [1, 1, 1, 1, 5], id="other events queue behind held text"),
])  # fmt: skip
def test_when_lines_leave(lines: list[bytes], left: list[int]) -> None:
    assert left_after(lines, *STREAM) == left


# ---------------------------------------------------------------- the end, signals


@pytest.mark.parametrize(("rule", "template"), TEMPLATES)
def test_end_of_input_hides_what_may_begin_a_secret(rule: str, template: str) -> None:
    planted = made(template)
    parts = [r.parts() for r in agentfmt.RULES if r.name == rule]
    literals = [agentfmt.expression(literal) for before, literal, _ in parts if not before]
    held = f"see {planted.text}"
    ends = [match.end() for literal in literals if (match := literal.search(held.encode()))]
    if not ends or rule == "authorization" or planted.before[-1:].isalnum():
        pytest.skip("no literal at its beginning")
    sessions, data = dict[str, str](), b""
    for more, style in one_in(3, [*itertools.product((1, 5, 9), STYLES)], held):
        end = max(ends) + more
        begun = planted.secret[: max(0, end - len("see " + planted.before))]
        if len(begun) >= 4 and "Bearer" not in held[end:]:
            name = f"{style}-{more}"
            sessions[name] = ""
            data += init(name) + b"".join(STYLES[style](cuts(held[:end], [7]), name))
    for line in redact(data, *STREAM).objects:
        if line["type"] in ("assistant", "thinking"):
            sessions[line["session_id"]] += words_of(line)
    for name, left in sessions.items():
        assert re.search(rf"\[REDACTED:({rule}|authorization|assignment)\]$", left), (name, held)


def test_end_of_input_hides_the_beginning_of_known_values() -> None:
    known = {"k": ["correct horse battery"]}
    for length in range(1, 20):
        text = "see " + "correct horse battery"[:length]
        output = redact(b"".join([init(), *partial([text])]), *STREAM, known=known).stdout
        hidden = "see [REDACTED:k]" if length > 3 else text
        assert said(output) == [hidden]
    lines = [init(), *partial(["see pass\ud83d"])]  # within a character
    assert said(redact(lines, *STREAM, known={"k": ["pass😀word"]}).stdout) == ["see [REDACTED:k]"]


@pytest.mark.parametrize("code", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_secret(code: int) -> None:
    process = start(*STREAM)
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"".join([init(), *partial(["done\n", TOKEN[:15]])]))
    process.stdin.flush()
    got = [process.stdout.readline(), process.stdout.readline()]  # the second has left
    process.send_signal(code)
    rest, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + code
    assert said(got[1]) == ["done\n"]
    assert said(rest) == [MARKER]


# ---------------------------------------------------------------- stretches of deltas


def test_events_without_a_type_are_not_deltas() -> None:
    outside = event("connection", session=None, timestamp_ms=1)
    outside += b'{"a":2,"timestamp_ms":2}\n{"a":3,"timestamp_ms":3}\n'
    assert redact(outside, "-t", "stream-json", "-r", "secrets").stdout == outside
    thought = event("thinking", subtype="delta", text=TOKEN[:12], timestamp_ms=1)
    data = init() + thought + event(text=TOKEN[12:], timestamp_ms=1) + result()
    assert redact(data, "-t", "stream-json", "--thinking", "-r", "secrets").stdout == data


@pytest.mark.parametrize("size", [5, 11, 500])
@pytest.mark.parametrize("short", [18, 16, 12, 1, 0])
def test_a_private_key_begins_where_a_line_is_too_long(short: int, size: int) -> None:
    line = ("xxxxxxxxx " * LONG_LINE)[: LONG_LINE - short - 1] + " "
    rest = line[-100:] + pem() + "\nafter"
    texts = [line[:-100], *(rest[at : at + size] for at in range(0, len(rest), size))]
    events = [init(), *partial(texts), result()]
    ended = redact(b"".join(events), "-t", "stream-json", "-r", "secrets")
    whole = "".join(said(ended.stdout))
    assert whole == line + "[REDACTED:private-key]\nafter"
    assert redact(events, "-t", "stream-json", "-r", "secrets") == ended  # an event each read


def test_many_secrets_in_one_event() -> None:
    tokens = [f"ghp_{number:036d}" for number in range(1, 4001)]
    left = redact(event("x", a=tokens), "-t", "stream-json", "-r", "secrets").stdout
    assert left.count(MARKER.encode()) == len(tokens)


def test_events_do_not_wait_forever() -> None:
    """Behind words whose line is never completed; the beginning of a secret in them is hidden."""
    other = event("connection", subtype="reconnecting", attempt=1)
    held = other * (agentfmt.MAX_HELD // (len(other) + agentfmt.EVENT_OVERHEAD) + 1)
    data = init() + b"".join(partial([f"a {TOKEN[:12]}"])) + held
    reads = [data[at : at + agentfmt.BLOCK] for at in range(0, len(data), agentfmt.BLOCK)]
    *_, before, left = left_after(reads, *STREAM)
    assert (before, left) == (1, data.count(b"\n"))
    out = redact(data, "-t", "stream-json", "-r", "secrets").stdout
    assert MARKER.encode() in out
    assert out.count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("cut", [8, 12, 30])
def test_words_that_waited_too_long(cut: int) -> None:
    """They leave after a silence, and what goes on with a hidden secret is hidden to a blank."""
    texts = [f"a {TOKEN[:cut]}", TOKEN[cut:34], f"{TOKEN[34:]} b", " c\n"]
    chunks = [chunk for line in partial(texts) for chunk in (line, b"")]
    done = redact(chunks, *STREAM, "--max-wait", "0").stdout
    assert said(done) == [f"a {MARKER}", "", " b", " c\n"]


def test_a_silence_lets_words_leave() -> None:
    lines = [*partial(["one ", "two "]), b"", *partial(["three\n"]), b""]
    assert left_after(lines, *STREAM, max_wait=0) == [0, 0, 2, 3, 3]
    assert left_after(lines, *STREAM, max_wait=60) == [0, 0, 0, 3, 3]


def test_memory_of_five_thousand_sessions_with_held_text() -> None:
    def turn(number: int) -> bytes:
        return b"".join(partial([f"held text {number}"], f"session-{n}")[0] for n in range(5_000))

    _, peak, _ = measured(map(turn, range(2)), *STREAM)
    assert peak < 110


# ---------------------------------------------------------------- two letters

LETTERS = st.text("ab", min_size=2, max_size=6)


@given(
    values=st.lists(LETTERS, min_size=1, max_size=3),
    text=st.lists(LETTERS | st.sampled_from(["a", "b", "\n", " "]), max_size=13).map("".join),
    places=st.lists(st.integers(0, 60), max_size=7),
    style=st.sampled_from([*STYLES]),
)
def test_known_values_that_overlap_are_hidden_at_any_cut(
    values: list[str], text: str, places: list[int], style: str
) -> None:
    shown = "".join(check(cuts(text, places), style, {"k": values})).split("[REDACTED:k]")
    assert not [value for value in values for piece in shown if value in piece]


# ---------------------------------------------------------------- values in the next line

ACROSS = (
    "password:\n  «<24 hex>»\nnext",
    "token:\n\n    «<24 hex>»\n",
    "- name: API_TOKEN\n  value: «<24 hex>»\n- name: API_TOKEN\n  value: «<24 hex>»\n",
    'SECRET_KEY = (\n    "«<24 hex>»"\n)',
    "<password>\n  «<24 hex>»\n</password>",
    "password:\ntoken:\n\n  «<24 hex>»\nsecret:\n\n\n«<24 hex>»",
    '{\n  "Name": "API_TOKEN",\n  "Value": "«<24 hex>»"\n}',
)


@pytest.mark.parametrize("template", ACROSS)
def test_a_value_in_the_next_line(template: str) -> None:
    """A line that leaves its value to the next waits for it, in each kind of words in turns."""
    text = made(template.replace("«", "").replace("»", "")).text
    assert "[REDACTED:assignment]" in hide(text)
    for cut, style in zip(range(1, len(text)), itertools.cycle(STYLES), strict=False):
        check(cuts(text, [cut]), style)
    for size, style in zip((1, 2, 7), STYLES, strict=True):
        check([text[at : at + size] for at in range(0, len(text), size)], style)
