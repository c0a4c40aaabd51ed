// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of heaps whose machine code heap_pin.sh counts.
#include <cstddef>

#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/process_heap.hpp>

using heap = ashlar::local_heap<>;
using heap_for_all = ashlar::heap<>;

extern "C" void* take_known(heap& h) { return h.allocate<64>(); }
extern "C" void give_known(heap& h, void* p) { h.deallocate<64>(p); }
extern "C" void* try_take(heap& h, std::size_t bytes) { return h.try_allocate(bytes); }
extern "C" void give(heap& h, void* p) { h.deallocate(p); }
extern "C" void give_sized(heap& h, void* p, std::size_t bytes) { h.deallocate(p, bytes); }

extern "C" void* any_take_known(heap_for_all& h) { return h.allocate<64>(); }
extern "C" void any_give_known(heap_for_all& h, void* p) { h.deallocate<64>(p); }
extern "C" void* any_try_take(heap_for_all& h, std::size_t bytes) { return h.try_allocate(bytes); }
extern "C" void* any_take(heap_for_all& h, std::size_t bytes) { return h.allocate(bytes); }
extern "C" void any_give(heap_for_all& h, void* p) { h.deallocate(p); }
extern "C" void any_give_sized(heap_for_all& h, void* p, std::size_t bytes) { h.deallocate(p, bytes); }

extern "C" void* process_take(std::size_t bytes) { return ashlar::process_heap().allocate_or_errno(bytes); }
extern "C" void process_give(void* p) { ashlar::process_heap().deallocate(p); }
