// Ranges of files that another part of the program has mapped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_faults/file_faults.h"

namespace inferflux {
namespace {

const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

// A mapped file without a name, full of 'x'.
class MappedPages {
 public:
  explicit MappedPages(size_t pages) : size_(pages * kPage) {
    std::string path = (std::filesystem::temp_directory_path() / "inferflux_pages_XXXXXX").string();
    file_ = ::mkstemp(path.data());
    ::unlink(path.c_str());
    const std::string text(size_, 'x');
    EXPECT_EQ(::write(file_, text.data(), size_), static_cast<ssize_t>(size_));
    data_ = static_cast<std::byte*>(::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0));
  }
  ~MappedPages() {
    ::munmap(data_, size_);
    ::close(file_);
  }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  const std::byte* page(size_t index) const { return data_ + index * kPage; }
  void Cut(size_t bytes) { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  int Read(size_t offset) const { return std::to_integer<int>(*const_cast<const volatile std::byte*>(data_ + offset)); }

 private:
  const size_t size_;
  int file_ = -1;
  std::byte* data_ = nullptr;
};

TEST(GuardedRangeTest, TwoThatTouchAreMendedEachByItself) {
  MappedPages pages(6);
  const GuardedRange one(pages.page(0), 3 * kPage, "one"), two(pages.page(3), 3 * kPage, "two");
  const uint64_t before = FileFaults();
  pages.Cut(kPage + 1);
  EXPECT_EQ(pages.Read(3 * kPage), 0) << "the first byte of the second";
  EXPECT_EQ(FileFaults(), before + 1);
  EXPECT_EQ(FaultedFile("two", before), "two");
  EXPECT_EQ(FaultedFile("one", before), "");
  EXPECT_EQ(pages.Read(3 * kPage - 1), 0) << "the last byte of the first";
  EXPECT_EQ(FileFaults(), before + 2);
  EXPECT_EQ(FaultedFile("one", before), "one");
  EXPECT_EQ(FaultedFile("two", before + 1), "") << "not again";
  EXPECT_EQ(pages.Read(0), 'x') << "what the file still has is kept";
  EXPECT_EQ(pages.Read(kPage), 'x');
  EXPECT_EQ(pages.Read(kPage + 1), 0);
  EXPECT_EQ(FileFaults(), before + 2);
}

// Whether a fault of the file is one of `asked`, while it is mapped and when it is not any more.
bool IsFaultOf(const std::string& file, std::string_view asked) {
  MappedPages pages(2);
  auto range = std::make_unique<GuardedRange>(pages.page(0), 2 * kPage, file);
  const uint64_t before = FileFaults();
  pages.Cut(0);
  EXPECT_EQ(pages.Read(kPage + 1), 0);
  EXPECT_EQ(FileFaults(), before + 1);
  const std::string mapped = FaultedFile(asked, before);
  range.reset();
  const std::string gone = FaultedFile(asked, before);
  EXPECT_EQ(FaultedFile(file, FileFaults()), "") << "a fault is not told again";
  EXPECT_EQ(mapped, gone) << file << " of " << asked;
  EXPECT_EQ(mapped, mapped.empty() ? "" : file);
  return !mapped.empty();
}

TEST(GuardedRangeTest, AFaultIsOneOfTheFileOfItsFolderAndOfItsModelsOtherParts) {
  struct Row {
    const char* file;
    const char* asked;
    bool is;
  };
  for (const Row& row : {Row{"dir/model.gguf", "dir/model.gguf", true},
                         {"dir/model.gguf", "dir", true},
                         {"dir/model.gguf", "dir/", true},
                         {"dir/sub/model", "dir", true},
                         {"dir/model.gguf", "di", false},
                         {"dir/model.gguf", "dir/model", false},
                         {"dir/model.gguf", "dir/model.gguf/x", false},
                         {"dir", "dir/model.gguf", false},
                         {"a-00002-of-00003.gguf", "a-00001-of-00003.gguf", true},
                         {"a-00002-of-00003.gguf", "b-00001-of-00003.gguf", false},
                         {"a-00002-of-00003.gguf", "a", false},
                         {"a.gguf", "b-00001-of-00003.gguf", false},
                         {"-00002-of-00003", "-00001-of-00003", true},
                         {"00002-of-00003", "00001-of-00003", false}}) {
    EXPECT_EQ(IsFaultOf(row.file, row.asked), row.is) << row.file << " of " << row.asked;
  }
}

// As when a model is loaded where another was.
TEST(GuardedRangeTest, TheNextAtAnAddressIsNotTakenForTheLast) {
  MappedPages pages(2);
  const uint64_t before = FileFaults();
  std::make_unique<GuardedRange>(pages.page(0), 2 * kPage, "last").reset();
  const GuardedRange next(pages.page(0), 2 * kPage, "next");
  EXPECT_EQ(FaultedFile("next", before), "") << "nothing is lost yet";
  pages.Cut(0);
  EXPECT_EQ(pages.Read(0), 0);
  EXPECT_EQ(FaultedFile("last", before), "");
  EXPECT_EQ(FaultedFile("next", before), "next");
}

TEST(GuardedRangeTest, MoreThanThereIsRoomForAreLeftAndTheRoomComesBack) {
  std::vector<std::unique_ptr<GuardedRange>> many;
  const auto* untouched = reinterpret_cast<const std::byte*>(kPage);
  for (int i = 0; i < 5000; ++i) many.push_back(std::make_unique<GuardedRange>(untouched, 1, "many"));
  many.clear();
  EXPECT_TRUE(IsFaultOf("after", "after"));
  EXPECT_TRUE(IsFaultOf("after that", "after that"));
}

// A process of its own, in which no file has been guarded yet: `handler` is there first, then another file is cut.
void ReadWhatIsNotGuarded(const struct sigaction& handler) {
  ::sigaction(SIGBUS, &handler, nullptr);
  MappedPages guarded(1), other(1);
  const GuardedRange range(guarded.page(0), kPage, "guarded");
  other.Cut(0);
  std::_Exit(other.Read(0));
}

TEST(GuardedRangeTest, WhoHandledTheSignalBeforeStillDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct sigaction detailed {};
  detailed.sa_flags = SA_SIGINFO;
  detailed.sa_sigaction = [](int number, siginfo_t* info, void*) {
    std::_Exit(number == SIGBUS && info->si_code == BUS_ADRERR ? 42 : 1);
  };
  EXPECT_EXIT(ReadWhatIsNotGuarded(detailed), ::testing::ExitedWithCode(42), "");
  struct sigaction plain {};
  plain.sa_handler = [](int) { std::_Exit(43); };
  EXPECT_EXIT(ReadWhatIsNotGuarded(plain), ::testing::ExitedWithCode(43), "");
}

}  // namespace
}  // namespace inferflux
