// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of an allocation and its free in the allocation patterns of engines, in one thread.
//
// engine_workloads <workload> <unsized|sized> <peer> [--windows N]     one cell per process, one JSON line
// engine_workloads <peer>                                              which program runs it, over which malloc library
// engine_workloads --cells                                             the list of cells

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heaps.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/compiler_twin.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t warm_up_windows = 5;

// Writes to the block as any caller does, so that no code may assume its contents.
void use(void* block, std::size_t value) noexcept {
  *static_cast<std::size_t*>(block) = value;
  escape(block);
}

template <bool Sized, class Heap>
void give(Heap& heap, void* p, std::size_t bytes) noexcept {
  if constexpr (Sized) heap.free(p, bytes);
  else heap.free(p);
}

// A workload runs `pairs` allocations and frees in each window. Its random numbers are drawn before.
template <bool Sized, class Heap>
class pairs_of_64 {
public:
  static constexpr std::size_t pairs = 100'000;
  void run(Heap& heap) {
    for (std::size_t i = 0; i < pairs; ++i) {
      void* const p = heap.allocate(64);
      use(p, i);
      give<Sized>(heap, p, 64);
      escape(&heap);
    }
  }
};

template <bool Sized, class Heap>
class batches_of_64 {
public:
  static constexpr std::size_t batch = 1000;
  static constexpr std::size_t pairs = 100 * batch;

  void run(Heap& heap) {
    for (std::size_t round = 0; round < pairs / batch; ++round) {
      for (std::size_t i = 0; i < batch; ++i) use(held_[i] = heap.allocate(64), i);
      for (const std::uint16_t i : orders_[round % orders_.size()]) give<Sized>(heap, held_[i], 64), escape(&heap);
    }
  }

protected:
  using order = std::array<std::uint16_t, batch>;

  batches_of_64() : orders_(16) {
    for (order& each : orders_) std::iota(each.begin(), each.end(), std::uint16_t{0});
  }

  std::vector<order> orders_;

private:
  std::array<void*, batch> held_;
};

template <bool Sized, class Heap>
struct lifo : batches_of_64<Sized, Heap> {
  lifo() {
    for (auto& each : this->orders_) std::reverse(each.begin(), each.end());
  }
};

template <bool Sized, class Heap>
struct fifo : batches_of_64<Sized, Heap> {};

template <bool Sized, class Heap>
struct shuffled : batches_of_64<Sized, Heap> {
  shuffled() {
    std::mt19937 random(42);
    for (auto& each : this->orders_) std::shuffle(each.begin(), each.end(), random);
  }
};

struct sizes {
  std::size_t least, most;
  bool logarithmic;

  [[nodiscard]] std::uint32_t draw(std::mt19937& random) const {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    const auto low = static_cast<double>(least), high = static_cast<double>(most);
    return static_cast<std::uint32_t>(logarithmic ? low * std::pow(high / low, u) : low + (high - low) * u);
  }
};

// `Live` blocks; each step frees a random one and allocates another in its place.
template <bool Sized, class Heap, std::size_t Live, sizes Sizes, std::size_t Pairs, bool TouchesAll = false>
class churn {
public:
  static constexpr std::size_t pairs = Pairs;

  churn() : steps_(1 << 15), held_(Live) {
    std::mt19937 random(42);
    for (step& each : steps_) each = {static_cast<number>(random() % Live), static_cast<number>(Sizes.draw(random))};
  }

  void run(Heap& heap) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const step& now = steps_[next_++ % steps_.size()];
      block& at = held_[now.slot];
      if (at.p != nullptr) give<Sized>(heap, at.p, at.bytes);
      at = {heap.allocate(now.bytes), now.bytes};
      use(at.p, i);
      if constexpr (TouchesAll)
        for (std::size_t byte = 4096; byte < now.bytes; byte += 4096) use(static_cast<std::byte*>(at.p) + byte, i);
    }
  }

private:
  // As narrow as possible: the steps should not evict the blocks from the cache.
  using number = std::conditional_t<(Sizes.most < 65536), std::uint16_t, std::uint32_t>;
  struct step {
    number slot, bytes;
  };
  struct block {
    void* p = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<step> steps_;
  std::vector<block> held_;
  std::size_t next_ = 0;
};

template <bool Sized, class Heap>
using mixed = churn<Sized, Heap, 4096, sizes{16, 256, false}, 100'000>;
template <bool Sized, class Heap>
using wide = churn<Sized, Heap, 4096, sizes{16, 32 * 1024, true}, 100'000>;
template <bool Sized, class Heap>
using large = churn<Sized, Heap, 64, sizes{64 * 1024, 1024 * 1024, false}, 5'000>;
template <bool Sized, class Heap>
using large_touched = churn<Sized, Heap, 64, sizes{64 * 1024, 1024 * 1024, false}, 1'000, true>;

