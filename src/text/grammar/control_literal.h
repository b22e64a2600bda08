// Control tokens in grammars. A grammar reads a control token as a byte that no text contains, followed by its name. So
// the token matches only where the grammar names it, and text that spells its name does not match.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/expression.h"

namespace inferflux::text {

inline constexpr char kControlByte = '\xFF';  // never part of UTF-8

inline std::string ControlSpelling(std::string_view name) { return kControlByte + std::string(name); }
inline Expr ControlLiteral(std::string_view name) { return Literal(ControlSpelling(name)); }

}  // namespace inferflux::text
