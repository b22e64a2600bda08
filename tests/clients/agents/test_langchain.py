"""LangChain's ChatOpenAI."""

import pytest
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
