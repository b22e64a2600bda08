#include "text/grammar/tokens/mask_part.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;

}  // namespace

size_t MaskPart::bytes() const {
  return 256 + few.size() * sizeof(TokenId) + exits.size() * sizeof(uint32_t) + (many ? many->words().size() * 8 : 0);
}

std::shared_ptr<const MaskPart> MaskPartCache::Find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = parts_.find(key);
  return found == parts_.end() ? nullptr : found->second;
}

void MaskPartCache::Keep(const Key& key, const std::shared_ptr<const MaskPart>& part) {
  const std::lock_guard lock(mutex_);
  if (bytes_ > kMaxBytes) {
    parts_.clear();
    bytes_ = 0;
  }
  if (parts_.try_emplace(key, part).second) bytes_ += part->bytes();
}

size_t MaskPartCache::Hash::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const uint32_t value : key) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace inferflux::text
