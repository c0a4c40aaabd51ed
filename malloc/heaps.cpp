// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of the heaps that are objects, and the default heap of each thread.
#include "malloc/heaps.hpp"

#include <cstddef>
#include <new>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/ranged_pages.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/blocks.hpp"

namespace ashlar::drop_in {

constinit detail::atomic<std::size_t> heap_count = 0;

namespace {

// Never destroyed: a free after the end of main looks here too.
union heap_list {
  constexpr heap_list() noexcept : members{} {}
  ~heap_list() {}
  struct {
    detail::fork_safe_lock<spin_lock> lock;
    detail::list<ashlar_heap> all;
  } members;
};
constinit heap_list heaps;

constinit detail::atomic<bool> defaults_are_used = false;
ASHLAR_IN_STATIC_TLS constinit thread_local ashlar_heap* of_thread = nullptr;

using scope = ashlar::check_scope<detail::fork_safe_lock<spin_lock>>;

}  // namespace

ashlar_heap* make_heap(const heap_options& limits) noexcept {
  void* const place = process_heap().allocate_or_errno(sizeof(ashlar_heap), alignof(ashlar_heap));
  if (place == nullptr) return nullptr;
  auto* const made = ::new (place) ashlar_heap(limits);
  {
    const scope held(heaps.members.lock);
    heaps.members.all.push_front(made);
    heap_count.fetch_add(1, detail::memory_order_relaxed);
  }
  return made;
}

void end_heap(ashlar_heap* heap) noexcept {
  if (of_thread == heap) of_thread = nullptr;
  {
    const scope held(heaps.members.lock);
    heaps.members.all.erase(heap);
    heap_count.fetch_sub(1, detail::memory_order_relaxed);
  }
  heap->~ashlar_heap();
  process_heap().deallocate(heap);
}

bool is_heap(const ashlar_heap* heap) noexcept {
  const scope held(heaps.members.lock);
  const ashlar_heap* each = heaps.members.all.front();
  while (each != nullptr && each != heap) each = each->next;
  return each != nullptr;
}

ashlar_heap* heap_with(const void* p) noexcept {
  const scope held(heaps.members.lock);
  for (ashlar_heap* each = heaps.members.all.front(); each != nullptr; each = each->next)
    if (each->owns(p)) return each;
  return nullptr;
}

// Without a look at the block, which may be none: the heap of the process then reports it. Segments outside of the
// range belong to a process without room for one.
ashlar_heap* heap_of_block(const void* p) noexcept {
  using basic_process_heap = detail::basic_heap<detail::process_pages, detail::threads_of_process_heap>;
  using engine = detail::owner_engine<detail::extent_resource<detail::process_pages>>;
  const auto& range = detail::range_of<detail::process_pages>::range();
  if (checking_level >= checking::checked || ashlar::is_aligned(p, detail::window_bytes) || !range.has(p))
    return heap_with(p);
  detail::segment_owner* const owner = range.owner_of(p);
  if (owner == nullptr) return nullptr;
  const void* const home = engine::of(*owner).upstream().get().reported_heap();
  if (home == static_cast<const basic_process_heap*>(&process_heap())) return nullptr;
  return static_cast<ashlar_heap*>(static_cast<locked_heap*>(const_cast<void*>(home)));
}

ashlar_heap* default_of_thread() noexcept { return of_thread; }

ashlar_heap* set_default_of_thread(ashlar_heap* heap) noexcept {
  defaults_are_used.store(true, detail::memory_order_relaxed);
  choose_fast_paths();  // also in the second thread, which may be here before the first one has chosen
  ashlar_heap* const former = of_thread;
  of_thread = heap;
  return former;
}

bool has_default_heaps() noexcept { return defaults_are_used.load(detail::memory_order_relaxed); }

}  // namespace ashlar::drop_in
