#include "serving/pool/model_use.h"

#include <utility>

namespace inferflux::serving {

std::shared_ptr<const ServedModel> ModelUse::Lend(std::shared_ptr<ModelUse> use,
                                                  std::shared_ptr<const ServedModel> model) {
  struct Lease {
    Lease(std::shared_ptr<ModelUse> use, std::shared_ptr<const ServedModel> model)
        : use(std::move(use)), model(std::move(model)) {
      this->use->Enter();
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      model.reset();  // before the count falls: who waits for zero then holds the last copy
      use->Leave();
    }
    std::shared_ptr<ModelUse> use;
    std::shared_ptr<const ServedModel> model;
  };
  const ServedModel* served = model.get();
  return {std::make_shared<Lease>(std::move(use), std::move(model)), served};
}

int ModelUse::users() const {
  const std::lock_guard lock(mutex_);
  return users_;
}

ModelUse::Clock::time_point ModelUse::idle_since() const {
  const std::lock_guard lock(mutex_);
  return idle_since_;
}

ModelUse::Clock::time_point ModelUse::last_lent() const {
  const std::lock_guard lock(mutex_);
  return last_lent_;
}

bool ModelUse::WaitForNone(Clock::time_point until) const {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, until, [this] { return users_ == 0; });
}

void ModelUse::Enter() {
  const std::lock_guard lock(mutex_);
  ++users_;
  last_lent_ = Clock::now();
}

void ModelUse::Leave() {
  {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    idle_since_ = Clock::now();
    none_.notify_all();
  }
  if (idle_) idle_->Wake();
}

}  // namespace inferflux::serving
