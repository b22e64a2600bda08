"""Every parameter's declared range, over HTTP. A refusal names the parameter and generates nothing."""

import pytest
import requests

RANGES = {  # field: (lowest, highest, below, above)
    "temperature": (0, 2, -0.1, 2.1),
    "top_p": (0, 1, -0.1, 1.1),
    "top_k": (-1, 1000, -2, 1 << 30),
    "min_p": (0, 1, -0.1, 1.1),
    "typical_p": (0, 1, -0.1, 1.1),
    "top_n_sigma": (0, 100, -0.1, 100.5),
    "xtc_probability": (0, 1, -0.1, 1.1),
    "xtc_threshold": (0, 0.5, -0.1, 0.6),
    "dry_multiplier": (0, 100, -0.1, 101),
    "dry_base": (1, 4, 0.5, 5),
    "dry_allowed_length": (0, 1024, -1, 1025),
    "dry_penalty_last_n": (-1, 1000, -2, 1 << 30),
    "mirostat": (0, 2, -1, 3),
    "mirostat_tau": (0, 100, -1, 101),
    "mirostat_eta": (0, 1, -0.1, 1.1),
    "repetition_penalty": (0.01, 10, 0, 10.1),
    "presence_penalty": (-2, 2, -2.1, 2.1),
    "frequency_penalty": (-2, 2, -2.1, 2.1),
    "seed": (-(2**63), 2**63 - 1, -(2**63) - 1, 2**63),
    "n": (1, 3, 0, 129),
    "max_tokens": (1, 3, 0, -2),
    "priority": (-1000000, 1000000, -1000001, 1000001),
    "timeout": (5, 86400, 0, 86401),
}
ENDPOINTS = {"/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}]}, "/v1/completions": {"prompt": "Hi"}}


def post(server, path, **fields):
    return requests.post(server.url + path, json={"max_tokens": 2, **ENDPOINTS[path], **fields}, timeout=60)


def assert_refused(response, param):
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] == param and param in error["message"] and error["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("field", RANGES)
def test_ranges(server, path, field):
    low, high, below, above = RANGES[field]
    for value in (low, high, None):
        assert post(server, path, **{field: value}).status_code == 200, (field, value)
    for value in (below, above, "1", [], {}, True):
        assert_refused(post(server, path, **{field: value}), field)


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("field, value", [
    ("stop", ["a"] * 65), ("stop", 1), ("stream", "yes"), ("user", 5), ("ignore_eos", "no"), ("logit_bias", []),
    ("no_such_field", 1), ("model", 5), ("stream_options", {"include_usage": True}), ("Temperature", 1)])
def test_refused_fields_are_named(server, path, field, value):
    assert_refused(post(server, path, **{field: value}), field)


@pytest.mark.parametrize("field, value", [
    ("tool_choice", "required"), ("functions", []), ("top_logprobs", 2),
    ("store", 1), ("prompt", "x"), ("reasoning_effort", "huge"), ("parallel_tool_calls", "no")])
def test_what_chat_does_not_serve_is_named(server, field, value):
    assert_refused(post(server, "/v1/chat/completions", **{field: value}), field)


@pytest.mark.parametrize("field, value", [
    ("messages", []), ("echo", 1), ("prompt_logprobs", 21), ("best_of", 129), ("suffix", "x"), ("logprobs", 6), ("top_logprobs", 1)])
def test_what_completions_do_not_serve_is_named(server, field, value):
    assert_refused(post(server, "/v1/completions", **{field: value}), field)


def test_ids_beyond_the_vocabulary(server):
    assert_refused(post(server, "/v1/completions", prompt=[10**6]), "prompt")
    assert_refused(post(server, "/v1/completions", logit_bias={"1000000": 1}), "logit_bias")
