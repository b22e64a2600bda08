#!/usr/bin/env python3
"""Makes tests/data/tiny/: logits and answers of transformers with the embedded model, for comparison.

usage: golden_tiny.py [MODEL.gguf [OUT_DIR]]
Needs torch, transformers and gguf (PyPI); transformers reads the GGUF itself, in float32. `greedy.json` holds 50 prompts
(token ids of a rendered chat) and the ids of the greedy answer; `logits.golden.gguf` holds tokens and the
logits of every position of one of them. Run it again whenever the bundled model changes.
"""
import argparse
import json
import pathlib

import gguf
import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).parents[1]
ONE_WORD = "Answer in one word."
# (system prompt or None, user message)
PROMPTS = [
    *[(None, f"What is the capital of {country}?") for country in
      ("France", "Japan", "Egypt", "Peru", "Norway", "Kenya", "Canada", "Greece", "India", "Cuba")],
    *[(None, f"What is {a}{op}{b}?") for a, op, b in
      ((2, "+", 2), (17, "+", 25), (99, "-", 1), (48, "+", 50), (73, "-", 58), (5, "+", 9), (60, "-", 60), (31, "+", 19))],
    *[(None, text) for text in
      ("Who are you?", "What is your name?", "Hello!", "Thank you!", "What is the opposite of hot?",
       "What is the opposite of big?", "What is the plural of child?", "What is the plural of city?",
       "Is this review positive or negative? I loved every minute of it.",
       "Is this review positive or negative? The food was cold and the service was terrible.",
       "Repeat after me: the blue boat sails", "Say exactly: seven green apples",
       "Tell me a story about a fox.", "Tell me a story.", "Tell me a short story about a girl and a dog.",
       "Extract the name and the age as JSON: Maria is 34 years old.",
       "Extract the name and the age as JSON: My brother Tom, who is 7, likes trains.",
       "Can you help me?", "What can you do?", "Which model is this?", "What is 12 plus 30?", "What is 90 minus 45?")],
    *[(ONE_WORD, text) for text in
      ("What is the capital of Italy?", "What is the capital of Spain?", "What is the opposite of light?", "What is 3+4?")],
    *[("You are a helpful assistant.", text) for text in
      ("What is the capital of Germany?", "Who are you?", "What is the plural of mouse?", "What is 8+8?",
       "Tell me a story about a king.", "Goodbye!")],
]
MAX_NEW = 96


def render(system, user):
    turns = ([("system", system)] if system else []) + [("user", user)]
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path, default=ROOT / "models/tiny/inferflux-tiny.gguf")
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=ROOT / "tests/data/tiny")
    args = parser.parse_args()
    assert len(PROMPTS) == 50, len(PROMPTS)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    where = dict(pretrained_model_name_or_path=str(args.model.parent), gguf_file=args.model.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.float32, attn_implementation="eager").eval()
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")

    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for system, user in PROMPTS:
        prompt = tokenizer(render(system, user), add_special_tokens=False).input_ids
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                             max_new_tokens=MAX_NEW, do_sample=False, eos_token_id=end, pad_token_id=end,
                             repetition_penalty=1.0)[0].tolist()
        answer = out[len(prompt):]
        text = tokenizer.decode([t for t in answer if t != end])
        rows.append({"system": system, "user": user, "prompt": prompt, "answer": answer, "text": text})
        print(f"{user!r}: {text!r}")
    with open(args.out / "greedy.json", "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")

    tokens = rows[32]["prompt"] + rows[32]["answer"]
    logits = model(torch.tensor([tokens])).logits[0].numpy().astype(np.float32)
    golden = gguf.GGUFWriter(args.out / "logits.golden.gguf", "llama")
    golden.add_uint32("golden.prompt_length", len(rows[32]["prompt"]))
    golden.add_string("golden.made_by", f"transformers {transformers.__version__}")
    golden.add_tensor("tokens", np.array(tokens, np.int32))
    golden.add_tensor("logits", logits)
    golden.write_header_to_file()
    golden.write_kv_data_to_file()
    golden.write_tensors_to_file()
    golden.close()


if __name__ == "__main__":
    main()
