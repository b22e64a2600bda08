#include "scheduler/scheduler_thread.h"

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
  if (stats_.queued >= options_.max_queued) {
    return Fail(ErrorCode::kResourceExhausted, "{} requests wait already; try again in about {} s", stats_.queued,
                stats_.retry_after_seconds);
  }
  ++stats_.queued;
  accepted->number = next_number_++;
  submitted_.push_back(std::move(accepted));
  lock.unlock();
  wakeup_->Wake();
  return stream;
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
                                    KvFingerprint(options_.sessions.model, info_), Now());
    if (!files) return Forward(files);
    session_files_ = std::move(*files);
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

void SchedulerThread::Serve(Engines engines) {
  Scheduler core(*engines.target, tokenizer_, options_.policy,
                 make_metrics_ ? make_metrics_(info_) : metrics::ModelMetrics(), std::chrono::steady_clock::now,
                 {.draft = std::move(engines.draft),
                  .session_memory = options_.sessions.memory_bytes,
                  .session_files = std::move(session_files_)});
  while (TakeSubmitted(core)) {
    RunCommands(&core);
    if (!core.Step()) wakeup_->Wait(core.next_deadline());
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
    reply(core != nullptr
              ? core->Session(command)
              : Result<std::vector<SessionInfo>>(Fail(ErrorCode::kUnavailable, "the model is being unloaded")));
  }
}

// Passes new requests to the scheduler and publishes its numbers. False if the loop must end.
bool SchedulerThread::TakeSubmitted(Scheduler& core) {
  std::lock_guard lock(mutex_);
  for (auto& request : submitted_) core.Submit(std::move(request));
  submitted_.clear();
  stats_ = core.stats();
  return state_ != State::kStopping;
}

}  // namespace inferflux::scheduler
