// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be advised on: each mode has a pattern in the function of its name, and a remedy of that pattern which
// would hold more than it saves, cannot be written, or is for one caller of a line whose others have another.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "cli/tests/advise/planted.hpp"

namespace {

using namespace planted;

/// 3,000 calls of `keep`, each between many blocks that die.
template <class Keep>
int between_phases(const Keep& keep) {
  std::vector<char*> phase;
  phase.reserve(6000);
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 6000; ++k) {
      if (k % 120 == 0) keep(i * 50 + k / 120);
      phase.push_back(new char[300 + random_below(400)]);
    }
    while (!phase.empty()) {
      std::swap(phase.back(), phase[random_below(phase.size())]);
      delete[] std::exchange(phase.back(), nullptr);
      phase.pop_back();
    }
  }
  return 0;
}

using edges = std::vector<std::uint64_t>;

/// One element, or 9,000: one cell for all would be of 70 KiB.
PLANTED edges parse_edges(int i) { return edges(i % 1000 == 7 ? 9000 : 1); }

int vectors_mode() {
  static std::vector<edges> all;
  all.reserve(3000);
  return between_phases([](int i) { all.push_back(parse_edges(i)); });
}

/// Blocks of 32 bytes, and a third of 352.
PLANTED char* wide_block(int i) { return used(malloc(i % 3 == 0 ? 352 : 32)); }

int wide_mode() {
  return between_phases([](int i) { wide_block(i); });
}

struct graph_node {
  std::array<std::uint64_t, 6> words{};
};

/// Never freed: a leak of more than 1 MiB by one caller, and of less by the other.
PLANTED char* get_node() { return used(new graph_node); }
PLANTED void add_in() { used(get_node()); }
PLANTED void add_out() { used(get_node()); }

int one_line_mode() {
  return between_phases([](int) {
    for (int i = 0; i < 15; ++i) i < 8 ? add_in() : add_out();
  });
}

/// Freed in reverse order, and too large for a chunk.
PLANTED void large_level(int depth) {
  auto* block = new char[64'000];
  used(block);
  if (depth > 0) large_level(depth - 1);
  delete[] block;
}

int large_mode() {
  for (int i = 0; i < 2000; ++i) large_level(3);
  return 0;
}

/// Never freed, three to a chunk.
PLANTED char* load_page() { return used(malloc(16'384)); }

int pages_mode() {
  for (int i = 0; i < 460; ++i) load_page();
  return 0;
}

struct text_value {
  char* text = nullptr;
  PLANTED void set(char* to) {
    free(text);
    text = used(to);
  }
};

PLANTED char* many_texts() { return used(malloc(24)); }
PLANTED char* one_text() { return used(malloc(40)); }

/// One function frees the blocks of both, of which one has two alive at most.
int one_mode() {
  static std::array<text_value, 600> values;
  static text_value last;
  for (int i = 0; i < 60'000; ++i) {
    const bool is_one = i % 2 == 0;
    (is_one ? last : values[random_below(values.size())]).set(is_one ? one_text() : many_texts());
  }
  return 0;
}

/// An array of ints in a class of its own.
class repeated_field {
public:
  PLANTED void reserve(std::size_t n) {
    ::operator delete(ints_);
    ints_ = ::operator new(8 + n * sizeof(int));
    used(ints_);
  }

private:
  void* ints_ = nullptr;
};

int field_mode() {
  static std::array<repeated_field, 600> fields;
  for (int i = 0; i < 30'000; ++i) fields[random_below(fields.size())].reserve(random_below(2) == 0 ? 4 : 16);
  return 0;
}

template <class T, class Make>
int churn(const Make& make) {
  static std::array<T, 600> all{};
  for (int i = 0; i < 30'000; ++i) all[random_below(all.size())] = make();
  return 0;
}

PLANTED std::vector<int> equal_vector() { return std::vector<int>(8); }

/// Deletes what it had.
struct owned_array {
  int* ints = nullptr;
  owned_array() = default;
  explicit owned_array(int* of) : ints(of) {}
  owned_array& operator=(owned_array&& from) noexcept { return std::swap(ints, from.ints), *this; }
  ~owned_array() { delete[] ints; }
};

PLANTED owned_array equal_array() {
  auto* const ints = new int[8]();
  used(ints);
  return owned_array(ints);
}

struct large_state {
  std::array<std::uint64_t, 8> words;
};

PLANTED std::function<void()> callback() {
  return [state = large_state{{random_below(9)}}] { sink = sink + state.words[0]; };
}

/// Most of 20,000 vectors keep one element, and the others grow to 8 or 16.
PLANTED void add_watch(std::vector<std::vector<std::uint64_t>>& watches, std::size_t i) {
  const std::size_t n = i % 5 < 3 ? 1 : i % 2 == 0 ? 8 : 16;
  for (std::size_t k = 0; k < n; ++k) watches[i].push_back(k);
}

int watches_mode() {
  static std::vector<std::vector<std::uint64_t>> watches(20'000);
  for (std::size_t i = 0; i < watches.size(); ++i) add_watch(watches, i);
  return 0;
}

constexpr mode modes[] = {
    {"vectors", vectors_mode},
    {"wide", wide_mode},
    {"one_line", one_line_mode},
    {"large", large_mode},
    {"pages", pages_mode},
    {"one", one_mode},
    {"field", field_mode},
    {"equal_vectors", [] { return churn<std::vector<int>>(equal_vector); }},
    {"equal_arrays", [] { return churn<owned_array>(equal_array); }},
    {"functions", [] { return churn<std::function<void()>>(callback); }},
    {"watches", watches_mode},
};

}  // namespace

int main(int argc, char** argv) { return run_mode(modes, argc, argv); }
