// Any safetensors file as the tensors of one quantised weight. The first four bytes choose the format.
#include <array>
#include <cstdlib>
#include <span>
#include <string>

#include "cpu_limit.h"
#include "formats/quantized_checkpoints/fp8.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/mlx_affine.h"
#include "formats/quantized_checkpoints/modelopt_nvfp4.h"
#include "formats/weight_layout/weight_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using namespace inferflux::formats;
  if (size < 4) return 0;
  const auto bytes = std::as_bytes(std::span(data + 4, size - 4));
  const auto file = SafetensorsFile::Parse(bytes, "fuzz");
  if (!file) return 0;
  const auto find = [&](const char* name) { return (*file)->FindTensor(name); };
  const GroupwiseIntsTensors tensors{
      .qweight = find("qweight"), .qzeros = find("qzeros"), .scales = find("scales"), .group_of = find("g_idx")};
  if (tensors.qweight != nullptr && tensors.qzeros != nullptr && tensors.scales != nullptr) {
    const GroupwiseIntsFormat format{
        .packing = data[0] % 2 == 0 ? GroupwiseIntsFormat::Packing::kGptq : GroupwiseIntsFormat::Packing::kAwq,
        .bits = data[1],
        .group_size = static_cast<int8_t>(data[2]),
        .zero_bias = data[3] % 2u};
    const auto ints = GroupwiseInts::Open(tensors, format);
    if (ints) {
      const uint64_t dims[] = {static_cast<uint64_t>(ints->inputs()), static_cast<uint64_t>(ints->outputs())};
      if (ints->Read().size() != *TensorBytes(ints->type(), dims)) std::abort();
      if (ints->layout() && !Fits(ints->ReadLayout(), ints->outputs(), ints->inputs())) std::abort();
    }
  }
  const CompressedTensorsInts compressed{.weight = find("shape") != nullptr ? find("packed") : find("weight"),
                                         .scales = find("scales"),
                                         .shape = find("shape"),
                                         .zeros = find("zeros"),
                                         .group_of = find("g_idx")};
  if (compressed.weight != nullptr && compressed.scales != nullptr) {
    const std::array<uint32_t, 1> known{data[1]};
    const auto ints = GroupwiseInts::OpenCompressed(compressed, std::span(known).first(data[0] % 2));
    if (ints) {
      const uint64_t dims[] = {static_cast<uint64_t>(ints->inputs()), static_cast<uint64_t>(ints->outputs())};
      if (ints->Read().size() != *TensorBytes(ints->type(), dims)) std::abort();
      if (ints->layout() && !Fits(ints->ReadLayout(), ints->inputs() == 0 ? 0 : ints->outputs(), ints->inputs()))
        std::abort();
    }
  }
  if (find("weight") != nullptr && find("scales") != nullptr) {
    const auto fp8 = Fp8Weights::Open(*find("weight"), *find("scales"), {data[1], data[2]});
    if (fp8) (void)fp8->Read();
  }
  if (find("weight") != nullptr && find("scales") != nullptr && find("biases") != nullptr) {
    const auto expert = static_cast<int8_t>(data[3]);  // negative: the tensors are not stacked
    const auto groups = expert < 0 ? MlxAffineWeights::Open(*find("weight"), *find("scales"), *find("biases"), data[2])
                                   : MlxAffineWeights::OpenExpert(*find("weight"), *find("scales"), *find("biases"),
                                                                  data[2], static_cast<uint64_t>(expert));
    if (groups) {
      const uint64_t dims[] = {static_cast<uint64_t>(groups->inputs()), static_cast<uint64_t>(groups->outputs())};
      if (groups->Read().size() != *TensorBytes(groups->type(), dims)) std::abort();
    }
  }
  if (find("packed") != nullptr && find("scales") != nullptr && find("factor") != nullptr) {
    const auto how = data[0] % 2 == 0 ? Nvfp4::ScaleUse::kDivides : Nvfp4::ScaleUse::kMultiplies;
    const auto nvfp4 = Nvfp4::Open(*find("packed"), *find("scales"), *find("factor"), how);
    if (nvfp4) {
      const uint64_t dims[] = {static_cast<uint64_t>(nvfp4->inputs()), static_cast<uint64_t>(nvfp4->outputs())};
      if (nvfp4->Read().size() != *TensorBytes(nvfp4->type(), dims)) std::abort();
    }
  }
  const RowsInTurn rows{.first = data[3] % 2u, .step = 1 + data[3] % 2u};
  if (find("blocks") != nullptr && find("exponents") != nullptr) {
    const auto expert = Mxfp4Expert::Open(*find("blocks"), *find("exponents"), data[1], rows);
    if (expert) (void)expert->Read();
  }
  if (find("packed") != nullptr && find("exponents") != nullptr) {
    const auto matrix = Mxfp4Expert::OpenMatrix(*find("packed"), *find("exponents"));
    if (matrix) (void)matrix->Read();
  }
  if (find("weight") != nullptr && find("exponents") != nullptr) {
    const auto expert = Mxfp4Expert::OpenWords(*find("weight"), *find("exponents"), data[1]);
    if (expert) (void)expert->Read();
  }
  if (find("biases") != nullptr) {
    const auto biases = ExpertBiases::Open(*find("biases"), rows);
    if (biases) (void)biases->Read();
  }
  return 0;
}
