"""Chat: what people do with a conversation."""

import json

import pytest


@pytest.mark.core
def test_an_answer_streams_in_and_is_kept(page):
    page.send("What is the capital of France?")
    assert "Paris" in page.answer()
    assert page.problems() == []
    page.open()
    assert "Paris" in page.answer(), "a reload keeps the conversation"


def test_regenerating_adds_a_branch(page):
    page.send("What is the capital of France?")
    page.answer()
    page.find(".regenerate").click()
    page.answer()  # its end draws the messages anew
    assert "2 of 2" in page.text("#messages")
    page.find("[aria-label='Previous branch']").click()
    page.wait(lambda _: "1 of 2" in page.text("#messages"))


def test_editing_a_question_keeps_the_old_one(page):
    page.send("What is the capital of France?")
    page.answer()
    page.button("Edit").click()
    assert page.field("Message").get_attribute("value") == "What is the capital of France?"
    page.send("What is the capital of Italy?")
    page.wait(lambda _: "Rome" in page.answer())
    assert "2 of 2" in page.text("#messages")
    page.find("[aria-label='Previous branch']").click()
    page.wait(lambda _: "Paris" in page.text("#messages") and "Rome" not in page.text("#messages"))


@pytest.mark.core
def test_stop_ends_an_answer_and_the_request(page, server):
    page.send("Tell me a story about a fox. " * 20)
    page.find("#stop").click()
    page.answer()
    page.wait(lambda _: server.metric("inferflux_running_sequences") == 0)
    assert page.problems() == []


def test_several_conversations_are_kept_apart(page):
    page.send("What is the capital of France?")
    page.answer()
    page.button("New chat").click()
    assert page.all(".message") == []
    page.send("What is 2+2?")
    page.answer()
    page.button("What is the capital of France?").click()
    page.wait(lambda _: "Paris" in page.text("#messages"))
    page.button("Delete chat").click()
    page.wait(lambda _: "Paris" not in page.text("#messages"))


def test_log_probabilities_colour_each_token(page):
    page.field("Show log probabilities").click()
    page.send("What is the capital of France?")
    page.answer()
    tokens = page.all(".token")
    assert len(tokens) > 3
    page.driver.execute_script("arguments[0].focus()", tokens[0])
    page.wait(lambda _: "Likeliest:" in page.text(".token-note") and "%" in page.text(".token-note"))
    assert page.problems() == []


def test_sampling_has_the_servers_ranges(page, server):
    import requests
    rows = {row["name"]: row for row in requests.get(server.url + "/v1/sampling_parameters", timeout=10).json()["data"]}
    page.find(".sampling summary").click()
    page.wait(lambda _: page.all(".sampling label"))
    field = page.field("temperature")
    assert (float(field.get_attribute("min")), float(field.get_attribute("max"))) == (rows["temperature"]["minimum"], rows["temperature"]["maximum"])
    field.send_keys("99")
    page.send("Hello")
    page.wait(lambda _: "temperature" in page.text("[role=alert]"))


def test_a_request_is_shown_as_commands(page, server):
    page.send("What is the capital of France?")
    page.answer()
    page.button("Request as curl").click()
    curl = page.text("#request-code")
    assert curl.startswith(f"curl {server.url}/v1/chat/completions") and "capital of France" in curl
    import subprocess
    said = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, timeout=60, check=True).stdout
    assert json.loads(said)["choices"][0]["message"]["content"]
    page.button("Request as Python").click()
    code = page.text("#request-code")
    assert "client.chat.completions.create(" in code
    compile(code, "request", "exec")


def test_a_conversation_is_exported(page):
    page.send("What is the capital of France?")
    page.answer()
    page.driver.execute_script("""
        window.saved = [];
        URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return 'blob:x'; };
        HTMLAnchorElement.prototype.click = () => {};""")
    page.button("Export Markdown").click()
    page.button("Export JSON").click()
    page.wait(lambda _: page.driver.execute_script("return window.saved.length") == 2)
    markdown, data = page.driver.execute_script("return window.saved")
    assert "**user**" in markdown and "Paris" in markdown
    assert [node["role"] for node in json.loads(data)["nodes"].values()] == ["user", "assistant"]


TOOL = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def test_a_tool_call_shows_its_arguments_and_takes_a_result(page):
    conversation = {"id": "a", "title": "weather", "system": "", "leaf": "2", "next": 3, "nodes": {
        "1": {"role": "user", "content": "How is the weather?", "parent": None},
        "2": {"role": "assistant", "content": "", "parent": "1", "toolCalls": [{"id": "call_1", "name": "get_weather", "arguments": '{"city":"Rome"}'}]}}}
    page.driver.execute_script("localStorage.setItem('inferflux-conversations', arguments[0])", json.dumps([conversation]))
    page.open()
    page.wait(lambda _: "get_weather" in page.text("#messages") and '"city": "Rome"' in page.text("#messages"))
    page.fill("Tools (JSON)", json.dumps(TOOL))
    page.find(".tool-call textarea").send_keys("18 degrees and sunny")
    page.button("Give this result").click()
    page.wait(lambda _: len(page.all(".message")) >= 3 and not page.find("#stop").is_enabled())
    assert "18 degrees" in page.text(".message.tool")
    assert page.text("[role=alert]") == ""


def test_code_can_be_copied_and_reasoning_is_folded(page):
    text = "<think>Let me think of it.</think>Here:\n\n```python\nprint('hi')\n```"
    conversation = {"id": "a", "title": "code", "system": "", "leaf": "1", "next": 2, "nodes": {"1": {"role": "assistant", "content": text, "parent": None}}}
    page.driver.execute_script("localStorage.setItem('inferflux-conversations', arguments[0])", json.dumps([conversation]))
    page.open()
    page.wait(lambda _: page.all(".message pre code"))
    assert not page.find(".reasoning").get_attribute("open") and "Let me think" not in page.text("#messages")
    page.driver.execute_script("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.find(".copy").click()
    assert page.driver.execute_script("return window.copied") == "print('hi')\n"
