"""LiteLLM, as one of its `openai/` models, of those that speak Ollama's and Anthropic's APIs, and of those that rank documents."""

import json

import litellm
import pytest
from server_process import ROOT, ServerProcess

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


@pytest.mark.parametrize("model", ["ollama/default", "ollama_chat/default", "anthropic/default"])
def test_other_apis_give_the_same_answer(server, url, model):
    asked = {"model": model, "api_base": server.url, "api_key": "none", "messages": QUESTION, "temperature": 0, "max_tokens": 64, "num_retries": 0}
    answer = litellm.completion(**asked)
    if model.startswith("ollama/"):
        assert answer.choices[0].message.content, "a prompt that LiteLLM itself makes of the messages"
    else:
        assert answer.choices[0].message.content.strip() == ask(url).choices[0].message.content.strip()
    assert answer.usage.completion_tokens > 0
    pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(**asked, stream=True) if chunk.choices]
    assert "".join(pieces) == answer.choices[0].message.content


MODELS = ROOT / "tests/data/models"


@pytest.fixture(scope="module")
def ranker():
    with ServerProcess("--backend", "cpu", model=MODELS / "bert_scores-hf") as running:
        yield running


@pytest.mark.parametrize(("provider", "path"), [("hosted_vllm", "/v1/rerank"), ("infinity", "/v1"), ("jina_ai", ""), ("cohere", ""), ("huggingface", "")])
def test_documents_are_ranked(ranker, provider, path):
    pairs = json.loads((MODELS / "pairs.json").read_text())["bert_scores"]
    pairs = [pair for pair in pairs if pair["query"] == pairs[0]["query"]]
    answer = litellm.rerank(model=f"{provider}/default", api_base=ranker.url + path, api_key="none", query=pairs[0]["query"], top_n=2,
                            documents=[pair["document"] for pair in pairs], return_documents=provider != "infinity", num_retries=0)
    best = sorted(range(len(pairs)), key=lambda i: -pairs[i]["logit"])[:2]
    assert [result["index"] for result in answer.results] == best, "as transformers ranks them (tools/golden_encoders.py)"
    assert answer.results[0]["relevance_score"] > answer.results[1]["relevance_score"]
    if provider == "infinity":  # whose documents are bare strings; on this path they are objects, as vLLM's and Jina's are
        return
    assert [result["document"]["text"] for result in answer.results] == [pairs[i]["document"] for i in best]


def test_truncation_is_passed_on(ranker):
    ask = {"model": "hosted_vllm/default", "api_base": ranker.url, "api_key": "none", "query": "w5", "documents": ["w6 " * 60, "w7"], "num_retries": 0}
    with pytest.raises(litellm.exceptions.BadRequestError, match="tokens"):
        litellm.rerank(**ask)
    assert len(litellm.rerank(**ask, max_tokens_per_doc=8, truncate_prompt_tokens=-1).results) == 2
