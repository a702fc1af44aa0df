"""No stream that holds a failed or an unfinished run ends with exit status 0, whatever stands
around it: runs of every agent, and of agents that nobody knows, joined and interleaved."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import lzma
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agents import NEWER, STREAMS, part
from support import (
    SESSION,
    as_line,
    assistant,
    completed,
    convert,
    event,
    interleaved,
    one_in,
    result,
    returned,
    started,
    use,
    user,
)
from support import claude as of_claude

import agentfmt

OK, FAILED = 0, 1

Lines = list[bytes]


def lines(*events: dict[str, Any]) -> Lines:
    return [*map(as_line, events)]


# What names the session in each line, for agents whose lines do.
NAMED = {
    "claude": ("session_id", "cl-1"), "droid": ("session_id", "dr-1"),
    "opencode": ("sessionID", "ses_2"),
}  # fmt: skip


def begun(agent: str, *rest: dict[str, Any], session: str = "") -> Lines:
    """The first lines of a run, and others behind them."""
    member, name = NAMED.get(agent, ("", ""))
    named = {member: session or name} if member else {}
    return lines(*({**one, **named} for one in (*part(f"{agent}-begun"), *rest)))


AGENTS = "claude codex copilot droid gemini opencode pi".split()
claude, codex, copilot, droid, gemini, opencode, pi = (
    functools.partial(begun, agent) for agent in AGENTS
)


def pi_message(reason: str) -> dict[str, Any]:
    content = [{"type": "text", "text": "Hi"}]
    message = {"role": "assistant", "content": content, "stopReason": reason}
    return {"type": "message_end", "message": message}


def cursor(*rest: bytes) -> Lines:
    first = event("system", subtype="init", apiKeySource="login", cwd="/work")
    return [first, user(), started(), completed(), assistant("Hi"), *rest]


DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Hi", "uuid": "u"}
STEP = {"type": "step_finish", "part": {"reason": "stop"}}
EXIT = {"type": "result", "sessionId": "co-1", "exitCode": 0}
GOOD: dict[str, Lines] = {
    "cursor": cursor(result()),
    "claude": claude(DONE),
    "codex": codex({"type": "turn.completed", "usage": {}}),
    "gemini": gemini({"type": "result", "status": "success", "stats": {}}),
    "opencode": opencode(STEP, session="ses_1"),
    "droid": droid({"type": "completion", "finalText": "Hi"}),
    "copilot": copilot(EXIT),
    "pi": pi(pi_message("stop"), {"type": "agent_end"}),
    **{name: lines(*run) for name, run in NEWER.items()},
}
UNTYPED: Lines = lines(*({"event": "step", "n": n} for n in range(4)))
UNKNOWN: Lines = lines(*({"type": kind, "n": 1} for kind in ("begin", "step", "talk", "end")))
UNKNOWN_SESSION: Lines = lines(*({"type": "begin", "session_id": "x-1", "n": n} for n in range(4)))
ERRED: Lines = [*GOOD["claude"], *lines({"type": "error", "message": "no"})]
SAVED_HEAD: Lines = lines({"type": "session_meta", "payload": {"id": "x"}, "timestamp": "2026"})
BAD: dict[str, Lines] = {
    **{f"{name} unfinished": run[:-1] for name, run in GOOD.items()},
    "cursor failed": cursor(result(is_error=True)),
    "claude failed": claude({**DONE, "is_error": True}),
    "claude never began": lines({"type": "system", "subtype": "hook_started", "session_id": "cl"}),
    "codex failed": codex({"type": "turn.failed", "error": {"message": "no"}}),
    "codex not logged in": lines({"type": "error", "message": "not logged in"}),
    "gemini failed": gemini({"type": "result", "status": "error", "stats": {}}),
    "opencode failed": opencode({"type": "error", "error": {"name": "no"}}),
    "opencode unfinished": opencode(),
    "droid failed": droid({"type": "error", "source": "cli", "message": "no"}),
    "droid without a session": lines(*part("droid-begun")),
    "copilot failed": copilot({**EXIT, "exitCode": 1}),
    "pi failed": pi(pi_message("error"), {"type": "agent_end"}),
    "pi cut": pi()[1:],
    "connecting": [event("connection", subtype="reconnecting", session="another")],
    "unknown": UNKNOWN,
    "unknown, cut": UNKNOWN[:3],
    "unknown, with a session": UNKNOWN_SESSION,
    "unknown, without types": UNTYPED,
    "cursor fragment": [started("f1", session=None)],
    **{f"{name} failed": lines(*STREAMS[f"{name}-bad"].lines) for name in NEWER},
    "pi unfinished": pi(),
    "acp unfinished": lines(*STREAMS["acp-open"].lines),
}  # fmt: skip
EVERY = {**GOOD, **BAD}
LEVELED = lines(*({"level": "info", "data": one.decode()} for one in BAD["claude failed"] * 2))

WAYS: dict[str, Callable[[Lines, Lines], Lines]] = {
    "before": lambda good, bad: [*bad, *good],
    "after": lambda good, bad: [*good, *bad],
    "interleaved": interleaved,
    "interleaved, second": lambda good, bad: interleaved(bad, good),
    "within": lambda good, bad: [*good[:-1], *bad, *good[-1:]],
}
# What cannot be told: streams of one agent that have nothing which tells them apart, or nothing
# once their lines take turns; and within an open run of another agent an error that names nobody,
# or right before a run of Codex. Unknown types beside a run change no verdict: they may be new.
ALIKE = {("pi", "pi cut"), ("cursor", "cursor fragment")}
ALIKE |= {(name, f"{name} unfinished") for name in ("grok", "goose")}
MINGLED = {("copilot", "copilot unfinished"), ("goose", "goose failed")}
TAKEN_IN = {"codex not logged in"}
NAMES = (b"session_id", b"sessionId", b"sessionID", b"conversation_id")


@pytest.mark.parametrize("name", GOOD)
def test_whose_end_ends_a_run(name: str) -> None:
    """One in another agent's form ends none, nor does one without a session where all ends of the
    agent have one: their members are renamed."""
    *begun, end = GOOD[name]
    nameless = end
    for member in NAMES:
        nameless = nameless.replace(b'"%s"' % member, b'"no_%s"' % member)
    named = name in ("cursor", "claude", "droid", "opencode")
    for line, status in ((end, OK), (nameless, FAILED if named else OK), (result(None), FAILED)):
        if line == nameless != end and name == "copilot":
            continue  # then it is no line of Copilot's
        assert convert([*begun, line]).status == status, line
    assert convert([*begun, result(None, is_error=True), end]).status == OK


@pytest.mark.parametrize("way", WAYS)
def test_good_runs_of_two_agents(way: str) -> None:
    ended = {
        (one, other): convert(WAYS[way](GOOD[one], GOOD[other]))[1:]
        for one, other in itertools.permutations(GOOD, 2)
    }
    assert {pair: left for pair, left in ended.items() if left != ("", OK)} == {}


@pytest.mark.parametrize("good", GOOD)
@pytest.mark.parametrize("way", WAYS)
def test_a_failed_run_beside_a_good_one(good: str, way: str) -> None:
    inside = way not in ("before", "after") or (way == "after" and good == "opencode")
    alike = ALIKE | MINGLED if way.startswith("interleaved") else ALIKE
    alike = alike | {("codex", "codex not logged in")} if way == "before" else alike
    known = [bad for bad in BAD if not bad.startswith("unknown")]
    told = [bad for bad in known if (good, bad) not in alike and not (inside and bad in TAKEN_IN)]
    ended = {bad: convert(WAYS[way](GOOD[good], BAD[bad]))[1:] for bad in told}
    assert [bad for bad, (said, status) in ended.items() if status != FAILED or not said] == []


@pytest.mark.parametrize("good", GOOD)
def test_every_file_must_hold_a_run(good: str) -> None:
    orders = itertools.chain.from_iterable(((good, bad), (bad, good)) for bad in BAD)
    status = {names: convert({name: EVERY[name] for name in names}).status for names in orders}
    assert [names for names, found in status.items() if found != FAILED] == []


@pytest.mark.parametrize("bad", [UNKNOWN, UNTYPED, SAVED_HEAD], ids=["types", "objects", "head"])
def test_an_end_alone_is_not_the_end_of_what_stands_before_it(bad: Lines) -> None:
    for good in (result("other"), *(run[-1] for run in GOOD.values())):
        for end in (good, b"12:00 WARN x: " + good, json.dumps({"log": good.decode()}).encode()):
            assert convert([*bad, end]).status == FAILED, end
    assert convert([*ERRED, result("other")]).status == FAILED
    logged = lines({"type": "a"}, {"type": "b"}, {"level": "info", "msg": "x"})
    assert convert([*logged, result("other")]).status == OK


@pytest.mark.parametrize("good", GOOD)
@pytest.mark.parametrize("few", [
    pytest.param(UNKNOWN * 2, id="of unknown types"),
    pytest.param(UNKNOWN_SESSION, id="of an unknown type, with a session"),
    pytest.param(UNTYPED * 2, id="without types"),
    pytest.param(LEVELED, id="of a log that holds events in an unknown member"),
    pytest.param(lines({"level": "info", "msg": "x"}) * 5, id="of a log"),
    pytest.param(lines({"type": "connection"}, {"type": "system"}) * 5, id="of known types"),
])  # fmt: skip
def test_strange_lines_beside_a_run_are_harmless(good: str, few: Lines) -> None:
    for name, way in WAYS.items():
        assert convert(way(GOOD[good], few)) == convert(GOOD[good]), name


# What the lines of each agent have in common, besides a type; the others' have nothing.
COMMON: dict[str, dict[str, Any]] = {
    "cursor": {"session_id": SESSION},
    "claude": {"session_id": "cl-1", "uuid": "u"},
    "qwen": {"session_id": "cl-1"},
    "amp": {"session_id": "T-1"},
    "opencode": {"sessionID": "ses_1", "part": {}},
    "droid": {"session_id": "dr-1"},
    "copilot": {"data": {}},
}
RELATIVES = {
    "qwen": [line.replace(b'"slash_commands"', b'"qwen_code_version"') for line in GOOD["claude"]],
    "amp": [line.replace(b'"cl-1"', b'"T-1"') for line in GOOD["claude"]],
}


def new_types(agent: str, count: int, *, same: bool = False) -> Lines:
    """Lines of types that an agent learned after this program was written."""
    kinds = ["brand_new" if same else f"brand_new_{number}" for number in range(count)]
    before = "session." if agent == "copilot" else ""
    made: Any = ({"type": before + kind, "n": 1, **COMMON.get(agent, {})} for kind in kinds)
    if agent == "antigravity":
        made = ({"event": kind, kind: {"conversation_id": "ag-1"}} for kind in kinds)
    elif agent == "acp":
        told = [{"sessionId": "a-1", "update": {"sessionUpdate": kind}} for kind in kinds]
        made = ({"jsonrpc": "2.0", "method": "session/update", "params": one} for one in told)
    return lines(*made)


def verdicts(stream: Lines) -> list[Any]:
    """What the table of runs says, but where they begin."""
    told = convert(stream, "-t", "runs").objects
    return [{key: run[key] for key in run if key not in ("location", "session")} for run in told]


@pytest.mark.parametrize("flags", [(), ("--from",)])
@pytest.mark.parametrize("agent", sorted(agentfmt.AGENTS))
def test_new_types_of_a_known_agent_change_nothing(agent: str, flags: Sequence[str]) -> None:
    """Wherever they stand: before the run, within it, after its result."""
    good = {**GOOD, **RELATIVES}[agent]
    flags = [*flags, agent] if flags else []
    (unfinished,), (finished,), alone = verdicts(good[:-1]), verdicts(good), convert(good, *flags)
    for count, same in ((1, True), (2, False), (5, True), (5, False)):
        new = new_types(agent, count, same=same)
        for at in range(len(good) + 1):
            longer = [*good[:at], *new, *good[at:]]
            assert convert(longer, *flags) == alone
            assert convert(longer, "-t", "stream-json").stdout == b"".join(longer)
            assert verdicts(longer) == [finished]
            assert convert(convert(longer, "-t", "cursor").stdout).status == OK
        for at in range(len(good)):
            (cut,) = verdicts([*good[:at], *new, *good[at:-1]])
            assert cut | {"reason": ""} == unfinished | {"reason": ""}


@pytest.mark.parametrize("flags", [(), ("--from", "codex")])
def test_an_error_of_codex_before_its_thread(flags: Sequence[str]) -> None:
    """It tells a warning; the run's end says whether it was more."""
    early, good = BAD["codex not logged in"], GOOD["codex"]
    for count in range(1, 6):
        assert convert([*early * count, *good], *flags)[1:] == ("", OK)
        assert convert(convert([*early * count, *good], "-t", "cursor").stdout)[1:] == ("", OK)
    assert convert([*early, *BAD["codex failed"]], *flags).status == FAILED
    assert "not logged in" in convert(early, *flags).stderr
    assert convert({"a": early, "b": good}, *flags).status == FAILED


