"""Train the judge: print WEIGHTS and REACHED of agentfmt.py; with --write put them there.

A value is a secret if people or machines made it up, and plain if it was named. The judge is a
logistic regression over the traits of a value (``agentfmt.traits``), trained on

    plain.txt.xz   values behind names in ordinary sources (see harvest.py)
    examples.txt   what was judged wrongly once: "+" is a secret, "-" is plain
    people(), machines()   made here

All numbers are integers and all chance is seeded, so that every Python makes the same bytes. A test
holds the module's constants equal to these. That takes ten seconds, so ``--write`` notes in
trained.txt what they were made from: the test trains again if that has changed, and in CI.
"""

from __future__ import annotations

import decimal
import hashlib
import lzma
import os
import random
import re
import string
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(HERE, os.pardir, os.pardir, "agentfmt.py")
TRAINED = os.path.join(HERE, "trained.txt")
sys.path.insert(0, os.path.dirname(MODULE))

import agentfmt  # noqa: E402 (the one beside this file)

ONE = 1 << 16  # in fixed-point numbers
STEP = ONE // 12  # of a weight; its character says how many
MOST = 44  # steps
MADE, ROUNDS, EMPHASIS = 60_000, 4, 40  # of each kind; EMPHASIS is how often an example counts
EVERY = 1000  # rows the weights are noted for their average
# How many plain values in ten thousand reach the odds that a name or a form asks for.
REACHED = {"word": 3800, "human": 330, "mixed": 80, "random": 40}

WORDS = """admin summer winter dragon monkey football master shadow sunshine princess welcome flower
orange silver purple coffee london berlin paris tiger falcon rocket guitar cheese pepper maple river
mountain thunder swordfish letmein hunter secret qwerty magic freedom cookie banana soccer hockey
ranger jordan michael jessica charlie thomas robert daniel andrew joshua matthew pokemon starwars
batman superman iloveyou trustno access hello love super happy green blue black white lucky money
apple cherry diamond phoenix eagle wolf panther ninja test root user demo prod company acme oracle
postgres mysql redis docker server backup office pass password passwd""".split()
LEET = str.maketrans("aeiost", "4310$7")
HEX, LOWER = "0123456789abcdef", string.ascii_lowercase + string.digits
ALNUM, UPPER = string.ascii_letters + string.digits, string.ascii_uppercase + string.digits
SIGNS = "!@#$%^&*+=?._-"
MORE_SIGNS = string.punctuation.translate(dict.fromkeys(map(ord, "\"'`\\")))
ALPHABETS = (
    ALNUM, ALNUM, ALNUM, HEX, ALNUM + "+/", ALNUM + "-_", LOWER, ALNUM * 2 + MORE_SIGNS, UPPER
)  # fmt: skip


class Generator:
    """What people and machines make up."""

    def __init__(self, seed: int, words: list[str]) -> None:
        self.random = random.Random(seed)
        self.words = words  # of sources: for phrases

    def one(self, *options: str) -> str:
        return options[self.random.randrange(len(options))]

    def some(self, chars: str, size: int) -> str:
        return "".join(chars[self.random.randrange(len(chars))] for _ in range(size))

    def word(self) -> str:
        word = self.one(*WORDS)
        odd = word.translate(LEET), word.capitalize().translate(LEET)
        return self.one(word, word, word.capitalize(), word.upper(), *odd)

    def number(self) -> str:
        return self.one(
            str(self.random.randrange(10)), str(self.random.randrange(1000)), "123", "1234",
            str(1970 + self.random.randrange(60)),
        )  # fmt: skip

    def sign(self) -> str:
        return self.one(*"!!!@#$%&*_-.?+")

    def people(self) -> str:
        word, number, sign = self.word, self.number, self.sign
        kind = self.random.randrange(12)
        if kind < 3:
            return word() + number()
        if kind < 5:
            return word() + self.one(sign() + number(), number() + sign())
        if kind < 7:
            more = self.one(number(), sign())  # words with a joint alone are a name
            return word() + self.one("", "-", "_", ".", "") + word() + more
        if kind == 7:
            return self.one("!", "@", "#", "1", number()) + word() + sign() + number()
        if kind == 8:
            joint = self.one("", " ")
            return joint.join(word() for _ in range(3 + self.random.randrange(3)))
        if kind == 9:
            return self.one("", " ").join(
                self.one(*self.words) for _ in range(3 + self.random.randrange(3))
            )
        return self.some(ALNUM + SIGNS, 8 + self.random.randrange(9))

    def machines(self) -> str:
        size = (10, 12, 16, 20, 24, 26, 32, 32, 36, 40, 43)[self.random.randrange(11)]
        kind = self.random.randrange(10)
        if kind == 9:
            head = self.some(string.ascii_lowercase, 2 + self.random.randrange(4))
            return head + self.one(*"-_.") + self.some(ALNUM, size)
        return self.some(ALPHABETS[kind], max(size, 16) if kind == 3 else size)


