#include "apps/inferflux_bench/mask_bench.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <numeric>
#include <utility>
#include <vector>

#include "apps/inferflux_bench/json_lines.h"
#include "formats/gguf/gguf_file.h"
#include "model/loading/vocab_from_gguf.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_matcher.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

// On a clock, or of this thread alone, which does all the work: what other programs take does not count then.
double SecondsNow(bool cpu_time) {
  timespec now{};
  clock_gettime(cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Times {
 public:
  explicit Times(bool cpu_time) : cpu_time_(cpu_time) {}
  void Add(double seconds) { seconds_.push_back(seconds); }

  // Stores the result of the call and its duration.
  template <class Call>
  auto Time(Call call) {
    const double began = SecondsNow(cpu_time_);
    auto result = call();
    Add(SecondsNow(cpu_time_) - began);
    return result;
  }

  double last() const { return seconds_.empty() ? 0.0 : seconds_.back(); }
  double mean_us() const {
    if (seconds_.empty()) return 0.0;
    return 1e6 * std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
  }
  double us(double share) const {
    if (seconds_.empty()) return 0.0;
    std::vector<double> sorted = seconds_;
    std::ranges::sort(sorted);
    return 1e6 * sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  }

  std::string Row(const std::string& name) const {
    return fmt::format("{:<8} {:>8} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, seconds_.size(),
                       us(0.5), us(0.9), us(0.99), us(0.999), us(1.0));
  }

 private:
  bool cpu_time_;
  std::vector<double> seconds_;
};

Result<std::shared_ptr<const text::Tokenizer>> LoadTokenizer(const std::string& path) {
  auto file = formats::GgufFile::Open(path);
  if (!file) return Forward(file);
  auto specs = model::VocabFromGguf((*file)->metadata());
  if (!specs) return Forward(specs, path);
  return text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
}

class Report {
 public:
  Report(std::shared_ptr<const text::Tokenizer> tokenizer, const MaskBenchOptions& options)
      : tokenizer_(std::move(tokenizer)),
        compiler_(tokenizer_),
        options_(options),
        compile_(options.cpu_time),
        ttfm_(options.cpu_time),
        mask_(options.cpu_time) {}

  // Builds what all schemas share: the trie of the vocabulary.
  Status WarmUp() {
    auto warm = compiler_.Compile({});
    if (!warm) return Forward(warm);
    return {};
  }

  void Add(const json::object& entry) {
    ++schemas_;
    const auto* name = entry.if_contains("name");
    const auto* tests = entry.if_contains("tests");
    const std::string title =
        name != nullptr && name->is_string() ? std::string(name->get_string()) : fmt::format("schema {}", schemas_);
    const text::GrammarSpec spec{.kind = text::GrammarSpec::Kind::kJsonSchema,
                                 .source = json::serialize(entry.at("schema"))};
    const auto grammar = compile_.Time([&] { return compiler_.Compile(spec); });
    if (!grammar) {
      ++unsupported_;
      return Note("unsupported", title, grammar.error().message);
    }
    is_first_ = true;
    bool accepts_wrongly = false, rejects_wrongly = false;
    for (const auto& test : tests != nullptr && tests->is_array() ? tests->get_array() : json::array()) {
      if (!test.is_object() || !test.get_object().contains("data")) continue;
      const auto* stated = test.get_object().if_contains("valid");
      const bool valid = stated == nullptr || *stated == true;
      const std::string text = PythonJson(test.at("data"));
      const auto taken = Takes(*grammar, text);
      if (!taken) {
        ++crashed_;
        return Note("crashed", title, taken.error().message);
      }
      if (*taken == valid) continue;
      (valid ? rejects_wrongly : accepts_wrongly) = true;
      Note(valid ? "false reject" : "false accept", title, text);
    }
    false_accept_ += accepts_wrongly ? 1 : 0;
    false_reject_ += rejects_wrongly ? 1 : 0;
    correct_ += accepts_wrongly || rejects_wrongly ? 0 : 1;
  }

  std::string Text() const {
    const std::string line =
        fmt::format(R"({{"schemas":{},"correct":{},"false_accept":{},"false_reject":{},"unsupported":{},"crashed":{},)"
                    R"("ttfm_p50_us":{:.1f},"ttfm_p99_us":{:.1f},"mask_avg_us":{:.2f},"mask_p99_us":{:.1f}}})",
                    schemas_, correct_, false_accept_, false_reject_, unsupported_, crashed_, ttfm_.us(0.5),
                    ttfm_.us(0.99), mask_.mean_us(), mask_.us(0.99));
    return notes_ +
           fmt::format("{} tokens; {} schemas, {} of them refused; {} documents\n\n", tokenizer_->size(), schemas_,
                       unsupported_, documents_) +
           fmt::format("{:<8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}\n", options_.cpu_time ? "CPU us" : "us", "count",
                       "p50", "p90", "p99", "p99.9", "max") +
           compile_.Row("compile") + ttfm_.Row("ttfm") + mask_.Row("mask") + line + "\n";
  }

 private:
  void Note(std::string_view verdict, std::string_view title, std::string_view why) {
    if (options_.list) notes_ += fmt::format("{}: {}: {}\n", verdict, title, why);
  }

  // Whether the masks let the text through, to its end.
  Result<bool> Takes(const std::shared_ptr<const text::TokenGrammar>& grammar, const std::string& text) {
    ++documents_;
    text::GrammarMatcher matcher(grammar, false);
    for (const TokenId token : tokenizer_->Encode(text)) {
      const auto allowed = mask_.Time([&] { return matcher.Mask(); });
      if (!allowed) return Forward(allowed);
      if (std::exchange(is_first_, false)) ttfm_.Add(compile_.last() + mask_.last());
      if (!(*allowed)->Allows(token)) return false;
      if (auto accepted = matcher.Accept(token); !accepted) return Forward(accepted);
    }
    return matcher.can_end();
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::GrammarCompiler compiler_;
  MaskBenchOptions options_;
  bool is_first_ = true;
  Times compile_, ttfm_, mask_;
  int64_t schemas_ = 0, correct_ = 0, false_accept_ = 0, false_reject_ = 0, unsupported_ = 0, crashed_ = 0;
  int64_t documents_ = 0;
  std::string notes_;
};

}  // namespace

Result<std::string> BenchMasks(const std::string& vocabulary, const std::string& documents,
                               const MaskBenchOptions& options) {
  auto tokenizer = LoadTokenizer(vocabulary);
  if (!tokenizer) return Forward(tokenizer);
  const auto lines = ReadLines(documents);
  if (!lines) return Forward(lines);
  Report report(std::move(*tokenizer), options);
  if (auto warm = report.WarmUp(); !warm) return Forward(warm);
  for (size_t i = 0; i < lines->size(); ++i) {
    boost::system::error_code error;
    const json::value entry = json::parse((*lines)[i], error);
    if (error || !entry.is_object() || !entry.get_object().contains("schema")) {
      return Fail(ErrorCode::kDataLoss, "{}: line {} is not a JSON object with a schema", documents, i + 1);
    }
    report.Add(entry.get_object());
  }
  return report.Text();
}

}  // namespace inferflux::apps
