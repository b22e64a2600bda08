#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using ::testing::ElementsAre;
using testing::Make;
using testing::Names;

const std::string kWordMark(unicode::kSpaceMarkUtf8);
const std::vector<std::string> kPieces = {
    kWordMark + "un",           "aff",           "able", kWordMark + "a", kWordMark + ",",
    kWordMark + "\xE4\xB8\xAD", kWordMark + "e", "e"};

TEST(WordPiece, WritesWordsInTheLongestPiecesThatFit) {
  const auto t = Make(testing::WordPieceSpec(kPieces));
  EXPECT_THAT(Names(*t, t->Encode("UNAFFABLE, a")),
              ElementsAre(kWordMark + "un", "aff", "able", kWordMark + ",", kWordMark + "a"));
  EXPECT_THAT(Names(*t, t->Encode("unaffablex a")), ElementsAre("[UNK]", kWordMark + "a"));
  EXPECT_THAT(Names(*t, t->Encode("a\xE4\xB8\xAD"
                                  "a")),
              ElementsAre(kWordMark + "a", kWordMark + "\xE4\xB8\xAD", kWordMark + "a"));
}

TEST(WordPiece, NormalisesAsTheModelSays) {
  const auto t = Make(testing::WordPieceSpec(kPieces));
  EXPECT_THAT(Names(*t, t->Encode("\xC3\x89\x01"
                                  "e\xCC\x81\xFF")),
              ElementsAre(kWordMark + "e", "e"));
  VocabSpec cased = testing::WordPieceSpec(kPieces);
  cased.lowercase = cased.strip_accents = false;
  const auto c = Make(std::move(cased));
  EXPECT_THAT(Names(*c, c->Encode("A a \xC3\xA9")), ElementsAre("[UNK]", kWordMark + "a", "[UNK]"));
}

TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const auto t = Make(testing::WordPieceSpec(kPieces));
  EXPECT_EQ(t->Encode(std::string(100, 'e')).size(), 100U);
  EXPECT_THAT(Names(*t, t->Encode(std::string(101, 'e'))), ElementsAre("[UNK]"));
}

TEST(WordPiece, ClsAndSepGoAround) {
  const auto t = Make(testing::WordPieceSpec(kPieces));
  EXPECT_THAT(Names(*t, t->WithSpecials(t->Encode("a"))), ElementsAre("[CLS]", kWordMark + "a", "[SEP]"));
  EXPECT_EQ(t->Decode(t->Encode("unable, a")), "unable , a");
}

}  // namespace
}  // namespace inferflux::text
