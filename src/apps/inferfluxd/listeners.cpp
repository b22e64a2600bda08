#include "apps/inferfluxd/listeners.h"

#include <string>
#include <utility>

namespace inferflux::apps {
namespace {

// Without keys the server is for this machine only. The address that the host resolves to decides: "0" and "0.0.0.0"
// are the same address.
void RefuseOtherMachines(net::ServerOptions& net, const std::string& setting) {
  net.check_address = [setting, host = net.host](const std::string& address, bool loopback) -> Status {
    if (loopback) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "{} {} is the address {}, which lets other machines in, and there are no API keys: set "
                "server.api_keys_file (or INFERFLUX_API_KEYS_FILE) or give --api-key, or listen on 127.0.0.1",
                setting, host, address);
  };
}

}  // namespace

Result<std::shared_ptr<net::TlsContext>> LoadTls(const config::Settings& settings) {
  net::TlsFiles files{.certificate = settings.Text("server.tls_cert"),
                      .key = settings.Text("server.tls_key"),
                      .client_ca = settings.Text("server.tls_client_ca")};
  if (files.certificate.empty() && files.key.empty() && files.client_ca.empty()) return nullptr;
  if (files.certificate.empty() || files.key.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "TLS needs both server.tls_cert and server.tls_key; {} is not set",
                files.certificate.empty() ? "server.tls_cert" : "server.tls_key");
  }
  return net::TlsContext::Load(std::move(files));
}

net::ServerOptions NetOptions(const config::Settings& settings, std::shared_ptr<net::TlsContext> tls,
                              bool keys_required) {
  net::ServerOptions out;
  out.tls = std::move(tls);
  out.unix_socket = settings.Text("server.unix_socket");
  out.host = settings.Text("server.host");
  out.port = static_cast<uint16_t>(settings.Integer("server.port"));
  out.io_threads = static_cast<int>(settings.Integer("server.io_threads"));
  out.max_body_bytes = static_cast<size_t>(settings.Bytes("server.max_body_bytes"));
  out.max_connections = static_cast<size_t>(settings.Integer("server.max_connections"));
  out.max_peer_connections = static_cast<size_t>(settings.Integer("limits.connections"));
  if (!keys_required) RefuseOtherMachines(out, "server.host");
  return out;
}

std::optional<net::ServerOptions> AdminNetOptions(const config::Settings& settings, const net::ServerOptions& own) {
  const int64_t port = settings.Integer("server.admin_port");
  if (port < 0) return std::nullopt;
  net::ServerOptions out = own;
  out.unix_socket.clear();
  out.host = settings.Text("server.admin_host");
  out.port = static_cast<uint16_t>(port);
  out.io_threads = 1;
  if (out.check_address) RefuseOtherMachines(out, "server.admin_host");
  return out;
}

}  // namespace inferflux::apps
