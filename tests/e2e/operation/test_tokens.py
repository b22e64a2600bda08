"""Tokens of an OpenID Connect issuer (JWT) in place of API keys, made by PyJWT."""

import base64
import hashlib
import hmac
import json
import signal
import subprocess
import time

import jwt
import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from server_process import MODEL, ServerProcess, clean_environment, eventually, program

ISSUER = "https://id.example"
MAKERS = {"RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
          "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
          "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm)}


class Issuer:
    """Keys of every algorithm, and the file of their public parts."""

    def __init__(self, file):
        self.file = file
        self.keys = {algorithm: make() for algorithm, (make, _) in MAKERS.items()}
        self.publish()

    def publish(self, **more):
        rows = []
        for algorithm, key in self.keys.items():
            row = json.loads(MAKERS[algorithm][1].to_jwk(key.public_key()))
            rows.append({**row, "key_ops": ["verify"], "kid": algorithm.lower(), "alg": algorithm, "use": "sig", **more})
        self.file.write_text(json.dumps({"keys": rows}))

    def token(self, algorithm="ES256", key=None, headers=None, **claims) -> str:
        now = int(time.time())
        body = {"iss": ISSUER, "aud": "inferflux", "sub": "alice", "iat": now, "exp": now + 600,
                "scope": "openid read generate", **claims}
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, key or self.keys[algorithm], algorithm=algorithm,
                          headers={"kid": algorithm.lower(), **(headers or {})})


def environment(issuer: Issuer, **more: str) -> dict[str, str]:
    return {"INFERFLUX_SERVER_JWT_JWKS_FILE": str(issuer.file), "INFERFLUX_SERVER_JWT_ISSUER": ISSUER,
            "INFERFLUX_SERVER_JWT_AUDIENCE": "inferflux", **more}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp("issuer") / "jwks.json")
    with ServerProcess(environment=environment(issuer)) as server:
        yield server, issuer


class FromAddress(requests.adapters.HTTPAdapter):
    """Calls from an address of its own, so that the wait after wrong keys of another does not count for it."""

    def __init__(self, number: int):
        self.source = (f"127.0.1.{number}", 0)
        super().__init__()

    def init_poolmanager(self, *words, **more):
        super().init_poolmanager(*words, **more, source_address=self.source)


def models(server, token: str, path="/v1/models", number=1) -> requests.Response:
    with requests.Session() as session:
        session.mount("http://", FromAddress(number))
        return session.get(server.url + path, headers={"Authorization": f"Bearer {token}"}, timeout=10)


