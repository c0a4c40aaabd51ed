// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of resolving a planned address, and of a free by the tier of its block.
//
// tiered_heap <resolve|planned|own|shared> <peer> [--rounds N]     one cell of the table per process, one JSON line
// tiered_heap --cells                                              the list of cells

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/plan/pack.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/two_threads.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t count = 10'000;        // blocks of a round
constexpr std::size_t planned_buffers = 64;  // each is resolved repeatedly

// 16 to 256 bytes.
constexpr std::size_t bytes_of(std::size_t i) { return 16 + 16 * (i * 7 % 16); }

constexpr auto buffers = [] {
  std::array<ashlar::plan::buffer, planned_buffers> made{};
  for (std::size_t i = 0; i < planned_buffers; ++i)
    made[i] = ashlar::plan::buffer::half_open(i, bytes_of(i), i, i + 8, 16);
  return made;
}();
constexpr auto layout = ashlar::plan::solve(buffers);

using blocks = std::vector<void*>;

struct malloc_memory {
  void* resolve(std::size_t position) noexcept { return std::malloc(bytes_of(position)); }
  void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void deallocate(void* p) noexcept { std::free(p); }
};

struct heap_memory : ashlar::heap<> {
  void* resolve(std::size_t position) { return allocate(bytes_of(position)); }
};

using tiered_memory = ashlar::tiered_heap<ashlar::static_plan<layout, buffers>>;

template <class Memory>
void fill_planned(Memory& memory, blocks& held, const std::vector<std::uint16_t>& order) {
  for (std::size_t i = 0; i < count; ++i) held[i] = memory.resolve(order[i] % planned_buffers);
  escape(held.data());
}

template <class Memory>
void fill(Memory& memory, blocks& held) {
  for (std::size_t i = 0; i < count; ++i) held[i] = memory.allocate(bytes_of(i));
  escape(held.data());
}

template <class Memory>
void free_all(Memory& memory, const blocks& held, const std::vector<std::uint16_t>& order) {
  for (const std::uint16_t at : order) memory.deallocate(held[at]);
}

// A thread that allocates on request, and frees nothing.
template <class Memory>
class filler {
public:
  filler(Memory& memory, blocks& held)
      : thread_([this, &memory, &held] {
          keep_to_core(1);
          for (unsigned turn = 1; wait_for(turn) && !is_over_; turn += 2) {
            fill(memory, held);
            turn_.store(turn + 1, std::memory_order_release);
          }
        }) {}
  ~filler() {
    is_over_ = true;
    turn_.fetch_add(1, std::memory_order_release);
    thread_.join();
  }

  void fill_now() noexcept {
    const unsigned asked = turn_.fetch_add(1, std::memory_order_release) + 1;
    wait_for(asked + 1);
  }

private:
  bool wait_for(unsigned turn) noexcept {
    for (patience waiting; turn_.load(std::memory_order_acquire) != turn;) waiting.wait();
    return true;
  }

  std::atomic<unsigned> turn_{0};  // odd: the turn of the thread
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

enum class timed { resolves, frees };

// Returns: nanoseconds for each timed call, the median of the rounds. `fill_now()` makes the blocks.
template <timed What, class Memory, class Fill>
double median_ns(Memory& memory, blocks& held, std::size_t rounds, Fill fill_now) {
  std::vector<std::uint16_t> order;
  for (std::uint16_t i = 0; i < count; ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(42));
  std::vector<double> costs(rounds + 5);
  for (double& cost : costs) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    fill_now(order);
    const double middle = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    free_all(memory, held, order);
    const double end = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    cost = (What == timed::resolves ? middle - start : end - middle) * 1e6 / count;
  }
  costs.erase(costs.begin(), costs.begin() + 5);  // the first warm up
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

template <class Memory>
double measure(std::string_view what, std::size_t rounds) {
  keep_to_core(0);
  Memory memory;
  escape(&memory);
  blocks held(count);
  const auto by_plan = [&](const auto& order) { fill_planned(memory, held, order); };
  if (what == "resolve") return median_ns<timed::resolves>(memory, held, rounds, by_plan);
  if (what == "planned") return median_ns<timed::frees>(memory, held, rounds, by_plan);
  if (what == "own") return median_ns<timed::frees>(memory, held, rounds, [&](const auto&) { fill(memory, held); });
  filler<Memory> elsewhere(memory, held);
  return median_ns<timed::frees>(memory, held, rounds, [&](const auto&) { elsewhere.fill_now(); });
}

struct row {
  contender who;
  double (*measure)(std::string_view what, std::size_t rounds);
};

constexpr row rows[] = {
    {{"glibc", "malloc, glibc", true}, measure<malloc_memory>},
    {{"mimalloc", "malloc, mimalloc", true}, measure<malloc_memory>},
    {{"jemalloc", "malloc, jemalloc", true}, measure<malloc_memory>},
    {{"tcmalloc", "malloc, tcmalloc", true}, measure<malloc_memory>},
    {{"rpmalloc", "malloc, rpmalloc", true}, measure<malloc_memory>},
    {{"snmalloc", "malloc, snmalloc", true}, measure<malloc_memory>},
    {{"ashlar_heap", "ashlar::heap", true}, measure<heap_memory>},
    {{"ashlar", "ashlar::tiered_heap", true}, measure<tiered_memory>},
};

constexpr std::string_view groups[] = {"resolve", "planned", "own", "shared"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view group : groups)
    for (const row& r : rows) cells.add(group, "", r.who, {group, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: tiered_heap <resolve|planned|own|shared> <peer> [--rounds N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view group = line.choice(0, groups, [](std::string_view each) { return each; });
  const row& r = line.row(1, rows);
  const std::size_t rounds = line.number("--rounds", 1000, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  std::puts(answer.number("median_ns", r.measure(group, rounds)).str().c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
