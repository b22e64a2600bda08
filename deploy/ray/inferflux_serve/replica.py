"""One replica of a model: an inferfluxd, and the leases under which the gateway talks to it.

The gateway asks for a lease and sends the request to the server itself, so that tokens pass through no object store; the
lease stays open meanwhile. Ray counts it as a running request: it queues, routes, drains and scales by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import ray

from .load import parse_load
from .request_key import RequestKey
from .server_process import ServerProcess
from .settings import AppSettings, ModelSettings


@dataclass(frozen=True)
class Lease:
    replica: str  # as the router names it
    url: str  # empty if its server has ended
    key: str  # for the server; empty: the client's own


class Replica:
    def __init__(self, model: dict, app: dict) -> None:
        self._model, self._app = ModelSettings(**model), AppSettings(**app)
        self._server = ServerProcess(self._model, self._app, ray.util.get_node_ip_address())
        self._server.await_ready(self._model.load_timeout_s)

    async def lease(self, key: RequestKey) -> AsyncGenerator[Lease, None]:  # noqa: ARG002: the router reads `key`
        """Yields the lease, and is open until the gateway cancels it or the request's time is over."""
        name = ray.serve.get_replica_context().replica_id.unique_id
        yield Lease(name, self._server.url if self._server.running() else "", self._server.key)
        await asyncio.sleep(self._app.request_timeout_s + 60)

    async def check_health(self) -> None:
        """Serve replaces a replica that fails this."""
        if not self._server.running():
            raise RuntimeError("inferfluxd has ended:\n" + self._server.last_lines())
        if not await asyncio.to_thread(self._server.answers, "/healthz"):
            raise RuntimeError("inferfluxd does not answer /healthz")

    async def record_autoscaling_stats(self) -> dict[str, float]:
        try:
            exposition = await asyncio.to_thread(self._server.get, "/metrics")
        except (OSError, ValueError):
            return {}
        return parse_load(exposition).as_stats()

    def __del__(self) -> None:
        server = getattr(self, "_server", None)
        if server is not None:  # otherwise it could not be started
            server.stop(self._model.drain_timeout_s)
