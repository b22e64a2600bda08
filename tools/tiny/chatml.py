"""The ChatML template (Qwen 2.5's tool form), as Jinja for the shipped model and as Python for training."""

import json

from .data.exchange import Conversation

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
BOS, START, END = SPECIAL
_TOOLS_BEFORE = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


TEMPLATE = f"""{{%- set system = messages[0]['content'] if messages[0]['role'] == 'system' else '' %}}
{{%- if tools %}}
    {{{{- '<|im_start|>system\\n' }}}}
    {{%- if system %}}
        {{{{- system + '\\n\\n' }}}}
    {{%- endif %}}
    {{{{- {_quoted(_TOOLS_BEFORE)} }}}}
    {{%- for tool in tools %}}
        {{{{- '\\n' }}}}
        {{{{- tool | tojson }}}}
    {{%- endfor %}}
    {{{{- {_quoted(_TOOLS_AFTER)} }}}}
    {{{{- '<|im_end|>\\n' }}}}
{{%- elif messages[0]['role'] == 'system' %}}
    {{{{- '<|im_start|>system\\n' + system + '<|im_end|>\\n' }}}}
{{%- endif %}}
{{%- for message in messages %}}
    {{%- if message['role'] == 'user' or (message['role'] == 'system' and not loop.first) %}}
        {{{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}}}
    {{%- elif message['role'] == 'assistant' %}}
        {{{{- '<|im_start|>assistant\\n' }}}}
        {{%- if message['content'] %}}
            {{{{- message['content'] }}}}
        {{%- endif %}}
        {{%- for tool_call in message['tool_calls'] or [] %}}
            {{%- if tool_call['function'] %}}
                {{%- set tool_call = tool_call['function'] %}}
            {{%- endif %}}
            {{%- if not loop.first or message['content'] %}}
                {{{{- '\\n' }}}}
            {{%- endif %}}
            {{{{- '<tool_call>\\n{{"name": "' }}}}
            {{{{- tool_call['name'] }}}}
            {{{{- '", "arguments": ' }}}}
            {{%- if tool_call['arguments'] is string %}}
                {{{{- tool_call['arguments'] }}}}
            {{%- else %}}
                {{{{- tool_call['arguments'] | tojson }}}}
            {{%- endif %}}
            {{{{- '}}\\n</tool_call>' }}}}
        {{%- endfor %}}
        {{{{- '<|im_end|>\\n' }}}}
    {{%- elif message['role'] == 'tool' %}}
        {{%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}}
            {{{{- '<|im_start|>user' }}}}
        {{%- endif %}}
        {{{{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' }}}}
        {{%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}}
            {{{{- '<|im_end|>\\n' }}}}
        {{%- endif %}}
    {{%- endif %}}
{{%- endfor %}}
{{%- if add_generation_prompt %}}
    {{{{- '<|im_start|>assistant\\n' }}}}
{{%- endif %}}
"""


def _call(call: dict) -> str:
    function = call["function"]
    arguments = json.dumps(function["arguments"], ensure_ascii=False)
    return f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {arguments}}}\n</tool_call>'


def said(message: dict) -> str:
    """What an assistant message reads like, without its frame."""
    calls = "\n".join(_call(call) for call in message.get("tool_calls") or [])
    return "\n".join(part for part in (message["content"], calls) if part)


def segments(conversation: Conversation) -> list[tuple[str, bool]]:
    """The conversation as (text, learned) pieces: learned pieces are what the assistant says, with the end mark.

    Pieces always join where the tokeniser splits anyway: at a line's end, a control token, or the first quote of JSON.
    """
    if conversation.raw is not None:
        return [(conversation.raw + END, True)]
    messages, pieces = conversation.messages, []
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    if conversation.tools:
        listed = "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in conversation.tools)
        head = system + "\n\n" if system else ""
        pieces.append((f"{START}system\n{head}{_TOOLS_BEFORE}{listed}{_TOOLS_AFTER}{END}\n", False))
    elif system:
        pieces.append((f"{START}system\n{system}{END}\n", False))
    for message in messages:
        if message["role"] == "user":
            pieces.append((f"{START}user\n{message['content']}{END}\n", False))
        elif message["role"] == "tool":
            pieces.append((f"{START}user\n<tool_response>\n{message['content']}\n</tool_response>{END}\n", False))
        elif message["role"] == "assistant":
            opening, text = message.get("opening", 0), said(message) + END
            pieces += [(f"{START}assistant\n" + text[:opening], False), (text[opening:], not message.get("unlearned")), ("\n", False)]
    return pieces


def render(conversation: Conversation) -> str:
    return "".join(text for text, _ in segments(conversation))


def prompt(conversation: Conversation, index: int) -> str:
    """Everything before assistant message `index`, ready for it to be generated; what is given of the message is there already."""
    message = conversation.messages[index]
    return render(Conversation(conversation.messages[:index], conversation.tools)) + f"{START}assistant\n" + said(message)[: message.get("given", 0)]
