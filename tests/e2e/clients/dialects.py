"""The four model APIs that the clients speak: how a request is read as a conversation, how a turn is written.

Anthropic Messages (Claude Code), OpenAI Responses (Codex), OpenAI Chat Completions (Copilot), Gemini. Only what the
clients look at; nothing here knows a script.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Protocol

from tests.e2e.clients.scripts import Block, Conversation, Freeform, Heard, Say, Turn, Use

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
Event = tuple[str, Json | str]  # the name of a server-sent event ("" for none) and its data

SUMMARY = "The work so far, as the scripted model remembers it."  # asked for when a conversation is compacted


class Dialect(Protocol):
    """One API."""

    def read(self, body: Json) -> Conversation:
        """What the model is told."""

    def aside(self, body: Json) -> str:
        """The answer to a request beside the conversation (a title, a summary); empty for the conversation itself."""

    def whole(self, body: Json, turn: Turn) -> Json:
        """A turn as one object."""

    def stream(self, body: Json, turn: Turn) -> Iterator[Event]:
        """A turn as a stream of events."""


def fresh(prefix: str) -> str:
    """An id that nobody else has."""
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def plain(content: Any) -> str:
    """The text of a content, whichever way the API nests it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(plain(item) for item in content)
    if isinstance(content, dict):
        for key in ("text", "content", "output", "response"):
            if key in content:
                return plain(content[key])
    return json.dumps(content)


def called(blocks: tuple[Block, ...]) -> bool:
    """Does the turn call a tool?"""
    return any(not isinstance(block, Say) for block in blocks)


class Anthropic:
    """POST /v1/messages."""

    def read(self, body: Json) -> Conversation:
        pieces = [Heard("system", plain(body.get("system", "")))]
        for message in body.get("messages", []):
            content = message["content"]
            role = "model" if message["role"] == "assistant" else message["role"]
            for block in [content] if isinstance(content, str) else content:
                result = isinstance(block, dict) and block.get("type") == "tool_result"
                pieces.append(Heard("result" if result else role, plain(block)))
        return Conversation(tuple(pieces))

    def aside(self, body: Json) -> str:
        if not body.get("tools"):
            return '{"title": "scripted", "isNewTopic": false}'
        last = body["messages"][-1]
        asked = plain(last["content"])
        return SUMMARY if last["role"] == "user" and "summary of the conversation" in asked else ""

    def whole(self, body: Json, turn: Turn) -> Json:
        content, stop = self._content(turn.blocks), self._stop(turn.blocks)
        return {**self._message(body, turn), "content": content, "stop_reason": stop}

    def stream(self, body: Json, turn: Turn) -> Iterator[Event]:
        yield self._event("message_start", message=self._message(body, turn))
        for index, block in enumerate(self._content(turn.blocks)):
            if block["type"] == "text":
                shell, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                shell = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield self._event("content_block_start", index=index, content_block=shell)
            yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        delta = {"stop_reason": self._stop(turn.blocks), "stop_sequence": None}
        yield self._event("message_delta", delta=delta, usage={"output_tokens": 20})
        yield self._event("message_stop")

    @staticmethod
    def _event(kind: str, **fields: Any) -> Event:
        return kind, {"type": kind, **fields}

    @staticmethod
    def _message(body: Json, turn: Turn) -> Json:
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {
            "id": fresh("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": turn.tokens, "output_tokens": 1, **cached},
        }

    @staticmethod
    def _stop(blocks: tuple[Block, ...]) -> str:
        return "tool_use" if called(blocks) else "end_turn"

    @staticmethod
    def _content(blocks: tuple[Block, ...]) -> list[Json]:
        content: list[Json] = []
        for block in blocks:
            assert not isinstance(block, Freeform), "this API has no tools that take plain text"
            if isinstance(block, Say):
                content.append({"type": "text", "text": block.text})
            else:
                content.append({"type": "tool_use", "id": fresh("toolu"), "name": block.tool, "input": block.input})
        return content


