"""OpenAI's Files and Batches with its own client: uploads, runs, errors, cancelling, keys, and a restart in the middle."""

import hashlib
import json

import openai
import pytest
import requests
from server_process import ServerProcess, eventually

QUESTION = "What is the capital of France?"
CHAT = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0}
ENDED = ("completed", "failed", "expired", "cancelled")


def lines(*bodies, url="/v1/chat/completions"):
    return "".join(json.dumps({"custom_id": f"line-{i}", "method": "POST", "url": url, "body": body}) + "\n"
                   for i, body in enumerate(bodies)).encode()


def upload(client, content, **more):
    return client.files.create(file=("requests.jsonl", content), purpose="batch", **more)


def create(client, content, endpoint="/v1/chat/completions", **more):
    return client.batches.create(input_file_id=upload(client, content).id, endpoint=endpoint, completion_window="24h", **more)


def ended(client, batch, seconds=60):
    assert eventually(lambda: client.batches.retrieve(batch.id).status in ENDED, seconds), client.batches.retrieve(batch.id)
    return client.batches.retrieve(batch.id)


def results(client, file_id):
    return {row["custom_id"]: row for row in map(json.loads, client.files.content(file_id).text.splitlines())}


def test_files_are_uploaded_listed_read_and_deleted(client, server):
    content = lines(CHAT)
    file = upload(client, content, expires_after={"anchor": "created_at", "seconds": 7200})
    assert (file.filename, file.bytes, file.purpose, file.status) == ("requests.jsonl", len(content), "batch", "processed")
    assert file.expires_at == file.created_at + 7200
    assert client.files.retrieve(file.id) == file
    assert client.files.content(file.id).content == content
    newer = upload(client, b"\x00\xff\r\n--x\r\n")
    assert client.files.content(newer.id).content == b"\x00\xff\r\n--x\r\n", "any bytes, unchanged"
    assert [f.id for f in client.files.list(limit=1)][:2] == [newer.id, file.id], "the client asks for page after page"
    assert [f.id for f in client.files.list(order="asc", after=file.id)][:1] == [newer.id]
    assert {file.id, newer.id} <= {f.id for f in client.files.list(purpose="batch")}
    assert newer.id not in {f.id for f in client.files.list(purpose="batch_output")}
    assert client.files.delete(newer.id).deleted
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(newer.id)


@pytest.mark.parametrize("form, says", [
    ({"data": {"purpose": "batch"}}, "'file' is missing"), ({"files": {"file": b"a"}}, "'purpose' is missing"),
    ({"files": {"file": b"a"}, "data": {"purpose": "fine-tune"}}, "no other use"), ({"files": {"file": b""}, "data": {"purpose": "batch"}}, "empty"),
    ({"files": {"file": b"a"}, "data": {"purpose": "batch", "colour": "red"}}, "colour"), ({"json": {"purpose": "batch"}}, "Content-Type"),
    ({"files": {"file": b"a"}, "data": {"purpose": "batch", "expires_after[anchor]": "created_at", "expires_after[seconds]": "5"}}, "3600")])
def test_a_wrong_upload_is_named(server, form, says):
    if "data" in form and "files" not in form:
        form = {"files": {"purpose": (None, "batch")}}
    refused = requests.post(server.url + "/v1/files", timeout=10, **form)
    assert refused.status_code == 400 and says in refused.json()["error"]["message"], refused.text


def test_a_batch_is_answered_as_live_requests_are(client, model_id):
    batch = create(client, lines({**CHAT, "model": model_id}, {**CHAT, "model": "none"}, CHAT, {**CHAT, "colour": 1}), metadata={"a": "b"})
    assert batch.status in ("validating", "in_progress") and batch.expires_at == batch.created_at + 86400
    batch = ended(client, batch)
    assert (batch.status, batch.metadata, batch.errors) == ("completed", {"a": "b"}, None)
    assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (4, 2, 2)
    assert batch.created_at <= batch.in_progress_at <= batch.finalizing_at <= batch.completed_at
    answers, errors = results(client, batch.output_file_id), results(client, batch.error_file_id)
    assert list(answers) == ["line-0", "line-2"] and list(errors) == ["line-1", "line-3"], "in the order of the requests"
    live = client.chat.completions.create(**CHAT, model=model_id)
    response = answers["line-0"]["response"]
    assert response["status_code"] == 200 and response["request_id"] and answers["line-0"]["error"] is None
    assert response["body"]["choices"][0]["message"]["content"] == live.choices[0].message.content
    assert [errors[line]["response"]["status_code"] for line in errors] == [404, 400]
    assert errors["line-3"]["response"]["body"]["error"]["param"] == "colour"
    output = client.files.retrieve(batch.output_file_id)
    assert output.purpose == "batch_output" and output.filename == f"{batch.id}_output.jsonl"
    assert batch.id in [b.id for b in client.batches.list(limit=100)]
    assert client.files.delete(batch.input_file_id).deleted


@pytest.mark.parametrize("url, body, content", [
    ("/v1/completions", {"prompt": "Once", "max_tokens": 4, "temperature": 0}, lambda body: body["choices"][0]["text"]),
    ("/v1/embeddings", {"input": "Once"}, lambda body: body["data"][0]["embedding"]),
    ("/v1/responses", {"input": QUESTION, "temperature": 0, "store": False}, lambda body: body["output"][0]["content"][0]["text"])])
