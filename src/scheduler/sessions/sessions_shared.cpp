// What Sessions does with a store that machines share.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "scheduler/sessions/sessions.h"
#include "scheduler/sessions/shared_prefix.h"

namespace inferflux::scheduler {

bool Sessions::AwaitsStore(const Request& request, std::span<const TokenId> known) {
  if (!shared_) return false;
  auto fetch = fetches_.find(request.number);
  if (fetch == fetches_.end()) {
    const SessionKey key{OwnerOf(request.spec.cache_salt), request.spec.session->id};
    const Entry entry = sessions_.find(key);
    const size_t here = entry == sessions_.end() ? 0 : SharedPrefix(entry->second.tokens, known);
    if (known.size() < here + 1 + kWorthFetching || now_ < store_rests_until_) return false;
    // A store that does not answer at all is not waited for once more.
    if (fetching_ > 0 && now_ >= store_answered_ + kPatience) return false;
    if (fetching_ >= kMostFetches || reads_ >= kMostReads) return true;
    if (fetching_ == 0) store_answered_ = now_;
    fetch = fetches_.emplace(request.number, Fetch{.began = now_}).first;
    ++fetching_;
    shared_->Fetch(key, WallTimeIn({}),
                   [this, number = request.number, key, tokens = std::vector(known.begin(), known.end())](
                       auto fetched) { TakeFetched(number, key, tokens, std::move(fetched)); });
    shared_->Collect();  // it may be that fast
    fetch = fetches_.find(request.number);
  }
  return !fetch->second.ended && now_ < fetch->second.began + kPatience;
}

void Sessions::TakeFetched(uint64_t number, const SessionKey& key, std::span<const TokenId> known,
                           Result<DecodedSession> fetched) {
  --fetching_;
  store_answered_ = now_;
  const auto fetch = fetches_.find(number);
  const bool awaited = fetch != fetches_.end() && now_ < fetch->second.began + kPatience;
  if (fetch != fetches_.end()) fetch->second.ended = true;
  if (!fetched) {
    if (fetched.error().code != ErrorCode::kNotFound) NoteStore(Forward(fetched), key);
    return;
  }
  if (!awaited) return;  // the request has gone on without it
  const Entry entry = sessions_.find(key);
  if (entry != sessions_.end() &&
      SharedPrefix(entry->second.tokens, known) >= SharedPrefix(fetched->head.tokens, known)) {
    return;
  }
  const Entry adopted = Adopt(key, std::move(*fetched));
  adopted->second.reader = number;  // its KV stays until the request is admitted
  ++reads_;
  List(adopted);
}

// The session as another worker has left it, in memory, in place of what was known of it here.
Sessions::Entry Sessions::Adopt(const SessionKey& key, DecodedSession fetched) {
  const Entry entry = sessions_.try_emplace(key).first;
  Session& session = entry->second;
  if (session.sequence) {
    if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  }
  Unpin(session);
  session.sequence.reset();
  session.tokens = std::move(fetched.head.tokens);
  session.version = ++next_version_;
  session.kv = std::make_shared<const std::vector<std::byte>>(std::move(fetched.kv));
  session.on_disk = session.saving = session.reading = session.publishing = false;
  session.in_store = true;
  session.ttl = fetched.head.ttl;
  session.used = next_use_++;
  SetExpiry(entry, now_ + (fetched.head.expires - WallTimeIn({})));
  List(entry);
  Resume(key, {});
  return entry;
}

// Begins to publish a session that is in the engine or in memory. False if the store cannot take it now.
bool Sessions::Publish(Entry entry) {
  if (now_ < store_rests_until_) return false;
  Session& session = entry->second;
  SharedKv kv = session.kv;
  if (session.sequence) {
    auto saved = engine_.Save(*session.sequence);
    if (!saved) {
      log::Warning("session '{}': {}", entry->first.id, saved.error().message);
      return false;
    }
    kv = std::make_shared<const std::vector<std::byte>>(std::move(*saved));
  }
  if (!kv || !shared_->MayPublish(kv->size())) {
    log::Warning("session '{}' is not shared: the store is too slow, or the session larger than runtime.session_memory",
                 entry->first.id);
    return false;
  }
  session.publishing = true;
  shared_->Publish(entry->first, session.tokens, std::move(kv), WallTimeIn(session.expires - now_), session.ttl,
                   [this, key = entry->first, version = session.version](const Status& result) {
                     TakePublished(key, version, result);
                   });
  return true;
}

void Sessions::TakePublished(const SessionKey& key, uint64_t version, const Status& result) {
  if (!result) NoteStore(result, key);
  const Entry entry = sessions_.find(key);
  if (entry == sessions_.end() || entry->second.version != version) return;  // it is another by now
  entry->second.publishing = false;
  entry->second.in_store = result.has_value();
  Resume(key, result);
}

void Sessions::SaveToStore(Entry entry, Waiting command) {
  Session& session = entry->second;
  if (session.in_store) return command.reply(std::vector{Describe(entry->first, session)});
  if (!session.publishing && !Publish(entry)) {
    return command.reply(Fail(ErrorCode::kUnavailable, "the session store cannot take it now; try again"));
  }
  session.waiting.push_back(std::move(command));
}

// A store that cannot be reached is not asked for a while: each request would wait for it.
void Sessions::NoteStore(const Status& result, const SessionKey& key) {
  file_errors_.Add();
  log::Warning("session '{}': the session store: {}", key.id, result.error().message);
  const ErrorCode code = result.error().code;
  if (code != ErrorCode::kDataLoss) store_rests_until_ = now_ + kStoreRest;
}

}  // namespace inferflux::scheduler
