// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads /proc/self/status, and asks the kernel which pages of the recorder's own memory are resident.
#include "cli/preload/memory_use.hpp"

#include <fcntl.h>
#include <sys/mman.h>

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte __bss_start[], _end[];  // of this library, by its linker
}

namespace ashlar::recorder {

memory_use own_memory() noexcept {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const memory_use found = memory_from(fd);
  close(fd);
  return found;
}

std::uint64_t resident_part(const void* begin, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto at = reinterpret_cast<std::uintptr_t>(begin) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
  std::uint64_t pages = 0;
  unsigned char is_resident[512];
  for (; at < end; at += sizeof is_resident * page) {
    const std::size_t left = (end - at + page - 1) / page, n = std::min(left, sizeof is_resident);
    if (mincore(reinterpret_cast<void*>(at), n * page, is_resident) != 0) return bytes;
    for (std::size_t i = 0; i < n; ++i) pages += is_resident[i] & 1U;
  }
  return pages * page;
}

std::uint64_t resident_variables() noexcept {
  return resident_part(__bss_start, static_cast<std::size_t>(_end - __bss_start));
}

}  // namespace ashlar::recorder
