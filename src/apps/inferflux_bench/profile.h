// The time of each operation in a step, and the bytes and multiplications that it needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/inferflux_bench/ceiling.h"

namespace inferflux::apps {

// The minimum work of an operation; zero if it works on cached data.
struct OperationWork {
  double bytes = 0.0;            // from memory
  double int8_operations = 0.0;  // a multiply-add counts as two
  double bf16_operations = 0.0;
  double float_operations = 0.0;
};

struct ProfileLine {
  std::string operation;
  int64_t calls = 0;
  double seconds = 0.0;
  double time_share = 0.0;
  double ceiling_share = 0.0;  // 0: works on cached data
};

class Profile {
 public:
  void Add(std::string_view operation, double seconds, const OperationWork& work);
  void Clear() { totals_.clear(); }

  // The longest first. The rest of `seconds` comes last, as "between operations".
  std::vector<ProfileLine> Lines(double seconds, const Ceilings& ceilings) const;

 private:
  struct Total {
    int64_t calls = 0;
    double seconds = 0.0;
    OperationWork work;
  };
  std::map<std::string, Total, std::less<>> totals_;
};

// Adds the duration of its own lifetime.
class ProfileTimer {
 public:
  ProfileTimer(Profile& profile, std::string_view operation, const OperationWork& work = {})
      : profile_(profile), operation_(operation), work_(work) {}
  ~ProfileTimer() {
    profile_.Add(operation_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(), work_);
  }
  ProfileTimer(const ProfileTimer&) = delete;
  ProfileTimer& operator=(const ProfileTimer&) = delete;

 private:
  Profile& profile_;
  std::string_view operation_;
  OperationWork work_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace inferflux::apps
