// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page around the plots: one self-contained file, in light and dark.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar::cli {

/// A single number with its caption.
struct fact_tile {
  std::string name;
  std::string value;
  std::string detail;
};

/// What a page has beside its body.
struct page_extras {
  std::string style;    ///< More rules.
  std::string scripts;  ///< Elements after the body; a page without them runs none.
};

/// Returns: the page, which no browser lets load anything from another place.
[[nodiscard]] std::string html_page(const std::string& title, const std::string& body, const page_extras& extras = {});
[[nodiscard]] std::string html_tiles(const std::vector<fact_tile>& tiles);
/// Returns: a plot with its title and a line that explains it. `content` is HTML, the others are text.
[[nodiscard]] std::string html_figure(const std::string& title, const std::string& caption, const std::string& content);
/// Returns: a table; the first `text_columns` columns hold text, the rest numbers. `row_styles` are CSS classes, one
/// for each row.
[[nodiscard]] std::string html_table(const std::vector<std::string>& titles,
                                     const std::vector<std::vector<std::string>>& rows, std::size_t text_columns,
                                     const std::vector<std::string>& row_styles = {});

}  // namespace ashlar::cli
