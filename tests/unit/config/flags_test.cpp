#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "config/resolve.h"

namespace inferflux::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FlagsTest, LongAndShortFormsSetTheSameKey) {
  for (const char* flag : {"--port", "--server-port"}) {
    CLI::App app;
    FlagValues values;
    AddFlags(app, kServer, values);
    app.parse(std::string(flag) + " 9000 --model a.gguf --model b.gguf");
    const auto settings = Resolve(values, {});
    ASSERT_TRUE(settings.has_value()) << settings.error().message;
    EXPECT_EQ(settings->Integer("server.port"), 9000);
    EXPECT_EQ(settings->models().size(), 2u);
  }
}

TEST(FlagsTest, AnUnknownFlagSuggestsTheNearest) {
  CLI::App app;
  app.allow_extras();
  FlagValues values;
  AddFlags(app, kServer, values);
  app.parse("--prot=9000");
  const Status status = RejectUnknownFlags(app);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("'--prot'"), HasSubstr("'--port'")));
}

TEST(FlagsTest, AProgramOffersItsOwnKeysOnly) {
  CLI::App app;
  FlagValues values;
  AddFlags(app, kClient, values);
  EXPECT_THAT(app.help(), AllOf(HasSubstr("--url"), HasSubstr("--log-level"), Not(HasSubstr("--port"))));
}

}  // namespace
}  // namespace inferflux::config
