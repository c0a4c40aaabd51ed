// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch memory of a function until it returns, beside the memory of its results.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/scratch_arena.hpp>

namespace {

using ashlar::scratch_arena;
template <class T>
using vector = std::vector<T, ashlar::allocator<T, scratch_arena>>;

vector<std::string_view> words_of(std::string_view text, scratch_arena& memory) {
  vector<std::string_view> words(memory);
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return words;
}

// The caller provides the memory of the result; the scratch is separate, even if that is scratch memory as well.
vector<std::string_view> different_words(std::string_view text, scratch_arena& results) {
  auto scratch = scratch_arena::beside(results);
  auto words = words_of(text, scratch);
  std::sort(words.begin(), words.end());
  return vector<std::string_view>(words.begin(), std::unique(words.begin(), words.end()), results);
}

}  // namespace

int main() {
  scratch_arena mine;  // its blocks end with the scope; the thread keeps the memory
  const auto words = different_words("the cat and the dog and the cow", mine);
  for (const std::string_view word : words) std::printf("%.*s ", static_cast<int>(word.size()), word.data());
  std::printf("\n%zu bytes of results\n", mine.memory().used());
  return words.size() == 5 && words[0] == "and" && words[4] == "the" ? 0 : 1;
}
