#!/usr/bin/env python3
"""Encoding speed of our tokenisers and of Hugging Face's `tokenizers`, one thread each, in alternating runs.

    tools/measure/tokenizer_speed.py [--inferctl build/bin/inferctl] [--megabytes 10] [--rounds 5]

Trains one tokeniser of each kind on part of the text (this project's files, Python's standard library, and made-up words in
several scripts, seeded), writes it as a directory that both sides read, and checks that the ids are equal. Ours is a run of
`inferctl tokenize`: its time includes reading the text and printing the ids, but not loading the vocabulary (the same
run without text). Theirs is `encode_batch_fast` of the same text, split at line ends into pieces of about 64 KiB, which
is faster than one piece, with its threads switched off, without reading or printing. Needs: tokenizers.
"""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import unicodedata
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SCRIPTS = [(0x61, 26), (0xE0, 30), (0x430, 32), (0x3B1, 24), (0x5D0, 27), (0x627, 40), (0x905, 50), (0x4E00, 4000), (0xAC00, 4000), (0x3041, 80)]

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 256, "head_dim": 64,
          "num_hidden_layers": 1, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}


def made_up_words(size: int) -> str:
    """Lines of words in one script each, from a vocabulary with few frequent and many rare words."""
    rng = random.Random(1)
    words = [["".join(chr(first + rng.randrange(count)) for _ in range(rng.randint(2, 8))) for _ in range(2000)]
             for first, count in SCRIPTS]
    lines, length = [], 0
    while length < size:
        script = rng.choice(words)
        line = " ".join(script[int(len(script) * rng.random() ** 3)] for _ in range(12))
        lines.append(line)
        length += len(line.encode())
    return "\n".join(lines)


def mixed_text(size: int) -> str:
    root = Path(__file__).resolve().parents[2]
    files = sorted(p for kind in ("md", "cpp", "h", "py") for p in root.glob(f"[!b]*/**/*.{kind}"))
    files += sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    parts = [p.read_text(errors="ignore") for p in files]
    parts.append(made_up_words(size // 4))
    lines = "\n".join(parts).splitlines(keepends=True)
    # A text that contains a special token's name is plain text to us, on purpose, but a special token to `tokenizers`.
    lines = [line for line in lines if not re.search(r"<unk>|<0x|<\||\[(PAD|UNK|CLS|SEP|MASK)\]", line)]
    lines = [line for line in lines if all(unicodedata.category(c) != "Cn" for c in line)]
    random.Random(2).shuffle(lines)
    text = "".join(lines)
    while len(text.encode()) < size:
        text += text
    return text.encode()[:size].decode(errors="ignore")


def trained(kind: str, text: str) -> Tokenizer:
    if kind == "byte-level BPE":
        tok = Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tok.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=32000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    elif kind == "SentencePiece BPE":
        tok = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        trainer = trainers.BpeTrainer(vocab_size=16000, show_progress=False,
                                      special_tokens=["<unk>", *(f"<0x{b:02X}>" for b in range(256))])
    elif kind == "unigram":
        tok = Tokenizer(models.Unigram())
        tok.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=16000, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"])
    else:
        tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tok.normalizer = normalizers.BertNormalizer()
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=16000, show_progress=False,
                                            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tok.train_from_iterator(text[:2_000_000].splitlines(keepends=True), trainer)
    return tok


def pieces_of(text: str, size: int = 1 << 16) -> list[str]:
    pieces, piece = [], []
    length = 0
    for line in text.splitlines(keepends=True):
        piece.append(line)
        length += len(line)
        if length >= size:
            pieces.append("".join(piece))
            piece, length = [], 0
    return pieces + ["".join(piece)]


def compared(theirs: Tokenizer, ours: list[int], expected: list[int]) -> str:
    """Whether the ids are equal. Unigram: rounding decides between two equally likely splits."""
    if ours == expected:
        return "equal"
    model = json.loads(theirs.to_str())["model"]
    if model["type"] != "Unigram":
        return "DIFFERENT"
    pieces = model["vocab"]
    ties, a, b = 0, iter(ours), iter(expected)
    for x, y in zip(a, b):
        if x == y:
            continue
        mine, other = [pieces[x]], [pieces[y]]
        while (gap := sum(len(t) for t, _ in mine) - sum(len(t) for t, _ in other)) != 0:
            other.append(pieces[next(b)]) if gap > 0 else mine.append(pieces[next(a)])
        if abs(sum(s for _, s in mine) - sum(s for _, s in other)) > 1e-4:
            return "DIFFERENT"
        ties += 1
    return f"equal but for {ties} ties"


def timed(work) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inferctl", default="build/bin/inferctl")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    text = mixed_text(int(args.megabytes * 1e6))
    raw = text.encode()
    pieces = pieces_of(text)
    print("| tokeniser | ours, MB/s | tokenizers, MB/s | ratio (smallest, largest) | ids |\n|---|---|---|---|---|")
    for kind in ("byte-level BPE", "SentencePiece BPE", "unigram", "WordPiece"):
        theirs = trained(kind, text)
        with tempfile.TemporaryDirectory() as folder:
            theirs.save(f"{folder}/tokenizer.json")
            Path(folder, "tokenizer_config.json").write_text("{}")
            Path(folder, "config.json").write_text(json.dumps({**CONFIG, "vocab_size": theirs.get_vocab_size()}))

            def ours(data: bytes):
                return subprocess.run([args.inferctl, "tokenize", folder], input=data, stdout=subprocess.PIPE, check=True).stdout

            expected = theirs.encode(text, add_special_tokens=False).ids
            ids = compared(theirs, list(map(int, ours(raw).split())), expected)
            speeds = []
            for _ in range(args.rounds):
                start = min(timed(lambda: ours(b""))[0] for _ in range(3))
                mine = timed(lambda: ours(raw))[0] - start
                peer = timed(lambda: theirs.encode_batch_fast(pieces, add_special_tokens=False))[0]
                speeds.append((len(raw) / mine / 1e6, len(raw) / peer / 1e6))
            ratios = sorted(a / b for a, b in speeds)
            print(f"| {kind} | {statistics.median(a for a, _ in speeds):.1f} | {statistics.median(b for _, b in speeds):.1f} | "
                  f"{statistics.median(ratios):.1f} ({ratios[0]:.1f}, {ratios[-1]:.1f}) | {ids} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
