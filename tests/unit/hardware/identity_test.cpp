#include "hardware/identity.h"

#include <gtest/gtest.h>

#include <array>

namespace inferflux::hardware {
namespace {

TEST(Identity, AUuidIsTheSameInEachToolsSpelling) {
  EXPECT_TRUE(SameUuid("GPU-8a2f1c3e-0000-4444-9999-0123456789ab", "8A2F1C3E-0000-4444-9999-0123456789AB"));
  EXPECT_TRUE(SameUuid("gpu-8a", "GPU-8A"));
  EXPECT_FALSE(SameUuid("8a2f1c3e-0000-4444-9999-0123456789ab", "8a2f1c3e-0000-4444-9999-0123456789ac"));
  EXPECT_FALSE(SameUuid("8a2f", "8a2f1c3e")) << "a beginning is no identity";
  EXPECT_FALSE(SameUuid("", ""));
  EXPECT_FALSE(SameUuid("8a", ""));
  EXPECT_TRUE(SameUuid("gpu-", "GPU-")) << "there is nothing behind it, so it is no prefix";
  EXPECT_FALSE(SameUuid("gpu-", ""));
  EXPECT_FALSE(SameUuid("@[", "`{")) << "only letters have two cases";
  EXPECT_TRUE(SameUuid("aZ", "Az"));
}

TEST(Identity, APciAddressIsTheSameInEachToolsSpelling) {
  for (const char* same : {"0000:c1:00.0", "00000000:C1:00.0", "c1:00.0", "c1:00", "0:C1:0.0"}) {
    EXPECT_TRUE(SamePciAddress("0000:c1:00.0", same)) << same;
  }
  for (const char* other : {"0001:c1:00.0", "0000:c1:00.1", "0000:c1:01.0", "c1", "", ":", "::", ".", "0000:c1:00.",
                            "0000:c1:00.0 ", "0000:g1:00.0", "100000000:c1:00.0", "a:b:c:d", "-1:c1:00.0"}) {
    EXPECT_FALSE(SamePciAddress("0000:c1:00.0", other)) << other;
  }
  EXPECT_FALSE(SamePciAddress("", ""));
}

TEST(Identity, IsWrittenAsLinuxAndNvidiaWriteIt) {
  EXPECT_EQ(PciAddress(0, 0xc1, 0, 0), "0000:c1:00.0");
  EXPECT_EQ(PciAddress(0x12345, 1, 0x1f, 7), "12345:01:1f.7");
  const std::array<uint8_t, 16> bytes{0x8a, 0x2f, 0x1c, 0x3e, 0,    0,    0x44, 0x44,
                                      0x99, 0x99, 1,    0x23, 0x45, 0x67, 0x89, 0xab};
  EXPECT_EQ(Uuid(bytes), "8a2f1c3e-0000-4444-9999-0123456789ab");
  EXPECT_EQ(Uuid(std::array<uint8_t, 16>{}), "");
}

}  // namespace
}  // namespace inferflux::hardware
