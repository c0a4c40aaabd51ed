// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan as the command hands it over: the lines of the variable ASHLAR_ROUTE, parsed without an allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/bits.hpp>

namespace ashlar::route {

/// The variable. Its value is in lines, words in them separated by a blank:
///
///     route 1 | route 1 report         version 1; statistics are printed at exit
///     m 91ab…                          a module, by its build id
///     g pool 96 65536 1048576 tokens   a group: bytes of a cell, of a chunk, of the budget; its name to the line's end
///     g arena 0 65536 1048576 trees
///     s 0 1a2b                         a site of that group: number of the module, offset of the return address in hex
///     s 0 1a2b 7 48 0 1 3c4d           a longer chain: register and offset that lead from each frame to the next one,
///                                      and where its own caller's rbp lies, 0 for: unchanged
inline constexpr const char* variable = "ASHLAR_ROUTE=";

/// Bytes of a plan: as many as Linux hands over in one variable.
inline constexpr std::size_t most_text_bytes = std::size_t{1} << 17;
/// Bytes that a frame takes in it, at least: "s 0 1" and the line's end.
inline constexpr std::size_t least_frame_bytes = 6;
/// The number of a node of the table of sites, which has at most one for each frame, has 16 bits: see `site_key`.
inline constexpr std::size_t most_frames = most_text_bytes / least_frame_bytes + 1;
static_assert(most_frames < std::size_t{1} << 16, "a longer plan may have more nodes than a key tells apart");

inline constexpr std::size_t most_modules = 256;
inline constexpr std::size_t most_groups = 64;

enum class remedy : std::uint8_t { pool, arena };

struct planned_group {
  remedy kind = remedy::pool;
  std::size_t cell_bytes = 0, chunk_bytes = 0, budget_bytes = 0;
  std::string_view name;
};

/// How to come from a frame to its caller: the canonical frame address is a register plus an offset.
struct frame_step {
  std::uint32_t cfa_offset = 0;  ///< 0: there is no step
  std::uint16_t rbp_offset = 0;  ///< of the caller's rbp below the canonical frame address; 0: unchanged
  bool from_rbp = false;         ///< else from rsp
  bool needs_rbp = false;        ///< a frame on the way is found from rbp, so that it has to be known
};

/// A frame of a chain: one after the other, the innermost first, the last one with the group.
struct planned_frame {
  std::uint64_t offset = 0;
  frame_step step;           ///< from this frame to the next one of the chain
  std::uint16_t module = 0;  ///< its number
  std::uint16_t group = 0;   ///< its number plus 1 in the last frame of a chain, else 0
};

/// Reads words off a line.
class line_words {
public:
  explicit constexpr line_words(std::string_view line) noexcept : rest_(line) {}

  [[nodiscard]] constexpr std::string_view rest() const noexcept { return rest_; }
  [[nodiscard]] constexpr bool is_empty() const noexcept { return rest_.empty(); }

  [[nodiscard]] constexpr std::string_view word() noexcept {
    std::size_t n = 0;
    while (n != rest_.size() && rest_[n] != ' ') ++n;
    const std::string_view found(rest_.data(), n);
    rest_.remove_prefix(n == rest_.size() ? n : n + 1);
    return found;
  }

  /// Returns: whether the next word is a number in that base, from `least` to `most`.
  [[nodiscard]] constexpr bool number(std::uint64_t& value, unsigned base, std::uint64_t least,
                                      std::uint64_t most) noexcept {
    const std::string_view digits = word();
    if (digits.empty() || digits.size() > 20) return false;
    value = 0;
    for (const char c : digits) {
      const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                    : base;
      if (digit >= base) return false;
      if (!ashlar::checked_mul(value, std::uint64_t{base}, value) ||
          !ashlar::checked_add(value, std::uint64_t{digit}, value))
        return false;
    }
    return value >= least && value <= most;
  }

private:
  std::string_view rest_;
};

/// Reads a plan. `Sink` has `void report()`, `bool module(string_view)`, `bool group(planned_group)`,
/// `bool frame(planned_frame)`, each false if there is no room.
template <class Sink>
class plan_reader {
public:
  explicit constexpr plan_reader(Sink& into) noexcept : into_(into) {}

