"""Every view in both themes, as people see it: pictures, and axe-core's rules of accessibility."""

import importlib.resources
import threading

import pytest
import requests

AXE = importlib.resources.files("axe_core_python").joinpath("axe.min.js")
LOAD = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], "max_tokens": 40}


def prepare_chat(page):
    page.send("What is the capital of France?")
    page.answer()
    page.field("Show log probabilities").click()
    page.send("What is 2+2?")
    page.wait(lambda _: len(page.all(".message.assistant")) == 2)
    page.answer()


def prepare_models(page):
    page.wait(lambda _: "It runs on" in page.text("#models") and "Weights" in page.text("#memory"))


def prepare_live(page):
    threads = [threading.Thread(target=requests.post, args=(page.server.url + "/v1/chat/completions",), kwargs={"json": LOAD, "timeout": 60}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    page.wait(lambda _: "out: " in page.text("[data-plot='Tokens a second']") and "nothing" not in page.text("[data-plot='Time to first token (ms)']"))


def prepare_requests(page):
    answer = requests.post(page.server.url + "/v1/chat/completions", json=LOAD, timeout=60)
    page.open(f"requests/{answer.headers['X-Request-Id']}")
    page.wait(lambda _: page.all(".timeline .phase") and page.all("#requests tbody tr"))


def prepare_playground(page):
    page.wait(lambda _: page.all("#next-summary"))


def prepare_embeddings(page):
    page.button("Compare").click()
    page.wait(lambda _: page.all("#similarities td"))


VIEWS = {"chat": prepare_chat, "models": prepare_models, "live": prepare_live, "requests": prepare_requests, "playground": prepare_playground, "embeddings": prepare_embeddings}


def violations(page):
    page.driver.execute_script(AXE.read_text())
    found = page.driver.execute_async_script("const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations), (e) => done([{id: String(e), nodes: []}]))")
    return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_whole_and_accessible(page, view, theme):
    page.use_theme(theme)
    page.open(view)
    page.wait(lambda _: page.find("#connection").text == "Connected")
    VIEWS[view](page)
    assert page.driver.execute_script("return document.documentElement.dataset.theme") == theme
    page.screenshot(f"{view}-{theme}")
    assert page.problems() == []
    assert violations(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_a_phone(page, view):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    try:
        page.open(view)
        page.wait(lambda _: page.find("#connection").text == "Connected")
        VIEWS[view](page)
        page.screenshot(f"{view}-phone")
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 390, "no sideways scrolling"
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_shows_the_end_of_an_answer(page):
    """And not the settings that follow the chat on a narrow screen."""
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    try:
        page.open()
        for question in ("What is the capital of France?", "What is 2+2?", "Tell me a story about a fox."):
            page.send(question)
            page.answer()
        where = page.driver.execute_script("const body = [...document.querySelectorAll('.message .body')].pop().getBoundingClientRect();"
                                           "return [body.bottom, document.querySelector('.composer').getBoundingClientRect().bottom, innerHeight]")
        assert 0 < where[0] < where[1] <= where[2] + 1, where
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_keyboard_reaches_everything(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    reached = []
    for _ in range(40):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        reached.append(page.driver.execute_script("return document.activeElement.innerText || document.activeElement.id"))
    assert reached[0] == "Skip to content"
    for name in ("Chat", "Models", "Live", "Requests", "Playground", "Embeddings", "New chat", "Send"):
        assert name in reached, reached
