// One overload a block format: the values of one block. Internal to the folder; users call DequantizeRow.
#pragma once

#include "formats/quant/blocks.h"

namespace inferflux::formats {

void DecodeBlock(const BlockQ4_0& block, float* out);
void DecodeBlock(const BlockQ8_0& block, float* out);

void DecodeBlock(const BlockQ4_K& block, float* out);
void DecodeBlock(const BlockQ5_K& block, float* out);
void DecodeBlock(const BlockQ6_K& block, float* out);

}  // namespace inferflux::formats
