#!/usr/bin/env python3
"""Makes tests/data/models/: tiny random encoders as GGUF and as directories, and what transformers computes with them.

usage: golden_encoders.py [OUT_DIR [NAME]...]
Needs torch, transformers and gguf (PyPI). NAME.gguf and NAME-hf hold the weights in float32; NAME.golden.gguf holds the
`tokens` of several texts one after the other, their `lengths`, and the `hidden` state of each token after the last layer,
[tokens, hidden]. Where a model has token types, `seconds` is where the second text of each pair begins (0: one text). Of
sequence classifiers it also holds the `scores` of each text, of models with dense layers behind the pooling the
`embedding` of each. Seeded: the same versions write the same files. GGUF files are written by PyPI's `gguf` alone.
"""
import json
import pathlib
import sys
import zlib

import gguf
import numpy as np
import torch
import tokenizers
import transformers as hf
from safetensors.torch import save_file
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

VOCAB, HIDDEN, LENGTHS = 64, 16, [1, 7, 40]
SHAPE = dict(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=48, attn_implementation="eager")
ODD = dict(vocab_size=41, hidden_size=18, intermediate_size=20, num_attention_heads=3)
CLASSIFIER = dict(pad_token_id=0, num_labels=1)
MODERN_IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
ENCODERS = {
    "bert": (gguf.MODEL_ARCH.BERT, hf.BertModel, hf.BertConfig, SHAPE),
    "roberta": (gguf.MODEL_ARCH.BERT, hf.XLMRobertaModel, hf.XLMRobertaConfig, SHAPE | dict(
        pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5)),
    "nomic_bert": (gguf.MODEL_ARCH.NOMIC_BERT, hf.NomicBertModel, hf.NomicBertConfig, SHAPE),
    "bert_scores": (gguf.MODEL_ARCH.BERT, hf.BertForSequenceClassification, hf.BertConfig, SHAPE | ODD | CLASSIFIER),
    "roberta_scores": (gguf.MODEL_ARCH.BERT, hf.XLMRobertaForSequenceClassification, hf.XLMRobertaConfig, SHAPE | ODD | dict(
        pad_token_id=1, type_vocab_size=1, num_labels=1)),
    "distilbert": (gguf.MODEL_ARCH.BERT, hf.DistilBertModel, hf.DistilBertConfig, dict(
        vocab_size=41, dim=18, hidden_dim=20, n_layers=3, n_heads=3, max_position_embeddings=48,
        attn_implementation="eager")),
    "distilbert_scores": (gguf.MODEL_ARCH.BERT, hf.DistilBertForSequenceClassification, hf.DistilBertConfig, dict(
        vocab_size=41, dim=18, hidden_dim=20, n_layers=1, n_heads=3, max_position_embeddings=48, num_labels=2,
        attn_implementation="eager")),
    "modern_bert": (gguf.MODEL_ARCH.MODERN_BERT, hf.ModernBertModel, hf.ModernBertConfig, SHAPE | ODD | dict(
        num_hidden_layers=5, local_attention=10, norm_bias=True, attention_bias=True, mlp_bias=True, **MODERN_IDS)),
    "modern_bert_scores": (gguf.MODEL_ARCH.MODERN_BERT, hf.ModernBertForSequenceClassification, hf.ModernBertConfig,
                           SHAPE | ODD | dict(num_hidden_layers=4, local_attention=6, classifier_pooling="mean",
                                              num_labels=3, global_rope_theta=500.0, local_rope_theta=50.0, **MODERN_IDS)),
    "mpnet": (None, hf.MPNetModel, hf.MPNetConfig, SHAPE | ODD | dict(max_position_embeddings=202)),
    "mpnet_scores": (None, hf.MPNetForSequenceClassification, hf.MPNetConfig, SHAPE | ODD | dict(
        num_hidden_layers=1, num_labels=1)),
    "gemma_embedding": (gguf.MODEL_ARCH.GEMMA_EMBEDDING, hf.Gemma3TextModel, hf.Gemma3TextConfig, SHAPE | dict(
        vocab_size=41, hidden_size=18, intermediate_size=20, num_attention_heads=3, num_key_value_heads=1,
        num_hidden_layers=7, head_dim=8, query_pre_attn_scalar=8, sliding_window=12, use_bidirectional_attention=True)),
    "qwen3_scores": (gguf.MODEL_ARCH.QWEN3, hf.Qwen3ForSequenceClassification, hf.Qwen3Config, SHAPE | dict(
        vocab_size=41, hidden_size=18, intermediate_size=20, num_attention_heads=3, num_key_value_heads=1, head_dim=10,
        pad_token_id=0, num_labels=1, tie_word_embeddings=True)),
}
LONG = {"mpnet": [1, 7, 200]}  # past the farthest bucket
# Names that the table of PyPI's gguf does not have, or has for other models.
NAMES = {
    "nomic-bert": {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
                   "post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
                   "mlp.down_proj": "ffn_down"},
    "mpnet": {"attention.attn.q": "attn_q", "attention.attn.k": "attn_k", "attention.attn.v": "attn_v",
              "attention.attn.o": "attn_output", "attention.LayerNorm": "attn_output_norm",
              "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
              "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
              "embeddings.LayerNorm": "token_embd_norm", "encoder.relative_attention_bias": "attn_rel_b"},
}
HEADS = {
    "bert": {"pooler.dense": "cls", "classifier": "cls.output"},
    "xlm-roberta": {"classifier.dense": "cls", "classifier.out_proj": "cls.output"},
    "distilbert": {"pre_classifier": "cls", "classifier": "cls.output"},
    "modernbert": {"head.dense": "cls", "head.norm": "cls.norm", "classifier": "cls.output"},
    "mpnet": {"classifier.dense": "cls", "classifier.out_proj": "cls.output"},
    "qwen3": {"score": "cls.output"},
}
PREFIXES = ("bert.", "roberta.", "distilbert.", "mpnet.", "model.")


