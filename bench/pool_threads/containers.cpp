// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost for two threads that use one thread-safe allocator type, each for its own node container.
//
// thread_containers <list|set> <peer> [--count N]     one cell of the table per process, one JSON line
// thread_containers --cells                           the list of cells

#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/node_steps.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/thread_peers.hpp"
#include "support/two_threads.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct outcome {
  usage used;
  std::size_t peak_elements = 0;
  std::uint64_t checksum = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t kept_bytes = 0;
};

template <class Container>
std::uint64_t grow_and_thin(Container& values, int count) {
  append(values, 0, count);
  std::uint64_t checksum = erase_every(values, 3);
  append(values, count, count);
  checksum += erase_every(values, 7);
  append(values, 2 * count, count);
  return checksum;
}

// The scheme of node_containers in two threads. They wait for each other before, at the peak (so that the peaks of
// memory coincide) and after; the time is from the first wait to the last.
template <class Container, class Peer>
outcome run_scheme(int count) {
  Peer peer;
  std::barrier<> together(2);
  std::array<std::size_t, 2> sizes{};
  std::array<std::uint64_t, 2> checksums{};
  outcome result;
  usage start;
  std::uint64_t baseline = 0;
  in_two_threads([&](int index) {
    const auto each = static_cast<std::size_t>(index);
    if (index == 0) reset_peak_resident(), baseline = resident_bytes(), start = usage::now();
    together.arrive_and_wait();
    std::optional<Container> values(std::in_place, peer.template make<int>());
    checksums[each] = grow_and_thin(*values, count);
    sizes[each] = values->size();
    together.arrive_and_wait();
    values.reset();
    together.arrive_and_wait();
    if (index == 0) result.used = usage::now() - start;
  });
  peer.give_back();
  result.peak_elements = sizes[0] + sizes[1];
  result.checksum = checksums[0] + checksums[1];
  result.peak_bytes = peak_resident_bytes() - baseline;
  result.kept_bytes = resident_bytes() - std::min(baseline, resident_bytes());
  return result;
}

template <class Peer>
outcome run_list(int count) {
  return run_scheme<std::list<int, typename Peer::template allocator<int>>, Peer>(count);
}

template <class Peer>
outcome run_set(int count) {
  return run_scheme<std::set<int, std::less<int>, typename Peer::template allocator<int>>, Peer>(count);
}

struct row {
  contender who;
  outcome (*list)(int count);
  outcome (*set)(int count);
};

template <class Peer>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, run_list<Peer>, run_set<Peer>};
}

constexpr row rows[] = {
    row_of<standard_peer>("glibc", "std::allocator, glibc"),
    row_of<standard_peer>("mimalloc", "std::allocator, mimalloc"),
    row_of<standard_peer>("mimalloc3", "std::allocator, mimalloc"),
    row_of<standard_peer>("jemalloc", "std::allocator, jemalloc"),
    row_of<standard_peer>("tcmalloc", "std::allocator, tcmalloc"),
    row_of<standard_peer>("google_tcmalloc", "std::allocator, Google's tcmalloc"),
    row_of<standard_peer>("rpmalloc", "std::allocator, rpmalloc 1.4.3"),
    row_of<standard_peer>("rpmalloc2", "std::allocator, rpmalloc 2"),
    row_of<standard_peer>("snmalloc", "std::allocator, snmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_mutex_peer>("boost_mutex", "boost::fast_pool_allocator, mutex"),
#endif
    row_of<pmr_synchronized_peer>("pmr_synchronized", "pmr synchronized pool"),
    row_of<ashlar_spin_peer>("ashlar_spin", "ashlar::pool_allocator, spin_lock", false),
    row_of<ashlar_mutex_peer>("ashlar_mutex", "ashlar::pool_allocator, std::mutex", false),
    row_of<ashlar_cached_peer>("ashlar_cached", "ashlar::pool_allocator, thread_cached"),
    row_of<ashlar_heap_peer>("ashlar_heap", "ashlar::allocator over one ashlar::heap"),
};

cell_list all_cells() {
  cell_list cells;
  for (const char* container : {"list", "set"})
    for (const row& r : rows) cells.add(container, "", r.who, {container, r.who.name});
  return cells;
}

void print_outcome(const row& r, const std::string& malloc_name, const outcome& o, double ping_before) {
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", peer_version(r.who.name))
                .number("wall_ms", o.used.wall_ms)
                .number("cpu_ms", o.used.cpu_ms)
                .number("user_ms", o.used.user_ms)
                .number("sys_ms", o.used.sys_ms)
                .count("minor_faults", o.used.minor_faults)
                .count("peak_bytes", o.peak_bytes)
                .count("peak_elements", o.peak_elements)
                .number("bytes_per_element", static_cast<double>(o.peak_bytes) / static_cast<double>(o.peak_elements))
                .count("kept_bytes", o.kept_bytes)
                .number("ping_pong_ns", (ping_before + ping_pong_ns()) / 2)
                .count("checksum", o.checksum)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: thread_containers <list|set> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const row& r = line.row(1, rows);
  const bool list = line.word(0) == "list";
  if (!list && line.word(0) != "set") line.usage_error();
  const int count = static_cast<int>(line.number("--count", list ? 2'000'000 : 1'000'000, 100, 100'000'000));
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  borrow_from_host(static_cast<std::size_t>(count) * (list ? 200 : 400));
  const double ping_before = ping_pong_ns();
  const outcome result = list ? r.list(count) : r.set(count);
  print_outcome(r, malloc_name, result, ping_before);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
