"""The packages that ./test --package has built, of this version and of a lower one, and a clean Debian 12."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from debian_root import ROOT, DebianRoot

PACKAGES = ["inferflux", "libinferflux0", "libinferflux-dev"]


def debs(folder: Path) -> dict[str, Path]:
    found = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
    assert sorted(found) == sorted(PACKAGES), f"{folder}: run ./test --package"
    return found


@pytest.fixture(scope="session")
def packages() -> dict[str, Path]:
    return debs(ROOT / "build-package/debs")


@pytest.fixture(scope="session")
def lower_packages() -> dict[str, Path]:
    return debs(ROOT / "build-package-lower/debs")


@pytest.fixture(scope="module")
def debian():
    assert os.getuid() == 0, "a chroot needs root"
    folder = Path(tempfile.mkdtemp(prefix="inferflux-debian-"))
    folder.chmod(0o755)
    try:
        yield DebianRoot(folder / "root")
    finally:
        shutil.rmtree(folder)
