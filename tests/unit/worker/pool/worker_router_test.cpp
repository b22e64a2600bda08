#include "worker/pool/worker_router.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

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
