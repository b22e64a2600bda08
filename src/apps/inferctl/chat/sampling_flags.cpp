#include "apps/inferctl/chat/sampling_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "serving/generation/sampling_table.h"

namespace inferflux::apps {
namespace {

using serving::SamplingRow;

// Lists and objects have no flag: only programs use them.
std::optional<SamplingFlags::Number> Unset(const SamplingRow& row) {
  using Params = SamplingRow::Params;
  if (std::holds_alternative<float Params::*>(row.member)) return std::optional<double>();
  if (std::holds_alternative<SamplingRow::Biases Params::*>(row.member)) return std::nullopt;
  if (std::holds_alternative<std::vector<std::string> serving::SamplingSpec::*>(row.member)) return std::nullopt;
  return std::optional<int64_t>();
}

}  // namespace

void SamplingFlags::AddTo(Command& command, const std::string& model_names) {
  const bool is_word = !model_names.starts_with('-');
  CommandOption chosen = command.Add(
      model_names, model,
      is_word ? "which of the server's models" : "which of the server's models; without it, the server's default");
  if (is_word) chosen.Required();
  command.Add("--max-tokens", max_tokens, "stop after this many tokens");
  const auto rows = serving::SamplingTable();
  parameters.reserve(rows.size());  // the options write to these elements, which must not move
  for (const SamplingRow& row : rows) {
    const auto unset = Unset(row);
    if (!unset) continue;
    auto& [name, value] = parameters.emplace_back(row.name, *unset);
    std::string flag = "--" + name;
    std::ranges::replace(flag, '_', '-');
    std::string help = fmt::format("{}; the server's default is {}", row.help, serving::DefaultOf(row));
    std::erase(help, '`');
    std::visit([&](auto& number) { command.Add(flag, number, help); }, value);
  }
  command.Add("--stop", stop, "end the answer before this text; may be repeated, up to 64").OneEachTime();
}

boost::json::object SamplingFlags::Fields() const {
  boost::json::object out;
  if (!model.empty()) out["model"] = model;
  if (max_tokens) out["max_tokens"] = *max_tokens;
  for (const auto& [name, value] : parameters) {
    std::visit(
        [&](const auto& number) {
          if (number) out[name] = *number;
        },
        value);
  }
  if (!stop.empty()) {
    boost::json::array list;
    for (const std::string& text : stop) list.push_back(boost::json::string(text));
    out["stop"] = std::move(list);
  }
  return out;
}

}  // namespace inferflux::apps
