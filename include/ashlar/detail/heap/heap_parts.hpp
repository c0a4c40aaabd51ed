// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of heaps as incomplete types, for headers that hold none of them as a member.
#pragma once

#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct segment;
class segment_owner;
template <resource Upstream>
class extent_map;
template <resource Upstream>
class span_store;
template <resource Upstream>
class small_store;
template <resource Upstream>
class huge_store;
template <resource Upstream>
class heap_stores;
template <class Stores, class Sharing>
class engine;
class single_owner;
template <class Upstream>
class locked_with_inbox;

/// Whether a call includes the thread cache, which its owner may be using without a lock: otherwise cached cells and
/// spans count as live.
enum class cached : bool { excluded, included };

/// The types of an engine's stores, of its segments, and of the map of address space below them. A model specialises
/// it, with smaller ones.
template <class Upstream>
struct heap_parts {
  using stores = heap_stores<Upstream>;
  using segment = detail::segment;
  using space = extent_map<Upstream>;
};

/// The engine of one thread, and the engine of a thread whose blocks any other may free.
template <class Upstream>
using local_engine = engine<typename heap_parts<Upstream>::stores, single_owner>;
template <class Upstream>
using owner_engine = engine<typename heap_parts<Upstream>::stores, locked_with_inbox<Upstream>>;

/// Whether frees of other threads' blocks travel to the owner. From level `checked` on the freeing call reports misuse.
inline constexpr bool frees_travel = checking_level < checking::checked;

/// The address range that the extents of an upstream lie in: none. `ranged_pages` specialises it.
template <class Upstream>
struct range_of {
  static constexpr bool is_known = false;
};

/// Whether the owner of a block over a shared upstream is found by its address alone: without a lock.
template <class Upstream>
inline constexpr bool finds_owners = [] {
  if constexpr (requires(Upstream& shared) { shared.get().finds_owners; })
    return std::remove_cvref_t<decltype(std::declval<Upstream&>().get())>::finds_owners;
  else return false;
}();

}  // namespace ashlar::ASHLAR_ABI::detail
