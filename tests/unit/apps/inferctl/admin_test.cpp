// inferctl admin, models, stop, rm and workers: the request that each sends, and what a person or a program reads of
// the answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/inferctl/command_testing.h"

namespace inferflux::apps {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

constexpr char kTable[] =
    "ID                       EXPOSED   REQUESTED  PROVIDER   FALLBACK  READY    FAMILY     WEIGHTS   CONTEXT\n";

TEST(AdminTest, EachCommandIsOneRequest) {
  struct Case {
    Words words;
    std::string asked;
  };
  const Case cases[] = {
      {{"models"}, "GET /v1/admin/models"},
      {{"cache"}, "GET /v1/admin/cache"},
      {{"pools"}, "GET /v1/admin/pools"},
      {{"routing"}, "GET /v1/admin/routing"},
      {{"routing", "--allow-default-fallback", "true"}, R"(PUT /v1/admin/routing {"allow_default_fallback":true})"},
      {{"routing", "--allow-default-fallback", "false", "--require-ready-backend", "true", "--fallback-scope",
        "any_compatible"},
       R"(PUT /v1/admin/routing {"allow_default_fallback":false,"require_ready_backend":true,)"
       R"("fallback_scope":"any_compatible"})"},
      {{"routing", "--require-ready-backend", "false"}, R"(PUT /v1/admin/routing {"require_ready_backend":false})"},
      {{"default", "m"}, R"(PUT /v1/admin/models/default {"id":"m"})"},
      {{"keep", "a?b", "--keep-alive", "60"}, R"(PATCH /v1/admin/models/a?b {"keep_alive":60})"},
      {{"keep", "m", "--pin", "true"}, R"(PATCH /v1/admin/models/m {"pin":true})"},
      {{"keep", "m", "--pin", "false", "--keep-alive", "-1"},
       R"(PATCH /v1/admin/models/m {"keep_alive":-1,"pin":false})"},
      {{"unload", "a?b"}, "DELETE /v1/admin/models/a?b?grace_seconds=30"},
      {{"unload", "m", "--grace", "5"}, "DELETE /v1/admin/models/m?grace_seconds=5"},
  };
  for (const Case& each : cases) {
    const std::string target = each.asked.substr(0, each.asked.find_first_of(" ?", each.asked.find('/')));
    const bool marked = each.asked.find("a?b") != std::string::npos;
    ScriptedServer server(Answers{{marked ? target + "?b" : target, R"({"data":[],"x":1})"}});
    Words words = {"admin"};
    words.insert(words.end(), each.words.begin(), each.words.end());
    EXPECT_EQ(Called(AddAdmin, words, {.url = server.url(), .json = true}), "{\"data\":[],\"x\":1}\n||0") << each.asked;
    EXPECT_THAT(server.TakeAsked(), ElementsAre(each.asked));
    ScriptedServer refusing(Answers{});
    EXPECT_EQ(Called(AddAdmin, words, {.url = refusing.url()}), kRefused) << each.asked;
  }
}

TEST(AdminTest, APersonReadsTheModelsAsATable) {
  ScriptedServer server(Answers{{"GET /v1/admin/models", R"({"data":[{"id":"a","ready":true}]})"},
                                {"GET /v1/admin/cache", R"({"models":[]})"}});
  EXPECT_EQ(
      Called(AddAdmin, {"admin", "models"}, {.url = server.url()}),
      std::string(kTable) +
          "a                        -         -          -          -         yes      -          -               "
          "-\n||0");
  EXPECT_EQ(Called(AddAdmin, {"admin", "cache"}, {.url = server.url()}), "{\"models\":[]}\n||0");
  EXPECT_THAT(Called(AddAdmin, {"admin"}, {.url = server.url()}), ::testing::StartsWith("A subcommand is required"));
}

TEST(AdminTest, ALoadNamesWhatWasGivenAndShowsItsEnd) {
  const std::string events =
      "data: {\"id\":\"a\",\"progress\":0.5}\n\ndata: {\"id\":\"a\",\"ready\":true}\n\ndata: [DONE]\n\n";
  ScriptedServer server(Answers{{"POST /v1/admin/models", events}});
  EXPECT_EQ(
      Called(AddAdmin, {"admin", "load", "--id", "a"}, {.url = server.url()}),
      std::string(kTable) +
          "a                        -         -          -          -         yes      -          -               "
          "-\n||0");
  EXPECT_THAT(server.TakeAsked(),
              ElementsAre(R"(POST /v1/admin/models {"default":false,"pin":false,"id":"a","stream":true})"));
  EXPECT_EQ(
      Called(AddAdmin, {"admin",      "load",         "/m.gguf", "--id",         "a",         "--on",  "cpu",
                        "--kv-dtype", "f16",          "--draft", "/d.gguf",      "--context", "64",    "--device",
                        "1",          "--gpu-layers", "-1",      "--keep-alive", "9",         "--pin", "--default"},
             {.url = server.url(), .json = true}),
      "{\"id\":\"a\",\"ready\":true}\n||0");
  EXPECT_THAT(
      server.TakeAsked(),
      ElementsAre(R"(POST /v1/admin/models {"default":true,"pin":true,"path":"/m.gguf","id":"a","backend":"cpu",)"
                  R"("kv_dtype":"f16","draft":"/d.gguf","context":64,"device":"1","gpu_layers":-1,)"
                  R"("keep_alive":9,"stream":true})"));
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddAdmin, {"admin", "load", "/m.gguf"}, {.url = refusing.url()}), kRefused);
  ScriptedServer failing(
      Answers{{"POST /v1/admin/models", "data: {\"error\":{\"message\":\"no room\"}}\n\ndata: [DONE]\n\n"}});
  EXPECT_EQ(Called(AddAdmin, {"admin", "load", "/m.gguf"}, {.url = failing.url()}),
            "|inferctl: the server says: no room\n|1");
}

