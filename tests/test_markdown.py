"""The report: what it holds, that nothing breaks out of it, and how large it gets.

It is read as GitHub reads it: by cmark-gfm, which is GitHub's own parser, and the HTML by html5lib.
"""

from __future__ import annotations

import html
import os
import random
import re
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple
from unittest import mock

import cmarkgfm
import html5lib
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st
from support import (
    EVERYTHING,
    TOKEN,
    Report,
    assistant,
    below,
    claude,
    completed,
    content,
    convert,
    edit,
    event,
    init,
    interleaved,
    message,
    result,
    returned,
    run_of,
    shell,
    started,
    table,
    use,
    user,
    whole_run,
)  # fmt: skip

import agentfmt

MARKS = (agentfmt.GOOD, agentfmt.BAD, agentfmt.RUNNING)
TAGS = frozenset(
    "h2 h3 h4 h5 h6 p a em strong del s code pre ul ol li blockquote table thead tbody tr th td hr "
    "br details summary sub html head body".split()
)


def report(data: bytes, *flags: str) -> str:
    return convert(data, "-t", "markdown", *flags).stdout.decode()


def github(text: str) -> str:
    """HTML as cmark-gfm makes it, before GitHub drops what isn't allowed."""
    given = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    text = text.encode("utf-8", "replace").decode()
    return str(cmarkgfm.github_flavored_markdown_to_html(text, given))


def text_of(element: Any) -> str:
    return "".join(element.itertext())


class Page(NamedTuple):
    """What GitHub makes of a report."""

    items: list[str]  # the text of list items and summaries with a mark of ours
    code: list[str]  # blocks of code
    last: Any  # the last element


def read(text: str) -> Page:
    """A report in which nothing of others is an element, and all that is opened is closed."""
    tree = html5lib.parse(github(text), namespaceHTMLElements=False)
    for each in tree.iter():
        assert each.tag in TAGS or isinstance(each.tag, str) is False, each.tag
        assert re.match("(?i)(?:https?|ftp)://|mailto:", each.get("href", "http://"))
    items = [text_of(one).strip() for one in tree.iter() if one.tag in ("li", "summary")]
    code = [text_of(pre) for pre in tree.iter("pre")]
    return Page([item for item in items if item.startswith(MARKS)], code, tree.find("body")[-1])


def check(text: str, actions: int, runs: int) -> Page:
    """Nothing of others is an element; our items are items."""
    page = read(f"{text}\n\n**the end**\n")
    assert (page.last.tag, text_of(page.last)) == ("p", "the end")
    assert len(page.items) >= actions
    ends = re.findall(f"(?m)^<h3>(?:{'|'.join(MARKS[:2])}) ", text)
    assert len(ends) >= runs
    assert not any(char < " " and char not in "\n\t" for char in text)
    assert not re.search(r"(?m)^\s*::\w|##\[", text)
    return page


# ---------------------------------------------------------------- what it holds


PARTS = {
    "prompt": "<blockquote>", "words": "said", "actions": "✅ Read", "targets": "<code>a</code>",
    "details": "```text", "verdict": "succeeded",
}  # fmt: skip


@pytest.mark.parametrize(("flags", "left"), table("markdown.txt", "parts", named=True))
def test_options_mean_what_they_mean_for_text(flags: str, left: str) -> None:
    data = run_of(user(), completed(), shell(code=1, printed="no"), assistant("said"))
    text = report(data, *flags.split())
    assert " ".join(name for name, sign in PARTS.items() if sign in text) == left


def test_only_the_last_words_are_the_answer() -> None:
    data = run_of(assistant("first"), completed(), assistant("last"))
    assert "first" in report(data)
    assert "first" not in report(data, "-m", "final")
    assert "last" in report(data, "-m", "final")


