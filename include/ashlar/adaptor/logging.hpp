// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that writes one line for every call.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/adaptor/log_sink.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and behaves as it does. Has exactly the refinements of `R`. Thread-safe if `R`
/// and `Sink` are. As large as `R` and `Sink`: an empty sink costs no byte. Formatting allocates nothing.
///
/// Fields are separated by one space: the call, its arguments in their order, and after `=` its result. Addresses are
/// hexadecimal, numbers decimal.
///
///     allocate 24 8 = 0x55d0c0ffee00
///     allocate 24 8 = threw
///     try_allocate 24 8 = null
///     allocate_at_least 24 8 = 0x55d0c0ffee00 32
///     deallocate 0x55d0c0ffee00 24 8
///     deallocate 0x55d0c0ffee00
///     try_expand 0x55d0c0ffee00 24 48 8 = true
///     owns 0x55d0c0ffee00 = false
///     prefault 0x55d0c0ffee00 4096
///     release
///
/// A call that frees memory is written before it happens, a call that allocates afterwards. In the order of lines, an
/// address is therefore freed before it is handed out again, with any number of threads. If a call does not return, its
/// line is the last.
template <resource R, class Sink>
class logging : public forwarding<R> {
  static_assert(policy::log_sink<Sink>, "a sink has a noexcept write(line) and a constant is_thread_safe");

public:
  static constexpr bool is_thread_safe = thread_safe_resource<R> && Sink::is_thread_safe;
  static constexpr std::size_t least_part_bytes = least_part<R>;

  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  logging() = default;
  template <class... Args>
    requires std::constructible_from<R, Args...>
  explicit logging(Sink to, Args&&... args) : forwarding<R>(std::forward<Args>(args)...), sink_(std::move(to)) {}

  /// As `R::allocate`.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    line_at_end end{sink_, words("allocate", bytes, alignment)};
    return end.returned(upstream_resource().allocate(bytes, alignment));
  }

  /// As `R::try_allocate`.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    line_at_end end{sink_, words("try_allocate", bytes, alignment)};
    return end.returned(upstream_resource().try_allocate(bytes, alignment));
  }

  /// As `R::allocate_at_least`.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    line_at_end end{sink_, words("allocate_at_least", bytes, alignment)};
    const block got = upstream_resource().allocate_at_least(bytes, alignment);
    static_cast<void>(end.returned(got.data));
    end.line.text(" ").number(got.size);
    return got;
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    put(words("deallocate", static_cast<const void*>(p), bytes, alignment));
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As `R::deallocate`.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    put(words("deallocate", static_cast<const void*>(p)));
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    const bool done = upstream_resource().try_expand(p, bytes, new_bytes, alignment);
    put(words("try_expand", static_cast<const void*>(p), bytes, new_bytes, alignment)
            .text(done ? " = true" : " = false"));
    return done;
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<R>
  {
    const bool does = upstream_resource().owns(p);
    put(words("owns", p).text(does ? " = true" : " = false"));
    return does;
  }

  /// As `R::release`.
  void release() noexcept
    requires releasable_resource<R>
  {
    put(words("release"));
    upstream_resource().release();
  }

  /// As `R::prefault`.
  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    put(words("prefault", static_cast<const void*>(p), bytes));
    upstream_resource().prefault(p, bytes);
  }

  [[nodiscard]] friend bool operator==(const logging& a, const logging& b) noexcept {
    return a.upstream_resource() == b.upstream_resource();  // it has no state of any block
  }

private:
  // The line of a call that allocates: written at the end of the call, also if an exception leaves it.
  struct line_at_end {
    Sink& to;
    panic_line line;
    bool has_returned = false;

    [[nodiscard]] void* returned(void* p) noexcept {
      has_returned = true;
      if (p != nullptr) line.text(" = ").address(p);
      else line.text(" = null");
      return p;
    }
    ~line_at_end() {
      if (!has_returned) line.text(" = threw");
      to.write(line.text("\n").view());
    }
  };

  static void add(panic_line& line, std::size_t number) noexcept { line.text(" ").number(number); }
  static void add(panic_line& line, const void* address) noexcept { line.text(" ").address(address); }

  template <class... Arguments>
  [[nodiscard]] static panic_line words(std::string_view call, Arguments... arguments) noexcept {
    panic_line line;
    line.text(call);
    (add(line, arguments), ...);
    return line;
  }

  void put(panic_line line) const noexcept { sink_.write(line.text("\n").view()); }

  // Const calls write lines too: `owns`.
  ASHLAR_NO_UNIQUE_ADDRESS mutable Sink sink_{};
};

}  // namespace ashlar::ASHLAR_ABI
