"""The autoscaling policy: queue depth and KV pressure as the servers themselves report them."""

from __future__ import annotations

from typing import Any

from ray.serve.config import AutoscalingContext

from .load import Load, replicas_for


def loads_of(metrics: dict[str, dict[Any, float]]) -> list[Load]:
    by_replica: dict[Any, Load] = {}
    for name, values in metrics.items():
        for replica, value in values.items():
            setattr(by_replica.setdefault(replica, Load()), name, value)
    return list(by_replica.values())


class ByLoad:
    """Called by Serve's controller; the arguments come from the model's settings."""

    def __init__(self, requests_per_replica: int, kv_pressure: float) -> None:
        self._per_replica = requests_per_replica
        self._kv_pressure = kv_pressure

    def __call__(self, context: AutoscalingContext) -> tuple[int, dict[str, Any]]:
        metrics = {name: values for name, values in (context.aggregated_metrics or {}).items() if name in Load().as_stats()}
        wanted = replicas_for(loads_of(metrics), context.current_num_replicas, self._per_replica, self._kv_pressure)
        bounded = min(max(wanted, context.capacity_adjusted_min_replicas), context.capacity_adjusted_max_replicas)
        return bounded, {}
