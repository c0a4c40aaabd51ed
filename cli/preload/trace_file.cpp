// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens, names and writes the trace file without ever disturbing the recorded program.
#include "cli/preload/trace_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/format.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/status.hpp"

namespace ashlar::recorder {

namespace {

/// Our descriptor is moved to here or above, so that the program gets the same numbers as without us.
int lowest_descriptor() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1024) return 1000;
  return limit.rlim_cur > 16 ? static_cast<int>(limit.rlim_cur) - 8 : 0;
}

/// A write that fails with EFBIG or EPIPE has raised a signal too. All signals are blocked here, so it is pending.
void swallow_signal(int error) noexcept {
  const int raised = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
  if (raised == 0) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, raised);
  const timespec now{};
  sigtimedwait(&set, nullptr, &now);
}

}  // namespace

bool trace_file::configure() noexcept {
  const char* const file = std::getenv(file_variable);
  if (file == nullptr || *file == '\0' || std::strlen(file) >= sizeof pattern_storage_) return false;
  std::strcpy(pattern_storage_, file);
  const char* const first = std::getenv(first_variable);
  const char* const stacks = std::getenv(stacks_variable);
  process_ = getpid();
  is_first_ = first == nullptr || std::atol(first) == process_;
  stack_depth_ = stacks == nullptr ? 0 : static_cast<std::uint32_t>(std::atol(stacks));
  read_command_line();
  start_clock();
  return true;
}

void trace_file::restart() noexcept {
  lock_.unlock();
  if (fd_ >= 0 && still_ours()) close(fd_);
  fd_ = -1;
  started_ = failed_ = is_first_ = false;
  written_ = 0;
  process_ = getpid();
  start_clock();
}

void trace_file::start_clock() noexcept {
  start_unix_ns_ = clock_ns(CLOCK_REALTIME);
  start_ns_ = clock_ns(CLOCK_MONOTONIC);
  start_ticks_ = ticks();
}

void trace_file::read_command_line() noexcept {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char* const text = reinterpret_cast<char*>(&header_[detail::trace_io::file_header_bytes]);
  const std::size_t room = sizeof header_ - detail::trace_io::file_header_bytes - 8;
  const ssize_t n = read(fd, text, room);
  close(fd);
  command_bytes_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  if (command_bytes_ != 0) text[command_bytes_ - 1] = '\0';
}

/// "%p" becomes the process id. A path without it belongs to the first process, the others append theirs.
void trace_file::choose_path() noexcept {
  const char* const hole = std::strstr(pattern_storage_, "%p");
  if (hole == nullptr) {
    std::snprintf(path_, sizeof path_, is_first_ ? "%s" : "%s.%d", pattern_storage_, static_cast<int>(process_));
  } else {
    std::snprintf(path_, sizeof path_, "%.*s%d%s", static_cast<int>(hole - pattern_storage_), pattern_storage_,
                  static_cast<int>(process_), hole + 2);
  }
}

bool trace_file::write(std::span<const std::byte> chunk) noexcept {
  const ashlar::lock_scope hold(lock_);
  if (failed_) return false;
  if (!ensure_open()) return give_up(errno);
  if (!is_whole()) return give_up(detail::trace_io::cut_by_program);
  return write_all(chunk) || give_up(errno);
}

bool trace_file::give_up(int error) noexcept {
  failed_ = true;
  mark_failure(error);
  tell_failure(error, path_);
  return false;
}

/// In place, which needs no room on a full disk. No append follows, so the descriptor may move to the start.
void trace_file::mark_failure(int error) noexcept {
  if (!started_ || !still_ours() || fcntl(fd_, F_SETFL, 0) != 0) return;
  const std::span header = make_file_header(error);
  static_cast<void>(pwrite(fd_, header.data(), header.size(), 0) == 0);
}

bool trace_file::ensure_open() noexcept {
  if (started_) return still_ours() || open_path(0);
  if (!create()) return false;
  started_ = write_file_header();
  if (started_) tell_trace();
  return started_;
}

/// A program may truncate every descriptor it finds.
bool trace_file::is_whole() const noexcept {
  struct stat now{};
  return fstat(fd_, &now) == 0 && (!S_ISREG(now.st_mode) || static_cast<std::uint64_t>(now.st_size) >= written_);
}

/// A program may close every unknown descriptor, and reuse the number for its own file.
bool trace_file::still_ours() const noexcept {
  struct stat now{};
  return fstat(fd_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

/// The first process takes the file that `ashlar record` made for it, while it is empty. Every other file is new: after
/// an exec the process id is the same, so a number is appended until the name is free.
bool trace_file::create() noexcept {
  choose_path();
  if (is_first_ && open_path(O_CREAT)) {
    struct stat now{};
    if (fstat(fd_, &now) == 0 && (now.st_size == 0 || !S_ISREG(now.st_mode))) return true;
    close(fd_);
    is_first_ = false;
    choose_path();
  }
  const std::size_t length = std::strlen(path_);
  for (int i = 2; i < 1000; ++i) {
    if (open_path(O_CREAT | O_EXCL)) return true;
    if (errno != EEXIST) return false;
    std::snprintf(path_ + length, sizeof path_ - length, ".%d", i);
  }
  return false;
}

bool trace_file::open_path(int flags) noexcept {
  const int fd = open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
  return fd >= 0 && adopt(fd);
}

/// Returns: false with the reason in errno, which closing the descriptor does not change.
bool trace_file::adopt(int fd) noexcept {
  struct stat now{};
  if (fstat(fd, &now) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, lowest_descriptor());
  if (high >= 0) close(fd);
  fd_ = high >= 0 ? high : fd;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  return true;
}

std::span<const std::byte> trace_file::make_file_header(int write_error) noexcept {
  detail::trace_io::put_header(
      header_, detail::trace_io::file_header{.clock = clock_counts ? detail::trace_io::clock_kind::ticks
                                                                   : detail::trace_io::clock_kind::nanoseconds,
                                             .process = static_cast<std::uint32_t>(process_),
                                             .page_bytes = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)),
                                             .write_error = static_cast<std::uint16_t>(write_error),
                                             .start_ns = start_ns_,
                                             .start_unix_ns = start_unix_ns_,
                                             .stack_depth = stack_depth_,
                                             .text_bytes = static_cast<std::uint32_t>(command_bytes_)});
  const std::span summed(header_, detail::trace_io::file_header_bytes + command_bytes_);
  detail::trace_io::put_word(header_ + summed.size(), detail::trace_io::checksum(summed));
  return {header_, summed.size() + 8};
}

bool trace_file::write_file_header() noexcept { return write_all(make_file_header(0)); }

/// Returns: false with the reason in errno. An incomplete chunk is removed, so that the file ends with a complete one.
bool trace_file::write_all(std::span<const std::byte> bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    const int error = n < 0 ? errno : ENOSPC;
    swallow_signal(error);
    struct stat now{};
    if (done != 0 && fstat(fd_, &now) == 0)
      static_cast<void>(ftruncate(fd_, now.st_size - static_cast<off_t>(done)) == 0);
    errno = error;
    return false;
  }
  written_ += bytes.size();
  return true;
}

}  // namespace ashlar::recorder
