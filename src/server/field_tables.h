// What each endpoint does with each of its fields, as Markdown for docs/api.md: honoured, accepted without effect, or
// refused. Made from the tables that parse the requests.
#pragma once

#include <string>

namespace inferflux::server {

std::string FieldTablesMarkdown();

}  // namespace inferflux::server
