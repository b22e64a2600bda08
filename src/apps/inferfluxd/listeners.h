// Where the server listens, by its settings.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "config/settings.h"
#include "net/server_options.h"

namespace inferflux::apps {

// Null if the settings name no certificate. kInvalidArgument if they name half of what TLS needs, or files that are
// wrong.
Result<std::shared_ptr<net::TlsContext>> LoadTls(const config::Settings& settings);

// The server's own listener. Without keys it refuses addresses that other machines can reach.
net::ServerOptions NetOptions(const config::Settings& settings, std::shared_ptr<net::TlsContext> tls,
                              bool keys_required);

// That of administration and metrics, otherwise as `own`; empty if there is none.
std::optional<net::ServerOptions> AdminNetOptions(const config::Settings& settings, const net::ServerOptions& own);

}  // namespace inferflux::apps