@pytest.mark.parametrize("words", ["Done", "Working", "", "but 3 tests fail."])
@pytest.mark.parametrize("flags", [("-t", "markdown"), ("-t", "html"), ("-v",)])
def test_an_answer_that_only_the_result_states_is_shown(words: str, flags: list[str]) -> None:
    """Also where it begins or ends with what was said before a call."""
    stated = "Done: pushed to main, but 3 tests fail."
    shown = convert(run_of(assistant(words), shell(), result=stated), *flags).stdout.decode()
    assert stated in shown


@pytest.mark.parametrize(("printed", "shown"), [
    pytest.param("a\nb\n", ["a", "b"], id="all"),
    pytest.param("".join(f"{n}\n" for n in range(30)),
        ["... (20 more lines)", *map(str, range(20, 30))], id="end"),
    pytest.param("a```b", ["a```b"], id="fence"),
    pytest.param("::error::x\n##[group]", [r"\x3a:error::x", r"\x23#[group]"], id="commands"),
    pytest.param("\x1b[31mred\tx\x1b[0m\r\n\x08", ["red x", r"\x08"], id="controls"),
    pytest.param("1%\r50%\r100%\rdone\n", ["done"], id="progress"),
])  # fmt: skip
def test_the_end_of_what_a_failed_command_printed(printed: str, shown: list[str]) -> None:
    (code,) = read(report(run_of(shell(code=1, printed=printed)))).code
    assert code.splitlines() == shown


def test_the_beginning_of_a_diff() -> None:
    diff = "@@ -1 +1,150 @@\n" + "".join(f"+{n}\n" for n in range(150))
    (code,) = read(report(run_of(edit(diff)))).code
    assert code.splitlines()[:2] == ["@@ -1 +1,150 @@", "+0"]
    assert code.splitlines()[-2:] == ["+98", "... (51 more lines)"]


@pytest.mark.parametrize(("given", "diff"), table("markdown.txt", "diffs", named=True))
def test_a_diff_of_what_an_edit_was_asked_for(given: dict[str, Any], diff: str) -> None:
    call = completed(key="editToolCall", args={"path": "a", **given}, result={"success": {}})
    assert read(report(run_of(call))).code == [f"{diff}\n"]


def test_claudes_patch_is_a_diff_in_every_output() -> None:
    told = {"structuredPatch": [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 2,
                                 "lines": ["-a", "+b", "+c"]}]}  # fmt: skip
    back = claude(returned(), role="user", tool_use_result=told)
    stream = run_of(claude(use("Edit", file_path="/work/a")), back)
    diff = ["@@ -3,1 +3,2 @@\n-a\n+b\n+c\n"]
    text = report(stream, "--from", "claude")
    assert read(text).code == diff
    assert "Edited <code>a</code> (+2 -1)" in text
    assert read(report(convert(stream, "--from", "claude", "-t", "cursor").stdout)).code == diff


# ---------------------------------------------------------------- nothing breaks out of it

WORST = (
    "</details>", "<img src=x>", "<script>", "<!--", "-->", "```", "````", "~~~", "`", "``",
    "\n", "\n\n", " ", "    ", "- ", "* ", "10. ", "> ", "# ", "| a | b |\n|---|---|\n", "|", "\\",
    "[a]: /u '", "[^1]: ", "[", "![", "](", ")", "http://a.b/", "www.a.b", "**", "_", "---",
    "\t", "\r", "\x1b", "::error::", "##[x]", "&lt;", "a", "\u2028", "\ud83d", "\x00",
    "x://", "ftp://a.b", "(www.", "<http://a.b>", "a@b.c", "'", '"', "]:",
    "![a](http://b/c)", "`<b>`",
)  # fmt: skip
worst = st.lists(st.sampled_from(WORST), max_size=25).map("".join)


