// The models that only llama.cpp runs, by the names that files give them.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::model {

// What to do with a file of this GGUF architecture or config.json's model_type: a clause for the error that refuses it,
// which begins with "; " and says whether llama.cpp runs it. The names are those of llama.cpp's converter and of
// libllama as scripts/install-llama-cpp builds it (llama-cpp-python 0.3.36).
std::string_view GgufAdvice(std::string_view architecture);
std::string_view DirectoryAdvice(std::string_view model_type);

}  // namespace inferflux::model
