"""The server serves a Hugging Face directory without conversion, with the same answers as its GGUF file."""

import json
import subprocess

import openai
import pytest
import requests
from hf_directory import write_directory
from server_process import MODEL, ROOT, ServerProcess, clean_environment, program

# The greedy answers of transformers with the same weights.
GREEDY = json.loads((ROOT / "tests" / "data" / "tiny" / "greedy.json").read_text())[::6]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_directory(tmp_path_factory.mktemp("hf") / "Tiny2.5-0.6B")


@pytest.fixture(scope="module")
def served(directory):
    with ServerProcess(model=directory) as running:
        yield running


def ask(server, messages, **more) -> dict:
    body = {"messages": messages, "temperature": 0, "max_tokens": 96, **more}
    answer = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def messages_of(row: dict) -> list[dict]:
    system = [{"role": "system", "content": row["system"]}] if row["system"] else []
    return [*system, {"role": "user", "content": row["user"]}]


def test_answers_are_the_gguf_files_bit_for_bit(served, server):
    for row in GREEDY:
        own = ask(served, messages_of(row), logprobs=True, top_logprobs=3)["choices"][0]
        gguf = ask(server, messages_of(row), logprobs=True, top_logprobs=3)["choices"][0]
        assert own == gguf, row["user"]
        assert own["message"]["content"] == row["text"]


def test_the_model_is_named_after_the_directory(served, directory):
    models = openai.OpenAI(base_url=served.url + "/v1", api_key="none").models.list().data
    assert [m.id for m in models] == [directory.name], "its dots are no suffix"
    assert requests.get(served.url + "/v1/models").json()["data"][0]["format"] == "huggingface"


@pytest.mark.parametrize("template_in", ["chat_template.jinja", "list"])
def test_the_template_is_found_where_it_lies(tmp_path, template_in):
    with ServerProcess(model=write_directory(tmp_path / "m", template_in)) as running:
        row = GREEDY[0]
        assert ask(running, messages_of(row))["choices"][0]["message"]["content"] == row["text"]


def test_every_end_of_generation_ends(tmp_path, server):
    row = GREEDY[0]
    tokens = row["answer"]
    model = write_directory(tmp_path / "m", ends=(2, 0, 1, 5, tokens[3]))
    with ServerProcess(model=model) as running:
        answer = ask(running, messages_of(row))
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["usage"]["completion_tokens"] == tokens.index(tokens[3]) + 1
    # The same through a converted file, whose format has keys for three.
    converted = tmp_path / "m.gguf"
    subprocess.run([program("inferflux-convert"), str(model), str(converted)], check=True, capture_output=True)
    with ServerProcess(model=converted) as running:
        assert ask(running, messages_of(row))["usage"] == answer["usage"]


@pytest.mark.parametrize(("packing", "served_as", "converted_to"),
                         [("gptq", "Q4_0", "Q4_0"), ("awq", "Q8_0", "Q8_0"), ("fp8", "FP8", "F32"),
                          ("compressed", "Q4_0", "Q4_0"), ("nvfp4", "NVFP4", "NVFP4")])
def test_a_packed_directory_is_served_and_converted_without_loss(tmp_path, packing, served_as, converted_to):
    model = write_directory(tmp_path / "m", packing=packing)
    converted = tmp_path / "m.gguf"
    subprocess.run([program("inferflux-convert"), str(model), str(converted)], check=True, capture_output=True)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    with ServerProcess(model=model) as one, ServerProcess(model=converted) as other:
        answer = ask(one, question, logprobs=True, top_logprobs=3)["choices"][0]
        assert answer == ask(other, question, logprobs=True, top_logprobs=3)["choices"][0]
        assert "Paris" in answer["message"]["content"], "that many bits are enough for that"
        for server, type_name in ((one, served_as), (other, converted_to)):
            listed = requests.get(server.url + "/v1/models").json()["data"][0]
            assert f'"{type_name}"' in json.dumps(listed), listed


def test_inputs_in_the_order_of_their_groups_are_held_as_integers(tmp_path):
    model = write_directory(tmp_path / "m", packing="act_order")
    converted = tmp_path / "m.gguf"
    subprocess.run([program("inferflux-convert"), str(model), str(converted)], check=True, capture_output=True)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    with ServerProcess(model=model) as integers, ServerProcess(model=converted) as floats:
        answers = [ask(server, question, logprobs=True)["choices"][0] for server in (integers, floats)]
        types = [json.dumps(requests.get(server.url + "/v1/models").json()["data"][0]) for server in (integers, floats)]
    assert '"Q4_0"' in types[0] and '"F32"' in types[1], types
    assert "Paris" in answers[0]["message"]["content"]
    assert answers[0]["message"] == answers[1]["message"]
    for own, exact in zip(*(answer["logprobs"]["content"] for answer in answers), strict=True):
        assert abs(own["logprob"] - exact["logprob"]) < 0.1, (own, exact)


def test_tokenize_reads_a_directory(directory):
    def ids(model) -> bytes:
        return subprocess.run([program("inferctl"), "tokenize", str(model)], input="Straße 123\n\ncafé's".encode(),
                              capture_output=True, check=True, env=clean_environment()).stdout
    assert ids(directory) == ids(MODEL)


def test_a_pre_tokenizer_that_is_not_known_is_named(tmp_path):
    model = write_directory(tmp_path / "m")
    text = (model / "tokenizer.json").read_text()
    (model / "tokenizer.json").write_text(text.replace(r"\\p{N}|", r"\\p{N}{1,7}|"))
    running = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(model)], capture_output=True, text=True,
                             timeout=60, env=clean_environment())
    assert running.returncode != 0 and r"\p{N}{1,7}" in running.stderr and "tokenizer.json" in running.stderr


def test_a_directory_without_a_tokenizer_is_refused(tmp_path):
    model = write_directory(tmp_path / "m")
    (model / "tokenizer.json").unlink()
    running = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(model)], capture_output=True, text=True,
                             timeout=60, env=clean_environment())
    assert running.returncode != 0 and "tokenizer.json" in running.stderr
