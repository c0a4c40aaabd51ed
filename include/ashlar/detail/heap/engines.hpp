// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two engines: of one thread, and of a thread whose blocks any other may free.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

template <class Upstream>
using local_engine = engine<typename heap_parts<Upstream>::stores, single_owner>;
template <class Upstream>
using owner_engine = engine<typename heap_parts<Upstream>::stores, locked_with_inbox<Upstream>>;

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