@given(worst)
@example("- ```\n<b>\n```\n<b>")
@example("1. a\n\n    ```\n<b>\n    ```\n<b>")
@example("- a\n  ```\n<b>")
@example("> ```\n> <b>\n<b>")
@example("`\n` <b> `")
@example("[a](/u '`') ` ` <b> `")
@example("[a][`] ` ` <b> `\n\n[`]: /u")
@example("www.a.b/` ` ` <b> `")
@example("| ` | `<b>` |\n|---|---|\n| ` | ` `<b>` |")
@example("\\``<b>`")
@example("see x://\\` `<details><summary>ok</summary>`")
@example("](www.)a`<details>`")
@example("x://\\![i ](http://evil.example/p.png)")
@example("http://a/![`<b>`")
@example("http://a/<`<b>`")
@example("| a |\n|-|\n| `x|![i](http://b/c) `<b>` |")
def test_words_are_markdown_but_no_html(words: str) -> None:
    for shown in (agentfmt.said_in_markdown(words), agentfmt.asked_in_markdown(words)):
        page = read(f"{shown}\n\n**✅**\n")
        assert (page.last.tag, text_of(page.last)) == ("p", "✅")


@pytest.mark.parametrize(("words", "shown"), table("markdown.txt", "words"))
def test_what_words_become(words: str, shown: str) -> None:
    made = agentfmt.said_in_markdown(words)
    assert made == shown.replace("REL", 'rel="noopener noreferrer nofollow"')


@pytest.mark.parametrize(("prompt", "shown"), table("markdown.txt", "prompts"))
def test_a_prompt_is_shown_as_it_was_typed(prompt: str, shown: str) -> None:
    assert agentfmt.asked_in_markdown(prompt) == f"<blockquote>{shown}</blockquote>"


NAMES = (
    "@octocat", "@github/security", "#1", "GH-12", "torvalds/linux#1", "o/r@0123abcdef", "fixes #7",
    "https://github.com/o/r/issues/1", "www.github.com/o/r/pull/2", "0123456789abcdef01234567",
    "[x @octocat y](http://a.b)", "[x](https://github.com/o/r/pull/3)", "&#64;octocat",
    "![@octocat](http://a/b)", "<https://github.com/o/r/commit/0123abc>", "https://a.b/@octocat",
    "http://@octocat", "`a|b @octocat`", "octo&#99;at", "\\@octocat", "[]()",
)  # fmt: skip
NUMBERED = r"github\.com/\w+/\w+/(?:issues|pull|commit)/"
CALLED = re.compile(
    r"(?i)(?<![a-z0-9_])@[a-z0-9]|#[0-9]|(?<!\w)gh-[0-9]|(?<!\w)[0-9a-f]{7,40}(?!\w)"
    rf"|(?<![\w/])(?:https?://)?(?:www\.)?{NUMBERED}"
)


def called(text: str) -> list[str]:
    """Whom and what GitHub finds in a document: not in code, and not in links to elsewhere."""
    page = re.sub(r"(?s)<(code|pre)\b.*?</\1>", "<i>", github(text))
    links = re.findall(rf'href="(https?://(?:www\.)?{NUMBERED}.*?)"', page)
    outside = re.sub("(?s)<a .*?</a>", "<i>", page)
    texts = map(unescape, re.split("<[^>]*>", outside))
    return [*links, *(found[0] for each in texts for found in CALLED.finditer(each))]


names = st.lists(st.sampled_from((*NAMES, *NAMES, *WORST)), max_size=12).map(" ".join)
names |= st.lists(st.sampled_from((*NAMES, *WORST)), max_size=8).map("".join)


@given(names)
@example("\\http://@octocat")
@example("0123456789abcdef01234567ftp://a.b")
@example("<http://a.b>`a|b @octocat`\n#1")
@example("![a](http://b/c)`a|b @octocat`\n#1")
def test_words_call_nobody(words: str) -> None:
    assert called(agentfmt.said_in_markdown(words)) == []
    assert called(agentfmt.asked_in_markdown(words)) == []


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_called_wherever_a_name_stands(name: str) -> None:
    failed = {"error": {"errorMessage": f"ask {name}"}}
    for words in (name, f"# {name}", f"| {name} |\n|---|\n| {name} |", f"- **{name}**\n\n> {name}"):
        data = run_of(
            event("user", message=message(f"{words}\n" * 20, "user")),
            assistant(words),
            completed(key=f"{name}ToolCall", result=failed),
            shell(f"{name}\n{name}", 1, name),
            edit(f"+{name}", name),
            is_error=True,
            result=name,
        )
        text = report(data + data)
        assert called(text) == []
        check(text, actions=6, runs=2)


