"""Collect what stands behind names in sources: the ordinary values that the judge learns from.

    harvest.py FOLDER...

Writes plain.txt.xz beside it. Each folder is the source of one project; at most SHARE of its values
are kept. A name that promises random data (an ID, a hash) or a secret of a test is left out.

plain.txt.xz comes from the library of Python 3.13 and from packages under MIT, BSD, ISC or Apache
licences: Django, Celery, SQLAlchemy, Scrapy, oauthlib, Passlib, Jupyter Server, Poetry, Twine,
keyring, Authlib, saltext.vault; express-session, Passport, Nodemailer, Mongoose, Knex, Sequelize,
Parse Server, ioredis, NextAuth, WebdriverIO.
"""

from __future__ import annotations

import lzma
import os
import random
import re
import sys
from collections.abc import Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE, SHOWN = 15_000, 40  # characters: what the judge looks at
SUFFIXES = tuple(".py .js .ts .mjs .json .md .rst .txt .yml .yaml .toml .cfg .ini .html".split())
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


def texts(folder: str) -> Iterator[tuple[str, str]]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted({*folders} - {"site-packages", "node_modules", "idlelib"})
        for name in sorted(names):
            path = os.path.join(where, name)
            if name.endswith(SUFFIXES) and os.path.getsize(path) < 400_000:
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield path, file.read()


def values(folder: str) -> set[str]:
    found = set()
    for path, text in texts(folder):
        for name, _, quoted, bare in PAIR.findall(text):
            value = (quoted or bare)[:SHOWN]
            secret = SECRET.search(name)
            tried = secret and (MADE.fullmatch(value) or TRIED.search(path))
            if not tried and (secret or not RANDOM.search(name)) and not MADE.fullmatch(value):
                found.add(value)
    return found


if __name__ == "__main__":
    kept: set[str] = set()
    for folder in sys.argv[1:]:
        some = sorted(values(folder) - kept)
        random.Random(folder.rpartition("/")[2]).shuffle(some)
        kept.update(some[:SHARE])
    text = "".join(f"{value}\n" for value in sorted(kept) if value.isprintable())
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    with open(os.path.join(HERE, "plain.txt.xz"), "wb") as written:
        written.write(packed)
    print(len(kept), "values,", len(packed), "bytes")
