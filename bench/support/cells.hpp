// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cells that a bench can measure, as `bench/run` reads them from `<bench> --cells`: one cell is one process.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "json_object.hpp"

namespace bench {

inline std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

struct contender {
  std::string_view name;
  std::string_view what;
  bool rival;  // counts when the best peer is chosen: it gives memory back for reuse, and is a product, not a floor
};

class cell_list {
public:
  // Effects: adds the cell that the bench measures with `arguments`. Cells of one group and variant are compared; the
  // variants of a group share one table.
  void add(std::string_view group, std::string_view variant, const contender& c,
           std::initializer_list<std::string_view> arguments) {
    json_array list;
    for (const std::string_view argument : arguments) list.add(std::string("\"").append(argument).append("\""));
    cells_.add(json_object()
                   .text("group", group)
                   .text("variant", variant)
                   .text("peer", c.name)
                   .text("what", c.what)
                   .flag("rival", c.rival)
                   .raw("arguments", list.str())
                   .str());
  }

  std::string str() const { return json_object().text("compiler", compiler_name()).raw("cells", cells_.str()).str(); }

private:
  json_array cells_;
};

}  // namespace bench
