#include "session_store/sealed_store.h"

#include <openssl/crypto.h>

#include <array>
#include <string_view>
#include <utility>

#include "session_store/digest.h"

namespace inferflux::session_store {
namespace {

// A byte that no name contains separates the parts.
constexpr std::string_view kEnd("\0", 1);

}  // namespace

std::string SealedStore::Hidden(const std::string& name) const {
  return Hex(HmacSha256(key_, std::array<std::string_view, 3>{"name", kEnd, name}));
}

std::string SealedStore::Seal(const std::string& name, std::string_view blob) const {
  const Digest seal = HmacSha256(key_, std::array<std::string_view, 5>{"blob", kEnd, name, kEnd, blob});
  return std::string(BytesOf(seal));
}

Status SealedStore::Put(const std::string& name, std::string blob, scheduler::WallTime expires) {
  blob += Seal(name, blob);
  return inner_->Put(Hidden(name), std::move(blob), expires);
}

Result<std::string> SealedStore::Get(const std::string& name, size_t most) {
  constexpr size_t kSeal = std::tuple_size_v<Digest>;
  auto blob = inner_->Get(Hidden(name), most + kSeal);
  if (!blob) return blob;
  const bool sealed = blob->size() >= kSeal;
  const std::string_view body = std::string_view(*blob).substr(0, sealed ? blob->size() - kSeal : 0);
  if (!sealed || CRYPTO_memcmp(Seal(name, body).data(), blob->data() + body.size(), kSeal) != 0) {
    return Fail(ErrorCode::kDataLoss,
                "what the store has is not what a worker with this key (runtime.session_store_key_file) has put there");
  }
  blob->resize(body.size());
  return blob;
}

Status SealedStore::Remove(const std::string& name) { return inner_->Remove(Hidden(name)); }

}  // namespace inferflux::session_store
