#include "scheduler/sessions/sessions.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "scheduler/sessions/shared_prefix.h"

namespace inferflux::scheduler {
namespace {

int64_t SizeOf(const SharedKv& kv) { return kv ? static_cast<int64_t>(kv->size()) : 0; }

}  // namespace

Sessions::Sessions(engine::Engine& engine, int64_t memory_limit, std::unique_ptr<SessionFiles> files,
                   std::unique_ptr<SharedSessions> shared, metrics::Counter file_errors, TimePoint now)
    : engine_(engine),
      memory_limit_(memory_limit),
      file_errors_(file_errors),
      now_(now),
      files_(std::move(files)),
      shared_(std::move(shared)) {
  if (!files_) return;
  for (const auto& [key, file] : files_->all()) {
    const Entry entry = sessions_.try_emplace(key).first;
    entry->second.tokens = file.head.tokens;
    entry->second.on_disk = true;
    entry->second.ttl = file.head.ttl;
    entry->second.used = file.written;
    next_use_ = std::max(next_use_, file.written + 1);
    SetExpiry(entry, now + (file.head.expires - WallTimeIn({})));
  }
}

Sessions::~Sessions() {
  for (auto& [key, session] : sessions_) {
    for (Waiting& each : session.waiting) {
      each.reply(Fail(ErrorCode::kUnavailable, "the model is being unloaded"));
    }
  }
  for (auto& [number, reply] : asked_) reply(Fail(ErrorCode::kUnavailable, "the model is being unloaded"));
}

bool Sessions::AwaitsKv(const Request& request, std::span<const TokenId> known, TimePoint now) {
  if (!request.spec.session) return false;
  now_ = now;
  return AwaitsStore(request, known) || AwaitsDisk(request, known);
}

bool Sessions::AwaitsDisk(const Request& request, std::span<const TokenId> known) {
  if (!files_) return false;
  const SessionKey key{OwnerOf(request.spec.cache_salt), request.spec.session->id};
  const auto waits = [&] {
    const Entry entry = sessions_.find(key);
    return entry != sessions_.end() && OnlyOnDisk(entry->second) && SharedPrefix(entry->second.tokens, known) > 0;
  };
  if (!waits()) return false;
  Read(sessions_.find(key), request.number);
  files_->Collect();  // an idle disk may be that fast
  return waits();
}

Result<engine::PrefixMatch> Sessions::Open(const Request& request, std::span<const TokenId> known, TimePoint now) {
  now_ = now;
  const uint64_t salt = request.spec.cache_salt;
  auto match = engine_.Open(known, salt);
  if (!match || !request.spec.session) return match;
  const Entry entry = sessions_.find({OwnerOf(salt), request.spec.session->id});
  if (entry == sessions_.end()) return match;
  entry->second.used = next_use_++;
  List(entry);
  const size_t shared = SharedPrefix(entry->second.tokens, known);
  if (shared <= static_cast<size_t>(match->cached_tokens)) {
    Unread(request);
    return match;
  }
  if (auto closed = engine_.Close(match->sequence); !closed) return Forward(closed);
  if (OnlyOnDisk(entry->second)) {
    Read(entry, request.number);
    return Fail(ErrorCode::kUnavailable, "the session's KV is being read");
  }
  auto reopened = Reopen(entry, known.first(shared), salt);
  if (reopened) {
    Unread(request);
    return engine::PrefixMatch{.sequence = *reopened, .cached_tokens = static_cast<int32_t>(shared)};
  }
  if (reopened.error().code == ErrorCode::kResourceExhausted) return Forward(reopened);
  Forget(entry, reopened.error().message);
  return engine_.Open(known, salt);
}

// A sequence of the session's first `length` tokens, from the engine or from memory.
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
  if (!session.kv) return Fail(ErrorCode::kNotFound, "its KV is not stored anywhere");
  return engine_.Restore(tokens, salt, *session.kv);
}

// Begins to read the KV, unless that has begun. For a request only if not too many wait for theirs; it asks again.
void Sessions::Read(Entry entry, std::optional<uint64_t> reader) {
  Session& session = entry->second;
  if (reader && !session.reader) {
    if (reads_ >= kMostReads) return;
    session.reader = reader;
    ++reads_;
  }
  if (session.reading) return;
  session.reading = true;
  files_->Read(entry->first, [this, key = entry->first, version = session.version](auto kv) {
    TakeRead(key, version, std::move(kv));
  });
}

