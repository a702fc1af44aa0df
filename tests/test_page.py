"""The page: what it holds and in which order, that nothing breaks out of it, how much it keeps."""

from __future__ import annotations

import base64
import collections
import hashlib
import json
import re
from typing import Any, NamedTuple
from unittest import mock

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import (
    EVERYTHING,
    as_line,
    assistant,
    below,
    call,
    completed,
    content,
    convert,
    edit,
    event,
    init,
    interleaved,
    message,
    ok,
    result,
    run_of,
    shell,
    started,
    user,
)  # fmt: skip

import agentfmt

# Elements, and the attributes that some of them have; all may have a class.
TAGS = frozenset(
    "a b blockquote body br code del details div em fieldset h1 h2 h3 h4 "
    "h5 h6 head header hr html img ins li main meta nav ol p pre rect s section span "
    "strong style summary svg table tbody td th thead time title tr ul".split()
)
ATTRIBUTES = {
    "a": "href rel title", "time": "datetime", "ol": "start", "section": "id",
    "div": "id", "svg": "aria-hidden", "img": "src alt", "details": "open",
    "rect": "x width height", "html": "lang", "meta": "charset content http-equiv name",
}  # fmt: skip


class Read(NamedTuple):
    """What a browser makes of a page: its text by class, and its IDs."""

    text: dict[str, list[str]]
    ids: list[str]


def read(text: str) -> Read:
    """A page in which nothing is wrong: strictly parsed, nothing active, no ID twice."""
    assert not any(char < " " and char not in "\n\t" for char in text)
    assert not re.search(r"(?m)^\s*::\w|##\[", text)
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    found, ids = collections.defaultdict[str, list[str]](list), list[str]()
    for each in parser.parse(text).iter():
        assert isinstance(each.tag, str), "a comment"
        given = dict(each.items())
        kind = given.pop("class", "")
        tag = each.tag.rpartition("}")[2]
        assert tag in TAGS
        assert given.keys() <= {*ATTRIBUTES.get(tag, "").split()}, (tag, given)
        assert re.match("#|(?i:https?://)", given.get("href", "#"))
        assert tag != "a" or "rel" in given or given["href"].startswith("#")
        found[kind].append(" ".join("".join(each.itertext()).split()))
        ids += [given["id"]] if "id" in given else []
    assert len(ids) == len({*ids})
    assert text.count("<h1>") == 1
    assert set(re.findall('href="#(.*?)"', text)) <= {*ids}
    return Read(found, ids)


def page(data: bytes, *flags: str) -> str:
    return convert(data, "-t", "html", *flags).stdout.decode()


def begin(call_id: str, description: str) -> bytes:
    return call("task", {"description": description, "prompt": "go"}, call_id=call_id)


def end(call_id: str, description: str) -> bytes:
    return call("task", {"description": description}, ok(content="*done*"), call_id=call_id)


# ---------------------------------------------------------------- what it holds


def test_a_page() -> None:
    states = ("completed", "TODO_STATUS_IN_PROGRESS", "cancelled", "pending")
    todos = [{"content": state[-4:], "status": state} for state in states]
    data = run_of(
        user(),
        assistant("I'll fix **it**."),
        completed(),
        shell("make test", 2, "no rule\n"),
        edit("@@ -1 +1 @@\n-x\n+y\n z"),
        completed(key="updateTodosToolCall", args={"todos": todos}),
        assistant("Done."),
        duration_ms=1500,
        usage={"inputTokens": 12, "outputTokens": 3},
    )
    text = page(data)
    found = read(text)
    assert found.text["prompt"] == ["do"]
    listed = "✓ eted ▸ RESS – lled ○ ding"
    assert found.text["words"] == ["I'll fix it.", listed, "Done."]
    assert "I'll fix <strong>it</strong>." in text
    assert found.text["act ok"] == [
        "✓ Read a #1.1",
        "✓ Edited a.py +1 -1#1.3 @@ -1 +1 @@ -x +y z",
        f"✓ Updated to-do list 1 of 4 done#1.4 {listed}",
    ]
    assert found.text["act bad"] == ["✗ Ran make test exit 2#1.2no rule no rule"]
    assert "<ins>+y\n</ins>" in text
    assert "<del>-x\n</del>" in text
    facts = "4 actions · 1 failed · 1 file changed · 12 tokens in · 3 out · Auto"
    assert found.text["end ok"] == [f"✓ Succeeded in 1.5 s{facts} /work"]  # once
    assert found.text["links"] == ["1 file changed a.py +1 -1"]
    assert found.ids == ["1", "1.1", "1.2", "1.3", "1.4"]


def test_a_prompt_without_words_is_not_shown() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    text = page(run_of(event("user", message={"role": "user", "content": [image]}), completed()))
    assert "prompt" not in read(text).text
    assert text.count("<img") == 1


def test_nothing_runs_and_nothing_is_fetched() -> None:
    text = page(run_of(user()))
    sheet = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    assert policy in text
    assert sheet.count("\n") <= 136
    assert "script" not in text
    assert not re.search(r"url\(|@import|\bsrc=|\bstyle=", text)


PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()


@pytest.mark.parametrize(("block", "shown"), [
    ({"type": "image", "source": {"type": "base64", "data": PIXEL}}, True),
    ({"type": "image", "mimeType": "image/svg+xml", "data": PIXEL}, True),
    ({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}, True),
    ({"type": "image", "source": {"media_type": "image/png", "data": SVG}}, False),
    ({"type": "image", "data": PIXEL[:40] + '" onerror="a()'}, False),
    ({"type": "image", "data": PIXEL + "A" * 1_400_000}, False),
    ({"type": "image", "url": "https://a.b/c.png"}, False),
])  # fmt: skip
def test_images_of_results_and_prompts(block: dict[str, Any], shown: bool) -> None:
    called = run_of(completed(result={"success": {"content": [block]}}))
    blocks = [{"type": "text", "text": "see"}, block]
    prompt = run_of(event("user", message={"role": "user", "content": blocks}))
    image = f'<img src="data:image/png;base64,{PIXEL}" alt="image: PNG, 17 bytes">'
    for data, agent in ((called, "cursor"), (prompt, "cursor"), (prompt, "claude")):
        read(text := page(data, "--from", agent))
        assert re.findall("<img.*?>", text) == [image] * shown
        assert "<img" not in page(data, "--from", agent, "-r", "content")
    report = convert(prompt, "-t", "markdown").stdout
    assert (b"\n[image: PNG, 17 bytes]" in report) is shown


def test_a_sub_agents_actions_stand_inside_its_line() -> None:
    inner = [below("t", shell("one", 0, "1")), below("t", begin("u", "below"))]
    inner += [below("u", shell("two", 1, "2")), below("t", end("u", "below"))]
    text = page(run_of(begin("t", "count"), *inner, end("t", "count")))
    summaries = re.findall(r"(?s)<summary>.*?</summary>", text)
    assert [" ".join(re.sub("<.*?>", "", one).split()) for one in summaries] == [
        "✓ Ran subagent count #1.4", "✓ Ran one #1.1", "✓ Ran subagent below #1.3",
        "✗ Ran two exit 1#1.22",
    ]  # fmt: skip
    read(text)


def test_what_was_running_when_a_run_ended() -> None:
    data = init() + begin("t", "count") + below("t", shell()) + below("t", started("c5"))
    found = read(page(data))
    reading = "▸ Reading a unfinished#1.2"
    running = [f"▸ Running subagent count unfinished#1.3 go ✓ Ran make #1.1 {reading}", reading]
    assert found.text["act running"] == running
    assert "Unfinished" in found.text["end bad"][0]


def test_the_verdict_and_the_contents_come_first() -> None:
    runs = [b"".join((init(name), user(name), result(name))) for name in "abc"]
    runs[1] = runs[1].replace(b'"is_error":false', b'"is_error":true')
    text = page(b"".join(interleaved(*[[run] for run in runs])))
    found = read(text)
    assert found.text["title"] == ["do"] * 3
    assert text.index("<h1>") < text.index("<nav>") < text.index('<section class="run" id="1">')
    assert "✗ 3 runs: 2 succeeded, 1 failed" in found.text["end bad"][0]


def test_interleaved_runs_stand_one_after_the_other() -> None:
    runs = [[init(name), completed(session=name), result(name)] for name in "ab"]
    text = page(b"".join(interleaved(*runs)))
    assert re.findall(r"<h2><a [^>]*>(.*?)<", text) == ["cursor: run a", "cursor, run 2: run b"]
    read(text)


def test_thoughts_are_shown_if_asked_for() -> None:
    thought = event("thinking", subtype="delta", text="Well\nhm **so**", timestamp_ms=1)
    ended = event("thinking", subtype="completed", timestamp_ms=2)
    data = run_of(assistant("first"), thought, ended, assistant("then"))
    assert "hm" not in page(data)
    text = page(data, "--thinking")
    assert text.index(">first<") < text.index("hm <strong>so</strong>") < text.index(">then<")
    read(text)


@pytest.mark.parametrize("flags", [(), ("-r", "secrets")])
def test_words_of_a_session_say_when(flags: tuple[str, ...]) -> None:
    said = ["do", [{"type": "text", "text": "hi"}]]
    lines = [
        {"type": kind, "message": {"role": kind, "content": content}, "sessionId": "s",
         "uuid": f"{minute}", "timestamp": f"2026-01-02T03:0{minute}:00Z"}
        for minute, (kind, content) in enumerate(zip(("user", "assistant"), said, strict=True))
    ]  # fmt: skip
    found = read(page("\n".join(map(json.dumps, lines)).encode(), *flags))
    assert found.text["prompt"] == ["03:00do"]
    assert found.text["words"] == ["03:01hi"]
    assert found.text[""].count("2 Jan 2026, 03:00 UTC") == 1


def timed(call_id: str, began: int, ended: int) -> bytes:
    line = json.loads(shell(call_id, call_id=call_id))
    clocks = {"startedAtMs": f"179000000{began}000", "completedAtMs": f"179000000{ended}000"}
    line["tool_call"] |= clocks
    return as_line(line)


