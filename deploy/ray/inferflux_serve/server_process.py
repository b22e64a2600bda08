"""One inferfluxd as a child process: started on a free port of a node's address, asked whether it is ready, stopped."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from .settings import AppSettings, ModelSettings

GUARD = Path(__file__).with_name("guard.py")


class ServerFailed(RuntimeError):
    """The program could not be started, or ended before it was ready."""


class ServerProcess:
    """`url` and `key` (empty if clients' keys are checked) are how it is called."""

    def __init__(self, model: ModelSettings, app: AppSettings, address: str) -> None:
        program = shutil.which(app.program)
        if program is None:
            raise ServerFailed(f"there is no program '{app.program}' on this node; set `program`, or install InferFlux on each node")
        if model.path and not Path(model.path).exists():
            raise ServerFailed(f"model {model.id}: there is no {model.path} on this node")
        self._folder = Path(tempfile.mkdtemp(prefix="inferflux-serve-"))
        self._log = self._folder / "log"
        self._port_file = self._folder / "port"
        keys_file, self.key = app.api_keys_file, ""
        if not keys_file:
            self.key = secrets.token_hex(24)
            own = self._folder / "keys"
            own.write_text(hashlib.sha256(self.key.encode()).hexdigest() + " read,generate,metrics\n")
            keys_file = str(own)
        command = [program, "--host", address, "--port", "0", "--port-file", str(self._port_file), "--server-api-keys-file", keys_file,
                   "--server-allowed-hosts", address]
        command += ["--model", model.path, "--served-model-name", model.id] if model.path else []
        command += ["--threads", str(max(1, int(model.cpus))), *model.arguments]
        read, self._alive = os.pipe()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([sys.executable, str(GUARD), *command], stdin=read, stdout=log, stderr=log,
                                             start_new_session=True)
        os.close(read)
        self.url = ""

    def last_lines(self, count: int = 12) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-count:])

    def running(self) -> bool:
        return self._process.poll() is None

    def await_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.running():
                raise ServerFailed(f"inferfluxd ended with status {self._process.returncode}:\n{self.last_lines()}")
            if not self.url and self._port_file.exists():
                self.url = self._port_file.read_text().strip()
            if self.url and self.answers("/readyz"):
                return
            time.sleep(0.05)
        self.stop(0)
        raise ServerFailed(f"inferfluxd was not ready within {timeout_s:.0f} s:\n{self.last_lines()}")

    def get(self, path: str, timeout_s: float = 5) -> str:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.key}"} if self.key else {})
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return answer.read().decode()

    def answers(self, path: str) -> bool:
        try:
            self.get(path)
        except (OSError, ValueError):
            return False
        return True

    def stop(self, grace_s: float) -> None:
        """TERM lets running requests finish; after `grace_s` it is killed. Its log and keys go."""
        if self.running():
            self._process.terminate()
            try:
                self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                pass
        if self._alive >= 0:
            os.close(self._alive)  # the guard kills what is left
            self._alive = -1
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
