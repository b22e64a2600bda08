// A conversation with a server as text: requests that begin with '>', and their whole answers behind '<'. What differs
// from run to run has a name instead: ids are numbered in the order in which they appear, and times are TIME. Lines
// that begin with '=' are what the model was asked meanwhile. "{x*300}" in a
// request is sent as that many letters, and a long run of the letter x is written so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "net/client.h"

namespace inferflux::testing {

class Transcript {
 public:
  Transcript(uint16_t port, std::function<std::string()> heard) : port_(port), heard_(std::move(heard)) {}

  // The transcript of the requests in `script`, each with its answer; lines that begin with '#' stay.
  std::string Play(const std::string& script) {
    std::string out;
    std::istringstream lines(script);
    net::ClientRequest request;
    bool open = false;
    const auto send = [&] {
      if (!std::exchange(open, false)) return;
      out += Answer(request);
      out += Shortened(heard_());
    };
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("> ")) {
        if (!open) {
          const size_t space = line.find(' ', 2);
          request = {
              .method = line.substr(2, space - 2), .target = Sent(line.substr(space + 1)), .headers = {}, .body = {}};
          open = true;
        } else {
          request.body += (request.body.empty() ? "" : "\n") + Sent(line.substr(2));
        }
        out += line + "\n";
      } else if (line.empty() || line.starts_with('#')) {
        send();
        out += line + "\n";
      }
    }
    send();
    return out;
  }

 private:
  std::string Answer(const net::ClientRequest& request) {
    const auto answer = net::Client(net::ServerAddress{"127.0.0.1", port_, ""}).Send(request);
    if (!answer) return "< " + answer.error().message + "\n";
    std::string out =
        "< " + std::to_string(answer->status) + " " + std::string(net::FindHeader(answer->headers, "Content-Type"));
    for (const char* name : {"Retry-After", "Location", "Allow", "x-inferflux-max-tokens"}) {
      const std::string_view value = net::FindHeader(answer->headers, name);
      if (!value.empty()) out += std::string(" ") + name + ": " + std::string(value);
    }
    out += "\n";
    std::istringstream lines(Shortened(Named(answer->body)));
    for (std::string line; std::getline(lines, line);) out += line.empty() ? "<\n" : "< " + line + "\n";
    return out;
  }

  static std::string Shortened(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t run = std::min(text.find_first_not_of('x', at), text.size()) - at;
      if (run < 40) {
        out.append(text, at, std::max<size_t>(run, 1));
        at += std::max<size_t>(run, 1);
      } else {
        out += "{x*" + std::to_string(run) + "}";
        at += run;
      }
    }
    return out;
  }

  // Ids and times by their names.
  std::string Named(const std::string& text) {
    static const std::regex kIds(
        "\\b(chatcmpl|cmpl|resp|msg|rs|fco|fc|ctco|ctc|call|toolu|conv|file|batch|req|ntok|rerank|embd|score|classify|"
        "infill)([_"
        "-])([0-9a-f]{12,})\\b");
    std::string out;
    auto at = text.begin();
    for (std::sregex_iterator match(text.begin(), text.end(), kIds), end; match != end; ++match) {
      out.append(at, text.begin() + match->position());
      const std::string id = match->str();
      auto [found, fresh] = names_.try_emplace(id);
      if (fresh) {
        found->second = match->str(1) + match->str(2) + "N" + std::to_string(++counts_[match->str(1)]);
        ids_.emplace_back(found->second, id);
      }
      out += found->second;
      at = text.begin() + match->position() + match->length();
    }
    out.append(at, text.end());
    static const std::regex kTimes(
        "(\"(created|created_at|completed_at|in_progress_at|finalizing_at|expires_at|expires|cancelling_at|cancelled_"
        "at|failed_at|started|loaded_at)\":)[0-9]{9,}");
    static const std::regex kDates("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z");
    static const std::regex kDurations(
        "(\"[a-z_]*(duration|seconds|_ms|uptime|memory|free|total_bytes|budget_bytes)\":)[0-9][0-9.eE+-]*");
    out = std::regex_replace(out, kTimes, "$1TIME");
    out = std::regex_replace(out, kDates, "DATE");
    return std::regex_replace(out, kDurations, "$1N");
  }

  std::string Sent(std::string text) const {
    for (auto id = ids_.rbegin(); id != ids_.rend(); ++id) {
      for (size_t at = 0; (at = text.find("{" + id->first + "}")) != std::string::npos;)
        text.replace(at, id->first.size() + 2, id->second);
    }
    static const std::regex kRepeated("\\{([^{}*]{1,8})\\*([0-9]+)\\}");
    for (std::smatch match; std::regex_search(text, match, kRepeated);) {
      std::string many;
      for (int left = std::stoi(match.str(2)); left > 0; --left) many += match.str(1);
      text = match.prefix().str() + many + match.suffix().str();
    }
    return text;
  }

  const uint16_t port_;
  const std::function<std::string()> heard_;
  std::map<std::string, std::string> names_;
  std::map<std::string, int> counts_;
  std::vector<std::pair<std::string, std::string>> ids_;  // names and what they stand for
};

}  // namespace inferflux::testing
