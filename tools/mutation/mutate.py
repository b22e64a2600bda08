#!/usr/bin/env python3
"""Makes small wrong changes to the sources, one at a time, and counts those that no test notices.

usage: tools/mutation/mutate.py --list [--seed 1] [--count 60] [--under src/scheduler ...]
       tools/mutation/mutate.py --build build/mutate [--seed 1] [--count 60] [--under ...] [--wider] [--report FILE.jsonl]
       tools/mutation/mutate.py --build build/mutate --only src/net/sse.cpp:33 --tests 'net|server' [--seed 1] [--count 60]

The mutants are drawn by the seed over all floors of src/, the same ones on each machine for the same sources: a comparison turned
around or moved by one, a statement dropped, a constant changed, two arguments swapped, a condition taken as true or false. The tree
is copied and built as ./test does it; each mutant is compiled beside that (trial.py), several at a time, and the test programs of its
floor run; with --wider, all test programs run for those that survive. A mutant that does not compile, or that is in a source that is
not built on this machine, is replaced by another. Each result is a JSON line, and a run that was interrupted goes on behind the lines
of its report. What survives is to be judged by a person.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants import draw
from trial import Build, Trial

ROOT = Path(__file__).resolve().parents[2]
# The test programs that a folder's mutants meet first, as a pattern of CTest: that of the longest folder that holds them.
TESTS = {
    "apps": "inferflux_bench|inferflux_convert|inferctl", "base": "base_test|thread_pool|work_budget|engine_sampler",
    "command_line": "command_line|inferctl", "compute": "arena|cpu_compute|moe_routing|golden_logits", "compute/cuda": "cuda",
    "compute/mlx": "mlx", "config": "config", "dspy": "dspy_test|dspy_constraint", "dspy_http": "dspy_http", "embedded": "embedded_test",
    "engine": "engine_", "formats": "formats_test|hf_directory|bad_models|directory_vocab", "hardware": "hardware", "keys": "keys_test|server_test",
    "metrics": "metrics|server_test", "model": "golden|hf_directory|bad_models|kept_rows|config_sweep|kv_geometry|config_keys",
    "net": "net_test|server_test", "parity": "parity_test", "scheduler": "scheduler_(text|core|sessions|loop|native|embedding)",
    "server": "server_test|anthropic|ollama|rerank|responses|batches|json_memory|client_limits",
    "serving": "routing|pool_test|backend_table|generation_test", "telemetry": "telemetry|server_test",
    "text": "tokenizer_test|detokenizer|tokenizer_golden|jinja|chat_template|tool_calls|reasoning|work_budget", "text/grammar": "grammar_test",
    "unicode": "unicode_test|tokenizer_test|jinja|grammar_test", "worker": "worker|remote_scheduler",
}


def own_tests(path):
    folders = path.split("/")[1:-1]
    return next((TESTS[name] for n in range(len(folders), 0, -1) if (name := "/".join(folders[:n])) in TESTS), folders[0])


def copy_tree(target):
    """A copy of what git knows, and of what it does not ignore. Unchanged files keep their times, so a build goes on from the last."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, listed):
        source, copy = ROOT / name, target / name
        if not source.is_file() or (copy.exists() and copy.read_bytes() == source.read_bytes()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)


def judge(build, tree, mutant, number, options):
    """'killed', 'survived', or 'left out' if it does not compile or is not built; and by what, or why."""
    with Trial(build, mutant, tree, tree / "mutants" / str(number)) as trial:
        if why := trial.compile():
            return "left out", why
        verdict, by = trial.try_tests(options.tests or own_tests(mutant.path))
        return trial.try_tests("") if verdict == "survived" and options.wider else (verdict, by)


def judged(report):
    """The lines of an earlier run, by what was changed."""
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report and report.exists() else []
    return {(line["path"], line["line"], line["after"]): line["verdict"] for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the mutants as differences, and end")
    parser.add_argument("--build", type=Path, help="folder for the copy of the tree and its build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--under", action="append", help="folders of sources; all of src/ unless given")
    parser.add_argument("--wider", action="store_true", help="run every test program on those that survive")
    parser.add_argument("--seconds", type=int, default=900, help="the longest run of a test program; one that hangs kills the mutant")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--only", action="append", help="PATH:LINE of drawn mutants; the others are passed over")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    parser.add_argument("--tests", help="pattern of CTest, in place of the floor's own test programs")
    options = parser.parse_args()
    folders = options.under or ["src"]
    files = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.cpp")) if "precompiled" not in p.name]
    # More than asked for: some do not compile.
    mutants = draw(random.Random(options.seed), {str(p.relative_to(ROOT)): p.read_text() for p in files}, 2 * options.count)
    if options.list:
        for mutant in mutants[: options.count]:
            print(f"{mutant.path}:{mutant.line}: {mutant.kind}\n- {mutant.before.strip()}\n+ {mutant.after.strip()}")
        return
    if options.build is None:
        parser.error("needs --build FOLDER or --list")
    copy_tree(options.build)
    if not (options.build / "build" / "build.ninja").exists():
        subprocess.run(["scripts/build", "build", "-DENABLE_LLAMA_CPP=AUTO", "-DENABLE_MLX=AUTO", "--", "help"],
                       cwd=options.build, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(options.build / "mutants", ignore_errors=True)
    build = Build(options.build.resolve() / "build", options.seconds)
    known = judged(options.report)
    if options.only:
        mutants = [mutant for mutant in mutants if f"{mutant.path}:{mutant.line}" in options.only]

    def result(numbered):
        number, mutant = numbered
        if verdict := known.get((mutant.path, mutant.line, mutant.after.strip())):
            return verdict, None
        began = time.monotonic()
        verdict, by = judge(build, options.build.resolve(), mutant, number, options)
        return verdict, {"verdict": verdict, "by": by, "path": mutant.path, "line": mutant.line, "kind": mutant.kind,
                         "before": mutant.before.strip(), "after": mutant.after.strip(), "seconds": round(time.monotonic() - began)}

    counts = {"killed": 0, "survived": 0, "left out": 0}
    with ThreadPoolExecutor(options.jobs) as pool:
        running, upcoming = [], enumerate(mutants)
        while counts["killed"] + counts["survived"] < options.count:
            wanted = options.count - counts["killed"] - counts["survived"]
            for numbered in itertools.islice(upcoming, max(0, min(wanted, 3 * options.jobs) - len(running))):
                running.append(pool.submit(result, numbered))
            if not running:
                break
            # In the order of the draw, so that the same ones count wherever it runs.
            verdict, line = running.pop(0).result()
            counts[verdict] += 1
            if line is None:
                continue
            print(json.dumps(line), flush=True)
            if options.report:
                with options.report.open("a") as report:
                    report.write(json.dumps(line) + "\n")
    del counts["left out"]
    total = sum(counts.values())
    print(f"{counts['killed']} of {total} mutants were killed ({100 * counts['killed'] / max(1, total):.0f}%), seed {options.seed}")


if __name__ == "__main__":
    main()
