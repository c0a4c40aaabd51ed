// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The place of an object's reference count: beside the object, in its slab, or in the object itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_layout.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI {

/// The places of a count in a slab of objects:
///
///     in_slab      | header | count 0 | count 1 | ... | object 0 | object 1 | ...
///     beside       | header | object 0 | count 0 | object 1 | count 1 | ...
///     in_member    | header | ... | object 0 { ... count ... } | object 1 { ... count ... } | ...
///
/// At level `hardened` guards follow the objects, so `beside` places the counts as `in_slab` does.
namespace count {

/// Placement: an array of counts in front of the slots of each slab; 4 bytes for each object, for any alignment.
struct in_slab {};
/// Placement: right after the object. It costs the padding to the next object, and an access touches one cache line
/// less.
struct beside {};
/// Placement: a member of the object. `Count` is a `std::uint32_t`, or a `std::atomic<std::uint32_t>` if any thread
/// counts; its value after the construction of an object does not matter.
template <auto Member>
struct in_member {};
/// Placement, the default: in the object if `ref_count(object)` is found by argument-dependent lookup and returns a
/// reference to such a count; else beside it if its padding leaves room; else in the slab.
struct by_padding {};

}  // namespace count

namespace detail {

/// Whether a `T*` points to an object of exactly that type, so that the place of its count is a constant.
template <class T>
inline constexpr bool is_exact_type = !std::is_class_v<T> || std::is_final_v<T>;

template <class T>
concept has_ref_count = requires(T& object) { ref_count(object); };

// Whether a slot with its word costs no more bytes than the two apart.
template <class T>
inline constexpr bool has_room_beside =
    align_up(sizeof(T) + 4, std::max<std::size_t>(alignof(T), 4)) <= align_up(sizeof(T), alignof(T)) + 4;

template <class T, class Placement>
struct placement_traits;
template <class T>
struct placement_traits<T, count::in_slab> {
  static constexpr bool is_beside = false;
  static constexpr bool is_own = false;
};
template <class T>
struct placement_traits<T, count::beside> {
  static constexpr bool is_beside = true;
  static constexpr bool is_own = false;
};
// The slot's own word marks the slot as free or taken, and counts nothing.
template <class T, auto Member>
struct placement_traits<T, count::in_member<Member>> {
  static constexpr bool is_beside = has_room_beside<T>;
  static constexpr bool is_own = true;
  [[nodiscard]] static auto& own(T& object) noexcept { return object.*Member; }
};
template <class T>
struct placement_traits<T, count::by_padding> {
  static constexpr bool is_beside = has_room_beside<T>;
  static constexpr bool is_own = has_ref_count<T>;
  [[nodiscard]] static auto& own(T& object) noexcept
    requires has_ref_count<T>
  {
    return ref_count(object);
  }
};

/// The layout of a pool of `T`.
template <class T, policy::threads Threads, class Placement>
using layout_of = slot_layout<Threads, sizeof(T), alignof(T), placement_traits<T, Placement>::is_beside>;

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
