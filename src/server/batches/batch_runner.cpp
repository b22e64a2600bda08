#include "server/batches/batch_runner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <ctime>
#include <exception>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/batches/batch_body.h"
#include "server/batches/batch_input.h"
#include "server/openai/openai_api.h"
#include "server/request/unique_id.h"
#include "server/responses/responses_api.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::string_view kBatchPaths[] = {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                                            "/v1/responses"};
// A line that the server has no room for is tried again, after a pause that doubles: for a quarter of an hour.
constexpr int kMostAttempts = 36;
constexpr std::chrono::seconds kLongestPause{30};
constexpr std::chrono::milliseconds kPausePoll{100};

CallerTask FindTask(const Api& api, std::string_view path) {
  for (const Route& route : api.routes) {
    if (route.method != "POST" || route.path != path) continue;
    if (const auto* task = std::get_if<CallerTask>(&route.run)) return *task;
  }
  return nullptr;
}

bool HasExpired(const json::object& body) { return body.at("expires_at").to_number<int64_t>() <= std::time(nullptr); }

std::string OutputName(const json::object& body, std::string_view what) {
  return fmt::format("{}_{}.jsonl", std::string_view(body.at("id").as_string()), what);
}

}  // namespace

CallerTask BatchEndpoint(std::string_view path) {
  if (std::ranges::find(kBatchPaths, path) == std::end(kBatchPaths)) return nullptr;
  const CallerTask task = FindTask(OpenAiApi(), path);
  return task != nullptr ? task : FindTask(ResponsesApi(), path);
}

std::string BatchEndpoints() { return fmt::format("{}", fmt::join(kBatchPaths, ", ")); }

struct BatchRunner::Batch {
  StoredBatch stored;
  json::object body;
  std::string endpoint;
  Caller caller;
  CallerTask run = nullptr;
  int64_t at = 0;  // the line that was started last
  bool started_all = false;
  bool cancelled = false;
  bool full = false;  // the key's files and batches hold all that they may
  size_t running = 0;
  std::set<CapturedReply*> replies;  // of the lines that run

  bool ends() const { return cancelled || full || HasExpired(body); }
};

void BatchRunner::Start() {
  asio::post(strand_, [this] {
    started_ = true;
    for (const StoredBatch& batch : services_.batches->Unfinished()) Take(batch);
    Pump();
  });
}

void BatchRunner::Add(const std::string& owner, const std::string& id) {
  asio::post(strand_, [this, owner, id] {
    if (!started_ || stopping_) return;  // Start, now or of a later process, finds it in the store
    const auto stored = services_.batches->Get(owner, id);
    // Start may have found it meanwhile.
    if (!stored || BatchStatus(json::parse(stored->body).as_object()) != "validating") return;
    Take(*stored);
    Pump();
  });
}

void BatchRunner::Cancel(const std::string& owner, const std::string& id) {
  asio::post(strand_, [this, owner, id] {
    if (stopping_) return;
    const auto queue = queues_.find(owner);
    if (queue != queues_.end()) {
      for (const auto& batch : queue->second) {
        if (batch->stored.id != id || batch->cancelled) continue;
        batch->cancelled = true;
        SetBatchStatus(batch->body, "cancelling");
        Save(*batch);
        for (CapturedReply* reply : batch->replies) reply->Cancel();
        return Pump();
      }
    }
    auto stored = services_.batches->Get(owner, id);  // not taken up yet
    if (!stored || !stored->unfinished) return;
    Batch batch{.stored = std::move(*stored)};
    batch.body = json::parse(batch.stored.body).as_object();
    SetBatchStatus(batch.body, "cancelling");
    Save(batch);
    if (started_) Finish(batch);
  });
}

void BatchRunner::Stop() {
  asio::post(strand_, [this] {
    stopping_ = true;
    for (const auto& [owner, queue] : queues_) {
      for (const auto& batch : queue) {
        for (CapturedReply* reply : batch->replies) reply->Cancel();
      }
    }
  });
  pool_.join();
}

void BatchRunner::Save(Batch& batch) {
  batch.stored.body = json::serialize(batch.body);
  if (Status saved = services_.batches->Update(batch.stored); !saved) {
    log::Error("{} was not saved: {}", batch.stored.id, saved.error().message);
  }
}

