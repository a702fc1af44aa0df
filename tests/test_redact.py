"""Redaction within an event: strings, classes, canaries, shortening, options, messages."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import base64
import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting import (
    GRAMMARS,
    PLANTED_OUTPUTS,
    PRINTED,
    hide,
    leaks,
    made,
    pem,
    plant,
    randomly_spelled,
    redact,
    scanner,
    stands_in,
)
from support import (
    CAPTURES,
    CURSOR_CAPTURES,
    ENVIRON,
    MESSAGES_ONLY,
    SAME,
    SESSION,
    as_line,
    assistant,
    call,
    claude,
    completed,
    content,
    edit,
    event,
    init,
    message,
    named_sections,
    ok,
    one_byte_at_a_time,
    one_in,
    parameters,
    result,
    returned,
    run,
    run_of,
    started,
    strings,
    table,
    thinking,
    use,
    whole_run,
)
from support import shell as ran

import agentfmt

SECRETS = (*SAME, "-r", "secrets")
TOKEN = made("ghp_<36 alnum>").text
MARKER = "[REDACTED:github-token]"

TOKENS = [made(grammar.found[0]).text for grammar in GRAMMARS]
LEAF = st.one_of(
    st.text(max_size=12), st.sampled_from(TOKENS), st.integers(), st.booleans(), st.none(),
    st.sampled_from(["password=hunter22", "a \ud83d b", "[REDACTED:jwt]", '{"token":"x1y2z3"}']),
)  # fmt: skip
NAME = st.one_of(st.text(max_size=6), st.sampled_from([*TOKENS, "password", "value", "name"]))


def nested(leaf: Any, name: Any) -> Any:
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=3),
        max_leaves=8,
    )


VALUE = nested(LEAF, NAME)


ROWS = [pytest.param(f"<rule {n}>", id=rule.name) for n, rule in enumerate(agentfmt.RULES)]


@pytest.mark.parametrize("row", ROWS)
def test_tokens_of_every_rule_are_hidden_in_a_line(row: str) -> None:
    """As a value or a name, as a part of one, in an event with words, and behind another secret."""
    planted = made(row)
    spelled = json.dumps(planted.secret)[1:-1].encode()
    for text in (planted.text, f"see {planted.text} there"):
        shapes = {"note": text}, {"note": text, "text": text}, {"text": text}, {text: "x"}
        for members in one_in(2, shapes, text):
            line = as_line({"type": "thinking", "subtype": "delta"} | members)
            assert spelled not in redact(line, *SECRETS).stdout
    texts = ["DB_PASSWORD=hunter2x9K", TOKEN, planted.text]
    line = as_line({"type": "x", "env": texts, "more": {planted.text: 1}})
    assert spelled not in redact(line, *SECRETS).stdout


# ---------------------------------------------------------------- one event, any shape


@given(
    st.dictionaries(st.text(max_size=6), VALUE, max_size=4), st.sampled_from([None, "user", "x"])
)
def test_no_string_keeps_a_secret(members: dict[str, Any], kind: str | None) -> None:
    given_ = ({"type": kind} if kind else {}) | {"a": members}
    line = json.dumps(given_).encode() + b"\n"
    left = redact(line, *SECRETS).stdout
    for text in strings(json.loads(left), names=True):
        assert hide(text) == text


@given(
    spelling=st.randoms(use_true_random=False),
    token=st.sampled_from(TOKENS),
    before=st.text(max_size=4),
    depth=st.integers(0, 2),
)
def test_a_secret_is_found_in_any_spelling(
    spelling: random.Random, token: str, before: str, depth: int
) -> None:
    """Each character is itself or an escape, in JSON in JSON too; the rest keeps its spelling."""
    text = f"{before} {token} "
    for _ in range(depth):
        text = json.dumps({"in": text}, ensure_ascii=spelling.random() < 0.5)
    literal = randomly_spelled(text, spelling.choice)
    other = randomly_spelled("un/touched é", spelling.choice)
    line = f'{{ "type":"x",  "a" : {literal}, "b":{other},"n":1.50e+3 }}'.encode(errors="replace")
    left = redact(line + b"\n", *SECRETS).stdout
    values = json.loads(left)
    assert values["a"] == hide(text)
    assert not stands_in(made(token).secret, left)
    assert left.endswith(f', "b":{other},"n":1.50e+3 }}\n'.encode())
    assert left.startswith(b'{ "type":"x",  "a" : "')


HARMLESS = nested(
    st.one_of(st.text('ab \u00e9/\\"\n\u2028😀', max_size=12), st.integers(), st.none()),
    st.text("abc", max_size=6),
)


@given(
    value=HARMLESS, kind=st.sampled_from(["user", "x"]), spelling=st.randoms(use_true_random=False)
)
def test_events_without_secrets_leave_byte_for_byte(
    value: Any, kind: str, spelling: random.Random
) -> None:
    text = json.dumps({"type": kind, "v": value}, ensure_ascii=spelling.random() < 0.5)
    line = text.replace("/", spelling.choice(["/", r"\/"])).replace(
        ": ", spelling.choice([":  ", ":"])
    )
    assert redact(f" {line}\r\n".encode(), *SECRETS).stdout == f"{line}\n".encode()


LINES = named_sections("redacted.txt")


@pytest.mark.parametrize("line", LINES["odd"])
def test_odd_shapes_keep_nothing(line: str) -> None:
    data = (line.replace("*", f"x {TOKEN} y") + "\n").encode()
    left = redact(data, *SECRETS).stdout
    assert TOKEN.encode() not in left
    assert left.count(b"\n") == 1
    json.loads(left)


def test_split_words_of_odd_shapes_are_hidden_whole() -> None:
    odd = '{"type":"thinking","session_id":"s","text":"free","text":"%s"}\n'
    data = (odd % TOKEN[:9] + odd % TOKEN[9:]).encode()
    assert TOKEN[9:].encode() not in redact(data, *SECRETS).stdout


@pytest.mark.parametrize(("value", "kept"), table("redacted.txt", "members"))
def test_values_of_secret_members(value: Any, kept: bool) -> None:
    line = event("user", x=value)
    left = redact(line, *SECRETS).stdout
    assert (left == line) == kept
    assert kept or b"hunter" not in left


def test_names_of_members_are_redacted_and_stay_apart() -> None:
    other = made("ghp_<36 alnum>", 2).text
    left = json.loads(redact(event("user", x={TOKEN: 1, other: 2}), *SECRETS).stdout)
    assert left["x"] == {MARKER: 1, f"{MARKER} 2": 2}


# ---------------------------------------------------------------- canaries

CANARY = "cañ ary¡"


def planted(value: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """A value with the canary in each place where it has a string or a member's name, one at a
    time, and what tells the place: its members' names."""
    if isinstance(value, str):
        yield names, CANARY
    elif isinstance(value, list):
        for at, item in enumerate(value):
            for place, inner in planted(item, names):
                yield place, [*value[:at], inner, *value[at + 1 :]]
    elif isinstance(value, dict):
        for key in value:
            renamed = {CANARY if name == key else name: item for name, item in value.items()}
            yield (*names, key, "its name"), renamed
            for place, inner in planted(value[key], (*names, key)):
                yield place, {**value, key: inner}


