"""The data maker: repeatable, its splits apart, every sample well-formed under the template that ships."""

import json
from collections import Counter
from itertools import islice

import pytest

from tools.tiny import chatml
from tools.tiny.data import arithmetic, capitals, dspy_tasks, extract, few_shot, identity, repeat, sentiment, story, style, tool_catalog, words
from tools.tiny.data.chat import conversations
from tools.tiny.data.judge import is_right, sentences
from tools.tiny.data.split import HELD_OUT, SPLITS, TRAIN, Phrases

jinja2 = pytest.importorskip("jinja2")
MODULES = [arithmetic, capitals, dspy_tasks, extract, few_shot, identity, repeat, sentiment, story, style, tool_catalog, words]


def sample(seed: int, split: str, count: int = 400):
    return list(islice(conversations(seed, split), count))


def all_phrases():
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, Phrases):
                yield f"{module.__name__}.{name}", value
    for intent, (phrases, *_rest) in identity.INTENTS.items():
        yield f"identity.{intent}", phrases
    for kind in tool_catalog.CATALOG:
        yield f"tool.{kind.names[0]}", kind.asks


@pytest.mark.parametrize("split", SPLITS)
def test_same_seed_same_data(split):
    assert [chatml.render(c) for c in sample(5, split)] == [chatml.render(c) for c in sample(5, split)]
    assert [chatml.render(c) for c in sample(5, split)] != [chatml.render(c) for c in sample(6, split)]


def test_phrasings_are_kept_apart():
    seen = 0
    for name, phrases in all_phrases():
        normal = [{p.lower().strip("?.! ") for p in phrases.of(split)} for split in SPLITS]
        assert all(normal), name
        seen += 1
        if name.split(".")[-1] not in ("hello", "bye", "thanks", "how"):  # a greeting differs from another by a mark only
            assert not normal[0] & normal[1], name
    assert seen > 40


def test_held_out_sums_are_never_trained():
    def pairs(split):
        found = set()
        for conversation in sample(7, split, 4000):
            for message in conversation.messages:
                words_said = message["content"].split()
                if message["role"] == "assistant" and len(words_said) == 5 and words_said[1] in "+-" and words_said[3] == "=":
                    a, sign, b = words_said[:3]
                    found.add((sign, *sorted((a, b))) if sign == "+" else (sign, a, b))
        return found
    trained, kept = pairs(TRAIN), pairs(HELD_OUT)
    assert len(trained) > 1000 and len(kept) > 200
    assert not trained & kept


def test_held_out_copies_and_names_are_never_trained():
    def copied(split):
        return {c.messages[i]["content"].lower() for c in sample(8, split, 3000) for i, _, _, task in c.judged if task in ("repeat", "extract")}
    assert not copied(TRAIN) & copied(HELD_OUT)


@pytest.mark.parametrize("split", SPLITS)
def test_the_right_answer_is_judged_right(split):
    tasks = Counter()
    for conversation in sample(9, split, 1500):
        for index, rule, expect, task in conversation.judged:
            message = conversation.messages[index]
            assert is_right(rule, expect, chatml.said(message)[message.get("given", 0):]), (task, expect, message)
            assert not is_right(rule, expect, "Something else")
            tasks[task] += 1
    for task in ("identity", "arithmetic", "capitals", "opposites", "plurals", "sentiment", "repeat", "extract", "tool_call", "tool_answer",
                 "dspy", "dspy_reasoning", "dspy_chat", "dspy_json", "dspy_plain", "dspy_again", "few_shot_labels", "few_shot_forms",
                 "few_shot_word_tasks", "schema", "style_one_word", "style_upper", "style_sentence", "story", "memory"):
        assert tasks[task] > 0, task


def test_arithmetic_is_right():
    for conversation in sample(10, TRAIN, 1500):
        for index, _, _, task in conversation.judged:
            if task == "arithmetic":
                a, sign, b, _, result = conversation.messages[index]["content"].rstrip(".").split()
                assert int(result) == (int(a) + int(b) if sign == "+" else int(a) - int(b))


def test_stories_have_three_sentences():
    told = [c.messages[i]["content"] for c in sample(11, TRAIN, 4000) for i, _, _, task in c.judged if task == "story"]
    assert len(told) > 50
    assert all(len(sentences(text)) == 3 for text in told)


def test_there_are_sixty_capitals():
    assert len(capitals.CAPITALS) == 60


@pytest.mark.parametrize("split", SPLITS)
def test_python_and_jinja_render_alike(split):
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(chatml.TEMPLATE)
    for conversation in sample(12, split, 1000):
        if conversation.raw is not None:
            continue
        assert template.render(messages=conversation.messages, tools=conversation.tools) == chatml.render(conversation)
        index = conversation.judged[-1][0]
        given = conversation.messages[index].get("given", 0)
        prompt = template.render(messages=conversation.messages[:index], tools=conversation.tools, add_generation_prompt=True)
        assert prompt + chatml.said(conversation.messages[index])[:given] == chatml.prompt(conversation, index)


def test_no_sample_holds_a_control_token():
    for conversation in sample(13, TRAIN, 2000):
        for message in conversation.messages:
            assert not any(mark in message["content"] for mark in chatml.SPECIAL)


def test_roles_alternate_and_calls_name_an_offered_tool():
    for conversation in sample(14, TRAIN, 2000):
        roles = [m["role"] for m in conversation.messages if m["role"] != "system"]
        assert roles[1::2] == ["assistant"] * (len(roles) // 2)
        for message in conversation.messages:
            for call in message.get("tool_calls") or []:
                offered = {t["function"]["name"]: t["function"]["parameters"] for t in conversation.tools}
                parameters = offered[call["function"]["name"]]
                assert list(call["function"]["arguments"]) == parameters["required"]
