// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be advised on: each mode has one planted remedy in the function of its name, or none. Blocks of every
// other kind lie around it, as in real programs.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stdlib.h>

#include "cli/preload/ashlar_record.h"
#include "cli/tests/advise/background.hpp"
#include "cli/tests/advise/containers.hpp"
#include "cli/tests/advise/shared_frees.hpp"

namespace {

/// Nodes come and go in a map that stays: a pool.
PLANTED void list_churn() {
  std::map<std::uint64_t, std::uint64_t> map;
  for (int i = 0; i < 40'000; ++i) {
    map[random_below(600)] = 1;  // here: churn
    map.erase(random_below(600));
    if (i % 8 == 0) background->step();
  }
}

struct token {
  char text[60] = {};
  std::uint64_t kind = 0;
};

/// Objects of several sizes are built and freed as a whole by each call: an arena.
PLANTED void batch_death() {
  std::vector<std::pair<char*, std::size_t>> all;
  for (int i = 0; i < 600; ++i) {
    const std::size_t size = 24 + random_below(300);
    all.emplace_back(new char[size], size);  // here: batch
    if (i % 16 == 0) background->step();
  }
  for (const auto& [p, size] : all) delete[] p;
}

/// The same, but built by one thread after the other and freed by the first: a counted arena.
PLANTED void build_tokens(std::vector<token*>& out) {
  for (int i = 0; i < 4000; ++i) out.push_back(new token);  // here: counted
}

PLANTED void drop_tokens(std::vector<token*>& in) {
  for (token* t : in) delete t;
  in.clear();
}

/// Each call frees in the reverse order: a stack.
PLANTED void lifo_level(int depth) {
  auto* block = new char[64 + random_below(3000)];  // here: lifo
  use(block);
  if (depth > 0) lifo_level(depth - 1);
  delete[] block;
}

/// A small buffer that dies in the function that made it.
PLANTED void local_buffer() {
  auto* buffer = new char[32 + random_below(200)];  // here: local
  use(buffer);
  auto* other = new char[40 + random_below(200)];
  use(other);
  delete[] other;
  delete[] buffer;
}

/// A vector that grows to the same size every time.
PLANTED std::size_t grow_without_reserve() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 2000; ++i) all.push_back(i);  // here: reserve
  use(all.data());
  return all.size();
}

