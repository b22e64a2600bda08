// inferctl keys and template: files in, whole outputs and files out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/command_testing.h"
#include "keys/key_file.h"

namespace inferflux::apps {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class InFolderTest : public ::testing::Test {
 protected:
  InFolderTest() { std::filesystem::create_directories(folder_); }
  ~InFolderTest() override { std::filesystem::remove_all(folder_); }
  std::string Written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("inferctl_" + std::to_string(::getpid()));
};

class KeysTest : public InFolderTest {
 protected:
  std::string Keys(Words words, bool as_json = false) const {
    words.insert(words.begin(), "keys");
    words.insert(words.end(), {"--file", file_});
    return Called(AddKeys, words, {.json = as_json});
  }
  std::string Contents() const {
    std::ostringstream out;
    out << std::ifstream(file_).rdbuf();
    return out.str();
  }
  // Its key replaced by KEY.
  static std::string WithoutKey(std::string printed) {
    const size_t begin = printed.find("ifx_");
    if (begin != std::string::npos) printed.replace(begin, printed.find_first_of("\"\n", begin) - begin, "KEY");
    return printed;
  }

  const std::string file_ = (folder_ / "keys").string();
};

TEST_F(KeysTest, AKeyIsShownOnce) {
  EXPECT_EQ(WithoutKey(Keys({"create", "ci"})), "KEY\n|inferctl: this is the only time that the key is shown; " +
                                                    file_ +
                                                    " holds its hash. A running server takes it after SIGHUP.\n|0");
  EXPECT_EQ(
      WithoutKey(Keys({"create", "full", "--scopes", "admin,read", "--expires", "2040-01-31", "--queued", "8"}, true)),
      R"({"name":"full","key":"KEY","scopes":"read,admin","expires":"2040-01-31T00:00:00Z","limits":{"queued":8}})"
      "\n||0");
  EXPECT_EQ(WithoutKey(Keys({"create", "plain"}, true)), R"({"name":"plain","key":"KEY","scopes":"read,generate"})"
                                                         "\n||0");
  EXPECT_THAT(Keys({"create", "ci"}), EndsWith("|1")) << "a name is taken once";
}

TEST_F(KeysTest, AListSaysWhatEachKeyMay) {
  const std::string a(64, 'a'), b(64, 'b'), c(64, 'c');
  Written("keys", a + "\n" + b + " read,admin name=old expires=2001-02-03\n" + c +
                      " name=new expires=2100-01-01T12:00:00Z queued=8 tokens_per_minute=1000\n");
  EXPECT_EQ(
      Keys({"list"}),
      "name                     sha256     scopes                           expires                          limits\n"
      "-                        aaaaaaaa   read,generate                    never                            -\n"
      "old                      bbbbbbbb   read,admin                       2001-02-03T00:00:00Z (expired)   -\n"
      "new                      cccccccc   read,generate                    2100-01-01T12:00:00Z             "
      "queued=8 tokens_per_minute=1000\n||0");
  EXPECT_EQ(Keys({"list"}, true),
            R"([{"name":"","sha256":")" + a + R"(","scopes":"read,generate","expired":false},)" +
                R"({"name":"old","sha256":")" + b +
                R"(","scopes":"read,admin","expires":"2001-02-03T00:00:00Z","expired":true},)" +
                R"({"name":"new","sha256":")" + c +
                R"(","scopes":"read,generate","expires":"2100-01-01T12:00:00Z","expired":false,)" +
                R"("limits":{"queued":8,"tokens_per_minute":1000}}])" + "\n||0");
  EXPECT_EQ(Keys({"revoke", "old"}),
            "|inferctl: removed 1 key from " + file_ + "; a running server forgets them after SIGHUP\n|0");
  Written("keys", a + " name=x\n" + std::string(63, 'a') + "b name=y\n");
  EXPECT_EQ(Keys({"revoke", "aaaaaaaa"}),
            "|inferctl: removed 2 keys from " + file_ + "; a running server forgets them after SIGHUP\n|0");
  EXPECT_THAT(Keys({"revoke", "old"}), EndsWith("|1"));
  std::filesystem::remove(file_);
  EXPECT_THAT(Keys({"list"}), EndsWith("|1"));
}

