"""The embedded model with the chat templates of other families. Calls are forced and parsed in their syntax."""

import json
from functools import partial

import gguf
import jsonschema
import openai
import pytest
from hf_directory import write_directory
from server_process import MODEL, ServerProcess
from streamed_calls import check_stream

SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Paris", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
          "required": ["city", "days"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": name, "description": "Looks.", "parameters": SCHEMA}} for name in ("get_forecast", "get_past")]
QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
TURNS = ("{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' }}{%- if m.tool_calls %}CALLS{%- else %}{{- m.content }}{%- endif %}"
         "{{- '<|im_end|>\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}")
LLAMA = TURNS.replace("CALLS", """{%- if m.tool_calls|length != 1 %}{{- raise_exception('This model only supports single tool-calls at once!') }}{%- endif %}
{{- '{"name": "' + m.tool_calls[0].function.name + '", "parameters": ' }}{{- m.tool_calls[0].function.arguments | tojson }}{{- '}' }}""")
MISTRAL = TURNS.replace("CALLS", """{{- '[TOOL_CALLS][' }}{%- for c in m.tool_calls %}
{%- if c.id|length != 9 %}{{- raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{%- endif %}
{{- '{"name": "' + c.function.name + '", "arguments": ' }}{{- c.function.arguments | tojson }}{{- ', "id": "' + c.id + '"}' }}
{%- if not loop.last %}{{- ', ' }}{%- endif %}{%- endfor %}{{- ']' }}""")
TAGGED = TURNS.replace("CALLS", """{%- for c in m.tool_calls %}{{- '<tool_call>' + c.function.name }}{%- for k, v in c.function.arguments|items %}
{{- '<arg_key>' + k + '</arg_key><arg_value>' }}{{- v }}{{- '</arg_value>' }}{%- endfor %}{{- '</tool_call>' }}{%- endfor %}""")


def directory(out, template: str):
    """Its <|endoftext|>, which the templates do not use, is Mistral's control token."""
    write_directory(out, ends=(2,))
    text = (out / "tokenizer.json").read_text().replace("<|endoftext|>", "[TOOL_CALLS]")
    (out / "tokenizer.json").write_text(text)
    config = json.loads((out / "tokenizer_config.json").read_text())
    del config["bos_token"]
    (out / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": template}))
    return out


@pytest.fixture(scope="module", params=["llama", "mistral", "tagged"])
def family(request, tmp_path_factory):
    folder = directory(tmp_path_factory.mktemp(request.param) / "model", {"llama": LLAMA, "mistral": MISTRAL, "tagged": TAGGED}[request.param])
    with ServerProcess(model=folder) as running:
        yield request.param, openai.OpenAI(base_url=running.url + "/v1", api_key="none", max_retries=0, timeout=60)


def ask(client, **more):
    return client.chat.completions.create(**{"model": "default", "messages": QUESTION, "max_tokens": 300, "tools": TOOLS, "tool_choice": "required", **more})


def test_forced_calls_are_calls(family):
    name, client = family
    tokens = gguf.GGUFReader(MODEL).get_field("tokenizer.ggml.tokens").contents()
    likelier = {str(tokens.index(separator)): 12 for separator in (",", ";")}  # the model itself seldom calls twice
    several = 0
    for seed in range(12):
        choice = ask(client, temperature=2, seed=seed, logit_bias=likelier if seed % 2 else None).choices[0]
        if choice.finish_reason == "length":
            continue
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        calls = choice.message.tool_calls
        several += len(calls) > 1
        for call in calls:
            jsonschema.validate(json.loads(call.function.arguments), SCHEMA)
    assert name == "tagged" or bool(several) == (name == "mistral"), "Llama's template takes one call a message"
    named = ask(client, tool_choice={"type": "function", "function": {"name": "get_past"}}).choices[0].message.tool_calls
    assert [call.function.name for call in named] == ["get_past"]


def test_a_stream_has_the_same_calls(family):
    _, client = family
    check_stream(partial(ask, client), temperature=0, parallel_tool_calls=False)


def test_calls_go_back_to_the_model(family):
    name, client = family
    call = ask(client, temperature=0, parallel_tool_calls=False).choices[0].message
    answer = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "Sunny."}
    assert ask(client, messages=[*QUESTION, call, answer], tool_choice="auto").choices[0].finish_reason in ("stop", "length")
    twice = {"role": "assistant", "tool_calls": [c.model_dump() for c in call.tool_calls * 2]}
    if name == "llama":
        with pytest.raises(openai.BadRequestError, match="This model only supports single tool-calls at once!"):
            ask(client, messages=[*QUESTION, twice, answer])
    else:
        assert ask(client, messages=[*QUESTION, twice, answer, answer]).choices[0].message.tool_calls


def test_text_stays_text(family):
    _, client = family
    for strict in (False, True):
        tools = [{"type": "function", "function": {**tool["function"], "strict": strict}} for tool in TOOLS]
        hello = ask(client, messages=[{"role": "user", "content": "Say hello."}], tools=tools, tool_choice="auto", temperature=0).choices[0]
        assert hello.message.content and "[TOOL_CALLS]" not in hello.message.content and hello.finish_reason == "stop"
