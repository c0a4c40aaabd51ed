// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Error handling: misuse calls a handler and ends the process, leaks call a handler, exhausted memory throws.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <string_view>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::ASHLAR_ABI {

/// The kinds of misuse.
enum class fault {
  precondition,       ///< A documented `Expects` did not hold.
  double_free,        ///< The block is already free.
  invalid_free,       ///< This resource never handed out the pointer.
  misaligned_free,    ///< The pointer is inside a block, not at its start.
  wrong_pool,         ///< The block belongs to another pool.
  size_mismatch,      ///< The size or alignment differs from the allocation's.
  corrupt_link,       ///< A free block was written to.
  use_after_destroy,  ///< The pool was destroyed.
  overflow,           ///< Bytes past the end of a block were written to.
  underflow,          ///< Bytes before a block were written to.
  bad_marker,         ///< A marker is stale, later than the top, or of another resource.
  out_of_order,       ///< A freed block is not on top of its stack.
  leak                ///< Blocks were live when their resource was destroyed.
};

[[nodiscard]] constexpr std::string_view name_of(fault kind) noexcept {
  switch (kind) {
    case fault::precondition: return "precondition";
    case fault::double_free: return "double_free";
    case fault::invalid_free: return "invalid_free";
    case fault::misaligned_free: return "misaligned_free";
    case fault::wrong_pool: return "wrong_pool";
    case fault::size_mismatch: return "size_mismatch";
    case fault::corrupt_link: return "corrupt_link";
    case fault::use_after_destroy: return "use_after_destroy";
    case fault::overflow: return "overflow";
    case fault::underflow: return "underflow";
    case fault::bad_marker: return "bad_marker";
    case fault::out_of_order: return "out_of_order";
    case fault::leak: return "leak";
  }
  return "fault";
}

/// One detected misuse. Fields without a meaning for the kind are zero.
struct violation {
  /// Called on misuse, without any lock of ashlar held: it may use the resource that detected the misuse. If it
  /// returns, the process aborts.
  using handler = void (*)(const violation&) noexcept;

  fault kind = fault::precondition;
  const char* what = "";           ///< The caller's mistake in a few words.
  const void* pointer = nullptr;   ///< The block concerned.
  const void* resource = nullptr;  ///< The resource that detected the misuse.
  const void* owner = nullptr;     ///< The resource that owns the block, if it is another one.
  std::size_t size = 0;            ///< Size in bytes, if one was given.
  std::size_t expected = 0;
  std::size_t got = 0;
  std::size_t block_bytes = 0;  ///< Bytes of the cell or block, where the size of its allocation is not kept.
  std::size_t alignment = 0;    ///< The alignment given, if it decides.

  /// Effects: writes one line: `ashlar: <kind>: <what>`, followed by the fields that are set. The default handler.
  ASHLAR_COLD static void print(const violation& v) noexcept {
    panic_line line;
    line.text("ashlar: ").text(name_of(v.kind)).text(": ").text(v.what);
    if (v.pointer != nullptr) line.text(", pointer ").address(v.pointer);
    if (v.resource != nullptr) line.text(", resource ").address(v.resource);
    if (v.owner != nullptr) line.text(", owner ").address(v.owner);
    const bool differs = v.expected != v.got;
    if (v.size != 0 && !(differs && v.size == v.expected)) line.text(", size ").number(v.size);
    if (v.block_bytes != 0) line.text(", block of ").number(v.block_bytes).text(" bytes");
    if (v.alignment != 0) line.text(", alignment ").number(v.alignment);
    if (differs && (v.expected != 0 || v.block_bytes == 0)) line.text(", expected ").number(v.expected);
    if (differs) line.text(", got ").number(v.got);
    line.write();
  }
};

/// Blocks still live at the destruction of their resource. Their memory is released; objects in it are not destroyed.
struct leaked_blocks {
  /// Called from level `checked` on, if blocks are live at the destruction of their resource. If it returns, the
  /// program continues.
  using handler = void (*)(const leaked_blocks&) noexcept;

  static constexpr std::size_t most_shown = 8;

