// A caller's sessions over HTTP: what the scheduler is asked, and the whole answers.
#include "server/admin/session_endpoints.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using Action = scheduler::SessionCommand::Action;
using Tier = scheduler::SessionInfo::Tier;

class SessionEndpointsTest : public ::testing::Test {
 protected:
  SessionEndpointsTest() {
    fake_.scheduler->sessions =
        [this](const scheduler::SessionCommand& command) -> Result<std::vector<scheduler::SessionInfo>> {
      const std::lock_guard lock(mutex_);
      asked_.push_back(fmt::format("{} '{}' {}", static_cast<int>(command.action), command.id, command.salt));
      if (command.id == "none") return Fail(ErrorCode::kNotFound, "there is no session 'none'");
      if (command.action != Action::kList)
        return std::vector{scheduler::SessionInfo{command.id, Tier::kDisk, 5, 66, true, 777}};
      return std::vector{scheduler::SessionInfo{"a", Tier::kEngine, 1, 0, false, 10},
                         scheduler::SessionInfo{"b", Tier::kMemory, 2, 30, true, 20}};
    };
  }

  std::vector<std::string> Asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  FakeServer fake_{[](const GenerationRequest&, TokenStream&) {}};  // last: ends before what it reports to
};

TEST_F(SessionEndpointsTest, EachCallAsksTheScheduler) {
  EXPECT_EQ(fake_.Get("/v1/sessions").body,
            R"({"object":"list","data":[{"id":"a","object":"session","tier":"engine","tokens":1,"bytes":0,)"
            R"("on_disk":false,"expires_in":10},{"id":"b","object":"session","tier":"memory","tokens":2,"bytes":30,)"
            R"("on_disk":true,"expires_in":20}]})");
  const std::string x =
      R"({"id":"x","object":"session","tier":"disk","tokens":5,"bytes":66,"on_disk":true,"expires_in":777)";
  EXPECT_EQ(fake_.Post("/v1/sessions/x/save", "").body, x + "}");
  EXPECT_EQ(fake_.Post("/v1/sessions/x/restore?model=fake", "").body, x + "}");
  EXPECT_EQ(fake_.Delete("/v1/sessions/x").body, x + R"(,"deleted":true})");
  EXPECT_EQ(Asked(), (std::vector<std::string>{"0 '' 0", "1 'x' 0", "2 'x' 0", "3 'x' 0"}));
}

TEST_F(SessionEndpointsTest, ARefusalIsThatOfTheScheduler) {
  const auto missing = fake_.Post("/v1/sessions/none/save", "");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, R"({"error":{"message":"there is no session 'none'","type":"invalid_request_error",)"
                          R"("param":"id","code":"not_found"}})");
  EXPECT_EQ(fake_.Get("/v1/sessions?model=other").status, 404);
  EXPECT_EQ(Asked().size(), 1u) << "no other model is asked";
}

}  // namespace
}  // namespace inferflux::testing
