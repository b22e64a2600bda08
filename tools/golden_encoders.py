#!/usr/bin/env python3
"""Makes tests/data/models/: tiny random encoders as GGUF and as directories, and what transformers computes with them.

usage: golden_encoders.py [OUT_DIR]
Needs torch, transformers and gguf (PyPI). NAME.gguf and NAME-hf hold the weights in float32; NAME.golden.gguf holds the
`tokens` of several texts one after the other, their `lengths`, and the `hidden` state of each token after the last layer,
[tokens, hidden]. Seeded: the same versions write the same files. GGUF files are written by PyPI's `gguf` alone.
"""
import pathlib
import sys
import zlib

import gguf
import numpy as np
import torch
import transformers as hf

VOCAB, HIDDEN, LENGTHS = 64, 16, [1, 7, 40]
SHAPE = dict(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=48, attn_implementation="eager")
ENCODERS = {
    "bert": (gguf.MODEL_ARCH.BERT, hf.BertModel, hf.BertConfig, SHAPE),
    "roberta": (gguf.MODEL_ARCH.BERT, hf.XLMRobertaModel, hf.XLMRobertaConfig, SHAPE | dict(
        pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5)),
    "nomic_bert": (gguf.MODEL_ARCH.NOMIC_BERT, hf.NomicBertModel, hf.NomicBertConfig, SHAPE),
}
# Names that the table of PyPI's gguf does not have.
NOMIC = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
         "mlp.down_proj": "ffn_down"}


def gguf_name(names, stem):
    if stem.startswith("layers."):
        _, layer, rest = stem.split(".", 2)
        if rest in NOMIC:
            return f"blk.{layer}.{NOMIC[rest]}"
    return names.get_name(stem)


def write_gguf(path, architecture, config, model):
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    unused = config.pad_token_id + 1 if config.model_type == "xlm-roberta" else 0
    w.add_context_length(config.max_position_embeddings - unused)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_layer_norm_eps(config.layer_norm_eps)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    if architecture == gguf.MODEL_ARCH.NOMIC_BERT:
        w.add_rope_freq_base(config.rope_parameters["rope_theta"])
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        stem, _, kind = name.rpartition(".")
        if stem.startswith("pooler"):
            continue
        mapped = gguf_name(names, stem)
        if mapped is None:
            raise KeyError(f"{architecture.name} has no GGUF name for {name}")
        rows = tensor.numpy().astype(np.float32)
        w.add_tensor(f"{mapped}.{kind}", rows[unused:] if mapped == "position_embd" else rows)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(out, name, architecture, model_class, config_class, parameters):
    torch.manual_seed(zlib.crc32(name.encode()))
    model = model_class(config_class(**parameters)).float().eval()
    for parameter in model.parameters():  # far from the default initialisation, so that norms and biases matter too
        scale = 0.3 if parameter.ndim == 1 else 1.5 / parameter.shape[-1] ** 0.5
        noise = torch.randn_like(parameter) * scale
        parameter.copy_(parameter + noise if parameter.ndim == 1 else noise)
    write_gguf(out / f"{name}.gguf", architecture, model.config, model)
    model.save_pretrained(out / f"{name}-hf")
    texts = [torch.randint(2, VOCAB, (length,)).tolist() for length in LENGTHS]  # no padding token
    hidden = np.concatenate([model(torch.tensor([text])).last_hidden_state[0].numpy() for text in texts])
    golden = gguf.GGUFWriter(out / f"{name}.golden.gguf", "golden")
    golden.add_string("golden.made_by", f"transformers {hf.__version__}")
    golden.add_tensor("tokens", np.array(sum(texts, []), np.int32))
    golden.add_tensor("lengths", np.array(LENGTHS, np.int32))
    golden.add_tensor("hidden", hidden.astype(np.float32))
    golden.write_header_to_file()
    golden.write_kv_data_to_file()
    golden.write_tensors_to_file()
    golden.close()
    print(name, "hidden", hidden.shape, "rms", float(np.sqrt((hidden**2).mean())))


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/models"
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    for name, parameters in ENCODERS.items():
        make(out, name, *parameters)


if __name__ == "__main__":
    main()