@pytest.mark.parametrize(("words", "shown"), table("markdown.txt", "names"))
def test_names_look_the_same(words: str, shown: str) -> None:
    html = github(agentfmt.said_in_markdown(words))
    assert re.sub("<[^>]*>", "", html).strip() == shown


@given(words=worst, target=worst, printed=worst, diff=worst, tool=worst)
def test_nothing_breaks_out(words: str, target: str, printed: str, diff: str, tool: str) -> None:
    data = run_of(
        event("user", message=message(words, "user")),
        assistant(words),
        shell(target, 1, printed),
        edit(diff, target),
        completed(key=f"{tool}ToolCall", args={"path": target}),
        *(below(parent, edit(diff, target)) for parent in "ut"),
        below("t", shell(target, 1, printed)),
        below("t", completed("u", "taskToolCall", args={"description": target, "prompt": words})),
        completed("t", "taskToolCall", args={"description": words}),
        assistant(words),
        is_error=True,
        result=printed,
    )
    check(report(data), actions=8, runs=1)


@pytest.mark.parametrize("path", EVERYTHING)
def test_reports_of_real_streams(path: str) -> None:
    data = content(path)
    actions = len(convert(data).lines)
    ended = r"(?m)^agentfmt: run.*: (?:succeeded|failed|unfinished)\b.* action"
    check(report(data), actions, len(re.findall(ended, convert(data, "-s", "-q").stderr)))


def test_what_is_left_of_an_address_leads_nowhere() -> None:
    failed = {"error": {"errorMessage": f"none at https://a.b/{'c/' * 200}d"}}
    assert "<code>https://a.b/c" in (text := report(run_of(completed(result=failed))))
    assert "href" not in text


def test_lines_of_a_report_hold_no_markup_and_call_nobody() -> None:
    """What the classes of hostile text make together, in all lines of a report: a seeded fuzz."""
    chance = random.Random(66)
    for _ in range(FUZZED):
        label, target, why, path = (
            "".join(chance.choices((*NAMES, *WORST, "x", " "), k=chance.randrange(1, 12)))
            for _ in range(4)
        )
        failed = {"error": {"errorMessage": why}}
        data = run_of(
            completed(key=f"{label}ToolCall", result=failed, args={"path": target}),
            edit("+x", path),
            model=label,
            is_error=True,
            result=why,
        )
        text = report(data + data)
        check(text, actions=4, runs=2)
        assert called(text) == []


FUZZED = int(os.environ.get("FUZZED", "100"))


def test_a_task_that_ends_after_its_run_is_shown() -> None:
    ended = event("system", subtype="task_notification", status="completed", description="count")
    data = run_of(completed()) + ended
    assert "\n<li>✅ Finished subagent <code>count</code>\n" in report(data)
    assert "Finished" not in report(data, "--no-detail")
    assert b"Finished subagent" in convert(data, "-t", "html").stdout


def test_a_list_of_words_is_not_continued() -> None:
    data = run_of(assistant("- mine"), completed(), assistant("- mine too"))
    assert github(report(data)).count("<ul>") == 3


@pytest.mark.parametrize("count", [agentfmt.MANY_GOOD - 1, agentfmt.MANY_GOOD])
def test_many_good_calls_in_a_row_are_one_line(count: int) -> None:
    calls = [completed(f"c{number}") for number in range(count)]
    text = report(run_of(*calls, shell(code=1), completed("d")))
    folded = f"<details><summary>✅ {count} actions, all ok</summary>" in text
    assert folded is (count == agentfmt.MANY_GOOD)
    assert check(text, count + 2, 1).items[-1] == "✅ Read a"


