"""Secrets for tests: made from a grammar at run time, so that none stands in a source.

In a template ``<36 alnum>`` is 36 random characters of an alphabet, and « » enclose what must be
hidden; without them it is the whole. ``<rule 7>`` is what the expression of a row of RULES says.
"""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import base64
import functools
import importlib
import json
import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from support import Ended, convert, named_sections, parameters, redaction, sections, string_paths

import agentfmt

parser: Any = importlib.import_module("re._parser" if sys.version_info > (3, 11) else "sre_parse")
ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "base32": string.ascii_uppercase + "234567",
    "base64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "digit": string.digits,
    "upper": string.ascii_uppercase,
}


class Grammar(NamedTuple):
    """What a rule must find, and what it must leave: the table's own examples, and more."""

    rule: str
    found: tuple[str, ...]
    left: tuple[str, ...]


class Planted(NamedTuple):
    """A text with a secret in it."""

    before: str
    secret: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after

    def hidden(self, rule: str) -> str:
        return f"{self.before}[REDACTED:{rule}]{self.after}"


class Sampler:
    """Random texts that an expression matches, unlike Hypothesis' evenly random: a token of zeros
    is none. ``short``: with one character too few in the last part of open length."""

    def __init__(self, rule: agentfmt.Rule, seed: object, *, short: bool = False) -> None:
        self.rng = random.Random(f"{rule.source} {seed}")
        *before, rest = rule.parts()
        if short and ",}" in rest:
            head, _, tail = rest.rpartition(",}")
            head, _, least = head.rpartition("{")
            rest = f"{head}{{{int(least) - 1}}}{tail}"
        source = "".join((*before, rest))
        self.hidden = whole = not re.search(agentfmt.GROUP, source)
        text = self.some(parser.parse(source))
        # These go on to the end of the string, or of the list.
        text += '"' * rest.endswith(r"\n]{4,})") + "]" * rest.endswith(r"[^\]{}]{20,})")
        self.text = f"«{text}»" if whole else text

    def some(self, parsed: Any) -> str:
        return "".join(getattr(self, str(kind).lower())(value) for kind, value in parsed)

    def literal(self, code: int) -> str:
        return chr(code)

    def at(self, _: Any) -> str:
        return ""

    def branch(self, value: Any) -> str:
        return self.some(self.rng.choice(value[1]))

    def subpattern(self, value: Any) -> str:
        group, _, _, inner = value
        self.hidden = self.hidden or bool(group)
        return f"«{self.some(inner)}»" if group else self.some(inner)

    def in_(self, value: Any) -> str:
        chars = characters(value)
        usual = [char for char in chars if char.isalnum()]
        return self.rng.choice(usual if usual and self.rng.random() < 0.9 else chars)

    def max_repeat(self, value: Any) -> str:
        least, most, inner = value
        if most == parser.MAXREPEAT:
            least = most = max(least, 12 * self.hidden) if least else 0
        size = self.rng.randint(least, most)
        chars = [self.some(inner) for _ in range(size)]
        if size > 1 and str(inner[0][0]) == "IN":  # a token may end a sentence
            ends = [char for char in characters(inner[0][1]) if char.isalnum()]
            chars[0], chars[-1] = self.rng.choice(ends), self.rng.choice(ends)
        return "".join(chars)

    min_repeat = max_repeat


setattr(Sampler, "in", Sampler.in_)


