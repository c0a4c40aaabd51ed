// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of each resource that a program names first: what an optimising compiler warns of in their headers stands
// in the build of each user. Never run.
#include <vector>

#include <ashlar/ashlar.hpp>

template <class R>
void* use(R& resource, void* freed) {
  std::vector<int, ashlar::allocator<int, R>> numbers(ashlar::allocator<int, R>{resource});
  numbers.push_back(1);
  resource.deallocate(freed, 100, 16);
  return resource.allocate(100, 16);
}

template void* use(ashlar::arena<>&, void*);
template void* use(ashlar::block_pool<>&, void*);
template void* use(ashlar::frame_arena<>&, void*);
template void* use(ashlar::heap<>&, void*);
template void* use(ashlar::local_heap<>&, void*);
template void* use(ashlar::pool_set<>&, void*);
template void* use(ashlar::shared_block_pool<>&, void*);
template void* use(ashlar::shared_pool_set<>&, void*);
template void* use(ashlar::stack_resource<>&, void*);
template void* use(ashlar::tlsf_resource<>&, void*);