def test_times_are_drawn_if_they_say_something() -> None:
    """Each call has a bar, at its place in the time of its run and as wide as it took."""
    calls = timed("a", 1, 3), timed("b", 2, 4), timed("c", 3, 5), below("t", timed("d", 4, 5))
    text = page(run_of(*calls, duration_ms=4000))
    bars = re.findall('<rect x="(.*?)%" width="(.*?)%" height="100%"/>', text)
    assert [tuple(map(float, bar)) for bar in bars] == [(0, 50), (25, 50), (50, 50), (75, 25)]
    assert "<svg" not in page(run_of(shell()))


def test_a_failure_leads_to_the_next() -> None:
    failed = [shell(f"make {number}", 1, call_id=f"c{number}") for number in range(2)]
    text = page(run_of(shell("a"), failed[0], shell("b")) + run_of(failed[1]))
    links = re.findall('<a class="(first|next)" href="#(.*?)"', text)
    assert links == [("first", "1.2"), ("next", "2.1")]
    read(text)


# ---------------------------------------------------------------- nothing breaks out of it

WORST = (
    "</pre>", "</details>", "</style>", "</title>", "<img src=x onerror=a()>", "<script>", "<!--",
    "-->", "]]>", "<?", '" onclick="a()', "' x='", "&lt;", "&#60;", "```", "~~~", "`", "\n", "\n\n",
    "    ", "- ", "> ", "# ", "\n### a\n", "| a |\n|:-:|\n", "|", "\\", "[a](javascript:a())", "[a](http://b/",
    "![a](http://b/c.png)", "<http://a>", "http://a.b/", "[", "](", ")", "**", "{", '{"a":',
    "\t", "\r", "\x1b", "\x00", "\u2028", "\u202e", "\ud83d", "::error::", "##[x]", "a",
)  # fmt: skip
worst = st.lists(st.sampled_from(WORST), max_size=20).map("".join)


@given(words=worst, target=worst, printed=worst, diff=worst, tool=worst)
def test_nothing_breaks_out(words: str, target: str, printed: str, diff: str, tool: str) -> None:
    data = run_of(
        event("user", message=message(words, "user")),
        event("thinking", subtype="delta", text=words, timestamp_ms=1),
        shell(target, 1, printed),
        edit(diff, target),
        call(tool, {target: {diff: []}}, ok(**{printed: [words]}), call_id="c2"),
        begin("t", words),
        below("t", shell(target)),
        assistant(words),
        is_error=True,
        result=printed,
    )
    found = read(page(data, "--thinking"))
    assert len(found.text["act bad"]) >= 1


@pytest.mark.parametrize("path", EVERYTHING)
def test_pages_of_real_streams(path: str) -> None:
    data = content(path)
    text = page(data, "--thinking")
    if text:
        found = read(text)
        acts = sum(len(texts) for kind, texts in found.text.items() if kind.startswith("act "))
        assert acts >= len(convert(data).lines)


@pytest.mark.parametrize("words", ["[" * 100_000, "![" * 50_000, "a\n" * 20_000, "> " * 20_000])
def test_hostile_words_take_no_time(words: str) -> None:
    read(page(run_of(assistant(words))))


# ---------------------------------------------------------------- how much it keeps


def test_long_outputs_are_cut_in_the_middle() -> None:
    text = page(run_of(shell(printed="".join(f"{n}\n" for n in range(1000)))))
    assert "\n199\n... (700 more lines)\n900\n" in text
    assert "\n500\n" not in text


def test_nothing_leads_to_what_is_left_out() -> None:
    """The end of a run stays; the names of files whose changes are left out are no links."""
    files = b"".join(
        edit("-x\n+y", f"{n}.py") + shell(f"make {n}", 1, "y" * 400, f"c{n}") for n in range(90)
    )
    text = page(run_of(user(), files), "--max-report", "30K")
    found = read(text)
    assert re.fullmatch(r"\d+ steps, details of \d+ calls left out", found.text["note"][0])
    assert "Ran make 89" in found.text["act bad"][-1]
    changed = text.partition('class="links"')[2].partition("</details>")[0]
    assert changed.count("<a ") < changed.count(".py") == 90


def test_memory_does_not_grow_with_the_runs() -> None:
    """Of runs that have ended as much is left as there is room for."""
    made: list[agentfmt.Page] = []

    class Page(agentfmt.Page):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    parts = [init(f"{n}") + user(f"{n}") + result(f"{n}") for n in range(50)]
    parts[7] = parts[7].replace(b'"is_error":false', b'"is_error":true')
    with mock.patch.dict(agentfmt.WRITERS, {"html": Page}):
        text = convert(b"".join(parts), "--max-report", "30K", to="html").stdout.decode()
    assert (made[0].open, made[0].size < 30 * 1024) == ({}, True)
    found = read(text)
    assert len(text) < 36 * 1024
    assert found.text["bad"] == ["✗ do"]
    assert "... and 20 more runs" in found.text[""]
