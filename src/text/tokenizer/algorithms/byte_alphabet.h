// The alphabet of byte-level BPE vocabularies: one printable character for each of the 256 bytes (GPT-2's
// bytes_to_unicode; Radford et al. 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferflux::text {

char32_t ByteToAlphabet(uint8_t byte);

// The byte of `code`; none if it is not in the alphabet.
std::optional<uint8_t> AlphabetToByte(char32_t code);

// The bytes of a byte-level token. Characters outside the alphabet keep their UTF-8 bytes.
std::string DecodeByteAlphabet(std::string_view token);

}  // namespace inferflux::text