@pytest.mark.parametrize("last", ["A=b", "}", "Killed", "Error: status=401", "额度不足"])
def test_marks_alone_are_no_reason(last: str) -> None:
    end = convert([f"some words\n{last}\n".encode()]).stderr.splitlines()[-1]
    assert f"no events: {'some words' if last == '}' else last}" in end


# ---------------------------------------------------------------- what an attack found

OTHER_RESULT = lines(
    {"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": "other"}
)
OTHER_ERROR = lines({"type": "error", "session_id": "other", "message": "boom"})
ARRAY = [b"[" + b",".join(line.strip() for line in BAD["claude failed"]) + b"]\n"]


@pytest.mark.parametrize("good", GOOD)
def test_another_sessions_failure_is_not_swallowed(good: str) -> None:
    for to, bad in itertools.product(agentfmt.WRITERS, (OTHER_RESULT, OTHER_ERROR, ARRAY)):
        assert convert([*GOOD[good], *bad], "-t", to).status == FAILED, to
        assert convert([*bad, *GOOD[good]], "-t", to).status == FAILED, to


# A session whose first events show no agent.
SIGNLESS = lines({"type": "system", "subtype": "init", "session_id": "u1", "cwd": "/"})
PLAIN_DROID = [line.replace(b'"reasoning_effort": "low", ', b"") for line in GOOD["droid"]]


