#include "server/admin/session_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "server/request/find_model.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using Infos = std::vector<scheduler::SessionInfo>;

// Passes the scheduler's answer to the thread that serves the request. The scheduler, the reader and the server may end
// in any order, so the reader removes its notifier when it ends.
struct Mailbox {
  std::mutex mutex;
  std::optional<Result<Infos>> answer;
  std::shared_ptr<net::Notifier> notifier;
};

class Reader {
 public:
  explicit Reader(std::shared_ptr<net::Notifier> notifier) { mailbox_->notifier = std::move(notifier); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->notifier.reset();
  }

  scheduler::SessionReply Address() const {
    return [mailbox = mailbox_](Result<Infos> infos) {
      std::lock_guard lock(mailbox->mutex);
      mailbox->answer = std::move(infos);
      if (mailbox->notifier) mailbox->notifier->Notify();
    };
  }
  std::optional<Result<Infos>> Take() {
    std::lock_guard lock(mailbox_->mutex);
    return std::exchange(mailbox_->answer, std::nullopt);
  }

 private:
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

std::string_view NameOf(scheduler::SessionInfo::Tier tier) {
  using Tier = scheduler::SessionInfo::Tier;
  return tier == Tier::kEngine ? "engine" : tier == Tier::kMemory ? "memory" : "disk";
}

json::object Describe(const scheduler::SessionInfo& info) {
  return {{"id", info.id},       {"object", "session"},     {"tier", NameOf(info.tier)},    {"tokens", info.tokens},
          {"bytes", info.bytes}, {"on_disk", info.on_disk}, {"expires_in", info.expires_in}};
}

net::Response AnswerFor(scheduler::SessionCommand::Action action, const Infos& infos) {
  json::object out;
  if (action == scheduler::SessionCommand::Action::kList) {
    json::array data;
    for (const auto& info : infos) data.push_back(Describe(info));
    out["object"] = "list";
    out["data"] = std::move(data);
  } else {
    out = Describe(infos.front());
    if (action == scheduler::SessionCommand::Action::kDelete) out["deleted"] = true;
  }
  return net::Response(200, "application/json", json::serialize(out));
}

std::string Find(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

}  // namespace

asio::awaitable<void> RunSessionCommand(Services& services, scheduler::SessionCommand::Action action,
                                        const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer) {
  const auto model = FindModel(services, Find(request.query, "model"), {});
  if (!model) {
    co_await writer.Send(ErrorResponse(model.error()));
    co_return;
  }
  const auto& notifier = writer.notifier();
  Reader reader(notifier);
  scheduler::SessionCommand command{action, Find(request.parameters, "id"), caller.cache_salt};
  (*model)->scheduler->Session(std::move(command), reader.Address());
  std::optional<Result<Infos>> answer;
  while (!(answer = reader.Take())) {
    if (writer.Gone()) co_return;
    co_await notifier->Wait();
  }
  const Result<Infos>& infos = *answer;
  net::Response response = infos ? AnswerFor(action, *infos) : ErrorResponse(FromError(infos.error(), "id"));
  co_await writer.Send(std::move(response));
}

}  // namespace inferflux::server
