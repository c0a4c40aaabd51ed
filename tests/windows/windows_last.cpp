// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that includes the headers of Windows after the library: its declarations and theirs agree.
#include "all_headers.hpp"
#include "tests/windows/program.hpp"

#include <windows.h>

int main() {
  MEMORY_BASIC_INFORMATION about = {};
  void* const p = ashlar::os::pages::map(4096, 4096);
  const bool agrees = ::VirtualQuery(p, &about, sizeof about) == sizeof about && about.State == MEM_COMMIT &&
                      ashlar::detail::windows::region_at(p).reservation == about.AllocationBase;
  return agrees && ashlar::os::pages::release(p, 4096) && ashlar_test::resources_work() ? 0 : 1;
}
