"""One question and its answer, with the rule by which an answer is judged."""

from dataclasses import dataclass, field


@dataclass
class Exchange:
    task: str
    user: str
    answer: str
    # A one-word answer, and a plain one-sentence reason; None where the task has none.
    short: str | None = None
    reason: str | None = None
    # How an answer is judged (see judge.py): exact, contains, json, story.
    rule: str = "exact"
    # What the rule looks for; the answer itself where empty.
    expect: list[str] = field(default_factory=list)
    # Whether the words must keep their letter case (copying tasks), so that no casual spelling is applied.
    literal: bool = False


@dataclass
class Conversation:
    """Messages as the chat template takes them. `judged` holds (index of an assistant message, rule, expect, task).

    Of an assistant's message, the first `opening` characters are not learned, since a constraint forces them; the judge gives
    `given` characters. Of a message that has `unlearned`, nothing is learned.
    """

    messages: list[dict]
    tools: list[dict] | None = None
    judged: list[tuple[int, str, list[str], str]] = field(default_factory=list)
    # Text trained on as it is, without the template (the raw completion endpoint); then messages is empty.
    raw: str | None = None
