#!/usr/bin/env python3
"""Makes tests/data/models/: for each family a tiny random model as GGUF, and what transformers computes with it.

usage: golden_models.py [OUT_DIR] [--family NAME]
Needs torch, transformers and gguf (PyPI). NAME.gguf holds the weights in float32; NAME.golden.gguf holds `tokens` (a
random prompt and the tokens that transformers decodes greedily after it), `prompt_length`, and `logits` of every position,
in float32. Seeded: the same versions write the same files.
"""
import argparse
import pathlib

import gguf
import numpy as np
import torch
import transformers

PROMPT, DECODED, VOCAB = 24, 32, 96
SHAPE = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False, attn_implementation="eager")
LLAMA3_ROPE = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=32)

# name: (GGUF architecture, transformers' configuration, q and k are permuted as GGUF's Llama has them)
FAMILIES = {
    "llama": ("llama", lambda: transformers.LlamaConfig(**SHAPE), True),
    "llama3": ("llama", lambda: transformers.LlamaConfig(**{**SHAPE, "tie_word_embeddings": True, "head_dim": 16},
                                                         rope_parameters=LLAMA3_ROPE), True),
    "mistral": ("llama", lambda: transformers.MistralConfig(**SHAPE, head_dim=8, sliding_window=16), True),
    "qwen2": ("qwen2", lambda: transformers.Qwen2Config(**SHAPE), False),
    "qwen3": ("qwen3", lambda: transformers.Qwen3Config(**SHAPE, head_dim=16), False),
}

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight", "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight", "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight", "mlp.down_proj.weight": "ffn_down.weight",
    "self_attn.o_proj.weight": "attn_output.weight", "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight",
    **{f"self_attn.{x}_proj.{kind}": f"attn_{x}.{kind}" for x in "qkv" for kind in ("weight", "bias")},
}


def gguf_name(name):
    if name.startswith("model.layers."):
        _, _, layer, rest = name.split(".", 3)
        return f"blk.{layer}.{NAMES[rest]}"
    return NAMES[name]


def interleave(weight, heads):
    """GGUF's Llama order: rotary pairs, which transformers keep half a head apart, become neighbours."""
    rows = weight.shape[0] // heads
    return weight.reshape(heads, 2, rows // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write_model(path, architecture, config, model, permuted):
    w = gguf.GGUFWriter(path, architecture)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(config.num_key_value_heads)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_rope_dimension_count(head_dim)
    w.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    if architecture == "llama" and getattr(config, "sliding_window", None):
        w.add_sliding_window(config.sliding_window)
    if config.rope_parameters["rope_type"] == "llama3":
        # The file holds what each plain frequency is divided by; transformers have the quotients.
        plain = 1.0 / config.rope_parameters["rope_theta"] ** (np.arange(0, head_dim, 2) / head_dim)
        scaled = model.model.rotary_emb.inv_freq.numpy()
        w.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        data = tensor.numpy().astype(np.float32)
        if permuted and ".q_proj." in name:
            data = interleave(data, config.num_attention_heads)
        if permuted and ".k_proj." in name:
            data = interleave(data, config.num_key_value_heads)
        w.add_tensor(gguf_name(name), np.ascontiguousarray(data))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def decode(model, prompt):
    tokens = list(prompt)
    for _ in range(DECODED):
        tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    return tokens, model(torch.tensor([tokens])).logits[0].numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[1] / "tests" / "data" / "models")
    parser.add_argument("--family", choices=FAMILIES)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    for seed, (name, (architecture, make, permuted)) in enumerate(FAMILIES.items()):
        if args.family not in (None, name):
            continue
        torch.manual_seed(seed)
        config = make()
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
        for parameter in model.parameters():  # away from transformers' timid defaults: norms and biases must matter too
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
            else:
                parameter.copy_(torch.randn_like(parameter) * (1.5 / parameter.shape[-1] ** 0.5))
        write_model(args.out / f"{name}.gguf", architecture, config, model, permuted)
        tokens, logits = decode(model, torch.randint(0, VOCAB, (PROMPT,)).tolist())
        golden = gguf.GGUFWriter(args.out / f"{name}.golden.gguf", architecture)
        golden.add_uint32("golden.prompt_length", PROMPT)
        golden.add_string("golden.made_by", f"transformers {transformers.__version__}")
        golden.add_tensor("tokens", np.array(tokens, np.int32))
        golden.add_tensor("logits", logits.astype(np.float32))
        golden.write_header_to_file()
        golden.write_kv_data_to_file()
        golden.write_tensors_to_file()
        golden.close()
        print(name, "logits", logits.shape, "rms", float(np.sqrt((logits**2).mean())))


if __name__ == "__main__":
    main()
