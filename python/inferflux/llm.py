"""A loaded model. Any thread may call it; the scheduler batches the calls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from . import _inferflux
from ._inferflux import Reply
from .error import InferFluxError

Messages = "str | Sequence[Mapping[str, str]]"


class TextStream(Iterator[str]):
    """An answer's text as it grows. One thread at a time; a stream that is closed or dropped cancels its call."""

    def __init__(self, stream: _inferflux.ReplyStream):
        self._stream: _inferflux.ReplyStream | None = stream
        self._reply: Reply | None = None

    def __next__(self) -> str:
        if self._stream is None:
            raise StopIteration
        piece = self._stream.next()
        if piece is None:
            self.close()
            raise StopIteration
        return piece

    @property
    def reply(self) -> Reply:
        """What came so far; its finish reason and usage are known after the end."""
        return self._stream.reply if self._stream is not None else self._reply

    def close(self) -> None:
        if self._stream is not None:
            self._reply, self._stream = self._stream.reply, None

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _constraint(given: dict) -> tuple[int, str] | None:
    kinds = {"json_schema": _inferflux.JSON_SCHEMA, "regex": _inferflux.REGEX, "grammar": _inferflux.GBNF}
    found = [(name, given.pop(name)) for name in kinds if name in given]
    found = [(name, value) for name, value in found if value is not None]
    if len(found) > 1:
        raise InferFluxError("InvalidConfig", f"{' and '.join(name for name, _ in found)} exclude each other", found[1][0])
    if not found:
        return None
    name, value = found[0]
    return kinds[name], value if isinstance(value, str) else json.dumps(value)


def _options(given: dict) -> _inferflux.GenerateOptions:
    constraint = _constraint(given)
    stop = given.pop("stop", None) or []
    return _inferflux.GenerateOptions(constraint=constraint, stop=[stop] if isinstance(stop, str) else list(stop), **given)


def _roles(messages) -> list[tuple[str, str]]:
    if isinstance(messages, str):
        return [("user", messages)]
    return [(message["role"], message["content"]) for message in messages]


class LLM:
    """A GGUF file or a Hugging Face directory, loaded into this process.

    Options of the load: context, batch, threads, gpu_layers, backend, kv_dtype, kv_budget, draft. Options of a call: max_tokens,
    temperature, top_p, top_k, min_p, repeat_penalty, seed, stop, json_schema, regex, grammar, timeout, ignore_eos. What is left out
    has the API's default. An InferFluxError names what is wrong.
    """

    def __init__(self, path: str | os.PathLike, **options):
        self._engine = _inferflux.Engine.load(os.fspath(path), **options)

    @property
    def info(self) -> _inferflux.ModelInfo:
        return self._engine.info

    def stream(self, prompt: str | Sequence[int], **options) -> TextStream:
        """The text that continues a prompt, piece by piece; token ids are used as they are."""
        return TextStream(self._engine.stream(prompt if isinstance(prompt, str) else list(prompt), _options(options)))

    def stream_chat(self, messages: Messages, **options) -> TextStream:
        """The answer to a conversation, piece by piece, by the model's own chat template."""
        return TextStream(self._engine.stream(_roles(messages), _options(options)))

    def generate(self, prompt: str | Sequence[int], **options) -> Reply:
        return _whole(self.stream(prompt, **options))

    def chat(self, messages: Messages, **options) -> Reply:
        return _whole(self.stream_chat(messages, **options))

    def embed(self, texts: str | Iterable[str]) -> list[list[float]]:
        """One vector for each text."""
        return self._engine.embed([texts] if isinstance(texts, str) else list(texts))

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """The tokens of a text; with `special`, between those that the model's file puts around a text."""
        return self._engine.tokenize(text, special)

    def detokenize(self, tokens: Iterable[int]) -> str:
        return self._engine.detokenize(list(tokens))


def _whole(stream: TextStream) -> Reply:
    # Piece by piece, so that Ctrl-C is heard between two of them, and ends the call.
    for _ in stream:
        pass
    return stream.reply
