// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spans and thread names for the recorder of `ashlar record`; without it they do nothing.
#pragma once

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>

#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

namespace ashlar::ASHLAR_ABI {

namespace detail {

#if __has_include(<dlfcn.h>)
[[nodiscard]] inline void* find_in_process(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }
#else
[[nodiscard]] inline void* find_in_process(const char*) noexcept { return nullptr; }
#endif

/// A function that the recorder has, if it is in the process. The first call looks for it, which takes microseconds and
/// may allocate; later ones cost a load and a predicted branch without the recorder. Thread safety: any thread.
template <class... Arguments>
class recorder_function {
public:
  constexpr explicit recorder_function(const char* name) noexcept : name_(name) {}

  void operator()(Arguments... arguments) noexcept {
    void* found = found_.load(memory_order_relaxed);
    if (ASHLAR_UNLIKELY(found == nullptr)) found = find();
    if (ASHLAR_UNLIKELY(found != this)) reinterpret_cast<void (*)(Arguments...)>(found)(arguments...);
  }

private:
  // Returns: the function, or `this` if there is none.
  ASHLAR_COLD void* find() noexcept {
    void* const found = find_in_process(name_);
    void* const kept = found != nullptr ? found : this;
    found_.store(kept, memory_order_relaxed);
    return kept;
  }

  const char* name_;
  atomic<void*> found_ = nullptr;
};

/// The functions of the recorder.
struct recorder {
  static inline constinit recorder_function<const char*> begin_span{"ashlar_record_span_begin"};
  static inline constinit recorder_function<> end_span{"ashlar_record_span_end"};
  static inline constinit recorder_function<const char*> name_thread{"ashlar_record_thread_name"};
};

}  // namespace detail

/// A part of a thread's work, such as a request or a frame, that traces show by name: `ashlar report` counts its
/// allocations and gives p50 to p99.9 of its duration, `ashlar budget` holds it to limits.
///
///     const ashlar::span parsing("parse");
///
/// Spans of a thread nest, as scopes do. Without the recorder a span costs two loads and two predicted branches. Names
/// count up to 255 bytes, and up to 3,072 of them. Thread safety: any thread.
class span {
public:
  /// Expects: `name` is a string with a final 0, which is read here alone.
  explicit span(const char* name) noexcept { detail::recorder::begin_span(name); }
  span(const span&) = delete;
  span& operator=(const span&) = delete;
  ~span() { detail::recorder::end_span(); }
};

namespace os {

/// Effects: names the calling thread in traces. `pthread_setname_np` of a thread for itself does so too. Expects:
/// `name` is a string with a final 0.
inline void name_thread(const char* name) noexcept { detail::recorder::name_thread(name); }

}  // namespace os

}  // namespace ashlar::ASHLAR_ABI
