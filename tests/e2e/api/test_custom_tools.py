"""Custom tools, whose input is a text that may have to match a grammar, in chat completions and in Responses. Calls are forced: the
small model was not taught such tools."""

import json
import re

import openai
import pytest
import requests

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
CODE = r"[a-c]{2,4}-[0-9]{2}(\"|\\|\n)?"
QUERY = '''
start: "SELECT " columns " FROM " NAME [where] ";\\n"
columns: columns ", " NAME | NAME     // left recursion
where: " WHERE " NAME "=" ("\\"" NAME "\\"" | INT)
NAME: /[a-z]{1,4}/
INT: "0".."9"~1..3
'''
WRITTEN = re.compile(r'SELECT [a-z]{1,4}(, [a-z]{1,4})* FROM [a-z]{1,4}( WHERE [a-z]{1,4}=("[a-z]{1,4}"|[0-9]{1,3}))?;\n')
FORMATS = {"regex": CODE, "lark": QUERY}


def chat_tool(name="run", syntax=None, definition=None):
    form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}} if syntax else {"type": "text"}
    return {"type": "custom", "custom": {"name": name, "description": "Runs it.", "format": form}}


def responses_tool(name="run", syntax=None, definition=None):
    form = {"type": "grammar", "syntax": syntax, "definition": definition} if syntax else {"type": "text"}
    return {"type": "custom", "name": name, "description": "Runs it.", "format": form}


def ask(client, tools, **more):
    return client.chat.completions.create(**{"model": "default", "messages": QUESTION, "max_tokens": 200, "tools": tools, "tool_choice": "required", **more})


def check(syntax, text):
    matched = re.fullmatch(CODE, text) if syntax == "regex" else WRITTEN.fullmatch(text)
    assert matched, (syntax, text)


@pytest.mark.parametrize("syntax", FORMATS)
def test_a_chats_input_matches_its_grammar(client, syntax):
    tool = chat_tool(syntax=syntax, definition=FORMATS[syntax])
    inputs = set()
    for seed in range(8):
        choice = ask(client, [tool], temperature=1.5, seed=seed, tool_choice={"type": "custom", "custom": {"name": "run"}}).choices[0]
        if choice.finish_reason == "length":
            continue
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        [call] = choice.message.tool_calls
        assert call.type == "custom" and call.id and call.custom.name == "run"
        check(syntax, call.custom.input)
        inputs.add(call.custom.input)
    assert len(inputs) > 2


def stream_of(server, **fields):
    body = {"messages": QUESTION, "max_tokens": 200, "tool_choice": "required", "stream": True, **fields}
    lines = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60).text.splitlines()
    return [json.loads(line[6:])["choices"][0] for line in lines if line.startswith("data: {")]


def test_a_chats_stream_has_the_same_input(server, client):
    tools = [chat_tool(syntax="lark", definition=QUERY)]
    for seed in range(3):
        whole = ask(client, tools, temperature=1, seed=seed, parallel_tool_calls=False).choices[0].message.tool_calls[0].custom.input
        choices = stream_of(server, tools=tools, temperature=1, seed=seed, parallel_tool_calls=False)
        deltas = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
        assert deltas[0]["type"] == "custom" and deltas[0]["custom"]["name"] == "run" and len(deltas) > 2
        assert all(set(delta) == {"index", "custom"} for delta in deltas[1:])
        assert "".join(delta["custom"]["input"] for delta in deltas) == whole
        assert not "".join(choice["delta"].get("content") or "" for choice in choices)


def test_custom_tools_go_with_functions_and_back_into_histories(client):
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}
    tools = [chat_tool("run"), chat_tool("code", "regex", CODE), function]
    choice = ask(client, tools, temperature=0, tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
        {"type": "custom", "custom": {"name": "code"}}]}}, parallel_tool_calls=False).choices[0]
    [call] = choice.message.tool_calls
    check("regex", call.custom.input)
    history = [*QUESTION, choice.message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    answer = ask(client, tools, messages=history, temperature=0, tool_choice="auto", max_tokens=20).choices[0]
    assert answer.message.content
    assert ask(client, tools, temperature=0, tool_choice={"type": "function", "function": {"name": "f"}}).choices[0].message.tool_calls[0].function.arguments == "{}"


@pytest.mark.parametrize("syntax", FORMATS)
def test_a_response_has_the_call_as_an_item(client, model_id, syntax):
    fields = {"model": model_id, "input": QUESTION, "temperature": 0, "max_output_tokens": 200, "parallel_tool_calls": False,
              "tools": [responses_tool(syntax=syntax, definition=FORMATS[syntax])], "tool_choice": {"type": "custom", "name": "run"}}
    response = client.responses.create(**fields)
    [call] = [item for item in response.output if item.type == "custom_tool_call"]
    check(syntax, call.input)
    assert call.name == "run" and response.tools[0].format.type == "grammar"
    events = list(client.responses.create(**fields, stream=True))
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    [done] = [event for event in events if event.type == "response.custom_tool_call_input.done"]
    assert len(deltas) > 2 and "".join(deltas) == done.input == call.input
    result = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "sunny"}
    more = {"model": model_id, "temperature": 0, "tools": fields["tools"], "max_output_tokens": 20}
    continued = client.responses.create(**more, input=[result], previous_response_id=response.id)
    again = client.responses.create(**more, input=[*QUESTION, *[item.model_dump(exclude_none=True) for item in response.output], result])
    assert continued.output_text == again.output_text != ""


@pytest.mark.parametrize("form, param", [
    ({"type": "json"}, "format.type"), ({"type": "grammar"}, "format.syntax"), ({"type": "grammar", "grammar": {"syntax": "bnf", "definition": "x"}}, "format.grammar.syntax"),
    ({"type": "grammar", "grammar": {"syntax": "lark"}}, "format.grammar.definition"),
    ({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: a"}}, "format.grammar.definition"),
    ({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: pair{\"x\"}"}}, "format.grammar.definition"),
    ({"type": "grammar", "grammar": {"syntax": "regex", "definition": "(?=a)"}}, "format.grammar.definition")])
def test_a_format_that_cannot_be_taken_is_named(client, form, param):
    tool = chat_tool()
    tool["custom"]["format"] = form
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, [tool])
    assert refused.value.param == "tools[0].custom." + param


def test_lark_constrains_text_too(client, model_id):
    answer = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=1, seed=3, max_tokens=200,
                                            extra_body={"structured_outputs": {"lark": QUERY}}).choices[0]
    assert answer.finish_reason == "length" or WRITTEN.fullmatch(answer.message.content)
