"""Traces of requests, as a collector gets them: OTLP over HTTP in JSON, read by OpenTelemetry's own classes."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from server_process import ServerProcess, eventually

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def ids_in_base64(value):
    """OTLP writes ids in hexadecimal, where the JSON of protocol buffers has base64."""
    if isinstance(value, list):
        return [ids_in_base64(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: base64.b64encode(bytes.fromhex(each)).decode() if name in ("traceId", "spanId", "parentSpanId")
            else ids_in_base64(each) for name, each in value.items()}


class Collector(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    def __init__(self):
        self.spans, self.resources, self.status, self.pause = [], [], 200, 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def of(self, trace: str) -> list:
        return [span for span in self.spans if span.trace_id.hex() == trace]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.pause)
        if self.server.status == 200:
            assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
            message = json_format.Parse(json.dumps(ids_in_base64(json.loads(body))), ExportTraceServiceRequest())
            for group in message.resource_spans:
                self.server.resources.append(values(group.resource.attributes))
                for scope in group.scope_spans:
                    self.server.spans.extend(scope.spans)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def values(attributes) -> dict:
    out = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        out[each.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return out


@pytest.fixture
def collector():
    server = Collector()
    yield server
    server.shutdown()
    server.server_close()


def environment(collector, **more) -> dict[str, str]:
    return {"INFERFLUX_TELEMETRY_OTLP_ENDPOINT": collector.url, "INFERFLUX_TELEMETRY_SERVICE_NAME": "llm", **more}


def chat(server, sampled="01", trace=TRACE, **fields):
    body = {"messages": [{"role": "user", "content": "What is 2+2?"}], "max_tokens": 8, **fields}
    headers = {"traceparent": f"00-{trace}-{PARENT}-{sampled}"} if sampled else {}
    return requests.post(server.url + "/v1/chat/completions", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_continues_its_callers_trace(collector, stream):
    with ServerProcess(environment=environment(collector)) as server:
        before = time.time_ns()
        answer = chat(server, stream=stream)
        assert answer.status_code == 200
        assert eventually(lambda: len(collector.of(TRACE)) >= 4)
        after = time.time_ns()
        spans = {span.name.split()[0]: span for span in collector.of(TRACE)}
        model = requests.get(server.url + "/v1/models", timeout=10).json()["data"][0]["id"]
        assert f'trace_id={TRACE}' in server.log()
    assert collector.resources[0]["service.name"] == "llm"
    root = spans["chat"]
    assert root.name == f"chat {model}" and root.kind == 2 and root.parent_span_id.hex() == PARENT
    facts = values(root.attributes)
    assert facts["gen_ai.operation.name"] == "chat" and facts["gen_ai.request.model"] == model
    assert facts["http.route"] == "/v1/chat/completions" and facts["http.response.status_code"] == 200
    assert facts["gen_ai.usage.input_tokens"] > 5 and 0 < facts["gen_ai.usage.output_tokens"] <= 8
    assert facts["gen_ai.response.finish_reasons"] in (["stop"], ["length"])
    assert facts["inferflux.request.id"] == answer.headers["X-Request-Id"]
    if not stream:
        usage = answer.json()["usage"]
        assert facts["gen_ai.usage.input_tokens"] == usage["prompt_tokens"]
        assert facts["gen_ai.usage.output_tokens"] == usage["completion_tokens"]
    assert before <= root.start_time_unix_nano <= root.end_time_unix_nano <= after
    parts = [spans[name] for name in ("queue", "prefill", "decode")]
    for part in parts:
        assert part.parent_span_id == root.span_id and part.kind == 1
        assert root.start_time_unix_nano <= part.start_time_unix_nano <= part.end_time_unix_nano <= root.end_time_unix_nano
    assert [part.start_time_unix_nano for part in parts] == sorted(part.start_time_unix_nano for part in parts)
    assert values(spans["prefill"].attributes)["inferflux.tokens"] > 0


def test_what_the_caller_does_not_record_is_not_recorded(collector):
    with ServerProcess(environment=environment(collector, INFERFLUX_TELEMETRY_SAMPLING_PERCENT="0")) as server:
        assert chat(server, sampled="00").status_code == 200
        assert chat(server, sampled="").status_code == 200
        other = "1" * 32
        assert chat(server, trace=other).status_code == 200
        assert eventually(lambda: collector.of(other))
    assert {span.trace_id.hex() for span in collector.spans} == {other}


def test_a_stop_sends_the_last_traces_and_errors_are_told(collector):
    with ServerProcess(environment=environment(collector)) as server:
        assert chat(server, model="none").status_code == 404
        requests.post(server.url + "/v1/embeddings", json={"input": ["a", "b"]}, timeout=20)
        assert chat(server, sampled="").status_code == 200
    names = [span.name.split()[0] for span in collector.spans if span.kind == 2]
    assert sorted(names) == ["chat", "chat", "embeddings"]
    refused = next(span for span in collector.of(TRACE))
    assert values(refused.attributes)["http.response.status_code"] == 404 and refused.status.code == 0


@pytest.mark.parametrize("how", ["gone", "slow", "busy"])
def test_no_request_waits_for_a_collector(collector, how):
    settings = environment(collector)
    if how == "gone":
        settings["INFERFLUX_TELEMETRY_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    collector.pause = 30 if how == "slow" else 0
    collector.status = 503 if how == "busy" else 200
    with ServerProcess(environment=settings) as server:
        for _ in range(3):
            assert chat(server, sampled="").status_code == 200
        if how != "slow":
            assert eventually(lambda: "takes no traces" in server.log(), 20)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 10


def test_a_worker_is_told_of_the_trace(collector):
    with ServerProcess("--pool", environment=environment(collector)) as server:
        assert chat(server).status_code == 200
        assert eventually(lambda: len(collector.of(TRACE)) >= 4)
        root = next(span for span in collector.of(TRACE) if span.kind == 2)
        log = requests.get(server.url + "/v1/admin/workers", timeout=10).json()["data"][0]["id"]
        text = requests.get(f"{server.url}/v1/admin/workers/{log}/log", timeout=10).text
        assert f"00-{TRACE}-{root.span_id.hex()}-01" in text


def test_an_endpoint_that_is_none_starts_no_server():
    with pytest.raises(AssertionError, match="only http:// is supported"):
        ServerProcess(environment={"INFERFLUX_TELEMETRY_OTLP_ENDPOINT": "https://localhost:4318"})
