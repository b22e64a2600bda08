"""LiteLLM, as one of its `openai/` models."""

import litellm

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def ask(url, **more):
    return litellm.completion(model="openai/default", api_base=url, api_key="none", messages=QUESTION, temperature=0,
                              num_retries=0, **more)


def test_an_answer_has_its_text_and_usage(url):
    answer = ask(url)
    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def test_a_stream_is_the_same_answer(url):
    pieces = [chunk.choices[0].delta.content or "" for chunk in ask(url, stream=True) if chunk.choices]
    assert len(pieces) > 1
    assert "".join(pieces) == ask(url).choices[0].message.content


def test_an_embedding_is_a_vector_a_text(url):
    answer = litellm.embedding(model="openai/default", api_base=url, api_key="none", input=["a", "b c"])
    first, second = (row["embedding"] for row in answer.data)
    assert len(first) == len(second) > 0 and first != second


def test_a_forced_call_is_one_of_the_tool(url):
    tool = {"type": "function", "function": {"name": "weigh", "parameters": {
        "type": "object", "properties": {"unit": {"enum": ["kg", "lb"]}}, "required": ["unit"], "additionalProperties": False}}}
    answer = ask(url, tools=[tool], tool_choice={"type": "function", "function": {"name": "weigh"}}, max_tokens=64)
    call = answer.choices[0].message.tool_calls[0].function
    assert call.name == "weigh"
    assert call.arguments.replace(" ", "") in ('{"unit":"kg"}', '{"unit":"lb"}')
