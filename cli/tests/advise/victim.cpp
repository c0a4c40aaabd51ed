// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be advised on: each mode has one planted remedy in the function of its name, or none, or a peak. Blocks
// of every other kind lie around it, as in real programs.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/preload/ashlar_record.h"
#include "cli/tests/advise/planted.hpp"

namespace {

using namespace planted;

/// The innocents: sizes and lifetimes without a pattern.
class noise {
public:
  PLANTED void step() {
    char*& place = kept_[random_below(kept_.size())];
    delete[] place;
    place = new char[16 + random_below(700)];
    use(place);
  }
  ~noise() {
    for (char* p : kept_) delete[] p;
  }

private:
  std::array<char*, 64> kept_{};
};

noise* background;

template <class F>
int repeat(int n, F&& work) {
  for (int i = 0; i < n; ++i) {
    work();
    if (i % 8 == 0) background->step();
  }
  return 0;
}

/// Nodes of 24 bytes come and go in a list that keeps its length: in cells of 24 bytes two slabs hold them.
PLANTED void queue_churn(int length) {
  std::list<int> queue;
  for (int i = 0; i < 40 * length; ++i) {
    queue.push_back(i);  // here: queue
    if (queue.size() > static_cast<std::size_t>(length)) queue.pop_front();
    if (i % 64 == 0) background->step();
  }
}

/// A list is filled, and then churned by another call: one allocator serves both.
PLANTED void fill_and_churn() {
  std::list<int> list;
  for (int i = 0; i < 5000; ++i) list.push_back(i);  // here: refill
  for (int i = 0; i < 100'000; ++i) {
    list.push_back(i);
    list.pop_front();
    if (i % 64 == 0) background->step();
  }
}

PLANTED void churn_of(std::map<int, int>& map, int i) {
  map.erase(map.begin());
  map.insert({i, 1});
}

/// The same by two functions, of which one owns the container.
PLANTED void map_of_scope() {
  std::map<int, int> map;
  for (int i = 0; i < 20'000; ++i) map.emplace(i, i);  // here: scope
  for (int i = 0; i < 200'000; ++i) churn_of(map, 20'000 + i);
}

/// A list is built by two calls and freed as a whole, many times: an arena serves both.
PLANTED void build_and_drop() {
  std::list<int> list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);  // here: built
  for (int i = 0; i < 12; ++i) list.push_front(i);
  use(&list.back());
}

PLANTED void drop(void* p) { use(p), free(p); }

#define FIVE_TIMES(x) x x x x x

/// One of many functions with 25 calls each, none of which is heavy.
template <int Number>
PLANTED void light_function() {
  FIVE_TIMES(FIVE_TIMES(drop(malloc(Number));))
}

template <int... Numbers>
void call_all(std::integer_sequence<int, Numbers...>) {
  (light_function<Numbers + 1>(), ...);
}

/// A value whose text is of one site or the other, and whose destructor frees both alike.
struct text_value {
  char* text = nullptr;
  PLANTED void set(char* to) {
    free(text);
    text = to;
    use(text);
  }
  ~text_value() { set(nullptr); }
};

PLANTED char* short_text() { return used(malloc(24)); }  // here: shared_free
PLANTED char* long_text() { return used(malloc(40 + random_below(900))); }
PLANTED char* short_text_too() { return used(malloc(40)); }
/// Too rare for a remedy of its own.
PLANTED char* rare_text() { return used(malloc(40)); }  // here: rare_text

/// Not by a tail call, which leaves no frame.
PLANTED void checked_free(void* p) {
  free(p);
  use(p);
}

/// A half of the texts is `first`, the other half `second`.
int values_mode(char* (*first)(), char* (*second)()) {
  static std::array<text_value, 600> values;
  return repeat(30'000, [&] {
    const bool is_first = random_below(2) == 0;
    values[random_below(values.size())].set(is_first ? first() : second());
  });
}

int shared_free_mode() { return values_mode(short_text, long_text); }
int one_pool_mode() { return values_mode(short_text, short_text_too); }

