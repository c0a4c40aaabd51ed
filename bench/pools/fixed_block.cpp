// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of an allocation and its free, for blocks of one size, in four orders of frees.
//
// fixed_block <16|24|64|256> <pair|lifo|fifo|random> <peer> [--windows N]     one cell per process, one JSON line
// fixed_block --cells                                                         the list of cells

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fixed_block_peers.hpp"
#include "support/cells.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t batch = 1000;
constexpr std::size_t rounds_per_window = 100;  // 100,000 pairs: the two clock calls of a window cost below 0.1 %
constexpr std::size_t warm_up_windows = 5;

using order = std::array<std::uint16_t, batch>;
using blocks = std::array<void*, batch>;

// Writes the first word of the block as any caller does, so that no code may assume its contents.
void use(void* block, std::uint64_t value) noexcept {
  *static_cast<std::uint64_t*>(block) = value;
  escape(block);
}

template <class Pool>
void run_pairs(Pool& pool) {
  for (std::size_t i = 0; i < batch; ++i) {
    void* const block = pool.allocate();
    use(block, i);
    pool.deallocate(block);
    escape(&pool);
  }
}

template <class Pool>
void fill(Pool& pool, blocks& held) {
  for (std::size_t i = 0; i < batch; ++i) {
    held[i] = pool.allocate();
    use(held[i], i);
  }
}

template <class Pool>
void run_batch(Pool& pool, blocks& held, const order& frees) {
  fill(pool, held);
  for (const std::uint16_t i : frees) {
    pool.deallocate(held[i]);
    escape(&pool);
  }
}

// The orders of the frees of a window's batches, used in turn: sixteen shuffles, which no predictor of branches or
// addresses learns, or one straight order.
std::vector<order> orders_of(std::string_view pattern) {
  order straight;
  std::iota(straight.begin(), straight.end(), std::uint16_t{0});
  if (pattern == "lifo") std::reverse(straight.begin(), straight.end());
  std::vector<order> orders(16, straight);
  std::mt19937 random(42);
  if (pattern == "random")
    for (order& o : orders) std::shuffle(o.begin(), o.end(), random);
  return orders;
}

template <class Pool>
double window_ns(Pool& pool, blocks& held, const std::vector<order>& orders, bool pairs) {
  const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t round = 0; round < rounds_per_window; ++round) {
    if (pairs) run_pairs(pool);
    else run_batch(pool, held, orders[round % orders.size()]);
  }
  return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(batch * rounds_per_window);
}

// Returns: nanoseconds for each pair of each window, in ascending order.
template <class Pool>
std::vector<double> measure(std::string_view pattern, std::size_t windows) {
  const std::vector<order> orders = orders_of(pattern);
  const auto pool = std::make_unique<Pool>();
  const auto held = std::make_unique<blocks>();
  escape(pool.get());
  std::vector<double> costs(warm_up_windows + windows);
  for (double& cost : costs) cost = window_ns(*pool, *held, orders, pattern == "pair");
  costs.erase(costs.begin(), costs.begin() + warm_up_windows);
  std::sort(costs.begin(), costs.end());
  return costs;
}

using measurement = std::vector<double> (*)(std::string_view pattern, std::size_t windows);

constexpr std::array<std::string_view, 4> sizes{"16", "24", "64", "256"};
constexpr std::array<std::string_view, 4> patterns{"pair", "lifo", "fifo", "random"};

struct row {
  contender who;
  std::array<measurement, sizes.size()> by_size;
};

template <template <std::size_t> class Pool>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, {measure<Pool<16>>, measure<Pool<24>>, measure<Pool<64>>, measure<Pool<256>>}};
}

constexpr row rows[] = {
    row_of<null_blocks>("null", "null (floor: the loop)", false),
    row_of<free_list_blocks>("free_list", "bare free list (limit)", false),
    row_of<malloc_blocks>("glibc", "malloc, glibc"),
    row_of<malloc_blocks>("mimalloc", "malloc, mimalloc"),
    row_of<malloc_blocks>("jemalloc", "malloc, jemalloc"),
    row_of<malloc_blocks>("tcmalloc", "malloc, tcmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_blocks>("boost_pool", "boost::pool"),
#endif
    row_of<pmr_blocks>("pmr_pool", "pmr unsynchronized pool"),
    row_of<ashlar_blocks>("ashlar", "ashlar::block_pool"),
    row_of<ashlar_fixed_blocks>("ashlar_fixed", "ashlar::fixed_block_pool"),
};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view size : sizes)
    for (const std::string_view pattern : patterns)
      for (const row& r : rows) cells.add(size, pattern, r.who, {size, pattern, r.who.name});
  return cells;
}

void print_costs(const row& r, std::string_view size, std::string_view pattern, const std::vector<double>& costs,
                 const std::string& malloc_name) {
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("bytes", size)
                .text("pattern", pattern)
                .text("malloc", malloc_name)
                .text("malloc_version", find_malloc_library(r.who.name) != nullptr ? malloc_version() : "")
                .count("windows", costs.size())
                .number("min_ns", costs.front())
                .number("median_ns", costs[costs.size() / 2])
                .number("p90_ns", costs[costs.size() * 9 / 10])
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: fixed_block <16|24|64|256> <pair|lifo|fifo|random> <peer> [--windows N] | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto itself = [](std::string_view name) { return name; };
  const std::string_view& size = line.choice(0, sizes, itself);
  const std::string_view pattern = line.choice(1, patterns, itself);
  const row& r = line.row(2, rows);
  const std::size_t windows = line.number("--windows", 200, 1, 100'000);
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  const auto index = static_cast<std::size_t>(&size - std::data(sizes));
  print_costs(r, size, pattern, r.by_size[index](pattern, windows), malloc_name);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