@pytest.mark.parametrize("good", GOOD)
def test_a_session_that_shows_no_agent_is_no_guess(good: str) -> None:
    """It belongs to no neighbor, whatever comes before and after it."""
    for killed in (SIGNLESS, [user(session="u1")]):
        assert convert([*GOOD[good], *killed, *GOOD[good]]).status == FAILED
    assert convert([*GOOD[good], *PLAIN_DROID]).status == OK
    plain = [user(session="u1"), *lines({**DONE, "session_id": "u1"})]
    assert convert([*GOOD[good], *plain]).status == OK


# ---------------------------------------------------------------- sessions that go on after a kill

GEMINI_ASKED = lines({"type": "message", "role": "user", "content": "do"})
ASKED = lines({"type": "user", "uuid": "u", "session_id": "cl-1", "message": {"content": "go"}})
SKILL = lines({"type": "user.message", "data": {"content": "x", "source": "skill-pdf"}})


def of_message(message: str, *rest: dict[str, Any]) -> Lines:
    """The lines of a step of OpenCode's that belong to one message of its."""
    made = [json.loads(line) for line in opencode(*rest)]
    return lines(*(one | {"part": {**one["part"], "messageID": message}} for one in made))


# A run that was killed, and one that went on with its session, without another init.
RESUMED: dict[str, Lines] = {
    "copilot": [*copilot(), *GOOD["copilot"]],
    "opencode": [*of_message("m1"), *of_message("m2", STEP)],
    "pi": [*pi(), *GOOD["pi"][1:]],
}
# What may stand in a single good run: a step tried again, a prompt that came while the agent
# worked or that the agent itself put in, a turn within a turn.
AGAIN: dict[str, Lines] = {
    "cursor": [*cursor(), *GOOD["cursor"][1:]],
    "gemini": [*gemini(), *GEMINI_ASKED, *GOOD["gemini"][1:]],
    "claude": [*claude(), *ASKED, *GOOD["claude"][2:]],
    "opencode": [*of_message("m1"), *of_message("m1", STEP), *of_message("m2", STEP)],
    "copilot": [*copilot(), *SKILL, *GOOD["copilot"][1:]],
    "codex": [*codex()[:2], *GOOD["codex"][1:]],
    "droid": [*droid()[:1], *droid()[1:], *GOOD["droid"][1:]],
}


