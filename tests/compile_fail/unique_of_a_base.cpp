// error: (no viable conversion|conversion from|could not convert)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unique pointer to a derived object does not become one to its base: it would be freed with the size of the base.
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/block_pool.hpp>

struct base {
  int of_base = 0;
};
struct derived : base {
  int more = 0;
};

#ifdef ASHLAR_CONTROL
using target = ashlar::unique_base_from<base, ashlar::block_pool<>>;
#else
using target = ashlar::unique_from<base, ashlar::block_pool<>>;
#endif

int main() {
  ashlar::block_pool<> pool({.cell_bytes = sizeof(derived)});
  const target held = ashlar::allocate_unique<derived>(pool);
  return held->of_base;
}
