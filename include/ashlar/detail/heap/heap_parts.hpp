// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the heaps over an upstream are made of: a model gives them smaller parts.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

struct segment;
template <resource Upstream>
class extent_map;
template <resource Upstream>
class heap_stores;

/// The types of an engine's stores, of its segments, and of the map of address space below them.
template <class Upstream>
struct heap_parts {
  using stores = heap_stores<Upstream>;
  using segment = detail::segment;
  using space = extent_map<Upstream>;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
