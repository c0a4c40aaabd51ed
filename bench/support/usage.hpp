// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The use of a process so far (time, page faults, resident memory), read without allocating.
#pragma once

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace bench {

inline double clock_ms(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Time and faults since the process began. cpu_ms is exact; the kernel splits it into user and system time by sampling
// on some configurations, so short spans have coarse user_ms and sys_ms. On Windows these and the faults are 0.
struct usage {
  double wall_ms = 0, cpu_ms = 0, user_ms = 0, sys_ms = 0;
  std::uint64_t minor_faults = 0, major_faults = 0;

#if defined(_WIN32)
  static usage now() noexcept { return {clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID), 0, 0, 0, 0}; }
#else
  static usage now() noexcept {
    rusage r{};
    ::getrusage(RUSAGE_SELF, &r);
    const auto ms = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3;
    };
    return {clock_ms(CLOCK_MONOTONIC),
            clock_ms(CLOCK_PROCESS_CPUTIME_ID),
            ms(r.ru_utime),
            ms(r.ru_stime),
            static_cast<std::uint64_t>(r.ru_minflt),
            static_cast<std::uint64_t>(r.ru_majflt)};
  }
#endif

  friend usage operator-(const usage& a, const usage& b) noexcept {
    return {a.wall_ms - b.wall_ms,           a.cpu_ms - b.cpu_ms,
            a.user_ms - b.user_ms,           a.sys_ms - b.sys_ms,
            a.minor_faults - b.minor_faults, a.major_faults - b.major_faults};
  }

  friend usage operator+(const usage& a, const usage& b) noexcept {
    return {a.wall_ms + b.wall_ms,           a.cpu_ms + b.cpu_ms,
            a.user_ms + b.user_ms,           a.sys_ms + b.sys_ms,
            a.minor_faults + b.minor_faults, a.major_faults + b.major_faults};
  }
};

#if !defined(_WIN32)

// Returns: the bytes of a "Name:  123 kB" line of a file in /proc, or 0.
inline std::uint64_t proc_bytes(const char* file, const char* name) noexcept {
  static char text[8192];
  const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[length > 0 ? length : 0] = '\0';
  const char* line = std::strstr(text, name);
  return line != nullptr ? std::strtoull(line + std::strlen(name), nullptr, 10) * 1024 : 0;
}

// The kernel counts these for each core and adds them up sometimes: right to some hundred KiB.
inline std::uint64_t resident_bytes() noexcept { return proc_bytes("/proc/self/status", "VmRSS:"); }
inline std::uint64_t peak_resident_bytes() noexcept { return proc_bytes("/proc/self/status", "VmHWM:"); }

// Returns: the resident bytes outside of files, to the page. Walks the page tables: milliseconds for gigabytes.
inline std::uint64_t anonymous_bytes() noexcept { return proc_bytes("/proc/self/smaps_rollup", "\nAnonymous:"); }

// Effects: sets the peak to the resident bytes of now (getrusage's own maximum survives exec, this one does not).
inline void reset_peak_resident() noexcept {
  const int fd = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, "5", 1);
  ::close(fd);
}

#endif

}  // namespace bench
