"""Which replica has seen the beginning of a prompt: what decides where a request's KV is found again.

A prompt is cut into pieces of a fixed number of characters, and each piece is hashed together with all before it, so equal
hashes mean equal beginnings. The index is bounded, and forgets the beginnings that were used longest ago. It is a guess: a
replica may have evicted the KV, or computed it for another gateway.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable

PIECE = 256  # characters; a block of KV is 16 tokens or more
MOST_PIECES = 512  # of one prompt: what is longer is alike in what counts


def pieces_of(text: str) -> list[bytes]:
    """The hashes of the text's beginnings, the shortest first. A last piece that is not full is left out."""
    out = []
    digest = hashlib.blake2b(digest_size=12)
    for end in range(PIECE, min(len(text), PIECE * MOST_PIECES) + 1, PIECE):
        digest.update(text[end - PIECE : end].encode("utf-8", "surrogatepass"))
        out.append(digest.digest())
    return out


class PrefixIndex:
    def __init__(self, most: int = 200_000) -> None:
        self._most = most
        self._replicas: OrderedDict[bytes, dict[Hashable, None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._replicas)

    def add(self, pieces: Iterable[bytes], replica: Hashable) -> None:
        """`replica` computes a prompt that begins so."""
        for piece in pieces:
            self._replicas.setdefault(piece, {})[replica] = None
            self._replicas.move_to_end(piece)
        while len(self._replicas) > self._most:
            self._replicas.popitem(last=False)

    def match(self, pieces: list[bytes], candidates: Iterable[Hashable]) -> dict[Hashable, int]:
        """For each candidate, how many pieces of the beginning it has seen without a gap."""
        out = dict.fromkeys(candidates, 0)
        alive = set(out)
        for depth, piece in enumerate(pieces, 1):
            alive &= self._replicas.get(piece, {}).keys()
            if not alive:
                break
            for replica in alive:
                out[replica] = depth
        return out

    def forget(self, gone: Hashable) -> None:
        """`gone` has ended, and its KV with it."""
        for piece in [piece for piece, replicas in self._replicas.items() if gone in replicas]:
            del self._replicas[piece][gone]
            if not self._replicas[piece]:
                del self._replicas[piece]
