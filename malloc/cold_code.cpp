// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of cold_code.hpp.
#include "malloc/cold_code.hpp"

namespace ashlar::ASHLAR_ABI::detail {

template class extent_map<process_pages>;
template class extent_map<extent_resource<process_pages>>;
template class heap_stores<extent_resource<process_pages>>;
template class span_store<extent_resource<process_pages>>;
template class huge_store<extent_resource<process_pages>>;
template class purge<extent_resource<process_pages>>;
template class shared_extent_map<process_pages>;
template class thread_heaps<extent_resource<process_pages>>;
template class thread_heap_registry<process_pages, threads_of_process_heap>;
template class heap_api<drop_in::locked_heap>;
template class heap_api<basic_heap<process_pages, threads_of_process_heap>>;

}  // namespace ashlar::ASHLAR_ABI::detail
