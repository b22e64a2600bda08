// inferflux-convert: converts a Hugging Face directory to a GGUF file.
#include <fmt/format.h>

#include <chrono>

#include "apps/console/may_write.h"
#include "apps/console/output_file.h"
#include "apps/console/progress_bar.h"
#include "apps/inferflux_convert/convert.h"
#include "base/usable_cores.h"
#include "command_line/command_line.h"

namespace inferflux::apps {
namespace {

struct Arguments {
  ConvertOptions convert;
  std::string output;
  std::string type;
  int threads = 0;
  bool force = false;
};

Status Run(Arguments& arguments) {
  if (!arguments.type.empty()) {
    const auto mix = formats::FindQuantMix(arguments.type);
    if (!mix) return Forward(mix);
    arguments.convert.mix = *mix;
  }
  if (Status allowed = MayWrite(arguments.output, arguments.force); !allowed) return allowed;
  auto output = OutputFile::Create(arguments.output);
  if (!output) return Forward(output);
  ThreadPool pool(arguments.threads > 0 ? arguments.threads : UsableCores());
  ProgressBar bar;
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&](uint64_t done, uint64_t total, const std::string& tensor) { bar.Show(done, total, tensor); };
  const auto summary = Convert(arguments.convert, output->stream(), pool, show);
  bar.Clear();
  if (!summary) return Forward(summary);
  if (auto committed = output->Commit(); !committed) return committed;
  fmt::print("{} tensors, {:.1f} million weights, {:.1f} MB in {:.1f} s\n", summary->tensors,
             static_cast<double>(summary->weights) / 1e6, static_cast<double>(summary->bytes) / 1e6,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return {};
}

}  // namespace
}  // namespace inferflux::apps

int main(int argc, char** argv) {
  using namespace inferflux;
  apps::Arguments arguments;
  CommandLine app("inferflux-convert",
                  "Writes a Hugging Face model directory (config.json, tokenizer.json, safetensors) as a GGUF file.");
  app.Add("directory", arguments.convert.directory, "the model's directory").Required().Shown("HF_DIR");
  app.Add("output", arguments.output, "the file to write").Required().Shown("OUT.gguf");
  app.Add("--type", arguments.type, "quantise on the way: any type of inferflux-quantize (default: as stored)")
      .Shown("TYPE");
  app.Add("--pre", arguments.convert.pre, "the name of the pre-tokenizer, if it cannot be detected").Shown("NAME");
  app.Add("--threads", arguments.threads, "threads to use (default: all usable cores)").Between(1, 1024);
  app.AddFlag("--force", arguments.force, "replace an existing file without asking");
  app.AddPrinters();
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  if (const Status done = apps::Run(arguments); !done) {
    fmt::print(stderr, "inferflux-convert: {}\n", done.error().message);
    return done.error().code == ErrorCode::kInvalidArgument ? kUsageError : kFailed;
  }
  return kOk;
}
