#!/usr/bin/env python3
"""Writes test data for grammars: random schemas with documents that PyPI's `jsonschema` accepts or rejects, the same for
keywords that restrict what others allow, and random regular expressions with texts that Python's `re` matches or does not.

    python3 tools/grammar_golden.py tests/data/grammar
"""
import copy
import json
import pathlib
import random
import re
import sys

import jsonschema

SEED = 20261121
SCHEMAS = 220
PATTERNS = 160
KEYWORDS = 240

WORDS = ["", "a", "b", "name", "Zürich", "tea \"pot\"", "back\\slash", "tab\there", "line\nend", "日本", "🙂", "x y z", "null", "0"]
FORMATS = {
    "date": ["2024-02-29", "1999-12-31", "2100-02-28"],
    "date-time": ["2024-02-29T23:59:59Z", "1987-06-05T04:03:02.125+01:30"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "FFFFFFFF-0000-4000-8000-abcdefABCDEF"],
    "ipv4": ["0.0.0.0", "255.249.100.9"],
    "email": ["a@b.de", "first.last+tag@mail.example.org"],
}
BAD_FORMATS = {
    "date": ["2023-02-29", "2024-13-01", "2024-1-1"],
    "date-time": ["2024-02-30T00:00:00Z", "2024-01-01 00:00:00", "2024-01-01T25:00:00Z"],
    "uuid": ["123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"],
    "ipv4": ["256.0.0.1", "1.2.3", "01.2.3.4"],
    "email": ["nobody", "@"],
}
PATTERN_SAMPLES = {"^[A-Z]{3}-\\d{2,4}$": ["ABC-12", "XYZ-1234"], "^(yes|no)$": ["yes", "no"], "b+": ["abba", "b"],
                   "^\"?\\w*$": ["\"a", "a_1", ""], "\\d$": ["a1", "0"]}


def number_text(rng, low, high):
    digits = rng.choice([0, 0, 1, 2, 3])
    return round(rng.uniform(low, high), digits) if digits else rng.randint(int(low), max(int(low), int(high)))


def schema(rng, depth, defs):
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "format", "pattern", "length", "bounds"]
    if depth > 0:
        kinds += ["object"] * 5 + ["array"] * 3 + ["tuple", "anyOf", "oneOf", "allOf", "map", "types"]
        if defs:
            kinds += ["ref"] * 2
    kind = rng.choice(kinds)
    if kind in ("string", "integer", "number", "boolean", "null"):
        return {"type": kind}
    if kind == "types":
        return {"type": rng.sample(["string", "integer", "boolean", "null"], 2)}
    if kind == "enum":
        return {"enum": rng.sample([1, 2.5, "a", "ü\"", None, True, [1, "x"], {"k": [None, {}]}, -7], rng.randint(1, 4))}
    if kind == "const":
        return {"const": rng.choice([0, "fixed", [1, 2], {"a": {"b": 1}}, False, 1.5])}
    if kind == "format":
        return {"type": "string", "format": rng.choice(list(FORMATS))}
    if kind == "pattern":
        return {"type": "string", "pattern": rng.choice(list(PATTERN_SAMPLES))}
    if kind == "length":
        low = rng.randint(0, 4)
        return rng.choice([{"type": "string", "minLength": low}, {"type": "string", "maxLength": low + 3},
                           {"type": "string", "minLength": low, "maxLength": low + rng.choice([0, 2, 30])}])
    if kind == "bounds":
        whole = rng.random() < 0.5
        low = rng.choice([-1000, -12.5, -1, 0, 0.25, 3, 99])
        high = low + rng.choice([0, 1, 2.5, 10, 12345])
        if whole:
            low, high = int(low), int(high)
        out = {"type": "integer" if whole else "number"}
        if rng.random() < 0.8:
            out[rng.choice(["minimum", "exclusiveMinimum"])] = low
        if rng.random() < 0.8:
            out[rng.choice(["maximum", "exclusiveMaximum"])] = high
        return out
    if kind == "object":
        names = rng.sample(["id", "name", "ünï", "a b", "q\"t", "x", "xy", "list", "note"], rng.randint(1, 5))
        out = {"type": "object", "properties": {n: schema(rng, depth - 1, defs) for n in names}}
        required = [n for n in names if rng.random() < 0.5]
        if required or rng.random() < 0.5:
            out["required"] = required
        extra = rng.choice([None, False, False, True, {"type": "integer"}])
        if extra is not None:
            out["additionalProperties"] = extra
        return out
    if kind == "map":
        return {"type": "object", "additionalProperties": schema(rng, depth - 1, defs)}
    if kind == "array":
        out = {"type": "array", "items": schema(rng, depth - 1, defs)}
        if rng.random() < 0.5:
            out["minItems"] = rng.randint(0, 3)
        if rng.random() < 0.5:
            out["maxItems"] = out.get("minItems", 0) + rng.choice([0, 1, 3, 40])
        return out
    if kind == "tuple":
        out = {"type": "array", "prefixItems": [schema(rng, depth - 1, defs) for _ in range(rng.randint(1, 3))]}
        out["items"] = rng.choice([False, {"type": "boolean"}])
        if rng.random() < 0.5:
            out["minItems"] = rng.randint(0, len(out["prefixItems"]))
        return out
    if kind == "anyOf":
        return {"anyOf": [schema(rng, depth - 1, defs) for _ in range(rng.randint(1, 3))]}
    if kind == "oneOf":
        return {"oneOf": [{"type": "object", "properties": {"kind": {"const": k}, "v": schema(rng, depth - 1, defs)},
                           "required": ["kind", "v"], "additionalProperties": False} for k in ("cat", "dog")]}
    if kind == "allOf":
        return {"allOf": [{"type": "object", "properties": {"a": schema(rng, depth - 1, defs)}, "required": ["a"]},
                          {"properties": {"b": {"type": "integer"}}}], "description": "both"}
    return {"$ref": "#/$defs/" + rng.choice(defs)}


