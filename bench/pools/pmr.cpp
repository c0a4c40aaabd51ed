// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a polymorphic pool resource, in one thread and in two, beside those of the standard library and Boost.
//
// pmr_pools <list|set> <peer> [--count N]             one cell per process, one JSON line
// pmr_pools churn <workload> <peer> [--windows N]
// pmr_pools list_2 <peer> [--count N]                 the same in two threads, which share one resource
// pmr_pools churn_2 <workload> <peer> [--windows N]
// pmr_pools --cells                                   the list of cells

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pmr_peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/node_steps.hpp"
#include "support/pmr_churn.hpp"
#include "support/program.hpp"
#include "support/two_threads.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct outcome {
  double cost = 0;  // ms of a container, ns of an allocation and its free
  double user_ms = 0;
  double sys_ms = 0;
  double bytes_per_element = 0;
  std::uint64_t checksum = 0;
};

template <class Container, class Peer>
outcome run_container(std::size_t count_asked) {
  const int count = static_cast<int>(count_asked);
  keep_to_core(0);
  outcome result;
  reset_peak_resident();
  const std::uint64_t baseline = resident_bytes();
  Peer peer;
  const usage start = usage::now();
  std::optional<Container> values(std::in_place, peer.template make<int>());
  append(*values, 0, count);
  result.checksum = erase_every(*values, 3);
  append(*values, count, count);
  result.checksum += erase_every(*values, 7);
  append(*values, 2 * count, count);
  const std::size_t peak = values->size();
  values.reset();
  peer.give_back();
  const usage used = usage::now() - start;
  result.bytes_per_element = static_cast<double>(peak_resident_bytes() - baseline) / static_cast<double>(peak);
  result.cost = used.cpu_ms, result.user_ms = used.user_ms, result.sys_ms = used.sys_ms;
  return result;
}

template <class Peer>
outcome run_list(std::string_view, std::size_t count) {
  return run_container<std::list<int, typename Peer::template allocator<int>>, Peer>(count);
}

template <class Peer>
outcome run_set(std::string_view, std::size_t count) {
  return run_container<std::set<int, std::less<int>, typename Peer::template allocator<int>>, Peer>(count);
}

// Returns: nanoseconds per allocation and free of the median window.
template <class Peer>
double churn_ns(Peer& peer, std::string_view workload, std::size_t windows) {
  constexpr std::size_t warm_up = 3;
  pmr_churn churn(workload);
  std::vector<double> costs(windows + warm_up);
  for (double& cost : costs) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    const std::size_t pairs = churn.run_window(peer);
    cost = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(pairs);
  }
  churn.finish(peer);
  costs.erase(costs.begin(), costs.begin() + warm_up);
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

template <class Peer>
outcome run_churn(std::string_view workload, std::size_t windows) {
  keep_to_core(0);
  Peer peer;
  return {.cost = churn_ns(peer, workload, windows)};
}

// The wall time of both threads, which sleep while they wait for locks.
template <class Peer>
outcome run_list_2(std::string_view, std::size_t count) {
  Peer peer;
  usage start;
  outcome result;
  std::barrier<> together(2);
  in_two_threads([&](int index) {
    std::optional<std::list<int, typename Peer::template allocator<int>>> values(std::in_place,
                                                                                 peer.template make<int>());
    if (index == 0) start = usage::now();
    together.arrive_and_wait();
    append(*values, 0, static_cast<int>(count));
    const std::uint64_t erased = erase_every(*values, 3);
    append(*values, 0, static_cast<int>(count));
    values.reset();
    together.arrive_and_wait();
    if (index == 0) result.cost = (usage::now() - start).wall_ms, result.checksum = erased;
  });
  peer.give_back();
  return result;
}

template <class Peer>
outcome run_churn_2(std::string_view workload, std::size_t windows) {
  Peer peer;
  std::barrier<> together(2);
  double wall_ms = 0;
  std::array<std::size_t, 2> pairs{};
  in_two_threads([&](int index) {
    pmr_churn churn(workload);
    for (int i = 0; i < 3; ++i) churn.run_window(peer);
    together.arrive_and_wait();
    const double start = clock_ms(CLOCK_MONOTONIC);
    for (std::size_t i = 0; i < windows; ++i) pairs[static_cast<std::size_t>(index)] += churn.run_window(peer);
    together.arrive_and_wait();
    if (index == 0) wall_ms = clock_ms(CLOCK_MONOTONIC) - start;
    churn.finish(peer);
  });
  return {.cost = wall_ms * 1e6 / static_cast<double>(pairs[0])};
}

