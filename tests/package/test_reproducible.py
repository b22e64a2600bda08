"""The same sources give the same bytes in another folder, with the compiler's cache and without it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from debian_root import ROOT

ALONE = ["inferflux_base", "inferflux_command_line"]


def source_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The same tree in another folder, with another length of its path and files in another order."""
    folder = tmp_path_factory.mktemp("another") / "a-folder-of-another-name" / "inferflux"
    for name in reversed(source_files()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    yield folder
    shutil.rmtree(folder)


def environment(**more: str) -> dict[str, str]:
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", shown.strip()), **more}


def differences(one: Path, other: Path, folder: Path) -> list[str]:
    """For a message: the files that differ."""
    trees = [folder / "one", folder / "other"]
    for deb, tree in zip((one, other), trees):
        tree.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
    return subprocess.run(["diff", "-rq", *trees], capture_output=True, text=True, check=False).stdout.splitlines()


def test_packages_built_in_another_folder_are_the_same_bytes(packages, copy, tmp_path):
    built = subprocess.run([copy / "scripts/package"], env=environment(), capture_output=True, text=True, timeout=1500, umask=0o077)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    others = {Path(line).name: copy / line for line in built.stdout.splitlines() if line.endswith(".deb")}
    assert len(others) == 3
    for name, deb in packages.items():
        other = others[deb.name]
        assert deb.read_bytes() == other.read_bytes(), (name, differences(deb, other, tmp_path / name))


def test_the_compiler_itself_gives_the_same_bytes(copy):
    found = []
    for source in (ROOT, copy):
        build = source / "build/uncached"
        shutil.rmtree(build, ignore_errors=True)
        subprocess.run([source / "scripts/build", "build/uncached", "-DINFERFLUX_TESTS=OFF", "-DENABLE_LLAMA_CPP=OFF", "-DENABLE_MLX=OFF",
                        "--", *ALONE], env=environment(CCACHE_DISABLE="1"), check=True, capture_output=True, timeout=900)
        found.append({str(path.relative_to(build)): path.read_bytes() for path in build.rglob("*.o")})
        shutil.rmtree(build)
    assert found[0].keys() == found[1].keys() and len(found[0]) > 3
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []
