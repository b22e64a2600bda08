// DSPy's JSON state (dspy/primitives/base_module.py, dspy/predict/predict.py).
#include <algorithm>
#include <boost/json/array.hpp>
#include <fstream>
#include <iterator>
#include <optional>

#include "dspy/programs/predict.h"
#include "dspy/python/literal_reader.h"
#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

constexpr uintmax_t kMaxStateBytes = 256 << 20;

tl::unexpected<Error> WrongState(std::string_view name, std::string_view what) {
  return FailAt(name, Error::kNoPosition, "the state of the predictor '{}': {}", name, what);
}

}  // namespace

boost::json::object Predict::DumpState() const {
  boost::json::array demos;
  for (const Example& demo : demos_) demos.push_back(demo.values());
  return {{"traces", boost::json::array()},
          {"train", boost::json::array()},
          {"demos", std::move(demos)},
          {"signature", signature_.DumpState()},
          {"lm", nullptr}};
}

Result<Predict> Predict::LoadedPredictor(std::string_view name, const boost::json::object& state) const {
  const auto* demos = state.if_contains("demos");
  const auto* signature = state.if_contains("signature");
  const auto* lm = state.if_contains("lm");
  if (!demos || !demos->is_array() || !signature || !signature->is_object()) {
    return WrongState(name, "it needs \"demos\", a list, and \"signature\", an object");
  }
  if (lm && !lm->is_null()) {
    return WrongState(name,
                      "it has a model of its own, \"lm\"; set it to null there, and give the predictor its model");
  }
  if (state.contains("extended_signature")) return WrongState(name, "states of DSPy 2.5 and before are not read");
  for (const auto& [key, value] : state) {
    const bool known = key == "traces" || key == "train" || key == "demos" || key == "signature" || key == "lm";
    if (!known) return WrongState(name, fmt::format("\"{}\" is not known", std::string_view(key)));
  }
  auto loaded = signature_.LoadState(signature->get_object());
  if (!loaded) return WrongState(name, loaded.error().message);
  Predict copy = *this;
  copy.signature_ = std::move(*loaded);
  copy.demos_.clear();
  for (const auto& demo : demos->get_array()) {
    if (!demo.is_object()) return WrongState(name, "a demonstration must be an object");
    copy.demos_.emplace_back(demo.get_object());
  }
  return copy;
}

Status Predict::LoadState(const boost::json::object& state) {
  boost::json::object own = state;
  if (const auto metadata = own.find("metadata"); metadata != own.end()) own.stable_erase(metadata);
  auto loaded = LoadedPredictor("self", own);
  if (!loaded) return dspy::Forward(loaded);
  *this = std::move(*loaded);
  return {};
}

boost::json::object Module::DumpState() const {
  boost::json::object state;
  // Predictors() gives them to optimisers, so it is not const; nothing is changed here.
  for (const auto& [name, predictor] : const_cast<Module*>(this)->Predictors()) state[name] = predictor->DumpState();
  return state;
}

Status Module::LoadState(const boost::json::object& state) {
  const auto predictors = Predictors();
  std::vector<Predict> loaded;
  for (const auto& [name, predictor] : predictors) {
    const auto* saved = state.if_contains(name);
    if (!saved || !saved->is_object()) return WrongState(name, "it is missing");
    auto one = predictor->LoadedPredictor(name, saved->get_object());
    if (!one) return dspy::Forward(one);
    loaded.push_back(std::move(*one));
  }
  for (const auto& [key, value] : state) {
    const auto known = [&](const NamedPredictor& predictor) { return predictor.first == key; };
    if (key == "metadata" || std::ranges::any_of(predictors, known)) continue;
    return WrongState(key, "the program has no such predictor");
  }
  for (size_t i = 0; i < loaded.size(); ++i) *predictors[i].second = std::move(loaded[i]);
  return {};
}

Status Module::Save(const std::filesystem::path& path) const {
  boost::json::object state = DumpState();
  state["metadata"] = boost::json::object{{"dependency_versions", boost::json::object()}};
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << JsonDumps(state, 2) << '\n';
  file.close();
  if (!file) return Fail(ErrorCode::kInvalidConfig, "the state cannot be written to {}", path.string());
  return {};
}

Status Module::Load(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) return Fail(ErrorCode::kInvalidConfig, "the state {} cannot be read: {}", path.string(), error.message());
  if (bytes > kMaxStateBytes) {
    return Fail(ErrorCode::kInvalidConfig, "the state {} has {} bytes; at most {} are read", path.string(), bytes,
                kMaxStateBytes);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Floats must be exact, as they become text again; those of Boost 1.81's parser may be off in the last place.
  const auto state = ReadLiteral(text);
  if (!state || !state->is_object()) {
    return Fail(ErrorCode::kInvalidConfig, "the state {} is no JSON object", path.string());
  }
  return LoadState(state->get_object());
}

}  // namespace inferflux::dspy
