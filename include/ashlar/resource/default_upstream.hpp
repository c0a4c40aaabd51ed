// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The upstream of a resource that names none: the pages of the system, or the heap of a system without pages.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI {

static_assert(thread_safe_resource<default_upstream> && process_wide_resource<default_upstream>);

}  // namespace ashlar::ASHLAR_ABI
