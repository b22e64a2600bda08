"""The real client requests text in a format and gets it, from a small model that would otherwise answer differently."""

import json
import random
import re

import jsonschema
import openai
import pytest
import requests
from server_process import MODEL, ROOT, ServerProcess

DRAFT = ROOT / "models" / "tiny" / "inferflux-tiny-draft.gguf"

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "mood": {"enum": ["good", "bad", None]},
        "scores": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}, "maxItems": 3},
        "friend": {"anyOf": [{"$ref": "#/$defs/friend"}, {"type": "null"}]},
    },
    "required": ["name", "age", "mood", "friend"],
    "additionalProperties": False,
    "$defs": {"friend": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"}, "met": {"type": "string", "format": "date"}},
                         "required": ["name", "met"], "additionalProperties": False}},
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}}
QUESTION = [{"role": "user", "content": "Tell me about somebody."}]


def check(schema, text):
    jsonschema.validate(json.loads(text), schema, format_checker=jsonschema.FormatChecker())


def streamed(chunks):
    text, reason = "", None
    for chunk in chunks:
        text += chunk.choices[0].delta.content or ""
        reason = chunk.choices[0].finish_reason or reason
    return text, reason


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 2, "seed": 1}, {"temperature": 1, "top_p": 0.9, "seed": 2, "presence_penalty": 1}])
def test_a_schema_is_kept_streaming_and_not(client, sampling):
    asked = dict(model="default", messages=QUESTION, response_format=FORMAT, max_tokens=400, **sampling)
    answer = client.chat.completions.create(**asked).choices[0]
    assert answer.finish_reason == "stop"
    check(PERSON, answer.message.content)
    text, reason = streamed(client.chat.completions.create(stream=True, **asked))
    assert (text, reason) == (answer.message.content, "stop")


def test_hot_walks_end_in_valid_documents(client):
    for seed in range(8):
        choices = client.chat.completions.create(model="default", messages=QUESTION, response_format=FORMAT, temperature=2, seed=seed * 10, n=4, max_tokens=400).choices
        assert len({choice.message.content for choice in choices}) > 1
        for choice in choices:
            assert choice.finish_reason == "stop"
            check(PERSON, choice.message.content)


@pytest.fixture(scope="module")
def golden():
    cases = json.loads((ROOT / "tests/data/grammar/schemas.json").read_text())
    return random.Random(3).sample([case["schema"] for case in cases], 40)


def test_schemas_of_all_kinds(server, golden):
    whole = 0
    for index, schema in enumerate(golden):
        body = {"prompt": "An example:", "max_tokens": 200, "temperature": 1.5, "seed": index, "structured_outputs": {"json": schema}}
        response = requests.post(server.url + "/v1/completions", json=body, timeout=60)
        assert response.status_code == 200, (schema, response.text)
        choice = response.json()["choices"][0]
        if choice["finish_reason"] == "stop":
            whole += 1
            check(schema, choice["text"])
    assert whole > 25, "most documents are short"


@pytest.mark.parametrize("speculative", [{"type": "prompt_lookup", "max_tokens": 8}, {"type": "draft", "max_tokens": 4}])
def test_guesses_change_nothing(server, tmp_path_factory, speculative):
    config = tmp_path_factory.mktemp("draft") / "server.yaml"
    config.write_text(f"models:\n  - path: {MODEL}\n    draft: {DRAFT}\n")
    with ServerProcess("--config", str(config), model=None) as drafting:
        for seed in range(4):
            body = {"messages": QUESTION, "response_format": FORMAT, "max_tokens": 300, "temperature": 1, "seed": seed}
            plain = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60).json()["choices"][0]
            drafted = requests.post(drafting.url + "/v1/chat/completions", json=body | {"speculative": speculative}, timeout=60).json()["choices"][0]
            assert drafted["message"] == plain["message"] and drafted["finish_reason"] == plain["finish_reason"]
            check(PERSON, drafted["message"]["content"])


def test_choices_patterns_and_grammars(client):
    def ask(**extra):
        return client.completions.create(model="default", prompt="The answer is", max_tokens=60, temperature=1.5, seed=4, extra_body=extra).choices[0]

    assert ask(structured_outputs={"choice": ["left", "right"]}).text in ("left", "right")
    assert re.fullmatch(r"[A-Z]{2}-\d{3,5}", ask(structured_outputs={"regex": r"[A-Z]{2}-\d{3,5}"}).text)
    assert re.fullmatch(r"\d+([+*]\d+){2}", ask(grammar='root ::= n ([+*] n){2}\nn ::= [0-9]{1,4}').text)
    assert isinstance(json.loads(ask(structured_outputs={"json": {"type": "array", "items": {"type": "null"}, "maxItems": 4}}).text), list)


def test_a_grammar_may_come_under_an_older_name_too(client):
    """As clients of vLLM send it, to old and new servers alike."""
    def ask(**extra):
        return client.completions.create(model="default", prompt="The answer is", max_tokens=60, temperature=1.5, seed=4, extra_body=extra).choices[0]

    lark = '%llguidance {}\nstart: "n = " NUM\nNUM: /[0-9]{2}/\n'
    assert re.fullmatch(r"n = \d\d", ask(guided_grammar=lark, guided_decoding_backend="guidance", structured_outputs={"grammar": lark}).text)
    assert re.fullmatch(r"\d{3}", ask(guided_grammar="root ::= [0-9]{3}").text)
    limited = ask(guided_grammar='%llguidance {}\nstart[max_tokens=2]: /[a-z ]{200}/\n')
    assert limited.finish_reason == "length"
    with pytest.raises(openai.BadRequestError, match="cannot go with 'guided_grammar'|cannot go with 'structured_outputs"):
        ask(guided_grammar="root ::= [0-9]", structured_outputs={"grammar": lark})


def test_it_goes_with_the_other_fields(client):
    asked = dict(model="default", messages=QUESTION, temperature=0)
    short = client.chat.completions.create(response_format=FORMAT, max_tokens=5, **asked).choices[0]
    assert short.finish_reason == "length"
    scored = client.chat.completions.create(response_format=FORMAT, max_tokens=400, logprobs=True, top_logprobs=3, **asked).choices[0]
    assert "".join(entry.token for entry in scored.logprobs.content) == scored.message.content
    stopped = client.chat.completions.create(response_format=FORMAT, max_tokens=400, stop=['"age"'], **asked).choices[0]
    assert stopped.finish_reason == "stop" and '"age"' not in stopped.message.content
    ignoring = client.chat.completions.create(response_format=FORMAT, max_tokens=400, extra_body={"ignore_eos": True}, **asked).choices[0]
    assert ignoring.finish_reason == "stop"
    check(PERSON, ignoring.message.content)


def test_what_cannot_be_is_refused_with_its_place(client, server):
    bad = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"n": {"type": "array", "uniqueItems": True}}}}}
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="default", messages=QUESTION, response_format=bad)
    assert refused.value.param == "response_format.json_schema.schema" and "#/properties/n/uniqueItems" in refused.value.message
    models = requests.get(server.url + "/v1/models", timeout=20).json()["data"]
    assert models[0]["capabilities"]["supports_structured_output"] is True
