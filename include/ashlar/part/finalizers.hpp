// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The destructors that are still to be run, the latest first: each object carries its own entry in front of it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What ends one object. It lies in front of the object, in the same block.
struct finalizer {
  finalizer* next = nullptr;
  void (*end)(finalizer*) noexcept = nullptr;
};

/// An object and what ends it, in one block.
template <class T>
struct finalized {
  finalizer entry;
  union {
    T object;
  };

  template <class... Args>
  explicit finalized(Args&&... args) : entry{.end = end_one}, object(std::forward<Args>(args)...) {}
  finalized(const finalized&) = delete;
  finalized& operator=(const finalized&) = delete;
  ~finalized() {}  // the entry says when the object ends

private:
  static void end_one(finalizer* entry) noexcept {
    std::destroy_at(std::addressof(static_cast<finalized*>(static_cast<void*>(entry))->object));
  }
};

/// An array and what ends it. The elements lie behind it, as soon as their alignment allows.
template <class T>
struct finalized_array {
  finalizer entry{.end = end_all};
  std::size_t count = 0;

  /// Where the elements start, counted from the entry.
  static constexpr std::size_t offset = align_up(sizeof(finalizer) + sizeof(std::size_t), alignof(T));

  [[nodiscard]] T* elements() noexcept {
    return static_cast<T*>(static_cast<void*>(reinterpret_cast<std::byte*>(this) + offset));
  }

  /// Effects: makes `n` elements by `T()`. Throws: what that throws; then those made are ended, the latest first.
  void build(std::size_t n) {
    struct unfinished {
      finalized_array* array;
      ~unfinished() {
        if (array != nullptr) array->destroy();
      }
    } until_built{this};
    for (; count != n; ++count) ::new (static_cast<void*>(elements() + count)) T();
    until_built.array = nullptr;
  }

  void destroy() noexcept {
    for (; count != 0; --count) std::destroy_at(elements() + count - 1);
  }

private:
  static void end_all(finalizer* entry) noexcept {
    static_cast<finalized_array*>(static_cast<void*>(entry))->destroy();
  }
};

/// A stack of finalizers. Invariant: each entry was pushed later than those behind it.
class finalizers {
public:
  constexpr finalizers() = default;

  void push(finalizer& entry) noexcept {
    entry.next = first_;
    first_ = &entry;
  }

  /// Effects: runs what was pushed after `last`, the latest first. What destructors push meanwhile is run, too.
  /// Each entry is off the stack before it runs.
  void run_down_to(const finalizer* last) noexcept {
    while (first_ != last) {
      finalizer* const leaving = first_;
      first_ = leaving->next;
      leaving->end(leaving);
    }
  }

  [[nodiscard]] finalizer* first() const noexcept { return first_; }

private:
  finalizer* first_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI
