#!/usr/bin/env python3
"""Writes a byte-level BPE vocabulary as large as those of new models, for `inferflux-bench --masks` and mask_peers.py.

    tools/measure/large_vocabulary.py BASE.gguf OUT.gguf [--more OTHER.gguf ...] [--tokens 131072] [--seed 1]

It has all tokens of BASE with their ids. The merges of the others follow, in their order, where their two parts are tokens
already; then, up to --tokens, merges of two tokens that a seed draws. So an old text may get other tokens than by BASE, but each
token can be the result of its merge. Needs: gguf (mask_peers.txt).
"""
import argparse
import random

import gguf

NORMAL = 1


def values(fields, name):
    field = fields[f"tokenizer.ggml.{name}"]
    return [bytes(field.parts[i]).decode() if name in ("tokens", "merges") else int(field.parts[i][0]) for i in field.data]


def add(pair, tokens, known, merges):
    """The pair's merge, if it gives a new token."""
    merged = "".join(pair)
    if merged in known or pair[0] not in known or pair[1] not in known:
        return
    known.add(merged)
    tokens.append(merged)
    merges.append(" ".join(pair))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("out")
    parser.add_argument("--more", nargs="*", default=[])
    parser.add_argument("--tokens", type=int, default=131_072)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    fields = gguf.GGUFReader(options.base).fields
    tokens, merges, kinds = (values(fields, name) for name in ("tokens", "merges", "token_type"))
    known = {token for token, kind in zip(tokens, kinds) if kind == NORMAL}
    taken = set(tokens)
    for path in options.more:
        for merge in values(gguf.GGUFReader(path).fields, "merges"):
            pair = tuple(merge.split(" "))
            if len(tokens) < options.tokens and "".join(pair) not in taken:
                add(pair, tokens, known, merges)
    rng = random.Random(options.seed)
    parts = sorted(token for token in known if 2 <= len(token) <= 8)
    while len(tokens) < options.tokens:
        pair = (rng.choice(parts), rng.choice(parts))
        if "".join(pair) not in taken:
            add(pair, tokens, known, merges)
    kinds += [NORMAL] * (len(tokens) - len(kinds))

    writer = gguf.GGUFWriter(options.out, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(fields["tokenizer.ggml.pre"].contents())
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(fields["tokenizer.ggml.bos_token_id"].contents())
    writer.add_eos_token_id(fields["tokenizer.ggml.eos_token_id"].contents())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    print(f"{len(tokens)} tokens, {len(merges)} merges")


if __name__ == "__main__":
    main()