def examples() -> tuple[list[str], list[str]]:
    """The secrets and the plain values of examples.txt."""
    with open(os.path.join(HERE, "examples.txt"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return tuple([line[2:] for line in lines if line[:2] == sign] for sign in ("+ ", "- "))  # type: ignore[return-value]


def slots(value: str) -> list[int]:
    return [zlib.crc32(trait) % agentfmt.SLOTS for trait in agentfmt.traits(value)]


def logistic() -> list[int]:
    """The logistic function by sixteenths. Decimal has the same exp() everywhere."""
    steps = (decimal.Decimal(-step) / 16 for step in range(-256, 257))
    return [int(ONE / (1 + step.exp())) for step in steps]


def fit(rows: list[tuple[list[int], int]]) -> list[int]:
    """The weights of the slots, for rows of slots and 0 or ONE: their average over the second half
    of the way, because where they stand at its end is chance."""
    weights, sure, shuffled = [0] * agentfmt.SLOTS, logistic(), random.Random(2026).shuffle
    notes, total = 0, weights
    for turn in range(1, ROUNDS + 1):
        shuffled(rows)
        for number, (found, label) in enumerate(rows):
            score = 0
            for slot in found:
                score += weights[slot]
            error = label - sure[min(max((score >> 12) + 256, 0), 512)]
            if error > 64 or error < -64:
                move = error // (20 * turn)
                for slot in found:
                    weights[slot] += move
            if turn > ROUNDS // 2 and number % EVERY == 0:
                notes, total = notes + 1, list(map(int.__add__, total, weights))
    steps = ((weight // notes + STEP // 2) // STEP for weight in total)
    return [min(max(step, -MOST), MOST) for step in steps]


def train() -> tuple[bytes, list[int]]:
    with lzma.open(os.path.join(HERE, "plain.txt.xz"), "rt", encoding="utf-8") as file:
        plain = file.read().splitlines()
    kept_apart = [value for value in plain if zlib.crc32(value.encode()) % 5 == 0]
    learnt = [value for value in plain if zlib.crc32(value.encode()) % 5]
    generator = Generator(1, [value for value in learnt if re.fullmatch("[a-z]{4,8}", value)])
    made = [make() for make in (generator.people, generator.machines) for _ in range(MADE)]
    secrets, others = examples()
    good, bad = made + secrets * EMPHASIS, learnt + others * EMPHASIS
    rows = [(slots(value), ONE) for value in good] + [(slots(value), 0) for value in bad]
    weights = bytes(agentfmt.EVEN + weight for weight in fit(rows))
    weights = weights.replace(b'"', b"#").replace(b"\\", b"]")  # one step, for a plain literal
    known = sorted(
        (sum(weights[slot] for slot in found) - agentfmt.EVEN * len(found))
        for found in map(slots, kept_apart)
    )
    human = known[-1 - len(known) * REACHED["human"] // 10_000]
    for value, label in [*((v, 1) for v in secrets), *((v, 0) for v in others)]:
        found = slots(value)
        told = sum(weights[slot] for slot in found) - agentfmt.EVEN * len(found)
        if (told >= human) != label:
            print("still judged wrongly:", "-+"[label], value, file=sys.stderr)
    odds = [known[-1 - len(known) * share // 10_000] for share in REACHED.values()]
    return weights, odds


def printed(weights: bytes, odds: list[int]) -> str:
    """The constants as they stand in the module."""
    rows = [weights[at : at + 92].decode() for at in range(0, len(weights), 92)]
    literal = "".join(f'    b"{row}"\n' for row in rows)
    return f"WEIGHTS = (\n{literal})\nREACHED = {(-agentfmt.SURE, *odds)}\n"


def made_from() -> str:
    """A digest of all that the constants are made from, and of themselves: this script, the
    examples, and the module's section."""
    digest = hashlib.sha256()
    for name in ("train.py", "examples.txt", "plain.txt.xz"):
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    with open(MODULE, encoding="utf-8") as file:
        section = file.read().partition(" the judge\n")[2].partition("\n# -----")[0]
    digest.update(section.encode())
    return digest.hexdigest()


if __name__ == "__main__":
    text = printed(*train())
    print(text, end="")
    if "--write" in sys.argv:
        with open(MODULE, encoding="utf-8") as file:
            source = file.read()
        before, _, rest = source.partition("WEIGHTS = (\n")
        after = rest.partition("REACHED = ")[2].partition("\n")[2]
        with open(MODULE, "w", encoding="utf-8") as file:
            file.write(before + text + after)
        with open(TRAINED, "w", encoding="utf-8") as file:
            file.write(f"{made_from()}\n")
