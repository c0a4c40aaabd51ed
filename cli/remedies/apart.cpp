// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question and answer go through files.
#include "cli/remedies/apart.hpp"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <iterator>
#include <span>
#include <stdexcept>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support/start_self.hpp"
#include "cli/support/temporary.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

constexpr int exit_apart = 99;  // the output is the message of an error

}  // namespace

std::string ask_apart(const std::vector<std::string>& words, const std::string& question) {
  temporary_file asked;
  const temporary_file answered;
  asked.write(std::as_bytes(std::span(question)));
  ::lseek(asked.descriptor(), 0, SEEK_SET);
  own_part part = {
      .arguments = {"ashlar"}, .from = answered.descriptor(), .to = STDOUT_FILENO, .input = asked.descriptor()};
  part.arguments.insert(part.arguments.end(), words.begin(), words.end());
  for (char** entry = ::environ; *entry != nullptr; ++entry) part.environment.emplace_back(*entry);
  const pid_t child = start_self(part);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(answered.descriptor(), 0, SEEK_END), 0)), '\0');
  const ssize_t n = ::pread(answered.descriptor(), text.data(), text.size(), 0);
  if (!WIFEXITED(status)) throw std::runtime_error("the process that measures died");
  if (n <= 0) throw std::runtime_error("the process that measures ended without an answer");
  if (WEXITSTATUS(status) == exit_apart) throw std::runtime_error(text);
  return text;
}

int answer_apart(const std::function<std::string(const std::string&)>& answer) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    std::cout << answer({std::istreambuf_iterator<char>(std::cin), {}}) << std::flush;
    return exit_ok;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::flush;
    return exit_apart;
  }
}

}  // namespace ashlar::cli
