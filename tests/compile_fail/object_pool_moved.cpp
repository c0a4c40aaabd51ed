// error: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of objects cannot be moved: its objects lie in it.
#include <utility>

#include <ashlar/face/object_pool.hpp>

int main() {
  ashlar::object_pool<int, ashlar::with_capacity<8>> pool;
#ifdef ASHLAR_CONTROL
  ashlar::object_pool<int, ashlar::with_capacity<8>>&& other = std::move(pool);
#else
  ashlar::object_pool<int, ashlar::with_capacity<8>> other = std::move(pool);
#endif
  return other.empty() ? 0 : 1;
}
