// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An intrusive pairing heap of memory regions with the lowest address on top.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The links of one member. `T` derives from `heap_node<T>`.
template <class T>
struct heap_node {
  T* child = nullptr;     ///< the leftmost of its children
  T* sibling = nullptr;   ///< to its right
  T* previous = nullptr;  ///< the sibling to its left, or its parent
};

/// A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986). A push compares with the top only, so a program that
/// frees in bulk and never takes the lowest region does not pay for order.
///
///     top -> [ lowest ]                  child: a member at a higher address
///               | child                  sibling: another child of the same parent
///            [ a ] -sibling-> [ b ]
///
/// Invariant: every member has a higher address than its parent; the top has no sibling.
/// Complexity: push O(1), erase O(log n) amortised.
template <class T>
class address_heap {
public:
  [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
  /// Returns: the member with the lowest address, or null.
  [[nodiscard]] T* top() const noexcept { return top_; }

  /// Expects: `member` is in no heap.
  void push(T* member) noexcept { top_ = top_ == nullptr ? member : meld(top_, member); }

  /// Expects: `member` is in this heap.
  ASHLAR_INLINE void erase(T* member) noexcept {
    T* const rest = meld_all(member->child);
    if (member == top_) {
      top_ = rest;
    } else {
      cut(member);
      if (rest != nullptr) top_ = meld(top_, rest);
    }
    member->child = nullptr;
  }

  /// Complexity: O(n).
  [[nodiscard]] std::size_t size() const noexcept { return count(top_); }

  /// Complexity: O(n).
  [[nodiscard]] bool invariant() const noexcept {
    return top_ == nullptr || (top_->sibling == nullptr && top_->previous == nullptr && is_ordered(top_));
  }

private:
  // Expects: both are roots. The higher one becomes the first child of the lower one.
  [[nodiscard]] static T* meld(T* a, T* b) noexcept {
    T* const lower = address_of(a) < address_of(b) ? a : b;
    T* const higher = lower == a ? b : a;
    higher->previous = lower;
    higher->sibling = lower->child;
    if (lower->child != nullptr) lower->child->previous = higher;
    lower->child = higher;
    return lower;
  }

  // Melds siblings in pairs from left to right, then the pairs from right to left. Returns: a root, or null.
  [[nodiscard]] static ASHLAR_INLINE T* meld_all(T* first) noexcept {
    T* pairs = nullptr;  // linked by `sibling`, the rightmost first
    while (first != nullptr) {
      T* const left = detach(first);
      T* const right = first != nullptr ? detach(first) : nullptr;
      T* const pair = right != nullptr ? meld(left, right) : left;
      pair->sibling = pairs;
      pairs = pair;
    }
    T* all = nullptr;
    while (pairs != nullptr) {
      T* const pair = detach(pairs);
      all = all == nullptr ? pair : meld(all, pair);
    }
    return all;
  }

  // Detaches and returns the first of a chain of siblings.
  [[nodiscard]] static T* detach(T*& first) noexcept {
    T* const taken = first;
    first = taken->sibling;
    taken->sibling = taken->previous = nullptr;
    return taken;
  }

  // Expects: `member` is not the top.
  static void cut(T* member) noexcept {
    T*& from = member->previous->child == member ? member->previous->child : member->previous->sibling;
    from = member->sibling;
    if (member->sibling != nullptr) member->sibling->previous = member->previous;
    member->sibling = member->previous = nullptr;
  }

  [[nodiscard]] static std::size_t count(const T* member) noexcept {
    std::size_t members = 0;
    for (; member != nullptr; member = next_of(member)) ++members;
    return members;
  }

  [[nodiscard]] static bool is_ordered(const T* member) noexcept {
    for (; member != nullptr; member = next_of(member)) {
      const T* const right = member->sibling;
      if (right != nullptr && right->previous != member) return false;
      if (member->child != nullptr && member->child->previous != member) return false;
      if (const T* const parent = parent_of(member); parent != nullptr && !(address_of(parent) < address_of(member)))
        return false;
    }
    return true;
  }

  // Returns: the next member in preorder. No recursion, since a heap may be a long chain.
  [[nodiscard]] static const T* next_of(const T* member) noexcept {
    if (member->child != nullptr) return member->child;
    while (member != nullptr && member->sibling == nullptr) member = parent_of(member);
    return member == nullptr ? nullptr : member->sibling;
  }

  [[nodiscard]] static const T* parent_of(const T* member) noexcept {
    while (member->previous != nullptr && member->previous->child != member) member = member->previous;
    return member->previous;
  }

  T* top_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