def document(rng, s, root, depth=0):
    if s is True or depth > 12:
        return rng.choice([1, "any", [], {}, None, {"deep": [1, {"x": "y"}]}])
    if "$ref" in s:
        return document(rng, root["$defs"][s["$ref"].rsplit("/", 1)[1]], root, depth + 1)
    for key in ("anyOf", "oneOf"):
        if key in s:
            return document(rng, rng.choice(s[key]), root, depth + 1)
    if "allOf" in s:
        out = {}
        for part in s["allOf"]:
            out.update(document(rng, part | {"type": "object"}, root, depth + 1))
        return out
    if "enum" in s:
        return rng.choice(s["enum"])
    if "const" in s:
        return s["const"]
    kind = rng.choice(s["type"]) if isinstance(s["type"], list) else s["type"]
    if kind == "null":
        return None
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        high = s.get("maximum", s.get("exclusiveMaximum"))
        low = s.get("minimum", s.get("exclusiveMinimum", -50 if high is None else high - 100))
        high = low + 100 if high is None else high
        value = rng.choice([low, high, number_text(rng, low, high)])
        return int(value) if kind == "integer" else value
    if kind == "string":
        if "format" in s:
            return rng.choice(FORMATS[s["format"]])
        if "pattern" in s:
            return rng.choice(PATTERN_SAMPLES[s["pattern"]])
        low = s.get("minLength", 0)
        length = rng.randint(low, s.get("maxLength", low + 5))
        return rng.choice(WORDS) if "minLength" not in s and "maxLength" not in s else "".join(rng.choice("aß🙂\"\\\n 0") for _ in range(length))
    if kind == "array":
        prefix = s.get("prefixItems", [])
        low = s.get("minItems", 0)
        high = s.get("maxItems", max(low, len(prefix) if s.get("items") is False else low + 3))
        out = []
        for i in range(rng.randint(low, max(low, min(high, low + 4)))):
            if i < len(prefix):
                out.append(document(rng, prefix[i], root, depth + 1))
            else:
                out.append(document(rng, s.get("items", True), root, depth + 1))
        return out
    out = {}
    for name, value in s.get("properties", {}).items():
        if name in s.get("required", []) or rng.random() < (0.5 if depth < 6 else 0.05):
            out[name] = document(rng, value, root, depth + 1)
    extra = s.get("additionalProperties", None if s.get("properties") else True)
    if extra and depth < 6 and rng.random() < 0.5:
        for name in rng.sample(["extra", "i", "namex", "ü"], rng.randint(1, 2)):
            out[name] = document(rng, extra, root, depth + 1)
    return out


