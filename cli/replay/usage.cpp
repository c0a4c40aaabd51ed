// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads usage from the clock, getrusage and /proc, by system calls alone.
#include "cli/replay/usage.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

double to_ns(const timeval& t) noexcept {
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
}

/// Returns: the figure on the line of /proc/self/status that starts with `key`, in bytes.
std::uint64_t status_bytes(std::string_view key) noexcept {
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t n = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  const std::string_view all(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t at = all.find(key);
  return at == all.npos ? 0 : std::strtoull(text.data() + at + key.size(), nullptr, 10) * 1024;
}

}  // namespace

thread_usage thread_usage::now() noexcept {
  timespec cpu{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<double>(cpu.tv_sec) * 1e9 + static_cast<double>(cpu.tv_nsec), to_ns(usage.ru_utime),
          to_ns(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_minflt)};
}

void thread_usage::add(const thread_usage& start, const thread_usage& end) noexcept {
  cpu_ns += end.cpu_ns - start.cpu_ns;
  user_ns += end.user_ns - start.user_ns;
  system_ns += end.system_ns - start.system_ns;
  faults += end.faults - start.faults;
}

std::uint64_t resident_bytes() noexcept { return status_bytes("VmRSS:"); }
std::uint64_t peak_resident_bytes() noexcept { return status_bytes("VmHWM:"); }
std::uint64_t held_bytes() noexcept { return status_bytes("VmData:"); }

void reset_peak_resident() noexcept {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(!::write(file, "5", 1));
  ::close(file);
}

}  // namespace ashlar::cli
