"""Runs the server's container of rendered manifests on this machine: its command, its files and its environment, as its
user where the tests run as root. The only changes are the port, and where the mounted folders are."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import manifests
import requests
from server_process import MODEL, ServerProcess, program

KEY = "a key of the tests"


@functools.cache
def _image() -> tempfile.TemporaryDirectory:
    """The server, its model and its own libraries where an installation has them, readable for every user."""
    folder = tempfile.TemporaryDirectory()
    root = Path(folder.name)
    root.chmod(0o755)
    linked = subprocess.run(["ldd", program("inferfluxd")], capture_output=True, text=True, timeout=60, check=True).stdout
    own = [path for path in re.findall(r"=> (/\S+)", linked) if not path.startswith(("/lib", "/usr/lib"))]
    for files, place in ([program("inferfluxd")], "bin"), (own, "lib"), ([MODEL], "share/inferflux/models"):
        (root / place).mkdir(parents=True)
        for file in files:
            shutil.copy(file, root / place)
    return folder


class Pod(ServerProcess):
    """See ServerProcess; it differs in how the server is started."""

    def __init__(self, documents: list[dict], models: Path | None = None):
        self._documents = documents
        (_, _, self.spec), = [pod for pod in manifests.pods_of(documents) if pod[2]["containers"][0]["name"] == "inferfluxd"]
        self.container = self.spec["containers"][0]
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name)
        root.chmod(0o755)
        mounts = {mount["mountPath"]: self._mount(root, mount["name"], models) for mount in self.container["volumeMounts"]}

        def moved(text: str) -> str:
            for path, folder in mounts.items():
                text = text.replace(path, str(folder))
            return text

        for config in root.glob("*/server.yaml"):
            config.write_text(moved(config.read_text()))
        written = root / "port"  # the one folder that this user may write to
        written.mkdir()
        user = {}
        if os.geteuid() == 0:
            security = self.spec["securityContext"]
            user = {"user": security["runAsUser"], "group": security["runAsGroup"], "extra_groups": []}
            os.chown(written, security["runAsUser"], security["runAsGroup"])
        words = [moved(word) for word in self.container["command"]]
        image = Path(_image().name)
        words[0] = str(image / "bin" / words[0])
        environment = {entry["name"]: entry["value"] for entry in self.container.get("env", [])}
        environment["LD_LIBRARY_PATH"] = str(image / "lib")
        self.start([*words, "--port", "0", "--port-file", str(written / "url")], root / "log", written / "url",
                   environment, cwd="/", **user)

    def _mount(self, root: Path, name: str, models: Path | None) -> Path:
        """A volume's content, as a folder that the server's user can read and not write."""
        volume = next(volume for volume in self.spec["volumes"] if volume["name"] == name)
        folder = root / name
        folder.mkdir()
        if "configMap" in volume:
            document = next(d for d in manifests.of_kind(self._documents, "ConfigMap")
                            if d["metadata"]["name"] == volume["configMap"]["name"])
            for file, text in document["data"].items():
                (folder / file).write_text(text)
        elif "secret" in volume:
            (folder / "api-keys").write_text(hashlib.sha256(KEY.encode()).hexdigest() + " read,generate\n")
        elif models is not None:
            shutil.copy(models, folder / "model.gguf")
        return folder

    def probe(self, name: str) -> requests.Response:
        """What the kubelet asks, in the way that it asks: by the pod's address."""
        return self.get(self.container[name]["httpGet"]["path"], Host="10.244.1.7:8080")

    def get(self, path: str, **headers: str) -> requests.Response:
        return requests.get(self.url + path, headers=headers, timeout=10)
