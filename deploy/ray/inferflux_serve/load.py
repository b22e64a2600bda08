"""A server's load, from its own metrics, and how many replicas such loads want."""

from __future__ import annotations

import math
from dataclasses import dataclass

NAMES = {"inferflux_queue_depth": "waiting", "inferflux_running_sequences": "running", "inferflux_kv_cache_utilization": "kv"}


@dataclass
class Load:
    running: float = 0
    waiting: float = 0
    kv: float = 0  # share of KV blocks in use, 0 to 1

    def as_stats(self) -> dict[str, float]:
        return {"running": self.running, "waiting": self.waiting, "kv": self.kv}


def parse_load(exposition: str) -> Load:
    """Of the Prometheus text format. Several models add up; of their KV the fullest counts."""
    load = Load()
    for line in exposition.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        field = NAMES.get(name)
        if field is None:
            continue
        try:
            value = float(line.rpartition(" ")[2])
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        setattr(load, field, max(load.kv, value) if field == "kv" else getattr(load, field) + value)
    return load


def replicas_for(loads: list[Load], now: int, per_replica: int, kv_pressure: float) -> int:
    """Enough that each has `per_replica` requests, and one more than now where KV is short everywhere."""
    requests = sum(load.running + load.waiting for load in loads)
    wanted = math.ceil(requests / per_replica)
    if loads and min(load.kv for load in loads) >= kv_pressure:
        wanted = max(wanted, now + 1)
    return max(wanted, 1)
