// One message of a chat as it is typed: a line, or several between triple quotes.
#pragma once

#include <optional>
#include <string>

#include "apps/inferctl/chat/line_editor.h"
#include "base/function_ref.h"

namespace inferflux::apps {

using ReadLine = FunctionRef<std::optional<InputLine>(const char* prompt)>;

// A line, or, if it begins with three double quotes (also behind a command), all lines up to the next
// three, without them. Empty if the person gave it up by Ctrl-C; nothing at the end of the input.
std::optional<std::string> ReadMessage(ReadLine read);

}  // namespace inferflux::apps
