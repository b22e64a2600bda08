// Which tokens the server takes, by server.jwt.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/settings.h"
#include "keys/jwt/token_verifier.h"

namespace inferflux::apps {

// Reads the key set that the settings name, and logs how many keys it has. Null if they name none; kInvalidArgument if
// they leave out the issuer or the audience.
Result<std::shared_ptr<const keys::TokenVerifier>> ReadTokenVerifier(const config::Settings& settings);

}  // namespace inferflux::apps
