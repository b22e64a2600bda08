"""The prompts and answers of DSPy's adapters, for training: those of `src/dspy/adapters`, message for message.

`chat` and `json` are dspy 3.4.1's ChatAdapter and JSONAdapter, `plain` is our LlamaCppAdapter. Only the types that the training
needs: str, int, float, bool, lists of them, and Literal.
"""

import json
from dataclasses import dataclass

ADAPTERS = ("chat", "json", "plain")
COMPLETED = "[[ ## completed ## ]]"
_STRUCTURED = "All interactions will be structured in the following way, with the appropriate values filled in."
_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


@dataclass(frozen=True)
class Field:
    name: str
    kind: str = "str"  # as Python writes the type
    values: tuple = ()  # of a Literal
    desc: str = ""

    @staticmethod
    def one_of(name: str, values: tuple) -> "Field":
        return Field(name, f"Literal[{', '.join(map(repr, values))}]", values)


@dataclass(frozen=True)
class Signature:
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    instructions: str


def default_instructions(inputs: tuple[Field, ...], outputs: tuple[Field, ...]) -> str:
    ins, outs = (", ".join(f"`{field.name}`" for field in fields) for fields in (inputs, outputs))
    return f"Given the fields {ins}, produce the fields {outs}."


def signature(inputs: list[Field], outputs: list[Field], instructions: str | None = None) -> Signature:
    ins, outs = tuple(inputs), tuple(outputs)
    return Signature(ins, outs, instructions or default_instructions(ins, outs))


def _value(value) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def _note(field: Field) -> str:
    if field.kind == "str":
        return ""
    if field.kind == "bool":
        rule = "must be True or False"
    elif field.kind in ("int", "float"):
        rule = f"must be a single {field.kind} value"
    elif field.values:
        rule = f"must exactly match (no extra characters) one of: {'; '.join(map(str, field.values))}"
    else:
        items = {"type": _JSON_TYPES[field.kind.removeprefix("list[").removesuffix("]")]}
        rule = f"must adhere to the JSON schema: {json.dumps({'type': 'array', 'items': items})}"
    return f"        # note: the value you produce {rule}"


def _section(name: str, value: str) -> str:
    return f"[[ ## {name} ## ]]\n{value}"


def _described(fields: tuple[Field, ...]) -> str:
    return "\n".join(f"{i}. `{f.name}` ({f.kind}): {f.desc}" for i, f in enumerate(fields, 1)).strip()


def _typed(fields: tuple[Field, ...], marker: str) -> str:
    return ", then ".join(
        "`" + marker.format(f.name) + "`" + (f" (must be formatted as a valid Python {f.kind})" if f.kind != "str" else "") for f in fields)


def _plain_system(s: Signature) -> str:
    lines = [f"{f.name} ({f.kind}): {f.desc}".rstrip(": ") for f in s.inputs if f.desc]
    lines += [f"{f.name} ({f.kind}): {f.desc}".rstrip(": ") for f in s.outputs if f.desc or f.kind != "str"]
    return "\n\n".join([s.instructions, *(["\n".join(lines)] if lines else [])])


def system(adapter: str, s: Signature) -> str:
    if adapter == "plain":
        return _plain_system(s)
    inputs = "\n\n".join(_section(f.name, f"{{{f.name}}}") for f in s.inputs)
    if adapter == "chat":
        outputs = "\n\n".join(_section(f.name, f"{{{f.name}}}{_note(f)}") for f in s.outputs)
        structure = "\n\n".join([_STRUCTURED, inputs, outputs, COMPLETED])
    else:
        outputs = json.dumps({f.name: f"{{{f.name}}}{_note(f)}" for f in s.outputs}, indent=2, ensure_ascii=False)
        structure = "\n\n".join([_STRUCTURED, "Inputs will have the following structure:", inputs,
                                 "Outputs will be a JSON object with the following fields.", outputs])
    objective = "".join(f"\n        {line}" for line in s.instructions.splitlines())
    return (f"Your input fields are:\n{_described(s.inputs)}\nYour output fields are:\n{_described(s.outputs)}\n{structure}\n"
            f"In adhering to this structure, your objective is: {objective}")


def user(adapter: str, s: Signature, values: dict, request: bool) -> str:
    """`request` is the call itself; without it, it is a demonstration's turn."""
    if adapter == "plain":
        return "\n".join(f"{f.name}: {_value(values[f.name])}" for f in s.inputs)
    parts = [_section(f.name, _value(values[f.name])) for f in s.inputs]
    if request and adapter == "chat":
        parts.append(f"Respond with the corresponding output fields, starting with the field {_typed(s.outputs, '[[ ## {} ## ]]')}, "
                     f"and then ending with the marker for `{COMPLETED}`.")
    elif request:
        parts.append(f"Respond with a JSON object in the following order of fields: {_typed(s.outputs, '{}')}.")
    return "\n\n".join(parts).strip()


def assistant(adapter: str, s: Signature, values: dict, demonstration: bool) -> str:
    """A demonstration of ChatAdapter ends with a line's end; an answer does not, and its grammar allows none."""
    if adapter == "plain":
        return "\n".join(f"{f.name}: {_value(values[f.name])}" for f in s.outputs)
    if adapter == "json":
        return json.dumps({f.name: values[f.name] for f in s.outputs}, indent=2, ensure_ascii=False)
    sections = "\n\n".join(_section(f.name, _value(values[f.name])) for f in s.outputs).strip()
    return f"{sections}\n\n{COMPLETED}" + ("\n" if demonstration else "")


def messages(adapter: str, s: Signature, demos: list[dict], inputs: dict) -> list[dict]:
    turns = [{"role": "system", "content": system(adapter, s)}]
    for demo in demos:
        turns += [{"role": "user", "content": user(adapter, s, demo, False)},
                  {"role": "assistant", "content": assistant(adapter, s, demo, True)}]
    return turns + [{"role": "user", "content": user(adapter, s, inputs, True)}]
