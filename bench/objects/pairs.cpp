// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of an object that is acquired and released at once: allocate, construct, destroy, deallocate.
//
// object_pairs <64|large> <O3|O2> <peer> [--windows N]     one cell of the table per process, one JSON line
// object_pairs --cells                                     the list of cells

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ashlar.hpp"
#include "peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/optimised_twin.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t pairs_per_window = 100'000;  // the two clock calls of a window cost below 0.1 %
constexpr std::size_t warm_up_windows = 5;

using small_object = pooled_object<64, writes::all>;
using large_object = pooled_object<std::size_t{1000} * 1024, writes::ends>;

template <class Pool>
double window_ns(Pool& pool) {
  const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t i = 0; i < pairs_per_window; ++i) {
    auto object = pool.acquire(i);
    escape(&*object);
    pool.release(object);
    escape(&pool);
  }
  return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / double(pairs_per_window);
}

// Returns: nanoseconds for each pair of each window, in ascending order.
template <class Pool>
std::vector<double> measure(std::size_t windows) {
  const auto pool = std::make_unique<Pool>(1000);
  escape(pool.get());
  std::vector<double> costs(warm_up_windows + windows);
  for (double& cost : costs) cost = window_ns(*pool);
  costs.erase(costs.begin(), costs.begin() + warm_up_windows);
  std::sort(costs.begin(), costs.end());
  return costs;
}

constexpr std::array<std::string_view, 2> sizes{"64", "large"};

struct row {
  contender who;
  std::array<std::vector<double> (*)(std::size_t windows), sizes.size()> by_size;
};

template <template <class> class Pool>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, {measure<Pool<small_object>>, measure<Pool<large_object>>}};
}

constexpr row rows[] = {
    row_of<stack_objects>("stack", "array as a stack (floor)", false),
    row_of<free_list_objects>("free_list", "intrusive free list (limit)", false),
    row_of<heap_objects>("glibc", "new and delete, glibc"),
    row_of<heap_objects>("mimalloc", "new and delete, mimalloc"),
    row_of<heap_objects>("jemalloc", "new and delete, jemalloc"),
    row_of<heap_objects>("tcmalloc", "new and delete, tcmalloc"),
    row_of<shared_objects>("make_shared", "std::make_shared, glibc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_objects>("boost_object_pool", "boost::object_pool"),
    row_of<boost_pool_objects>("boost_pool", "boost::pool"),
#endif
#if ASHLAR_BENCH_HAS_FOONATHAN
    row_of<foonathan_objects>("foonathan", "foonathan memory_pool"),
#endif
#if ASHLAR_BENCH_HAS_BOOST
    row_of<counted_list_objects>("counted_list", "counted, intrusive free list (limit)", false),
    row_of<boost_counted_objects>("boost_intrusive", "boost::intrusive_ptr(new), glibc"),
    row_of<arena_objects>("arenas", "counted, constructed arenas (a technique)"),
#endif
    row_of<recycled_objects>("recycled", "recycled shared_ptr (a technique)"),
    row_of<ashlar_objects>("ashlar", "ashlar::object_pool"),
    row_of<ashlar_handles>("ashlar_make", "ashlar::object_pool, handles"),
    row_of<ashlar_growing_objects>("ashlar_growing", "ashlar::object_pool, growing"),
    row_of<ashlar_ref_objects>("ashlar_ref", "ashlar::ref_pool"),
    row_of<ashlar_final_objects>("ashlar_ref_final", "ashlar::ref_pool, final class"),
    row_of<ashlar_intrusive_objects>("ashlar_intrusive", "ashlar::intrusive_pool"),
    row_of<ashlar_kept_objects>("ashlar_kept", "ashlar::intrusive_pool, kept constructed"),
    row_of<ashlar_shared_objects>("ashlar_shared", "ashlar::allocate_shared_pooled"),
};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view size : sizes)
    for (const std::string_view level : optimisations)
      for (const row& r : rows) cells.add(size, std::string("-").append(level), r.who, {size, level, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: object_pairs <64|large> <O3|O2> <peer> [--windows N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto same = [](std::string_view each) { return each; };
  const auto size = &line.choice(0, sizes, same) - sizes.data();
  choose_optimisation(line.choice(1, optimisations, same), line.argv());
  const row& r = line.row(2, rows);
  const std::size_t windows = line.number("--windows", 100, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  const std::vector<double> costs = r.by_size[static_cast<std::size_t>(size)](windows);
  std::puts(answer.count("windows", costs.size())
                .number("min_ns", costs.front())
                .number("median_ns", costs[costs.size() / 2])
                .number("p90_ns", costs[costs.size() * 9 / 10])
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
