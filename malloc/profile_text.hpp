// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap profile as the text that pprof and jeprof read.
#pragma once

#include "malloc/profile_tables.hpp"

namespace ashlar::drop_in {

/// Effects: writes the profile to the file that `naming` names, with the number of the process for `%p`. Allocates
/// nothing; async-signal-safe. Frames of a module that is no longer loaded move to an address where no memory is, which
/// the map names the module for. A file that cannot be written, or not as a whole, is a line on the kept error stream.
void write_profile(const char* naming, profile_tables& of) noexcept;

/// Effects: writes the estimated live bytes of a site and its stack to the kept error stream. Async-signal-safe.
void write_holder(const profile_site& of, std::uint32_t interval) noexcept;

}  // namespace ashlar::drop_in
