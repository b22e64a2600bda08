// The row and the column of each element of a fragment: PTX ISA 9.7.14.5, "Matrix Fragments for mma.m16n8k16 with
// floating point type" and "Matrix Fragments for mma.m16n8k32".
#pragma once

namespace inferflux::cuda::executor {

struct Place {
  int row, column;
};

// Element `i` of lane `lane`; `packed` elements share a 32-bit register: 2 of 16 bits, 4 of 8 bits.
constexpr Place PlaceInA(int lane, int i, int packed) {
  const int part = i / packed;  // the register
  const int row = lane / 4 + (part % 2 == 0 ? 0 : 8);
  return {row, lane % 4 * packed + i % packed + (part < 2 ? 0 : 4 * packed)};
}
constexpr Place PlaceInB(int lane, int i, int packed) {
  return {lane % 4 * packed + i % packed + (i < packed ? 0 : 4 * packed), lane / 4};
}
constexpr Place PlaceInC(int lane, int i) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2}; }

}  // namespace inferflux::cuda::executor
