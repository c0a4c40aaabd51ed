// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of the variable ASHLAR: `name=value`, with commas between them, parsed without an allocation.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::drop_in {

/// The options of libashlar; each has the meaning of the word with its name.
struct options {
  std::size_t retain_bytes = std::size_t{8} << 20;  ///< `retain`: free memory that stays for reuse
  std::uint32_t decay_ms = 500;                     ///< `decay`: milliseconds until other free memory goes back
  std::size_t max_bytes = ashlar::max_size;         ///< `max`: held from the system, or none; beyond it is refusal
  fresh::huge_pages huge = fresh::huge_pages::by_system;  ///< `huge_pages`: 0 refused, 1, madvise: wanted; system
  bool populates = false;                                 ///< `populate`: 1 makes fresh memory resident at once
  bool writes_statistics = false;                         ///< `stats=exit`; `stats=none` ends all
  bool writes_classes = false;                            ///< `stats=classes`: these too, by size class
  bool reports_refusal = false;                           ///< `stats=max`: the holders, when `max` first refuses
  bool aborts = true;                                     ///< `abort`: 0 ends a misused program without a core file
  bool zeroes = false;                                    ///< `zero`: 1 clears every block that is handed out
  bool shares_idle = true;                                ///< `idle`: 0 leaves heaps of idle threads to them
  bool binds_deeply = false;                              ///< `deepbind`: 1 leaves RTLD_DEEPBIND to dlopen
  std::uint32_t sample_interval = 10'000;                 ///< `sample`: one in that many blocks is guarded; 0: none

  std::array<char, 256> profile_file = {};      ///< `stats=profile:FILE`: of the heap profile; empty: none
  std::uint32_t profile_interval = 512 * 1024;  ///< `profile_interval`: bytes between its samples
  int profile_signal = 0;                       ///< `profile_signal`: writes it; 0: at exit alone

  /// Returns: whether the interval is so short that each request is counted by itself, which is for tests.
  [[nodiscard]] constexpr bool samples_each() const noexcept { return sample_interval != 0 && sample_interval < 1000; }

  [[nodiscard]] friend bool operator==(const options&, const options&) = default;
};

/// The result of one word; `no_memory`: to put it into effect.
enum class word_result : std::uint8_t { set, unknown_name, bad_value, no_memory };

/// Returns: the bytes that `text` stands for: digits and at most one of the units k, m, g, t, of 1024 each; false
/// without a number, and beyond `size_t`.
[[nodiscard]] constexpr bool parse_bytes(std::string_view text, std::size_t& bytes) noexcept {
  std::size_t number = 0, at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    if (!ashlar::checked_mul(number, std::size_t{10}, number) ||
        !ashlar::checked_add(number, static_cast<std::size_t>(text[at] - '0'), number))
      return false;
  if (at == 0 || text.size() - at > 1) return false;
  if (at != text.size()) {
    constexpr std::string_view units = "kmgt";
    const std::size_t unit = units.find(static_cast<char>(text[at] | 0x20));
    if (unit == units.npos || !ashlar::checked_mul(number, std::size_t{1} << 10 * (unit + 1), number)) return false;
  }
  bytes = number;
  return true;
}

