// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that a heap holds for its live blocks, and the cost of purging or retaining memory.
//
// heap_memory <workload> <peer> [--percent N]     one cell per process, one JSON line
// heap_memory --cells                             the list of cells

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "memory_workloads.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/program.hpp"
#include "support/trim.hpp"

namespace bench {
namespace {

struct malloc_heap {
  void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void free(void* p) noexcept { std::free(p); }
  void trim() noexcept { trim_malloc(); }
};

template <class Upstream>
class local_heap {
public:
  void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
  void free(void* p) noexcept { heap_.deallocate(p); }
  void trim() noexcept { heap_.trim(); }

private:
  ashlar::local_heap<Upstream> heap_;
};

using huge_pages = ashlar::basic_page_resource<ashlar::fresh::huge>;

constexpr std::array<std::string_view, 7> workloads{"small",        "mixed",          "phases", "drift",
                                                    "huge_touched", "huge_untouched", "swing"};

using measurement = outcome (*)(std::size_t percent);

struct row {
  contender who;
  std::array<measurement, workloads.size()> by_workload;
};

template <class Heap>
constexpr row row_of(std::string_view name, std::string_view what) {
  return {{name, what, true},
          {small<Heap>, mixed<Heap>, phases<Heap>, drift<Heap>, huge_touched<Heap>, huge_untouched<Heap>, swing<Heap>}};
}

constexpr row rows[] = {
    row_of<malloc_heap>("glibc", "glibc, malloc_trim"),
    row_of<malloc_heap>("mimalloc", "mimalloc, mi_collect"),
    row_of<malloc_heap>("jemalloc", "jemalloc, arena purge"),
    row_of<malloc_heap>("tcmalloc", "tcmalloc, ReleaseFreeMemory"),
    row_of<malloc_heap>("rpmalloc", "rpmalloc, thread_collect"),
    row_of<malloc_heap>("snmalloc", "snmalloc (no call)"),
    row_of<local_heap<ashlar::page_resource>>("ashlar", "ashlar::local_heap, trim"),
    row_of<local_heap<huge_pages>>("ashlar_huge_pages", "ashlar::local_heap on huge pages, trim"),
};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view workload : workloads)
    for (const row& r : rows) cells.add(workload, "", r.who, {workload, r.who.name});
  return cells;
}

void print_outcome(json_object& answer, std::string_view workload, const outcome& o) {
  const auto pairs = static_cast<double>(o.pairs);
  answer.text("workload", workload)
      .count("pairs", o.pairs)
      .number("pair_ns", o.work.cpu_ms * 1e6 / pairs)
      .number("faults_per_pair", static_cast<double>(o.work.minor_faults) / pairs)
      .count("live_bytes", o.live_bytes)
      .count("peak_bytes", o.peak_bytes)
      .number("peak_ratio", static_cast<double>(o.peak_bytes) / static_cast<double>(o.live_bytes))
      .count("held_bytes", o.held_bytes)
      .count("later_bytes", o.later_bytes)
      .count("trimmed_bytes", o.trimmed_bytes)
      .number("trim_ms", o.trim_ms)
      .count("freed_bytes", o.freed_bytes)
      .count("emptied_bytes", o.emptied_bytes);
  std::puts(answer.str().c_str());
}

std::string usage_text() {
  return "usage: heap_memory <workload> <peer> [--percent N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view workload = line.choice(0, workloads, [](std::string_view each) { return each; });
  const row& r = line.row(1, rows);
  const std::size_t percent = line.number("--percent", 100, 5, 100);
  json_object answer = answer_of(r.who.name, line.argv());
  borrow_from_host(512 * mib);
  const auto index = std::find(workloads.begin(), workloads.end(), workload) - workloads.begin();
  print_outcome(answer, workload, r.by_workload[static_cast<std::size_t>(index)](percent));
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
