// Messages as tables: a struct's fields with their names, limits and meaning. JSON is written and read, and the JSON
// schema is made, from the same table (codec.h, schema.h), so the three cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace inferflux::worker {

// One field. The limits hold for a number's value, a text's bytes or a list's entries.
template <class T, class V>
struct Field {
  std::string_view name;
  V T::*member;
  std::string_view help;
  bool required = false;
  double min = 0;
  double max = 0;
  bool limited = false;

  consteval Field Within(double least, double most) const {
    Field out = *this;
    out.min = least;
    out.max = most;
    out.limited = true;
    return out;
  }
};

template <class T, class V>
consteval Field<T, V> Required(std::string_view name, V T::*member, std::string_view help) {
  return {.name = name, .member = member, .help = help, .required = true};
}
// A field that may be absent: the member then keeps its initial value.
template <class T, class V>
consteval Field<T, V> Optional(std::string_view name, V T::*member, std::string_view help) {
  return {.name = name, .member = member, .help = help};
}

// Specialised for each message type:
//   static constexpr std::string_view kName   its name in the schema
//   static constexpr std::string_view kHelp
//   static consteval auto Fields()            a std::tuple of Field
//   static constexpr std::string_view kType   optional: the value of the "type" member that tells events apart
template <class T>
struct MessageOf;

// Specialised for each enum: its words, `static constexpr std::pair<std::string_view, E> kWords[]`.
template <class E>
struct WordsOf;

template <class T>
concept Message = requires {
  MessageOf<T>::kName;
};
template <class T>
concept TypedMessage = Message<T> && requires {
  MessageOf<T>::kType;
};
template <class T>
concept Words = requires {
  WordsOf<T>::kWords;
};

template <class E>
constexpr std::string_view WordOf(E value) {
  for (const auto& [word, each] : WordsOf<E>::kWords) {
    if (each == value) return word;
  }
  return {};
}

}  // namespace inferflux::worker
