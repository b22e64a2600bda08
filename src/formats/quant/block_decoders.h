// One overload for each block format: decodes one block. Internal to the folder; others call DequantizeRow.
#pragma once

#include "formats/quant/blocks.h"

namespace inferflux::formats {

void DecodeBlock(const BlockQ4_0& block, float* out);
void DecodeBlock(const BlockQ4_1& block, float* out);
void DecodeBlock(const BlockQ5_0& block, float* out);
void DecodeBlock(const BlockQ5_1& block, float* out);
void DecodeBlock(const BlockQ8_0& block, float* out);

void DecodeBlock(const BlockQ2_K& block, float* out);
void DecodeBlock(const BlockQ3_K& block, float* out);
void DecodeBlock(const BlockQ4_K& block, float* out);
void DecodeBlock(const BlockQ5_K& block, float* out);
void DecodeBlock(const BlockQ6_K& block, float* out);
void DecodeBlock(const BlockQ8_K& block, float* out);

void DecodeBlock(const BlockTq1_0& block, float* out);
void DecodeBlock(const BlockTq2_0& block, float* out);

void DecodeBlock(const BlockIq4Nl& block, float* out);
void DecodeBlock(const BlockIq4Xs& block, float* out);
void DecodeBlock(const BlockMxfp4& block, float* out);
void DecodeBlock(const BlockNvfp4& block, float* out);

void DecodeBlock(const BlockIq2Xxs& block, float* out);
void DecodeBlock(const BlockIq2Xs& block, float* out);
void DecodeBlock(const BlockIq2S& block, float* out);
void DecodeBlock(const BlockIq3Xxs& block, float* out);
void DecodeBlock(const BlockIq3S& block, float* out);

void DecodeBlock(const BlockIq1S& block, float* out);
void DecodeBlock(const BlockIq1M& block, float* out);

}  // namespace inferflux::formats