def mutate(rng, value):
    """A similar value that may be invalid."""
    value = copy.deepcopy(value)
    if isinstance(value, dict) and value and rng.random() < 0.7:
        key = rng.choice(list(value))
        if rng.random() < 0.4:
            del value[key]
        elif rng.random() < 0.3:
            value["unknown"] = 1
        else:
            value[key] = mutate(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.7:
        value[rng.randrange(len(value))] = mutate(rng, rng.choice(value))
        return value
    return rng.choice([None, True, -3, 7.25, 1e6, "", "zzz", "2023-02-29", [], {}, [1, 2, 3, 4, 5, 6], {"x": 1}, {"kind": "cow"}] +
                      [v for values in BAD_FORMATS.values() for v in values])


def write(rng, value):
    style = rng.choice([dict(separators=(",", ":")), {}, dict(indent=2), dict(indent=1)])
    return json.dumps(value, ensure_ascii=False, **style)


def schemas():
    rng = random.Random(SEED)
    out = []
    while len(out) < SCHEMAS:
        defs = rng.choice([[], ["node", "leaf"]])
        root = schema(rng, rng.choice([0, 1, 2, 3]), defs)
        if defs:
            root["$defs"] = {"leaf": schema(rng, 0, []), "node": {
                "type": "object", "properties": {"value": schema(rng, 0, []), "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["value", "next"], "additionalProperties": False}}
        check = jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker())
        valid, invalid = set(), set()
        for _ in range(40):
            doc = document(rng, root, root)
            good = check.is_valid(doc)
            if good and len(valid) < 6:
                valid.add(write(rng, doc))
            bad = mutate(rng, doc)
            if not check.is_valid(bad) and len(invalid) < 6:
                invalid.add(write(rng, bad))
        if valid and len(json.dumps(root)) < 2000:
            out.append({"schema": root, "valid": sorted(valid, key=len)[:5], "invalid": sorted(invalid, key=len)[:5]})
    return out


def condition(rng):
    """Schemas for `not`, `if` and similar keywords."""
    return rng.choice([
        {"required": [rng.choice("abx")]}, {"required": ["a", "b"]}, {"properties": {"a": {"const": rng.choice([1, "yes", True])}}, "required": ["a"]},
        {"properties": {"a": {"type": rng.choice(["string", "integer", "boolean"])}}}, {"type": rng.choice(["object", "string", "number", "null"])},
        {"enum": rng.sample([1, 2.5, "yes", "", None, True], 2)}, {"const": rng.choice(["yes", 0, False])}, {"pattern": rng.choice(["^y", "s$", "a+"])},
        {"minimum": 3}, {"exclusiveMaximum": 7}, {"minLength": 3}, {"maxLength": 1}, {"maxProperties": 1}, {"minItems": 2},
        {"anyOf": [{"type": "null"}, {"required": ["b"]}]}, {"allOf": [{"minLength": 1}, {"pattern": "a"}]}, {"not": {"required": ["x"]}}, True, {}])


def hard_schema(rng):
    kind = rng.choice(["not", "not", "if", "if", "oneOf", "pattern", "names", "dependencies", "text", "multiple", "tuple"])
    base = rng.choice([{"type": "object", "properties": {"a": {"type": ["integer", "string", "boolean"]}, "b": {"type": "integer"}, "x": True},
                        "additionalProperties": rng.choice([False, {"type": "integer"}])},
                       {"type": "object"}, {}, {"type": ["string", "integer", "object"]}, {"type": "string", "maxLength": 6}, {"type": "number"}])
    if kind == "not":
        return base | {"not": condition(rng)}
    if kind == "if":
        branches = {"then": condition(rng), "else": condition(rng)}
        if rng.random() < 0.4:
            del branches[rng.choice(["then", "else"])]
        return base | {"if": condition(rng), **branches}
    if kind == "oneOf":
        return base | {"oneOf": [condition(rng) for _ in range(rng.randint(2, 3))]}
    if kind == "dependencies":
        return base | rng.choice([{"dependentRequired": {"a": ["b"]}}, {"dependentSchemas": {"a": condition(rng)}}])
    if kind == "pattern":
        out = {"type": "object", "patternProperties": {p: rng.choice([{"type": "integer"}, {"minimum": 3}, {"type": "string"}, True, False])
                                                       for p in rng.sample(["^a", "b$", "^x?.$", "[abx]", "extra"], rng.randint(1, 3))}}
        if rng.random() < 0.6:
            out["properties"] = {"a": {"type": "integer"}, "name": {"type": "string"}}
        return out | rng.choice([{}, {"additionalProperties": False}, {"additionalProperties": {"type": "null"}}, {"minProperties": 1}, {"required": ["a"]}])
    if kind == "names":
        return {"type": "object", "propertyNames": rng.choice([{"pattern": "^[a-c]"}, {"maxLength": 2}, {"enum": ["a", "b"]}, {"not": {"enum": ["a", ""]}},
                                                               {"not": {"pattern": "b"}, "minLength": 1}]),
                "properties": {"a": {"type": "integer"}, "extra": True}, "additionalProperties": rng.choice([True, {"type": "integer"}])}
    if kind == "text":
        return {"type": "string", "pattern": rng.choice(["^[a-y]+$", "s", "^.?e", "a|\\d"]), "minLength": rng.randint(0, 2), "maxLength": rng.randint(3, 5),
                **rng.choice([{}, {"not": {"enum": ["yes", "ab"]}}, {"not": {"pattern": "b"}}])}
    if kind == "multiple":
        out = {"type": rng.choice(["integer", "number"]), "multipleOf": rng.choice([1, 2, 3, 7, 12, 100])}
        return out | rng.choice([{}, {"minimum": -20}, {"minimum": 1, "maximum": 250}, {"not": {"const": 14}}])
    return {"type": "array", "prefixItems": [{"type": "integer"}, condition(rng)], "items": rng.choice([condition(rng), False])}


def any_document(rng, depth=2):
    texts = ["", "a", "b", "ab", "yes", "no", "aab", "sea", "abcdef", "7", "tes\"t"]
    kind = rng.choice(["text", "number", "word", "object", "object", "object", "array"] if depth else ["text", "number", "word"])
    if kind == "text":
        return rng.choice(texts)
    if kind == "number":
        return rng.choice([0, 1, 2, 3, 5, 7, 12, 14, -7, -12, 100, 2.5, 3.5])
    if kind == "word":
        return rng.choice([None, True, False])
    if kind == "array":
        return [any_document(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    names = sorted(rng.sample(["a", "b", "x", "extra", "name", "cab", ""], rng.randint(0, 3)))
    return {name: any_document(rng, depth - 1 if rng.random() < 0.3 else 0) for name in names}


def keywords():
    rng = random.Random(SEED + 2)
    out = []
    while len(out) < KEYWORDS:
        root = hard_schema(rng)
        if rng.random() < 0.2:
            root = {"allOf": [root, hard_schema(rng)]}
        check = jsonschema.Draft202012Validator(root)
        documents = [any_document(rng) for _ in range(150)]
        valid = {write(rng, doc) for doc in documents if check.is_valid(doc)}
        invalid = {write(rng, doc) for doc in documents if not check.is_valid(doc)}
        if invalid:
            out.append({"schema": root, "valid": rng.sample(sorted(valid), min(8, len(valid))), "invalid": rng.sample(sorted(invalid), min(12, len(invalid)))})
    return out


def pattern(rng, depth):
    atoms = ["a", "b", "c", "\\d", "\\w", "\\s", "[a-c]", "[^a]", "[\\d_-]", ".", "\\.", "ü", "日", "\\x41", "\\u00e9", "x"]
    if depth == 0:
        return rng.choice(atoms)
    kind = rng.choice(["seq", "seq", "alt", "rep", "rep", "group", "count"])
    if kind == "seq":
        return "".join(pattern(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    if kind == "alt":
        return "(?:" + "|".join(pattern(rng, depth - 1) for _ in range(rng.randint(1, 3))) + ")"
    if kind == "rep":
        return "(" + pattern(rng, depth - 1) + ")" + rng.choice(["*", "+", "?", "*?", "+?"])
    if kind == "group":
        return "(?P<g%d>" % rng.randrange(10**9) + pattern(rng, depth - 1) + ")"
    low = rng.randint(0, 3)
    return "(?:" + pattern(rng, depth - 1) + ")" + rng.choice(["{%d}" % low, "{%d,}" % low, "{%d,%d}" % (low, low + rng.choice([0, 2, 90]))])


def patterns():
    rng = random.Random(SEED + 1)
    alphabet = "abcAx01_-. \n\tü日é🙂"
    out = []
    while len(out) < PATTERNS:
        text = pattern(rng, rng.choice([1, 2, 3]))
        compiled = re.compile(text, re.ASCII)
        matches, others = set(), set()
        for _ in range(400):
            sample = "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 1, 2, 3, 4, 6, 9])))
            (matches if compiled.fullmatch(sample) else others).add(sample)
        if matches:
            out.append({"pattern": text, "matches": sorted(matches, key=len)[:8], "others": sorted(others, key=len)[:8]})
    return out


def main():
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name, cases in (("schemas", schemas()), ("keywords", keywords()), ("patterns", patterns())):
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        (target / (name + ".json")).write_text("[\n" + lines + "\n]\n")
        print(name, len(cases), "cases")


if __name__ == "__main__":
    main()
