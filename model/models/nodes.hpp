// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes for the models of the inbox, and the promise that each is taken as often as it was pushed.
#pragma once

#include <checker.hpp>

#include <ashlar/detail/remote_free/parcel.hpp>

namespace models {

/// A node holds the last write of its client; the taker overwrites it. Its `next` holds a stale value, as in real use:
/// here a node that is never pushed.
struct node {
  node() = default;
  explicit node(node* earlier) : next{earlier} {}

  checker::atomics::plain<node*> next = nullptr;
  checker::atomics::plain<int> content = 0;
  int taken = 0;  // changed by the holder of the node only; read once all threads have ended
};

using inbox = ashlar::detail::inbox<node, checker::atomics>;

/// Effects: writes the node's content, as the client's last use of it, and pushes it.
inline bool write_and_push(inbox& to, node& n, int content) {
  n.content = content;
  return to.push(&n);
}

/// Effects: takes each node of a chain and writes to it, as an owner that hands the cell out again. Returns: the number
/// of nodes.
template <class Each>
int for_each_taken(node* chain, const node& stray, Each each) {
  int count = 0;
  while (chain != nullptr) {
    checker::check(chain != &stray, "a link of an earlier life is never followed");
    checker::check(++count <= 8, "a chain ends");
    node* const next = chain->next;
    chain->content = chain->content + 100;
    each(*chain);
    chain = next;
  }
  return count;
}

inline int count_taken(node* chain, const node& stray) {
  return for_each_taken(chain, stray, [](node& n) { ++n.taken; });
}

template <class... Nodes>
void check_taken(int times, const Nodes&... nodes) {
  (checker::check(nodes.taken == times, "each node is taken as often as it was pushed"), ...);
}

}  // namespace models
