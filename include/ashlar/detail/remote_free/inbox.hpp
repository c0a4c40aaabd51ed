// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An inbox of remote frees: any thread pushes, and one thread at a time takes all nodes.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A linked stack with one pointer of state. `Node` has a member `next` of type `Atomics::plain<Node*>` and an
/// alignment above 1 byte. No operation pops a single node, so ABA is harmless: a push needs only an unchanged head.
///
/// Every change of the head is a read-modify-write, so a push continues the release sequences of all pushes below it.
/// The acquiring exchange of a taker synchronises with each of them: the links and all earlier writes of the pushers
/// may be plain. No intermediate state is visible, so a thread may die or fork at any point.
/// (Treiber, "Systems Programming: Coping with Parallelism", 1986, with removal of the whole stack only.)
///
/// Thread safety: any thread pushes; the caller serialises takers and closers.
template <class Node, class Atomics = default_atomics>
class inbox {
public:
  constexpr inbox() noexcept = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Effects: adds a node; lock-free. Returns: false if the inbox is closed; the node is then not added.
  [[nodiscard]] bool push(Node* node) noexcept {
    Node* head = head_.load(memory_order_relaxed);  // only compared, never followed
    do {
      if (ASHLAR_UNLIKELY(head == closed())) return false;
      node->next = head;
    } while (!head_.compare_exchange_weak(head, node, memory_order_release,  // pairs with take_all() and close()
                                          memory_order_relaxed));
    return true;
  }

  /// Returns: all nodes, linked by `next`, the latest first; null if the inbox is empty or closed. Wait-free.
  [[nodiscard]] Node* take_all() noexcept {
    if (is_empty() || is_closed()) return nullptr;
    return head_.exchange(nullptr, memory_order_acquire);  // pairs with push()
  }

  /// Effects: closes the inbox; later pushes fail. Returns: as `take_all`. Wait-free.
  [[nodiscard]] Node* close() noexcept {
    Node* const all = head_.exchange(closed(), memory_order_acquire);  // pairs with push()
    return all == closed() ? nullptr : all;
  }

  /// Returns: whether the inbox was empty at the load; a push may follow at once.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(memory_order_relaxed) == nullptr; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(memory_order_relaxed) == closed(); }

private:
  // An address that no node has.
  [[nodiscard]] static Node* closed() noexcept { return reinterpret_cast<Node*>(std::uintptr_t{1}); }

  typename Atomics::template atomic<Node*> head_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
