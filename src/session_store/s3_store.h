// Blobs as objects of a bucket, by the S3 API with path-style addresses. Expired objects are the bucket's business:
// give it a lifecycle rule.
#pragma once

#include <chrono>
#include <string>

#include "net/client.h"
#include "scheduler/sessions/session_store.h"
#include "session_store/s3_signature.h"

namespace inferflux::session_store {

struct S3Settings {
  net::ServerAddress endpoint;
  std::string bucket;
  std::string prefix;  // of the objects' names; "" or "folder/"
  std::string region;
  S3Credentials credentials;
};

class S3Store final : public scheduler::SessionStore {
 public:
  explicit S3Store(S3Settings settings);

  Status Put(const std::string& name, std::string blob, scheduler::WallTime expires) override;
  Result<std::string> Get(const std::string& name, size_t most) override;
  Status Remove(const std::string& name) override;

 private:
  net::ClientRequest Request(std::string method, const std::string& name, std::string body) const;

  const S3Settings settings_;
  net::Client client_;
};

}  // namespace inferflux::session_store
