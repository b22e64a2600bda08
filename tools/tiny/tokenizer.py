"""Trains the byte-level BPE tokeniser: Qwen 2's splitting rule, so that each digit is a token of its own."""

from itertools import islice
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from .chatml import SPECIAL, render
from .data.chat import conversations
from .data.split import TRAIN

SIZE = 3072
# The pattern that GGUF names `qwen2` in tokenizer.ggml.pre.
PRE = "qwen2"
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def _text(seed: int, count: int):
    for conversation in islice(conversations(seed, TRAIN), count):
        text = render(conversation)
        for mark in SPECIAL:
            text = text.replace(mark, "")
        yield text


def untrained(vocabulary: dict[str, int] | None = None, merges: list[tuple[str, str]] | None = None) -> Tokenizer:
    """The splitting rule, with the given tokens."""
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges) if vocabulary else models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(path: Path, seed: int, count: int = 30000) -> Tokenizer:
    tokenizer = untrained()
    tokenizer.train_from_iterator(_text(seed, count), trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if tokenizer.get_vocab_size() != SIZE:
        raise ValueError(f"the text has merges for {tokenizer.get_vocab_size()} tokens only, {SIZE} are wanted")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    tokenizer.save(str(partial))
    partial.replace(path)
    return tokenizer


def load_or_train(path: Path, seed: int) -> Tokenizer:
    return Tokenizer.from_file(str(path)) if path.exists() else train(path, seed)
