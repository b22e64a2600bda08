"""The manifests as kubectl renders them."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
TOOLS = Path(os.environ.get("INFERFLUX_FLEET_TOOLS", ROOT / "build" / "fleet" / "tools")) / "usr" / "bin"

SERVERS = ["base", "overlays/cpu", "overlays/nvidia"]  # of these a cluster gets one
BESIDE = ["model-loader", "monitoring", "autoscaling", "gateway"]  # and of these any
FOLDERS = SERVERS + BESIDE
NOT_OURS = {"Secret/inferflux-api-keys"}  # made by hand, because a key belongs into no file


def tool(name: str) -> str:
    path = TOOLS / name
    assert path.exists(), f"{path} is missing: scripts/fleet-tools build/fleet/tools"
    return str(path)


def kubectls() -> list[str]:
    """Debian 12's kubectl, with kustomize 2.0, and the machine's own, if it has one."""
    return [tool("kubectl"), *filter(None, [shutil.which("kubectl")])]


@functools.cache
def rendered(folder: str, kubectl: str) -> str:
    run = subprocess.run([kubectl, "kustomize", str(KUBERNETES / folder)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, f"{kubectl} kustomize {folder}: {run.stderr}"
    return run.stdout


def render(folder: str, kubectl: str | None = None) -> list[dict]:
    return list(yaml.safe_load_all(rendered(folder, kubectl or tool("kubectl"))))


def cluster(server: str) -> list[dict]:
    """All of a cluster that has everything. The base has no claim that a model could be loaded into."""
    beside = [folder for folder in BESIDE if folder != "model-loader" or server != "base"]
    return [document for folder in [server, *beside] for document in render(folder)]


def name_of(document: dict) -> str:
    return f"{document['kind']}/{document['metadata']['name']}"


def of_kind(documents: list[dict], *kinds: str) -> list[dict]:
    return [document for document in documents if document["kind"] in kinds]


def pods_of(documents: list[dict]) -> list[tuple[str, dict, dict]]:
    """Name, labels and spec of every pod that the documents ask for."""
    out = []
    for document in documents:
        template = document["spec"]["template"] if document["kind"] == "Deployment" else document
        if document["kind"] in ("Deployment", "Pod"):
            out.append((name_of(document), template["metadata"].get("labels", {}), template["spec"]))
    return out


def server_settings(documents: list[dict]) -> dict:
    """The server.yaml in the ConfigMap."""
    for document in of_kind(documents, "ConfigMap"):
        if "server.yaml" in document["data"]:
            return yaml.safe_load(document["data"]["server.yaml"])
    raise AssertionError("no ConfigMap has a server.yaml")