// Blocks of a frame are freed at its end, in the order of their allocation.
template <bool Sized, class Heap>
class frame {
public:
  static constexpr std::size_t blocks = 2000;
  static constexpr std::size_t pairs = 50 * blocks;

  frame() : bytes_(16 * blocks), held_(blocks) {
    std::mt19937 random(42);
    for (std::uint16_t& each : bytes_) each = static_cast<std::uint16_t>(sizes{16, 256, false}.draw(random));
  }

  void run(Heap& heap) {
    for (std::size_t round = 0; round < pairs / blocks; ++round) {
      const std::uint16_t* const bytes = &bytes_[round % 16 * blocks];
      for (std::size_t i = 0; i < blocks; ++i) use(held_[i] = heap.allocate(bytes[i]), i);
      for (std::size_t i = 0; i < blocks; ++i) give<Sized>(heap, held_[i], bytes[i]);
    }
  }

private:
  std::vector<std::uint16_t> bytes_;
  std::vector<void*> held_;
};

// Components of four sizes, known at compile time, 2500 live of each; a random one is freed, another allocated.
template <bool Sized, class Heap>
class components {
public:
  static constexpr std::size_t pairs = 100'000;

  components() : slots_(1 << 16) {
    std::mt19937 random(42);
    for (std::uint16_t& each : slots_) each = static_cast<std::uint16_t>(random() % live);
  }

  void run(Heap& heap) {
    for (std::size_t i = 0; i < pairs; i += 4) {
      replace<32>(heap, held_[0], i);
      replace<48>(heap, held_[1], i);
      replace<96>(heap, held_[2], i);
      replace<160>(heap, held_[3], i);
    }
  }

private:
  static constexpr std::size_t live = 2500;
  using components_of_a_kind = std::array<void*, live>;

  template <std::size_t Bytes>
  void replace(Heap& heap, components_of_a_kind& held, std::size_t value) {
    void*& at = held[slots_[next_++ % slots_.size()]];
    if (at != nullptr) heap.template free<Bytes>(at);
    at = heap.template allocate<Bytes>();
    use(at, value);
  }

  std::vector<std::uint16_t> slots_;
  std::array<components_of_a_kind, 4> held_ = {};
  std::size_t next_ = 0;
};

struct costs {
  std::size_t pairs = 0;     // in each window
  std::vector<double> warm;  // nanoseconds per pair of each window after the first ones, in ascending order
  double cold = 0;           // of the very first
  std::uint64_t cold_faults = 0;
};

template <class Heap, class Workload>
costs measure(std::size_t windows) {
  const auto heap = std::make_unique<Heap>();
  const auto workload = std::make_unique<Workload>();
  escape(heap.get());
  const auto window_ns = [&] {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    workload->run(*heap);
    return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(Workload::pairs);
  };
  costs of{.pairs = Workload::pairs, .warm = std::vector<double>(windows)};
  const std::uint64_t faults = usage::now().minor_faults;
  of.cold = window_ns();
  of.cold_faults = usage::now().minor_faults - faults;
  for (std::size_t i = 1; i < warm_up_windows; ++i) static_cast<void>(window_ns());
  std::generate(of.warm.begin(), of.warm.end(), window_ns);
  std::sort(of.warm.begin(), of.warm.end());
  return of;
}

using measurement = costs (*)(std::size_t windows);

constexpr std::array<std::string_view, 10> workloads{"pair", "lifo",  "fifo",       "shuffled", "mixed",
                                                     "wide", "frame", "components", "large",    "large_touched"};
constexpr std::array<std::string_view, 2> frees{"unsized", "sized"};

struct row {
  contender who;
  std::array<measurement, workloads.size()> by_workload[2];
  bool by_twin = false;
};

template <class Heap, bool Sized>
constexpr std::array<measurement, workloads.size()> all_workloads() {
  return {measure<Heap, pairs_of_64<Sized, Heap>>, measure<Heap, lifo<Sized, Heap>>,
          measure<Heap, fifo<Sized, Heap>>,        measure<Heap, shuffled<Sized, Heap>>,
          measure<Heap, mixed<Sized, Heap>>,       measure<Heap, wide<Sized, Heap>>,
          measure<Heap, frame<Sized, Heap>>,       measure<Heap, components<Sized, Heap>>,
          measure<Heap, large<Sized, Heap>>,       measure<Heap, large_touched<Sized, Heap>>};
}

// The limit needs sizes, and knows small ones only.
constexpr std::array<measurement, workloads.size()> limit_workloads() {
  auto all = all_workloads<free_list_heap, true>();
  all[8] = all[9] = nullptr;
  return all;
}

template <class Unsized, class Sized = Unsized>
constexpr row row_of(std::string_view name, std::string_view what, bool rival = true, bool by_twin = false) {
  return {{name, what, rival}, {all_workloads<Unsized, false>(), all_workloads<Sized, true>()}, by_twin};
}

constexpr bool twin_is_gcc = twin == "gcc";

