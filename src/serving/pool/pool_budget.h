// The host memory that the models of a pool may hold together: weights and KV, in bytes. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace inferflux::serving {

// Nine tenths of the memory that this process may use.
int64_t DefaultPoolBudget();

struct PoolUse {
  struct Holder {
    std::string id;
    int64_t bytes = 0;
  };
  int64_t budget = 0;
  int64_t used = 0;  // may exceed the budget: what a load takes is known exactly only afterwards
  std::vector<Holder> holders;

  int64_t left() const { return used < budget ? budget - used : 0; }
};

class PoolBudget {
  struct Book;

 public:
  explicit PoolBudget(int64_t bytes);

  // A share of the budget. It is given back when the claim is destroyed, which may be after the budget.
  class Claim {
   public:
    Claim() = default;  // claims nothing
    Claim(Claim&& other) noexcept = default;
    Claim& operator=(Claim&& other) noexcept;
    ~Claim() { Release(); }

    void Release();
    void Resize(int64_t bytes);  // never fails: for what was measured
    int64_t bytes() const;

   private:
    friend class PoolBudget;
    Claim(std::shared_ptr<Book> book, uint64_t number) : book_(std::move(book)), number_(number) {}

    std::shared_ptr<Book> book_;
    uint64_t number_ = 0;
  };

  // None if less than `bytes` are left.
  std::optional<Claim> Take(const std::string& holder, int64_t bytes);
  PoolUse use() const;

 private:
  std::shared_ptr<Book> book_;
};

}  // namespace inferflux::serving
