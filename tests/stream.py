"""A synthetic stream of an agent: seeded, of any size, shaped like real captures.

Lines are about 300 bytes on average: many small thinking and assistant deltas, a replay at the
end of each segment, calls that run in parallel, file contents and shell output in their results.
What files hold is made up as well, or it is what the files of this machine hold: see ``Installed``.
"""

from __future__ import annotations

import base64
import datetime
import functools
import json
import os
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

WORDS = (
    "the a file test module reads writes error stream function returns value index parser line "
    "config update check run build fix path with from into each when after before event buffer"
).split()
PROSE = WORDS * 3 + ["naïve", "“quoted”"]  # of the captures' lines one in twenty is not ASCII
EDITED = "src/agent/{}.py"


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(PROSE, k=count))


def source(rng: random.Random, lines: int) -> str:
    """A file's content: indented lines, quotes, tabs and backslashes as code has them."""
    return "".join(
        "    " * rng.randrange(4)
        + f'{rng.choice(WORDS)} = "{" ".join(rng.choices(WORDS, k=6))}"  # \\n {i}\n'
        for i in range(lines)
    )


Contents = Callable[[random.Random, int], str]  # of a file of so many lines


class Installed:
    """What the files of this machine hold: the mix that agents read, so far as it is installed."""

    ROOTS = (sys.prefix, sys.base_prefix, "/usr/share", "/usr/lib", "/usr/include", "/var/lib/dpkg")
    # How much of the mix, in percent, and how such files are named or end.
    MIX: ClassVar = {
        "code": (50, ".py .js .ts .c .h .rs .go .java .rb .pl .pm .sh .vim"),
        "documents": (15, ".md .rst .txt .html"),
        "configuration": (15, ".json .yaml .yml .toml .cfg .ini .xml .conf"),
        "lockfiles": (15, ".lock package-lock.json RECORD .md5sums"),
        "images": (5, ".png .gif .jpg .ttf"),  # in base64
    }

    def __init__(self, *kinds: str) -> None:
        names = {name: kind for kind in kinds or self.MIX for name in self.MIX[kind][1].split()}
        self.files: dict[str, dict[str, list[Path]]] = {}  # by kind and name
        for root in dict.fromkeys(self.ROOTS):
            for folder, _, found in os.walk(root):
                for path in (Path(folder, name) for name in found):
                    name = path.name if path.name in names else path.suffix
                    if name in names and path.is_file():
                        self.files.setdefault(names[name], {}).setdefault(name, []).append(path)
        self.weights = [self.MIX[kind][0] for kind in self.files]

    def __call__(self, rng: random.Random, lines: int) -> str:
        """A part of some file, about as large as so many lines of it."""
        while True:
            (kind,) = rng.choices([*self.files], self.weights)
            path = rng.choice(rng.choice([*self.files[kind].values()]))
            data, size = read(path), lines * 300
            start = rng.randrange(max(1, len(data) - size))
            part = data[start : start + size]
            if part:
                image = kind == "images"
                return base64.b64encode(part).decode() if image else part.decode(errors="ignore")


@functools.lru_cache(4096)
def read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1 << 20)