namespace words {

inline constexpr detail::enum_table<fresh::huge_pages, std::string_view> names_of_huge = {"system", "1", "0"};

/// Returns: what stands before the first `end`, all of the text without one. `substr` would need the C++ library.
[[nodiscard]] constexpr std::string_view first(std::string_view text, char end) noexcept {
  const std::size_t at = text.find(end);
  return {text.data(), at == text.npos ? text.size() : at};
}

/// Effects: removes `prefix` from the start of `text`. Returns: whether it was there.
[[nodiscard]] constexpr bool take_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (text.size() < prefix.size() || std::string_view(text.data(), prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

[[nodiscard]] constexpr bool set_flag(std::string_view value, bool& flag) noexcept {
  if (value != "0" && value != "1") return false;
  flag = value == "1";
  return true;
}

/// As `parse_bytes`, without units, and at most `most`.
[[nodiscard]] constexpr bool parse_number(std::string_view value, std::size_t most, std::uint32_t& number) noexcept {
  std::size_t read = 0;
  const bool is_plain = !value.empty() && value.back() <= '9';
  if (!is_plain || !parse_bytes(value, read) || read > most) return false;
  number = static_cast<std::uint32_t>(read);
  return true;
}

[[nodiscard]] constexpr bool set_max(options& of, std::string_view value) noexcept {
  std::size_t bytes = ashlar::max_size;
  if (value != "none" && (!parse_bytes(value, bytes) || bytes == 0)) return false;
  of.max_bytes = bytes;
  return true;
}
[[nodiscard]] constexpr bool set_huge_pages(options& of, std::string_view value) noexcept {
  if (value == "madvise") value = "1";
  for (const fresh::huge_pages each :
       {fresh::huge_pages::by_system, fresh::huge_pages::wanted, fresh::huge_pages::refused})
    if (value == names_of_huge[each]) return of.huge = each, true;
  return false;
}
[[nodiscard]] constexpr bool set_profile(options& of, std::string_view file) noexcept {
  if (file.empty() || file.size() >= of.profile_file.size() || file.find('\0') != file.npos) return false;
  of.profile_file = {};
  for (std::size_t at = 0; at < file.size(); ++at) of.profile_file[at] = file[at];
  return true;
}
constexpr void end_stats(options& of) noexcept {
  of.writes_statistics = of.writes_classes = of.reports_refusal = false;
  of.profile_file = {};
}
[[nodiscard]] constexpr bool set_stats(options& of, std::string_view value) noexcept {
  if (value == "none") return end_stats(of), true;
  if (take_prefix(value, "profile:")) return set_profile(of, value);
  if (value == "max") return of.reports_refusal = true;
  if (value != "exit" && value != "classes") return false;
  of.writes_statistics = true;
  of.writes_classes = of.writes_classes || value == "classes";
  return true;
}
// 0, 1, or 1/N, where N is at least 1.
[[nodiscard]] constexpr bool set_sample(options& of, std::string_view value) noexcept {
  const bool is_share = take_prefix(value, "1/");
  std::uint32_t interval = 0;
  if (!parse_number(value, is_share ? INT32_MAX : 1, interval) || (is_share && interval == 0)) return false;
  of.sample_interval = interval;
  return true;
}

[[nodiscard]] constexpr bool set_profile_interval(options& of, std::string_view value) noexcept {
  std::size_t bytes = 0;
  if (!parse_bytes(value, bytes) || bytes == 0 || bytes > INT32_MAX) return false;
  of.profile_interval = static_cast<std::uint32_t>(bytes);
  return true;
}
// Not the signals that no handler can have, signals of glibc's own threads, and signals of a fault, which would come
// again after the handler.
[[nodiscard]] constexpr bool may_write_profile(std::uint32_t signal) noexcept {
  constexpr std::uint32_t cancel = 32, set_ids = 33;
  for (const std::uint32_t other :
       {std::uint32_t{SIGKILL}, std::uint32_t{SIGSTOP}, cancel, set_ids, std::uint32_t{SIGILL}, std::uint32_t{SIGTRAP},
        std::uint32_t{SIGBUS}, std::uint32_t{SIGFPE}, std::uint32_t{SIGSEGV}, std::uint32_t{SIGSYS}})
    if (signal == other) return false;
  return true;
}

[[nodiscard]] constexpr bool set_profile_signal(options& of, std::string_view value) noexcept {
  constexpr std::uint32_t last_signal = 64;
  std::uint32_t number = 0;
  if (!parse_number(value, last_signal, number) || !may_write_profile(number)) return false;
  of.profile_signal = static_cast<int>(number);
  return true;
}

/// The value of an option as `set` reads it: two texts, then a number, if it has one.
struct value_words {
  std::string_view text = {}, more = {};
  std::size_t number = 0;
  bool has_number = false;
};

/// Returns: the word of `stats` that writes most.
[[nodiscard]] constexpr value_words stats_of(const options& of) noexcept {
  if (of.profile_file[0] != '\0') return {"profile:", of.profile_file.data()};
  if (of.writes_statistics) return {of.writes_classes ? "classes" : "exit"};
  return {of.reports_refusal ? "max" : "none"};
}

struct known_word {
  std::string_view name;
  bool (*set)(options&, std::string_view value) noexcept;
  value_words (*get)(const options&) noexcept;
};

/// A row of the table, of a flag or a number that any digits stand for.
template <auto Member>
inline constexpr auto number_of = [](const options& of) noexcept -> value_words {
  return {.number = static_cast<std::size_t>(of.*Member), .has_number = true};
};
template <auto Member>
inline constexpr auto set_flag_of =
    [](options& of, std::string_view value) noexcept { return set_flag(value, of.*Member); };

/// All words.
inline constexpr known_word known[] = {
    {"retain", [](options& of, std::string_view value) noexcept { return parse_bytes(value, of.retain_bytes); },
     number_of<&options::retain_bytes>},
    {"decay", [](options& of, std::string_view value) noexcept { return parse_number(value, UINT32_MAX, of.decay_ms); },
     number_of<&options::decay_ms>},
    {"max", set_max,
     [](const options& of) noexcept {
       return of.max_bytes == ashlar::max_size ? value_words{"none"}
                                               : value_words{.number = of.max_bytes, .has_number = true};
     }},
    {"huge_pages", set_huge_pages, [](const options& of) noexcept { return value_words{names_of_huge[of.huge]}; }},
    {"populate", set_flag_of<&options::populates>, number_of<&options::populates>},
    {"stats", set_stats, stats_of},
    {"abort", set_flag_of<&options::aborts>, number_of<&options::aborts>},
    {"zero", set_flag_of<&options::zeroes>, number_of<&options::zeroes>},
    {"idle", set_flag_of<&options::shares_idle>, number_of<&options::shares_idle>},
    {"deepbind", set_flag_of<&options::binds_deeply>, number_of<&options::binds_deeply>},
    {"sample", set_sample,
     [](const options& of) noexcept -> value_words {
       return {.text = of.sample_interval > 1 ? "1/" : "", .number = of.sample_interval, .has_number = true};
     }},
    {"profile_interval", set_profile_interval, number_of<&options::profile_interval>},
    {"profile_signal", set_profile_signal, number_of<&options::profile_signal>},
};

/// Returns: the word, or null.
[[nodiscard]] constexpr const known_word* find(std::string_view name) noexcept {
  for (const known_word& each : known)
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace words

/// Effects: sets one option. It stays as it was unless the result is `set`.
[[nodiscard]] constexpr word_result set_option(options& of, std::string_view name, std::string_view value) noexcept {
  const words::known_word* const word = words::find(name);
  if (word == nullptr) return word_result::unknown_name;
  return word->set(of, value) ? word_result::set : word_result::bad_value;
}

/// Effects: sets the options that `text` names, and calls `refuse(name, value, word_result)` for each word that is not
/// understood. Of two words with one name the last counts. Empty words are ignored.
template <class Refuse>
constexpr void parse_options(std::string_view text, options& of, Refuse refuse) noexcept {
  while (!text.empty()) {
    const std::string_view word = words::first(text, ',');
    text.remove_prefix(detail::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    const std::string_view name = words::first(word, '=');
    std::string_view value = word;
    value.remove_prefix(detail::min(name.size() + 1, word.size()));
    if (const word_result result = set_option(of, name, value); result != word_result::set) refuse(name, value, result);
  }
}

/// Effects: writes the value of an option to `out`, as `set_option` reads it; of `stats`, which takes several, the one
/// that writes most.
/// Returns: false for an unknown name.
template <class Out>
[[nodiscard]] constexpr bool write_option(const options& of, std::string_view name, Out& out) noexcept {
  const words::known_word* const word = words::find(name);
  if (word == nullptr) return false;
  const words::value_words value = word->get(of);
  out.text(value.text), out.text(value.more);
  if (value.has_number) out.number(value.number);
  return true;
}

/// Returns: what a privileged program accepts of `wished`: clearing, and samples, which take nothing away.
[[nodiscard]] constexpr options only_checks_of(const options& wished) noexcept {
  options safe;
  safe.zeroes = wished.zeroes;
  if (wished.sample_interval != 0) safe.sample_interval = wished.sample_interval;
  return safe;
}

}  // namespace ashlar::drop_in
