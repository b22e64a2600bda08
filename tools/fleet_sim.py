#!/usr/bin/env python3
"""Predicts what a fleet of workers serves, from two short runs against one of them.

    fleet_sim.py measure --url URL [--url URL2] --out measured.json     # 1, 4 and 16 clients on one worker, 16 on both
    fleet_sim.py predict measured.json [--plot docs/images/fleet.png]   # fits on 1 and 4 clients, predicts the rest and 8, 64, 512 workers

Workers that are measured together need processors of their own: on two cores, one thread each. While one is measured, the others
are kept as busy, since they share the machine's memory. The plot needs matplotlib.
"""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fleet.fit import fit, predict  # noqa: E402
from fleet.measurement import measure  # noqa: E402
from fleet.routing import RULES, ShortestQueue  # noqa: E402
from fleet.simulation import Summary, WorkerShape, summary  # noqa: E402
from fleet.workload import Workload  # noqa: E402

FITTED, CHECKED, FLEETS = (1, 4), 16, (8, 64, 512)
SHOWN = ("output_rate", "first_token", "between_tokens")


def seed_of(base, clients, workers=1):
    return base + clients + 100 * (workers - 1)


def measured_run(args, urls, clients, seed):
    workload = Workload()
    served = measure(urls, ShortestQueue(), workload, clients, args.requests, seed, args.vocab, [url for url in args.url if url not in urls])
    out = summary(served, (workload.shared + sum(workload.own) / 2) * len(served))
    print(f"{len(urls)} worker(s), {clients} clients: {out.output_rate:.1f} tokens/s, first token {out.first_token * 1e3:.0f} ms, "
          f"between tokens {out.between_tokens * 1e3:.1f} ms, {out.cached_share:.0%} of prompts cached", flush=True)
    return vars(out)


def run_measure(args):
    measured_run(args, args.url[:1], 1, args.seed)  # to warm up
    runs = {str(clients): measured_run(args, args.url[:1], clients, seed_of(args.seed, clients)) for clients in (*FITTED, CHECKED)}
    both = measured_run(args, args.url, CHECKED, seed_of(args.seed, CHECKED, 2)) if len(args.url) > 1 else None
    again = measured_run(args, args.url[:1], FITTED[-1], args.seed + 200)  # how much the machine changed meanwhile
    args.out.write_text(json.dumps({"requests": args.requests, "seed": args.seed, "budget": args.budget, "sampled_cost": args.sampled_cost, "one": runs, "two": both, "again": again}, indent=1) + "\n")


def row(name, predicted, measured):
    cells = [f"{getattr(predicted, key) * scale:.1f} / {measured[key] * scale:.1f} ({getattr(predicted, key) / measured[key] - 1:+.0%})"
             for key, scale in zip(SHOWN, (1, 1e3, 1e3))]
    print(f"| {name} | {' | '.join(cells)} |")


def run_predict(args):
    data = json.loads(args.measured.read_text())
    shape, workload, requests = WorkerShape(budget=data["budget"], sampled_cost=data["sampled_cost"]), Workload(), data["requests"]
    costs = fit(shape, workload, requests, {clients: Summary(**data["one"][str(clients)]) for clients in FITTED},
                {clients: seed_of(data["seed"], clients) for clients in FITTED})

    def again(clients, workers=1):
        return predict(costs, shape, workload, clients, requests, workers, seeds=(seed_of(data["seed"], clients, workers),))

    print("fitted, in ms:", {name: round(value * 1e3, 4) for name, value in costs.as_dict().items()})
    print("\n| run (predicted / measured) | output tokens/s | first token, ms | between tokens, ms |\n|---|---|---|---|")
    for clients in (*FITTED, CHECKED):
        row(f"1 worker, {clients} clients", again(clients), data["one"][str(clients)])
    if data["two"]:
        row(f"2 workers, {CHECKED} clients", again(CHECKED, 2), data["two"])
    print("\n| workers (8 clients each) | rule | output tokens/s | first token p50, ms | p99, ms | cached |\n|---|---|---|---|---|---|")
    many = Workload(prefixes=args.prefixes, shared=args.shared)
    results = {}
    for workers in FLEETS:
        for name, rule in RULES.items():
            out = predict(costs, shape, many, 8 * workers, args.fleet_requests, workers, rule)
            results.setdefault(name, []).append(out)
            print(f"| {workers} | {name} | {out.output_rate:.0f} | {out.first_token * 1e3:.0f} | {out.first_token_p99 * 1e3:.0f} | "
                  f"{out.cached_share:.0%} |", flush=True)
    if args.plot:
        plot(args.plot, results)


def plot(path, results):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "fleet"
    figure, (rate, first) = plt.subplots(1, 2, figsize=(9, 3.6))
    for name, runs in results.items():
        rate.plot(FLEETS, [run.output_rate / workers for run, workers in zip(runs, FLEETS)], marker="o", label=name)
        first.plot(FLEETS, [run.first_token_p99 * 1e3 for run in runs], marker="o", label=name)
    rate.set_ylabel("output tokens/s a worker")
    first.set_ylabel("first token, p99, ms")
    for axes in (rate, first):
        axes.set_xscale("log", base=8)
        axes.set_xticks(FLEETS, [str(workers) for workers in FLEETS])
        axes.set_xlabel("workers")
        axes.grid(alpha=0.3)
    rate.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=80, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--url", action="append", required=True)
    measuring.add_argument("--requests", type=int, default=6, help="of each client")
    measuring.add_argument("--budget", type=int, default=112, help="tokens of a step, as the worker has it")
    measuring.add_argument("--sampled-cost", type=float, default=1.0,
                           help="multiply-adds of a token that is sampled over those of a prompt token: all weights over all but the output layer's")
    measuring.add_argument("--vocab", type=int, default=256, help="token ids below this are sent")
    measuring.add_argument("--seed", type=int, default=1)
    measuring.add_argument("--out", type=Path, required=True)
    measuring.set_defaults(run=run_measure)
    predicting = commands.add_parser("predict")
    predicting.add_argument("measured", type=Path)
    predicting.add_argument("--prefixes", type=int, default=64)
    predicting.add_argument("--shared", type=int, default=768, help="tokens that prompts of one prefix share")
    predicting.add_argument("--fleet-requests", type=int, default=3, help="of each client of a fleet")
    predicting.add_argument("--plot", type=Path)
    predicting.set_defaults(run=run_predict)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
