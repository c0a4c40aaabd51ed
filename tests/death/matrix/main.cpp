// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the fault matrix of its checking level, an entry for each line: interface, misuse, outcome. Each misuse is
// committed in a child process with a deadline, and its outcome classified.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/base/config.hpp>

#include "tests/death/matrix/misuse.hpp"
#include "tests/death/matrix/subject.hpp"

namespace {

using namespace fault_matrix;

constexpr unsigned deadline_seconds = 60;

struct last_words {
  std::string text;
  int status;
};

[[noreturn]] void be_child(const interface& of, misuse kind, int variant, int errors) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(errors, STDERR_FILENO);
  alarm(deadline_seconds);
  commit(of, kind, variant);
  _exit(0);
}

[[nodiscard]] std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t n = read(from, part.data(), part.size()); n > 0; n = read(from, part.data(), part.size()))
    text.append(part.data(), static_cast<std::size_t>(n));
  return text;
}

[[nodiscard]] last_words run(const interface& of, misuse kind, int variant) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) be_child(of, kind, variant, ends[1]);
  close(ends[1]);
  last_words words = {read_all(ends[0]), 0};
  close(ends[0]);
  if (waitpid(child, &words.status, 0) != child) std::abort();
  return words;
}

// Returns: the position of the first report that counts; `npos`: none. A leak counts only if it is the misuse.
[[nodiscard]] std::size_t find_report(std::string_view text, misuse kind) {
  constexpr std::string_view start = "ashlar: ";
  std::size_t at = text.find(start);
  while (at != text.npos && kind != misuse::leak && text.substr(at + start.size()).starts_with("leak"))
    at = text.find(start, at + 1);
  return at == text.npos ? at : at + start.size();
}

// Returns: the report, with the word `block` for the address of a block of the scene.
[[nodiscard]] std::string sentence_in(std::string_view text, misuse kind) {
  const std::size_t at = find_report(text, kind);
  if (at == text.npos) return {};
  std::string line(text.substr(at, text.find('\n', at) - at));
  for (std::size_t i = text.find(block_is); i != text.npos; i = text.find(block_is, i + 1)) {
    const std::size_t from = i + std::string_view(block_is).size();
    const std::string address = ", pointer " + std::string(text.substr(from, text.find('\n', from) - from)) + ",";
    if (const std::size_t found = line.find(address); found != line.npos)
      line.replace(found, address.size(), ", pointer block,");
  }
  return line;
}

[[nodiscard]] std::string reported(std::string_view text, std::size_t at) {
  const std::string kind(text.substr(at, text.find(':', at) - at));
  return text.substr(0, at).find(after_call) != text.npos ? "later: " + kind : kind;
}

// The neighbour of a live block is mapped or not by chance: a death there is no report.
[[nodiscard]] std::string outcome_of_write(misuse kind) { return writes_beside.has(kind) ? "unseen" : "at the write"; }

[[nodiscard]] bool died_writing(std::string_view text) {
  return text.find(before_write) != text.npos && text.find(after_write) == text.npos;
}

[[nodiscard]] std::string outcome_of(const interface& of, misuse kind, const last_words& words) {
  if (WIFSIGNALED(words.status) && WTERMSIG(words.status) == SIGALRM) return "hang";
  const std::size_t at = find_report(words.text, kind);
  if (at != std::string::npos) return reported(words.text, at);
  if (WIFSIGNALED(words.status) && died_writing(words.text)) return outcome_of_write(kind);
  if (words.status != 0) return "signal";
  return of.allows.has(kind) ? "allowed" : "unseen";
}

// The rank of an outcome in the comparison of tables.
[[nodiscard]] int rank(std::string_view outcome) {
  if (outcome == "hang" || outcome == "signal") return 3;
  if (outcome == "unseen") return 2;
  return outcome.starts_with("later") ? 1 : 0;
}

[[nodiscard]] bool is_undefined(const interface& of, misuse kind) {
  if (ashlar::checking_level > ashlar::checking::fast) return false;
  return kind != misuse::leak && !of.allows.has(kind) && !of.promised_at_fast.has(kind);
}

// The outcome of a misuse, and the report of each of its variants, empty where there is none.
struct entry {
  std::string outcome;
  std::vector<std::string> sentences;
};

// Returns: the entry of the matrix: `double_free` and the like, reported by the call; `later: <kind>`; `at the write`
// if the memory was unmapped and the culprit's own instruction ended the process; `allowed` by contract; `unseen`;
// `signal` if the process died without a report; `hang`; `-` if the misuse cannot be expressed; `undefined` at `fast`,
// which promises nothing.
[[nodiscard]] entry entry_of(const interface& of, misuse kind) {
  if (of.cannot_express.has(kind) || variants_of(of, kind) == 0) return {"-", {}};
  if (is_undefined(of, kind)) return {"undefined", {}};
  entry worst;
  for (int variant = 0; variant < variants_of(of, kind); ++variant) {
    const last_words words = run(of, kind, variant);
    const std::string outcome = outcome_of(of, kind, words);
    if (worst.outcome.empty() || rank(outcome) > rank(worst.outcome)) worst.outcome = outcome;
    worst.sentences.push_back(sentence_in(words.text, kind));
  }
  return worst;
}

template <class F>
void for_each_entry(F f) {
  for (const auto& rows : {pools(), pool_sets(), objects(), stacks_and_arenas(), heaps(), adaptors()})
    for (const interface& row : rows)
      for (std::uint32_t i = 0; i < misuse_count; ++i) f(row, static_cast<misuse>(i));
}

void print(const interface& row, misuse kind) {
  const entry made = entry_of(row, kind);
  std::printf("%s\t%s\t%s", row.name.c_str(), name_of(kind), made.outcome.c_str());
  for (const std::string& each : made.sentences) std::printf("\t%s", each.c_str());
  std::printf("\n");
  std::fflush(stdout);  // otherwise each child has a copy of unwritten output
}

}  // namespace

//     matrix                                  all entries, each with the sentences of its variants
//     matrix INTERFACE MISUSE [VARIANT]       that misuse in this process, to read its report
int main(int argc, char** argv) {
  if (argc < 3) {
    for_each_entry(print);
    return 0;
  }
  for_each_entry([&](const interface& row, misuse kind) {
    if (row.name == argv[1] && std::strcmp(name_of(kind), argv[2]) == 0)
      commit(row, kind, argc > 3 ? std::atoi(argv[3]) : 0);
  });
}
