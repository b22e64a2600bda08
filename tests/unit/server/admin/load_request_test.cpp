// What POST /v1/admin/models makes of its body: the whole request for a load, or the whole refusal.
#include "server/admin/load_request.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "serving/pool/model_pool.h"

namespace inferflux::testing {
namespace {

class LoadRequestTest : public ::testing::Test {
 protected:
  static serving::LoadRequest Defaults() {
    serving::LoadRequest out;
    out.requested_backend = "cuda,cpu";
    out.context = 77;
    out.max_running = 5;
    out.config.kv_dtype = "bf16";
    return out;
  }
  // "ID PATH [MEMBER=VALUE...]", or "STATUS PARAM CODE: MESSAGE".
  std::string Read(const std::string& body) {
    const auto load = server::ParseAdminLoad(boost::json::parse(body).as_object(), pool_);
    if (!load) {
      const auto& error = load.error();
      return fmt::format("{} {} {}: {}", error.status, error.param, error.code, error.message);
    }
    const serving::LoadRequest& request = load->request;
    std::string out = request.id + " " + request.path;
    const auto add = [&](const char* name, const auto& value) { out += fmt::format(" {}={}", name, value); };
    if (request.requested_backend != "cuda,cpu") add("backend", request.requested_backend);
    if (request.config.kv_dtype != "bf16") add("kv_dtype", *request.config.kv_dtype);
    if (request.config.device) add("device", *request.config.device);
    if (request.config.gpu_layers) add("gpu_layers", *request.config.gpu_layers);
    if (!request.draft.empty()) add("draft", request.draft);
    if (request.context != 77) add("context", request.context);
    if (request.max_running != 5) add("max_running", request.max_running);
    if (request.pinned) add("pinned", true);
    if (request.keep_alive) add("keep_alive", request.keep_alive->count());
    if (load->is_default) add("default", true);
    if (load->stream) add("stream", true);
    return out;
  }
  // The same with these fields beside a path.
  std::string With(const std::string& more) { return Read(R"({"path":"/m/a.gguf",)" + more + "}"); }