def canaries(folder: str) -> Iterator[bytes]:
    """An agent's events with the canary in each place; one for each path of each kind."""
    seen = set()
    for path in (row.values[0] for row in CAPTURES if os.path.dirname(row.values[0]) == folder):
        for line in content(path).splitlines():
            value = json.loads(line) if line.strip().startswith(b"{") else {}
            for place, other in planted(value):
                if (sort := (value.get("type"), value.get("subtype"), place)) not in seen:
                    seen.add(sort)
                    yield as_line(other)


FOLDERS = sorted({os.path.dirname(row.values[0]) for row in CAPTURES if row.values[0]})


@pytest.mark.parametrize("folder", FOLDERS, ids=os.path.basename)
def test_no_canary_survives(folder: str) -> None:
    """With all classes redacted. As Cursor, whoever wrote it: what the tables do not know is
    content."""
    lines = [*canaries(folder)]
    flags = (*SAME, "-r", "all", "--exit-zero", "--from", "cursor")
    left = redact(b"".join(lines), *flags).stdout
    assert left.count(b"\n") == len(lines)
    for line in left.splitlines():
        assert CANARY not in "".join(strings(json.loads(line), names=True))
    data = b"".join(line + result() for line in lines)
    for to in (("text", "-d", "-m", "all"), ("json",)) if folder.endswith("cursor") else ():
        out = redact(data, "-t", *to, "-r", "all").stdout.decode()
        assert out
        assert CANARY not in out
        assert json.dumps(CANARY)[1:-1] not in out


# ---------------------------------------------------------------- classes

EVENTS = (
    event("system", subtype="init", model="claude-5[1m]", cwd="/home/ann/p",
        permissionMode="default", tools=["Bash", "mcp__github__get_me"])
    + event("user", message=message("please", "user"))
    + call("shell", {"command": "cat a.txt", "workingDirectory": "/home/ann/p"},
        ok(command="cat a.txt", exitCode=0, stdout="out"))
    + assistant("Said") + result(result="Said", new={"field": "unknown"})
)  # fmt: skip
STAND_INS = {
    "all": ["please", "Said", "cat a.txt"], "content": ["out", "unknown", "field"], "paths": ["/home/ann"],
}  # fmt: skip


@pytest.mark.parametrize("classes", ["content", "paths", "paths,content", "all"])
def test_a_class_hides_its_own_strings_and_no_others(classes: str) -> None:
    left = redact(EVENTS, *SAME, "-r", classes).stdout.decode()
    named = set(STAND_INS) if classes == "all" else set(classes.split(","))
    for name, texts in STAND_INS.items():
        for text in texts:
            hidden = name in named or (name == "content" and named & {"content"})
            assert (f'"{text}' not in left) == bool(hidden), (name, text)
    structure = "completed tool_call shellToolCall exitCode claude-5[1m] mcp__github__get_me"
    for kept in (*structure.split(), SESSION):
        assert kept in left


REDACTED = [*agentfmt.CLASSES, "secrets,paths", "paths,content"]


@pytest.mark.parametrize("path", CURSOR_CAPTURES)
def test_redacting_then_rendering(path: str) -> None:
    """Is rendering, then redacting; for a third of the classes, which is chance."""
    data = content(path)
    for classes in REDACTED[len(data) % 3 :: 3]:
        filtered = redact(data, *SAME, "-r", classes)
        for flags in (("-t", "text", "-d", "-m", "all"), ("-m", "final"), ("-t", "json"), SAME):
            direct, what = redact(data, *flags, "-r", classes), (classes, flags)
            assert redact(filtered.stdout, *flags).stdout == direct.stdout, what
            assert direct.status == filtered.status, what


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(("text", "short"), table("redacted.txt", "paths"))
def test_paths(text: str, short: str) -> None:
    first = event("system", subtype="init", cwd="/srv/app")
    left = redact(first + event("user", x=text), *SAME, "-r", "paths", homes=("/data/me",)).stdout
    assert json.loads(left.splitlines()[1])["x"] == short


def test_structure_that_held_a_secret_stays_as_it_is() -> None:
    lines = [
        event("system", subtype="init", cwd=f"/home/ann/{TOKEN}", session=TOKEN),
        event("user", x=f"/home/ann/{TOKEN}/a", session=TOKEN),
    ]
    known = {"k": [TOKEN]}
    for classes in ("all", "secrets,paths", "secrets,content"):
        once = redact(b"".join(lines), *SAME, "-r", classes, known=known).stdout
        assert TOKEN.encode() not in once
        assert json.loads(once.splitlines()[1])["session_id"] == "[REDACTED:k]"


# ---------------------------------------------------------------- identities

IDENTITIES = ["get_figma_file-1769753815593-bf79c1999f281", TOKEN, "call_1|fc_2", "+/a="]