def test_each_endpoint_of_a_batch(client, server, url, body, content):
    batch = ended(client, create(client, lines(body, body, url=url), endpoint=url))
    answers = results(client, batch.output_file_id)
    live = requests.post(server.url + url, json=body, timeout=60).json()
    assert [content(row["response"]["body"]) for row in answers.values()] == [content(live)] * 2
    assert batch.error_file_id is None


def test_a_file_with_errors_runs_nothing(client):
    broken = b"\n".join([*lines(CHAT).splitlines(), b"{", *lines(CHAT).splitlines(), b'{"custom_id": "x"}',
                         *lines({**CHAT, "stream": True}, url="/v1/chat/completions").replace(b"line-0", b"stream").splitlines(),
                         *lines(CHAT, url="/v1/completions").replace(b"line-0", b"other").splitlines()])
    batch = ended(client, create(client, broken))
    assert batch.status == "failed" and batch.output_file_id is None
    assert [(error.code, error.line) for error in batch.errors.data] == [
        ("invalid_json_line", 2), ("duplicate_custom_id", 3), ("missing_required_parameter", 4), ("invalid_value", 5), ("mismatched_endpoint", 6)]
    assert "stream" in batch.errors.data[3].message
    assert ended(client, create(client, b"\n \n")).errors.data[0].code == "empty_file"


@pytest.mark.parametrize("wrong, param", [
    ({"endpoint": "/v1/audio"}, "endpoint"), ({"completion_window": "1h"}, "completion_window"), ({"input_file_id": "file-none"}, "input_file_id"),
    ({"metadata": {"a": 1}}, "metadata.a"), ({"colour": 1}, "colour"), ({"output_expires_after": {"anchor": "created_at", "seconds": 1}}, "output_expires_after.seconds")])
def test_a_wrong_batch_is_named(client, server, wrong, param):
    body = {"input_file_id": upload(client, lines(CHAT)).id, "endpoint": "/v1/chat/completions", "completion_window": "24h", **wrong}
    refused = requests.post(server.url + "/v1/batches", json=body, timeout=10)
    assert refused.status_code == 400 and refused.json()["error"]["param"] == param, refused.text


LONG = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 400, "ignore_eos": True, "temperature": 0}


def test_a_cancelled_batch_keeps_what_it_has(client):
    batch = create(client, lines({**CHAT, "max_tokens": 1}, *[LONG] * 60))
    assert eventually(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 60)
    assert client.batches.cancel(batch.id).status == "cancelling"
    batch = ended(client, batch)
    assert batch.status == "cancelled" and batch.cancelling_at <= batch.cancelled_at
    counts = batch.request_counts
    assert counts.total == 61 and counts.completed + counts.failed == 61 and counts.failed > 30
    assert "line-0" in results(client, batch.output_file_id)
    assert {row["error"]["code"] for row in results(client, batch.error_file_id).values()} == {"batch_cancelled"}
    assert client.batches.cancel(batch.id).status == "cancelled"


def test_live_requests_go_first(client, server):
    batch = create(client, lines(*[LONG] * 30))
    with pytest.raises(openai.ConflictError):
        client.files.delete(batch.input_file_id)
    assert eventually(lambda: client.batches.retrieve(batch.id).status == "in_progress")
    live = client.chat.completions.create(**CHAT, model="default")
    assert live.choices[0].finish_reason == "stop"
    assert client.batches.retrieve(batch.id).request_counts.completed < 30
    client.batches.cancel(batch.id)
    ended(client, batch)


def test_each_key_has_its_own(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(hashlib.sha256(key).hexdigest() + "\n" for key in (b"ann", b"bob")))
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(keys)}) as server:
        ann, bob = (openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0, timeout=60) for key in ("ann", "bob"))
        batch = create(ann, lines(CHAT))
        for call, argument in ((bob.files.retrieve, batch.input_file_id), (bob.files.content, batch.input_file_id),
                               (bob.files.delete, batch.input_file_id), (bob.batches.retrieve, batch.id), (bob.batches.cancel, batch.id)):
            with pytest.raises(openai.NotFoundError):
                call(argument)
        with pytest.raises(openai.BadRequestError):
            bob.batches.create(input_file_id=batch.input_file_id, endpoint="/v1/chat/completions", completion_window="24h")
        assert list(bob.files.list()) == list(bob.batches.list()) == []
        assert ended(ann, batch).status == "completed"
        assert requests.get(server.url + "/v1/files", timeout=10).status_code == 401


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_batch_goes_on_after_a_restart(tmp_path, how):
    environment = {"INFERFLUX_SERVER_STORE_FILE": str(tmp_path / "store.db")}
    with ServerProcess(environment=environment) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)
        batch = create(client, lines(*[{**LONG, "max_tokens": 60}] * 60))
        assert eventually(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 60)
        server.stop() if how == "stop" else server.kill()
    with ServerProcess(environment=environment) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)
        assert client.batches.retrieve(batch.id).request_counts.completed > 0, "what was answered is not computed again"
        batch = ended(client, batch, 120)
        assert batch.status == "completed" and batch.request_counts.completed == 60
        answers = results(client, batch.output_file_id)
        assert list(answers) == [f"line-{i}" for i in range(60)]
        assert len({row["response"]["body"]["choices"][0]["message"]["content"] for row in answers.values()}) == 1
