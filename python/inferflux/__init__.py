"""Language models in your own Python process."""

from ._inferflux import ModelInfo, Reply, Usage
from .error import InferFluxError
from .llm import LLM, TextStream

__all__ = ["LLM", "InferFluxError", "ModelInfo", "Reply", "TextStream", "Usage"]
