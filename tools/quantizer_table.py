#!/usr/bin/env python3
"""Compares inferflux-quantize with llama.cpp's quantiser on the embedded model, and prints docs/quantization.md's table.

usage: python -m tools.quantizer_table [--quantize build/bin/inferflux-quantize] [--model FILE.gguf] [--tokens N] [TYPE ...]
Needs numpy, gguf and typing_extensions (PyPI), and scripts/install-llama-cpp.

Each type is made by both quantisers. Error: root of squared error over squared values, by class of tensor, with the gguf
package's dequantisation. Perplexity: both files in llama.cpp, over what the assistant says in conversations of the training data's held-out split.
That our file loads there and answers is part of it: an answer is generated greedily, and must not be empty.
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import types

import gguf
import numpy as np

from tools.tiny.chatml import segments
from tools.tiny.data.chat import conversations
from tools.tiny.data.split import HELD_OUT

ROOT = pathlib.Path(__file__).parents[1]
SEED = 77_000
CONTEXT = 512
CLASSES = {"embedding": ("token_embd", "output."), "attention": ("attn_q", "attn_k", "attn_v", "attn_output"),
           "feed-forward": ("ffn_gate", "ffn_up", "ffn_down")}
FTYPES = {"Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7, "Q2_K": 10, "Q2_K_S": 21, "Q3_K_S": 11, "Q3_K_M": 12,
          "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30}
PROMPT = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"


def binding():
    """llama_cpp's ctypes layer alone: the package's own __init__ wants more packages than are needed."""
    found = subprocess.run([ROOT / "scripts/install-llama-cpp", "--where"], capture_output=True, text=True)
    if not found.stdout.strip():
        sys.exit("libllama is not here: run scripts/install-llama-cpp")
    packages = pathlib.Path(found.stdout.strip())
    os.environ["LLAMA_CPP_LIB_PATH"] = str(packages / "lib")
    shell = types.ModuleType("llama_cpp")
    shell.__path__ = [str(packages / "llama_cpp")]
    sys.modules["llama_cpp"] = shell
    import llama_cpp.llama_cpp as library
    return library


class Engine:
    def __init__(self, library, path):
        self.library = library
        params = library.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = library.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            sys.exit(f"llama.cpp cannot load {path}")
        self.vocab = library.llama_model_get_vocab(self.model)
        self.size = library.llama_vocab_n_tokens(self.vocab)
        params = library.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT
        params.n_threads = params.n_threads_batch = 1
        self.context = library.llama_init_from_model(self.model, params)
        self.batch = library.llama_batch_init(CONTEXT, 0, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.llama_batch_free(self.batch)
        self.library.llama_free(self.context)
        self.library.llama_model_free(self.model)

    def tokens(self, text):
        raw = text.encode()
        out = (ctypes.c_int32 * (len(raw) + 8))()
        count = self.library.llama_tokenize(self.vocab, raw, len(raw), out, len(out), False, True)
        return list(out[:count])

    def logits(self, tokens):
        """[token, vocab], of an empty context."""
        self.library.llama_memory_clear(self.library.llama_get_memory(self.context), True)
        self.batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i], self.batch.logits[i] = token, i, 1
            self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
        if self.library.llama_decode(self.context, self.batch) != 0:
            sys.exit("llama_decode failed")
        rows = self.library.llama_get_logits(self.context)
        return np.ctypeslib.as_array(rows, shape=(len(tokens), self.size)).astype(np.float64)

    def perplexity(self, chunks):
        total, count = 0.0, 0
        for ids, learned in chunks:
            before = np.flatnonzero(learned[1:])
            rows = self.logits(ids)[before]
            rows -= rows.max(axis=1, keepdims=True)
            chosen = rows[np.arange(len(rows)), np.asarray(ids[1:])[before]]
            total += float((np.log(np.exp(rows).sum(axis=1)) - chosen).sum())
            count += len(rows)
        return float(np.exp(total / count))

    def answer(self, limit=12):
        tokens, said = self.tokens(PROMPT), []
        while len(said) < limit:
            best = int(self.logits(tokens + said)[-1].argmax())
            if self.library.llama_vocab_is_eog(self.vocab, best):
                break
            said.append(best)
        return b"".join(self.piece(token) for token in said).decode(errors="replace")

    def piece(self, token):
        text = ctypes.create_string_buffer(64)
        length = self.library.llama_token_to_piece(self.vocab, token, text, len(text), 0, False)
        return text.raw[:length]


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


def held_out(engine, budget):
    """Conversations as (token ids, which of them the model learned to say), until `budget` tokens of the latter."""
    chunks, count = [], 0
    for conversation in conversations(SEED, HELD_OUT):
        ids, learned = [], []
        for text, said in segments(conversation):
            piece = engine.tokens(text)
            ids += piece
            learned += [said] * len(piece)
        if len(ids) <= CONTEXT:
            chunks.append((ids, np.asarray(learned)))
            count += sum(learned[1:])
        if count >= budget:
            return chunks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quantize", default=ROOT / "build/bin/inferflux-quantize")
    parser.add_argument("--model", default=ROOT / "models/tiny/inferflux-tiny.gguf")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("types", nargs="*", default=list(FTYPES))
    arguments = parser.parse_args()
    library = binding()
    silent = library.llama_log_callback(lambda *_: None)
    library.llama_log_set(silent, None)
    library.llama_backend_init()
    original = dequantised(arguments.model)
    with Engine(library, arguments.model) as engine:
        chunks = held_out(engine, arguments.tokens)
        print(f"The model itself: perplexity {engine.perplexity(chunks):.4f} over {arguments.tokens} tokens.\n")
    print("| type | " + " | ".join(CLASSES) + " | perplexity | our file's answer in llama.cpp |")
    print("|---|" + "---|" * (len(CLASSES) + 2))
    worse = []
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = pathlib.Path(folder) / "theirs.gguf", pathlib.Path(folder) / "ours.gguf"
        for name in arguments.types:
            params = library.llama_model_quantize_default_params()
            params.ftype, params.nthread = FTYPES[name], 1
            if library.llama_model_quantize(str(arguments.model).encode(), str(theirs).encode(), ctypes.byref(params)):
                sys.exit(f"llama.cpp cannot make {name}")
            subprocess.run([arguments.quantize, "--threads", "1", arguments.model, ours, name], check=True,
                           capture_output=True)
            pairs = list(zip(errors(original, theirs), errors(original, ours)))
            cells = [f"{a:.5f} {b:.5f}" for a, b in pairs]
            with Engine(library, theirs) as engine:
                before = engine.perplexity(chunks)
            with Engine(library, ours) as engine:
                after, said = engine.perplexity(chunks), engine.answer()
            print(f"| {name} | " + " | ".join(cells) + f" | {before:.4f} {after:.4f} | {said} |", flush=True)
            if any(b > a * 1.0001 for a, b in pairs) or after > before * 1.005 or not said:
                worse.append(name)
    print(f"\nWorse than llama.cpp's quantiser: {', '.join(worse) or 'none'}.")
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