void Sessions::TakeRead(const SessionKey& key, uint64_t version, Result<std::vector<std::byte>> kv) {
  const Entry entry = sessions_.find(key);
  if (entry == sessions_.end() || entry->second.version != version) return;  // it is another by now
  Session& session = entry->second;
  session.reading = false;
  if (!kv) {
    file_errors_.Add();
    session.on_disk = false;
    if (session.sequence || session.kv) return Resume(key, {});
    Resume(key, Status(Forward(kv)));
    return Forget(entry, kv.error().message);
  }
  if (!session.sequence && !session.kv) session.kv = std::make_shared<const std::vector<std::byte>>(std::move(*kv));
  List(entry);
  Resume(key, {});
}

void Sessions::Keep(const Request& request, TimePoint now) {
  now_ = now;
  const Entry entry = sessions_.try_emplace({OwnerOf(request.spec.cache_salt), request.spec.session->id}).first;
  Session& session = entry->second;
  if (session.sequence) {
    if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  }
  Unpin(session);
  session.kv = nullptr;
  session.tokens.assign(request.tokens.begin(), request.tokens.begin() + request.length);
  session.version = ++next_version_;
  session.sequence = request.sequence;
  session.on_disk = session.saving = session.reading = session.in_store = session.publishing = false;
  session.ttl = request.spec.session->ttl;
  session.used = next_use_++;
  SetExpiry(entry, now + session.ttl);
  List(entry);
  Resume(entry->first, {});
  if (shared_) Publish(entry);
}

void Sessions::Release(const Request& request) {
  fetches_.erase(request.number);
  Unread(request);
  if (!request.spec.session->once) return;
  const SessionKey key{OwnerOf(request.spec.cache_salt), request.spec.session->id};
  if (shared_) shared_->Remove(key);
  if (const Entry entry = sessions_.find(key); entry != sessions_.end()) Forget(entry, {});
}

void Sessions::Unread(const Request& request) {
  const Entry entry = sessions_.find({OwnerOf(request.spec.cache_salt), request.spec.session->id});
  if (entry == sessions_.end() || entry->second.reader != request.number) return;
  Unpin(entry->second);
  List(entry);
}

void Sessions::Unpin(Session& session) {
  if (session.reader) --reads_;
  session.reader.reset();
}

void Sessions::Unlist(Session& session) {
  if (session.in_engine_at) in_engine_.erase(*session.in_engine_at);
  if (session.in_memory_at) in_memory_.erase(*session.in_memory_at);
  idle_bytes_ -= session.listed_bytes;
  session.in_engine_at.reset();
  session.in_memory_at.reset();
  session.listed_bytes = 0;
}

// Follows a change of where the session is, or of its use.
void Sessions::List(Entry entry) {
  Session& session = entry->second;
  Unlist(session);
  if (session.sequence) {
    session.in_engine_at = session.used;
    in_engine_.emplace(session.used, entry);
  } else if (session.kv && !session.saving && !session.reader) {
    session.in_memory_at = session.used;
    session.listed_bytes = SizeOf(session.kv);
    idle_bytes_ += session.listed_bytes;
    in_memory_.emplace(session.used, entry);
  }
}

void Sessions::SetExpiry(Entry entry, TimePoint expires) {
  ends_.erase({entry->second.expires, &entry->first});
  entry->second.expires = expires;
  ends_.emplace(expires, &entry->first);
}

bool Sessions::EvictLeastRecent() {
  if (in_engine_.empty()) return false;
  LeaveEngine(in_engine_.begin()->second);
  TrimMemory();
  return true;
}

// Saves the KV if there is a place for it, and releases the sequence.
void Sessions::LeaveEngine(Entry entry) {
  Session& session = entry->second;
  if (!session.on_disk && (memory_limit_ > 0 || files_)) {
    auto kv = engine_.Save(*session.sequence);
    if (kv) session.kv = std::make_shared<const std::vector<std::byte>>(std::move(*kv));
  }
  if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  session.sequence.reset();
  List(entry);
  if (!session.kv && !session.on_disk) Forget(entry, {});
}

// Moves what does not fit in memory to disk, or drops it.
void Sessions::TrimMemory() {
  while (idle_bytes_ > memory_limit_) {
    const Entry oldest = in_memory_.begin()->second;
    Session& session = oldest->second;
    if (session.on_disk) {
      session.kv = nullptr;
      List(oldest);
    } else if (!files_) {
      Forget(oldest, {});
    } else if (!MayWrite(session.kv)) {
      Forget(oldest, "the disk is too slow for it");
    } else if (Status begun = Write(oldest, session.kv, now_); !begun) {
      Forget(oldest, begun.error().message);
    }
  }
}

