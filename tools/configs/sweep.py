#!/usr/bin/env python3
"""Draws legal but unusual configurations of every family, and compares our results with transformers'.

usage: sweep.py OUT_DIR [--seed N] [--each N] [--type MODEL_TYPE]... [--run build/tests/config_sweep_test]
For each model type of tests/data/config_classes.json that has a tiny golden model, makes N directories: 1 to 3 settings
are changed, some keys are left out of config.json or written as older versions write them. transformers reads each
directory itself; what it refuses is drawn again. --run: also lists how the program judges each: equal, refused (with the
reason) or different. Exits with 1 if one is different. Needs torch, transformers and gguf (PyPI).
"""
import argparse
import collections
import contextlib
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import traceback

import torch
import transformers as hf

from draws import draw
from models import base_configurations, make

ROOT = pathlib.Path(__file__).parents[2]


def draw_all(out, seed, each, types):
    bases = base_configurations()
    classes = json.loads((ROOT / "tests" / "data" / "config_classes.json").read_text())["model_types"]
    for model_type in types or sorted(classes):
        if model_type not in bases:
            print(f"{model_type}: no tiny model to begin with", file=sys.stderr)
            continue
        for number in range(each):
            for attempt in range(20):
                chance = random.Random(f"{seed} {model_type} {number} {attempt}")
                drawn = draw(chance, model_type, bases[model_type], classes[model_type])
                name = f"{model_type}_{number}"
                with contextlib.redirect_stderr(io.StringIO()):
                    try:
                        make(out, name, model_type, drawn.parameters, drawn.change, context=drawn.context)
                    except Exception:  # transformers raises errors of every kind
                        shutil.rmtree(out / f"{name}-hf", ignore_errors=True)
                        if os.environ.get("SWEEP_VERBOSE"):
                            print(name, drawn.what, traceback.format_exc().splitlines()[-1])
                        continue
                (out / f"{name}.txt").write_text(", ".join(drawn.what) + "\n")
                print(name, ", ".join(drawn.what), flush=True)
                break


def run(program, out):
    done = subprocess.run([program], env=os.environ | {"INFERFLUX_CONFIG_SWEEP": str(out)}, capture_output=True,
                          text=True, check=False)
    counts = collections.Counter()
    for name, verdict, detail in re.findall(r"^(\S+)\t(\w+)\t(.*)$", done.stdout, re.MULTILINE):
        counts[verdict] += 1
        if verdict != "equal":
            print(f"{verdict}: {name} ({(out / f'{name}.txt').read_text().strip()}): {detail}")
    print(dict(counts))
    return 1 if counts["different"] or not counts else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--type", action="append")
    parser.add_argument("--run", metavar="PROGRAM")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    hf.utils.logging.set_verbosity_error()
    draw_all(args.out, args.seed, args.each, args.type)
    if args.run:
        sys.exit(run(args.run, args.out))


if __name__ == "__main__":
    main()
