"""Progress lines: no text of an agent, a file or a tool drives the terminal or the CI runner."""

from __future__ import annotations

import pytest
from support import completed, convert, event, failed, init, label, result

import agentfmt


@pytest.mark.parametrize("char", "\x00\x07\x1b\x7f\x9b\u061c\u200e\u202e\u2028\u2066\u2069\n\r\t")
def test_control_characters_are_escaped(char: str) -> None:
    name = f"a{char}b"
    call = completed(key=f"{name}ToolCall", session=name)
    ended = convert(
        [init(name), call, name.encode() + b"\n", result(name, is_error=True, result=name)]
    )
    assert not agentfmt.CONTROL.search((ended.stdout.decode() + ended.stderr).replace("\n", ""))
    assert ended.stdout.count(b"\n") == 1
    assert ended.stdout.startswith(label("a\\").encode())


@pytest.mark.parametrize("word", ["##[error]x", "##vso[task.complete]", "##teamcity[x]"])
def test_commands_of_ci_runners_are_broken(word: str) -> None:
    ended = convert(
        [
            init(),
            completed(key=f"{word}ToolCall"),
            f"prose {word}\n".encode(),
            b'{"damaged ' + word.encode() + b"\n",
            event("error", message=word),
            result(is_error=True, result=word),
        ]
    )
    assert word not in ended.stdout.decode()
    assert word not in ended.stderr


@pytest.mark.parametrize("tool", [tool for tool in agentfmt.TOOLS if tool not in ("edit", "write")])
def test_every_label_has_both_its_forms(tool: str) -> None:
    variants = {status: key for key, status in reversed(agentfmt.VARIANTS.items())}
    ends = ["success", *(variants[status] for status in agentfmt.REASONS)]
    lines = [completed(key=f"{tool}ToolCall", result={end: {}}) for end in ends]
    reasons = [f"{failed(tool)} ({words})" for words in agentfmt.REASONS.values()]
    assert convert(lines).lines == [label(tool), *reasons]


@pytest.mark.parametrize("code", [1, 42, 255, -9, "1", "-9", 2**31 - 1])
def test_an_exit_status_is_shown(code: object) -> None:
    for variant in ("success", "failure"):
        line = completed(key="shellToolCall", result={variant: {"exitCode": code}})
        assert convert(line).stdout.decode() == f"{label('shell')} (exit {code})\n"


@pytest.mark.parametrize(
    "code", [0, "0", None, "", "x", 0.0, True, [1], {"a": 1}, "1\n2", "9" * 99]
)
def test_what_is_not_an_exit_status_is_not_shown(code: object) -> None:
    line = completed(key="shellToolCall", result={"success": {"exitCode": code}})
    assert convert(line).lines == [label("shell")]