constexpr row rows[] = {
    row_of<null_heap>("null", "null (floor: the loop)", false),
    row_of<null_heap>(twin_is_gcc ? "null_gcc" : "null_clang", twin_is_gcc ? "null, by g++" : "null, by clang", false,
                      true),
    row_of<called_heap<called_null, false>, called_heap<called_null, true>>("null_called", "null, called as malloc is",
                                                                            false),
    {{"free_list", "a bare free list for each size (limit)", false}, {{}, limit_workloads()}},
    row_of<malloc_heap, operator_heap>("glibc", "malloc, glibc"),
    row_of<malloc_heap, operator_heap>("mimalloc", "malloc, mimalloc"),
    row_of<malloc_heap, operator_heap>("mimalloc3", "malloc, mimalloc"),
    row_of<malloc_heap, operator_heap>("jemalloc", "malloc, jemalloc"),
    row_of<malloc_heap, operator_heap>("tcmalloc", "malloc, tcmalloc"),
    row_of<malloc_heap, operator_heap>("rpmalloc", "malloc, rpmalloc"),
    row_of<malloc_heap, operator_heap>("snmalloc", "malloc, snmalloc"),
    row_of<ashlar_heap>("ashlar", "ashlar::local_heap"),
    row_of<ashlar_any_thread_heap>("ashlar_any_thread", "ashlar::heap, for any thread"),
    row_of<ashlar_heap>(twin_is_gcc ? "ashlar_gcc" : "ashlar_clang",
                        twin_is_gcc ? "ashlar::local_heap, by g++" : "ashlar::local_heap, by clang", true, true),
    row_of<called_heap<called_ashlar, false>, called_heap<called_ashlar, true>>(
        "ashlar_called", "ashlar::local_heap, called as malloc is"),
};

measurement measurement_of(const row& r, std::string_view workload, std::string_view free) {
  const auto index = std::find(workloads.begin(), workloads.end(), workload) - workloads.begin();
  return r.by_workload[free == "sized" ? 1 : 0][static_cast<std::size_t>(index)];
}

bool is_there(const row& r, std::string_view workload, std::string_view free) {
  return measurement_of(r, workload, free) != nullptr && (has_twin || !r.by_twin);
}

// The first window and the peak have their own tables, made by short processes.
cell_list all_cells() {
  cell_list cells;
  for (const std::string_view workload : workloads)
    for (const std::string_view free : frees)
      for (const row& r : rows)
        if (is_there(r, workload, free)) cells.add(workload, free, r.who, {workload, free, r.who.name});
  for (const std::string_view group : {"cold_unsized", "cold_sized", "peak_unsized"})
    for (const std::string_view workload : workloads)
      for (const row& r : rows)
        if (const std::string_view free = group.substr(5); is_there(r, workload, free))
          cells.add(group, workload, r.who, {workload, free, r.who.name, "--windows", group[0] == 'c' ? "1" : "20"});
  return cells;
}

// Two lines for a script that starts the programs of cells itself: the program; the library to preload, if any.
void print_files(const row& r) {
  if (r.by_twin && !has_twin) fail(exit_skipped, "skipped: no other compiler on this machine");
  const malloc_library* const library = find_malloc_library(r.who.name);
  const std::string file = library != nullptr ? find_library_file(*library).string() : "";
  if (library != nullptr && file.empty())
    fail(exit_skipped, "skipped: no " + std::string(library->files[0]) + " on this machine");
  std::printf("%s\n%s\n", program_file(r.by_twin).c_str(), file.c_str());
}

std::string usage_text() {
  return "usage: engine_workloads <workload> <unsized|sized> <peer> [--windows N] | <peer> | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  if (line.words() == 1) return print_files(line.row(0, rows));
  line.expect_words(3);
  const auto itself = [](std::string_view name) { return name; };
  const std::string_view workload = line.choice(0, workloads, itself), free = line.choice(1, frees, itself);
  const row& r = line.row(2, rows);
  if (!is_there(r, workload, free)) line.usage_error();
  choose_compiler(r.by_twin, line.argv());
  const std::size_t windows = line.number("--windows", 60, 1, 100'000);
  const std::string malloc_name = choose_malloc(r.who.name, line.argv());
  const costs of = measurement_of(r, workload, free)(windows);
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("workload", workload)
                .text("frees", free)
                .text("malloc", malloc_name)
                .text("malloc_version", peer_version(r.who.name))
                .text("compiler", compiler_name())
                .count("windows", of.warm.size())
                .count("pairs_per_window", of.pairs)
                .number("min_ns", of.warm.front())
                .number("median_ns", of.warm[of.warm.size() / 2])
                .number("p90_ns", of.warm[of.warm.size() * 9 / 10])
                .number("cold_ns", of.cold)
                .count("cold_faults", of.cold_faults)
                .count("peak_bytes", peak_resident_bytes())
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
