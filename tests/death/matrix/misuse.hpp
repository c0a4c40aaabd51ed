// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commits one misuse of one interface, and then uses, trims and ends it as a correct program does.
#pragma once

#include "tests/death/matrix/subject.hpp"

namespace fault_matrix {

/// The output of a child to the error stream between the steps of a misuse.
inline constexpr char before_write[] = "@write\n";
inline constexpr char after_write[] = "@written\n";
inline constexpr char after_call[] = "@later\n";
/// Before the address of a block that is misused.
inline constexpr char block_is[] = "@block ";

/// Returns: a word for the column of the matrix.
[[nodiscard]] const char* name_of(misuse kind);
/// Returns: the number of variants of the misuse; the entry is the worst of them.
[[nodiscard]] int variants_of(const interface& of, misuse kind);
/// Effects: the misuse, and the sweep behind it.
void commit(const interface& of, misuse kind, int variant);

}  // namespace fault_matrix
