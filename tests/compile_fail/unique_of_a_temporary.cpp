// error: (no matching function|resource_argument)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object cannot be made in a pool that ends with the expression.
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

int main() {
#ifdef ASHLAR_CONTROL
  const auto held = ashlar::allocate_unique<int>(ashlar::new_delete_resource());
#else
  const auto held = ashlar::allocate_unique<int>(ashlar::block_pool<>({.cell_bytes = 8}));
#endif
  return *held;
}
