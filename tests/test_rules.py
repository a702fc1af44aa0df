"""What is a secret and what is not: tokens, assignments, known values, keys of many lines."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import base64
import functools
import html
import itertools
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting import (
    GRAMMARS,
    PEM,
    PRINTED,
    Grammar,
    Planted,
    hide,
    made,
    pem,
    redact,
    scanner,
    spellings,
)
from support import (
    SAME,
    THOROUGH,
    as_line,
    check_linear,
    named_sections,
    scanner_of,
    sections,
    table,
)

import agentfmt
from agentfmt import Scanner

GRAMMAR_IDS = [f"{grammar.rule}-{number}" for number, grammar in enumerate(GRAMMARS)]
SEEDS = range(20 if THOROUGH else 3)

# ---------------------------------------------------------------- the rules


def ids(rows: Any) -> list[str]:
    return [f"{row.name}-{number}" for number, row in enumerate(rows)]


@pytest.mark.parametrize("number", range(len(agentfmt.RULES)), ids=ids(agentfmt.RULES))
def test_a_rule_finds_what_its_expression_says_and_nothing_shorter(number: int) -> None:
    """By itself, whatever others find; and so does what is looked for at first. What is random may
    look like a word."""
    rule, missed = agentfmt.RULES[number], 0
    for seed in SEEDS:
        planted = made(f"<rule {number}>", seed)
        found = [*agentfmt.rule_spans(rule, planted.text.encode())]
        end = len(planted.before + planted.secret)
        missed += found == []
        if rule.name == "command-password":  # it goes on to its quote, or behind a sign
            found = [(first, min(last, end), name) for first, last, name in found]
        assert found in ([], [(len(planted.before), end, rule.name)])
        for source in (rule.hint(), rule.parts()[1]):
            assert agentfmt.expression(source).search(planted.text.encode())
        if ",}" in rule.parts()[2] and not rule.source.endswith("{20,}=?"):  # its salts may be long
            short = made(f"<short {number}>", seed).text
            assert [*agentfmt.rule_spans(rule, short.encode())] == [], short
    assert missed <= (rule.name == "token")


@settings(max_examples=100)
@given(st.data())
def test_whatever_a_rule_matches_is_looked_at(data: st.DataObject) -> None:
    """The first look asks for no more than the rule; odd texts, beside those above."""
    rule = data.draw(st.sampled_from(agentfmt.RULES))
    source = re.compile("".join(rule.parts()), re.ASCII)
    text = data.draw(st.from_regex(source, fullmatch=True, alphabet=st.characters(codec="ascii")))
    if agentfmt.expression(rule.expression()).search(text.encode()):
        assert agentfmt.expression(rule.hint()).search(text.encode())


@pytest.mark.parametrize("form", agentfmt.FORMS, ids=ids(agentfmt.FORMS))
def test_a_form_finds_its_own_example(form: agentfmt.Form) -> None:
    for seed in SEEDS:
        planted = made(form.found, seed)
        name = "authorization" if form.name == "authorization" else "assignment"
        assert hide(planted.text) == planted.hidden(name)
        assert hide(form.left) == form.left
        assert re.search(form.between.encode(), planted.before.encode())


@pytest.mark.parametrize("grammar", GRAMMARS, ids=GRAMMAR_IDS)
def test_tokens_are_found_and_near_misses_left(grammar: Grammar) -> None:
    for template, seed in itertools.product(grammar.found, SEEDS):
        planted = made(template, seed)
        assert hide(planted.text) == planted.hidden(grammar.rule)
    for template, seed in itertools.product(grammar.left, SEEDS):
        text = made(template, seed).text
        assert hide(text) == text


@pytest.mark.parametrize("surroundings", table("redacted.txt", "surroundings", named=True))
def test_tokens_are_found_anywhere(surroundings: str) -> None:
    def missed(planted: Planted) -> bool:
        hidden = hide(surroundings.format(planted.text))
        return planted.secret in hidden or "[REDACTED:" not in hidden or hide(hidden) != hidden

    templates = [(grammar.rule, found) for grammar in GRAMMARS for found in grammar.found]
    assert [row for row in templates if missed(made(row[1]))] == []


@pytest.mark.parametrize("surroundings", table("redacted.txt", "surroundings", named=True))
@pytest.mark.parametrize("ascii_only", [True, False])
def test_lines_that_hold_a_token_are_looked_at(surroundings: str, ascii_only: bool) -> None:
    """What is searched first in raw lines knows all that JSON may put before a token."""
    for number in range(len(agentfmt.RULES)):
        text = surroundings.format(made(f"<rule {number}>").text)
        raw = json.dumps({"text": text}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert [*scanner().suspects([raw])] == [0], raw


KEY = made("AKIA<16 base32>").text
IMAGE = made("<3000 base64>").text + f"/{KEY}/" + made("<3000 base64>", 1).text


@pytest.mark.parametrize("before", ["", '{"data": "', "data:image/png;base64,"])
@pytest.mark.parametrize("after", ["", '="}', '\\", x'])
def test_what_looks_like_a_token_in_an_image_is_left(before: str, after: str) -> None:
    text = f"{before}{IMAGE}{after}"
    assert hide(text) == text
    assert not scanner().suspects([text.encode()])


@pytest.mark.parametrize(("text", "left"), [
    pytest.param(f"{IMAGE} {KEY}", 0, id="a blank"),
    pytest.param(f'"{IMAGE}" {KEY} "{IMAGE}"', 2, id="between"),
    pytest.param(f'{KEY} "{IMAGE}"', 1, id="before"),
    pytest.param(f"{KEY}/{IMAGE}", 1, id="head"),
    pytest.param(f'password = "{IMAGE}"', 0, id="named"),
    pytest.param(f"password: {IMAGE}", 0, id="named, without quotes"),
    pytest.param(f"LS0tLS1CRUdJTiBQUk{IMAGE}", 0, id="private key"),
    pytest.param(f"x-{IMAGE}", 0, id="not base64 alone"),
    pytest.param(f"/{KEY}/".center(4000, "a"), 0, id="short"),
])  # fmt: skip
def test_what_stands_beside_an_image_is_found(text: str, left: int) -> None:
    hidden = hide(text)
    assert "[REDACTED:" in hidden
    assert hidden.count(KEY) == left
    assert scanner().suspects([text.encode()])


def test_values_and_patterns_of_the_user_are_found_in_images() -> None:
    for knowing_it in (Scanner({"known": [KEY]}, {}), Scanner({}, {"user": KEY})):
        assert KEY not in hide(IMAGE, knowing_it)


def test_secrets_side_by_side() -> None:
    for text in ("Cookie: sid=<>; auth=<>; remember=<>", r"curl -u a:<> x\ncurl -u b:<> -U c:<> y"):
        assert made("<20 alnum>").text not in hide(text.replace("<>", made("<20 alnum>").text))
    first, second = made("ghp_<36 alnum>").text, made("glpat-<20 alnum>").text
    assert hide(f"{first} {second}") == "[REDACTED:github-token] [REDACTED:gitlab-token]"


PLAIN = [text for _, texts in sections("plain.txt") for text in texts]
PLAIN += [  # what would be long there
    "x(" * 200 + '"password:"),fe?$e.createElement("code",null)',
    "x(" * 200 + 'Error("Formula Token: "+String(w))}if(3!=n.biff&&m>=0)["Attr"]',
    agentfmt.KEY_BEGIN + "\\n<private key contents>",
]


def test_what_is_no_secret_is_left() -> None:
    texts = [made(text).text for text in PLAIN]
    assert [text for text in texts if hide(text) != text] == []


ANY_ISSUER = [  # invented ones, so that no row can know them
    "acme_<40 alnum>", "acme_<32 alnum>", "acme-<40 alnum>", "acme_v2_<40 alnum>", "x_<48 lower>",
    "zz_pat_<24 alnum>", "zz-pat-<32 hex>", "zz_live_<24 alnum>", "zz_test_<28 hex>",
    "zz-secret-<32 lower>", "sk_<40 alnum>", "key-<32 lower>", "api_<40 hex>", "token_<40 alnum>",
    "ACME_<40 alnum>", "ACME-SECRET-<43 alnum>", "acme_api_<36 alnum>_<6 hex>", "tok_live_<64 hex>",
]  # fmt: skip


@pytest.mark.parametrize("template", ANY_ISSUER)
@pytest.mark.parametrize("text", ["see {} there", 'f("{}")', "X={}\n", "x: {}\n"])
def test_tokens_of_any_issuer_are_found(template: str, text: str) -> None:
    """Nearly all: what is random may look like a word."""
    tokens = [made(template, seed).text for seed in range(40)]
    missed = [token for token in tokens if token[-20:] in hide(text.format(token))]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("template", PRINTED["identifiers"])
def test_identifiers_are_left(template: str) -> None:
    """Ids, digests, names of builds: they are everywhere, and only look like tokens."""
    for seed in range(40):
        text = f"see {made(template, seed).text} there"
        assert "token]" not in hide(text)


@pytest.mark.parametrize("text", table("redacted.txt", "long names are left"))
def test_long_names_are_left(text: str) -> None:
    assert hide(f"see {text} there") == f"see {text} there"


# ---------------------------------------------------------------- assignments

VALUE = made("<6 lower>7<6 alnum>").text


@pytest.mark.parametrize("form", PRINTED["assignments"])
def test_assigned_values_are_found(form: str) -> None:
    hidden = form.format("[REDACTED:assignment]")
    assert hide(hidden) == hidden
    for value in (VALUE, VALUE.upper(), VALUE + "!#/+" + VALUE):
        assert hide(form.format(value)) == hidden


@pytest.mark.parametrize("row", PRINTED["whole"])
def test_assigned_values_are_found_whole(row: str) -> None:
    planted = made(row.partition(": ")[2])
    assert hide(planted.text) == planted.hidden("assignment")


def test_each_line_of_a_file_of_assignments_is_found() -> None:
    marker = "[REDACTED:assignment]"
    assert hide("PASSWORD=abc\nTOKEN=bcd3x9") == f"PASSWORD={marker}\nTOKEN={marker}"


@pytest.mark.parametrize("template", PRINTED["one"])
def test_what_tools_print_is_hidden(template: str) -> None:
    for seed in SEEDS:
        planted = made(template, seed)
        left = hide(planted.text)
        assert re.sub(r"\[REDACTED:[a-z-]+\]", "*", left) == f"{planted.before}*{planted.after}"
        assert hide(left) == left


@pytest.mark.parametrize("template", PRINTED["several"])
def test_what_several_lines_or_cells_tell_is_hidden(template: str) -> None:
    for seed in SEEDS:
        planted = made(template, seed)
        assert planted.secret.strip() not in (left := hide(planted.text))
        assert hide(left) == left


READ_AS: dict[str, Callable[[str], str]] = {
    "numbers": lambda text: "".join(f"{n:6}→{line}\n" for n, line in enumerate(text.split("\n"), 1)),
    "grep": lambda text: "".join(f"src/a.py:{n}:{line}\n" for n, line in enumerate(text.split("\n"))),
    "time": lambda text: "".join(f"2026-11-25T10:11:12.123Z {line}\n" for line in text.split("\n")),
    "difference": lambda text: "".join(f"+{line}\n" for line in text.split("\n")),
    "quote": lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    "comment": lambda text: "".join(f"# {line}\n" for line in text.split("\n")),
    "HTML": html.escape,
    "HTML twice": lambda text: html.escape(html.escape(text)),
    "JSON": lambda text: json.dumps(text)[1:-1].replace("=", r"\u003d").replace(r"\"", r"\u0022"),
    "JSON twice": lambda text: json.dumps(READ_AS["JSON"](text))[1:-1],
    "wide": lambda text: text.replace("=", "＝").replace(":", "："),
}  # fmt: skip


@pytest.mark.parametrize("reading", READ_AS)
@pytest.mark.parametrize("template", table("redacted.txt", "a text is read as a person would"))
def test_a_text_is_read_as_a_person_would(reading: str, template: str) -> None:
    for seed in SEEDS:
        planted = made(template, seed)
        text = READ_AS[reading](planted.text)
        assert planted.secret not in (left := hide(text))
        assert hide(left) == left
        assert scanner_of({}, {}).suspects([json.dumps(text).encode()])


COMMON = "admin letmein dbpass toor monkey topsecret SuperSecretPassw0rd minioadmin".split()


@pytest.mark.parametrize("word", COMMON)
def test_common_passwords_are_judged_alike_in_every_form(word: str) -> None:
    forms = (
        "DB_PASSWORD={}", "db.password={}", "password: {}", 'password: "{}"', "password = '{}'",
        '{{"password":"{}"}}', "<password>{}</password>", 'String password = "{}";',
        "postgres://app:{}@db/app",
    )  # fmt: skip
    assert [form for form in forms if word in hide(form.format(word))] == []


@pytest.mark.parametrize("name", ["key", "cache_key", "API", "login", "creds", "gpg_key"])
@pytest.mark.parametrize(
    "value", ["<8 hex>-<4 hex>-<4 hex>-<4 hex>-<12 hex>", "<40 hex>", "<64 hex>", "a1:b2" * 8]
)
def test_an_id_or_a_digest_behind_a_general_name_is_left(name: str, value: str) -> None:
    for text in (f"{name}={value}", f'"{name}": "{value}"', f"{name}: {value}\n"):
        assert hide(made(text).text) == made(text).text


REFERENCES = """docker-registry-account my-tls-cert ingress-nginx-staging spring.datasource.username
vault.role.name userCredentialsProvider tokenRefreshInterval ca-bundle.pem
config/service-account.json darwin_arm64""".split()


@pytest.mark.parametrize("value", REFERENCES)
@pytest.mark.parametrize("form", ['"{}": "{}"', "{}: {}\n", "{} = '{}'", "{}={}\n"])
def test_references_are_left(value: str, form: str) -> None:
    for name in ("secret", "token", "api_key", "credentials"):
        assert hide(form.format(name, value)) == form.format(name, value)
    if "." in value or value != value.lower():
        assert hide(form.format("password", value)) == form.format("password", value)


SECRET_NAMES = tuple(name for name, least in agentfmt.NEEDED.items() if least < agentfmt.RANDOM)
NAMES = [
    *SECRET_NAMES, "DB_PASSWORD", "Api-Key", "apiKey", "x_API_KEY", "p-a_ss", "GH_TOKEN",
    "tokenizer", "token_count", "passwords", "secretary", "authors", "PATH",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_one_list_of_names(name: str) -> None:
    """Members, assignments and the prefilter of raw lines agree."""
    expected = re.sub("[-_]", "", name.lower()).endswith(SECRET_NAMES)
    assert agentfmt.is_secret_name(name) == expected
    assert ("REDACTED" in hide(f'{name}="{VALUE}"')) == expected
    assert ("REDACTED" in hide(f'"{name}": "{VALUE}"')) == expected


@pytest.mark.parametrize("name", table("redacted.txt", "names with a suffix"))
def test_names_with_a_suffix(name: str) -> None:
    assert VALUE not in hide(f'{name} = "{VALUE}"')
    assert VALUE not in hide(f"{name}: {VALUE}\n")
    assert VALUE not in hide(f'"{name}": "{VALUE}"')


# ---------------------------------------------------------------- known values


def knowing(*values: str) -> Scanner:
    return scanner_of({"known": list(values)})


KNOWN = table("redacted.txt", "known", named=True)


@pytest.mark.parametrize("value", KNOWN)
def test_known_values_in_every_form(value: str) -> None:
    known = knowing(value)
    for form in spellings(value):
        text = hide(f"<{form}>", known)
        assert form not in text
        assert "[REDACTED:known]" in text
        assert hide(text, known) == text


@pytest.mark.parametrize("value", KNOWN)
@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_known_values_within_base64(value: str, before: str) -> None:
    """Whatever stands around a value, nothing of its own bits is left but the edges."""
    encoded = base64.b64encode(f"{before}{value}xyz".encode()).decode()
    hidden = hide(encoded, knowing(value))
    assert "[REDACTED:known]" in hidden
    assert len(re.sub(r"\[.*\]", "", hidden)) <= len(encoded) - len(value)


def test_known_value_of_several_lines() -> None:
    value = "first line\nab\nthe third line\n        \n/usr/bin/env"
    known = knowing(value)
    assert hide(f"<{value}>", known) == "<[REDACTED:known]>"
    assert hide("<" + value.replace("\n", "\r\n") + ">", known) == "<[REDACTED:known]>"
    assert hide("x the third line y", known) == "x [REDACTED:known] y"
    for left in ("ab", "        ", "#!/usr/bin/env python"):
        assert hide(left, known) == left


@pytest.mark.parametrize(
    ("values", "text", "hidden"), table("redacted.txt", "overlaps", named=True)
)
def test_known_values_that_overlap(values: list[str], text: str, hidden: str) -> None:
    assert hide(text, knowing(*values)) == hidden.replace("*", "[REDACTED:known]")


def naive(values: list[str], text: str) -> str:
    """What a person with a marker would hide: every occurrence, those that overlap as one."""
    end, out = 0, ""
    for at in range(len(text)):
        longest = max(len(value) * text.startswith(value, at) for value in values)
        out += "[REDACTED:known]" * (longest > 0 and at >= end)
        end = max(end, at + longest)
        out += text[at : at + 1] * (at >= end)
    return out


@given(
    values=st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=3),
    text=st.text("abc ", max_size=30),
)
def test_known_values_are_hidden_as_by_hand(values: list[str], text: str) -> None:
    assert hide(text, knowing(*values)) == naive(values, text)


# ---------------------------------------------------------------- private keys


@pytest.mark.parametrize(("kind", "block"), table("redacted.txt", "private keys"))
@pytest.mark.parametrize("newline", ["\n", "\r\n", r"\n", r"\\n"])
def test_private_keys(kind: str, block: str, newline: str) -> None:
    key = pem(kind, block, newline=newline)
    assert hide(f"a {key} b") == "a [REDACTED:private-key] b"
    assert hide(f"{key}\n{key}") == "[REDACTED:private-key]\n[REDACTED:private-key]"
    assert hide(key[: len(key) - 40] + "\nx") == "[REDACTED:private-key]"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["token: '{}{}x", 'password = "{}{}x', "token: '{}{}"])
def test_the_end_of_a_line_is_no_part_of_a_secret(text: str, newline: str) -> None:
    """Nor behind a quote that stays open."""
    found = hide(text.format("kJ8sn3Hs92jNs8", newline))
    assert found == text.format("[REDACTED:assignment]", newline)


@pytest.mark.parametrize("text", [
    *PRINTED["mentions"],
    "# it starts with -----BEGIN CERTIFICATE----- or {begin}\n  ## e.g.\n  ##   x: y\n",
])  # fmt: skip
def test_a_mention_of_a_key_is_left(text: str) -> None:
    begin, end = PEM.format("BEGIN", "", ""), PEM.format("END", "", "")
    assert hide(text.format(begin=begin, end=end)) == text.format(begin=begin, end=end)


@pytest.mark.parametrize("text", [*PRINTED["keys"], "# {}\n# MIIEpAIBAAKCAQEA7x9"])
def test_code_that_holds_a_key_is_hidden(text: str) -> None:
    assert "MIIE" not in hide(text.format(PEM.format("BEGIN", "", "")))


@pytest.mark.parametrize("text", table("redacted.txt", "passwords near that word are hidden"))
def test_passwords_near_that_word_are_hidden(text: str) -> None:
    assert "hunter" not in hide(text.format("hunter"))


def test_public_keys_are_left() -> None:
    lines = "lIapBtJUhlbl90TSrE9atvNziPTnNvT51cKEY\nWQPJIrSPnNVeKtelttQKbfi3QBFGmh95DmK/D5fs4C8f"
    for kind in ("PUBLIC KEY", "CERTIFICATE"):
        text = f"-----BEGIN {kind}-----\nMIIB\n{lines}\n-----END {kind}-----"
        assert hide(text) == text


# ---------------------------------------------------------------- what leaked, and what says nothing

# No part of these may be left: of tokens (T), people's passwords (P), with signs of code (S), with a
# dollar (M), with a quote or a backslash within (D), with many signs of code (C), of other letters (N).
LEAKS = named_sections("leaks.txt")
VALUES = {row[0]: row[3:].split(" @ ") for row in LEAKS["values"]}


def cells(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        for template in line[3:].split(" @ "):
            yield line[:3].strip(), template.encode().decode("unicode_escape")


@pytest.mark.parametrize(("kinds", "template"), [*cells(LEAKS["leaks"])])
def test_no_part_of_a_password_is_left(kinds: str, template: str) -> None:
    for value in (value for kind in kinds for value in VALUES[kind]):
        text = template.replace("{}", value)
        seen = scanner().suspects([b"x", text.encode(), agentfmt.encode_json({"a": text})])
        # The first look, at all texts of an event together; it misses two, behind "db.password=".
        assert seen == {1, 2} or (template[:3] == "db." and value in ("h6J,k2Ls9Dp4", "x7K;pQ2v"))
        shown = hide(text)
        parts = {value[at : at + 4] for at in range(len(value) - 3)}
        assert [part for part in sorted(parts) if part in shown and part not in template] == []


@pytest.mark.parametrize("reason", agentfmt.NO_SECRET, ids=lambda reason: reason.why)
def test_a_reason_holds_for_its_example(reason: agentfmt.Reason) -> None:
    """And for no password."""
    assert re.fullmatch(reason.expression, reason.example, re.DOTALL)
    assert agentfmt.is_plain("password", reason.example)
    assert not any(re.fullmatch(reason.expression, value) for value in VALUES["P"])


def test_the_signature_of_a_thought_stays() -> None:
    """Without it a session that is passed on cannot go on; elsewhere one is a secret."""
    signature = "EqQBCkYIBRgCKkD7x9LmQ2vZt8mW4qu5RnB1cA3DLk9XwPz" * 3
    thought = {"type": "thinking", "thinking": "", "signature": signature}
    delta = {"type": "signature_delta", "signature": signature}
    kept: list[Any] = [
        {"type": "assistant", "message": {"content": [thought]}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}},
    ]
    lines = b"".join(map(as_line, kept))
    assert redact(lines, *SAME, "-r", "secrets").stdout == lines
    assert signature not in hide(json.dumps({"signature": signature}))


# ---------------------------------------------------------------- markers


def test_markers_stay() -> None:
    text = "password=[REDACTED:assignment] [REDACTED:jwt][REDACTED:known] [REDACTED:private-key]"
    assert hide(text, knowing("REDACTED:jwt", "known value")) == text


# ---------------------------------------------------------------- patterns


def test_pattern_hides_its_group_or_all() -> None:
    known = Scanner({}, {"card": r"card (\d{4})", "ticket": "TICKET-[0-9]+"})
    assert hide("card 1234 TICKET-7", known) == "card [REDACTED:card] [REDACTED:ticket]"


@pytest.mark.parametrize("pattern", ["", "a*", "(a)?", "^", "x|"])
def test_pattern_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="p: matches the empty string"):
        Scanner({}, {"p": pattern})


@pytest.mark.parametrize("pattern", ["(", "a{2000}", r"(?=a)", r"\1", "[z-a]"])
def test_pattern_that_RE2_refuses(pattern: str) -> None:  # noqa: N802
    with pytest.raises(ValueError, match=r"^p: "):
        Scanner({}, {"p": pattern})


@pytest.mark.parametrize(("pattern", "hidden"), table("redacted.txt", "touching", named=True))
def test_a_pattern_and_a_rule_hide_what_they_touch_and_no_more(pattern: str, hidden: str) -> None:
    scanner = Scanner({}, {"p": pattern})
    assert scanner.conceal("see https://user:s3cr3tQx9Lm2v@host/x now") == hidden


def test_pattern_is_held_against_each_line() -> None:
    known = Scanner({}, {"p": "^a.*z$"})
    assert hide("abz\nxaz\naz", known) == "[REDACTED:p]\nxaz\n[REDACTED:p]"


# ---------------------------------------------------------------- time

SOON = 6  # seconds: many times what linear work takes; quadratic work takes longer


@functools.cache
def patient() -> Scanner:
    return Scanner({"k": ["aab" * 5, "a" * 40]}, {"user": "(a+)+$", "other": "(x*)*y"})


TRAPS = [
    pytest.param(trap, id=repr(trap)[:30])
    for trap in (
        "a", " ", "-", "\\", '"', "\n", "_", "$", "a ", "a:", "eyJ", "://", "://a:", "x://a@",
        PEM.format("BEGIN", "", ""), "-----BEGIN ", "-----BEGIN AA", "password=", "password ",
        'password="', "password='", 'password=\\"', "password=$", "password=a", "password: ",
        "--password ", "token_", "token-token", "[REDACTED:", "[REDACTED:jwt]", "Bearer ",
        "authorization:", "authorization: basic ", "ghp_", "sk-", "eyJaaaaaaaa.", "xoxb-",
        "password=${", "password={{", 'password="\\', "password=<", "password=a.", "aab", "Q~",
        "M" * 24 + ".", 'password: "a' + "-" * 200 + '!" ',
        'password="' + "0" * 200 + '!" ', "a.b=", "x.A", "1.1.", "a=,",
        "_a", "sha1=", "find(", "password,value", '"password","value":"', "export ",
        "SG.aaaaaaaaaaaaaaaa", "password|",
    )
]  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_time_is_linear(trap: str) -> None:
    patient().spans(b"")
    text = (trap * (20_000 // len(trap))).encode()
    check_linear(lambda share: patient().spans(text[: int(len(text) * share)]), SOON)


@pytest.mark.parametrize("trap", ["a", "a" * 6000 + ",", "a" * 6000 + '"', "a" * 6000 + " "])
def test_images_are_linear(trap: str) -> None:
    text = (trap * (10_000_000 // len(trap))).encode()
    check_linear(lambda share: Scanner({}, {}).suspects([text[: int(len(text) * share)]]), SOON)


def test_nested_escapes_are_linear() -> None:
    text = "".join("password=" + "\\" * n + '"' for n in range(300)).encode()
    check_linear(lambda share: patient().spans(text[: int(len(text) * share)]), SOON)


# ---------------------------------------------------------------- forms of other secrets in JSON


@given(
    depth=st.integers(0, 3),
    value=st.text(string.printable.strip(), min_size=8, max_size=20),
    rng=st.randoms(use_true_random=False),
)
def test_members_in_JSON_in_JSON(depth: int, value: str, rng: random.Random) -> None:  # noqa: N802
    if agentfmt.is_plain("password", value):
        return
    made_of: Any = {"user": "x", "password": value, "z": "y"}
    text = json.dumps(made_of)
    for _ in range(depth):
        text = json.dumps({rng.choice(["out", "log"]): text})
    hidden = hide(text)
    for _ in range(depth):
        hidden = next(iter(json.loads(hidden).values()))
    assert json.loads(hidden)["z"] == "y"
    assert json.loads(hidden)["password"] == "[REDACTED:assignment]"
