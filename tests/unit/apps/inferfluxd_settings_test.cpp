// What the server makes of its settings before it serves, and what it says once it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/inferfluxd/banner.h"
#include "apps/inferfluxd/listeners.h"
#include "apps/inferfluxd/reload.h"
#include "apps/inferfluxd/token_settings.h"
#include "config/resolve.h"

namespace inferflux::apps {
namespace {

using ::testing::ElementsAre;

config::Settings SettingsOf(const config::Environment& environment) {
  auto settings = config::Resolve({}, environment);
  EXPECT_TRUE(settings) << settings.error().message;
  return std::move(*settings);
}

BannerModel Model(std::string id, bool is_default = false) {
  return {.id = std::move(id),
          .backend = "cpu",
          .provider = "native",
          .weights = "Q4_K",
          .context = 4096,
          .is_default = is_default};
}

TEST(BannerTest, APersonReadsWhereAndWhat) {
  EXPECT_EQ(
      BannerText({.url = "http://h:1", .page = true, .needs_key = true, .models = {Model("a", true)}, .loadable = 1}),
      "InferFlux is ready.\n"
      "  API      http://h:1/v1 (OpenAI's and Anthropic's clients), http://h:1 (Ollama's)\n"
      "  page     http://h:1/\n"
      "  model    a on cpu (native), Q4_K, context 4096\n"
      "  more     1 model, which is loaded when first used\n"
      "  key      each request needs one: Authorization: Bearer KEY\n"
      "  stop     Ctrl-C\n");
  EXPECT_EQ(BannerText({.url = "http://h:1", .models = {Model("a", true), Model("b")}, .loadable = 2}),
            "InferFlux is ready.\n"
            "  API      http://h:1/v1 (OpenAI's and Anthropic's clients), http://h:1 (Ollama's)\n"
            "  model    a on cpu (native), Q4_K, context 4096, the default\n"
            "  model    b on cpu (native), Q4_K, context 4096\n"
            "  more     2 models, which are loaded when first used\n"
            "  key      none is needed\n"
            "  stop     Ctrl-C\n");
  Banner many{.url = "u"};
  for (int i = 0; i < 8; ++i) many.models.push_back(Model("m" + std::to_string(i)));
  EXPECT_EQ(BannerText(many).find("more"), std::string::npos) << "eight are shown";
  many.models.push_back(Model("m8"));
  EXPECT_NE(BannerText(many).find("  model    m7 on"), std::string::npos);
  EXPECT_NE(BannerText(many).find("           and 1 more; inferctl list shows all\n"), std::string::npos);
}

TEST(BannerTest, ALogHasTheSameFacts) {
  const auto fields = [](const Banner& banner) {
    std::vector<std::string> out;
    for (const log::Field& field : BannerFields(banner))
      out.push_back(field.name + "=" + field.value + (field.number ? "#" : ""));
    return out;
  };
  EXPECT_THAT(
      fields({.url = "u", .page = true, .needs_key = true, .models = {Model("a", true), Model("b")}, .loadable = 3}),
      ElementsAre("url=u", "page=u/", "model=a", "backend=cpu", "provider=native", "context=4096#", "models=2#",
                  "loadable=3#", "needs_key=true#"));
  EXPECT_THAT(fields({.url = "u"}), ElementsAre("url=u", "models=0#", "needs_key=false#"));
}

TEST(ListenersTest, EachSettingReachesTheListener) {
  const auto options = NetOptions(SettingsOf({{"INFERFLUX_SERVER_UNIX_SOCKET", "/tmp/s"},
                                              {"INFERFLUX_SERVER_HOST", "0.0.0.0"},
                                              {"INFERFLUX_SERVER_PORT", "81"},
                                              {"INFERFLUX_SERVER_IO_THREADS", "3"},
                                              {"INFERFLUX_SERVER_MAX_BODY_BYTES", "2KiB"},
                                              {"INFERFLUX_SERVER_MAX_CONNECTIONS", "4"},
                                              {"INFERFLUX_LIMITS_CONNECTIONS", "5"}}),
                                  nullptr, true);
  EXPECT_EQ(options.unix_socket, "/tmp/s");
  EXPECT_EQ(options.host, "0.0.0.0");
  EXPECT_EQ(options.port, 81);
  EXPECT_EQ(options.io_threads, 3);
  EXPECT_EQ(options.max_body_bytes, 2048u);
  EXPECT_EQ(options.max_connections, 4u);
  EXPECT_EQ(options.max_peer_connections, 5u);
  EXPECT_FALSE(options.check_address) << "with keys any address will do";
}

TEST(ListenersTest, WithoutKeysOtherMachinesAreKeptOut) {
  const config::Settings settings = SettingsOf(
      {{"INFERFLUX_SERVER_HOST", "0"}, {"INFERFLUX_SERVER_ADMIN_PORT", "0"}, {"INFERFLUX_SERVER_ADMIN_HOST", "::"}});
  const auto options = NetOptions(settings, nullptr, false);
  ASSERT_TRUE(options.check_address);
  EXPECT_TRUE(options.check_address("127.0.0.1", true));
  const std::string rest =
      ", which lets other machines in, and there are no API keys: set server.api_keys_file (or "
      "INFERFLUX_API_KEYS_FILE) or give --api-key, or listen on 127.0.0.1";
  EXPECT_EQ(options.check_address("0.0.0.0", false).error().message, "server.host 0 is the address 0.0.0.0" + rest);
  const auto admin = AdminNetOptions(settings, options);
  ASSERT_TRUE(admin);
  EXPECT_EQ(admin->check_address("::", false).error().message, "server.admin_host :: is the address ::" + rest);
}

TEST(ListenersTest, AdministrationHasAListenerOfItsOwnOrNone) {
  net::ServerOptions own;
  own.unix_socket = "/tmp/s";
  own.io_threads = 8;
  own.max_connections = 7;
  EXPECT_FALSE(AdminNetOptions(SettingsOf({}), own));
  const auto admin =
      AdminNetOptions(SettingsOf({{"INFERFLUX_SERVER_ADMIN_PORT", "82"}, {"INFERFLUX_SERVER_ADMIN_HOST", "h"}}), own);
  ASSERT_TRUE(admin);
  EXPECT_EQ(admin->unix_socket, "");
  EXPECT_EQ(admin->host, "h");
  EXPECT_EQ(admin->port, 82);
  EXPECT_EQ(admin->io_threads, 1);
  EXPECT_EQ(admin->max_connections, 7u);
  EXPECT_FALSE(admin->check_address);
  EXPECT_EQ(AdminNetOptions(SettingsOf({{"INFERFLUX_SERVER_ADMIN_PORT", "0"}}), own)->port, 0);
}

std::string TlsError(const config::Environment& environment) {
  const auto tls = LoadTls(SettingsOf(environment));
  return tls ? (*tls ? "TLS" : "plain") : tls.error().message;
}

TEST(ListenersTest, HalfOfWhatTlsNeedsIsRefused) {
  EXPECT_EQ(TlsError({}), "plain");
  const std::string needs = "TLS needs both server.tls_cert and server.tls_key; ";
  EXPECT_EQ(TlsError({{"INFERFLUX_SERVER_TLS_CERT", "c"}}), needs + "server.tls_key is not set");
  EXPECT_EQ(TlsError({{"INFERFLUX_SERVER_TLS_KEY", "k"}}), needs + "server.tls_cert is not set");
  EXPECT_EQ(TlsError({{"INFERFLUX_SERVER_TLS_CLIENT_CA", "a"}}), needs + "server.tls_cert is not set");
  EXPECT_NE(TlsError({{"INFERFLUX_SERVER_TLS_CERT", "/no/c"}, {"INFERFLUX_SERVER_TLS_KEY", "/no/k"}}).find("/no/"),
            std::string::npos);
}

TEST(TokenSettingsTest, HalfOfWhatTokensNeedIsRefused) {
  const auto said = [](const config::Environment& environment) {
    const auto verifier = ReadTokenVerifier(SettingsOf(environment));
    return verifier ? std::string(*verifier ? "tokens" : "none") : verifier.error().message;
  };
  const std::pair<const std::string, std::string> file{"INFERFLUX_SERVER_JWT_JWKS_FILE", "/no/keys"},
      issuer{"INFERFLUX_SERVER_JWT_ISSUER", "i"}, audience{"INFERFLUX_SERVER_JWT_AUDIENCE", "a,b"};
  EXPECT_EQ(said({}), "none");
  const std::string without =
      "server.jwt.issuer or server.jwt.audience is set without server.jwt.jwks_file, the file of the issuer's public "
      "keys";
  EXPECT_EQ(said({issuer}), without);
  EXPECT_EQ(said({audience}), without);
  const std::string needs =
      "server.jwt.jwks_file needs server.jwt.issuer and server.jwt.audience too: without them a token for another "
      "service would open this one";
  EXPECT_EQ(said({file}), needs);
  EXPECT_EQ(said({file, issuer}), needs);
  EXPECT_EQ(said({file, audience}), needs);
  const std::string empty = "server.jwt.scope_claim and server.jwt.account_claim must not be empty";
  EXPECT_EQ(said({file, issuer, audience, {"INFERFLUX_SERVER_JWT_SCOPE_CLAIM", ""}}), empty);
  EXPECT_EQ(said({file, issuer, audience, {"INFERFLUX_SERVER_JWT_ACCOUNT_CLAIM", ""}}), empty);
  EXPECT_THAT(said({file, issuer, audience}), ::testing::StartsWith("server.jwt.jwks_file: "));
}

TEST(ReloadTest, RoutingIsThatOfTheSettings) {
  const std::string prefix = "INFERFLUX_RUNTIME_CAPABILITY_ROUTING_";
  const serving::RoutingPolicy usual = RoutingPolicyOf(SettingsOf({}));
  EXPECT_TRUE(usual.allow_default_fallback && usual.require_ready_backend);
  EXPECT_EQ(usual.fallback_scope, serving::FallbackScope::kSamePathOnly);
  const serving::RoutingPolicy other = RoutingPolicyOf(
      SettingsOf({{prefix + "ALLOW_DEFAULT_FALLBACK", "false"}, {prefix + "FALLBACK_SCOPE", "any_compatible"}}));
  EXPECT_FALSE(other.allow_default_fallback);
  EXPECT_TRUE(other.require_ready_backend);
  EXPECT_EQ(other.fallback_scope, serving::FallbackScope::kAnyCompatible);
  EXPECT_FALSE(RoutingPolicyOf(SettingsOf({{prefix + "REQUIRE_READY_BACKEND", "false"}})).require_ready_backend);
}

TEST(ReloadTest, AccessIsThatOfTheSettings) {
  const auto none = AccessRulesOf(SettingsOf({}));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->keys.size(), 0u);
  EXPECT_FALSE(none->open_metrics);
  const auto one =
      AccessRulesOf(SettingsOf({{"INFERFLUX_SERVER_API_KEY", "sk-x"}, {"INFERFLUX_SERVER_OPEN_METRICS", "true"}}));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->keys.size(), 1u);
  EXPECT_TRUE(one->open_metrics);
  EXPECT_FALSE(AccessRulesOf(SettingsOf({{"INFERFLUX_API_KEYS_FILE", "/no/keys"}})));
  EXPECT_FALSE(AccessRulesOf(SettingsOf({{"INFERFLUX_SERVER_JWT_ISSUER", "i"}})));
}

}  // namespace
}  // namespace inferflux::apps
