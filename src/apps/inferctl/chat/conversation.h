// A conversation with a model of the server: its messages, and the settings with which it is asked.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "apps/inferctl/client/api_client.h"
#include "base/function_ref.h"
#include "base/result.h"

namespace inferflux::apps {

struct AnswerReport {
  int64_t tokens = 0;    // as the server counts them; of a stopped answer, its pieces
  double first = 0;      // seconds to the first piece
  double seconds = 0;    // from the first piece to the last
  bool stopped = false;  // by Ctrl-C
};

// "(42 tokens, 18.3 tokens/s, first after 0.12 s)"
std::string Describe(const AnswerReport& report);

class Conversation {
 public:
  // `fields`: of every request, such as temperature and model.
  Conversation(ApiClient& client, boost::json::object fields, std::string system);

  // Forgets the messages, but not the system message.
  void Reset();
  void SetSystem(std::string system);
  const std::string& system() const { return system_; }
  // Fields of the requests, by their names in the API.
  boost::json::object& fields() { return fields_; }
  std::string model() const;  // empty: the server's default
  size_t size() const { return messages_.size(); }

  // Sends the conversation with `text` behind it, and passes the answer on as it arrives. A question that failed is not
  // kept. One that Ctrl-C stopped is (kCancelled), with what came of its answer.
  Status Ask(const std::string& text, FunctionRef<void(std::string_view)> on_piece, AnswerReport& report);
  // The same at once: the server's whole answer.
  Result<boost::json::value> AskWhole(const std::string& text);

  // A file with the messages, the system message and the fields, as JSON.
  Status Save(const std::string& path) const;
  Status Load(const std::string& path);

 private:
  boost::json::object Body(const std::string& text) const;
  void Keep(const std::string& question, const std::string& answer);

  ApiClient& client_;
  boost::json::object fields_;
  std::string system_;
  boost::json::array messages_;  // without the system message
};

}  // namespace inferflux::apps