@pytest.mark.parametrize("agent", RESUMED)
def test_a_killed_run_is_not_hidden_by_the_next_of_its_session(agent: str) -> None:
    ended = convert(RESUMED[agent])
    assert (ended.status, ended.stderr.count(" failed: superseded by a")) == (FAILED, 1)
    assert convert(convert(RESUMED[agent], "-t", "cursor").stdout).status == FAILED


@pytest.mark.parametrize("agent", AGAIN)
def test_what_a_good_run_may_hold_twice(agent: str) -> None:
    assert convert(AGAIN[agent]) == convert(AGAIN[agent])._replace(stderr="", status=OK)
    assert convert(convert(AGAIN[agent], "-t", "cursor").stdout).status == OK


@pytest.mark.parametrize("good", GOOD)
@pytest.mark.parametrize("kind", ["stream_event", "rate_limit_event"])
def test_one_line_of_another_session_that_shows_its_agent(good: str, kind: str) -> None:
    ended = convert([*GOOD[good], *lines({"type": kind, "session_id": "other", "uuid": "u"})])
    assert (ended.status, f"1 event ({kind}) belongs to no run" in ended.stderr) == (FAILED, True)


# ---------------------------------------------------------------- the same verdicts, converted


@pytest.mark.parametrize("one", [*GOOD, *BAD])
def test_a_converted_stream_keeps_its_verdict(one: str) -> None:
    """``agentfmt -t cursor | agentfmt`` ends as ``agentfmt`` does, whatever was joined."""
    # Two that failed are no riddle.
    every = one_in(2, [*EVERY] if one in GOOD else [*GOOD], one)
    joined = {other: [*EVERY[one], *EVERY[other]] for other in every}
    ended = {other: convert(data) for other, data in joined.items()}
    again = {other: convert(convert(joined[other], "-t", "cursor").stdout) for other in every}
    assert [other for other in every if again[other].status != ended[other].status] == []


