// error: owning_resource
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first side of a fallback must know its blocks: operator new does not.
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#ifdef ASHLAR_CONTROL
using first = ashlar::inline_buffer<64>;
#else
using first = ashlar::new_delete_resource;
#endif

int main() {
  ashlar::fallback<first, ashlar::new_delete_resource> memory;
  memory.deallocate(memory.allocate(1, 1), 1, 1);
  return 0;
}
