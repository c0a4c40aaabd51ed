// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of clauses behind references of 32 bits, as a solver has them: to make them in memory that grows, and to
// read them in random order.
//
// clauses <make|read> <peer> [--count N]     one cell per process, one JSON line
// clauses --cells                            the list of cells

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/resource/offset_arena.hpp>

#include "support/cells.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t rounds = 9;

// The shape of the regions of MiniSat: one array of words, grown by 5/8 with realloc.
class realloc_words {
public:
  using reference = std::uint32_t;

  realloc_words() = default;
  realloc_words(const realloc_words&) = delete;
  realloc_words& operator=(const realloc_words&) = delete;
  ~realloc_words() { std::free(words_); }

  reference add(std::size_t words) {
    if (top_ + words > capacity_) grow(top_ + words);
    return static_cast<reference>(std::exchange(top_, top_ + words));
  }
  std::uint32_t* at(reference clause) { return words_ + clause; }

private:
  [[gnu::noinline]] void grow(std::size_t least) {
    while (capacity_ < least) capacity_ += (capacity_ / 2 + capacity_ / 8 + 2) & ~std::size_t{1};
    words_ = static_cast<std::uint32_t*>(std::realloc(words_, capacity_ * sizeof *words_));
    if (words_ == nullptr) std::abort();
  }

  std::uint32_t* words_ = nullptr;
  std::size_t top_ = 0;
  std::size_t capacity_ = 0;
};

template <class Upstream>
class offset_words {
public:
  using reference = typename ashlar::offset_arena<4, Upstream>::reference;

  reference add(std::size_t words) { return arena_.allocate(words * sizeof(std::uint32_t)); }
  std::uint32_t* at(reference clause) { return arena_.template deref<std::uint32_t>(clause); }

private:
  ashlar::offset_arena<4, Upstream> arena_;
};

struct outcome {
  double make_ns, read_ns, peak_bytes;
};

template <class Words>
outcome measure(std::size_t count) {
  std::vector<typename Words::reference> clauses(count);
  const std::uint64_t before = resident_bytes();
  reset_peak_resident();
  Words all;
  std::uint32_t random = 1, sum = 0;
  const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  for (auto& each : clauses) {
    random = random * 1664525 + 1013904223;
    const std::size_t words = 3 + (random >> 29);  // 3 to 10
    each = all.add(words);
    std::fill_n(all.at(each), words, random);
  }
  const double made = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  const auto peak = static_cast<double>(peak_resident_bytes() - before);
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525 + 1013904223;
    const std::uint32_t* const words = all.at(clauses[random % count]);
    sum += words[0] + words[2];
  }
  escape(&sum);
  const auto per_clause = [count](double ms) { return ms * 1e6 / static_cast<double>(count); };
  return {per_clause(made - start), per_clause(clock_ms(CLOCK_THREAD_CPUTIME_ID) - made),
          peak / static_cast<double>(count)};
}

struct row {
  contender who;
  outcome (*measure)(std::size_t count);
};

constexpr row rows[] = {
    {{"realloc", "an array of words and realloc, as in MiniSat", true}, measure<realloc_words>},
    {{"ashlar", "ashlar::offset_arena", true}, measure<offset_words<ashlar::default_upstream>>},
};

constexpr std::string_view questions[] = {"make", "read"};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view question : questions)
    for (const row& r : rows) cells.add(question, "", r.who, {question, r.who.name});
  return cells;
}

std::string usage_text() { return "usage: clauses <make|read> <peer> [--count N] | --cells\npeers:" + names_of(rows); }

void run(const command_line& line) {
  line.expect_words(2);
  const bool reads = line.choice(0, questions, [](std::string_view name) { return name; }) == "read";
  const row& r = line.row(1, rows);
  const std::size_t count = line.number("--count", 3'000'000, 1000, 100'000'000);
  std::vector<double> costs;
  const double peak = r.measure(count).peak_bytes;  // of the first: later ones find memory of the one before
  for (std::size_t round = 0; round < rounds; ++round) {
    const outcome measured = r.measure(count);
    costs.push_back(reads ? measured.read_ns : measured.make_ns);
  }
  std::sort(costs.begin(), costs.end());
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("question", reads ? "read" : "make")
                .number("min_ns", costs.front())
                .number("median_ns", costs[rounds / 2])
                .number("peak_bytes_per_clause", peak)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
