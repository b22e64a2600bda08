#include "text/grammar/grammar_compiler.h"

#include <algorithm>
#include <utility>

#include "base/work_budget/work_budget.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxRecent = 32;

}  // namespace

Result<std::shared_ptr<const TokenGrammar>> GrammarCompiler::Compile(const GrammarSpec& spec) {
  if (auto known = Find(spec)) return known;
  auto grammar = CompileGrammar(spec);
  if (!grammar) return Forward(grammar);
  auto compiled = std::make_shared<const TokenGrammar>(std::move(*grammar), Vocabulary());
  compiled->Prepare();
  if (Status on_time = WorkBudget::Check(); !on_time) return Forward(on_time);
  const std::lock_guard lock(mutex_);
  recent_.push_front({spec, compiled});
  if (recent_.size() > kMaxRecent) recent_.pop_back();
  return compiled;
}

std::shared_ptr<const TokenGrammar> GrammarCompiler::Find(const GrammarSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(recent_, spec, &Entry::spec);
  if (found == recent_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found);
  return found->grammar;
}

std::shared_ptr<const GrammarVocabulary> GrammarCompiler::Vocabulary() {
  const std::lock_guard lock(mutex_);
  if (!vocabulary_) vocabulary_ = std::make_shared<const GrammarVocabulary>(tokenizer_);
  return vocabulary_;
}

}  // namespace inferflux::text
