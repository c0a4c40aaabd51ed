// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time of one allocation and of one free, at the median and at worst: TLSF beside general allocators.
//
// tlsf_latency <churn|hostile> <allocate|free> <peer> [--count N]     one cell of the table per process, one JSON line
// tlsf_latency --cells                                                the list of cells

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>
#include <ashlar/study/histogram.hpp>
#include <ashlar/study/latency_timer.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/cycles.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

struct malloc_blocks {
  void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void deallocate(void* p, std::size_t) noexcept { std::free(p); }
};

class pmr_blocks {
public:
  void* allocate(std::size_t bytes) { return resource_.allocate(bytes); }
  void deallocate(void* p, std::size_t bytes) { resource_.deallocate(p, bytes); }

private:
  std::pmr::unsynchronized_pool_resource resource_;
};

// Grows by regions from the system; empty ones go back, or are kept.
template <bool Keeps>
class tlsf_growing {
public:
  void* allocate(std::size_t bytes) { return resource_.allocate(bytes, 16); }
  void deallocate(void* p, std::size_t bytes) noexcept { resource_.deallocate(p, bytes, 16); }

private:
  ashlar::tlsf_resource<> resource_{
      ashlar::tlsf_resource_options{.retain_regions = Keeps ? ashlar::never_release : ashlar::retain_policy(1)}};
};

// In memory that was mapped and touched before, as in a program with deadlines.
class tlsf_in_buffer {
public:
  void* allocate(std::size_t bytes) { return resource_.allocate(bytes, 16); }
  void deallocate(void* p, std::size_t bytes) noexcept { resource_.deallocate(p, bytes, 16); }

private:
  static constexpr std::size_t room = std::size_t{256} << 20;
  struct touched {
    touched() : data(static_cast<std::byte*>(ashlar::page_resource().allocate(room, 4096))) {
      std::memset(data, 1, room);
    }
    ~touched() { ashlar::page_resource().deallocate(data, room, 4096); }
    touched(const touched&) = delete;
    touched& operator=(const touched&) = delete;
    std::byte* data;
  };

  touched memory_;
  ashlar::tlsf_resource<ashlar::null_resource> resource_{std::span<std::byte>(memory_.data, room)};
};

// As the one before, made resident by the upstream; small blocks are cells.
class bounded_blocks {
public:
  void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
  void deallocate(void* p, std::size_t) noexcept { heap_.deallocate(p); }

private:
  ashlar::bounded_heap<> heap_{std::size_t{256} << 20};
};

// The heap with the best mean, without a bound for a single call.
class local_blocks {
public:
  void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
  void deallocate(void* p, std::size_t) noexcept { heap_.deallocate(p); }

private:
  ashlar::local_heap<> heap_;
};

// Sizes and victims are drawn before the clock runs.
struct step {
  std::uint32_t at;
  std::uint32_t bytes;
};

constexpr std::size_t most_live = 4096;

std::uint32_t log_uniform(std::mt19937& random, double least, double most) {
  const double share = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  return static_cast<std::uint32_t>(least * std::pow(most / least, share));
}

// Sizes from 16 B to 32 KiB, equally many of each octave; each step replaces a random one of 4096 live blocks.
std::vector<step> random_churn(std::size_t count) {
  std::mt19937 random(42);
  std::vector<step> steps(count);
  for (std::size_t i = 0; i < count; ++i)
    steps[i] = {static_cast<std::uint32_t>(i < most_live ? i : random() % most_live), log_uniform(random, 16, 32768)};
  return steps;
}

