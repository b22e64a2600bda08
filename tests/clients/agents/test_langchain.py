"""LangChain's ChatOpenAI, also over the Responses API, and its ChatOllama and OllamaEmbeddings."""

import pytest
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Choice(BaseModel):
    yes: bool


@pytest.fixture()
def chat(url):
    return ChatOpenAI(base_url=url, api_key="none", model="default", temperature=0, max_retries=0, max_tokens=96)


def test_invoke_and_stream_agree(chat):
    whole = chat.invoke("What is the capital of France?")
    assert "Paris" in whole.content
    assert whole.usage_metadata["output_tokens"] > 0
    pieces = [piece.content for piece in chat.stream("What is the capital of France?")]
    assert len(pieces) > 1 and "".join(pieces) == whole.content


def test_batches_keep_their_order(chat):
    answers = chat.batch(["What is the capital of France?", "What is 2+2?"])
    assert "Paris" in answers[0].content and "4" in answers[1].content


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output_is_parsed(chat, method):
    assert isinstance(chat.with_structured_output(Choice, method=method).invoke("Is Paris in France?"), Choice)


def test_the_responses_api_gives_the_same_answer(chat, url):
    responses = ChatOpenAI(base_url=url, api_key="none", model="default", temperature=0, max_retries=0, max_tokens=96, use_responses_api=True)
    whole = responses.invoke("What is the capital of France?")
    assert whole.text == chat.invoke("What is the capital of France?").content
    assert whole.usage_metadata["output_tokens"] > 0 and whole.response_metadata["id"].startswith("resp_")
    pieces = [piece.text for piece in responses.stream("What is the capital of France?")]
    assert len(pieces) > 1 and "".join(pieces) == whole.text
    assert isinstance(responses.with_structured_output(Choice, method="json_schema").invoke("Is Paris in France?"), Choice)


def test_ollamas_api_gives_the_same_answer(chat, server):
    llama = ChatOllama(base_url=server.url, model="default", temperature=0, num_predict=96)
    whole = llama.invoke("What is the capital of France?")
    assert whole.content == chat.invoke("What is the capital of France?").content
    pieces = [piece.content for piece in llama.stream("What is the capital of France?")]
    assert len(pieces) > 1 and "".join(pieces) == whole.content
    assert isinstance(llama.with_structured_output(Choice, method="json_schema").invoke("Is Paris in France?"), Choice)
    first, second = OllamaEmbeddings(base_url=server.url, model="default").embed_documents(["a", "b c"])
    assert len(first) == len(second) > 0 and first != second
