#!/usr/bin/env python3
"""Makes tests/data/sentencepiece/: directories with small SentencePiece vocabularies, and the ids of random strings.

usage: sentencepiece_golden.py [OUT_DIR] [--strings N]
Needs sentencepiece and tokenizers (PyPI). `*-model` hold tokenizer.model, trained by `sentencepiece`, and its ids; `*-json` hold
tokenizer.json with the same pieces, and the ids of Hugging Face's `tokenizers`. Seeded. The character map is our own, a
small one. Unassigned characters, control bytes and U+2581 are left out: the two libraries treat them differently as white space.
"""
import argparse
import io
import json
import pathlib
import random

import sentencepiece as sp
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

WORDS = ("the quick brown fox jumps over a lazy dog while many other words like tokenizer internationalisation naïve café "
         "Straße 东京 大阪 привет мир γειά σου 123 4567 don't we're it's ﬁne ﬂow ½ ＡＢＣ e\u0301tude a\u00a0b tab\tend").split(" ")
SYLLABLES = "ka to mi re lun dar is en or bre sti qua fo gle pan ver al xi um té".split()
# Replaced characters: full-width letters, ligatures, separate accents, and unusual spaces.
RULES = [("ﬁ", "fi"), ("ﬂ", "fl"), ("½", "1/2"), ("e\u0301", "é"), ("\u00a0", " "), ("\u3000", " "), ("\t", " "), ("\n", " ")] + [
    (chr(0xFF21 + i), chr(0x41 + i)) for i in range(26)]
CONFIG = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "bos_token_id": 1,
          "eos_token_id": 2}
UNMARKED = {key: value for key, value in CONFIG.items() if not key.endswith("_token_id")}


def lines(rng, count):
    made = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(300)]
    return [" ".join(rng.choices(WORDS + made, k=rng.randint(3, 12))) for _ in range(count)]


def train(tmp, rng, **more):
    rules = tmp / "rules.tsv"
    rules.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in RULES))
    model = io.BytesIO()
    sp.SentencePieceTrainer.train(sentence_iterator=iter(lines(rng, 3000)), model_writer=model, vocab_size=420,
                                  character_coverage=1.0, hard_vocab_limit=False, num_threads=1, minloglevel=2,
                                  normalization_rule_tsv=str(rules), **more)
    parsed = proto.ModelProto.FromString(model.getvalue())
    parsed.normalizer_spec.ClearField("normalization_rule_tsv")  # a path on the training machine
    return parsed.SerializeToString()


def texts(rng, count):
    alphabet = [*"abcdefgh THE,.!?-'0123456789", "  ", "   ", "\t", "\u00a0", "\u3000", "é", "e\u0301", "ß", "ﬁ", "½", "Ａ", "東", "京",
                "п", "р", "γ", "😀", "👩\u200d💻", "ก", "<0x41>"]
    out = ["", " ", "  ", "a", " a", "a ", "  a  b  "]
    while len(out) < count:
        out.append(" ".join(rng.choices([*WORDS, *SYLLABLES, "kato", "breis", "quamire"], k=rng.randint(1, 8))) if rng.random() < 0.4 else
                   "".join(rng.choices(alphabet, k=rng.randint(1, 24))))
    return out


def unigram_json(model):
    """The same pieces for `tokenizers`, prepared as by Hugging Face's converter."""
    parsed = proto.ModelProto.FromString(model)
    pieces = [(p.piece, p.score) for p in parsed.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=parsed.trainer_spec.byte_fallback))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(parsed.normalizer_spec.precompiled_charsmap), normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return tokenizer


def bpe_json(model):
    """Merges in the order of their results' scores, as in Hugging Face's converter."""
    parsed = proto.ModelProto.FromString(model)
    vocab = {p.piece: i for i, p in enumerate(parsed.pieces)}
    merges = []
    for piece in (p for p in parsed.pieces if p.type == 1):
        local = [(piece.piece[:i], piece.piece[i:]) for i in range(1, len(piece.piece))]
        local = [(a, b) for a, b in local if a in vocab and b in vocab]
        merges += [(-piece.score, a, b) for a, b in sorted(local, key=lambda m: (vocab[m[0]], vocab[m[1]]))]
    merges = [(a, b) for _, a, b in sorted(merges, key=lambda m: m[0])]
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


def plain_unigram(rng):
    """A vocabulary trained by `tokenizers` itself: no normaliser, so runs of spaces stay, and <unk> as the only special token."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.train_from_iterator(lines(rng, 2000), trainers.UnigramTrainer(
        vocab_size=500, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]))
    return tokenizer


def write(out, rows, strings, encode, config=CONFIG, **files):
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(config | {"vocab_size": rows}) + "\n")
    for name, data in files.items():
        (out / name.replace("_", ".")).write_bytes(data)
    cases = [[text, encode(text)] for text in strings]
    (out / "golden.json").write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
    print(out.name, rows, "tokens", len(cases), "strings")


def compact(tokenizer):
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[1] / "tests/data/sentencepiece")
    parser.add_argument("--strings", type=int, default=250)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20)
    strings = texts(rng, args.strings)
    kinds = {"unigram": dict(model_type="unigram"),
             "unigram_bytes": dict(model_type="unigram", byte_fallback=True, remove_extra_whitespaces=False),
             "bpe": dict(model_type="bpe", byte_fallback=True, remove_extra_whitespaces=False)}
    for name, options in kinds.items():
        model = train(args.out, rng, **options)
        processor = sp.SentencePieceProcessor(model_proto=model)
        write(args.out / f"{name}-model", processor.get_piece_size(), strings, processor.encode, tokenizer_model=model)
        if name == "unigram_bytes":
            continue
        tokenizer = unigram_json(model) if name == "unigram" else bpe_json(model)
        write(args.out / f"{name}-json", processor.get_piece_size(), strings,
              lambda text: tokenizer.encode(text, add_special_tokens=False).ids, tokenizer_json=compact(tokenizer))
    plain = plain_unigram(random.Random(21))
    write(args.out / "unigram_plain-json", plain.get_vocab_size(), strings,
          lambda text: plain.encode(text, add_special_tokens=False).ids, UNMARKED, tokenizer_json=compact(plain))
    (args.out / "rules.tsv").unlink()


if __name__ == "__main__":
    main()
