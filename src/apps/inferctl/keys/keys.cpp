// inferctl keys: the file of API keys of a server on this machine.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "keys/key_file.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr int kMaxDays = 36500;

struct KeysFlags {
  std::string file;
  std::string name;
  std::string scopes;
  std::string expires;
  keys::Limits limits;
};

Result<std::string> FileOf(const KeysFlags& flags, const config::Settings& settings) {
  if (!flags.file.empty()) return flags.file;
  if (const std::string& configured = settings.Text("server.api_keys_file"); !configured.empty()) return configured;
  return Fail(ErrorCode::kInvalidArgument,
              "which file? name it by --file, or by server.api_keys_file (INFERFLUX_API_KEYS_FILE), as for the server");
}

// "90d", or a day or time as the file has it.
std::optional<keys::Time> ExpiryOf(std::string_view text) {
  if (!text.ends_with('d')) return keys::ParseTime(text);
  int days = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9' || days > kMaxDays) return std::nullopt;
    days = 10 * days + (c - '0');
  }
  if (days == 0 || days > kMaxDays) return std::nullopt;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return now + std::chrono::days(days);
}

Status CheckLimits(const keys::Limits& limits) {
  for (const keys::LimitRow& row : keys::LimitRows()) {
    const auto& limit = limits.*row.value;
    if (!limit || (*limit >= 0 && *limit <= row.max)) continue;
    return Fail(ErrorCode::kInvalidArgument, "{} {} is out of range: it is 0 (no limit) to {}", row.flag, *limit,
                row.max);
  }
  return {};
}

void AddLimits(const keys::Limits& limits, json::object& out) {
  json::object own;
  for (const keys::LimitRow& row : keys::LimitRows()) {
    if (const auto& limit = limits.*row.value) own[row.name] = *limit;
  }
  if (!own.empty()) out["limits"] = std::move(own);
}

// "queued=8 tokens_per_minute=1000", for a table.
std::string LimitWords(const keys::Limits& limits) {
  std::string out;
  for (const keys::LimitRow& row : keys::LimitRows()) {
    if (const auto& limit = limits.*row.value) out += fmt::format("{}{}={}", out.empty() ? "" : " ", row.name, *limit);
  }
  return out.empty() ? "-" : out;
}

int Create(const std::string& file, const KeysFlags& flags, bool as_json) {
  keys::Scopes scopes = keys::kUsualScopes;
  if (!flags.scopes.empty()) {
    const auto parsed = keys::ParseScopes(flags.scopes);
    if (!parsed) {
      return Complain(
          fmt::format("'{}' is not a list of scopes; they are {}", flags.scopes, keys::NamesOf(keys::kEveryScope)),
          kUsageError);
    }
    scopes = *parsed;
  }
  std::optional<keys::Time> expires;
  if (!flags.expires.empty()) {
    expires = ExpiryOf(flags.expires);
    if (!expires) {
      return Complain(fmt::format("'{}' is not a time; write 90d, 2027-01-31 or 2027-01-31T12:00:00Z", flags.expires),
                      kUsageError);
    }
  }
  if (const Status valid = CheckLimits(flags.limits); !valid) return Complain(valid.error().message, kUsageError);
  const auto secret = keys::CreateKey(file, flags.name, scopes, expires, flags.limits);
  if (!secret) return Complain(secret.error());
  if (as_json) {
    json::object out{{"name", flags.name}, {"key", *secret}, {"scopes", keys::NamesOf(scopes)}};
    if (expires) out["expires"] = keys::FormatTime(*expires);
    AddLimits(flags.limits, out);
    return PrintJson(out);
  } else {
    fmt::print("{}\n", *secret);
    fmt::print(
        stderr,
        "inferctl: this is the only time that the key is shown; {} holds its hash. A running server takes it after "
        "SIGHUP.\n",
        file);
  }
  return kOk;
}

int List(const std::string& file, bool as_json) {
  const auto all = keys::ReadKeyFile(file);
  if (!all) return Complain(all.error());
  if (as_json) {
    json::array out;
    for (const keys::KeyLine& key : *all) {
      json::object entry{{"name", key.name}, {"sha256", keys::ToHex(key.hash)}, {"scopes", keys::NamesOf(key.scopes)}};
      if (key.expires) entry["expires"] = keys::FormatTime(*key.expires);
      entry["expired"] = keys::IsExpired(key);
      AddLimits(key.limits, entry);
      out.push_back(std::move(entry));
    }
    return PrintJson(out);
  }
  constexpr std::string_view kRow = "{:24} {:10} {:32} {:32} {}\n";
  fmt::print(kRow, "name", "sha256", "scopes", "expires", "limits");
  for (const keys::KeyLine& key : *all) {
    const std::string expires =
        key.expires ? keys::FormatTime(*key.expires) + (keys::IsExpired(key) ? " (expired)" : "") : "never";
    fmt::print(kRow, key.name.empty() ? "-" : key.name, keys::ToHex(key.hash).substr(0, 8), keys::NamesOf(key.scopes),
               expires, LimitWords(key.limits));
  }
  return kOk;
}

int Revoke(const std::string& file, const KeysFlags& flags) {
  const auto gone = keys::RevokeKey(file, flags.name);
  if (!gone) return Complain(gone.error());
  fmt::print(stderr, "inferctl: removed {} {} from {}; a running server forgets them after SIGHUP\n", *gone,
             *gone == 1 ? "key" : "keys", file);
  return kOk;
}

}  // namespace

Run AddKeys(Command& app) {
  auto flags = std::make_shared<KeysFlags>();
  Command keys = app.AddCommand("keys", "create, list and revoke the API keys of a server on this machine");
  keys.RequireCommand();
  const auto add = [&](const char* name, const char* help) {
    Command command = keys.AddCommand(name, help);
    command.Add("--file", flags->file, "the server's server.api_keys_file (INFERFLUX_API_KEYS_FILE)").Shown("FILE");
    return command;
  };
  Command create = add("create", "make a key, print it once, and add its hash to the file");
  create.Add("name", flags->name, "what logs call it").Required();
  create.Add("--scopes", flags->scopes, "of read, generate, load, metrics and admin (default: read,generate)")
      .Shown("LIST");
  create.Add("--expires", flags->expires, "when it ends: 90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
      .Shown("TIME");
  for (const keys::LimitRow& row : keys::LimitRows()) {
    create.Add(std::string(row.flag), flags->limits.*row.value, fmt::format("{} (default: the server's)", row.help))
        .Shown("N");
  }
  add("list", "list the keys, which the file knows by their hashes");
  add("revoke", "take keys out of the file")
      .Add("name", flags->name, "the key's name, or the first 8 digits or more of its hash")
      .Required();
  return [flags, keys](const CommandContext& context) {
    const auto file = FileOf(*flags, context.settings);
    if (!file) return Complain(file.error().message, kUsageError);
    const std::string chosen = keys.chosen();
    if (chosen == "list") return List(*file, context.json);
    return chosen == "create" ? Create(*file, *flags, context.json) : Revoke(*file, *flags);
  };
}

}  // namespace inferflux::apps
