// inferctl parity: what it says of a model that it cannot compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/inferctl/command_testing.h"

namespace inferflux::apps {
namespace {

TEST(ParityCommandTest, AModelThatIsNotThereIsNamed) {
  EXPECT_THAT(Called(AddParity, {"parity", "--model", "/no/file"}),
              ::testing::StartsWith("|inferctl: there is no model file or directory '/no/file'; "));
  EXPECT_EQ(Called(AddParity, {"parity", "--model", "/no/file"}, {.json = true}).back(), '1');
}

}  // namespace
}  // namespace inferflux::apps
