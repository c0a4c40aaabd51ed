// error: process_wide_resource
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An allocator without data cannot know its pool among several, regardless of the pool.
#include <vector>

#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#ifdef ASHLAR_CONTROL
using heap = ashlar::new_delete_resource;
#else
struct heap : ashlar::new_delete_resource {
  int blocks_of_this_heap = 0;
};
#endif

int main() {
  const std::vector<int, ashlar::stateless_allocator<int, heap>> numbers(3);
  return numbers[0];
}
