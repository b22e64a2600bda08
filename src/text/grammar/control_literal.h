// Control tokens in grammars: a grammar reads one as a byte that no text has, and its name. So it stands only where a
// grammar asks for it, and text that spells its name is something else.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/expression.h"

namespace inferflux::text {

inline constexpr char kControlByte = '\xFF';  // never part of UTF-8

inline std::string ControlSpelling(std::string_view name) { return kControlByte + std::string(name); }
inline Expr ControlLiteral(std::string_view name) { return Literal(ControlSpelling(name)); }

}  // namespace inferflux::text
