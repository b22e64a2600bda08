"""pydantic-ai: plain answers, streams and typed output."""

import pydantic
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings


class Choice(pydantic.BaseModel):
    yes: bool


@pytest.fixture()
def model(url):
    return OpenAIChatModel("default", provider=OpenAIProvider(base_url=url, api_key="none"))


SETTINGS = ModelSettings(temperature=0, max_tokens=96)


def test_a_plain_answer(model):
    result = Agent(model, model_settings=SETTINGS).run_sync("What is the capital of France?")
    assert "Paris" in result.output
    assert result.usage.output_tokens > 0


def test_typed_output_comes_by_a_forced_call(model):
    result = Agent(model, output_type=Choice, model_settings=SETTINGS, retries=0).run_sync("Is Paris in France?")
    assert isinstance(result.output, Choice)
