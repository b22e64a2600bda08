// The fields of a request as rows of documentation, from the same table that parses them.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/request/fields.h"

namespace inferflux::server {

struct FieldRow {
  std::string field;
  std::string verdict;  // "honoured", "accepted without effect", "refused"
  std::string detail;   // the type and range, the reason, or the only value and the code of the refusal
};

namespace internal {

template <class T>
struct RowMaker {
  std::string_view name;

  FieldRow Honoured(std::string detail) const { return {std::string(name), "honoured", std::move(detail)}; }
  FieldRow operator()(const NumberField<T>& field) const {
    return Honoured(fmt::format("number, {} to {}", field.min, field.max));
  }
  FieldRow operator()(const IntegerField<T>& field) const {
    return Honoured(fmt::format("integer, {} to {}", field.min, field.max));
  }
  FieldRow operator()(const CountField<T>& field) const {
    return Honoured(fmt::format("integer, {} to {}", field.min, field.max));
  }
  FieldRow operator()(const BooleanField<T>&) const { return Honoured("boolean"); }
  FieldRow operator()(const TextField<T>& field) const {
    if (field.max_bytes > (size_t{1} << 30)) return Honoured("string");
    return Honoured(fmt::format("string, up to {} bytes", field.max_bytes));
  }
  FieldRow operator()(const CustomField<T>&) const { return Honoured(""); }
  FieldRow operator()(const NoOpField& field) const {
    std::string detail = field.json.empty() ? "only null" : fmt::format("only `{}`", field.json);
    return {std::string(name), "refused", detail + "; otherwise `unsupported_parameter`"};
  }
  FieldRow operator()(const IgnoredField& field) const {
    return {std::string(name), "accepted without effect", std::string(field.why)};
  }
};

}  // namespace internal

template <class T>
void AppendRows(std::span<const Field<T>> fields, std::vector<FieldRow>& out, std::string_view parent = {}) {
  for (const Field<T>& field : fields) {
    FieldRow row = std::visit(internal::RowMaker<T>{field.name}, field.kind);
    row.field = Join(parent, field.name);
    out.push_back(std::move(row));
  }
}

}  // namespace inferflux::server
