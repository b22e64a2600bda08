// The client's TLS: whom it trusts, with certificates that the test makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "net/client.h"
#include "net/raw_client.h"
#include "net/test_server.h"
#include "net/transport/tls_context.h"

namespace inferflux::testing {
namespace {

namespace fs = std::filesystem;

template <class T, auto Free>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<T, Free>>;

class ClientTlsTest : public ::testing::Test {
 protected:
  ClientTlsTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ClientTlsTest() override {
    ::unsetenv("SSL_CERT_FILE");
    fs::remove_all(folder_);
  }

  // A certificate for this name ("IP:..." or "DNS:...") that its own key has signed, and that key.
  net::TlsFiles Certificate(const char* of) {
    const net::TlsFiles out{.certificate = folder_ / (std::string(of) + ".pem"),
                            .key = folder_ / (std::string(of) + ".key"),
                            .client_ca = ""};
    const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
    const Owned<X509, X509_free> certificate(X509_new());
    X509_set_version(certificate.get(), 2);  // that is, 3
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* name = X509_get_subject_name(certificate.get());
    const auto* text = reinterpret_cast<const unsigned char*>(of);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    const Owned<X509_EXTENSION, X509_EXTENSION_free> names(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, of));
    X509_add_ext(certificate.get(), names.get(), -1);
    EXPECT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
    std::FILE* file = std::fopen(out.certificate.c_str(), "w");
    EXPECT_EQ(PEM_write_X509(file, certificate.get()), 1);
    std::fclose(file);
    file = std::fopen(out.key.c_str(), "w");
    EXPECT_EQ(PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
    return out;
  }

  // What a client gets that trusts the certificate in `trusted`, from a server at 127.0.0.1 that shows `shown`.
  Result<net::ClientResponse> Ask(const net::TlsFiles& shown, const std::string& trusted) {
    ::setenv("SSL_CERT_FILE", trusted.c_str(), 1);
    auto tls = net::TlsContext::Load(shown);
    if (!tls) return Forward(tls);
    net::ServerOptions options;
    options.tls = *tls;
    const auto server = net::Server::Start(options, TestRouter(faucet_));
    if (!server) return Forward(server);
    net::ServerAddress to{"127.0.0.1", (*server)->port(), ""};
    to.tls = true;
    return net::Client(to).Send({.target = "/hello"});
  }

  Faucet faucet_;
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ClientTlsTest, ATrustedCertificateOfThatHostIsTaken) {
  const net::TlsFiles own = Certificate("IP:127.0.0.1");
  const auto answer = Ask(own, own.certificate);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(ClientTlsTest, ATrustedCertificateOfAnotherHostIsRefused) {
  for (const char* other : {"IP:127.0.0.2", "DNS:other.example"}) {
    const net::TlsFiles files = Certificate(other);
    EXPECT_FALSE(Ask(files, files.certificate)) << other;
  }
}

TEST_F(ClientTlsTest, ACertificateThatNobodyTrustsIsRefused) {
  const net::TlsFiles own = Certificate("IP:127.0.0.1");
  EXPECT_FALSE(Ask(own, Certificate("DNS:other.example").certificate));
}

TEST_F(ClientTlsTest, TheServerIsToldWhichNameIsMeant) {
  static std::atomic<int> told;  // 1: localhost, 0: nothing, -1: something else
  const net::TlsFiles named = Certificate("DNS:localhost"), numbered = Certificate("IP:127.0.0.1");
  for (const auto& [host, files, right] : {std::tuple{"localhost", &named, 1}, {"127.0.0.1", &numbered, 0}}) {
    ::setenv("SSL_CERT_FILE", files->certificate.c_str(), 1);
    net::ServerOptions options;
    options.tls = *net::TlsContext::Load(*files);
    SSL_CTX_set_tlsext_servername_callback(
        options.tls->current()->native_handle(), +[](SSL* session, int*, void*) {
          const char* name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
          told = name == nullptr ? 0 : std::string_view(name) == "localhost" ? 1 : -1;
          return SSL_TLSEXT_ERR_OK;
        });
    told = -2;
    const auto server = StartTestServer(faucet_, options);
    net::ServerAddress to{host, server->port(), ""};
    to.tls = true;
    const auto answer = net::Client(to).Send({.target = "/hello"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "hello");
    EXPECT_EQ(told, right) << host;
  }
}

TEST_F(ClientTlsTest, FilesThatDoNotServeAreNamedWithTheirSetting) {
  const net::TlsFiles own = Certificate("IP:127.0.0.1"), other = Certificate("DNS:other.example");
  const std::string none = (folder_ / "none").string();
  const std::vector<std::pair<net::TlsFiles, std::string>> cases = {
      {{none, own.key, ""}, "server.tls_cert " + none + ": "},
      {{own.certificate, none, ""}, "server.tls_key " + none + ": "},
      {{own.certificate, other.key, ""}, "server.tls_key " + other.key},
      {{own.certificate, own.key, none}, "server.tls_client_ca " + none + ": "},
  };
  for (const auto& [files, right] : cases) {
    const auto loaded = net::TlsContext::Load(files);
    ASSERT_FALSE(loaded) << right;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(loaded.error().message, ::testing::StartsWith(right));
  }
}

TEST_F(ClientTlsTest, AClientWithoutTheCertificateThatIsAskedForIsRefused) {
  net::TlsFiles own = Certificate("IP:127.0.0.1");
  own.client_ca = own.certificate;
  EXPECT_FALSE(Ask(own, own.certificate));
}

TEST_F(ClientTlsTest, AClientThatSpeaksNoTlsOrNothingIsCutOff) {
  auto tls = net::TlsContext::Load(Certificate("IP:127.0.0.1"));
  ASSERT_TRUE(tls);
  net::ServerOptions options;
  options.tls = *tls;
  options.header_timeout = std::chrono::milliseconds(150);
  const auto server = StartTestServer(faucet_, options);
  RawClient plain(server->port()), silent(server->port());
  plain.Send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.ReadToEnd().find("hello"), std::string::npos);
  EXPECT_TRUE(plain.closed());
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

}  // namespace
}  // namespace inferflux::testing
