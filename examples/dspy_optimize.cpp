// What demonstrations are worth: a task's accuracy without them, and with those that an optimiser bootstraps from the
// training examples. Everything is greedy or seeded, so every run prints the same.
//
// usage: dspy_optimize [--models-dir DIR] [--model NAME] [--margin POINTS] TASK.json...
//
// A task: {"signature": "text -> label", "field": "label", "train": [{"text": ..., "label": ...}, ...], "test": [...]}.
// With --margin it fails unless the demonstrations win by that many percentage points on at least one task.
#include <inferflux/dspy.h>
#include <inferflux/model_pool.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace inferflux;

namespace {

struct Task {
  dspy::Signature signature;
  std::string field;  // the output that counts
  std::vector<dspy::Example> train, test;
};

tl::unexpected<embedded::Error> Wrong(const std::string& path, const char* what) {
  return tl::make_unexpected(embedded::Error{.code = embedded::ErrorCode::kInvalidConfig,
                                             .message = fmt::format("the task {} {}", path, what)});
}

std::optional<std::vector<dspy::Example>> Examples(const boost::json::value* list, const dspy::Signature& signature) {
  if (!list || !list->is_array()) return std::nullopt;
  std::vector<std::string> inputs;
  for (const dspy::Field& field : signature.inputs()) inputs.push_back(field.name);
  std::vector<dspy::Example> out;
  for (const auto& row : list->get_array()) {
    if (!row.is_object()) return std::nullopt;
    out.push_back(dspy::Example(row.get_object()).WithInputs(inputs));
  }
  return out;
}

dspy::Result<Task> ReadTask(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  boost::system::error_code failed;
  const auto json = boost::json::parse(text.str(), failed);
  const auto* object = failed ? nullptr : json.if_object();
  const auto* signature_text = object ? object->if_contains("signature") : nullptr;
  const auto* field = object ? object->if_contains("field") : nullptr;
  if (!signature_text || !signature_text->is_string() || !field || !field->is_string()) {
    return Wrong(path, "has no 'signature' and 'field'");
  }
  auto signature = dspy::Signature::Parse(std::string(signature_text->as_string()));
  if (!signature) return tl::make_unexpected(signature.error());
  auto train = Examples(object->if_contains("train"), *signature);
  auto test = Examples(object->if_contains("test"), *signature);
  if (!train || !test) return Wrong(path, "has no lists 'train' and 'test' of objects");
  return Task{std::move(*signature), std::string(field->as_string()), std::move(*train), std::move(*test)};
}

// The accuracy with demonstrations minus that without, in percentage points.
dspy::Result<double> Gain(const std::string& path) {
  const auto task = ReadTask(path);
  if (!task) return tl::make_unexpected(task.error());
  const dspy::Predict program(task->signature, {.sampling = {.max_tokens = 32, .temperature = 0.0}});
  const dspy::Metric metric = dspy::SameField(task->field);
  const dspy::EvaluateOptions options{.threads = 4, .max_errors = task->test.size()};
  const auto plain = dspy::Evaluate(program, task->test, metric, options);
  if (!plain) return tl::make_unexpected(plain.error());
  const auto compiled =
      dspy::BootstrapFewShot{.metric = metric, .max_bootstrapped = 4, .max_labeled = 4}.Compile(program, task->train);
  if (!compiled) return tl::make_unexpected(compiled.error());
  const auto shown = dspy::Evaluate(**compiled, task->test, metric, options);
  if (!shown) return tl::make_unexpected(shown.error());
  const auto& demos = (*compiled)->Predictors().front().second->demos();
  const auto bootstrapped =
      std::ranges::count_if(demos, [](const dspy::Example& demo) { return demo.values().contains("augmented"); });
  fmt::print("{}: {} questions, {:.1f}% right; with {} demonstrations, {} of them bootstrapped, {:.1f}%\n", path,
             task->test.size(), plain->score, demos.size(), bootstrapped, shown->score);
  return shown->score - plain->score;
}

int Report(const embedded::Error& error) {
  fmt::print(stderr, "{}: {}\n", embedded::NameOf(error.code), error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string models_dir = "models/tiny", name = "inferflux-tiny";
  std::optional<double> margin;
  std::vector<std::string> tasks;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool more = i + 1 < arguments.size();
    if (arguments[i] == "--models-dir" && more) {
      models_dir = arguments[++i];
    } else if (arguments[i] == "--model" && more) {
      name = arguments[++i];
    } else if (arguments[i] == "--margin" && more) {
      margin = std::atof(arguments[++i].c_str());
    } else {
      tasks.push_back(arguments[i]);
    }
  }
  if (tasks.empty() || std::ranges::any_of(tasks, [](const auto& task) { return task.starts_with("--"); })) {
    fmt::print(stderr, "usage: dspy_optimize [--models-dir DIR] [--model NAME] [--margin POINTS] TASK.json...\n");
    return 2;
  }

  const auto pool = embedded::ModelPool::Open({.models_dir = models_dir});
  if (!pool) return Report(pool.error());
  const auto engine = pool->LoadModel(name);
  if (!engine) return Report(engine.error());
  const auto adapter = dspy::LlamaCppAdapter::FromLoadedModel(embedded::LanguageModel(*engine));
  if (!adapter) return Report(adapter.error());
  dspy::Configure(nullptr, *adapter);

  double best = -100;
  for (const std::string& task : tasks) {
    const auto gain = Gain(task);
    if (!gain) return Report(gain.error());
    best = std::max(best, *gain);
  }
  if (!margin || best >= *margin) return 0;
  fmt::print(stderr, "demonstrations win by {:.1f} points at most, and {:.1f} were asked for\n", best, *margin);
  return 1;
}
