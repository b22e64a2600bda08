// Who may call, as one value that a running server can replace whole.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "server/request/access/api_keys.h"
#include "server/request/access/site_policy.h"

namespace inferflux::server {

struct AccessRules {
  ApiKeys keys;
  SitePolicy sites;           // which web pages may call
  bool open_metrics = false;  // /metrics needs no key
};

// Any thread.
class CurrentRules {
 public:
  explicit CurrentRules(AccessRules rules) : rules_(std::make_shared<const AccessRules>(std::move(rules))) {}

  std::shared_ptr<const AccessRules> get() const {
    const std::lock_guard lock(mutex_);
    return rules_;
  }
  void Replace(AccessRules rules) {
    auto fresh = std::make_shared<const AccessRules>(std::move(rules));
    const std::lock_guard lock(mutex_);
    rules_.swap(fresh);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AccessRules> rules_;
};

}  // namespace inferflux::server
