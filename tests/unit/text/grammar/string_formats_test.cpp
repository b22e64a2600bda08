// Each format of strings at its edges: what is just right, and what is just wrong.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

struct Format {
  const char* name;
  std::vector<std::string> valid, invalid;
};

void ExpectFormats(const std::vector<Format>& formats) {
  for (const Format& format : formats) {
    const auto grammar =
        testing::CompileOrFail(testing::Schema(R"({"type":"string","format":")" + std::string(format.name) + "\"}"));
    if (!grammar) continue;
    for (const std::string& text : format.valid) {
      EXPECT_TRUE(testing::Matches(grammar, '"' + text + '"')) << format.name << " refuses " << text;
    }
    for (const std::string& text : format.invalid) {
      EXPECT_FALSE(testing::Matches(grammar, '"' + text + '"')) << format.name << " takes " << text;
    }
  }
}

TEST(StringFormats, OfTimes) {
  ExpectFormats({
      {"date",
       {"2023-01-31", "2023-02-28", "2023-03-31", "2023-04-30", "2023-05-31", "2023-06-30", "2023-07-31", "2023-08-31",
        "2023-09-30", "2023-10-31", "2023-11-30", "2023-12-31", "2024-02-29", "2000-02-29", "1600-02-29", "1904-02-29",
        "2096-02-29", "1000-01-01", "9999-09-09"},
       {"2023-01-32", "2023-02-29", "2023-04-31", "2023-06-31", "2023-09-31", "2023-11-31", "2023-00-01", "2023-13-01",
        "2023-01-00", "1900-02-29", "2100-02-29", "2022-02-29", "0999-01-01", "2023-1-01", "2023-01-1", "2023-01-01 "}},
      {"time",
       {"00:00:00Z", "23:59:59Z", "19:09:05.1Z", "09:30:00.123456+00:00", "20:00:00-23:59", "10:00:00+19:30"},
       {"24:00:00Z", "23:60:00Z", "23:59:60Z", "00:00:00", "00:00:00.Z", "00:00:00.1234567Z", "00:00:00+24:00",
        "00:00:00+00:60", "0:00:00Z", "00:00Z"}},
      {"date-time",
       {"2024-02-29T23:59:59Z", "2023-12-31T00:00:00.5-01:30"},
       {"2023-02-29T00:00:00Z", "2024-02-29 00:00:00Z", "2024-02-29T00:00:00", "2024-02-29"}},
      {"duration",
       {"P1W", "P1234W", "P1Y", "P1Y2M", "P1Y2M3D", "P2M3D", "P3D", "P3DT4H", "PT4H", "PT4H5M", "PT4H5M6S", "PT5M6S",
        "PT6S", "P1YT6S"},
       {"P", "PT", "P1", "P1YT", "P12345W", "P1Y3D", "PT4H6S", "P1WT1H", "1Y", "P1H", "PT1D", "P1M1Y"}},
  });
}

TEST(StringFormats, OfAddresses) {
  const std::string label(12, 'a');
  ExpectFormats({
      {"ipv4",
       {"0.0.0.0", "9.10.99.100", "199.200.249.250", "255.255.255.255"},
       {"256.0.0.0", "260.0.0.0", "0.0.0", "0.0.0.0.0", "01.0.0.0", "1.2.3.", "300.0.0.0"}},
      {"email",
       {"a@b.de", "a.b.c.d@e.org", "A_+-9@x-y.museum"},
       {"a@b", "a@b.c", ".a@b.de", "a.@b.de", "a..b@c.de", "a.b.c.d.e@f.org", "a b@c.de", "a@-b.de"}},
      {"hostname",
       {"a", "a-b.c-d", label, label + "-" + label + "-a-a", "a.b.c.d.e.f"},
       {"", "-a", "a-", "a..b", label + "a", "a-a-a-a-a", "a.b.c.d.e.f.g", "a_b"}},
      {"uri",
       {"a:b", "http://a", "http://a:8080/b/c?d=/?#e", "urn:x:%4F", "a+.-1:b", "http://a?q", "http://a#f"},
       {"a", ":b", "1a:b", "http://", "http://a:80801", "a:%4G", "a:b c", "a:b#c#d", "a:?"}},
      {"uuid",
       {"01234567-89ab-cdef-ABCD-EF0123456789"},
       {"01234567-89ab-cdef-ABCD-EF012345678", "01234567-89ab-cdef-ABCD-EF01234567890",
        "0123456-789ab-cdef-ABCD-EF0123456789", "01234567-89ag-cdef-ABCD-EF0123456789"}},
  });
}

TEST(StringFormats, AnIpv6AddressHasEightGroupsOrAGap) {
  const auto groups = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i > 0 ? ":" : "") + std::string("1aF9", static_cast<size_t>(1 + i % 4));
    return out;
  };
  Format format{"ipv6",
                {groups(8), groups(6) + ":1.2.3.255"},
                {groups(7), groups(9), groups(5) + ":1.2.3.4", groups(7) + ":1.2.3.4", "", ":",
                 ":::", "12345::", "g::", groups(6) + ":1.2.3.256"}};
  for (int before = 0; before <= 8; ++before) {
    for (int after = 0; after <= 8; ++after) {
      (before + after <= 7 ? format.valid : format.invalid).push_back(groups(before) + "::" + groups(after));
    }
  }
  ExpectFormats({format});
}

TEST(StringFormats, OfPointersAndTemplates) {
  ExpectFormats({
      {"json-pointer", {"", "/", "/a/b", "/~0~1", "//"}, {"a", "/~", "/~2", "a/b"}},
      {"relative-json-pointer",
       {"0", "9", "1234", "0#", "10/a", "1/~0/"},
       {"", "01", "12345", "1##", "1#/a", "#", "-1", "1/~"}},
      {"uri-template",
       {"", "{a}", "x{+a_1.b:3,c*}", "{?a,b}", "%4f", "{a:999}"},
       {"{", "{}", "{a", "{a,}", "{a:0}", "{a:1000}", "{a..b}", "{!a}", "%4g", " "}},
  });
}

}  // namespace
}  // namespace inferflux::text
