#include "worker/contract/schema.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>

#include "worker/contract/codec.h"
#include "worker/contract/generation_messages.h"
#include "worker/contract/messages.h"

namespace inferflux::worker {
namespace json = boost::json;
namespace {

// Whole numbers are written without a fraction.
json::value Number(double number) {
  const auto whole = static_cast<int64_t>(number);
  if (static_cast<double>(whole) == number) return whole;
  return number;
}

class SchemaWriter {
 public:
  template <Message T>
  void Define() {
    const std::string_view name = MessageOf<T>::kName;
    if (definitions_.contains(name)) return;
    definitions_[name] = nullptr;  // a message may contain itself
    json::object properties;
    json::array required;
    if constexpr (TypedMessage<T>) {
      properties["type"] = {{"const", MessageOf<T>::kType}};
      required.push_back("type");
    }
    const auto add = [&](const auto& field) {
      using V = std::remove_cvref_t<decltype(std::declval<T>().*field.member)>;
      const internal::Limits limits{field.min, field.max, field.limited};
      json::object schema;
      if constexpr (internal::IsOptional<V>::value) {
        schema = SchemaOf<typename V::value_type>(limits);
      } else {
        schema = SchemaOf<V>(limits);
      }
      schema["description"] = field.help;
      properties[field.name] = std::move(schema);
      if (field.required) required.push_back(json::string(field.name));
    };
    std::apply([&](const auto&... field) { (add(field), ...); }, MessageOf<T>::Fields());
    definitions_[name] = {{"description", MessageOf<T>::kHelp},
                          {"type", "object"},
                          {"properties", std::move(properties)},
                          {"required", std::move(required)},
                          {"additionalProperties", false}};
  }

  json::object Take() { return std::move(definitions_); }

 private:
  template <class V>
  json::object SchemaOf(const internal::Limits& limits) {
    json::object out;
    const auto bound = [&](std::string_view least, std::string_view most) {
      if (!limits.set) return;
      out[least] = Number(limits.min);
      out[most] = Number(limits.max);
    };
    if constexpr (Message<V>) {
      Define<V>();
      out["$ref"] = "#/$defs/" + std::string(MessageOf<V>::kName);
    } else if constexpr (Words<V>) {
      json::array words;
      for (const auto& [word, each] : WordsOf<V>::kWords) words.push_back(json::string(word));
      out["enum"] = std::move(words);
    } else if constexpr (std::same_as<V, bool>) {
      out["type"] = "boolean";
    } else if constexpr (std::same_as<V, std::string>) {
      out["type"] = "string";
      bound("minLength", "maxLength");
    } else if constexpr (std::floating_point<V>) {
      out["type"] = "number";
      bound("minimum", "maximum");
    } else if constexpr (std::integral<V>) {
      out["type"] = "integer";
      if (!limits.set) {
        out["minimum"] = std::numeric_limits<V>::min();
        out["maximum"] = std::numeric_limits<V>::max();
      }
      bound("minimum", "maximum");
    } else if constexpr (internal::IsPair<V>::value) {
      out["type"] = "array";
      out["prefixItems"] = {SchemaOf<typename V::first_type>({}), SchemaOf<typename V::second_type>({})};
      out["minItems"] = 2;
      out["maxItems"] = 2;
    } else {
      out["type"] = "array";
      out["items"] = SchemaOf<typename V::value_type>({});
      bound("minItems", "maxItems");
    }
    return out;
  }

  json::object definitions_;
};

// Two spaces a level, so that a change is a readable difference.
void Print(const json::value& value, size_t depth, std::string& out) {
  const std::string margin(2 * depth + 2, ' ');
  const auto list = [&](const auto& entries, char open, char close, const auto& each) {
    out += open;
    bool first = true;
    for (const auto& entry : entries) {
      out += (first ? "\n" : ",\n") + margin;
      first = false;
      each(entry);
    }
    out += "\n" + std::string(2 * depth, ' ') + close;
  };
  if (value.is_object() && !value.get_object().empty()) {
    list(value.get_object(), '{', '}', [&](const auto& member) {
      out += json::serialize(json::string(member.key())) + ": ";
      Print(member.value(), depth + 1, out);
    });
  } else if (value.is_array() && !value.get_array().empty() && value.get_array()[0].is_object()) {
    list(value.get_array(), '[', ']', [&](const json::value& entry) { Print(entry, depth + 1, out); });
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string ContractSchema() {
  SchemaWriter writer;
  writer.Define<ReadyCallback>();
  writer.Define<Heartbeat>();
  writer.Define<Deregistration>();
  writer.Define<WorkerInfo>();
  writer.Define<ExecuteRequest>();
  writer.Define<CancelRequest>();
  writer.Define<StartedEvent>();
  writer.Define<TokenEvent>();
  writer.Define<MetricsEvent>();
  writer.Define<EndEvent>();
  writer.Define<WireError>();
  writer.Define<InvalidRequest>();
  writer.Define<scheduler::SessionCommand>();
  writer.Define<SessionList>();
  json::array codes;
  for (const CodeFacts& facts : kCodes) {
    codes.push_back({{"code", WordOf(facts.code)},
                     {"status", facts.status},
                     {"retriable", facts.retriable},
                     {"meaning", facts.meaning}});
  }
  const json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                            {"title", "The contract between an InferFlux pool and its workers"},
                            {"x-error-codes", std::move(codes)},
                            {"$defs", writer.Take()}};
  std::string out;
  Print(schema, 0, out);
  return out + "\n";
}

}  // namespace inferflux::worker
