"""Reasoning before an answer, in each API with its own client. A budget of tokens ends it: the bundled model was not taught to."""

import json

import anthropic
import ollama
import openai
import pytest
import requests
import thinking_model
from server_process import MODEL, ServerProcess

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
BUDGET = {"thinking_token_budget": 4}
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}


@pytest.fixture(scope="module")
def thinker(tmp_path_factory):
    path = thinking_model.write(MODEL, tmp_path_factory.mktemp("thinking") / "thinking.gguf")
    with ServerProcess(model=path) as running:
        yield running


@pytest.fixture(scope="module")
def thinking(thinker):
    return openai.OpenAI(base_url=thinker.url + "/v1", api_key="none", max_retries=0, timeout=60)


def ask(client, budget=4, **fields):
    extra = {"thinking_token_budget": budget} | fields.pop("extra_body", {})
    return client.chat.completions.create(model="default", messages=QUESTION, temperature=0, max_tokens=80, extra_body=extra, **fields)


def test_reasoning_and_answer_are_apart(thinking):
    message = ask(thinking).choices[0].message
    assert message.reasoning_content.split() and "think>" not in message.reasoning_content
    assert message.content and "think>" not in message.content
    longer = ask(thinking, budget=7).choices[0].message
    assert longer.reasoning_content.startswith(message.reasoning_content)
    assert len(longer.reasoning_content) > len(message.reasoning_content)


def test_the_tokens_of_reasoning_are_counted(thinking):
    def counted(usage):
        return usage.completion_tokens_details.reasoning_tokens

    short, longer = ask(thinking).usage, ask(thinking, budget=7).usage
    assert counted(longer) - counted(short) == 3 and 4 <= counted(short) < short.completion_tokens
    last = list(ask(thinking, stream=True, stream_options={"include_usage": True}))[-1]
    assert counted(last.usage) == counted(short)
    endless = thinking.chat.completions.create(model="default", messages=QUESTION, temperature=0, max_tokens=5).usage
    assert counted(endless) == endless.completion_tokens == 5
    off = thinking.chat.completions.create(model="default", messages=QUESTION, temperature=0, max_tokens=80, reasoning_effort="none").usage
    assert counted(off) == 0
    response = thinking.responses.create(model="default", input=QUESTION, temperature=0, max_output_tokens=80, extra_body={"thinking_token_budget": 4})
    assert response.usage.output_tokens_details.reasoning_tokens == counted(short)


def test_without_a_budget_what_never_closes_is_all_reasoning(thinking):
    answer = thinking.chat.completions.create(model="default", messages=QUESTION, temperature=0, max_tokens=80)
    assert answer.choices[0].message.content == ""
    assert "Paris" in answer.choices[0].message.reasoning_content


def test_a_stream_gives_the_same_parts(thinking):
    whole = ask(thinking).choices[0].message
    deltas = [chunk.choices[0].delta for chunk in ask(thinking, stream=True) if chunk.choices]
    assert "".join(getattr(d, "reasoning_content", None) or "" for d in deltas) == whole.reasoning_content
    assert "".join(d.content or "" for d in deltas) == whole.content


@pytest.mark.parametrize("fields", [{"reasoning_effort": "none"}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}])
def test_reasoning_is_switched_off(thinking, fields):
    answer = thinking.chat.completions.create(model="default", messages=QUESTION, temperature=0, max_tokens=80, **fields)
    assert getattr(answer.choices[0].message, "reasoning_content", None) is None
    assert "Paris" in answer.choices[0].message.content


def test_a_schema_constrains_the_answer_and_not_the_reasoning(thinking):
    message = ask(thinking, extra_body={"structured_outputs": {"json": CITY}}).choices[0].message
    assert json.loads(message.content)["city"] in ("Paris", "Rome")
    assert message.reasoning_content


def test_reasoning_is_taken_back_in_a_history(thinker, thinking):
    message = ask(thinking).choices[0].message
    history = QUESTION + [message.model_dump(exclude_none=True), {"role": "user", "content": "Thank you."}]
    prompt = requests.post(thinker.url + "/apply-template", json={"messages": history}, timeout=60).json()["prompt"]
    assert f"<think>\n{message.reasoning_content}\n</think>\n\n{message.content}<|im_end|>" in prompt
    again = thinking.chat.completions.create(model="default", messages=history, temperature=0, max_tokens=20, extra_body=BUDGET)
    assert again.choices[0].finish_reason in ("stop", "length")


def test_anthropics_thinking_blocks(thinker):
    claude = anthropic.Anthropic(base_url=thinker.url, api_key="none", max_retries=0, timeout=60)
    fields = {"model": "thinking", "max_tokens": 80, "messages": QUESTION, "thinking": {"type": "enabled", "budget_tokens": 4},
              "extra_body": {"temperature": 0}}
    message = claude.messages.create(**fields)
    assert [block.type for block in message.content] == ["thinking", "text"]
    with claude.messages.stream(**fields) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == ["thinking", "text"]
    assert streamed.content[0].thinking == message.content[0].thinking and streamed.content[0].signature
    assert streamed.content[1].text == message.content[1].text
    history = QUESTION + [{"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]},
                          {"role": "user", "content": "Thank you."}]
    assert claude.messages.create(**fields | {"messages": history}).content
    off = claude.messages.create(**fields | {"thinking": {"type": "disabled"}})
    assert [block.type for block in off.content] == ["text"] and "Paris" in off.content[0].text


def test_ollamas_thinking(thinker, thinking):
    llama = ollama.Client(host=thinker.url, timeout=60)
    options = {"temperature": 0, "num_predict": 60}
    on = llama.chat("thinking", QUESTION, think=True, options=options)
    assert "Paris" in on.message.thinking and on.message.content == ""
    off = llama.chat("thinking", QUESTION, think=False, options=options)
    assert "Paris" in off.message.content and off.message.thinking is None
    streamed = list(llama.generate("thinking", QUESTION[0]["content"], think=True, stream=True, options=options))
    assert "".join(piece.thinking or "" for piece in streamed) == on.message.thinking
    assert "thinking" in llama.show("thinking").capabilities


def test_a_model_that_does_not_reason_says_so(client, model_id):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=model_id, messages=QUESTION, extra_body=BUDGET)
    assert refused.value.body["param"] == "thinking_token_budget"
    assert client.chat.completions.create(model=model_id, messages=QUESTION, reasoning_effort="low", max_tokens=2).choices
