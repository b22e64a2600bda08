// The models that this process serves, by id. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "routing/served_model.h"

namespace inferflux::routing {

class ModelRegistry {
 public:
  // The first model that is added is the default, unless a later one says that it is. An id may be used once.
  Status Add(std::shared_ptr<const ServedModel> model, bool is_default = false);

  // An id that is empty or "default" is the default route; any other id is that very model or kNotFound.
  Result<std::shared_ptr<const ServedModel>> Find(std::string_view id) const;

  std::vector<std::shared_ptr<const ServedModel>> List() const;  // in the order in which they were added

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ServedModel>> models_;
  size_t default_ = 0;
};

}  // namespace inferflux::routing
