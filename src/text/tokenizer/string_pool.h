// Many short strings in one allocation, by index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::text {

class StringPool {
 public:
  void Add(std::string_view text) {
    chars_.append(text);
    ends_.push_back(chars_.size());
  }

  std::string_view operator[](size_t index) const {
    const uint64_t begin = index == 0 ? 0 : ends_[index - 1];
    return {chars_.data() + begin, ends_[index] - begin};
  }

  size_t size() const { return ends_.size(); }

 private:
  std::string chars_;
  std::vector<uint64_t> ends_;
};

}  // namespace inferflux::text
