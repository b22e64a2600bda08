#include "serving/pool/pool_budget.h"

#include <map>
#include <utility>

#include "base/host_memory.h"

namespace inferflux::serving {

int64_t DefaultPoolBudget() { return ReadHostMemory().total / 10 * 9; }

struct PoolBudget::Book {
  mutable std::mutex mutex;
  int64_t budget = 0;
  int64_t used = 0;
  uint64_t next = 1;
  std::map<uint64_t, PoolUse::Holder> claims = {};  // in the order of their making
};

PoolBudget::PoolBudget(int64_t bytes) : book_(std::make_shared<Book>()) { book_->budget = bytes; }

std::optional<PoolBudget::Claim> PoolBudget::Take(const std::string& holder, int64_t bytes) {
  const std::lock_guard lock(book_->mutex);
  if (bytes > book_->budget - book_->used) return std::nullopt;
  book_->used += bytes;
  const uint64_t number = book_->next++;
  book_->claims[number] = {holder, bytes};
  return Claim(book_, number);
}

PoolUse PoolBudget::use() const {
  const std::lock_guard lock(book_->mutex);
  PoolUse out{.budget = book_->budget, .used = book_->used, .holders = {}};
  for (const auto& [number, holder] : book_->claims) out.holders.push_back(holder);
  return out;
}

PoolBudget::Claim& PoolBudget::Claim::operator=(Claim&& other) noexcept {
  if (this != &other) {
    Release();
    book_ = std::move(other.book_);
    number_ = other.number_;
  }
  return *this;
}

void PoolBudget::Claim::Release() {
  const auto book = std::exchange(book_, nullptr);
  if (!book) return;
  const std::lock_guard lock(book->mutex);
  const auto found = book->claims.find(number_);
  book->used -= found->second.bytes;
  book->claims.erase(found);
}

void PoolBudget::Claim::Resize(int64_t bytes) {
  if (!book_) return;
  const std::lock_guard lock(book_->mutex);
  int64_t& held = book_->claims.at(number_).bytes;
  book_->used += bytes - held;
  held = bytes;
}

int64_t PoolBudget::Claim::bytes() const {
  if (!book_) return 0;
  const std::lock_guard lock(book_->mutex);
  return book_->claims.at(number_).bytes;
}

}  // namespace inferflux::serving
