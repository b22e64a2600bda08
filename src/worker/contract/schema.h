// The JSON schema of the contract (JSON Schema 2020-12), made of the messages' tables. docs/worker-contract.schema.json
// is its text.
#pragma once

#include <string>

namespace inferflux::worker {

std::string ContractSchema();

}  // namespace inferflux::worker
