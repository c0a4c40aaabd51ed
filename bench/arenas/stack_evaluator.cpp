// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of temporaries that a recursive evaluator takes on its way down and frees on its way up.
//
// stack_evaluator <small|mixed|aligned> <peer> [--windows N]     one cell per process, one JSON line
// stack_evaluator --cells                                        the list of cells
//
// An expression of 20,000 operations over short vectors: an operation evaluates its left side into its own result, its
// right side into a temporary, and combines the first four numbers of each. The rest of a temporary stays untouched, so
// that the bench measures memory and not arithmetic.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stack_peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::uint32_t operations = 20'000;
constexpr std::size_t warm_up_windows = 5;
constexpr std::size_t numbers = 4;  // computed numbers of each vector

struct node {
  std::uint32_t left;  // 0: a leaf
  std::uint32_t right;
  std::uint32_t bytes;  // of the temporary
  std::uint32_t value;
};

struct expression {
  std::vector<node> nodes;
  std::uint32_t root = 0;
  std::size_t alignment = 8;
};

// Temporaries: `small` 32 bytes; `mixed` from 32 to 1024; `aligned` 256 bytes on cache lines.
class grower {
public:
  explicit grower(std::string_view kind) : is_mixed_(kind == "mixed"), bytes_(kind == "aligned" ? 256 : 32) {
    made_.nodes.emplace_back();
    made_.alignment = kind == "aligned" ? 64 : 8;
    made_.root = grow(operations);
  }

  expression take() { return std::move(made_); }

private:
  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }

  std::uint32_t grow(std::uint32_t left_to_make) {
    const auto index = static_cast<std::uint32_t>(made_.nodes.size());
    const std::uint32_t bytes = is_mixed_ ? 8 * (4 + below(125)) : bytes_;
    made_.nodes.push_back({0, 0, bytes, below(1000)});
    if (left_to_make == 0) return index;
    const std::uint32_t lefts = below(left_to_make);
    const std::uint32_t left = grow(lefts);
    const std::uint32_t right = grow(left_to_make - 1 - lefts);
    made_.nodes[index].left = left;
    made_.nodes[index].right = right;
    return index;
  }

  bool is_mixed_;
  std::uint32_t bytes_;
  std::mt19937 random_{1};
  expression made_;
};

template <class Memory>
void evaluate(const expression& of, std::uint32_t index, std::uint64_t* result, Memory& memory) {
  const node& at = of.nodes[index];
  if (at.left == 0) {
    for (std::size_t i = 0; i < numbers; ++i) result[i] = at.value + i;
    return;
  }
  evaluate(of, at.left, result, memory);
  memory.with(at.bytes, of.alignment, [&](void* p) {
    auto* const temporary = static_cast<std::uint64_t*>(p);
    evaluate(of, at.right, temporary, memory);
    for (std::size_t i = 0; i < numbers; ++i) result[i] = result[i] * 3 + (temporary[i] ^ at.value);
  });
}

struct seen {
  std::vector<double> costs;  // nanoseconds per operation of each window, in ascending order
  std::uint64_t result = 0;
  std::uint64_t peak_bytes = 0;
};

template <class Memory>
seen measure(const expression& of, std::size_t windows) {
  seen found;
  found.costs.resize(warm_up_windows + windows);
  std::array<std::uint64_t, numbers> result{};
  reset_peak_resident();
  const std::uint64_t before = resident_bytes();
  {
    Memory memory;
    escape(&memory);
    for (double& cost : found.costs) {
      const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
      evaluate(of, of.root, result.data(), memory);
      memory.end();
      cost = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / double(operations);
      found.result += result[3];
    }
    const std::uint64_t peak = peak_resident_bytes();
    found.peak_bytes = peak > before ? peak - before : 0;
  }
  found.costs.erase(found.costs.begin(), found.costs.begin() + warm_up_windows);
  std::sort(found.costs.begin(), found.costs.end());
  return found;
}

struct row {
  contender who;
  seen (*measure)(const expression&, std::size_t windows);
};

constexpr row rows[] = {
    {{"locals", "largest array, a local of each call (floor)", false}, measure<local_arrays>},
    {{"by_hand", "pointer bumped by hand (limit)", false}, measure<bumped_by_hand>},
    {{"glibc", "malloc and free, glibc", true}, measure<heap_temporaries>},
    {{"mimalloc", "malloc and free, mimalloc", true}, measure<heap_temporaries>},
    {{"jemalloc", "malloc and free, jemalloc", true}, measure<heap_temporaries>},
    {{"tcmalloc", "malloc and free, tcmalloc", true}, measure<heap_temporaries>},
    {{"pmr_monotonic", "pmr monotonic, released after each evaluation", true}, measure<monotonic_temporaries>},
    {{"pmr_pool", "pmr unsynchronized pool", true},
     measure<resource_temporaries<std::pmr::unsynchronized_pool_resource>>},
#if ASHLAR_BENCH_HAS_FOONATHAN
    {{"foonathan", "foonathan memory_stack, unwound", true}, measure<foonathan_temporaries>},
#endif
    {{"ashlar_arena", "ashlar::arena, reset after each evaluation", true}, measure<arena_temporaries>},
    {{"ashlar_arena_marks", "ashlar::arena, rewound", true}, measure<marked_temporaries<ashlar::arena<>>>},
    {{"ashlar_two_ended", "ashlar::two_ended_stack, front", true}, measure<front_temporaries>},
    {{"ashlar_marks", "ashlar::stack_resource, rewound", true}, measure<marked_temporaries<ashlar::stack_resource<>>>},
    {{"ashlar", "ashlar::stack_resource", true}, measure<resource_temporaries<ashlar::stack_resource<>>>},
};

constexpr std::array<std::string_view, 3> kinds{"small", "mixed", "aligned"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view kind : kinds)
    for (const row& r : rows) cells.add(kind, "", r.who, {kind, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: stack_evaluator <small|mixed|aligned> <peer> [--windows N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view kind = line.choice(0, kinds, [](std::string_view each) { return each; });
  const row& r = line.row(1, rows);
  const std::size_t windows = line.number("--windows", 300, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  const seen found = r.measure(grower(kind).take(), windows);
  std::puts(answer.count("operations", operations)
                .count("result", found.result)
                .count("peak_bytes", found.peak_bytes)
                .number("min_ns", found.costs.front())
                .number("median_ns", found.costs[found.costs.size() / 2])
                .number("p90_ns", found.costs[found.costs.size() * 9 / 10])
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
