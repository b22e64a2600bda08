#!/usr/bin/env python3
"""Makes small wrong changes to the sources, one at a time, and counts those that no test notices.

usage: tools/mutation/mutate.py --list [--seed 1] [--count 60] [--under src/scheduler ...]
       tools/mutation/mutate.py --build build/mutate [--seed 1] [--count 60] [--under ...] [--wider] [--report FILE.jsonl]

The mutants are drawn by the seed over all floors of src/, the same ones on each machine for the same sources: a comparison turned
around or moved by one, a statement dropped, a constant changed, two arguments swapped, a condition taken as true or false. The tree
is copied, every mutant is written into the copy behind a switch (switches.py), and the copy is built once, as ./test does it. Each
mutant then meets the unit tests that come to its place; with --wider, those that survive meet the end-to-end tests that come to it.
A mutant that does not compile is replaced by the next of the draw. Each result is a JSON line, and a run that was interrupted goes on
behind the lines of its report. What survives is to be judged by a person: MUTANT_NUMBER=NUMBER chooses it in any program of the copy.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants import draw
from trial import Build, Switches

ROOT = Path(__file__).resolve().parents[2]
# The test programs that a folder's mutants meet first, as a pattern of CTest: that of the longest folder that holds them.
TESTS = {
    "apps": "inferflux_bench|inferflux_convert|inferctl|inferfluxd|console", "base": "base_test|thread_pool|work_budget|engine_sampler",
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
    """A copy of what git knows, and of what it does not ignore. Unchanged files keep their times, so a build goes on from the last.
    Others get the time of now: an object of an earlier draw is newer than the source that comes back."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, listed):
        source, copy = ROOT / name, target / name
        if not source.is_file() or (copy.exists() and copy.read_bytes() == source.read_bytes()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def judged(report):
    """The verdicts of an earlier run of the same draw, by stage and number."""
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report and report.exists() else []
    return {(line["stage"], line["number"]): line["verdict"] for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the mutants as differences, and end")
    parser.add_argument("--build", type=Path, help="folder for the copy of the tree and its build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--under", action="append", help="folders of sources; all of src/ unless given")
    parser.add_argument("--wider", action="store_true", help="run the end-to-end tests on those that survive")
    parser.add_argument("--seconds", type=int, default=900, help="the longest run of a test without a mutant")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time")
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
    tree = options.build.resolve()
    switches, build = Switches(tree, mutants), Build(tree, options.seconds)
    build.compile(switches)
    asked = [number for number in range(len(mutants)) if number in switches.chosen][: options.count]
    print(f"{len(asked)} mutants are built, {len(switches.left_out)} are left out: {dict(Counter(switches.left_out.values()))}", file=sys.stderr)
    verdicts = judged(options.report)

    def judge(number, tests):
        mutant, began = mutants[number], time.monotonic()
        verdict, by = build.try_tests(number, tests, own_tests(mutant.path))
        return {"verdict": verdict, "by": by, "number": number, "path": mutant.path, "line": mutant.line, "kind": mutant.kind,
                "before": mutant.before.strip(), "after": mutant.after.strip(), "seconds": round(time.monotonic() - began)}

    def stage(name, tests):
        waiting = [n for n in asked if (name, n) not in verdicts and verdicts.get(("unit", n)) != "killed"]
        if not waiting:
            return
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(build.measure, tests))
            for line in pool.map(lambda n: judge(n, tests), waiting):
                verdicts[name, line["number"]] = line["verdict"]
                text = json.dumps({"stage": name, **line})
                print(text, flush=True)
                if options.report:
                    with options.report.open("a") as report:
                        report.write(text + "\n")

    stage("unit", list(build.unit_tests()))
    if options.wider:
        stage("end to end", list(build.end_to_end_tests(ROOT / "build" / "venv" / "bin" / "python")))
    killed = sum("killed" in (verdicts.get(("unit", n)), verdicts.get(("end to end", n))) for n in asked)
    print(f"{killed} of {len(asked)} mutants were killed ({100 * killed / max(1, len(asked)):.0f}%), seed {options.seed}")


if __name__ == "__main__":
    main()