def encode(value) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", MAKERS)
def test_a_token_does_what_its_scopes_allow(served, algorithm):
    server, issuer = served
    token = issuer.token(algorithm)
    assert models(server, token).status_code == 200
    answer = requests.post(server.url + "/v1/completions", json={"prompt": "a", "max_tokens": 2},
                           headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert answer.status_code == 200, answer.text
    refused = models(server, token, "/v1/admin/models")
    assert refused.status_code == 403 and "'admin'" in refused.text
    assert models(server, issuer.token(algorithm, scope="admin"), "/v1/admin/models").status_code == 200
    assert models(server, issuer.token(algorithm, scope=None)).status_code == 403
    scopes = models(server, token, "/v1/key").json()["scopes"]
    assert [row["name"] for row in scopes] == ["read", "generate"]


def test_the_log_names_the_account_and_never_has_the_token(served):
    server, issuer = served
    token = issuer.token(sub="carol@example")
    assert models(server, token).status_code == 200
    assert eventually(lambda: "jwt:carol@example" in server.log())
    assert token not in server.log() and token.split(".")[1] not in server.log()


def test_without_a_token_nothing_opens(served):
    server, _ = served
    assert requests.get(server.url + "/v1/models", timeout=10).status_code == 401
    assert models(server, "a.b.c").status_code == 401
    assert models(server, "sk-unknown").status_code == 401


def wrong_tokens(issuer: Issuer):
    now = int(time.time())
    good = issuer.token("RS256")
    header, claims, signature = good.split(".")
    pem = issuer.keys["RS256"].public_key().public_bytes(serialization.Encoding.PEM,
                                                         serialization.PublicFormat.SubjectPublicKeyInfo)
    confused = encode({"alg": "HS256", "typ": "JWT", "kid": "rs256"}) + "." + claims
    other = ec.generate_private_key(ec.SECP256R1())
    own_key = json.loads(ECAlgorithm.to_jwk(other.public_key()))
    twice = header + "." + encode(b'{"iss": "https://id.example", "iss": "https://id.example", "aud": "inferflux", '
                                  b'"sub": "a", "exp": %d}' % (now + 60))
    signed_twice = twice + "." + encode(jwt.get_algorithm_by_name("RS256").sign(twice.encode(), issuer.keys["RS256"]))
    admin = encode({"iss": ISSUER, "aud": "inferflux", "sub": "alice", "exp": now + 600, "scope": "admin read"})
    return {
        "wrong key": (issuer.token(key=other), "signature"),
        "embedded key": (issuer.token(key=other, headers={"jwk": own_key}), "signature"),
        "address of a key": (issuer.token(key=other, headers={"jku": "http://127.0.0.1:1/"}), "signature"),
        "unknown key": (issuer.token(headers={"kid": "other"}), "kid"),
        "key of another algorithm": (issuer.token(headers={"kid": "rs256"}), "kid"),
        "public key as a secret": (confused + "." + encode(hmac.digest(pem, confused.encode(), hashlib.sha256)), "alg"),
        "no signature": (encode({"alg": "none", "kid": "rs256"}) + "." + claims + ".", "alg"),
        "emptied signature": (f"{header}.{claims}.", "signature"),
        "algorithm that is not taken": (issuer.token("RS256").replace(header, encode({"alg": "RS512", "kid": "rs256"}), 1),
                                        "alg"),
        "tampered claims": (f"{header}.{admin}.{signature}", "signature"),
        "padded": (good + "=", "base64url"),
        "claim twice": (signed_twice, "twice"),
        "expired": (issuer.token(exp=now - 120), "exp"),
        "endless": (issuer.token(exp=None), "exp"),
        "not yet": (issuer.token(nbf=now + 600), "nbf"),
        "issued tomorrow": (issuer.token(iat=now + 86400), "iat"),
        "wrong audience": (issuer.token(aud=["mail", "inferflux2"]), "aud"),
        "no audience": (issuer.token(aud=None), "aud"),
        "wrong issuer": (issuer.token(iss="https://id.example.evil"), "iss"),
        "no account": (issuer.token(sub=None), "sub"),
        "logout token": (issuer.token(headers={"typ": "logout+jwt"}), "typ"),
        "critical extension": (issuer.token(headers={"crit": ["exp"]}), "crit"),
    }


def test_wrong_tokens_are_refused_by_the_check_that_fails(served):
    server, issuer = served
    for number, (name, (token, word)) in enumerate(wrong_tokens(issuer).items()):
        answer = models(server, token, number=number + 2)
        assert answer.status_code == 401, (name, answer.text)
        message = answer.json()["error"]["message"]
        assert word in message, (name, message)
        assert all(part not in message for part in token.split(".") if len(part) > 8), name
    assert models(server, issuer.token()).status_code == 200, "right ones never wait"


def test_accounts_share_nothing(served):
    server, issuer = served

    def response(token):
        return {"Authorization": f"Bearer {token}"}

    made = requests.post(server.url + "/v1/responses", json={"input": "hi", "max_output_tokens": 2}, timeout=60,
                         headers=response(issuer.token())).json()
    assert "id" in made, made
    path = "/v1/responses/" + made["id"]
    assert models(server, issuer.token(), path).status_code == 200, "another token of the same account"
    assert models(server, issuer.token(sub="bob"), path).status_code == 404


def test_scopes_may_have_another_claim_and_a_prefix(tmp_path):
    issuer = Issuer(tmp_path / "jwks.json")
    more = {"INFERFLUX_SERVER_JWT_SCOPE_CLAIM": "/realm_access/roles", "INFERFLUX_SERVER_JWT_SCOPE_PREFIX": "llm:",
            "INFERFLUX_SERVER_JWT_ACCOUNT_CLAIM": "tenant"}
    with ServerProcess(environment=environment(issuer, **more)) as server:
        roles = {"realm_access": {"roles": ["llm:read", "admin"]}, "tenant": "acme"}
        assert models(server, issuer.token(**roles)).status_code == 200
        assert models(server, issuer.token(**roles), "/v1/admin/models").status_code == 403
        assert "'tenant'" in models(server, issuer.token()).text


def test_a_hang_up_takes_new_keys_whole_or_not_at_all(tmp_path):
    issuer = Issuer(tmp_path / "jwks.json")
    with ServerProcess(environment=environment(issuer)) as server:
        old = issuer.token()
        issuer.keys["ES256"] = ec.generate_private_key(ec.SECP256R1())
        assert models(server, issuer.token()).status_code == 401, "not before it is told"
        issuer.publish(d="AQ")  # a private key: refused
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "a part of a private key" in server.log()), server.log()
        assert models(server, old).status_code == 200
        issuer.publish()
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: models(server, issuer.token()).status_code == 200)
        assert models(server, old).status_code == 401
        issuer.file.unlink()
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "cannot read" in server.log())
        assert models(server, issuer.token()).status_code == 200


@pytest.mark.parametrize("left_out", ["ISSUER", "AUDIENCE", "JWKS_FILE"])
def test_half_of_the_settings_start_no_server(tmp_path, left_out):
    settings = environment(Issuer(tmp_path / "jwks.json"))
    del settings["INFERFLUX_SERVER_JWT_" + left_out]
    ended = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(MODEL)], capture_output=True, text=True,
                           timeout=60, env=clean_environment(**settings))
    assert ended.returncode == 1 and "server.jwt." + left_out.lower() in ended.stderr
