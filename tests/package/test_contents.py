"""The three archives by themselves: Debian's own checker, what they depend on, what their programs contain."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def output(*command) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.fixture(scope="module")
def trees(packages, tmp_path_factory):
    out = {}
    for name, deb in packages.items():
        out[name] = tmp_path_factory.mktemp(name)
        output("dpkg-deb", "-R", deb, out[name])
    return out


def test_lintian_finds_nothing_that_is_not_listed_with_its_reason(packages):
    checked = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--no-tag-display-limit", *packages.values()],
                             capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_programs_are_stripped_hardened_and_without_a_path_of_the_build(trees):
    programs = [p for tree in trees.values() for p in tree.rglob("*")
                if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b"\x7fELF"]
    assert len(programs) == 8
    for program in programs:
        sections = output("readelf", "-SW", program)
        assert ".symtab" not in sections and ".debug" not in sections, program
        dynamic = output("readelf", "-d", program)
        assert "BIND_NOW" in dynamic and "RPATH" not in dynamic and "RUNPATH" not in dynamic, program
        content = program.read_bytes()
        for path in (str(ROOT).encode() + b"/", b"build-package", b"/src/base/", b"/home/"):
            assert path not in content, (program, path)


def test_every_set_of_kernels_is_in_the_programs(trees):
    shown = output(trees["inferflux"] / "usr/bin/inferfluxd", "--backends")
    for isa in ("scalar", "avx2", "avx-vnni", "avx512-vnni", "amx"):
        assert re.search(rf"\b{isa}\b", shown), shown
    code = output("objdump", "-d", "--no-show-raw-insn", "--section=.text", trees["inferflux"] / "usr/bin/inferflux-worker-cpu")
    for instruction in ("tdpbusd", "tdpbssd", "vdpbf16ps", "vpdpbusd"):
        assert instruction in code, instruction


def test_dependencies_are_found_by_what_the_programs_link(packages):
    depends = output("dpkg-deb", "-f", packages["inferflux"], "Depends")
    for name in ("libc6 (>=", "libstdc++6 (>=", "libssl3 (>=", "libpcre2-8-0 (>=", "adduser"):
        assert name in depends
    assert re.search(r"libinferflux0 \(= [^)]+\), libexpected-dev", output("dpkg-deb", "-f", packages["libinferflux-dev"], "Depends"))


def test_the_settings_are_the_only_conffile(trees):
    assert (trees["inferflux"] / "DEBIAN/conffiles").read_text() == "/etc/inferflux/server.yaml\n"
    assert [str(p.relative_to(trees["inferflux"])) for p in (trees["inferflux"] / "etc").rglob("*") if p.is_file()] == [
        "etc/inferflux/server.yaml"]
