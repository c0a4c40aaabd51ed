// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a heap behind its slabs, which cold_code.cpp compiles for size: a request in hundreds comes to them.
#pragma once

#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>
#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/heaps.hpp"

#define ASHLAR_COLD_CODE(DECLARED)                                                      \
  DECLARED template class extent_map<process_pages>;                                    \
  DECLARED template class extent_map<extent_resource<process_pages>>;                   \
  DECLARED template class heap_stores<extent_resource<process_pages>>;                  \
  DECLARED template class span_store<extent_resource<process_pages>>;                   \
  DECLARED template class huge_store<extent_resource<process_pages>>;                   \
  DECLARED template class purge<extent_resource<process_pages>>;                        \
  DECLARED template class shared_extent_map<process_pages>;                             \
  DECLARED template class thread_heaps<extent_resource<process_pages>>;                 \
  DECLARED template class thread_heap_registry<process_pages, threads_of_process_heap>; \
  DECLARED template class heap_api<drop_in::locked_heap>;                               \
  DECLARED template class heap_api<basic_heap<process_pages, threads_of_process_heap>>;

namespace ashlar::ASHLAR_ABI::detail {
ASHLAR_COLD_CODE(extern)
}  // namespace ashlar::ASHLAR_ABI::detail
