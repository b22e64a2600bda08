"""deploy/container: the image as podman builds it from the package. Its file system is then run read-only, by its user, in a
chroot: a container's runtime does not start on each machine that runs these tests."""

import json
import os
import subprocess
import time
import urllib.request

import pytest
from debian_root import ROOT, DebianRoot

TAG = "localhost/inferflux:test"


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    """In a store of its own, which is removed."""
    store = tmp_path_factory.mktemp("podman")
    command = ["podman", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
    try:
        yield command
    finally:
        subprocess.run([*command, "image", "unmount", "--all"], check=False)
        subprocess.run([*command, "rmi", "--all", "--force"], check=False, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def image(podman, packages):
    built = subprocess.run([ROOT / "deploy/container/build", TAG, packages["inferflux"].parent], capture_output=True, text=True,
                           timeout=900, env={**os.environ, "PODMAN": " ".join(podman)})
    assert built.returncode == 0, built.stdout + built.stderr
    shown = subprocess.run([*podman, "image", "inspect", TAG], capture_output=True, text=True, check=True)
    mounted = subprocess.run([*podman, "image", "mount", TAG], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)[0], mounted.stdout.strip()


def test_it_is_not_root_and_checks_its_health(image):
    described, _ = image
    assert described["Config"]["User"] == "65532:65532"
    assert described["Config"]["Cmd"] == ["inferfluxd"]
    assert described["HealthCheck" if "HealthCheck" in described else "Healthcheck"]["Test"][1:2] == ["inferctl"]


def test_it_holds_no_lists_and_no_archives(image):
    _, root = image
    found = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
             if name.endswith(".deb") or "/var/lib/apt/lists/" in folder]
    assert found == []


def test_its_command_answers_on_a_read_only_root_as_its_user(image, tmp_path):
    described, root = image
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && mount -t proc proc "$0/proc" && exec chroot "$@"'
    inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", mount, root,
              f"--userspec={described['Config']['User']}", root, "env", "-i", "PATH=/usr/bin:/bin"]
    server = subprocess.Popen([*inside, *described["Config"]["Cmd"], "--port", "18091"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        url = "http://127.0.0.1:18091"
        until = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(url + "/readyz", timeout=5):
                    break
            except OSError:
                assert server.poll() is None and time.monotonic() < until, server.communicate()[0]
                time.sleep(0.2)
        health = [word.replace(":8080", ":18091") for word in described["Healthcheck" if "Healthcheck" in described else "HealthCheck"]["Test"][1:]]
        assert subprocess.run([*inside, *health], capture_output=True, timeout=60).returncode == 0
        written = subprocess.run([*inside, "touch", "/tmp/x"], capture_output=True, text=True, timeout=60)
        assert "Read-only" in written.stderr
    finally:
        DebianRoot.stop(server)
    assert subprocess.run([*inside, *health], capture_output=True, timeout=60).returncode != 0
