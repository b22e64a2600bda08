// The store that the settings name.
#pragma once

#include <memory>
#include <string>

#include "scheduler/sessions/session_store.h"

namespace inferflux::session_store {

// `url`: "/folder", "file:///folder" or "s3://bucket[/prefix]"; empty: null, no store. An object store's address and
// credentials come from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN,
// as other programs read them. `key_file` holds the key that all workers share, at least 32 characters. The error names
// the setting or the variable.
Result<std::shared_ptr<scheduler::SessionStore>> OpenStore(const std::string& url, const std::string& key_file);

}  // namespace inferflux::session_store
