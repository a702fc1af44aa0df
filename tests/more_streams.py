"""Streams of the agents in the room *more agents*, made by hand after recordings: what the tables of
test_agents.py get from here."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import json
from typing import Any

Line = dict[str, Any]
# Lines; its exit status, the runs that succeed and that fail; the lines of -d; a part of the messages.
Stream = tuple[list[Any], tuple[int, int, int], list[str], str]


def ok(lines: list[Any], *shown: str) -> Stream:
    """A stream of one run that succeeds; a line of -d has {tool} or {not tool} for its label."""
    return lines, (0, 1, 0), [*shown], ""


def fails(lines: list[Any], why: str, *shown: str) -> Stream:
    """One of one run that fails."""
    return lines, (1, 0, 1), [*shown], why


def ends(lines: list[Any], how: tuple[int, int, int], why: str, *shown: str) -> Stream:
    return lines, how, [*shown], why


# ---------------------------------------------------------------- Kimi

KIMI_FIRST = {"role": "meta", "type": "system.version", "version": "2.1.1"}
KIMI_LAST = {
    "role": "meta", "type": "session.resume_hint", "session_id": "session_k-1",
    "command": "kimi -r session_k-1", "content": "To resume this session: kimi -r session_k-1",
}  # fmt: skip


def kimi_says(text: Any) -> Line:
    return {"role": "assistant", "content": text}


def kimi_calls(*calls: tuple[str, Line], text: str | None = None) -> Line:
    made = [
        {
            "type": "function",
            "id": f"tc_{name}",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for name, given in calls
    ]
    said = {} if text is None else {"content": text}
    return {"role": "assistant", **said, "tool_calls": made}


def kimi_result(name: str, content: Any = "ok") -> Line:
    return {"role": "tool", "tool_call_id": f"tc_{name}", "content": content}


def parts(*texts: str) -> list[Line]:
    return [{"type": "text", "text": text} for text in texts]


KIMI_RUN = [
    kimi_calls(("Bash", {"command": "ls"}), text="I'll look."),
    kimi_result("Bash", "a.py"),
    kimi_says("One file."),
]
KIMI: dict[str, Stream] = {
    "kimi-code": ok([KIMI_FIRST, *KIMI_RUN, KIMI_LAST], "{shell} ls"),
    "kimi-code-without-its-version": ok([*KIMI_RUN, KIMI_LAST], "{shell} ls"),
    "kimi-cut-where-its-version-is-known": fails([KIMI_FIRST, *KIMI_RUN], "ended without an answer",
        "{shell} ls"),
    "kimi-cli-states-no-end": ok(KIMI_RUN, "{shell} ls"),
    "kimi-cut-in-a-call": fails(KIMI_RUN[:1], "1 call open (shell ls)"),
    "kimi-cut-behind-a-call": fails(KIMI_RUN[:2], "without an answer", "{shell} ls"),
    "kimi-version-alone": fails([KIMI_FIRST], "without an answer"),
    "kimi-saved": ends([{"role": "_system_prompt", "content": "You are."}, {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Hi"}, *KIMI_RUN, {"role": "_usage", "token_count": 123},
        {"role": "_checkpoint", "id": 1}, {"role": "user", "content": parts("Go on.")}, KIMI_RUN[0]],
        (1, 1, 1), "1 call open (shell ls)", "{shell} ls"),
    "kimi-in-background": ok([kimi_calls(("Bash", {"command": "ls", "run_in_background": True})),
        kimi_result("Bash", "task_id: 1"), kimi_says("Done.")], "{shell} ls (in background)"),
    "kimi-calls": ok(
        [kimi_calls(("Bash", {"command": "false"}), ("StrReplaceFile", {"path": "a", "edit": {}})),
        kimi_result("Bash", "no\nCommand failed with exit code: 3."),
        kimi_result("StrReplaceFile", parts("<system>ERROR: `a` does not exist.</system>")),
        kimi_calls(("ReadFile", {"path": "b"}), ("Shell", {"command": "make"})),
        kimi_result("ReadFile", parts("<system>3 lines read.</system>", "x")),
        kimi_result("Shell", parts("<system>ERROR: Command failed with exit code: 2.</system>", "y")),
        kimi_calls(("SetTodoList", {"todos": [{"title": "x", "status": "done"}, {"title": "y", "status": "pending"}]})),
        kimi_result("SetTodoList"),
        {"role": "meta", "type": "turn.step.retrying", "error_message": "overloaded", "failed_attempt": 1},
        kimi_says([{"type": "think", "think": "Hm."}, *parts("Done.")])], "{shell} false (exit 3)",
        "{not edit} a (error: `a` does not exist.)", "{read} b", "{shell} make (exit 2)",
        "{updateTodos} (1 of 2 done)"),
}  # fmt: skip


# ---------------------------------------------------------------- Grok Build


def grok_call(name: str, given: Line, output: Any = "ok", status: str = "completed") -> list[Line]:
    ids = {"toolCallId": f"call-{name}", "content": [], "locations": []}
    return [
        {
            "type": "tool_call",
            **ids,
            "title": name,
            "kind": "other",
            "status": "pending",
            "toolName": name,
            "rawInput": given,
        },
        {"type": "tool_call_update", **ids, "status": status, "rawOutput": output},
    ]


def grok_end(reason: str = "end_turn", **members: Any) -> Line:
    return {"type": "end", "stopReason": reason, "sessionId": "019e", "requestId": "r", **members}


GROK_FIRST = {"type": "available_commands", "tools": ["read_file"], "commands": []}
GROK_FAILED = {"type": "Bash", "output": [], "output_for_prompt": "exit: 3\n", "exit_code": 3}
GROK_MISSING = {"type": "ReadFile", "FileNotFound": "Error: /w/b does not exist."}
GROK_READ = {"type": "ReadFile", "FileContent": {"content": "x", "total_lines": 4}}
GROK_INIT = {
    "type": "system", "subtype": "init", "session_id": "g-1", "apiKeySource": "user", "model": "grok-4",
    "cwd": "/w", "tools": ["run_terminal_command", "read_file"], "mcp_servers": [], "uuid": "u",
}  # fmt: skip


def grok_says(role: str, *content: Line) -> Line:
    ids = {"parent_tool_use_id": None, "session_id": "g-1", "uuid": "u"}
    return {"type": role, "message": {"id": "msg", "role": role, "content": [*content]}, **ids}


def grok_used(name: str, given: Line, output: Any, *, error: bool = False) -> list[Line]:
    text = output if isinstance(output, str) else json.dumps(output)
    return [
        grok_says(
            "assistant", {"type": "tool_use", "id": f"t-{name}", "name": name, "input": given}
        ),
        grok_says(
            "user",
            {"type": "tool_result", "tool_use_id": f"t-{name}", "content": text, "is_error": error},
        ),
    ]


GROK_OK = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "session_id": "g-1",
    "total_cost_usd": 0,
}
GROK_CALLS = ["{shell} exit 3 (exit 3)", "{read} /w/a (4 lines)"]
GROK_NOT_FOUND = "{not read} /w/b (not found: /w/b does not exist.)"
GROK: dict[str, Stream] = {
    "grok": ok([GROK_FIRST, {"type": "thought", "data": "Hm"},
        *grok_call("run_terminal_command", {"command": "exit 3"}, GROK_FAILED),
        {"type": "usage", "usage": {"input_tokens": 3}},
        *grok_call("read_file", {"target_file": "/w/a"}, GROK_READ),
        *grok_call("read_file", {"target_file": "/w/b"}, GROK_MISSING, "failed"), *grok_call("gh__list", {}),
        {"type": "text", "data": "Al"}, {"type": "text", "data": "l done."},
        grok_end(usage={"input_tokens": 3}, num_turns=2)], *GROK_CALLS, GROK_NOT_FOUND, "{mcp} gh/list"),
    "grok-slow": ok([GROK_FIRST,
        *grok_call("run_terminal_command", {"command": "sleep 9"}, {**GROK_FAILED, "timed_out": True}),
        *grok_call("run_terminal_command", {"command": "serve"}, {"type": "BackgroundTaskStarted"}),
        {"type": "text", "data": "Done"}, grok_end()], "{not shell} sleep 9 (timed out: exit: 3)",
        "{shell} serve (in background)"),
    "grok-older": ok([{"type": "text", "data": "Hi"}, grok_end("EndTurn")]),
    "grok-stopped": fails([{"type": "text", "data": "Hi"}, {"type": "max_turns_reached"},
        grok_end("max_turn_requests")], "failed: it was stopped (stopReason max_turn_requests)"),
    "grok-error": fails([{"type": "thought", "data": "Hm"}, {"type": "error", "message": "No such model."}],
        "No such model."),
    "grok-error-and-end": fails([{"type": "text", "data": "Hm"}, {"type": "error", "message": "Overloaded."},
        grok_end()], "failed: Overloaded."),
    "grok-cut": fails([*grok_call("read_file", {"target_file": "/w/a"}, GROK_READ)], "ended without a result",
        "{read} /w/a (4 lines)"),
    "grok-messages": ok([GROK_INIT, *grok_used("run_terminal_command", {"command": "exit 3"}, GROK_FAILED),
        *grok_used("read_file", {"target_file": "/w/a"}, GROK_READ),
        *grok_used("read_file", {"target_file": "/w/b"}, GROK_MISSING, error=True),
        *grok_used("search_replace", {"file_path": "/w/a"}, {"type": "SearchReplace", "EditsApplied": {"tool_output_for_prompt": "Updated."}}),
        *grok_used("list_dir", {"target_directory": "."}, "- /w/"), GROK_OK], "{shell} exit 3 (exit 3)",
        "{read} a (4 lines)", "{not read} b (not found: /w/b does not exist.)", "{edit} a", "{ls} ."),
}  # fmt: skip


# ---------------------------------------------------------------- Antigravity

AGY_FIRST = {
    "event": "init",
    "conversation_id": "ag-1",
    "init": {"cwd": "/w", "tools": ["run_command"]},
}


def agy(state: str, step: str = "agent_response", index: int = 1, **members: Any) -> Line:
    ids = {"conversation_id": "ag-1", "step_index": index, "state": state, "step_type": step}
    return {"event": "step_update", "step_update": {**ids, **members}}


def agy_call(
    name: str, given: Line, state: str = "DONE", index: int = 3, **outcome: Any
) -> list[Line]:
    info = {"name": name, "parameters": given}
    return [
        agy("ACTIVE", "tool", index, tool_name=name, tool_info=info),
        agy(state, "tool", index, tool_name=name, tool_info={**info, **outcome}),
    ]


def agy_end(response: str = "OK\n", status: str = "SUCCESS", **members: Any) -> Line:
    told = {
        "status": status,
        "response": response,
        "duration_seconds": 4.5,
        "num_turns": 1,
        "usage": {"input_tokens": 7},
    }
    return {"event": "result", "result": {"conversation_id": "ag-1", **told, **members}}


AGY_ASKED = agy("DONE", "user_input", 0)
AGY_SAID = [agy("ACTIVE", text_delta="OK"), agy("DONE", text_delta="\n", duration_seconds=4.4)]
AGY_DENIED = {"type": "TOOL_ERROR", "message": "user denied permission to run command"}
ANTIGRAVITY: dict[str, Stream] = {
    "antigravity": ok([AGY_FIRST, AGY_ASKED,
        *agy_call("run_command", {"CommandLine": "make", "Cwd": "/w"}, output="done"),
        *agy_call("run_command", {"CommandLine": "false"}, index=4, error="exit status 1"),
        *agy_call("view_file", {"AbsolutePath": "/w/a"}, index=5, output="x")[1:],
        *agy_call("call_mcp_tool", {"ServerName": "gh", "ToolName": "list", "Arguments": {}}, index=6, output="x"),
        agy("DONE", "subagent", 7, tool_name="invoke_subagent", subagent_info={"subagents": [{"role": "Tester", "initial_prompt": "Test it.", "conversation_id": "ag-2"}]}),
        *AGY_SAID, agy_end()], "{shell} make", "{shell} false (exit 1)", "{read} a", "{mcp} gh/list",
        "{task}"),
    "antigravity-two-turns": ends([AGY_FIRST, AGY_ASKED, *AGY_SAID, agy_end(), AGY_ASKED, *AGY_SAID,
        agy_end()], (0, 2, 0), ""),
    "antigravity-success-without-an-answer": fails([AGY_FIRST, AGY_ASKED, agy("DONE"),
        *agy_call("run_command", {"CommandLine": "ls"}, "ERROR", error=AGY_DENIED),
        agy_end("", denied_actions=[{"action": "command", "display_name": "RunCommand"}])],
        "failed: no answer, though it says success",
        "{not shell} ls (permission denied: user denied permission to run command)"),
    "antigravity-success-within-a-step": fails([AGY_FIRST, AGY_ASKED, AGY_SAID[0],
        agy_end("OK", usage={"total_tokens": 0})], "failed: stopped within a step"),
    "antigravity-error": fails([AGY_FIRST, agy_end("", "ERROR", error="model unavailable")],
        "failed: model unavailable"),
    "antigravity-error-message": fails([AGY_FIRST, agy("ERROR", "error_message", error="no quota"), agy_end("", "ERROR")],
        "failed: error"),
    "antigravity-waiting": fails([AGY_FIRST, agy_end("", "WAITING")], "failed: waiting"),
    "antigravity-structured": ok([AGY_FIRST, AGY_ASKED, agy_end("", structured_output={"ok": True})]),
    "antigravity-cut": fails([AGY_FIRST, *AGY_SAID], "ended without a result"),
}  # fmt: skip


# ---------------------------------------------------------------- Cline


def cline(kind: str, **members: Any) -> Line:
    return {"ts": "2026-08-11T19:29:50.000Z", "type": kind, **members}


def cline_event(what: str, of: str | None = None, **members: Any) -> Line:
    kind = {} if of is None else {"contentType": of}
    return cline("agent_event", event={"type": what, **kind, **members})


def cline_call(name: str, given: Line, *output: Line, **outcome: Any) -> list[Line]:
    ids = {"toolCallId": f"{name}_0", "toolName": name}
    ended = {"output": [*output], **outcome}
    return [
        cline("hook_event", hookEventName="tool_call", agentId="agent_1", taskId="conv_1"),
        cline_event("content_start", "tool", **ids, input=given),
        cline_event("content_update", "tool", **ids, update="x"),
        cline_event("content_end", "tool", **ids, durationMs=2000, **ended),
    ]


def cline_end(reason: str = "completed", **members: Any) -> Line:
    told = {"iterations": 2, "usage": {"inputTokens": 9, "outputTokens": 2}, "durationMs": 5}
    return cline(
        "run_result", finishReason=reason, text="Done.", **told, model={"id": "m"}, **members
    )


CLINE_FIRST = [
    cline("hook_event", hookEventName="agent_start", agentId="agent_1", taskId="conv_1"),
    cline("run_start", providerId="cline", modelId="m", sessionId="c-1", mode="act"),
]
CLINE_STEP = cline_event("iteration_start", iteration=1)
CLINE_SAID = [
    cline_event("content_start", "text", text="Do", accumulated="Do"),
    cline_event("content_start", "text", text="ne.", accumulated="Done."),
    cline_event("content_end", "text", text="Done."),
    cline_event("done", reason="completed", text="Done.", iterations=1),
]


def went(result: str, success: bool = True, **members: Any) -> Line:
    return {"query": "q", "result": result, "success": success, **members}


CLINE: dict[str, Stream] = {
    "cline": ok([*CLINE_FIRST, CLINE_STEP, cline_event("content_start", "reasoning", reasoning="Hm."),
        *cline_call("run_commands", {"commands": ["make", "make test"]}, went("ok"), went("ok")),
        *cline_call("read_files", {"files": [{"path": "a"}, {"path": "b"}]}, went("x"), went("y")),
        *cline_call("run_commands", {"commands": [{"command": "false", "args": ["-x"]}]}, went("", False, error="Command exited with code 1")),
        *cline_call("editor", {"path": "n", "new_text": "x\ny"}, went("File created successfully at: n")),
        *cline_call("editor", {"path": "a", "old_text": "y", "new_text": "x"}, error="Tool \"editor\" is disabled by policy"),
        *cline_call("fetch_web_content", {"requests": [{"url": "https://x.y", "prompt": "sum"}]}, went("page")),
        *CLINE_SAID, cline_end()], "{shell} make; make test (2.0 s)", "{read} a b",
        "{shell} false -x (exit 1, 2.0 s)", "{write} n (2 lines)",
        '{not edit} a (error: Tool "editor" is disabled by policy)',
        "{webFetch} https://x.y (4 characters, 2.0 s)"),
    "cline-failed": fails([*CLINE_FIRST, CLINE_STEP,
        cline_event("error", error={"name": "Error", "message": "API key is missing."}, recoverable=False),
        cline_end("error")], "failed: API key is missing."),
    "cline-error-line": fails([*CLINE_FIRST, CLINE_STEP, cline("error", message="API key is missing.")],
        "failed: API key is missing."),
    "cline-recovers": ok([*CLINE_FIRST, cline_event("error", error={"message": "slow"}, recoverable=True),
        *CLINE_SAID, cline_end()]),
    "cline-aborted": fails([*CLINE_FIRST, CLINE_STEP, cline("run_abort_requested", reason="sigint"),
        cline_end("aborted"), cline("run_aborted", reason="local_abort", message="stopped")],
        "failed: it was stopped (finishReason aborted)"),
    "cline-cut": fails([*CLINE_FIRST, *CLINE_SAID], "ended without a result"),
}  # fmt: skip


# ---------------------------------------------------------------- Goose


def goose(role: str, *content: Line, identity: str = "m1") -> Line:
    message = {
        "id": identity,
        "role": role,
        "created": 1,
        "content": [*content],
        "metadata": {"userVisible": True},
    }
    return {"type": "message", "message": message}


def goose_says(text: str, identity: str = "m1") -> Line:
    return goose("assistant", {"type": "text", "text": text}, identity=identity)


def goose_call(
    name: str, given: Line, text: str = "ok", *, wrong: bool = False, owner: str = "", **more: Any
) -> list[Line]:
    meta = {"_meta": {"goose_extension": owner}} if owner else {}
    called = {
        "type": "toolRequest",
        "id": f"t-{name}",
        "toolCall": {"status": "success", "value": {"name": name, "arguments": given}},
        **meta,
    }
    value = {"content": [{"type": "text", "text": text}], "isError": wrong, **more}
    return [
        goose("assistant", called),
        goose(
            "user",
            {
                "type": "toolResponse",
                "id": f"t-{name}",
                "toolResult": {"status": "success", "value": value},
            },
        ),
    ]


GOOSE_LAST = {"type": "complete", "total_tokens": 12, "input_tokens": 9, "output_tokens": 3}
GOOSE_REFUSED = {
    "type": "toolResponse",
    "id": "t-x",
    "toolResult": {"status": "error", "error": "-32602: no path"},
}
GOOSE: dict[str, Stream] = {
    "goose": ok([goose("assistant", {"type": "thinking", "thinking": "Hm", "signature": ""}),
        *goose_call("developer__shell", {"command": "make"}, structuredContent={"exit_code": 0}),
        *goose_call("shell", {"command": "false"}, "no", wrong=True, owner="developer", structuredContent={"exit_code": 1}),
        *goose_call("developer__text_editor", {"command": "view", "path": "a"}),
        *goose_call("text_editor", {"command": "str_replace", "path": "a"}, owner="developer"),
        *goose_call("gh__list", {}), *goose_call("search", {}, owner="docs"),
        *goose_call("write", {"path": "n"}, "The user has declined to run this tool.", owner="developer"),
        {"type": "notification", "extension_id": "developer", "log": {"message": "x"}}, goose_says("All "),
        goose_says("done."), GOOSE_LAST], "{shell} make (exit 0)", "{shell} false (exit 1)", "{read} a",
        "{edit} a", "{mcp} gh/list", "{mcp} docs/search", "{not write} n (rejected: The user has declined to run this tool.)"),
    "goose-refused": ok(
        [goose("assistant", {"type": "toolRequest", "id": "t-x", "toolCall": {"status": "success", "value": {"name": "write", "arguments": {}}}}),
        goose("user", GOOSE_REFUSED), goose_says("Sorry."), GOOSE_LAST],
        "{not write} (error: -32602: no path)"),
    "goose-error": fails([goose_says("I"), {"type": "error", "error": "stream broke"},
        {"type": "complete", "total_tokens": None}], "failed: stream broke"),
    "goose-provider-failed": fails(
        [goose_says("Ran into this error: Authentication error: no key.\n\nPlease retry if you think this is transient."),
        {"type": "complete", "total_tokens": 0}],
        "failed: Ran into this error: Authentication error: no key."),
    "goose-no-credits": fails(
        [goose("assistant", {"type": "systemNotification", "notificationType": "creditsExhausted", "msg": "Top up."}),
        GOOSE_LAST], "failed: Top up."),
    "goose-turns": fails([*goose_call("developer__shell", {"command": "make"}),
        goose_says("I've reached the maximum number of actions I can do without user input. Would you like me to continue?", "m9"),
        GOOSE_LAST], "failed: I've reached the maximum number of actions", "{shell} make"),
    "goose-cut": fails([goose_says("All"), goose_says(" done.")], "ended without a result"),
}  # fmt: skip


# ---------------------------------------------------------------- Cursor's transcripts, ACP


def cursor_saved(role: str, *content: Line) -> Line:
    return {"role": role, "message": {"content": [*content]}}


def cursor_asks(text: str = "Do it.") -> Line:
    return cursor_saved(
        "user", *parts(f"<timestamp>now</timestamp>\n<user_query>\n{text}\n</user_query>")
    )


def cursor_told(text: str, **members: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": "t", "content": [*parts(text)], **members}


CURSOR_SAID = cursor_saved("assistant", *parts("Done."))
CURSOR_CALL = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
CURSOR: dict[str, Stream] = {
    "transcript": ok([cursor_asks(),
        cursor_saved("assistant", *parts("I look.\n\n[REDACTED]"), CURSOR_CALL, CURSOR_CALL), CURSOR_SAID],
        *(["{shell} ls"] * 2)),
    "transcript-of-two-turns": ends([cursor_asks(), cursor_saved("assistant", CURSOR_CALL),
        {"type": "turn_ended", "status": "error", "error": "no network"}, cursor_asks(), CURSOR_SAID,
        {"type": "turn_ended", "status": "success"}], (1, 1, 1), "failed: no network", "{shell} ls"),
    "transcript-with-results": ok([cursor_asks(), cursor_saved("assistant", CURSOR_CALL, CURSOR_CALL),
        cursor_saved("user", cursor_told("ok"), cursor_told("no such thing", is_error=True)), CURSOR_SAID,
        {"type": "turn_ended", "status": "completed"}], "{shell} ls",
        "{not shell} ls (error: no such thing)"),
    "transcript-aborted": fails([cursor_asks(), cursor_saved("assistant", *parts("I see.")),
        {"type": "turn_ended", "status": "aborted", "error": "User aborted/interrupted manually."}],
        "User aborted"),
    "transcript-cut-in-a-call": fails([cursor_asks(), cursor_saved("assistant", CURSOR_CALL)],
        "1 call open (shell ls)"),
}  # fmt: skip


def acp(what: str, session: str = "a-1", **members: Any) -> Line:
    update = {"sessionUpdate": what, **members}
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": session, "update": update},
    }


def acp_says(text: str, **members: Any) -> Line:
    return acp("agent_message_chunk", content={"type": "text", "text": text}, **members)


def acp_elsewhere(text: str) -> Line:
    return acp("agent_message_chunk", "a-2", content={"type": "text", "text": text})


def acp_call(
    identity: str, kind: str, title: str, status: str = "completed", text: str = "ok", **more: Any
) -> list[Line]:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return [
        acp("tool_call", toolCallId=identity, kind=kind, title=title, status="pending", **more),
        acp("tool_call_update", toolCallId=identity, status="in_progress"),
        acp("tool_call_update", toolCallId=identity, status=status, content=content),
    ]


def acp_end(reason: str = "end_turn") -> Line:
    return {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": reason}}


ACP_PROMPT = {
    "jsonrpc": "2.0", "id": 3, "method": "session/prompt",
    "params": {"sessionId": "a-1", "prompt": parts("Do it.")},
}  # fmt: skip
ACP: dict[str, Stream] = {
    "acp": ok([{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "x"}}},
        {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "a-1"}},
        acp("available_commands_update", availableCommands=[]),
        acp("user_message_chunk", content={"type": "text", "text": "Do it."}),
        acp("agent_thought_chunk", content={"type": "text", "text": "Hm"}),
        *acp_call("1", "execute", "`make`", rawInput={"command": "make"}),
        *acp_call("2", "read", "Read a", "failed", "no such file", locations=[{"path": "a"}]),
        *acp_call("3", "other", "Mystery"),
        *acp_call("4", "think", "Look around", _meta={"claudeCode": {"toolName": "Agent"}}, rawInput={"description": "Look"}),
        acp("tool_call", toolCallId="5", kind="edit", title="Editing files", content=[{"type": "diff", "path": "b", "oldText": None, "newText": "x"}]),
        acp("tool_call_update", toolCallId="5", status="completed"),
        acp("tool_call", toolCallId="6", kind="edit", title="Editing files", status="completed", content=[{"type": "diff", "path": "c", "oldText": "x", "newText": "y"}]),
        acp("plan", entries=[{"content": "x", "status": "completed"}, {"content": "y", "status": "pending"}]),
        acp_says("Al"), acp_says("l done."), acp_end()], "{shell} make", "{not read} a (error: no such file)",
        "Used tool Mystery", "{task} Look", "{write} b (1 line)", "{edit} c", "{updateTodos} (1 of 2 done)"),
    "acp-both-ways": ok(
        [ACP_PROMPT,
        {"jsonrpc": "2.0", "id": 0, "method": "fs/read_text_file", "params": {"sessionId": "a-1", "path": "/w/a"}},
        {"jsonrpc": "2.0", "id": 0, "error": {"code": 1, "message": "no such file"}}, acp_says("Done."),
        acp_end()]),
    "acp-prompted-again": ends([ACP_PROMPT, acp_says("Hm"), ACP_PROMPT, acp_says("Done."), acp_end()],
        (1, 1, 1), "superseded by another init"),
    "acp-refused": fails([acp_says("No."), acp_end("refusal")], "failed: the model refused (stopReason refusal)"),
    "acp-error": fails([acp_says("Hm"),
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": "no key"}}], "failed: no key"),
    "acp-error-in-data": fails([acp_says("Hm"),
        {"jsonrpc": "2.0", "id": 3, "error": {"message": "Internal error", "data": {"details": "no key"}}}],
        "failed: no key"),
    "acp-error-and-data": fails([acp_says("Hm"),
        {"jsonrpc": "2.0", "id": 3, "error": {"message": "no key", "data": "ask"}}], "failed: no key: ask"),
    "acp-cut": fails([acp_says("Done.")], "ended without a result"),
}  # fmt: skip

STREAMS: dict[str, Stream] = {**KIMI, **GROK, **ANTIGRAVITY, **CLINE, **GOOSE, **CURSOR, **ACP}
MESSAGES: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "kimi": ([KIMI_FIRST], lambda text: [kimi_says(text)], [KIMI_LAST]),
    "grok": ([GROK_FIRST], lambda text: [{"type": "text", "data": text}, {"type": "usage", "usage": {}}],
        [grok_end()]),
    "antigravity": ([AGY_FIRST], lambda text: [agy("DONE", index=len(text) + ord(text[0]), text_delta=text)],
        [agy_end()]),
    "cline": ([*CLINE_FIRST], lambda text: [CLINE_STEP, cline_event("content_start", "text", text=text[:1]),
        cline_event("content_end", "text", text=text)], [cline_end()]),
    "goose": ([], lambda text: [goose_says(text[:1], text), goose_says(text[1:], text)], [GOOSE_LAST]),
    "transcript": ([cursor_asks()], lambda text: [cursor_saved("assistant", *parts(text))], []),
    "acp": ([], lambda text: [acp_says(text, messageId=text)], [acp_end()]),
}  # fmt: skip
DELTAS: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "grok": ([GROK_FIRST], lambda text: {"type": "text", "data": text}, [grok_end()]),
    "antigravity": ([AGY_FIRST], lambda text: agy("ACTIVE", text_delta=text), [agy("DONE"), agy_end("", "ERROR")]),
    "cline": ([*CLINE_FIRST],
        lambda text: cline_event("content_start", "text", text=text, accumulated="x" + text),
        [cline_end("error")]),
    "goose": ([], goose_says, [GOOSE_LAST]),
    "acp": ([], acp_says, [acp_end()]),
}  # fmt: skip
# Of each agent, a run that succeeds, and one that fails.
GOOD: dict[str, list[Line]] = {
    "kimi": [KIMI_FIRST, *KIMI_RUN, KIMI_LAST],
    "grok": [GROK_FIRST, {"type": "text", "data": "Hi"}, grok_end()],
    "antigravity": [AGY_FIRST, AGY_ASKED, *AGY_SAID, agy_end()],
    "cline": [*CLINE_FIRST, *CLINE_SAID, cline_end()],
    "goose": [goose_says("Hi"), GOOSE_LAST],
    "acp": [acp_says("Hi"), acp_end()],
}
FAILED: dict[str, list[Line]] = {
    "kimi": [KIMI_FIRST, {"role": "meta", "type": "turn.step.retrying", "error_message": "no key"}],
    "grok": [{"type": "text", "data": "Hi"}, grok_end("cancelled")],
    "antigravity": [AGY_FIRST, AGY_ASKED, agy_end("")],
    "cline": [*CLINE_FIRST, cline_end("error")],
    "goose": [goose_says("Network error: no route", "m2"), GOOSE_LAST],
    "acp": [acp_elsewhere("Hi"), acp_end("cancelled")],
}
UNFINISHED = {name: run[:-1] for name, run in GOOD.items()} | {"acp": [acp_elsewhere("Hi")]}


def new_type(agent: str, kind: str) -> Line:
    """A line of a type that an agent learned after this program was written."""
    made = {"antigravity": {"event": kind, kind: {"conversation_id": "ag-1"}}, "acp": acp(kind)}
    return made.get(agent) or {"type": kind, "n": 1}