bool Sessions::MayWrite(const SharedKv& kv) const {
  return unwritten_bytes_ == 0 || unwritten_bytes_ + SizeOf(kv) <= std::max(memory_limit_, kUnwrittenBytes);
}

// Begins to write the session's tokens and this KV of them.
Status Sessions::Write(Entry entry, SharedKv kv, TimePoint now) {
  Session& session = entry->second;
  const int64_t bytes = SizeOf(kv);
  auto gone = files_->Write(entry->first, session.tokens, std::move(kv), WallTimeIn(session.expires - now), session.ttl,
                            [this, key = entry->first, version = session.version, bytes](Status result) {
                              TakeWritten(key, version, bytes, std::move(result));
                            });
  if (!gone) return Forward(gone);
  unwritten_bytes_ += bytes;
  session.saving = true;
  List(entry);
  for (const SessionKey& key : *gone) {
    const Entry other = sessions_.find(key);
    if (other == sessions_.end()) continue;
    Session& loser = other->second;
    loser.on_disk = false;
    if (!loser.sequence && !loser.kv && !loser.reading) Forget(other, {});
  }
  return {};
}

void Sessions::TakeWritten(const SessionKey& key, uint64_t version, int64_t bytes, Status result) {
  unwritten_bytes_ -= bytes;
  if (!result && result.error().code == ErrorCode::kIo) file_errors_.Add();
  const Entry entry = sessions_.find(key);
  if (entry == sessions_.end() || entry->second.version != version) return;  // it is another by now
  Session& session = entry->second;
  session.saving = false;
  session.on_disk = result.has_value();
  List(entry);
  // What cannot be written goes, where memory has no room for it.
  const bool lost = !result && !session.sequence && idle_bytes_ > memory_limit_;
  Resume(key, result);
  if (lost) return Forget(sessions_.find(key), result.error().message);
  if (!result) log::Warning("session '{}': {}", key.id, result.error().message);
}

// Ends the commands that waited for the disk, after it has done something or the session has changed.
void Sessions::Resume(const SessionKey& key, const Status& result) {
  const Entry found = sessions_.find(key);
  for (Waiting& each : std::exchange(found->second.waiting, {})) {
    const Entry entry = sessions_.find(key);
    if (!result) {
      each.reply(Forward(result));
    } else if (entry == sessions_.end()) {  // the restore before this one had no room
      each.reply(Fail(ErrorCode::kNotFound, "the session '{}' is gone", key.id));
    } else if (each.command.action == SessionCommand::Action::kSave) {
      each.reply(std::vector{Describe(entry->first, entry->second)});
    } else {
      Restore(entry, std::move(each));
    }
  }
}

void Sessions::Forget(Entry entry, std::string_view why) {
  Session& session = entry->second;
  if (!why.empty()) log::Warning("session '{}': {}; its KV is computed again", entry->first.id, why);
  if (session.sequence) {
    if (auto closed = engine_.Close(*session.sequence); !closed) log::Error("session: {}", closed.error().message);
  }
  for (Waiting& each : std::exchange(session.waiting, {})) {
    each.reply(Fail(ErrorCode::kNotFound, "the session '{}' is gone", entry->first.id));
  }
  Unpin(session);
  Unlist(session);
  ends_.erase({session.expires, &entry->first});
  if (files_) files_->Remove(entry->first);
  sessions_.erase(entry);
}

void Sessions::Sweep(TimePoint now) {
  now_ = now;
  if (files_) files_->Collect();
  if (shared_) shared_->Collect();
  while (!ends_.empty() && ends_.begin()->first <= now) Forget(sessions_.find(*ends_.begin()->second), {});
  TrimMemory();
}

std::optional<TimePoint> Sessions::next_expiry() const {
  std::optional<TimePoint> next;
  if (!ends_.empty()) next = ends_.begin()->first;
  for (const auto& [number, fetch] : fetches_) {
    if (!fetch.ended) next = std::min(next.value_or(TimePoint::max()), fetch.began + kPatience);
  }
  return next;
}

SessionInfo Sessions::Describe(const SessionKey& key, const Session& session) const {
  using Tier = SessionInfo::Tier;
  const StoredSession* file = session.on_disk ? files_->Find(key) : nullptr;
  return {.id = key.id,
          .tier = session.sequence ? Tier::kEngine
                  : session.kv     ? Tier::kMemory
                                   : Tier::kDisk,
          .tokens = static_cast<int32_t>(session.tokens.size()),
          .bytes = session.sequence  ? 0
                   : session.kv      ? SizeOf(session.kv)
                   : file != nullptr ? file->bytes
                                     : 0,
          .on_disk = file != nullptr,
          .expires_in = std::chrono::duration_cast<std::chrono::seconds>(session.expires - now_).count()};
}

