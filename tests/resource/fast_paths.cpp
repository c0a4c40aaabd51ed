// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls with bounded fast paths: the most instructions from entry to the first return, and the branches among them.
// fast_paths.sh reads the bounds here.
#include <array>
#include <cstddef>

#include <ashlar/face/object_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/static_arena.hpp>

struct object {
  std::byte bytes[64];
  object() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the bytes as they are
};
using inside = ashlar::object_pool<object, ashlar::with_capacity<1000>>;
using in_a_block = ashlar::object_pool<object, ashlar::with_capacity<ashlar::dynamic_capacity>>;
// most 9, 1: load, compare, branch; next, mask, store; address of the slot
extern "C" object* acquire_inside(inside& objects) { return objects.acquire(); }
// most 9, 0: number of the slot; load, mark, store; store
extern "C" void release_inside(inside& objects, object* p) { objects.release(p); }
// most 9, 1: the same, and the address of the words
extern "C" object* acquire_in_a_block(in_a_block& objects) { return objects.acquire(); }
// most 9, 0
extern "C" void release_in_a_block(in_a_block& objects, object* p) { objects.release(p); }

// The bounds of the others hold for one compiler.
#if defined(__clang__)
using arena = ashlar::arena<>;
// most 7, 1: load; add, and; end; compare, branch; store
extern "C" void* arena_allocate_known(arena& from) { return from.allocate(24, 8); }
// most 10, 1: load, load; none takes one byte; rest; compare, branch; end, store
extern "C" void* arena_allocate_bytes(arena& from, std::size_t bytes) { return from.allocate(bytes, 1); }
// most 0, 0
extern "C" void arena_deallocate(arena& from, void* p) { from.deallocate(p, 24, 8); }

static constexpr std::array<ashlar::plan::buffer, 2> lives{ashlar::plan::buffer::half_open(0, 64, 0, 2),
                                                           ashlar::plan::buffer::half_open(1, 32, 1, 3)};
static constexpr auto layout = ashlar::plan::solve(lives);
// most 1, 0: the base plus a constant
extern "C" std::byte* get_known(void* base) { return ashlar::static_arena(base, layout.height, layout).get(1); }
// most 3, 0: plus an entry of the table
extern "C" std::byte* get_any(void* base, std::size_t position) {
  return ashlar::static_arena(base, layout.height, layout).get(position);
}
// most 3, 0: the same
extern "C" float* get_typed(void* base, std::size_t position) {
  return ashlar::static_arena(base, layout.height, layout).get<float>(position);
}

using pool = ashlar::fixed_block_pool<64>;
// most 6, 1: load, test, branch; count, store; load
extern "C" void* pool_allocate(pool& cells) { return cells.allocate(); }
// most 6, 1: load, compare, branch; count, store; store
extern "C" void pool_deallocate(pool& cells, void* cell) { cells.deallocate(cell); }

using stack = ashlar::stack_resource<>;
// most 7, 1: load, load, subtract, compare, branch; add, store
extern "C" void* push(stack& s) { return s.allocate(64, 16); }
// most 13, 1: and the size: at least one, rounded up
extern "C" void* push_any(stack& s, std::size_t bytes) { return s.allocate(bytes, 8); }
// most 4, 1: add, compare, branch; store
extern "C" void pop(stack& s, void* p) { s.deallocate(p, 64, 16); }
// most 5, 1: and where the stack stood before
extern "C" void pop_aligned(stack& s, void* p) { s.deallocate(p, 64, 64); }
// most 5, 1: load, compare, branch; load, store
extern "C" void go_back(stack& s, const stack::marker& to) { s.rewind(to); }

using heap = ashlar::local_heap<>;
// most 8, 1: top, test for a sampled address, branch; its next becomes the top, its link the next
extern "C" void* take_known(heap& h) { return h.allocate<64>(); }
// most 7, 1: test for a sampled address, branch; link, next and top
extern "C" void give_known(heap& h, void* p) { h.deallocate<64>(p); }
// most 13, 1: sampled address; owner byte; as above
extern "C" void give(heap& h, void* p) { h.deallocate(p); }
// most 13, 2: size; sampled address; class by table; as above
extern "C" void give_sized(heap& h, void* p, std::size_t bytes) { h.deallocate(p, bytes); }

// For any thread: three more instructions find the thread heap, two of them a comparison with the heap used last. A
// free also finds the owner of the block, in three instructions if the size class is looked up anyway, else in five.
using heap_for_all = ashlar::heap<>;
// most 11, 2: test for the heap used last, branch, its thread heap; as above
extern "C" void* any_take_known(heap_for_all& h) { return h.allocate<64>(); }
// most 12, 2: sampled address; thread heap, owner of the segment, branch; as above
extern "C" void any_give_known(heap_for_all& h, void* p) { h.deallocate<64>(p); }
// most 17, 3: test for the heap used last; size, branch; class by table; as above
extern "C" void* any_try_take(heap_for_all& h, std::size_t bytes) { return h.try_allocate(bytes); }
// most 17, 3
extern "C" void* any_take(heap_for_all& h, std::size_t bytes) { return h.allocate(bytes); }
// most 16, 2
extern "C" void any_give(heap_for_all& h, void* p) { h.deallocate(p); }
// most 18, 3
extern "C" void any_give_sized(heap_for_all& h, void* p, std::size_t bytes) { h.deallocate(p, bytes); }

// The heap of the process: one thread-local word, marked while the thread uses its heap, and no test whether it
// has one. A miss takes no object.
// most 16, 2
extern "C" void* process_take(std::size_t bytes) { return ashlar::process_heap().allocate_or_errno(bytes); }
// most 18, 2
extern "C" void process_give(void* p) { ashlar::process_heap().deallocate(p); }
#endif