TEST_F(KeysTest, AnEndIsADayOrANumberOfDays) {
  for (const char* wrong : {"0d", "00d", "d", "-1d", "+1d", "1:d", "/d", "1 d", "36501d", "365000d",
                            "99999999999999999999d", "soon", "1h", "2027-13-01"}) {
    EXPECT_EQ(Keys({"create", "k", "--expires=" + std::string(wrong)}),
              fmt::format("|inferctl: '{}' is not a time; write 90d, 2027-01-31 or 2027-01-31T12:00:00Z\n|2", wrong));
  }
  EXPECT_FALSE(std::filesystem::exists(file_)) << "nothing is written";
  using std::chrono::days;
  for (const auto& [text, length] : {std::pair{"1d", 1}, {"010d", 10}, {"90d", 90}, {"36500d", 36500}}) {
    const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    ASSERT_THAT(Keys({"create", text, "--expires", text}), EndsWith("|0"));
    const auto after = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto all = keys::ReadKeyFile(file_);
    ASSERT_TRUE(all && all->back().expires);
    EXPECT_GE(*all->back().expires, before + days(length));
    EXPECT_LE(*all->back().expires, after + days(length));
  }
}

TEST_F(KeysTest, EachLimitHasItsRange) {
  for (const keys::LimitRow& row : keys::LimitRows()) {
    for (const int64_t wrong : {int64_t{-1}, row.max + 1}) {
      EXPECT_EQ(
          Keys({"create", "k", fmt::format("{}={}", row.flag, wrong)}),
          fmt::format("|inferctl: {} {} is out of range: it is 0 (no limit) to {}\n|2", row.flag, wrong, row.max));
    }
    for (const int64_t right : {int64_t{0}, row.max}) {
      const std::string name = fmt::format("{}-{}", row.name, right);
      const std::string printed = Keys({"create", name, fmt::format("{}={}", row.flag, right)}, true);
      EXPECT_THAT(printed, HasSubstr(fmt::format(R"("limits":{{"{}":{}}}}})", row.name, right)));
      EXPECT_THAT(Contents(), HasSubstr(fmt::format("name={} {}={}", name, row.name, right)));
    }
  }
}

TEST_F(KeysTest, TheFileIsThatOfTheServerUnlessNamed) {
  const std::string other = Written("other", std::string(64, 'd') + " name=other\n");
  const config::Environment configured = {{"INFERFLUX_API_KEYS_FILE", other}};
  EXPECT_THAT(Called(AddKeys, {"keys", "list"}, {.environment = configured}), HasSubstr("\nother "));
  Written("keys", std::string(64, 'e') + " name=named\n");
  EXPECT_THAT(Called(AddKeys, {"keys", "list", "--file", file_}, {.environment = configured}), HasSubstr("\nnamed "));
  EXPECT_EQ(
      Called(AddKeys, {"keys", "list"}),
      "|inferctl: which file? name it by --file, or by server.api_keys_file (INFERFLUX_API_KEYS_FILE), as for the "
      "server\n|2");
  EXPECT_EQ(Keys({"create", "k", "--scopes", "read,write"}),
            "|inferctl: 'read,write' is not a list of scopes; they are read,generate,load,metrics,admin\n|2");
}

class TemplateTest : public InFolderTest {};

