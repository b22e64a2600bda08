#include "apps/inferflux_bench/mask_bench.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <utility>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "model/loading/vocab_from_gguf.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_matcher.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

using Clock = std::chrono::steady_clock;

class Times {
 public:
  // Stores the result of the call and its duration.
  template <class Call>
  auto Time(Call call) {
    const auto began = Clock::now();
    auto result = call();
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    return result;
  }

  std::string Row(const std::string& name) {
    std::ranges::sort(seconds_);
    const auto at = [&](double share) {
      return seconds_.empty() ? 0.0
                              : 1e6 * seconds_[static_cast<size_t>(share * static_cast<double>(seconds_.size() - 1))];
    };
    return fmt::format("{:<8} {:>8} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, seconds_.size(),
                       at(0.5), at(0.9), at(0.99), at(0.999), at(1.0));
  }

 private:
  std::vector<double> seconds_;
};

Result<std::shared_ptr<const text::Tokenizer>> LoadTokenizer(const std::string& path) {
  auto file = formats::GgufFile::Open(path);
  if (!file) return Forward(file);
  auto specs = model::VocabFromGguf((*file)->metadata());
  if (!specs) return Forward(specs, path);
  return text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
}

struct Report {
  Times compile, first, mask;
  int64_t schemas = 0, refused = 0, documents = 0, left = 0;

  // Walks one document; `left` if the grammar does not accept it.
  Status Walk(const std::shared_ptr<const text::TokenGrammar>& grammar, const std::vector<TokenId>& tokens,
              bool is_first) {
    ++documents;
    text::GrammarMatcher matcher(grammar, false);
    for (const TokenId token : tokens) {
      const auto allowed = (is_first ? first : mask).Time([&] { return matcher.Mask(); });
      if (!allowed) return Forward(allowed);
      if (!matcher.Accept(token)) {
        ++left;
        return {};
      }
      is_first = false;
    }
    return {};
  }
};

}  // namespace

Result<std::string> BenchMasks(const std::string& vocabulary, const std::string& documents) {
  auto tokenizer = LoadTokenizer(vocabulary);
  if (!tokenizer) return Forward(tokenizer);
  std::ifstream file(documents);
  if (!file) return Fail(ErrorCode::kNotFound, "no file {}", documents);
  text::GrammarCompiler compiler(*tokenizer);
  if (auto warm = compiler.Compile({}); !warm) return Forward(warm);  // builds the trie of the vocabulary
  Report report;
  for (std::string line; std::getline(file, line);) {
    boost::system::error_code error;
    const json::value entry = json::parse(line, error);
    if (error || !entry.is_object())
      return Fail(ErrorCode::kDataLoss, "{}: line {} is not a JSON object", documents, report.schemas + 1);
    ++report.schemas;
    const auto* schema = entry.get_object().if_contains("schema");
    const auto* tests = entry.get_object().if_contains("tests");
    if (schema == nullptr || tests == nullptr || !tests->is_array()) continue;
    const text::GrammarSpec spec{.kind = text::GrammarSpec::Kind::kJsonSchema, .source = json::serialize(*schema)};
    const auto grammar = report.compile.Time([&] { return compiler.Compile(spec); });
    if (!grammar) {
      ++report.refused;
      continue;
    }
    bool is_first = true;
    for (const auto& test : tests->get_array()) {
      if (!test.is_object() || !test.get_object().contains("data")) continue;
      const auto* valid = test.get_object().if_contains("valid");
      if (valid != nullptr && *valid == false) continue;
      const auto walked = report.Walk(*grammar, (*tokenizer)->Encode(json::serialize(test.at("data"))), is_first);
      if (!walked) return Fail(walked.error().code, "line {}: {}", report.schemas, walked.error().message);
      is_first = false;
    }
  }
  return fmt::format("{} tokens; {} schemas, {} refused; {} documents, {} of them left the grammar\n\n",
                     (*tokenizer)->size(), report.schemas, report.refused, report.documents, report.left) +
         fmt::format("{:<8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "us", "count", "p50", "p90", "p99", "p99.9",
                     "max") +
         report.compile.Row("compile") + report.first.Row("first") + report.mask.Row("mask");
}

}  // namespace inferflux::apps
