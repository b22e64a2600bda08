#include "server/reply/job.h"

#include "server/request/request_deadline.h"

namespace inferflux::server {

void BindToCaller(const Caller& caller, std::vector<scheduler::GenerationRequest>& requests) {
  for (scheduler::GenerationRequest& each : requests) {
    if (caller.trace) each.trace_parent = caller.trace->trace_parent();
    each.deadline = Earlier(each.deadline, caller.deadline);
  }
}

void BindToCaller(const Caller& caller, Job& job) {
  job.trace = caller.trace;
  BindToCaller(caller, job.requests);
}

}  // namespace inferflux::server
