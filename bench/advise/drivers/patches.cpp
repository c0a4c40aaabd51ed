// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One program in two builds: as it is, and with PATCHED, the change of its source that advice names.
//
//     patches MODE SIZE ROUNDS SEED
//
// | mode | objects that live long | patch |
// |---|---|---|
// | tokens | a list of tokens by `new`, which grows and is walked | operators of the class, from a pool |
// | retained | the same | and the pool keeps what is free |
// | ring | tokens, each replaced by the next one but 4096: little besides the calls | as tokens |
// | words | the nodes of a std::map of words | pool_allocator |
// | index | the nodes of a std::unordered_map of numbers | pool_allocator |
// | orders | the nodes of a std::set that are replaced one by one | pool_allocator |
// | queues | the nodes of many std::lists that grow in turn | pool_allocator |
// | trees | expressions by `new`, freed together by the function that made them | an arena in that function |
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(PATCHED)
#include <ashlar/base/options.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/arena.hpp>
template <class T>
using node_allocator = ashlar::pool_allocator<T, ashlar::one_thread>;
#else
template <class T>
using node_allocator = std::allocator<T>;
#endif

namespace {

unsigned long state = 1;

unsigned draw(unsigned below) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return static_cast<unsigned>(state >> 33) % below;
}

std::string word(unsigned vocabulary) {
  unsigned which = draw(vocabulary) * 2654435761U;
  std::string text(3 + which % 18, 'a');
  for (char& letter : text) letter = static_cast<char>('a' + (which = which * 1664525U + 1013904223U) / 165191050U);
  return text;
}

struct token {
  std::string text;
  token* next = nullptr;
  int line = 0, kind = 0;
  void* expanded_from = nullptr;
#if defined(PATCHED)
  static void* operator new(std::size_t) { return node_allocator<token>().allocate(1); }
  static void operator delete(void* p) { node_allocator<token>().deallocate(static_cast<token*>(p), 1); }
#endif
};

using places = std::unordered_map<std::string, std::vector<int>>;

void note(places& lines, const std::string& text, int line) { lines[text].push_back(line); }

std::size_t tokens(int size) {
  places lines;
  std::size_t sum = 0;
  for (int source = 0; source < 2; ++source) {
    token *first = nullptr, **end = &first;
    for (int i = 0; i < size; ++i, end = &(*end)->next) {
      *end = new token{word(4000), nullptr, i / 8, i % 5, nullptr};
      if (i % 16 == 0) note(lines, (*end)->text, i);
    }
    for (token* t = first; t != nullptr; t = t->next)
      if (t->kind == 3) t = t->next = new token{t->text, t->next, t->line, 1, t};
    for (int pass = 0; pass < 12; ++pass)
      for (const token* t = first; t != nullptr; t = t->next)
        sum += t->text.size() * static_cast<unsigned>(t->kind + pass);
    while (first != nullptr) delete std::exchange(first, first->next);
  }
  return sum + lines.size();
}

std::size_t retained(int size) {
#if defined(PATCHED)
  node_allocator<token>::with_pool([](auto& pool) { pool.retain(ashlar::never_release); });
#endif
  return tokens(size);
}

std::size_t ring(int size) {
  std::vector<std::unique_ptr<token>> of(4096);
  for (int i = 0; i < size; ++i) of[static_cast<unsigned>(i) % of.size()].reset(new token{{}, nullptr, i, 0, nullptr});
  return static_cast<std::size_t>(of.front()->line);
}

std::size_t words(int size) {
  using entry = std::pair<const std::string, std::vector<int>>;
  std::map<std::string, std::vector<int>, std::less<>, node_allocator<entry>> at;
  for (int i = 0; i < 4 * size; ++i) at[word(static_cast<unsigned>(size))].push_back(i);
  std::size_t sum = 0;
  for (int pass = 0; pass < 8; ++pass)
    for (const auto& [text, lines] : at) sum += text.size() + lines.size();
  return sum;
}

