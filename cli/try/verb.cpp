// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar try TRACE -- PROGRAM`: a spelling of `ashlar advise TRACE --measure run --only mallocs -- PROGRAM`.
#include <algorithm>

#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

/// Returns: whether `word` is this option, with its value behind "=" or in the next word.
bool is_option(std::string_view word, std::string_view option) {
  return word == option || (word.starts_with(option) && word[option.size()] == '=');
}

/// Its numbers of pairs are rounds, and `--best` has no effect: all mallocs are measured.
std::vector<std::string> words_of_advise(int argc, char** argv) {
  std::vector<std::string> words = {"ashlar advise", "--measure", "run", "--only", "mallocs"};
  char** const program = std::find(argv, argv + argc, std::string_view("--"));
  for (char** word = argv + 1; word < program; ++word) {
    const std::string_view all = *word;
    const bool is_runs = is_option(all, "--runs") || is_option(all, "--repetitions"),
               is_best = is_option(all, "--best");
    if (!is_runs && !is_best) {
      words.emplace_back(all);
      continue;
    }
    const std::size_t equals = all.find('=');
    if (equals == all.npos && word + 1 < program) ++word;
    const std::string value = equals == all.npos ? *word : std::string(all.substr(equals + 1));
    if (is_runs && value != "auto") words.insert(words.end(), {"--rounds", value});
  }
  words.insert(words.end(), program, argv + argc);
  return words;
}

int try_verb(int argc, char** argv) {
  std::vector<std::string> words = words_of_advise(argc, argv);
  std::vector<char*> arguments = pointers(words);
  const verb_registration* advise = verb_registration::first();
  while (advise->value().name != "advise") advise = advise->next();
  return advise->value().run(static_cast<int>(words.size()), arguments.data());
}

const verb_registration try_registration({"try", "", try_verb});

}  // namespace

}  // namespace ashlar::cli
