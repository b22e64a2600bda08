"""POST /v1/embeddings on the bundled model, with the real client."""

import base64
import math
import struct

import openai
import pytest
import requests
from server_process import ServerProcess


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def refusal(server, status=400, **body):
    response = requests.post(server.url + "/v1/embeddings", json=body, timeout=20)
    assert response.status_code == status, response.text
    return response.json()["error"]


def test_every_form_of_input_and_both_encodings_give_the_same_vector(server, client, model_id):
    by_default = client.embeddings.create(model=model_id, input="Hello there")  # the client requests base64
    floats = client.embeddings.create(model=model_id, input=["Hello there"], encoding_format="float", user="somebody")
    vector = floats.data[0].embedding
    assert [struct.pack("<f", x) for x in by_default.data[0].embedding] == [struct.pack("<f", x) for x in vector]
    assert abs(sum(x * x for x in vector) - 1) < 1e-5
    described = client.models.retrieve(model_id).model_extra
    assert all(described["capabilities"][feature] for feature in ("chat", "completions", "embeddings"))
    assert described["details"]["embedding_dimensions"] == len(vector)
    raw = requests.post(server.url + "/v1/embeddings", timeout=20,
                        json={"input": "Hello there", "encoding_format": "base64"}).json()["data"][0]["embedding"]
    assert base64.b64decode(raw) == struct.pack(f"<{len(vector)}f", *vector)

    ids = client.embeddings.create(model=model_id, input=[5, 6, 7], encoding_format="float")
    listed = client.embeddings.create(model=model_id, input=[[8, 9], [5, 6, 7]], encoding_format="float")
    assert ids.usage.prompt_tokens == ids.usage.total_tokens == 3 and listed.usage.prompt_tokens == 5
    assert [d.index for d in listed.data] == [0, 1]
    assert listed.data[1].embedding == ids.data[0].embedding


def test_a_vector_does_not_depend_on_its_company(client, model_id):
    texts = [f"{word} " * (1 + i % 40) for i, word in enumerate(["one", "two", "three", "four"] * 40)]
    together = client.embeddings.create(model=model_id, input=texts)
    assert len(together.data) == len(texts)
    for i in (0, 39, 77, 159):
        alone = client.embeddings.create(model=model_id, input=texts[i])
        assert list(alone.data[0].embedding) == list(together.data[i].embedding)
    assert cosine(together.data[0].embedding, together.data[1].embedding) < 0.9999


def test_prompt_tokens_are_counted():
    with ServerProcess() as own:  # a shared server may still count what an earlier test left
        own_client = openai.OpenAI(base_url=own.url + "/v1", api_key="none", max_retries=0, timeout=60)
        own_client.embeddings.create(model="default", input=[[11, 12, 13], [14, 15]])
        assert own.metric("inferflux_model_prompt_tokens_total", backend="cpu") == 5
        assert own.metric("inferflux_requests_total", endpoint="embeddings", outcome="stop") == 1


def test_what_cannot_be_is_refused_by_name(server, client, model_id):
    for body, named in (({"input": ""}, "'input'"), ({"input": []}, "empty list"), ({"input": ["a", ""]}, "'input[1]'"),
                        ({"input": [[1], []]}, "'input[1]'"), ({}, "'input' is missing"), ({"input": "a", "inputs": 1}, "inputs"),
                        ({"input": "a", "encoding_format": "int8"}, "'float' or 'base64'"), ({"input": 5}, "a string"),
                        ({"input": ["a"] * 2049}, "at most 2048"), ({"input": [10**6]}, "1000000"),
                        ({"input": "a", "dimensions": 3}, "not trained for shorter vectors")):
        assert named in refusal(server, **body)["message"], body
    context = client.models.retrieve(model_id).model_extra["details"]["context"]
    too_long = refusal(server, input=["a", [1] * (context + 1)])
    assert too_long["code"] == "context_length_exceeded" and str(context) in too_long["message"]
    assert client.embeddings.create(model=model_id, input=[1] * context).usage.prompt_tokens == context
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="no-such-model", input="a")
