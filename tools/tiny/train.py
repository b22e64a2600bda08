"""Trains one of the two models until its time is up; a killed run goes on from its last checkpoint."""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from . import batches, from_gguf, tokenizer
from .config import SHAPES
from .model import TinyLlama
from .optimizer import optimizers

WARM_UP_STEPS = 100
# Until this share of the time is over, few of the long conversations are shown.
SHORT_STAGE = 0.45
SHORT_STAGE_LONG_SHARE = 0.25


def rate(progress: float, step: int, decay: float) -> float:
    """Warm-up, then level, then straight down to zero over the last `decay` of the time."""
    return min(1.0, (step + 1) / WARM_UP_STEPS) * min(1.0, max(0.0, (1.0 - progress) / decay))


def threads(most: int) -> int:
    """Threads that share a busy machine mostly wait for one another; one alone gets more done."""
    return 1 if os.getloadavg()[0] > os.cpu_count() + 0.7 else most


def save(path: Path, state: dict) -> None:
    """Written beside and renamed, so that a kill never leaves half a checkpoint."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def train(args) -> None:
    work = Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    if args.start and not (work / "tokenizer.json").exists():
        from_gguf.save_tokenizer(args.start, work / "tokenizer.json")
    words = tokenizer.load_or_train(work / "tokenizer.json", args.seed)
    model = TinyLlama(SHAPES[args.model])
    if args.start:
        from_gguf.load_weights(model, args.start)
    model = model.to(device)
    makers = optimizers(model, args.rate)
    checkpoint = work / f"{args.model}.pt"
    state = {"step": 0, "pool": 0, "tokens": 0, "seconds": 0.0}
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        for maker, kept in zip(makers, saved["optimizers"]):
            maker.load_state_dict(kept)
        state = saved["state"]
        print(f"goes on from step {state['step']}, {state['seconds'] / 60:.1f} minutes in", flush=True)

    def keep() -> None:
        save(checkpoint, {"model": model.state_dict(), "optimizers": [m.state_dict() for m in makers], "state": state,
                          "shape": args.model, "seed": args.seed})

    budget, last, kept_at = args.minutes * 60, time.monotonic(), time.monotonic()
    losses = []
    while state["seconds"] < budget:
        early = not args.start and state["seconds"] < SHORT_STAGE * budget
        long_share = SHORT_STAGE_LONG_SHARE if early else 1.0
        for batch in batches.pool(words, args.seed, state["pool"], args.batch, long_share):
            factor = rate(state["seconds"] / budget, state["step"], args.decay)
            for maker in makers:
                for group in maker.param_groups:
                    group["lr"] = group["peak"] * factor
            with torch.autocast(device, torch.bfloat16, enabled=not args.float32):
                hidden = model.hidden(batch.tokens.to(device), batch.positions.to(device), batch.groups)
                logits = model.logits(hidden[batch.learned.to(device)])
            loss = F.cross_entropy(logits.float(), batch.targets.to(device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for maker in makers:
                maker.step()
                maker.zero_grad(set_to_none=True)
            losses.append(loss.item())
            now = time.monotonic()
            state["step"] += 1
            state["tokens"] += batch.used
            state["seconds"] += now - last
            last = now
            if state["step"] % 50 == 0:
                line = {**state, "loss": round(sum(losses) / len(losses), 4), "rate": round(factor, 3)}
                losses.clear()
                print(json.dumps(line), flush=True)
            if state["seconds"] >= budget:
                break
        state["pool"] += 1
        torch.set_num_threads(args.threads if args.keep_threads else threads(args.threads))
        if time.monotonic() - kept_at > args.keep_every:
            keep()
            kept_at = time.monotonic()
    keep()
    print(f"done: {state['step']} steps, {state['tokens']} tokens, {state['seconds'] / 60:.1f} minutes", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SHAPES), default="tiny")
    parser.add_argument("--work", default="build/tiny", help="folder of the tokeniser and the checkpoints")
    parser.add_argument("--minutes", type=float, default=100, help="training time in all, over every resumed run")
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE.gguf", help="start from these weights and their tokeniser")
    parser.add_argument("--rate", type=float, default=1.0, help="the highest learning rate, as a share of the first training's")
    parser.add_argument("--float32", action="store_true", help="no bf16 autocast: faster on CPUs without bf16 instructions")
    parser.add_argument("--decay", type=float, default=0.4, help="share of the time over which the rate falls to zero")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=3072, help="tokens a step")
    parser.add_argument("--threads", type=int, default=2, help="at most; one while other work fills the machine")
    parser.add_argument("--keep-threads", action="store_true", help="all threads, whatever else runs")
    parser.add_argument("--keep-every", type=float, default=120, help="seconds between checkpoints")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    train(args)


if __name__ == "__main__":
    main()
