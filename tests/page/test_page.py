"""What people do on the page."""

import json
import os
import pathlib

import pytest
import requests
from selenium.webdriver.common.by import By

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/tiny/inferflux-tiny.gguf"


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
    page.wait(lambda _: "2 of 2" in page.find("#messages").text)
    page.find("[aria-label='Previous branch']").click()
    page.wait(lambda _: "1 of 2" in page.find("#messages").text)


def test_stop_ends_an_answer_and_the_request(page, server):
    page.send("Tell me a story about a fox. " * 20)
    page.find("#stop").click()
    page.answer()
    page.wait(lambda _: server.metric("inferflux_running_sequences") == 0)
    assert page.problems() == []


def test_the_page_asks_no_other_host(page, server):
    page.send("Hello")
    page.answer()
    urls = [json.loads(e["message"])["message"]["params"]["request"]["url"] for e in page.driver.get_log("performance")
            if json.loads(e["message"])["message"]["method"] == "Network.requestWillBeSent"]
    assert urls and not [u for u in urls if not u.startswith((server.url, "data:", "about:"))]


@pytest.mark.parametrize("view", ["chat", "models", "live", "embeddings"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_view_shows_without_a_problem(page, view, theme):
    page.driver.execute_script(f"localStorage.setItem('inferflux-theme', '{theme}')")
    page.open(view)
    page.wait(lambda _: page.find("#view").text)
    page.wait(lambda _: page.find("#connection").text == "Connected")
    assert page.driver.execute_script("return document.documentElement.dataset.theme") == theme
    assert page.problems() == []
    if folder := os.environ.get("INFERFLUX_SCREENSHOTS"):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        page.driver.save_screenshot(f"{folder}/{view}-{theme}.png")


def test_models_are_loaded_shown_and_unloaded(page):
    page.open("models")
    page.wait(lambda _: "runs on cpu, by our own engine" in page.find("#models").text)
    page.driver.find_element(By.CSS_SELECTOR, "[aria-label='Load a model'] input").send_keys(str(MODEL))
    page.driver.find_elements(By.CSS_SELECTOR, "[aria-label='Load a model'] input")[1].send_keys("second")
    page.button("Load").click()
    page.wait(lambda _: page.all("section[aria-label='second']"))
    page.find("section[aria-label='second'] .unload").click()
    page.wait(lambda _: not page.all("section[aria-label='second']"))
    assert page.problems() == []


def test_a_load_that_fails_says_why(page):
    page.open("models")
    page.driver.find_element(By.CSS_SELECTOR, "[aria-label='Load a model'] input").send_keys("/no/such/file.gguf")
    page.button("Load").click()
    page.wait(lambda _: "/no/such/file.gguf" in page.find("[role=alert]").text)


def test_plots_have_data_under_load(page, server):
    page.open("live")
    body = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], "max_tokens": 60}
    page.wait(lambda _: requests.post(server.url + "/v1/chat/completions", json=body, timeout=60).ok
              and "out: 0.0" not in (text := page.find("[data-plot='Tokens a second']").text) and "nothing" not in text)


def test_embeddings_are_compared(page):
    page.open("embeddings")
    page.button("Compare").click()
    page.wait(lambda _: len(page.all("#similarities td")) == 9)
    assert page.find("#similarities td").text == "1.00"


def test_the_server_going_away_is_said(page):
    from server_process import ServerProcess
    with ServerProcess() as own:
        page.driver.get(own.url + "/")
        page.wait(lambda _: page.find("#connection").text == "Connected")
        own.stop()
        page.wait(lambda _: "does not answer" in page.find("#connection").text)
    page.driver.get_log("browser")


def test_a_wrong_key_is_asked_for_again(page, tmp_path):
    import hashlib

    from server_process import ServerProcess
    keys = tmp_path / "keys"
    keys.write_text(hashlib.sha256(b"right").hexdigest() + " read,generate,admin\n")
    with ServerProcess("--server-api-keys-file", str(keys)) as own:
        page.driver.get(own.url + "/#models")
        for key in ("wrong", "right"):
            page.wait(lambda _: page.all("#key-form"))
            page.find("#key-form input").send_keys(key)
            page.find("#key-form button").click()
        page.wait(lambda _: "inferflux-tiny" in page.find("#models").text)
        stored = page.driver.execute_script("return [JSON.stringify(localStorage), sessionStorage.getItem('inferflux-key')]")
        assert "right" not in stored[0] and stored[1] == "right", "the key is kept for the tab only"
    page.driver.get_log("browser")


def test_the_page_is_small_and_has_its_policy(server):
    reply = requests.get(server.url + "/", headers={"Accept-Encoding": "gzip"}, stream=True, timeout=10)
    assert len(reply.raw.read(decode_content=False)) <= 500_000
    policy = reply.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy and "unsafe-inline" not in policy and "require-trusted-types-for" in policy


def test_the_first_paint_is_quick(page):
    paint = page.driver.execute_script("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    assert paint is not None
    print(f"first contentful paint after {paint:.0f} ms")
