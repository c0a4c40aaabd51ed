// error: process_wide_resource
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An allocator without data over a pool of the calling thread is refused: moved to another thread it would free there.
#include <cstddef>
#include <vector>

#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>

struct pool_of_this_thread {
#ifdef ASHLAR_CONTROL
  static constexpr bool is_process_wide = true;
#endif
  static ashlar::inline_buffer<1024>& pool() {
    static thread_local ashlar::inline_buffer<1024> mine;
    return mine;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) { return pool().allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    pool().deallocate(p, bytes, alignment);
  }
  bool operator==(const pool_of_this_thread&) const = default;
};

int main() {
  const std::vector<int, ashlar::stateless_allocator<int, pool_of_this_thread>> numbers(3);
  return numbers[0];
}
