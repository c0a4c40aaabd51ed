// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard makes the directory, so that there is none without a guard, and tells its name.
#include "cli/support/scratch_directory.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support/write_all.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

/// Effects: keeps `life` alone, so that no pipe of the command stays open, and no terminal or group has a signal for
/// it.
void leave_everything_but(int& life) {
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
  constexpr int kept = STDERR_FILENO + 1;
  life = ::dup2(life, kept);
  ::syscall(SYS_close_range, kept + 1, ~0U, 0);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 512> piece;
  for (ssize_t n = 0; (n = ::read(descriptor, piece.data(), piece.size())) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
  return text;
}

/// A process that the command started may write for a moment longer.
void remove_with_late_files(const std::string& path) {
  std::error_code failed;
  for (int tries = 0; tries < 20; ++tries) {
    fs::remove_all(path, failed);
    if (!failed) return;
    ::usleep(50'000);
  }
}

[[noreturn]] void guard(std::string path, int life) {
  leave_everything_but(life);
  if (::mkdtemp(path.data()) == nullptr) ::_exit(1);
  if (write_all(life, path)) {  // else the command has ended already
    ::shutdown(life, SHUT_WR);
    read_all(life);
  }
  remove_with_late_files(path);
  ::_exit(0);
}

}  // namespace

scratch_directory::scratch_directory() {
  const std::string wanted = (fs::temp_directory_path() / "ashlar-XXXXXX").string();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(std::string("cannot make a socket: ") + std::strerror(errno));
  guard_ = ::fork();
  if (guard_ == 0) {
    ::close(ends[0]);
    guard(wanted, ends[1]);
  }
  life_ = ends[0];
  ::close(ends[1]);
  if (guard_ > 0) path_ = read_all(life_);
  if (path_.empty()) throw std::runtime_error("cannot make " + wanted + " (TMPDIR chooses where)");
}

scratch_directory::~scratch_directory() {
  ::close(life_);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace ashlar::cli
