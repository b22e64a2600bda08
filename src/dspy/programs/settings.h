// The model and the adapter that programs use where they are given none: of the process, or of a scope on a thread.
#pragma once

#include <memory>

#include "dspy/adapters/adapter.h"
#include "dspy/lm/lm.h"

namespace inferflux::dspy {

struct Settings {
  std::shared_ptr<LM> lm;
  std::shared_ptr<const Adapter> adapter;
};

// For the process; null members stay as they are. Without an adapter, ChatAdapter is used. An adapter that is bound to
// a model brings it along. Any thread.
void Configure(std::shared_ptr<LM> lm, std::shared_ptr<const Adapter> adapter = nullptr);

// What applies on this thread: the innermost scope's, then the process's.
Settings CurrentSettings();

// Overrides the settings on this thread until it is destroyed; null members stay as they are. Scopes nest. Calls that
// run on other threads (CallAsync, Evaluate) take along what applied where they began.
class ScopedSettings {
 public:
  explicit ScopedSettings(Settings settings);
  ~ScopedSettings();
  ScopedSettings(const ScopedSettings&) = delete;
  ScopedSettings& operator=(const ScopedSettings&) = delete;

 private:
  friend Settings CurrentSettings();

  Settings settings_;
  const ScopedSettings* outer_;
};

}  // namespace inferflux::dspy
