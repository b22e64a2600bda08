"""Models that several processes share: the text of one process, its parts of the file, and the death of a rank."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, eventually, program

PROMPTS = ["Once upon a time", "The capital of France is", "def add(a, b):", "One, two, three,"]
TIE = 0.05  # the two best log probabilities may differ by this much where texts part (design, section 5)


def complete(server, prompt, **fields):
    body = {"prompt": prompt, "max_tokens": 40, "temperature": 0, "logprobs": 2, **fields}
    reply = requests.post(server.url + "/v1/completions", json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]


def expect_same_text(server, right):
    """Equal up to the first position where the two best tokens of one process are as good as equal; at most 2% are."""
    ties, tokens = 0, 0
    for prompt, expected in right.items():
        found = complete(server, prompt)
        for i, (a, b) in enumerate(zip(expected["logprobs"]["tokens"], found["logprobs"]["tokens"])):
            tokens += 1
            if a == b:
                continue
            best = sorted(expected["logprobs"]["top_logprobs"][i].values(), reverse=True)
            assert best[0] - best[1] < TIE, f"{prompt!r}: {a!r} and {b!r} at {i}: {best}"
            ties += 1
            break
    assert ties <= 0.02 * tokens + 1


@pytest.fixture(scope="module")
def right():
    with ServerProcess() as server:
        return {prompt: complete(server, prompt) for prompt in PROMPTS}


def ranks_of(pid):
    """The processes that a process has started for a model's other ranks."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == pid and b"inferflux-rank" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except OSError:
            pass
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def workers(server):
    return requests.get(server.url + "/v1/admin/workers", timeout=10).json()["data"]


def four_kv_heads(path):
    """The embedded model with each of its two KV heads twice: the same function, which four ranks can share."""
    reader = gguf.GGUFReader(MODEL)
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = 4 if name == "llama.attention.head_count_kv" else field.contents()
        kind = field.types[0]
        writer.add_key_value(name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        data = tensor.data
        if tensor.name.endswith(("attn_k.weight", "attn_v.weight")):
            data = np.repeat(data.reshape(2, len(data) // 2, -1), 2, axis=0).reshape(2 * len(data), -1)
        writer.add_tensor(tensor.name, np.ascontiguousarray(data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def quantised(folder, kind):
    out = folder / f"{kind}.gguf"
    subprocess.run([program("inferflux-quantize"), str(MODEL), str(out), kind], check=True, capture_output=True,
                   env=clean_environment(), stdin=subprocess.DEVNULL)
    return out


@pytest.mark.parametrize("flags", [("--tensor-parallel", "2"), ("--pipeline-parallel", "2"), ("--pipeline-parallel", "4")],
                         ids=["tensor", "pipeline", "four-stages"])
def test_ranks_give_the_text_of_one_process(right, flags):
    with ServerProcess(*flags) as server:
        expect_same_text(server, right)
        assert len(ranks_of(server.process.pid)) == int(flags[1]) - 1
        notes = requests.get(server.url + "/v1/models", timeout=10).text
        assert f"over {flags[1]} ranks through shared memory" in notes
        expect_same_text(server, right)  # prefixes are cached now
        children = ranks_of(server.process.pid)
        assert server.stop() == 0
    assert eventually(lambda: not any(alive(pid) for pid in children))


def test_four_ranks_share_four_kv_heads(right, tmp_path):
    with ServerProcess("--tensor-parallel", "4", model=four_kv_heads(tmp_path / "four.gguf")) as server:
        expect_same_text(server, right)


def test_a_rank_cuts_quantised_blocks_at_their_borders(tmp_path):
    model = quantised(tmp_path, "q8_0")
    with ServerProcess(model=model) as server:
        right = {prompt: complete(server, prompt) for prompt in PROMPTS}
    with ServerProcess("--tensor-parallel", "2", model=model) as server:
        expect_same_text(server, right)


def test_a_directory(right, tmp_path):
    from hf_directory import write_directory
    write_directory(tmp_path / "model")
    with ServerProcess("--tensor-parallel", "2", model=tmp_path / "model") as server:
        expect_same_text(server, right)


def fails(*flags, model=MODEL):
    done = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(model), *flags], capture_output=True,
                          text=True, timeout=60, env=clean_environment())
    assert done.returncode != 0
    return done.stderr


def test_what_does_not_divide_is_refused():
    assert "4 ranks cannot share 2 KV heads of 'llama' evenly" in fails("--tensor-parallel", "4")
    assert "they are not combined" in fails("--tensor-parallel", "2", "--pipeline-parallel", "2")
    assert "runtime.tensor_parallel" in fails("--tensor-parallel", "65")


def test_a_block_that_ranks_would_share_is_refused(tmp_path):
    message = fails("--tensor-parallel", "2", model=quantised(tmp_path, "q4_k"))
    assert "attn_output.weight' is Q4_K in blocks of 256 inputs" in message
    assert "use fewer ranks" in message


@pytest.mark.parametrize("busy", [True, False], ids=["busy", "idle"])
def test_the_server_ends_within_a_second_of_a_rank(busy):
    with ServerProcess("--tensor-parallel", "2") as server:
        replies = []

        def ask():
            replies.append(requests.post(server.url + "/v1/completions", timeout=30, json={
                "prompt": "Once", "max_tokens": 1900, "ignore_eos": True}))

        threads = [threading.Thread(target=ask) for _ in range(3 if busy else 0)]
        for thread in threads:
            thread.start()
        if busy:
            assert eventually(lambda: server.metric("inferflux_running_sequences") == 3)
        os.kill(ranks_of(server.process.pid)[0], signal.SIGKILL)
        killed = time.monotonic()
        assert server.process.wait(5) == 1
        assert time.monotonic() - killed < 2
        for thread in threads:
            thread.join()
        assert [reply.status_code for reply in replies] == [503] * len(threads), [reply.text for reply in replies]
        assert "rank 1 of 2" in server.log()


def test_other_ranks_end_with_rank_zero():
    with ServerProcess("--tensor-parallel", "2") as server:
        children = ranks_of(server.process.pid)
        assert children
        server.process.kill()
        server.process.wait()
    assert eventually(lambda: not any(alive(pid) for pid in children), 2)


def test_the_pool_starts_a_model_again_when_a_rank_dies(right):
    with ServerProcess("--pool", "--tensor-parallel", "2") as server:
        expect_same_text(server, right)
        worker = workers(server)[0]
        ranks = ranks_of(worker["pid"])
        assert len(ranks) == 1
        os.kill(ranks[0], signal.SIGKILL)
        assert eventually(lambda: not alive(worker["pid"]), 2)
        assert eventually(lambda: requests.post(server.url + "/v1/completions", timeout=30,
                                                json={"prompt": "Once", "max_tokens": 4}).status_code == 200, 60)
        expect_same_text(server, right)
