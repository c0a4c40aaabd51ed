// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of an allocation in one thread and its free in another, and the memory that it holds.
//
// thread_handover <lists|ring|deep> <peer> [--count N]     one cell of the table per process, one JSON line
// thread_handover --cells                                  the list of cells

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/node_steps.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/ring.hpp"
#include "support/thread_peers.hpp"
#include "support/two_threads.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct outcome {
  usage used;
  std::size_t live_bytes = 0;  // the peak of the requested bytes
  std::uint64_t peak_bytes = 0;
  std::uint64_t checksum = 0;
};

// The travel of the elements: in a ring of `capacity` handovers in which the consumer leaves `least`.
struct traffic {
  std::string_view name;
  std::size_t capacity;
  std::size_t least;
};

constexpr traffic traffics[] = {
    {"lists", 256, 252},         // lists of 1,000 elements, always about 256,000 elements between the threads
    {"ring", 1024, 0},           // 64-byte cells, at full speed
    {"deep", 131'072, 129'024},  // 64-byte cells, always about 131,072 between the threads
};

// Runs the producer and the consumer and measures them. The producer calls `hand_over(ring)`, the consumer
// `take(slot)`.
template <class Slot, class Produce, class Take>
outcome run_traffic(const traffic& t, Produce produce, Take take) {
  ring<Slot> between(t.capacity, t.least);
  outcome result;
  reset_peak_resident();
  const std::uint64_t baseline = resident_bytes();
  const usage start = usage::now();
  in_two_threads([&](int index) {
    if (index == 0) produce(between), between.close();
    else
      while (between.pop(take)) {
      }
  });
  result.used = usage::now() - start;
  result.peak_bytes = peak_resident_bytes() - std::min(baseline, peak_resident_bytes());
  return result;
}

template <class Peer>
outcome run_lists(const traffic& t, std::size_t count) {
  using container = std::list<int, typename Peer::template allocator<int>>;
  constexpr int list_elements = 1000;
  constexpr std::size_t node_bytes = 2 * sizeof(void*) + sizeof(void*);  // two links, and an int with its padding
  Peer peer;
  std::uint64_t checksum = 0;
  const auto produce = [&](auto& between) {
    for (std::size_t made = 0; made < count / list_elements; ++made) {
      container values(peer.template make<int>());
      append(values, static_cast<int>(made), list_elements);
      between.push([&](std::optional<container>& slot) { slot.emplace(std::move(values)); });
    }
  };
  const auto take = [&](std::optional<container>& slot) {
    checksum += static_cast<std::uint64_t>(slot->front());
    slot.reset();
  };
  outcome result = run_traffic<std::optional<container>>(t, produce, take);
  result.checksum = checksum;
  result.live_bytes = t.capacity * list_elements * node_bytes;
  return result;
}

struct cell {
  std::uint64_t words[8];
};

template <class Peer>
outcome run_cells(const traffic& t, std::size_t count) {
  using allocator = typename Peer::template allocator<cell>;
  Peer peer;
  std::uint64_t checksum = 0;
  const auto produce = [&](auto& between) {
    allocator cells = peer.template make<cell>();
    for (std::size_t made = 0; made < count; ++made) {
      cell* const fresh = cells.allocate(1);
      fresh->words[0] = made;
      between.push([&](cell*& slot) { slot = fresh; });
    }
  };
  const auto take = [&, cells = peer.template make<cell>()](cell*& slot) mutable {
    checksum += slot->words[0];
    cells.deallocate(slot, 1);
  };
  outcome result = run_traffic<cell*>(t, produce, take);
  result.checksum = checksum;
  result.live_bytes = t.capacity * sizeof(cell);
  return result;
}

// The floor: hands out the cells of 16 MiB in a circle and takes none back.
struct circle_peer {
  template <class T>
  class allocator {
  public:
    using value_type = T;
    T* allocate(std::size_t) noexcept { return &cells[next_++ % circle]; }
    void deallocate(T*, std::size_t) noexcept {}

  private:
    static constexpr std::size_t circle = 262'144;
    static inline T cells[circle];
    std::size_t next_ = 0;
  };
  template <class T>
  allocator<T> make() {
    return {};
  }
};

struct row {
  contender who;
  outcome (*lists)(const traffic& t, std::size_t count);  // or null
  outcome (*ring)(const traffic& t, std::size_t count);
  outcome (*deep)(const traffic& t, std::size_t count);  // or null
  std::size_t slowness = 1;  // runs with this fraction of the elements, since it would take minutes

  auto measurement(const traffic& t) const noexcept {
    return t.name == "lists" ? lists : t.name == "ring" ? ring : deep;
  }
};

template <class Peer>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true, std::size_t slowness = 1) {
  return {{name, what, rival}, run_lists<Peer>, run_cells<Peer>, run_cells<Peer>, slowness};
}

constexpr row rows[] = {
    {{"null", "null (the ring alone, over 16 MiB)", false}, nullptr, run_cells<circle_peer>, run_cells<circle_peer>},
    row_of<standard_peer>("glibc", "std::allocator, glibc"),
    row_of<standard_peer>("mimalloc", "std::allocator, mimalloc"),
    row_of<standard_peer>("jemalloc", "std::allocator, jemalloc"),
    row_of<standard_peer>("tcmalloc", "std::allocator, tcmalloc"),
    row_of<standard_peer>("google_tcmalloc", "std::allocator, Google's tcmalloc"),
    row_of<standard_peer>("rpmalloc", "std::allocator, rpmalloc 1.4.3"),
    row_of<standard_peer>("rpmalloc2", "std::allocator, rpmalloc 2"),
    row_of<standard_peer>("snmalloc", "std::allocator, snmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_mutex_peer>("boost_mutex", "boost::fast_pool_allocator, mutex", true, 4),
#endif
    // Tens of microseconds for each element: every remote free takes the exclusive lock and searches.
    {{"pmr_synchronized", "pmr synchronized pool", true}, nullptr, run_cells<pmr_synchronized_peer>, nullptr, 300},
    row_of<ashlar_spin_peer>("ashlar_spin", "ashlar::pool_allocator, spin_lock", false),
    row_of<ashlar_mutex_peer>("ashlar_mutex", "ashlar::pool_allocator, std::mutex", false, 4),
    row_of<ashlar_cached_peer>("ashlar_cached", "ashlar::pool_allocator, thread_cached"),
    row_of<ashlar_heap_peer>("ashlar_heap", "ashlar::allocator over one ashlar::heap"),
};

cell_list all_cells() {
  cell_list cells;
  for (const traffic& t : traffics)
    for (const row& r : rows)
      if (r.measurement(t) != nullptr) cells.add(t.name, "", r.who, {t.name, r.who.name});
  return cells;
}

void print_outcome(const row& r, const std::string& malloc_name, std::size_t count, const outcome& o,
                   double ping_before) {
  const auto elements = static_cast<double>(count);
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", peer_version(r.who.name))
                .count("count", count)
                .number("wall_ns", o.used.wall_ms * 1e6 / elements)
                .number("cpu_ns", o.used.cpu_ms * 1e6 / elements)
                .number("sys_ns", o.used.sys_ms * 1e6 / elements)
                .count("peak_bytes", o.peak_bytes)
                .count("live_bytes", o.live_bytes)
                .number("peak_over_live", static_cast<double>(o.peak_bytes) / static_cast<double>(o.live_bytes))
                .number("ping_pong_ns", (ping_before + ping_pong_ns()) / 2)
                .count("checksum", o.checksum)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: thread_handover <lists|ring|deep> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const traffic& t = line.choice(0, traffics, [](const traffic& each) { return each.name; });
  const row& r = line.row(1, rows);
  const std::size_t wanted = line.number("--count", 3'000'000, 300'000, 1'000'000'000);
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  const auto measure = r.measurement(t);
  if (measure == nullptr) line.usage_error();
  const std::size_t count = wanted / r.slowness / 1000 * 1000;
  borrow_from_host(std::size_t{64} << 20);
  const double ping_before = ping_pong_ns();
  const outcome result = measure(t, count);
  print_outcome(r, malloc_name, count, result, ping_before);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
