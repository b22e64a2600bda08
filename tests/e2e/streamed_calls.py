"""The required content of a stream with one forced call."""


def check_stream(ask, **forced):
    """`ask` sends a chat with these fields. A stream has the same call as the whole answer, and no text."""
    whole = ask(**forced).choices[0].message.tool_calls[0].function
    chunks = [chunk.choices[0] for chunk in ask(stream=True, **forced)]
    calls = [call for chunk in chunks for call in chunk.delta.tool_calls or []]
    assert [(c.index, c.function.name, c.function.arguments) for c in calls] == [(0, whole.name, whole.arguments)]
    assert not "".join(chunk.delta.content or "" for chunk in chunks)
    assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["tool_calls"]
