// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar::core: what the headers for C++11 call, compiled once as C++20.
#include <cstddef>
#include <new>

#include <ashlar/base/error.hpp>
#include <ashlar/cxx11/arena.hpp>
#include <ashlar/cxx11/config.hpp>
#include <ashlar/cxx11/define_pools.hpp>
#include <ashlar/cxx11/heap.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/arena.hpp>

namespace ashlar::cxx11 {
inline namespace ASHLAR_CORE_ABI {

void throw_bad_array_new_length() { ashlar::throw_bad_array_new_length(); }

void* process_heap::allocate(std::size_t bytes, std::size_t alignment) {
  return ashlar::process_heap().allocate(bytes, alignment);
}
void* process_heap::try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return ashlar::process_heap().try_allocate(bytes, alignment);
}
void* process_heap::try_allocate_zeroed(std::size_t bytes, std::size_t alignment) noexcept {
  return ashlar::process_heap().try_allocate_zeroed(bytes, alignment);
}
void* process_heap::try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
  return ashlar::process_heap().try_reallocate(p, new_bytes, alignment);
}
void process_heap::deallocate(void* p) noexcept { ashlar::process_heap().deallocate(p); }
void process_heap::deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  ashlar::process_heap().deallocate(p, bytes, alignment);
}
std::size_t process_heap::usable_size(const void* p) noexcept { return ashlar::process_heap().usable_size(p); }
std::size_t process_heap::trim() noexcept { return ashlar::process_heap().trim(); }

struct arena::state {
  ashlar::arena<> memory;
};

arena::arena() : arena(arena_options{}.initial_bytes) {}
arena::arena(std::size_t initial_bytes, std::size_t max_bytes)
    : state_(::new(ashlar::pool_allocator<state>().allocate(1))
                 state{ashlar::arena<>(arena_options{.initial_bytes = initial_bytes, .max_bytes = max_bytes})}) {}
arena::~arena() {
  state_->~state();
  ashlar::pool_allocator<state>().deallocate(state_, 1);
}
void* arena::allocate(std::size_t bytes, std::size_t alignment) { return state_->memory.allocate(bytes, alignment); }
void* arena::try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return state_->memory.try_allocate(bytes, alignment);
}
void arena::reset() noexcept { state_->memory.reset(); }
void arena::release() noexcept { state_->memory.release(); }
std::size_t arena::used() const noexcept { return state_->memory.used(); }
std::size_t arena::held_bytes() const noexcept { return state_->memory.held_bytes(); }

}  // namespace ASHLAR_CORE_ABI
}  // namespace ashlar::cxx11

// Multiples of 16 bytes are aligned to 16, and serve all types up to this alignment.
#define ASHLAR_CORE_TWO_POOLS(bytes) \
  ASHLAR_CORE_POOL(bytes + 8, 8);    \
  ASHLAR_CORE_POOL(bytes + 16, 16)
#define ASHLAR_CORE_POOLS_TO_64_ABOVE(bytes) \
  ASHLAR_CORE_TWO_POOLS(bytes);              \
  ASHLAR_CORE_TWO_POOLS(bytes + 16);         \
  ASHLAR_CORE_TWO_POOLS(bytes + 32);         \
  ASHLAR_CORE_TWO_POOLS(bytes + 48)

ASHLAR_CORE_POOLS_TO_64_ABOVE(0);
ASHLAR_CORE_POOLS_TO_64_ABOVE(64);
ASHLAR_CORE_POOLS_TO_64_ABOVE(128);
ASHLAR_CORE_POOLS_TO_64_ABOVE(192);
ASHLAR_CORE_POOL(288, 16);
ASHLAR_CORE_POOL(320, 16);
ASHLAR_CORE_POOL(352, 16);
ASHLAR_CORE_POOL(384, 16);
ASHLAR_CORE_POOL(416, 16);
ASHLAR_CORE_POOL(448, 16);
ASHLAR_CORE_POOL(480, 16);
ASHLAR_CORE_POOL(512, 16);
