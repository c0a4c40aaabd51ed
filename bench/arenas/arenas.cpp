// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of memory that is freed all at once: raw blocks, a few strings, a tree, a graph, a frame.
//
//     arenas <bump16|bump64|strings|tree|graph|frames> <peer> [--rounds N]   one cell per process, one JSON line
//     arenas --cells                                                         the list of cells

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "peers.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

namespace bench {
namespace {

template <class Memory, class T>
using vector_of = std::vector<T, typename Memory::template allocator<T>>;
template <class Memory>
using string_of = std::basic_string<char, std::char_traits<char>, typename Memory::template allocator<char>>;

// Raw blocks of one size: a thousand, then all are freed.
template <std::size_t Bytes>
struct bumps {
  static constexpr std::size_t per_phase = 1000, phases = 100;

  template <class Memory>
  static void run(Memory& memory) {
    for (std::size_t i = 0; i < per_phase; ++i) escape(memory.allocate(Bytes));
    memory.reset();
  }
};

constexpr const char* messages[] = {
    "connection from 10.0.0.17",  "session 4711 was opened",   "cache miss for user 88213", "retrying in 250 ms",
    "flushed 128 pages to disk",  "request took 12.731 ms",    "heartbeat from worker 3",   "queue depth is now 1024",
    "unknown header was ignored", "index rebuilt, 9 segments", "leader is replica eu-2",    "token renewed for api-gw",
    "replication lag is 3 s",     "checkpoint 5582 complete",  "dropped 2 late packets",    "config reloaded, rev 19"};

// 32 log lines of about 25 characters in a vector, by a function with its memory on the stack.
struct strings {
  static constexpr std::size_t per_phase = 1, phases = 1000;

  template <class Memory>
  static void run(Memory&) {
    Memory memory;
    vector_of<Memory, string_of<Memory>> lines(memory.template make<string_of<Memory>>());
    for (std::size_t i = 0; i < 32; ++i) {
      const char* const message = messages[i % std::size(messages)];
      if constexpr (Memory::has_uses_allocator) lines.emplace_back(message);
      else lines.emplace_back(message, memory.template make<char>());
    }
    escape(lines.data());
  }
};

// The nodes of an expression such as 1+f(2*3,4): parsed by recursive descent, evaluated, and freed.
template <class Memory>
struct expression {
  struct node {
    explicit node(Memory& m, char k, double v = 0)
        : kind(k), value(v), children(m.template make<node*>()), name(m.template make<char>()) {}
    char kind;
    double value;
    vector_of<Memory, node*> children;
    string_of<Memory> name;
  };

  Memory& memory;
  const char* at;

  node* make(char kind, double value = 0) { return ::new (memory.allocate(sizeof(node))) node(memory, kind, value); }

  node* parse_sum() {
    node* left = parse_term();
    while (*at == '+' || *at == '*') {
      node* const both = make(*at++);
      both->children.push_back(left);
      both->children.push_back(parse_term());
      left = both;
    }
    return left;
  }

  node* parse_term() {
    if (*at != 'f') return make('n', *at++ - '0');
    node* const call = make('f');
    while (*at != '(') call->name += *at++;
    do {
      ++at;
      call->children.push_back(parse_sum());
    } while (*at == ',');
    ++at;
    return call;
  }

  double value_of(const node& n) const {
    if (n.kind == 'n') return n.value;
    double result = n.kind == '*' ? 1 : static_cast<double>(n.name.size());
    for (const node* const child : n.children)
      if (n.kind == '*') result *= 0.25 * value_of(*child);
      else result += value_of(*child);
    return result;
  }

