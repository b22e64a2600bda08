"""Debian's Prometheus, which scrapes one server as the ServiceMonitor says, with the target labels that the operator adds."""

import socket
import subprocess
import tempfile
import time
from pathlib import Path

import requests
import yaml
from manifests import of_kind, tool

TARGET = {"namespace": "inferflux", "pod": "inferflux-0", "service": "inferflux", "container": "inferfluxd",
          "endpoint": "http", "job": "inferflux"}


def rule_groups(documents: list[dict]) -> dict:
    (rules,) = of_kind(documents, "PrometheusRule")
    return {"groups": rules["spec"]["groups"]}


class Prometheus:
    def __init__(self, url: str, documents: list[dict]):
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name)
        (monitor,) = of_kind(documents, "ServiceMonitor")
        (endpoint,) = monitor["spec"]["endpoints"]
        config = {
            "global": {"scrape_interval": "500ms", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{
                "job_name": "inferflux", "metrics_path": endpoint["path"],
                "relabel_configs": endpoint.get("relabelings", []),
                "static_configs": [{"targets": [url.removeprefix("http://")], "labels": TARGET}]}]}
        (root / "prometheus.yaml").write_text(yaml.safe_dump(config))
        (root / "rules.yaml").write_text(yaml.safe_dump(rule_groups(documents)))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        self.url = f"http://{address}"
        self._log = root / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [tool("prometheus"), f"--config.file={root / 'prometheus.yaml'}", f"--storage.tsdb.path={root / 'data'}",
                 f"--web.listen-address={address}"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            self.await_result("up == 1")
        except BaseException:
            self.stop()
            raise

    def query(self, expression: str) -> list[dict]:
        answer = requests.get(self.url + "/api/v1/query", params={"query": expression}, timeout=10).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        return answer["data"]["result"]

    def await_result(self, expression: str, seconds: float = 60) -> list[dict]:
        """The result of a query, as soon as there is one."""
        until = time.monotonic() + seconds
        while True:
            assert self._process.poll() is None, self._log.read_text()
            try:
                if result := self.query(expression):
                    return result
            except requests.RequestException:
                pass  # it starts: it does not listen yet, or answers 503 in plain text
            assert time.monotonic() < until, f"no result of {expression} after {seconds} s"
            time.sleep(0.3)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(20)

    def __enter__(self) -> "Prometheus":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
