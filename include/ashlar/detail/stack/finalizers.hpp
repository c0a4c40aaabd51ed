// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pending destructors, most recent first: each object has its entry in front of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The destructor of one object. It lies in front of the object, in the same block, after foreign blocks. So from
/// level `checked` on it is sealed, and verified before its call.
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

/// An object and its finalizer, in one block.
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
  ~finalized() {}  // the entry ends the object

private:
  static void end_one(finalizer* entry) noexcept {
    std::destroy_at(std::addressof(static_cast<finalized*>(static_cast<void*>(entry))->object));
  }
};

/// An array and its finalizer. The elements lie after it, at the first address of their alignment.
template <class T>
struct finalized_array {
  finalizer entry{.end = end_all};
  std::size_t count = 0;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<1> counted{};

  /// The offset of the elements from the entry.
  static constexpr std::size_t offset() noexcept { return align_up(sizeof(finalized_array), alignof(T)); }

  [[nodiscard]] T* elements() noexcept {
    return static_cast<T*>(static_cast<void*>(reinterpret_cast<std::byte*>(this) + offset()));
  }

  /// Effects: makes `n` elements by `T()`. Throws: the exception of `T()`, after the elements made so far are destroyed
  /// in reverse order.
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

/// A stack of finalizers. Invariant: each entry was pushed later than its successors.
class finalizers {
public:
  using entry_type = finalizer;
  template <class T>
  using object = finalized<T>;
  template <class T>
  using array = finalized_array<T>;

  constexpr finalizers() = default;

  void push(finalizer& entry) noexcept {
    entry.put_on(first_);
    first_ = &entry;
  }

  /// Effects: runs the entries pushed after `last`, most recent first, including entries that destructors push
  /// meanwhile. Each entry leaves the stack before it runs. Reports an entry that was overwritten, in the name of
  /// `arena`.
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
    report(fault::overflow, "bytes past the end of a block were written to, over the finalizer of the next object",
           entry, arena);
  }

  finalizer* first_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