  void free(node* n) {
    for (node* const child : n->children) free(child);
    n->~node();
    memory.deallocate(n, sizeof(node));
  }
};

std::string random_expression(std::mt19937& random, int depth) {
  std::string text;
  for (int terms = 1 + static_cast<int>(random() % 3); terms != 0; --terms) {
    if (!text.empty()) text += random() % 2 == 0 ? '+' : '*';
    if (depth == 0 || random() % 4 == 0) {
      text += static_cast<char>('0' + random() % 10);
      continue;
    }
    text += random() % 2 == 0 ? "f(" : "function_of_several_arguments(";
    for (int arguments = 1 + static_cast<int>(random() % 4); arguments != 0; --arguments)
      text += random_expression(random, depth - 1) + (arguments == 1 ? ')' : ',');
  }
  return text;
}

struct trees {
  static constexpr std::size_t phases = 20;
  static inline const std::string text = [] {
    std::mt19937 random(7);
    std::string longest;
    while (longest.size() < 4000) longest = random_expression(random, 6);
    return longest;
  }();
  static inline const std::size_t per_phase = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return c == '+' || c == '*' || c == '(' || (c >= '0' && c <= '9'); }));

  template <class Memory>
  static void run(Memory& memory) {
    expression<Memory> parser{memory, text.c_str()};
    auto* const root = parser.parse_sum();
    double value = parser.value_of(*root);
    escape(&value);
    if constexpr (!Memory::is_freed_by_reset) parser.free(root);
    memory.reset();
  }
};

// A random graph of 1,000 vertices and 8,000 edges, in growing lists: traversed breadth first, and freed.
struct graphs {
  static constexpr std::size_t vertices = 1000, per_phase = 8000, phases = 5;

  template <class Memory>
  static void run(Memory& memory) {
    using neighbours = vector_of<Memory, std::uint32_t>;
    {
      vector_of<Memory, neighbours> graph(memory.template make<neighbours>());
      for (std::size_t i = 0; i < vertices; ++i)
        if constexpr (Memory::has_uses_allocator) graph.emplace_back();
        else graph.emplace_back(memory.template make<std::uint32_t>());
      std::uint32_t random = 1;
      for (std::size_t i = 0; i < per_phase; ++i) {
        random = random * 1664525 + 1013904223;
        graph[(random >> 8) % vertices].push_back((random >> 20) % vertices);
      }
      walk(memory, graph);
    }
    memory.reset();
  }

  template <class Memory, class Graph>
  static void walk(Memory& memory, const Graph& graph) {
    vector_of<Memory, std::uint32_t> queue(memory.template make<std::uint32_t>());
    vector_of<Memory, char> is_seen(vertices, 0, memory.template make<char>());
    queue.push_back(0);
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const std::uint32_t to : graph[queue[i]])
        if (!std::exchange(is_seen[to], 1)) queue.push_back(to);
    escape(queue.data());
  }
};

// A frame: 2,000 blocks of 16 to 256 bytes, then all are freed.
struct frames {
  static constexpr std::size_t per_phase = 2000, phases = 50;
  static inline const std::vector<std::size_t> sizes = [] {
    std::mt19937 random(3);
    std::vector<std::size_t> made(per_phase);
    for (std::size_t& each : made) each = 16 + random() % 241;
    return made;
  }();

  template <class Memory>
  static void run(Memory& memory) {
    static std::array<void*, per_phase> held;
    for (std::size_t i = 0; i < per_phase; ++i) *static_cast<std::uint64_t*>(held[i] = memory.allocate(sizes[i])) = i;
    escape(held.data());
    if constexpr (!Memory::is_freed_by_reset)
      for (std::size_t i = 0; i < per_phase; ++i) memory.deallocate(held[i], sizes[i]);
    memory.reset();
  }
};

