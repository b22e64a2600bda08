"""Two servers that share sessions through an object store: moto's S3."""

import socket
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
import requests
from server_process import ServerProcess, eventually

BUCKET = "sessions"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1"}


@pytest.fixture(scope="module")
def endpoint():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    program = Path(sys.executable).with_name("moto_server")
    with subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as moto:
        url = f"http://127.0.0.1:{port}"

        def answers():
            try:
                return requests.get(url + "/moto-api/", timeout=2).ok
            except requests.ConnectionError:
                return False

        assert eventually(answers, 60)
        yield url
        moto.terminate()


@pytest.fixture
def s3(endpoint):
    client = boto3.client("s3", endpoint_url=endpoint, region_name="eu-central-1", aws_access_key_id="tests", aws_secret_access_key="secret")
    requests.post(endpoint + "/moto-api/reset", timeout=10)
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return client


@pytest.fixture
def environment(endpoint, tmp_path):
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    return {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint, "INFERFLUX_RUNTIME_SESSION_STORE": f"s3://{BUCKET}/fleet",
            "INFERFLUX_RUNTIME_SESSION_STORE_KEY_FILE": str(tmp_path / "key")}


def say(server, messages, session="chat"):
    body = {"messages": messages, "max_tokens": 24, "temperature": 0}
    if session:
        body["session_id"] = session
    answer = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"], answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"]


FIRST = [{"role": "user", "content": "What is the capital of France?"}]
NEXT = {"role": "user", "content": "And what is 2+2?"}


def names(s3) -> list[str]:
    return [found["Key"] for found in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def test_a_chat_goes_on_at_another_server(s3, environment):
    with ServerProcess(environment=environment) as first:
        answer, _ = say(first, FIRST)
        chat = [*FIRST, answer, NEXT]
        expected, _ = say(first, chat, session=None)
        assert eventually(lambda: len(names(s3)) == 1)
        first.process.kill()
    (name,) = names(s3)
    assert name.startswith("fleet/") and len(name) == len("fleet/") + 64
    with ServerProcess(environment=environment) as second:
        reply, cached = say(second, chat)
        assert reply == expected and cached > 20
        assert requests.delete(second.url + "/v1/sessions/chat", timeout=20).status_code == 200
        assert eventually(lambda: names(s3) == [])


def test_a_changed_object_is_computed_again(s3, environment):
    with ServerProcess(environment=environment) as first:
        answer, _ = say(first, FIRST)
        chat = [*FIRST, answer, NEXT]
        expected, _ = say(first, chat, session=None)
        assert eventually(lambda: len(names(s3)) == 1)
    (name,) = names(s3)
    body = bytearray(s3.get_object(Bucket=BUCKET, Key=name)["Body"].read())
    body[len(body) // 2] ^= 1
    s3.put_object(Bucket=BUCKET, Key=name, Body=bytes(body))
    with ServerProcess(environment=environment) as second:
        assert say(second, chat) == (expected, 0)
        assert "runtime.session_store_key_file" in second.log()


@pytest.mark.parametrize("change, words", [({"INFERFLUX_RUNTIME_SESSION_STORE": "s3://no-such-bucket"}, "NoSuchBucket"),
                                           ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "127.0.0.1:9")])
def test_a_store_that_fails_is_named_and_costs_nothing_else(s3, environment, change, words):
    with ServerProcess(environment={**environment, **change}) as server:
        say(server, FIRST)
        assert eventually(lambda: words in server.log())
        assert server.metric("inferflux_session_file_errors_total") >= 1
