#!/usr/bin/env python3
"""Writes tests/data/sampling.json: for many sampling parameters, the distribution of the next token.

    python3 tools/golden_sampling.py tests/data/sampling.json

Each filter follows its paper, on the whole sorted distribution in float64, in the order of docs/api.md.
"""
import json
import sys

import numpy as np

SEED = 20261121
VOCAB = 32
DEFAULTS = {
    "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "top_n_sigma": 0.0,
    "xtc_probability": 0.0, "xtc_threshold": 0.1, "repetition_penalty": 1.0, "presence_penalty": 0.0,
    "frequency_penalty": 0.0, "dry_multiplier": 0.0, "dry_base": 1.75, "dry_allowed_length": 2,
    "dry_penalty_last_n": -1, "dry_breakers": [], "mirostat": False, "mirostat_tau": 5.0, "mirostat_eta": 0.1,
    "mirostat_mu": None,
}


def penalise(logits, history, prompt_tokens, p):
    out = logits.copy()
    seen = np.unique(np.array(history, dtype=int))
    out[seen] = np.where(out[seen] > 0, out[seen] / p["repetition_penalty"], out[seen] * p["repetition_penalty"])
    counts = np.bincount(np.array(history[prompt_tokens:], dtype=int), minlength=VOCAB)
    out -= p["presence_penalty"] * (counts > 0) + p["frequency_penalty"] * counts
    return out


def dry(logits, history, p):
    """For every token, the longest suffix of the text that occurred earlier right before that token."""
    if p["dry_multiplier"] == 0:
        return logits
    last_n = p["dry_penalty_last_n"]
    text = history if last_n < 0 else history[len(history) - min(last_n, len(history)):]
    out = logits.copy()
    for token in set(text):
        if token in p["dry_breakers"]:
            continue
        longest = 0
        for length in range(1, min(50, len(text) - 1) + 1):
            suffix = text[len(text) - length:]
            if any(t in p["dry_breakers"] for t in suffix):
                break
            if any(text[i:i + length] == suffix and text[i + length] == token for i in range(len(text) - length)):
                longest = length
        if longest >= p["dry_allowed_length"]:
            out[token] -= p["dry_multiplier"] * p["dry_base"] ** (longest - p["dry_allowed_length"])
    return out


def normalise(weights):
    return weights / weights.sum()


def keep(probs, chosen):
    """Only these ids, renormalised."""
    mask = np.zeros(len(probs), bool)
    mask[chosen] = True
    return normalise(np.where(mask, probs, 0.0))


def head(order, probs, mass):
    """The shortest prefix of this order that reaches the mass."""
    reached = np.cumsum(probs[order])
    return order[:int(np.searchsorted(reached, mass - 1e-9)) + 1]


def distribution(logits, history, prompt_tokens, p):
    logits = dry(penalise(logits, history, prompt_tokens, p), history, p)
    if p["top_n_sigma"] > 0:
        logits = np.where(logits >= logits.max() - p["top_n_sigma"] * logits.std(), logits, -np.inf)
    probs = normalise(np.exp((logits - logits.max()) / p["temperature"]))

    def order(q):
        return np.array([i for i in np.lexsort((np.arange(VOCAB), -logits)) if q[i] > 0])

    if p["mirostat"]:
        mu = 2 * p["mirostat_tau"] if p["mirostat_mu"] is None else p["mirostat_mu"]
        ids = order(probs)
        few = [i for i in ids if -np.log2(probs[i]) <= mu]
        return keep(probs, few or ids[:1])
    if p["top_k"] > 0:
        probs = keep(probs, order(probs)[:p["top_k"]])
    if p["typical_p"] < 1:
        ids = order(probs)
        surprise = -np.log(probs[ids])
        entropy = float((probs[ids] * surprise).sum())
        probs = keep(probs, head(ids[np.argsort(np.abs(surprise - entropy), kind="stable")], probs, p["typical_p"]))
    if p["top_p"] < 1:
        probs = keep(probs, head(order(probs), probs, p["top_p"]))
    if p["min_p"] > 0:
        probs = keep(probs, np.flatnonzero(probs >= p["min_p"] * probs.max()))
    if p["xtc_probability"] > 0:
        ids = order(probs)
        above = [i for i in ids if probs[i] >= p["xtc_threshold"]]
        if len(above) >= 2:
            rest = keep(probs, [i for i in ids if i not in above[:-1]])
            probs = (1 - p["xtc_probability"]) * probs + p["xtc_probability"] * rest
    return probs


CASES = [
    {}, {"temperature": 0.6}, {"temperature": 1.7}, {"top_k": 4}, {"top_p": 0.7}, {"min_p": 0.1},
    {"typical_p": 0.2}, {"typical_p": 0.9}, {"typical_p": 0.5, "top_k": 10}, {"typical_p": 0.6, "top_p": 0.6},
    {"typical_p": 0.95, "min_p": 0.2, "temperature": 1.4},
    {"top_n_sigma": 0.5}, {"top_n_sigma": 1.0}, {"top_n_sigma": 2.0, "temperature": 2.0},
    {"top_n_sigma": 1.5, "top_p": 0.8}, {"top_n_sigma": 1.0, "typical_p": 0.7, "top_k": 6},
    {"xtc_probability": 1.0}, {"xtc_probability": 0.5}, {"xtc_probability": 1.0, "xtc_threshold": 0.03},
    {"xtc_probability": 0.3, "xtc_threshold": 0.05, "min_p": 0.05}, {"xtc_probability": 1.0, "top_k": 3},
    {"dry_multiplier": 0.8}, {"dry_multiplier": 2.0, "dry_base": 1.2, "dry_allowed_length": 1},
    {"dry_multiplier": 0.8, "dry_penalty_last_n": 9}, {"dry_multiplier": 0.8, "dry_penalty_last_n": 0},
    {"dry_multiplier": 1.5, "dry_breakers": [3]}, {"dry_multiplier": 1.5, "dry_breakers": [5, 9]},
    {"dry_multiplier": 1.0, "repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.2},
    {"repetition_penalty": 0.7}, {"presence_penalty": -1.0}, {"frequency_penalty": 0.9},
    {"mirostat": True, "mirostat_tau": 2.0}, {"mirostat": True, "mirostat_mu": 3.0},
    {"mirostat": True, "mirostat_mu": 0.01}, {"mirostat": True, "mirostat_mu": -4.0, "temperature": 1.5},
    {"temperature": 1.5, "top_k": 20, "typical_p": 0.9, "top_p": 0.9, "min_p": 0.02, "xtc_probability": 0.4,
     "xtc_threshold": 0.08, "top_n_sigma": 2.5, "repetition_penalty": 1.1, "dry_multiplier": 0.5},
]


def main():
    rng = np.random.default_rng(SEED)
    out = []
    for i, case in enumerate(CASES):
        p = {**DEFAULTS, **case}
        logits = np.round(rng.normal(0, 2.0, VOCAB), 3)
        # A text that repeats its beginning, so that repetition filters apply.
        motif = [int(t) for t in rng.integers(0, VOCAB, 4)] + [3, 5, 9]
        history = motif + [int(t) for t in rng.integers(0, VOCAB, 3)] + motif + [7] + motif[:6 if i % 2 else 5]
        prompt_tokens = 6
        probs = distribution(logits, history, prompt_tokens, p)
        out.append({"params": case, "logits": logits.tolist(), "history": history, "prompt_tokens": prompt_tokens,
                    "probabilities": [round(float(q), 9) for q in probs]})
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in out) + "\n]\n")


main()