// Returns: nanoseconds for each element of a phase, the median of the rounds.
template <class Work, class Memory>
double measure(std::size_t rounds) {
  const auto memory = std::make_unique<Memory>();
  std::vector<double> costs(rounds + 5);
  for (double& cost : costs) {
    const double start = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t i = 0; i < Work::phases; ++i) Work::run(*memory);
    cost = (clock_ms(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / static_cast<double>(Work::phases * Work::per_phase);
  }
  costs.erase(costs.begin(), costs.begin() + 5);  // the first warm up
  std::sort(costs.begin(), costs.end());
  return costs[costs.size() / 2];
}

using measurement = double (*)(std::size_t rounds);

struct row {
  contender who;
  measurement bump16, bump64, of_strings, tree, graph, frame;
};

// `Kept` lives across phases; `Begun` is made by each function call.
template <class Kept, class Begun = Kept>
constexpr row row_of(contender who) {
  return {who,
          measure<bumps<16>, Kept>,
          measure<bumps<64>, Kept>,
          measure<strings, Begun>,
          measure<trees, Kept>,
          measure<graphs, Kept>,
          measure<frames, Kept>};
}

constexpr row heap_row(contender who) {
  return {who,
          nullptr,
          nullptr,
          measure<strings, heap_memory>,
          measure<trees, heap_memory>,
          measure<graphs, heap_memory>,
          measure<frames, heap_memory>};
}

// For a memory that is emptied for its next use, not ended; a function call has no such memory.
template <class Kept>
constexpr row kept_row(contender who) {
  row made = row_of<Kept>(who);
  made.of_strings = nullptr;
  return made;
}

constexpr row rows[] = {
    heap_row({"glibc", "the heap, glibc", true}),
    heap_row({"mimalloc", "the heap, mimalloc", true}),
    heap_row({"jemalloc", "the heap, jemalloc", true}),
    heap_row({"tcmalloc", "the heap, tcmalloc", true}),
    heap_row({"rpmalloc", "the heap, rpmalloc", true}),
    heap_row({"snmalloc", "the heap, snmalloc", true}),
    row_of<std_pmr, pmr_on_stack<std_pmr>>({"pmr_monotonic", "std::pmr::monotonic_buffer_resource, release()", true}),
#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
    row_of<boost_pmr, pmr_on_stack<boost_pmr>>(
        {"boost_monotonic", "Boost's monotonic_buffer_resource, release()", true}),
#endif
    row_of<ashlar_pmr_release, pmr_on_stack<ashlar_pmr_release>>(
        {"ashlar_pmr", "ashlar::pmr::monotonic_buffer_resource, release()", true}),
    kept_row<ashlar_pmr>({"ashlar_pmr_reset", "ashlar::pmr::monotonic_buffer_resource, reset()", true}),
    row_of<ashlar_arena, arena_on_stack>({"ashlar", "ashlar::arena, reset()", true}),
    row_of<bare_large, bare_on_stack>({"limit", "a pointer that is moved, no more (no product)", false}),
};

struct question {
  std::string_view name;
  measurement row::* measure;
};
constexpr question questions[] = {{"bump16", &row::bump16}, {"bump64", &row::bump64}, {"strings", &row::of_strings},
                                  {"tree", &row::tree},     {"graph", &row::graph},   {"frames", &row::frame}};

cell_list all_cells() {
  cell_list cells;
  for (const question& q : questions)
    for (const row& r : rows)
      if (r.*q.measure != nullptr) cells.add(q.name, "", r.who, {q.name, r.who.name});
  return cells;
}

std::string usage_text() {
  return "usage: arenas <bump16|bump64|strings|tree|graph|frames> <peer> [--rounds N] | --cells\npeers:" +
         names_of(rows);
}

void run(const command_line& line) {
  line.expect_words(2);
  const question& q = line.choice(0, questions, [](const question& each) { return each.name; });
  const row& r = line.row(1, rows);
  if (r.*q.measure == nullptr) line.usage_error();
  const std::size_t rounds = line.number("--rounds", 200, 1, 100'000);
  json_object answer = answer_of(r.who.name, line.argv());
  const double ns = (r.*q.measure)(rounds);
  std::puts(answer.number("median_ns", ns).str().c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
