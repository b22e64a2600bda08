"""A wrong value for every field of every endpoint: always a 4xx in that API's own shape, and the server answers after it.

The fields are those of the tables in docs/api.md, which the server's own tables print."""

import json
import random
import re

import pytest
import requests
from server_process import ROOT

SEED = 20261124
MESSAGES = [{"role": "user", "content": "Hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 3}}, "required": ["city"], "additionalProperties": False}
FUNCTION = {"name": "f", "description": "Does it.", "parameters": SCHEMA}
SHARED, OLLAMA = "Chat and raw completions, and `/infill`", "Ollama's chat and generate"


def openai_error(body):
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"} and isinstance(error["message"], str) and error["message"]


def anthropic_error(body):
    assert body["type"] == "error" and body["error"]["type"] and isinstance(body["error"]["message"], str) and body["error"]["message"]


def ollama_error(body):
    assert set(body) == {"error"} and isinstance(body["error"], str) and body["error"]


# path: (the tables of its fields, a request that works and has much in it, the shape of its errors)
ENDPOINTS = {
    "/v1/chat/completions": ([SHARED, "`/v1/chat/completions`", "sampling"], {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                     {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                     {"role": "tool", "tool_call_id": "c", "content": "1"}, *MESSAGES],
        "tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "auto", "max_tokens": 2, "temperature": 0, "stop": ["x"],
        "logit_bias": {"5": 1}, "stream_options": None, "speculative": {"type": "none"}, "chat_template_kwargs": {"a": 1}}, openai_error),
    "/v1/completions": ([SHARED, "`/v1/completions`", "sampling"], {
        "prompt": ["Hi", "there"], "max_tokens": 2, "structured_outputs": {"json": SCHEMA}, "n": 2, "logprobs": 1}, openai_error),
    "/infill": ([SHARED, "`/infill`", "sampling"], {"input_prefix": "a", "input_suffix": "b", "n_predict": 2}, openai_error),
    "/v1/embeddings": (["`/v1/embeddings`"], {"input": ["Hi", "there"], "encoding_format": "float"}, openai_error),
    "/v1/responses": (["`/v1/responses`", "sampling"], {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                  {"type": "function_call_output", "call_id": "c", "output": "1"}],
        "instructions": "Be brief.", "max_output_tokens": 2, "tools": [{"type": "function", **FUNCTION}], "store": False,
        "text": {"format": {"type": "text"}}, "reasoning": {"effort": None}, "include": []}, openai_error),
    "/v1/messages": (["`/v1/messages`"], {
        "model": "MODEL", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}],
        "system": [{"type": "text", "text": "Be brief."}], "max_tokens": 2, "tools": [{"name": "f", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"}, "stop_sequences": ["x"], "metadata": {"user_id": "u"}}, anthropic_error),
    "/api/chat": ([OLLAMA, "`/api/chat`"], {
        "model": "MODEL", "messages": MESSAGES, "stream": False, "options": {"num_predict": 2, "stop": ["x"]}, "tools": [{"type": "function", "function": FUNCTION}]},
        ollama_error),
    "/api/generate": ([OLLAMA, "`/api/generate`"], {"model": "MODEL", "prompt": "Hi", "stream": False, "options": {"num_predict": 2}, "format": SCHEMA}, ollama_error),
    "/api/embed": (["`/api/embed`"], {"model": "MODEL", "input": ["Hi"]}, ollama_error),
    "/tokenize": (["`/tokenize`"], {"content": "Hi"}, openai_error),
    "/v1/next_tokens": (["`/v1/next_tokens`, besides those of chat or raw completions"], {"prompt": "Hi", "top": 3}, openai_error),
}
# They need another model or other files: tests/e2e/api/test_rerank.py, test_batches.py and test_ollama_create.py.
ELSEWHERE = {"`/v1/rerank`", "`/score`", "`/classify`", "`/v1/batches`", "`/api/create`"}
NESTED = [[[1.5]]]  # no field takes it
TAKES_ANYTHING = {"/api/embed options", "/infill cache_prompt"}  # accepted without effect, whatever it is


def tables() -> dict[str, list[tuple[str, str, str]]]:
    text = (ROOT / "docs" / "api.md").read_text()
    out, rows = {}, []
    for line in text[text.index("## Every field"):].splitlines():
        if head := re.fullmatch(r"\| (.*) \| \| \|", line):
            out[head[1]] = rows = []
        elif row := re.fullmatch(r"\| `([^`]+)` \| ([^|]*) \| (.*) \|", line):
            rows.append(row.groups())
    sampling = text[text.index("sampling_table.cpp; its test prints"):text.index("<!-- end of the table -->")]
    out["sampling"] = [(name, "honoured", f"{kind}, {span}".replace(",", "").replace("integer ", "integer, ").replace("number ", "number, "))
                       for name, kind, span in re.findall(r"^\| `(\w+)` \| (\w+)[^|]* \| ([^|]*) \|", text[text.index(sampling):], re.M)
                       if name in sampling]
    return out


TABLES = tables()


def wrong_values(verdict: str, detail: str) -> list:
    """Values that no field of such a row takes."""
    if verdict == "refused":
        return [12345, "no such", NESTED, {"no such": 1}]
    if verdict == "accepted without effect":
        return [NESTED]
    if detail == "boolean":
        return ["yes", 1, [], {}, NESTED]
    if detail.startswith("string"):
        size = re.search(r"up to (\d+) bytes", detail)
        return [1, True, [], {}, NESTED] + (["x" * (int(size[1]) + 1)] if size else [])
    if span := re.match(r"(integer|number), (-?[\d.]+) to (-?[\d.]+)", detail):
        low, high = float(span[2]), float(span[3])
        beyond = [low - 1, high + 1, 1e300, -1e300, "1", [], {}, True, NESTED]
        return beyond + ([low + 0.5] if span[1] == "integer" else [])
    return [NESTED]


CASES = [(path, field, verdict, detail) for path, (names, _, _) in ENDPOINTS.items() for name in names for field, verdict, detail in TABLES[name]]


def with_field(body: dict, field: str, value) -> dict:
    """`options.stop` is a member of a member."""
    if "." not in field:
        return {**body, field: value}
    outer, inner = field.split(".")
    return {**body, outer: {**body.get(outer, {}), inner: value}}


@pytest.fixture(scope="module")
def send(server, model_id):
    def send(path: str, body) -> requests.Response:
        text = body if isinstance(body, bytes) else json.dumps(body).replace('"MODEL"', json.dumps(model_id))
        return requests.post(server.url + path, data=text, headers={"Content-Type": "application/json", "anthropic-version": "2023-06-01"}, timeout=120)

    return send


def check_refusal(path: str, answer: requests.Response, what) -> None:
    assert 400 <= answer.status_code < 500, (path, what, answer.status_code, answer.text[:300])
    ENDPOINTS[path][2](answer.json())


def check_alive(send) -> None:
    answer = send("/v1/chat/completions", {"messages": MESSAGES, "max_tokens": 2})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("path", ENDPOINTS)
def test_the_requests_themselves_work(send, path):
    answer = send(path, ENDPOINTS[path][1])
    assert answer.status_code == 200 or path == "/infill", answer.text  # the bundled model has no marks to fill in between


def test_every_endpoint_has_its_tables():
    used = {name for names, _, _ in ENDPOINTS.values() for name in names}
    assert used | ELSEWHERE == set(TABLES), "a new table needs its endpoint here"
    assert len(CASES) > 200 and all(len(rows) >= 2 for rows in TABLES.values())


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_wrong_value_is_a_refusal_in_the_apis_own_shape(send, path):
    for _, field, verdict, detail in [case for case in CASES if case[0] == path]:
        if f"{path} {field}" in TAKES_ANYTHING:
            continue
        for value in wrong_values(verdict, detail):
            check_refusal(path, send(path, with_field(ENDPOINTS[path][1], field, value)), (field, value))
    check_refusal(path, send(path, ENDPOINTS[path][1] | {"no_such_field": 1}), "an unknown field")
    for broken in (b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"a": 1, "a": 2}', b"[" * 5000):
        check_refusal(path, send(path, broken), broken[:20])
    check_alive(send)


def any_json(random: random.Random, depth: int):
    kinds = [None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 1e308, 0.5, "", "f", "x" * 300, "\u0000", "😀", "<|im_end|>", "<tool_call>"]
    if depth == 0 or random.random() < 0.6:
        return random.choice(kinds)
    if random.random() < 0.5:
        return [any_json(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(["type", "name", "text", "content", "role", "", "a.b", "function", "$ref"]): any_json(random, depth - 1) for _ in range(random.randrange(4))}


def places(value, path=()):
    """The path of every value in a request."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def mutated(value, path, new):
    if not path:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = mutated(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("path", ENDPOINTS)
def test_any_value_anywhere_is_an_answer_or_a_refusal(send, path):
    """What is not a 200 is a 4xx in the API's shape. A limit of tokens stays, so that answers are short."""
    seeded = random.Random(f"{SEED} {path}")
    body = ENDPOINTS[path][1]
    changeable = [place for place in places(body) if not any("max" in str(key) or "predict" in str(key) for key in place)]
    statuses = set()
    for _ in range(120):
        place = seeded.choice(changeable)
        new = any_json(seeded, 3)
        answer = send(path, mutated(body, place, new))
        statuses.add(answer.status_code)
        if answer.status_code != 200:
            check_refusal(path, answer, (place, new))
    assert statuses - {200}, "some were wrong"
    check_alive(send)
