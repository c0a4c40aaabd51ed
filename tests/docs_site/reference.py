#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference shows small headers as it should: what is public, as it is written, with its comments.

usage: reference.py <scripts/docs> <folder to work in>
"""
import sys
from pathlib import Path

LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
HEADERS = {
    "fwd.hpp": "// Forward.\n#pragma once\nnamespace ashlar::inline v0_1_fast {\n"
               "template <class T = int, int N = (sizeof(void*) > 4 ? 2 : 1)>\nclass box;\nusing int_box = box<>;\n}\n",
    "detail/part/engine.hpp": "// Engine.\n#pragma once\nnamespace ashlar::inline v0_1_fast::detail {\n"
                              "/// Not a type of users.\nclass engine {\npublic:\n"
                              "  /// Effects: runs.  Returns: a number; see `box`.\n"
                              "  [[nodiscard]] int run() { return 1; }\n"
                              "  void shadowed() {}\nprotected:\n  void tune() {}\n};\n}\n",
    "base/box.hpp": """// A box,
// and what it holds.
#pragma once
#include <ashlar/detail/part/engine.hpp>
#include <ashlar/fwd.hpp>
#define ASHLAR_INLINE inline
namespace ashlar::inline v0_1_fast {

/// Has a member `m`.
///     m()   returns nothing
template <class T>
concept has_m = requires(T& t) {
  { t.m() } noexcept;  // never throws
};

namespace detail { struct hidden {}; }

struct options {
  int count = 3;  ///< at least 1 | 2
};

/// Kinds.
enum class kind {
  plain,  ///< the usual
  other
};

/// Holds a `T` * N.
///
///     ashlar::box<int> b(1);
///
/// Thread safety: none. Lifetime: the `T` outlives it.
template <class T, int N>
class box : public detail::engine {
public:
  explicit ASHLAR_INLINE box(int n) noexcept : n_{n} {}
  /// Effects: sets. Expects: `n` > 0.
  template <class U>
    requires has_m<U>
  ASHLAR_INLINE void set(U& u, int n) { u.m(); n_ = n; }
  [[nodiscard]] int count() const noexcept { return n_; }
  void shadowed() const {}
  [[nodiscard]] friend bool operator==(const box& a, const box& b) noexcept { return a.n_ == b.n_; }

private:
  int secret() { return 1; }
  int n_;
};
static_assert(sizeof(box<int, 1>) != 0);

/// Returns: twice.
[[nodiscard]] constexpr int twice(int n) { return 2 * n; }

/// The most.
template <class T>
inline constexpr int most = 7;

namespace plan {
using small = box<char, 1>;
}  // namespace plan
}
""",
}

SHOWN = [
    "A box, and what it holds.",
    "#include <ashlar/base/box.hpp>",
    "## `has_m` { #has_m }",
    "concept has_m = requires(T& t) {\n  { t.m() } noexcept;\n};",
    "```text\nm()   returns nothing\n```",
    "| `int count = 3` | at least 1 \\| 2 |",
    "| `plain` | the usual |",
    "template <class T = int, int N = (sizeof(void*) > 4 ? 2 : 1)>\nclass box;",
    "Holds a `T` \\* N.",
    "```cpp\nashlar::box<int> b(1);\n```",
    "**Thread safety:** none.\n\n**Lifetime:** the `T` outlives it.",
    "explicit box(int n) noexcept;",
    "### `set(u, n)` { #box.set }",
    "template <class U>\n  requires has_m<U>\nvoid set(U& u, int n);",
    "**Effects:** sets.\n\n**Expects:** `n` > 0.",
    "[[nodiscard]] int count() const noexcept;",
    "[[nodiscard]] friend bool operator==(const box& a, const box& b) noexcept;",
    "### `run()` { #box.run }",
    "[[nodiscard]] int run();",
    "static_assert(sizeof(box<int, 1>) != 0);",
    "[[nodiscard]] constexpr int twice(int n);",
    "template <class T>\ninline constexpr int most = 7;",
    "## `plan::small` { #plan.small }",
    "## `int_box` { #int_box }",
]
HIDDEN = ["secret", "n_{", "tune", "hidden", "ASHLAR_", "Not a type of users", "detail::engine", "return"]


def main(arguments):
    sys.path.insert(0, arguments[0])
    from declarations import read_headers  # in the folder that is given
    from reference import page_of
    root = Path(arguments[1])
    for name, text in HEADERS.items():
        path = root / "include/ashlar" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LICENCE + text)
    declared = read_headers(root)
    page = page_of("base/box.hpp", declared["base/box.hpp"], LICENCE + HEADERS["base/box.hpp"], [("Boxes", "boxes.md")],
                   [])
    faults = [f"not shown: {text}" for text in SHOWN if text not in page]
    faults += [f"shown: {text}" for text in HIDDEN if text in page.replace("returns nothing", "")]
    faults += [] if page.count("shadowed()") == 1 else ["a hidden member of a base is shown"]
    faults += [] if "[Boxes](../../boxes.md)" in page else ["no link to the manual"]
    print("\n".join([*faults, page]) if faults else f"{len(SHOWN)} texts shown, {len(HIDDEN)} hidden")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
