"""Ollama's create, copy and delete with its own client: recipes in the models directory, and nothing else."""

import hashlib
import json
import shutil

import ollama
import openai
import pytest
import requests
from server_process import MODEL, ServerProcess

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    base = tmp_path_factory.mktemp("create")
    (base / "models").mkdir()
    (base / "outside").mkdir()
    shutil.copy(MODEL, base / "models" / "base.gguf")
    shutil.copy(MODEL, base / "outside" / "secret.gguf")
    (base / "models" / "out.gguf").symlink_to(base / "outside" / "secret.gguf")
    return base


@pytest.fixture(scope="module")
def server(place):
    with ServerProcess("--models-dir", str(place / "models"), "--kv-budget", "8MiB", model=None) as running:
        yield running


@pytest.fixture(scope="module")
def llama(server):
    return ollama.Client(host=server.url, timeout=120)


def names(llama):
    return {model.model for model in llama.list().models}


def test_a_model_is_created_used_copied_and_deleted(llama, server, place):
    assert llama.create("mario", from_="base", system="Answer in one word.", parameters={"num_predict": 2, "stop": ["\n\n"], "temperature": 0}).status == "success"
    assert names(llama) == {"base", "mario"}
    plain = llama.chat("base", QUESTION, options={**GREEDY, "num_predict": 2, "stop": ["\n\n"]})
    with_system = llama.chat("base", [{"role": "system", "content": "Answer in one word."}, *QUESTION], options={**GREEDY, "num_predict": 2})
    answer = llama.chat("mario", QUESTION)
    assert answer.message.content == with_system.message.content
    assert answer.prompt_eval_count == with_system.prompt_eval_count > plain.prompt_eval_count
    assert answer.eval_count == 2 and answer.done_reason == "length"
    # Every API has the model's defaults, and what a request says goes before them.
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)
    chat = client.chat.completions.create(model="mario", messages=QUESTION)
    assert chat.choices[0].message.content == answer.message.content
    own = client.chat.completions.create(model="mario", messages=[{"role": "system", "content": "Hi."}, *QUESTION], max_tokens=1)
    assert own.usage.completion_tokens == 1 and own.usage.prompt_tokens < chat.usage.prompt_tokens
    # A copy is the same model; a model made of a model has the defaults of both.
    llama.copy("mario", "luigi:v2")
    llama.create("wario", from_="luigi:v2", parameters={"num_predict": 1})
    assert llama.chat("luigi:v2", QUESTION).message.content == answer.message.content
    assert llama.chat("wario", QUESTION).eval_count == 1
    shown = llama.show("wario")
    assert "num_predict 1" in shown.parameters and "temperature 0" in shown.parameters
    assert 'SYSTEM """Answer in one word."""' in shown.modelfile and "FROM base.gguf" in shown.modelfile
    assert shown.details.parent_model == "base.gguf"
    for name in ("mario", "luigi:v2", "wario"):
        assert llama.delete(name).status == "success"
        with pytest.raises(ollama.ResponseError, match=name):
            llama.chat(name, QUESTION)
    assert names(llama) == {"base"}
    assert sorted(p.name for p in (place / "models").iterdir()) == ["base.gguf", "out.gguf"]


def test_a_template_and_first_messages(llama):
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}"
    first = [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "4"}]
    llama.create("told", from_="base.gguf", template=template, messages=first, license=["MIT", "and more"])
    shown = llama.show("told")
    assert shown.template == template and shown.license == "MIT\nand more"
    assert llama.chat("told", QUESTION, options=GREEDY).prompt_eval_count == llama.chat("base", [*first, *QUESTION], options=GREEDY).prompt_eval_count
    llama.delete("told")


def test_a_created_model_can_be_created_again_while_it_is_loaded(llama):
    llama.create("twice", from_="base", parameters={"num_predict": 2, "temperature": 0})
    assert llama.chat("twice", QUESTION).eval_count == 2
    statuses = [step.status for step in llama.create("twice", from_="base", parameters={"num_predict": 1, "temperature": 0}, stream=True)]
    assert statuses[-1] == "success" and len(statuses) > 1
    assert llama.chat("twice", QUESTION).eval_count == 1
    llama.delete("twice")


@pytest.mark.parametrize("body, status, says", [
    ({"model": "a"}, 400, "'from' is missing"), ({"from": "base"}, 400, "'model' is missing"),
    ({"model": "a", "from": "none"}, 404, "no model 'none'"), ({"model": "a", "from": "out"}, 400, "leads out"),
    ({"model": "a", "from": "../outside/secret.gguf"}, 400, "must name a file or directory in"),
    ({"model": "a", "from": "/etc/passwd"}, 400, "must name a file or directory in"),
    ({"model": "../a", "from": "base"}, 400, "cannot be the name of a model"), ({"model": ".a", "from": "base"}, 400, "leading dot"),
    ({"model": "base", "from": "base"}, 400, "not replaced"), ({"model": "default", "from": "base"}, 400, "'default'"),
    ({"model": "a", "from": "base", "template": "{{ .Prompt }}"}, 400, "Jinja2"), ({"model": "a", "from": "base", "parameters": {"colour": 1}}, 400, "parameters.colour"),
    ({"model": "a", "from": "base", "parameters": {"temperature": 9}}, 400, "parameters.temperature"), ({"model": "a", "files": {"a.gguf": "sha256:0"}}, 400, "no file is uploaded"),
    ({"model": "a", "from": "base", "quantize": "q4_K_M"}, 400, "inferflux-quantize"), ({"model": "a", "modelfile": "FROM base"}, 400, "modelfile")])
def test_what_cannot_be_created_is_said(server, place, body, status, says):
    refused = requests.post(server.url + "/api/create", json=body, timeout=10)
    assert (refused.status_code, list(refused.json())) == (status, ["error"])
    assert says in refused.json()["error"]
    assert not list((place / "models").glob("*.json"))


def test_files_are_never_deleted(llama, place):
    for name, says in (("base", "by hand"), ("out", "leads out"), ("none", "no model"), ("../outside/secret", "cannot be the name")):
        with pytest.raises(ollama.ResponseError, match=says):
            llama.delete(name)
    assert (place / "models" / "base.gguf").exists() and (place / "outside" / "secret.gguf").exists()


def test_it_takes_the_admin_scope_and_a_directory(place, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(hashlib.sha256(b"user").hexdigest() + " read,generate,load\n" + hashlib.sha256(b"boss").hexdigest() + " read,generate,admin\n")
    with ServerProcess("--models-dir", str(place / "models"), model=None, environment={"INFERFLUX_API_KEYS_FILE": str(keys)}) as server:
        user, boss = (ollama.Client(host=server.url, headers={"Authorization": f"Bearer {key}"}) for key in ("user", "boss"))
        for call in (lambda c: c.create("mine", from_="base"), lambda c: c.copy("mine", "yours"), lambda c: c.delete("mine")):
            with pytest.raises(ollama.ResponseError, match="admin"):
                call(user)
            call(boss)
        boss.delete("yours")
    with ServerProcess() as server:
        refused = requests.post(server.url + "/api/create", json={"model": "a", "from": "b"}, timeout=10)
        assert refused.status_code == 400 and "--models-dir" in refused.json()["error"]
        page = requests.delete(server.url + "/api/delete", data=json.dumps({"model": "a"}), headers={"Origin": "https://elsewhere.example"}, timeout=10)
        assert page.status_code == 403