/// The same through realloc.
PLANTED void grow_by_realloc() {
  std::size_t room = 64;
  auto* text = static_cast<char*>(malloc(room));
  while (room < 20'000) text = static_cast<char*>(realloc(text, room *= 2));  // here: realloc
  use(text);
  free(text);
}

/// A large buffer of one size, made again for each use.
PLANTED void same_temporary() {
  auto* buffer = new char[20'000];  // here: temporary
  use(buffer);
  delete[] buffer;
}

struct message {
  std::uint64_t words[12];
};

/// One thread allocates, another frees.
PLANTED void make_messages(std::vector<message*>& out) {
  for (int i = 0; i < 3000; ++i) {
    out.push_back(new message);  // here: hand_over
    if (i % 8 == 0) background->step();
  }
}

PLANTED void take_messages(std::vector<message*>& in) {
  for (message* m : in) delete m;
  in.clear();
}

/// A few blocks that stay, each between many that do not.
PLANTED char* long_lived(std::size_t i) {
  auto* p = new char[100 + (i * 37) % 90];  // here: long_lived
  use(p);
  return p;
}

/// The tables of a program: built once, never freed.
PLANTED void load_tables() {
  for (int i = 0; i < 9000; ++i) use(new char[100 + random_below(200)]);  // here: tables
}

constexpr std::size_t phase_blocks = 24;

std::size_t phase_size(std::size_t i) { return 100 + i * 37 % phase_blocks * 60; }

/// A phase whose blocks overlap like those of a pipeline, the same each time: offsets computed in advance.
PLANTED void fixed_phase() {
  std::array<char*, 5> stages{};
  for (std::size_t i = 0; i < phase_blocks; ++i) {
    char*& stage = stages[i % stages.size()];
    delete[] stage;
    stage = new char[phase_size(i)];  // here: fixed
    use(stage);
  }
  for (char* stage : stages) delete[] stage;
}

/// The same with other sizes each time.
PLANTED void varying_sizes() {
  std::array<char*, 5> stages{};
  for (std::size_t i = 0; i < phase_blocks; ++i) {
    char*& stage = stages[i % stages.size()];
    delete[] stage;
    stage = new char[phase_size(random_below(phase_blocks))];
    use(stage);
  }
  for (char* stage : stages) delete[] stage;
}

/// The same sizes, but the blocks die in another order each time.
PLANTED void varying_deaths() {
  std::array<char*, 5> stages{};
  for (std::size_t i = 0; i < phase_blocks; ++i) {
    char*& stage = stages[random_below(stages.size())];
    delete[] stage;
    stage = new char[phase_size(i)];
    use(stage);
  }
  for (char* stage : stages) delete[] stage;
}

/// A phase each time, and once in 50 a block that outlives it.
PLANTED void leaving_phase() {
  static char* kept = nullptr;
  static int phase = 0;
  std::array<char*, 5> stages{};
  for (std::size_t i = 0; i < phase_blocks; ++i) {
    char*& stage = stages[i % stages.size()];
    delete[] stage;
    stage = new char[phase_size(i)];
    use(stage);
  }
  if (++phase % 50 == 0) std::swap(kept, stages[0]);
  for (char* stage : stages) delete[] stage;
}

struct shape {
  virtual ~shape() = default;
  double at[4] = {};
};

/// Objects of one class without an order of deaths.
PLANTED std::unique_ptr<shape> make_shape() { return std::make_unique<shape>(); }  // here: class

/// An allocation function of the program's own: its callers have different remedies.
PLANTED void* checked_malloc(std::size_t bytes) {
  void* p = malloc(bytes);  // here: wrapper
  if (p == nullptr) abort();
  return p;
}

/// Not by a tail call, which leaves no frame.
PLANTED void* cell_of_wrapper() {
  void* p = checked_malloc(48);
  use(p);
  return p;
}

PLANTED void* text_of_wrapper() {
  void* p = checked_malloc(8 + random_below(900));
  use(p);
  return p;
}

/// Between the marks 1 and 2.
int phases_of(void (*work)()) {
  return repeat(400, [work] {
    ashlar_mark(1);
    work();
    ashlar_mark(2);
  });
}

int fixed_mode() { return phases_of(fixed_phase); }
int sizes_mode() { return phases_of(varying_sizes); }
int deaths_mode() { return phases_of(varying_deaths); }
int leaving_mode() { return phases_of(leaving_phase); }
int unmarked_mode() { return repeat(400, fixed_phase); }

int churn_mode() { return list_churn(), 0; }
int queue_mode() { return queue_churn(5000), 0; }
int short_queue_mode() { return queue_churn(3000), 0; }
int refill_mode() { return fill_and_churn(), 0; }
int scope_mode() { return map_of_scope(), 0; }
int built_mode() { return repeat(300, build_and_drop); }
int batch_mode() { return repeat(12, batch_death); }
int counted_mode() {
  std::vector<token*> all;
  all.reserve(4000);
  return repeat(6, [&] {
    std::thread([&] { build_tokens(all); }).join();
    drop_tokens(all);
  });
}

int lifo_mode() {
  return repeat(400, [] { lifo_level(40); });
}
int local_mode() { return repeat(9000, local_buffer); }
int reserve_mode() {
  return repeat(800, [] { sink = sink + grow_without_reserve(); });
}
int realloc_mode() { return repeat(800, grow_by_realloc); }
int temporary_mode() { return repeat(9000, same_temporary); }

int hand_over_mode() {
  std::vector<message*> all;
  all.reserve(12'000);
  for (int i = 0; i < 4; ++i) make_messages(all);
  std::thread([&] { take_messages(all); }).join();
  return 0;
}

/// After each phase of the program 8 of its 6,000 blocks are left.
int long_lived_mode() {
  std::vector<char*> kept, phase;
  kept.reserve(480);
  phase.reserve(6000);
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t k = 0; k < 6000; ++k) {
      if (k % 750 == 0) kept.push_back(long_lived(i + k));
      phase.push_back(new char[300 + random_below(400)]);
    }
    while (!phase.empty()) {
      std::swap(phase.back(), phase[random_below(phase.size())]);
      delete[] std::exchange(phase.back(), nullptr);
      phase.pop_back();
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) delete[] kept[(i * 259) % kept.size()];
  return 0;
}

int tables_mode() { return load_tables(), 0; }

int class_mode() {
  static std::array<std::unique_ptr<shape>, 12'000> shapes;
  return repeat(30'000, [&] { shapes[random_below(shapes.size())] = make_shape(); });
}

int shared_mode() {
  std::array<std::shared_ptr<message>, 500> all;
  return repeat(30'000, [&] { all[random_below(all.size())] = std::make_shared<message>(); });  // here: shared
}

int wrapper_mode() {
  std::array<void*, 300> cells{}, texts{};
  repeat(20'000, [&] {
    void*& cell = cells[random_below(cells.size())];
    free(cell);
    cell = cell_of_wrapper();
    void*& text = texts[random_below(texts.size())];
    free(text);
    text = text_of_wrapper();
  });
  for (void* p : cells) free(p);
  for (void* p : texts) free(p);
  return 0;
}

int innocent_mode() {
  return repeat(30'000, [] { background->step(); });
}

/// Strings and tables of many sizes that live and die like a program's data: nothing to gain for sure.
int mixed_mode() {
  std::vector<std::string> all(400);
  return repeat(30'000, [&] { all[random_below(all.size())] = std::string(20 + random_below(300), 'x'); });
}

int few_mode() {
  std::map<int, std::string> settings;
  for (int i = 0; i < 200; ++i) settings[i] = std::string(40, 'x');
  return settings.size() == 200 ? 0 : 1;
}

/// Alike in function and line: two calls on one line, and one that is inlined into two callers.
[[gnu::always_inline]] inline void* inlined_cell() { return malloc(48); }
PLANTED void first_alike() { drop(inlined_cell()), drop(malloc(40)), drop(malloc(72)); }
PLANTED void second_alike() { drop(inlined_cell()), drop(nullptr); }

int alike_mode() {
  return repeat(2000, [] { first_alike(), second_alike(); });
}

int wide_mode() {
  return repeat(3, [] { call_all(std::make_integer_sequence<int, 120>()); });
}

struct mode {
  const char* name;
  int (*run)();
};

constexpr mode modes[] = {
    {"churn", churn_mode},
    {"batch", batch_mode},
    {"counted", counted_mode},
    {"lifo", lifo_mode},
    {"local", local_mode},
    {"reserve", reserve_mode},
    {"realloc", realloc_mode},
    {"temporary", temporary_mode},
    {"hand_over", hand_over_mode},
    {"long_lived", long_lived_mode},
    {"tables", tables_mode},
    {"fixed", fixed_mode},
    {"sizes", sizes_mode},
    {"deaths", deaths_mode},
    {"leaving", leaving_mode},
    {"unmarked", unmarked_mode},
    {"class", class_mode},
    {"shared", shared_mode},
    {"wrapper", wrapper_mode},
    {"shared_free", shared_free_mode},
    {"one_pool", one_pool_mode},
    {"rare_text", rare_text_mode},
    {"free_wrapper", free_wrapper_mode},
    {"innocent", innocent_mode},
    {"mixed", mixed_mode},
    {"few", few_mode},
    {"alike", alike_mode},
    {"queue", queue_mode},
    {"short_queue", short_queue_mode},
    {"refill", refill_mode},
    {"scope", scope_mode},
    {"built", built_mode},
    {"wide", wide_mode},
};

}  // namespace

int main(int argc, char** argv) {
  static noise own;
  background = &own;
  for (const mode& m : modes)
    if (argc == 2 && std::strcmp(argv[1], m.name) == 0) return m.run();
  return 2;
}
