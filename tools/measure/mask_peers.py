#!/usr/bin/env python3
"""Times and checks the masks of peers under MaskBench's schemas, as `inferflux-bench --masks` does with ours: the same
vocabulary, the same documents, and the same last line. An environment of its own has the peers:

    python3 -m venv build/mask_peers && build/mask_peers/bin/pip install -r tools/measure/mask_peers.txt
    build/mask_peers/bin/python tools/measure/mask_peers.py llguidance VOCABULARY.gguf maskbench_sample.jsonl.gz
    build/mask_peers/bin/python tools/measure/mask_peers.py xgrammar VOCABULARY.gguf maskbench_sample.jsonl.gz
"""
import argparse
import gzip
import json
import multiprocessing
import time

import gguf
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

LIMIT_S = 60  # for one schema with its documents
CONTROL, NORMAL = 3, 1


class Vocabulary:
    """The byte-level BPE vocabulary of a GGUF file."""

    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        texts = [bytes(fields["tokenizer.ggml.tokens"].parts[i]).decode() for i in fields["tokenizer.ggml.tokens"].data]
        merges = [bytes(fields["tokenizer.ggml.merges"].parts[i]).decode() for i in fields["tokenizer.ggml.merges"].data]
        kinds = [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
        self.eos_token_id = int(fields["tokenizer.ggml.eos_token_id"].contents())
        self.bos_token_id = None
        byte_of = {c: b for b, c in gguf.vocab.bytes_to_unicode().items()} if hasattr(gguf.vocab, "bytes_to_unicode") else unicode_bytes()
        self.special_token_ids = [i for i, kind in enumerate(kinds) if kind == CONTROL]
        self.tokens = [text.encode() if kind != NORMAL else bytes(byte_of[c] for c in text) for text, kind in zip(texts, kinds)]
        bpe = models.BPE({text: i for i, text in enumerate(texts)}, [tuple(m.split(" ")) for m in merges], ignore_merges=False)
        self.tokenizer = tokenizers.Tokenizer(bpe)
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.decoder = decoders.ByteLevel()

    def __call__(self, text):
        return self.tokenizer.encode(text.decode() if isinstance(text, bytes) else text).ids


def unicode_bytes():
    """GPT-2's characters for bytes, inverted."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}


class LlGuidance:
    def __init__(self, vocabulary):
        import llguidance

        self.lib = llguidance
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary))
        self.tokenizer = self.tokenizer.with_slices(llguidance.LLTokenizer.json_slices())

    def compile(self, schema):
        matcher = self.lib.LLMatcher(self.tokenizer, self.lib.LLMatcher.grammar_from_json_schema(schema))
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, matcher):
        return matcher.deep_copy()

    def mask(self, matcher):
        return matcher.compute_bitmask()

    def take(self, matcher, mask, token):
        return mask[token >> 3] >> (token & 7) & 1 and matcher.consume_token(token)

    def ends(self, matcher):
        return matcher.is_accepting()


class XGrammar:
    def __init__(self, vocabulary):
        import xgrammar

        self.lib = xgrammar
        info = xgrammar.TokenizerInfo(vocabulary.tokens, xgrammar.VocabType.RAW, stop_token_ids=[vocabulary.eos_token_id])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.eos = vocabulary.eos_token_id
        self.bits = xgrammar.allocate_token_bitmask(1, info.vocab_size)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, strict_mode=False)

    def start(self, grammar):
        return self.lib.GrammarMatcher(grammar)

    def mask(self, matcher):
        matcher.fill_next_token_bitmask(self.bits)
        return self.bits

    def take(self, matcher, mask, token):
        return matcher.accept_token(token)

    def ends(self, matcher):
        return matcher.accept_token(self.eos)


def check(peer, vocabulary, entry, now):
    """The verdict on one schema, and its times in microseconds."""
    out = {"verdict": "correct", "ttfm": None, "masks": []}
    began = now()
    try:
        grammar = peer.compile(json.dumps(entry["schema"]))
    except Exception as error:  # each peer has its own kinds
        return out | {"verdict": "unsupported", "why": str(error)[:200]}
    compiled = (now() - began) / 1e3
    for test in entry.get("tests", []):
        text = json.dumps(test["data"], ensure_ascii=False)
        began = now()
        matcher = peer.start(grammar)
        started = (now() - began) / 1e3
        taken = True
        for token in vocabulary(text):
            began = now()
            mask = peer.mask(matcher)
            took = (now() - began) / 1e3
            out["masks"].append(took)
            if out["ttfm"] is None:
                out["ttfm"] = compiled + started + took
            if not peer.take(matcher, mask, token):
                taken = False
                break
        taken = bool(taken and peer.ends(matcher))
        if taken != test["valid"]:
            wrong = "false_accept" if taken else "false_reject"
            out["verdict"] = wrong if out["verdict"] == "correct" else "false_accept"
            out[wrong] = True
    return out


def work(kind, path, entries, first, now, pipe):
    vocabulary = Vocabulary(path)
    peer = kind(vocabulary)
    peer.compile("{}")  # builds what all schemas share
    pipe.send("ready")
    for entry in entries[first:]:
        pipe.send(check(peer, vocabulary, entry, now))


def results(kind, path, entries, now):
    """One result for each schema. A process that crashes or hangs costs the schema that it is at."""
    fork = multiprocessing.get_context("fork")
    first = 0
    while first < len(entries):
        ours, theirs = fork.Pipe()
        process = fork.Process(target=work, args=(kind, path, entries, first, now, theirs))
        process.start()
        theirs.close()
        try:
            if not ours.poll(600) or ours.recv() != "ready":
                raise SystemExit("the peer does not start")
            while first < len(entries):
                if not ours.poll(LIMIT_S):
                    raise EOFError
                yield entries[first], ours.recv()
                first += 1
        except EOFError:
            yield entries[first], {"verdict": "crashed", "ttfm": None, "masks": []}
            first += 1
        process.kill()
        process.join()


def at(times, share):
    return round(sorted(times)[int(share * (len(times) - 1))], 1) if times else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["llguidance", "xgrammar"])
    parser.add_argument("vocabulary")
    parser.add_argument("documents")
    parser.add_argument("--list-wrong", action="store_true")
    parser.add_argument("--cpu-time", action="store_true", help="the thread's time, in place of a clock's")
    options = parser.parse_args()
    opener = gzip.open if options.documents.endswith(".gz") else open
    with opener(options.documents, "rt") as file:
        entries = [json.loads(line) for line in file]
    counts = {name: 0 for name in ("schemas", "correct", "false_accept", "false_reject", "unsupported", "crashed")}
    ttfm, masks = [], []
    kind = LlGuidance if options.peer == "llguidance" else XGrammar
    for entry, result in results(kind, options.vocabulary, entries, time.thread_time_ns if options.cpu_time else time.perf_counter_ns):
        counts["schemas"] += 1
        for verdict in ("correct", "unsupported", "crashed"):
            counts[verdict] += result["verdict"] == verdict
        counts["false_accept"] += "false_accept" in result
        counts["false_reject"] += "false_reject" in result
        if result["ttfm"] is not None:
            ttfm.append(result["ttfm"])
        masks += result["masks"]
        if options.list_wrong and result["verdict"] != "correct":
            print(f"{result['verdict']}: {entry.get('name')}: {result.get('why', '')}")
    mean = round(sum(masks) / len(masks), 2) if masks else 0.0
    times = {"ttfm_p50_us": at(ttfm, 0.5), "ttfm_p99_us": at(ttfm, 0.99), "mask_avg_us": mean, "mask_p99_us": at(masks, 0.99)}
    print(json.dumps(counts | times))


if __name__ == "__main__":
    main()
