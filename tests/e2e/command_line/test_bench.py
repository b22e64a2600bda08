"""inferctl bench, against a correct server and against one that returns false data."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from test_inferctl import run

LOAD = ("-n", "6", "-c", "3", "--prompt-tokens", "40", "--max-tokens", "8")


def test_it_reports_what_clients_saw(server):
    result = run("bench", "--url", server.url, *LOAD, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    (report,) = json.loads(result.stdout)
    assert report["succeeded"] == 6 and report["failed"] == 0
    assert report["output_tokens"] == 48 and report["prompt_tokens"] == 240
    assert report["output_tokens_per_second"] > 0 and report["cached_share"] < 0.1
    for times in (report["time_to_first_token_ms"], report["inter_token_ms"]):
        assert 0 < times["p50"] <= times["p90"] <= times["p99"]


def test_shared_prefixes_are_served_from_the_cache(server):
    result = run("bench", "--url", server.url, "-n", "8", "-c", "1", "--prompt-tokens", "100", "--shared-prefix", "0.9",
                 "--max-tokens", "2", "--json")
    assert json.loads(result.stdout)[0]["cached_share"] > 0.7


def test_arrivals_and_two_servers_in_turns(server):
    result = run("bench", "--url", server.url, "--against", server.url, "--rounds", "2", "--rate", "50", "-n", "4",
                 "--prompt-tokens", "10", "--max-tokens", "4")
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split() for line in result.stdout.splitlines()[1:]]
    assert len(rows) == 2 and all(row[0] == server.url and row[-2:] == ["8", "0"] for row in rows)


ANSWERS = {
    "no text": ([{"choices": [{"text": "", "finish_reason": "length"}]}, {"choices": [], "usage": {"completion_tokens": 8}}], "no text"),
    "too short": ([{"choices": [{"text": "a", "finish_reason": "length"}]}, {"choices": [], "usage": {"completion_tokens": 1}}], "1 of 8"),
    "wrong end": ([{"choices": [{"text": "a", "finish_reason": "stop"}]}, {"choices": [], "usage": {"completion_tokens": 8}}], "'stop'"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_server_that_lies_is_found_out(name):
    chunks, complaint = ANSWERS[name]

    class Liar(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Liar) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        result = run("bench", "--url", f"http://127.0.0.1:{httpd.server_port}", *LOAD)
        httpd.shutdown()
    assert result.returncode == 1 and complaint in result.stdout, result.stdout