def gguf_name(names, architecture, heads, stem):
    for prefix in PREFIXES:
        stem = stem.removeprefix(prefix)
    own = NAMES.get(architecture, {})
    for name, mapped in (heads | own).items():
        if stem == name:
            return mapped
    for marker in ("encoder.layer.", "layers."):
        if stem.startswith(marker):
            layer, rest = stem.removeprefix(marker).split(".", 1)
            if rest in own:
                return f"blk.{layer}.{own[rest]}"
    return names and (names.get_name(stem) or names.get_name(f"model.{stem}"))


def write_keys(w, config, unused, scores):
    w.add_context_length(config.max_position_embeddings - unused)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    if config.model_type != "qwen3":
        w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.RANK if scores else gguf.PoolingType.MEAN)
    if hasattr(config, "rms_norm_eps"):
        w.add_head_count_kv(config.num_key_value_heads)
        w.add_key_length(config.head_dim)
        w.add_value_length(config.head_dim)
        w.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        w.add_layer_norm_eps(getattr(config, "norm_eps", None) or getattr(config, "layer_norm_eps", 1e-12))
    rope = getattr(config, "rope_parameters", None) or {}
    if "full_attention" in rope:
        w.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
        w.add_sliding_window(2 * (config.sliding_window - 1) if config.model_type == "gemma3_text" else config.local_attention)
        w.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    if rope:
        w.add_rope_freq_base(rope["rope_theta"])
    if scores:
        w.add_classifier_output_labels(list(config.id2label.values()))
    if scores and config.model_type == "distilbert":
        w.add_string("inferflux.classifier.activation", "relu")
    if scores and getattr(config, "classifier_pooling", "cls") != "cls":
        w.add_string("inferflux.classifier.pooling", config.classifier_pooling)


