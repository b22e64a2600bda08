// inferflux-quantize: writes a GGUF model in smaller types.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "apps/console/may_write.h"
#include "apps/console/output_file.h"
#include "apps/console/progress_bar.h"
#include "apps/inferflux_quantize/report.h"
#include "base/usable_cores.h"
#include "command_line/command_line.h"

namespace inferflux::apps {
namespace {

struct Options {
  std::string input;
  std::string output;
  std::string type;
  std::string importance;
  int threads = 0;
  bool list_tensors = false;
  bool force = false;
};

Status Quantize(const Options& options) {
  const auto mix = formats::FindQuantMix(options.type);
  if (!mix) return Forward(mix);
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored)) {
    return Fail(ErrorCode::kInvalidArgument, "{} cannot be written over itself", options.input);
  }
  if (Status allowed = MayWrite(options.output, options.force); !allowed) return allowed;
  const auto file = formats::GgufFile::Open(options.input);
  if (!file) return Forward(file);
  std::optional<formats::ImportanceMatrix> importance;
  if (!options.importance.empty()) {
    auto opened = formats::ImportanceMatrix::Open(options.importance);
    if (!opened) return Forward(opened);
    importance = std::move(*opened);
  }
  auto output = OutputFile::Create(options.output);
  if (!output) return Forward(output);
  ThreadPool pool(options.threads > 0 ? options.threads : UsableCores());
  ProgressBar bar;
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&](uint64_t done, uint64_t total, const formats::GgufTensor& tensor) {
    bar.Show(done, total, tensor.name);
  };
  const formats::QuantizeOptions quantize{*mix, importance ? &*importance : nullptr, true};
  const auto tensors = formats::QuantizeGguf(**file, output->stream(), quantize, pool, show);
  bar.Clear();
  if (!tensors) return Forward(tensors);
  if (auto committed = output->Commit(); !committed) return committed;
  if (options.list_tensors) PrintTensors(*tensors);
  PrintSummary(*tensors, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return {};
}

std::string TypeNames() {
  std::string names;
  for (const formats::QuantMix& mix : formats::AllQuantMixes()) names += fmt::format(" {}", mix.name);
  return names;
}

}  // namespace
}  // namespace inferflux::apps

int main(int argc, char** argv) {
  using namespace inferflux;
  apps::Options options;
  CommandLine app(
      "inferflux-quantize",
      "Writes a GGUF model in smaller types.\n\nTypes:" + apps::TypeNames() +
          "\nQ3_K, Q4_K and Q5_K mean their _M mixes. Start from an F32, F16 or BF16 file: what an earlier\n"
          "quantisation lost does not come back.");
  app.Add("input", options.input, "the model; of a split one, the first part").Required().Shown("IN.gguf");
  app.Add("output", options.output, "the file to write").Required().Shown("OUT.gguf");
  app.Add("type", options.type, "one of the types above").Required().Shown("TYPE");
  app.Add("--imatrix", options.importance, "an importance matrix, in GGUF form").Shown("FILE");
  app.Add("--threads", options.threads, "threads to use (default: all usable cores)").Between(1, 1024);
  app.AddFlag("--force", options.force, "replace an existing file without asking");
  app.AddFlag("--list", options.list_tensors, "print every tensor's types and error");
  app.AddPrinters();
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  if (const Status done = apps::Quantize(options); !done) {
    fmt::print(stderr, "inferflux-quantize: {}\n", done.error().message);
    return done.error().code == ErrorCode::kInvalidArgument ? kUsageError : kFailed;
  }
  return kOk;
}
