#include "server/admin/admin_state.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/host_memory.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

template <class Describe>
net::Response ForEachModel(Services& services, Describe describe) {
  json::array data;
  for (const auto& model : services.models.List()) {
    json::object entry = {{"model", model->id}, {"backend", model->exposure.exposed_backend}};
    describe(*model, model->scheduler->stats(), entry);
    data.push_back(std::move(entry));
  }
  return net::Response(200, "application/json",
                       json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}}));
}

}  // namespace

net::Response DescribeCaches(Services& services, const net::Request&) {
  return ForEachModel(services, [](const serving::ServedModel& model, const auto& stats, json::object& out) {
    out["kv_dtype"] = model.info.kv_dtype;
    out["kv_tokens"] = model.info.kv_tokens;
    out["blocks_used"] = stats.kv_blocks_used;
    out["blocks_free"] = stats.kv_blocks_free;
    out["blocks_cached"] = stats.kv_blocks_cached;
    out["preemptions"] = stats.preemptions;
  });
}

net::Response DescribePools(Services& services, const net::Request&) {
  return ForEachModel(services, [](const serving::ServedModel& model, const auto& stats, json::object& out) {
    out["provider"] = model.exposure.provider;
    out["running"] = stats.running;
    out["queued"] = stats.queued;
    out["drafted_tokens"] = stats.drafted_tokens;
    out["accepted_tokens"] = stats.accepted_tokens;
    out["graphs"] = {{"captured", stats.graphs}, {"replays", stats.graph_replays}, {"refusals", stats.graph_refusals}};
    out["retry_after_seconds"] = stats.retry_after_seconds;
  });
}

net::Response DescribeMemory(Services& services, const net::Request&) {
  const HostMemory host = ReadHostMemory();
  const serving::PoolUse use = services.pool.use();
  json::array holders;
  for (const auto& holder : use.holders) holders.push_back({{"id", holder.id}, {"bytes", holder.bytes}});
  const json::object out{{"object", "memory"},
                         {"host", {{"total_bytes", host.total}, {"free_bytes", host.free}}},
                         {"budget_bytes", use.budget},
                         {"used_bytes", use.used},
                         {"holders", std::move(holders)}};
  return net::Response(200, "application/json", json::serialize(out));
}

}  // namespace inferflux::server
