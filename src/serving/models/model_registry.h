// The models that this process serves, by id. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

class ModelRegistry {
 public:
  // The first model that is added is the default, unless a later one says that it is. An id may be used once.
  Status Add(std::shared_ptr<const ServedModel> model, bool is_default = false);

  // Whether a model may be added under this id: kInvalidArgument says why not.
  Status CheckId(const std::string& id) const;

  // Takes the model off the list; whoever holds it may go on using it. Where it was the default, the first that is left
  // becomes it.
  Result<std::shared_ptr<const ServedModel>> Remove(const std::string& id);

  // kNotFound where there is no such model.
  Status SetDefault(const std::string& id);
  std::string default_id() const;  // empty where no model is loaded

  // An id that is empty or "default" is the default route; any other id is that very model or kNotFound.
  Result<std::shared_ptr<const ServedModel>> Find(std::string_view id) const;

  std::vector<std::shared_ptr<const ServedModel>> List() const;  // in the order in which they were added

 private:
  Status CheckIdLocked(const std::string& id) const;
  Result<size_t> IndexOf(std::string_view id) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ServedModel>> models_;
  size_t default_ = 0;
};

}  // namespace inferflux::serving
