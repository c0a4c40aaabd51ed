// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sizes of nodes that standard containers ask of an allocator, beside those that node_bytes tells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <ashlar/face/node_bytes.hpp>

namespace ashlar_test {

inline std::size_t largest_asked = 0;

/// Notes the largest single object: a table of hashes also asks for arrays of pointers.
template <class T>
struct noting_allocator {
  using value_type = T;

  noting_allocator() = default;
  template <class U>
  noting_allocator(const noting_allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n == 1 && !std::is_pointer_v<T>) largest_asked = std::max(largest_asked, sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept { std::allocator<T>().deallocate(p, n); }
  friend bool operator==(const noting_allocator&, const noting_allocator&) noexcept = default;
};

/// Returns: bytes that a `Container` of one element asks for.
template <class Container>
[[nodiscard]] std::size_t asked_by() {
  largest_asked = 0;
  Container made;
  if constexpr (requires { made.emplace_front(); }) made.emplace_front();
  else made.emplace();
  return largest_asked;
}

/// Effects: calls `f(name, told, asked)` for each container of `T`.
template <class T, class F>
void compare_nodes_of(F f) {
  using ashlar::node_bytes;
  using one = noting_allocator<T>;
  using pair = noting_allocator<std::pair<const T, char>>;
  using hash = std::hash<T>;
  using same = std::equal_to<>;
  using less = std::less<>;
  f("list", node_bytes<std::list<T>>, asked_by<std::list<T, one>>());
  f("forward_list", node_bytes<std::forward_list<T>>, asked_by<std::forward_list<T, one>>());
  f("set", node_bytes<std::set<T>>, asked_by<std::set<T, less, one>>());
  f("multiset", node_bytes<std::multiset<T>>, asked_by<std::multiset<T, less, one>>());
  f("map", node_bytes<std::map<T, char>>, asked_by<std::map<T, char, less, pair>>());
  f("multimap", node_bytes<std::multimap<T, char>>, asked_by<std::multimap<T, char, less, pair>>());
  f("unordered_set", node_bytes<std::unordered_set<T>>, asked_by<std::unordered_set<T, hash, same, one>>());
  f("unordered_map", node_bytes<std::unordered_map<T, char>>,
    asked_by<std::unordered_map<T, char, hash, same, pair>>());
  f("unordered_multimap", node_bytes<std::unordered_multimap<T, char>>,
    asked_by<std::unordered_multimap<T, char, hash, same, pair>>());
}

}  // namespace ashlar_test