def test_no_call_is_below_itself() -> None:
    """As in fixtures whose IDs were made equal, or that name each other."""
    lines = [below("b", started("a")), below("a", started("b")), below("c", started("c"))]
    lines += [below("b", completed("a")), below("a", completed("b")), below("c", completed("c"))]
    assert report(run_of(*lines)).count("Read <code>a</code>") == 3


def test_what_is_redacted_is_not_in_the_report() -> None:
    data = run_of(
        event("user", message=message(f"use {TOKEN}", "user")),
        assistant(f"key {TOKEN}"),
        shell(f"echo {TOKEN}", 1, f"{TOKEN}\n"),
        edit(f"@@ -1 +1 @@\n-a\n+{TOKEN}"),
        is_error=True,
        result=f"bad {TOKEN}",
    )
    assert report(data).count(TOKEN) == 5  # a reason never shows one
    hidden = report(data, "-r", "secrets")
    assert TOKEN not in hidden
    assert b"REDACTED" in (page := convert(data, "-t", "html", "-r", "secrets").stdout)
    assert TOKEN.encode() not in page
    assert hidden.count("REDACTED") == 6
    strict = report(data, "-r", "all")
    assert TOKEN not in strict
    assert "@@" not in strict


# ---------------------------------------------------------------- how large it gets

LIMIT = 1 << 20  # bytes, of GitHub


def many(count: int) -> Iterator[bytes]:
    diff = "".join(f"+{'x' * 70}\n" for _ in range(100))
    for number in range(count):
        yield shell(f"make {number}", number % 3, "y" * 60, f"c{number}")
        yield edit(diff, f"src/{number}.py")
        yield assistant(f"Step {number}. " + "z" * 80)


def test_a_long_run_fits() -> None:
    """First details are left out, then steps, never the answer."""
    data = run_of(*many(500), assistant("The answer."))
    text, short = report(data), report(data, "--max-report", "50K")
    assert len(short.encode()) <= 50 << 10
    assert len(text.encode()) < LIMIT
    assert text.count("The answer.\n") == short.count("The answer.\n") == 1
    assert text.count("\n<li>") > 900
    assert re.search(r"\*.*details of [0-9]+ calls left out\*", text)
    assert re.search(r"\*[0-9]+ steps.* left out\*", short)


def test_a_command_of_several_lines_is_a_block() -> None:
    text = report(run_of(shell("cd /tmp\nmake test", 2, "no\n")))
    assert "❌ Ran <code>cd /tmp ...</code> (exit 2)</summary>\n\n```sh\ncd /tmp\n" in text
    assert check(text, actions=1, runs=1).code == ["cd /tmp\nmake test\n", "no\n"]


def test_a_signal_writes_what_there_is() -> None:
    """A run waits for its end, and an interrupted one gets it."""

    def chunks() -> Iterator[bytes]:
        yield init() + user() + completed()
        raise agentfmt.Interrupted

    wrote: list[bytes] = []
    out = agentfmt.Output(wrote.append)
    said, view = Report(out), agentfmt.View(True, "chat")
    with pytest.raises(agentfmt.Interrupted):
        agentfmt.convert([("-", chunks())], to="markdown", view=view, reporter=said, out=out)
    out.flush()
    text = b"".join(wrote).decode()
    assert text.startswith("<h3>❌ cursor: unfinished: interrupted</h3>\n\n<blockquote>do<")
    assert "<li>✅ Read <code>a</code>\n" in text


