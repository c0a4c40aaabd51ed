// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that a pool still holds after a container has lost most of its elements, before and after a trim.
//
// give_back <random|clustered|all> <peer> [--count N]     one cell of the table per process, one JSON line
// give_back --cells                                       the list of cells

#include <cstdint>
#include <cstdio>
#include <list>
#include <random>
#include <string>
#include <string_view>

#include <ashlar/base/options.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/node_steps.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/thread_peers.hpp"
#include "support/trim.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct outcome {
  usage erase, trim, regrow, destroy;
  std::uint64_t full_bytes = 0;     // resident with all elements,
  std::uint64_t held_bytes = 0;     // after the erasure, without a trim,
  std::uint64_t trimmed_bytes = 0;  // and after one
  std::size_t left = 0;             // elements
};

// The elements that stay: one in ten, chosen at random or in runs of 100,000; or none.
class survivors {
public:
  explicit survivors(std::string_view pattern) : pattern_(pattern) {}

  bool stays() noexcept {
    const std::size_t index = next_++;
    if (pattern_ == "random") return random_() % 10 == 0;
    return pattern_ == "clustered" && index / 100'000 % 10 == 7;
  }

private:
  std::string_view pattern_;
  std::minstd_rand random_{42};
  std::size_t next_ = 0;
};

template <class Container>
void erase_others(Container& values, survivors staying) {
  for (auto at = values.begin(); at != values.end();) {
    if (staying.stays()) ++at;
    else at = values.erase(at);
  }
}

template <class F>
usage timed(F f) {
  const usage start = usage::now();
  f();
  return usage::now() - start;
}

template <class Peer>
outcome run_pattern(std::string_view pattern, int count) {
  using container = std::list<int, typename Peer::template allocator<int>>;
  Peer peer;
  outcome result;
  const std::uint64_t baseline = anonymous_bytes();
  {
    container values(peer.template make<int>());
    append(values, 0, count);
    result.full_bytes = anonymous_bytes() - baseline;
    result.erase = timed([&] { erase_others(values, survivors(pattern)); });
    result.held_bytes = anonymous_bytes() - baseline;
    result.trim = timed([&] { peer.trim(); });
    result.trimmed_bytes = anonymous_bytes() - baseline;
    result.left = values.size();
    const auto grow_again = [&] { append(values, 0, count - static_cast<int>(values.size())); };
    grow_again();
    erase_others(values, survivors(pattern));
    result.regrow = timed(grow_again);  // without a trim in between
    result.destroy = timed([&] { values.clear(); });
  }
  return result;
}

struct malloc_peer : standard_peer {
  void trim() noexcept { trim_malloc(); }
};

// Boost's singleton pools give back only memory that is sorted, and pmr's resources only everything.
template <class Peer>
struct untrimmed : Peer {
  void trim() noexcept {}
};

// The nodes of a list have 24 bytes.
template <class Lock>
struct ashlar_trimmed_peer : ashlar_locked_peer<Lock> {
  void trim() noexcept {
    ashlar::detail::process_pool<24, 8, Lock>::with_pool([](auto& pool) { pool.trim(); });
  }
};

// A pool of its own, with another policy for empty slabs.
template <const ashlar::retain_policy& Spare>
class ashlar_policy_peer {
public:
  template <class T>
  using allocator = ashlar::allocator<T, ashlar::block_pool<>>;
  template <class T>
  allocator<T> make() noexcept {
    return pool_;
  }
  void trim() noexcept { pool_.trim(); }

private:
  ashlar::block_pool<> pool_{ashlar::block_pool_options{.cell_bytes = 24, .retain_slabs = Spare}};
};

struct row {
  contender who;
  outcome (*measure)(std::string_view pattern, int count);
};

template <class Peer>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, run_pattern<Peer>};
}

constexpr row rows[] = {
    row_of<malloc_peer>("glibc", "glibc, malloc_trim"),
    row_of<malloc_peer>("mimalloc", "mimalloc, mi_collect"),
    row_of<malloc_peer>("jemalloc", "jemalloc, arena purge"),
    row_of<malloc_peer>("tcmalloc", "tcmalloc, ReleaseFreeMemory"),
    row_of<malloc_peer>("rpmalloc", "rpmalloc, thread_collect"),
    row_of<malloc_peer>("snmalloc", "snmalloc (no call)"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<untrimmed<boost_null_mutex_peer>>("boost_null_mutex", "boost::fast_pool_allocator (no call)"),
#endif
    row_of<untrimmed<pmr_pool_peer>>("pmr_pool", "pmr unsynchronized pool (no call)"),
    row_of<ashlar_trimmed_peer<ashlar::one_thread>>("ashlar", "ashlar::pool_allocator, one_thread (retain_slabs = 1)"),
    row_of<ashlar_policy_peer<ashlar::release_now>>("ashlar_release_now", "ashlar::block_pool, release_now", false),
    row_of<ashlar_policy_peer<ashlar::never_release>>("ashlar_never_release", "ashlar::block_pool, never_release",
                                                      false),
    row_of<ashlar_trimmed_peer<ashlar::thread_cached>>("ashlar_cached", "ashlar::pool_allocator, thread_cached", false),
};

constexpr std::string_view patterns[] = {"random", "clustered", "all"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view pattern : patterns)
    for (const row& r : rows) cells.add(pattern, "", r.who, {pattern, r.who.name});
  return cells;
}

void print_outcome(const row& r, const std::string& malloc_name, const outcome& o) {
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", peer_version(r.who.name))
                .count("elements_left", o.left)
                .count("full_bytes", o.full_bytes)
                .count("held_bytes", o.held_bytes)
                .count("trimmed_bytes", o.trimmed_bytes)
                .number("erase_ms", o.erase.cpu_ms)
                .number("erase_sys_ms", o.erase.sys_ms)
                .number("trim_ms", o.trim.cpu_ms)
                .number("regrow_ms", o.regrow.cpu_ms)
                .number("destroy_ms", o.destroy.cpu_ms)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: give_back <random|clustered|all> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view pattern = line.choice(0, patterns, [](std::string_view each) { return each; });
  const row& r = line.row(1, rows);
  const int count = static_cast<int>(line.number("--count", 10'000'000, 100, 500'000'000));
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  borrow_from_host(static_cast<std::size_t>(count) * 34);
  print_outcome(r, malloc_name, r.measure(pattern, count));
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
