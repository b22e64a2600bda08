#include "worker/contract/schema.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <fstream>
#include <sstream>

namespace inferflux::worker {
namespace {

// To make it again: build/bin/inferflux-worker-cpu --print-contract > docs/worker-contract.schema.json
TEST(ContractSchema, IsTheOneInTheDocumentation) {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/docs/worker-contract.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), ContractSchema()) << "docs/worker-contract.schema.json is stale";
}

TEST(ContractSchema, IsJsonWithEveryMessage) {
  const auto schema = boost::json::parse(ContractSchema());
  const auto& messages = schema.at("$defs").as_object();
  for (const char* name :
       {"ReadyCallback", "Heartbeat", "Deregistration", "WorkerInfo", "ExecuteRequest", "CancelRequest", "started",
        "token", "metrics", "end", "error", "InvalidRequest", "SessionRequest"}) {
    ASSERT_TRUE(messages.contains(name)) << name;
    EXPECT_TRUE(messages.at(name).is_object()) << name;
  }
}

}  // namespace
}  // namespace inferflux::worker
