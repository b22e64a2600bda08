#include "dspy/programs/settings.h"

#include <mutex>
#include <utility>

#include "dspy/adapters/chat_adapter.h"

namespace inferflux::dspy {
namespace {

// Configure is the process's by its contract, so its state is too.
struct ProcessSettings {
  std::mutex mutex;
  Settings settings;
};

ProcessSettings& Process() {
  static ProcessSettings process;
  return process;
}

thread_local const ScopedSettings* innermost_scope = nullptr;

void FillFrom(const Settings& outer, Settings& settings) {
  if (!settings.lm) settings.lm = outer.lm;
  if (!settings.adapter) settings.adapter = outer.adapter;
}

// An adapter that is bound to a model brings it along, where nothing else is said.
std::shared_ptr<LM> OrBound(std::shared_ptr<LM> lm, const Adapter* adapter) {
  return lm || !adapter ? std::move(lm) : adapter->lm();
}

}  // namespace

void Configure(std::shared_ptr<LM> lm, std::shared_ptr<const Adapter> adapter) {
  lm = OrBound(std::move(lm), adapter.get());
  ProcessSettings& process = Process();
  const std::lock_guard lock(process.mutex);
  if (lm) process.settings.lm = std::move(lm);
  if (adapter) process.settings.adapter = std::move(adapter);
}

Settings CurrentSettings() {
  Settings settings;
  for (const ScopedSettings* scope = innermost_scope; scope; scope = scope->outer_)
    FillFrom(scope->settings_, settings);
  ProcessSettings& process = Process();
  const std::lock_guard lock(process.mutex);
  FillFrom(process.settings, settings);
  if (!settings.adapter) settings.adapter = process.settings.adapter = std::make_shared<ChatAdapter>();
  return settings;
}

ScopedSettings::ScopedSettings(Settings settings) : settings_(std::move(settings)), outer_(innermost_scope) {
  settings_.lm = OrBound(std::move(settings_.lm), settings_.adapter.get());
  innermost_scope = this;
}

ScopedSettings::~ScopedSettings() { innermost_scope = outer_; }

}  // namespace inferflux::dspy
