"""Questions in the field markers of DSPy's ChatAdapter (dspy 3), with and without a reasoning field."""

from random import Random

from .exchange import Conversation, Exchange
from .split import TRAIN, Phrases

_OBJECTIVES = Phrases(
    train=["Answer the question.", "Answer questions with short answers.", "Give a short answer.", "Answer with one word.", "You answer questions."],
    held_out=["Answer questions with short factoid answers.", "Give short answers to questions."],
)


def system_prompt(inputs: list[str], outputs: list[tuple[str, str]], objective: str) -> str:
    """`outputs` are (name, type) pairs; type is str or int."""
    def listed(fields):
        return "\n".join(f"{i}. `{name}` ({kind}): " for i, (name, kind) in enumerate(fields, 1)).strip()

    def shown(name, kind):
        note = f"        # note: the value you produce must be a single {kind} value" if kind != "str" else ""
        return f"[[ ## {name} ## ]]\n{{{name}}}{note}"

    return "\n".join([
        f"Your input fields are:\n{listed([(name, 'str') for name in inputs])}",
        f"Your output fields are:\n{listed(outputs)}",
        "All interactions will be structured in the following way, with the appropriate values filled in.\n",
        "\n\n".join(f"[[ ## {name} ## ]]\n{{{name}}}" for name in inputs) + "\n",
        "\n\n".join(shown(*field) for field in outputs) + "\n",
        "[[ ## completed ## ]]",
        f"In adhering to this structure, your objective is: \n        {objective}",
    ])


def default_objective(inputs: list[str], outputs: list[str]) -> str:
    return f"Given the fields {', '.join(f'`{n}`' for n in inputs)}, produce the fields {', '.join(f'`{n}`' for n in outputs)}."


def user_prompt(values: dict[str, str], outputs: list[tuple[str, str]] | None) -> str:
    """Without `outputs` it is a demonstration's user turn."""
    parts = [f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()]
    if outputs:
        fields = ", then ".join(
            f"`[[ ## {name} ## ]]`" + (f" (must be formatted as a valid Python {kind})" if kind != "str" else "") for name, kind in outputs)
        parts.append(f"Respond with the corresponding output fields, starting with the field {fields}, and then ending with the "
                     "marker for `[[ ## completed ## ]]`.")
    return "\n\n".join(parts)


def completion(values: dict[str, str]) -> str:
    return "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in values.items()) + "[[ ## completed ## ]]"


def make(rng: Random, split: str, questions: list[Exchange]) -> Conversation:
    """The last question is asked; those before it, when there are any, are demonstrations."""
    asked = questions[-1]
    if asked.task == "sentiment" and rng.random() < 0.5:
        source, target = rng.choice([("text", "sentiment"), ("sentence", "sentiment"), ("review", "label")])
    else:
        source, target = rng.choice([("question", "answer")] * 16 + [("query", "response"), ("question", "result"), ("input", "output")])
    kind = "int" if asked.task == "arithmetic" and rng.random() < 0.2 else "str"
    reasoned = rng.random() < 0.4
    outputs = ([("reasoning", "str")] if reasoned else []) + [(target, kind)]
    objective = default_objective([source], [target]) if rng.random() < 0.7 else _OBJECTIVES.pick(rng, split)
    messages = [{"role": "system", "content": system_prompt([source], outputs, objective)}]

    def fields(exchange: Exchange) -> dict[str, str]:
        values = {"reasoning": exchange.reason} if reasoned else {}
        return values | {target: exchange.short}

    for demo in questions[:-1]:
        messages += [{"role": "user", "content": user_prompt({source: demo.user}, None)},
                     {"role": "assistant", "content": completion(fields(demo)) + "\n"}]
    messages += [{"role": "user", "content": user_prompt({source: asked.user}, outputs)},
                 {"role": "assistant", "content": completion(fields(asked))}]
    task = "dspy_reasoning" if reasoned else "dspy"
    return Conversation(messages, None, [(len(messages) - 1, "exact", [completion(fields(asked))], task)])
