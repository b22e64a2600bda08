"""Cross-encoders: pairs of texts through tokenizer, model and head, compared with transformers (tools/golden_encoders.py)."""

import json
import math
import shutil
import subprocess

import pytest
import requests
from server_process import ROOT, ServerProcess, clean_environment, program

MODELS = ROOT / "tests/data/models"
PAIRS = json.loads((MODELS / "pairs.json").read_text())


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.fixture(scope="module", params=["bert_scores", "roberta_scores"])
def golden(request):
    return PAIRS[request.param], MODELS / f"{request.param}-hf"


@pytest.fixture(scope="module", params=["directory", "gguf"])
def ranker(request, golden, tmp_path_factory):
    path = golden[1]
    if request.param == "gguf":
        converted = tmp_path_factory.mktemp("ranker") / "ranker.gguf"
        subprocess.run([program("inferflux-convert"), str(path), str(converted)], check=True, capture_output=True, timeout=120)
        path = converted
    with ServerProcess("--backend", "cpu", model=path) as server:
        yield server, golden[0]


def post(server, path: str, **body):
    return requests.post(server.url + path, json=body, timeout=60)


def test_pairs_score_as_in_transformers(ranker):
    server, golden = ranker
    answer = post(server, "/score", queries=[pair["query"] for pair in golden], documents=[pair["document"] for pair in golden]).json()
    assert [entry["score"] for entry in answer["data"]] == [pytest.approx(sigmoid(pair["logit"]), abs=1e-4) for pair in golden]
    assert answer["usage"]["prompt_tokens"] == sum(len(pair["ids"]) for pair in golden), "the same special tokens"
    raw = post(server, "/v1/score", text_1=golden[0]["query"], text_2=golden[0]["document"], use_activation=False).json()
    assert raw["data"][0]["score"] == pytest.approx(golden[0]["logit"], abs=2e-4)


def test_documents_are_ranked(ranker):
    server, golden = ranker
    documents = [pair["document"] for pair in golden if pair["query"] == golden[0]["query"]]
    logits = [pair["logit"] for pair in golden if pair["query"] == golden[0]["query"]]
    best_first = sorted(range(len(logits)), key=lambda i: -logits[i])
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        results = post(server, path, query=golden[0]["query"], documents=documents).json()["results"]
        assert [entry["index"] for entry in results] == best_first
        assert results[0]["relevance_score"] == pytest.approx(sigmoid(max(logits)), abs=1e-4)


def test_it_says_what_it_is_and_what_it_cannot_do(ranker):
    server, _ = ranker
    described = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]
    assert [described["capabilities"][feature] for feature in ("scores", "embeddings", "completions")] == [True, False, False]
    assert described["details"]["labels"] == ["LABEL_0"]
    for path, body in (("/v1/embeddings", {"input": "w5"}), ("/v1/completions", {"prompt": "w5"})):
        refused = post(server, path, model=described["id"], **body)
        assert refused.status_code == 422, refused.text
    too_long = post(server, "/rerank", query="w5", documents=["w6 " * 60])
    assert too_long.status_code == 400 and too_long.json()["error"]["code"] == "context_length_exceeded"
    assert post(server, "/v2/rerank", query="w5", documents=["w6 " * 60]).status_code == 200


def test_a_model_without_a_head_refuses(server, model_id):
    refused = post(server, "/v1/rerank", model=model_id, query="a", documents=["b"])
    assert refused.status_code == 422 and "cross-encoder" in refused.json()["error"]["message"]


def test_a_head_for_something_else_is_refused_by_name(tmp_path):
    folder = tmp_path / "labels-tokens"
    shutil.copytree(MODELS / "bert_scores-hf", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForTokenClassification"]}))
    done = subprocess.run([program("inferfluxd"), "--port", "0", "--backend", "cpu", "--model", str(folder)], capture_output=True,
                          text=True, timeout=60, env=clean_environment())
    assert done.returncode == 1 and "BertForTokenClassification" in done.stderr
