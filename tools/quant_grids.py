#!/usr/bin/env python3
"""Writes src/formats/quant/iq_grids.cpp: the codebooks of the IQ1, IQ2 and IQ3 block formats.

The tables are constants of the formats. They are taken from PyPI's `gguf` package, which holds one packed 16-bit
number for each entry: eight 2-bit or four 4-bit indices into a short list of magnitudes, the first in the lowest bits.

    python3 tools/quant_grids.py > src/formats/quant/iq_grids.cpp
"""
import numpy as np
from gguf import quants

GRIDS = [("kIq2XxsGrid", quants.IQ2_XXS), ("kIq2XsGrid", quants.IQ2_XS), ("kIq2SGrid", quants.IQ2_S),
         ("kIq3XxsGrid", quants.IQ3_XXS), ("kIq3SGrid", quants.IQ3_S), ("kIq1SGrid", quants.IQ1_S)]
PER_LINE = 14


def packed_entries(quant) -> np.ndarray:
    """The codebook as 16-bit numbers, checked against the package's own unpacked grid."""
    entries = np.frombuffer(bytes.fromhex(quant.grid_hex.decode()), dtype="<u2")
    quant.init_grid()
    width = quant.grid_shape[1]
    bits = 16 // width
    indices = (entries[:, None] >> (bits * np.arange(width))) & ((1 << bits) - 1)
    assert np.array_equal(np.array(quant.grid_map, np.float32)[indices], quant.grid.reshape(quant.grid_shape))
    return entries


def main() -> None:
    signs = np.frombuffer(quants.IQ2_XXS.ksigns, dtype=np.uint8)
    assert all(sign == index | (bin(index).count("1") % 2) << 7 for index, sign in enumerate(signs)), "SignMask's rule"
    print("// Made by tools/quant_grids.py from PyPI's `gguf` package (quants.py). Do not edit.")
    print('#include "formats/quant/iq_grids.h"\n')
    print("namespace inferflux::formats {\n")
    for name, quant in GRIDS:
        entries = packed_entries(quant)
        print(f"const uint16_t {name}[{len(entries)}] = {{")
        for start in range(0, len(entries), PER_LINE):
            print("    " + ", ".join(f"0x{entry:04x}" for entry in entries[start:start + PER_LINE]) + ",")
        print("};\n")
    print("}  // namespace inferflux::formats")


if __name__ == "__main__":
    main()
