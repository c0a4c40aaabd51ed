// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A parser that frees its tree at once: an arena, reset for each text, that needs no new memory after the first.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using tree_arena = ashlar::arena<ashlar::statistics<ashlar::page_resource>>;
template <class T>
using vector = std::vector<T, ashlar::allocator<T, tree_arena>>;

struct list {
  explicit list(tree_arena& from) : children(from) {}
  vector<list*> children;  // grows in the arena; the reset takes abandoned memory back
};

// (()(())) is a list of two lists
list* parse(const char*& at, tree_arena& trees) {
  list* const made = trees.make<list>(trees);  // the reset destroys it, and so the vector, too
  for (++at; *at == '('; ++at) made->children.push_back(parse(at, trees));
  return made;
}

std::size_t count(const list& of) {
  std::size_t all = 1;
  for (const list* const child : of.children) all += count(*child);
  return all;
}

}  // namespace

int main() {
  tree_arena trees({.initial_bytes = 4096});
  std::string text = "()";
  std::size_t lists = 0;
  const auto asked = [&] { return static_cast<std::size_t>(trees.upstream_resource().counters().allocations); };
  std::size_t after_warm_up = 0;
  for (int round = 0; round < 1000; ++round) {
    if (round < 12) text = "(" + text + text + ")";
    const char* at = text.c_str();
    lists = count(*parse(at, trees));
    trees.reset();
    if (round == 13) after_warm_up = asked();
  }
  std::printf("%zu lists at last, %zu bytes at most, %zu calls upstream, none since round 13\n", lists,
              trees.high_water(), asked());
  return lists == 8191 && asked() == after_warm_up && trees.used() == 0 ? 0 : 1;
}
