#include "model/huggingface/keys/config_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"

namespace inferflux::model {
namespace {

using Json = boost::json::value;
using JsonMap = boost::json::object;
using formats::JsonObject;

constexpr std::string_view kOf = "rope_parameters.";  // begins the table's words about RoPE's object
constexpr std::string_view kPartial = "partial_rotary_factor";

// What every family computes only one way.
constexpr std::string_view kAlways = R"({"is_encoder_decoder": [false], "tie_encoder_decoder": [false],
  "pruned_heads": [{}], "per_layer_config": [{}]})";

// RoPE's object: its keys for every type of scaling.
constexpr std::string_view kRopeKeys[] = {"alpha",
                                          "attention_factor",
                                          "beta_fast",
                                          "beta_slow",
                                          "factor",
                                          "finetuned",
                                          "full_attention",
                                          "high_freq_factor",
                                          "long_factor",
                                          "low_freq_factor",
                                          "mscale",
                                          "mscale_all_dim",
                                          "original_max_position_embeddings",
                                          kPartial,
                                          "rope_theta",
                                          "rope_type",
                                          "short_factor",
                                          "sliding_attention",
                                          "truncate",
                                          "type"};

bool IsRopeKey(std::string_view key) { return std::ranges::find(kRopeKeys, key) != std::end(kRopeKeys); }