using measurement = outcome (*)(std::string_view workload, std::size_t size);

struct row {
  contender who;
  measurement list, set, churn, list_2, churn_2;
};

template <class Peer>
constexpr row one_thread_row(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, run_list<Peer>, run_set<Peer>, run_churn<Peer>, nullptr, nullptr};
}

template <class Peer>
constexpr row two_thread_row(std::string_view name, std::string_view what, bool rival = true) {
  return {{name, what, rival}, nullptr, nullptr, nullptr, run_list_2<Peer>, run_churn_2<Peer>};
}

constexpr row rows[] = {
    {{"null", "null (floor: the call and the loop)", false}, nullptr, nullptr, run_churn<null_peer>, nullptr, nullptr},
    {{"heap", "operator new, behind the same call", true},
     run_list<heap_peer>,
     run_set<heap_peer>,
     run_churn<heap_peer>,
     run_list_2<heap_peer>,
     run_churn_2<heap_peer>},
    one_thread_row<std_pool_peer>("std_pool", "std::pmr::unsynchronized_pool_resource"),
#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
    one_thread_row<boost_pool_peer>("boost_pool", "Boost's unsynchronized_pool_resource"),
#endif
    one_thread_row<ashlar_pool_peer>("ashlar_pool", "ashlar::pmr::unsynchronized_pool_resource"),
    two_thread_row<std_synchronized_peer>("std_synchronized", "std::pmr::synchronized_pool_resource"),
#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
    two_thread_row<boost_synchronized_peer>("boost_synchronized", "Boost's synchronized_pool_resource"),
#endif
    two_thread_row<ashlar_synchronized_peer>("ashlar_synchronized", "ashlar::pmr::synchronized_pool_resource"),
};

constexpr std::array<std::string_view, 3> two_thread_workloads{"lifo", "mixed", "log"};

cell_list all_cells() {
  cell_list cells;
  for (const row& r : rows) {
    if (r.list != nullptr) cells.add("list", "", r.who, {"list", r.who.name});
    if (r.set != nullptr) cells.add("set", "", r.who, {"set", r.who.name});
    if (r.list_2 != nullptr) cells.add("list_2", "", r.who, {"list_2", r.who.name});
  }
  for (const std::string_view each : pmr_churn::names)
    for (const row& r : rows)
      if (r.churn != nullptr) cells.add("churn", each, r.who, {"churn", each, r.who.name});
  for (const std::string_view each : two_thread_workloads)
    for (const row& r : rows)
      if (r.churn_2 != nullptr) cells.add("churn_2", each, r.who, {"churn_2", each, r.who.name});
  return cells;
}

measurement find(const row& r, std::string_view group) {
  if (group == "list") return r.list;
  if (group == "set") return r.set;
  if (group == "list_2") return r.list_2;
  if (group == "churn") return r.churn;
  return group == "churn_2" ? r.churn_2 : nullptr;
}

std::string usage_text() {
  return "usage: pmr_pools <list|set|list_2> <peer> [--count N] | <churn|churn_2> <workload> <peer> "
         "[--windows N] | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  const std::string_view group = line.word(0);
  const bool is_churn = group.starts_with("churn");
  line.expect_words(is_churn ? 3 : 2);
  const row& r = line.row(is_churn ? 2 : 1, rows);
  const measurement measure = find(r, group);
  if (measure == nullptr) line.usage_error();
  const std::size_t many = group == "set" ? 3'000'000 : group == "list" ? 10'000'000 : 2'000'000;
  const std::size_t count = line.number("--count", many, 100, 100'000'000);
  const std::size_t windows = line.number("--windows", 100, 1, 10'000);
  if (!is_churn) borrow_from_host(count * (group == "list" ? 100 : 200));
  const std::string_view workload =
      is_churn ? line.choice(1, pmr_churn::names, [](std::string_view each) { return each; }) : "";
  const outcome got = measure(workload, is_churn ? windows : count);
  std::puts(json_object()
                .text("peer", r.who.name)
                .number(is_churn ? "ns" : "ms", got.cost)
                .number("user_ms", got.user_ms)
                .number("sys_ms", got.sys_ms)
                .number("bytes_per_element", got.bytes_per_element)
                .count("checksum", got.checksum)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
