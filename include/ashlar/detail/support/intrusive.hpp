// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intrusive containers, whose members contain their links, so that nothing is allocated: a doubly linked list, and a
// search tree of memory regions, ordered by address. And a reference to a function object, so that long code that calls
// it exists once for all types of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/os/native.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Calls a function object of any type with `Args`. Expects: the object outlives the reference. Throws: what the object
/// throws. Complexity: an indirect call.
template <class... Args>
class function_ref {
public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> && std::is_invocable_v<F&, Args...>)
  function_ref(F&& f) noexcept
      : of_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(f)))), call_([](void* of, Args... args) {
          static_cast<void>((*static_cast<std::remove_reference_t<F>*>(of))(args...));
        }) {}

  void operator()(Args... args) const { call_(of_, args...); }

private:
  void* of_;
  void (*call_)(void* of, Args... args);
};

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

/// The links of one member. `T` derives from `tree_node<T>`.
template <class T>
struct tree_node {
  T* left = nullptr;
  T* right = nullptr;
};

/// A treap (Seidel and Aragon, "Randomized search trees", 1996): a search tree by address and a heap by priority. The
/// priority is a hash of the address, so the shape depends only on the set of members. Nothing is allocated.
/// Complexity: insert, erase and find O(log n) expected, as is the depth of recursion.
template <class T>
class address_tree {
public:
  [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }

  /// Expects: `member` is in no tree.
  void insert(T* member) noexcept {
    T** place = &root_;
    while (*place != nullptr && priority(*place) >= priority(member)) place = child_towards(*place, member);
    T* const below = *place;
    *place = member;
    split(below, member, &member->left, &member->right);
  }

  /// Expects: `member` is in this tree.
  void erase(T* member) noexcept {
    T** place = &root_;
    while (*place != member) place = child_towards(*place, member);
    *place = join(member->left, member->right);
    member->left = member->right = nullptr;
  }

  /// Returns: the member with the highest address not above `p`, or null.
  [[nodiscard]] T* find_at_or_below(const void* p) const noexcept {
    T* best = nullptr;
    for (T* at = root_; at != nullptr;) {
      const bool below = address_of(at) <= address_of(p);
      if (below) best = at;
      at = below ? at->right : at->left;
    }
    return best;
  }

  /// Returns: the member with the lowest address above `p`, or null.
  [[nodiscard]] T* find_above(const void* p) const noexcept {
    T* best = nullptr;
    for (T* at = root_; at != nullptr;) {
      const bool above = address_of(at) > address_of(p);
      if (above) best = at;
      at = above ? at->left : at->right;
    }
    return best;
  }

  /// Effects: calls `f(member)` for each member from the lowest address up. `f` may destroy its member's links.
  template <class F>
  void for_each(F f) const {
    visit(root_, f);
  }

  /// Effects: empties the tree; members keep stale links.
  void clear() noexcept { root_ = nullptr; }

  /// Complexity: O(n).
  [[nodiscard]] bool invariant() const noexcept { return is_ordered(root_, 0, max_size); }

private:
  [[nodiscard]] static std::uint64_t priority(const T* member) noexcept {
    return (std::uint64_t{address_of(member)} >> 6) * 0x9E3779B97F4A7C15ULL;  // Fibonacci hashing (Knuth 6.4)
  }

  [[nodiscard]] static T** child_towards(T* from, const T* member) noexcept {
    return address_of(member) < address_of(from) ? &from->left : &from->right;
  }

  // Splits a subtree at the address of `at`.
  static void split(T* tree, const T* at, T** lower, T** upper) noexcept {
    while (tree != nullptr) {
      if (address_of(tree) < address_of(at)) {
        *lower = tree;
        lower = &tree->right;
        tree = tree->right;
      } else {
        *upper = tree;
        upper = &tree->left;
        tree = tree->left;
      }
    }
    *lower = *upper = nullptr;
  }

  // Joins two subtrees. Expects: all addresses in `lower` are below those in `upper`.
  [[nodiscard]] static ASHLAR_INLINE T* join(T* lower, T* upper) noexcept {
    T* joined = nullptr;
    T** place = &joined;
    while (lower != nullptr && upper != nullptr) {
      if (priority(lower) >= priority(upper)) {
        *place = lower;
        place = &lower->right;
        lower = lower->right;
      } else {
        *place = upper;
        place = &upper->left;
        upper = upper->left;
      }
    }
    *place = lower != nullptr ? lower : upper;
    return joined;
  }

  template <class F>
  static void visit(T* tree, F& f) {
    while (tree != nullptr) {
      T* const right = tree->right;
      visit(tree->left, f);
      f(*tree);
      tree = right;
    }
  }

  [[nodiscard]] static bool is_ordered(const T* tree, std::uintptr_t low, std::uintptr_t high) noexcept {
    if (tree == nullptr) return true;
    const std::uintptr_t at = address_of(tree);
    const auto is_below = [tree](const T* child) { return child == nullptr || priority(child) <= priority(tree); };
    return low <= at && at <= high && is_below(tree->left) && is_below(tree->right) &&
           is_ordered(tree->left, low, at - 1) && is_ordered(tree->right, at + 1, high);
  }

  T* root_ = nullptr;
};

/// The owner and the size of a cell. All fields are null or 0 for an address outside of all slabs.
struct cell_place {
  const void* owner = nullptr;  ///< the pool
  std::size_t cell_bytes = 0;
};

/// A slab's entry in the registry. It lies in the slab in front of the cells, so the registry allocates nothing.
struct registered_slab : tree_node<registered_slab> {
  const void* owner = nullptr;
  const std::byte* cells = nullptr;
  std::uint32_t bytes = 0;  ///< of all cells; slabs have at most 2^31
  std::uint32_t cell_bytes : 31 = 0;
  std::uint32_t is_on_stack : 1 = stack_thread(this).is_any();
};

/// The member of a slab's header for the registry: an entry from level `checked` on, at `fast` no data and no code.
class slab_registration {
public:
  /// Effects: adds the slab of this header.
  void enter(const void* owner, const std::byte* cells, std::size_t bytes, std::size_t cell_bytes) noexcept;

  /// Effects: removes the slab. Expects: it was entered.
  void leave() noexcept;

private:
  ASHLAR_NO_UNIQUE_ADDRESS if_checked<registered_slab> line_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
