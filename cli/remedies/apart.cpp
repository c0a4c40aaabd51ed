// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The question goes through a pipe, the answer through a file.
#include "cli/remedies/apart.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support/write_all.hpp"

namespace ashlar::cli {

namespace {

enum ending { answered, failed, not_asked };

/// Returns: all bytes until the other side closes.
std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t n = ::read(descriptor, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

process_apart::process_apart(const std::function<std::string(const std::string&)>& answer) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  const pid_t asking = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    // It ends with the process that asks, and its own programs with it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != asking) ::_exit(not_asked);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // of what its programs leave behind
    ::close(ends[1]);
    work(answer, ends[0]);
  }
  const int error = errno;
  ::close(ends[0]);
  question_ = ends[1];
  if (process_ > 0) return;
  ::close(question_);
  throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(error));
}

process_apart::~process_apart() {
  if (question_ >= 0) ::close(question_);
  if (process_ > 0) static_cast<void>(wait());
}

void process_apart::work(const std::function<std::string(const std::string&)>& answer, int question) noexcept {
  ending how = failed;
  std::string text;
  try {
    text = read_to_end(question);
    if (text.empty()) ::_exit(not_asked);
    text = answer(text);
    how = answered;
  } catch (const std::exception& error) {
    text = error.what();
  }
  try {
    answer_.write(std::as_bytes(std::span(text)));
  } catch (const std::exception&) {
    how = not_asked;
  }
  ::_exit(how);
}

int process_apart::wait() noexcept {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

std::string process_apart::ask(const std::string& question) {
  if (!write_all(question_, question))
    throw std::runtime_error(std::string("cannot reach the measuring process: ") + std::strerror(errno));
  ::close(std::exchange(question_, -1));
  const int status = wait();
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(answer_.descriptor(), 0, SEEK_END), 0)), '\0');
  const ssize_t n = ::pread(answer_.descriptor(), text.data(), text.size(), 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == not_asked || n != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the measuring process died");
  if (WEXITSTATUS(status) == failed) throw std::runtime_error(text);
  return text;
}

}  // namespace ashlar::cli
