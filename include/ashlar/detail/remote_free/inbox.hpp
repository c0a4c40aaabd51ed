// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An inbox: any thread pushes, one at a time takes everything.
#pragma once

#include <atomic>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// A linked stack with one word of state. `Node` has a member `next` of type `Atomics::plain<Node*>`, and an alignment
/// above 1. There is no pop of one node, hence no ABA: a push needs only that the head still is what it linked to.
///
/// Every change of the head is a read-modify-write, so a push continues the release sequences of all pushes below it,
/// and the one acquiring exchange of a taker synchronises with each of them: the links, and whatever the pushers wrote
/// before, may be plain. No state in between is ever visible, so a thread may die or fork at any point.
/// (Treiber, "Systems Programming: Coping with Parallelism", 1986, with removal of the whole stack only.)
///
/// Thread safety: any thread pushes; takers and closers are serialised by the caller.
template <class Node, class Atomics = std_atomics>
class inbox {
public:
  constexpr inbox() noexcept = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Effects: adds a node; lock-free. Returns: false, and nothing is added, where the inbox is closed.
  [[nodiscard]] bool push(Node* node) noexcept {
    Node* head = head_.load(std::memory_order_relaxed);  // only compared, never followed
    do {
      if (ASHLAR_UNLIKELY(head == closed())) return false;
      node->next = head;
    } while (!head_.compare_exchange_weak(head, node, std::memory_order_release,  // pairs with take_all() and close()
                                          std::memory_order_relaxed));
    return true;
  }

  /// Returns: all nodes, linked by `next`, the latest first; null where there are none, or it is closed. Wait-free.
  [[nodiscard]] Node* take_all() noexcept {
    if (is_empty() || is_closed()) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);  // pairs with push()
  }

  /// Effects: refuses all pushes from now on. Returns: as `take_all`. Wait-free.
  [[nodiscard]] Node* close() noexcept {
    Node* const all = head_.exchange(closed(), std::memory_order_acquire);  // pairs with push()
    return all == closed() ? nullptr : all;
  }

  /// Returns: whether nothing was there a moment ago.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(std::memory_order_relaxed) == closed(); }

private:
  // An address that no node has.
  [[nodiscard]] static Node* closed() noexcept { return reinterpret_cast<Node*>(std::uintptr_t{1}); }

  typename Atomics::template atomic<Node*> head_ = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
