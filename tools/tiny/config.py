"""Shapes of the two models that are trained."""

from dataclasses import asdict, dataclass

from .tokenizer import SIZE


@dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int = 256
    feed_forward: int = 768
    heads: int = 4
    kv_heads: int = 2
    head_size: int = 64
    vocabulary: int = SIZE
    context: int = 2048
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5


SHAPES = {"tiny": Shape(layers=5), "draft": Shape(layers=1)}
NAMES = {"tiny": "InferFlux Tiny", "draft": "InferFlux Tiny Draft"}
FILES = {"tiny": "inferflux-tiny.gguf", "draft": "inferflux-tiny-draft.gguf"}


def hugging_face(shape: Shape) -> dict:
    """config.json of the same model for transformers."""
    values = asdict(shape)
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "hidden_size": values["hidden"], "intermediate_size": values["feed_forward"], "num_hidden_layers": values["layers"],
        "num_attention_heads": values["heads"], "num_key_value_heads": values["kv_heads"], "head_dim": values["head_size"],
        "vocab_size": values["vocabulary"], "max_position_embeddings": values["context"], "rms_norm_eps": values["norm_epsilon"],
        "rope_theta": values["rope_base"], "tie_word_embeddings": True, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0,
        "torch_dtype": "float32", "initializer_range": 0.02,
    }
