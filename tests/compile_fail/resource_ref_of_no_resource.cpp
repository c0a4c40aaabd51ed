// error: (constraints? not satisfied|constraint failure)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// resource_ref refuses types that do not provide blocks.
#include <memory_resource>

#include <ashlar/base/resource.hpp>

#ifdef ASHLAR_CONTROL
using target = std::pmr::memory_resource;
#else
using target = int;
#endif

int main() {
  using shared = ashlar::resource_ref<target>;
  return sizeof(shared*) == 0;
}
