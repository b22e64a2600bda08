// The server's command line: what is an option of the program and not a setting, and what ends it.
#include "apps/inferfluxd/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/inferfluxd/daemon_testing.h"

namespace inferflux::apps {
namespace {

class OptionsTest : public DaemonTest {};

TEST_F(OptionsTest, EachFlagIsItsOwn) {
  const auto usual = Parsed({});
  ASSERT_TRUE(usual.options);
  EXPECT_EQ(usual.options->port_file, "");
  EXPECT_FALSE(usual.options->print_config || usual.options->print_backends);
  EXPECT_FALSE(usual.options->settings.Switch("workers.enabled"));
  EXPECT_EQ(usual.exit_code, 0);
  EXPECT_EQ(Parsed({"--port-file", "f"}).options->port_file, "f");
  const auto print = Parsed({"--print-config"});
  EXPECT_TRUE(print.options->print_config && !print.options->print_backends);
  const auto backends = Parsed({"--backends"});
  EXPECT_TRUE(backends.options->print_backends && !backends.options->print_config);
  EXPECT_TRUE(Parsed({"--pool"}).options->settings.Switch("workers.enabled"));
  EXPECT_EQ(Parsed({"--port", "81"}).options->settings.Integer("server.port"), 81);
}

TEST_F(OptionsTest, WhatEndsTheProgramSaysSo) {
  ::testing::internal::CaptureStdout();
  const auto help = Parsed({"--help"});
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_FALSE(help.options);
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(out, ::testing::HasSubstr("--port-file FILE"));
  ::testing::internal::CaptureStderr();
  const auto unknown = Parsed({"--prot", "81"});
  EXPECT_FALSE(unknown.options);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("inferfluxd: "));
  ::testing::internal::CaptureStderr();
  const auto wrong = Parsed({"--port", "many"});
  EXPECT_FALSE(wrong.options);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::StartsWith("inferfluxd: "), ::testing::HasSubstr("many")));
}

TEST_F(OptionsTest, TheSettingsAreResolvedAgainFromTheSameFlags) {
  const std::string file = Written("s.yaml", "server: {port: 81}\n");
  const auto parsed = Parsed({"--config", file, "--pool", "--runtime-context", "7"});
  ASSERT_TRUE(parsed.options);
  Written("s.yaml", "server: {port: 82}\n");
  const auto again = parsed.options->resolve_again();
  ASSERT_TRUE(again);
  EXPECT_EQ(parsed.options->settings.Integer("server.port"), 81);
  EXPECT_EQ(again->Integer("server.port"), 82);
  EXPECT_EQ(again->Integer("runtime.context"), 7);
  EXPECT_TRUE(again->Switch("workers.enabled"));
  Written("s.yaml", "server: {port: many}\n");
  EXPECT_FALSE(parsed.options->resolve_again());
}

}  // namespace
}  // namespace inferflux::apps
