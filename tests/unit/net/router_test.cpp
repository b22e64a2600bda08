#include "net/router.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inferflux::net {
namespace {

Handler Nothing() {
  return [](const Request&, ResponseWriter&) -> boost::asio::awaitable<void> { co_return; };
}

Router::Match Find(const Router& router, std::string_view method, std::string_view target) {
  const auto parsed = ParseTarget(target);
  EXPECT_TRUE(parsed.has_value()) << target;
  return router.Find(method, parsed->segments);
}

TEST(RouterTest, ParametersAreDecodedAndMayHoldSlashes) {
  Router router;
  router.Add("GET", "/v1/models/{id...}", Nothing());
  EXPECT_EQ(Find(router, "GET", "/v1/models/tiny").parameters.at("id"), "tiny");
  EXPECT_EQ(Find(router, "GET", "/v1/models/org/name").parameters.at("id"), "org/name");
  EXPECT_EQ(Find(router, "GET", "/v1/models/org%2Fname%20x").parameters.at("id"), "org/name x");
  EXPECT_EQ(Find(router, "GET", "/v1/models/").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/v1/models").handler, nullptr);
}

TEST(RouterTest, OneSegmentParametersTakeOneSegment) {
  Router router;
  router.Add("GET", "/a/{x}/b", Nothing());
  EXPECT_EQ(Find(router, "GET", "/a/1/b").parameters.at("x"), "1");
  EXPECT_EQ(Find(router, "GET", "/a/1/2/b").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/a/1/b/").handler, nullptr);
}

TEST(RouterTest, OnlyAMissNamesTheMethodsThatAreThere) {
  Router router;
  router.Add("POST", "/a", Nothing());
  router.Add("GET", "/a", Nothing());
  EXPECT_EQ(Find(router, "GET", "/a").allow, "");
  EXPECT_EQ(Find(router, "PUT", "/a").allow, "POST, GET, HEAD");
  EXPECT_EQ(Find(router, "PUT", "/b").allow, "");
}

TEST(RouterTest, OnlyASegmentInBracesIsAParameter) {
  Router router;
  router.Add("GET", "/a/{x", Nothing());
  router.Add("GET", "/b/x}", Nothing());
  router.Add("GET", "/c/{x}/{rest...}", Nothing());
  EXPECT_EQ(Find(router, "GET", "/a/%7Bx").pattern, "/a/{x");
  EXPECT_EQ(Find(router, "GET", "/b/x%7D").pattern, "/b/x}");
  EXPECT_EQ(Find(router, "GET", "/a/y").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/b/y").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/c/1/2/3/4").parameters,
            (std::map<std::string, std::string>{{"x", "1"}, {"rest", "2/3/4"}}));
  EXPECT_EQ(Find(router, "GET", "/c/1").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/c//2").handler, nullptr);
}

TEST(RouterTest, OnlyGetServesHead) {
  Router router;
  router.Add("POST", "/post", Nothing());
  router.Add("GET", "/get", Nothing(), [](Request&) { return std::optional<Response>(); });
  EXPECT_EQ(Find(router, "HEAD", "/post").handler, nullptr);
  EXPECT_EQ(Find(router, "HEAD", "/post").allow, "POST");
  const Router::Match match = Find(router, "HEAD", "/get");
  ASSERT_NE(match.handler, nullptr);
  EXPECT_EQ(match.allow, "");
  EXPECT_TRUE(*match.check);
  EXPECT_EQ(Find(router, "GET", "/none").allow, "");
}

TEST(RouterTest, TheFirstPatternThatMatchesServes) {
  Router router;
  router.Add("GET", "/a/exact", Nothing());
  router.Add("GET", "/a/{x}", Nothing());
  EXPECT_EQ(Find(router, "GET", "/a/exact").pattern, "/a/exact");
  EXPECT_EQ(Find(router, "GET", "/a/other").pattern, "/a/{x}");
}

TEST(RouterTest, TheRootIsAPathOfItsOwn) {
  Router router;
  router.Add("GET", "/", Nothing());
  EXPECT_NE(Find(router, "GET", "/").handler, nullptr);
  EXPECT_NE(Find(router, "GET", "/?x=1").handler, nullptr);
  EXPECT_EQ(Find(router, "GET", "/a").handler, nullptr);
}

TEST(RouterTest, AWrongMethodNamesTheRightOnes) {
  Router router;
  router.Add("GET", "/a", Nothing());
  router.Add("POST", "/a", Nothing());
  const Router::Match match = Find(router, "PUT", "/a");
  EXPECT_EQ(match.handler, nullptr);
  EXPECT_EQ(match.allow, "GET, HEAD, POST");
  EXPECT_NE(Find(router, "HEAD", "/a").handler, nullptr);
}

TEST(ParseTargetTest, SplitsPathAndQuery) {
  const auto target = ParseTarget("/a%20b/c?x=1&y=%26");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a b/c");
  EXPECT_EQ(target->segments, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(target->query.at("x"), "1");
  EXPECT_EQ(target->query.at("y"), "&");
}

TEST(ParseTargetTest, TheAbsoluteFormIsThePathOfIt) {
  const auto target = ParseTarget("http://x.test:80/a/b?c=1");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a/b");
  EXPECT_EQ(target->query.at("c"), "1");
  EXPECT_EQ(ParseTarget("http://x.test")->path, "/");
  EXPECT_EQ(ParseTarget("https://x.test/b")->path, "/b");
  EXPECT_EQ(ParseTarget("http:///a").error().message, "the request target names no host");
}

TEST(ParseTargetTest, RefusesWhatIsNoPath) {
  for (const char* bad : {"", "*", "a", "/%", "/%g0", "/a b", "http://", "ftp://x/a"})
    EXPECT_FALSE(ParseTarget(bad).has_value()) << bad;
}

}  // namespace
}  // namespace inferflux::net