  const void* resource = nullptr;
  std::size_t count = 0;
  std::size_t block_bytes = 0;           ///< Size of each in bytes, or 0 if sizes differ.
  std::size_t bytes = 0;                 ///< Sum of all sizes.
  std::span<const void* const> first{};  ///< The lowest addresses, at most `most_shown`.
  std::string_view sites{};              ///< The allocation sites as text, if the resource records them.

  /// Effects: writes one line: `ashlar: leak: …` with the pool, the count, the bytes and the first addresses; a second
  /// line lists the sites, if they are known. The default handler.
  ASHLAR_COLD static void print(const leaked_blocks& leak) noexcept {
    panic_line line;
    line.text("ashlar: leak: blocks were live when their pool ended, resource ").address(leak.resource);
    if (leak.block_bytes != 0) line.text(", size ").number(leak.block_bytes);
    line.text(", count ").number(leak.count);
    line.text(", bytes ").number(leak.bytes);
    for (const void* const p : leak.first) line.text(p == leak.first.front() ? ", first " : " ").address(p);
    line.write();
    if (leak.sites.empty()) return;
    panic_line where;
    where.text("ashlar: leak: allocated at ").text(leak.sites).write();
  }

  /// As `print`, then aborts. A handler for tests, whose status then tells: `set_leak_handler(leaked_blocks::abort)`.
  ASHLAR_COLD static void abort(const leaked_blocks& leak) noexcept {
    print(leak);
    detail::end_process();
  }
};

/// Blocks of a pool that no cell can hold: each came from the upstream, such as a mapping of its own.
struct outsized_blocks {
  /// Called from level `checked` on, once by a pool that has no live cell when it hands out `first_reported` of them:
  /// its cells are too small for what is asked of it. When it returns, the program continues.
  using handler = void (*)(const outsized_blocks&) noexcept;

  static constexpr std::size_t first_reported = 64;

  const void* resource = nullptr;
  std::size_t count = 0;       ///< So far.
  std::size_t cell_bytes = 0;  ///< Of the pool.
  std::size_t cell_alignment = 0;
  std::size_t bytes = 0;  ///< Of the last block.
  std::size_t alignment = 0;

  /// Effects: writes one line: `ashlar: outsized: …` with both sizes. The default handler.
  ASHLAR_COLD static void print(const outsized_blocks& blocks) noexcept {
    panic_line line;
    line.text("ashlar: outsized: blocks came from the upstream, since no cell of the pool can hold them, resource ");
    line.address(blocks.resource).text(", count ").number(blocks.count);
    line.text(", size ").number(blocks.bytes).text(" at alignment ").number(blocks.alignment);
    line.text(", cells of ").number(blocks.cell_bytes).text(" at alignment ").number(blocks.cell_alignment);
    line.write();
  }
};

/// Called when memory is exhausted and exceptions are off. If it returns, the process aborts.
using out_of_memory_handler = void (*)(std::size_t bytes, std::size_t alignment) noexcept;

/// Effects: writes one line: `ashlar: out of memory: …`. The default handler.
ASHLAR_COLD inline void print_out_of_memory(std::size_t bytes, std::size_t alignment) noexcept {
  panic_line line;
  line.text("ashlar: out of memory: ").number(bytes).text(" bytes at alignment ").number(alignment).write();
}

namespace detail {

/// The default handler of exhausted memory, as the other reports have theirs.
struct exhausted_memory {
  using handler = out_of_memory_handler;
  static constexpr handler print = &print_out_of_memory;
};

/// The handler of one kind of report; `Report::print` until another is set. Its argument is a type: that of a function
/// would hide it in each library that is built with `-fvisibility-inlines-hidden`. Relaxed suffices: a handler is a
/// plain function that publishes no other data. Thread safety: any thread, at any time.
template <class Report>
class installed_handler {
public:
  using handler = typename Report::handler;

  /// Effects: replaces the handler; null restores the default. Returns: the previous one.
  static handler set(handler wanted) noexcept { return current_.exchange(wanted != nullptr ? wanted : Report::print); }
  [[nodiscard]] static handler get() noexcept { return current_.load(); }

private:
  static inline constinit relaxed_atomic<handler> current_{Report::print};
};

}  // namespace detail

