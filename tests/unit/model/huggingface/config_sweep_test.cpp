// Directories of unusual configurations, each with what transformers computes: we compute the same, or refuse to.
//
// The few of tests/data/configs (tools/configs/known.py) say which of the two is right. With
// INFERFLUX_CONFIG_SWEEP=FOLDER the program judges that folder's instead (tools/configs/sweep.py), and prints a line
// for each: name, equal, refused or different, and the error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"
#include "model/families/expect_hidden.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

constexpr double kBound = 1e-4;
constexpr double kBoundOfDrawn = 1e-3;  // a setting that is read wrongly is at least ten times as far off
constexpr double kBoundOfCpu =
    1e-1;  // MXFP4 experts are multiplied by 8-bit activations, and a router may choose another

const char* SweepFolder() { return std::getenv("INFERFLUX_CONFIG_SWEEP"); }

std::filesystem::path Folder() { return SweepFolder() != nullptr ? SweepFolder() : testing::DataPath("configs"); }

std::vector<std::string> Names() {
  constexpr std::string_view kGolden = ".golden.gguf";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kGolden)) names.push_back(name.substr(0, name.size() - kGolden.size()));
  }
  std::ranges::sort(names);
  return names;
}

struct Verdict {
  std::string word;  // equal, refused, different
  std::string detail;
  std::string expected;
};

template <class B>
Verdict Judge(typename B::Context& context, const std::string& name, double bound) {
  const auto golden = formats::GgufFile::Open((Folder() / (name + ".golden.gguf")).string());
  if (!golden) throw std::runtime_error(golden.error().message);
  const auto& metadata = (*golden)->metadata();
  const std::string expected = metadata.template GetOr<std::string>("golden.expected", "").value();
  const auto source = ModelSource::Open((Folder() / (name + "-hf")).string());
  if (!source) return {"refused", source.error().message, expected};
  const auto config = ReadModelConfig(**source, metadata.template Get<int32_t>("golden.context").value());
  if (!config) return {"refused", config.error().message, expected};
  auto runner = ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 8, 16);
  if (!runner) return {"refused", runner.error().message, expected};

  const auto tokens = testing::Values<TokenId>(**golden, "tokens");
  const auto wanted = testing::Values<float>(**golden, "rows");
  const auto count = static_cast<int32_t>(tokens.size());
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto hidden = runner->Step(testing::OneSequence(tokens, 0, count, 16), rows);
  const auto made = config->causal ? runner->Read(runner->Logits(hidden)) : runner->Read(hidden);
  if (!config->causal && made.size() != wanted.size()) return {"refused", "an encoder, which has no logits", expected};
  if (made.size() != wanted.size()) return {"different", "another number of values", expected};
  const size_t width = wanted.size() / tokens.size();
  double worst = 0.0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    worst = std::max(worst, testing::RelativeError(std::span(made).subspan(i * width, width),
                                                   std::span(wanted).subspan(i * width, width)));
  }
  return {worst < bound ? "equal" : "different", fmt::format("{:.1e}", worst), expected};
}

class ConfigSweep : public ::testing::TestWithParam<std::string> {
 protected:
  void Expect(const Verdict& verdict) const {
    if (SweepFolder() != nullptr) {
      std::cout << GetParam() << '\t' << verdict.word << '\t' << verdict.detail << std::endl;
      EXPECT_NE(verdict.word, "different") << verdict.detail;
    } else {
      EXPECT_EQ(verdict.word, verdict.expected) << verdict.detail;
    }
  }
};

TEST_P(ConfigSweep, ReferenceEqualsTransformersOrRefuses) {
  compute::Reference::Context context;
  Expect(Judge<compute::Reference>(context, GetParam(), SweepFolder() != nullptr ? kBoundOfDrawn : kBound));
}

TEST_P(ConfigSweep, SoDoesCpu) {
  if (SweepFolder() != nullptr) GTEST_SKIP() << "what a configuration means does not depend on the backend";
  ThreadPool pool(2);
  const auto isa = compute::cpu::SelectCpuIsa();
  ASSERT_TRUE(isa) << isa.error().message;
  compute::Cpu::Context context(pool, *isa);
  const bool floats = !GetParam().starts_with("gpt_oss");
  Expect(Judge<compute::Cpu>(context, GetParam(), floats ? kBound : kBoundOfCpu));
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Configurations, ConfigSweep, ::testing::ValuesIn(Names()), TestName);

TEST(ConfigSweepModels, AreThere) { EXPECT_GE(Names().size(), 20u); }

}  // namespace
}  // namespace inferflux::model
