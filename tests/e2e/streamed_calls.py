"""The required content of a stream with one forced call."""


def joined_calls(chunks):
    """(index, name, arguments) of each call in the choices of a stream. Its first delta has the name, all have arguments."""
    calls = []
    for delta in (call for chunk in chunks for call in chunk.delta.tool_calls or []):
        if delta.function.name:
            assert delta.id and delta.type == "function" and delta.index == len(calls)
            calls.append([delta.index, delta.function.name, ""])
        assert delta.index == len(calls) - 1 and delta.function.arguments
        calls[-1][2] += delta.function.arguments
    return [tuple(call) for call in calls]

def check_stream(ask, **forced):
    """`ask` sends a chat with these fields. A stream has the same call as the whole answer, and no text."""
    whole = ask(**forced).choices[0].message.tool_calls[0].function
    chunks = [chunk.choices[0] for chunk in ask(stream=True, **forced)]
    assert joined_calls(chunks) == [(0, whole.name, whole.arguments)]
    assert not "".join(chunk.delta.content or "" for chunk in chunks)
    assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["tool_calls"]