void BatchRunner::Take(const StoredBatch& stored) {
  auto batch = std::make_shared<Batch>();
  batch->stored = stored;
  batch->body = json::parse(stored.body).as_object();
  batch->endpoint = batch->body.at("endpoint").as_string();
  batch->run = BatchEndpoint(batch->endpoint);
  const std::string_view status = BatchStatus(batch->body);
  const auto caller = services_.access.get()->keys.CallerOf(stored.owner, Scope::kGenerate);
  if (!caller || batch->run == nullptr) {
    const std::string why = caller ? fmt::format("this server has no batches for {}", batch->endpoint)
                                   : "the API key that created the batch may no longer generate here";
    return FailBatch(*batch, {{caller ? "invalid_endpoint" : "invalid_api_key", why, 0, ""}});
  }
  batch->caller = *caller;
  batch->caller.priority = kBatchPriority;
  batch->cancelled = status == "cancelling";
  if (status == "validating" && !Validate(*batch)) return;
  queues_[stored.owner].push_back(std::move(batch));
}

// Reads the input file. False if the batch has failed.
bool BatchRunner::Validate(Batch& batch) {
  const auto content = services_.files->Content(batch.stored.owner, batch.stored.input);
  if (!content) {
    FailBatch(batch,
              {{"input_file_not_found", fmt::format("the file {} is gone", batch.stored.input), 0, "input_file_id"}});
    return false;
  }
  BatchInput input = ParseBatchInput(*content, batch.endpoint);
  if (input.errors.empty()) {
    if (Status room = services_.files->CheckRoom(batch.stored.owner, static_cast<int64_t>(content->size())); !room) {
      input.errors.push_back({"storage_limit_exceeded", room.error().message, 0, ""});
    } else if (Status set = services_.batches->SetLines(batch.stored.id, input.lines); !set) {
      input.errors.push_back({"server_error", set.error().message, 0, ""});
    }
  }
  if (!input.errors.empty()) {
    FailBatch(batch, input.errors);
    return false;
  }
  SetBatchStatus(batch.body, "in_progress");
  Save(batch);
  log::Info("{} begins: {} requests to {}", batch.stored.id, input.lines.size(), batch.endpoint);
  return true;
}

// Ends a batch that never ran.
void BatchRunner::FailBatch(Batch& batch, const std::vector<BatchInputError>& errors) {
  SetBatchErrors(batch.body, errors);
  batch.stored.unfinished = false;
  SetBatchStatus(batch.body, "failed");
  Save(batch);
  (void)services_.batches->DropLines(batch.stored.id);
  log::Warning("{} failed: {}", batch.stored.id, errors.front().message);
}

void BatchRunner::Pump() {
  while (!stopping_ && running_ < kMostRunningLines) {
    auto next = queues_.upper_bound(last_owner_);
    bool began = false;
    for (size_t tried = queues_.size(); tried > 0 && !began; --tried) {
      if (next == queues_.end()) next = queues_.begin();
      const auto owner = next++;
      began = StartLine(owner->second);
      if (began) last_owner_ = owner->first;
      if (owner->second.empty()) queues_.erase(owner);
    }
    if (!began) return;
  }
}

// Starts the next line of an owner, after it has ended the batches that are done. False if there is none now.
bool BatchRunner::StartLine(Queue& queue) {
  while (!queue.empty()) {
    const std::shared_ptr<Batch> batch = queue.front();
    auto line = batch->ends() ? std::nullopt : services_.batches->NextLine(batch->stored.id, batch->at);
    if (line) {
      batch->at = line->number;
      ++batch->running;
      ++running_;
      asio::co_spawn(strand_, RunLine(batch, std::move(*line)), asio::detached);
      return true;
    }
    if (batch->running > 0) return false;
    Finish(*batch);
    queue.pop_front();
  }
  return false;
}

asio::awaitable<void> BatchRunner::RunLine(std::shared_ptr<Batch> batch, BatchLine line) {
  // co_spawn would run it inside the Pump that began it, and the Pump at its end would erase queues under that one.
  co_await asio::post(strand_, asio::use_awaitable);
  BatchAnswer answer;
  co_await Answer(*batch, line, answer);
  if (!answer.line.empty()) {
    BatchStore& store = *services_.batches;
    if (Status kept = store.SetResult(batch->stored.id, line.number, answer.ok, answer.line); !kept) {
      log::Error("{}: the result of line {} was not stored: {}", batch->stored.id, line.number, kept.error().message);
    }
    batch->full = !services_.files->CheckRoom(batch->stored.owner, 0).has_value();
  }
  --batch->running;
  --running_;
  Pump();
}