std::size_t index(int size) {
  struct record {
    double weight[4];
    std::string name;
  };
  using entry = std::pair<const unsigned, record>;
  std::unordered_map<unsigned, record, std::hash<unsigned>, std::equal_to<>, node_allocator<entry>> of;
  for (int i = 0; i < size; ++i) of.try_emplace(draw(1U << 30), record{{1.0 * i, 2, 3, 4}, word(900)});
  double sum = 0;
  for (int pass = 0; pass < 10; ++pass)
    for (auto& [key, each] : of) sum += each.weight[pass % 4] += key % 3;
  return static_cast<std::size_t>(sum);
}

std::size_t orders(int size) {
  struct order {
    unsigned price, id, amount;
    bool operator<(const order& other) const { return price != other.price ? price < other.price : id < other.id; }
  };
  std::set<order, std::less<>, node_allocator<order>> book;
  std::vector<std::string> notes(256);
  std::size_t sum = 0;
  for (int i = 0; i < 4 * size; ++i) {
    book.insert({draw(1U << 20), static_cast<unsigned>(i), draw(100)});
    if (i % 4 == 0) notes[draw(256)] = word(5000);
    if (i < size) continue;
    const auto next = book.lower_bound(order{draw(1U << 20), 0, 0});
    sum += next == book.end() ? 0 : next->amount;
    book.erase(next == book.end() ? book.begin() : next);
  }
  for (int pass = 0; pass < 4; ++pass)
    for (const order& each : book) sum += each.amount;
  return sum;
}

std::size_t queues(int size) {
  struct event {
    unsigned time, kind, payload[6];
  };
  std::vector<std::list<event, node_allocator<event>>> of(300);
  std::vector<std::string> names;
  for (int i = 0; i < size; ++i) {
    of[draw(300)].push_back({draw(1000), draw(7), {}});
    if (i % 8 == 0) names.push_back(word(5000));
  }
  std::size_t sum = names.size();
  for (int pass = 0; pass < 12; ++pass)
    for (auto& queue : of) {
      for (event& each : queue) sum += each.time * (each.payload[each.kind % 6] += each.kind);
      queue.remove_if([pass](const event& each) { return each.time % 12 == static_cast<unsigned>(pass); });
    }
  return sum;
}

struct expression {
  char kind;
  double value;
  const expression *left, *right;
};

struct call : expression {
  double weights[4];
};

struct maker {
#if defined(PATCHED)
  ashlar::arena<> memory;
  template <class T>
  T* make(T from) {
    return memory.make_unowned<T>(from);
  }
  void end(const std::vector<const expression*>&) { memory.reset(); }
#else
  template <class T>
  T* make(T from) {
    return new T(from);
  }
  void end(const std::vector<const expression*>& all) {
    for (const expression* each : all) end(each);
  }
  void end(const expression* of) {
    if (of == nullptr) return;
    end(of->left);
    end(of->right);
    of->kind == 'c' ? delete static_cast<const call*>(of) : delete of;
  }
#endif
  const expression* tree(int depth) {
    if (depth == 0) return make(expression{'n', draw(100) / 7.0, nullptr, nullptr});
    const expression* const left = tree(depth - 1);
    const expression* const right = tree(depth - 1);
    if (draw(3) == 0) return make(call{{'c', 0, left, right}, {1, 0.5, 0.25, 0.125}});
    return make(expression{'+', 0, left, right});
  }
};

double value(const expression* of) {
  if (of->kind == 'n') return of->value;
  const double both = value(of->left) + value(of->right);
  return of->kind == 'c' ? both * static_cast<const call*>(of)->weights[1] : both;
}

std::size_t trees(int size) {
  double sum = 0;
  maker of;
  for (int round = 0; round < 6; ++round) {
    std::vector<const expression*> all;
    for (int i = 0; i < size; ++i) all.push_back(of.tree(8));
    for (int pass = 0; pass < 4; ++pass)
      for (const expression* each : all) sum += value(each);
    of.end(all);
  }
  return static_cast<std::size_t>(sum);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::map<std::string, std::size_t (*)(int)> modes = {
      {"tokens", tokens}, {"retained", retained}, {"ring", ring},     {"words", words},
      {"index", index},   {"orders", orders},     {"queues", queues}, {"trees", trees}};
  state = std::strtoul(argv[4], nullptr, 10);
  std::size_t sum = 0;
  for (int round = 0; round < std::atoi(argv[3]); ++round) sum += modes.at(argv[1])(std::atoi(argv[2]));
  std::printf("%zu\n", sum);
}
