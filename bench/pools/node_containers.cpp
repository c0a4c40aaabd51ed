// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time and the bytes of a node container on each allocator: it grows, thins out, grows again and ends.
//
// node_containers <list|set> <peer> [--count N]     one cell of the table per process, one JSON line
// node_containers --cells                           the list of cells

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/cells.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/node_steps.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/thread_peers.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

// Times of the named phases, in the order they ran.
class phase_log {
public:
  phase_log() noexcept : last_(usage::now()) {}

  // Time since the last phase belongs to none.
  void resume() noexcept { last_ = usage::now(); }

  void done(const char* name) noexcept {
    const usage now = usage::now();
    phases_[size_++] = {name, now - last_};
    last_ = usage::now();
  }

  usage total() const noexcept {
    usage sum;
    for (std::size_t i = 0; i < size_; ++i) sum = sum + phases_[i].used;
    return sum;
  }

  std::string str() const {
    json_array list;
    for (std::size_t i = 0; i < size_; ++i) {
      const usage& used = phases_[i].used;
      list.add(json_object()
                   .text("name", phases_[i].name)
                   .number("wall_ms", used.wall_ms)
                   .number("cpu_ms", used.cpu_ms)
                   .number("user_ms", used.user_ms)
                   .number("sys_ms", used.sys_ms)
                   .count("minor_faults", used.minor_faults)
                   .str());
    }
    return list.str();
  }

private:
  struct phase {
    const char* name;
    usage used;
  };
  phase phases_[8]{};
  std::size_t size_ = 0;
  usage last_;
};

struct outcome {
  std::size_t peak_elements = 0;
  std::uint64_t checksum = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t kept_bytes = 0;
  usage traversal;
  phase_log phases;
};

// The classic scheme. The traversal (with caches as the last growth left them) is reported separately, not in the
// total.
template <class Container, class Peer>
outcome run_scheme(int count) {
  Peer peer;
  std::optional<Container> values;
  reset_peak_resident();
  const std::uint64_t baseline = resident_bytes();
  outcome result;
  result.phases = phase_log();
  values.emplace(peer.template make<int>());
  append(*values, 0, count), result.phases.done("grow 1");
  result.checksum = erase_every(*values, 3), result.phases.done("erase every 3rd");
  append(*values, count, count), result.phases.done("grow 2");
  result.checksum += erase_every(*values, 7), result.phases.done("erase every 7th");
  append(*values, 2 * count, count);
  result.phases.done("grow 3");
  result.peak_elements = values->size();

  const usage before = usage::now();
  result.checksum += sum_of(*values);
  result.traversal = usage::now() - before;
  result.phases.resume();

  values.reset(), result.phases.done("destroy");
  peer.give_back(), result.phases.done("give back");
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
    row_of<standard_peer>("jemalloc", "std::allocator, jemalloc"),
    row_of<standard_peer>("tcmalloc", "std::allocator, tcmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_mutex_peer>("boost_mutex", "boost::fast_pool_allocator"),
    row_of<boost_null_mutex_peer>("boost_null_mutex", "boost::fast_pool_allocator, null_mutex"),
#endif
    row_of<pmr_pool_peer>("pmr_pool", "pmr unsynchronized pool"),
    row_of<pmr_monotonic_peer>("pmr_monotonic", "pmr monotonic (never frees)", false),
    row_of<ashlar_plain_peer>("ashlar_plain", "ashlar::block_pool, plain pages", false),
    row_of<ashlar_populated_peer>("ashlar_populated", "ashlar::block_pool, populated pages", false),
    row_of<ashlar_huge_peer>("ashlar_huge", "ashlar::block_pool, huge pages", false),
    row_of<ashlar_cached_peer>("ashlar_cached", "ashlar::pool_allocator, thread_cached", false),
    row_of<ashlar_peer>("ashlar", "ashlar::pool_allocator, one_thread"),
};

cell_list all_cells() {
  cell_list cells;
  for (const char* container : {"list", "set"})
    for (const row& r : rows) cells.add(container, "", r.who, {container, r.who.name});
  return cells;
}

void print_outcome(std::string_view container, const row& r, int count, const std::string& malloc_name,
                   const outcome& o) {
  const usage total = o.phases.total();
  std::puts(json_object()
                .text("container", container)
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", find_malloc_library(r.who.name) != nullptr ? malloc_version() : "")
                .count("count", static_cast<std::uint64_t>(count))
                .number("wall_ms", total.wall_ms)
                .number("cpu_ms", total.cpu_ms)
                .number("user_ms", total.user_ms)
                .number("sys_ms", total.sys_ms)
                .number("traversal_ms", o.traversal.cpu_ms)
                .count("peak_bytes", o.peak_bytes)
                .count("peak_elements", o.peak_elements)
                .number("bytes_per_element", static_cast<double>(o.peak_bytes) / static_cast<double>(o.peak_elements))
                .count("kept_bytes", o.kept_bytes)
                .count("minor_faults", total.minor_faults)
                .count("major_faults", total.major_faults)
                .count("checksum", o.checksum)
                .raw("phases", o.phases.str())
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: node_containers <list|set> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view container = line.word(0);
  const bool list = container == "list";
  if (!list && container != "set") line.usage_error();
  const row& r = line.row(1, rows);
  // At most a third of the largest int.
  const int count = static_cast<int>(line.number("--count", list ? 10'000'000 : 3'000'000, 100, 700'000'000));
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  borrow_from_host(static_cast<std::size_t>(count) * (list ? 100 : 200));
  print_outcome(container, r, count, malloc_name, list ? r.list(count) : r.set(count));
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
