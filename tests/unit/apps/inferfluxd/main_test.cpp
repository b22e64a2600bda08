// inferfluxd from its command line, where it prints and ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/console/backend_list.h"
#include "apps/inferfluxd/daemon_testing.h"
#include "apps/run_main.h"

int InferfluxdMain(int argc, char** argv);
int RankMain(int argc, char** argv);

namespace inferflux::apps {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MainTest : public DaemonTest {};

TEST_F(MainTest, TheServerPrintsItsSettingsOrWhatItHas) {
  EXPECT_THAT(
      Ran(InferfluxdMain, {"--print-config", "--port", "81"}),
      AllOf(StartsWith("server.host = 127.0.0.1  # default\nserver.port = 81  # flag --port\n"), EndsWith("||0")));
  const std::string backends = Ran(InferfluxdMain, {"--backends"});
  EXPECT_THAT(backends,
              AllOf(HasSubstr("cpu        native     yes "), HasSubstr("\nhardware\ncpu "), Not(HasSubstr("server."))));
  EXPECT_THAT(backends,
              HasSubstr("\n\nranks of a model (--tensor-parallel, --pipeline-parallel): through shared memory; "));
  EXPECT_THAT(backends, AllOf(HasSubstr("through MPI"), EndsWith("\n||0")));
  EXPECT_THAT(Ran(InferfluxdMain, {"--help"}), AllOf(HasSubstr("Serves language models"), EndsWith("||0")));
  EXPECT_THAT(Ran(InferfluxdMain, {"--prot"}), AllOf(StartsWith("|inferfluxd: "), EndsWith("\n|2")));
  EXPECT_THAT(Ran(InferfluxdMain, {"--print-man"}), StartsWith(".TH INFERFLUXD 1 "));
  EXPECT_THAT(Ran(InferfluxdMain, {"--runtime-backend", "nope", "--port", "0"}),
              AllOf(HasSubstr("unknown backend 'nope'"), EndsWith("|1")));
}

TEST(RankMainDeathTest, ARankIsOfNoUseAlone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static char name[] = "rank";
  char* words[] = {name, nullptr};
  EXPECT_EXIT(std::exit(RankMain(1, words)), ::testing::ExitedWithCode(1),
              "this program is started by inferfluxd --tensor-parallel or --pipeline-parallel.*rank=1");
  const std::string help = Ran(RankMain, {"--help"});
  EXPECT_THAT(help, AllOf(HasSubstr("Runs a rank of a model that several processes share."), HasSubstr("--rank NUMBER"),
                          HasSubstr("--ranks NUMBER"), HasSubstr("--threads NUMBER"), EndsWith("||0")));
  EXPECT_THAT(Ran(RankMain, {"--rank", "x"}), EndsWith("|2"));
  EXPECT_THAT(Ran(RankMain, {"--print-man"}), StartsWith(".TH INFERFLUX-RANK 1 "));
}

}  // namespace
}  // namespace inferflux::apps
