// One session in a file: who it belongs to, its tokens, their KV and a checksum of everything. It carries the model's
// fingerprint; foreign or damaged files are refused. These functions wait for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/sessions/session_format.h"

namespace inferflux::scheduler {

// "0123456789abcdef.session".
std::string SessionFileName(const SessionKey& key);

// The size of the file.
uint64_t SessionFileBytes(const SessionHead& head, size_t kv_bytes);

// Writes a file beside its place, waits until the disk has it, and renames it into place: until then, and if anything
// fails, what was there before stays as it was. kIo says why, as "No space left on device".
Status WriteSessionFile(const std::filesystem::path& path, const SessionHead& head, const std::vector<std::byte>& kv);

// Empty if the file is damaged or not of this model. The KV is checked when it is read.
std::optional<SessionHead> ReadSessionHead(const std::filesystem::path& path, uint64_t fingerprint);

// The KV. kDataLoss if the file is not the one that was written for this head.
Result<std::vector<std::byte>> ReadSessionKv(const std::filesystem::path& path, const SessionHead& head);

}  // namespace inferflux::scheduler