class Session:
    """Writes the events of one run after the other, all with this session's id."""

    def __init__(self, rng: random.Random, contents: Contents) -> None:
        self.rng = rng
        self.contents = contents
        self.session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self.clock = 1_784_819_288_883

    def event(self, kind: str, *, stamped: bool = True, **members: Any) -> bytes:
        self.clock += self.rng.randrange(40)
        event = {"type": kind, **members, "session_id": self.session}
        if stamped:
            event["timestamp_ms"] = self.clock
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def assistant(self, text: str, *, stamped: bool = True, **members: Any) -> bytes:
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        return self.event("assistant", stamped=stamped, message=message, **members)

    def segment(self, said: list[str], *, last: bool = False) -> Iterator[bytes]:
        """Thinking, then deltas of the assistant's text, then the replay of the whole segment."""
        rng = self.rng
        for _ in range(rng.randrange(4, 30)):
            yield self.event(
                "thinking", subtype="delta", text=words(rng, rng.randrange(1, 5)) + " "
            )
        yield self.event("thinking", subtype="completed")
        deltas = [words(rng, rng.randrange(1, 4)) + " " for _ in range(rng.randrange(4, 30))]
        for delta in deltas:
            yield self.assistant(delta)
        text = "".join(deltas)
        said.append(text)
        more = {} if last else {"model_call_id": f"{self.session}-{len(said)}"}
        yield self.assistant(text, stamped=not last, **more)

    def call(self, key: str, args: dict[str, Any], result: dict[str, Any]) -> tuple[bytes, bytes]:
        call_id = f"call-{self.rng.getrandbits(64):016x}\nfc_{self.rng.getrandbits(64):016x}"
        extra = {
            "hookAdditionalContexts": [],
            "toolCallId": call_id,
            "startedAtMs": str(self.clock),
        }
        started = self.event(
            "tool_call",
            subtype="started",
            call_id=call_id,
            tool_call={key: {"args": args}, **extra},
        )
        completed = self.event(
            "tool_call",
            subtype="completed",
            call_id=call_id,
            tool_call={
                key: {"args": args, "result": result},
                **extra,
                "completedAtMs": str(self.clock + self.rng.randrange(3000)),
            },
        )
        return started, completed

    def read(self) -> tuple[bytes, bytes]:
        path = f"/home/dev/project/{EDITED.format(self.rng.choice(WORDS))}"
        content = self.contents(self.rng, self.rng.randrange(5, 60))
        success = {
            "content": content,
            "isEmpty": False,
            "exceededLimit": False,
            "totalLines": content.count("\n"),
            "fileSize": str(len(content)),
            "path": path,
        }
        return self.call("readToolCall", {"path": path}, {"success": success})

    def shell(self) -> tuple[bytes, bytes]:
        command = f"grep -rn '{self.rng.choice(WORDS)}' src | head"
        args = {
            "command": command,
            "workingDirectory": "",
            "timeout": 30000,
            "parsingResult": {"executableCommands": [{"name": "grep", "fullText": command}]},
        }
        output = self.contents(self.rng, self.rng.randrange(1, 20))
        code = 0 if self.rng.random() < 0.9 else 2
        ended = {
            "command": command,
            "exitCode": code,
            "stdout": output,
            "stderr": "",
            "interleavedOutput": output,
            "executionTime": self.rng.randrange(5000),
        }
        result = {"failure" if code else "success": ended, "isBackground": False}
        return self.call("shellToolCall", args, result)

    def edit(self) -> tuple[bytes, bytes]:
        path = f"/home/dev/project/{EDITED.format(self.rng.choice(WORDS))}"
        content = self.contents(self.rng, self.rng.randrange(3, 24))
        success = {
            "path": path,
            "linesAdded": 3,
            "linesRemoved": 1,
            "diffString": content[:900],
            "beforeFullFileContent": content,
            "afterFullFileContent": content,
        }
        return self.call(
            "editToolCall", {"path": path, "streamContent": content}, {"success": success}
        )

    def run(self) -> Iterator[bytes]:
        rng, said = self.rng, list[str]()
        yield self.event(
            "system",
            stamped=False,
            subtype="init",
            apiKeySource="login",
            cwd="/home/dev/project",
            model="Auto",
            permissionMode="default",
        )
        prompt = {"role": "user", "content": [{"type": "text", "text": words(rng, 30)}]}
        yield self.event("user", stamped=False, message=prompt)
        for _ in range(rng.randrange(10, 60)):
            yield from self.segment(said)
            batch = [
                rng.choice((self.read, self.shell, self.edit))() for _ in range(rng.randrange(1, 4))
            ]
            yield from (started for started, _ in batch)
            rng.shuffle(batch)
            yield from (completed for _, completed in batch)
        yield from self.segment(said, last=True)
        yield self.event(
            "result",
            stamped=False,
            subtype="success",
            duration_ms=98765,
            duration_api_ms=98765,
            is_error=False,
            result="".join(said),
            request_id=self.session,
            usage={"inputTokens": 8830, "outputTokens": 185},
        )


