"""instructor, in each mode that makes the server hold the answer to a schema."""

import enum

import instructor
import openai
import pydantic
import pytest


class Unit(str, enum.Enum):
    kilogram = "kg"
    pound = "lb"


class Weight(pydantic.BaseModel):
    number: int = pydantic.Field(ge=0, le=99)
    unit: Unit


@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA])
def test_an_answer_is_the_model_that_was_asked_for(url, mode):
    client = instructor.from_openai(openai.OpenAI(base_url=url, api_key="none", max_retries=0), mode=mode)
    weight = client.chat.completions.create(model="default", response_model=Weight, max_retries=0, temperature=0, max_tokens=128,
                                            messages=[{"role": "user", "content": "How heavy is it?"}])
    assert isinstance(weight, Weight)
