"""Chooses a replica: sessions stick, then the longest known prefix, then the shortest queue.

Ray asks for ranks of replicas and tries them in that order. A replica with the prefix is passed over if it has many more
requests than the least busy one, since the prefix is then computed sooner elsewhere than it is waited for.
"""

from __future__ import annotations

import hashlib
import random

from ray.serve.request_router import PendingRequest, ReplicaID, ReplicaResult, RequestRouter, RunningReplica

from .prefix_index import PrefixIndex, pieces_of
from .request_key import RequestKey

BUSIER = 8  # requests more than the least busy replica has, for which a prefix is worth no wait


def session_order(session: str, names: list[str]) -> list[str]:
    """Every gateway's same order of replicas for a session (rendezvous hashing): if one goes, only its sessions move."""
    return sorted(names, key=lambda name: hashlib.blake2b(f"{session}\0{name}".encode(), digest_size=8).digest())


def key_of(request: PendingRequest | None) -> RequestKey:
    key = request.kwargs.get("key") if request is not None else None
    return key if isinstance(key, RequestKey) else RequestKey()


def rank(key: RequestKey, pieces: list[bytes], index: PrefixIndex, queues: dict[str, int]) -> list[str]:
    """All names of `queues` (replica: its requests), the best first. Those to avoid come last."""
    names = [name for name in queues if name not in key.avoid] or list(queues)
    last = [name for name in queues if name not in names]
    if key.session:
        return session_order(key.session, names) + last
    random.shuffle(names)  # ties
    least = min(queues[name] for name in names)
    depths = index.match(pieces, names)
    usable = {name: depth if queues[name] <= least + BUSIER else 0 for name, depth in depths.items()}
    return sorted(names, key=lambda name: (-usable[name], queues[name])) + last


class PrefixRouter(RequestRouter):
    def initialize_state(self, **_kwargs) -> None:
        self._index = PrefixIndex()
        self._known: set[str] = set()

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        by_name = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        if not by_name:
            return []
        for gone in self._known - by_name.keys():
            self._index.forget(gone)
        self._known = set(by_name)
        key = key_of(pending_request)
        queues = {name: self._replica_queue_len_cache.get(replica.replica_id) or 0 for name, replica in by_name.items()}
        return [[by_name[name]] for name in rank(key, pieces_of(key.text), self._index, queues)]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, _result: ReplicaResult) -> None:
        self._index.add(pieces_of(key_of(pending_request).text), replica_id.unique_id)
