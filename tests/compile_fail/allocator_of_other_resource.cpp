// error: (no matching|no viable|could not convert|conversion)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An allocator refers to its named resource type, and to no other.
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

int main() {
#ifdef ASHLAR_CONTROL
  ashlar::new_delete_resource source;
#else
  ashlar::null_resource source;
#endif
  const ashlar::allocator<int, ashlar::new_delete_resource> numbers = source;
  return numbers == numbers ? 0 : 1;
}
