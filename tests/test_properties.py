"""What holds for every stream of every agent: real ones, cut, joined, respelled and added to.

The streams stand beside the checkout, in shared/captures and shared/recordings.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest
from agents import STREAMS
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import (
    ODD,
    RECORDED,
    SAME,
    Ended,
    as_line,
    content,
    convert,
    one_in,
    places,
    with_odd_members,
)

import agentfmt

PATHS = [path for param in RECORDED for path in param.values if path]
VIEWS = {
    "text": ("-d", "-m", "all"),
    "json": ("-t", "json"),
    "stream-json": ("-t", "stream-json", "--thinking"),
    "cursor": ("-t", "cursor", "--thinking"),
    "redacted": ("-t", "stream-json", "-r", "secrets"),
}
SHORT = 10_000  # bytes: longer streams are not fed byte by byte


@functools.cache
def lines_of(path: str) -> list[bytes]:
    return content(path).splitlines(keepends=True)


@functools.lru_cache(100)
def whole(path: str, view: str) -> Ended:
    return convert(content(path), *VIEWS[view])


@pytest.mark.parametrize("path", RECORDED)
def test_what_one_read_delivers_does_not_matter(path: str) -> None:
    data = content(path)
    size = 1 if len(data) <= SHORT else 61
    for view in one_in(2, [*VIEWS], path):
        chunks = (data[start : start + size] for start in range(0, len(data), size))
        assert convert(chunks, *VIEWS[view]) == whole(path, view), view


@pytest.mark.parametrize("path", RECORDED)
def test_a_file_ends_as_it_would_on_stdin(path: str) -> None:
    """Whole; and once more cut within a line, as a killed agent leaves it, and with a damaged
    line."""
    whole = content(path)
    third = len(whole) // 3
    for data in (whole, whole[: 2 * third], whole[:third] + b'"\0}' + whole[third:]):
        named = convert({os.path.basename(path): [data]}, "-t", "runs")
        assert named.status == convert(data, "-t", "runs").status


# ---------------------------------------------------------------- the same values


def rewritten(data: bytes, change: Callable[[dict[str, Any]], Any], **spelling: Any) -> bytes:
    """A stream whose objects are changed and spelled again; its other lines stay."""
    lines = []
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            line = json.dumps(change(value), **spelling).encode()
        lines.append(line)
    return b"\n".join(lines)


def backwards(value: Any) -> Any:
    """The same value with the members of its objects in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value


UNREAD: dict[str, Any] = {
    "unread": {"type": "result", "subtype": "success", "is_error": False, "session_id": "x"},
    "unread_blocks": [{"type": "tool_use", "id": "t", "name": "Bash"}, {"type": "error"}],
    "unread_null": None,
    "is_unread": True,
    "unread_count": 10**30,
}


