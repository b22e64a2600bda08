// One overload for each block format: encodes one block from floats. `importance` has a weight for each value, or is
// null. Internal to the folder; others call QuantizeRow.
#pragma once

#include "formats/quant/blocks.h"

namespace inferflux::formats {

void EncodeBlock(const float* x, const float* importance, BlockQ4_0& block);
void EncodeBlock(const float* x, const float* importance, BlockQ4_1& block);
void EncodeBlock(const float* x, const float* importance, BlockQ5_0& block);
void EncodeBlock(const float* x, const float* importance, BlockQ5_1& block);
void EncodeBlock(const float* x, const float* importance, BlockQ8_0& block);

void EncodeBlock(const float* x, const float* importance, BlockQ2_K& block);
void EncodeBlock(const float* x, const float* importance, BlockQ3_K& block);
void EncodeBlock(const float* x, const float* importance, BlockQ4_K& block);
void EncodeBlock(const float* x, const float* importance, BlockQ5_K& block);
void EncodeBlock(const float* x, const float* importance, BlockQ6_K& block);

void EncodeBlock(const float* x, const float* importance, BlockIq4Nl& block);
void EncodeBlock(const float* x, const float* importance, BlockIq4Xs& block);
void EncodeBlock(const float* x, const float* importance, BlockMxfp4& block);

void EncodeBlock(const float* x, const float* importance, BlockTq1_0& block);
void EncodeBlock(const float* x, const float* importance, BlockTq2_0& block);

}  // namespace inferflux::formats
