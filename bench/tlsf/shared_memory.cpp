// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time of a pair of calls in memory that processes share, with one process at work: the price of each guarantee.
//
// shared_memory <small|churn> <peer> [--count N]     one cell of the table per process, one JSON line
// shared_memory --cells                              the list of cells

#include <sys/mman.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/resource/shared_memory.hpp>

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/interprocess/managed_external_buffer.hpp>
#endif

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t room = std::size_t{256} << 20;

void* shared_room() {
  return ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

template <class Lock>
class of_ashlar {
public:
  void* allocate(std::size_t bytes) { return memory_.allocate(bytes, 16); }
  void deallocate(void* p) { memory_.deallocate(p); }

private:
  using memory = ashlar::interprocess::basic_shared_memory<Lock>;
  memory& memory_ = *memory::create(shared_room(), room);
};

#if ASHLAR_BENCH_HAS_BOOST
template <class Algorithm>
class of_boost {
public:
  void* allocate(std::size_t bytes) { return memory_.allocate(bytes); }
  void deallocate(void* p) { memory_.deallocate(p); }

private:
  boost::interprocess::basic_managed_external_buffer<char, Algorithm, boost::interprocess::iset_index> memory_{
      boost::interprocess::create_only, shared_room(), room};
};
using locks_of_boost = boost::interprocess::mutex_family;
using no_locks_of_boost = boost::interprocess::null_mutex_family;
#endif

struct step {
  std::uint32_t at;
  std::uint32_t bytes;
};

constexpr std::size_t most_live = 4096;

// Each step replaces a random one of 4096 live blocks; equally many sizes of each octave.
std::vector<step> steps_of(std::size_t count, double least, double most) {
  std::mt19937 random(42);
  std::vector<step> steps(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
    steps[i] = {static_cast<std::uint32_t>(i < most_live ? i : random() % most_live),
                static_cast<std::uint32_t>(least * std::pow(most / least, share))};
  }
  return steps;
}

// A first pass warms up. Returns: nanoseconds of a deallocation with an allocation.
template <class Memory>
double measure(const std::vector<step>& steps) {
  Memory memory;
  std::vector<void*> live(most_live);
  double start = 0;
  for (int pass = 0; pass < 2; ++pass) {
    start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    for (const step& s : steps) {
      if (live[s.at] != nullptr) memory.deallocate(live[s.at]);
      live[s.at] = memory.allocate(s.bytes);
      *static_cast<std::uint64_t*>(live[s.at]) = 1;
      escape(live[s.at]);
    }
  }
  return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(steps.size());
}

struct row {
  contender who;
  double (*measure)(const std::vector<step>&);
};

constexpr row rows[] = {
    {{"ashlar_shared_memory", "ashlar shared_memory, robust lock", false},
     measure<of_ashlar<ashlar::os::process_lock>>},
    {{"ashlar_spin_lock", "ashlar basic_shared_memory, spin_lock", false}, measure<of_ashlar<ashlar::spin_lock>>},
    {{"ashlar_null_lock", "ashlar basic_shared_memory, null_lock", false}, measure<of_ashlar<ashlar::null_lock>>},
#if ASHLAR_BENCH_HAS_BOOST
    {{"boost_best_fit", "boost rbtree_best_fit, its mutex", true},
     measure<of_boost<boost::interprocess::rbtree_best_fit<locks_of_boost>>>},
    {{"boost_null_lock", "boost rbtree_best_fit, null_mutex", false},
     measure<of_boost<boost::interprocess::rbtree_best_fit<no_locks_of_boost>>>},
#endif
};

struct pattern {
  std::string_view name;
  double least, most;
};
constexpr pattern patterns[] = {{"small", 16, 256}, {"churn", 16, 32768}};

cell_list all_cells() {
  cell_list cells;
  for (const pattern& p : patterns)
    for (const row& r : rows) cells.add(p.name, "", r.who, {p.name, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: shared_memory <small|churn> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const pattern& p = line.choice(0, patterns, [](const auto& each) { return each.name; });
  const row& r = line.row(1, rows);
  const std::size_t count = line.number("--count", 1'000'000, most_live, 100'000'000);
  json_object answer = answer_of(r.who.name, line.argv());
  std::puts(answer.number("pair_ns", r.measure(steps_of(count, p.least, p.most))).str().c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
