// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An intrusive doubly linked list: members contain their links, and nothing is allocated.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The links of a member. `T` derives from `list_node<T>`.
template <class T>
struct list_node {
  T* next = nullptr;
  T* previous = nullptr;
};

/// Members in the order of insertion. Complexity: O(1), unless stated otherwise.
/// Invariant: `front_` and `back_` are both null or both non-null; neighbours point at each other.
template <class T>
class list {
public:
  using node = list_node<T>;

  [[nodiscard]] constexpr bool empty() const noexcept { return front_ == nullptr; }
  [[nodiscard]] constexpr T* front() const noexcept { return front_; }
  [[nodiscard]] constexpr T* back() const noexcept { return back_; }

  constexpr void push_front(T* member) noexcept { insert_between(nullptr, member, front_); }
  constexpr void push_back(T* member) noexcept { insert_between(back_, member, nullptr); }

  /// Expects: `member` is in this list.
  constexpr void erase(T* member) noexcept {
    (member->previous != nullptr ? member->previous->next : front_) = member->next;
    (member->next != nullptr ? member->next->previous : back_) = member->previous;
    member->next = member->previous = nullptr;
  }

  /// Complexity: O(n).
  [[nodiscard]] constexpr bool invariant() const noexcept {
    const T* previous = nullptr;
    for (const T* member = front_; member != nullptr; previous = member, member = member->next)
      if (member->previous != previous) return false;
    return back_ == previous;
  }

private:
  constexpr void insert_between(T* previous, T* member, T* next) noexcept {
    member->previous = previous;
    member->next = next;
    (previous != nullptr ? previous->next : front_) = member;
    (next != nullptr ? next->previous : back_) = member;
  }

  T* front_ = nullptr;
  T* back_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
