"""Which web pages may use the server: Host, Origin and CORS, as a browser sends them."""

import hashlib

import pytest
import requests
from server_process import ServerProcess

SITE = "https://chat.example.com"
# What a page can send to another site without asking first: a plain POST.
PLAIN = {"Content-Type": "text/plain"}


def ask(server, path="/v1/completions", **headers):
    body = '{"prompt": "Hi", "max_tokens": 1}' if path != "/api/generate" else '{"model": "default", "prompt": "Hi", "stream": false}'
    return requests.post(server.url + path, data=body, headers={**PLAIN, **headers}, timeout=30)


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/messages", "/api/generate", "/v1/responses", "/infill"])
def test_a_page_of_another_site_cannot_generate(server, path):
    refused = ask(server, path, Origin="https://evil.example")
    assert refused.status_code == 403 and "server.allowed_origins" in refused.text
    assert "Access-Control-Allow-Origin" not in refused.headers


def test_a_name_that_leads_here_by_dns_rebinding_is_refused(server):
    for call in (lambda **headers: ask(server, **headers),
                 lambda **headers: requests.get(server.url + "/v1/models", headers=headers, timeout=10)):
        refused = call(Host=f"evil.example:{server.port}")
        assert refused.status_code == 403 and "server.allowed_hosts" in refused.text
        assert call(Host=f"localhost:{server.port}").status_code == 200
    for path in ("/healthz", "/metrics"):
        assert requests.get(server.url + path, headers={"Host": "probe.example"}, timeout=10).status_code == 200


def test_a_listed_site_may_call_and_read(tmp_path):
    with ServerProcess(environment={"INFERFLUX_SERVER_ALLOWED_ORIGINS": SITE, "INFERFLUX_SERVER_ALLOWED_HOSTS": "llm.example"}) as server:
        asked = {"Origin": SITE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        allowed = requests.options(server.url + "/v1/chat/completions", headers=asked, timeout=10)
        assert allowed.status_code == 204
        assert allowed.headers["Access-Control-Allow-Origin"] == SITE
        assert "POST" in allowed.headers["Access-Control-Allow-Methods"]
        assert allowed.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
        refused = requests.options(server.url + "/v1/chat/completions", headers={**asked, "Origin": "https://evil.example"}, timeout=10)
        assert refused.status_code == 403 and "Access-Control-Allow-Origin" not in refused.headers
        answer = ask(server, Origin=SITE, Host="llm.example")
        assert answer.status_code == 200 and answer.headers["Access-Control-Allow-Origin"] == SITE
        wrong = requests.post(server.url + "/v1/completions", json={"prompt": 3}, headers={"Origin": SITE}, timeout=10)
        assert wrong.status_code == 400 and wrong.headers["Access-Control-Allow-Origin"] == SITE, "errors can be read too"
        assert ask(server, Origin="https://evil.example").status_code == 403


def test_with_keys_the_key_decides(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(f"{hashlib.sha256(b'secret').hexdigest()} read,generate,admin\n")
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(keys)}) as server:
        key = {"Authorization": "Bearer secret"}
        assert ask(server, Host="llm.example", Origin="https://elsewhere.example", **key).status_code == 200
        assert ask(server, Host="llm.example", Origin="https://elsewhere.example").status_code == 401
        admin = requests.get(server.url + "/v1/admin/models", headers={**key, "Origin": "https://elsewhere.example"}, timeout=10)
        assert admin.status_code == 403
