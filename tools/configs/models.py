"""Tiny random models of transformers with given keys of config.json, and what transformers computes with them."""
import json
import pathlib
import sys
import zlib

import gguf
import numpy as np
import torch
import transformers as hf

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import golden_encoders  # noqa: E402
import golden_models  # noqa: E402

TOKENS = 40


def base_configurations():
    """model_type: the parameters of its tiny golden model."""
    bases = {}
    for _, config_class, parameters, *_ in golden_models.FAMILIES.values():
        bases.setdefault(config_class.model_type, dict(parameters))
    for name, (_, _, config_class, parameters) in golden_encoders.ENCODERS.items():
        if not name.endswith("_scores") and name != "gemma_embedding":
            bases.setdefault(config_class.model_type, dict(parameters))
    bases["roberta"] = dict(bases["xlm-roberta"])
    for parameters in bases.values():
        parameters.pop("attn_implementation", None)
    return bases


ENCODERS = {config_class.model_type for _, _, config_class, _ in golden_encoders.ENCODERS.values()} - {
    "gemma3_text", "qwen3"} | {"roberta"}


def save(directory, model_type, parameters, packed=True):
    """A directory with a random model of these parameters; config.json as transformers writes it. `packed`: gpt-oss's experts
    are stored in MXFP4."""
    torch.manual_seed(zlib.crc32(directory.name.encode()))
    config = hf.AutoConfig.for_model(model_type, **parameters)
    auto = hf.AutoModel if model_type in ENCODERS else hf.AutoModelForCausalLM
    model = auto.from_config(config, attn_implementation="eager").float().eval()
    architecture = golden_models.ARCH.GPT_OSS if model_type == "gpt_oss" else None
    golden_models.randomise(model, architecture)
    model.save_pretrained(directory)
    if model_type == "gpt_oss" and packed:
        golden_models.pack_experts(directory)
    (directory / "generation_config.json").unlink(missing_ok=True)


def edit(directory, change):
    """config.json after `change` of the object."""
    path = directory / "config.json"
    keys = json.loads(path.read_text())
    change(keys)
    path.write_text(json.dumps(keys, indent=1) + "\n")


def load(directory, model_type):
    """As transformers reads the directory. MXFP4 experts are dequantised."""
    auto = hf.AutoModel if model_type in ENCODERS else hf.AutoModelForCausalLM
    keys = json.loads((directory / "config.json").read_text())
    if "quantization_config" not in keys:
        return auto.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()
    quantization = hf.Mxfp4Config(dequantize=True)
    return auto.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32,
                                quantization_config=quantization).float().eval()


def results(model, tokens):
    """[tokens, width]: logits, or an encoder's hidden states."""
    out = model(torch.tensor([tokens]))
    rows = out.logits if hasattr(out, "logits") else out.last_hidden_state
    return rows[0].float().numpy()


def write_golden(path, tokens, rows, context, expected):
    """`context`: what the model is configured for (0: its own). `expected`: "equal" or "refused"; empty: not known."""
    writer = gguf.GGUFWriter(path, "golden")
    writer.add_uint32("golden.context", context)
    writer.add_string("golden.expected", expected)
    writer.add_string("golden.made_by", f"transformers {hf.__version__}")
    writer.add_tensor("tokens", np.array(tokens, np.int32))
    writer.add_tensor("rows", np.ascontiguousarray(rows, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(out, name, model_type, parameters, change, expected="", context=0, packed=True, after=None):
    """NAME-hf and NAME.golden.gguf in `out`. `change`: of config.json before transformers reads it; `after`: afterwards. Raises
    what transformers raises for a configuration that it refuses."""
    directory = out / f"{name}-hf"
    save(directory, model_type, parameters, packed)
    edit(directory, change)
    model = load(directory, model_type)
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    tokens = torch.randint(3, model.config.vocab_size, (TOKENS,), generator=generator).tolist()
    rows = results(model, tokens)
    if not np.isfinite(rows).all():
        raise ValueError("the results are not finite")
    write_golden(out / f"{name}.golden.gguf", tokens, rows, context, expected)
    if after:
        edit(directory, after)
