// Builds GGUF files byte by byte, so that tests can break each rule of the format on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/gguf_value.h"
#include "formats/tensor_type.h"

namespace inferflux::testing {

class GgufBytes {
 public:
  template <class T>
  GgufBytes& Put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  GgufBytes& Raw(std::string_view text) {
    text_.append(text);
    return *this;
  }
  GgufBytes& Text(std::string_view text) { return Put<uint64_t>(text.size()).Raw(text); }
  GgufBytes& Header(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    return Raw("GGUF").Put(version).Put(tensors).Put(entries);
  }
  GgufBytes& Key(std::string_view key, formats::GgufValueType type) { return Text(key).Put(type); }
  GgufBytes& Tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    Text(name).Put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) Put(dim);
    return Put(type).Put(offset);
  }
  GgufBytes& PadTo(size_t multiple) {
    while (text_.size() % multiple != 0) text_.push_back('\0');
    return *this;
  }
  GgufBytes& Zeros(size_t count) {
    text_.append(count, '\0');
    return *this;
  }

  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }
  // Aligned as the parser requires, because std::string's heap memory is.
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

}  // namespace inferflux::testing
