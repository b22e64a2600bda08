// Requests over HTTP of a server that traces: what its collector gets.
#include "server/request/trace/traced_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "net/router.h"
#include "net/server.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

constexpr char kTraceParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Keeps all spans that it gets.
class SpanKeeper {
 public:
  SpanKeeper() {
    net::Router routes;
    routes.Add("POST", "/v1/traces",
               [this](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                 Take(boost::json::parse(request.body));
                 net::Response answer(200, "application/json", "{}");
                 co_await writer.Send(std::move(answer));
               });
    server_ = std::move(*net::Server::Start({}, std::move(routes)));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::vector<boost::json::object> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }

 private:
  void Take(const boost::json::value& message) {
    const std::lock_guard lock(mutex_);
    for (const auto& span : message.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array()) {
      spans_.push_back(span.as_object());
    }
  }

  mutable std::mutex mutex_;
  std::vector<boost::json::object> spans_;
  std::unique_ptr<net::Server> server_;  // last: ends first
};

std::string AttributeOf(const boost::json::object& span, std::string_view key) {
  for (const auto& attribute : span.at("attributes").as_array()) {
    if (attribute.at("key").as_string() == key)
      return std::string(attribute.at("value").as_object().begin()->value().as_string());
  }
  return "-";
}

TEST(TracedCallTest, ACallThatRunsAModelIsTracedHoweverItEnds) {
  SpanKeeper collector;
  FakeServer fake([](const GenerationRequest& request, TokenStream& stream) {
    EXPECT_EQ(request.trace_parent.substr(0, 36), std::string(kTraceParent).substr(0, 36));
    const bool fails = std::string(request.prompt.begin(), request.prompt.end()).find("fail") != std::string::npos;
    if (fails) {
      stream.Push(Piece("begun"));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the stream has begun
    }
    StreamEvent last = End(fails ? FinishReason::kError : FinishReason::kStop, 9, 2, 1);
    last.finish->error = {ErrorCode::kInternal, "the device is gone"};
    last.text = "Hello";
    last.finish->phases = {{scheduler::TimelinePhase::Kind::kPrefill, 0, 0.5, 9, 4}};
    stream.Push(std::move(last));
  });
  auto exporter = telemetry::SpanExporter::Start(collector.url(), "test", fake.metrics);
  ASSERT_TRUE(exporter) << exporter.error().message;
  server::ApiOptions options;
  options.tracing.exporter = exporter->get();
  auto traced = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(traced) << traced.error().message;
  (*traced)->SetReady();
  const auto send = [&](const std::string& method, const std::string& target, const std::string& body) {
    const auto answer = net::Client(net::ServerAddress{"127.0.0.1", (*traced)->port(), ""})
                            .Send({method, target, {{"traceparent", kTraceParent}}, body});
    ASSERT_TRUE(answer) << answer.error().message;
  };
  send("GET", "/v1/models", "");
  send("POST", "/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}]})");
  send("POST", "/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}],"stream":true})");
  send("POST", "/v1/completions", R"({"prompt":"fail","stream":true})");
  send("POST", "/v1/completions", "{}");
  (*traced)->Stop(std::chrono::milliseconds(0));  // ends the calls, which hand over their spans
  (*exporter)->Stop(std::chrono::milliseconds(10'000));
  const auto spans = collector.spans();
  std::map<std::string, std::string> names;  // of spans, by their ids
  for (const auto& span : spans) names[std::string(span.at("spanId").as_string())] = span.at("name").as_string();
  names["00f067aa0ba902b7"] = "the client";
  std::vector<std::string> told;
  for (const auto& span : spans) {
    EXPECT_EQ(span.at("traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    const std::string name(span.at("name").as_string());
    std::string line = name + " of " + names[std::string(span.at("parentSpanId").as_string())];
    for (const char* key :
         {"http.route", "http.response.status_code", "error.type", "gen_ai.usage.input_tokens", "inferflux.steps"}) {
      line += " " + AttributeOf(span, key);
    }
    if (const auto* status = span.if_contains("status")) line += " " + boost::json::serialize(*status);
    told.push_back(line);
  }
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{
                      "chat fake of the client /v1/chat/completions 200 - 9 -",
                      "chat fake of the client /v1/chat/completions 200 - 9 -",
                      "prefill of chat fake - - - - 4",
                      "prefill of chat fake - - - - 4",
                      "prefill of text_completion fake - - - - 4",
                      "text_completion fake of the client /v1/completions 200 stream_error 9 - "
                      R"({"code":2,"message":"the device is gone"})",
                      "text_completion of the client /v1/completions 400 - - -",
                  }));
}

}  // namespace
}  // namespace inferflux::testing
