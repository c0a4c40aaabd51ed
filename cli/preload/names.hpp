// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of spans and threads, each written once.
#pragma once

#include <cstdint>

namespace ashlar::recorder {

/// Returns: the id of a name; 0 for null, and for a name beyond 3072 of them. Bytes after the 255th do not count.
/// Expects: the thread is inside the recorder.
[[nodiscard]] std::uint32_t id_of_name(const char* name) noexcept;

/// Effects: writes the names that are not in the file yet. Returns: false if recording is over.
bool write_names() noexcept;

/// Effects: in a forked child: forgets all names.
void reset_names() noexcept;

}  // namespace ashlar::recorder
