"""The documents say what the program does: options, exit statuses, and every example in them.

An example is a block that a test runs: ```sh in the README, and in the EXAMPLES of the manual what
stands behind a tag. A ```text that follows a block is what it prints. "```sh fails" has to exit
with status 1, and in "```sh hangs" the agent stays after its result. "```sh set-up" is run by
.ci/run. The steps in ```yaml run, too.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from picture import make as make_pictures
from support import ENVIRON, MANUAL, PAGES, ROOT, SIDECAR, displays, run

import agentfmt

README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLE = ROOT / "tests" / "sample.ndjson"


Option = tuple[tuple[str, ...], tuple[str, ...]]  # names and choices, as one of two places has them


class Block(NamedTuple):
    """A block of a document: its kind, its text, the number of its first line."""

    kind: str
    text: str
    line: int


class Example(NamedTuple):
    where: str
    script: str
    output: str | None  # what the document shows, if it does
    status: int = 0
    hangs: bool = False

    def __str__(self) -> str:
        return self.where


# ---------------------------------------------------------------- reading the documents


def part(text: str, begin: str, end: str) -> str:
    """What stands between the line ``begin`` and the next line that matches ``end``."""
    match = re.search(rf"^{begin}$(.*?)(?:^{end}|\Z)", text, re.DOTALL | re.MULTILINE)
    assert match, begin
    return match[1]


def section(text: str, name: str) -> str:
    return part(text, rf"\.Sh {name}", r"\.Sh ")


def table(text: str) -> list[list[str]]:
    """The rows of a Markdown table, without its head; code marks are taken off."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def fences() -> list[Block]:
    found = re.finditer(r"^```(\S[^\n]*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [Block(m[1], m[2], README.count("\n", 0, m.start()) + 2) for m in found]


HOW = re.findall(r"^\.Ss (How do I .+)$", MANUAL, re.MULTILINE)


def questions() -> list[str]:
    """Those of the manual, "How do I": each question with its commands."""
    jobs = [displays(MANUAL, head)[0] for head in HOW]
    return [one for job in jobs for one in re.split(r"^(?=# )", job, flags=re.MULTILINE)[1:]]


def examples_of_readme() -> Iterator[Example]:
    blocks = fences()
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind in ("sh", "sh fails", "sh hangs"):
            output = after.text if after and after.kind == "text" else None
            status, hangs = int(block.kind == "sh fails"), block.kind == "sh hangs"
            yield Example(f"README-{block.line}", block.text, output, status, hangs)
        elif block.kind == "yaml":  # the steps of a job, without the one that installs
            steps = re.findall(r"run: (.+)", block.text)
            yield Example(f"README-{block.line}", "\n".join(steps[1:]), None)


EXAMPLES = [
    *examples_of_readme(),
    *(Example(f"manual-{text[2:].partition(chr(10))[0]}", text, None) for text in questions()),
]


# ---------------------------------------------------------------- options


def parameters() -> list[click.Option]:
    context = click.Context(agentfmt.command, **agentfmt.command.context_settings)
    found = agentfmt.command.get_params(context)
    return [parameter for parameter in found if isinstance(parameter, click.Option)]


def options_of_manual() -> list[Option]:
    text = part(section(MANUAL, "DESCRIPTION"), r"The options are as follows:", r"\.Ss ")
    found = []
    for item in re.split(r"^(?=\.It Fl )", text, flags=re.MULTILINE)[1:]:
        head = item.splitlines()[0]
        names = tuple(f"-{flag}" for flag in re.findall(r"Fl (\S+)", head))
        choices = re.findall(r"^\.It Cm (.+)$|(?<=:\n)((?:\.Cm .+\n)+)", item, re.MULTILINE)
        words = " ".join(map("".join, choices)).replace(".Cm", "").split()
        found.append((names, tuple(word for word in words if word not in ",.:")))
    return found


OPTIONS: list[Option] = [
    ((*sorted(each.opts, key=len), *each.secondary_opts), tuple(getattr(each.type, "choices", ())))
    for each in parameters()
]


def test_the_manual_has_all_options_and_no_others() -> None:
    assert {*options_of_manual()} == {*OPTIONS}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_uses_options_that_exist(example: Example) -> None:
    every = {name for names, _ in OPTIONS for name in names}
    for command in re.findall(r"\bagentfmt\b([^|;>\n]*)", re.sub("'[^']*'", "", example.script)):
        own, _, _ = command.partition(" --run ")  # what follows is another command
        assert {word for word in own.split() if word.startswith("-")} <= every


# ---------------------------------------------------------------- exit statuses


def test_exit_statuses_agree() -> None:
    expected = dict(re.findall(r"^  (\d\S*(?: \S+)*?)  +(\S.*)$", agentfmt.EXIT_HELP, re.MULTILINE))
    assert [*expected] == ["0", "1", "2", "3", "126, 127", "129, 130, 141, 143"]
    rows = table(part(README, "## Trust its exit status", r"\*\*"))
    assert dict(rows) == expected
    items = re.findall(r"^\.It (.+)\n(.+)\.$", section(MANUAL, "EXIT STATUS"), re.MULTILINE)
    assert {status: means[0].lower() + means[1:] for status, means in items} == expected


# ---------------------------------------------------------------- examples


STAND_INS = {
    "agentfmt": f'exec "{sys.executable}" -m agentfmt "$@"',
    "agent": f'cat "{SAMPLE}"; exec sleep "${{STAY:-0}}"',
    "codex": f'exec cat "{SAMPLE}"',
    "claude": f'exec cat "{SAMPLE.with_name("sample-claude.ndjson")}"',
    "less": "exec cat",
    "tail": 'case $* in *-F*) for file; do :; done; exec cat "$file" ;; esac; /usr/bin/tail "$@"',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a recorded stream, and with commands in bin."""
    (tmp_path / "bin").mkdir()
    for name, body in STAND_INS.items():
        command = tmp_path / "bin" / name
        command.write_text(f"#!/bin/sh\n{body}\n")
        command.chmod(0o755)
    for name in ("run", "full"):
        shutil.copyfile(SAMPLE, tmp_path / f"{name}.ndjson")
    for place in (".", ".claude/projects/greeter", ".codex/sessions/2026"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        session = SAMPLE.with_name("sample-session.jsonl")
        shutil.copyfile(session, tmp_path / place / "session.jsonl")
    (tmp_path / "runs").mkdir()
    run = SAMPLE.with_name("sample-claude.ndjson").read_text(encoding="utf-8")
    for number in (1, 2, 3):
        several = run.replace("0c7de9c4", f"{number}c7de9c4")
        (tmp_path / "runs" / f"{number}.ndjson").write_text(several, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example(example: Example, folder: Path, pytestconfig: pytest.Config) -> None:
    if re.search(r"\bjq ", example.script) and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    env = ENVIRON | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "HOME": str(folder),
        "STAY": "60" if example.hangs else "0",
    }
    merged = subprocess.STDOUT if example.output is not None else subprocess.PIPE
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", example.script],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=merged,
        check=False, timeout=60,
    )  # fmt: skip
    told = (done.stderr or b"").splitlines()
    complaints = [line for line in told if line.startswith(b"agentfmt: ")]
    assert done.returncode == example.status
    assert [line for line in complaints if b" succeeded" not in line] == []
    printed = done.stdout.decode()
    if pytestconfig.getoption("--update-cases") and example.output not in (None, printed):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        shown = f"{example.script}```\n```text\n"
        text = text.replace(shown + str(example.output), shown + printed)
        (ROOT / "README.md").write_text(text, encoding="utf-8")
    elif example.output is not None:
        assert printed == example.output, "run the test again with --update-cases -n0"


def test_the_manual_answers_forty_questions() -> None:
    asked = [text.partition("\n")[0] for text in questions()]
    assert len(HOW) == 5
    assert [question for question in asked if not re.fullmatch(r"# [a-z].+\?", question)] == []
    assert len(asked) == len({*asked}) == 40


def test_there_are_few_exceptions() -> None:
    kinds = [block.kind for block in fences()]
    assert {*kinds} == {"sh", "sh fails", "sh hangs", "text", "sh set-up", "yaml"}
    assert [kinds.count(kind) for kind in ("sh hangs", "sh fails", "sh set-up")] == [1, 2, 2]


# ---------------------------------------------------------------- set-up, manual


def test_set_up_is_two_commands_that_ci_runs() -> None:
    ci = [line.strip() for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()]
    commands = [block.text.strip() for block in fences() if block.kind == "sh set-up"]
    assert len(commands) == 2
    assert [command for command in commands if ci.count(command) != 1] == []


def test_the_pictures_of_readme_show_what_is_printed(pytestconfig: pytest.Config) -> None:
    """--update-cases makes them anew."""
    pictures = make_pictures()
    if pytestconfig.getoption("--update-cases"):
        for path, text in pictures.items():
            path.write_text(text, encoding="utf-8")
    stale = [path.name for path, text in pictures.items() if path.read_text("utf-8") != text]
    assert stale == [], "run the test again with --update-cases"
    shown = re.findall(r'(?:src|srcset)="([^"]+)"', README)
    assert {*shown} == {str(path.relative_to(ROOT)) for path in pictures}


def mandoc(page: Path, *options: str) -> bytes:
    """What mandoc prints for a page, which it has nothing to say against."""
    command = shutil.which("mandoc") or pytest.skip("mandoc is not installed")
    done = subprocess.run([command, *options, page], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_manual_is_clean(page: Path) -> None:
    assert mandoc(page, "-T", "lint", "-W", "warning") == b""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_of_the_manual_are_whole(page: Path) -> None:
    """So that they are found, where groff formats it, too."""
    command = shutil.which("groff") or pytest.skip("groff is not installed")
    told = subprocess.run([command, "-mandoc", "-Tutf8", page], capture_output=True, check=True)
    assert told.stderr == b""
    assert re.findall(r"\w+\N{HYPHEN}$", told.stdout.decode(), re.MULTILINE) == []


def test_a_document_can_be_read_in_one_sitting() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    limits = {README: 210, MANUAL: 900, SIDECAR: 130, contributing: 250}
    assert [text[:20] for text, most in limits.items() if text.count("\n") > most] == []


@pytest.mark.parametrize(
    ("page", "heads"),
    [
        (MANUAL, "NAME, SYNOPSIS, DESCRIPTION, SELECTORS, ENVIRONMENT, EXIT STATUS, EXAMPLES, "
         "OUTPUT, INPUT, RUNS THAT HANG, REDACTION, TABLES, DIAGNOSTICS, COMPLETION, SEE ALSO, "
         "STANDARDS, CAVEATS"),
        (SIDECAR, "NAME, DESCRIPTION, LOG COLLECTORS, DELIVERY, SHIPPERS, MANY FILES, QUERIES, "
         "SEE ALSO"),
    ],
    ids=["agentfmt", "sidecar"],
)  # fmt: skip
def test_manual_has_its_sections_in_order(page: str, heads: str) -> None:
    assert ", ".join(re.findall(r"^\.Sh (.+)$", page, re.MULTILINE)) == heads


@pytest.mark.parametrize("page", [MANUAL, SIDECAR], ids=["agentfmt", "sidecar"])
def test_headings_that_the_manual_refers_to_exist(page: str) -> None:
    heads = re.findall(r"^\.S[sh] (.+)$", page, re.MULTILINE)
    assert {*re.findall(r"^\.Sx (.+?)(?: [.,;:)])*$", page, re.MULTILINE)} <= {*heads}


def test_pages_of_the_manual_are_those_that_the_program_shows() -> None:
    assert [page.name for page in PAGES] == [*agentfmt.PAGES.values()]
    for page, other in ((MANUAL, PAGES[1]), (SIDECAR, PAGES[0])):
        assert f".Xr {other.stem} {other.suffix[1:]}" in page


def test_examples_of_selectors() -> None:
    """They are understood, and those of --fail-on match something in the sample."""
    rows = [re.split("  +", row) for row in displays(MANUAL, "SELECTORS")[0].splitlines()]
    assert len(rows) == 9
    for flags, _ in rows:
        ended = run("-q", *shlex.split(flags), str(SAMPLE))
        fails = "--fail-on" in flags or "npm test" in flags
        assert ended.status == fails, (flags, ended.stderr)


@pytest.mark.parametrize("reason", agentfmt.REASONS.values())
def test_manual_names_each_reason_of_a_failed_call(reason: str) -> None:
    assert reason in part(MANUAL, r"\.Ss Progress", r"\.Ss ")


SYNONYMS = {  # words that have another name here, see "Words" in the manual
    "conversations?": "session", "invocations?": "call", "tool uses?": "call", "dialects?": "agent",
    "terminal events?": "result", "exit codes?": "exit status", "subagents": "sub-agents",
}  # fmt: skip


@pytest.mark.parametrize("synonym", SYNONYMS)
def test_a_thing_has_one_name(synonym: str) -> None:
    defined = part(MANUAL, r"\.Ss Words", r"\.S[sh] ")
    shown = run("--help").stdout.decode()
    for text in (README, MANUAL.replace(defined, ""), SIDECAR, shown):
        found = re.findall(rf"^.*\b{synonym}\b.*$", text, re.MULTILINE | re.IGNORECASE)
        assert found == [], SYNONYMS[synonym]


@pytest.mark.parametrize("name", agentfmt.LISTS)
def test_lists(name: str) -> None:
    ended = run("--list", name, data=b"")
    assert (ended.status, ended.stderr) == (0, "")
    assert ended.stdout.decode().splitlines() == [*agentfmt.LISTS[name]()]
