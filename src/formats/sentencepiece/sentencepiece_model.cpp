#include "formats/sentencepiece/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <utility>

#include "base/function_ref.h"
#include "formats/sentencepiece/protobuf_reader.h"

namespace inferflux::formats {
namespace {

using Field = ProtobufReader::Field;
using Wire = ProtobufReader::Wire;

Status ForEachField(std::string_view message, const std::string& source, FunctionRef<Status(const Field&)> handle) {
  ProtobufReader reader(message, source);
  while (true) {
    const auto field = reader.Next();
    if (!field) return Forward(field);
    if (!*field) return {};
    if (auto handled = handle(**field); !handled) return handled;
  }
}

Status WrongType(const Field& field, const std::string& source) {
  return Fail(ErrorCode::kDataLoss, "{}: field {} has the wrong type", source, field.number);
}

Status ReadPiece(const Field& field, const std::string& source, SentencePieceModel::Piece& piece) {
  if (field.number == 1) {
    if (field.wire != Wire::kBytes) return WrongType(field, source);
    piece.text = field.bytes;
  } else if (field.number == 2) {
    if (field.wire != Wire::kFixed32) return WrongType(field, source);
    piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    if (!std::isfinite(piece.score)) return Fail(ErrorCode::kDataLoss, "{}: its score is not finite", source);
  } else if (field.number == 3) {
    if (field.wire != Wire::kVarint || field.value < 1 || field.value > 6)
      return Fail(ErrorCode::kDataLoss, "{}: its type {} is unknown", source, field.value);
    piece.kind = static_cast<SentencePieceModel::Kind>(field.value);
  }
  return {};
}

Status ReadTrainer(const Field& field, const std::string& source, SentencePieceModel& model) {
  constexpr uint32_t kModelType = 3, kWhitespaceAsSuffix = 24, kByteFallback = 35;
  if (field.number != kModelType && field.number != kWhitespaceAsSuffix && field.number != kByteFallback) return {};
  if (field.wire != Wire::kVarint) return WrongType(field, source);
  if (field.number == kByteFallback) {
    model.byte_fallback = field.value != 0;
  } else if (field.number == kWhitespaceAsSuffix && field.value != 0) {
    return Fail(ErrorCode::kUnsupported,
                "{}: spaces are marked after words (treat_whitespace_as_suffix), which is not "
                "supported",
                source);
  } else if (field.number == kModelType) {
    if (field.value != 1 && field.value != 2) {
      return Fail(ErrorCode::kUnsupported, "{}: model_type {} is not supported; unigram (1) and BPE (2) are", source,
                  field.value);
    }
    model.algorithm = field.value == 1 ? SentencePieceModel::Algorithm::kUnigram : SentencePieceModel::Algorithm::kBpe;
  }
  return {};
}

Status ReadNormalizer(const Field& field, const std::string& source, SentencePieceModel& model) {
  constexpr uint32_t kCharsmap = 2, kDummyPrefix = 3, kRemoveExtra = 4, kEscape = 5;
  if (field.number == kCharsmap) {
    if (field.wire != Wire::kBytes) return WrongType(field, source);
    model.charsmap = field.bytes;
    return {};
  }
  if (field.number < kDummyPrefix || field.number > kEscape) return {};
  if (field.wire != Wire::kVarint) return WrongType(field, source);
  if (field.number == kDummyPrefix) model.add_dummy_prefix = field.value != 0;
  if (field.number == kRemoveExtra) model.remove_extra_whitespaces = field.value != 0;
  if (field.number == kEscape && field.value == 0) {
    return Fail(ErrorCode::kUnsupported, "{}: spaces are kept as they are (escape_whitespaces), which is not supported",
                source);
  }
  return {};
}

}  // namespace

Result<SentencePieceModel> ParseSentencePieceModel(std::string_view bytes, const std::string& source) {
  constexpr uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3;
  SentencePieceModel model;
  const auto handle = [&](const Field& field) -> Status {
    if (field.number < kPieces || field.number > kNormalizer) return {};
    if (field.wire != Wire::kBytes) return WrongType(field, source);
    if (field.number == kPieces) {
      const std::string name = fmt::format("{}: piece {}", source, model.pieces.size());
      SentencePieceModel::Piece piece;
      auto read = ForEachField(field.bytes, name, [&](const Field& part) { return ReadPiece(part, name, piece); });
      if (!read) return read;
      model.pieces.push_back(std::move(piece));
      return {};
    }
    return ForEachField(field.bytes, source, [&](const Field& part) {
      return field.number == kTrainer ? ReadTrainer(part, source, model) : ReadNormalizer(part, source, model);
    });
  };
  if (auto read = ForEachField(bytes, source, handle); !read) return Forward(read);
  if (model.pieces.empty()) return Fail(ErrorCode::kDataLoss, "{}: it has no pieces", source);
  return model;
}

}  // namespace inferflux::formats
