#include "serving/generation/recipe_defaults.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "serving/models/model_recipe.h"

namespace inferflux::serving {
namespace json = boost::json;
namespace {

using Field = GenerationError::Field;

std::optional<double> NumberIn(const json::value& value, const SamplingRow& row) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.to_number<double>();
  return number >= row.min && number <= row.max ? std::optional(number) : std::nullopt;
}

// Sets the member that a row names. False if the value is not one of the row.
struct SetDefault {
  const SamplingRow& row;
  const json::value& value;
  SamplingSpec& out;

  bool operator()(float engine::SamplingParams::*member) const {
    const auto number = NumberIn(value, row);
    if (number) out.params.*member = static_cast<float>(*number);
    return number.has_value();
  }
  bool operator()(int32_t engine::SamplingParams::*member) const {
    const auto number = NumberIn(value, row);
    if (number) out.params.*member = static_cast<int32_t>(*number);
    return number.has_value();
  }
  bool operator()(bool engine::SamplingParams::*member) const {
    if (value != 0 && value != 2) return false;
    out.params.*member = value == 2;
    return true;
  }
  bool operator()(std::optional<int64_t> SamplingSpec::*member) const {
    if (!value.is_int64()) return false;
    out.*member = value.get_int64();
    return true;
  }
  bool operator()(SamplingRow::Biases engine::SamplingParams::*) const { return false; }  // of one vocabulary
  bool operator()(std::vector<std::string> SamplingSpec::*member) const {
    if (!value.is_array()) return false;
    std::vector<std::string> texts;
    for (const json::value& each : value.get_array()) {
      if (!each.is_string()) return false;
      texts.emplace_back(each.get_string());
    }
    out.*member = std::move(texts);
    return true;
  }
};

struct ToNeutral {
  SamplingSpec& out;
  template <class Member>
  void operator()(Member member) const {
    if constexpr (std::is_invocable_v<Member, engine::SamplingParams&>) {
      out.params.*member = engine::SamplingParams().*member;
    }
  }
};

}  // namespace

GenerationStatus ApplyRecipe(const ServedModel& model, GenerationSpec& spec) {
  if (!model.recipe) return {};
  const ModelRecipe& recipe = *model.recipe;
  if (spec.stop.empty()) spec.stop = recipe.stop;
  if (spec.max_tokens == 0) spec.max_tokens = recipe.max_tokens;
  const std::vector<std::string_view> asked = spec.sampling.given;
  const auto was_asked = [&](const SamplingRow& row) { return std::ranges::find(asked, row.name) != asked.end(); };
  for (const SamplingRow& row : SamplingTable()) {
    const json::value* value = recipe.sampling.if_contains(row.name);
    if (value == nullptr || was_asked(row)) continue;
    if (std::visit(SetDefault{row, *value, spec.sampling}, row.member)) continue;
    return Refuse(Field::kModel, "'{}' has a recipe whose '{}' is out of its range; create the model again", model.id,
                  row.name);
  }
  if (!spec.sampling.params.mirostat) return {};
  for (const SamplingRow& row : SamplingTable()) {  // mirostat replaces the filters
    if (row.filter && !was_asked(row)) std::visit(ToNeutral{spec.sampling}, row.member);
  }
  return {};
}

void ApplyRecipe(const ServedModel& model, Chat& chat) {
  if (!model.recipe) return;
  const ModelRecipe& recipe = *model.recipe;
  const auto is_system = [](const json::value& message) {
    const json::object* object = message.if_object();
    const json::value* role = object == nullptr ? nullptr : object->if_contains("role");
    return role != nullptr && (*role == "system" || *role == "developer");
  };
  auto at = chat.messages.begin();
  if (at != chat.messages.end() && is_system(*at)) {
    ++at;
  } else if (!recipe.system.empty()) {
    at = chat.messages.insert(at, json::object{{"role", "system"}, {"content", recipe.system}});
    ++at;
  }
  for (const json::value& message : recipe.messages) at = std::next(chat.messages.insert(at, message));
}

}  // namespace inferflux::serving
