// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A std allocator for containers of containers: the elements have the resource of their container.
#pragma once

#include <scoped_allocator>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// As `allocator<T, R>`, and a container hands it to the constructor of each element that takes one: strings in a
/// vector in a map all lie in one arena, without being told. Elements have an allocator of the same resource, such as
/// `allocator<char, R>`, or `scoped_allocator` for containers of their own.
/// Lifetime: the resource outlives every container. Thread safety: the resource's.
template <class T, resource R>
using scoped_allocator = std::scoped_allocator_adaptor<allocator<T, R>>;

}  // namespace ashlar::ASHLAR_ABI