// As an error shows it: strings in single quotes, numbers without an exponent where they are short.
std::string Shown(const Json& v) {
  constexpr size_t kMost = 60;
  if (v.is_string()) return fmt::format("'{}'", std::string_view(v.get_string()).substr(0, kMost));
  if (v.is_double()) return fmt::format("{}", v.get_double());
  const std::string text = boost::json::serialize(v);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

bool Same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

bool Lists(const JsonMap& table, std::string_view section, std::string_view key) {
  const Json* list = table.if_contains(section);
  return list != nullptr && std::ranges::any_of(list->as_array(), [&](const Json& name) {
           return std::string_view(name.as_string()) == key;
         });
}

const Json* Entry(const JsonMap& table, std::string_view section, std::string_view key) {
  const Json* entries = table.if_contains(section);
  return entries == nullptr ? nullptr : entries->as_object().if_contains(key);
}

// The keys of one config.json, checked against one table.
class KeyCheck {
 public:
  KeyCheck(const JsonMap& table, const JsonMap& always, std::string_view model_type, std::string_view source)
      : table_(table), always_(always), model_type_(model_type), source_(source) {}

  Result<JsonMap> Run(const JsonMap& from) const {
    JsonMap out;
    for (const auto& [name, v] : from) {
      const std::string_view key = name;
      if (IsSharedConfigKey(key)) {
        out.emplace(key, v);
      } else if (auto added = Add(key, v, from, out); !added) {
        return Forward(added);
      }
    }
    if (const Json* read = table_.if_contains("read")) {
      for (const auto& [name, fallback] : read->as_object()) {
        const std::string_view key = name;
        if (!fallback.is_null() && !key.starts_with(kOf)) out.emplace(key, fallback);  // where the file has none
      }
    }
    for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
      const Json* rope = out.if_contains(key);
      if (rope == nullptr || !rope->is_object()) continue;
      if (auto checked = CheckRope(key, rope->get_object()); !checked) return Forward(checked);
    }
    return out;
  }

 private:
  Status Add(std::string_view given, const Json& v, const JsonMap& from, JsonMap& out) const {
    const Json* name = Entry(table_, "names", given);
    const std::string_view key = name == nullptr ? given : std::string_view(name->as_string());
    const Json* only = Entry(table_, "only", key);
    if (only == nullptr && Entry(table_, "read", key) == nullptr) only = always_.if_contains(key);
    if (only != nullptr) return CheckValue(given, v, only->as_array());
    const Json* fallback = Entry(table_, "read", key);
    if (fallback == nullptr) {
      if (v.is_null() || Lists(table_, "unused", key)) return {};
      return Unknown(given, v);
    }
    if (v.is_null() && !fallback->is_null()) {
      if (key == "rope_parameters") return {};
      if (!Lists(table_, "nullable", key)) {
        return Fail(ErrorCode::kUnsupported, "{}: {} is null, which model_type '{}' cannot have; {} is its default",
                    source_, given, model_type_, Shown(*fallback));
      }
    }
    if (key != given && Lists(table_, "unused", given) && from.contains(key)) return {};
    const auto [found, is_new] = out.emplace(key, v);
    if (is_new || Same(found->value(), v)) return {};
    return Fail(ErrorCode::kDataLoss, "{}: {} is {}, but the same setting is {} under another name", source_, given,
                Shown(v), Shown(found->value()));
  }

  Status CheckValue(std::string_view key, const Json& v, const boost::json::array& values) const {
    if (std::ranges::any_of(values, [&](const Json& known) { return Same(known, v); })) return {};
    std::vector<std::string> known;
    for (const Json& each : values) known.push_back(Shown(each));
    return Fail(ErrorCode::kUnsupported, "{}: {} is {}; of model_type '{}' only {} is supported", source_, key,
                Shown(v), model_type_, fmt::join(known, " or "));
  }

  tl::unexpected<Error> Unknown(std::string_view key, const Json& v) const {
    std::vector<std::string_view> known;
    for (const char* section : {"read", "only", "names"}) {
      const Json* entries = table_.if_contains(section);
      if (entries == nullptr) continue;
      for (const auto& entry : entries->as_object()) known.push_back(entry.key());
    }
    return Fail(ErrorCode::kUnsupported,
                "{}: {} is {}, but model_type '{}' has no such key{}; if the key does not change what the model "
                "computes, remove it, otherwise use a GGUF file of the model",
                source_, key, Shown(v), model_type_, Suggestion(key, known));
  }

  Status CheckRope(std::string_view where, const JsonMap& rope) const {
    const bool by_layer = Entry(table_, "read", "rope_parameters.full_attention") != nullptr;
    const bool nested = rope.contains("full_attention") || rope.contains("sliding_attention");
    if (nested && !by_layer) {
      return Fail(ErrorCode::kUnsupported, "{}: {} has parameters by kind of layer, which model_type '{}' does not use",
                  source_, where, model_type_);
    }
    if (!nested && by_layer && where == "rope_parameters" && !rope.empty()) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: {} of model_type '{}' should have full_attention and sliding_attention, each with parameters",
                  source_, where, model_type_);
    }
    for (const auto& [name, v] : rope) {
      const std::string_view key = name;
      if (!IsRopeKey(key) && !HasOwnRopeKey(key) && !v.is_null()) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: {}.{} is {}, which is not a known parameter of RoPE{}; if it does not change what the model "
                    "computes, remove it",
                    source_, where, key, Shown(v), Suggestion(key, {std::begin(kRopeKeys), std::end(kRopeKeys)}));
      }
      if (key == kPartial && !RotatesPartly() && !Same(v, 1.0)) {
        return Fail(ErrorCode::kUnsupported, "{}: {}.{} is {}; model_type '{}' rotates whole heads", source_, where,
                    kPartial, Shown(v), model_type_);
      }
      if (!nested || !v.is_object()) continue;
      if (key == "sliding_attention") {
        if (auto checked = CheckWindowRope(v.get_object()); !checked) return checked;
      }
      for (const auto& [inner, value] : v.get_object()) {
        if (std::ranges::find(kRopeKeys, std::string_view(inner)) == std::end(kRopeKeys)) return Unknown(inner, value);
        if (std::string_view(inner) != kPartial || RotatesPartly() || Same(value, 1.0)) continue;
        return Fail(ErrorCode::kUnsupported, "{}: {}.{}.{} is {}; model_type '{}' rotates whole heads", source_, where,
                    key, kPartial, Shown(value), model_type_);
      }
    }
    return {};
  }

  bool HasOwnRopeKey(std::string_view key) const {
    const std::string name = std::string(kOf) + std::string(key);
    return Entry(table_, "read", name) != nullptr || Lists(table_, "unused", name);
  }

  bool RotatesPartly() const {
    return Entry(table_, "read", kPartial) != nullptr ||
           Entry(table_, "read", "rope_parameters.partial_rotary_factor") != nullptr;
  }

  // GGUF has a base of windowed layers and nothing else.
  Status CheckWindowRope(const JsonMap& rope) const {
    const Json* type = rope.if_contains("rope_type");
    if (type == nullptr) type = rope.if_contains("type");
    if (type != nullptr && !Same(*type, "default")) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: rope_parameters.sliding_attention has the rope_type {}; of layers with a window only 'default' "
                  "is supported",
                  source_, Shown(*type));
    }
    const Json* share = rope.if_contains(kPartial);
    if (share == nullptr || Same(*share, 1.0)) return {};
    return Fail(ErrorCode::kUnsupported, "{}: rope_parameters.sliding_attention.{} is {}; only 1 is supported", source_,
                kPartial, Shown(*share));
  }

  const JsonMap& table_;
  const JsonMap& always_;
  std::string_view model_type_, source_;
};

}  // namespace

Result<JsonObject> ApplyConfigKeys(const JsonObject& root, std::string_view model_type, const Checkpoint& checkpoint) {
  if (checkpoint.keys.empty()) return root;
  const auto table = JsonObject::Parse(checkpoint.keys, std::string(model_type));
  if (!table) return Forward(table);
  const auto always = JsonObject::Parse(kAlways, "keys of all families");
  if (!always) return Forward(always);
  const KeyCheck check(table->raw(), always->raw(), model_type, root.source());
  const auto text = root.Find<JsonObject>("text_config");
  if (!text) return Forward(text);
  JsonMap from = *text ? (*text)->raw() : root.raw();
  constexpr std::string_view kTied = "tie_word_embeddings";  // a model of several parts has it beside text_config
  if (*text && root.raw().contains(kTied)) from.emplace(kTied, root.raw().at(kTied));
  auto applied = check.Run(from);
  if (!applied) return Forward(applied);
  JsonMap whole = std::move(*applied);
  if (*text) {
    JsonMap outer = root.raw();
    outer["text_config"] = std::move(whole);
    whole = std::move(outer);
  }
  return JsonObject::Parse(boost::json::serialize(whole), root.source());
}

}  // namespace inferflux::model
