"""Starts, stops and inspects the server under test."""

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("INFERFLUX_PROGRAMS", ROOT / "build" / "bin"))
MODEL = ROOT / "models" / "tiny" / "inferflux-tiny.gguf"


def program(name: str) -> str:
    path = PROGRAMS / name
    assert path.exists(), f"{path} is not built; run ./test, or set INFERFLUX_PROGRAMS"
    return str(path)


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without the machine's own settings for the programs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFERFLUX_") or k == "INFERFLUX_CPU_ISA"}
    return {**kept, **more}


def engines() -> dict[tuple[str, str], dict]:
    """The output of `inferctl backends` for each engine, by target and provider."""
    shown = subprocess.run([program("inferctl"), "backends", "--json"], capture_output=True, text=True, timeout=60,
                           check=True, env=clean_environment())
    return {(row["target"], row["provider"]): row for row in json.loads(shown.stdout)["backends"]}


class ServerProcess:
    """inferfluxd on a free port, or on the given one. Always stopped by its own pid."""

    def __init__(self, *flags: str, model: Path | None = MODEL, environment: dict[str, str] | None = None, wait: bool = True,
                 port: int = 0):
        self._folder = tempfile.TemporaryDirectory()
        self.log_path = Path(self._folder.name) / "log"
        port_file = Path(self._folder.name) / "port"
        command = [program("inferfluxd"), "--port", str(port), "--port-file", str(port_file)]
        if model is not None:
            command += ["--model", str(model)]
        self.start([*command, *flags], self.log_path, port_file, environment or {}, wait)

    def start(self, command: list[str], log_path: Path, port_file: Path, environment: dict[str, str], wait: bool = False,
              **options) -> None:
        """Starts the command, and waits for its URL in the port file. `options` are those of subprocess.Popen."""
        self.log_path = log_path
        with log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, stdin=subprocess.DEVNULL,
                                            env=clean_environment(**environment), **options)
        atexit.register(self.kill)  # also if a test fails before it stops the server
        try:
            self._await(lambda: port_file.exists(), "the port file")
            self.url = port_file.read_text().strip()
            self.port = int(self.url.rsplit(":", 1)[1])
            if wait:
                self.await_ready()
        except BaseException:
            self.kill()
            raise

    def await_ready(self) -> None:
        self._await(lambda: requests.get(self.url + "/readyz", timeout=5).status_code == 200, "readiness")

    def _await(self, condition, what: str, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.process.poll() is None, f"the server ended before {what}:\n{self.log()}"
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError(f"no {what} after {seconds} s:\n{self.log()}")

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def stop(self, how: int = signal.SIGTERM, seconds: float = 30) -> int:
        """Asks the server to stop; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(seconds)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        total = 0.0
        for line in requests.get(self.url + "/metrics", timeout=10).text.splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if not match or match.group(1) != name:
                continue
            found = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2) or ""))
            if all(found.get(k) == v for k, v in labels.items()):
                total += float(match.group(3))
        return total

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


def eventually(condition, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False