char* short_or_rare_text() {
  static int texts = 0;
  return ++texts <= 5 ? rare_text() : short_text_too();
}
int rare_text_mode() { return values_mode(short_text, short_or_rare_text); }

/// The same sites, told apart by the callers of one function that frees both.
int free_wrapper_mode() {
  std::array<char*, 300> shorts{}, longs{};
  return repeat(20'000, [&] {
    char*& one = shorts[random_below(shorts.size())];
    checked_free(one);
    one = short_text();
    char*& other = longs[random_below(longs.size())];
    checked_free(other);
    other = long_text();
  });
}

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
PLANTED char* long_lived(std::size_t i) { return used(new char[100 + (i * 37) % 90]); }  // here: long_lived

/// The tables of a program: built once, never freed.
PLANTED void load_tables() {
  for (int i = 0; i < 9000; ++i) use(new char[100 + random_below(200)]);  // here: tables
}

constexpr std::size_t phase_blocks = 24;

std::size_t phase_size(std::size_t i) { return 100 + i * 37 % phase_blocks * 60; }

enum class variation { none, sizes, deaths, leaving };

/// A phase whose blocks overlap like the blocks of a pipeline, the same each time: offsets computed in advance. Or with
/// other sizes each time, with deaths in another order, or with a block that once in 50 outlives it.
template <variation What>
PLANTED void one_phase() {
  static char* kept = nullptr;
  static int phase = 0;
  std::array<char*, 5> stages{};
  for (std::size_t i = 0; i < phase_blocks; ++i) {
    char*& stage = stages[What == variation::deaths ? random_below(stages.size()) : i % stages.size()];
    delete[] stage;
    const std::size_t size = phase_size(What == variation::sizes ? random_below(phase_blocks) : i);
    stage = new char[size];  // here: fixed
    use(stage);
  }
  if (What == variation::leaving && ++phase % 50 == 0) std::swap(kept, stages[0]);
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
  void* p = malloc(bytes);
  if (p == nullptr) abort();
  return p;
}

PLANTED void* cell_of_wrapper() { return used(checked_malloc(48)); }  // here: wrapper
PLANTED void* text_of_wrapper() { return used(checked_malloc(8 + random_below(900))); }

struct graph_node {
  std::array<std::uint64_t, 14> words{};
};

/// One line in ten functions.
[[gnu::always_inline]] inline graph_node* make_node() { return new graph_node; }  // here: ten_places
template <int>
PLANTED void put_node(std::unique_ptr<graph_node>& to) {
  to.reset(make_node());
  use(to.get());
}

/// Between the marks 1 and 2.
int phases_of(void (*work)()) {
  return repeat(400, [work] {
    ashlar_mark(1);
    work();
    ashlar_mark(2);
  });
}

int counted_mode() {
  std::vector<token*> all;
  all.reserve(4000);
  return repeat(6, [&] {
    std::thread([&] { build_tokens(all); }).join();
    drop_tokens(all);
  });
}

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

template <int... Numbers>
int ten_places_mode(std::integer_sequence<int, Numbers...>) {
  static std::array<std::unique_ptr<graph_node>, 600> nodes;
  return repeat(4000, [] { (put_node<Numbers>(nodes[random_below(nodes.size())]), ...); });
}

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

using blocks = std::array<void*, 300>;

[[gnu::always_inline]] inline void*& freed_one(blocks& of) {
  void*& one = of[random_below(of.size())];
  free(one);
  return one;
}

std::size_t any_size() { return 8 + random_below(900); }

/// Alike in function and line, and not in sizes: a call that is inlined into two callers, and two calls on one line.
[[gnu::always_inline]] inline void* inlined_block(std::size_t bytes) { return malloc(bytes); }
PLANTED void equal_alike(blocks& of) { freed_one(of) = used(inlined_block(48)); }
PLANTED void unequal_alike(blocks& of) { freed_one(of) = used(inlined_block(any_size())); }
PLANTED void both_alike(blocks& a, blocks& b) {
  void*& one = freed_one(a);
  void*& other = freed_one(b);
  one = used(malloc(72)), other = used(malloc(any_size()));
}

