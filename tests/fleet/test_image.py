"""The image's list of packages against what the programs link, on a Debian 12 with these programs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from manifests import ROOT
from server_process import program

CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text()


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def packages_of(libraries: list[str]) -> set[str]:
    """dpkg knows a library by its path on the disk, or by the one from before /lib became a link to /usr/lib."""
    found = set()
    for path in (str(Path(library).resolve()) for library in libraries):
        run = subprocess.run(["dpkg", "-S", path, path.removeprefix("/usr")], capture_output=True, text=True, timeout=60)
        assert run.stdout, f"no package has {path}"
        found.add(run.stdout.split(":")[0])
    return found


@pytest.mark.skipif(not shutil.which("dpkg"), reason="dpkg is not here")
@pytest.mark.parametrize("name", ["inferfluxd", "inferctl"])
def test_the_image_installs_what_the_programs_link(name):
    runtime = CONTAINERFILE.rsplit("FROM", 1)[1]
    installed = set(re.search(r"--no-install-recommends (.*?) \\?\n? *&&", runtime, re.S).group(1).replace("\\\n", " ").split())
    in_every_image = {"libc6", "libstdc++6", "libgcc-s1"}
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program(name))))
    found = re.findall(r"(\S+) => (/(?:usr/)?lib\S+)", output("ldd", program(name)))
    libraries = [path for library, path in found if library in needed]
    assert len(libraries) > 5
    assert packages_of(libraries) - in_every_image <= installed


def test_the_image_runs_as_the_pods_user_and_not_as_root():
    assert re.findall(r"^USER (\S+)", CONTAINERFILE, re.M) == ["65532:65532"]