// The worst case for splits and joins: waves. A wave of equal small blocks, every other of them replaced by one that
// does not fit the hole, then all of them by large ones, so that the smallest and the largest bins are used in turn.
std::vector<step> hostile_waves(std::size_t count) {
  std::vector<step> steps(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t wave = i / most_live, place = i % most_live;
    const std::size_t at = wave % 3 == 1 ? place / 2 * 2 : place;
    const std::size_t bytes = wave % 3 == 0 ? 24 : wave % 3 == 1 ? 40 + place % 32 * 16 : 4096 + place % 64 * 512;
    steps[i] = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(bytes)};
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

template <class Pool>
double run_plain(Pool& pool, std::vector<slot>& live, const std::vector<step>& steps) {
  const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  for (const step& s : steps) {
    slot& place = live[s.at];
    if (place.p != nullptr) pool.deallocate(place.p, place.bytes);
    place = {pool.allocate(s.bytes), s.bytes};
    *static_cast<std::uint64_t*>(place.p) = 1;
    escape(place.p);
  }
  return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(steps.size());
}

template <class Pool>
void run_timed(Pool& pool, std::vector<slot>& live, const std::vector<step>& steps, times& into) {
  const std::uint64_t floor = ashlar::detail::clock_overhead<cycles>();
  const auto record = [floor](ashlar::study::fine_histogram& into_one, std::uint64_t ticks) {
    into_one.record(ticks > floor ? ticks - floor : 0);
  };
  for (const step& s : steps) {
    slot& place = live[s.at];
    const std::uint64_t start = cycles::now();
    if (place.p != nullptr) pool.deallocate(place.p, place.bytes);
    const std::uint64_t freed = cycles::now();
    void* const p = pool.allocate(s.bytes);
    const std::uint64_t allocated = cycles::now();
    place = {p, s.bytes};
    *static_cast<std::uint64_t*>(p) = 1;
    escape(p);
    record(into.free, freed - start);
    record(into.allocate, allocated - freed);
  }
}

struct result {
  times of;
  double pair_ns = 0;
  double ns_per_tick = 0;
};

// A first pass warms up, a second is timed as a whole, a third call by call.
template <class Pool>
result measure(const std::vector<step>& steps) {
  const ashlar::detail::tick_calibration<cycles> clock;
  const auto pool = std::make_unique<Pool>();
  std::vector<slot> live(most_live);
  result r;
  static_cast<void>(run_plain(*pool, live, steps));
  r.pair_ns = run_plain(*pool, live, steps);
  run_timed(*pool, live, steps, r.of);
  r.ns_per_tick = clock.ns_per_tick();
  for (const slot& each : live)
    if (each.p != nullptr) pool->deallocate(each.p, each.bytes);
  return r;
}

struct row {
  contender who;
  result (*measure)(const std::vector<step>&);
};

constexpr row rows[] = {
    {{"glibc", "malloc, glibc", true}, measure<malloc_blocks>},
    {{"mimalloc", "malloc, mimalloc", true}, measure<malloc_blocks>},
    {{"jemalloc", "malloc, jemalloc", true}, measure<malloc_blocks>},
    {{"tcmalloc", "malloc, tcmalloc", true}, measure<malloc_blocks>},
    {{"rpmalloc", "malloc, rpmalloc", true}, measure<malloc_blocks>},
    {{"snmalloc", "malloc, snmalloc", true}, measure<malloc_blocks>},
    {{"pmr_pool", "pmr unsynchronized pool", true}, measure<pmr_blocks>},
    {{"ashlar_tlsf", "ashlar::tlsf_resource", true}, measure<tlsf_growing<false>>},
    {{"ashlar_tlsf_keeping", "ashlar::tlsf_resource, keeping regions", true}, measure<tlsf_growing<true>>},
    {{"ashlar_tlsf_buffer", "ashlar::tlsf_resource, in touched memory", true}, measure<tlsf_in_buffer>},
    {{"ashlar_bounded_heap", "ashlar::bounded_heap", true}, measure<bounded_blocks>},
    {{"ashlar_local_heap", "ashlar::local_heap", true}, measure<local_blocks>},
};

struct pattern {
  std::string_view name;
  std::vector<step> (*steps)(std::size_t count);
};
constexpr pattern patterns[] = {{"churn", random_churn}, {"hostile", hostile_waves}};

struct call {
  std::string_view name;
  ashlar::study::fine_histogram times::* of;
};
constexpr call calls[] = {{"allocate", &times::allocate}, {"free", &times::free}};

cell_list all_cells() {
  cell_list cells;
  for (const pattern& p : patterns)
    for (const call& c : calls)
      for (const row& r : rows)
        cells.add(std::string(p.name) + "_" + std::string(c.name), "", r.who, {p.name, c.name, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: tlsf_latency <churn|hostile> <allocate|free> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto name = [](const auto& each) { return each.name; };
  const pattern& p = line.choice(0, patterns, name);
  const call& c = line.choice(1, calls, name);
  const row& r = line.row(2, rows);
  const std::size_t count = line.number("--count", 1'000'000, most_live, 100'000'000);
  json_object answer = answer_of(r.who.name, line.argv());
  const result got = r.measure(p.steps(count));
  const auto& histogram = got.of.*c.of;
  const auto ns = [&](double q) { return static_cast<double>(histogram.quantile(q)) * got.ns_per_tick; };
  std::puts(answer.number("p50_ns", ns(0.5))
                .number("p99_ns", ns(0.99))
                .number("p999_ns", ns(0.999))
                .number("p9999_ns", ns(0.9999))
                .number("max_ns", static_cast<double>(histogram.max()) * got.ns_per_tick)
                .number("pair_ns", got.pair_ns)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
