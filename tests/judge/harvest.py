"""Collect what stands behind names in sources: the ordinary values that the judge learns from.

    harvest.py FOLDER...

Adds to plain.txt.xz beside it. Each folder is the source of one project; at most SHARE of its
values are kept, and of each language as many as LANGUAGES says, so that none speaks for the others.
A name that promises random data (an ID, a hash) or a secret of a test is left out.

plain.txt.xz comes from the library of Python 3.13 and from packages under MIT, BSD, ISC or Apache
licences: Django, Celery, SQLAlchemy, Scrapy, oauthlib, Passlib, Jupyter Server, Poetry, Twine,
keyring, Authlib, saltext.vault; express-session, Passport, Nodemailer, Mongoose, Knex, Sequelize,
Parse Server, ioredis, NextAuth, WebdriverIO. Then from Debian's packages of the sources of 22 Go
modules, 12 Rust crates, 15 PHP components (Symfony, Laravel, Doctrine, Guzzle, Monolog, Twig), 9
Ruby gems, four Puppet modules, and the documentation of OpenStack and Docker; from 34 packages of
npm (AWS CDK, Serverless, Ghost, React Native, Payload, Pulumi, highlight.js, Prism, antd) and 49 of
PyPI (Airflow's providers, cfn-lint, Checkov, Kolla, LocalStack, moto, Prowler, MLflow, Ray).
For C#, PHP and shell also from eShop, BookStack and dokku, under MIT.
"""

from __future__ import annotations

import lzma
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE, FILES = 1_000, 100  # values and files of a project in a language
SHOWN = 40  # characters: what the judge looks at
LANGUAGES = {  # how many values, by the ends of names of files
    "py": 1_000, "js mjs ts tsx mts": 1_000, "go": 7_000, "java kt": 2_000, "cs": 1_000,
    "rs": 2_500, "php": 4_000, "rb erb": 2_000, "yml yaml j2": 6_000, "tf tfvars hcl pp": 2_000,
    "sh bash ps1": 1_500, "md mdx rst adoc asciidoc html": 2_500, "json toml": 1_500,
    "log raw": 1_000, "po": 1_000, "conf cfg ini properties xml": 1_500,
}  # fmt: skip
PAIR = re.compile(
    r"([A-Za-z_$][\w.$-]{0,60})[\"'`]?\]?[ \t]*"
    r"(?::[ \t]*[\w.\[\]|]{1,30}[ \t]*=|=>|:=|[:=])[ \t]*"
    r"(?:[bBfFrRuU]{1,2}(?=[\"']))?"
    r"(?:([\"'`])([^\"'`\n]{1,80})\2|([^\s\"'`,;)}\]<>&|\\][^\s\"'`,;]{0,80}))"
)
SECRET = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pass|pwd|psk|secret|token|credentials?|auth|authorization"
    r"|dsn|key|signature|sig|jwt|api)[_-]?[0-9]*$"
)
RANDOM = re.compile(
    r"(?i)id|hash|sha|digest|sum|etag|hex|data|b64|base64|cert|arn|commit|rev|nonce|salt|integrity"
    r"|image|icon|mac|pub|finger|seed|code|expected|cookie"
)
MADE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9+/=_-]{16,}")
TRIED = re.compile(r"(?i)test|mock|spec|example|sample|docs?/|demo|fixture")
PACKED = os.path.join(HERE, "plain.txt.xz")


def texts(folder: str) -> dict[str, list[str]]:
    """Some paths of a folder's sources by language, the same each time."""
    found: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    by_end = {f".{end}": language for language in LANGUAGES for end in language.split()}
    for where, folders, names in os.walk(folder):
        folders[:] = sorted({*folders} - {"site-packages", "node_modules", "idlelib"})
        for name in sorted(names):
            language, path = by_end.get(os.path.splitext(name)[1]), os.path.join(where, name)
            if language and os.path.isfile(path) and os.path.getsize(path) < 400_000:
                found[language].append(path)
    return {language: some(paths, FILES) for language, paths in found.items()}


def values(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for name, _, quoted, bare in PAIR.findall(text):
        value = (quoted or bare)[:SHOWN]
        secret = SECRET.search(name)
        tried = secret and (MADE.fullmatch(value) or TRIED.search(path))
        if not tried and (secret or not RANDOM.search(name)) and not MADE.fullmatch(value):
            yield value


def some(found: Iterable[str], most: int) -> list[str]:
    kept = sorted(found)
    random.Random(len(kept)).shuffle(kept)
    return kept[:most]


if __name__ == "__main__":
    with lzma.open(PACKED, "rt", encoding="utf-8") as file:
        known = {*file.read().splitlines()}
    of_language: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    for folder in sys.argv[1:]:
        for language, paths in texts(folder).items():
            new = {value for path in paths for value in values(path) if value.isprintable()}
            of_language[language].update(some(new - known, SHARE))
    for language, most in LANGUAGES.items():
        print(language, len(of_language[language]), file=sys.stderr)
        known.update(some(of_language[language], most))
    text = "".join(f"{value}\n" for value in sorted(known))
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    with open(PACKED, "wb") as written:
        written.write(packed)
    print(len(known), "values,", len(packed), "bytes")