/// Effects: replaces the handler of misuse; null restores the default.
/// Returns: the previous handler. Thread safety: any thread, at any time.
inline violation::handler set_violation_handler(violation::handler handler) noexcept {
  return detail::installed_handler<violation>::set(handler);
}

/// Effects: replaces the handler of leaks; null restores the default, which writes one line to the error stream.
/// Returns: the previous handler. Thread safety: any thread, at any time.
inline leaked_blocks::handler set_leak_handler(leaked_blocks::handler handler) noexcept {
  return detail::installed_handler<leaked_blocks>::set(handler);
}

/// Effects: replaces the handler of outsized blocks; null restores the default, which writes one line to the error
/// stream. Returns: the previous handler. Thread safety: any thread, at any time.
inline outsized_blocks::handler set_outsized_handler(outsized_blocks::handler handler) noexcept {
  return detail::installed_handler<outsized_blocks>::set(handler);
}

/// Effects: replaces the handler of exhausted memory without exceptions; null restores the default.
/// Returns: the previous handler. Thread safety: any thread, at any time.
inline out_of_memory_handler set_out_of_memory_handler(out_of_memory_handler handler) noexcept {
  return detail::installed_handler<detail::exhausted_memory>::set(handler);
}

/// Effects: unlocks the locks that the thread holds in a `report_scope`, calls the violation handler, then aborts.
[[noreturn]] ASHLAR_COLD inline void report(const violation& v) noexcept {
  detail::held_locks::release_all();
  detail::installed_handler<violation>::get()(v);
  detail::end_process();
}

/// As above, of a pointer given to a resource. `size` is the size of its block, if it is known.
[[noreturn]] ASHLAR_COLD inline void report(fault kind, const char* what, const void* p, const void* resource,
                                            std::size_t size = 0) noexcept {
  report({.kind = kind, .what = what, .pointer = p, .resource = resource, .size = size});
}

/// Effects: calls the leak handler.
ASHLAR_COLD inline void report_leak(const leaked_blocks& leak) noexcept {
  detail::installed_handler<leaked_blocks>::get()(leak);
}

/// Effects: calls the handler of outsized blocks.
ASHLAR_COLD inline void report_outsized(const outsized_blocks& blocks) noexcept {
  detail::installed_handler<outsized_blocks>::get()(blocks);
}

/// Effects: throws `std::bad_alloc`; without exceptions calls the out-of-memory handler, then aborts.
[[noreturn]] ASHLAR_COLD inline void throw_bad_alloc(std::size_t bytes, std::size_t alignment) {
  ASHLAR_THROW(std::bad_alloc());
  detail::installed_handler<detail::exhausted_memory>::get()(bytes, alignment);
  detail::end_process();
}

/// Effects: throws `std::bad_array_new_length`; without exceptions calls the out-of-memory handler, then aborts.
[[noreturn]] ASHLAR_COLD inline void throw_bad_array_new_length() {
  ASHLAR_THROW(std::bad_array_new_length());
  detail::installed_handler<detail::exhausted_memory>::get()(static_cast<std::size_t>(-1), 1);
  detail::end_process();
}

/// Effects: reports that a documented `Expects` did not hold.
[[noreturn]] ASHLAR_COLD inline void precondition_failed(const char* what) noexcept {
  report({.kind = fault::precondition, .what = what});
}

}  // namespace ashlar::ASHLAR_ABI

// A precondition checked at every level: to continue would corrupt memory that does not belong to the caller.
#define ASHLAR_REQUIRE(condition, what)                                     \
  do {                                                                      \
    if (ASHLAR_UNLIKELY(!(condition))) ::ashlar::precondition_failed(what); \
  } while (false)

// A precondition checked from level `checked` on.
#define ASHLAR_EXPECTS(condition, what)                                                                     \
  do {                                                                                                      \
    if constexpr (::ashlar::checking_level >= ::ashlar::checking::checked) ASHLAR_REQUIRE(condition, what); \
  } while (false)

// An internal invariant of ashlar, checked from level `checked` on.
#define ASHLAR_ASSERT(condition) ASHLAR_EXPECTS(condition, "internal: " #condition)
