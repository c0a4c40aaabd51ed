// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The traversal time of a container after a long churn, and of a container that is built afterwards.
//
// churn_locality <list|set> <peer> [--count N] [--rounds N]     one cell of the table per process, one JSON line
// churn_locality --cells                                        the list of cells

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <list>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifo_reference.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/node_steps.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/thread_peers.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct outcome {
  double fresh_ms = 0;    // traversals: of the new container,
  double churned_ms = 0;  // after the rounds,
  double rebuilt_ms = 0;  // and of a new one, built after the churned one was destroyed
  usage churn;
  std::uint64_t peak_bytes = 0;
  std::uint64_t checksum = 0;
};

using value = std::uint64_t;

// A container and an iterator to each of its elements. New values are larger than all former ones, as ids and times
// are: a new container, list or set, lies in memory in the order of its traversal.
template <class Container>
class population {
public:
  population(Container& values, std::size_t count) : values_(values), random_(42) {
    elements_.reserve(count);
    while (elements_.size() < count) elements_.push_back(add());
  }

  // Effects: erases half of the elements, chosen and ordered at random, calls `between`, adds as many new ones.
  template <class F>
  void turn_over(F between) {
    const std::size_t half = elements_.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      std::swap(elements_[i], elements_[i + random_() % (elements_.size() - i)]);
      values_.erase(elements_[i]);
    }
    between();
    for (std::size_t i = 0; i < half; ++i) elements_[i] = add();
  }

private:
  auto add() { return values_.insert(values_.end(), next_++); }

  Container& values_;
  std::mt19937_64 random_;
  value next_ = 0;
  std::vector<typename Container::iterator> elements_;
};

// Returns: the milliseconds of the fastest of three traversals.
template <class Container>
double traversal_ms(const Container& values, std::uint64_t& checksum) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    std::uint64_t sum = sum_of(values);
    escape(&sum);
    best = std::min(best, clock_ms(CLOCK_THREAD_CPUTIME_ID) - start);
    checksum += sum;
  }
  return best;
}

template <class Container, class Peer>
outcome run_churn(std::size_t count, std::size_t rounds) {
  Peer peer;
  outcome result;
  reset_peak_resident();
  const std::uint64_t baseline = resident_bytes();
  {
    Container values(peer.template make<value>());
    population<Container> churned(values, count);
    result.fresh_ms = traversal_ms(values, result.checksum);
    const usage start = usage::now();
    for (std::size_t round = 1; round < rounds; ++round) churned.turn_over([] {});
    churned.turn_over([&] { peer.in_last_round(); });
    result.churn = usage::now() - start;
    result.churned_ms = traversal_ms(values, result.checksum);
  }
  Container values(peer.template make<value>());
  population<Container> rebuilt(values, count);
  result.rebuilt_ms = traversal_ms(values, result.checksum);
  result.peak_bytes = peak_resident_bytes() - baseline;
  return result;
}

template <class Peer>
struct left_alone : Peer {
  void in_last_round() noexcept {}
};

// The nodes of a list of 8-byte values have 24 bytes, those of a set 40.
struct ashlar_shrunk_peer : ashlar_peer {
  void in_last_round() noexcept { shrink<24>(), shrink<40>(); }

private:
  template <std::size_t NodeBytes>
  static void shrink() noexcept {
    ashlar::detail::process_pool<NodeBytes, 8, ashlar::one_thread>::with_pool([](auto& pool) { pool.trim(); });
  }
};

template <class Peer>
outcome run_list(std::size_t count, std::size_t rounds) {
  return run_churn<std::list<value, typename Peer::template allocator<value>>, Peer>(count, rounds);
}

template <class Peer>
outcome run_set(std::size_t count, std::size_t rounds) {
  return run_churn<std::set<value, std::less<value>, typename Peer::template allocator<value>>, Peer>(count, rounds);
}

struct row {
  contender who;
  outcome (*list)(std::size_t count, std::size_t rounds);
  outcome (*set)(std::size_t count, std::size_t rounds);
};

template <class Peer>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, run_list<Peer>, run_set<Peer>};
}

constexpr row rows[] = {
    row_of<left_alone<lifo_peer>>("lifo", "one global free list (reference)", false),
    row_of<left_alone<standard_peer>>("glibc", "std::allocator, glibc"),
    row_of<left_alone<standard_peer>>("mimalloc", "std::allocator, mimalloc"),
    row_of<left_alone<standard_peer>>("jemalloc", "std::allocator, jemalloc"),
    row_of<left_alone<standard_peer>>("tcmalloc", "std::allocator, tcmalloc"),
    row_of<left_alone<standard_peer>>("rpmalloc", "std::allocator, rpmalloc"),
    row_of<left_alone<standard_peer>>("snmalloc", "std::allocator, snmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<left_alone<boost_null_mutex_peer>>("boost_null_mutex", "boost::fast_pool_allocator, null_mutex"),
#endif
    row_of<left_alone<pmr_pool_peer>>("pmr_pool", "pmr unsynchronized pool"),
    row_of<left_alone<ashlar_peer>>("ashlar", "ashlar::pool_allocator, one_thread"),
    row_of<left_alone<ashlar_cached_peer>>("ashlar_cached", "ashlar::pool_allocator, thread_cached", false),
    row_of<ashlar_shrunk_peer>("ashlar_shrunk", "ashlar::pool_allocator, one_thread, shrunk last", false),
};

cell_list all_cells() {
  cell_list cells;
  for (const char* container : {"list", "set"})
    for (const row& r : rows) cells.add(container, "", r.who, {container, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: churn_locality <list|set> <peer> [--count N] [--rounds N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const row& r = line.row(1, rows);
  const bool list = line.word(0) == "list";
  if (!list && line.word(0) != "set") line.usage_error();
  const std::size_t count = line.number("--count", 1'000'000, 100, 100'000'000);
  const std::size_t rounds = line.number("--rounds", list ? 100 : 25, 1, 1'000'000);
  json_object answer = answer_of(r.who.name, line.argv());
  borrow_from_host(count * 100);
  const outcome o = list ? r.list(count, rounds) : r.set(count, rounds);
  std::puts(answer.number("fresh_ms", o.fresh_ms)
                .number("churned_ms", o.churned_ms)
                .number("rebuilt_ms", o.rebuilt_ms)
                .number("churn_ms", o.churn.cpu_ms)
                .count("peak_bytes", o.peak_bytes)
                .count("checksum", o.checksum)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
