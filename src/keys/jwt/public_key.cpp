#include "keys/jwt/public_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <utility>

#include "keys/jwt/base64url.h"
#include "keys/jwt/jose_object.h"

namespace inferflux::keys {
namespace json = boost::json;
namespace {

constexpr std::string_view kWhat = "the key";
constexpr int kMinModulusBits = 2048;
constexpr int kMaxModulusBits = 8192;    // longer ones make a check slow
constexpr int kMaxExponentBits = 64;     // as OpenSSL
constexpr size_t kCoordinateBytes = 32;  // of P-256 and of Ed25519
constexpr size_t kMaxIdBytes = 256;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* held) const {
    Free(held);
  }
};
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;

// OpenSSL's queue of errors belongs to the thread, and TLS reads it: nothing of ours may stay in it.
class CleanErrors {
 public:
  CleanErrors() = default;
  ~CleanErrors() { ERR_clear_error(); }
  CleanErrors(const CleanErrors&) = delete;
  CleanErrors& operator=(const CleanErrors&) = delete;
};

const unsigned char* Octets(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

Number NumberOf(std::string_view bytes) {
  return Number(BN_bin2bn(Octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

Result<std::string> Bytes(const json::object& jwk, std::string_view name) {
  auto text = FindString(jwk, name, kWhat);
  if (!text) return Forward(text);
  if (!*text) return Fail(ErrorCode::kInvalidArgument, "the key has no '{}'", name);
  auto out = DecodeBase64Url(**text);
  if (!out || out->empty()) return Fail(ErrorCode::kInvalidArgument, "'{}' of the key is not base64url", name);
  return std::move(*out);
}

Result<std::string> Coordinate(const json::object& jwk, std::string_view name) {
  auto out = Bytes(jwk, name);
  if (out && out->size() != kCoordinateBytes) {
    return Fail(ErrorCode::kInvalidArgument, "'{}' of the key has {} bytes; it needs {}", name, out->size(),
                kCoordinateBytes);
  }
  return out;
}

using EvpKey = std::shared_ptr<EVP_PKEY>;

EvpKey KeyFrom(const char* type, OSSL_PARAM_BLD* values) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(values));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  EvpKey out(key, EVP_PKEY_free);
  const KeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  return check && EVP_PKEY_public_check(check.get()) == 1 ? out : nullptr;
}

Result<EvpKey> RsaKey(const json::object& jwk) {
  auto modulus = Bytes(jwk, "n");
  if (!modulus) return Forward(modulus);
  auto exponent = Bytes(jwk, "e");
  if (!exponent) return Forward(exponent);
  if (modulus->size() > kMaxModulusBits / 8 + 1 || exponent->size() > kMaxExponentBits / 8) {
    return Fail(ErrorCode::kInvalidArgument, "the key is too long: at most {} bits of 'n' and {} of 'e'",
                kMaxModulusBits, kMaxExponentBits);
  }
  const Number n = NumberOf(*modulus);
  const Number e = NumberOf(*exponent);
  const Builder values(OSSL_PARAM_BLD_new());
  if (!n || !e || !values) return Fail(ErrorCode::kResourceExhausted, "out of memory");
  const int bits = BN_num_bits(n.get());
  if (bits < kMinModulusBits || bits > kMaxModulusBits) {
    return Fail(ErrorCode::kInvalidArgument, "'n' of the key has {} bits; {} to {} are accepted", bits, kMinModulusBits,
                kMaxModulusBits);
  }
  if (BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) == 1) {
    return Fail(ErrorCode::kInvalidArgument, "'e' of the key is not an odd number above 1");
  }
  OSSL_PARAM_BLD_push_BN(values.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(values.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  EvpKey out = KeyFrom("RSA", values.get());
  if (!out) return Fail(ErrorCode::kInvalidArgument, "the key is not a valid RSA key");
  return out;
}

Result<EvpKey> EllipticKey(const json::object& jwk) {
  auto x = Coordinate(jwk, "x");
  if (!x) return Forward(x);
  auto y = Coordinate(jwk, "y");
  if (!y) return Forward(y);
  const std::string point = '\x04' + *x + *y;  // uncompressed
  const Builder values(OSSL_PARAM_BLD_new());
  if (!values) return Fail(ErrorCode::kResourceExhausted, "out of memory");
  OSSL_PARAM_BLD_push_utf8_string(values.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(values.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  EvpKey out = KeyFrom("EC", values.get());
  if (!out) return Fail(ErrorCode::kInvalidArgument, "'x' and 'y' of the key are not a point of P-256");
  return out;
}

Result<EvpKey> EdwardsKey(const json::object& jwk) {
  auto x = Coordinate(jwk, "x");
  if (!x) return Forward(x);
  EvpKey out(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Octets(*x), x->size()), EVP_PKEY_free);
  if (!out) return Fail(ErrorCode::kInvalidArgument, "'x' of the key is not an Ed25519 key");
  return out;
}

struct KeyRow {
  Algorithm algorithm;
  std::string_view name;
  std::string_view type;   // "kty"
  std::string_view curve;  // "crv"; empty: the type has none
  Result<EvpKey> (*parse)(const json::object&);
};

constexpr KeyRow kRows[] = {{Algorithm::kRs256, "RS256", "RSA", "", RsaKey},
                            {Algorithm::kEs256, "ES256", "EC", "P-256", EllipticKey},
                            {Algorithm::kEdDsa, "EdDSA", "OKP", "Ed25519", EdwardsKey}};

// What the key is for, by its "use" and "key_ops".
Status CheckUse(const json::object& jwk) {
  auto use = FindString(jwk, "use", kWhat);
  if (!use) return Forward(use);
  if (*use && **use != "sig") return Fail(ErrorCode::kUnsupported, "its use is not 'sig'");
  const json::value* operations = jwk.if_contains("key_ops");
  if (operations == nullptr) return {};
  if (!operations->is_array()) return Fail(ErrorCode::kInvalidArgument, "'key_ops' of the key is not a list");
  const bool verifies = std::ranges::any_of(operations->get_array(), [](const json::value& each) {
    return each.is_string() && each.get_string() == "verify";
  });
  if (!verifies) return Fail(ErrorCode::kUnsupported, "its key_ops do not have 'verify'");
  return {};
}

Status CheckPublic(const json::object& jwk, std::string_view type) {
  if (type == "oct")
    return Fail(ErrorCode::kInvalidArgument, "the key is a shared secret; only public keys are accepted");
  for (const char* name : {"d", "p", "q", "k"}) {
    if (jwk.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument, "the key has '{}', a part of a private key; leave the public parts only",
                  name);
    }
  }
  return {};
}

Result<const KeyRow*> FindRow(const json::object& jwk) {
  auto type = FindString(jwk, "kty", kWhat);
  if (!type) return Forward(type);
  if (!*type) return Fail(ErrorCode::kInvalidArgument, "the key has no 'kty'");
  if (Status open = CheckPublic(jwk, **type); !open) return Forward(open);
  auto curve = FindString(jwk, "crv", kWhat);
  if (!curve) return Forward(curve);
  const auto* row = std::ranges::find_if(kRows, [&](const KeyRow& each) {
    return each.type == **type && (each.curve.empty() || each.curve == curve->value_or(""));
  });
  if (row == std::end(kRows))
    return Fail(ErrorCode::kUnsupported, "its kty or crv is not one of RSA, P-256 and Ed25519");
  auto algorithm = FindString(jwk, "alg", kWhat);
  if (!algorithm) return Forward(algorithm);
  if (*algorithm && **algorithm != row->name) return Fail(ErrorCode::kUnsupported, "its alg is not {}", row->name);
  return row;
}

// An ECDSA signature in DER, as OpenSSL wants it, from r and s. Empty if it is not one.
std::string DerOf(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return {};
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> both(ECDSA_SIG_new());
  Number r = NumberOf(signature.substr(0, kCoordinateBytes));
  Number s = NumberOf(signature.substr(kCoordinateBytes));
  if (!both || !r || !s || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());  // `both` owns them now
  static_cast<void>(s.release());
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(both.get(), &bytes);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  CRYPTO_free(bytes, "", 0);  // OPENSSL_free, which would put this file's path into the program
  return out;
}

}  // namespace

std::optional<Algorithm> ParseAlgorithm(std::string_view name) {
  const auto* row = std::ranges::find(kRows, name, &KeyRow::name);
  return row == std::end(kRows) ? std::nullopt : std::optional(row->algorithm);
}

Result<PublicKey> PublicKey::Parse(const json::object& jwk) {
  const CleanErrors clean;
  auto id = FindString(jwk, "kid", kWhat);
  if (!id) return Forward(id);
  if (*id && (*id)->size() > kMaxIdBytes) {
    return Fail(ErrorCode::kInvalidArgument, "'kid' of the key is longer than {} bytes", kMaxIdBytes);
  }
  auto row = FindRow(jwk);
  if (!row) return Forward(row);
  if (Status used = CheckUse(jwk); !used) return Forward(used);
  auto key = (*row)->parse(jwk);
  if (!key) return Forward(key);
  return PublicKey((*row)->algorithm, std::string(id->value_or("")), std::move(*key));
}

bool PublicKey::Verifies(std::string_view text, std::string_view signature) const {
  const CleanErrors clean;
  std::string der;
  if (algorithm_ == Algorithm::kEs256) {
    der = DerOf(signature);
    if (der.empty()) return false;
    signature = der;
  }
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  const EVP_MD* digest = algorithm_ == Algorithm::kEdDsa ? nullptr : EVP_sha256();  // Ed25519 has its own
  return context && EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), Octets(signature), signature.size(), Octets(text), text.size()) == 1;
}

}  // namespace inferflux::keys
