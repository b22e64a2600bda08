#include "worker/pool/worker_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <variant>

#include "serving/backends/backend_rules.h"
#include "serving/backends/backend_table.h"

namespace inferflux::worker {
namespace json = boost::json;
namespace fs = std::filesystem;

std::string ProgramSuffix(serving::Target target, serving::Provider provider) {
  if (provider == serving::Provider::kLlamaCpp) return "llama";
  if (target == serving::Target::kReference) return "";  // the oracle of tests
  const serving::BackendRow* row = serving::FindBackendRow(target, provider);
  if (row == nullptr || row->compute.empty()) return std::string(serving::Traits(target).name);
  return std::string(row->compute);
}

std::string OwnDirectory() {
  std::error_code failed;
  const fs::path own = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : own.parent_path().string();
}

std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::istringstream folders{std::string(path)};
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (fs::path(folder) / name).string();
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

std::string ModelSettingFor(const serving::EngineEntry& engine, const serving::EngineRequest& engine_request,
                            const serving::LoadRequest& request) {
  std::error_code failed;
  json::object model{
      {"id", request.id},
      {"path", fs::absolute(request.path, failed).string()},
      {"backend", serving::HintName({engine.target, engine.provider})},
  };
  if (!request.draft.empty()) model["draft"] = fs::absolute(request.draft, failed).string();
  if (!request.format.empty()) model["format"] = request.format;
  if (engine_request.context > 0) model["context"] = engine_request.context;
  // A worker refuses settings that its engine does not read.
  const auto unused = serving::UnusedSettings(engine_request.config, {engine.target, engine.provider});
  for (const config::BackendField& field : config::BackendFields()) {
    if (!field.IsSet(engine_request.config) || std::ranges::find(unused, field.name) != unused.end()) continue;
    std::visit([&](auto member) { model[field.name] = *(engine_request.config.*member); }, field.member);
  }
  return json::serialize(json::array{std::move(model)});
}

std::vector<std::string> FlagsFor(const serving::LoadRequest& request, const std::string& worker_id) {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, std::string value) {
    out.emplace_back(flag);
    out.push_back(std::move(value));
  };
  add("--runtime-max-batch-tokens", std::to_string(request.max_batch_tokens));
  if (request.max_running > 0) add("--runtime-max-running", std::to_string(request.max_running));
  if (request.max_queued > 0) add("--runtime-max-queue", std::to_string(request.max_queued));
  add("--runtime-goal", request.goal == scheduler::StepGoal::kLatency ? "latency" : "throughput");
  add("--runtime-speculation", request.speculation);
  add("--runtime-max-draft-tokens", std::to_string(request.max_draft_tokens));
  add("--runtime-session-memory", std::to_string(request.sessions.memory_bytes));
  add("--runtime-session-disk", std::to_string(request.sessions.disk_bytes));
  if (!request.sessions.store_url.empty()) {
    add("--runtime-session-store", request.sessions.store_url);
    add("--runtime-session-store-key-file", request.sessions.store_key_file);
  }
  // Two workers must not write the same files.
  if (!request.sessions.directory.empty()) {
    std::error_code failed;
    const fs::path folder = fs::absolute(request.sessions.directory, failed) / worker_id;
    fs::create_directories(folder, failed);  // a failure is the worker's to report
    add("--runtime-session-dir", folder.string());
  }
  return out;
}

}  // namespace inferflux::worker
