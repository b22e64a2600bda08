"""Checks replies against OpenAI's own specification."""

import gzip
import json
import os
from pathlib import Path

import jsonschema
import pytest
import requests
from server_process import ROOT, eventually

SPEC = Path(os.environ.get("INFERFLUX_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance")) / "openai" / "openapi.json.gz"
CHAT = {"messages": [{"role": "user", "content": "What is 2+2?"}], "temperature": 0, "max_tokens": 12}


@pytest.fixture(scope="module")
def validate():
    if not SPEC.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{SPEC} is missing")
        pytest.skip(f"{SPEC} is missing; set INFERFLUX_CONFORMANCE_DIR")
    spec = json.loads(gzip.decompress(SPEC.read_bytes()))

    def nullable(node):
        """Converts OpenAPI 3.0's `nullable`, which the specification still uses, to JSON Schema."""
        if isinstance(node, list):
            return [nullable(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: nullable(value) for key, value in node.items()}
        if node.pop("nullable", False) is True:
            return {"anyOf": [node, {"type": "null"}]}
        return node

    components = nullable(spec["components"])

    def check(name: str, value: object) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": components}
        jsonschema.Draft202012Validator(schema).validate(value)

    return check


def events(response) -> list[dict]:
    lines = [line[6:] for line in response.text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]" and lines.count("[DONE]") == 1
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize("more", [{}, {"logprobs": True, "top_logprobs": 2}, {"n": 2}])
def test_chat(server, validate, more):
    validate("CreateChatCompletionResponse",
             requests.post(server.url + "/v1/chat/completions", json={**CHAT, **more}, timeout=60).json())
    stream = requests.post(server.url + "/v1/chat/completions", timeout=60,
                           json={**CHAT, **more, "stream": True, "stream_options": {"include_usage": True}})
    for chunk in events(stream):
        validate("CreateChatCompletionStreamResponse", chunk)


@pytest.mark.parametrize("more", [{}, {"max_output_tokens": 2}, {"metadata": {"a": "b"}, "instructions": "Be brief."}])
def test_responses(server, validate, more):
    body = {"input": "What is 2+2?", "temperature": 0, **more}
    validate("Response", requests.post(server.url + "/v1/responses", json=body, timeout=60).json())
    stream = requests.post(server.url + "/v1/responses", json={**body, "stream": True}, timeout=60)
    lines = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")]
    for event in lines:
        validate("ResponseStreamEvent", event)
    conversation = requests.post(server.url + "/v1/conversations", json={}, timeout=60).json()
    validate("ConversationResource", conversation)


@pytest.mark.parametrize("more", [{}, {"logprobs": 2}, {"n": 2}])
def test_completions(server, validate, more):
    body = {"prompt": "Once", "max_tokens": 4, **more}
    validate("CreateCompletionResponse", requests.post(server.url + "/v1/completions", json=body, timeout=60).json())


def test_models_and_errors(server, validate):
    models = requests.get(server.url + "/v1/models", timeout=5).json()
    validate("ListModelsResponse", models)
    validate("Model", requests.get(server.url + "/v1/models/" + models["data"][0]["id"], timeout=5).json())
    for path, body in (("/v1/completions", "{"), ("/v1/completions", "{}"), ("/nowhere", ""), ("/v1/chat/completions", '{"x":1}')):
        validate("ErrorResponse", requests.post(server.url + path, data=body, timeout=5).json())


def test_files_and_batches(server, validate):
    line = {"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"input": "Hi"}}
    broken = {**line, "url": "/v1/models"}
    for row, status in ((line, "completed"), (broken, "failed")):
        file = requests.post(server.url + "/v1/files", files={"file": ("a.jsonl", json.dumps(row)), "purpose": (None, "batch")}, timeout=10).json()
        validate("OpenAIFile", file)
        body = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h", "metadata": {"a": "b"}}
        batch = requests.post(server.url + "/v1/batches", json=body, timeout=10).json()
        validate("Batch", batch)
        path = server.url + "/v1/batches/" + batch["id"]
        assert eventually(lambda: requests.get(path, timeout=10).json()["status"] == status, 60)
        validate("Batch", requests.get(path, timeout=10).json())
    validate("ListBatchesResponse", requests.get(server.url + "/v1/batches", timeout=10).json())
    validate("ListFilesResponse", requests.get(server.url + "/v1/files", timeout=10).json())
    validate("DeleteFileResponse", requests.delete(server.url + "/v1/files/" + file["id"], timeout=10).json())


def test_embeddings(server, validate):
    reply = requests.post(server.url + "/v1/embeddings", json={"input": ["Hi", "there"]}, timeout=60)
    validate("CreateEmbeddingResponse", reply.json())
