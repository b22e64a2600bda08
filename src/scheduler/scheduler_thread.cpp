#include "scheduler/scheduler_thread.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "scheduler/queue/admission.h"
#include "scheduler/warm_up.h"

namespace inferflux::scheduler {
namespace {

WallTime Now() { return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()); }

// KV bytes have the engine's own layout. Another engine can use them only if all of this is equal.
uint64_t KvFingerprint(uint64_t model, const engine::EngineInfo& info) {
  uint64_t hash = model;
  std::string all = fmt::format("{}|{}|{}|{}", info.backend, info.provider, info.kv_dtype, info.block_size);
  for (const std::string& note : info.notes) all += "|" + note;  // how the weights were converted
  for (const char c : all) {
    hash = OwnerOf(hash ^ static_cast<unsigned char>(c));
  }
  return hash;
}

Error StoppingError() { return {.code = ErrorCode::kUnavailable, .message = "the server is stopping"}; }

}  // namespace

SchedulerThread::SchedulerThread(EngineFactory factory, std::shared_ptr<const text::Tokenizer> tokenizer,
                                 SchedulerOptions options, MetricsFactory metrics)
    : factory_(std::move(factory)),
      tokenizer_(std::move(tokenizer)),
      options_(std::move(options)),
      make_metrics_(std::move(metrics)) {
  std::promise<Status> ready;
  ready_ = ready.get_future().share();
  thread_ = std::thread([this, promise = std::move(ready)]() mutable { Main(std::move(promise)); });
}

SchedulerThread::~SchedulerThread() { Stop(); }

void SchedulerThread::Stop() {
  std::call_once(stopped_, [this] {
    {
      std::lock_guard lock(mutex_);
      state_ = State::kStopping;
    }
    stop_load_.request_stop();
    wakeup_->Wake();
    thread_.join();
  });
}

Result<std::shared_ptr<TokenStream>> SchedulerThread::Submit(GenerationRequest request) {
  std::unique_lock lock(mutex_);
  switch (state_) {
    case State::kServing:
      break;
    case State::kLoading:
      return Fail(ErrorCode::kUnavailable, "the model is still being loaded");
    case State::kFailed:
      return Fail(ErrorCode::kUnavailable, "the model could not be loaded");
    case State::kStopping:
      return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  }
  if (drained_ != Drained::kNone) return tl::make_unexpected(StoppingError());
  lock.unlock();
  auto max_tokens = CheckRequest(request, info_);
  if (!max_tokens) return Forward(max_tokens);
  auto stream = std::make_shared<TokenStream>();
  stream->SetWake([wakeup = wakeup_] { wakeup->Wake(); });
  OutputText output(tokenizer_, request.stop,
                    {.starts_text = !request.continues_text, .shown_control = request.shown_control});
  auto accepted = std::make_unique<Request>(Request{.spec = std::move(request),
                                                    .stream = stream,
                                                    .output = std::move(output),
                                                    .max_tokens = *max_tokens,
                                                    .submitted = std::chrono::steady_clock::now()});
  accepted->tokens = accepted->spec.prompt;

  lock.lock();
  if (state_ != State::kServing) return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  if (drained_ != Drained::kNone) return tl::make_unexpected(StoppingError());
  if (Status room = CheckQueue(accepted->spec); !room) return Forward(room);
  ++stats_.queued;
  ++accounts_[accepted->spec.account].queued;
  accepted->number = next_number_++;
  submitted_.push_back(std::move(accepted));
  lock.unlock();
  wakeup_->Wake();
  return stream;
}

void SchedulerThread::Drain(bool running) {
  {
    std::lock_guard lock(mutex_);
    drained_ = running ? Drained::kAll : std::max(drained_, Drained::kWaiting);
  }
  wakeup_->Wake();
}

void SchedulerThread::EndDrained(Scheduler& core) {
  std::unique_lock lock(mutex_);
  const Drained drained = drained_;
  lock.unlock();
  if (drained == Drained::kAll) {
    core.EndAll(FinishReason::kError, StoppingError());
  } else if (drained == Drained::kWaiting) {
    core.EndWaiting(StoppingError());
  }
}

Status SchedulerThread::CheckQueue(const GenerationRequest& request) const {
  const auto found = accounts_.find(request.account);
  const AccountLoad own = found == accounts_.end() ? AccountLoad() : found->second;
  if (const int32_t limit = request.account_limits.queued; limit > 0 && own.queued >= limit) {
    return Fail(ErrorCode::kResourceExhausted,
                "{} requests of this API key or address wait already, and its limit is {} (limits.queued); try again "
                "in about {} s",
                own.queued, limit, own.retry_after_seconds);
  }
  if (stats_.queued < options_.max_queued) return {};
  return Fail(ErrorCode::kResourceExhausted, "{} requests wait already; try again in about {} s", stats_.queued,
              own.retry_after_seconds);
}

int32_t SchedulerThread::RetryAfter(const std::string& account) const {
  std::lock_guard lock(mutex_);
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? AccountLoad().retry_after_seconds : found->second.retry_after_seconds;
}

