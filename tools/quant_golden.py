#!/usr/bin/env python3
"""Writes tests/data/quants/: the results of PyPI's `gguf` for random blocks and random rows of each block type.

    python3 tools/quant_golden.py tests/data/quants

NAME.decode: random blocks, then their values as float32 (any bit pattern, but with finite float16 scales).
rows.f32 and NAME.encode: float32 rows, and the blocks from the package's quantiser.
"""
import pathlib
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, quants

SEED = 20261121
VALUES = 4096  # for each type, in each direction

# The offsets of the float16 scales in a block.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
    Type.TQ1_0: [52], Type.TQ2_0: [64], Type.IQ4_NL: [0], Type.IQ4_XS: [0], Type.MXFP4: [], Type.NVFP4: [],
    Type.IQ2_XXS: [0], Type.IQ2_XS: [0], Type.IQ2_S: [0], Type.IQ3_XXS: [0], Type.IQ3_S: [0], Type.IQ1_S: [0],
    Type.IQ1_M: [], Type.F16: [0], Type.BF16: [],
}
ENCODED = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.TQ1_0, Type.TQ2_0, Type.MXFP4, Type.BF16, Type.F16]


def random_blocks(kind: Type, rng: np.random.Generator) -> np.ndarray:
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (VALUES // elements, size), dtype=np.uint8)
    for offset in SCALES[kind]:
        half = rng.integers(0, 1 << 16, len(blocks), dtype=np.uint16)
        half = np.where((half & 0x7C00) == 0x7C00, half & 0xBFFF, half).astype(np.uint16)
        blocks[:, offset:offset + 2] = half.view(np.uint8).reshape(-1, 2)
    if kind == Type.IQ1_M:  # its scale is the top nibbles of four words; the exponent's top bits are in the last one
        blocks[:, 55] &= 0xBF
    if kind == Type.BF16:
        blocks[:, 1] &= 0xBF
    return blocks


def random_rows(rng: np.random.Generator) -> np.ndarray:
    """Rows of 256 with typical distributions of weights, and some unusual ones."""
    rows = rng.standard_normal((VALUES // 256, 256)).astype(np.float32)
    rows *= np.exp2(rng.integers(-12, 6, (len(rows), 1))).astype(np.float32)
    rows[0] = 0
    rows[1] = 0.75
    rows[2] = -rows[2].__abs__()
    rows[3] = np.sign(rows[3]) * 0.02
    rows[4, ::7] *= 50
    rows[5, :32] = 0
    return rows


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for kind in SCALES:
        rng = np.random.default_rng([SEED, int(kind)])
        blocks = random_blocks(kind, rng)
        with np.errstate(all="ignore"):
            values = quants.dequantize(blocks, kind)
        assert values.dtype == np.float32 and not np.isnan(values).any(), kind
        (target / f"{kind.name}.decode").write_bytes(blocks.tobytes() + values.tobytes())
    rows = random_rows(np.random.default_rng(SEED))
    (target / "rows.f32").write_bytes(rows.tobytes())
    for kind in ENCODED:
        with np.errstate(all="ignore"):
            (target / f"{kind.name}.encode").write_bytes(quants.quantize(rows, kind).tobytes())


if __name__ == "__main__":
    main()
