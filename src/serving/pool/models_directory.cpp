#include "serving/pool/models_directory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "formats/gguf/split_name.h"
#include "serving/models/model_recipe.h"

namespace inferflux::serving {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxName = 255;
constexpr size_t kMaxFiles = 1000;  // of a Hugging Face directory
constexpr int kMaxDepth = 3;
constexpr std::string_view kGguf = ".gguf";

bool IsName(std::string_view name) {
  const auto bad = [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' && std::ranges::none_of(name, bad);
}

// Whether the path, with its links resolved, is in the directory `root`.
bool IsInside(const fs::path& path, const fs::path& root) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return false;
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

// Whether all files of a directory, and of the folders in it, are inside `root`.
bool AreAllInside(const fs::path& directory, const fs::path& root) {
  std::error_code error;
  size_t files = 0;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (++files > kMaxFiles || at.depth() > kMaxDepth || !IsInside(at->path(), root)) return false;
  }
  return !error;
}

// The model of one entry; none if it is the part of another or no model. `inside` is false if it leads out.
struct Entry {
  AvailableModel model;
  bool inside = true;
};

std::optional<Entry> ReadEntry(const fs::directory_entry& entry, const fs::path& root) {
  const std::string name = entry.path().filename().string();
  if (!IsName(name)) return std::nullopt;
  std::error_code error;
  if (IsRecipe(name) && name.size() > kRecipeSuffix.size()) {
    // A link could be deleted as what it is, but not be kept inside: create and copy make plain files.
    if (!fs::is_regular_file(entry.symlink_status(error))) return std::nullopt;
    return Entry{{name.substr(0, name.size() - kRecipeSuffix.size()), entry.path().string()}, true};
  }
  if (entry.is_directory(error)) {
    if (!fs::exists(entry.path() / "config.json", error)) return std::nullopt;
    return Entry{{name, entry.path().string()}, IsInside(entry.path(), root) && AreAllInside(entry.path(), root)};
  }
  if (!entry.is_regular_file(error) || !name.ends_with(kGguf) || name.size() == kGguf.size()) return std::nullopt;
  const std::string stem = name.substr(0, name.size() - kGguf.size());
  const auto split = formats::ParseSplitName(name);
  if (!split) return Entry{{stem, entry.path().string()}, IsInside(entry.path(), root)};
  if (split->part != 1) return std::nullopt;
  bool inside = true;
  for (uint32_t part = 1; inside && part <= split->parts; ++part) {
    const fs::path file = root / (split->base + formats::SplitSuffix(part, split->parts));
    inside = !fs::exists(file, error) || IsInside(file, root);  // the load names a missing part
  }
  return Entry{{split->base, entry.path().string()}, inside};
}

// All models by name, also those that lead out.
std::multimap<std::string, Entry, std::less<>> ReadAll(const fs::path& root) {
  std::multimap<std::string, Entry, std::less<>> out;
  std::error_code error;
  size_t entries = 0;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (++entries > ModelsDirectory::kMaxEntries) break;
    if (auto entry = ReadEntry(*at, root)) {
      std::string name = entry->model.name;
      out.emplace(std::move(name), std::move(*entry));
    }
  }
  return out;
}

}  // namespace

Result<ModelsDirectory> ModelsDirectory::Open(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error || !fs::is_directory(real, error)) return Fail(ErrorCode::kNotFound, "there is no directory {}", path);
  return ModelsDirectory(real.string());
}

Result<std::string> ModelsDirectory::Find(std::string_view name) const {
  if (!IsName(name)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'{}' cannot be the name of a model: it must have 1 to {} bytes, no '/', no control character, and no "
                "leading dot",
                name.substr(0, kMaxName), kMaxName);
  }
  const auto all = ReadAll(path_);
  const auto [first, last] = all.equal_range(name);
  if (first == last) return Fail(ErrorCode::kNotFound, "there is no model '{}' in {}", name, path_);
  if (std::next(first) != last) {
    return Fail(ErrorCode::kInvalidArgument, "two models in {} have the name '{}': {} and {}; rename one of them",
                path_, name, fs::path(first->second.model.path).filename().string(),
                fs::path(std::next(first)->second.model.path).filename().string());
  }
  if (!first->second.inside) {
    return Fail(ErrorCode::kInvalidArgument,
                "the model '{}' has a link that leads out of {}; put the file itself there, or configure its path",
                name, path_);
  }
  return first->second.model.path;
}

Status ModelsDirectory::SaveRecipe(std::string_view name, std::string_view text) const {
  const auto there = Find(name);
  if (there && !IsRecipe(*there)) {
    return Fail(ErrorCode::kInvalidArgument, "'{}' is the model of {}, which is not replaced; choose another name",
                name, *there);
  }
  if (!there && there.error().code != ErrorCode::kNotFound) return Forward(there);
  const std::string file = fmt::format("{}{}", name, kRecipeSuffix);
  if (file.size() > kMaxName) {
    return Fail(ErrorCode::kInvalidArgument, "the name '{}' is too long: it may have {} bytes", name,
                kMaxName - kRecipeSuffix.size());
  }
  const fs::path place = fs::path(path_) / file;
  // Hidden, so that no reader takes it for a model; renamed when it is whole.
  const fs::path partial = fs::path(path_) / fmt::format(".recipe-{}.partial", ::getpid());
  std::error_code error;
  {
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) {
      fs::remove(partial, error);
      return Fail(ErrorCode::kIo, "cannot write into {}: let the server's user write there", path_);
    }
  }
  fs::rename(partial, place, error);
  if (!error) return {};
  std::error_code ignored;
  fs::remove(partial, ignored);
  return Fail(ErrorCode::kIo, "cannot write {}: {}", place.string(), error.message());
}

Status ModelsDirectory::RemoveRecipe(std::string_view name) const {
  const auto there = Find(name);
  if (!there) return Forward(there);
  if (!IsRecipe(*there)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'{}' was not made by create or copy: this server deletes no other files; delete {} by hand", name,
                *there);
  }
  std::error_code error;
  if (fs::remove(*there, error) && !error) return {};
  return Fail(ErrorCode::kIo, "cannot delete {}: {}", *there, error.message());
}

std::vector<AvailableModel> ModelsDirectory::List() const {
  const auto all = ReadAll(path_);
  std::vector<AvailableModel> out;
  for (const auto& [name, entry] : all) {
    if (entry.inside && all.count(name) == 1) out.push_back(entry.model);
  }
  return out;
}

}  // namespace inferflux::serving
