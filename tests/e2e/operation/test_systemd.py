"""deploy/systemd: the unit is valid on an installed tree, and as closed as it says."""

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[3] / "deploy/systemd/inferfluxd.service"
SYSTEM_UNITS = Path("/lib/systemd/system")
pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")


def test_the_unit_is_valid_on_an_installed_tree(tmp_path):
    units = tmp_path / "etc/systemd/system"
    shutil.copytree(SYSTEM_UNITS, tmp_path / "lib/systemd/system", symlinks=True, ignore_dangling_symlinks=True)
    units.mkdir(parents=True)
    shutil.copy(UNIT, units)
    program = tmp_path / "usr/local/bin/inferfluxd"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    shell = tmp_path / "bin/sh"  # the only other program: a minimal Debian has no /bin/kill
    shell.parent.mkdir()
    shutil.copy(program, shell)
    checked = subprocess.run(["systemd-analyze", "verify", f"--root={tmp_path}", UNIT.name], capture_output=True, text=True,
                             timeout=60)
    assert UNIT.name not in checked.stderr, checked.stderr
    program.unlink()  # and the check can fail
    checked = subprocess.run(["systemd-analyze", "verify", f"--root={tmp_path}", UNIT.name], capture_output=True, text=True,
                             timeout=60)
    assert "inferfluxd" in checked.stderr


def test_the_unit_is_hardened():
    checked = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", str(UNIT)],
                             capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout
