// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The upstream of a resource that names none: the pages of the system, or the heap of a system without pages.
#pragma once

#include <ashlar/fwd.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
