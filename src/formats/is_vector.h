// Whether a requested type is a list.
#pragma once

#include <type_traits>
#include <vector>

namespace inferflux::formats {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace inferflux::formats
