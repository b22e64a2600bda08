#include "compute/host/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace inferflux::compute::host {
namespace {

// A small write must not wait until a huge page is cleared, whatever the system's setting is.
TEST(PagesTest, AWriteCommitsOnlyItsOwnSmallPage) {
  constexpr size_t kBytes = size_t{16} << 20;
  auto pages = Pages::Allocate(kBytes, "a test", Pages::Size::kSmall);
  ASSERT_TRUE(pages) << pages.error().message;
  pages->data()[kBytes / 2] = std::byte{1};
  std::vector<unsigned char> resident(kBytes / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  ASSERT_EQ(::mincore(pages->data(), kBytes, resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }), 1);
}

}  // namespace
}  // namespace inferflux::compute::host
