// Authenticates what goes into a store and what comes out of it, by a key that all workers have: a blob that was
// changed, cut, or put under another name is refused. The store sees neither the names nor who owns a session, but the
// tokens and their KV are not encrypted.
#pragma once

#include <memory>
#include <string>

#include "scheduler/sessions/session_store.h"

namespace inferflux::session_store {

class SealedStore final : public scheduler::SessionStore {
 public:
  SealedStore(std::shared_ptr<scheduler::SessionStore> inner, std::string key)
      : inner_(std::move(inner)), key_(std::move(key)) {}

  Status Put(const std::string& name, std::string blob, scheduler::WallTime expires) override;
  Result<std::string> Get(const std::string& name, size_t most) override;
  Status Remove(const std::string& name) override;

 private:
  // 64 hexadecimal digits.
  std::string Hidden(const std::string& name) const;
  std::string Seal(const std::string& name, std::string_view blob) const;

  const std::shared_ptr<scheduler::SessionStore> inner_;
  const std::string key_;
};

}  // namespace inferflux::session_store
