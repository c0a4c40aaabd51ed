// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Planted functions whose remedy depends on other calls for the same container, or on all calls of a function.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <list>
#include <map>
#include <utility>

#include "cli/tests/advise/background.hpp"

namespace {

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

}  // namespace
