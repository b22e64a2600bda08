"""The installed wheel. `./test --wheel` installs it into a fresh environment and runs this; the sources are not on the path."""

import re
import threading
from pathlib import Path

import pytest

import inferflux
from inferflux import LLM, InferFluxError

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "tiny" / "inferflux-tiny.gguf"
QUESTION = "What is the capital of France?"


@pytest.fixture(scope="module")
def llm():
    return LLM(MODEL, kv_budget=64 << 20)


def test_the_installed_package_is_tested():
    assert not Path(inferflux.__file__).is_relative_to(ROOT / "python")


def test_the_readmes_lines_run(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = re.search(r"```python\n(from inferflux import LLM\n.*?)```", (ROOT / "python" / "README.md").read_text(), re.S).group(1)
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("The capital of France is Paris.\n") and len(shown) > 40


def test_a_chat_is_answered_and_counted(llm):
    reply = llm.chat([{"role": "user", "content": QUESTION}], temperature=0)
    assert reply.text == "The capital of France is Paris."
    assert reply.finish_reason == "stop"
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.total) == (15, 8, 23)


def test_a_streams_pieces_are_the_answer(llm):
    # Longer than the queue between the scheduler and its reader, so it cannot come at once.
    options = {"temperature": 0, "ignore_eos": True, "max_tokens": 600}
    stream = llm.stream("Once upon a time", **options)
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces) == stream.reply.text == llm.generate("Once upon a time", **options).text
    assert stream.reply.finish_reason == "length"


def test_a_closed_stream_ends(llm):
    with llm.stream("Once upon a time", ignore_eos=True, seed=1) as stream:
        next(stream)
    assert list(stream) == []
    assert llm.chat(QUESTION, temperature=0).text


def test_constraints_stops_and_seeds(llm):
    assert re.fullmatch("(yes|no)!", llm.chat("Hello", regex="(yes|no)!").text)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    assert re.fullmatch(r'\{\s*"n"\s*:\s*-?\d+\s*\}', llm.chat("What is 2+2?", json_schema=schema, temperature=0).text)
    assert llm.chat(QUESTION, temperature=0, stop="capital").text == "The "
    assert llm.generate("Once", seed=3, max_tokens=9).text == llm.generate("Once", seed=3, max_tokens=9).text


def test_texts_become_tokens_and_vectors(llm):
    tokens = llm.tokenize("The capital of France is Paris.")
    assert llm.detokenize(tokens) == "The capital of France is Paris."
    sea, bread, again = llm.embed(["the sea", "a loaf of bread", "the sea"])
    assert len(sea) == llm.info.dimensions and sea == again != bread


def test_errors_say_what_is_wrong(llm):
    with pytest.raises(InferFluxError, match="ModelNotFound") as missing:
        LLM("/nowhere/none.gguf")
    assert missing.value.code == "ModelNotFound"
    with pytest.raises(InferFluxError) as hot:
        llm.chat("Hello", temperature=9)
    assert (hot.value.code, hot.value.field) == ("InvalidConfig", "temperature")
    with pytest.raises(InferFluxError) as late:
        llm.generate("Once", timeout=0.002, ignore_eos=True)
    assert late.value.code == "Timeout"
    with pytest.raises(InferFluxError, match="exclude each other"):
        llm.chat("Hello", regex="a", grammar='root ::= "a"')


def test_threads_share_the_model(llm):
    texts = [""] * 16

    def ask(i):
        texts[i] = llm.chat(QUESTION, temperature=0).text

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(texts) == {"The capital of France is Paris."}


def test_dspy_runs_in_this_process(llm):
    dspy = pytest.importorskip("dspy")
    from inferflux.dspy import InferFluxLM

    lm = InferFluxLM(llm, temperature=0.0, max_tokens=64)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        assert dspy.Predict("question -> answer: int")(question="What is 2+2?").answer == 4
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        assert isinstance(dspy.Predict("question -> answer: int")(question="What is 2+2?").answer, int)
    assert lm.history[-1]["usage"]["prompt_tokens"] > 0
    with pytest.raises(InferFluxError, match="no setting of a call"):
        lm("Hello", beam_width=3)
