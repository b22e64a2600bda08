// A server's certificate and key, which may be replaced while it runs: certificates expire.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace inferflux::net {

struct TlsFiles {
  std::string certificate;  // PEM: the server's certificate, then those between it and the root
  std::string key;          // PEM
  std::string client_ca;  // PEM: clients must show a certificate that one of these has signed; empty: none is asked for
};

class TlsContext {
 public:
  // TLS 1.2 and 1.3. The error names the file and OpenSSL's reason.
  static Result<std::shared_ptr<TlsContext>> Load(TlsFiles files);

  // Reads the files again, without using them yet.
  using Files = std::shared_ptr<boost::asio::ssl::context>;
  Result<Files> Read() const;
  // For the connections from now on. Any thread.
  void Use(Files files);

  // Any thread.
  std::shared_ptr<boost::asio::ssl::context> current() const;

 private:
  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace inferflux::net
