"""A model in this process as DSPy's language model (needs `pip install inferflux[dspy]`).

    dspy.configure(lm=InferFluxLM(LLM("model.gguf"), temperature=0.0))
"""

from __future__ import annotations

from types import SimpleNamespace

import dspy

from .error import InferFluxError
from .llm import LLM

# DSPy's name of each setting of a call, and ours.
_SETTINGS = {
    "max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k",
    "min_p": "min_p", "repetition_penalty": "repeat_penalty", "seed": "seed", "stop": "stop", "timeout": "timeout",
}
# Of DSPy alone: they change nothing here.
_OF_DSPY = {"rollout_id", "num_retries", "n", "cache"}


class InferFluxLM(dspy.BaseLM):
    def __init__(self, llm: LLM, temperature: float | None = None, max_tokens: int | None = None, cache: bool = False, **kwargs):
        super().__init__(model=llm.info.name, temperature=temperature, max_tokens=max_tokens, cache=cache, **kwargs)
        self.llm = llm

    @property
    def supports_response_schema(self) -> bool:
        return True

    @property
    def supported_params(self) -> set[str]:
        return {*_SETTINGS, "response_format"}

    def forward(self, prompt=None, messages=None, **kwargs):
        given = {name: value for name, value in {**self.kwargs, **kwargs}.items() if value is not None}
        options = _constraint(given.pop("response_format", None))
        choices = given.get("n", 1)
        for name, value in given.items():
            if name in _SETTINGS:
                options[_SETTINGS[name]] = value
            elif name not in _OF_DSPY:
                raise InferFluxError("InvalidConfig", f"'{name}' is no setting of a call; there are: {', '.join(sorted(_SETTINGS))}", name)
        replies = [self.llm.chat(messages or prompt, **options) for _ in range(choices)]
        return SimpleNamespace(
            model=self.model,
            choices=[SimpleNamespace(message=SimpleNamespace(content=reply.text), finish_reason=reply.finish_reason) for reply in replies],
            usage={
                "prompt_tokens": sum(reply.usage.prompt for reply in replies),
                "completion_tokens": sum(reply.usage.completion for reply in replies),
                "total_tokens": sum(reply.usage.total for reply in replies),
                "prompt_tokens_details": {"cached_tokens": sum(reply.usage.cached for reply in replies)},
            },
        )

    async def aforward(self, prompt=None, messages=None, **kwargs):
        import asyncio

        return await asyncio.to_thread(self.forward, prompt, messages, **kwargs)


def _constraint(response_format) -> dict:
    if response_format is None:
        return {}
    if hasattr(response_format, "model_json_schema"):
        return {"json_schema": response_format.model_json_schema()}
    if response_format.get("type") == "json_object":
        return {"json_schema": {"type": "object"}}
    if response_format.get("type") == "json_schema":
        return {"json_schema": response_format["json_schema"]["schema"]}
    return {}
