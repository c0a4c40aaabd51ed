// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of heaps with blocks that other threads free.
//
// heap_threads <workload> <peer> [--windows N] [--threads N]     one cell per process, one JSON line
// heap_threads --cells                                           the list of cells

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/study/histogram.hpp>
#include <ashlar/study/latency_timer.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"
#include "users.hpp"
#include "workloads.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include "support/cycles.hpp"
#endif

namespace bench {
namespace {

#if defined(__x86_64__) || defined(__i386__)
using call_clock = cycles;
#else
using call_clock = ashlar::detail::steady_ticks;
#endif
using histogram = ashlar::study::fine_histogram;

struct times {
  histogram allocate, free;
};

// The same heap with each call timed. The times contain the cost of reading the clock.
template <class Users>
class timed_users {
public:
  explicit timed_users(const team& of) : inner_(of), times_(of.threads) {}
  class user {
  public:
    user(decltype(std::declval<Users&>().of(0)) inner, times& into) : inner_(inner), into_(into) {}
    void* allocate(std::size_t bytes) {
      const std::uint64_t start = call_clock::now();
      void* const p = inner_.allocate(bytes);
      into_.allocate.record(call_clock::now() - start);
      return p;
    }
    void free(void* p, std::size_t maker) noexcept {
      const std::uint64_t start = call_clock::now();
      inner_.free(p, maker);
      into_.free.record(call_clock::now() - start);
    }

  private:
    decltype(std::declval<Users&>().of(0)) inner_;
    times& into_;
  };
  user of(std::size_t index) { return {inner_.of(index), times_[index]}; }

