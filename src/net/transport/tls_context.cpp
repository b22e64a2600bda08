#include "net/transport/tls_context.h"

#include <openssl/ssl.h>

#include <utility>

namespace inferflux::net {
namespace ssl = boost::asio::ssl;
namespace {

Status Failed(const char* setting, const std::string& file, const boost::system::error_code& error) {
  return Fail(ErrorCode::kInvalidArgument, "{} {}: {}", setting, file, error.message());
}

Result<std::shared_ptr<ssl::context>> ReadFiles(const TlsFiles& files) {
  auto out = std::make_shared<ssl::context>(ssl::context::tls_server);
  out->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                   ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
  boost::system::error_code error;
  out->use_certificate_chain_file(files.certificate, error);
  if (error) return Forward(Failed("server.tls_cert", files.certificate, error));
  out->use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return Forward(Failed("server.tls_key", files.key, error));
  if (::SSL_CTX_check_private_key(out->native_handle()) != 1) {
    return Fail(ErrorCode::kInvalidArgument, "server.tls_key {} is not the key of {}", files.key, files.certificate);
  }
  if (files.client_ca.empty()) return out;
  out->load_verify_file(files.client_ca, error);
  if (error) return Forward(Failed("server.tls_client_ca", files.client_ca, error));
  out->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  // Without it a client that resumes a session is refused.
  static constexpr unsigned char kSessions[] = "inferflux";
  ::SSL_CTX_set_session_id_context(out->native_handle(), kSessions, sizeof kSessions - 1);
  return out;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::Load(TlsFiles files) {
  std::shared_ptr<TlsContext> out(new TlsContext(std::move(files)));
  auto read = out->Read();
  if (!read) return Forward(read);
  out->Use(std::move(*read));
  return out;
}

Result<TlsContext::Files> TlsContext::Read() const { return ReadFiles(files_); }

void TlsContext::Use(Files files) {
  const std::lock_guard lock(mutex_);
  context_.swap(files);
}

std::shared_ptr<ssl::context> TlsContext::current() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace inferflux::net
