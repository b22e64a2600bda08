// What the server says once it serves: where, which models on what, and whether keys are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log_line.h"
#include "serving/pool/model_pool.h"

namespace inferflux::apps {

struct BannerModel {
  std::string id;
  std::string backend;
  std::string provider;
  std::string weights;  // "Q4_K"
  int32_t context = 0;
  bool is_default = false;
};

struct Banner {
  std::string url;
  bool page = false;
  bool needs_key = false;
  std::vector<BannerModel> models;  // the default first
  size_t loadable = 0;              // models that their first use loads
};

Banner BannerOf(const serving::ModelPool& pool, std::string url, bool page, bool needs_key);

// For a person: a few aligned lines.
std::string BannerText(const Banner& banner);
// For a log: the same facts, of the default model where there are several.
std::vector<log::Field> BannerFields(const Banner& banner);

}  // namespace inferflux::apps
