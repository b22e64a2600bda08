#!/usr/bin/env python3
"""Writes tests/data/safetensors/: files made by PyPI's `safetensors`, and their values as PyTorch converts them.

    python3 tools/safetensors_golden.py tests/data/safetensors

dtypes.safetensors has one tensor for each type, of all 8-bit patterns or of random wider ones, and for each tensor, under
its name plus ".f32", the result of `tensor.float()`.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file

SEED = 20261121


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(SEED)
    bits = torch.randint(0, 256, (64,), generator=generator, dtype=torch.uint8)
    every_byte = torch.arange(256, dtype=torch.uint8)
    tensors = {
        "f8_e4m3": every_byte.view(torch.float8_e4m3fn),
        "f8_e5m2": every_byte.view(torch.float8_e5m2),
        "f16": torch.arange(0, 65536, 97, dtype=torch.int32).to(torch.uint16).view(torch.float16),
        "bf16": torch.randn(40, generator=generator).bfloat16(),
        "f32": torch.randn(3, 4, generator=generator),
        "f64": torch.randn(5, generator=generator, dtype=torch.float64),
        "bool": bits[:7] > 127,
        "u8": bits, "i8": bits.view(torch.int8), "i16": bits.view(torch.int16), "i32": bits.view(torch.int32),
        "i64": bits.view(torch.int64), "u16": bits.view(torch.uint16), "u32": bits.view(torch.uint32),
    }
    for name in list(tensors):
        tensors[name + ".f32"] = tensors[name].float()
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}  # the library refuses shared memory
    save_file(tensors, target / "dtypes.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
