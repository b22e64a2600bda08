"""The bundled model behind a template of a model that reasons: the prompt opens <think>, unless reasoning is off."""

import subprocess
import sys
from pathlib import Path

TEMPLATE = """{%- for m in messages -%}
<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if enable_thinking is not defined or enable_thinking %}<think>
{% endif %}
{%- endif -%}"""


def write(model: Path, path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--force", "--chat-template", TEMPLATE, str(model), str(path)],
                   check=True, capture_output=True, timeout=120)
    return path