@pytest.mark.parametrize("most", [1500, 5000, 65_000])
@pytest.mark.parametrize("runs", [1, 5])
def test_a_report_fits_into_a_comment(most: int, runs: int) -> None:
    data = run_of(*many(100), assistant("The answer.")) * runs
    text = report(data, "--max-report", f"{most}")
    assert most // 3 < len(text.encode()) <= most
    assert text.count("<h3>✅ cursor") == min(runs, max(most // 1000, 2))
    if most > 1500 * runs:
        assert text.count("The answer.\n") == runs
        assert text.count(" left out*") == runs


def test_what_a_run_does_not_need_goes_to_the_next() -> None:
    """Never to the first one alone, and the end of a run goes last."""
    runs = [run_of(*many(count), assistant("The answer.")) for count in (400, 1, 400)]
    text = report(b"".join(runs), "--max-report", "64K")
    parts = [len(part.encode()) for part in text.split("\n<h3>")[1:]]
    assert parts[1] < 10_000
    assert parts[0] == pytest.approx(parts[2], rel=0.5)
    assert 45_000 < sum(parts) < 64 * 1024
    assert text.count("✅ Edited <code>src/399.py</code>") == 2
    assert "Edited <code>src/5.py</code>" not in text


@pytest.mark.parametrize("to", ["markdown", "html"])
def test_many_open_runs_take_no_time(to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What there will be no room for is left out of all at once, however little each may have."""
    fit, fits = agentfmt.Document.fit, list[float]()

    def counted(document: agentfmt.Document, kept: float) -> bool:
        fits.append(kept)
        return fit(document, kept)

    monkeypatch.setattr(agentfmt.Document, "fit", counted)
    data = interleaved(*(whole_run(f"{n}").splitlines(True) for n in range(300)))
    assert convert(data, "-t", to, "--max-report", "30K").stdout
    assert len(fits) < 30


@pytest.mark.parametrize("slack", [0, -400])
def test_nothing_is_left_out_of_a_report_that_fits(slack: int) -> None:
    data = run_of(*many(3), assistant("word " * 500))
    whole = report(data)
    most = len(whole.encode()) + 300 + slack  # so much is kept free
    assert (report(data, "--max-report", f"{most}") == whole) is (slack == 0)


PICTURE = {"type": "image", "data": "iVBORw0KGgoA" + "A" * 200_000, "mimeType": "image/png"}
SHOWN = {"role": "user", "content": [PICTURE]}
BEGUN, ENDED = started("t", "taskToolCall"), completed("t", "taskToolCall")
NESTED = [below("t", call) for call in many(60)]


@pytest.mark.parametrize("lines", [
    pytest.param([*many(20), assistant("word " * 500)], id="steps"),
    pytest.param([event("user", message=SHOWN), completed()], id="picture"),
    pytest.param([shell(f"echo {'x' * 1900}", call_id=f"c{n}") for n in range(30)], id="commands"),
    pytest.param([BEGUN, *NESTED, ENDED], id="sub-agent"),
    pytest.param([BEGUN, *NESTED], id="open-sub-agent"),
    pytest.param([ENDED, *NESTED], id="background"),
])  # fmt: skip
@pytest.mark.parametrize("to", ["markdown", "html"])
def test_a_report_holds_all_that_the_limit_has_room_for(lines: list[bytes], to: str) -> None:
    def made(most: int) -> bytes:
        return convert(run_of(*lines), "--max-report", f"{most}", to=to).stdout

    whole = made(10_000_000)
    assert b"left out" not in whole
    assert made(len(whole)) == whole
    sheet = 0 if to == "markdown" else len(agentfmt.SHEET) + 1000
    for most in (len(whole) - 1, *range(sheet + 1000, len(whole), len(whole) // 3)):
        text = made(most)
        assert len(text) <= most
        assert len(text) > most // 2 or to == "html"


@pytest.mark.parametrize("ends", [False, True])
def test_what_an_open_sub_agent_did_has_a_bound(ends: bool) -> None:
    """However much it was, and wherever its call stands."""
    made: list[agentfmt.Markdown] = []

    class Markdown(agentfmt.Markdown):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

        def ended(self, part: agentfmt.Chapter) -> None:
            sizes.append(part.size)

    sizes = list[int]()
    first = ENDED if ends else b""
    data = run_of(BEGUN, first, *(below("t", call) for call in many(300)))
    with mock.patch.dict(agentfmt.WRITERS, {"markdown": Markdown}):
        convert(data, "--max-report", "10K", to="markdown")
    assert sizes[0] < 21 * 1024


@pytest.mark.parametrize("actions", [10, 100])
def test_the_answer_goes_before_actions(actions: int) -> None:
    """A long one is cut."""
    for words in (100, 500, 5000):
        text = report(run_of(*many(actions), assistant("word " * words)), "--max-report", "5K")
        assert len(text.encode()) <= 5 * 1024
        assert text.count("word") >= min(words, 200)
        assert ("[cut: " in text) is (words > 500)
        assert actions == 10 or " steps" in text


def test_a_prompt_stands_before_its_answer() -> None:
    """Also where an agent repeats it when it has begun to answer; others stand where they came."""
    first = event("system", subtype="init", cwd="/w", tools=[], permissionMode="default")
    which, more = (event("user", message=message(text, "user")) for text in ("Which?", "And?"))
    lines = assistant("It is late."), which, claude(use(command="ls")), more, assistant("Yes.")
    text = report(b"".join((first, *lines, result())))
    begun = "<h3>✅ claude: succeeded</h3>\n\n<blockquote>Which?</blockquote>\n\nYes."
    assert text.startswith(begun)
    assert "<blockquote>And?" in text.partition("It is late.")[2]


@pytest.mark.parametrize("said", ["<b>& ", "+line\n"])
def test_a_text_that_is_cut_says_how_much_is_missing(said: str) -> None:
    """Also if it was cut again; and words before the answer are cut rather than left out."""
    answer = said * 3000
    text = report(run_of(assistant(answer)), "--max-report", "5K")
    shown = html.unescape(text).count(said.strip())
    (missing,) = re.findall(r"\[cut: (\d+) chars\]", text)
    assert abs(len(answer) - int(missing) - shown * len(said)) < 2 * len(said)
    read = shell("ls", 0, "", "c")
    text = report(run_of(assistant(said * 3000), read, assistant("Done.")), "--max-report", "5K")
    assert len(text.encode()) > 3000


def test_the_verdict_is_there_if_nothing_else_fits() -> None:
    data = run_of(user(), *many(10), assistant("word " * 500), is_error=True, result="no " * 200)
    text = report(data, "--max-report", "900")
    assert text.startswith("<h3>❌ cursor: failed: no no")
    assert "[cut: " in text
    assert len(text.encode()) <= 900
    assert 200 < len(report(data, "--max-report", "300").encode()) <= 300


def test_a_limit_that_no_report_fits_in_is_told() -> None:
    for to in ("markdown", "html"):
        ended = convert(run_of(user(), *many(10)), "-t", to, "--max-report", "20")
        told = f"no report fits in --max-report 20: this one has {len(ended.stdout):,} bytes"
        assert ended.stderr.splitlines()[-1] == f"agentfmt: {told}"


@pytest.mark.parametrize("to", ["markdown", "html"])
def test_what_sub_agents_of_sub_agents_did_has_a_bound(to: str) -> None:
    """What is deeper stands beside the others."""
    sizes = []
    for deep in (50, 100):
        calls = [(f"t{number}", f"t{number - 1}" if number else None) for number in range(deep)]
        lines = [started(call, "taskToolCall") for call, _ in calls]
        lines += [completed(call, "taskToolCall") for call, _ in reversed(calls)]
        parents = [parent for _, parent in (*calls, *reversed(calls))]
        nested = map(below, parents, lines)
        ended = convert(b"".join((init(), *nested, result())), "-t", to)
        text = ended.stdout.decode().replace("\N{NO-BREAK SPACE}", " ")
        assert f"{deep - 1} subagent actions" in text
        assert "left out" not in text
        sizes.append(len(ended.stdout))
    assert sizes[1] - sizes[0] < 50 * 200
