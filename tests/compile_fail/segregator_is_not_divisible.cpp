// error: least_part_bytes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A part of a block has another size, and so perhaps another side: a segregator does not take blocks back in parts.
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#ifdef ASHLAR_CONTROL
using composed = ashlar::resource_ref<ashlar::page_resource>;
#else
using composed = ashlar::segregator<ashlar::inline_buffer<64>, ashlar::new_delete_resource>;
#endif

int main() { return composed::least_part_bytes != 0 ? 1 : 0; }
