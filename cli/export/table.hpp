// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table by columns, which each hold texts or numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

/// A row has an entry in `texts` or in `numbers`, in all of its table's columns of one kind alike.
struct flat_column {
  std::string name;
  bool is_text = false;
  std::vector<std::string> texts = {};
  std::vector<std::uint64_t> numbers = {};
};

struct flat_table {
  std::vector<flat_column> columns;
  std::size_t rows = 0;
};

/// Returns: the bytes of a Parquet file: one group of rows, columns without nulls, pages compressed by Zstandard. Texts
/// are UTF-8, numbers signed and of 64 bits, which every reader knows. Throws: `std::runtime_error` if a column has
/// more bytes than a page may have.
[[nodiscard]] std::string parquet_bytes(const flat_table& table);

}  // namespace ashlar::cli
