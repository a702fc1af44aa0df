"""What each agent's stream means: hand-made streams, one for each rule of its format."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import more_streams
import pytest
from more_streams import Stream, ends, fails, ok
from support import (
    ENVIRON,
    SHARED,
    TOKEN,
    Ended,
    check_conversion,
    content,
    convert,
    corpus,
    label,
    labeled,
    returned,
    run,
    sections,
    use,
)

import agentfmt

Line = dict[str, Any]


def stream(lines: Iterable[Line | str]) -> bytes:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


def item(what: str, kind: str = "item.completed", identity: str = "i1", **members: Any) -> Line:
    return {"type": kind, "item": {"id": identity, "type": what, **members}}


def command(kind: str = "item.completed", **members: Any) -> Line:
    more: Line = {"command": "ls", "aggregated_output": "", "exit_code": 0, "status": "completed"}
    return item("command_execution", kind, **more | members)


THREAD: list[Line] = [{"type": "thread.started", "thread_id": "t-1"}, {"type": "turn.started"}]
TURN_ENDED = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}
WRAPPED = json.dumps({"type": "error", "error": {"type": "bad", "message": "No such model."}})

INIT = {"type": "init", "session_id": "g-1", "model": "auto"}
GEMINI_OK = {"type": "result", "status": "success", "stats": {"duration_ms": 5}}


def said(text: str, **members: Any) -> Line:
    return {"type": "message", "role": "assistant", "content": text, **members}


def gemini_calls(names: str) -> Iterator[Line]:
    for name in names.split():
        yield {"type": "tool_use", "tool_name": name, "tool_id": name, "parameters": {}}
        yield {"type": "tool_result", "tool_id": name, "status": "success", "output": "x"}


ASKS: Line = {"type": "message", "role": "user", "content": "do it"}  # logged by a wrapper


def gemini_call(output: str = "") -> list[Line]:
    given = {"tool_name": "run_shell_command", "parameters": {"command": "make"}}
    return [
        {"type": "tool_use", "tool_id": "x", **given},
        {"type": "tool_result", "tool_id": "x", "status": "success", "output": output},
    ]


def part(kind: str, **members: Any) -> Line:
    return {"type": kind, "timestamp": 1, "sessionID": "ses_1", "part": members}


def used(status: str = "completed", tool: str = "bash", **state: Any) -> Line:
    return part(
        "tool_use", tool=tool, callID=f"c-{tool}", state={"status": status, "input": {}, **state}
    )


STEP, STOP = part("step_start"), part("step_finish", reason="stop", tokens={"input": 3})
OPENCODE_ERROR = {"type": "error", "sessionID": "ses_1", "error": {"name": "MessageAbortedError"}}
OPENCODE_DONE = {"type": "done", "sessionID": "ses_1", "reason": "idle", "rejected": []}


PATCH = (
    "*** Begin Patch\n*** Update File: src/a b.py\r\n@@\n-x\n+y\n*** Add File: c\n+z\n*** End Patch"
)
PATCHED = ["{edit} src/a b.py (+1 -1)", "{write} c (1 line)"]
MOVES = (
    "*** Begin Patch\n*** Update File: old/a.py\n*** Move to: new/a.py\n@@\n-x\n+y\n"
    "*** Delete File: c.py\n*** End Patch\n"
)


def droid(kind: str, **members: Any) -> Line:
    return {"type": kind, **members, "session_id": "d-1"}


DROID_INIT = droid("system", subtype="init", cwd="/w", tools=[], reasoning_effort="low")
LOOP_ERROR = droid("error", source="agent_loop", message="The model is overloaded.")
CLI_ERROR = droid("error", source="cli", message="Exec ended.")


def copilot(kind: str, **data: Any) -> Line:
    return {"type": kind, "data": data, "id": "e", "timestamp": "2026"}


def copilot_end(code: Any = 0) -> Line:
    return {"type": "result", "sessionId": "co-1", "exitCode": code, "usage": {}}


AGENT = {"agentId": "agent-1"}


def copilot_call(
    error: Any = None, name: str = "bash", identity: str = "c1", result: Any = None, **more: Any
) -> list[Line]:
    outcome = {"success": False, "error": error} if error else {"success": True, "result": result}
    return [
        copilot(
            "tool.execution_start", toolCallId=identity, toolName=name, **{"arguments": {}} | more
        ),
        copilot("tool.execution_complete", toolCallId=identity, **outcome),
    ]


PI: list[Line] = [
    {"type": "session", "version": 3, "id": "pi-1", "cwd": "/w"},
    {"type": "agent_start"},
]


def pi_end(reason: str = "stop", text: str = "Done.", *more: str, **members: Any) -> list[Line]:
    blocks = [{"type": "text", "text": text} for text in (text, *more)]
    message: Line = {"role": "assistant", "content": blocks}
    message |= {"stopReason": reason, "errorMessage": "Overloaded."} if reason != "stop" else {}
    message |= {"stopReason": reason}
    return [
        {"type": "message_end", "message": message},
        {"type": "agent_end", "messages": [message], **members},
    ]


def pi_turn_end(reason: str = "stop") -> Line:
    return {
        "type": "turn_end",
        "message": {"role": "assistant", "content": [], "stopReason": reason},
    }


RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3}


ASKED: list[Line] = [
    {"type": "extension_ui_request", "id": "1", "method": "notify", "message": name}
    for name in ("a", "b", "c", "d")
]


def claude(kind: str, **members: Any) -> Line:
    return {"type": kind, "session_id": "cl-1", "uuid": "u", **members}


def says(role: str, *content: Line, **members: Any) -> Line:
    return claude(role, message={"role": role, "content": [*content]}, **members)


CLAUDE_INIT = claude("system", subtype="init", cwd="/w")
CLAUDE_OK = claude("result", subtype="success", is_error=False, result="Done.")
DENIED = CLAUDE_OK | {
    "permission_denials": [{"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {}}]
}

STREAMS: dict[str, Stream] = {
    # Codex
    "codex-failure-twice": fails([*THREAD, {"type": "error", "message": WRAPPED},
        {"type": "turn.failed", "error": {"message": WRAPPED}}], "failed: No such model."),
    "codex-error-that-passes": ok([*THREAD, {"type": "error", "message": "Reconnecting... 1/5"}, command(),
        TURN_ENDED], "Waiting for the API Reconnecting... 1/5", "{shell} ls (exit 0)"),
    "codex-error-that-passed-and-killed": fails([*THREAD, {"type": "error", "message": "Reconnecting... 1/5"},
        command(), item("agent_message", identity="i2", text="So.")], "failed: ended without a result after 5 events",
        "Waiting for the API Reconnecting... 1/5", "{shell} ls (exit 0)"),
    "codex-killed": fails([*THREAD, command("item.started", status="in_progress")], "1 call open"),
    "codex-second-turn-killed": ends([*THREAD, TURN_ENDED, THREAD[1]], (1, 1, 1), "ended without a result"),
    "codex-line-comes-again": ok([*THREAD, command(), command(), TURN_ENDED], "{shell} ls (exit 0)"),
    "codex-identity-of-the-next-turn": ends([*THREAD, command(), TURN_ENDED, THREAD[1], command(),
        TURN_ENDED], (0, 2, 0), "", *(["{shell} ls (exit 0)"] * 2)),
    "codex-declined": ok([*THREAD, command(status="declined", exit_code=None, aggregated_output="no"),
        TURN_ENDED], "{not shell} ls (rejected: no)"),
    "codex-file-change-started": ok([*THREAD,
        item("file_change", "item.started", changes=[{"path": "a", "kind": "add"}]),
        item("file_change", changes=[{"path": "a", "kind": "add"}], status="completed"), TURN_ENDED],
        "{write} a"),
    "codex-items": ok([*THREAD, item("plan", text="# The plan\n1. Look"),
        item("web_search", identity="i2", query="", action={"type": "search", "query": "x"}),
        item("collab_tool_call", identity="i3", tool="spawn_agent", prompt="Look\nat it", status="completed"),
        item("collab_tool_call", identity="i4", tool="wait", status="completed"), TURN_ENDED],
        "{createPlan} The plan", "{webSearch} x", "Started subagent Look (in background)", "{await}"),
    "codex-mcp": ok([*THREAD,
        item("mcp_tool_call", server="gh", tool="list", arguments={}, status="failed", error={"message": "no"}),
        item("mcp_tool_call", id="2", server=None, tool="list_mcp_resources", arguments={}),
        item("mcp_tool_call", id="3", server="gh", arguments={}), TURN_ENDED],
        "{not mcp} gh/list (error: no)", "Listed MCP resources", "Used tool gh"),
    # Gemini
    "gemini-whole": ok([INIT, said("Done."), GEMINI_OK]),
    "gemini-severe-error": fails([INIT,
        {"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}, GEMINI_OK],
        "failed: Maximum session turns exceeded"),
    "gemini-severe-error-alone": fails([INIT, {"type": "error", "severity": "error", "message": "No."}],
        "No."),
    "gemini-warning": ok([INIT, {"type": "error", "severity": "warning", "message": "Loop"}, GEMINI_OK]),
    "gemini-cancelled": fails([INIT,
        {"type": "result", "status": "error", "error": {"type": "x", "message": "Cancelled"}}],
        "failed: Cancelled"),
    "gemini-killed": fails([INIT, said("Do", delta=True)], "ended without a result"),
    "gemini-tools-of-servers": ok([INIT,
        *gemini_calls("github_list_issues get_figma_file mcp_docs_search update_topic x"),
        *gemini_calls("export_node_images stop_app_preview"), GEMINI_OK], "Used tool github_list_issues",
        "Used tool get_figma_file", "{mcp} docs/search", "Used tool update_topic", "Used tool x",
        "Used tool export_node_images", "Used tool stop_app_preview"),
    "gemini-prompt-before-its-init": ends([ASKS, INIT, said("Hi"), GEMINI_OK, ASKS,
        INIT | {"session_id": "g-2"}, GEMINI_OK], (0, 2, 0), ""),
    "gemini-prompt-and-no-init": ok([ASKS, said("Hi"), GEMINI_OK]),
    "gemini-prompt-alone": ends([ASKS], (1, 0, 0), "belongs to no run"),
    "gemini-denied": ok([INIT,
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "x", "parameters": {"command": "rm a"}},
        {"type": "tool_result", "tool_id": "x", "status": "error", "error": {"type": "policy_violation", "message": "Not here."}},
        GEMINI_OK], "{not shell} rm a (permission denied: Not here.)"),
    "gemini-outcomes-in-words": ok([INIT, *gemini_call("Command exited with code: 2"), *gemini_call("done"),
        *gemini_call("I said:\nCommand exited with code: 2"), *gemini_call("Command cancelled by user."),
        *gemini_call("Command terminated by signal: 9"),
        *gemini_call("Command was automatically cancelled because it exceeded the timeout."), GEMINI_OK],
        "{shell} make (exit 2)", "{shell} make", "{shell} make",
        "{not shell} make (rejected: Command cancelled by user.)",
        "{not shell} make (error: Command terminated by signal: 9)",
        "{not shell} make (timed out: Command was automatically cancelled because it exceeded the timeout.)"),
    "gemini-cancelled-call": ok([INIT, gemini_call()[0],
        {"type": "tool_result", "tool_id": "x", "status": "success", "error": {"message": "No."}}, GEMINI_OK],
        "{not shell} make (error: No.)"),
    # OpenCode
    "opencode-stop": ok([STEP, STOP]),
    "opencode-length": fails([STEP, part("text", text="Do"), part("step_finish", reason="length")],
        "failed: its answer was cut off at the output limit (last step"),
    "opencode-length-before-a-word": fails([STEP, used(), part("step_finish", reason="tool-calls"), STEP,
        part("reasoning", text="Hm."), part("step_finish", reason="length")],
        "failed: its answer was cut off at the output limit (last step", "{shell}"),
    "opencode-stops-silently": ok([STEP, used(), part("step_finish", reason="tool-calls"), STEP, STOP],
        "{shell}"),
    "opencode-done": ok([STEP, STOP, OPENCODE_DONE]),
    "opencode-calls-tools": fails([STEP, used(), part("step_finish", reason="tool-calls")],
        "ended without a result", "{shell}"),
    "opencode-killed-in-the-next-step": fails([STEP, STOP, STEP], "ended without"),
    "opencode-error": fails([OPENCODE_ERROR], "failed: MessageAbortedError"),
    "opencode-error-is-a-text": fails([STEP, OPENCODE_ERROR | {"error": "No."}], "failed: No."),
    "opencode-error-then-stop": fails([STEP, OPENCODE_ERROR, STEP, STOP], "MessageAbortedError"),
    "opencode-error-then-done": fails([STEP, STOP, OPENCODE_ERROR, OPENCODE_DONE], "MessageAbortedError"),
    "opencode-two-runs": ends([STEP, STOP, OPENCODE_DONE, STEP, OPENCODE_ERROR, OPENCODE_DONE], (1, 1, 1),
        "Aborted"),
    "opencode-exit": ok([STEP, used(input={"command": "false"}, metadata={"exit": 1}), STOP],
        "{shell} false (exit 1)"),
    "opencode-2": ok([STEP,
        *[part("tool_use", partID="p", id=f"call-{code}", tool="shell", state={"status": "completed", "input": {"command": f"exit {code}"}, "metadata": {"metadata": {"exit": code}}}) for code in (0, 2)],
        STOP], "{shell} exit 0 (exit 0)", "{shell} exit 2 (exit 2)"),
    "opencode-calls-numbered-anew": ok([STEP,
        *[part("tool_use", tool="bash", callID="bash:0", id=f"p-{word}", state={"status": status, "input": {"command": word}, "error": "No."}) for status, word in (("completed", "a"), ("completed", "a"), ("error", "b"))],
        STOP], "{shell} a", "{not shell} b (error: No.)"),
    "opencode-compaction": ok([STEP, STOP, part("text", text="Go on.", synthetic=True), STEP, used(), STOP],
        "{shell}"),
    "opencode-killed-after-compaction": fails([STEP, STOP, part("text", text="Go on.", synthetic=True)],
        "ended without a result"),
    "opencode-rejected": ok([STEP,
        used("error", "edit", input={"filePath": "/x/a"}, error="The user rejected permission to use this specific tool call."),
        STOP, OPENCODE_DONE | {"rejected": ["p1"]}],
        "{not edit} /x/a (rejected: The user rejected permission to use this specific tool call.)"),
    "opencode-running": ok([STEP, used("pending"), used("running", input={"command": "ls"}),
        used(input={"command": "ls"}, time={"start": 1000, "end": 3500}), STOP], "{shell} ls (2.5 s)"),
    "opencode-patch": ok([STEP, used(tool="apply_patch", input={"patchText": PATCH}), STOP], *PATCHED),
    "opencode-patch-that-moves-and-deletes": ok([STEP, used(tool="apply_patch", input={"patchText": MOVES}),
        STOP], "{delete} old/a.py", "{write} new/a.py", "{delete} c.py"),
    "opencode-patch-that-fails": ok([STEP,
        used("error", "apply_patch", input={"patchText": PATCH}, error="no match"), STOP],
        "{not edit} src/a b.py (error: no match)", "{not write} c (error: no match)"),
    "opencode-tools-of-servers": ok([STEP, used(tool="git_hub_list_issues"), used(tool="plan_exit"),
        used(tool="mine"), used("error", "docs_web_search", error="boom"), STOP], "{mcp} git/hub_list_issues",
        "{switchMode}", "Used tool mine", "{not mcp} docs/web_search (error: boom)"),
    "opencode-done-in-place-of-the-last-step-finish": ok([STEP, used(input={"command": "ls"}),
        part("step_finish", reason="tool-calls"), STEP, part("text", text="There."), OPENCODE_DONE],
        "{shell} ls"),
    "opencode-done-after-an-error": fails([STEP, part("text", text="There."), OPENCODE_ERROR, OPENCODE_DONE],
        "failed: MessageAbortedError"),
    "opencode-done-and-nothing-else": fails([STEP, OPENCODE_DONE], "ended without a result"),
    "opencode-lost-its-end": fails([STEP, part("text", text="There.")],
        "OpenCode sometimes loses its last event"),
    # Droid
    "droid-errors-alone": fails([LOOP_ERROR, CLI_ERROR], "failed: The model is overloaded."),
    "droid-errors-other-order": fails([CLI_ERROR, LOOP_ERROR], "The model is overloaded."),
    "droid-cli-error": fails([DROID_INIT, CLI_ERROR], "failed: Exec ended."),
    "droid-error-then-completion": ok([DROID_INIT, LOOP_ERROR,
        droid("completion", finalText="Done.", numTurns=1)]),
    "droid-completion-of-a-failure": fails([DROID_INIT,
        droid("completion", finalText="No luck.", isError=True)], "failed: No luck."),
    "droid-error-and-completion-of-a-failure": fails([DROID_INIT, LOOP_ERROR,
        droid("completion", finalText="", isError=True)], "failed: The model is overloaded."),
    "droid-killed": fails([DROID_INIT, droid("message", role="user", id="m", text="Do it.")],
        "ended without a result"),
    "droid-mcp": ok([DROID_INIT,
        droid("tool_call", id="c", toolId="gh___list", toolName="gh___list", parameters={}),
        droid("tool_result", id="c", toolId="gh___list", isError=False, value="x"),
        droid("tool_call", id="e", toolId="Execute", parameters={"command": "false"}),
        droid("tool_result", id="e", isError=True, value="no\n\n[Process exited with code 3]"),
        droid("completion", finalText="Done.")], "{mcp} gh/list", "{shell} false (exit 3)"),
    "droid-patterns": ok([DROID_INIT,
        droid("tool_call", id="c", toolName="Glob", parameters={"folder": "/w", "patterns": ["*.py", "*.md"]}),
        droid("tool_result", id="c", isError=False, value="a.py"), droid("completion", finalText="Done.")],
        "{glob} *.py *.md"),
    "droid-patch": ok([DROID_INIT,
        droid("tool_call", id="c", toolName="ApplyPatch", parameters={"input": PATCH}),
        droid("tool_result", id="c", isError=False, value="{}"), droid("completion", finalText="Done.")],
        *PATCHED),
    # Copilot
    "copilot-exit-code": fails([copilot("user.message", content="x"), copilot_end(1)], "failed: exit 1"),
    "copilot-session-error": fails([copilot("user.message"),
        copilot("session.error", message="Not logged in."), copilot_end(1)], "failed: Not logged in."),
    "copilot-session-error-alone": fails([copilot("session.error", message="Not logged in.")],
        "Not logged in."),
    "copilot-failed-call-of-the-model": ok([copilot("user.message"),
        copilot("model.call_failure", errorMessage="429"), copilot_end()]),
    "copilot-result-alone": ok([copilot_end()]),
    "copilot-after-the-end": ok([copilot("user.message"), copilot_end(), copilot("session.shutdown"),
        copilot("hook.end"), copilot("session.background_tasks_changed"), copilot("session.idle")]),
    "copilot-two-without-prompts": ends(
        [*[copilot("session.tools_updated"), copilot("assistant.turn_start"), copilot_end()] * 2,
        copilot("session.tools_updated"), copilot("assistant.turn_start")], (1, 2, 1),
        "ended without a result"),
    "copilot-two-in-a-file": ends([copilot("user.message"), copilot_end(), copilot("user.message"),
        copilot_end() | {"sessionId": "co-2"}], (0, 2, 0), ""),
    "copilot-killed": fails([copilot("user.message")], "ended without a result"),
    "copilot-denied": ok([*copilot_call({"code": "denied", "message": "No."}), copilot_end()],
        "{not shell} (permission denied: No.)"),
    "copilot-denied-by-the-user": ok(
        [copilot("permission.completed", result={"kind": "denied-interactively-by-user"}),
        *copilot_call({"message": "No.", "code": "denied"}), copilot_end()], "{not shell} (rejected: No.)"),
    "copilot-permission-denied-by-rules": ok(
        [copilot("permission.completed", result={"kind": "denied-by-rules"}),
        *copilot_call({"message": "No."}), copilot_end()], "{not shell} (permission denied: No.)"),
    "copilot-still-running": ok([*copilot_call(result={"content": "x\n<command with shellId: 0 is still running after 30 seconds.>"}),
        copilot_end()], "{shell} (in background)"),
    "copilot-exit-of-a-command": ok([*copilot_call(result={"content": "no\n<exited with exit code 1>"}),
        *copilot_call(result={"content": "no\n<shellId: 0 completed with exit code 2>"}, identity="c2"),
        copilot_end()], "{shell} (exit 1)", "{shell} (exit 2)"),
    "copilot-mcp": ok([*copilot_call(name="gh-list", mcpServerName="gh", mcpToolName="list"), copilot_end()],
        "{mcp} gh/list"),
    "copilot-subagent": ok(
        [copilot("tool.execution_start", toolCallId="c0", toolName="task", arguments={"description": "look"}),
        *copilot_call(parentToolCallId="c0"),
        copilot("assistant.message", content="inner", parentToolCallId="c0"),
        copilot("tool.execution_complete", toolCallId="c0", success=True), copilot_end()],
        "{begin task} look", "  {shell}", "{task} look"),
    "copilot-subagent-by-its-own-id": ok(
        [copilot("tool.execution_start", toolCallId="c0", toolName="task", arguments={"description": "look"}),
        copilot("subagent.started", toolCallId="c0") | AGENT, *[line | AGENT for line in copilot_call()],
        copilot("assistant.message", content="inner") | AGENT,
        copilot("tool.execution_complete", toolCallId="c0", success=True), copilot_end()],
        "{begin task} look", "  {shell}", "{task} look"),
    "copilot-patch": ok([*copilot_call(name="apply_patch", arguments=PATCH),
        *copilot_call(name="apply_patch", arguments={"patch": PATCH}, identity="c2"),
        *copilot_call(name="apply_patch", arguments="no patch", identity="c3"), copilot_end()], *PATCHED * 2,
        "{edit}"),
    "copilot-intent": ok([*copilot_call(name="report_intent", arguments={"intent": "Looking"}),
        *copilot_call(identity="c2"), copilot_end()], "{shell}"),
    "copilot-late-end-of-a-turn": ok([*copilot_call(), copilot_end(), copilot("assistant.turn_end"),
        copilot("assistant.idle")], "{shell}"),
    # Pi
    "pi-rpc": ok([*ASKED, {"type": "response", "command": "prompt", "success": True}, *PI[1:], *ASKED,
        *pi_end(), {"type": "response", "command": "abort", "success": False}]),
    "pi-success": ok([*PI, *pi_end()]),
    "pi-ends-with-its-turn": ok([*PI, pi_end()[0], pi_turn_end()]),
    "pi-ends-with-a-turn-that-calls": fails([*PI, pi_end("toolUse")[0], pi_turn_end("toolUse")],
        "ended without a result"),
    "pi-killed-after-a-turn": fails([*PI, pi_end()[0], pi_turn_end(), {"type": "turn_start"}],
        "ended without a result"),
    "pi-turn-after-the-end": ok([*PI, *pi_end(), pi_turn_end()]),
    "pi-error": fails([*PI, *pi_end("error")], "failed: Overloaded."),
    "pi-aborted": fails([*PI, *pi_end("aborted")], "failed: Overloaded."),
    "pi-retry-that-succeeds": ok([*PI, *pi_end("error", willRetry=True), RETRY, PI[1],
        *pi_end(willRetry=False), {"type": "auto_retry_end", "success": True, "attempt": 1},
        {"type": "agent_settled"}]),
    "pi-retry-that-succeeds-older": ok([*PI, *pi_end("error"), RETRY, PI[1], *pi_end()]),
    "pi-retry-that-fails-older": fails([*PI, *pi_end("error"), RETRY, PI[1], *pi_end("error"),
        {"type": "auto_retry_end", "success": False, "finalError": "Overloaded."}], "failed: Overloaded."),
    "pi-not-terminal": ok([*PI, *pi_end("error", isTerminal=False), PI[1], *pi_end(isTerminal=True)]),
    "pi-next-prompt-after-a-failure": ends([*PI, *pi_end("error"), PI[1], *pi_end()], (1, 1, 1),
        "failed: Overloaded."),
    "pi-retries-though-it-will-not": ends([*PI, *pi_end("error", willRetry=False), RETRY, PI[1],
        *pi_end()], (1, 1, 1), "failed: Overloaded."),
    "pi-retries-though-that-was-all": ends([*PI, *pi_end("error", isTerminal=True), RETRY, PI[1],
        *pi_end()], (1, 1, 1), "failed: Overloaded."),
    "pi-killed-while-retrying": fails([*PI, *pi_end("error", willRetry=True), RETRY], "failed: Overloaded."),
    "pi-compaction": ok([*PI, *pi_end("error"), {"type": "auto_compaction_end", "willRetry": True}, PI[1],
        *pi_end()]),
    "pi-types-without-session": ok([*PI, *pi_end("error", willRetry=True),
        {"type": "summarization_retry_scheduled", "attempt": 1}, {"type": "thinking_level_changed"},
        {"type": "extension_error", "error": "boom"}, *pi_end(willRetry=False),
        {"type": "session_info_changed", "name": "x"}, {"type": "agent_settled"}]),
    "pi-says-nothing": fails([*PI, {"type": "agent_end", "messages": []}], "failed"),
    "pi-exit": ok([*PI,
        {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {"command": "false"}},
        {"type": "tool_execution_end", "toolCallId": "c", "isError": True, "result": {"content": [{"type": "text", "text": "no\n\nCommand exited with code 4"}]}},
        *pi_end()], "{shell} false (exit 4)"),
    # Claude Code, Amp
    "claude-denied-and-never-answered": ok([CLAUDE_INIT, says("assistant", use(command="rm a")), DENIED],
        "{not shell} rm a (permission denied)"),
    "claude-denied-and-answered": ok([CLAUDE_INIT, says("assistant", use(command="rm a")),
        says("user", returned("This command requires approval", error=True)), DENIED],
        "{not shell} rm a (permission denied: This command requires approval)"),
    "claude-denied-and-only-its-result-says-so": ok([CLAUDE_INIT, says("assistant", use(command="rm a")),
        says("user", returned("no rule covers a", error=True)), DENIED],
        "{not shell} rm a (error: no rule covers a)"),
    "claude-line-comes-again": ok([CLAUDE_INIT, says("assistant", use()), *[says("user", returned())] * 2,
        CLAUDE_OK], "{shell}"),
    "claude-api-error-killed": fails([CLAUDE_INIT,
        says("assistant", {"type": "text", "text": "No such model."}, error="model_not_found", is_api_error_message=True)],
        "failed: No such model."),
    "claude-killed-while-it-waits": fails([CLAUDE_INIT,
        claude("system", subtype="api_retry", attempt=1, error_status=401, error="authentication_failed")],
        "failed: authentication_failed 401", "Waiting for the API authentication_failed 401"),
    "claude-killed-after-it-waited": fails([CLAUDE_INIT,
        claude("system", subtype="api_retry", attempt=1, error_status=429, error="rate_limit"),
        says("assistant", use(command="ls")), says("user", returned())], "failed: ended without a result after 4 events",
        "Waiting for the API rate_limit 429", "{shell} ls"),
    "claude-api-error": ok([CLAUDE_INIT,
        says("assistant", {"type": "text", "text": "Overloaded."}, error="overloaded"),
        says("assistant", {"type": "text", "text": "Done."}), CLAUDE_OK]),
    "claude-result-is-a-text": ok([CLAUDE_INIT, says("assistant", use("Read", file_path="/w/a")),
        says("user", returned("no", error=True), tool_use_result="Error: no"), CLAUDE_OK],
        "{not read} a (error: no)"),
    "claude-cancelled": ok([CLAUDE_INIT, says("assistant", use(command="ls")),
        says("user", returned("no", error=True), tool_use_result={"status": "cancelled"}), CLAUDE_OK],
        "{not shell} ls (rejected: no)"),
    "claude-subagents": ok([CLAUDE_INIT, says("assistant", use("Task", "t0", description="look")),
        says("assistant", {"type": "text", "text": "inner"}, use("Agent", "t1", description="deep"), parent_tool_use_id="t0"),
        says("assistant", use("Bash", "t2", command="ls"), parent_tool_use_id="t1"),
        says("user", returned(identity="t2"), parent_tool_use_id="t1"),
        says("user", returned(identity="t1"), parent_tool_use_id="t0"), says("user", returned(identity="t0")),
        CLAUDE_OK], "{begin task} look", "  {begin task} deep", "    {shell} ls", "  {task} deep",
        "{task} look"),
    "claude-background": ends([CLAUDE_INIT, says("assistant", use("Agent", description="look")),
        says("user", returned("Async agent launched"), tool_use_result={"isAsync": True, "status": "async_launched"}),
        CLAUDE_OK,
        claude("system", subtype="task_notification", task_id="x", tool_use_id="t1", status="completed", summary="found", usage={"duration_ms": 1500}),
        CLAUDE_INIT, CLAUDE_OK], (0, 2, 0), "", "Started subagent look (in background)",
        "Finished subagent look (1.5 s)"),
    "claude-teammate": ok([CLAUDE_INIT, says("assistant", use("Agent", description="look")),
        says("user", returned("Spawned."), tool_use_result={"status": "teammate_spawned"}), CLAUDE_OK],
        "Started subagent look (in background)"),
    "claude-background-stopped": ends([CLAUDE_INIT, says("assistant", use("Agent", description="look")),
        says("user", returned("Async agent launched"), tool_use_result={"isAsync": True}), CLAUDE_OK,
        claude("system", subtype="task_notification", tool_use_id="t1", status="stopped")], (1, 1, 1),
        "failed: a sub-agent in the background was stopped before it ended: look",
        "Started subagent look (in background)", "Failed to finish subagent look (stopped)"),
    # The end of a task wakes it in the middle of a run.
    "claude-woken": ok([CLAUDE_INIT, says("assistant", use("Agent", description="look")),
        claude("system", subtype="task_started", task_id="x", tool_use_id="t1"),
        says("user", returned("Async agent launched"), tool_use_result={"isAsync": True}),
        says("assistant", {"type": "text", "text": "Launched."}),
        claude("system", subtype="background_tasks_changed", tasks=[]),
        claude("system", subtype="task_notification", task_id="x", status="completed"), CLAUDE_INIT,
        says("assistant", {"type": "text", "text": "It found 3."}), CLAUDE_OK],
        "Started subagent look (in background)", "Finished subagent look"),
    "claude-superseded": ends([CLAUDE_INIT,
        claude("system", subtype="task_notification", task_id="x", status="completed"),
        says("assistant", {"type": "text", "text": "So"}), CLAUDE_INIT, CLAUDE_OK], (1, 1, 1),
        "failed: superseded by another init"),
    "claude-background-killed": fails([CLAUDE_INIT, says("assistant", use("Agent", description="look")),
        claude("system", subtype="task_started", task_id="x", tool_use_id="t1"),
        says("user", returned("Async agent launched"), tool_use_result={"isAsync": True}),
        claude("system", subtype="task_updated", task_id="x", patch={"status": "running"}),
        claude("system", subtype="task_updated", task_id="x", patch={"status": "killed"}), CLAUDE_OK],
        "failed: a sub-agent in the background was stopped before it ended: look",
        "Started subagent look (in background)"),
    "claude-background-command": ok([CLAUDE_INIT, says("assistant", use("Bash", command="make")),
        says("user", returned("Command running in background with ID: x"), tool_use_result={"stdout": "", "backgroundTaskId": "x"}),
        claude("system", subtype="task_notification", task_id="x", status="failed"), CLAUDE_OK],
        "{shell} make (in background)", "Failed to finish background task make (failed)"),
    "claude-command-of-the-host": ok([CLAUDE_INIT, says("assistant", {"type": "text", "text": "Hi"}),
        CLAUDE_OK, claude("user", message={"role": "user", "content": "<local-command-stdout>Set model"})]),
    "claude-marks-of-denial": ok([CLAUDE_INIT,
        says("assistant", use("Bash", "t1", command="a"), use("Bash", "t2", command="b"), use("Bash", "t3", command="c")),
        says("user", returned("No.", "t1", error=True), tool_result_meta=[{"id": "t1", "non_execution_kind": "permission-rule"}]),
        says("user", returned("Use make", "t2", error=True), tool_result_meta=[{"id": "t2", "non_execution_kind": "user-rejected"}]),
        says("user", returned("Exit code 143\nCommand timed out after 2m 0.0s", "t3", error=True)),
        CLAUDE_OK], "{not shell} a (permission denied: No.)", "{not shell} b (rejected: Use make)",
        r"{not shell} c (timed out: Exit code 143\nCommand timed out after 2m 0.0s)"),
    "claude-without-sessions": ok([{"type": "system", "subtype": "init", "session_id": "cl-1", "model": "m"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hm."}]}},
        {"type": "assistant", "message": {"content": [use("Bash", command="ls")]}},
        {"type": "user", "message": {"content": [returned("x")]}},
        {"type": "result", "subtype": "success", "session_id": "cl-1", "result": "ok"}], "{shell} ls"),
    "cursor-background": ok(
        [{"type": "system", "subtype": "init", "session_id": "s-1", "apiKeySource": "login"},
        {"type": "tool_call", "subtype": "completed", "call_id": "1", "session_id": "s-1", "tool_call": {"shellToolCall": {"args": {"command": "make"}, "result": {"success": {"exitCode": 0, "executionTime": 2662}, "isBackground": True}}}},
        {"type": "system", "subtype": "task_notification", "task_id": "26", "session_id": "s-1", "status": "success", "title": "make"},
        {"type": "result", "subtype": "success", "is_error": False, "session_id": "s-1", "request_id": "r"}],
        "{shell} make (in background, 2.7 s)", "Finished background task make"),
    "codex-item-types-of-0.43": ok([{"type": "thread.started", "thread_id": "s-1"}, {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "0", "item_type": "command_execution", "command": "ls", "exit_code": 1, "aggregated_output": "", "status": "failed"}},
        {"type": "item.completed", "item": {"id": "1", "item_type": "assistant_message", "text": "None."}},
        {"type": "turn.completed", "usage": {}}], "{shell} ls (exit 1)"),
    "claude-older-waits-for-its-command": ok([CLAUDE_INIT,
        says("assistant", use(command="npm start", run_in_background=True)),
        says("user", returned("Command running in background with ID: bash_1")),
        says("assistant", use("BashOutput", "t2", bash_id="bash_1")), says("user", returned("up", "t2")),
        CLAUDE_OK], "{shell} npm start (in background)", "{await} npm start"),
    "claude-stops-its-command": ok([CLAUDE_INIT, says("assistant", use(command="npm start")),
        {**says("user", returned("Command running in background with ID: b1")), "tool_use_result": {"backgroundTaskId": "b1"}},
        says("assistant", use("TaskOutput", "t2", task_id="b1")), says("user", returned("up", "t2")),
        says("assistant", use("TaskStop", "t3", task_id="b1")), says("user", returned("ok", "t3")),
        claude("system", subtype="task_notification", task_id="b1", tool_use_id="t1", status="stopped"),
        CLAUDE_OK], "{shell} npm start (in background)", "{await} npm start", "{taskStop} npm start"),
    "droid-other-spelling": ok([{**{key: value for key, value in line.items() if key != "session_id"}, "sessionId": "d-2"}
        for line in (DROID_INIT, droid("message", role="assistant", id="m", text="Hi"), droid("completion", finalText="Hi", durationMs=1))]),
    "copilot-request-names-the-call": ok([copilot("user.message", content="Do it"),
        *copilot_call()[:1], *copilot_call(identity="c2", arguments={"command": "rm x"})[:1],
        copilot("permission.requested", requestId="r", permissionRequest={"toolCallId": "c2"}),
        copilot("permission.completed", requestId="r", result={"kind": "denied-interactively-by-user"}),
        *copilot_call({"message": "no"})[1:], *copilot_call({"message": "No."}, identity="c2")[1:], copilot_end()],
        "{not shell} (error: no)", "{not shell} rm x (rejected: No.)"),
    "amp-result-alone": fails(
        [{"type": "result", "subtype": "error_during_execution", "is_error": True, "error": "413 Too long", "session_id": "T-1"}],
        "failed: 413 Too long"),
}  # fmt: skip


STREAMS |= more_streams.STREAMS


@pytest.mark.parametrize("member", ["structured_output", "structured_result"])
def test_answer_by_a_schema(member: str) -> None:
    """It is the answer, whatever was said before; the result repeats it, or is empty."""
    ended = CLAUDE_OK | {"result": "", member: {"age": 3}}
    data = stream([CLAUDE_INIT, says("assistant", {"type": "text", "text": "Well:"}), ended])
    assert view(data, messages="final").lines == ['{"age":3}']
    [result] = convert(data, "-t", "json").lines
    assert json.loads(result)["result"] == '{"age":3}'
    nobodys = {name: value for name, value in ended.items() if name != "uuid"}
    assert view(stream([nobodys]), messages="final").lines == ['{"age":3}']


NATIVE = ("-t", "stream-json", "--thinking", "-r", "secrets")


def streamed(kind: str, **members: Any) -> Line:
    return claude("stream_event", event={"type": kind, **members})


@pytest.mark.parametrize("flags", [(), ("-r", "secrets")])
def test_the_time_of_a_call_is_that_of_the_line_that_ends_it(flags: tuple[str, ...]) -> None:
    """Claude Code states it where a tool answers, and nowhere else."""
    times = [f"2026-01-02T03:0{minute}:00.500Z" for minute in (4, 5)]
    calls = [
        (
            says("assistant", use(identity=name, command=f"echo {TOKEN}")),
            says("user", returned(identity=name), timestamp=at),
        )
        for name, at in zip("ab", times, strict=True)
    ]
    data = stream(
        [
            CLAUDE_INIT,
            *(line for call in calls for line in call),
            claude("result", subtype="success", is_error=False),
        ]
    )
    shown = run("--time", *flags, data=data, env=ENVIRON | {"TZ": "UTC"}).lines
    assert [line[:9] for line in shown] == ["03:04:00 ", "03:05:00 "]


def claude_deltas(text: str) -> list[Line]:
    delta = {"type": "text_delta", "text": text}
    return [
        streamed("message_start", message={"id": text}),
        streamed("content_block_delta", delta=delta),
    ]


# Of each agent, the lines of a message, and those before and after.
MESSAGES: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "codex": (THREAD, lambda text: [item("agent_message", identity=text, text=text)], [TURN_ENDED]),
    "codex-thoughts": (THREAD,
        lambda text: [item("reasoning", text="Hm."), item("agent_message", identity=text, text=text)],
        [TURN_ENDED]),
    "codex-list-goes-on": ([*THREAD, item("todo_list", "item.started", items=[])],
        lambda text: [item("todo_list", "item.updated", items=[]), item("agent_message", identity=text,
        text=text)], [TURN_ENDED]),
    "claude": ([CLAUDE_INIT],
        lambda text: [claude("assistant", message={"id": text, "content": [{"type": "text", "text": text}]})],
        [CLAUDE_OK]),
    "claude-deltas": ([CLAUDE_INIT], claude_deltas, [CLAUDE_OK]),
    "claude-hook": ([CLAUDE_INIT], lambda text: [says("assistant", {"type": "text", "text": text}),
        says("user", {"type": "text", "text": "Stop hook feedback: go on"})], []),
    "opencode": ([], lambda text: [part("step_start", messageID=text), part("text", text=text),
        part("step_finish", reason="tool-calls")], []),
    "droid": ([DROID_INIT], lambda text: [droid("message", role="assistant", id=text, text=text)],
        [droid("completion", finalText="two")]),
    "copilot": ([copilot("user.message")], lambda text: [copilot("assistant.message_delta", messageId=text,
        deltaContent=text[:1]), copilot("assistant.message", messageId=text, content=text)], [copilot_end()]),
    "pi": (PI, lambda text: [{"type": "message_start", "message": {"role": "assistant", "content": []}},
        pi_end("toolUse", text)[0]], []),
}  # fmt: skip


MESSAGES |= more_streams.MESSAGES


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_that_follow_each_other_begin_lines(name: str) -> None:
    before, make, after = MESSAGES[name]
    data = stream([*before, *make("one"), *make("two"), *after])
    assert view(data, messages="all").lines[:2] == ["one", "two"]  # some state an answer, too
    assert convert(data, *NATIVE).stdout == data


def view(data: bytes, **how: Any) -> Ended:
    return convert(data, view=agentfmt.View(**how))


streams = pytest.mark.parametrize("name", STREAMS)


@streams
def test_what_a_stream_means(name: str) -> None:
    lines, (status, *runs), progress, why = STREAMS[name]
    data = stream(lines)
    detailed, results = view(data, detail=True), convert(data, "-t", "json")
    assert detailed.status == results.status == status
    assert [results.stdout.count(b"\n"), results.stderr.count(" failed: ")] == runs
    assert detailed.lines == [*map(labeled, progress)]
    assert convert(data).stdout.count(b"\n") == len(
        [line for line in progress if not re.search("inish|{begin|Waiting for the API", line)]
    )
    assert why in detailed.stderr
    assert why or not detailed.stderr


@streams
def test_the_converted_stream_means_the_same(name: str) -> None:
    check_conversion(stream(STREAMS[name][0]))


@streams
def test_own_lines_leave_as_they_came(name: str) -> None:
    lines, (status, *_), _, why = STREAMS[name]
    data = stream(lines)
    ended = convert(data, "-t", "stream-json", "--thinking")
    assert (ended.stdout, ended.status) == (data, status)
    assert why in ended.stderr


def answer(lines: Iterable[Line], *flags: str) -> str:
    text: str = json.loads(convert(stream(lines), "-t", "json", *flags).stdout)["result"]
    return text


# Of each agent, streams whose answer is "Done."
ANSWERS: dict[str, list[Line]] = {
    "codex": [*THREAD, item("agent_message", text="a"), item("agent_message", text="Done."), TURN_ENDED],
    "codex-phase": [*THREAD, item("agent_message", text="Done.", phase="final_answer"),
        item("agent_message", text="b", phase="commentary"), TURN_ENDED],
    "gemini-whole": [INIT, said("Done."), GEMINI_OK],
    "gemini-deltas": [INIT, said("Do", delta=True), said("ne.", delta=True), GEMINI_OK],
    "gemini-deltas-and-whole": [INIT, *(said(text, delta=True) for text in ("Do", "ne.")), said("Done."), GEMINI_OK],
    "opencode": [STEP, part("text", text="Done."), STOP],
    "opencode-synthetic": [STEP, STOP, part("text", text="Go on.", synthetic=True), STEP,
        part("text", text="Done."), STOP],
    "copilot": [copilot("assistant.message_delta", messageId="m", deltaContent="Do"),
        copilot("assistant.message", messageId="m", content="Done."), copilot_end()],
    "copilot-chunks": [*(copilot("assistant.message", messageId="m", chunkIndex=n, chunkCount=2, content=text)
        for n, text in enumerate(("Do", "ne."))), copilot_end()],
    "copilot-subagent": [copilot("assistant.message", content="Done."), copilot_end(),
        copilot("assistant.message", content="inner", parentToolCallId="c")],
    "copilot-subagent-by-its-own-id": [copilot("assistant.message", content="Done."),
        copilot("assistant.message", content="inner") | AGENT, copilot_end()],
    "copilot-summary": [copilot("assistant.message", content="I look."),
        copilot("session.task_complete", summary="Done."), copilot_end()],
    "copilot-words-after-the-summary": [copilot("session.task_complete", summary="Did it."),
        copilot("assistant.message", content="Done."), copilot_end()],
    "pi": [*PI, *pi_end(text="Done.")],
    "pi-texts": [*PI, *pi_end("stop", "Done", ".")],
    "pi-delta-without-message": [*PI, {"type": "message_update",
        "assistantMessageEvent": {"type": "text_delta", "delta": "Done."}}, *pi_end()],
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer(name: str) -> None:
    assert answer(ANSWERS[name]) == "Done."
    assert convert(stream(ANSWERS[name]), "-q", "-m", "final").lines == ["Done."]


def test_gemini_repeats_nothing_after_a_call() -> None:
    call = {"type": "tool_use", "tool_name": "glob", "tool_id": "x", "parameters": {}}
    lines = [INIT, said("I look. ", delta=True), call, said("Done.", delta=True), said("Done.")]
    assert answer([*lines, GEMINI_OK]) == "I look. Done."


# Of each agent, a line with a fragment of something that comes whole; the paths that are emptied.
FRAGMENTS: dict[str, tuple[list[Any], Line]] = {
    "claude": ([CLAUDE_INIT], claude("stream_event", event={"type": "content_block_delta", "delta": {
        "type": "input_json_delta", "partial_json": TOKEN[:20]}})),
    "codex-started": (THREAD, command("item.started", aggregated_output=TOKEN[:20])),
    "codex-updated": (THREAD, command("item.updated", aggregated_output=TOKEN[:20])),
    "codex-text": (THREAD, item("agent_message", "item.updated", text=TOKEN[:20])),
    "codex-result": (THREAD, item("mcp_tool_call", "item.updated", result={
        "content": [{"type": "text", "text": TOKEN[:20]}]})),
    "codex-plan": (THREAD, {"type": "item.plan.delta", "item_id": "i", "delta": TOKEN[:20]}),
    "copilot-arguments": ([copilot("user.message")], copilot("assistant.tool_call_delta", inputDelta=TOKEN[:20])),
    "copilot-output": ([copilot("user.message")], copilot("tool.execution_partial_result", partialOutput=TOKEN[:20])),
    "pi-start": (PI, {"type": "message_start", "message": {"role": "assistant", "content": [
        {"type": "text", "text": TOKEN[:20]}]}}),
    "pi-message": (PI, {"type": "message_update", "message": {"role": "assistant", "content": [
        {"type": "text", "text": TOKEN[:20]}]}, "assistantMessageEvent": {"type": "text_start"}}),
    "pi-partial": (PI, {"type": "message_update", "assistantMessageEvent": {
        "type": "text_start", "partial": {"content": [{"type": "text", "text": TOKEN[:20]}]}}}),
    "pi-arguments": (PI, {"type": "message_update", "assistantMessageEvent": {
        "type": "toolcall_delta", "delta": TOKEN[:20]}}),
    "pi-output": (PI, {"type": "tool_execution_update", "toolCallId": "c", "partialResult": {
        "content": [{"type": "text", "text": TOKEN[:20]}]}}),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_are_emptied(name: str) -> None:
    before, line = FRAGMENTS[name]
    data = stream([*before, line])
    left = convert(data, "-t", "stream-json", "--thinking", "-r", "secrets").stdout
    assert left.splitlines()[:-1] == data.splitlines()[:-1]
    assert TOKEN[:8].encode() not in left
    assert json.loads(left.splitlines()[-1])["type"] == line["type"]
    assert convert(data, "-t", "stream-json", "--thinking").stdout == data


def test_a_line_with_a_thought_and_words_that_were_said_is_no_thought() -> None:
    said = {"type": "text_delta", "delta": "Hi"}
    blocks = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}]
    message = {"role": "assistant", "content": blocks, "stopReason": "stop"}
    data = stream(
        [*PI, {"type": "message_update", "assistantMessageEvent": said},
         {"type": "message_end", "message": message}, {"type": "agent_settled"}]
    )  # fmt: skip
    assert convert(data, "-t", "stream-json").stdout == data
    assert convert(data, "-m", "all").stdout == b"Hi\n"


def test_a_prompt_of_pi_is_no_fragment() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Go"}]}
    data = stream([*PI, {"type": "message_start", "message": asked}])
    assert convert(data, "-t", "stream-json", "--thinking", "-r", "secrets").stdout == data


# Of each agent, a line that holds a piece of what is said.
DELTAS: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "claude": ([CLAUDE_INIT], lambda text: streamed("content_block_delta", delta={"type": "text_delta",
        "text": text}), [CLAUDE_OK | {"result": None}]),
    "gemini": ([INIT], lambda text: said(text, delta=True), [GEMINI_OK]),
    "copilot": ([copilot("user.message")],
        lambda text: copilot("assistant.message_delta", messageId="m", deltaContent=text), [copilot_end()]),
    "copilot-chunks": ([copilot("user.message")],
        lambda text: copilot("assistant.message", messageId="m", chunkCount=9, content=text),
        [copilot_end()]),
    "pi": (PI, lambda text: {"type": "message_update", "assistantMessageEvent": {"type": "text_delta",
        "delta": text}}, [{"type": "agent_settled"}]),
}  # fmt: skip


DELTAS |= more_streams.DELTAS


@pytest.mark.parametrize("to", ["stream-json", "cursor", "json"])
@pytest.mark.parametrize("size", [1, 7, 20])
@pytest.mark.parametrize("name", DELTAS)
def test_a_secret_in_deltas(name: str, size: int, to: str) -> None:
    before, make, after = DELTAS[name]
    text = f"The token is {TOKEN}, and\nno more."
    pieces = [make(text[at : at + size]) for at in range(0, len(text), size)]
    left = convert(stream([*before, *pieces, *after]), "-t", to, "-r", "secrets").stdout.decode()
    assert "a1B2" not in left
    copies = 2 if to == "cursor" and '"success"' in left else 1  # it has all words
    assert left.count("[REDACTED:github-token]") == (copies if left else 0)


def test_summary_counts_what_subagents_do_apart() -> None:
    *actions, closing = run("-s", data=stream(STREAMS["claude-subagents"][0])).lines
    assert "succeeded, 1 action (task 1), 2 subagent actions (shell 1, task 1)" in closing
    assert actions == [label("shell"), *[label("task")] * 2]


def test_no_event_of_a_known_agent_is_of_unknown_type() -> None:
    lines: list[Any] = [*PI, {"type": "turn_start"}, {"type": "entry_appended"}, *pi_end()]
    assert "unknown" not in run("-q", "-s", data=stream(lines)).stderr
    assert "tokens in" in run("-q", "-s", data=stream([STEP, STOP])).stderr


def test_selectors_know_tools_of_servers() -> None:
    lines, _, _, _ = STREAMS["opencode-tools-of-servers"]
    for selector in (
        "mcp",
        "tool=mcp__git__hub_*",
        "tool==git_hub_list_issues",
        "tool==docs_web_search",
    ):
        assert convert(stream(lines), "--fail-on", selector).status == 1
    called = [*THREAD, item("mcp_tool_call", server="gh", tool="list", arguments={}), TURN_ENDED]
    assert convert(stream(called), "-t", "calls").objects[0]["name"] == "mcp__gh__list"
    lines, _, _, _ = STREAMS["gemini-tools-of-servers"]
    assert convert(stream(lines), "--fail-on", "tool=mcp__*__get_figma_file").status == 0


def test_fail_on_a_denied_call() -> None:
    denied = "claude-denied-and-never-answered claude-denied-and-only-its-result-says-so"
    for name in (*denied.split(), "gemini-denied", "copilot-denied"):
        assert convert(stream(STREAMS[name][0]), "--fail-on", "status=denied").status == 1
    assert convert(stream(STREAMS["codex-declined"][0]), "--fail-on", "status=rejected").status == 1
    late = stream(STREAMS[denied.split()[1]][0])
    for to in ("runs", "cursor"):
        assert convert(late, "-t", to, "--fail-on", "shell,status=denied").stderr.endswith(
            "matched at stdin:4\n"
        )
    assert convert(late, "--fail-on", "shell").stderr.endswith(
        "--fail-on shell matched at stdin:2\n"
    )
    assert convert(late, "--fail-on", "edit,status=denied").status == 0


@pytest.mark.parametrize(("selector", "status"), [
    ("delete", 1), ("tool=delete,path=old/*", 1), ("tool=write,path=new/a.py", 1),
    ("tool=delete,path=c.py", 1), ("path=/w/*", 0), ("edit", 0),
])  # fmt: skip
def test_fail_on_what_a_patch_does(selector: str, status: int) -> None:
    for lines in (
        [STEP, used(tool="apply_patch", input={"patchText": MOVES}), STOP],
        [*copilot_call(name="apply_patch", arguments=MOVES), copilot_end()],
    ):
        assert convert(stream(lines), "--fail-on", selector).status == status


@pytest.mark.parametrize("name", [name for name in agentfmt.TRANSLATORS if name != "cursor"])
def test_from_names_every_agent(name: str) -> None:
    """What an agent writes is read the same, recognised or named."""
    given = "claude" if name in ("amp", "qwen") else name
    lines = next(rows[0] for key, rows in STREAMS.items() if key.startswith(given))
    assert convert(stream(lines), "--from", name) == convert(stream(lines))


@pytest.mark.parametrize("agent", ["auto", "cursor", "claude", "codex", "pi"])
@pytest.mark.parametrize(("lines", "what"), [
    (['{"type":"mystery"}'], "type: mystery"),
    (['{"type":"begin","id":"x"}', '{"type":"say","text":"y"}'] * 9, "types: begin, say"),
    (['{"role":"user","content":"Hi"}'], "objects without a type"),
    (['{"level":"info","msg":"x"}'] * 20, "objects without a type"),
])  # fmt: skip
def test_a_stream_of_an_unknown_agent(agent: str, lines: list[str], what: str) -> None:
    """No --from would help, and after one it is said, too."""
    ended = convert("\n".join(lines).encode(), "--from", agent)
    told = f"agentfmt: stdin: no agent that I know wrote this ({what})"
    assert (ended.stdout, ended.status) == (b"", 1)
    assert ended.stderr.startswith(told)


@pytest.mark.parametrize("line", [
    {"type": "system", "subtype": "hook_started", "session_id": "s"},
    {"type": "rate_limit_event", "rate_limit_info": {}},
    {"type": "connection", "subtype": "lost"},
    {"type": "error", "message": "no key"},
])  # fmt: skip
def test_a_known_agent_that_never_began(line: Line) -> None:
    ended = convert(stream([{"type": "mystery"}, *[line] * 12]))
    assert (ended.status, ended.stderr.count("\n")) == (1, 1)
    assert "to no run" in ended.stderr
    assert "no agent that I know" not in ended.stderr


SHORT = [
    ({"x": "short"}, "{mystery} short"),
    ({"x": "short", "y": "s" * 100, "n": 1}, "{mystery} short"),
    ({"x": "one", "y": "two"}, "{mystery}"),
    ({"x": "two\nlines"}, "{mystery}"),
    ({"x": "s" * 100}, "{mystery}"),
    ({"x": " "}, "{mystery}"),
    ({"x": "short", "path": "/w/a"}, "{mystery} a"),
]


@pytest.mark.parametrize(("given", "line"), SHORT)
def test_unknown_tools_show_a_short_argument(given: Line, line: str) -> None:
    lines = [CLAUDE_INIT, says("assistant", use("mystery", **given)), says("user", returned())]
    assert view(stream([*lines, CLAUDE_OK]), detail=True).stdout.decode() == f"{labeled(line)}\n"


# ---------------------------------------------------------------- tokens, times, diffs


PI_USAGE = {"input": 4, "output": 7, "cacheRead": 6, "cacheWrite": 2, "totalTokens": 19}
PI_SAID = {"role": "assistant", "content": [], "stopReason": "stop", "usage": PI_USAGE}
USED = {"inputTokens": 4, "outputTokens": 7, "cacheReadTokens": 6, "cacheWriteTokens": 2}
CLAUDE_USAGE = {
    "output_tokens": 7, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2,
    "service_tier": "standard", "server_tool_use": {"web_search_requests": 0},
}  # fmt: skip
CLAUDE_RESULT: Line = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
CLAUDE_BEGUN: Line = {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u"}
CODEX_USAGE = {"cached_input_tokens": 6, "cache_write_input_tokens": 2, "output_tokens": 7}
TOKENS: dict[str, list[Line]] = {
    "claude": [CLAUDE_BEGUN, CLAUDE_RESULT | {"usage": CLAUDE_USAGE | {"input_tokens": 4}}],
    "qwen": [CLAUDE_BEGUN | {"qwen_code_version": "0.25"},
        CLAUDE_RESULT | {"usage": CLAUDE_USAGE | {"input_tokens": 12, "total_tokens": 19}}],
    "codex": [*THREAD, {"type": "turn.completed", "usage": CODEX_USAGE | {"input_tokens": 12}}],
    "droid": [{"type": "system", "subtype": "init", "session_id": "s", "reasoning_effort": "off"},
        {"type": "completion", "session_id": "s", "usage": CLAUDE_USAGE | {"input_tokens": 4}}],
    "opencode": [STEP, part("step_finish", reason="tool-calls", tokens={"input": 1, "output": 3}),
        part("step_finish", reason="stop", tokens={"input": 3, "output": 4,
        "cache": {"read": 6, "write": 2}})],
    "pi": [{"type": "session", "id": "s"}, {"type": "agent_start"},
        {"type": "message_end", "message": PI_SAID}, {"type": "agent_end", "willRetry": False}],
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("to", ["cursor", "json"])
def test_tokens_mean_the_same(name: str, to: str) -> None:
    """Cursor's names, and nothing of the agent's own; the input has no part from a cache."""
    last = convert(stream(TOKENS[name]), "-t", to).objects[-1]
    assert (last["type"], last["usage"]) == ("result", USED)


def test_times_of_pi() -> None:
    """Messages say when they began, and entries when they were over; older versions write none."""
    begun = {"type": "session", "id": "s", "version": 3, "timestamp": "2026-08-17T10:00:00.000Z"}
    first, last = 1786960801000, 1786960805500
    lines: list[Line] = [
        begun, {"type": "agent_start"},
        {"type": "message_end", "message": {"role": "user", "content": [], "timestamp": first}},
        {"type": "message_end", "message": PI_SAID | {"timestamp": last}},
    ]  # fmt: skip
    entry = {"type": "entry_appended", "entry": {"timestamp": "2026-08-17T10:00:07.000Z"}}
    for more, took in ([], None), ([entry], 7000):
        data = stream([*lines, *more, {"type": "agent_end", "willRetry": False}])
        (row,) = convert(data, "-t", "runs").objects
        assert (row["started_ms"], row["duration_ms"]) == (1786960800000, took)


DIFF = (
    "\ndiff --git a/w/a b/w/a\nindex 0..0\n--- a/w/a\n+++ b/w/a\n@@ -1,2 +1,3 @@\n x\n-y\n+z\n+z\n"
)


def test_diffs_of_copilot() -> None:
    given = {"toolCallId": "c", "toolName": "edit", "arguments": {"path": "/w/a"}}
    told = {"content": "File updated.", "detailedContent": DIFF}
    data = stream([
        {"type": "tool.execution_start", "data": given},
        {"type": "tool.execution_complete",
         "data": {"toolCallId": "c", "success": True, "result": told}},
        copilot_end(),
    ])  # fmt: skip
    assert convert(data, "-d").lines == [*map(labeled, ["{edit} /w/a (+2 -1)"])]
    assert "\n-y\n+z\n" in convert(data, "-t", "markdown").stdout.decode()
    cursor = convert(data, "-t", "cursor").stdout
    assert convert(cursor, "-d").lines == convert(data, "-d").lines


SHELL_ENDS = ["<exited with exit code 1>", "<shellId: 0 completed with exit code 1>"]


@pytest.mark.parametrize("mark", SHELL_ENDS)
def test_what_copilot_adds_to_an_output_is_none(mark: str) -> None:
    given = {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "make"}}
    told = {"toolCallId": "c", "success": True, "result": {"content": f"no rule\n{mark}"}}
    lines = [{"type": "tool.execution_start", "data": given},
             {"type": "tool.execution_complete", "data": told}, copilot_end()]  # fmt: skip
    (row,) = convert(stream(lines), "-t", "calls").objects
    assert (row["status"], row["exit_code"]) == ("nonzero", 1)
    converted = convert(stream(lines), "-t", "cursor").objects[2]
    assert converted["tool_call"]["shellToolCall"]["result"]["failure"]["stdout"] == "no rule"


WROTE = {"tool": "write", "input": {"filePath": "a.py", "content": "x\ny\n"}, "output": "Wrote."}
INDEX = "Index: a\n=====\n--- a\n+++ a\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"


@pytest.mark.parametrize(("called", "line"), [
    pytest.param({**WROTE, "metadata": {}}, "{write} a.py (2 lines)", id="nothing-is-known"),
    pytest.param({**WROTE, "metadata": {"exists": False}}, "{write} a.py (2 lines)", id="new"),
    pytest.param({**WROTE, "metadata": {"exists": True}}, "{edit} a.py (2 lines)", id="it-was-there"),
    pytest.param({"input": {"command": "true"}, "output": "", "metadata": {"exit": 0},
        "time": {"start": 9, "end": 9}}, "{shell} true (exit 0)", id="took-no-time"),
    pytest.param({"tool": "edit", "input": {"filePath": "a.py"}, "output": "ok",
        "metadata": {"diff": INDEX}}, "{edit} a.py (+2 -1)", id="a-diff"),
])  # fmt: skip
def test_a_call_of_opencode(called: Line, line: str) -> None:
    assert convert(stream([STEP, used(**called), STOP]), "-d").lines == [labeled(line)]


def test_a_plan_that_is_proposed_is_shown_once() -> None:
    plan = "Here it is.\n<proposed_plan>\n# Plan\n1. Look\n</proposed_plan>"
    data = stream([*THREAD, item("agent_message", text=plan), TURN_ENDED])
    assert convert(data, "-m", "final").lines == ["Here it is.", "# Plan", "1. Look"]


# ---------------------------------------------------------------- the smallest real faults

# What goes wrong easily in how a call ended, what it is about and what came of it: with -d.
SAMPLES = dict(sections("samples.txt"))


def samples() -> Iterator[Any]:
    """The files that the table names, beside the checkout, where all have to be."""
    for folder in sorted({name.partition("/")[0] for name in SAMPLES}):
        found = corpus(folder, suffix=(".ndjson", ".jsonl"))
        rows = {f"{folder}/{Path(row.values[0]).stem}": row for row in found}
        assert found[0].marks or {name for name in SAMPLES if name.startswith(f"{folder}/")} <= {
            *rows
        }
        yield from (row for name, row in rows.items() if row.marks or name in SAMPLES)


@pytest.mark.parametrize("path", [*samples()])
def test_a_sample(path: str) -> None:
    """Also converted, and its calls keep their statuses whatever is hidden."""
    data, lines = content(path), SAMPLES[f"{Path(path).parent.name}/{Path(path).stem}"]
    for given in (data, convert(data, "-t", "cursor").stdout):
        ended = convert(given, "-d", "-m", "none")
        assert (ended.status, ended.lines) == (0, [*map(labeled, lines)])
    assert {convert(data, "-t", to).status for to in agentfmt.WRITERS} == {0}
    states = [row["status"] for row in convert(data, "-t", "calls").objects]
    for classes in ("secrets", "secrets,content", "all"):
        shipped = convert(data, "-t", "cursor", "-r", classes).stdout
        assert [row["status"] for row in convert(shipped, "-t", "calls").objects] == states


# Members of the rows of the files that are given together.
ROWS: dict[str, list[dict[str, Any]]] = {
    "claude-resumed-cost-1 claude-resumed-cost-2": [{"cost_usd": 0.1}, {"cost_usd": 0.3}],
    "cursor-plan": [{"answer": "# Plan: Birds\n\n- Observe\n- Write"}],
    "cursor-plan-query-only": [{"answer": "# Plan: Birds\n\n- Observe\n- Write"}],
    "cursor-accumulated-partials": [{"answer": "Hi there!"}],
    "copilot-turn-start-first": [{"prompt": "Write a test.", "verdict": "succeeded"}],
    "claude-saved-resumed-two-ids": [
        {"prompt": "say lol", "verdict": "succeeded"}, {"prompt": "run ls tool", "verdict": "succeeded"},
    ],
    "claude-saved-compact": [{"prompt": "Fix the typo"}, {"prompt": "Now the screen"}],
    "b-cx-echo": [{"prompt": "ping", "answer": "ping", "verdict": "succeeded"}],
    "b-cx-rep": [{"prompt": "a", "answer": "Done."}, {"prompt": "Done.", "answer": "Good."}],
    "b-acp": [{"reason": "quota exceeded", "verdict": "failed"}],
    "b-acp7": [{"reason": "quota exceeded", "verdict": "failed"}],
    "claude-synthetic-prompt": [{"prompt": None, "verdict": "succeeded"}],
    "claude-synthetic-compact": [{"prompt": None, "verdict": "succeeded"}],
    "claude-session-limit-reason": [{
        "failure": "limit", "session": None, "retry_after_ms": None,
        "reason": "You've hit your session limit · resets 1pm (America/Mexico_City)",
    }],
}  # fmt: skip


@pytest.mark.parametrize("names", ROWS)
def test_mended_rows(names: str) -> None:
    given = os.path.join(SHARED, "faults6")
    if not os.path.isdir(given):
        pytest.skip("no samples beside the checkout")
    paths = [os.path.join(given, name) for one in names.split() for name in os.listdir(given)
             if name.partition(".")[0] == one]  # fmt: skip
    rows = run("-t", "runs", "-m", "final", *paths).objects
    wanted = ROWS[names]
    assert [{key: row[key] for key in wanted[0]} for row in rows] == wanted


def test_a_command_that_was_stopped_in_the_background_failed() -> None:
    path = os.path.join(SHARED, "faults6", "claude-background-command-killed.ndjson")
    if not os.path.exists(path):
        pytest.skip("no samples beside the checkout")
    (row,) = run("-t", "calls", path).objects
    assert (row["status"], row["outcome"]) == ("error", "stopped")


def test_results_of_codex_that_are_objects_stay_whole() -> None:
    for name, held in (("b-cx-json", "degraded"), ("b-cx-json2", "crash")):
        path = os.path.join(SHARED, "faults6", f"{name}.jsonl")
        if not os.path.exists(path):
            pytest.skip("no samples beside the checkout")
        assert held.encode() in convert(content(path), "-t", "cursor").stdout


def test_members_of_a_result_have_any_names() -> None:
    odd = {"self": 1, "kind": 2, "error": None, "session": 3, "counted": 4}
    (result,) = convert(stream([CLAUDE_INIT, {**CLAUDE_OK, **odd}]), "-t", "json").objects
    assert {name: result.get(name) for name in odd} == odd


@pytest.mark.parametrize("levels", [100, 960, 980, 985, 990, 9990, 10**6])
def test_deep_members(levels: int) -> None:
    """No depth breaks it, or costs the run; what cannot be read at all is damage."""
    deep = "[" * levels + "]" * levels
    done = command(command=["x", "@"], aggregated_output="@")
    lines = [json.dumps(done), json.dumps({"type": "turn.completed", "usage": {"a": "@"}})]
    data = stream([*THREAD, *(line.replace('"@"', deep) for line in lines), TURN_ENDED])
    for to in ("cursor", "runs"):
        ended = run("-t", to, data=data)
        assert ended.status in (0, 3)
        assert "Traceback" not in ended.stderr
    assert json.loads(ended.lines[0])["verdict"] == "succeeded"
