#include "server/request/sampling_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <limits>
#include <system_error>

#include "server/request/fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using engine::SamplingParams;
using serving::SamplingRow;
using serving::SamplingSpec;

// Reads a value into the member that its row names.
struct SamplingParser {
  const SamplingRow& row;
  std::string_view param;
  const json::value& value;
  SamplingSpec& out;

  ApiStatus operator()(float SamplingParams::*member) const {
    return ReadNumber(value, param, row.min, row.max).map([&](double number) {
      out.params.*member = static_cast<float>(number);
    });
  }

  ApiStatus operator()(int32_t SamplingParams::*member) const {
    return ReadInteger(value, param, static_cast<int64_t>(row.min), static_cast<int64_t>(row.max))
        .map([&](int64_t number) { out.params.*member = static_cast<int32_t>(number); });
  }

  ApiStatus operator()(bool SamplingParams::*member) const {
    const auto version = ReadInteger(value, param, static_cast<int64_t>(row.min), static_cast<int64_t>(row.max));
    if (!version) return Forward(version);
    if (*version == 1) return Refuse(param, "must be 0 (off) or 2; version 1 is not supported");
    out.params.*member = *version == 2;
    return {};
  }

  ApiStatus operator()(std::optional<int64_t> SamplingSpec::*member) const {
    using Limits = std::numeric_limits<int64_t>;
    return ReadInteger(value, param, Limits::min(), Limits::max()).map([&](int64_t number) { out.*member = number; });
  }

  ApiStatus operator()(SamplingRow::Biases SamplingParams::*member) const {
    const auto object = ReadObject(value, param);
    if (!object) return Forward(object);
    if ((*object)->size() > serving::kMaxBiases) {
      return Refuse(param, "must have at most {} entries", serving::kMaxBiases);
    }
    for (const auto& [key, bias] : **object) {
      const std::string name = Join(param, key);
      TokenId id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size() || id < 0) return Refuse(name, "is not a token id");
      const ApiResult<double> number = ReadNumber(bias, name, row.min, row.max);
      if (!number) return Forward(number);
      (out.params.*member).emplace_back(id, static_cast<float>(*number));
    }
    return {};
  }

  ApiStatus operator()(std::vector<std::string> SamplingSpec::*member) const {
    const auto list = ReadArray(value, param, serving::kMaxBreakers);
    if (!list) return Forward(list);
    std::vector<std::string> texts;
    for (size_t i = 0; i < (*list)->size(); ++i) {
      const std::string name = fmt::format("{}[{}]", param, i);
      ApiResult<std::string> text = ReadText((**list)[i], name, static_cast<size_t>(row.max));
      if (!text) return Forward(text);
      if (text->empty()) return Refuse(name, "must not be empty");
      texts.push_back(std::move(*text));
    }
    out.*member = std::move(texts);
    return {};
  }
};

}  // namespace

ApiResult<bool> ParseSamplingField(std::string_view name, std::string_view param, const json::value& value,
                                   SamplingSpec& out) {
  const auto rows = serving::SamplingTable();
  const auto row = std::ranges::find(rows, name, &SamplingRow::name);
  if (row == rows.end()) return false;
  if (value.is_null()) return true;
  return std::visit(SamplingParser{*row, param, value, out}, row->member).map([&] {
    out.given.push_back(row->name);
    return true;
  });
}

void AppendSamplingNames(std::vector<std::string_view>& out) {
  for (const SamplingRow& row : serving::SamplingTable()) out.push_back(row.name);
}

ApiStatus CheckSampling(const SamplingSpec& spec) {
  const SamplingRow* replaced = serving::ReplacedByMirostat(spec.params);
  if (replaced == nullptr) return {};
  return Refuse(replaced->name, "has no effect beside 'mirostat', which replaces the filters; leave one of them out");
}

}  // namespace inferflux::server
