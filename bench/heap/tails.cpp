// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time of one allocation and of one free, at the median and at worst, under four workloads of engines.
//
// heap_tails <workload> <allocate|free> <peer> [--rounds N]     one cell per process, one JSON line
// heap_tails --cells                                           the list of cells

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/study/histogram.hpp>
#include <ashlar/study/latency_timer.hpp>

#include "heaps.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/cycles.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"

namespace bench {
namespace {

// A step at one place: its block, if any, is freed; a block of `bytes`, if not 0, is allocated.
struct step {
  std::uint16_t at;
  std::uint16_t granules;

  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{granules} * 16; }
};

struct workload {
  std::string_view name;
  std::size_t live;
  double least, most;
  bool logarithmic;
  bool in_frames;  // all are allocated, then all are freed in the same order; else a random one is replaced
};

constexpr workload workloads[] = {{"mixed", 4096, 16, 256, false, false},
                                  {"wide", 4096, 16, 32 * 1024, true, false},
                                  {"frame", 2000, 16, 256, false, true},
                                  {"large", 64, 64 * 1024, 1024 * 1024, false, false}};

// As few as randomness allows, since they share the caches with the blocks; whole frames, when those alternate.
constexpr std::size_t steps_in_turn = 32'000;

std::vector<step> steps_of(const workload& w) {
  std::mt19937 random(42);
  const auto granules = [&] {
    const double share = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
    const double drawn =
        w.logarithmic ? w.least * std::pow(w.most / w.least, share) : w.least + (w.most - w.least) * share;
    return static_cast<std::uint16_t>(drawn / 16);
  };
  std::vector<step> steps(steps_in_turn);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool in_turn = w.in_frames || i < w.live;
    steps[i].at = static_cast<std::uint16_t>(in_turn ? i % w.live : random() % w.live);
    steps[i].granules = w.in_frames && i / w.live % 2 == 1 ? std::uint16_t{0} : granules();
  }
  return steps;
}

struct slot {
  void* p = nullptr;
  std::size_t bytes = 0;
};

struct times {
  ashlar::study::fine_histogram allocate, free;
};

template <bool Sized, class Heap>
void give(Heap& heap, const slot& from) noexcept {
  if constexpr (Sized) heap.free(from.p, from.bytes);
  else heap.free(from.p);
}

// Every figure contains the cost of reading the clock, for all peers alike: the floor shows it.
template <bool Sized, class Heap>
void run(Heap& heap, std::vector<slot>& live, const std::vector<step>& steps, times& into) {
  for (const step& s : steps) {
    slot& place = live[s.at];
    if (place.p != nullptr) {
      const std::uint64_t start = cycles::now();
      give<Sized>(heap, place);
      into.free.record(cycles::now() - start);
      place = {};
    }
    if (s.granules == 0) continue;
    const std::uint64_t start = cycles::now();
    void* const p = heap.allocate(s.bytes());
    into.allocate.record(cycles::now() - start);
    place = {p, s.bytes()};
    *static_cast<std::uint64_t*>(p) = s.granules;
    escape(p);
  }
}

constexpr double quantiles[] = {0.5, 0.99, 0.999};
using histogram = ashlar::study::fine_histogram;

struct result {
  std::array<std::vector<std::uint64_t>, std::size(quantiles)> by_round;
  histogram whole;
  double ns_per_tick = 0;

  [[nodiscard]] double ns(std::uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick; }

  // Returns: the quantile of the median round, since other programs disturb some of them.
  [[nodiscard]] double quantile_ns(std::size_t which) {
    std::vector<std::uint64_t>& all = by_round[which];
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return ns(all[all.size() / 2]);
  }
};

// The first rounds warm up.
template <class Heap, bool Sized>
result measure(const workload& w, histogram times::* call, std::size_t rounds) {
  const ashlar::detail::tick_calibration<cycles> clock;
  const auto heap = std::make_unique<Heap>();
  const std::vector<step> steps = steps_of(w);
  std::vector<slot> live(w.live);
  result r;
  for (std::size_t round = 0; round < 5 + rounds; ++round) {
    times of;
    run<Sized>(*heap, live, steps, of);
    if (round < 5) continue;
    for (std::size_t i = 0; i < std::size(quantiles); ++i) r.by_round[i].push_back((of.*call).quantile(quantiles[i]));
    r.whole.merge(of.*call);
  }
  r.ns_per_tick = clock.ns_per_tick();
  return r;
}

struct row {
  contender who;
  result (*measure)(const workload&, histogram times::*, std::size_t rounds);
};

constexpr row rows[] = {
    {{"null", "null (floor: the clock)", false}, measure<null_heap, false>},
    {{"glibc", "malloc, glibc", true}, measure<malloc_heap, false>},
    {{"mimalloc", "malloc, mimalloc", true}, measure<malloc_heap, false>},
    {{"jemalloc", "malloc, jemalloc", true}, measure<malloc_heap, false>},
    {{"tcmalloc", "malloc, tcmalloc", true}, measure<malloc_heap, false>},
    {{"rpmalloc", "malloc, rpmalloc", true}, measure<malloc_heap, false>},
    {{"snmalloc", "malloc, snmalloc", true}, measure<malloc_heap, false>},
    {{"ashlar", "ashlar::local_heap", true}, measure<ashlar_heap, false>},
    {{"ashlar_sized", "ashlar::local_heap, sized frees", true}, measure<ashlar_heap, true>},
    {{"ashlar_called", "ashlar::local_heap, called as malloc is", true},
     measure<called_heap<called_ashlar, false>, false>},
};

struct call {
  std::string_view name;
  histogram times::* of;
};
constexpr call calls[] = {{"allocate", &times::allocate}, {"free", &times::free}};

cell_list all_cells() {
  cell_list cells;
  for (const workload& w : workloads)
    for (const call& c : calls)
      for (const row& r : rows)
        cells.add(std::string(w.name) + "_" + std::string(c.name), "", r.who, {w.name, c.name, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: heap_tails <mixed|wide|frame|large> <allocate|free> <peer> [--rounds N] | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto name = [](const auto& each) { return each.name; };
  const workload& w = line.choice(0, workloads, name);
  const call& c = line.choice(1, calls, name);
  const row& r = line.row(2, rows);
  const std::size_t rounds = line.number("--rounds", 60, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  result got = r.measure(w, c.of, rounds);
  std::puts(answer.number("p50_ns", got.quantile_ns(0))
                .number("p99_ns", got.quantile_ns(1))
                .number("p999_ns", got.quantile_ns(2))
                .number("p9999_ns", got.ns(got.whole.quantile(0.9999)))
                .number("max_ns", got.ns(got.whole.max()))
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
