// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A temporary file never has a name, so that no end of the process leaves it; on file systems without such files it
// loses its name as soon as it is open. A scratch directory is made by its guard, which tells its name: there is none
// without.
#include "cli/support/temporary.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

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

temporary_file::temporary_file() {
  const fs::path directory = fs::temp_directory_path();
  name_ = (directory / "ashlar-XXXXXX").string();
  descriptor_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR, 0600);  // not O_CLOEXEC: the replays inherit it
  if (descriptor_ >= 0) return;
  descriptor_ = ::mkstemp(name_.data());
  if (descriptor_ < 0) fail("cannot make a temporary file " + name_);
  ::unlink(name_.c_str());
}

temporary_file::~temporary_file() { ::close(descriptor_); }

void temporary_file::write(std::span<const std::byte> bytes) {
  if (!write_all(descriptor_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    fail("cannot write to the temporary file " + name_ + " (TMPDIR chooses where)");
}

void temporary_file::rewrite_start(std::span<const std::byte> bytes) {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("cannot rewind the temporary file");
  write(bytes);
}

scratch_directory::scratch_directory() {
  const std::string wanted = (fs::temp_directory_path() / "ashlar-XXXXXX").string();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("cannot make a socket");
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

/// By vfork, since the memory of this process may be large; the child calls the system alone.
int run_self(own_part part) {
  const std::vector<char*> arguments = pointers(part.arguments), environment = pointers(part.environment);
  volatile int error = 0;
  const pid_t parent = ::getpid(), child = ::vfork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && (part.input < 0 || ::dup2(part.input, STDIN_FILENO) == STDIN_FILENO) &&
        ::dup2(part.from, part.to) == part.to)
      ::execve("/proc/self/exe", arguments.data(), environment.data());
    error = errno;
    ::_exit(127);
  }
  if (child > 0) errno = error;
  if (errno != 0) fail("cannot start a process");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("cannot wait for a process");
  return status;
}

}  // namespace ashlar::cli