TEST(ModelsTest, ModelsAndListAreOneCommand) {
  const std::string answer = R"({"data":[{"id":"a","status":{"value":"unloaded"}}]})";
  ScriptedServer server(Answers{{"GET /v1/models", answer}});
  const std::string table = std::string(kTable) +
                            "a                        -         -          -          -         unloaded -          -  "
                            "             -\n||0";
  EXPECT_EQ(Called(AddModels, {"models"}, {.url = server.url()}), table);
  EXPECT_EQ(Called(AddList, {"list"}, {.url = server.url()}), table);
  EXPECT_EQ(Called(AddModels, {"models"}, {.url = server.url(), .json = true}), answer + "\n||0");
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddModels, {"models"}, {.url = refusing.url()}), kRefused);
  EXPECT_EQ(Called(AddModels, {"models"}, {.url = "http://"}).back(), '1');
}

TEST(StopTest, AModelIsUnloadedByName) {
  ScriptedServer server(Answers{{"DELETE /v1/admin/models/a?b", R"({"default":"c"})"},
                                {"DELETE /v1/admin/models/last", R"({"default":null})"}});
  EXPECT_EQ(Called(AddStop, {"stop", "a?b"}, {.url = server.url()}), "a?b is unloaded\nthe default model is c\n||0");
  EXPECT_EQ(Called(AddStop, {"stop", "last", "--grace", "0"}, {.url = server.url()}), "last is unloaded\n||0");
  EXPECT_EQ(Called(AddStop, {"stop", "a?b"}, {.url = server.url(), .json = true}), "{\"default\":\"c\"}\n||0");
  EXPECT_EQ(Called(AddStop, {"stop", "other"}, {.url = server.url()}), kRefused);
  EXPECT_THAT(
      server.TakeAsked(),
      ElementsAre("DELETE /v1/admin/models/a?b?grace_seconds=30", "DELETE /v1/admin/models/last?grace_seconds=0",
                  "DELETE /v1/admin/models/a?b?grace_seconds=30", "DELETE /v1/admin/models/other?grace_seconds=30"));
}

TEST(RmTest, AModelIsDeletedByName) {
  ScriptedServer server(Answers{{"DELETE /api/delete", ""}});
  EXPECT_EQ(Called(AddRm, {"rm", "a/b"}, {.url = server.url()}), "a/b is deleted\n||0");
  EXPECT_EQ(Called(AddRm, {"rm", "a/b"}, {.url = server.url(), .json = true}),
            "{\"id\":\"a/b\",\"deleted\":true}\n||0");
  EXPECT_THAT(server.TakeAsked(),
              ElementsAre(R"(DELETE /api/delete {"model":"a/b"})", R"(DELETE /api/delete {"model":"a/b"})"));
  ScriptedServer refusing(Answers{});
  EXPECT_EQ(Called(AddRm, {"rm", "a/b"}, {.url = refusing.url(), .json = true}), kRefused);
}

TEST(WorkersTest, EachCommandIsOneRequest) {
  const std::string list =
      R"({"data":[{"id":"m-0","model":"m","backend":"cpu","state":"ready","pid":12,"in_flight":3,"restarts":1,)"
      R"("last_end":"signal 9"},{"id":"m-1"}]})";
  const std::string lines = R"({"lines":["one","two"]})";
  ScriptedServer server(Answers{{"GET /v1/admin/workers", list},
                                {"GET /v1/admin/workers/a?b/log", lines},
                                {"POST /v1/admin/workers/a?b/drain", R"({"state":"draining"})"},
                                {"POST /v1/admin/workers/a?b/restart", R"({"state":"starting"})"}});
  const auto called = [&](Words words, bool as_json) {
    words.insert(words.begin(), "workers");
    return Called(AddWorkers, words, {.url = server.url(), .json = as_json});
  };
  EXPECT_EQ(called({"list"}, false),
            "worker       model                backend          state           pid in flight restarts  last end\n"
            "m-0          m                    cpu              ready            12         3        1  signal 9\n"
            "m-1          -                    -                -                 -         -        -  -\n||0");
  EXPECT_EQ(called({"list"}, true), list + "\n||0");
  EXPECT_EQ(called({"logs", "a?b"}, false), "one\ntwo\n||0");
  EXPECT_EQ(called({"logs", "a?b"}, true), lines + "\n||0");
  EXPECT_EQ(called({"drain", "a?b"}, false), "||0");
  EXPECT_EQ(called({"restart", "a?b"}, true), "{\"state\":\"starting\"}\n||0");
  EXPECT_THAT(server.TakeAsked(),
              ElementsAre("GET /v1/admin/workers", "GET /v1/admin/workers", "GET /v1/admin/workers/a?b/log",
                          "GET /v1/admin/workers/a?b/log", "POST /v1/admin/workers/a?b/drain",
                          "POST /v1/admin/workers/a?b/restart"));
  ScriptedServer refusing(Answers{});
  for (const Words& words : {Words{"workers", "list"}, {"workers", "logs", "x"}, {"workers", "drain", "x"}}) {
    EXPECT_EQ(Called(AddWorkers, words, {.url = refusing.url()}), kRefused) << words[1];
  }
}

}  // namespace
}  // namespace inferflux::apps
