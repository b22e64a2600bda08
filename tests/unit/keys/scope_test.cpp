#include "keys/scope.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>

namespace inferflux::keys {
namespace {

TEST(ScopeTest, EachHasItsName) {
  const std::pair<Scope, std::string_view> all[] = {{Scope::kRead, "read"},
                                                    {Scope::kGenerate, "generate"},
                                                    {Scope::kLoad, "load"},
                                                    {Scope::kMetrics, "metrics"},
                                                    {Scope::kAdmin, "admin"}};
  for (const auto& [scope, name] : all) {
    EXPECT_EQ(NameOf(scope), name);
    EXPECT_EQ(NamesOf(static_cast<Scopes>(scope)), name);
    EXPECT_EQ(ParseScopes(name), static_cast<Scopes>(scope));
  }
  EXPECT_EQ(NamesOf(kEveryScope), "read,generate,load,metrics,admin");
  EXPECT_EQ(NamesOf(0), "");
}

TEST(ScopeTest, AListHasNamesAndCommas) {
  EXPECT_EQ(ParseScopes("admin,read,admin"), Scope::kAdmin | Scope::kRead);
  EXPECT_EQ(ParseScopes("read,generate,load,metrics,admin"), kEveryScope);
  for (const char* wrong : {"", ",", "read,,load", ",read", "read, load", "rea", "reads", "READ", "read,write"}) {
    EXPECT_EQ(ParseScopes(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace inferflux::keys
