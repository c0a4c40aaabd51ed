// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The record of live blocks for tests: an impossible entry is a test failure.
#pragma once

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include <ashlar/test/ledger.hpp>

namespace ashlar_test {

/// The live blocks: `r.balance() == nothing` means that all came back.
using ashlar::test::holdings;

inline constexpr holdings nothing{};

/// Each impossible entry is a test failure. A move leaves an empty record.
class ledger : public ashlar::detail::live_block_book<> {
public:
  void add(const void* p, std::size_t bytes, std::size_t alignment) {
    using ashlar::detail::book_error;
    const book_error wrong = live_block_book::add(p, {bytes, alignment});
    if (wrong == book_error::null_block) ADD_FAILURE() << "a block of " << bytes << " bytes is null";
    if (wrong == book_error::misaligned) ADD_FAILURE() << "block " << p << " is not aligned to " << alignment;
    if (wrong == book_error::overlapping)
      ADD_FAILURE() << "block " << p << " of " << bytes << " bytes overlaps a live block";
  }

  /// Returns: the block as it was added, or nothing if it is not live.
  std::optional<entry> remove(const void* p, std::size_t bytes, std::size_t alignment) {
    const auto was = live_block_book::remove(p);
    if (!was) ADD_FAILURE() << p << " is no live block";
    if (was && *was != entry{bytes, alignment})
      ADD_FAILURE() << "block " << p << " of " << was->bytes << " bytes at alignment " << was->alignment
                    << " comes back as " << bytes << " bytes at alignment " << alignment;
    return was;
  }
};

}  // namespace ashlar_test
