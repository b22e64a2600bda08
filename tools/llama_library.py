"""Loads llama.cpp's library for the tools that compare with it: logits and greedy answers of a GGUF file."""
import ctypes
import os
import pathlib
import subprocess
import sys
import types

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
CONTEXT = 512


def binding():
    """Only llama_cpp's ctypes layer: the package's own __init__ imports packages that are not needed."""
    found = subprocess.run([ROOT / "scripts/install-llama-cpp", "--where"], capture_output=True, text=True)
    if not found.stdout.strip():
        sys.exit("libllama is not here: run scripts/install-llama-cpp")
    packages = pathlib.Path(found.stdout.strip())
    os.environ["LLAMA_CPP_LIB_PATH"] = str(packages / "lib")
    shell = types.ModuleType("llama_cpp")
    shell.__path__ = [str(packages / "llama_cpp")]
    sys.modules["llama_cpp"] = shell
    import llama_cpp.llama_cpp as library
    library.silent = library.llama_log_callback(lambda *_: None)  # the library keeps its address
    library.llama_log_set(library.silent, None)
    library.llama_backend_init()
    return library


class Engine:
    """A model in a context of CONTEXT tokens; float32 K/V if `exact_kv`, otherwise float16."""

    def __init__(self, library, path, exact_kv=False):
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
        if exact_kv:
            params.type_k = params.type_v = library.GGML_TYPE_F32
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

    def predictions(self, chunk):
        """For (token ids, which of them count): log probabilities [scored token, vocab], and the ids of those tokens."""
        ids, counts = chunk
        before = np.flatnonzero(counts[1:])
        rows = self.logits(ids)[before]
        rows -= rows.max(axis=1, keepdims=True)
        rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
        return rows, np.asarray(ids[1:])[before]

    def surprises(self, chunk):
        """The negative log probability of each scored token."""
        rows, said = self.predictions(chunk)
        return -rows[np.arange(len(said)), said]

    def answer(self, prompt, limit=12):
        tokens, said = self.tokens(prompt), []
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
