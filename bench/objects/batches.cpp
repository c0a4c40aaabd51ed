// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of 100,000 live objects of 1 KiB, by the number of objects for which a pool fetches memory at a time, and by
// malloc.
//
// object_batches <bulk|mixed> <cold|warm> <step> <O3|O2> <peer> [--rounds N] [--count N]
//                         one cell of the table per process, one JSON line
// object_batches --cells  the list of cells
//
// bulk    acquire all, then release all, in the same order
// mixed   every 33rd is released at once; some of the others release their predecessor; the rest is released at the end
// cold    the first round of a process, including the construction of the pool
// warm    the median of the rounds after it

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ashlar.hpp"
#include "peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/optimised_twin.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

using object = pooled_object<1024, writes::ends>;

struct outcome {
  double cold_ns = 0;  // for each object, as all
  double warm_ns = 0;
  double teardown_ns = 0;
  std::uint64_t peak_bytes = 0;
};

double ns_since(double start_ms, std::size_t count) {
  return (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start_ms) * 1e6 / double(count);
}

template <class Pool, class Handles>
void run_bulk(Pool& pool, Handles& held) {
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = pool.acquire(i);
  escape(held.data());
  for (auto& each : held) pool.release(each);
}

bool releases_the_one_before(std::size_t i) { return i % 7 == 0 || i % 31 == 0 || i % 40 == 0 || i % 53 == 0; }

template <class Pool, class Handles>
void run_mixed(Pool& pool, Handles& held) {
  std::fill(held.begin(), held.end(), nullptr);
  for (std::size_t i = 0; i < held.size(); ++i) {
    auto fresh = pool.acquire(i);
    escape(&*fresh);
    if (i % 33 == 0) {
      pool.release(fresh);
      continue;
    }
    held[i] = std::move(fresh);
    if (!releases_the_one_before(i) || held[i - 1] == nullptr) continue;
    pool.release(held[i - 1]);
    held[i - 1] = nullptr;
  }
  for (auto& each : held)
    if (each != nullptr) pool.release(each);
}

template <class Pool>
outcome measure(std::size_t count, bool mixed, std::size_t step, std::size_t warm_rounds) {
  std::vector<typename Pool::handle> held(count);
  borrow_from_host(count * (sizeof(object) + 256));
  outcome seen;
  reset_peak_resident();
  const std::uint64_t before = resident_bytes();
  double start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
  auto pool = std::make_unique<Pool>(step);
  const auto run_round = [&] { mixed ? run_mixed(*pool, held) : run_bulk(*pool, held); };
  run_round();
  seen.cold_ns = ns_since(start, count);
  std::vector<double> costs(warm_rounds);
  for (double& cost : costs) {
    start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    run_round();
    cost = ns_since(start, count);
  }
  std::sort(costs.begin(), costs.end());
  if (warm_rounds != 0) seen.warm_ns = costs[warm_rounds / 2];
  seen.peak_bytes = peak_resident_bytes() - before;
  start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
  pool.reset();
  seen.teardown_ns = ns_since(start, count);
  return seen;
}

struct row {
  contender who;
  std::string_view malloc;
  outcome (*measure)(std::size_t count, bool mixed, std::size_t step, std::size_t warm_rounds);
};

