// A batch as its clients see it: the JSON object of OpenAI's API.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/batches/batch_input.h"
#include "server/store/batch_store.h"

namespace inferflux::server {

// Sets the status, and its time: "in_progress" sets in_progress_at.
void SetBatchStatus(boost::json::object& body, std::string_view status);
std::string_view BatchStatus(const boost::json::object& body);

void SetBatchErrors(boost::json::object& body, const std::vector<BatchInputError>& errors);
void SetBatchCounts(boost::json::object& body, const BatchCounts& counts);

// A line of an output file: what a handler answered.
std::string BatchResultLine(const std::string& custom_id, int status, const std::string& request_id,
                            const std::string& reply);
// A line of an error file: why the request was not run.
std::string BatchErrorLine(const std::string& custom_id, std::string_view code, std::string_view message);

}  // namespace inferflux::server
