"""Writes a checkpoint as a Hugging Face folder in float32, with the values that the GGUF file has."""

import argparse
import json
from pathlib import Path

from safetensors.torch import save_file
from tokenizers import Tokenizer

from .chatml import BOS, END, SPECIAL, TEMPLATE
from .config import SHAPES, hugging_face
from .evaluate import load


def write(work: Path, model_name: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model = load(work / f"{model_name}.pt")
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, str(out / "model.safetensors"), metadata={"format": "pt"})
    words = Tokenizer.from_file(str(work / "tokenizer.json"))
    words.save(str(out / "tokenizer.json"))
    added = {str(i): {"content": mark, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
             for i, mark in enumerate(SPECIAL)}
    files = {
        "config.json": hugging_face(model.shape),
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": [2, 0], "pad_token_id": 0, "do_sample": False},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": added, "bos_token": BOS, "eos_token": END,
            "pad_token": BOS, "model_max_length": model.shape.context, "clean_up_tokenization_spaces": False,
            "add_bos_token": False, "chat_template": TEMPLATE,
        },
    }
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SHAPES), default="tiny")
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    write(Path(args.work), args.model, Path(args.out))


if __name__ == "__main__":
    main()
