// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that includes the headers of Windows after the library: its declarations and theirs agree. What the library
// does in it is what it does in windows_first: a macro does not change what was read before.
#include "all_headers.hpp"

#include <windows.h>

int main() {
  MEMORY_BASIC_INFORMATION about = {};
  void* const p = ashlar::os::pages::map(4096, 4096);
  const bool agrees = ::VirtualQuery(p, &about, sizeof about) == sizeof about && about.State == MEM_COMMIT &&
                      ashlar::detail::windows::region_at(p).reservation == about.AllocationBase;
  return agrees && ashlar::os::pages::release(p, 4096) ? 0 : 1;
}