int alike_mode() {
  static std::array<blocks, 4> all;
  return repeat(8000, [] { equal_alike(all[0]), unequal_alike(all[1]), both_alike(all[2], all[3]); });
}

struct item {
  item* next;
  char text[88];
};

PLANTED item* build_scratch(item* next) { return new item{next, {}}; }

PLANTED item* build_result(item* next) { return new item{next, {}}; }

/// Effects: prints nothing and allocates nothing, so that frees alone follow the peak.
double resident_bytes() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY);
  const auto length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  unsigned long pages = 0;
  if (length > 0) std::sscanf(text.data(), "%*u %lu", &pages);
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void drop_all(item* all) {
  while (all != nullptr) delete std::exchange(all, all->next);
}

/// Has a peak, after which one of fifty objects stays, and prints the bytes that it holds for each live one. `at_end`:
/// all are freed.
int peak_mode(bool at_end) {
  constexpr int count = 150'000, one_of = 50;
  const double before = resident_bytes();
  item *scratch = nullptr, *results = nullptr;
  for (int i = 0; i < count; ++i) {
    scratch = build_scratch(scratch);
    if (i % one_of == 0) results = build_result(results);
  }
  drop_all(scratch);
  const double held = (resident_bytes() - before) / (count / one_of * sizeof(item));
  if (at_end) drop_all(results);
  std::printf("%.2f\n", held);
  return 0;
}

/// Holds 64 MiB for a moment, and little for a tenth of a second.
int map_mode() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(p, 1, bytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::munmap(p, bytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  return 0;
}

constexpr mode modes[] = {
    {"churn", [] { return list_churn(), 0; }},
    {"batch", [] { return repeat(12, batch_death); }},
    {"counted", counted_mode},
    {"lifo", [] { return repeat(400, [] { lifo_level(40); }); }},
    {"local", [] { return repeat(9000, local_buffer); }},
    {"local_in_threads", [] { return repeat(2, [] { std::thread([] { repeat(4500, local_buffer); }).join(); }); }},
    {"reserve", [] { return repeat(800, [] { sink = sink + grow_without_reserve(); }); }},
    {"realloc", [] { return repeat(800, grow_by_realloc); }},
    {"temporary", [] { return repeat(9000, same_temporary); }},
    {"hand_over", hand_over_mode},
    {"long_lived", long_lived_mode},
    {"tables", [] { return load_tables(), 0; }},
    {"fixed", [] { return phases_of(one_phase<variation::none>); }},
    {"sizes", [] { return phases_of(one_phase<variation::sizes>); }},
    {"deaths", [] { return phases_of(one_phase<variation::deaths>); }},
    {"leaving", [] { return phases_of(one_phase<variation::leaving>); }},
    {"unmarked", [] { return repeat(400, one_phase<variation::none>); }},
    {"class", class_mode},
    {"shared", shared_mode},
    {"wrapper", wrapper_mode},
    {"ten_places", [] { return ten_places_mode(std::make_integer_sequence<int, 10>()); }},
    {"shared_free", shared_free_mode},
    {"one_pool", one_pool_mode},
    {"rare_text", rare_text_mode},
    {"free_wrapper", free_wrapper_mode},
    {"innocent", [] { return repeat(30'000, [] { background->step(); }); }},
    {"mixed", mixed_mode},
    {"few", few_mode},
    {"alike", alike_mode},
    {"queue", [] { return queue_churn(3000), 0; }},
    {"refill", [] { return fill_and_churn(), 0; }},
    {"scope", [] { return map_of_scope(), 0; }},
    {"built", [] { return repeat(300, build_and_drop); }},
    {"stay", [] { return peak_mode(false); }},
    {"end", [] { return peak_mode(true); }},
    {"map", map_mode},
    {"wide", [] { return repeat(3, [] { call_all(std::make_integer_sequence<int, 120>()); }); }},
};

}  // namespace

int main(int argc, char** argv) {
  static noise own;
  background = &own;
  return run_mode(modes, argc, argv);
}
