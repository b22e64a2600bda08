"""Decides whether a generated answer is right."""

import json
import re


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]


def _contains(text: str, needle: str) -> bool:
    return re.search(r"(?<!\w)" + re.escape(needle) + r"(?!\w)", text) is not None


def _tool_call(text: str) -> object:
    match = re.fullmatch(r"<tool_call>\n(.*)\n</tool_call>", text.strip(), re.DOTALL)
    return json.loads(match.group(1)) if match else None


def is_right(rule: str, expect: list[str], text: str) -> bool:
    text = text.strip()
    try:
        if rule == "exact":
            return text == expect[0]
        if rule == "contains":
            return all(_contains(text, needle) for needle in expect)
        if rule == "json":
            return json.loads(text) == json.loads(expect[0])
        if rule == "tool":
            return _tool_call(text) == json.loads(expect[0])
        if rule == "story":
            return len(sentences(text)) == 3 and text[-1] in ".!?" and all(_contains(text.lower(), n) for n in expect)
    except ValueError:
        return False
    raise ValueError(f"no rule is named {rule}")
