// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of the first touch of a 4 KiB page, by the way in which its memory was mapped.
//
// fresh_memory <backed|unbacked> <way> [--mib N]     one cell per process, one JSON line
// fresh_memory --cells                               the list of cells
//
// Backed: the host of a virtual machine has lent the memory before. Unbacked: the guest had time to return its free
// memory. On bare metal, or in guests that keep their memory, both are the same.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "support/cells.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, younger than some C libraries
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

struct way {
  contender who;
  int map_flags;
  int advice;              // -1: none
  std::size_t step_bytes;  // bytes advised at a time, just before their touch; 0: all at once
};

constexpr way ways[] = {
    {{"plain", "plain", true}, 0, -1, 0},
    {{"populate_64k", "MADV_POPULATE_WRITE, 64 KiB", true}, 0, populate_write, std::size_t{64} << 10},
    {{"populate_256k", "MADV_POPULATE_WRITE, 256 KiB", true}, 0, populate_write, std::size_t{256} << 10},
    {{"populate_2m", "MADV_POPULATE_WRITE, 2 MiB", true}, 0, populate_write, std::size_t{2} << 20},
    {{"map_populate", "MAP_POPULATE", true}, MAP_POPULATE, -1, 0},
    {{"huge", "MADV_HUGEPAGE", true}, 0, MADV_HUGEPAGE, 0},
    {{"reserved_huge", "MAP_HUGETLB", true}, MAP_HUGETLB, -1, 0},
    {{"huge_populate_2m", "MADV_HUGEPAGE, populated by 2 MiB", true}, 0, populate_write, huge_page_bytes},
};

bool wants_huge_pages(const way& w) { return w.who.name.substr(0, 4) == "huge"; }

// Effects: advises, and exits as skipped if the kernel knows no such advice.
void advise(char* memory, std::size_t bytes, int advice) {
  if (::madvise(memory, bytes, advice) != 0) fail(exit_skipped, "skipped: this kernel refuses the advice");
}

void touch(char* memory, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes) *static_cast<volatile char*>(memory + offset) = 1;
}

// Returns: memory aligned to a huge page. The reservation around it stays, since the process ends soon.
char* map_aligned(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes + huge_page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(1, "no address space");
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return static_cast<char*>(memory) + (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
}

// Effects: maps the memory in the given way and touches every page of it.
void acquire(char* place, std::size_t bytes, const way& w) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | w.map_flags;
  const bool is_mapped = ::mmap(place, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
  if (!is_mapped && w.map_flags == MAP_HUGETLB) fail(exit_skipped, "skipped: too few huge pages are set aside");
  if (!is_mapped) fail(1, "no memory");
  if (wants_huge_pages(w)) advise(place, bytes, MADV_HUGEPAGE);
  if (w.step_bytes == 0) return touch(place, bytes);
  for (std::size_t offset = 0; offset < bytes; offset += w.step_bytes) {
    advise(place + offset, w.step_bytes, w.advice);
    touch(place + offset, w.step_bytes);
  }
}

void print_costs(const way& w, std::string_view host, std::size_t pages, const usage& acquired, const usage& unmapped) {
  const auto per_page = [&](double ms) { return ms * 1e6 / static_cast<double>(pages); };
  std::puts(json_object()
                .text("peer", w.who.name)
                .text("host", host)
                .count("pages", pages)
                .number("cpu_ns", per_page(acquired.cpu_ms))
                .number("wall_ns", per_page(acquired.wall_ms))
                .number("user_ns", per_page(acquired.user_ms))
                .number("sys_ns", per_page(acquired.sys_ms))
                .number("unmap_ns", per_page(unmapped.cpu_ms))
                .count("minor_faults", acquired.minor_faults)
                .str()
                .c_str());
}

void measure(const way& w, std::string_view host, std::size_t bytes) {
  if (host == "backed") borrow_from_host(bytes + bytes / 4, wants_huge_pages(w) ? MADV_HUGEPAGE : MADV_NORMAL);
  else ::sleep(4);
  char* const place = map_aligned(bytes);
  const usage start = usage::now();
  acquire(place, bytes, w);
  const usage touched = usage::now();
  ::munmap(place, bytes);
  print_costs(w, host, bytes / page_bytes, touched - start, usage::now() - touched);
}

cell_list all_cells() {
  cell_list cells;
  for (const char* host : {"backed", "unbacked"})
    for (const way& w : ways) cells.add(host, "", w.who, {host, w.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: fresh_memory <backed|unbacked> <way> [--mib N] | --cells\nways:" + names_of(ways);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view host = line.word(0);
  if (host != "backed" && host != "unbacked") line.usage_error();
  const way& w = line.row(1, ways);
  const std::size_t mib = line.number("--mib", 256, 2, 65'536);
  if (mib % 2 != 0) fail(exit_usage, "--mib wants an even number from 2 to 65536");
  measure(w, host, mib << 20);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
