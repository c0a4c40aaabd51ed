// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resources with any set of refinements, as types only, and the set of a given resource, for tests of adaptors.
#pragma once

#include <cstddef>

#include <ashlar/base/resource.hpp>

namespace ashlar_test {

/// One bit for each refinement.
using skills = unsigned;
inline constexpr skills can_try = 1;
inline constexpr skills can_own = 2;
inline constexpr skills can_release = 4;
inline constexpr skills can_describe = 8;
inline constexpr skills can_expand = 16;
inline constexpr skills can_prefault = 32;
inline constexpr skills can_at_least = 64;
inline constexpr skills can_share = 128;   ///< thread-safe
inline constexpr skills can_divide = 256;  ///< divisible
inline constexpr skills every_skill = 511;

/// A resource with exactly these refinements. Never called.
template <skills Has>
struct skilled {
  static constexpr bool is_thread_safe = (Has & can_share) != 0;
  static constexpr std::size_t least_part_bytes = (Has & can_divide) != 0 ? 4096 : 0;

  void* allocate(std::size_t, std::size_t) { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
  void* try_allocate(std::size_t, std::size_t) noexcept
    requires((Has & can_try) != 0)
  {
    return nullptr;
  }
  bool owns(const void*) const noexcept
    requires((Has & can_own) != 0)
  {
    return false;
  }
  void release() noexcept
    requires((Has & can_release) != 0)
  {}
  void deallocate(void*) noexcept
    requires((Has & can_describe) != 0)
  {}
  bool try_expand(void*, std::size_t, std::size_t, std::size_t) noexcept
    requires((Has & can_expand) != 0)
  {
    return false;
  }
  void prefault(void*, std::size_t) noexcept
    requires((Has & can_prefault) != 0)
  {}
  ashlar::block allocate_at_least(std::size_t, std::size_t)
    requires((Has & can_at_least) != 0)
  {
    return {};
  }
  friend bool operator==(const skilled&, const skilled&) noexcept = default;
};

/// The refinements of `R`.
template <ashlar::resource R>
inline constexpr skills skills_of =
    (ashlar::try_resource<R> ? can_try : 0) | (ashlar::owning_resource<R> ? can_own : 0) |
    (ashlar::releasable_resource<R> ? can_release : 0) | (ashlar::self_describing_resource<R> ? can_describe : 0) |
    (ashlar::expanding_resource<R> ? can_expand : 0) | (ashlar::prefaulting_resource<R> ? can_prefault : 0) |
    (ashlar::at_least_resource<R> ? can_at_least : 0) | (ashlar::thread_safe_resource<R> ? can_share : 0) |
    (ashlar::divisible_resource<R> ? can_divide : 0);

static_assert(skills_of<skilled<every_skill>> == every_skill && skills_of<skilled<can_own>> == can_own);

/// `A` over an upstream has `Always`, and of the refinements of the upstream those in `PassesOn`.
template <template <class> class A, skills PassesOn, skills Always, skills... Each>
inline constexpr bool has_refinements =
    ((skills_of<A<skilled<Always | Each>>> == (Always | ((Always | Each) & PassesOn))) && ...) &&
    ((skills_of<A<skilled<Always | (every_skill ^ Each)>>> ==
      (Always | ((Always | (every_skill ^ Each)) & PassesOn))) &&
     ...);

template <template <class> class A, skills PassesOn, skills Always = 0>
inline constexpr bool passes_on = has_refinements<A, PassesOn, Always, 0, can_try, can_own, can_release, can_describe,
                                                  can_expand, can_prefault, can_at_least, can_share, can_divide>;

}  // namespace ashlar_test
