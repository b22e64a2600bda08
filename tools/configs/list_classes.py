#!/usr/bin/env python3
"""Lists the fields, defaults and other names of transformers' configuration classes, one for each model type.

usage: list_classes.py [OUT.json] [--draft MODEL_TYPE]
Writes tests/data/config_classes.json, which config_keys_test compares with the tables of the families. --draft prints the
beginning of a new family's table instead. Needs transformers (PyPI), not torch.

For each model type:
  fields    name: default, as the class declares them, without those that every class has
  nullable  the fields that may be null and have another default
  names     other names of fields in config.json (attribute_map)
  rope      rope_parameters of a configuration without any key
"""
import argparse
import dataclasses
import json
import pathlib
import re
import typing

import transformers
from transformers.configuration_utils import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# Model types whose own code transformers does not have: what their config.json says of the class that computes them.
SAME_AS = {"kimi_k2": "deepseek_v3"}

ROOT = pathlib.Path(__file__).parents[2]
OUT = ROOT / "tests" / "data" / "config_classes.json"
COMMON = {field.name for field in dataclasses.fields(PreTrainedConfig)}
# They say nothing about what is computed: special tokens come from the tokenizer and from generation_config.json.
IGNORED = re.compile(r".*_token_id$|initializer_.*|.*dropout.*|.*pdrop$|use_cache$")


def model_types():
    """The model types in the tables of src/model/families."""
    found = set()
    for path in sorted((ROOT / "src" / "model" / "families").rglob("*.cpp")):
        text = path.read_text()
        for names in re.findall(r"\.model_types\s*=\s*\{([^}]*)\}", text):
            found.update(re.findall(r'"([^"]+)"', names))
        # Families whose rows are made by a function.
        found.update(re.findall(r'\.checkpoints\s*=\s*\{\w+\("([^"]+)"', text))
    return sorted(found)


def allows_null(annotation):
    return annotation is typing.Any or type(None) in typing.get_args(annotation)


def written(value):
    """As transformers writes it to config.json: JSON has no infinity."""
    if isinstance(value, (list, tuple)):
        return [written(each) for each in value]
    return {"__float__": "Infinity"} if value == float("inf") else value


def describe(model_type):
    config_class = CONFIG_MAPPING[model_type]
    fields, nullable = {}, []
    for field in dataclasses.fields(config_class):
        if field.name in COMMON or IGNORED.match(field.name) or field.name == "rope_parameters":
            continue
        fields[field.name] = written(field.default)
        if field.default is not None and allows_null(field.type):
            nullable.append(field.name)
    config = config_class()
    out = dict(fields=fields, nullable=nullable, names=dict(config_class.attribute_map))
    if getattr(config, "rope_parameters", None):
        out["rope"] = config.rope_parameters
    return out


def draft(model_type):
    """The class's fields as a family's table begins: to be sorted into read, only and unused by hand."""
    described = describe(model_type)
    keys = dict(described["fields"])
    rope = described.get("rope") or {}
    if "rope_theta" in rope:
        keys["rope_theta"] = rope["rope_theta"]
    table = dict(read=keys, only={}, unused=[], names=described["names"], nullable=described["nullable"])
    return json.dumps(table, indent=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=OUT)
    parser.add_argument("--draft", metavar="MODEL_TYPE")
    args = parser.parse_args()
    if args.draft:
        print(draft(args.draft))
        return
    known = {name: SAME_AS.get(name, name) for name in model_types()}
    classes = {name: describe(same) for name, same in known.items() if same in CONFIG_MAPPING}
    rows = ",\n".join(f'  "{name}": {json.dumps(classes[name])}' for name in classes)
    args.out.write_text(f'{{"transformers": "{transformers.__version__}", "model_types": {{\n{rows}\n}}}}\n')
    print(args.out, len(classes), "model types")


if __name__ == "__main__":
    main()
