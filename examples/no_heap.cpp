// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that must not use the heap, and the temporaries of pmr::string that do so unseen.
//
// Linked with ashlar::no_heap_hooks: see examples/CMakeLists.txt.
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

#include <ashlar/os/no_heap_scope.hpp>

namespace {

constexpr const char* line = "a line of a log that is too long for any small string optimisation";

// Looks right, but the temporary does not have the arena: it is made on the default heap, then copied.
void log_by_temporaries(std::pmr::vector<std::pmr::string>& lines) { lines.push_back(std::pmr::string(line)); }

// Is right: the string is made in place, with the allocator of the vector.
void log_in_place(std::pmr::vector<std::pmr::string>& lines) { lines.emplace_back(line); }

std::size_t heap_uses(void (*log)(std::pmr::vector<std::pmr::string>&)) {
  std::array<std::byte, 16 * 1024> memory;
  std::pmr::monotonic_buffer_resource arena(memory.data(), memory.size(), std::pmr::null_memory_resource());
  std::pmr::vector<std::pmr::string> lines(&arena);
  const ashlar::no_heap_scope counted(ashlar::no_heap_scope::count_use);
  for (int i = 0; i < 32; ++i) log(lines);
  return counted.uses();
}

}  // namespace

int main() {
  const std::size_t trapped = heap_uses(log_by_temporaries);
  const std::size_t clean = heap_uses(log_in_place);
  std::printf("32 lines by temporaries: the heap was used %zu times\n32 lines in place: %zu times\n", trapped, clean);

  const ashlar::no_heap_scope quiet;  // from here on a use ends the program with a report
  {
    const ashlar::allow_heap_scope known;
    std::puts("the first line of a stream may allocate its buffer");
  }
  return trapped == 32 && clean == 0 ? 0 : 1;
}
