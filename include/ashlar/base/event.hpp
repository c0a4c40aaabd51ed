// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One event of a trace: an allocation, a release, a mark or the edge of a span, in the form that every consumer works
// with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// The compiler spells a value without an enumerator as a cast of a number: `(kind)3`.
template <auto Value>
[[nodiscard]] constexpr bool is_enumerator() noexcept {
  constexpr std::string_view whole = ASHLAR_SIGNATURE;
  constexpr std::string_view spelled = whole.substr(0, whole.find_last_of("]>"));
  constexpr std::size_t cast = spelled.rfind(')');
  return cast == spelled.npos || spelled[cast + 1] < '0' || spelled[cast + 1] > '9';
}

template <class Enum, std::size_t From = 0>
[[nodiscard]] constexpr std::size_t count_enumerators() noexcept {
  if constexpr (is_enumerator<static_cast<Enum>(From)>()) return count_enumerators<Enum, From + 1>();
  else return From;
}

/// The number of enumerators of an enumeration that counts from 0 without a hole.
template <class Enum>
inline constexpr std::size_t enum_count = count_enumerators<Enum>();

/// A value for each enumerator, in their order. It is made of as many values as there are enumerators, or of none.
template <class Enum, class Value>
class enum_table {
public:
  static constexpr std::size_t count = enum_count<Enum>;

  constexpr enum_table() = default;
  template <class... Values>
    requires(sizeof...(Values) == count)
  constexpr enum_table(const Values&... values) : values_{{Value(values)...}} {}

  [[nodiscard]] constexpr Value& operator[](Enum which) noexcept { return values_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] constexpr const Value& operator[](Enum which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] constexpr auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const noexcept { return values_.end(); }

private:
  std::array<Value, count> values_{};
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI::trace {

/// The call of an event. `aligned_alloc_` stands for memalign, posix_memalign, valloc and pvalloc too. The forms of new
/// and delete are distinct; `event::size` and `event::alignment` tell their sized and aligned variants. Spans of a
/// thread nest: a `span_end` ends the innermost span that the thread has begun.
enum class operation : std::uint8_t {
  malloc_,
  calloc_,
  realloc_,
  aligned_alloc_,
  new_,
  new_array_,
  free_,
  delete_,
  delete_array_,
  mark,
  thread_end,
  span_begin,
  span_end,
  thread_name
};

inline constexpr std::size_t operation_count = detail::enum_count<operation>;

/// One event. In the order of events every object is allocated before it is released.
struct event {
  std::uint64_t time_ns = 0;          ///< Since the start of the trace; never less than the event before.
  std::uint32_t thread = 0;           ///< Dense: 0 is the first thread seen.
  operation op = operation::malloc_;  ///<
  std::uint64_t size = 0;             ///< Bytes requested; 0 for an unsized release; the number of a mark; of a
                                      ///< span and of a thread's name: the id of the name in the table of names.
  std::uint64_t alignment = 0;        ///< 0 = the default alignment.
  std::uint64_t object = 0;      ///< 1, 2, 3 … as allocated, never reused; 0 = the call failed, or freed an unknown.
  std::uint64_t old_object = 0;  ///< realloc_ only: the object passed in; still live if `object` is 0.
  std::uint32_t stack = 0;       ///< Call-stack id, 0 = none recorded.
  std::uint32_t slot = 0;        ///< Of the object, from a reader: no other live object has it. Slots are used again,
                                 ///< so that they number the most objects live at once.
  std::uint32_t old_slot = 0;    ///< realloc_ only: of the object passed in.

  friend constexpr bool operator==(const event&, const event&) = default;
};

/// Returns: whether `op` requests memory (realloc_ included, which also releases).
[[nodiscard]] constexpr bool is_allocation(operation op) noexcept { return op <= operation::new_array_; }

/// Returns: whether `op` only releases memory.
[[nodiscard]] constexpr bool is_release(operation op) noexcept {
  return op >= operation::free_ && op <= operation::delete_array_;
}

/// Returns: the operation in C++ spelling.
[[nodiscard]] constexpr std::string_view name(operation op) noexcept {
  constexpr detail::enum_table<operation, std::string_view> names = {
      "malloc", "calloc",   "realloc", "aligned_alloc", "new",        "new[]",    "free",
      "delete", "delete[]", "mark",    "thread_end",    "span_begin", "span_end", "thread_name"};
  return static_cast<std::size_t>(op) < operation_count ? names[op] : std::string_view("unknown");
}

}  // namespace ashlar::ASHLAR_ABI::trace
