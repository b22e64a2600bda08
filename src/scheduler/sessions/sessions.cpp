#include "scheduler/sessions/sessions.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace inferflux::scheduler {
namespace {

WallTime WallTimeIn(std::chrono::nanoseconds wait) {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now() + wait);
}

// How many of `known`'s tokens the session has, not counting the last one.
size_t Shared(const std::vector<TokenId>& tokens, std::span<const TokenId> known) {
  if (known.empty()) return 0;
  return static_cast<size_t>(std::ranges::mismatch(tokens, known.first(known.size() - 1)).in1 - tokens.begin());
}

}  // namespace

Sessions::Sessions(engine::Engine& engine, int64_t memory_limit, std::optional<SessionFiles> files, TimePoint now)
    : engine_(engine), memory_limit_(memory_limit), files_(std::move(files)), now_(now) {
  if (!files_) return;
  for (const auto& [key, file] : files_->all()) {
    sessions_[key] = {.tokens = file.tokens,
                      .sequence = {},
                      .kv = {},
                      .on_disk = true,
                      .ttl = file.ttl,
                      .expires = now + (file.expires - WallTimeIn({})),
                      .used = file.written};
    next_use_ = std::max(next_use_, file.written + 1);
  }
}

Result<engine::PrefixMatch> Sessions::Open(const Request& request, std::span<const TokenId> known, TimePoint now) {
  now_ = now;
  const uint64_t salt = request.spec.cache_salt;
  auto match = engine_.Open(known, salt);
  if (!match || !request.spec.session) return match;
  const Entry entry = sessions_.find({OwnerOf(salt), request.spec.session->id});
  if (entry == sessions_.end()) return match;
  entry->second.used = next_use_++;
  const size_t shared = Shared(entry->second.tokens, known);
  if (shared <= static_cast<size_t>(match->cached_tokens)) return match;
  if (auto closed = engine_.Close(match->sequence); !closed) return Forward(closed);
  auto reopened = Reopen(entry, known.first(shared), salt);
  if (reopened) return engine::PrefixMatch{.sequence = *reopened, .cached_tokens = static_cast<int32_t>(shared)};
  if (reopened.error().code == ErrorCode::kResourceExhausted) return Forward(reopened);
  log::Warning("session '{}': {}; its KV is computed again", entry->first.id, reopened.error().message);
  Forget(entry);
  return engine_.Open(known, salt);
}

// A sequence of the session's first `length` tokens, wherever their KV is.
Result<engine::SequenceId> Sessions::Reopen(Entry entry, std::span<const TokenId> tokens, uint64_t salt) {
  Session& session = entry->second;
  if (session.sequence) {
    auto forked = engine_.Fork(*session.sequence);
    if (!forked) return forked;
    auto cut = engine_.Truncate(*forked, static_cast<int32_t>(tokens.size()));
    if (cut) return forked;
    if (auto closed = engine_.Close(*forked); !closed) return Forward(closed);
    return Forward(cut);
  }
  if (auto loaded = LoadKv(entry); !loaded) return Forward(loaded);
  return engine_.Restore(tokens, salt, session.kv);
}

// Loads the KV from disk to memory, unless it is there already.
Status Sessions::LoadKv(Entry entry) {
  Session& session = entry->second;
  if (!session.kv.empty()) return {};
  if (!files_) return Fail(ErrorCode::kNotFound, "its KV is not stored anywhere");
  auto kv = files_->Read(entry->first);
  if (!kv) {
    session.on_disk = false;
    return Forward(kv);
  }
  session.kv = std::move(*kv);
  memory_used_ += static_cast<int64_t>(session.kv.size());
  return {};
}

void Sessions::Keep(const Request& request, TimePoint now) {
  now_ = now;
  Session& session = sessions_[{OwnerOf(request.spec.cache_salt), request.spec.session->id}];
  if (session.sequence) {
    if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  }
  DropKv(session);
  session.tokens.assign(request.tokens.begin(), request.tokens.begin() + request.length);
  session.sequence = request.sequence;
  session.on_disk = false;
  session.ttl = request.spec.session->ttl;
  session.expires = now + session.ttl;
  session.used = next_use_++;
}

Sessions::Entry Sessions::Oldest(bool (*held)(const Session&)) {
  Entry oldest = sessions_.end();
  for (Entry it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (held(it->second) && (oldest == sessions_.end() || it->second.used < oldest->second.used)) oldest = it;
  }
  return oldest;
}

bool Sessions::EvictLeastRecent() {
  const Entry oldest = Oldest([](const Session& session) { return session.sequence.has_value(); });
  if (oldest == sessions_.end()) return false;
  LeaveEngine(oldest);
  TrimMemory();
  return true;
}

// Saves the KV if there is a place for it, and releases the sequence.
void Sessions::LeaveEngine(Entry entry) {
  Session& session = entry->second;
  if (!session.on_disk && (memory_limit_ > 0 || files_)) {
    auto kv = engine_.Save(*session.sequence);
    if (kv) {
      session.kv = std::move(*kv);
      memory_used_ += static_cast<int64_t>(session.kv.size());
    }
  }
  if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  session.sequence.reset();
  if (session.kv.empty() && !session.on_disk) sessions_.erase(entry);
}

