#include "worker/pool/worker_router.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace inferflux::worker {
namespace {

scheduler::GenerationRequest Request(TokenId from, size_t count = 64) {
  scheduler::GenerationRequest out;
  out.prompt.resize(count);
  std::iota(out.prompt.begin(), out.prompt.end(), from);
  return out;
}

TEST(WorkerRouter, ASessionStaysWithItsWorker) {
  WorkerRouter router;
  auto request = Request(0);
  request.session = scheduler::SessionUse{.id = "chat"};
  const int first = router.Route(request, std::vector<RouteChoice>{{1, 0}, {2, 5}}).worker;
  EXPECT_EQ(first, 1);
  auto next = Request(5000);
  next.session = request.session;
  EXPECT_EQ(router.Route(next, std::vector<RouteChoice>{{1, 50}, {2, 0}}).worker, 1);
  next.cache_salt = 9;  // another tenant's session of the same name
  EXPECT_EQ(router.Route(next, std::vector<RouteChoice>{{1, 50}, {2, 0}}).worker, 2);
}

TEST(WorkerRouter, APrefixOutweighsAShorterQueueUntilItIsFarLonger) {
  WorkerRouter router;
  ASSERT_EQ(router.Route(Request(0), std::vector<RouteChoice>{{1, 0}, {2, 1}}).worker, 1);
  const auto routed = router.Route(Request(0, 100), std::vector<RouteChoice>{{1, 5}, {2, 0}});
  EXPECT_EQ(routed.worker, 1);
  EXPECT_EQ(routed.prefix_tokens, 64);
  EXPECT_EQ(router.Route(Request(0, 100), std::vector<RouteChoice>{{1, 9}, {2, 0}}).worker, 2);
}

TEST(WorkerRouter, WithoutAPrefixTheShortestQueueGetsIt) {
  WorkerRouter router;
  EXPECT_EQ(router.Route(Request(0), std::vector<RouteChoice>{{1, 3}, {2, 1}, {3, 2}}).worker, 2);
}

TEST(WorkerRouter, TiesAreSpreadAndOnlyALostWorkersRequestsMove) {
  const std::vector<RouteChoice> all{{1, 0}, {2, 0}, {3, 0}}, rest{{1, 0}, {3, 0}};
  std::set<int> used;
  for (TokenId i = 0; i < 60; ++i) {
    WorkerRouter fresh, later;
    const int before = fresh.Route(Request(1000 * i), all).worker;
    used.insert(before);
    const int after = later.Route(Request(1000 * i), rest).worker;
    if (before != 2) {
      EXPECT_EQ(before, after);
    }
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(WorkerRouter, APrefixCountsUpToEightRequestsAhead) {
  for (const auto& [ahead, worker] : {std::pair{8, 1}, std::pair{9, 2}}) {
    WorkerRouter router;
    ASSERT_EQ(router.Route(Request(0), std::vector<RouteChoice>{{1, 0}, {2, 1}}).worker, 1);
    EXPECT_EQ(router.Route(Request(0), std::vector<RouteChoice>{{1, 3 + ahead}, {2, 3}}).worker, worker) << ahead;
    WorkerRouter turned;
    ASSERT_EQ(turned.Route(Request(0), std::vector<RouteChoice>{{1, 0}, {2, 1}}).worker, 1);
    EXPECT_EQ(turned.Route(Request(0), std::vector<RouteChoice>{{2, 3}, {1, 3 + ahead}}).worker, worker) << ahead;
  }
}

TEST(WorkerRouter, TheLongerPrefixWinsWhereverItStands) {
  for (const bool first : {true, false}) {
    WorkerRouter router;
    ASSERT_EQ(router.Route(Request(0, 96), std::vector<RouteChoice>{{1, 0}}).worker, 1);
    ASSERT_EQ(router.Route(Request(0, 32), std::vector<RouteChoice>{{2, 0}}).worker, 2);
    const auto choices = first ? std::vector<RouteChoice>{{1, 2}, {2, 0}} : std::vector<RouteChoice>{{2, 0}, {1, 2}};
    const Routed routed = router.Route(Request(0, 200), choices);
    EXPECT_EQ(routed.worker, 1);
    EXPECT_EQ(routed.prefix_tokens, 96);
    EXPECT_EQ(router.LongestPrefix(Request(0, 200), std::vector<RouteChoice>{{2, 0}}), 32);
    EXPECT_EQ(router.LongestPrefix(Request(0, 300), choices), 192);
    EXPECT_EQ(router.LongestPrefix(Request(7000), choices), 0);
  }
}

TEST(WorkerRouter, APromptGoesToTheIdlestAndThenToTheOneThatKnowsIt) {
  WorkerRouter router;
  ASSERT_EQ(router.RoutePrefill(Request(0), std::vector<RouteChoice>{{1, 0}, {2, 1}}), 1);
  EXPECT_EQ(router.RoutePrefill(Request(0), std::vector<RouteChoice>{{2, 3}, {1, 3}}), 1);
  EXPECT_EQ(router.RoutePrefill(Request(0), std::vector<RouteChoice>{{1, 3}, {2, 2}}), 2);
  EXPECT_EQ(router.LongestPrefix(Request(0), std::vector<RouteChoice>{{2, 0}}), 64) << "it has been sent there now";
}

TEST(WorkerRouter, ASessionSaysHowMuchOfThePromptItsWorkerKnows) {
  WorkerRouter router;
  auto request = Request(0);
  request.session = scheduler::SessionUse{.id = "chat"};
  ASSERT_EQ(router.Route(request, std::vector<RouteChoice>{{1, 0}}).prefix_tokens, 0);
  const Routed again = router.Route(request, std::vector<RouteChoice>{{1, 90}, {2, 0}});
  EXPECT_EQ(again.worker, 1);
  EXPECT_EQ(again.prefix_tokens, 64);
  EXPECT_EQ(router.Route(request, std::vector<RouteChoice>{{2, 0}, {3, 1}}).worker, 2) << "its worker does not serve";
}

TEST(WorkerRouter, WhereAPromptGoesDependsOnItsFirstBlock) {
  const std::vector<RouteChoice> all{{1, 0}, {2, 0}, {3, 0}};
  const auto where = [&](const scheduler::GenerationRequest& request) {
    return WorkerRouter().Route(request, all).worker;
  };
  std::set<int> by_first, by_last, by_salt;
  for (TokenId i = 0; i < 60; ++i) {
    auto first = Request(0, 32), last = Request(0, 32), behind = Request(0, 33), salted = Request(0);
    first.prompt[0] = 100 + i;
    last.prompt[31] = 100 + i;
    behind.prompt[32] = 100 + i;
    salted.cache_salt = static_cast<uint64_t>(i);
    by_first.insert(where(first));
    by_last.insert(where(last));
    by_salt.insert(where(salted));
    EXPECT_EQ(where(behind), where(Request(0))) << "its KV may be shared";
  }
  EXPECT_EQ(by_first.size(), 3u);
  EXPECT_EQ(by_last.size(), 3u);
  EXPECT_EQ(by_salt.size(), 3u) << "tenants share nothing";
  EXPECT_EQ(where(Request(0, 0)), where(Request(5, 0))) << "a prompt may be short";
}

TEST(WorkerRouter, ASessionThatIsUsedOftenTakesOnePlace) {
  WorkerRouter router;
  auto request = Request(0, 1);
  request.session = scheduler::SessionUse{.id = "old"};
  router.Route(request, std::vector<RouteChoice>{{1, 0}});
  request.session->id = "new";
  for (int i = 0; i < 70'000; ++i) router.Route(request, std::vector<RouteChoice>{{1, 0}});
  request.session->id = "old";
  EXPECT_EQ(router.Route(request, std::vector<RouteChoice>{{1, 5}, {2, 0}}).worker, 1);
}

TEST(WorkerRouter, KnowsOnlyTheLatestSessions) {
  WorkerRouter router;
  auto request = Request(0, 1);
  request.session.emplace();
  for (int i = 0; i <= 65536; ++i) {
    request.session->id = std::to_string(i);
    router.Route(request, std::vector<RouteChoice>{{1, 0}});
  }
  const auto where = [&](const char* id) {
    request.session->id = id;
    return router.Route(request, std::vector<RouteChoice>{{1, 5}, {2, 0}}).worker;
  };
  EXPECT_EQ(where("65536"), 1);
  EXPECT_EQ(where("1"), 1);
  EXPECT_EQ(where("0"), 2) << "the oldest one is forgotten";
}

TEST(WorkerRouter, ForgetsALostWorker) {
  WorkerRouter router;
  auto request = Request(0);
  request.session = scheduler::SessionUse{.id = "chat"};
  ASSERT_EQ(router.Route(request, std::vector<RouteChoice>{{1, 0}, {2, 1}}).worker, 1);
  router.Forget(1);
  EXPECT_EQ(router.Route(request, std::vector<RouteChoice>{{1, 1}, {2, 0}}).worker, 2);
}

}  // namespace
}  // namespace inferflux::worker