NAMED_LATE = {"copilot", "grok", "kimi"}


@pytest.mark.parametrize("one", GOOD)
def test_converted_streams_that_are_interleaved(one: str) -> None:
    """Each line names a session, also of an agent whose own lines name none. Where the last line
    alone names one, nothing tells two agents' apart."""
    others = [other for other in GOOD if not {one, other} <= NAMED_LATE]
    into = {name: convert(GOOD[name], "-t", "cursor").stdout.splitlines(True) for name in GOOD}
    ended = {name: convert(interleaved(into[one], into[name])) for name in others if name != one}
    assert {other: left[1:] for other, left in ended.items() if left[1:] != ("", OK)} == {}


def test_a_session_that_only_the_last_line_names() -> None:
    first, *_, last = convert(GOOD["copilot"], "-t", "cursor").objects
    assert re.fullmatch("[0-9a-f]{8}", first["unnamed_session"])
    assert (first.get("session_id"), last["session_id"]) == (None, "co-1")
    for data in (GOOD["copilot"], convert(GOOD["copilot"], "-t", "cursor").stdout):
        (ended,) = convert(data, "-t", "json").objects
        (run,) = convert(data, "-t", "runs").objects
        assert (ended["session_id"], run["session"]) == ("co-1", "co-1")


def test_a_converted_run_without_a_session_is_not_its_neighbors() -> None:
    """OpenCode's result comes last, when nothing more can follow."""
    for bad in ("copilot failed", "droid without a session", "pi cut", "cursor fragment"):
        joined = [*GOOD["opencode"], *BAD[bad]]
        verdicts = [one["verdict"] for one in convert(joined, "-t", "runs").objects]
        again = convert(convert(joined, "-t", "cursor").stdout, "-t", "runs").objects
        assert sorted(one["verdict"] for one in again) == sorted(verdicts)


# ---------------------------------------------------------------- found by attack


@pytest.mark.parametrize("limit", ["100", "300"])
@pytest.mark.parametrize("good", GOOD)
def test_a_shortened_stream_keeps_its_verdict(good: str, limit: str) -> None:
    long = [line.replace(b'"Hi"', b'"Hi%s"' % (b" there" * 100)) for line in GOOD[good]]
    short = convert(long, "-t", "stream-json", "--max-event", limit)
    assert short.status == OK
    assert convert(short.stdout).status == OK


@pytest.mark.parametrize("first", ["droid", "gemini", "claude", "codex", "opencode"])
def test_a_converted_stream_behind_another_agent(first: str) -> None:
    converted = convert(GOOD["copilot"], "-t", "cursor").stdout
    assert convert([*GOOD[first], converted])[1:] == ("", OK)


def test_more_sessions_without_a_last_line_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentfmt, "MAX_RUNS", 10)
    streams = [opencode(STEP, session=f"ses_{number}") for number in range(30)]
    assert convert([line for stream in streams for line in stream])[1:] == ("", OK)
    streams[3] = opencode(session="ses_cut")
    assert convert([line for stream in streams for line in stream]).status == FAILED