class ClaudeSession(Session):
    """The same of Claude Code, with partial messages: deltas, then the whole block."""

    def event(self, kind: str, *, stamped: bool = True, **members: Any) -> bytes:
        own: dict[str, Any] = {"session_id": self.session, "uuid": self.uuid()}
        own |= {"parent_tool_use_id": None} if stamped else {}
        event = {"type": kind, **members, **own}
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def streamed(self, kind: str, **members: Any) -> bytes:
        return self.event("stream_event", event={"type": kind, "index": 0, **members})

    def block(self, role: str, **block: Any) -> bytes:
        return self.event(role, message={"role": role, "content": [block]})

    def partial(self, kind: str, member: str, count: int) -> Iterator[bytes]:
        """A block in deltas, and whole."""
        rng = self.rng
        deltas = [words(rng, rng.randrange(1, 5)) + " " for _ in range(count)]
        yield self.streamed("content_block_start", content_block={"type": member, member: ""})
        for delta in deltas:
            yield self.streamed("content_block_delta", delta={"type": kind, member: delta})
        yield self.block("assistant", **{"type": member, member: "".join(deltas)})
        yield self.streamed("content_block_stop")

    def called(self, name: str, given: dict[str, Any], content: str, **beside: Any) -> list[bytes]:
        identity = f"toolu_{self.rng.getrandbits(64):016x}"
        text = json.dumps(given)
        fragments = (text[i : i + 40] for i in range(0, len(text), 40))
        answer = {"type": "tool_result", "tool_use_id": identity, "content": content}
        answer["is_error"] = beside.get("exit_code", 0) != 0
        message = {"role": "user", "content": [answer]}
        return [
            *(
                self.streamed(
                    "content_block_delta", delta={"type": "input_json_delta", "partial_json": part}
                )
                for part in fragments
            ),
            self.block("assistant", type="tool_use", id=identity, name=name, input=given),
            self.event("user", message=message, tool_use_result=beside),
        ]

    def one_call(self) -> list[bytes]:
        rng = self.rng
        path = f"/home/dev/project/{EDITED.format(rng.choice(WORDS))}"
        text = self.contents(rng, rng.randrange(3, 40))
        code = 0 if rng.random() < 0.9 else 2
        return rng.choice(
            (
                lambda: self.called("Read", {"file_path": path}, text, file={"totalLines": 9}),
                lambda: self.called("Bash", {"command": "grep -rn x src"}, text, exit_code=code),
                lambda: self.called("Write", {"file_path": path, "content": text}, "Created."),
            )
        )()

    def run(self) -> Iterator[bytes]:
        rng = self.rng
        yield self.event(
            "system", stamped=False, subtype="init", cwd="/home/dev/project", tools=["Bash"],
            mcp_servers=[], model="claude-opus-5", permissionMode="default", apiKeySource="none",
            claude_code_version="2.1.238",
        )  # fmt: skip
        yield self.block("user", type="text", text=words(rng, 30))
        for _ in range(rng.randrange(10, 60)):
            yield self.streamed("message_start", message={"role": "assistant", "content": []})
            yield from self.partial("thinking_delta", "thinking", rng.randrange(4, 30))
            yield from self.partial("text_delta", "text", rng.randrange(4, 30))
            yield from self.one_call()
        yield self.event(
            "result", stamped=False, subtype="success", is_error=False, duration_ms=98765,
            duration_api_ms=98765, num_turns=4, result="Done.", total_cost_usd=0.25,
            usage={"input_tokens": 8830, "output_tokens": 185},
        )  # fmt: skip


class CodexSession(Session):
    """A thread of Codex: nothing comes in deltas, and nothing but its first line names it."""

    def event(self, kind: str, *, stamped: bool = False, **members: Any) -> bytes:
        event = {"type": kind, **members} | ({"timestamp_ms": self.clock} if stamped else {})
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def items(self) -> Iterator[bytes]:
        rng, number = self.rng, 0

        def item(kind: str, state: str = "completed", **members: Any) -> bytes:
            own = {"id": f"item_{number}", "type": kind, **members}
            return self.event(f"item.{state}", item=own)

        for number in range(rng.randrange(30, 200)):  # noqa: B007
            command = {"command": f"/bin/bash -lc 'rg {rng.choice(WORDS)} src'"}
            path = f"/home/dev/project/{EDITED.format(rng.choice(WORDS))}"
            change: dict[str, Any] = {
                "changes": [{"path": path, "kind": rng.choice(("add", "update"))}]
            }
            turn = rng.randrange(6)
            if turn == 0:
                yield item("reasoning", text=f"**{words(rng, 4)}**\n\n{words(rng, 30)}")
            elif turn == 1:
                yield item("agent_message", text=words(rng, rng.randrange(5, 60)))
            elif turn == 2:
                yield item("file_change", "started", **change, status="in_progress")
                yield item("file_change", **change, status="completed")
            else:
                begun = {"aggregated_output": "", "exit_code": None, "status": "in_progress"}
                yield item("command_execution", "started", **command, **begun)
                code = 0 if rng.random() < 0.9 else 1
                ended: dict[str, Any] = {
                    "aggregated_output": self.contents(rng, rng.randrange(1, 30)),
                    "exit_code": code,
                    "status": "failed" if code else "completed",
                }
                yield item("command_execution", **command, **ended)
        yield item("agent_message", text=words(rng, 60))

    def run(self) -> Iterator[bytes]:
        yield self.event("thread.started", thread_id=self.session)
        yield self.event("turn.started")
        yield from self.items()
        yield self.event("turn.completed", usage={"input_tokens": 8830, "output_tokens": 185})


