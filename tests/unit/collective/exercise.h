// What every rank of a test does: each operation, many times, with sizes below and above a slot. Each rank knows what
// the others contribute, from the seed, and computes the results alone.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "collective/collective.h"

namespace inferflux::collective {

inline std::vector<float> Values(uint32_t seed, int32_t rank, size_t count) {
  std::mt19937 random(seed * 977 + static_cast<uint32_t>(rank));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> out(count);
  for (float& value : out) value = uniform(random);
  return out;
}

inline std::vector<float> Reduced(uint32_t seed, int32_t size, size_t count, Reduction reduction) {
  std::vector<float> out = Values(seed, 0, count);
  for (int32_t rank = 1; rank < size; ++rank) {
    const std::vector<float> more = Values(seed, rank, count);
    for (size_t i = 0; i < count; ++i) {
      out[i] = reduction == Reduction::kSum ? out[i] + more[i] : std::max(out[i], more[i]);
    }
  }
  return out;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Empty, or what went wrong.
inline std::string Exercise(Collective& ranks, uint32_t seed, int32_t turns) {
  std::mt19937 random(seed);
  const int32_t size = ranks.size();
  for (int32_t turn = 0; turn < turns; ++turn) {
    const uint32_t own_seed = seed + static_cast<uint32_t>(turn);
    const size_t count = std::uniform_int_distribution<size_t>(1, 200)(random);
    const int32_t root = std::uniform_int_distribution<int32_t>(0, size - 1)(random);
    switch (std::uniform_int_distribution<int>(0, 4)(random)) {
      case 0: {
        const auto reduction = random() % 2 == 0 ? Reduction::kSum : Reduction::kMax;
        auto values = Values(own_seed, ranks.rank(), count);
        if (auto done = ranks.AllReduce(values, reduction); !done) return done.error().message;
        if (!SameBits(values, Reduced(own_seed, size, count, reduction))) return "the reduction is wrong";
        break;
      }
      case 1: {
        const auto own = Values(own_seed, ranks.rank(), count);
        std::vector<float> all(count * static_cast<size_t>(size)), right;
        if (auto done = ranks.AllGather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all))); !done) {
          return done.error().message;
        }
        for (int32_t rank = 0; rank < size; ++rank) {
          const auto theirs = Values(own_seed, rank, count);
          right.insert(right.end(), theirs.begin(), theirs.end());
        }
        if (!SameBits(all, right)) return "what was gathered is wrong";
        break;
      }
      case 2: {
        auto values = ranks.rank() == root ? Values(own_seed, root, count) : std::vector<float>(count);
        if (auto done = ranks.Broadcast(std::as_writable_bytes(std::span(values)), root); !done) {
          return done.error().message;
        }
        if (!SameBits(values, Values(own_seed, root, count))) return "what was broadcast is wrong";
        break;
      }
      case 3:
        if (auto done = ranks.Barrier(); !done) return done.error().message;
        break;
      default: {  // from each rank to the next one, as the stages of a pipeline
        std::vector<float> values = Values(own_seed, 0, count);
        if (ranks.rank() > 0) {
          std::vector<float> got(count);
          if (auto done = ranks.Receive(std::as_writable_bytes(std::span(got)), ranks.rank() - 1); !done) {
            return done.error().message;
          }
          if (!SameBits(got, values)) return "what was received is wrong";
        }
        if (ranks.rank() + 1 < size) {
          if (auto done = ranks.Send(std::as_bytes(std::span(values)), ranks.rank() + 1); !done) {
            return done.error().message;
          }
        }
        break;
      }
    }
  }
  return "";
}

}  // namespace inferflux::collective
