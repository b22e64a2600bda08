// inferflux-bench: measures how fast a model runs here, and its share of the machine's ceiling.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "apps/inferflux_bench/mask_bench.h"
#include "apps/inferflux_bench/profiled_engine.h"
#include "apps/inferflux_bench/report.h"
#include "apps/inferflux_bench/synthetic_model.h"
#include "apps/inferflux_bench/workload.h"
#include "base/usable_cores.h"
#include "command_line/command_line.h"
#include "compute/cpu/kernels/select_isa.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"

namespace inferflux::apps {
namespace {

struct Options {
  std::string model;
  std::string shape;
  std::string type = "Q4_K_M";
  std::vector<int> prompts{512};
  int decode = 64;
  std::vector<int> depths{0};
  std::vector<int> batches{1};
  int threads = 0;
  int repetitions = 3;
  std::string backend = "cpu";
  std::string device;
  std::string kv = "fp16";
  std::string output = "table";
  bool repack = true;
  bool profile = false;
  std::string masks;
  MaskBenchOptions mask_options;
};

std::vector<Workload> TestsOf(const Options& options) {
  std::vector<Workload> tests;
  for (const int prompt : options.prompts) {
    if (prompt > 0) tests.push_back({.prompt = prompt});
  }
  if (options.decode == 0) return tests;
  for (const int depth : options.depths) {
    for (const int batch : options.batches) tests.push_back({.decode = options.decode, .depth = depth, .batch = batch});
  }
  return tests;
}

// The number of tokens of all sequences at the end of a test, and of one sequence.
int LongestSequence(const std::vector<Workload>& tests) {
  int most = 1;
  for (const Workload& test : tests) most = std::max(most, test.depth + std::max(test.prompt, test.decode));
  return most;
}

double SumOf(const std::vector<Timing>& times, double Timing::*part) {
  double sum = 0.0;
  for (const Timing& each : times) sum += each.*part;
  return sum;
}

Row MakeRow(const Workload& test, const std::vector<Timing>& times, double least_seconds) {
  std::vector<double> speeds;
  for (const Timing& each : times) speeds.push_back(test.tokens() / each.seconds);
  const double mean = std::accumulate(speeds.begin(), speeds.end(), 0.0) / static_cast<double>(speeds.size());
  double squares = 0.0;
  for (const double speed : speeds) squares += (speed - mean) * (speed - mean);
  Row row{.test = test.name(), .tokens_per_second = mean};
  row.stddev = speeds.size() > 1 ? std::sqrt(squares / static_cast<double>(speeds.size() - 1)) : 0.0;
  row.ceiling_share = mean * least_seconds / test.tokens();
  row.device_share = SumOf(times, &Timing::device_seconds) / SumOf(times, &Timing::seconds);
  return row;
}

// What the shares are of: the device's own rates where its backend measures them, otherwise the processor's.
class Meter {
 public:
  static Result<Meter> Create(const std::string& backend, const compute::ContextOptions& options,
                              const compute::cpu::Kernels& kernels) {
    auto processor = CeilingMeter::Create(*options.pool, kernels);
    if (!processor) return Forward(processor);
    Meter meter(options, std::move(*processor));
    meter.backend_ = engine::FindNativeBackend(backend);
    if (meter.backend_ == nullptr) return meter;
    const auto devices = meter.backend_->devices(options);
    if (const auto index = compute::FindDevice(devices, options.device, backend)) {
      meter.device_ = devices[static_cast<size_t>(*index)];
    }
    return meter;
  }

  bool measures_device() const { return backend_ != nullptr && backend_->rates != nullptr; }
  std::string device() const { return measures_device() ? device_.name : ""; }
  // Nothing is known of a GPU that its backend does not measure.
  bool knows() const { return measures_device() || !device_.gpu; }

  Result<Ceilings> Measure() {
    constexpr double kSeconds = 1.0;
    if (!measures_device()) return processor_.Measure(kSeconds);
    return backend_->rates(options_, kSeconds).map(CeilingsOf);
  }