  [[nodiscard]] histogram all(histogram times::* call) const {
    histogram merged;
    for (const times& each : times_) merged.merge(each.*call);
    return merged;
  }

private:
  Users inner_;
  std::vector<times> times_;
};

struct workload {
  std::string_view name, kind;
  std::size_t threads;  // without a number on the command line
  std::size_t windows;
  std::size_t live_blocks;  // of one thread, at most
};

constexpr std::size_t small_ring = 1024, deep_ring = 131'072, kept_in_flight = deep_ring - 2048;

constexpr workload workloads[] = {{"ring", "ring", 2, 250, small_ring},
                                  {"ring_64", "ring_64", 2, 250, small_ring},
                                  {"deep", "deep", 2, 150, deep_ring},
                                  {"many_to_one", "many_to_one", 4, 150, 3 * small_ring},
                                  {"many_to_one_16", "many_to_one", 16, 50, 15 * small_ring},
                                  {"one_to_many", "one_to_many", 4, 50, small_ring},
                                  {"one_to_many_16", "one_to_many", 16, 10, small_ring},
                                  {"to_and_fro", "to_and_fro", 2, 250, 64},
                                  {"round_about", "round_about", 2, 250, 9 * 256},
                                  {"round_about_16", "round_about", 16, 60, 9 * 256},
                                  {"generations", "generations", 2, 100, 1000},
                                  {"generations_16", "generations", 16, 20, 1000},
                                  {"batches", "bursts", 2, 1000, 4096},
                                  {"bursts", "bursts", 2, 60, 65'536},
                                  {"bursts_shuffled", "bursts_shuffled", 2, 60, 65'536}};

// Returns: the threads that have this many live blocks.
std::size_t makers(const workload& w, std::size_t threads) {
  if (w.kind == "one_to_many") return threads - 1;
  if (w.kind == "round_about" || w.kind == "generations") return threads;
  const bool is_half = w.kind == "ring" || w.kind == "ring_64" || w.kind == "deep" || w.kind == "to_and_fro";
  return is_half ? threads / 2 : 1;
}

template <class Users>
findings run(const workload& w, Users& users, std::size_t threads, std::size_t windows) {
  const std::size_t half = threads / 2;
  const auto streamed = [&](const stream_shape& shape) { return stream<Users>(users, shape).run(windows); };
  if (w.kind == "ring") return streamed({half, half, small_ring});
  if (w.kind == "ring_64") return streamed({.makers = half, .freers = half, .capacity = small_ring, .all_64 = true});
  if (w.kind == "deep") return streamed({half, half, deep_ring, kept_in_flight});
  if (w.kind == "many_to_one") return streamed({1, threads - 1, small_ring});
  if (w.kind == "one_to_many") return streamed({threads - 1, 1, small_ring});
  if (w.kind == "to_and_fro") return to_and_fro(users, half, windows);
  if (w.kind == "round_about") return round_about(users, threads, windows);
  if (w.kind == "generations") return generations(users, threads, windows);
  return bursts(users, w.live_blocks, w.kind != "bursts_shuffled", windows);
}

struct outcome {
  findings untimed;
  usage used;
  std::uint64_t peak_bytes = 0;
  double drift = 0;  // of resident memory, from a fifth of the run to its end
  double allocate_p999_ns = 0, free_p999_ns = 0;
};

template <class Users>
outcome measure(const workload& w, std::size_t threads, std::size_t windows) {
  const team members{threads, w.live_blocks * block_sizes::mean};
  outcome result;
  {
    Users users(members);
    reset_peak_resident();
    const std::uint64_t baseline = resident_bytes();
    static_cast<void>(run(w, users, threads, std::max<std::size_t>(1, windows / 4)));
    const std::uint64_t early = resident_bytes();
    const usage start = usage::now();
    result.untimed = run(w, users, threads, windows);
    result.used = usage::now() - start;
    result.drift = static_cast<double>(resident_bytes()) / static_cast<double>(early);
    result.peak_bytes = peak_resident_bytes() - std::min(baseline, peak_resident_bytes());
  }
  const ashlar::detail::tick_calibration<call_clock> clock;
  timed_users<Users> timed(members);
  static_cast<void>(run(w, timed, threads, std::max<std::size_t>(1, windows / 5)));
  const auto p999 = [&](histogram times::* call) {
    return static_cast<double>(timed.all(call).quantile(0.999)) * clock.ns_per_tick();
  };
  result.allocate_p999_ns = p999(&times::allocate);
  result.free_p999_ns = p999(&times::free);
  return result;
}

struct row {
  contender who;
  outcome (*measure)(const workload& w, std::size_t threads, std::size_t windows);
};

constexpr row rows[] = {
    {{"null", "null (floor: the way between the threads)", false}, measure<null_users>},
    {{"glibc", "malloc, glibc", true}, measure<malloc_users>},
    {{"mimalloc", "malloc, mimalloc", true}, measure<malloc_users>},
    {{"mimalloc3", "malloc, mimalloc 3", true}, measure<malloc_users>},
    {{"jemalloc", "malloc, jemalloc", true}, measure<malloc_users>},
    {{"tcmalloc", "malloc, tcmalloc", true}, measure<malloc_users>},
    {{"google_tcmalloc", "malloc, Google's tcmalloc", true}, measure<malloc_users>},
    {{"rpmalloc", "malloc, rpmalloc 1.4.3", true}, measure<malloc_users>},
    {{"rpmalloc2", "malloc, rpmalloc 2", true}, measure<malloc_users>},
    {{"snmalloc", "malloc, snmalloc", true}, measure<malloc_users>},
    {{"ashlar", "ashlar::heap", true}, measure<heap_users>},
    {{"ashlar_owner", "ashlar::owner_heap and remote_freer", true}, measure<owner_users>},
};

cell_list all_cells() {
  cell_list cells;
  for (const workload& w : workloads)
    for (const row& r : rows) cells.add(w.name, "", r.who, {w.name, r.who.name});
  return cells;
}

void print_outcome(json_object answer, const workload& w, std::size_t threads, const outcome& o, double ping_before) {
  const std::size_t live_blocks = makers(w, threads) * w.live_blocks;
  const double live = static_cast<double>(live_blocks * (w.name == "ring_64" ? 64 : block_sizes::mean));
  std::puts(answer.text("workload", w.name)
                .count("threads", threads)
                .count("windows", o.untimed.ns.size())
                .number("tenth_ns", o.untimed.quantile(0.1))
                .number("median_ns", o.untimed.quantile(0.5))
                .number("p90_ns", o.untimed.quantile(0.9))
                .number("allocate_p999_ns", o.allocate_p999_ns)
                .number("free_p999_ns", o.free_p999_ns)
                .number("fairness", o.untimed.fairness)
                .number("wall_ms", o.used.wall_ms)
                .number("cpu_ms", o.used.cpu_ms)
                .number("sys_ms", o.used.sys_ms)
                .count("peak_bytes", o.peak_bytes)
                .number("peak_over_live", static_cast<double>(o.peak_bytes) / live)
                .number("drift", o.drift)
                .number("ping_pong_ns", (ping_before + ping_pong_ns()) / 2)
                .count("checksum", o.untimed.checksum)
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: heap_threads <workload> <peer> [--windows N] [--threads N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const workload& w = line.choice(0, workloads, [](const workload& each) { return each.name; });
  const row& r = line.row(1, rows);
  const std::size_t windows = line.number("--windows", w.windows, 1, 1'000'000);
  const std::size_t threads = line.number("--threads", w.threads, 2, 256);
  const json_object answer = answer_of(r.who.name, line.argv());
  borrow_from_host(std::size_t{64} << 20);
  load_code();
  const double ping_before = ping_pong_ns();
  const outcome o = r.measure(w, threads, windows);
  print_outcome(answer, w, threads, o, ping_before);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
