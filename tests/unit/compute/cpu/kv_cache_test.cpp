// Which KV caches are made, what is said of others, and what a copy of a block and a visit of it reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
namespace {

class CpuKvCache : public ::testing::Test {
 protected:
  ThreadPool pool_{1};
  Cpu::Context cpu_{pool_, *cpu::SelectCpuIsa()};
  Reference::Context reference_;

  template <class B, class E = KvFp16>
  std::string Made(auto& context, const KvShape& shape) {
    const auto cache = B::template CreateKvCache<E>(context, shape);
    return cache ? "made" : cache.error().message;
  }
};

TEST_F(CpuKvCache, AShapeThatMakesNoSenseIsNamed) {
  const auto unsound = [](int layers, int blocks, int size) {
    return fmt::format(
        "a KV cache of {} layers, {} blocks of {} positions: layers, blocks and positions must be above zero, and so "
        "must the width of each layer's heads; latents are part of the only head",
        layers, blocks, size);
  };
  const std::pair<KvShape, std::string> cases[] = {
      {{{{.heads = 1, .head_dim = 1}}, 1, 1}, "made"},
      {{{{.heads = 0, .head_dim = 0}}, 1, 1}, "made"},
      {{{{.heads = 1, .head_dim = 8, .latent = 8}}, 1, 1}, "made"},
      {{{}, 1, 1}, unsound(0, 1, 1)},
      {{{{.heads = 1, .head_dim = 1}}, 0, 1}, unsound(1, 0, 1)},
      {{{{.heads = 1, .head_dim = 1}}, 1, 0}, unsound(1, 1, 0)},
      {{{{.heads = 1, .head_dim = 1}, {.heads = 1, .head_dim = 0}}, 2, 4}, unsound(2, 2, 4)},
      {{{{.heads = -1, .head_dim = 1}}, 1, 1}, unsound(1, 1, 1)},
      {{{{.heads = 1, .head_dim = 1, .index = -1}}, 1, 1}, unsound(1, 1, 1)},
      {{{{.heads = 1, .head_dim = 8, .latent = -1}}, 1, 1}, unsound(1, 1, 1)},
      {{{{.heads = 1, .head_dim = 8, .latent = 9}}, 1, 1}, unsound(1, 1, 1)},
      {{{{.heads = 2, .head_dim = 8, .latent = 8}}, 1, 1}, unsound(1, 1, 1)}};
  for (const auto& [shape, said] : cases) {
    EXPECT_EQ((Made<Cpu>(cpu_, shape)), said);
    EXPECT_EQ((Made<Reference>(reference_, shape)), said);
  }
}

TEST_F(CpuKvCache, BlocksDivideASpanOrAreMultiplesOfIt) {
  for (const int32_t size : {1, 2, 16, 128, 256, 512, 1024}) {
    EXPECT_EQ((Made<Cpu>(cpu_, {{{.heads = 1, .head_dim = 4}}, 2, size})), "made") << size;
  }
  for (const int32_t size : {3, 48, 255, 257, 384}) {
    EXPECT_EQ((Made<Cpu>(cpu_, {{{.heads = 1, .head_dim = 4}}, 2, size})),
              fmt::format("KV blocks of {} positions: must divide 256 or be a multiple of it", size));
    EXPECT_EQ((Made<Reference>(reference_, {{{.heads = 1, .head_dim = 4}}, 2, size})), "made");
  }
  constexpr int32_t kHuge = 1 << 30;
  EXPECT_EQ((Made<Cpu>(cpu_, {{{.heads = kHuge, .head_dim = kHuge}}, kHuge, 256})),
            "a KV cache of 1073741824 blocks of 256 positions overflows; ask for fewer");
}

TEST_F(CpuKvCache, TheBytesOfAllLayersAreCounted) {
  constexpr int32_t kHuge = 1 << 30;
  const KvGeometry most{.heads = 2, .head_dim = 1024}, none{.heads = 0, .head_dim = 0}, one{.heads = 1, .head_dim = 1};
  const KvGeometry beyond{.heads = kHuge, .head_dim = kHuge};
  const auto made = [&](std::vector<KvGeometry> layers) {
    const std::string said = Made<Cpu>(cpu_, {std::move(layers), kHuge, 1024});
    return said.substr(0, said.find(':'));
  };
  constexpr const char* kRefused = "a KV cache of 1073741824 blocks of 1024 positions overflows; ask for fewer";
  EXPECT_EQ(made({most, none, most}), "no memory for the KV cache") << "as many bytes as can be counted";
  EXPECT_EQ(made({most, most, one}), kRefused);
  EXPECT_EQ(made({one, most, most}), kRefused);
  EXPECT_EQ(made({beyond, none}), kRefused);
  EXPECT_EQ(made({none, beyond}), kRefused);
  EXPECT_EQ(made({{.heads = 1, .head_dim = 4096, .latent = 4096, .index = 4097}}), kRefused) << "the wider row counts";
}

TEST_F(CpuKvCache, ACopyIsOfAllLayersOfItsBlockOnly) {
  auto cache = *Cpu::CreateKvCache<KvFp32>(
      cpu_, {{{.heads = 2, .head_dim = 5}, {.heads = 0, .head_dim = 5}, {.heads = 1, .head_dim = 8}}, 3, 4});
  const auto parts = [&](int32_t block) {
    std::vector<std::span<float>> out;
    Cpu::VisitKvBlock<KvFp32>(cache, block, [&](std::span<std::byte> bytes) {
      out.emplace_back(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
    });
    return out;
  };
  for (int32_t block = 0; block < 3; ++block) {
    float value = 1000.0f * static_cast<float>(block);
    for (const auto part : parts(block)) {
      for (float& each : part) each = value++;
    }
  }
  ASSERT_EQ(parts(0).size(), 4u) << "keys and values of the layers that have heads";
  Cpu::CopyBlock<KvFp32>(cpu_, cache, 2, 0);
  for (int32_t block = 0; block < 3; ++block) {
    float value = block == 1 ? 1000.0f : 2000.0f;
    for (const auto part : parts(block)) {
      for (const float each : part) EXPECT_EQ(each, value++) << "block " << block;
    }
  }
}

}  // namespace
}  // namespace inferflux::compute
