// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names the parts of a program's work, for traces and for limits that a build holds them to:
//
//     ashlar record -o t.trace -- example_spans && ashlar report t.trace
//     ashlar budget examples/spans_limits.json -- example_spans
#include <cstddef>
#include <cstdio>
#include <string>
#include <unordered_map>

#include <ashlar/os/span.hpp>

using dictionary = std::unordered_map<std::string, int>;

dictionary load() {
  const ashlar::span loading("load");
  dictionary words;
  for (int i = 0; i < 1000; ++i) words.emplace("a word of some length " + std::to_string(i), i);
  return words;
}

int look_up(const dictionary& words, const std::string& word) {
  const ashlar::span looking("look up");
  const auto found = words.find(word);
  return found == words.end() ? -1 : found->second;
}

int main() {
  ashlar::os::name_thread("main");
  const dictionary words = load();
  const std::string word = "a word of some length 7";
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += look_up(words, word);
  std::printf("%d\n", sum);
  return sum == 700 ? 0 : 1;
}
