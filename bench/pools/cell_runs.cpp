// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of many cells at once: a batch in one call, and a run of neighbours, beside one call for each or malloc.
//
// cell_runs <many|run4|run16|run48> <peer> [--rounds N]     one cell of the table per process, one JSON line
// cell_runs --cells                                         the list of cells

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/resource/fixed_block_pool.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t cell_bytes = 16;
constexpr std::size_t batch = 1000;  // calls before the frees, or cells in one call

using blocks = std::array<void*, batch>;

struct malloc_runs {
  void* allocate(std::size_t cells) noexcept { return std::malloc(cells * cell_bytes); }
  void deallocate(void* p, std::size_t) noexcept { std::free(p); }
};

class pmr_runs {
public:
  void* allocate(std::size_t cells) { return resource_.allocate(cells * cell_bytes); }
  void deallocate(void* p, std::size_t cells) { resource_.deallocate(p, cells * cell_bytes); }

private:
  std::pmr::unsynchronized_pool_resource resource_;
};

class ashlar_runs {
public:
  void* allocate(std::size_t cells) { return cells == 1 ? pool_.allocate() : pool_.allocate_run(cells); }
  void deallocate(void* p, std::size_t cells) noexcept {
    if (cells == 1) pool_.deallocate(p);
    else pool_.deallocate_run(p, cells);
  }

protected:
  ashlar::fixed_block_pool<cell_bytes> pool_;
};

struct ashlar_bulk : ashlar_runs {
  void allocate_all(blocks& into) { pool_.allocate_many(into); }
  void deallocate_all(const blocks& from) noexcept { pool_.deallocate_many(from); }
};

void use(blocks& held) noexcept {
  for (void* const each : held) *static_cast<std::uint64_t*>(each) = 1;
  escape(&held);
}

template <class Pool>
void run_batch(Pool& pool, blocks& held, std::size_t cells, const std::vector<std::uint16_t>& order) {
  if constexpr (requires { pool.allocate_all(held); }) {
    pool.allocate_all(held), use(held), pool.deallocate_all(held);
  } else {
    for (void*& each : held) each = pool.allocate(cells);
    use(held);
    for (const std::uint16_t at : order) pool.deallocate(held[at], cells);
  }
}

// Batches are freed in their own order; runs, whose neighbours differ, in a random order.
std::vector<std::uint16_t> order_of_frees(std::size_t cells) {
  std::vector<std::uint16_t> order;
  for (std::uint16_t i = 0; i < batch; ++i) order.push_back(i);
  if (cells != 1) std::shuffle(order.begin(), order.end(), std::mt19937(42));
  return order;
}

// Returns: nanoseconds for an allocation and its free, the median of the rounds of 100 batches.
template <class Pool>
double measure(std::size_t cells, std::size_t rounds) {
  const std::vector<std::uint16_t> order = order_of_frees(cells);
  Pool pool;
  blocks held;
  std::vector<double> costs(rounds + 5);
  for (double& cost : costs) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 100; ++i) run_batch(pool, held, cells, order);
    cost = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / (100.0 * batch);
  }
  costs.erase(costs.begin(), costs.begin() + 5);  // the first warm up
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

struct row {
  contender who;
  double (*measure)(std::size_t cells, std::size_t rounds);
  bool batches_only = false;
};

constexpr row rows[] = {
    {{"glibc", "malloc, glibc", true}, measure<malloc_runs>},
    {{"mimalloc", "malloc, mimalloc", true}, measure<malloc_runs>},
    {{"jemalloc", "malloc, jemalloc", true}, measure<malloc_runs>},
    {{"tcmalloc", "malloc, tcmalloc", true}, measure<malloc_runs>},
    {{"rpmalloc", "malloc, rpmalloc", true}, measure<malloc_runs>},
    {{"snmalloc", "malloc, snmalloc", true}, measure<malloc_runs>},
    {{"pmr_pool", "pmr unsynchronized pool", true}, measure<pmr_runs>},
    {{"ashlar", "ashlar::fixed_block_pool", true}, measure<ashlar_runs>},
    {{"ashlar_bulk", "ashlar::fixed_block_pool, _many", true}, measure<ashlar_bulk>, true},
};

struct shape {
  std::string_view name;
  std::size_t cells;
};
constexpr shape shapes[] = {{"many", 1}, {"run4", 4}, {"run16", 16}, {"run48", 48}};

cell_list all_cells() {
  cell_list cells;
  for (const shape& s : shapes)
    for (const row& r : rows)
      if (s.cells == 1 || !r.batches_only) cells.add(s.name, "", r.who, {s.name, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: cell_runs <many|run4|run16|run48> <peer> [--rounds N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const shape& s = line.choice(0, shapes, [](const shape& each) { return each.name; });
  const row& r = line.row(1, rows);
  if (r.batches_only && s.cells != 1) line.usage_error();
  const std::size_t rounds = line.number("--rounds", 100, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  const double ns = r.measure(s.cells, rounds);
  std::puts(answer.number("median_ns", ns).str().c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
