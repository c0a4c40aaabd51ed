// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The trust in the processor's counter: it must be invariant, and the kernel must not have rejected it.
#include "cli/preload/clock.hpp"

#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace ashlar::recorder {

bool clock_counts = false;

namespace {

bool is_invariant() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

/// The kernel changes to one of these timers when the counters of the cores disagree.
bool kernel_distrusts_it() noexcept {
  char name[32] = {};
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  if (n <= 0) return false;
  for (const char* fallback : {"hpet", "acpi_pm", "jiffies", "refined-jiffies"})
    if (std::strncmp(name, fallback, std::strlen(fallback)) == 0) return true;
  return false;
}

}  // namespace

void choose_clock() noexcept { clock_counts = is_invariant() && !kernel_distrusts_it(); }

}  // namespace ashlar::recorder
