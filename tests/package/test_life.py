"""One machine's life with the packages: a lower version, an upgrade, a server, a removal, a purge. Each test goes on where the
one before has stopped."""

import json
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

CONFIG = "etc/inferflux/server.yaml"
UNIT = "inferfluxd.service"
state: dict = {}


def field(deb: Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout.strip()


def install(debian, *archives: Path) -> str:
    for archive in archives:
        shutil.copy(archive, debian.path / "packages")
    return debian.apt("install", *(f"/packages/{archive.name}" for archive in archives))


def with_another_conffile(deb: Path, folder: Path) -> Path:
    """The package as it would be had its settings changed since, so that an upgrade has to choose between two changes."""
    tree, out = folder / "tree", folder / deb.name
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    (tree / CONFIG).write_text("# Of an older version.\n" + (tree / CONFIG).read_text())
    sums = tree / "DEBIAN/md5sums"
    digest = subprocess.run(["md5sum", tree / CONFIG], capture_output=True, text=True, check=True).stdout.split()[0]
    sums.write_text(re.sub(rf"^\S+  {CONFIG}$", f"{digest}  {CONFIG}", sums.read_text(), flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, out], check=True, capture_output=True)
    return out


def pretend_systemd_runs(debian) -> None:
    """Maintainer scripts then call what asks systemd for things; here that is written down instead. What systemctl does to the files
    of a root, it does."""
    (debian.path / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    for name in ("systemctl", "deb-systemd-invoke"):
        stub = debian.path / "usr/local/bin" / name
        stub.write_text(f'#!/bin/sh\ncase "$1" in --root=*) exec /usr/bin/{name} "$@" ;; esac\necho {name} "$@" >>/run/calls\n')
        stub.chmod(0o755)


def calls(debian) -> list[str]:
    file = debian.path / "run/calls"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return [line for line in lines if line != "systemctl --system daemon-reload"]


@pytest.fixture(scope="module")
def machine(debian, packages):
    # The dependencies first, so that what is compared is the work of these packages alone.
    debian.apt("satisfy", f"{field(packages['inferflux'], 'Depends')}, {field(packages['libinferflux0'], 'Depends')}")
    pretend_systemd_runs(debian)
    state["before"] = debian.contents()
    return debian


def test_a_lower_version_is_installed(machine, lower_packages, tmp_path):
    install(machine, with_another_conffile(lower_packages["inferflux"], tmp_path))
    assert machine.run("inferfluxd", "--version").strip() == "inferfluxd 0.0.1"
    assert calls(machine) == [f"deb-systemd-invoke start {UNIT}"]
    assert machine.run("dpkg", "-V", "inferflux") == ""
    enabled = machine.path / f"etc/systemd/system/multi-user.target.wants/{UNIT}"
    assert enabled.is_symlink()
    entry = machine.run("getent", "passwd", "inferflux").split(":")
    assert 100 <= int(entry[2]) < 1000 and entry[5] == "/var/lib/inferflux" and entry[6].strip().endswith("nologin")


def test_an_upgrade_restarts_the_service_and_keeps_an_edited_file(machine, packages):
    edited = (machine.path / CONFIG).read_text() + "\nlog: {format: json}  # edited\n"
    (machine.path / CONFIG).write_text(edited)
    install(machine, packages["inferflux"])
    version = field(packages["inferflux"], "Version")
    assert machine.run("inferfluxd", "--version").strip() == f"inferfluxd {version.split('-')[0]}"
    assert (machine.path / CONFIG).read_text() == edited
    assert (machine.path / f"{CONFIG}.dpkg-dist").exists()  # the new one, beside it
    assert calls(machine) == [f"deb-systemd-invoke restart {UNIT}"]
    changed = machine.run("dpkg", "-V", "inferflux", fails=False).split("\n")
    assert [line.split()[-1] for line in changed if line] in ([], [f"/{CONFIG}"])


def ask(machine, *flags: str) -> str:
    """The installed daemon and the installed client, both as the daemon's user."""
    port_file = machine.path / "var/lib/inferflux/url"
    daemon = machine.start("inferfluxd", "--config", f"/{CONFIG}", "--port", "0", "--port-file", "/var/lib/inferflux/url", *flags,
                           user="inferflux:inferflux")
    try:
        until = time.monotonic() + 120
        while not port_file.exists():
            assert daemon.poll() is None and time.monotonic() < until, daemon.communicate()[0]
            time.sleep(0.1)
        url = port_file.read_text().strip()
        while True:
            try:
                with urllib.request.urlopen(url + "/readyz", timeout=5):
                    break
            except OSError:
                assert daemon.poll() is None and time.monotonic() < until, "not ready"
                time.sleep(0.2)
        models = json.load(urllib.request.urlopen(url + "/v1/models", timeout=30))
        assert [model["id"] for model in models["data"]] == ["inferflux-tiny"]
        return machine.run("inferctl", "run", "--url", url, "--temperature", "0", "inferflux-tiny",
                           "What is the capital of France?", user="inferflux:inferflux")
    finally:
        machine.stop(daemon)
        port_file.unlink(missing_ok=True)


def test_the_service_s_command_answers_as_its_user(machine):
    assert "Paris" in ask(machine)


def test_workers_are_found_beside_it(machine):
    assert "Paris" in ask(machine, "--pool")


def test_the_unit_is_valid_and_closed(machine):
    unit = machine.path / "lib/systemd/system" / UNIT
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={machine.path}", UNIT], capture_output=True,
                             text=True, timeout=60)
    assert UNIT not in checked.stderr, checked.stderr
    checked = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", str(unit)], capture_output=True,
                             text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout
    assert "User=inferflux\n" in unit.read_text() and "/usr/local" not in unit.read_text()


def test_documents_are_where_debian_looks_for_them(machine):
    for name in ("inferfluxd", "inferctl", "inferflux-rank", "inferflux-quantize", "inferflux-convert", "inferflux-bench", "inferflux-worker-cpu"):
        for path in (f"man/man1/{name}.1.gz", f"bash-completion/completions/{name}", f"zsh/vendor-completions/_{name}",
                     f"fish/vendor_completions.d/{name}.fish"):
            assert (machine.path / "usr/share" / path).exists(), path


def test_a_program_links_the_libraries(machine, packages, tmp_path):
    install(machine, packages["libinferflux0"], packages["libinferflux-dev"])
    assert "libinferflux.so.0" in machine.run("ldconfig", "-p")
    for package in ("libinferflux0", "libinferflux-dev"):
        assert machine.run("dpkg", "-V", package) == ""
    headers = subprocess.run(["dpkg-deb", "-c", packages["libinferflux-dev"]], capture_output=True, text=True, check=True).stdout
    assert "./usr/include/inferflux/engine.h" in headers
    machine.apt("purge", "libinferflux-dev", "libinferflux0")


def test_a_removal_stops_the_service_and_keeps_settings_and_models(machine):
    (machine.path / "var/lib/inferflux/models/mine.gguf").write_bytes(b"GGUF")
    (machine.path / "etc/inferflux/keys").write_text("key\n")
    calls(machine)
    machine.apt("remove", "inferflux")
    assert calls(machine)[0] == f"deb-systemd-invoke stop {UNIT}"
    for kept in (CONFIG, "etc/inferflux/keys", "var/lib/inferflux/models/mine.gguf"):
        assert (machine.path / kept).exists()
    assert not (machine.path / "usr/bin/inferfluxd").exists()


def test_a_purge_leaves_no_trace(machine):
    machine.apt("purge", "inferflux")
    machine.apt("purge", "--auto-remove", "libexpected-dev")
    after = machine.contents()
    before = state["before"]
    assert {path: after[path] for path in after.keys() - before.keys()} == {}
    assert before.keys() - after.keys() == set()
    assert {path: (before[path], after[path]) for path in before if before[path] != after[path]} == {}
    assert "inferflux" not in machine.run("dpkg-query", "-W", "-f", "${Package}\\n")
