// The terminals of Lark's library `common` (lark/grammars/common.lark).
#pragma once

#include <optional>
#include <string_view>

namespace inferflux::text {

// The regular expression of such a terminal; none if there is no such name.
std::optional<std::string_view> LarkCommonTerminal(std::string_view name);

}  // namespace inferflux::text