class Responses:
    """POST /v1/responses."""

    def read(self, body: Json) -> Conversation:
        items = body.get("input") or []
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        pieces = [Heard("system", plain(body.get("instructions", "")))]
        for item in items:
            kind, role = item.get("type", "message"), item.get("role", "")
            if kind.endswith("_output"):
                pieces.append(Heard("result", plain(item)))
            elif kind.endswith("_call") or role == "assistant":
                pieces.append(Heard("model", plain(item)))
            elif kind == "message":
                pieces += [Heard("user" if role == "user" else "system", plain(part)) for part in _parts(item)]
        return Conversation(tuple(pieces))

    def aside(self, body: Json) -> str:
        return "" if body.get("tools") else SUMMARY

    def whole(self, body: Json, turn: Turn) -> Json:
        usage = {
            "input_tokens": turn.tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.tokens + 20,
        }
        return {
            "id": fresh("resp"),
            "object": "response",
            "created_at": 0,
            "model": body.get("model"),
            "status": "completed",
            "output": [self._item(block) for block in turn.blocks],
            "usage": usage,
        }

    def stream(self, body: Json, turn: Turn) -> Iterator[Event]:
        response = self.whole(body, turn)
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        yield self._event("response.created", response=begun)
        for index, item in enumerate(response["output"]):
            yield self._event("response.output_item.added", output_index=index, item=item)
            yield self._event("response.output_item.done", output_index=index, item=item)
        yield self._event("response.completed", response=response)

    @staticmethod
    def _event(kind: str, **fields: Any) -> Event:
        return kind, {"type": kind, **fields}

    @staticmethod
    def _item(block: Block) -> Json:
        if isinstance(block, Say):
            content = [{"type": "output_text", "text": block.text, "annotations": []}]
            return {
                "type": "message",
                "id": fresh("msg"),
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        common = {"call_id": fresh("call"), "name": block.tool, "status": "completed"}
        if isinstance(block, Freeform):
            return {"type": "custom_tool_call", "id": fresh("ctc"), "input": block.text, **common}
        if block.tool.startswith("mcp__"):  # Codex offers an MCP server's tools as functions of a namespace
            server, _, tool = block.tool.removeprefix("mcp__").partition("__")
            common |= {"namespace": f"mcp__{server}", "name": tool}
        return {"type": "function_call", "id": fresh("fc"), "arguments": json.dumps(block.input), **common}


def _parts(item: Json) -> list[Any]:
    content = item.get("content", "")
    return content if isinstance(content, list) else [content]


class Chat:
    """POST /v1/chat/completions."""

    def read(self, body: Json) -> Conversation:
        names = {"assistant": "model", "tool": "result", "user": "user"}
        pieces: list[Heard] = []
        for message in body.get("messages", []):
            role = names.get(message["role"], "system")
            pieces += [Heard(role, plain(part)) for part in _parts(message)]
        return Conversation(tuple(pieces))

    def aside(self, body: Json) -> str:
        return "" if body.get("tools") else "scripted"

    def whole(self, body: Json, turn: Turn) -> Json:
        message: Json = {"role": "assistant", "content": self._text(turn.blocks) or None}
        if called(turn.blocks):
            message["tool_calls"] = self._calls(turn.blocks)
        choice = {"index": 0, "message": message, "finish_reason": self._stop(turn.blocks)}
        return {**self._base(body, "chat.completion"), "choices": [choice], "usage": self._usage(turn)}

    def stream(self, body: Json, turn: Turn) -> Iterator[Event]:
        base = self._base(body, "chat.completion.chunk")
        delta: Json = {"role": "assistant", "content": self._text(turn.blocks)}
        if called(turn.blocks):
            delta["tool_calls"] = self._calls(turn.blocks)
        yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        ended = {"index": 0, "delta": {}, "finish_reason": self._stop(turn.blocks)}
        yield "", {**base, "choices": [ended], "usage": self._usage(turn)}
        yield "", "[DONE]"

    @staticmethod
    def _base(body: Json, kind: str) -> Json:
        return {"id": fresh("chatcmpl"), "object": kind, "created": 0, "model": body.get("model")}

    @staticmethod
    def _usage(turn: Turn) -> Json:
        return {"prompt_tokens": turn.tokens, "completion_tokens": 20, "total_tokens": turn.tokens + 20}

    @staticmethod
    def _stop(blocks: tuple[Block, ...]) -> str:
        return "tool_calls" if called(blocks) else "stop"

    @staticmethod
    def _text(blocks: tuple[Block, ...]) -> str:
        return "".join(block.text for block in blocks if isinstance(block, Say))

    @staticmethod
    def _calls(blocks: tuple[Block, ...]) -> list[Json]:
        uses = [block for block in blocks if isinstance(block, Use)]
        return [
            {
                "index": index,
                "id": fresh("call"),
                "type": "function",
                "function": {"name": use.tool, "arguments": json.dumps(use.input)},
            }
            for index, use in enumerate(uses)
        ]


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent."""

    def read(self, body: Json) -> Conversation:
        pieces = [Heard("system", plain(body.get("systemInstruction", {}).get("parts", "")))]
        for content in body.get("contents", []):
            role = "model" if content.get("role") == "model" else "user"
            for part in content.get("parts", []):
                answered = part.get("functionResponse")
                pieces.append(Heard("result", plain(answered)) if answered else Heard(role, plain(part)))
        return Conversation(tuple(pieces))

    def aside(self, body: Json) -> str:
        if body.get("tools"):
            return ""
        routed = {"reasoning": "scripted", "model_choice": "flash"}
        return json.dumps({**routed, "complexity_score": 1, "complexity_reasoning": "scripted"})

    def whole(self, body: Json, turn: Turn) -> Json:
        del body
        content = {"role": "model", "parts": [self._part(block) for block in turn.blocks]}
        usage = {"promptTokenCount": turn.tokens, "candidatesTokenCount": 20, "totalTokenCount": turn.tokens + 20}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    def stream(self, body: Json, turn: Turn) -> Iterator[Event]:
        yield "", self.whole(body, turn)

    @staticmethod
    def _part(block: Block) -> Json:
        assert not isinstance(block, Freeform), "this API has no tools that take plain text"
        if isinstance(block, Say):
            return {"text": block.text}
        return {"functionCall": {"name": block.tool, "args": block.input}}


ANTHROPIC, RESPONSES, CHAT, GEMINI = Anthropic(), Responses(), Chat(), Gemini()


def of(path: str) -> Dialect | None:
    """The API that a request to this path speaks."""
    endings: dict[str, Dialect] = {
        "/messages": ANTHROPIC,
        "/responses": RESPONSES,
        "/chat/completions": CHAT,
        ":generateContent": GEMINI,
        ":streamGenerateContent": GEMINI,
    }
    return next((dialect for ending, dialect in endings.items() if path.endswith(ending)), None)
