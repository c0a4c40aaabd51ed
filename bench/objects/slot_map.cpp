// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a million objects of 64 bytes behind handles: to traverse, to find and to replace.
//
// slot_map <walk|walk_churned|get|replace> <peer> [--count N]     one cell per process, one JSON line
// slot_map --cells                                                the list of cells

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "slot_map_peers.hpp"
#include "support/cells.hpp"
#include "support/host_memory.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

constexpr std::size_t rounds = 15;
constexpr std::size_t warm_up_rounds = 2;

struct outcome {
  std::vector<double> costs;  // ns per object, ascending
  double bytes_per_object = 0;
};

template <class Objects>
struct population {
  using handle = typename Objects::handle;

  explicit population(std::size_t count) {
    handles.reserve(count);
    order.reserve(count);
    for (std::size_t i = 0; i < count; ++i) order.push_back(static_cast<std::uint32_t>(i));
    std::shuffle(order.begin(), order.end(), random);
    handles.resize(count);
    std::fill(handles.begin(), handles.end(), handle{});  // resident before memory is measured
    const std::uint64_t before = anonymous_bytes();
    for (std::size_t i = 0; i < count; ++i) handles[i] = objects.add(i);
    bytes_per_object = static_cast<double>(anonymous_bytes() - before) / static_cast<double>(count);
  }

  void walk() {
    std::uint64_t sum = 0;
    objects.for_each([&sum](object& each) { sum += each.words[0]; });
    escape(&sum);
  }

  void get() {
    std::uint64_t sum = 0;
    for (const std::uint32_t i : order)
      if (const object* const found = objects.get(handles[i])) sum += found->words[0];
    escape(&sum);
  }

  // Replaces each object in turn.
  void replace() {
    for (const std::uint32_t i : order) {
      objects.erase(handles[i]);
      handles[i] = objects.add(i);
    }
  }

  // Erases half of the objects and inserts as many, ten times.
  void churn() {
    for (int turn = 0; turn < 10; ++turn) {
      std::shuffle(order.begin(), order.end(), random);
      const auto half = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
      std::for_each(order.begin(), half, [this](std::uint32_t i) { objects.erase(handles[i]); });
      std::for_each(order.begin(), half, [this](std::uint32_t i) { handles[i] = objects.add(i); });
    }
  }

  Objects objects;
  std::vector<handle> handles;
  std::vector<std::uint32_t> order;  // of the use of handles
  std::mt19937 random{42};
  double bytes_per_object = 0;
};

template <class Objects>
outcome measure(std::string_view question, std::size_t count) {
  borrow_from_host(count * 4 * sizeof(object));
  const auto all = std::make_unique<population<Objects>>(count);
  if (question == "walk_churned") all->churn();
  outcome measured{{}, all->bytes_per_object};
  for (std::size_t round = 0; round < warm_up_rounds + rounds; ++round) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    if (question == "get") all->get();
    else if (question == "replace") all->replace();
    else all->walk();
    const double ns = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(count);
    if (round >= warm_up_rounds) measured.costs.push_back(ns);
  }
  std::sort(measured.costs.begin(), measured.costs.end());
  return measured;
}

constexpr std::string_view questions[] = {"walk", "walk_churned", "get", "replace"};

struct row {
  contender who;
  outcome (*measure)(std::string_view question, std::size_t count);
};

constexpr row rows[] = {
    {{"vector", "std::vector (limit: no handles)", false}, measure<vector_objects>},
    {{"dense", "dense slot map (objects move)", false}, measure<dense_objects>},
    {{"heap", "generations and unique_ptr", true}, measure<heap_objects>},
    {{"hashed", "std::unordered_map", true}, measure<hashed_objects>},
    {{"ashlar", "ashlar::slot_map", true}, measure<ashlar_objects>},
};

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view question : questions)
    for (const row& r : rows) cells.add(question, "", r.who, {question, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: slot_map <walk|walk_churned|get|replace> <peer> [--count N] | --cells\npeers:" + names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const std::string_view question = line.choice(0, questions, [](std::string_view name) { return name; });
  const row& r = line.row(1, rows);
  const outcome measured = r.measure(question, line.number("--count", 1'000'000, 1000, 100'000'000));
  std::puts(json_object()
                .text("peer", r.who.name)
                .text("question", question)
                .number("min_ns", measured.costs.front())
                .number("median_ns", measured.costs[measured.costs.size() / 2])
                .number("max_ns", measured.costs.back())
                .number("bytes_per_object", measured.bytes_per_object)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