class PiSession(CodexSession):
    """A session of Pi: words and arguments in deltas, then whole, and once more at the end."""

    def say(self, message: dict[str, Any]) -> Iterator[bytes]:
        """A message, streamed if it is the agent's."""
        agent = message["role"] == "assistant"
        yield self.event("message_start", message=message | ({"content": []} if agent else {}))
        for index, block in enumerate(message["content"] if agent else ()):
            kind = block["type"].lower()
            text = block.get(block["type"]) or json.dumps(block["arguments"])
            for part in (text[at : at + 12] for at in range(0, len(text), 12)):
                update = {"type": f"{kind}_delta", "contentIndex": index, "delta": part}
                yield self.event("message_update", usage=USAGE, assistantMessageEvent=update)
        yield self.event("message_end", message=message)

    def run(self) -> Iterator[bytes]:
        rng, made = self.rng, list[dict[str, Any]]()
        yield self.event("session", version=3, id=self.session, cwd="/home/dev/project")
        yield self.event("agent_start")
        made.append({"role": "user", "content": [{"type": "text", "text": words(rng, 30)}]})
        yield from self.say(made[0])
        turns = rng.randrange(5, 40)
        for turn in range(turns):
            yield self.event("turn_start")
            thought = {"type": "thinking", "thinking": words(rng, rng.randrange(10, 60))}
            said = {"type": "text", "text": words(rng, rng.randrange(5, 40))}
            identity = f"call_{rng.getrandbits(64):016x}"
            called: dict[str, Any] = {"toolCallId": identity, "toolName": "bash"}
            args = {"command": f"rg -n {rng.choice(WORDS)} src | head"}
            call = {"type": "toolCall", "id": identity, "name": "bash", "arguments": args}
            last = turn == turns - 1
            message = {
                "role": "assistant",
                "content": [thought, said] if last else [thought, said, call],
                "model": "glm-5.3",
                "usage": USAGE,
                "stopReason": "stop" if last else "toolUse",
            }
            made.append(message)
            yield from self.say(message)
            if not last:
                output = [{"type": "text", "text": self.contents(rng, rng.randrange(1, 30))}]
                yield self.event("tool_execution_start", **called, args=args)
                failed = rng.random() < 0.1
                ended = called | {"result": {"content": output}, "isError": failed}
                yield self.event("tool_execution_end", **ended)
                made.append({"role": "toolResult", **called, "content": output, "isError": failed})
                yield from self.say(made[-1])
            yield self.event("turn_end", message=message, toolResults=made[-1:] if not last else [])
        yield self.event("agent_end", messages=made)


class SavedClaudeSession(Session):
    """A session that Claude Code saved: each block is a line, and what a tool returned stands
    twice, for the model and for people."""

    before: str | None = None

    def event(self, kind: str, **members: Any) -> bytes:
        self.clock += self.rng.randrange(9000)
        own = {"parentUuid": self.before, "isSidechain": False, "userType": "external"}
        own |= {"cwd": "/home/dev/project", "sessionId": self.session, "version": "2.1.238"}
        self.before = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        event = {**own, "type": kind, **members, "uuid": self.before, "timestamp": iso(self.clock)}
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def block(self, **block: Any) -> bytes:
        usage = {"input_tokens": 7, "cache_read_input_tokens": 18764, "output_tokens": 130}
        identity = f"msg_{self.rng.getrandbits(64):016x}"
        told: dict[str, Any] = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
        }
        told |= {"content": [block], "stop_reason": None, "usage": usage}
        return self.event("assistant", message=told)

    def called(self, name: str, given: dict[str, Any], content: str, told: Any) -> Iterator[bytes]:
        identity, failed = f"toolu_{self.rng.getrandbits(64):016x}", isinstance(told, str)
        yield self.block(type="tool_use", id=identity, name=name, input=given)
        answer = {"tool_use_id": identity, "type": "tool_result", "content": content}
        message = {"role": "user", "content": [answer | ({"is_error": True} if failed else {})]}
        yield self.event("user", message=message, toolUseResult=told)

    def one_call(self) -> Iterator[bytes]:
        rng, path = self.rng, f"/home/dev/project/{EDITED.format(self.rng.choice(WORDS))}"
        text = self.contents(rng, rng.randrange(3, 60))
        lines = text.splitlines()
        hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 3}
        turn = rng.randrange(4)
        if turn == 0:
            file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1}
            told: Any = {"type": "text", "file": file | {"totalLines": len(lines)}}
            numbered = "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(lines, 1))
            return self.called("Read", {"file_path": path}, numbered, told)
        if turn == 1:
            old, new = "\n".join(lines[:3]), "\n".join(lines[1:4])
            patch = [hunk | {"lines": ["-" + lines[0], *(f" {one}" for one in lines[1:4])]}]
            told = {"filePath": path, "oldString": old, "newString": new, "originalFile": text}
            given = {"file_path": path, "old_string": old, "new_string": new}
            done = f"The file {path} has been updated."
            return self.called("Edit", given, done, told | {"structuredPatch": patch})
        given = {"command": f"grep -rn {rng.choice(WORDS)} src", "description": "Search"}
        if rng.random() < 0.1:
            return self.called("Bash", given, f"Exit code 2\n{text}", f"Error: Exit code 2\n{text}")
        told = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        return self.called("Bash", given, text, told)

    def run(self) -> Iterator[bytes]:
        rng = self.rng
        for _ in range(rng.randrange(1, 6)):
            yield self.event("user", message={"role": "user", "content": words(rng, 30)})
            for _ in range(rng.randrange(5, 30)):
                if rng.randrange(3) == 0:
                    yield self.block(type="text", text=words(rng, rng.randrange(5, 60)))
                yield from self.one_call()
            yield self.block(type="text", text=words(rng, 60))


