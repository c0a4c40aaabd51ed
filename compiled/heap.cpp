// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The default heap and the store of pages, compiled once for a program that links ashlar::heap; its other files only
// declare them.
#undef ASHLAR_COMPILED_HEAP
#define ASHLAR_COMPILED_HEAP 2  // `ASHLAR_COMPILED` defines what it declares in other files
#include <ashlar/heap/heap.hpp>
#include <ashlar/resource/page_store.hpp>