SchedulerStats SchedulerThread::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void SchedulerThread::Main(std::promise<Status> ready) {
  auto engines = Load();
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kLoading) state_ = engines ? State::kServing : State::kFailed;
  }
  if (!engines) return ready.set_value(Forward(engines));
  ready.set_value({});
  Serve(std::move(*engines));
}

Result<SchedulerThread::Engines> SchedulerThread::Load() {
  auto target = LoadOne(std::exchange(factory_, {}));
  if (!target) return Forward(target);
  Engines out{.target = std::move(*target), .draft = nullptr};
  info_ = out.target->info();
  if (!options_.sessions.directory.empty()) {
    auto files = SessionFiles::Open(options_.sessions.directory, options_.sessions.disk_bytes,
                                    KvFingerprint(options_.sessions.model, info_), Now(),
                                    std::make_unique<DiskThread>([wakeup = wakeup_] { wakeup->Wake(); }));
    if (!files) return Forward(files);
    session_files_ = std::move(*files);
  }
  for (const std::string& path : options_.model_files) {
    if (const std::string file = FaultedFile(path, file_faults_); !file.empty()) {
      return Fail(ErrorCode::kDataLoss, "{} was truncated while it was loaded", file);
    }
  }
  if (!options_.draft) return out;
  auto draft = LoadOne(std::exchange(options_.draft, {}));
  if (!draft) return Forward(draft, "the draft model");
  out.draft = std::move(*draft);
  return out;
}

Result<std::unique_ptr<engine::Engine>> SchedulerThread::LoadOne(EngineFactory factory) const {
  auto engine = factory(stop_load_.get_token());
  if (!engine) return engine;
  if (stop_load_.stop_requested()) return Fail(ErrorCode::kCancelled, "the load was cancelled");
  if (auto warm = WarmUp(**engine, options_.warm_up_tokens); !warm) return Forward(warm, "warming up");
  return engine;
}

std::unique_ptr<SharedSessions> SchedulerThread::OpenStore() const {
  if (!options_.sessions.store) return nullptr;
  const auto thread = [this] { return std::make_unique<DiskThread>([wakeup = wakeup_] { wakeup->Wake(); }); };
  return std::make_unique<SharedSessions>(options_.sessions.store, KvFingerprint(options_.sessions.model, info_),
                                          std::max(options_.sessions.memory_bytes, Sessions::kUnwrittenBytes), thread(),
                                          thread());
}

void SchedulerThread::Serve(Engines engines) {
  Scheduler core(*engines.target, tokenizer_, options_.policy,
                 make_metrics_ ? make_metrics_(info_) : metrics::ModelMetrics(), std::chrono::steady_clock::now,
                 {.draft = std::move(engines.draft),
                  .session_memory = options_.sessions.memory_bytes,
                  .session_files = std::move(session_files_),
                  .shared_sessions = OpenStore(),
                  .model_files = options_.model_files,
                  .file_faults = file_faults_,
                  .history = &history_,
                  .on_admitted =
                      [&] {
                        const std::lock_guard lock(mutex_);
                        PublishLoad(core);
                      },
                  .on_under_way = [&] { (void)TakeSubmitted(core); }});
  while (TakeSubmitted(core)) {
    RunCommands(&core);
    EndDrained(core);
    if (!core.Step() && !core.PrepareAhead()) wakeup_->Wait(core.next_deadline());
  }
  core.EndAll(FinishReason::kCancelled, {.code = ErrorCode::kUnavailable, .message = "the model is being unloaded"});
  {
    std::lock_guard lock(mutex_);
    stats_ = core.stats();
  }
  RunCommands(nullptr);
}

void SchedulerThread::Session(SessionCommand command, SessionReply reply) {
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kServing) {
      commands_.emplace_back(std::move(command), std::move(reply));
      reply = {};
    }
  }
  if (reply) return reply(Fail(ErrorCode::kUnavailable, "the model is not being served"));
  wakeup_->Wake();
}

// Without a scheduler, callers get an error that it has ended.
void SchedulerThread::RunCommands(Scheduler* core) {
  std::vector<std::pair<SessionCommand, SessionReply>> commands;
  {
    std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& [command, reply] : commands) {
    if (core != nullptr) {
      core->Session(command, std::move(reply));
    } else {
      reply(Fail(ErrorCode::kUnavailable, "the model is being unloaded"));
    }
  }
}

// Passes new requests to the scheduler and publishes its numbers. False if the loop must end.
bool SchedulerThread::TakeSubmitted(Scheduler& core) {
  std::lock_guard lock(mutex_);
  for (auto& request : submitted_) core.Submit(std::move(request));
  submitted_.clear();
  PublishLoad(core);
  return state_ != State::kStopping;
}

void SchedulerThread::PublishLoad(const Scheduler& core) {
  stats_ = core.stats();
  accounts_ = core.account_loads();
  for (const RequestPtr& request : submitted_) {  // not known to the scheduler yet
    ++stats_.queued;
    ++accounts_[request->spec.account].queued;
  }
}

}  // namespace inferflux::scheduler
