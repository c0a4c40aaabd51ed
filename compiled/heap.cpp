// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The default heap, compiled once for a program that links ashlar::heap; its other files only declare it.
#include <ashlar/heap/heap.hpp>

namespace ashlar::ASHLAR_ABI {

template class detail::thread_heap_registry<page_resource>;
template class detail::heap_api<detail::basic_heap<page_resource, detail::threads_of_any_heap>>;
template class detail::basic_heap<page_resource, detail::threads_of_any_heap>;
template class heap<page_resource>;

}  // namespace ashlar::ASHLAR_ABI