@pytest.mark.parametrize("classes", ["secrets", "paths", "content", "all"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_an_identity_is_no_token(identity: str, classes: str) -> None:
    lines = init(identity) + started(identity, session=identity)
    lines += completed(identity, session=identity) + result(identity, request_id=identity)
    rows = [*redact(lines, *SAME, "-r", classes).objects]
    assert [row["session_id"] for row in rows] == [identity] * 4
    assert {row.get("call_id", identity) for row in rows} == {identity}
    assert rows[3]["request_id"] == identity


@pytest.mark.parametrize("text", LINES["identities"])
def test_identities_in_lines_of_other_agents(text: str) -> None:
    """What calls take and return is no identity, whatever its name."""
    for more in ("", "password=hunter22"):
        given_ = text.replace("*", IDENTITIES[0]).replace("+", TOKEN)
        given_ = given_[:-1] + f', "more": "{more}"}}'
        left = json.dumps(redact(given_.encode(), *SECRETS).objects[0])
        assert left.count(IDENTITIES[0]) == text.count("*")
        assert (TOKEN in left, left.count(MARKER)) == (False, text.count("+"))


def test_identities_with_a_secret_of_the_user_differ_as_before() -> None:
    known = {"one": ["first-of-mine"], "two": ["second-of-mine"]}
    names = ["first-of-mine", "second-of-mine", "a first-of-mine", "b first-of-mine", "ä", "ö"]
    lines = b"".join(started(name) + completed(name) for name in names)
    data = init() + lines + result()
    for classes in ("secrets", "secrets,content", "all"):
        left = redact(data, *SAME, "-r", classes, known=known)
        pairs = [row["call_id"] for row in left.objects if "call_id" in row]
        assert pairs[::2] == pairs[1::2]
        assert len({*pairs}) == len(names)
        assert b"of-mine" not in left.stdout
        assert [row["status"] for row in redact(left.stdout, "-t", "calls").objects] == ["ok"] * 6


def test_what_stands_in_place_of_structure_is_content() -> None:
    line = event("user", session=None, session_id={"deep": "canary"})
    assert not re.search(b"deep|canary", redact(line, *SAME, "-r", "content").stdout)


def test_the_verdict_of_a_call_is_structure_whatever_the_tool_is_called() -> None:
    for tool in ("unknown_tool", "x" * 300, "cañ ary", TOKEN, "", "result"):
        data = init() + started(key=f"{tool}ToolCall")
        data += completed(key=f"{tool}ToolCall", result={"error": {"errorMessage": "no"}})
        for classes in ("secrets", "content", "secrets,content", "all"):
            left = redact(data + result(), *SAME, "-r", classes)
            (row,) = redact(left.stdout, "-t", "calls").objects
            assert row["status"] == "error"
            assert row["tool"] == tool or tool not in ("unknown_tool", "result")
            assert "cañ" not in row["tool"] or classes == "secrets"


def test_classes_that_no_delta_can_split_hold_nothing_back() -> None:
    lines = [init(), assistant("held", timestamp_ms=1), event("x", session="other")]
    left = redact(b"".join(lines), *SAME, "-r", "content").stdout
    assert left == b"".join(lines)  # in their order


@pytest.mark.parametrize(("command", "left"), table("redacted.txt", "commands"))
def test_documents_in_commands_are_content(command: str, left: str) -> None:
    data = run_of(call("shell", {"command": command}))
    shown = redact(data, *SAME, "-r", "content").objects[1]["tool_call"]["shellToolCall"]
    assert shown["args"]["command"] == left
    for to in agentfmt.WRITERS:
        if to not in ("stream-json", "json"):
            assert b"CANARY" not in redact(data, "-t", to, "-r", "content").stdout, to


@pytest.mark.parametrize("cut", range(1, 16))
def test_paths_split_over_deltas(cut: int) -> None:
    text = "a /home/ann/x b"
    deltas = [assistant(part, timestamp_ms=1) for part in (text[:cut], text[cut:]) if part]
    left = redact(b"".join([init(), *deltas, result()]), *SAME, "-r", "paths").stdout
    said = [json.loads(line) for line in left.splitlines()[1:-1]]
    assert "".join(e["message"]["content"][0]["text"] for e in said) == "a ~/x b"


# ---------------------------------------------------------------- shortening


@given(texts=st.lists(st.text(max_size=300), min_size=1, max_size=4), limit=st.integers(300, 900))
def test_shortened_events_fit(texts: list[str], limit: int) -> None:
    line = event("user", message=message("".join(texts), "user"), x=texts)
    left = redact(line, *SAME, "--max-event", str(limit)).stdout
    made_of = json.loads(left)
    assert made_of["type"] == "user"
    assert len(left) <= limit + 1 or max(map(len, strings(made_of["x"], names=True))) < 40
    if len(line) <= limit + 1:
        assert left == line
    json.dumps(made_of, ensure_ascii=False).encode("utf-8", "surrogatepass").decode()


def test_shortening_never_cuts_a_marker() -> None:
    for size in range(10, 90):
        text = "x" * size + f" {TOKEN} " + "y" * 300
        left = redact(event("user", x=text), *SECRETS, "--max-event", "200").stdout
        shown = json.loads(left)["x"]
        assert len(left) <= 201
        assert "[RED" not in shown.replace(MARKER, "")
        assert shown.endswith(" chars]")


@pytest.mark.parametrize("text", ["word " * 15, "x" * 99])
def test_many_short_strings_are_shortened(text: str) -> None:
    """Only what identifies something is as long as it was."""
    line = event("user", x=[text] * 9, call_id="c" * 60)
    left = redact(line, *SAME, "--max-event", "500").stdout
    assert len(left) <= 501
    assert json.loads(left)["call_id"] == "c" * 60
    many = event("system", subtype="init", tools=["mcp__github__" + text] * 9)
    assert len(redact(many, *SAME, "--max-event", "500").stdout) <= 501


def test_an_event_that_cannot_fit_says_so_once() -> None:
    line = event("user", x=["a"] * 100)
    ended = redact(line * 3, *SAME, "--max-event", "64")
    assert ended.stdout == line * 3
    assert ended.stderr.count("doesn't fit in --max-event 64") == 1


# ---------------------------------------------------------------- options of the command

PLAIN = event("user", x="the correct horse battery").strip()


def process(*args: str, data: bytes = PLAIN) -> Any:
    return run(*SAME, "--exit-zero", *args, data=data)


def test_secrets_file(tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    others = "short\n1234567890\n/usr/bin/env\ntrue\n\n"
    file.write_text(f"{others}export PW='correct horse'\nc2VjcmV0cw==\n")
    ended = process("--secrets-file", str(file))
    assert b"the [REDACTED:file:PW] battery" in ended.stdout
    ended = process("--secrets-file", str(file), data=event("user", x="=c2VjcmV0cw=="))
    assert b"=[REDACTED:secrets-file]" in ended.stdout  # and no value in the marker's name


@pytest.mark.parametrize(("text", "said"), table("redacted.txt", "secrets files"))
def test_a_secrets_file_is_read_as_dotenv_reads_it(tmp_path: Path, text: str, said: str) -> None:
    """What is no assignment is a value, and is said where others are assignments."""
    as_powershell = text.removeprefix("\ufeff").encode("utf-16")
    for data in (as_powershell, text.encode()):
        (tmp_path / "env").write_bytes(data)
        ended = process("--secrets-file", str(tmp_path / "env"), data=event("user", x=said))
        assert re.search(rb"\[REDACTED:(secrets-file|file:PW)\]", ended.stdout)
        assert b"horse" not in ended.stdout
    told = f"agentfmt: {tmp_path}/env:2: no assignment: the whole line is hidden\n"
    assert (told in ended.stderr) == (text in ("A=first-value\ncorrect horse", f"A=1\n{said}"))


def test_secrets_directory(tmp_path: Path) -> None:
    (tmp_path / "pass word").write_text("correct horse\n")
    (tmp_path / ".hidden").write_text("battery the")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("the correct")
    ended = process("--secrets-file", str(tmp_path))
    assert b'"the [REDACTED:file:pass_word] battery"' in ended.stdout


@pytest.mark.parametrize("text", ["", "short\n", "12345678.5\n", "/a/long/path/name\n", "PORT=80808080\n", "        \n"])  # fmt: skip
def test_secrets_file_without_a_value(tmp_path: Path, text: str) -> None:
    file = tmp_path / "secrets"
    file.write_text(text)
    ended = process("--secrets-file", str(file))
    assert (ended.status, ended.stdout) == (2, b"")
    assert "no usable value" in ended.stderr
    assert not text.strip() or text.strip() not in ended.stderr


@pytest.mark.parametrize(("flags", "name", "marked"), table("redacted.txt", "secret environment"))
def test_secret_environment(flags: str, name: str, marked: bool) -> None:
    env = ENVIRON | {name: "correct horse"}
    ended = run(*SAME, "--exit-zero", *flags.split(), data=PLAIN, env=env)
    shown = f"the [REDACTED:env:{name}] battery".encode()
    assert (shown in ended.stdout, ended.stdout.strip() == PLAIN) == (marked, not marked)


def test_pattern() -> None:
    assert b"the [REDACTED:horse] battery" in process("--pattern", "horse=correct [a-z]+").stdout
    assert b"the correct [REDACTED:h] battery" in process("--pattern", "h=correct ([a-z]+)").stdout
    assert b"[REDACTED:h] correct" in process("--pattern", "h=^the").stdout
    wrong = [("--pattern", one) for one in ("x", "=a", "x=", "x=a*", "x=(", "a b=c")]
    for flags in (*wrong, ("-r", "secret"), ("--secrets-file", "/nonexistent")):
        ended = process(*flags)
        assert (ended.status, ended.stdout, ended.stderr.count("\n")) == (2, b"", 1)


def test_classes_add_up() -> None:
    line = event("user", message=message(f"a {TOKEN}"), new="b")
    left = process("-r", "secrets", "-r", "content", data=line)
    assert b"a [REDACTED:github-token]" in left.stdout
    assert b"[content: 1 chars]" in left.stdout


@pytest.mark.parametrize("flags", [(), ("-r", "content"), ("-r", "secrets")])
def test_messages_never_show_a_secret(flags: tuple[str, ...]) -> None:
    prose = f"npm ERR! {TOKEN}\npassword=hunter22\n{pem()}\nfree\n"
    error = event("error", message=f"failed with {TOKEN}")
    for data in (prose.encode(), b'{"damaged": "' + TOKEN.encode() + b"\n", init() + error):
        ended = run("-t", "json", *flags, data=data)
        assert ended.status in (1, 3)
        assert TOKEN not in ended.stderr
        assert "hunter22" not in ended.stderr
        assert not any(line in ended.stderr for line in pem().splitlines()[1:-1])
        assert ("[content: " if "content" in flags else "REDACTED") in ended.stderr


def test_a_secret_is_not_cut_before_it_is_found() -> None:
    """An excerpt is scanned with what follows it: hidden text may pull that into view."""
    text = "ghp_" + "a1" * 4070 + " " + TOKEN
    ended = run(data=text.encode())
    assert TOKEN[:9] not in ended.stderr


BROKEN = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("re2", "_re2"):
            raise ImportError("no wheel", name=name)

sys.meta_path.insert(0, Finder())
"""


def test_without_re2(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    env = ENVIRON | {"PYTHONPATH": os.pathsep.join([str(tmp_path), ENVIRON["PYTHONPATH"]])}
    check = run(*SAME, data=whole_run() + TOKEN.encode(), env=env)
    assert check.status == 0
    assert check.stdout == whole_run()
    assert TOKEN not in check.stderr
    ended = run(*SECRETS, data=whole_run(), env=env)
    assert (ended.status, ended.stdout) == (2, b"")
    assert "google-re2" in ended.stderr
    assert run(*SAME, "-r", "content", data=whole_run(), env=env).status == 0


# ---------------------------------------------------------------- codes for a terminal

PASSWORD = "hunter2x9K"
# What tools print with colors on; ~ is the beginning of a code.
COLORED = table("redacted.txt", "colored", named=True)
SPELLINGS_OF_ESC = ("\x1b", r"\u001b", r"\u001B", r"\x1b", r"\033", r"\e", r"\\u001b")


def lines_with(text: str) -> Iterator[bytes]:
    """A text in a result of a call, in JSON in it, in words, in deltas, in prose."""
    for inner in (text, json.dumps({"a": text})):
        yield completed("c", "shellToolCall", {"success": {"stdout": inner, "exitCode": 0}})
        yield assistant(f"{inner}\n")
    yield b"".join(assistant(char, timestamp_ms=1) for char in f"{text}\n")
    yield f"{text}\n".encode()


@pytest.mark.parametrize("esc", SPELLINGS_OF_ESC)
@pytest.mark.parametrize("colored", COLORED)
def test_codes_for_a_terminal_are_seen_through(colored: str, esc: str) -> None:
    """The value goes, the codes stay."""
    text = colored.replace("*", PASSWORD).replace("~", esc)
    left = hide(text)
    assert PASSWORD[-4:] not in left
    assert re.findall(r"\[[0-9;]*[mK]", left) == re.findall(r"\[[0-9;]*[mK]", text)
    assert left.count("[REDACTED:assignment]") == 1
    assert hide(left) == left


@pytest.mark.parametrize(
    "text", [*COLORED, f"see ~[1m{TOKEN[:9]}~[31m{TOKEN[9:]}~[0m", f"a~[1m{TOKEN}"]
)
def test_codes_are_seen_through_wherever_they_stand(text: str) -> None:
    text = text.replace("*", PASSWORD).replace("~", "\x1b")
    for lines in lines_with(text):
        ended = redact(init() + lines + result(), *SECRETS)
        shown = ended.stdout.decode() + ended.stderr
        assert "[REDACTED:" in shown
        assert not {PASSWORD, TOKEN[9:], "er2x9K", "hunt"} & {*re.findall(r"\w+", shown)}


def test_a_known_value_with_codes_in_it() -> None:
    line = assistant("a cor\x1b[1mrect-hor\x1b[0mse b\n")
    left = redact(init() + line, *SECRETS, known={"k": ["correct-horse"]}).stdout
    assert rb"a [REDACTED:k]\u001b[1m\u001b[0m b" in left


# ---------------------------------------------------------------- known values

ODD_VALUES = (
    'p\u00e4"s/w+\u00f6rd=<\U0001f600>', "q7Vx2/LmTz9+RbKw4NcHs8JdPe==", "C:\\new & old\\x 'y'", "a1\tb2\r\nc3 d4",
)  # fmt: skip
WORDY = "correct horse battery staple"


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_known_value_in_wrapped_base64(width: int, before: int) -> None:
    value = "made-up-value-of-a-file"
    encoded = base64.b64encode(f"{'x' * before}\nKEY={value}\n{'y' * 90}".encode()).decode()
    lines = "\n".join(encoded[at : at + width] for at in range(0, len(encoded), width))
    left = redact(init() + shell(lines) + result(), *SECRETS, known={"k": [value]}).stdout
    assert b"[REDACTED:k]" in left
    joined = "".join(left.decode().split("\\n"))
    inside = base64.b64encode(f"{'x' * before}\nKEY={value}".encode()).decode()[:-4]
    assert inside not in joined


@pytest.mark.parametrize("pattern", [r"\S{12,}", r"\W?\w{12,}", r"(?s).{12,}"])
def test_a_pattern_that_matches_what_stands_between_texts_ends(pattern: str) -> None:
    data = init() + shell("abcdefghijklmnop") + shell("x") + result()
    assert b"abcdefghijklmnop" not in redact(data, *SECRETS, "--pattern", f"x={pattern}").stdout


@settings(max_examples=40)
@given(value=st.sampled_from(ODD_VALUES), depth=st.integers(0, 2), rng=st.randoms())
def test_a_known_value_is_found_in_any_spelling(value: str, depth: int, rng: random.Random) -> None:
    """As it stands and in a URL, in JSON inside JSON, in ASCII or not."""
    text = quote(value) if depth and rng.random() < 0.2 else value
    for _ in range(depth):
        text = json.dumps({"a": text}, ensure_ascii=rng.random() < 0.5)
    spelled = randomly_spelled(f"{text} tail", rng.choice)
    line = f'{{"type":"x","a":{spelled}}}'
    left = redact(line.encode("utf-8", "surrogatepass") + b"\n", *SECRETS, known={"k": [value]})
    assert json.loads(left.stdout)["a"].count("[REDACTED:k]") == 1
    assert json.loads(left.stdout)["a"].endswith(" tail")


@pytest.mark.parametrize("value", ODD_VALUES)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_input_that_ends_within_a_known_value(value: str, ascii_only: bool) -> None:
    """In words, in a damaged line, and in a line of prose, wherever it is cut."""
    spelled = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    line = json.dumps(json.loads(assistant("x", timestamp_ms=1)), ensure_ascii=ascii_only)
    for size in range(len(json.dumps(value[:4], ensure_ascii=ascii_only)), len(spelled)):
        damaged = init() + line[: line.index('"x"')].encode() + f'"it is {spelled[:size]}'.encode()
        ended = redact(damaged, *SECRETS, known={"k": [value]})
        assert "it is [REDACTED:k]" in ended.stderr
    for size in range(6, len(value) - 1):
        cut = assistant(f"it is {value[:size]}", timestamp_ms=1)
        ended = redact(init() + cut, *SECRETS, known={"k": [value]})
        assert b"it is [REDACTED:k]" in ended.stdout


@pytest.mark.parametrize("width", [2_000, 30_000, 100_000])
def test_a_long_line_is_not_cut_within_a_known_value_of_several_words(width: int) -> None:
    for before in range(agentfmt.LONG_LINE - 30, agentfmt.LONG_LINE + 2, 5):
        text = f"{'a ' * (before // 2)}{WORDY} tail {'b ' * 500}"
        pieces = [text[at : at + width] for at in range(0, len(text), width)]
        data = init() + b"".join(assistant(piece, timestamp_ms=1) for piece in pieces) + result()
        _, *left, _ = redact(data, *SECRETS, known={"k": [WORDY]}).objects
        words = "".join(line["message"]["content"][0]["text"] for line in left)
        assert words == text.replace(WORDY, "[REDACTED:k]")


BLOCK = "first part\n  2nd: q7\n}\nlast x9"


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_prose_hides_a_known_value_of_several_lines(size: int) -> None:
    """Each of its lines, also where the run is killed within it."""
    lines = BLOCK.split("\n")[:size]
    data = init() + "".join(f"{line}\n" for line in ("before", *lines)).encode()
    for to in ("text", "runs", "markdown"):
        ended = redact(data, "-t", to, "-r", "secrets", known={"k": [BLOCK]})
        shown = ended.stdout.decode() + ended.stderr
        assert "before" in shown
        assert not [line for line in lines if line.strip() in shown and len(line) > 1]
    after = redact(data + b"plain\n", known={"k": [BLOCK]}).stderr
    assert "plain" in after


@pytest.mark.parametrize("member", ["error", "result", "message"])
def test_a_reason_hides_a_known_value_of_several_lines(member: str) -> None:
    text = f"it said {BLOCK} and no more"
    kind = "error" if member == "message" else "result"
    data = init() + event(kind, is_error=True, **{member: text})
    for to in ("text", "runs", "markdown", "stream-json"):
        ended = redact(data, "-t", to, "-s", "-r", "secrets", known={"k": [BLOCK]})
        shown = ended.stdout.decode() + ended.stderr
        assert "it said [REDACTED:k] and no more" in shown
        assert "2nd" not in shown


# ---------------------------------------------------------------- copies

COPIED = "Zx9kLm2qRtW"


def shell(output: str, session: str = SESSION) -> bytes:
    given = {"command": f"run {COPIED}"} if output == COPIED else None
    outcome = {"success": {"stdout": output, "exitCode": 0}}
    return completed("c", "shellToolCall", outcome, session, given)


SHOWN = {
    "output": shell(f"DB_PASSWORD={COPIED}\n"),
    "member": event("user", message=message("do", "user"), env={"DB_PASSWORD": COPIED}),
    "words": assistant(f"DB_PASSWORD={COPIED}\n"),
    "deltas": b"".join(assistant(char, timestamp_ms=1) for char in f"password: {COPIED}\n"),
    "prompt": event("user", message=message(f"use API_TOKEN={COPIED}", "user")),
}
REPEATED = {
    "output": shell(COPIED), "in JSON": shell(json.dumps({"a": f"<{COPIED}>"})),
    "words": assistant(f"It is {COPIED}.\n"), "thoughts": event("thinking", subtype="delta", text=f"{COPIED}\n"),
    "deltas": b"".join(assistant(char, timestamp_ms=1) for char in f"it is {COPIED}\n"),
    "result": result(is_error=True, result=f"{COPIED} is wrong"),
}  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("repeated", REPEATED)
def test_a_value_that_was_hidden_for_its_name_is_known_from_there_on(
    shown: str, repeated: str
) -> None:
    """For the rest of its run, however the input arrives; what came before it stays, but in a report."""
    before, other = shell(f"before {COPIED} it"), init("other") + shell(COPIED, "other")
    data = init() + before + SHOWN[shown] + shell("then") + REPEATED[repeated] + result() + other
    ended = redact(data, *SECRETS)
    mine, _, rest = ended.stdout.partition(b'"session_id":"other"')
    assert mine.count(COPIED.encode()) == 1
    assert COPIED.encode() in rest
    assert redact(one_byte_at_a_time(data), *SECRETS).stdout == ended.stdout
    for to in ("text", "runs", "markdown", "html", "calls"):
        flags = ("-t", to, "-s", *("-m all -d".split() if to == "text" else ()))
        shown_ = redact(data[: len(data) - len(other)], *flags, "-r", "secrets").stdout.decode()
        if to != "calls" or shown not in ("words", "deltas"):  # it doesn't read these
            assert COPIED not in shown_.replace(f"before {COPIED}", "")
        assert to not in ("markdown", "html") or COPIED not in shown_  # written when all is known


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("to", ["text", "calls", "otlp", "atif"])
def test_what_a_call_began_with_is_told_at_its_end(to: str, ends: bool) -> None:
    """Or its run's: what became known since is hidden."""
    calls = {"started": {"args": {"command": f"run {COPIED}"}}, "completed": {"result": {}}}
    lines = [
        event("tool_call", subtype=name, call_id="c", tool_call={"shellToolCall": call})
        for name, call in [*calls.items()][: 1 + ends]
    ]
    data = init() + lines[0] + SHOWN["prompt"] + b"".join(lines[1:]) + result()
    shown = redact(data, "-t", to, *(("-d",) if to == "text" else ()), "-r", "secrets").stdout
    assert b"run [REDACTED:" in shown
    assert COPIED.encode() not in shown


@pytest.mark.parametrize("text", table("redacted.txt", "what was hidden once stays hidden"))
@pytest.mark.parametrize("to", ["stream-json", "text", "markdown", "html"])
def test_what_was_hidden_once_stays_hidden(text: str, to: str) -> None:
    """Whatever told it."""
    value = "Vx7pQ2mLw9Kz4Rt8"
    data = init() + shell(text.replace("<>", value)) + assistant(f"It is {value}.") + result()
    assert value.encode() not in redact(data, "-t", to, "-r", "secrets").stdout


def wrapped(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


PUNCTUATED = "kQ7/xv+2Lm=Zt8w"  # has what URLs, shells, HTML and JSON escape
ENCODED = {
    "URL": quote(PUNCTUATED, safe=""), "shell": re.sub(r"(\W)", r"\\\1", PUNCTUATED), "hex": PUNCTUATED.encode().hex(),
    "HEX": PUNCTUATED.encode().hex().upper(), "slash": PUNCTUATED.replace("/", "\\/"), "entity": PUNCTUATED.replace("+", "&#43;"),
    "code points": "".join(f"\\u{ord(char):04x}" for char in PUNCTUATED),
    "bytes": "".join(f"\\x{ord(char):02x}" for char in PUNCTUATED),
    "JSON": json.dumps(json.dumps({"a": PUNCTUATED})), "basic": base64.b64encode(f"bob:{PUNCTUATED}".encode()).decode(),
    "wrapped 76": wrapped(base64.b64encode(b"x" * 50 + PUNCTUATED.encode() + b"y" * 30).decode(), 76),
    "wrapped 64": wrapped(base64.b64encode(b"x" * 41 + PUNCTUATED.encode() + b"y" * 30).decode(), 64),
    "indented": wrapped(base64.b64encode(b"x" * 41 + PUNCTUATED.encode() + b"y" * 30).decode(), 64).replace("\n", "\n  "),
}  # fmt: skip
LEFT = {
    "JSON": r'"{\"a\": \"*\"}"', "basic": "Ym9iOm*w==",
    "wrapped 76": f"{'eHh4' * 16}eHh*\nd{'5eXl' * 9}5eXk=",
    "wrapped 64": f"{'eHh4' * 13}eHh*\nd{'5eXl' * 9}5eXk=",
    "indented": f"{'eHh4' * 13}eHh*\n  d{'5eXl' * 9}5eXk=",
}  # fmt: skip


@pytest.mark.parametrize("how", ENCODED)
@pytest.mark.parametrize("place", ["output", "words", "member"])
def test_a_copy_is_hidden_however_it_is_spelled(how: str, place: str) -> None:
    """Also where a line of the stream escapes the escapes."""
    text, left = ENCODED[how], LEFT.get(how, "*")
    left += "\n" * (place == "words")
    places = {"output": shell, "words": lambda text: assistant(f"{text}\n")}
    copy = places.get(place, lambda text: event("x", text=text))(text)
    shown = redact(run_of(shell(f"DB_PASSWORD={PUNCTUATED}\n"), copy), *SECRETS).objects[2]
    texts = [text.replace("[REDACTED:assignment]", "*") for text in strings(shown) if "[RE" in text]
    assert texts == [left]


def test_a_copy_in_the_same_text_is_hidden_before_it_was_told() -> None:
    """Of words, which leave line by line, on the same line."""
    output = shell(f"# was {COPIED}\nDB_PASSWORD={COPIED}\n")
    words = assistant(f"{COPIED}\nSet {COPIED}: DB_PASSWORD={COPIED}\n")
    assert COPIED.encode() not in redact(init() + output + result(), *SECRETS).stdout
    data = init() + words + result()
    assert redact(data, *SECRETS).stdout.count(COPIED.encode()) == 1
    assert redact(one_byte_at_a_time(data), *SECRETS).stdout.count(COPIED.encode()) == 1


@pytest.mark.parametrize(("value", "known"), [
    *((value, True) for value in ("Cactus2026?", "woshimima88", "pgpsignature2", "Zx8;mN2,pQ7")),  # of people
    *((value, False) for value in ("production1", "changeme", "x9Kq2")),  # words
    *((made(template, seed).text, True) for seed in range(5)
      for template in ("<32 base32>", "<16 alnum>", "<40 hex>", "<40 lower>")),
])  # fmt: skip
def test_which_values_become_known(value: str, known: bool) -> None:
    data = init() + shell(f"DB_PASSWORD={value}\n") + shell(f"see {value}") + result()
    assert (f"see {value}".encode() in redact(data, *SECRETS).stdout) is not known


def test_copies_are_bounded() -> None:
    values = [made("<20 alnum>", number).text for number in range(300)]
    shown = "".join(f"PASSWORD={value}\n" for value in values)
    data = init() + shell(shown) + shell(" ".join(values)) + result()
    left = redact(data, *SECRETS).stdout.splitlines()[2]
    assert 64 <= left.count(b"[REDACTED:assignment]") < 200


PIECES = ["hK3jd9Qm2xVb7Tz1", "Rr5Yp0Lw8Nc4", "aA1aA1aA1aA1", "prod", TOKEN, "s3cr3tHunter9Zx"]
JOINTS = st.sampled_from(["", "-", "-prod-", ".", "/", " ", "\n", "=", "&quot;", "%3D"])
WORDS = st.lists(
    st.tuples(st.sampled_from([*PIECES, "password", "API_TOKEN: ", "aA1"]), JOINTS), max_size=8
).map(lambda parts: "".join(map("".join, parts)))


@given(text=WORDS, values=st.lists(WORDS, max_size=4), learnt=st.lists(WORDS, max_size=4))
@settings(max_examples=30, deadline=None)
def test_a_value_that_is_known_uncovers_nothing(
    text: str, values: list[str], learnt: list[str]
) -> None:
    """What is hidden with known and learnt values is a superset of what is hidden without them."""
    usable = [*filter(agentfmt.is_usable, values)]
    alone, knowing = scanner(), agentfmt.Scanner({"x": usable}, {})
    knowing.copies = agentfmt.Learnt(agentfmt.Learnt())
    for value in learnt:
        knowing.copies.learn(value)
    data = text.encode()
    hidden = {place for a, b, _ in knowing.spans(data) for place in range(a, b)}
    assert hidden.issuperset(place for a, b, _ in alone.spans(data) for place in range(a, b))


@pytest.mark.parametrize("unit", ["aA1", "aA1bB2cC3dD4eE5", made("<700 alnum>").text])
def test_a_value_of_any_period_is_hidden(unit: str) -> None:
    value = (unit * 5000)[:5000]
    shown = shell(f"api_key={value}") + shell(value * 3)
    assert unit.encode() not in redact(init() + shown + result(), *SECRETS).stdout


UNSAFE = {
    "prose": f"fatal: no login for {COPIED}\n".encode(),
    "damage": f'{{"a":"{COPIED}\n'.encode(),
    "reason": result(is_error=True, result=f"no login for {COPIED}"),
    "open call": call("shell", {"command": f"login {COPIED}"}, call_id="d"),
    "type": event(COPIED),
    "cut": f"fatal: {'x' * (agentfmt.EXCERPT - 14)} {COPIED}\n".encode(),
    "begun": f"log {COPIED[:9]}\n".encode(),
}


@pytest.mark.parametrize("told", UNSAFE)
@pytest.mark.parametrize("flags", [(), ("-s",), ("-t", "runs"), ("-t", "html"), ("-t", "markdown")])
def test_messages_show_no_value_that_is_known(told: str, flags: tuple[str, ...]) -> None:
    data = init() + SHOWN["output"] + UNSAFE[told]
    for given_ in (data, data[:-1]):
        ended = run(*flags, "-r", "secrets", data=given_)
        assert COPIED[:6] not in ended.stdout.decode() + ended.stderr


@pytest.mark.parametrize("flags", [("-q",), ("-q", "-s"), ("-t", "calls"), ("-t", "runs")])
def test_a_reason_hides_what_words_told_that_nothing_prints(flags: tuple[str, ...]) -> None:
    data = init() + assistant(f"Its password: {COPIED}\n") + UNSAFE["reason"]
    ended = redact(data, *flags, "-r", "secrets")
    assert COPIED not in ended.stdout.decode() + ended.stderr


@pytest.mark.parametrize("told", ["prose", "damage", "begun"])
def test_messages_show_no_value_of_words_that_wait(told: str) -> None:
    ended = redact(init() + assistant(f"Its password: {COPIED}") + UNSAFE[told], "-r", "secrets")
    assert COPIED[:6] not in ended.stdout.decode() + ended.stderr


def test_what_is_passed_on_hides_secrets_by_itself() -> None:
    def hidden_by(to: str, *classes: str) -> frozenset[str]:
        return agentfmt.classes_of({**parameters("-t", to), "classes": [classes]})

    assert {to for to in agentfmt.WRITERS if hidden_by(to)} == {"markdown", "html", "otlp", "atif"}
    assert hidden_by("html") == {"secrets"}
    assert hidden_by("html", "none") == set()
    assert hidden_by("html", "paths") == {"paths", "secrets"}
    data = init() + shell(f"DB_PASSWORD={COPIED}\n") + assistant(f"It is {COPIED}.\n") + result()
    hidden, shown = (run("-t", "html", *flags, data=data) for flags in ((), ("-r", "none")))
    assert (COPIED.encode() in hidden.stdout, COPIED.encode() in shown.stdout) == (False, True)
    assert hidden.status == shown.status == 0
    assert "stands alone" in run("-t", "html", "-r", "none,secrets").stderr


# ---------------------------------------------------------------- planted secrets


@pytest.mark.parametrize("path", CAPTURES)
def test_no_planted_secret_comes_out(path: str) -> None:
    """Of any kind, at any place, with any output of a third of them."""
    rng, lines = random.Random(path.rpartition("/")[2]), content(path).splitlines(True)
    whole = all(line.startswith(b"{") and line.endswith(b"}\n") for line in lines)
    for flags in one_in(3, PLANTED_OUTPUTS, rng.random()) if whole else ():
        planted = plant(rng, lines[:200])
        assert leaks(planted, flags) == [], planted.where


PRINTED_AT: dict[str, Callable[[str], bytes]] = {
    "prompt": lambda text: run_of(event("user", message=message(text, "user"))),
    "words": lambda text: run_of(assistant(text)),
    "deltas": lambda text: run_of(*(assistant(char, timestamp_ms=1) for char in text)),
    "thoughts": lambda text: run_of(thinking(text)),
    "command": lambda text: run_of(ran(text, 1)),
    "output": lambda text: run_of(ran("make", 1, text)),
    "path": lambda text: run_of(completed("c", args={"path": text})),
    "diff": lambda text: run_of(edit(f"+{text}")),
    "reason": lambda text: run_of(result=text, is_error=True, subtype="error"),
}
TOLD = [planted for planted in map(made, PRINTED["one"]) if len(planted.secret) > 7]
COLORED_TEXTS = [row.values[0].replace("*", PASSWORD).replace("~", "\x1b") for row in COLORED]


@pytest.mark.parametrize("place", PRINTED_AT)
@pytest.mark.parametrize("flags", PLANTED_OUTPUTS, ids=" ".join)
def test_what_tools_print_is_hidden_in_every_output(flags: tuple[str, ...], place: str) -> None:
    """Each in a run of its own: none is known from another."""
    pairs = [(told.text, told.secret) for told in TOLD]
    pairs += [(text, PASSWORD) for text in COLORED_TEXTS]
    pairs = [*one_in(3, pairs, (flags, place))]
    ended = redact(b"".join(PRINTED_AT[place](text) for text, _ in pairs), *flags, "-r", "secrets")
    shown = ended.stdout + ended.stderr.encode()
    assert [secret for _, secret in pairs if stands_in(secret, shown)] == []


# ---------------------------------------------------------------- stderr


@pytest.mark.parametrize(("classes", "answer", "error"), [
    ("content", "canary", "[content: 6 chars]"),
    ("all", "[words]", "[content: 6 chars]"),
])  # fmt: skip
def test_a_reason_is_hidden_with_the_class_that_it_has_on_its_event(
    classes: str, answer: str, error: str
) -> None:
    """What is no event may be of any class: its size alone is shown."""
    data = b"npm: canary\n" + init() + b'{"type":"x","canary"\n' + started(key="shellToolCall")
    data += init("two") + result("two", is_error=True, result="canary")
    data += init("three") + event("error", message="canary", session="three")
    for to in ("text", "stream-json"):
        ended = redact(data, "-t", to, "-s", "-r", classes)
        shown = ended.stdout.decode() + ended.stderr
        assert "agentfmt: stdin:1: [content: 11 chars]\n" in shown
        assert "at column 21: [content: 20 chars]\n" in shown
        assert re.search(rf"run two \(stdin:5\): failed, .*: {re.escape(answer)}\n", shown)
        assert re.search(rf"run three \(stdin:7\): unfinished, .*: {re.escape(error)}\n", shown)
        assert "1 call open (shell)" in shown
    rows = redact(data, "-t", "runs", "-r", classes).objects
    reasons = {row["session"]: row["reason"] for row in rows}
    assert (reasons["two"], reasons["three"]) == (answer, error)


HOME = "/home/ann"
KNOWN_ID = "kn0wn-Id-8fYq2Lx7"
OUTPUTS = [
    pytest.param(flags, id=" ".join(flags))
    for flags in (
        *(("-t", to) for to in agentfmt.WRITERS),
        ("-t", "text", "-d", "-s", "--actions", "stderr"), ("-t", "text", "-m", "all"),
    )
]  # fmt: skip


@pytest.mark.parametrize("flags", OUTPUTS)
def test_a_session_that_is_a_known_value_is_printed_nowhere(flags: tuple[str, ...]) -> None:
    """Nor what stands for it cut in its middle: prefixes, rows, headings, messages, results."""
    mine = [init(KNOWN_ID), started(session=KNOWN_ID), assistant("a\n", KNOWN_ID)]
    other = init("other"), assistant("b\n", "other"), result("other")
    end = result(KNOWN_ID, is_error=True, result="no"), init(KNOWN_ID), b'{"type":"result",'
    nameless = event("result", subtype="success", is_error=False, session=None)
    data = b"".join([*mine, *other, *end[:2], nameless, end[2] + b"\n", init(KNOWN_ID)])
    ended = redact(data, *flags, known={"id": [KNOWN_ID]})
    shown = (ended.stdout.decode() + ended.stderr).replace("\\", "")
    assert KNOWN_ID[:8] not in shown
    assert "[REDACTED:id]" in shown
    assert "[REDACTE" not in shown.replace("[REDACTED:id]", "")


@pytest.mark.parametrize("to", ["runs", "markdown", "text"])
@pytest.mark.parametrize("member", ["result", "error"])
def test_a_reason_names_no_home(to: str, member: str) -> None:
    data = init() + result(is_error=True, **{member: f"cannot read {HOME}/x or /work/sub/y"})
    ended = redact(data, "-t", to, "-s", "-r", "paths", homes=(HOME,))
    shown = ended.stdout.decode() + ended.stderr
    assert "cannot read ~/x" in shown
    assert HOME not in shown


def test_prose_hides_no_paths_unless_asked() -> None:
    data = b"npm: /home/ann/x\n" + init()
    assert "npm: /home/ann/x\n" in redact(data, "-r", "secrets").stderr
    assert "npm: ~/x\n" in redact(data, "-r", "secrets,paths").stderr


@pytest.mark.parametrize(("flags", "count"), table("redacted.txt", "counts"))
def test_the_redactions_are_those_in_selected_events(flags: tuple[str, ...], count: int) -> None:
    """Whatever the output shows of them: words, too, tell values that others repeat; a marker that
    stood in the input is none."""
    given, outcome = {"command": f"curl {TOKEN}"}, {"success": {"stdout": TOKEN, "exitCode": 0}}
    data = init() + event("user", message=message(f"use {TOKEN}", "user"))
    data += completed("c", "shellToolCall", outcome, args=given)
    data += assistant(f"I used {TOKEN}\n") + result(result="done")
    for given_, expected in ((data, count), (data.replace(TOKEN.encode(), MARKER.encode()), 0)):
        ended = redact(given_, *flags, "-s", "-r", "secrets")
        told = re.findall(r"([0-9]+) redaction", ended.stderr + ended.stdout.decode())
        assert [*map(int, told)] == [expected] * len(told)
        assert bool(told) == bool(expected)


def test_a_marker_that_was_read_is_no_redaction() -> None:
    """Nor one outside any run, when what was hidden there stands in a summary already."""
    lines = (event("surprise", text=text, session=None) for text in (TOKEN, MARKER))
    data = b"".join(line + init() + result() for line in lines)
    first, second, total = redact(data, *SAME, "-r", "secrets", "-s").stderr.splitlines()
    assert "1 redaction (github-token 1)" in first
    assert "redaction" not in second
    assert "1 redaction (github-token 1)" in total


def test_redactions_are_booked_to_their_run() -> None:
    """In interleaved logs too, and whatever is held back."""
    data = init("one") + init("two") + assistant(f"{TOKEN} ", "one", timestamp_ms=1)
    data += event("user", message=message(TOKEN), session="two") * 2
    data += b'{"type":"x","v":"' + TOKEN.encode() + b'","session_id":"one"}\n' + result("two")
    data += assistant("or", "one", timestamp_ms=1) + result("one")
    ended = run("-t", "stream-json", "-s", "-r", "secrets", data=data)
    two, one, both = ended.stderr.splitlines()
    assert two.startswith("agentfmt: run two ")
    assert two.endswith("2 redactions (github-token 2)")
    assert one.startswith("agentfmt: run one ")
    assert one.endswith("2 redactions (github-token 2)")
    assert both.endswith("4 redactions (github-token 4)")


WORD = "hunter2Zq81mVt4"


@pytest.mark.parametrize("lines", table("redacted.txt", "excerpts", named=True))
def test_no_excerpt_shows_a_secret(lines: list[str]) -> None:
    due, left = "", []
    for line in (*lines, "no more"):
        shown, due = MESSAGES_ONLY.prose(line, due)
        left.append(shown)
    assert left[-1] == "no more"
    text = "".join(left)
    assert (WORD[1:] in text, text.count("[REDACTED:assignment]")) == (False, 1)


@pytest.mark.parametrize("line", ["# x9Kq==", "// the rest", "-- and `x` 9Kq", '"` and'])
def test_a_key_that_is_open_goes_on(line: str) -> None:
    """However its next line begins: only the first line of a key may be a mention of one."""
    assert agentfmt.ends_inside_key(f"{line}\nMIIE\n".encode(), inside=True)
    due, left = "", []
    for text in (agentfmt.KEY_BEGIN, "MIIEpAIBAAKCAQEA", line, "MIIEx"):
        shown, due = MESSAGES_ONLY.prose(text, due)
        left.append(shown)
    assert left == ["[REDACTED:private-key]"] * 4


@pytest.mark.parametrize("view", [("-d", "--actions", "stderr"), ("-s",)])
@pytest.mark.parametrize("name", ["Bash", TOKEN])
def test_what_the_end_of_a_foreign_call_repeats(name: str, view: tuple[str, ...]) -> None:
    """Action lines and summaries take it from the start, which stands in another line."""
    lines = claude(use(name, command=f"curl {TOKEN}"), uuid="u") + claude(returned(), role="user")
    data = lines + result(result="ok", uuid="u")
    ended = redact(data, *SECRETS, *view)
    assert MARKER in ended.stdout.decode()
    assert TOKEN not in ended.stderr
    action = f"curl {MARKER}" if name == "Bash" else f"Used tool {MARKER}"
    told = action if view[0] == "-d" else f"(github-token {1 + (name == TOKEN)})"
    assert told in ended.stderr


@pytest.mark.parametrize(("text", "left"), table("redacted.txt", "sentences"))
def test_the_full_stop_of_a_sentence_is_no_part_of_a_value(text: str, left: str) -> None:
    assert hide(text) == left


WHY_NOT = "not hidden, because it is shorter than 8 characters, or a path, a number or a boolean"


@pytest.mark.parametrize(("flags", "said"), [
    ("MY_C*", f"--secret-env MY_C*: {WHY_NOT}: MY_CODE"),
    ("DEPLOY_* NO_SUCH_*", "--secret-env NO_SUCH_*: no variable has such a name"),
    ("MY_CODE", ""),  # whoever names it relies on that
    ("NO_SUCH", ""),
])  # fmt: skip
def test_a_variable_that_cannot_be_hidden(flags: str, said: str) -> None:
    env = {**ENVIRON, "MY_CODE": "zq-7k1", "DEPLOY_WORD": "correct horse"}
    given_ = [word for name in flags.split() for word in ("--secret-env", name)]
    ended = run("-q", *given_, data=whole_run(), env=env)
    assert (ended.stdout, ended.status) == (b"", 0 if said else 2)
    assert ended.stderr == f"agentfmt: {said}\n" or not said
    why = "its value can't be hidden" if flags in env else "this variable isn't set; see"
    assert said or f"--secret-env {flags}: {why}" in ended.stderr
