// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource over huge pages: every block is a run of whole pages of 2 MiB.
#pragma once

#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI {

static_assert(process_wide_resource<huge_page_resource> || !has_pages);

}  // namespace ashlar::ASHLAR_ABI