// Leaves the answer empty if the line was cancelled.
asio::awaitable<void> BatchRunner::Answer(Batch& batch, const BatchLine& line, BatchAnswer& out) {
  net::Request request;
  request.method = "POST";
  request.path = batch.endpoint;
  request.body = line.request;
  std::chrono::seconds pause{1};
  for (int attempt = 1; !stopping_ && !batch.cancelled; ++attempt) {
    request.id = UniqueId("req_");
    Caller caller = batch.caller;
    caller.request_id = request.id;
    CapturedReply reply(strand_);
    batch.replies.insert(&reply);
    bool threw = false;
    try {
      co_await batch.run(services_, caller, request, reply);
    } catch (const std::exception& error) {  // as a connection answers it: with a 500, and the server goes on
      log::Error("{}, line {}: {}", batch.stored.id, line.number, error.what());
      threw = true;
    }
    batch.replies.erase(&reply);
    if (threw) out.line = BatchErrorLine(line.custom_id, "server_error", "The server failed to answer this request.");
    if (threw || !reply.reply()) co_return;
    const int status = reply.reply()->status;
    const bool no_room = status == 429 || status == 503;
    if (!no_room || attempt == kMostAttempts || HasExpired(batch.body)) {
      out.ok = status == 200;
      out.line = BatchResultLine(line.custom_id, status, request.id, reply.reply()->body);
      co_return;
    }
    co_await Pause(batch, pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

asio::awaitable<void> BatchRunner::Pause(const Batch& batch, std::chrono::seconds length) {
  const auto until = std::chrono::steady_clock::now() + length;
  asio::steady_timer timer(strand_);
  while (!stopping_ && !batch.cancelled && std::chrono::steady_clock::now() < until) {
    timer.expires_after(kPausePoll);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// Gives the lines that did not run their errors, and makes the files of the results.
void BatchRunner::Finish(Batch& batch) {
  const std::string& id = batch.stored.id;
  const bool all = !services_.batches->NextLine(id, 0);
  const bool cancelled = BatchStatus(batch.body) == "cancelling";
  std::string_view status = "completed";
  if (cancelled) {
    FailRest(id, "batch_cancelled", "This request was not run: the batch was cancelled.");
    status = "cancelled";
  } else if (batch.full && !all) {
    FailRest(id, "storage_limit_exceeded", "This request was not run: the results of the batch take too much room.");
    SetBatchErrors(batch.body, {{"storage_limit_exceeded",
                                 fmt::format("the key's files and batches may hold {} bytes: delete some files",
                                             services_.files->limits().bytes),
                                 0, ""}});
    status = "failed";
  } else if (!all) {
    const bool expired = HasExpired(batch.body);
    FailRest(id, expired ? "batch_expired" : "server_error",
             expired ? "This request could not be executed before the completion window expired."
                     : "The result of this request could not be stored.");
    if (expired) status = "expired";
  }
  SetBatchCounts(batch.body, services_.batches->Counts(id));
  if (!cancelled) SetBatchStatus(batch.body, "finalizing");
  PutResults(batch, true, "output");
  PutResults(batch, false, "error");
  batch.stored.unfinished = false;
  SetBatchStatus(batch.body, status);
  Save(batch);
  (void)services_.batches->DropLines(id);
  log::Info("{} is {}: {}", id, status, json::serialize(batch.body.at("request_counts")));
}

void BatchRunner::FailRest(const std::string& id, std::string_view code, std::string_view message) {
  for (int64_t at = 0; const auto line = services_.batches->NextLine(id, at);) {
    at = line->number;
    if (!services_.batches->SetResult(id, at, false, BatchErrorLine(line->custom_id, code, message))) return;
  }
}

// A file's id is saved before the file is written, so that a restart between the two leaves no second file.
void BatchRunner::PutResults(Batch& batch, bool ok, const std::string& what) {
  const std::string content = services_.batches->Results(batch.stored.id, ok);
  if (content.empty()) return;
  const std::string name = what + "_file_id";
  if (!batch.body.contains(name)) {
    batch.body[name] = UniqueId("file-");
    Save(batch);
  }
  std::optional<std::chrono::seconds> lifetime;
  if (const json::value* after = batch.body.if_contains("output_expires_after")) {
    lifetime = std::chrono::seconds(after->at("seconds").to_number<int64_t>());
  }
  StoredFile file{.id = std::string(batch.body.at(name).as_string()),
                  .filename = OutputName(batch.body, what),
                  .purpose = "batch_output"};
  if (auto put = services_.files->PutResult(batch.stored.owner, std::move(file), content, lifetime); !put) {
    log::Error("the {} of {} is lost: {}", what, batch.stored.id, put.error().message);
  }
}

}  // namespace inferflux::server
