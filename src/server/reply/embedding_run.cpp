#include "server/reply/embedding_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "server/reply/job.h"
#include "server/request/fields.h"
#include "server/request/trace/request_trace.h"
#include "serving/generation/generation_group.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// The texts of one request that the scheduler holds at once: enough to fill its steps, but few enough that a long list
// does not fill its queue.
constexpr size_t kWave = 64;

ApiResult<size_t> Dimensions(const serving::ServedModel& model, std::optional<int64_t> asked) {
  const serving::EmbeddingInfo& made = model.info.embedding;
  if (!asked || *asked == made.dimensions) return static_cast<size_t>(made.dimensions);
  if (std::ranges::find(made.shorter, *asked) != made.shorter.end()) return static_cast<size_t>(*asked);
  if (made.shorter.empty()) {
    return Refuse("dimensions", "must be {} or left out: the model '{}' was not trained for shorter vectors",
                  made.dimensions, model.id);
  }
  return Refuse("dimensions", "must be {} or one of {} for the model '{}', but is {}", made.dimensions,
                fmt::join(made.shorter, ", "), model.id, *asked);
}

void Take(const EmbeddingJob& job, scheduler::StreamEvent event, size_t index, EmbeddingAnswer& answer) {
  if (!event.finish) return;
  if (job.trace) job.trace->AddGeneration(*event.finish);
  answer.prompt_tokens += event.finish->usage.prompt_tokens;
  if (event.finish->reason != scheduler::FinishReason::kStop) {
    if (answer.error) return;
    const bool failed = event.finish->reason == scheduler::FinishReason::kError;
    answer.error = failed ? FromError(event.finish->error, "") : FromStatus(503, "the request was cancelled");
    return;
  }
  answer.vectors[index] = Shorten(std::move(event.embedding), job.dimensions, job.model->info.embedding.normalised);
}

asio::awaitable<void> RunWave(EmbeddingJob& job, size_t first, net::ResponseWriter& writer, EmbeddingAnswer& answer) {
  const size_t last = std::min(first + kWave, job.requests.size());
  std::vector<scheduler::GenerationRequest> wave(std::make_move_iterator(job.requests.begin() + first),
                                                 std::make_move_iterator(job.requests.begin() + last));
  const std::string account = wave.front().account;
  auto group = serving::GenerationGroup::Submit(*job.model->scheduler, std::move(wave),
                                                [notifier = writer.notifier()] { notifier->Notify(); });
  if (!group) {
    answer.error = FromError(group.error(), job.param);
    answer.error->retry_after = job.model->scheduler->RetryAfter(account);
    co_return;
  }
  const auto take = [&](size_t index, scheduler::StreamEvent event) {
    Take(job, std::move(event), first + index, answer);
  };
  while (!group->finished() && !answer.error) {
    if (writer.Gone()) {
      answer.cancelled = true;
      co_return;
    }
    if (!group->Drain(take)) co_await writer.notifier()->Wait();
  }
}

}  // namespace

ApiResult<EmbeddingJob> MakeEmbeddingJob(std::shared_ptr<const serving::ServedModel> model, EmbeddingTexts texts,
                                         const Caller& caller) {
  auto dimensions = Dimensions(*model, texts.dimensions);
  if (!dimensions) return Forward(dimensions);
  EmbeddingJob out{.model = std::move(model),
                   .requests = {},
                   .dimensions = *dimensions,
                   .trace = caller.trace,
                   .param = texts.param};
  const auto context = static_cast<size_t>(out.model->info.context);
  for (size_t i = 0; i < texts.texts.size(); ++i) {
    const std::string name = EntryName(texts.param, i, texts.texts.size());
    auto prompt = serving::RawPromptTokens(*out.model, texts.texts[i]);
    if (!prompt) return tl::make_unexpected(FromGeneration(std::move(prompt.error()), name));
    if (prompt->size() > context && texts.truncate) {
      const TokenId last = prompt->back();  // often a special token that ends the text
      prompt->resize(context);
      if (out.model->tokenizer->IsControl(last)) prompt->back() = last;
    }
    if (prompt->size() > context) {
      return RefuseAs("context_length_exceeded", name,
                      fmt::format("'{}' has {} tokens, and the model '{}' takes at most {}; shorten it", name,
                                  prompt->size(), out.model->id, context));
    }
    out.requests.push_back({.prompt = std::move(*prompt), .embed = true});
    out.requests.back().priority = caller.priority;
    out.requests.back().request_id = caller.request_id;
    out.requests.back().account = caller.client();
    out.requests.back().account_limits = caller.account_limits;
    out.requests.back().cache_salt = caller.cache_salt;
  }
  BindToCaller(caller, out.requests);
  return out;
}

asio::awaitable<EmbeddingAnswer> RunEmbedding(EmbeddingJob& job, net::ResponseWriter& writer) {
  EmbeddingAnswer answer;
  answer.vectors.resize(job.requests.size());
  for (size_t first = 0; first < job.requests.size() && !answer.error && !answer.cancelled; first += kWave) {
    co_await RunWave(job, first, writer, answer);
  }
  writer.Note({"model", job.model->id});
  writer.Note({"prompt_tokens", std::to_string(answer.prompt_tokens), true});
  co_return answer;
}

std::vector<float> Shorten(std::vector<float> vector, size_t dimensions, bool normalised) {
  if (dimensions >= vector.size()) return vector;
  vector.resize(dimensions);
  double squares = 0.0;
  for (const float value : vector) squares += double{value} * value;
  if (!normalised || squares == 0.0) return vector;
  for (float& value : vector) value = static_cast<float>(value / std::sqrt(squares));
  return vector;
}

std::string FloatsJson(const std::vector<float>& vector) {
  std::string out = "[";
  for (const float value : vector) fmt::format_to(std::back_inserter(out), "{}{}", out.size() > 1 ? "," : "", value);
  return out + "]";
}

}  // namespace inferflux::server
