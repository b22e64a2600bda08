#!/usr/bin/env python3
"""Golden files for the tokenisers, made by Hugging Face's `tokenizers`.

Trains one small tokeniser of each kind on synthetic text, tokenises random strings with it, and writes vocabulary and
results for tests/unit/text/tokenizer/golden_test.cpp:

    tools/tokenizer_golden.py --strings 2500   --out tests/data/tokenizers     # the committed set
    tools/tokenizer_golden.py --strings 100000 --out DIR                       # the long comparison, then
    INFERFLUX_TOKENIZER_GOLDEN=DIR build/tests/tokenizer_golden_test
    tools/tokenizer_golden.py --strings 20000 --out DIR --wordpiece FILE       # a real model's tokenizer.json alone

Everything is seeded. The strings omit characters on which the Unicode tables of the two sides disagree, and those that Unicode
14 does not assign; unicode_exceptions.txt lists the former. Needs: tokenizers, and the shared
libraries of PCRE2 and utf8proc that InferFlux links.
"""
import argparse
import ctypes
import ctypes.util
import functools
import json
import random
import struct
import unicodedata
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


@functools.cache
def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library(name) if name else None)


# --- the two sides' Unicode tables --------------------------------------------------------------------------------


def pcre2_matches(pattern: str) -> set[int]:
    """Every code point that PCRE2's `pattern` matches."""
    lib = library("pcre2-8")
    for name in ("pcre2_compile_8", "pcre2_match_data_create_8", "pcre2_get_ovector_pointer_8"):
        getattr(lib, name).restype = ctypes.c_void_p
    source = pattern.encode()
    error, where = ctypes.c_int(), ctypes.c_size_t()
    utf, ucp = 0x00080000, 0x00020000
    code = lib.pcre2_compile_8(source, ctypes.c_size_t(len(source)), utf | ucp, ctypes.byref(error),
                               ctypes.byref(where), None)
    assert code, pattern
    lib.pcre2_jit_compile_8(ctypes.c_void_p(code), 1)
    match = ctypes.c_void_p(lib.pcre2_match_data_create_8(1, None))
    subject = "".join(map(chr, CODES)).encode()
    spans = ctypes.cast(lib.pcre2_get_ovector_pointer_8(match), ctypes.POINTER(ctypes.c_size_t))
    found, at = set(), 0
    no_utf_check = 0x40000000
    while lib.pcre2_match_8(ctypes.c_void_p(code), subject, ctypes.c_size_t(len(subject)), ctypes.c_size_t(at),
                            no_utf_check, match, None) > 0:
        found.update(map(ord, subject[spans[0]:spans[1]].decode()))
        at = spans[1]
    return found


def hf_matches(pattern: str) -> set[int]:
    """Every code point that the regular expressions of `tokenizers` match."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    text = "".join(map(chr, CODES))
    return {ord(c) for piece, _ in split.pre_tokenize_str(text) for c in piece}


def utf8proc_map(text: str, options: int) -> str:
    lib = library("utf8proc")
    lib.utf8proc_map.restype = ctypes.c_ssize_t
    out = ctypes.c_void_p()
    raw = text.encode()
    size = lib.utf8proc_map(raw, ctypes.c_ssize_t(len(raw)), ctypes.byref(out), options)
    assert size >= 0, text
    result = ctypes.string_at(out, size).decode()
    library("").free(out)
    return result


def bert_by_utf8proc(code: int) -> str:
    """The output of word_piece.cpp's normaliser for one character."""
    lib = library("utf8proc")
    category = lib.utf8proc_category(code)
    if chr(code) not in "\t\n\r" and (code == 0xFFFD or category in (0, 26, 27, 28, 29)):  # Cn, Cc, Cf, Cs, Co
        return ""
    if chr(code) in WHITE_SPACE:
        return " "
    stable, decompose = 2, 16
    out = ""
    for c in utf8proc_map(chr(code), stable | decompose):
        if lib.utf8proc_category(ord(c)) != 6:  # Mn
            out += "i\u0307" if c == "\u0130" else chr(lib.utf8proc_tolower(ord(c)))
    return out


WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def find_exceptions() -> dict[str, set[int]]:
    """The assigned code points on which the tables disagree, by property."""
    assigned = {c for c in CODES if unicodedata.category(chr(c)) != "Cn"}
    assert unicodedata.unidata_version == "14.0.0", "needs a Python whose tables are Unicode 14 (3.11)"
    exceptions = {}
    for name in ("L", "Lu", "Lt", "Lm", "Lo", "Ll", "M", "N", "Nd", "P", "S", "sc:Han"):
        ours, theirs = pcre2_matches(rf"\p{{{name}}}+"), hf_matches(rf"\p{{{name.removeprefix('sc:')}}}+")
        exceptions[name] = (ours ^ theirs) & assigned
    exceptions["White_Space"] = (pcre2_matches(r"\p{White_Space}+") ^ hf_matches(r"\s+")) & assigned
    stable, compose = 2, 8
    nfc = normalizers.NFC()
    exceptions["NFC"] = {c for c in assigned if utf8proc_map(chr(c), stable | compose) != nfc.normalize_str(chr(c))}
    bert = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=True)
    exceptions["WordPiece"] = {c for c in assigned if bert.normalize_str(chr(c)) != bert_by_utf8proc(c)}
    ours = pcre2_matches(r"\p{P}+") | set(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    punctuation = pre_tokenizers.Punctuation("removed")
    kept = {ord(c) for piece, _ in punctuation.pre_tokenize_str("".join(map(chr, CODES))) for c in piece}
    exceptions["Punctuation"] = (ours ^ (set(CODES) - kept)) & assigned
    return exceptions


def ranges(codes: set[int]) -> list[str]:
    out, ordered = [], sorted(codes)
    for code in ordered:
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return [f"{a:04X}" if a == b else f"{a:04X}-{b:04X}" for a, b in out]


# --- random text --------------------------------------------------------------------------------------------------

SCRIPTS = [(0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x24F), (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x620, 0x64A),
           (0x905, 0x94D), (0xE01, 0xE4E), (0x1780, 0x17D3), (0x3041, 0x30FA), (0x4E00, 0x4FFF), (0xAC00, 0xAD00),
           (0x300, 0x36F), (0x1E00, 0x1EFF), (0xFF01, 0xFF5A), (0x2460, 0x249B), (0x660, 0x669), (0x2000, 0x206F),
           (0x1F300, 0x1F64F), (0x1F1E6, 0x1F1FF), (0x10400, 0x1044F), (0x20000, 0x20100), (0xE000, 0xE010)]
WORDS = ("the quick brown fox jumps over lazy dog tokenizer hello world internationalization naïve café Straße "
         "Привет мир 你好 世界 こんにちは 안녕하세요 שלום مرحبا नमस्ते สวัสดี I'm you're they'll he'd WE'VE it'S camelCase "
         "HTTPServer snake_case 3.14159 1,234,567 2024-01-01 x=y+z; // comment <b>bold</b> ▁ ▁▁ don't 'tis ſ's "
         "İstanbul ǅ ﬁ Å é e\u0301 가 각 👩‍👩‍👧 🇩🇪 ✅ … — “quoted” ½ Ⅻ ² ① #hash @at $100 50% a/b\\c").split(" ")
PIECES = ["  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2028", "\x85", "\x00", "\x01", "\x1f",
          "\x7f", "'", "''", "...", "!!!", "```", "=====", "111", "12345678", " ", " ", " ", "\u200b", "\u200d",
          "\u180e", "\ufeff", "\ufffd", "'S", "'ſ", "'Ll", "\u0301", "\u093f"]


def random_strings(count: int, banned: set[int], seed: int) -> list[str]:
    rng = random.Random(seed)
    usable = [c for c in CODES if unicodedata.category(chr(c)) != "Cn" and c not in banned]
    allowed = set(usable)
    inside = [[c for c in range(a, b + 1) if c in allowed] for a, b in SCRIPTS]
    clean = lambda text: "".join(c for c in text if ord(c) not in banned and unicodedata.category(c) != "Cn")

    def part() -> str:
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(WORDS)
        if kind < 0.6:
            return rng.choice(PIECES)
        if kind < 0.85:
            script = rng.choice(inside)
            return "".join(chr(rng.choice(script)) for _ in range(rng.randint(1, 6)))
        if kind < 0.95:
            return chr(rng.choice(usable))
        return "".join(chr(rng.randint(0, 127)) for _ in range(rng.randint(1, 5)))

    strings = [""]
    while len(strings) < count:
        strings.append(clean("".join(part() for _ in range(rng.randint(1, 7)))))
    return strings


def corpus(seed: int) -> list[str]:
    rng = random.Random(seed)
    syllables = ["ka", "to", "mi", "ren", "sho", "ing", "er", "the", "un", "ly", "При", "вет", "мир", "中", "文", "字", "가", "나",
                 "é", "ß", "ти", "12", "3", "00", "Ab", "CD"]
    lexicon = WORDS + ["".join(rng.choice(syllables) for _ in range(rng.randint(1, 4))) for _ in range(800)]
    return [" ".join(rng.choice(lexicon) for _ in range(12)) + rng.choice(["\n", ".", "  ", "!\n\n"]) for _ in range(3000)]


# --- tokenisers ---------------------------------------------------------------------------------------------------

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
             r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"?[^\s\p{L}\p{N}]", r"?[^\s\p{L}\p{M}\p{N}]")
