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
  // The first added model is the default, unless a later one claims to be. Ids are unique.
  Status Add(std::shared_ptr<const ServedModel> model, bool is_default = false);

  // Checks whether a model may be added under this id; kInvalidArgument gives the reason if not.
  Status CheckId(const std::string& id) const;

  // Removes the model from the list; current holders may keep using it. If it was the default, the first remaining
  // model becomes the default.
  Result<std::shared_ptr<const ServedModel>> Remove(const std::string& id);

  // kNotFound if there is no such model.
  Status SetDefault(const std::string& id);
  std::string default_id() const;  // empty if no model is loaded

  // An empty id or "default" means the default route; any other id means exactly that model, or kNotFound.
  Result<std::shared_ptr<const ServedModel>> Find(std::string_view id) const;

  std::vector<std::shared_ptr<const ServedModel>> List() const;  // in the order of addition

 private:
  Status CheckIdLocked(const std::string& id) const;
  Result<size_t> IndexOf(std::string_view id) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ServedModel>> models_;
  size_t default_ = 0;
};

}  // namespace inferflux::serving