  metrics::Registry metrics_;
  const serving::BackendFactory factory_{{}, {}};
  serving::ModelPool pool_{factory_, metrics_, Defaults()};
};

TEST_F(LoadRequestTest, EachFieldIsThatOfTheLoad) {
  EXPECT_EQ(Read(R"({"path":"/m/a.gguf"})"), "a /m/a.gguf");
  EXPECT_EQ(Read(R"({"path":"/m/b"})"), "b /m/b");
  EXPECT_EQ(With(R"("id":"i")"), "i /m/a.gguf");
  EXPECT_EQ(With(R"("backend":"cpu")"), "a /m/a.gguf backend=cpu");
  EXPECT_EQ(With(R"("backend":["cpu","auto","cuda"])"), "a /m/a.gguf backend=cpu,auto,cuda");
  EXPECT_EQ(With(R"("kv_dtype":"f16")"), "a /m/a.gguf kv_dtype=f16");
  EXPECT_EQ(With(R"("draft":"/m/d.gguf")"), "a /m/a.gguf draft=/m/d.gguf");
  EXPECT_EQ(With(R"("pin":true)"), "a /m/a.gguf pinned=true");
  EXPECT_EQ(With(R"("default":true)"), "a /m/a.gguf default=true");
  EXPECT_EQ(With(R"("stream":true)"), "a /m/a.gguf stream=true");
  EXPECT_EQ(Read(R"({"id":"i","path":"/m/a.gguf","backend":"vulkan","kv_dtype":"q8_0","draft":"/d","device":2,)"
                 R"("gpu_layers":3,"context":4,"keep_alive":5,"pin":true,"default":true,"stream":true})"),
            "i /m/a.gguf backend=vulkan kv_dtype=q8_0 device=2 gpu_layers=3 draft=/d context=4 pinned=true "
            "keep_alive=5 default=true stream=true");
}

TEST_F(LoadRequestTest, AModelThatTheServerKnowsIsFoundByItsName) {
  pool_.Offer({.id = "known", .path = "/offered/known.gguf"});
  EXPECT_EQ(Read(R"({"id":"known"})"), "known /offered/known.gguf");
  EXPECT_EQ(Read(R"({"id":"known","path":"/m/a.gguf"})"), "known /m/a.gguf");
  EXPECT_EQ(Read(R"({"id":"none"})").substr(0, 18), "404 id not_found: ");
  const std::string needed =
      "400 path invalid_value: 'path' is needed: a GGUF file, or a Hugging Face directory; or 'id' alone, for a model "
      "of the models directory";
  EXPECT_EQ(Read("{}"), needed);
  EXPECT_EQ(Read(R"({"id":"","path":""})"), needed);
}

TEST_F(LoadRequestTest, NumbersHaveTheirBounds) {
  struct Case {
    const char* field;
    int64_t least, most;
  };
  for (const Case& c : {Case{"device", -1, 1023}, Case{"gpu_layers", -1, 65536}, Case{"context", 1, 16777216},
                        Case{"keep_alive", -1, 31536000}}) {
    const auto with = [&](int64_t value) { return With(fmt::format(R"("{}":{})", c.field, value)); };
    const auto taken = [&](int64_t value) { return fmt::format("a /m/a.gguf {}={}", c.field, value); };
    const auto refused = [&](int64_t value) {
      return fmt::format("400 {0} invalid_value: '{0}' must be from {1} to {2}, but is {3}", c.field, c.least, c.most,
                         value);
    };
    const bool forever = std::string(c.field) == "keep_alive";
    EXPECT_EQ(with(c.least),
              forever ? fmt::format("a /m/a.gguf keep_alive={}", serving::kKeepLoaded.count()) : taken(c.least));
    EXPECT_EQ(with(c.most), taken(c.most));
    EXPECT_EQ(with(c.least - 1), refused(c.least - 1));
    EXPECT_EQ(with(c.most + 1), refused(c.most + 1));
  }
  EXPECT_EQ(With(R"("keep_alive":0)"), "a /m/a.gguf keep_alive=0");
}

TEST_F(LoadRequestTest, TextsHaveTheirMostBytes) {
  struct Case {
    const char* field;
    size_t most;
  };
  for (const Case& c : {Case{"path", 4096}, Case{"draft", 4096}, Case{"id", 256}, Case{"kv_dtype", 256}}) {
    const auto with = [&](size_t bytes) {
      return Read(fmt::format(R"({{{}"{}":"{}"}})", std::string(c.field) == "path" ? "" : R"("path":"/a",)", c.field,
                              std::string(bytes, 'x')));
    };
    EXPECT_NE(with(c.most).find(std::string(c.most, 'x')), std::string::npos) << c.field;
    EXPECT_EQ(with(c.most + 1), fmt::format("400 {0} invalid_value: '{0}' must be of at most {1} bytes, but has {2}",
                                            c.field, c.most, c.most + 1));
  }
}

TEST_F(LoadRequestTest, AChainHasKnownWordsAndNotTooMany) {
  EXPECT_EQ(With(R"("backend":"abacus")").substr(0, 27), "400 backend invalid_value: ");
  EXPECT_EQ(With(R"("backend":[])").substr(0, 27), "400 backend invalid_value: ");
  EXPECT_EQ(With(R"("backend":[5])"), "400 backend invalid_type: 'backend' must be a string, but is an integer");
  EXPECT_EQ(With(R"("backend":5)"), "400 backend invalid_type: 'backend' must be a string, but is an integer");
  const auto words = [&](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i > 0 ? ",\"cpu\"" : "\"cpu\"");
    return With(R"("backend":[)" + list + "]");
  };
  EXPECT_EQ(words(32).substr(0, 20), "a /m/a.gguf backend=");
  EXPECT_EQ(words(33), "400 backend invalid_value: 'backend' must have at most 32 items, but has 33");
  const auto word = [](size_t bytes) { return "cpu," + std::string(bytes - 7, ',') + "cpu"; };
  EXPECT_EQ(With(R"("backend":[")" + word(256) + "\"]").substr(0, 20), "a /m/a.gguf backend=");
  EXPECT_EQ(With(R"("backend":[")" + word(257) + "\"]"),
            "400 backend invalid_value: 'backend' must be of at most 256 bytes, but has 257");
  EXPECT_EQ(With(R"("backend":")" + word(8192) + "\"").substr(0, 20), "a /m/a.gguf backend=");
  EXPECT_EQ(With(R"("backend":")" + word(8193) + "\""),
            "400 backend invalid_value: 'backend' must be of at most 8192 bytes, but has 8193");
}

TEST_F(LoadRequestTest, ADeviceIsANumberOrAText) {
  EXPECT_EQ(With(R"("device":"1")"), "a /m/a.gguf device=1");
  EXPECT_EQ(With(R"("device":"1023")"), "a /m/a.gguf device=1023");
  EXPECT_EQ(With(R"("device":"1024")").substr(0, 26), "400 device invalid_value: ");
  EXPECT_EQ(With(R"("device":"-2")").substr(0, 26), "400 device invalid_value: ");
  EXPECT_EQ(With(R"("device":1.5)"), "400 device invalid_type: 'device' must be an integer, but is a number");
  const std::string long_text(257, '1');
  EXPECT_EQ(With(R"("device":")" + long_text + "\""),
            "400 device invalid_value: 'device' must be of at most 256 bytes, but has 257");
}

TEST_F(LoadRequestTest, AnUnknownFieldIsRefused) {
  EXPECT_EQ(With(R"("colour":1)"), "400 colour unknown_parameter: Unrecognized request argument supplied: colour");
}

}  // namespace
}  // namespace inferflux::testing
