"""A model's answer is hostile: nothing of it runs, loads, or leaves the page."""

import json

import pytest

ATTACKS = {
    "script": "<script>window.hit = 1</script>",
    "handler": "<b onclick='window.hit=1' onmouseover='window.hit=1'>x</b><img src=x onerror='window.hit=1'>",
    "javascript link": "[click](javascript:window.hit=1) <a href='javascript:window.hit=1'>x</a>",
    "image": "![i](http://192.0.2.1/leak.png) <img src='http://192.0.2.1/leak2.png'>",
    "svg": "<svg onload='window.hit=1'><script>window.hit=1</script></svg>",
    "form": "<form action='http://192.0.2.1/'><input name=a><button>go</button></form>",
    "frame": "<iframe src='http://192.0.2.1/'></iframe><object data='http://192.0.2.1/'></object><embed src='http://192.0.2.1/'>",
    "style": "<style>body{background:url(http://192.0.2.1/)}</style><p style='background:url(http://192.0.2.1/)'>x</p>",
    "meta": "<meta http-equiv=refresh content='0;url=http://192.0.2.1/'><base href='http://192.0.2.1/'><link rel=stylesheet href='http://192.0.2.1/'>",
    "data link": "[x](data:text/html,<script>window.hit=1</script>)",
    "code": "```html\n<img src=x onerror='window.hit=1'>\n```",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_answer_can_do_nothing(page, server, attack):
    conversation = {"id": "a", "title": "attack", "system": "", "leaf": "1", "next": 2,
                    "nodes": {"1": {"role": "assistant", "content": ATTACKS[attack], "parent": None}}}
    page.driver.execute_script("localStorage.setItem('inferflux-conversations', arguments[0])", json.dumps([conversation]))
    page.driver.get_log("performance")
    page.open()
    page.wait(lambda _: page.all(".message.assistant"))
    body = page.find(".message.assistant .body")
    for link in body.find_elements("css selector", "a"):
        assert link.get_attribute("href") in (None, "") or link.get_attribute("href").startswith(("http:", "https:", "mailto:"))
    for part in body.find_elements("css selector", "*"):
        if part.size["width"] and part.size["height"] and part.tag_name != "a":
            part.click()
    assert page.driver.execute_script("return window.hit") is None
    assert not body.find_elements("css selector", "img, svg, form, input, iframe, object, embed, style, script, meta, base, link")
    sent = [json.loads(e["message"])["message"] for e in page.driver.get_log("performance")]
    assert not [m for m in sent if m["method"] == "Network.requestWillBeSent" and "192.0.2.1" in m["params"]["request"]["url"]]
