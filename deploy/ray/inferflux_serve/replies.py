"""What the gateway itself answers, in the shape of the API that was asked."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse


def _kind(path: str) -> str:
    if path.startswith("/v1/messages"):
        return "anthropic"
    return "ollama" if path.startswith("/api/") else "openai"


def _body(path: str, status: int, message: str, code: str) -> dict:
    kind = _kind(path)
    if kind == "anthropic":
        names = {404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 400: "invalid_request_error"}
        return {"type": "error", "error": {"type": names.get(status, "api_error"), "message": message}}
    if kind == "ollama":
        return {"error": message}
    type_ = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": type_, "param": "model" if code == "model_not_found" else None, "code": code}}


def refuse(path: str, status: int, message: str, code: str, retry_after: int | None = None) -> JSONResponse:
    headers = {"Retry-After": str(retry_after)} if retry_after else None
    return JSONResponse(_body(path, status, message, code), status_code=status, headers=headers)


def last_event(path: str, media_type: str, message: str) -> bytes:
    """The end of a stream whose replica is gone: one error, then what ends a stream of that API."""
    error = json.dumps(_body(path, 500, message, "replica_lost"))
    if media_type == "application/x-ndjson":
        return error.encode() + b"\n"
    if _kind(path) == "anthropic":
        return f"event: error\ndata: {error}\n\n".encode()
    return f"data: {error}\n\ndata: [DONE]\n\n".encode()
