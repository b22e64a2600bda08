"""Models, live figures, timelines, the playground and embeddings: what people run and watch."""

import pathlib
import shutil

import pytest
import requests
from server_process import ServerProcess

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/tiny/inferflux-tiny.gguf"
STORY = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], "max_tokens": 60}


@pytest.mark.core
def test_models_are_loaded_shown_and_unloaded(page):
    page.open("models")
    page.wait(lambda _: "It runs on cpu, by our own engine" in page.text("#models"))
    page.fill("File or directory on the server", str(MODEL))
    page.fill("Id", "second")
    page.button("Load").click()
    page.wait(lambda _: page.all("section[aria-label='second'] .unload"))
    page.find("section[aria-label='second'] .unload").click()
    page.wait(lambda _: not page.all("section[aria-label='second'] .unload"))
    assert page.problems() == []


def test_a_load_that_fails_says_why(page):
    page.open("models")
    page.fill("File or directory on the server", "/no/such/file.gguf")
    page.button("Load").click()
    page.wait(lambda _: "/no/such/file.gguf" in page.text("[role=alert]"))


def test_the_exposure_tells_what_was_tried(page_of):
    with ServerProcess("--runtime-backend", "cuda,cpu") as own:
        page = page_of(own, "models")
        page.wait(lambda _: "You asked for cuda,cpu" in page.text("#models"))
        text = page.text("#models")
        assert "cuda by our own engine was skipped: " in text and "It runs on cpu" in text and "fallback" in text


def test_a_model_of_the_directory_is_loaded_by_its_name(page_of, tmp_path):
    shutil.copyfile(MODEL, tmp_path / "other.gguf")
    with ServerProcess("--models-dir", str(tmp_path)) as own:
        page = page_of(own, "models")
        page.wait(lambda _: page.all("section.available[aria-label='other'] .load"))
        page.find("section[aria-label='other'] .load").click()
        page.wait(lambda _: page.all("section[aria-label='other'] .unload"))
        page.find("section[aria-label='other']").find_element("xpath", ".//button[.='Make default']").click()
        page.wait(lambda _: "other (default)" in page.text("#models"))
        options = page.text("#model")
        assert "other" in options


def test_plots_have_data_under_load(page, server):
    page.open("live")
    page.wait(lambda _: requests.post(server.url + "/v1/chat/completions", json=STORY, timeout=60).ok
              and "out: 0.0" not in (text := page.text("[data-plot='Tokens a second']")) and "nothing" not in text)
    for plot in ("KV blocks", "Time between tokens (ms)"):
        assert any(character.isdigit() for character in page.text(f"[data-plot='{plot}']"))


def test_workers_states_are_live(page_of):
    with ServerProcess("--pool", "--runtime-kv-budget", "64MiB") as pool:
        page = page_of(pool, "live")
        page.wait(lambda _: "serving" in page.text("#workers"))


def test_an_answer_leads_to_its_timeline(page):
    page.send("What is the capital of France?")
    page.answer()
    page.driver.find_element("link text", "Timeline").click()
    page.wait(lambda _: page.all(".timeline .phase.decode") and page.all(".timeline .phase.prefill"))
    assert "queued" in page.text("#timelines") and "decode" in page.text("#timelines")


def test_the_playground_shows_what_may_come_next(page):
    page.open("playground")
    page.wait(lambda _: "3,072 tokens may come next" in page.text("#next-tokens"))
    page.choose("Kind", "Regular expression")
    page.wait(lambda _: page.text("#next-tokens tbody button")[:1] in ("y", "n"))  # (yes|no), ...
    page.find("#next-tokens button").click()
    page.wait(lambda _: page.field("The answer so far").get_attribute("value"))
    assert page.problems() == []


def test_the_playground_says_why_a_schema_is_refused(page):
    page.open("playground")
    page.wait(lambda _: page.all("#next-summary"))
    page.fill("Source", '{"type": "array", "uniqueItems": true}')
    page.wait(lambda _: "uniqueItems" in page.text("#next-tokens [role=alert]"))
    page.choose("Kind", "Regular expression")
    page.fill("The answer so far", "perhaps")
    page.wait(lambda _: "cannot follow" in page.text("#next-tokens"))
    page.driver.get_log("browser")  # the browser notes each 400


def test_embeddings_are_compared(page):
    page.open("embeddings")
    page.button("Compare").click()
    page.wait(lambda _: len(page.all("#similarities tbody td")) == 9)
    assert page.find("#similarities tbody td").text == "1.00"
