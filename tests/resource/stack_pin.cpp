// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a stack whose instructions stack_pin.sh counts.
#include <cstddef>

#include <ashlar/resource/stack_resource.hpp>

using stack = ashlar::stack_resource<>;

extern "C" void* push(stack& s) { return s.allocate(64, 16); }
extern "C" void* push_any(stack& s, std::size_t bytes) { return s.allocate(bytes, 8); }
extern "C" void pop(stack& s, void* p) { s.deallocate(p, 64, 16); }
extern "C" void pop_aligned(stack& s, void* p) { s.deallocate(p, 64, 64); }
extern "C" void go_back(stack& s, const ashlar::stack_resource<>::marker& to) { s.rewind(to); }
