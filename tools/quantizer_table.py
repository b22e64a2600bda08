#!/usr/bin/env python3
"""Compares inferflux-quantize with llama.cpp's quantiser on the embedded model, and prints docs/quantization.md's table.

usage: python -m tools.quantizer_table [--quantize build/bin/inferflux-quantize] [--model FILE.gguf] [--tokens N] [TYPE ...]
Needs numpy, gguf and typing_extensions (PyPI), and scripts/install-llama-cpp.

Each type is made by both quantisers. Error: root of squared error over squared values, by class of tensor, with the gguf
package's dequantisation. Perplexity: both files in llama.cpp, over the assistant's part of conversations in the training
data's held-out split. The difference is that of the logarithms, ours minus theirs, with its standard error; both
read the same text, and the conversations are the sample. Divergence: the mean Kullback-Leibler divergence of the quantised
model from the original, in thousandths of a nat, which measures the change itself, whether or not it suits the text.
The tool also checks that our file loads there: it generates an answer greedily, which must not be empty.
"""
import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

from tools.held_out import held_out
from tools.llama_library import ROOT, Engine, binding

CLASSES = {"embedding": ("token_embd", "output."), "attention": ("attn_q", "attn_k", "attn_v", "attn_output"),
           "feed-forward": ("ffn_gate", "ffn_up", "ffn_down")}
FTYPES = {"Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7, "Q2_K": 10, "Q2_K_S": 21, "Q3_K_S": 11, "Q3_K_M": 12,
          "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30}
PROMPT = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"


def dequantised(path):
    return {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float64)
            for t in gguf.GGUFReader(path).tensors if len(t.shape) > 1}


def errors(original, path):
    squares = {name: [0.0, 0.0] for name in CLASSES}
    for name, values in dequantised(path).items():
        for kind, parts in CLASSES.items():
            if any(part in name for part in parts):
                squares[kind][0] += float(((values - original[name]) ** 2).sum())
                squares[kind][1] += float((original[name] ** 2).sum())
    return [np.sqrt(error / max(norm, 1e-30)) for error, norm in squares.values()]


def surprises(engine, chunks):
    """The negative log likelihood of each conversation."""
    return np.array([engine.surprises(chunk).sum() for chunk in chunks])


def divergences(engine, own, chunks):
    """The divergence of `own`'s distributions from those of the model itself, summed over each conversation."""
    out = []
    for chunk in chunks:
        true, _ = engine.predictions(chunk)
        out.append((np.exp(true) * (true - own.predictions(chunk)[0])).sum())
    return np.array(out)


def difference(theirs, ours, count):
    """The mean difference for each token, and its standard error with conversations as the sample."""
    each = ours - theirs
    return each.sum() / count, each.std(ddof=1) * np.sqrt(len(each)) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quantize", default=ROOT / "build/bin/inferflux-quantize")
    parser.add_argument("--model", default=ROOT / "models/tiny/inferflux-tiny.gguf")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("types", nargs="*", default=list(FTYPES))
    arguments = parser.parse_args()
    library = binding()
    original = dequantised(arguments.model)
    with tempfile.TemporaryDirectory() as folder, Engine(library, arguments.model) as engine:
        chunks = held_out(engine.tokens, arguments.tokens)
        count = sum(int(learned[1:].sum()) for _, learned in chunks)
        itself = np.exp(surprises(engine, chunks).sum() / count)
        print(f"The model itself: perplexity {itself:.4f}, {count} tokens of {len(chunks)} conversations.\n")
        print("| type | " + " | ".join(CLASSES) + " | perplexity | difference | divergence | our file's answer in llama.cpp |")
        print("|---|" + "---|" * (len(CLASSES) + 4))
        worse = []
        files = [pathlib.Path(folder) / "theirs.gguf", pathlib.Path(folder) / "ours.gguf"]
        for name in arguments.types:
            params = library.llama_model_quantize_default_params()
            params.ftype, params.nthread = FTYPES[name], 1
            if library.llama_model_quantize(str(arguments.model).encode(), str(files[0]).encode(), ctypes.byref(params)):
                sys.exit(f"llama.cpp cannot make {name}")
            subprocess.run([arguments.quantize, "--force", "--threads", "1", arguments.model, files[1], name], check=True,
                           capture_output=True)
            pairs = list(zip(*(errors(original, file) for file in files)))
            losses, drifts = [], []
            for file in files:
                with Engine(library, file) as own:
                    losses.append(surprises(own, chunks))
                    drifts.append(1000 * divergences(engine, own, chunks))
                    said = own.answer(PROMPT)
            change, deviation = difference(*losses, count)
            cells = [f"{a:.5f} {b:.5f}" for a, b in pairs]
            cells.append(" ".join(f"{np.exp(loss.sum() / count):.4f}" for loss in losses))
            cells.append(f"{100 * change:+.2f} ± {100 * deviation:.2f}%")
            drift, deviation_of_drift = difference(*drifts, count)
            cells.append(" ".join(f"{of.sum() / count:.3f}" for of in drifts) + f" ({drift:+.3f} ± {deviation_of_drift:.3f})")
            print(f"| {name} | " + " | ".join(cells) + f" | {said} |", flush=True)
            if any(b > a * 1.0001 for a, b in pairs) or change > 3 * deviation or drift > 3 * deviation_of_drift or not said:
                worse.append(name)
    print(f"\nWorse than llama.cpp's quantiser: {', '.join(worse) or 'none'}.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
