"""outlines over the OpenAI client."""

import json
from typing import Literal

import openai
import outlines
import pydantic


class Choice(pydantic.BaseModel):
    word: Literal["yes", "no"]


def test_an_answer_is_valid_under_the_model(url):
    model = outlines.from_openai(openai.OpenAI(base_url=url, api_key="none", max_retries=0), "default")
    answer = model("Is Paris in France?", Choice, max_tokens=64, temperature=0)
    assert json.loads(answer)["word"] in ("yes", "no")