TEST_F(TemplateTest, ATemplateIsRenderedByteForByte) {
  const std::string file = Written("t", "{% for m in messages %}<{{ m }}>{% endfor %}"),
                    context = Written("c", R"({"messages":["a","b"]})");
  EXPECT_EQ(Called(AddTemplate, {"template", file, context}), "<a><b>||0");
  EXPECT_EQ(Called(AddTemplate, {"template", file, context}, {.json = true}), "{\"text\":\"<a><b>\"}\n||0");
  EXPECT_EQ(Called(AddTemplate, {"template", file, "-"}, {.input = R"({"messages":["c"]})"}), "<c>||0");
  EXPECT_EQ(Called(AddTemplate, {"template", "-", context}, {.input = "{{ messages[0] }}"}), "a||0");
  EXPECT_EQ(Called(AddTemplate, {"template", "-", "-"}),
            "|inferctl: TEMPLATE and CONTEXT cannot both be standard input\n|2");
}

TEST_F(TemplateTest, TheTimeIsTheOneGiven) {
  const std::string file = Written("t", "{{ strftime_now('%Y-%m-%d %H:%M:%S') }}"), context = Written("c", "{}");
  const auto at = [&](const std::string& now) {
    return Called(AddTemplate, {"template", file, context, "--now", now});
  };
  EXPECT_EQ(at("2024-07-26"), "2024-07-26 00:00:00||0");
  EXPECT_EQ(at("2024-07-26Z"), "2024-07-26 00:00:00||0");
  EXPECT_EQ(at("2024-07-26T12:30:05"), "2024-07-26 12:30:05||0");
  EXPECT_EQ(at("2024-07-26T12:30:05Z"), "2024-07-26 12:30:05||0");
  EXPECT_EQ(at("2024-07-26 12:30:05"), "2024-07-26 12:30:05||0");
  for (const char* wrong : {"today", "2024-07-26T12:30:05ZZ", "2024-07-26x", "2024-07-26T12:30"}) {
    EXPECT_EQ(at(wrong), fmt::format("|inferctl: --now {}: write a time as 2024-07-26T12:30:00\n|2", wrong));
  }
}

TEST_F(TemplateTest, AWrongFileIsNamed) {
  const std::string file = Written("t", "x"), context = Written("c", "{}");
  const std::string none = (folder_ / "none").string();
  const auto with = [&](const std::string& a, const std::string& b) { return Called(AddTemplate, {"template", a, b}); };
  EXPECT_EQ(with(none, context), "|inferctl: cannot read " + none + ": No such file or directory\n|1");
  EXPECT_EQ(with(file, none), "|inferctl: cannot read " + none + ": No such file or directory\n|1");
  EXPECT_THAT(with(file, Written("d", "{")),
              StartsWith("|inferctl: " + (folder_ / "d").string() + ": not valid JSON: "));
  EXPECT_EQ(with(file, Written("d", "[]")),
            "|inferctl: " + (folder_ / "d").string() + ": must hold a JSON object of variables\n|1");
  const auto nested = [](size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  EXPECT_THAT(with(file, Written("d", nested(511))), HasSubstr("deeper than 200 levels")) << "the template's own bound";
  EXPECT_THAT(with(file, Written("d", nested(512))), HasSubstr("not valid JSON"));
  const std::string open = Written("open", "{% if %}"), raises = Written("raises", "{{ raise_exception('no') }}");
  EXPECT_THAT(with(open, context), StartsWith("|inferctl: " + open + ": "));
  EXPECT_THAT(with(raises, context), StartsWith("|inferctl: " + raises + ": "));
}

TEST_F(TemplateTest, AFileHasAtMost64MiB) {
  const std::string context = Written("c", "{}"), large = Written("t", "");
  const auto of = [&](uint64_t bytes) {
    Written("t", "{#");
    std::filesystem::resize_file(large, bytes - 2);
    std::ofstream(large, std::ios::app) << "#}";
    return Called(AddTemplate, {"template", large, context});
  };
  EXPECT_EQ(of((uint64_t{64} << 20) + 1), "|inferctl: " + large + " has more than 67108864 bytes\n|1");
  EXPECT_THAT(of(uint64_t{64} << 20), ::testing::Not(HasSubstr("has more than")));
}

}  // namespace
}  // namespace inferflux::apps
