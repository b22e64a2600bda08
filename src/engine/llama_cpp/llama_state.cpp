#include "engine/llama_cpp/llama_state.h"

#include <cstring>

#include "base/without_exceptions.h"

namespace inferflux::engine {
namespace {

constexpr size_t kHead = sizeof(int32_t);

}  // namespace

Result<std::vector<std::byte>> SaveState(llama_context& context, int32_t id, int32_t tokens) {
  return WithoutExceptions("llama.cpp saving a sequence", [&]() -> Result<std::vector<std::byte>> {
    const size_t size = llama_state_seq_get_size(&context, id);
    std::vector<std::byte> out(kHead + size);
    std::memcpy(out.data(), &tokens, kHead);
    const LlamaComplaints complaints;
    const size_t written = llama_state_seq_get_data(&context, reinterpret_cast<uint8_t*>(out.data() + kHead), size, id);
    if (written > 0 && written <= size) {
      out.resize(kHead + written);
      return out;
    }
    return Fail(ErrorCode::kInternal, "llama.cpp cannot save a sequence of {} tokens: {}", tokens, complaints.text());
  });
}

Result<int32_t> StateTokens(std::span<const std::byte> saved) {
  int32_t tokens = -1;
  if (saved.size() > kHead) std::memcpy(&tokens, saved.data(), kHead);
  if (tokens > 0) return tokens;
  return Fail(ErrorCode::kDataLoss, "{} bytes that are no saved sequence of llama.cpp's", saved.size());
}

Status RestoreState(llama_context& context, int32_t id, std::span<const std::byte> saved) {
  return WithoutExceptions("llama.cpp restoring a sequence", [&]() -> Status {
    const auto state = saved.subspan(kHead);
    const LlamaComplaints complaints;
    if (llama_state_seq_set_data(&context, reinterpret_cast<const uint8_t*>(state.data()), state.size(), id) > 0)
      return {};
    llama_memory_seq_rm(llama_get_memory(&context), id, -1, -1);
    return Fail(ErrorCode::kUnsupported, "llama.cpp does not take a saved sequence back: {}", complaints.text());
  });
}

}  // namespace inferflux::engine