def with_members(value: Any, members: dict[str, Any]) -> Any:
    """The same value, with members beside all others in every object of it."""
    if isinstance(value, dict):
        return {key: with_members(item, members) for key, item in value.items()} | members
    return [with_members(item, members) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", RECORDED)
def test_how_objects_are_spelled_does_not_matter(path: str) -> None:
    """The order of members, blanks, and members that nobody reads."""
    data, ways = content(path), {
        "order": rewritten(content(path), backwards),
        "blanks": rewritten(content(path), dict, separators=(" ,", " : ")),
        "unread": rewritten(content(path), lambda line: with_members(line, UNREAD)),
    }  # fmt: skip
    for view, names in {"text": [*ways], "cursor": ["order", "blanks"]}.items():
        for name in names:
            ended, expected = convert(ways[name], *VIEWS[view]), whole(path, view)
            assert ended.status == expected.status, (view, name)
            assert values(ended) == values(expected), (view, name)
    assert data == content(path)


def values(ended: Ended) -> list[Any]:
    """What the lines of an output say, however they are spelled."""
    return [json.loads(line) if line[:1] == b"{" else line for line in ended.stdout.splitlines()]


# ---------------------------------------------------------------- joined streams


def joinable(path: str) -> bool:
    """Is it lines, of an agent that is known, and no fragment without a session?"""
    known = f"{os.sep}other{os.sep}" not in path and "fragment" not in path
    return known and not content(path).lstrip().startswith(b"[")


def some(paths: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(paths or [""]), min_size=2, max_size=4, unique=True)


def worst(alone: Iterable[Ended]) -> int:
    """2 beats 1, and 1 beats 3."""
    return max((ended.status for ended in alone), key=[0, 3, 1, 2].index)


needs_streams = pytest.mark.skipif(not PATHS, reason="no captures beside the checkout")


@needs_streams
@given(paths=some(PATHS))
def test_no_file_changes_what_becomes_of_another(paths: list[str]) -> None:
    streams = [content(path) for path in paths]
    files = {os.path.relpath(path): [data] for path, data in zip(paths, streams, strict=True)}
    for view in ("stream-json", "json"):
        alone = [convert(data, *VIEWS[view]) for data in streams]
        together = convert(files, *VIEWS[view])
        assert together.status == worst(alone)
        assert sorted(together.stdout.splitlines()) == sorted(
            line for ended in alone for line in ended.stdout.splitlines()
        )


@needs_streams
@given(paths=some([path for path in PATHS if joinable(path)]))
def test_the_streams_of_a_joined_log_are_judged_as_if_they_were_alone(paths: list[str]) -> None:
    streams = [content(path).rstrip(b"\n") + b"\n" for path in paths]
    alone = [convert(data, *VIEWS["json"]) for data in streams]
    together = convert(b"".join(streams), *VIEWS["json"])
    assert together.status == worst(alone)
    assert together.stdout.count(b"\n") == sum(ended.stdout.count(b"\n") for ended in alone)


# ---------------------------------------------------------------- interleaved streams

MIXED = ("session", "agent", "verdict", "actions", "failures", "tools", "tokens_out", "answer")


def sessions_of(data: bytes) -> list[Any]:
    """The session that each line names, or None."""
    objects = (json.loads(line) if line[:1] == b"{" else {} for line in data.splitlines())
    return [one.get("session_id") or one.get("sessionID") for one in objects]


@functools.cache
def names_its_session(path: str) -> bool:
    """Does each line say whose it is? Only such streams can be told apart line by line."""
    data = content(path)
    if len(data) > 6 * SHORT or not joinable(path):
        return False
    try:
        return all(isinstance(one, str) for one in sessions_of(data))
    except ValueError:
        return False


def interleave(streams: list[list[bytes]], rng: random.Random, longest: int) -> Iterator[bytes]:
    """The lines of some streams, a few of one and a few of another, each in its own order."""
    left = [iter(lines) for lines in streams]
    while left:
        one = rng.choice(left)
        taken = [*itertools.islice(one, rng.randint(1, longest))]
        yield from taken
        if not taken:
            left.remove(one)


def mixed_rows(ended: Ended) -> list[str]:
    return sorted(json.dumps([row[name] for name in MIXED]) for row in ended.objects)


@needs_streams
@settings(max_examples=40, deadline=None)
@given(
    paths=some([path for path in PATHS if names_its_session(path)]),
    rng=st.randoms(use_true_random=False),
    longest=st.sampled_from([1, 6, 100]),
    cuts=st.booleans(),
    flags=st.sampled_from([(), ("-r", "secrets")]),
)
def test_interleaved_and_cut_streams_keep_their_verdicts_words_and_lines(
    paths: list[str], rng: random.Random, longest: int, cuts: bool, flags: tuple[str, ...]
) -> None:
    streams = [content(path).splitlines(keepends=True) for path in paths]
    streams = [lines[: rng.randint(1, len(lines))] if cuts else lines for lines in streams]
    known = [frozenset(sessions_of(b"".join(lines))) for lines in streams]
    assume(len(frozenset().union(*known)) == sum(map(len, known)))  # no recording twice
    streams = [[line.rstrip(b"\n") + b"\n" for line in lines] for lines in streams]
    alone, mixture = [b"".join(lines) for lines in streams], interleave(streams, rng, longest)
    together = b"".join(mixture)
    runs = [convert(data, "-t", "runs", "-m", "final", *flags) for data in alone]
    all_runs = convert(together, "-t", "runs", "-m", "final", *flags)
    assert mixed_rows(all_runs) == sorted(row for ended in runs for row in mixed_rows(ended))
    assert all_runs.status == worst(runs)
    written = convert(together, *VIEWS["stream-json"], *flags).stdout
    expected = [convert(data, *VIEWS["stream-json"], *flags).stdout for data in alone]
    assert sorted(written.splitlines()) == sorted(b"".join(expected).splitlines())
    if not flags:
        assert written == together


# ---------------------------------------------------------------- redaction


class Meaning(NamedTuple):
    """What redaction must not change."""

    calls: list[str]
    runs: list[str]
    identities: list[int]  # how many sessions and calls there are
    events: int
    matches: list[str]  # of --fail-on
    status: int


CALL_FACTS = "tool name status exit_code duration_ms".split()
RUN_FACTS = (
    "agent verdict started_ms duration_ms actions failures tools tokens_in tokens_out "
    "tokens_cached cost_usd"
).split()


def meaning(data: bytes, events: int, selectors: Iterable[str], *flags: str) -> Meaning:
    """What a stream of so many events means; flags are those of redaction."""
    chosen = [word for selector in selectors for word in ("--fail-on", selector)]
    calls, runs = convert(data, "-t", "calls", *flags), convert(data, "-t", "runs", *flags, *chosen)
    known = [{row["session"] for row in runs.objects}]
    known += [
        {(row["session"], row[name]) for row in calls.objects} for name in ("call_id", "parent")
    ]
    return Meaning(
        facts(calls, CALL_FACTS),
        facts(runs, RUN_FACTS),
        [*map(len, known)],
        events,
        re.findall(r"--fail-on .*? matched (?:[0-9]+ times)?", runs.stderr),
        runs.status,
    )


def facts(table: Ended, names: Iterable[str]) -> list[str]:
    """Some members of each row, in any order: redacted words wait, others don't."""
    rows = (json.dumps([row[name] for name in names]) for row in table.objects)
    return sorted(re.sub(r'"\[[^"]*\]"', '"[no name of a tool]"', row) for row in rows)


def selectors_for(data: bytes) -> list[str]:
    """A selector for each type, tool and status of a stream, in Cursor's vocabulary."""
    converted = convert(data, *VIEWS["cursor"])
    rows, kinds = convert(converted.stdout, "-t", "calls").objects, converted.objects
    tools = {row[name] for row in rows for name in ("tool", "name")}
    found = {f"tool=={tool}" for tool in tools if not {*tool} & {*",["}}
    found |= {f"type=={event['type']}" for event in kinds if isinstance(event.get("type"), str)}
    return sorted(found | {f"status={status}" for status in agentfmt.STATUSES})


MOST_LINES = 50  # of a stream: what is longer says the same again


@pytest.mark.parametrize("path", RECORDED)
def test_redaction_changes_no_verdict_status_count_or_identity(path: str) -> None:
    data = b"".join(lines_of(path)[:MOST_LINES])
    selectors = selectors_for(data)
    for flags in one_in(2, (VIEWS["cursor"], SAME), path):
        left = convert(data, *flags).stdout
        lines = left.count(b"\n")
        expected, own = meaning(left, lines, selectors), flags == SAME
        hidden = ("secrets,paths",) if own else ("content", "secrets,paths", "all")
        for classes in one_in(len(hidden), hidden, path):
            redacted = convert(data, *flags, "-r", classes).stdout
            assert meaning(redacted, redacted.count(b"\n"), selectors) == expected, classes
            assert not own or meaning(data, lines, selectors, "-r", classes) == expected


# ---------------------------------------------------------------- what messages count

OUTPUTS = [*agentfmt.WRITERS]


@pytest.mark.parametrize("path", RECORDED)
def test_every_output_counts_the_same_lines(path: str) -> None:
    """A stream that was cut: so many lines of the run were read."""
    lines = content(path).splitlines(keepends=True)
    data = b"".join(lines[: max(len(lines) // 2, 1)])
    counts = {}
    for to in OUTPUTS:
        said = convert(data, "-t", to).stderr
        counts[to] = re.findall(r"run \S+ \(stdin:\d+\) failed: .* after (\d+) events?", said)
    assert all(found == counts["text"] for found in counts.values()), counts
    assert all(int(count) <= len(lines) for count in counts["text"])


# ---------------------------------------------------------------- lines that nobody would write

TYPICAL = [path for path in PATHS if os.path.getsize(path) < 200 * SHORT]
DEEP = st.integers(1, 4000).map(lambda levels: b"[" * levels + b"]" * levels)
DEEP |= st.integers(1, 4000).map(lambda levels: b'{"text":' * levels + b"7" + b"}" * levels)
HUGE = st.integers(1, 500).map(lambda digits: b"9" * digits)
ODDITIES = DEEP | HUGE | st.sampled_from([as_line(odd).strip() for odd in ODD])
EVERY: list[tuple[str, ...]] = [("-t", to) for to in agentfmt.WRITERS] + [("-v",), ("-q", "-s")]


def with_odd_member(line: bytes, odd: bytes, which: int) -> bytes:
    """A line with something odd in place of one of its members, however deep."""
    try:
        value = json.loads(line)
    except ValueError:
        return odd + b"\n"
    if not isinstance(value, (dict, list)) or not (there := [*places(value)]):
        return odd + b"\n"
    holder, key = there[which % len(there)]
    holder[key] = "@odd@"
    return as_line(value).replace(b'"@odd@"', odd)


@needs_streams
@settings(max_examples=25)
@given(data=st.data())
def test_one_status_for_every_output(data: st.DataObject) -> None:
    """What an output does not read must not decide, and nothing odd breaks it or loses a run of
    another FILE."""
    path, whole = data.draw(st.lists(st.sampled_from(TYPICAL), min_size=2, max_size=2, unique=True))
    lines = [*lines_of(path)][:200]
    how = data.draw(st.sampled_from("cut shuffled doubled odd".split()))
    rng = data.draw(st.randoms(use_true_random=False))
    if how == "cut":
        lines = lines[: rng.randrange(len(lines) + 1)]
    elif how == "shuffled":
        rng.shuffle(lines)
    elif how == "doubled":
        lines = [line for line in lines for _ in range(rng.randint(0, 2))]
    else:
        odd, which = data.draw(ODDITIES), rng.randrange(len(lines))
        lines[which] = with_odd_member(lines[which], odd, rng.randrange(1000))
    streams = {"a": [b"".join(lines)], "b": [content(whole)]}
    statuses = {flags: convert(streams, *flags).status for flags in EVERY}
    assert len({*statuses.values()}) == 1, statuses
    alone = convert(content(whole), "-t", "runs").objects
    rows = convert(streams, "-t", "runs").objects
    assert [row["verdict"] for row in rows if str(row["location"])[0] == "b"] == [
        row["verdict"] for row in alone
    ]


def kind_of(line: dict[str, Any], *, named: bool) -> str:
    """The types of a line, and the names of all its members."""
    inner = [one.get("type") for one in line.values() if isinstance(one, dict)]
    names = sorted({str(key) for _, key in places(line)} if named or "type" not in line else ())
    return repr((line.get("type"), line.get("subtype"), inner, names))


CRASHING = (("-v",), ("-t", "cursor"), VIEWS["redacted"], ("-t", "atif"))
# Streams in folders, and those of an agent that were made by hand.
GROUPS: dict[str, list[list[Any]]] = {}
for place in PATHS:
    GROUPS.setdefault(os.path.dirname(place), []).append(
        [*filter(None, map(agentfmt.object_in, lines_of(place)))]
    )
for name, told in STREAMS.items():
    GROUPS.setdefault(name.partition("-")[0], []).append(told.lines)


@pytest.mark.parametrize("group", GROUPS, ids=os.path.basename)
def test_members_of_any_shape_never_crash(group: str) -> None:
    """Of the first line of each kind, behind those that led to it, and before what follows."""
    seen: set[str] = set()
    for lines in GROUPS[group]:
        for number, line in enumerate(lines):
            kind = kind_of(line, named=os.sep not in group)
            if kind in seen or len(str(line)) > SHORT:
                continue
            seen.add(kind)
            before = b"".join(map(as_line, [*lines[:1], *lines[1:number][-3:]]))
            after = b"".join(map(as_line, lines[number + 1 : number + 3]))
            odd = (before + as_line(one) + after for one in with_odd_members(line, most=16))
            while data := b"".join(itertools.islice(odd, 5)):
                for flags in one_in(4, CRASHING, data):
                    assert convert(data, *flags).status <= 3


@pytest.mark.parametrize("name", [name for name in STREAMS if name.endswith("nothing-new")])
def test_a_line_that_says_nothing_new_decides_nothing(name: str) -> None:
    statuses = {to: convert(STREAMS[name].data, "-t", to).status for to in OUTPUTS}
    assert len({*statuses.values()}) == 1, statuses
