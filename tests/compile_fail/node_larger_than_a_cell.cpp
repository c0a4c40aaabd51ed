// error: no cell of this pool can hold such an object
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list whose nodes no cell of its pool can hold is refused; the elements, and arrays of pointers, are not.
#include <deque>
#include <list>

#include <ashlar/face/allocator.hpp>
#include <ashlar/face/node_bytes.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

struct element {
  long words[4];
};

#ifdef ASHLAR_CONTROL
using pool_type = ashlar::fixed_block_pool<ashlar::node_bytes<std::list<element>>>;
#else
using pool_type = ashlar::fixed_block_pool<sizeof(element)>;
#endif

int main() {
  pool_type pool;
  ashlar::fixed_block_pool<4> numbers;
  std::deque<int, ashlar::allocator<int, ashlar::fixed_block_pool<4>>> queue(1, 0, numbers);
  std::list<element, ashlar::allocator<element, pool_type>> elements(pool);
  elements.emplace_back();
  return queue.front();
}
