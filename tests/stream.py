"""A synthetic stream of Cursor or Claude Code: seeded, of any size, shaped like real captures.

Lines are about 300 bytes on average: many small thinking and assistant deltas, a replay at the
end of each segment, calls that run in parallel, file contents and shell output in their results.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from typing import Any

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


class Session:
    """Writes the events of one run after the other, all with this session's id."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
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
        content = source(self.rng, self.rng.randrange(5, 60))
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
        output = source(self.rng, self.rng.randrange(1, 20))
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
        content = source(self.rng, self.rng.randrange(3, 24))
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
        text = source(rng, rng.randrange(3, 40))
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


AGENTS: dict[str, type[Session]] = {"cursor": Session, "claude": ClaudeSession}


def stream(size: int, seed: int = 1, agent: str = "cursor") -> Iterator[bytes]:
    """Complete runs, line by line, until at least ``size`` bytes have been made."""
    rng, made = random.Random(seed), 0
    while made < size:
        for line in AGENTS[agent](rng).run():
            made += len(line)
            yield line