// Moves what does not fit in memory to disk, or drops it.
void Sessions::TrimMemory() {
  while (memory_used_ > memory_limit_) {
    const Entry oldest = Oldest([](const Session& session) { return !session.kv.empty(); });
    if (!oldest->second.on_disk && !SaveToDisk(oldest, now_)) {
      Forget(oldest);
    } else {
      DropKv(oldest->second);
    }
  }
}

Status Sessions::SaveToDisk(Entry entry, TimePoint now) {
  Session& session = entry->second;
  if (!files_) {
    return Fail(ErrorCode::kInvalidArgument, "the server keeps no sessions on disk; set runtime.session_dir");
  }
  auto written =
      files_->Write(entry->first, session.tokens, session.kv, WallTimeIn(session.expires - now), session.ttl);
  session.on_disk = written.has_value();
  // Some may have been evicted.
  for (auto& [key, other] : sessions_) other.on_disk = other.on_disk && files_->Find(key) != nullptr;
  std::erase_if(sessions_, [&](const auto& item) {
    return item.first != entry->first && !item.second.on_disk && !item.second.sequence && item.second.kv.empty();
  });
  return written;
}

void Sessions::DropKv(Session& session) {
  memory_used_ -= static_cast<int64_t>(session.kv.size());
  session.kv = {};
}

void Sessions::Forget(Entry entry) {
  if (entry->second.sequence) {
    if (auto closed = engine_.Close(*entry->second.sequence); !closed)
      log::Error("session: {}", closed.error().message);
  }
  DropKv(entry->second);
  if (files_) files_->Remove(entry->first);
  sessions_.erase(entry);
}

void Sessions::Sweep(TimePoint now) {
  now_ = now;
  for (Entry it = sessions_.begin(); it != sessions_.end();) {
    const Entry next = std::next(it);
    if (it->second.expires <= now) Forget(it);
    it = next;
  }
  TrimMemory();
}

std::optional<TimePoint> Sessions::next_expiry() const {
  std::optional<TimePoint> next;
  for (const auto& [key, session] : sessions_) next = std::min(next.value_or(TimePoint::max()), session.expires);
  return next;
}

SessionInfo Sessions::Describe(const SessionKey& key, const Session& session, TimePoint now) const {
  using Tier = SessionInfo::Tier;
  const SessionFile* file = session.on_disk ? files_->Find(key) : nullptr;
  return {.id = key.id,
          .tier = session.sequence     ? Tier::kEngine
                  : session.kv.empty() ? Tier::kDisk
                                       : Tier::kMemory,
          .tokens = static_cast<int32_t>(session.tokens.size()),
          .bytes = session.sequence     ? 0
                   : session.kv.empty() ? (file != nullptr ? file->bytes : 0)
                                        : static_cast<int64_t>(session.kv.size()),
          .on_disk = file != nullptr,
          .expires_in = std::chrono::duration_cast<std::chrono::seconds>(session.expires - now).count()};
}

Status Sessions::Save(Entry entry, TimePoint now) {
  Session& session = entry->second;
  if (session.on_disk) return {};
  if (!session.sequence) return SaveToDisk(entry, now);
  auto kv = engine_.Save(*session.sequence);
  if (!kv) return Forward(kv);
  session.kv = std::move(*kv);
  memory_used_ += static_cast<int64_t>(session.kv.size());
  Status saved = SaveToDisk(entry, now);
  DropKv(session);
  return saved;
}

Status Sessions::Restore(Entry entry, uint64_t salt) {
  Session& session = entry->second;
  if (session.sequence) return {};
  if (auto loaded = LoadKv(entry); !loaded) return loaded;
  auto sequence = engine_.Restore(session.tokens, salt, session.kv);
  while (!sequence && sequence.error().code == ErrorCode::kResourceExhausted && EvictLeastRecent()) {
    if (auto loaded = LoadKv(entry); !loaded) return loaded;  // it may have been evicted from memory for the others
    sequence = engine_.Restore(session.tokens, salt, session.kv);
  }
  if (!sequence) return Forward(sequence);
  session.sequence = *sequence;
  DropKv(session);
  return {};
}

Result<std::vector<SessionInfo>> Sessions::Do(const SessionCommand& command, TimePoint now) {
  now_ = now;
  const uint64_t owner = OwnerOf(command.salt);
  std::vector<SessionInfo> out;
  if (command.action == SessionCommand::Action::kList) {
    for (const auto& [key, session] : sessions_) {
      if (key.owner == owner) out.push_back(Describe(key, session, now));
    }
    return out;
  }
  const Entry entry = sessions_.find({owner, command.id});
  if (entry == sessions_.end()) {
    return Fail(ErrorCode::kNotFound, "no session '{}': it has expired, was evicted, or never existed", command.id);
  }
  entry->second.used = next_use_++;
  Status done;
  if (command.action == SessionCommand::Action::kSave) done = Save(entry, now);
  if (command.action == SessionCommand::Action::kRestore) {
    done = Restore(entry, command.salt);
    if (!done && done.error().code == ErrorCode::kDataLoss) Forget(entry);
  }
  if (!done) return Forward(done);
  out.push_back(Describe(entry->first, entry->second, now));
  if (command.action == SessionCommand::Action::kDelete) Forget(entry);
  return out;
}

}  // namespace inferflux::scheduler