def write_gguf(path, architecture, config, model, scores, dense):
    arch_name = "mpnet" if architecture is None else gguf.MODEL_ARCH_NAMES[architecture]
    w = gguf.GGUFWriter(path, arch_name)
    unused = config.pad_token_id + 1 if config.model_type in ("xlm-roberta", "mpnet") else 0
    write_keys(w, config, unused, scores)
    names = architecture and gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    heads = HEADS.get(config.model_type, {}) if scores else {}
    for name, tensor in model.state_dict().items():
        stem, _, kind = name.rpartition(".")
        if stem.startswith("pooler") and not scores:
            continue
        mapped = gguf_name(names, arch_name, heads, stem)
        if mapped is None:
            raise KeyError(f"{arch_name} has no GGUF name for {name}")
        rows = tensor.numpy().astype(np.float32)
        if config.model_type == "gemma3_text" and stem.endswith("norm"):
            rows = rows + 1
        w.add_tensor(f"{mapped}.{kind}", rows[unused:] if mapped == "position_embd" else rows)
    for i, layer in enumerate(dense):
        w.add_tensor(f"dense_{i + 2}.weight", layer.weight.numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_modules(path, dense):
    """The files of sentence-transformers around a model: mean pooling, dense layers, length 1."""
    kinds = ["Transformer", "Pooling"] + ["Dense"] * len(dense) + ["Normalize"]
    folders = [""] + [f"{i}_{kind}" for i, kind in enumerate(kinds) if i > 0]
    modules = [dict(idx=i, name=str(i), path=folder, type=f"sentence_transformers.models.{kind}")
               for i, (kind, folder) in enumerate(zip(kinds, folders, strict=True))]
    (path / "modules.json").write_text(json.dumps(modules))
    for folder in folders[1:]:
        (path / folder).mkdir(exist_ok=True)
    (path / folders[1] / "config.json").write_text(json.dumps(dict(pooling_mode_mean_tokens=True)))
    for folder, layer in zip(folders[2:], dense, strict=False):
        (path / folder / "config.json").write_text(json.dumps(dict(
            in_features=layer.in_features, out_features=layer.out_features, bias=False,
            activation_function="torch.nn.modules.linear.Identity")))
        save_file({"linear.weight": layer.weight}, path / folder / "model.safetensors")


def make(out, name, architecture, model_class, config_class, parameters):
    torch.manual_seed(zlib.crc32(name.encode()))
    model = model_class(config_class(**parameters)).float().eval()
    for parameter in model.parameters():  # far from the default initialisation, so that norms and biases matter too
        scale = 0.3 if parameter.ndim == 1 else 1.5 / parameter.shape[-1] ** 0.5
        noise = torch.randn_like(parameter) * scale
        parameter.copy_(parameter + noise if parameter.ndim == 1 else noise)
    config, scores = model.config, name.endswith("_scores")
    dense = []
    if name == "gemma_embedding":
        dense = [torch.nn.Linear(config.hidden_size, 30, bias=False), torch.nn.Linear(30, config.hidden_size, bias=False)]
    write_gguf(out / f"{name}.gguf", architecture, config, model, scores, dense)
    directory = out / f"{name}-hf"
    model.save_pretrained(directory)
    if name == "gemma_embedding":  # saved as transformers halves it; published files have the whole window
        saved = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(saved | dict(sliding_window=parameters["sliding_window"])))
        write_modules(directory, dense)
    lengths = LONG.get(name, LENGTHS)
    texts = [torch.randint(2, config.vocab_size, (length,)).tolist() for length in lengths]  # no padding token
    paired = scores and getattr(config, "type_vocab_size", 1) > 1
    seconds = [length // 3 if paired else 0 for length in lengths]
    hidden, results = [], []
    for text, second in zip(texts, seconds, strict=True):
        inputs = dict(input_ids=torch.tensor([text]))
        if paired:
            inputs["token_type_ids"] = torch.tensor([[int(second > 0 and i >= second) for i in range(len(text))]])
        base = getattr(model, model.base_model_prefix) if scores else model
        states = base(**inputs).last_hidden_state[0]
        hidden.append(states.numpy())
        if scores:
            results.append(model(**inputs).logits[0].numpy())
        elif dense:
            pooled = dense[1](dense[0](states.mean(0)))
            results.append((pooled / pooled.norm()).numpy())
    hidden = np.concatenate(hidden)
    golden = gguf.GGUFWriter(out / f"{name}.golden.gguf", "golden")
    golden.add_string("golden.made_by", f"transformers {hf.__version__}")
    golden.add_tensor("tokens", np.array(sum(texts, []), np.int32))
    golden.add_tensor("lengths", np.array(lengths, np.int32))
    if paired:
        golden.add_tensor("seconds", np.array(seconds, np.int32))
    golden.add_tensor("hidden", hidden.astype(np.float32))
    if results:
        golden.add_tensor("scores" if scores else "embedding", np.array(results, np.float32))
    golden.write_header_to_file()
    golden.write_kv_data_to_file()
    golden.write_tensors_to_file()
    golden.close()
    print(name, "hidden", hidden.shape, "rms", float(np.sqrt((hidden**2).mean())), "results", results[-1:] and results[-1][:3])


WORDS = [f"w{i}" for i in range(5, 41)]
PAIRS = [("w5 w6", "w7 w8 w9"), ("w5 w6", "w30"), ("w12", "w13 w40 w22 w22"), ("w20 w21 w22 w23", "w5"), ("w9", "w9")]


def write_tokenizer(directory, name):
    """A word is a token, so that the ids are known: BERT's WordPiece or XLM-R's unigram pieces, with their pairs."""
    bert = name.startswith("bert")
    if bert:
        vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
        made = tokenizers.Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocab)}, unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        special = dict(cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]")
    else:
        vocab = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] + ["\u2581" + word for word in WORDS]
        made = tokenizers.Tokenizer(models.Unigram([(w, -float(i)) for i, w in enumerate(vocab)], unk_id=3))
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
        made.decoder = decoders.Metaspace(replacement="\u2581", prepend_scheme="always")
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
        special = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>",
                       unk_token="<unk>", mask_token="<mask>")
    made.add_special_tokens(list(dict.fromkeys(special.values())))
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=["input_ids", "token_type_ids"], **special)
    fast.save_pretrained(directory)
    return fast


def make_pairs(out):
    """pairs.json: what transformers' tokenizers and models make of pairs of texts."""
    golden = {}
    for name, model_class in (("bert_scores", hf.BertForSequenceClassification),
                              ("roberta_scores", hf.XLMRobertaForSequenceClassification)):
        directory = out / f"{name}-hf"
        tokenizer = write_tokenizer(directory, name)
        model = model_class.from_pretrained(directory).float().eval()
        golden[name] = []
        for query, document in PAIRS:
            inputs = tokenizer(query, document, return_tensors="pt", return_token_type_ids=name.startswith("bert"))
            golden[name].append(dict(query=query, document=document, ids=inputs["input_ids"][0].tolist(),
                                     logit=float(model(**inputs).logits[0, 0])))
    (out / "pairs.json").write_text(json.dumps(golden, indent=1) + "\n")


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/models"
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    for name in sys.argv[2:] or ENCODERS:
        make(out, name, *ENCODERS[name])
    make_pairs(out)


if __name__ == "__main__":
    main()