KIMI = (r"[\p{Han}]+|" + O200K.replace(r"\p{Lo}\p{M}]", r"\p{Lo}\p{M}&&[^\p{Han}]]").replace("[\\r\\n/]*", "[\\r\\n]*"))
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
EXAONE_MOE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|"
              r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+")
JAIS2 = LLAMA3.replace(r"\s+(?!\S)|\s+", "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4)) +
                       r"|\s{1,2}(?!\S)|\s{1}")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
DIGITS_FROM_RIGHT = r"\d{1,3}(?=(?:\d{3})*\b)"


def split(pattern: str):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
BYTE_LEVEL_WORDS = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
DIGITS = pre_tokenizers.Digits(individual_digits=True)
NFC, IGNORE = "nfc", "ignore_merges"
# As in the models' own tokenizer.json files: the stages, then the options.
PRE_TOKENIZERS = {
    "gpt-2": ([BYTE_LEVEL_WORDS], ()),
    "gpt-neox": ([BYTE_LEVEL_WORDS], (NFC,)),
    "llama-bpe": ([split(LLAMA3), BYTE_LEVEL], (IGNORE,)),
    "dbrx": ([split(LLAMA3), BYTE_LEVEL], ()),
    "qwen2": ([split(QWEN2), BYTE_LEVEL], (NFC,)),
    "qwen35": ([split(QWEN35), BYTE_LEVEL], (NFC,)),
    "starcoder": ([DIGITS, BYTE_LEVEL_WORDS], ()),
    "command-r": ([DIGITS, BYTE_LEVEL_WORDS], (NFC,)),
    "falcon": ([pre_tokenizers.Punctuation("contiguous"), BYTE_LEVEL_WORDS, split("[0-9][0-9][0-9]")], ()),
    "deepseek-coder": ([split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), DIGITS,
                        BYTE_LEVEL], ()),
    "deepseek-v3": ([split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK3), BYTE_LEVEL], ()),
    "bloom": ([split(BLOOM), BYTE_LEVEL], ()),
    "viking": ([split(BLOOM), DIGITS, BYTE_LEVEL], ()),
    "tekken": ([split(O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")), BYTE_LEVEL], (IGNORE,)),
    "gpt-4o": ([split(O200K), BYTE_LEVEL], ()),
    "kimi-k2": ([split(KIMI), BYTE_LEVEL], ()),
    "tiny_aya": ([split(DIGITS_FROM_RIGHT), split(O200K), BYTE_LEVEL], (NFC,)),
    "superbpe": ([split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))"), BYTE_LEVEL], ()),
    "bailingmoe": ([split(BAILING), BYTE_LEVEL], ()),
    "seed-coder": ([split(QWEN2.replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+")), BYTE_LEVEL], ()),
    "laguna": ([split(r"[^\n]+|[\n]+"), split(QWEN2), BYTE_LEVEL], ()),
    "exaone-moe": ([split(EXAONE_MOE), BYTE_LEVEL], ()),
    "minicpm5": ([split(r"\p{N}{1,3}"), split(LLAMA3.replace("{1,3}", "+")), BYTE_LEVEL], (IGNORE,)),
    "jais-2": ([split(JAIS2), BYTE_LEVEL], ()),
}
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
MARK = "\u2581"


class Case:
    """A vocabulary in VocabSpec's format, and the tokeniser that gives the expected ids."""

    def __init__(self, model: str, vocab: list[tuple[str, int, float]], merges=(), prefix="never"):
        self.model, self.vocab, self.merges, self.prefix = model, vocab, merges, prefix

    def write(self, path: Path) -> None:
        lines = [f"model {self.model}", f"prefix {self.prefix}"]
        lines += [f"t {kind} {score:.9g} {text.encode().hex()}" for text, kind, score in self.vocab]
        lines += [f"m {left.encode().hex()} {right.encode().hex()}" for left, right in self.merges]
        path.write_text("\n".join(lines) + "\n")


def by_id(tokenizer: Tokenizer) -> list[str]:
    vocab = tokenizer.get_vocab()
    return sorted(vocab, key=vocab.get)


def merges_of(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in
            json.loads(tokenizer.to_str())["model"]["merges"]]


def train_byte_level(text: list[str]) -> tuple[Case, dict[str, int], list[tuple[str, str]]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = BYTE_LEVEL_WORDS
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    vocab, merges = tokenizer.get_vocab(), merges_of(tokenizer)
    # Tokens that no merges produce; only tokenisers that ignore merges find them.
    for word in ("Ġquick", "Ġbrown", "Ġworld", "12345", "Hello", "Ġyou"):
        vocab.setdefault(word, len(vocab))
    names = sorted(vocab, key=vocab.get)
    return Case("gpt2", [(t, NORMAL, 0) for t in names], merges), vocab, merges


def byte_tokens() -> list[str]:
    return [f"<0x{b:02X}>" for b in range(256)]


def train_sentencepiece_bpe(text: list[str], by_score: bool) -> tuple[Case, Tokenizer]:
    """SentencePiece-style BPE; with scores, its merges follow transformers' converter."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always")
    trained.train_from_iterator(text, trainers.BpeTrainer(vocab_size=1200, show_progress=False))
    head = ["<unk>", "<s>", "</s>"] + byte_tokens()
    pieces = [p for p in by_id(trained) if p not in head]
    score = {p: -float(i) for i, p in enumerate(sorted(pieces, key=lambda p: (len(p) == 1, trained.token_to_id(p))))}
    vocab = {t: i for i, t in enumerate(head + pieces)}
    if by_score:
        merges = []
        for piece in pieces:
            halves = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in score and piece[i:] in score]
            merges += [(*h, score[piece]) for h in sorted(halves, key=lambda h: (vocab[h[0]], vocab[h[1]]))]
        merges = [(a, b) for a, b, _ in sorted(merges, key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)]
    else:
        merges = merges_of(trained)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces)
    entries = [(t, k, score.get(t, 0.0)) for t, k in zip(head + pieces, kinds)]
    return Case("llama" if by_score else "gemma4", entries, () if by_score else merges, "every"), tokenizer


def train_unigram(text: list[str], bytes_too: bool) -> tuple[Case, Tokenizer]:
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always")
    trained.train_from_iterator(text, trainers.UnigramTrainer(vocab_size=1000, show_progress=False, unk_token="<unk>",
                                                              special_tokens=["<unk>"]))
    pieces = [(p, s) for p, s in json.loads(trained.to_str())["model"]["vocab"] if p != "<unk>"]
    round32 = lambda s: struct.unpack("f", struct.pack("f", s))[0]
    entries = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    if bytes_too:
        entries += [(b, BYTE, 0.0) for b in byte_tokens()]
    entries += [(p, NORMAL, round32(s)) for p, s in pieces]
    tokenizer = Tokenizer(models.Unigram([(t, s) for t, _, s in entries], unk_id=0, byte_fallback=bytes_too))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    return Case("t5", entries, (), "every"), tokenizer


def wordpiece_case(tokenizer: Tokenizer, special: list[str]) -> tuple[Case, Tokenizer]:
    spell = lambda t: t if t in special else t[2:] if t.startswith("##") else MARK + t
    # The special tokens' names must not be found in text here either, so encode() gets none.
    plain = Tokenizer(models.WordPiece(tokenizer.get_vocab(), unk_token="[UNK]"))
    plain.normalizer, plain.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    return Case("bert", [(spell(t), CONTROL if t in special else NORMAL, 0) for t in by_id(tokenizer)]), plain


def train_wordpiece(text: list[str]) -> tuple[Case, Tokenizer]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(text, trainers.WordPieceTrainer(vocab_size=1200, show_progress=False,
                                                                  special_tokens=special))
    return wordpiece_case(tokenizer, special)


def write_results(path: Path, vocab: str, pre: str, tokenizer: Tokenizer, strings: list[str]) -> None:
    lines = [f"vocab {vocab}", f"pre {pre}"]
    for start in range(0, len(strings), 5000):
        for encoding in tokenizer.encode_batch(strings[start:start + 5000], add_special_tokens=False):
            digest = 0x811C9DC5  # FNV-1a, 32 bits, over little-endian int32
            for byte in struct.pack(f"<{len(encoding.ids)}i", *encoding.ids):
                digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
            lines.append(f"{(digest >> 8) ^ (digest & 0xFF):06x}")
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=2500)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wordpiece", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    exceptions = find_exceptions()
    header = ["# Characters that Unicode 14 assigns, but on whose properties the tables of PCRE2 or utf8proc and those of",
              "# Hugging Face's tokenizers disagree. Written by tools/tokenizer_golden.py."]
    lines = [f"{name}: {' '.join(ranges(codes)) or '-'}" for name, codes in sorted(exceptions.items())]
    (args.out / "unicode_exceptions.txt").write_text("\n".join(header + lines) + "\n")
    strings = random_strings(args.strings, set().union(*exceptions.values()), args.seed)
    (args.out / "strings.txt").write_text("\n".join(s.encode().hex() for s in strings) + "\n")

    if args.wordpiece:
        tokenizer = Tokenizer.from_file(str(args.wordpiece))
        special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
        case, plain = wordpiece_case(tokenizer, special)
        case.write(args.out / "wordpiece.vocab")
        return write_results(args.out / "wordpiece.ids", "wordpiece", "-", plain, strings)
    text = corpus(args.seed)
    case, vocab, merges = train_byte_level(text)
    case.write(args.out / "byte_level.vocab")
    for name, (stages, options) in PRE_TOKENIZERS.items():
        tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=IGNORE in options))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(stages)
        if NFC in options:
            tokenizer.normalizer = normalizers.NFC()
        write_results(args.out / f"byte_level.{name}.ids", "byte_level", name, tokenizer, strings)
    others = {"sentencepiece_scores": train_sentencepiece_bpe(text, True),
              "sentencepiece_merges": train_sentencepiece_bpe(text, False),
              "unigram": train_unigram(text, False), "unigram_bytes": train_unigram(text, True),
              # InferFlux marks a word's start with this character, so it cannot also be a letter.
              "wordpiece": train_wordpiece([line.replace(MARK, "") for line in text])}
    for name, (case, tokenizer) in others.items():
        case.write(args.out / f"{name}.vocab")
        write_results(args.out / f"{name}.ids", name, "-", tokenizer, strings)


if __name__ == "__main__":
    main()