@pytest.mark.parametrize(("last", "verdicts"), [
    (STEP, ["succeeded"] * 2), ({"type": "error", "error": "no quota"}, ["failed", "succeeded"]),
    ({"type": "step_finish", "part": {"reason": "tool-calls"}}, ["succeeded"]),  # it goes on
])  # fmt: skip
def test_a_run_whose_end_no_line_states_is_over_with_its_file(last: Any, verdicts: Any) -> None:
    """The session may go on in the next FILE, as another run."""
    ended = convert({"a": opencode(last), "b": opencode(STEP)}, "-t", "runs")
    assert [run["verdict"] for run in ended.objects] == verdicts


@pytest.mark.parametrize("bad", [codex(), pi(pi_message("stop")), opencode(STEP)[:3]])
def test_another_agent_than_the_named_one(bad: Lines) -> None:
    assert convert([*GOOD["claude"], *bad], "--from", "claude").status == FAILED


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_data_behind_a_stream(pack: Callable[[bytes], bytes]) -> None:
    ended = convert(b"".join([*GOOD["cursor"], pack(b"".join(BAD["cursor failed"]))]))
    assert ended.status == 3
    assert "cat FILE | agentfmt" in ended.stderr


@pytest.mark.parametrize("name", ["message", "log", "line"])
def test_wrapped_lines_in_a_plain_file(name: str) -> None:
    wrapped = lines({name: GOOD["cursor"][0].decode().strip()})
    plain = [*GOOD["cursor"][:2], *(GOOD["cursor"][2:4] * 101), *GOOD["cursor"][2:]]
    assert convert(plain)[1:] == ("", OK)
    for data in ([*plain, *wrapped], [*plain[:-1], *wrapped, plain[-1]]):  # they are prose
        ended = convert(data)
        assert (ended.status, ended.stderr.count(f'{{"{name}"')) == (OK, 1)
    assert convert([*plain, *lines({name: json.dumps({"type": "ping"})})]).status == OK


def test_files_that_were_joined_without_a_last_line_feed() -> None:
    good = b"".join(GOOD["cursor"])
    joined = good.removesuffix(b"\n") + b"".join(GOOD["claude"])
    ended = convert(joined, "-t", "stream-json")
    assert ended == (good + b"".join(GOOD["claude"]), "", OK)
    saved = lines({"timestamp": "2026-01-01T00:00:01Z", "type": "session_meta", "payload": {}})
    assert convert(joined.rstrip() + b"".join(saved)).status == OK
    assert convert(good.removesuffix(b"\n") + b"".join(BAD["claude failed"])).status == FAILED
    assert convert(good.removesuffix(b"\n") + GOOD["claude"][0][:40]).status != OK


@pytest.mark.parametrize("text", [b'"\xff"', b"[" * 5000 + b"]" * 5000, b"1" * 5000])
def test_an_array_with_an_event_that_cannot_be_read(text: bytes) -> None:
    line = b'[{"type":5,"v":' + text + b'},{"type":"b"}]\n'
    ended = convert([b"prose\n", line, *GOOD["cursor"]])
    assert (ended.stdout, "Traceback" in ended.stderr) == (b"Read file\n", False)


@pytest.mark.parametrize("agent", [name for name in GOOD if name != "cursor"])
def test_the_last_line_of_another_agent_ends_no_run_without_a_session(agent: str) -> None:
    ended = convert([started(session=None), GOOD[agent][-1]])
    assert "(stdin:1) failed: ended without a result after 1 event" in ended.stderr
    assert ended.status == FAILED


def test_an_active_conversation_among_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentfmt, "MAX_RUNS", 5)
    own: Any = {"session": "cl-0", "parent_tool_use_id": None, "uuid": "u"}
    first, *_, last = (line.replace(b"cl-1", b"cl-0") for line in GOOD["claude"])
    stream = [first, of_claude(use("Read", file_path="/w/a"), **own)]
    for number in range(1, 20):
        others = (line.replace(b"cl-1", b"cl-%d" % number) for line in GOOD["claude"])
        stream += [*others, assistant("Wait.", "cl-0", parent_tool_use_id=None, uuid="u")]
    stream += [of_claude(returned(), role="user", **own), last]
    assert convert(stream, "-d") == (b"[cl-0] Read file /w/a\n", "", OK)
    assert b'"ToolCall"' not in convert(stream, "-t", "cursor").stdout