class SavedCodexSession(Session):
    """A session that Codex saved: words and thoughts stand twice."""

    def event(self, kind: str, what: str = "", **members: Any) -> bytes:
        self.clock += self.rng.randrange(9000)
        payload = {"type": what, **members} if what else members
        event = {"timestamp": iso(self.clock), "type": kind, "payload": payload}
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def say(self, kind: str, text: str) -> Iterator[bytes]:
        rng = self.rng
        if kind == "reasoning":
            yield self.event("event_msg", "agent_reasoning", text=text)
            secret = base64.b64encode(rng.randbytes(900)).decode()
            summary = [{"type": "summary_text", "text": text}]
            own = {"summary": summary, "content": None, "encrypted_content": secret}
            yield self.event("response_item", "reasoning", **own)
        else:
            content = [{"type": "output_text", "text": text}]
            yield self.event("response_item", "message", role="assistant", content=content)
            yield self.event("event_msg", "agent_message", message=text)

    def one_call(self) -> Iterator[bytes]:
        rng, identity = self.rng, f"call_{self.rng.getrandbits(64):016x}"
        command = ["bash", "-lc", f"rg -n {rng.choice(WORDS)} src"]
        given = json.dumps({"command": command, "workdir": "/home/dev/project"})
        called: dict[str, Any] = {"name": "shell", "arguments": given, "call_id": identity}
        yield self.event("response_item", "function_call", **called)
        ended = {"exit_code": 0 if rng.random() < 0.9 else 1, "duration_seconds": 0.2}
        text = self.contents(rng, rng.randrange(3, 60))
        output = json.dumps({"output": text, "metadata": ended})
        yield self.event("response_item", "function_call_output", call_id=identity, output=output)

    def run(self) -> Iterator[bytes]:
        rng, cwd = self.rng, "/home/dev/project"
        yield self.event("session_meta", id=self.session, cwd=cwd, cli_version="0.142.0")
        total = 0
        for _ in range(rng.randrange(1, 6)):
            yield self.event("turn_context", cwd=cwd, model="gpt-5-codex", effort="high")
            yield self.event("event_msg", "user_message", message=words(rng, 30))
            for _ in range(rng.randrange(5, 30)):
                yield from self.say("reasoning", f"**{words(rng, 5)}**")
                yield from self.one_call()
                total += 130
                counts = {"input_tokens": total * 30, "output_tokens": total, "total_tokens": total}
                info = {"total_token_usage": counts, "last_token_usage": counts}
                yield self.event("event_msg", "token_count", info=info, rate_limits=None)
            said = words(rng, 60)
            yield from self.say("message", said)
            yield self.event("event_msg", "task_complete", last_agent_message=said)


def iso(milliseconds: int) -> str:
    clock = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return clock.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


USAGE = {
    "input": 65, "output": 32, "cacheRead": 13696, "cacheWrite": 0, "totalTokens": 13793,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}  # fmt: skip

AGENTS: dict[str, type[Session]] = {
    "cursor": Session, "claude": ClaudeSession, "codex": CodexSession, "pi": PiSession,
    "saved claude": SavedClaudeSession, "saved codex": SavedCodexSession,
}  # fmt: skip


def stream(
    size: int, seed: int = 1, agent: str = "cursor", contents: Contents = source
) -> Iterator[bytes]:
    """Complete runs, line by line, until at least ``size`` bytes have been made."""
    rng, made = random.Random(seed), 0
    while made < size:
        for line in AGENTS[agent](rng, contents).run():
            made += len(line)
            yield line
