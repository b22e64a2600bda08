#include "dspy_http/http_adapter.h"

#include <utility>

#include "dspy_http/http_lm.h"

namespace inferflux::dspy {

Result<std::shared_ptr<HttpAdapter>> HttpAdapter::Connect(const HttpConfig& config) {
  if (auto checked = Check(config.call); !checked) return Forward(checked);
  auto lm = ConnectLm(config);
  if (!lm) return Forward(lm);
  return std::shared_ptr<HttpAdapter>(new HttpAdapter(config.call, std::move(*lm)));
}

}  // namespace inferflux::dspy
