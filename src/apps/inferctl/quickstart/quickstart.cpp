// inferctl quickstart: writes settings for this machine, and prints what to type next.
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "apps/console/embedded_model.h"
#include "apps/console/may_write.h"
#include "apps/console/output_file.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/quickstart/plan.h"
#include "apps/inferctl/quickstart/server_yaml.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string backend = "auto";
  std::string model;
  std::string output = "server.yaml";
  bool force = false;
};

Status WriteFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return {};
  }
  auto file = OutputFile::Create(path);
  if (!file) return Forward(file);
  file->stream() << text;
  return file->Commit();
}

// Program names as the user can type them: with the folder from which this one was started.
std::string Beside(const std::string& program) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return program;
  const fs::path near = fs::proximate(self.parent_path(), error) / program;
  return error || *near.begin() == ".." ? (self.parent_path() / program).string() : near.string();
}

int RunQuickstart(const CommandContext& context, const Arguments& arguments) {
  std::error_code error;
  const bool to_file = arguments.output != "-";
  if (context.json && !to_file) return Complain("--json and --output - both print; choose one", kUsageError);
  if (to_file) {
    const Status allowed = MayWrite(arguments.output, arguments.force);
    if (!allowed) return Complain(allowed.error().message);
  }
  std::string path = arguments.model;
  if (path.empty()) {
    auto shipped = FindEmbeddedModel();
    if (!shipped) return Complain(shipped.error());
    path = std::move(*shipped);
  }
  const auto model = ReadQuickstartModel(path);
  if (!model) return Complain(model.error());
  ThreadPool pool(UsableCores());
  const auto plan = MakePlan(arguments.backend, serving::BuiltInEngines(pool), *model);
  if (!plan)
    return Complain(plan.error().message, plan.error().code == ErrorCode::kInvalidArgument ? kUsageError : kFailed);
  const std::string serves =
      arguments.model.empty() ? "" : fs::absolute(arguments.model, error).lexically_normal().string();
  if (Status written = WriteFile(arguments.output, ServerYaml(*plan, serves)); !written)
    return Complain(written.error());
  if (context.json) {
    return PrintJson(boost::json::object{{"output", arguments.output},
                                         {"backend", serving::Traits(plan->target).name},
                                         {"provider", serving::ProviderName(plan->provider)},
                                         {"model", path}});
  }
  if (!to_file) return kOk;
  fmt::print(
      "{} is written, for {} ({}). Next:\n"
      "  {} --config {}\n"
      "  {} status --ready\n"
      "  {} chat -m 'What is the capital of France?'\n",
      arguments.output, serving::Traits(plan->target).name, serving::ProviderName(plan->provider), Beside("inferfluxd"),
      arguments.output, Beside("inferctl"), Beside("inferctl"));
  return kOk;
}

}  // namespace

Run AddQuickstart(Command& app) {
  auto arguments = std::make_shared<Arguments>();
  Command quickstart = app.AddCommand("quickstart", "write a server.yaml for this machine; needs no server");
  quickstart.Add("--backend", arguments->backend,
                 "what to run on: auto, or a word of 'inferctl backends', such as cpu, mlx or llama_cpp_vulkan");
  quickstart.Add("--model", arguments->model,
                 "GGUF file or Hugging Face directory to serve; the model that comes with InferFlux unless named");
  quickstart.Add("--output", arguments->output, "file to write (server.yaml); - for standard output");
  quickstart.AddFlag("--force", arguments->force, "replace an existing file");
  return [arguments](const CommandContext& context) { return RunQuickstart(context, *arguments); };
}

}  // namespace inferflux::apps
