#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizer/pre_tokenizer/regex_splitter.h"

#include <pcre2.h>

#include <string>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

// PCRE2's \s also matches U+180E, which left White_Space in Unicode 6.3. The engines used to train the models follow
// White_Space.
std::string WithWhiteSpaceProperty(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out.push_back(pattern[i]);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += R"(\p{White_Space})";
    } else if (escaped == 'S') {
      out += R"(\P{White_Space})";
    } else {
      out.append({'\\', escaped});
    }
  }
  return out;
}

// Some patterns keep state for every character of a run. This is enough for runs of several megabytes, and memory is
// allocated only when it is touched.
constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackLimit = size_t{256} << 20;

}  // namespace

struct RegexSplitter::Impl {
  Code code;
  bool jit = false;
};

RegexSplitter::RegexSplitter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;
RegexSplitter::~RegexSplitter() = default;

Result<RegexSplitter> RegexSplitter::Compile(std::string_view pattern) {
  const std::string source = WithWhiteSpaceProperty(pattern);
  int error = 0;
  PCRE2_SIZE where = 0;
  auto impl = std::make_unique<Impl>();
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), PCRE2_UTF | PCRE2_UCP,
                                 &error, &where, nullptr));
  if (!impl->code) {
    PCRE2_UCHAR message[128] = {};
    pcre2_get_error_message(error, message, sizeof(message));
    return Fail(ErrorCode::kInvalidArgument, "the pre-tokeniser's pattern is wrong at offset {}: {}", where,
                reinterpret_cast<const char*>(message));
  }
  impl->jit = pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return RegexSplitter(std::move(impl));
}

void RegexSplitter::Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const {
  const MatchData match(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  JitStack stack;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
  size_t done = 0;  // where the last piece ended
  size_t at = 0;    // where to search next
  while (at < text.size() && !WorkBudget::Spent(8)) {
    int rc = pcre2_match(impl_->code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), context.get());
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
      stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
      continue;
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    // After an empty match, or one that exceeded every limit, advances by a character.
    if (rc < 0 || found[1] == found[0]) {
      at = (rc < 0 ? at : found[1]);
      at += unicode::DecodeUtf8(text, at).size;
      continue;
    }
    if (found[0] > done) ends.push_back(base + static_cast<uint32_t>(found[0]));
    ends.push_back(base + static_cast<uint32_t>(found[1]));
    done = at = found[1];
  }
  if (done < text.size()) ends.push_back(base + static_cast<uint32_t>(text.size()));
}

}  // namespace inferflux::text
