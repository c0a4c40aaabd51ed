// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The destructors that are still to be run, the latest first: each object carries its own entry in front of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/seal.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// What ends one object. It lies in front of the object, in the same block, behind whatever block comes before: so from
/// level `checked` on it is sealed, and verified before it is called.
struct finalizer {
  finalizer* next = nullptr;
  void (*end)(finalizer*) noexcept = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> seal{};

  void put_on(finalizer* other) noexcept {
    next = other;
    seal.set(right_seal());
  }

  [[nodiscard]] bool is_sound() const noexcept { return seal.is(right_seal()); }

private:
  [[nodiscard]] std::uintptr_t right_seal() const noexcept {
    return seal_of(this, next, reinterpret_cast<std::uintptr_t>(end));
  }
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
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<1> counted{};

  /// Where the elements start, counted from the entry.
  static constexpr std::size_t offset() noexcept { return align_up(sizeof(finalized_array), alignof(T)); }

  [[nodiscard]] T* elements() noexcept {
    return static_cast<T*>(static_cast<void*>(reinterpret_cast<std::byte*>(this) + offset()));
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
    counted.set(seal_of(&count, count));
  }

  void destroy() noexcept {
    for (; count != 0; --count) std::destroy_at(elements() + count - 1);
  }

private:
  static void end_all(finalizer* entry) noexcept {
    auto* const array = static_cast<finalized_array*>(static_cast<void*>(entry));
    if (ASHLAR_UNLIKELY(!array->counted.is(seal_of(&array->count, array->count))))
      report({.kind = fault::underflow,
              .what = "bytes before the first element of an array were written to",
              .pointer = array->elements()});
    array->destroy();
  }
};

/// A stack of finalizers. Invariant: each entry was pushed later than those behind it.
class finalizers {
public:
  constexpr finalizers() = default;

  void push(finalizer& entry) noexcept {
    entry.put_on(first_);
    first_ = &entry;
  }

  /// Effects: runs what was pushed after `last`, the latest first. What destructors push meanwhile is run, too.
  /// Each entry is off the stack before it runs. Reports one that was written to; `arena` is what the report names.
  void run_down_to(const finalizer* last, const void* arena) noexcept {
    while (first_ != last) {
      finalizer* const leaving = first_;
      if (ASHLAR_UNLIKELY(!leaving->is_sound())) report_damage(leaving, arena);
      first_ = leaving->next;
      leaving->end(leaving);
    }
  }

  [[nodiscard]] finalizer* first() const noexcept { return first_; }

private:
  [[noreturn]] ASHLAR_COLD static void report_damage(const finalizer* entry, const void* arena) noexcept {
    report({.kind = fault::overflow,
            .what = "bytes behind a block were written to, over what ends the object behind it",
            .pointer = entry,
            .resource = arena});
  }

  finalizer* first_ = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
