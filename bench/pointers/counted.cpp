// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of 15 million counted pointers, each to its own value: bytes, creation, copies, destruction.
//
// counted_pointers <double|int> <O3|O2> <peer> [--count N]     one cell of the table per process, one JSON line
// counted_pointers --cells                                     the list of cells

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/optimised_twin.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

using indices = std::vector<std::uint32_t>;

// Nanoseconds for each pointer, in all members with names in _ns.
struct outcome {
  double create_ns = 0;   // and append to a vector of pointers that has room
  double destroy_ns = 0;  // of the vector: first to last
  double again_ns = 0;    // as create_ns, in the memory that the first ones left
  double copy_ns = 0;     // copy one and drop the copy, first to last
  double random_copy_ns = 0;
  double random_destroy_ns = 0;
  double teardown_ns = 0;
  std::uint64_t peak_bytes = 0;  // when all are created, the vector included
};

class stopwatch {
public:
  // Returns: nanoseconds since the last lap, for each of `count` pointers.
  double lap_ns(std::size_t count) noexcept {
    const double now = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    const double lap = (now - last_) * 1e6 / double(count);
    last_ = now;
    return lap;
  }

private:
  double last_ = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
};

// Returns: one index in fifteen, chosen and ordered at random: all indices would take most of the run.
indices random_sample(std::size_t count) {
  indices order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(42);
  const std::size_t picked = count / 15;
  for (std::size_t i = 0; i < picked; ++i)
    std::swap(order[i], order[std::uniform_int_distribution<std::size_t>(i, count - 1)(random)]);
  order.resize(picked);
  order.shrink_to_fit();
  return order;
}

template <class T, class Peer, class Pointers>
void create(Peer& peer, Pointers& pointers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) pointers.push_back(peer.make(static_cast<T>(i)));
  escape(pointers.data());
}

template <class Pointers>
void copy_and_drop(const Pointers& pointers) {
  for (const auto& each : pointers) {
    auto copy = each;
    escape(&copy);
  }
}

template <class Pointers>
void copy_and_drop(const Pointers& pointers, const indices& order) {
  for (const std::uint32_t index : order) {
    auto copy = pointers[index];
    escape(&copy);
  }
}

template <class Pointers>
void expect_sum(const Pointers& pointers) {
  double sum = 0;
  for (const auto& each : pointers) sum += static_cast<double>(*each);
  const double count = static_cast<double>(pointers.size());
  if (sum != count * (count - 1) / 2) fail(1, "the values are not what they were");
}

template <class T, template <class> class Peer>
outcome measure(std::size_t count) {
  using pointer = typename Peer<T>::pointer;
  const indices order = random_sample(count);
  std::vector<pointer> pointers;
  outcome seen;
  reset_peak_resident();
  const std::uint64_t before = resident_bytes();
  stopwatch watch;
  auto peer = std::make_unique<Peer<T>>();
  pointers.reserve(count);
  create<T>(*peer, pointers, count);
  seen.create_ns = watch.lap_ns(count);
  seen.peak_bytes = peak_resident_bytes() - before;
  watch.lap_ns(count);
  copy_and_drop(pointers);
  seen.copy_ns = watch.lap_ns(count);
  pointers.clear();
  seen.destroy_ns = watch.lap_ns(count);
  create<T>(*peer, pointers, count);
  seen.again_ns = watch.lap_ns(count);
  expect_sum(pointers);
  watch.lap_ns(count);
  copy_and_drop(pointers, order);
  seen.random_copy_ns = watch.lap_ns(order.size());
  for (const std::uint32_t index : order) pointers[index] = pointer();
  seen.random_destroy_ns = watch.lap_ns(order.size());
  pointers.clear();
  watch.lap_ns(count);
  peer.reset();
  seen.teardown_ns = watch.lap_ns(count);
  return seen;
}

struct row {
  contender who;
  std::string_view malloc;
  outcome (*of_doubles)(std::size_t count);
  outcome (*of_ints)(std::size_t count);
  std::size_t bytes;  // approximate bytes of a pointer, as all
};

template <template <class> class Peer>
constexpr row row_of(std::size_t bytes, std::string_view name, std::string_view what, bool rival = true,
                     std::string_view malloc = "glibc") {
  return {{name, what, rival}, malloc, measure<double, Peer>, measure<int, Peer>, bytes};
}

constexpr row rows[] = {
    row_of<shared_of_new>(80, "shared_new", "std::shared_ptr(new)"),
    row_of<shared_at_once>(48, "make_shared", "std::make_shared"),
    row_of<shared_at_once>(48, "make_shared_mimalloc", "std::make_shared, mimalloc", true, "mimalloc"),
    row_of<shared_of_pmr_pool>(48, "pmr_shared", "std::allocate_shared, pmr pool"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<intrusive_of_new>(40, "intrusive", "boost::intrusive_ptr(new)"),
    row_of<intrusive_of_new>(24, "intrusive_mimalloc", "boost::intrusive_ptr(new), mimalloc", true, "mimalloc"),
    row_of<two_words_of_boost_pools>(32, "two_words", "pointer and count, two boost::pools"),
    row_of<intrusive_of_list>(24, "free_list", "boost::intrusive_ptr, free list (limit)", false),
#endif
    row_of<shared_atomic>(48, "make_shared_atomic", "std::make_shared, atomic counts", false),
    row_of<ashlar_shared>(40, "ashlar_shared", "ashlar::allocate_shared_pooled"),
    row_of<two_words_of_ashlar_pools>(28, "ashlar_counted", "pointer and count, ashlar::counted_pool"),
    row_of<ashlar_any_thread>(20, "ashlar_ref_atomic", "ashlar::ref_ptr, any_thread"),
    row_of<ashlar_elsewhere>(24, "ashlar_ref_elsewhere", "ashlar::ref_ptr, count apart", false),
    row_of<ashlar_one_thread>(20, "ashlar_ref", "ashlar::ref_ptr"),
};

constexpr std::array<std::string_view, 2> types{"double", "int"};

// At -O2: pointers to double, without the other mallocs. The slowest and the atomic one: once.
bool is_measured(const row& r, std::string_view type, std::string_view level) {
  if (r.who.name == "pmr_shared" || r.who.name == "make_shared_atomic") return type == "double" && level == "O3";
  return level == "O3" || (type == "double" && r.malloc == "glibc");
}

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view type : types)
    for (const std::string_view level : optimisations)
      for (const row& r : rows)
        if (is_measured(r, type, level))
          cells.add(std::string(type).append(level == "O2" ? "_o2" : ""), "", r.who, {type, level, r.who.name});
  return cells;
}

void print_outcome(const row& r, const outcome& seen, std::size_t count, const std::string& malloc_name) {
  const auto total_ms = [&](double ns) { return ns * static_cast<double>(count) * 1e-6; };
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("malloc", malloc_name)
                .text("malloc_version", r.malloc != "glibc" ? malloc_version() : "")
                .count("count", count)
                .number("total_ms", total_ms(seen.create_ns + seen.destroy_ns))
                .number("bytes_per_pointer", static_cast<double>(seen.peak_bytes) / static_cast<double>(count))
                .number("create_ns", seen.create_ns)
                .number("destroy_ns", seen.destroy_ns)
                .number("again_ns", seen.again_ns)
                .number("copy_ns", seen.copy_ns)
                .number("random_copy_ns", seen.random_copy_ns)
                .number("random_destroy_ns", seen.random_destroy_ns)
                .number("teardown_ms", total_ms(seen.teardown_ns))
                .str()
                .c_str());
}

std::string usage_text() {
  return "usage: counted_pointers <double|int> <O3|O2> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(3);
  const auto same = [](std::string_view each) { return each; };
  const bool doubles = line.choice(0, types, same) == "double";
  choose_optimisation(line.choice(1, optimisations, same), line.argv());
  const row& r = line.row(2, rows);
  const std::size_t count = line.number("--count", 15'000'000, 15, 60'000'000);
  const std::string malloc_name = choose_malloc(r.malloc, line.argv());
  borrow_from_host(count * (r.bytes + 8));
  print_outcome(r, doubles ? r.of_doubles(count) : r.of_ints(count), count, malloc_name);
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
