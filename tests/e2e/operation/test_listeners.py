"""Where a server listens: HTTPS, client certificates, a Unix socket, and a port for operators."""

import http.client
import signal
import socket
import ssl
import re
import subprocess
import time

import openai
import httpx
import pytest
import requests
from server_process import ServerProcess, clean_environment, eventually, program, MODEL


def make_certificate(folder, name: str, *, authority=None, days=2, names="DNS:localhost,IP:127.0.0.1"):
    """A certificate for these names, signed by an authority or by itself; its path, with the key beside it."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
             "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(certificate)]
    if authority:
        words += ["-CA", str(authority), "-CAkey", str(authority.with_suffix(".key")), "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(words, check=True, capture_output=True, timeout=30)
    return certificate


class TlsServer(ServerProcess):
    """Readiness is asked for without a look at the certificate."""

    def __init__(self, certificate, *flags):
        self.certificate = certificate
        super().__init__("--tls-cert", str(certificate), "--tls-key", str(certificate.with_suffix(".key")), *flags, wait=False)

    def get(self, path, **options):
        return requests.get(self.url + path, timeout=10, **{"verify": str(self.certificate), **options})


@pytest.fixture
def certificate(tmp_path):
    return make_certificate(tmp_path, "localhost")


def test_clients_speak_https(certificate):
    with TlsServer(certificate) as server:
        assert server.url.startswith("https://")
        assert eventually(lambda: server.get("/readyz").status_code == 200, 60)
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", http_client=httpx.Client(verify=str(certificate)))
        for _ in range(3):  # on one connection
            stream = client.completions.create(model="default", prompt="The capital of France is", max_tokens=8, temperature=0, stream=True)
            assert "Paris" in "".join(chunk.choices[0].text for chunk in stream if chunk.choices)
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(server.url + "/readyz", timeout=10)  # an authority that this client does not know
        with pytest.raises(requests.ConnectionError):
            requests.get(server.url.replace("https", "http") + "/readyz", timeout=10)


def test_inferctl_speaks_https(certificate, tmp_path):
    def complete(url, authority):
        return subprocess.run([program("inferctl"), "complete", "The capital of France is", "--url", url], capture_output=True, text=True,
                              timeout=60, env={**clean_environment(), "SSL_CERT_FILE": str(authority)})

    with TlsServer(certificate) as server:
        assert eventually(lambda: server.get("/readyz").status_code == 200, 60)
        done = complete(server.url, certificate)
        assert done.returncode == 0 and "Paris" in done.stdout, done.stderr
        assert complete(server.url.replace("127.0.0.1", "localhost"), certificate).returncode == 0
        other = complete(server.url, make_certificate(tmp_path, "other"))
        assert other.returncode != 0 and "certificate verify failed" in other.stderr


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_inferctl_refuses_a_certificate_of_another_name(tmp_path):
    certificate = make_certificate(tmp_path, "other", names="DNS:example.org")
    with TlsServer(certificate) as server:
        assert eventually(lambda: server.get("/readyz", verify=False).status_code == 200, 60)
        done = subprocess.run([program("inferctl"), "complete", "Once", "--url", server.url], capture_output=True, text=True, timeout=60,
                              env={**clean_environment(), "SSL_CERT_FILE": str(certificate)})
        assert done.returncode != 0 and "certificate verify failed" in done.stderr


def test_a_large_body_and_a_kept_connection_survive_tls(certificate):
    with TlsServer(certificate) as server:
        assert eventually(lambda: server.get("/readyz").status_code == 200, 60)
        session = requests.Session()
        session.trust_env = False  # the environment may name other authorities
        session.verify = str(certificate)
        for size in (10, 300_000, 10):
            answer = session.post(server.url + "/tokenize", json={"content": "word " * size}, timeout=30)
            assert len(answer.json()["tokens"]) >= size


def test_a_refusal_arrives_over_tls_although_the_body_is_still_coming(certificate):
    with TlsServer(certificate) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw, context.wrap_socket(raw, server_hostname="localhost") as sock:
            sock.sendall(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
            time.sleep(0.2)  # the answer is on its way
            for _ in range(50):
                try:
                    sock.sendall(b"x" * 16384)
                except OSError:
                    break
            assert sock.recv(4096).startswith(b"HTTP/1.1 404")


def test_old_protocols_are_refused(certificate):
    with TlsServer(certificate) as server:
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw, pytest.raises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(raw)


def test_a_new_certificate_is_taken_at_a_hang_up(certificate, tmp_path):
    with TlsServer(certificate) as server:
        seen = lambda: ssl.get_server_certificate(("127.0.0.1", server.port))
        first = seen()
        fresh = make_certificate(tmp_path, "fresh")
        certificate.write_text("no certificate")
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "the configuration stays as it was" in server.log(), 10)
        assert seen() == first
        fresh.replace(certificate)
        fresh.with_suffix(".key").replace(certificate.with_suffix(".key"))
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: seen() != first, 10)


def test_clients_may_have_to_show_a_certificate(certificate, tmp_path):
    authority = make_certificate(tmp_path, "authority")
    client, stranger = make_certificate(tmp_path, "client", authority=authority), make_certificate(tmp_path, "stranger")
    with TlsServer(certificate, "--server-tls-client-ca", str(authority)) as server:
        shown = lambda who: (str(who), str(who.with_suffix(".key")))
        assert eventually(lambda: server.get("/readyz", cert=shown(client)).status_code == 200, 60)
        for options in ({}, {"cert": shown(stranger)}):
            with pytest.raises(requests.ConnectionError):
                server.get("/readyz", **options)


@pytest.mark.parametrize("flags, named", [
    (["--tls-cert", "{cert}"], "server.tls_key is not set"), (["--tls-cert", "{none}", "--tls-key", "{key}"], "server.tls_cert"),
    (["--tls-cert", "{cert}", "--tls-key", "{other}"], "key values mismatch")])
def test_half_a_configuration_is_refused_by_name(certificate, tmp_path, flags, named):
    other = make_certificate(tmp_path, "other")
    files = {"cert": certificate, "key": certificate.with_suffix(".key"), "none": tmp_path / "none", "other": other.with_suffix(".key")}
    done = subprocess.run([program("inferfluxd"), "--port", "0", *(flag.format(**files) for flag in flags)], capture_output=True,
                          text=True, timeout=30, env=clean_environment())
    assert done.returncode == 1 and named in done.stderr


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def test_a_unix_socket_answers_too_and_goes_with_the_server(tmp_path):
    path = tmp_path / "socket"
    with ServerProcess("--server-unix-socket", str(path)) as server:
        for _ in range(2):
            connection = UnixConnection(path)
            connection.request("GET", "/v1/models")
            assert connection.getresponse().status == 200
            connection.close()
        assert requests.get(server.url + "/v1/models", timeout=10).status_code == 200
        second = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(MODEL), "--server-unix-socket", str(path)],
                                capture_output=True, text=True, timeout=30, env=clean_environment())
        assert second.returncode == 1 and "another server answers there" in second.stderr
        assert server.stop() == 0
        assert not path.exists()
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(path))
    stale.close()
    with ServerProcess("--server-unix-socket", str(path)):
        UnixConnection(path).connect()
    path.write_text("mine")
    refused = subprocess.run([program("inferfluxd"), "--port", "0", "--server-unix-socket", str(path)], capture_output=True, text=True,
                             timeout=30, env=clean_environment())
    assert refused.returncode == 1 and "not a socket" in refused.stderr and path.read_text() == "mine"


def test_administration_and_metrics_may_have_a_port_of_their_own():
    with ServerProcess("--server-admin-port", "0") as server:
        admin = re.search(r"administration and metrics on (\S+)", server.log())[1]
        for path in ("/v1/admin/models", "/metrics"):
            assert requests.get(server.url + path, timeout=10).status_code == 404
            assert requests.get(admin + path, timeout=10).status_code == 200
        for url in (server.url, admin):
            assert requests.get(url + "/healthz", timeout=10).status_code == 200
            assert requests.post(url + "/v1/completions", json={"prompt": "Hi", "max_tokens": 1}, timeout=30).status_code == 200
