"""The ingress: picks a request's model, has a replica chosen, passes the answer through, tries again where that is safe.

A request is tried on another replica as long as no byte of an answer has reached the client. Later its stream ends with one
error event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
from ray.serve.handle import DeploymentHandle
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from . import replies, request_key
from .settings import AppSettings
from .upstream import CONNECT_TIMEOUT_S, Answer, AttemptFailed, Busy, attempt, watched_socket

log = logging.getLogger("ray.serve")

# What any replica of a model answers alike. Other endpoints keep state in one server (responses, files, batches, sessions) or
# administer one; they are asked there.
FORWARDED = {
    "/v1/chat/completions", "/chat/completions", "/v1/completions", "/completions", "/v1/embeddings", "/v1/rerank", "/rerank",
    "/v1/score", "/score", "/v1/classify", "/classify", "/tokenize", "/detokenize", "/apply-template", "/infill", "/v1/messages",
    "/v1/messages/count_tokens", "/api/chat", "/api/generate", "/api/embed", "/api/embeddings",
}


class BodyTooLarge(Exception):
    pass


async def read_body(request: Request, most: int) -> bytes:
    out = bytearray()
    async for piece in request.stream():
        if len(out) + len(piece) > most:
            raise BodyTooLarge
        out += piece
    return bytes(out)


class Gateway:
    def __init__(self, app: dict, models: dict[str, DeploymentHandle]) -> None:
        self._app = AppSettings(**app)
        self._models = models
        self._session: aiohttp.ClientSession | None = None

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:  # it belongs to the running event loop
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)
            connector = aiohttp.TCPConnector(limit=0, socket_factory=watched_socket)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False)
        return self._session

    async def __call__(self, request: Request) -> Response:
        path = request.url.path
        if request.method == "POST":
            return await self._forward(request, path)
        if path == "/healthz":
            return JSONResponse({"status": "ok"})
        if path == "/v1/models":
            return self._list_models()
        return replies.refuse(path, 404, f"{request.method} {path} is not served here", "not_found")

    def _list_models(self) -> Response:
        data = [{"id": model.id, "object": "model", "created": 0, "owned_by": "inferflux"} for model in self._app.models]
        return JSONResponse({"object": "list", "data": data})

    async def _forward(self, request: Request, path: str) -> Response:
        if path not in FORWARDED:
            return replies.refuse(path, 404, f"{path} is not served here: it belongs to one server, and this address is many", "not_found")
        try:
            raw = await read_body(request, self._app.most_body_bytes)
        except BodyTooLarge:
            return replies.refuse(path, 413, f"the body is larger than most_body_bytes ({self._app.most_body_bytes})", "body_too_large")
        body = request_key.parse(raw) or {}
        name = body.get("model", self._app.models[0].id)
        handle = self._models.get(name) if isinstance(name, str) else None
        if handle is None:
            known = ", ".join(self._models)
            return replies.refuse(path, 404, f"there is no model '{name}' here; there are {known}", "model_not_found")
        target = path + (f"?{request.url.query}" if request.url.query else "")
        key = request_key.key_of(body, dict(request.headers))
        try:
            async with asyncio.timeout(self._app.request_timeout_s):
                answer = await self._try(handle, key, target, dict(request.headers), raw)
        except Busy:
            return replies.refuse(path, 503, f"too many requests wait for '{name}'; try again later", "busy", retry_after=1)
        except TimeoutError:
            return replies.refuse(path, 504, f"no replica answered within request_timeout_s ({self._app.request_timeout_s:.0f})", "timeout")
        except AttemptFailed as failed:
            return replies.refuse(path, 503, f"no replica of '{name}' could answer: {failed}", "unavailable", retry_after=1)
        if answer.streams:
            return StreamingResponse(self._pass(path, answer), status_code=answer.status, headers=answer.headers)
        answer.close()
        return Response(answer.first, status_code=answer.status, headers=answer.headers)

    async def _try(self, handle: DeploymentHandle, key: request_key.RequestKey, target: str, headers: dict[str, str],
                   raw: bytes) -> Answer:
        for left in reversed(range(self._app.attempts)):
            began = time.monotonic()
            try:
                return await attempt(handle, key, self._http(), "POST", target, headers, raw)
            except AttemptFailed as failed:
                log.warning("%s: attempt failed after %.2f s, %d left: %s", target, time.monotonic() - began, left, failed)
                if left == 0:
                    raise
                key = replace(key, avoid=(*key.avoid, failed.replica)) if failed.replica else key
                await asyncio.sleep(0.1 * (self._app.attempts - left))
        raise AssertionError("attempts is at least 1")

    async def _pass(self, path: str, answer: Answer) -> AsyncIterator[bytes]:
        try:
            async with asyncio.timeout(self._app.request_timeout_s):
                yield answer.first
                async for piece in answer.rest():
                    yield piece
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            log.warning("%s: lost replica %s in mid-stream: %s", path, answer.lease.replica, error)
            yield replies.last_event(path, answer.media_type, "the replica that answered is gone; send the request again")
        finally:
            answer.close()
