// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On a virtual machine, makes the host lend its memory before the clock starts.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace bench {

// Effects: a child process touches `bytes` and ends, so that the host has probably backed the next pages of the kernel
// already. A guest returns free memory to its host within seconds; without this call, a process with such pages pays
// more for each first touch, on any allocator. Huge pages come from other free memory than small ones: for them
// `advice` is MADV_HUGEPAGE.
inline void borrow_from_host(std::size_t bytes, int advice = MADV_NORMAL) noexcept {
  const pid_t child = ::fork();
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (child != 0) return;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  ::madvise(memory, bytes, advice);
  for (std::size_t offset = 0; offset < bytes; offset += 4096) static_cast<volatile char*>(memory)[offset] = 1;
  ::_exit(0);
}

}  // namespace bench
