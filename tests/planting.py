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

from support import Ended, convert, parameters, redaction

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


@functools.cache
def class_of(pattern: str) -> str:
    return "".join(filter(re.compile(pattern).match, map(chr, range(33, 127))))


def characters(parsed: Any) -> str:
    """The printable characters of a class; of one that excludes some, letters and digits."""
    found = set[str]()
    for kind, value in parsed:
        if str(kind) == "LITERAL":
            found.add(chr(value))
        elif str(kind) == "RANGE":
            found.update(map(chr, range(value[0], value[1] + 1)))
        elif str(kind) == "CATEGORY":
            found.update(class_of(CATEGORIES[str(value)]))
    if str(parsed[0][0]) == "NEGATE":
        return "".join(char for char in ALPHABETS["alnum"] if char not in found)
    return "".join(sorted(found))


# As tools print them, in the language of whoever wrote the tool.
PRINTED = [
    "username=shop, password=«Cactus<4 digit>?»;", 'ID=sa;Password=«Bishop<4 digit>?»" x',
    "contraseña: «<12 alnum>»", "Mot de passe : «<8 alnum>»", "Пароль: «hunter2x9»",
    "ПАРОЛЬ=«<12 alnum>»", "密码：«<10 alnum>»", '"パスワード": "«<12 alnum>»"', "hasło: «<8 alnum>!»",
    "ADMIN_PW=«<12 alnum>»", "mfa_seed: «<16 base32>»", 'pepper = "«<12 alnum>»"',
    "ftp://user:«secret»@ftp.example.com/x", "jdbc:oracle:thin:shop/«<10 alnum>»@db:1521/x",
    'MNEMONIC="«balance avocado blossom catalog abandon anchor ankle airport arctic album bamboo '
    'absent»"', "Unseal Key 1: «<43 base64>=»", '"unseal_keys_b64": [«\n "<43 base64>=",\n»]',
    "secret_id             «<8 hex>-<4 hex>-<4 hex>-<4 hex>-<12 hex>»",
    '"bcrypt_hash": "x",\n "length": 24,\n "result": "«<18 alnum>%»",',
    "https://api.telegram.org/bot<9 digit>:«AA<33 url>»/sendMessage",
    "sqlplus shop/«<10 alnum>»@orcl", "«bkua_<40 hex>»", "«phx_<9 alnum>_<14 alnum>_<12 alnum>»",
    '"db_password": {\n "sensitive": true,\n "type": "string",\n "value": "«<12 alnum>!»"\n}',
    "db.password=«admin»", "DB_PASSWORD=«dbpass»", 'password: "«SuperSecretPassw0rd»"',
    "password changed to «<20 alnum>»", "I set the password to `«<20 alnum>»`.",
    "Here's the token you asked for: «<24 alnum>»", 'api_key <- "«<20 alnum>»"',
    '<meta name="csrf-token" content="«<32 hex>»">', "enable secret 0 «<20 alnum>»",
    "machine h\n  login me\n  password «<8 alnum>»",
    "smbclient //h/s -U me%«<8 alnum>»", "net use Z: //h/s /user:d/u «<8 alnum>»",
    "xfreerdp /u:me /p:«<8 alnum>» /v:h", "vault login «<24 alnum>»", "zip -P «<8 alnum>» a.zip b",
    "echo «<12 alnum>» | docker login -u me --password-stdin h",
    'jwt.sign(payload, "«<4 alnum>9<8 alnum>»")',
]  # fmt: skip


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


