#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/resolve.h"

namespace inferflux::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FlagsTest, LongAndShortFormsSetTheSameKey) {
  for (const char* flag : {"--port", "--server-port"}) {
    CommandLine line("server", "serves");
    FlagValues values;
    AddFlags(line, kServer, values);
    ASSERT_TRUE(line.Parse({flag, "9000", "--model", "a.gguf", "--model", "b.gguf"}).has_value());
    const auto settings = Resolve(values, {});
    ASSERT_TRUE(settings.has_value()) << settings.error().message;
    EXPECT_EQ(settings->Integer("server.port"), 9000);
    EXPECT_EQ(settings->models().size(), 2u);
  }
}

TEST(FlagsTest, AProgramOffersItsOwnKeysOnly) {
  CommandLine line("client", "asks");
  FlagValues values;
  AddFlags(line, kClient, values);
  const auto help = line.Parse({"--help"});
  ASSERT_TRUE(help.has_value() && help->has_value());
  EXPECT_THAT(**help, AllOf(HasSubstr("--url"), HasSubstr("--log-level"), Not(HasSubstr("--port"))));
}

}  // namespace
}  // namespace inferflux::config