CATEGORIES = {"CATEGORY_WORD": r"\w", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\w"}


def characters(parsed: Any) -> str:
    """The printable characters of a class; of one that excludes some, letters and digits."""
    found = set[str]()
    for kind, value in parsed:
        if str(kind) == "LITERAL":
            found.add(chr(value))
        elif str(kind) == "RANGE":
            found.update(map(chr, range(value[0], value[1] + 1)))
        elif str(kind) == "CATEGORY":
            pattern = re.compile(CATEGORIES[str(value)])
            found.update(filter(pattern.match, map(chr, range(33, 127))))
    if str(parsed[0][0]) == "NEGATE":
        return "".join(char for char in ALPHABETS["alnum"] if char not in found)
    return "".join(sorted(found))


# As tools print them, in the language of whoever wrote the tool.
PRINTED = named_sections("printed.txt")


@functools.cache
def made(template: str, seed: object = 0) -> Planted:
    """A template filled in. Each character class of an alphabet occurs, as in real tokens."""
    if of_rule := re.fullmatch(r"<(rule|short) (\d+)>", template):
        rule = agentfmt.RULES[int(of_rule[2])]
        return planted(Sampler(rule, seed, short=of_rule[1] == "short").text)
    rng = random.Random(f"{template} {seed}")

    def fill(match: re.Match[str]) -> str:
        size, alphabet = int(match[1]), ALPHABETS[match[2]]
        chars = rng.choices(alphabet, k=size)
        ends = [char for char in alphabet if char.isalnum()]  # a token may end a sentence
        chars[0], chars[-1] = rng.choice(ends), rng.choice(ends)
        return "".join(chars)

    return planted(re.sub(r"<(\d+) (\w+)>", fill, template))


def planted(text: str) -> Planted:
    if "«" not in text:
        return Planted("", text, "")
    before, _, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return Planted(before, secret, after)


PEM = "-----{} {}PRIVATE KEY{}-----"


def pem(kind: str = "", block: str = "", *, newline: str = "\n", lines: int = 4) -> str:
    """A private key: its lines are random, its armour is put together here."""
    body = [made(f"<64 base64>{newline}", (kind, number)).text for number in range(lines)]
    begin, end = (PEM.format(word, kind, block) for word in ("BEGIN", "END"))
    return begin + newline + "".join(body) + end


def spellings(secret: str) -> Iterator[str]:
    """How a secret might leave: as it is, escaped in JSON, in a URL, in base64."""
    yield secret
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (once, json.dumps(once)[1:-1], once.replace("/", r"\/"))
    yield from (url := quote(secret, safe=""), re.sub("%..", lambda m: m[0].lower(), url))
    data = secret.encode("utf-8", "surrogatepass")
    for shift in range(3):
        start, end = (0, 2, 3)[shift], (shift + len(data)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(shift) + data)[start:end].decode()


def stands_in(secret: str, output: bytes) -> bool:
    """Does a secret stand in an output, in any spelling?"""
    return any(form.encode("utf-8", "surrogatepass") in output for form in spellings(secret))


@functools.cache
def scanner() -> agentfmt.Scanner:
    """The rules alone."""
    return agentfmt.Scanner({}, {})


def hide(text: str, scanner_: agentfmt.Scanner | None = None) -> str:
    return (scanner_ or scanner()).conceal(text)


def redact(
    data: Any,
    *flags: str,
    known: dict[str, list[str]] | None = None,
    homes: tuple[str, ...] = (),
    **more: Any,
) -> Ended:
    """The pipeline in process, with the classes and patterns of the flags; no environment."""
    given = parameters(*flags)
    made_of = redaction(given["classes"], given["patterns"], known or {}, homes)
    return convert(data, *flags, redaction=made_of, **more)


def randomly_spelled(text: str, choose: Callable[[list[str]], str]) -> str:
    """A JSON literal in which each character is written as itself or as an escape."""
    spelled = []
    for char in text:
        plain = json.dumps(char, ensure_ascii=False)[1:-1]
        units = char.encode("utf-16-be", "surrogatepass")
        pairs = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
        escaped = "".join(f"\\u{pair}" for pair in pairs)
        ways = [plain, escaped, escaped.upper().replace("\\U", "\\u")]
        if "\ud800" <= char <= "\udfff":
            ways = ways[1:]
        spelled.append(choose([*ways, r"\/"] if char == "/" else ways))
    return f'"{"".join(spelled)}"'


def grammars() -> Iterator[Grammar]:
    """The rules' own, and those of tokens.txt: what is found (+), and what is left (-)."""
    for number, rule in enumerate(agentfmt.RULES):
        yield Grammar(rule.name, (f"<rule {number}>",), ())
    for name, rows in sections("tokens.txt"):
        found, left = (tuple(row[2:] for row in rows if row[0] == sign) for sign in "+-")
        yield Grammar(name, found, left)


GRAMMARS = [*grammars()]


# ---------------------------------------------------------------- secrets in streams


class Plant(NamedTuple):
    """A stream with a secret in it, and what must not be printed of it."""

    data: bytes
    where: str
    parts: tuple[str, ...]  # of the secret: its lines
    known: dict[str, list[str]]


def plant(rng: random.Random, lines: list[bytes]) -> Plant:
    """A secret of any kind at any place of a stream: a member, a name, prose, a damaged line, words
    in pieces."""
    kind = rng.choice(("token", "named", "known", "block", "key"))
    rows, known = SECRETS_OF[kind](rng), dict[str, list[str]]()
    if kind in ("known", "block"):
        known = {"known": ["\n".join(rows)]}
    text = "\n".join([f"{'DB_PASSWORD=' * (kind == 'named')}{rows[0]}", *rows[1:]])
    number = rng.randrange(len(lines))
    place = rng.choice([*PLACES, "id" if known else "member"])
    place = "member" if place == "id" and not known else place
    made = PLACES[place](rng, lines[number], text)
    data = b"".join([*lines[:number], made, *lines[number + 1 :]])
    parts = tuple(row for row in rows if len(row) > 7)
    return Plant(data, f"{kind}, {place}, line {number + 1}", parts, known)


def value_of(rng: random.Random, size: int, alphabet: str = ALPHABETS["alnum"]) -> str:
    return "q7X" + "".join(rng.choices(alphabet, k=size))


SECRETS_OF: dict[str, Callable[[random.Random], list[str]]] = {
    "token": lambda rng: [f"ghp_{value_of(rng, 33)}"],
    "named": lambda rng: [value_of(rng, 13)],
    "known": lambda rng: [value_of(rng, 12, string.ascii_letters + '/+="\\ é<')+ "z9"],
    "block": lambda rng: [value_of(rng, rng.randrange(3, 12)) for _ in range(3)],
    "key": lambda rng: pem(lines=rng.randrange(2, 5)).split("\n"),
}  # fmt: skip


def in_member(rng: random.Random, line: bytes, text: str, ids: bool) -> bytes:
    """In a string, which may be what says the type; an id is no token, whatever it looks like: the
    last of two names says that of an agent's own frame, such as its result."""
    event = json.loads(line)
    names = [tuple(name for name in path if isinstance(name, str)) for path in string_paths(event)]
    paths = [
        path
        for path, name in zip(string_paths(event), names, strict=True)
        if ids or not any(map(agentfmt.is_identity, (name, name[-1:])[: 1 + (len(name) < 3)]))
    ]
    if not paths:
        return line
    path = rng.choice(paths)
    holder = event
    for step in path[:-1]:
        holder = holder[step]
    old = holder[path[-1]]
    cut = rng.randrange(len(old) + 1)
    # Words may go on in the next event, and no token follows a letter.
    around = (f"{old[:cut]}\n{text}\n{old[cut:]}", f"{old} {text} ", f" {text} ")
    holder[path[-1]] = rng.choice(around)
    return json.dumps(event, ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace") + b"\n"


def in_name(rng: random.Random, line: bytes, text: str) -> bytes:
    event = json.loads(line)
    holders = [event, *(value for value in event.values() if isinstance(value, dict))]
    rng.choice(holders)[text] = rng.choice((1, "x", None, [text]))
    return json.dumps(event).encode() + b"\n"


def in_prose(rng: random.Random, line: bytes, text: str) -> bytes:
    before, after = rng.choice(("", "npm: ")), rng.choice(("", " and so on"))
    return f"{before}{text}{after}\n".encode() + line


def in_damaged_line(rng: random.Random, line: bytes, text: str) -> bytes:
    """Cut behind it, or with a byte that is no UTF-8 in its type, or a comma too many."""
    spelled = json.dumps(text).encode()
    whole = b'{"text":' + spelled + b"," + line.strip()[1:]
    cut = b'{"type":"x","text":' + spelled[:-1]
    broken = (
        whole.replace(b'"type":"', b'"type":"\xff', 1),
        whole.replace(b'"type":', b'"type":,', 1),
    )
    return rng.choice((cut, *broken, whole[: -rng.randrange(1, 9)])) + b"\n" + line


def in_deltas(rng: random.Random, line: bytes, text: str) -> bytes:
    """Words in pieces, of the agent that wrote the line, if it is one of these."""
    event, size = json.loads(line), rng.randrange(1, 12)
    text = f" {text}"  # no token follows a letter
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    if "session_id" in event and "uuid" in event:
        made = [
            {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0,
             "delta": {"type": "text_delta", "text": piece}}, "session_id": event["session_id"], "uuid": "u"}
            for piece in pieces
        ]  # fmt: skip
    elif event.get("type") in ("message", "init") and "timestamp" in event:
        made = [
            {
                "type": "message",
                "role": "assistant",
                "content": piece,
                "delta": True,
                "timestamp": event["timestamp"],
            }
            for piece in pieces
        ]
    else:
        made = [
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": piece}]},
             "session_id": event.get("session_id"), "timestamp_ms": 1}
            for piece in pieces
        ]  # fmt: skip
    return b"".join(json.dumps(one).encode() + b"\n" for one in made) + line


PLACES: dict[str, Callable[[random.Random, bytes, str], bytes]] = {
    "member": functools.partial(in_member, ids=False), "id": functools.partial(in_member, ids=True), "name": in_name, "prose": in_prose, "damaged": in_damaged_line,
    "deltas": in_deltas,
}  # fmt: skip
PLANTED_OUTPUTS = [
    ("-t", "text", "-d", "-m", "all", "-s"), ("-t", "text", "-v", "--actions", "stderr"),
    *(("-t", to, "-s") for to in agentfmt.WRITERS if to != "text"),
]  # fmt: skip


def leaks(planted: Plant, flags: tuple[str, ...]) -> list[str]:
    """The parts of a planted secret that an output shows, in any spelling."""
    ended = redact(planted.data, *flags, "-r", "secrets", known=planted.known)
    shown = ended.stdout + ended.stderr.encode("utf-8", "surrogatepass")
    return [part for part in planted.parts if stands_in(part, shown)]