 private:
  Meter(const compute::ContextOptions& options, CeilingMeter processor)
      : options_(options), processor_(std::move(processor)) {}

  compute::ContextOptions options_;
  CeilingMeter processor_;
  const engine::NativeBackend* backend_ = nullptr;
  compute::Device device_;
};

std::string BackendNames() {
  std::string out;
  for (const engine::NativeBackend& each : engine::NativeBackends()) {
    out += (out.empty() ? "" : ", ") + std::string(each.name);
  }
  return out;
}

Result<std::vector<Row>> Measure(const Options& options, const std::string& path, const std::string& name) {
  const auto isa = compute::cpu::SelectCpuIsa();
  if (!isa) return Forward(isa);
  auto source = model::ModelSource::Open(path);
  if (!source) return Forward(source);
  auto config = model::ReadModelConfig(**source);
  if (!config) return Forward(config);
  const auto tests = TestsOf(options);
  ThreadPool pool(options.threads > 0 ? options.threads : UsableCores());
  const WorkModel work = DescribeWork(**source, *config, compute::KvTokenBytes(options.kv, KvLayers(*config)),
                                      options.backend == "cpu" ? &pool : nullptr);
  const int most = *std::max_element(options.batches.begin(), options.batches.end());
  engine::EngineOptions engine_options{.context = std::min(LongestSequence(tests), config->context),
                                       .kv_dtype = options.kv,
                                       .device = {.device = options.device, .pool = &pool, .repack = options.repack},
                                       .time_steps = true};
  engine_options.kv_bytes = MemoryFor(work, LongestSequence(tests) + 2 * engine_options.block_size, most);
  engine_options.max_sequences = std::max(engine_options.max_sequences, most);

  Profile profile;
  const auto began = std::chrono::steady_clock::now();
  auto engine = options.profile ? CreateProfiledEngine(pool, profile, std::move(*config), *source, engine_options)
                                : engine::CreateEngine(options.backend, std::move(*config), *source, engine_options);
  if (!engine) return Forward(engine);
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - began;
  auto meter = Meter::Create(options.backend, engine_options.device, compute::cpu::KernelsFor(*isa));
  if (!meter) return Forward(meter);

  std::vector<Row> rows;
  auto before = meter->Measure();
  if (!before) return Forward(before);
  for (const Workload& test : tests) {
    const auto times = Time(**engine, test, options.repetitions, profile);
    if (!times) return Forward(times);
    auto after = meter->Measure();
    if (!after) return Forward(after);
    const Ceilings ceilings = Mean(*before, *after);
    const Bound bound = LeastTime(work, test, (*engine)->info().step_tokens, ceilings);
    before = after;
    Row row = MakeRow(test, *times, bound.seconds);
    row.bound = bound.name;
    row.backend = (*engine)->info().backend;
    row.device = meter->device();
    if (!meter->knows()) row.ceiling_share = 0.0;  // the ceilings are the host's
    row.isa = CpuIsaName(*isa);
    row.threads = pool.workers();
    row.load_seconds = load.count();
    row.model = name;
    row.type = options.shape.empty() ? (*source)->commonest_type() : options.type;
    if (options.profile) row.profile = profile.Lines(SumOf(*times, &Timing::seconds), ceilings);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Dots in a directory's name are not a suffix.
std::string NameOf(const std::filesystem::path& path) {
  std::error_code ignored;  // a path that cannot be examined fails when it is opened
  const bool directory = std::filesystem::is_directory(path, ignored);
  return directory ? std::filesystem::weakly_canonical(path, ignored).filename() : path.stem();
}

Status Bench(const Options& options) {
  if (!options.masks.empty()) {
    const auto table = BenchMasks(options.model, options.masks, options.mask_options);
    if (!table) return Forward(table);
    fmt::print("{}", *table);
    return {};
  }
  std::string path = options.model;
  std::string name = NameOf(path);
  std::optional<SyntheticModel> synthetic;
  if (!options.shape.empty()) {
    auto made = SyntheticModel::Make(options.shape, options.type);
    if (!made) return Forward(made);
    synthetic.emplace(std::move(*made));
    path = synthetic->path();
    name = options.shape;
  }
  const auto rows = Measure(options, path, name);
  if (!rows) return Forward(rows);
  fmt::print("{}", options.output == "json" ? Json(*rows) : Table(*rows));
  return {};
}

}  // namespace
}  // namespace inferflux::apps

int main(int argc, char** argv) {
  using namespace inferflux;
  apps::Options options;
  CommandLine app(
      "inferflux-bench",
      "Times a model on this machine, and says what share of the machine's ceiling it reaches: of its read bandwidth\n"
      "or of its multiply-add rate, measured right before and after each test. With --backend cuda the ceiling is the\n"
      "device's: of copies in its memory, and of large BF16 products.");
  CommandOption model =
      app.Add("-m,--model", options.model, "the model to time: a GGUF file or a Hugging Face directory").Shown("MODEL");
  CommandOption shape =
      app.Add("--shape", options.shape, "random weights in this shape instead: " + apps::ShapeNames());
  app.Add("--type", options.type, "the type of the random weights").Needs(shape).ShowsDefault();
  app.Add("-p,--prompt", options.prompts, "prompt lengths to prefill; 0: none")
      .SplitAtCommas()
      .Between(0, 1 << 20)
      .ShowsDefault();
  app.Add("-n,--decode", options.decode, "tokens to decode; 0: none").Between(0, 1 << 20).ShowsDefault();
  app.Add("-d,--depth", options.depths, "tokens in the context before decoding")
      .SplitAtCommas()
      .Between(0, 1 << 20)
      .ShowsDefault();
  app.Add("-b,--batch", options.batches, "sequences to decode at once").SplitAtCommas().Between(1, 1024).ShowsDefault();
  app.Add("-t,--threads", options.threads, "threads (default: all usable cores)").Between(1, 1024);
  app.Add("-r,--repetitions", options.repetitions, "repetitions of each test, after a warm-up")
      .Between(1, 1000)
      .ShowsDefault();
  CommandOption backend =
      app.Add("--backend", options.backend, "the compute backend: " + apps::BackendNames()).ShowsDefault();
  app.Add("--device", options.device, "which of the backend's devices: its number, UUID, PCI address or name");
  app.Add("--kv", options.kv, "KV element type").OneOf({"fp32", "fp16", "bf16", "int8", "fp8"}).ShowsDefault();
  app.AddFlag("!--no-repack", options.repack, "leave the weights in the file: starts at once, runs slower");
  app.AddFlag("--profile", options.profile, "print where each test's time goes, operation by operation; on cpu")
      .Excludes(backend);
  app.Add("-o,--output", options.output, "how to print").OneOf({"table", "json"}).ShowsDefault();
  CommandOption masks = app.Add("--masks", options.masks,
                                "time and check structured output with the model's vocabulary instead: schemas and "
                                "documents, as MaskBench has them; the last line is JSON")
                            .Shown("FILE.jsonl[.gz]")
                            .Needs(model);
  app.AddFlag("--cpu-time", options.mask_options.cpu_time,
              "with --masks: measure the processor's time, in place of a clock's: for a machine that others use too")
      .Needs(masks);
  app.AddFlag("--list-wrong", options.mask_options.list, "with --masks: name each schema with a wrong verdict, and why")
      .Needs(masks);
  model.Excludes(shape);
  app.AddPrinters();
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  if (options.model.empty() == options.shape.empty()) {
    fmt::print(stderr, "inferflux-bench: give a model (-m) or a shape (--shape)\n");
    return kUsageError;
  }
  if (const auto done = apps::Bench(options); !done) {
    fmt::print(stderr, "inferflux-bench: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
