"""What of a request's JSON decides which model and which replica gets it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

MOST_TEXT = 256 * 512  # characters that are compared; see prefix_index


@dataclass(frozen=True)
class RequestKey:
    """Sent with each request to the router. `avoid`: replicas where an earlier attempt failed."""

    session: str = ""
    text: str = ""
    avoid: tuple[str, ...] = field(default=())


def _text_of(value: Any, out: list[str]) -> None:
    """The strings of a JSON value, in its order."""
    stack = [value]
    length = 0
    while stack and length < MOST_TEXT:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            length += len(item) + 1
        elif isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, (int, float)):  # prompts of token ids
            out.append(str(item))
            length += len(out[-1]) + 1


def prompt_text(body: dict[str, Any]) -> str:
    """The text that the prompt begins with, in the order in which chat templates have it."""
    out: list[str] = []
    for name in ("system", "instructions", "tools", "messages", "prompt", "input"):
        if name in body:
            _text_of(body[name], out)
    return "\n".join(out)[:MOST_TEXT]


def key_of(body: dict[str, Any], headers: dict[str, str]) -> RequestKey:
    """`session_id` (or the header x-session-id) keeps a conversation on one replica."""
    session = body.get("session_id") or headers.get("x-session-id", "")
    return RequestKey(session=session if isinstance(session, str) else "", text=prompt_text(body))


def parse(raw: bytes) -> dict[str, Any] | None:
    """None if the body is not a JSON object: the server answers that with its own error."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