  /// Returns: 0, or the number of the first line that is not understood.
  [[nodiscard]] constexpr std::size_t read(std::string_view text) noexcept {
    std::size_t line = 1;
    for (; !text.empty(); ++line) {
      std::size_t n = 0;
      while (n != text.size() && text[n] != '\n') ++n;
      if (!(line == 1 ? head({text.data(), n}) : body({text.data(), n}))) return line;
      text.remove_prefix(n == text.size() ? n : n + 1);
    }
    return line == 1 ? 1 : 0;
  }

private:
  [[nodiscard]] constexpr bool head(std::string_view line) noexcept {
    line_words words(line);
    if (words.word() != std::string_view("route") || words.word() != std::string_view("1")) return false;
    if (words.is_empty()) return true;
    into_.report();
    return words.word() == std::string_view("report") && words.is_empty();
  }

  [[nodiscard]] constexpr bool body(std::string_view line) noexcept {
    line_words words(line);
    const std::string_view kind = words.word();
    if (kind == std::string_view("m")) return module(words);
    if (kind == std::string_view("g")) return group(words);
    return kind == std::string_view("s") && groups_ != 0 && site(words);
  }

  [[nodiscard]] constexpr bool module(line_words words) noexcept {
    const std::string_view id = words.word();
    return !id.empty() && words.is_empty() && ++modules_ <= most_modules && into_.module(id);
  }

  [[nodiscard]] constexpr bool group(line_words words) noexcept {
    planned_group read;
    const std::string_view kind = words.word();
    read.kind = kind == std::string_view("arena") ? remedy::arena : remedy::pool;
    if (read.kind == remedy::pool && kind != std::string_view("pool")) return false;
    const bool is_pool = read.kind == remedy::pool;
    std::uint64_t cell = 0, chunk = 0, budget = 0;
    const bool is_whole = words.number(cell, 10, is_pool ? 1 : 0, is_pool ? most_cell : 0) &&
                          words.number(chunk, 10, least_chunk, most_chunk) &&
                          words.number(budget, 10, 0, ~std::uint64_t{0});
    if (!is_whole || !ashlar::is_power_of_two(chunk) || chunk / 4 < cell || ++groups_ > most_groups) return false;
    read.cell_bytes = cell, read.chunk_bytes = chunk, read.budget_bytes = budget, read.name = words.rest();
    return into_.group(read);
  }

  [[nodiscard]] constexpr bool site(line_words words) noexcept {
    for (;;) {
      planned_frame read;
      std::uint64_t module = 0;
      if (modules_ == 0 || !words.number(module, 10, 0, modules_ - 1)) return false;
      if (!words.number(read.offset, 16, 1, most_offset)) return false;
      read.module = static_cast<std::uint16_t>(module);
      const bool is_last = words.is_empty();
      if (is_last) read.group = static_cast<std::uint16_t>(groups_);
      else if (!step(words, read.step)) return false;
      if (!into_.frame(read)) return false;
      if (is_last) return true;
    }
  }

  [[nodiscard]] constexpr bool step(line_words& words, frame_step& to) noexcept {
    std::uint64_t reg = 0, cfa = 0, rbp = 0;
    if (!words.number(reg, 10, 6, 7) || !words.number(cfa, 10, 8, most_frame) || !words.number(rbp, 10, 0, most_rbp))
      return false;
    to = {.cfa_offset = static_cast<std::uint32_t>(cfa),
          .rbp_offset = static_cast<std::uint16_t>(rbp),
          .from_rbp = reg == 6};
    return cfa % 8 == 0 && rbp % 8 == 0;
  }

  static constexpr std::uint64_t most_cell = std::uint64_t{1} << 15, least_chunk = std::uint64_t{1} << 12,
                                 most_chunk = std::uint64_t{1} << 24, most_offset = std::uint64_t{1} << 47,
                                 most_frame = std::uint64_t{1} << 20, most_rbp = 256;

  Sink& into_;
  std::size_t modules_ = 0, groups_ = 0;
};

}  // namespace ashlar::route
