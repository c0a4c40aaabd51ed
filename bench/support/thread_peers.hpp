// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The peers that several threads may use at once, in addition to the malloc libraries.
#pragma once

#include <memory_resource>
#include <mutex>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/heap/heap.hpp>

#include "peers.hpp"

namespace bench {

using pmr_synchronized_peer = pmr_peer<std::pmr::synchronized_pool_resource>;

template <class Lock>
struct ashlar_locked_peer {
  template <class T>
  using allocator = ashlar::pool_allocator<T, Lock>;
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  void give_back() noexcept {}
};

// One heap for both threads, whose blocks are of any size.
struct ashlar_heap_peer {
  template <class T>
  using allocator = ashlar::allocator<T, ashlar::heap<>>;
  template <class T>
  allocator<T> make() noexcept {
    return blocks;
  }
  void give_back() noexcept { blocks.trim(); }
  ashlar::heap<> blocks;
};

using ashlar_spin_peer = ashlar_locked_peer<ashlar::spin_lock>;
using ashlar_mutex_peer = ashlar_locked_peer<std::mutex>;
using ashlar_cached_peer = ashlar_locked_peer<ashlar::thread_cached>;

}  // namespace bench
