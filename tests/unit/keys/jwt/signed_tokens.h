// Public keys, and tokens that PyJWT 2.15 signed with their private keys.
#pragma once

#include <string_view>

namespace inferflux::keys {

// The claims of all three: {"iss": "https://id.example", "aud": "inferflux", "sub": "alice", "exp": 2000000000,
// "scope": "openid read generate"}. Their kid is the algorithm's name in small letters.
struct SignedToken {
  std::string_view algorithm;
  std::string_view key;  // as JSON
  std::string_view token;
};

inline constexpr SignedToken kSignedTokens[] = {
    {"RS256",
     R"({"kty": "RSA", "n": "prWZ6CNaL_PImX6-958a51JOxyoZHzczVxKFYNwbYOLxAFTtdG-SHTOeuVqLJ1pkH1oBtmrxFakYxlR)"
     R"(Xb4WUl1uLdQrnuwwI0Y9bm-0tGtiV03-YlH-9aZiJ8Tjqx0M7K36NB6t21Y7EBMDSKFVnu4ZLXlKu8SDQKp0cLCprrTGDu60yY2c)"
     R"(0_b65KGk97iooJP40smtyL1re_j57uSEnLIwO4uBCpDEv7RFR8ch8lgTkm34c0zMxkiPgEJ1m4HHClQrQ3bNWCQw6wm8wk-nZjFx)"
     R"(__48L3MRBxyoW97UJwlDZDDQPWK2MC-2izfMbRECRolUdJwkQXMO2E1lnaZiy8w", "e": "AQAB", "kid": "rs256", "use")"
     R"(: "sig"})",
     R"(eyJhbGciOiJSUzI1NiIsImtpZCI6InJzMjU2IiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi)"
     R"(OiJpbmZlcmZsdXgiLCJzdWIiOiJhbGljZSIsImV4cCI6MjAwMDAwMDAwMCwic2NvcGUiOiJvcGVuaWQgcmVhZCBnZW5lcmF0ZSJ9)"
     R"(.j6cx46Mx0rEpUeQd-QA8gQWdxnEauL2uh5nRQ5WqrLy-QgPPDQPYYX95qoWBsKk0lvenpT64A0G5AOZxNndSQN-GsxfdJEHi0DR)"
     R"(z8LeSOhMzevkF_o7atGHYYgg1YDukrKBDGonWTFKjlSFFhMDPBgCTE1Pawi_BqIeqGr6CYvSnxgD4Ha-Khj8eSV651l_Jsq1cyou)"
     R"(CwE9Te0ZAgskPtU0POGomI7GLdmAVmX95VqdkbaqxB13I140SjBKLN5gFzuc44LRI9TqKVnX8JPgMhyGi5_4n_Tftusinn-bft95)"
     R"(8VAyWvwT1qPKkjLs81b3FZiy2toMRLcZNRcwIbA5O1g)"},
    {"ES256",
     R"({"kty": "EC", "crv": "P-256", "x": "H1w72nSuxaQMIAnXBp1nZFNFl-iOcrdJG-iwL4GxcwI", "y": "fbgZoU1DXfOi)"
     R"(3cNn_MSsZxp_nIZ7OQV7NmTdlrVUKbM", "kid": "es256", "use": "sig"})",
     R"(eyJhbGciOiJFUzI1NiIsImtpZCI6ImVzMjU2IiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi)"
     R"(OiJpbmZlcmZsdXgiLCJzdWIiOiJhbGljZSIsImV4cCI6MjAwMDAwMDAwMCwic2NvcGUiOiJvcGVuaWQgcmVhZCBnZW5lcmF0ZSJ9)"
     R"(.ADISUIUwqvvXNwKTG55BjuXX2BSiV0f7t8dAEFG1r9iYgB3Um1cX9haSbKx-zQd_F5qrYS68eZUN-fUNO-YhNQ)"},
    {"EdDSA",
     R"({"x": "sATBEN-U8tVSWaJZTVI8Y7fxE13mk-5XeVktqJE8Ty4", "kty": "OKP", "crv": "Ed25519", "kid": "eddsa",)"
     R"( "use": "sig"})",
     R"(eyJhbGciOiJFZERTQSIsImtpZCI6ImVkZHNhIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi)"
     R"(OiJpbmZlcmZsdXgiLCJzdWIiOiJhbGljZSIsImV4cCI6MjAwMDAwMDAwMCwic2NvcGUiOiJvcGVuaWQgcmVhZCBnZW5lcmF0ZSJ9)"
     R"(.QWUJ1UvBXEzdS63fwYE-UPTsoVa_ou7TrhzuFdYZASAsLu8K7HiVUPRt255DDHN94XO2Sq8athxuaTIzwHU1Bg)"},
};

}  // namespace inferflux::keys