constexpr row rows[] = {
    {{"free_list", "intrusive free list (limit)", false}, "glibc", measure<free_list_objects<object>>},
    {{"glibc", "new and delete, glibc", true}, "glibc", measure<heap_objects<object>>},
    {{"mimalloc", "new and delete, mimalloc", true}, "mimalloc", measure<heap_objects<object>>},
    {{"jemalloc", "new and delete, jemalloc", true}, "jemalloc", measure<heap_objects<object>>},
    {{"tcmalloc", "new and delete, tcmalloc", true}, "tcmalloc", measure<heap_objects<object>>},
#if ASHLAR_BENCH_HAS_BOOST
    {{"boost_glibc", "boost::pool, glibc", true}, "glibc", measure<boost_pool_objects<object>>},
    {{"boost_jemalloc", "boost::pool, jemalloc", true}, "jemalloc", measure<boost_pool_objects<object>>},
    {{"boost_tcmalloc", "boost::pool, tcmalloc", true}, "tcmalloc", measure<boost_pool_objects<object>>},
#endif
#if ASHLAR_BENCH_HAS_FOONATHAN
    {{"foonathan_glibc", "foonathan memory_pool, glibc", true}, "glibc", measure<foonathan_objects<object>>},
    {{"foonathan_jemalloc", "foonathan memory_pool, jemalloc", true}, "jemalloc", measure<foonathan_objects<object>>},
    {{"foonathan_tcmalloc", "foonathan memory_pool, tcmalloc", true}, "tcmalloc", measure<foonathan_objects<object>>},
#endif
#if ASHLAR_BENCH_HAS_BOOST
    {{"arenas_glibc", "constructed arenas (a technique), glibc", true}, "glibc", measure<arena_objects<object>>},
    {{"arenas_jemalloc", "constructed arenas, jemalloc", true}, "jemalloc", measure<arena_objects<object>>},
    {{"arenas_tcmalloc", "constructed arenas, tcmalloc", true}, "tcmalloc", measure<arena_objects<object>>},
#endif
    {{"ashlar_growing", "ashlar::object_pool, growing", true}, "glibc", measure<ashlar_growing_objects<object>>},
    {{"ashlar_intrusive", "ashlar::intrusive_pool", true}, "glibc", measure<ashlar_intrusive_objects<object>>},
    {{"ashlar_kept", "ashlar::intrusive_pool, kept constructed", true}, "glibc", measure<ashlar_kept_objects<object>>},
};

constexpr std::array<std::string_view, 2> patterns{"bulk", "mixed"};
constexpr std::array<std::string_view, 2> temperatures{"cold", "warm"};
constexpr std::array<std::string_view, 4> steps{"16", "256", "4096", "100000"};

// At -O2 only the warm rounds, over glibc.
bool is_measured(const row& r, std::string_view temperature, std::string_view level) {
  return level == "O3" || (temperature == "warm" && r.malloc == "glibc");
}

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view level : optimisations)
    for (const std::string_view pattern : patterns)
      for (const std::string_view temperature : temperatures)
        for (const std::string_view step : steps)
          for (const row& r : rows)
            if (is_measured(r, temperature, level))
              cells.add(std::string(pattern).append("_").append(temperature).append(level == "O2" ? "_o2" : ""), step,
                        r.who, {pattern, temperature, step, level, r.who.name});
  return cells;
}

void print_outcome(const row& r, const outcome& seen, const std::string& malloc_name) {
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", r.malloc != "glibc" ? malloc_version() : "")
                .number("cold_ns", seen.cold_ns)
                .number("warm_ns", seen.warm_ns)
                .number("teardown_ns", seen.teardown_ns)
                .count("peak_bytes", seen.peak_bytes)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: object_batches <bulk|mixed> <cold|warm> <16|256|4096|100000> <O3|O2> <peer> "
         "[--rounds N] [--count N] | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(5);
  const auto same = [](std::string_view each) { return each; };
  const bool mixed = line.choice(0, patterns, same) == "mixed";
  const bool warm = line.choice(1, temperatures, same) == "warm";
  const std::size_t step = std::stoul(std::string(line.choice(2, steps, same)));
  choose_optimisation(line.choice(3, optimisations, same), line.argv());
  const row& r = line.row(4, rows);
  const std::size_t rounds = line.number("--rounds", 20, 1, 100'000);
  const std::size_t count = line.number("--count", 100'000, 1, 10'000'000);
  const std::string malloc_name = choose_malloc(r.malloc, line.argv());
  print_outcome(r, r.measure(count, mixed, std::min(step, count), warm ? rounds : 0), malloc_name);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
