"""One attempt of a request: a lease of a replica, and the answer of its server as far as it has begun."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
from ray import exceptions
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle

from .replica import Lease
from .request_key import RequestKey

# Headers that belong to one connection (RFC 9110, section 7.6.1) or that the HTTP client sets itself. They are not forwarded.
OF_ONE_CONNECTION = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
                     "upgrade", "host", "content-length", "accept-encoding"}
STREAMS = ("text/event-stream", "application/x-ndjson")
WORTH_ANOTHER_REPLICA = {502, 503, 504}
CONNECT_TIMEOUT_S = 5
# A host that is cut off closes no connection, and an answer may be silent for as long as its prompt takes. So the kernels ask each
# other: after so long without a sign of life the connection is an error.
SILENT_S, PROBE_S, PROBES = 4, 2, 3


def watched_socket(address) -> socket.socket:
    """Of an address as getaddrinfo gives it; see aiohttp.TCPConnector."""
    family, kind, protocol, _, _ = address
    out = socket.socket(family, kind, protocol)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", SILENT_S), ("TCP_KEEPINTVL", PROBE_S), ("TCP_KEEPCNT", PROBES),
                        ("TCP_USER_TIMEOUT", 1000 * (SILENT_S + PROBE_S * PROBES))):
        if hasattr(socket, name):  # Linux has them all
            out.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return out


class AttemptFailed(Exception):
    """Another replica may do better. `replica` is empty where none was found."""

    def __init__(self, reason: str, replica: str = "") -> None:
        super().__init__(reason)
        self.replica = replica


class Busy(Exception):
    """As many requests wait as may wait."""


class Answer:
    """Status, headers and at least the first bytes of the body have come. `close` ends the lease."""

    def __init__(self, response: aiohttp.ClientResponse, lease_stream, lease: Lease) -> None:
        self._response, self._lease_stream, self.lease = response, lease_stream, lease
        self.status = response.status
        self.headers = {name: value for name, value in response.headers.items() if name.lower() not in OF_ONE_CONNECTION}
        self.media_type = response.headers.get("content-type", "").partition(";")[0]
        self.streams = self.media_type in STREAMS
        self.first = b""

    async def read_first(self) -> None:
        """Of a stream its first bytes, of any other answer all: until then another replica can take over."""
        self.first = await (self._response.content.readany() if self.streams else self._response.read())

    async def rest(self) -> AsyncIterator[bytes]:
        async for piece in self._response.content.iter_any():
            yield piece

    def close(self) -> None:
        self._response.close()
        self._lease_stream.cancel()


async def attempt(handle: DeploymentHandle, key: RequestKey, session: aiohttp.ClientSession, method: str, path: str,
                  headers: dict[str, str], body: bytes) -> Answer:
    """Raises AttemptFailed or Busy. Cancelling it ends the lease and the server's request."""
    stream = handle.options(stream=True).lease.remote(key=key)
    lease = None
    response = None
    try:
        lease = await stream.__anext__()
        if not lease.url:
            raise AttemptFailed(f"the server of replica {lease.replica} has ended", lease.replica)
        sent = {name: value for name, value in headers.items() if name.lower() not in OF_ONE_CONNECTION}
        if lease.key:
            sent = {name: value for name, value in sent.items() if name.lower() not in ("authorization", "x-api-key")}
            sent["Authorization"] = f"Bearer {lease.key}"
        response = await session.request(method, lease.url + path, headers=sent, data=body)
        if response.status in WORTH_ANOTHER_REPLICA:
            raise AttemptFailed(f"replica {lease.replica} answered {response.status}: {(await response.text())[:300]}", lease.replica)
        answer = Answer(response, stream, lease)
        await answer.read_first()
        return answer
    except BaseException as error:
        if response is not None:
            response.close()
        stream.cancel()
        replica = lease.replica if lease is not None else ""
        if isinstance(error, BackPressureError):
            raise Busy from error
        if isinstance(error, (aiohttp.ClientError, ConnectionError, exceptions.RayError, DeploymentUnavailableError, StopAsyncIteration,
                              RuntimeError)) and not isinstance(error, asyncio.CancelledError):
            raise AttemptFailed(f"{type(error).__name__}: {error}"[:300], replica) from error
        raise
