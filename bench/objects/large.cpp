// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of 1000 live objects of 1000 KiB: the pool, the first touch, and every later use.
//
// large_objects <touched|zeroed> <O3|O2> <peer> [--rounds N] [--count N]     one cell per process, one JSON line
// large_objects --cells                                                      the list of cells
//
// touched   the constructor writes the first and the last word: two pages
// zeroed    the constructor zeroes the whole object, even if the memory is zero already: the same for all peers

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
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/optimised_twin.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t object_bytes = std::size_t{1000} * 1024;

// Nanoseconds for each object, as all.
struct costs {
  double acquire_ns = 0;
  double release_ns = 0;
};

struct outcome {
  double build_ns = 0;  // the pool, with memory for all objects if possible
  costs first;          // every page for the first time
  costs later;          // the median of the later rounds
  double teardown_ns = 0;
  std::uint64_t peak_bytes = 0;
};

class stopwatch {
public:
  // Returns: nanoseconds since the last lap, for each of `count` objects.
  double lap_ns(std::size_t count) noexcept {
    const double now = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    const double lap = (now - last_) * 1e6 / double(count);
    last_ = now;
    return lap;
  }

private:
  double last_ = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
};

// Released in reverse order, the only one that the array allows.
template <class Pool, class Handles>
costs run_round(Pool& pool, Handles& held) {
  const std::size_t count = held.size();
  costs seen;
  stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) held[i] = pool.acquire(i);
  escape(held.data());
  seen.acquire_ns = watch.lap_ns(count);
  for (std::size_t i = count; i-- != 0;) pool.release(held[i]);
  seen.release_ns = watch.lap_ns(count);
  return seen;
}

double median(std::vector<costs>& rounds, double costs::* part) {
  std::sort(rounds.begin(), rounds.end(), [&](const costs& a, const costs& b) { return a.*part < b.*part; });
  return rounds[rounds.size() / 2].*part;
}

template <class Pool>
outcome measure(std::size_t count, std::size_t rounds) {
  std::vector<typename Pool::handle> held(count);
  std::vector<costs> all(rounds);
  outcome seen;
  reset_peak_resident();
  const std::uint64_t before = resident_bytes();
  stopwatch watch;
  auto pool = std::make_unique<Pool>(count);
  seen.build_ns = watch.lap_ns(count);
  seen.first = run_round(*pool, held);
  for (costs& each : all) each = run_round(*pool, held);
  seen.later = {median(all, &costs::acquire_ns), median(all, &costs::release_ns)};
  seen.peak_bytes = peak_resident_bytes() - before;
  watch.lap_ns(count);
  pool.reset();
  seen.teardown_ns = watch.lap_ns(count);
  return seen;
}

using touched_object = pooled_object<object_bytes, writes::ends>;
using zeroed_object = pooled_object<object_bytes, writes::all>;

struct row {
  contender who;
  outcome (*touched)(std::size_t count, std::size_t rounds);
  outcome (*zeroed)(std::size_t count, std::size_t rounds);
};

template <template <class> class Pool>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, measure<Pool<touched_object>>, measure<Pool<zeroed_object>>};
}

constexpr row rows[] = {
    row_of<stack_objects>("stack", "array as a stack (floor)", false),
    row_of<free_list_objects>("free_list", "intrusive free list (limit)", false),
    row_of<heap_objects>("glibc", "new and delete, glibc"),
    row_of<heap_objects>("mimalloc", "new and delete, mimalloc"),
    row_of<heap_objects>("jemalloc", "new and delete, jemalloc"),
    row_of<heap_objects>("tcmalloc", "new and delete, tcmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_objects>("boost_object_pool", "boost::object_pool"),
#endif
#if ASHLAR_BENCH_HAS_FOONATHAN
    row_of<foonathan_objects>("foonathan", "foonathan memory_pool"),
#endif
#if ASHLAR_BENCH_HAS_BOOST
    row_of<arena_objects>("arenas", "counted, constructed arenas (a technique)"),
#endif
    row_of<recycled_objects>("recycled", "recycled shared_ptr (a technique)"),
    row_of<ashlar_objects>("ashlar", "ashlar::object_pool"),
    row_of<ashlar_growing_objects>("ashlar_growing", "ashlar::object_pool, growing"),
    row_of<ashlar_ref_objects>("ashlar_ref", "ashlar::ref_pool"),
    row_of<ashlar_kept_objects>("ashlar_kept", "ashlar::intrusive_pool, kept constructed"),
};

constexpr std::array<std::string_view, 2> writings{"touched", "zeroed"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view written : writings)
    for (const std::string_view level : optimisations)
      for (const row& r : rows)
        if (written == "touched" || level == "O3")  // the C library zeroes, at any level
          cells.add(std::string(written).append(level == "O2" ? "_o2" : ""), "", r.who, {written, level, r.who.name});
  return cells;
}

void print_outcome(const row& r, const outcome& seen, const std::string& malloc_name) {
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", peer_version(r.who.name))
                .number("again_ns", seen.later.acquire_ns + seen.later.release_ns)
                .number("acquire_ns", seen.later.acquire_ns)
                .number("release_ns", seen.later.release_ns)
                .number("build_ns", seen.build_ns)
                .number("first_acquire_ns", seen.first.acquire_ns)
                .number("first_release_ns", seen.first.release_ns)
                .number("teardown_ns", seen.teardown_ns)
                .count("peak_bytes", seen.peak_bytes)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: large_objects <touched|zeroed> <O3|O2> <peer> [--rounds N] [--count N] | --cells\n"
         "peers:" +
         names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto same = [](std::string_view each) { return each; };
  const bool zeroed = line.choice(0, writings, same) == "zeroed";
  choose_optimisation(line.choice(1, optimisations, same), line.argv());
  const row& r = line.row(2, rows);
  const std::size_t rounds = line.number("--rounds", zeroed ? 3 : 100, 1, 100'000);
  const std::size_t count = line.number("--count", 1000, 1, 10'000);
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  borrow_from_host(zeroed ? count * object_bytes : 4 * count * 4096);
  print_outcome(r, zeroed ? r.zeroed(count, rounds) : r.touched(count, rounds), malloc_name);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