void Sessions::Save(Entry entry, Waiting command) {
  Session& session = entry->second;
  if (session.on_disk) return command.reply(std::vector{Describe(entry->first, session)});
  if (!files_ && shared_) return SaveToStore(entry, std::move(command));
  if (!files_) {
    return command.reply(
        Fail(ErrorCode::kInvalidArgument,
             "the server keeps no sessions on disk; set runtime.session_dir or runtime.session_store"));
  }
  if (!session.saving) {
    SharedKv kv = session.kv;
    if (session.sequence) {
      auto saved = engine_.Save(*session.sequence);
      if (!saved) return command.reply(Forward(saved));
      kv = std::make_shared<const std::vector<std::byte>>(std::move(*saved));
    }
    if (!MayWrite(kv)) {
      return command.reply(
          Fail(ErrorCode::kResourceExhausted, "too many sessions are being written to disk; try again"));
    }
    if (Status begun = Write(entry, std::move(kv), now_); !begun) return command.reply(Forward(begun));
  }
  session.waiting.push_back(std::move(command));
}

void Sessions::Restore(Entry entry, Waiting command) {
  Session& session = entry->second;
  const uint64_t salt = command.command.salt;
  if (!session.sequence && session.kv) {
    if (Status restored = RestoreNow(entry, salt); !restored) return command.reply(Forward(restored));
  }
  if (session.sequence) return command.reply(std::vector{Describe(entry->first, session)});
  session.waiting.push_back(std::move(command));
  Read(entry, std::nullopt);
}

// Of a session in memory.
Status Sessions::RestoreNow(Entry entry, uint64_t salt) {
  Session& session = entry->second;
  const SharedKv kv = session.kv;  // it may be evicted from memory for others
  auto sequence = engine_.Restore(session.tokens, salt, *kv);
  while (!sequence && sequence.error().code == ErrorCode::kResourceExhausted && !in_engine_.empty()) {
    LeaveEngine(in_engine_.begin()->second);
    sequence = engine_.Restore(session.tokens, salt, *kv);
  }
  if (sequence) {
    session.sequence = *sequence;
    session.kv = nullptr;
    List(entry);
  }
  TrimMemory();
  if (!sequence) return Forward(sequence);
  return {};
}

void Sessions::Do(const SessionCommand& command, TimePoint now, SessionReply reply) {
  now_ = now;
  const uint64_t owner = OwnerOf(command.salt);
  if (command.action == SessionCommand::Action::kList) {
    std::vector<SessionInfo> out;
    for (Entry it = sessions_.lower_bound({owner, {}}); it != sessions_.end() && it->first.owner == owner; ++it) {
      out.push_back(Describe(it->first, it->second));
    }
    return reply(std::move(out));
  }
  const SessionKey key{owner, command.id};
  const Entry entry = sessions_.find(key);
  if (entry == sessions_.end() && shared_) {
    const uint64_t number = next_asked_++;
    asked_.emplace(number, std::move(reply));
    shared_->Fetch(key, WallTimeIn({}), [this, command, key, number](auto fetched) {
      if (fetched && !sessions_.contains(key)) Adopt(key, std::move(*fetched));
      DoKnown(sessions_.find(key), command, std::move(asked_.extract(number).mapped()));
      TrimMemory();
    });
    shared_->Collect();  // it may be that fast
    return;
  }
  DoKnown(entry, command, std::move(reply));
  // An idle disk may be that fast.
  if (files_) files_->Collect();
  if (shared_) shared_->Collect();
}

void Sessions::DoKnown(Entry entry, const SessionCommand& command, SessionReply reply) {
  if (entry == sessions_.end()) {
    return reply(
        Fail(ErrorCode::kNotFound, "no session '{}': it has expired, was evicted, or never existed", command.id));
  }
  entry->second.used = next_use_++;
  List(entry);
  if (command.action == SessionCommand::Action::kSave) Save(entry, {command, std::move(reply)});
  if (command.action == SessionCommand::Action::kRestore) Restore(entry, {command, std::move(reply)});
  if (command.action == SessionCommand::Action::kDelete) {
    std::vector<SessionInfo> out{Describe(entry->first, entry->second)};
    if (shared_) shared_->Remove(entry->first);
    Forget(entry, {});
    reply(std::move(out));
  }
}

}  // namespace inferflux::scheduler