MORE = (
    Grammar("anthropic-key", ("sk-ant-api03-<93 url>AA", "sk-ant-oat01-<80 url>", "sk-ant-admin01-<80 url>"),
        ("sk-ant-api03-<6 alnum>", "task-ant-colony-optimization-in-python", "sk-ant-")),
    Grammar("openai-key", ("sk-proj-<74 url>T3BlbkFJ<74 url>", "sk-svcacct-<60 url>", "sk-admin-<60 url>"),
        ("disk-admin-panel-configuration-page", "sk-proj-<8 alnum>", "task-project-overview-page")),
    Grammar("openai-key", ("sk-<48 alnum>", "sk-<20 alnum>T3BlbkFJ<20 alnum>"),
        ("sk-<12 alnum>", "ask-<20 lower>", "ask-question")),
    Grammar("openai-key", ("9«sk-<20 alnum>T3BlbkFJ<20 alnum>»", "9«sk-proj-<74 url>T3BlbkFJ<74 url>»"),
        ("sk-<8 alnum>T3BlbkFJ<4 alnum>", "T3BlbkFJ<20 alnum>")),
    Grammar("cursor-key", ("key_<64 hex>", "crsr_<64 hex>"),
        ("key_<16 hex>", "mykey_<64 hex>", "key_of_the_dictionary_that_is_meant")),
    Grammar("github-token", (*(f"gh{kind}_<36 alnum>" for kind in "pousr"), "ghs_<36 alnum>_<40 alnum>"),
        ("ghp_<12 alnum>", "ghx_<20 alnum>", "the_highs_and_lows_of_the_stock_market")),
    Grammar("github-token", ("github_pat_<22 alnum>_<59 alnum>", "github_pat_<82 alnum>"),
        ("github_pat_<8 alnum>", "github_path_<20 lower>", "github_pat_token_name")),
    Grammar("gitlab-token",
        (*(f"gl{kind}-<20 url>" for kind in "pat dt rt ptt ft soat cbt imt agent oas".split()),),
        ("glpat-<6 alnum>", "glxat-<20 alnum>", "english-glossary-of-terms-used-here")),
    Grammar("aws-key-id", ("AKIA<16 base32>", "ASIA<16 base32>"),
        ("AKIA<8 base32>", "XAKIA<16 base32>", "AKIA<16 hex>")),
    Grammar("google-api-key", ("AIza<35 url>", "AIzaSy<33 url>"), ("AIza<12 alnum>", "AIsa<35 alnum>")),
    Grammar("google-oauth", ("GOCSPX-<28 url>", "ya29.<100 url>", "1//0<60 url>"),
        ("GOCSPX-<8 alnum>", "ya29-<40 alnum>", "1//1<40 alnum>")),
    Grammar("azure-storage-key",
        ("AccountName=x;AccountKey=«<86 base64>==»;EndpointSuffix=x", "AccountKey=«<86 base64>==»"),
        ("AccountKey=<10 upper>", "AccountName=<60 lower>")),
    Grammar("azure-sas",
        ("https://x.blob.core.windows.net/c?sv=2&sig=«<43 base64>%3D»&se=x", "?sig=«<44 base64>»"),
        ("?sig=<8 alnum>", "&signature-is-good")),
    Grammar("azure-ad-secret", ("<3 alnum>8Q~<34 url>", "<3 alnum>7Q~<34 url>"),
        ("<3 alnum>8Q~<9 alnum>", "<3 alnum>xQ~<34 alnum>")),
    Grammar("slack-token",
        ("xoxb-<12 digit>-<12 digit>-<24 alnum>", "xoxp-<12 digit>-<24 alnum>", "xoxe.xoxp-1-<40 alnum>"),
        ("xoxb-<4 alnum>", "xoxz-<24 alnum>")),
    Grammar("slack-token", ("xapp-1-A<10 base32>-<13 digit>-<64 hex>", "xwfp-<12 digit>-<24 alnum>"),
        ("xapp-<4 alnum>", "xap-<24 alnum>", "the-linuxapp-configuration-file")),
    Grammar("slack-webhook", ("https://«hooks.slack.com/services/T<8 base32>/B<8 base32>/<24 alnum>»",
        "https://«hooks.slack.com/workflows/T<8 base32>/A<8 base32>/<18 digit>/<24 alnum>»"),
        ("https://hooks.slack.com/services/<6 alnum>", "https://slack.com/services/<40 alnum>")),
    Grammar("stripe-key",
        ("sk_live_<24 alnum>", "rk_test_<24 alnum>", "sk_test_51<97 alnum>", "sk_org_live_<24 alnum>"),
        ("sk_live_<4 alnum>", "task_test_the_parser_of_lines", "pk_live_<24 alnum>")),
    Grammar("stripe-webhook-secret", ("whsec_<32 alnum>", "whsec_<44 base64>"),
        ("whsec_<8 alnum>", "whisec_<20 alnum>")),
    Grammar("twilio-key", ("SK<32 hex>", "SK<40 hex>"), ("SK<16 hex>", "TASK<32 hex>")),
    Grammar("sendgrid-key", ("SG.<22 url>.<43 url>", "SG.<20 url>.<40 url>"),
        ("SG.<8 alnum>.<8 alnum>", "MSG.<22 alnum>.<43 alnum>")),
    Grammar("npm-token", ("npm_<36 alnum>", "npm_<40 alnum>"),
        ("npm_config_registry_for_the_packages", "npm_<12 alnum>")),
    Grammar("pypi-token", ("pypi-AgEIcHlwaS5vcmc<150 url>", "pypi-AgENdGVzdC5weXBpLm9yZw<150 url>"),
        ("pypi-AgE<12 alnum>", "pypi-<24 lower>")),
    Grammar("docker-hub-token", ("dckr_pat_<27 url>", "dckr_oat_<32 url>"),
        ("dckr_pat_<8 alnum>", "dckr_xat_<27 alnum>")),
    Grammar("hugging-face-token", ("hf_<34 alnum>", "api_org_<34 alnum>"),
        ("hf_<12 alnum>", "xhf_<20 alnum>", "api_organization_of_the_whole_module_here")),
    Grammar("digitalocean-token", ("dop_v1_<64 hex>", "doo_v1_<64 hex>", "dor_v1_<64 hex>"),
        ("dop_v1_<20 hex>", "dox_v1_<64 hex>")),
    Grammar("databricks-token", ("dapi<32 hex>", "dapi<32 hex>-2"), ("dapi<16 hex>", "endapi<32 hex>")),
    Grammar("linear-key", ("lin_api_<40 alnum>", "lin_oauth_<64 hex>"),
        ("lin_api_<8 alnum>", "lin_abi_<20 alnum>")),
    Grammar("notion-token", ("ntn_<46 alnum>", "secret_<43 alnum>"),
        ("ntn_<12 alnum>", "mysecret_<20 lower>", "secret_of_the_house_that_stands_on_the_hill")),
    Grammar("shopify-token", tuple(f"shp{kind}_<32 hex>" for kind in "at ca pa ss".split()),
        ("shpat_<12 hex>", "shpxx_<32 hex>")),
    Grammar("telegram-token", ("<10 digit>:AA<33 url>", "<9 digit>:AA<33 url>"),
        ("<10 digit>:AA<9 alnum>", "<4 digit>:AA<33 alnum>")),
    Grammar("discord-token", ("M<23 alnum>.<6 url>.<38 url>", "N<25 alnum>.<6 url>.<27 url>"),
        ("M<10 alnum>.<6 url>.<38 url>", "Q<23 alnum>.<6 alnum>.<38 alnum>")),
    Grammar("discord-webhook", ("https://«discord.com/api/webhooks/<18 digit>/<68 url>»",
        "https://«discordapp.com/api/webhooks/<19 digit>/<68 url>»"),
        ("https://discord.com/api/webhooks/<18 digit>/<8 alnum>", "/api/webhooks/x/<68 alnum>")),
    Grammar("doppler-token", ("dp.pt.<43 alnum>", "dp.st.prd_config.<43 alnum>"),
        ("dp.pt.<10 alnum>", "xdp.pt.<43 alnum>", "dp.xx.<43 alnum>")),
    Grammar("vault-token", ("hvs.<95 url>", "hvb.<120 url>"), ("hvs.<9 alnum>", "shvs.<95 alnum>")),
    Grammar("age-key", ("AGE-SECRET-KEY-1<58 base32>", "AGE-SECRET-KEY-1<58 lower>"),
        ("AGE-SECRET-KEY-1<20 base32>", "AGE-PUBLIC-KEY-1<58 base32>")),
    Grammar("jwt", ("eyJ<30 url>.eyJ<60 url>.<43 url>", "eyJ<30 url>.eyJ<60 url>."),
        ("eyJ<30 url>.<60 lower>", "heyJ<30 alnum>.eyJ<60 alnum>")),
    Grammar("url-password", ("postgres://app:«<16 alnum>»@db.example.org/x",
        "redis://:«<9 alnum>»@localhost:6379", "https://x:«p%40ss:w<6 alnum>»@example.org/a@b"),
        ("https://example.org:8080/a@b", "mailto://someone@example.org", "see http://a:/b")),
    Grammar("url-user", ("https://«<40 alnum>»@github.example/x.git", "http://«<20 hex>»@example.org"),
        ("https://git@github.example/x.git", "https://example.org/<40 alnum>@x")),
    Grammar("bearer-token", ("Authorization: Bearer «<40 url>»", "bearer «<16 base64>==»"),
        ("the bearer of bad news", "Bearer <8 alnum>")),
    Grammar("authorization", ("Authorization: Basic «<20 alnum>==»", "authorization: token «<10 alnum>»",
        "curl -H 'authorization: ApiKey «<12 alnum>»' x"),
        ("Authorization: Basic", "authorization of the user")),
    # Further tokens of rows with several literals.
    Grammar("gitlab-token", ("GR1348941<20 alnum>",), ("GR1348941<9 alnum>",)),
    Grammar("vault-token", ("b.AAAAAQ<90 url>",), ("b.AAAAAQ<9 url>",)),
    Grammar("jfrog-token", ("cmVmdGtu<56 alnum>",), ("cmVmdGtu<20 alnum>",)),
    Grammar("sourcegraph-token", ("slk_<64 hex>",), ("slk_<20 hex>",)),
    Grammar("sentry-token", ("sntryu_<64 hex>",), ("sntryu_<20 hex>",)),
    Grammar("password-hash", ("$apr1$<8 alnum>$<22 alnum>",), ("$apr1$<8 alnum>",)),
    Grammar("command-password", ("7z x -p«<12 alnum>» a.7z",), ("7z x a.7z",)),
)  # fmt: skip
GRAMMARS = (
    *(Grammar(rule.name, (f"<rule {n}>",), ()) for n, rule in enumerate(agentfmt.RULES)),
    *MORE,
)


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


def string_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in [*(value.items() if isinstance(value, dict) else enumerate(value))]:
        if isinstance(inner, str):
            yield (*path, key)
        elif isinstance(inner, (dict, list)):
            yield from string_places(inner, (*path, key))


def in_member(rng: random.Random, line: bytes, text: str, ids: bool) -> bytes:
    """In a string, which may be what says the type; an id is no token, whatever it looks like."""
    event = json.loads(line)
    names = [tuple(name for name in path if isinstance(name, str)) for path in string_places(event)]
    paths = [
        path
        for path, name in zip(string_places(event), names, strict=True)
        if ids or not (agentfmt.is_identity(name) or in_frame(name))
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


def in_frame(name: tuple[str, ...]) -> bool:
    """Does an agent's own frame, such as its result, say here which conversation is meant?"""
    return len(name) < 3 and agentfmt.names_identity(name[-1])


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
