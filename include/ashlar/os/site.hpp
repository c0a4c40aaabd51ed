// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call site of a resource's caller, as a policy: nothing, a return address, some frames, a label.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/fwd.hpp>

#if __has_include(<unwind.h>)
#include <unwind.h>
#define ASHLAR_HAS_UNWINDER 1
#else
#define ASHLAR_HAS_UNWINDER 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Whether this system supports `backtrace`.
inline constexpr bool has_backtrace = ASHLAR_HAS_UNWINDER != 0;

struct frame_walk {
  std::span<const void*> to;
  const void* from;
  std::size_t found = 0;
};

#if ASHLAR_HAS_UNWINDER
inline _Unwind_Reason_Code keep_frame(_Unwind_Context* context, void* argument) noexcept {
  auto& walk = *static_cast<frame_walk*>(argument);
  // The unwinder returns addresses as numbers.
  const auto* const at = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (at == walk.from) walk.from = nullptr;
  if (walk.from == nullptr && at != nullptr) walk.to[walk.found++] = at;
  return walk.found == walk.to.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

inline std::size_t walk_frames(frame_walk walk) noexcept {
  static_cast<void>(::_Unwind_Backtrace(&keep_frame, &walk));
  return walk.found;
}
#else
inline std::size_t walk_frames(const frame_walk&) noexcept { return 0; }
#endif

/// Effects: writes return addresses to `to`, the innermost first. The first one is `from`; if `from` is null or not on
/// the stack, it is the caller's. Returns: the number of addresses. Expects: unwind tables, the default of compilers on
/// 64-bit systems. Complexity: about 1 us for eight frames. Thread safety: any thread, but no signal handler.
[[nodiscard]] ASHLAR_NOINLINE inline std::size_t backtrace(std::span<const void*> to, const void* from) noexcept {
  if (to.empty()) return 0;
  std::size_t found = from != nullptr ? walk_frames({to, from}) : 0;
  if (found == 0) found = walk_frames({to, ASHLAR_RETURN_ADDRESS()});  // else the first frame is this walk
  return found != 0 ? found : walk_frames({to, nullptr});
}

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

namespace policy {

/// The record of a call site.
///     S::capture(caller)   the site of the call that returns to `caller`; allocates nothing
///     s.describe(line)     appends it as text
///     s.frames()           its return addresses, innermost first; may be empty
///     s == s               the same site
template <class S>
concept site =
    std::copyable<S> && std::equality_comparable<S> && requires(const S& s, const void* caller, panic_line& line) {
      { S::capture(caller) } noexcept -> std::same_as<S>;
      { s.describe(line) } noexcept;
      { s.frames() } noexcept -> std::same_as<std::span<const void* const>>;
    };

}  // namespace policy

namespace site {

/// Records nothing: no byte, no instruction.
struct none {
  [[nodiscard]] static constexpr none capture(const void*) noexcept { return {}; }
  static constexpr void describe(panic_line&) noexcept {}
  [[nodiscard]] static constexpr std::span<const void* const> frames() noexcept { return {}; }
  [[nodiscard]] friend constexpr bool operator==(const none&, const none&) noexcept = default;
};

/// The return address: one word, one instruction. Inside a container it is the container's code; see `site::backtrace`.
class return_address {
public:
  [[nodiscard]] static return_address capture(const void* caller) noexcept {
    return_address here;
    here.caller_ = caller;
    return here;
  }
  void describe(panic_line& line) const noexcept { line.address(caller_); }
  [[nodiscard]] std::span<const void* const> frames() const noexcept { return {&caller_, 1}; }
  [[nodiscard]] friend bool operator==(const return_address&, const return_address&) noexcept = default;

private:
  const void* caller_ = nullptr;
};

/// Up to `Frames` return addresses, innermost first: `Frames` words, about one microsecond a call.
template <std::size_t Frames>
class backtrace {
  static_assert(Frames > 0, "a backtrace has at least one frame");

public:
  [[nodiscard]] static backtrace capture(const void* caller) noexcept {
    backtrace here;
    here.count_ = static_cast<std::uint32_t>(detail::backtrace(here.frames_, caller));
    if (here.count_ == 0) here.frames_[here.count_++] = caller;
    return here;
  }
  void describe(panic_line& line) const noexcept {
    for (const void* const& each : frames()) line.text(&each == frames_.data() ? "" : " < ").address(each);
  }
  [[nodiscard]] std::span<const void* const> frames() const noexcept { return {frames_.data(), count_}; }
  [[nodiscard]] friend bool operator==(const backtrace&, const backtrace&) noexcept = default;

private:
  std::array<const void*, Frames> frames_{};
  std::uint32_t count_ = 0;
};

/// A label and its source position.
struct label_text {
  const char* name = nullptr;  ///< null: no label
  const char* file = "";
  std::uint_least32_t line = 0;

  [[nodiscard]] friend bool operator==(const label_text&, const label_text&) noexcept = default;
};

/// Names the activity of this thread until the end of the scope, for sites that are `site::labelled`. Scopes nest.
/// Lifetime: the name outlives every block allocated meanwhile; a literal does.
///
///     const ashlar::site::label now("loading level 3");
class label {
public:
  explicit label(const char* name, std::source_location where = std::source_location::current()) noexcept
      : outer_(std::exchange(current_, {name, where.file_name(), where.line()})) {}
  ~label() { current_ = outer_; }
  label(const label&) = delete;
  label& operator=(const label&) = delete;

  /// Returns: the innermost label of this thread.
  [[nodiscard]] static const label_text& current() noexcept { return current_; }

private:
  static inline constinit thread_local label_text current_{};

  label_text outer_;
};

/// The site that `Site` records, and the innermost `site::label` of the thread.
template <class Site>
class labelled {
public:
  [[nodiscard]] static labelled capture(const void* caller) noexcept {
    labelled here;
    here.label_ = site::label::current();
    here.site_ = Site::capture(caller);
    return here;
  }
  void describe(panic_line& line) const noexcept {
    if (label_.name != nullptr) line.text(label_.name).text(" (").text(file_name()).text(":").number(label_.line);
    if (label_.name != nullptr) line.text(std::is_empty_v<Site> ? ")" : ") ");
    if (label_.name == nullptr && std::is_empty_v<Site>) line.text("no label");
    site_.describe(line);
  }
  [[nodiscard]] std::span<const void* const> frames() const noexcept { return site_.frames(); }
  [[nodiscard]] const char* name() const noexcept { return label_.name; }
  [[nodiscard]] friend bool operator==(const labelled&, const labelled&) noexcept = default;

private:
  [[nodiscard]] std::string_view file_name() const noexcept {
    const std::string_view path(label_.file);
    return path.substr(path.rfind('/') + 1);
  }

  label_text label_{};
  ASHLAR_NO_UNIQUE_ADDRESS Site site_{};
};

}  // namespace site

static_assert(policy::site<site::none> && std::is_empty_v<site::none> && policy::site<site::return_address>);
static_assert(policy::site<site::backtrace<8>> && policy::site<site::labelled<site::return_address>>);

}  // namespace ashlar::ASHLAR_ABI
