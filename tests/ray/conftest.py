"""A Ray cluster of three nodes on this machine, with the application on it."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = ROOT / "deploy" / "ray"
sys.path.insert(0, str(APPLICATION))
# Ray's workers import the application by name too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(APPLICATION), os.environ.get("PYTHONPATH")]))
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
for patience in ("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S"):  # a busy machine starts it slowly
    os.environ.setdefault(patience, "60")
PROGRAM = Path(os.environ.pop("INFERFLUX_PROGRAMS", ROOT / "build" / "bin")) / "inferfluxd"  # which takes no such variable
