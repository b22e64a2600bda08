// How Python writes values: str(), repr() and json.dumps(ensure_ascii=False). Values are JSON's.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace inferflux::dspy {

// "1.0", "1e+16", "0.0001": the shortest text that reads back as the same float, as float.__repr__ writes it.
std::string FloatRepr(double value);

// A text as it is; True, False, None; lists and objects as repr() writes them.
std::string PythonStr(const boost::json::value& value);
std::string PythonRepr(const boost::json::value& value);
// In single quotes, or in double ones where only single ones occur. Characters that are not printable are escaped.
std::string PythonQuote(std::string_view text);

// `indent` 0: on one line, with ", " and ": ".
std::string JsonDumps(const boost::json::value& value, size_t indent = 0);

}  // namespace inferflux::dspy
