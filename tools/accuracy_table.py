#!/usr/bin/env python3
"""Measures the error of 8-bit matmuls and of small KV types, compared with llama.cpp; prints the tables of docs/benchmarks.md.

usage: python -m tools.accuracy_table [--model FILE.gguf] [--random] [--tokens N] [TYPE ...]
Needs numpy, requests and typing_extensions (PyPI), built programs, and scripts/install-llama-cpp.

Weights: the model is quantised, and the same quantised values are written as F32, which llama.cpp multiplies as floats.
That is the reference for both engines' 8-bit matmuls. The error is the root mean square, over tokens, of the difference
between their log probabilities and the reference. K/V are float32 in all runs.
K/V: the same error for our engine on the unquantised model, with its own log probabilities under float32 K/V as reference.
The text is the assistant's part of held-out conversations of the embedded model; with --random, random tokens.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import requests

from tests.e2e.server_process import ServerProcess, program
from tools.held_out import held_out
from tools.llama_library import ROOT, Engine, binding

WITHIN = 1.05  # times llama.cpp's error


def ours(path, chunks, *flags):
    """The negative log probability that a server gives to each scored token."""
    out = []
    with ServerProcess(*flags, model=path) as server:
        for ids, counts in chunks:
            answer = requests.post(server.url + "/v1/completions", timeout=600, json={
                "prompt": [int(token) for token in ids], "max_tokens": 1, "prompt_logprobs": 0}).json()
            scored = answer["choices"][0]["prompt_logprobs"]
            out += [-scored[at][str(ids[at])]["logprob"] for at in range(1, len(ids)) if counts[at]]
    return np.array(out)


def theirs(library, path, chunks):
    with Engine(library, path, exact_kv=True) as engine:
        return np.concatenate([engine.surprises(chunk) for chunk in chunks])


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def random_chunks(vocabulary, tokens, length=256):
    generator = np.random.default_rng(5)
    return [([int(t) for t in generator.integers(0, vocabulary, length)], np.ones(length, bool))
            for _ in range(max(1, tokens // length))]


def weights_table(library, model, chunks, names, folder):
    """Prints the table; returns the types that are worse than allowed."""
    print("| type | llama.cpp | InferFlux | ratio | perplexity: exact, llama.cpp, InferFlux |\n|---|---|---|---|---|")
    worse = []
    for name in names:
        packed, plain = folder / "packed.gguf", folder / "plain.gguf"
        for source, to, kind in ((model, packed, name), (packed, plain, "F32")):
            subprocess.run([program("inferflux-quantize"), "--force", source, to, kind], check=True, capture_output=True)
        exact = theirs(library, plain, chunks)
        both = [theirs(library, packed, chunks), ours(packed, chunks, "--runtime-kv-dtype", "fp32")]
        errors = [rms(values - exact) for values in both]
        perplexities = " ".join(f"{np.exp(values.mean()):.5g}" for values in (exact, *both))
        print(f"| {name} | {errors[0]:.5f} | {errors[1]:.5f} | {errors[1] / errors[0]:.2f} | {perplexities} |", flush=True)
        if errors[1] > WITHIN * errors[0]:
            worse.append(name)
    return worse


def keys_table(model, chunks):
    print("| keys and values | error | largest | perplexity |\n|---|---|---|---|")
    exact = ours(model, chunks, "--runtime-kv-dtype", "fp32")
    for name in ("fp32", "fp16", "bf16", "int8", "fp8"):
        values = exact if name == "fp32" else ours(model, chunks, "--runtime-kv-dtype", name)
        print(f"| {name} | {rms(values - exact):.5f} | {np.abs(values - exact).max():.4f} | {np.exp(values.mean()):.5g} |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models/tiny/inferflux-tiny.gguf")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("types", nargs="*", default=["Q4_0", "Q8_0", "Q4_K_M", "Q5_K_M", "Q6_K"])
    arguments = parser.parse_args()
    library = binding()
    with Engine(library, arguments.model) as engine:
        chunks = random_chunks(engine.size, arguments.tokens) if arguments.random else held_out(engine.tokens, arguments.tokens)
    print(f"{sum(int(counts[1:].sum()) for _, counts in chunks)} tokens\n")
    with tempfile.TemporaryDirectory() as folder:
        worse = weights_table(library, arguments.model, chunks, arguments.types, pathlib.Path(folder))
    print()
    keys_table(arguments.model, chunks)
    print(f"\nMore than {WITHIN} times llama.cpp's error: {', '.join(worse) or 'none'}.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
