#include "server/request/limits/client_table.h"

#include <optional>
#include <utility>

namespace inferflux::server {
namespace {

// Addresses that are remembered. Those that hold nothing and owe nothing make room first.
constexpr size_t kMaxClients = 10'000;

std::string_view WhoOf(const Caller& caller) { return caller.account.empty() ? "this address" : "this API key"; }

}  // namespace

// One request of a client.
class ClientTable::Hold final : public net::BodyAllowance {
 public:
  Hold(ClientTable& table, std::shared_ptr<Client> client, Caller caller, net::Response (*refuse)(const ApiError&))
      : table_(table), client_(std::move(client)), caller_(std::move(caller)), refuse_(refuse) {}
  ~Hold() override {
    const std::lock_guard lock(client_->mutex);
    --client_->requests;
    client_->body_bytes -= bytes_;
    client_->rate.Finished(Clock::now());
  }

  std::optional<net::Response> Take(size_t bytes) override {
    const int64_t limit = caller_.limits.body_bytes.value_or(0);
    {
      const std::lock_guard lock(client_->mutex);
      const auto more = static_cast<int64_t>(bytes);
      if (limit == 0 || client_->body_bytes + more <= limit) {
        bytes_ += more;
        client_->body_bytes += more;
        return std::nullopt;
      }
    }
    if (static_cast<int64_t>(bytes) > limit - bytes_) {  // it will not fit later either
      table_.CountRefusal("body_bytes", caller_);
      return refuse_({413,
                      fmt::format("the body is larger than the {} bytes that {} may have in memory (limits.body_bytes)",
                                  limit, WhoOf(caller_)),
                      "invalid_request_error", "", "body_too_large"});
    }
    return refuse_(table_.Refusal("body_bytes", caller_,
                                  fmt::format("the bodies of {} would take more than its limit of {} bytes "
                                              "(limits.body_bytes)",
                                              WhoOf(caller_), limit),
                                  SecondsOf(*client_)));
  }

 private:
  ClientTable& table_;
  const std::shared_ptr<Client> client_;
  const Caller caller_;
  net::Response (*const refuse_)(const ApiError&);
  int64_t bytes_ = 0;
};

std::shared_ptr<ClientTable::Client> ClientTable::Of(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  if (clients_.size() >= kMaxClients && !clients_.contains(caller.client())) ForgetIdle();
  std::shared_ptr<Client>& out = clients_[caller.client()];
  if (!out) out = std::make_shared<Client>();
  out->tokens->SetRate(caller.limits.tokens_per_minute.value_or(0), Clock::now());
  return out;
}

void ClientTable::ForgetIdle() {
  const auto now = Clock::now();
  std::erase_if(clients_, [&](const auto& entry) {
    const std::shared_ptr<Client>& client = entry.second;
    return client.use_count() == 1 && client->tokens.use_count() == 1 && client->tokens->empty(now);
  });
}

ApiStatus ClientTable::CheckTokens(const Caller& caller) {
  const int64_t limit = caller.limits.tokens_per_minute.value_or(0);
  if (limit == 0) return {};
  const int32_t seconds = Of(caller)->tokens->SecondsUntilFree(Clock::now());
  if (seconds == 0) return {};
  return tl::make_unexpected(Refusal(
      "tokens_per_minute", caller,
      fmt::format("{} has used its {} tokens a minute (limits.tokens_per_minute)", WhoOf(caller), limit), seconds));
}

ApiResult<std::shared_ptr<net::BodyAllowance>> ClientTable::Enter(const Caller& caller,
                                                                  net::Response (*refuse)(const ApiError&)) {
  if (ApiStatus tokens = CheckTokens(caller); !tokens) return Forward(tokens);
  const std::shared_ptr<Client> client = Of(caller);
  const int64_t limit = caller.limits.connections.value_or(0);
  {
    const std::lock_guard lock(client->mutex);
    if (limit == 0 || client->requests < limit) {
      ++client->requests;
      return std::make_shared<Hold>(*this, client, caller, refuse);
    }
  }
  return tl::make_unexpected(Refusal(
      "connections", caller,
      fmt::format("{} has requests on {} connections, which is its limit (limits.connections)", WhoOf(caller), limit),
      SecondsOf(*client)));
}

scheduler::AccountLimits ClientTable::AccountLimitsOf(const Caller& caller) {
  return {.running = static_cast<int32_t>(caller.limits.running.value_or(0)),
          .queued = static_cast<int32_t>(caller.limits.queued.value_or(0)),
          .tokens = caller.limits.tokens_per_minute.value_or(0) > 0 ? Of(caller)->tokens : nullptr};
}

ApiError ClientTable::Refusal(std::string_view limit, const Caller& caller, std::string message, int32_t retry_after) {
  CountRefusal(limit, caller);
  message += fmt::format("; try again in about {} s", retry_after);
  return {429, std::move(message), "rate_limit_error", "", "rate_limit_exceeded", retry_after};
}

void ClientTable::CountRefusal(std::string_view limit, const Caller& caller) {
  const bool token = caller.key_name.starts_with("jwt:");  // an issuer may have any number of subjects
  const std::string key = token ? "jwt" : caller.key_name.empty() ? "none" : caller.key_name;
  metrics_
      .GetCounter("inferflux_limited_requests_total", "Requests that a limit of their key or address refused.",
                  {{"limit", std::string(limit)}, {"key", key}})
      .Add();
}

size_t ClientTable::size() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

int32_t ClientTable::RetryAfter(const Caller& caller) { return SecondsOf(*Of(caller)); }

int32_t ClientTable::SecondsOf(Client& client) {
  const std::lock_guard lock(client.mutex);
  return client.rate.SecondsFor(1, Clock::now());
}

}  // namespace inferflux::server
