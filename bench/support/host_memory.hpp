// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that is resident before a measurement: on a virtual machine pages lent by the host, and the program's code.
#pragma once

#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

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

// Effects: makes the code and the constants of the program and its libraries resident. Otherwise the first use of a
// heap that is compiled into the program adds its code to the peak, 64 KiB at a time, and that of a preloaded one does
// not. No effect before Linux 5.14.
inline void load_code() noexcept {
  static_cast<void>(::dl_iterate_phdr(
      [](dl_phdr_info* of, std::size_t, void*) {
        const auto page = static_cast<std::uintptr_t>(::getpagesize());
        constexpr int populate_read = 22;
        for (int i = 0; i < of->dlpi_phnum; ++i) {
          const auto& part = of->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
          const std::uintptr_t start = (of->dlpi_addr + part.p_vaddr) & ~(page - 1);
          const std::size_t bytes = of->dlpi_addr + part.p_vaddr + part.p_memsz - start;
          ::madvise(reinterpret_cast<void*>(start), bytes, populate_read);
        }
        return 0;
      },
      nullptr));
}

}  // namespace bench
