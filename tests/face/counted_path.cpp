// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The copies whose machine code counted_path.sh reads.
#include <new>

#include <ashlar/face/ref_ptr.hpp>

template <class T>
using pointer = ashlar::ref_ptr<T>;

extern "C" void copy_double(void* to, const pointer<double>& from) { ::new (to) pointer<double>(from); }
extern "C" void copy_int(void* to, const pointer<int>& from) { ::new (to) pointer<int>(from); }
