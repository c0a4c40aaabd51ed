// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// operator new and delete in all their forms, distinguished and noted.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

#include "cli/preload/recorder.hpp"
#include "malloc/export.hpp"
#include "malloc/opened_modules.hpp"

namespace ashlar::recorder {

namespace {

using trace::operation;

static_assert(sizeof(std::size_t) == 8, "the mangled names below are names of 64-bit programs");

// The forms of a 64-bit program: the end of the mangled name, the parameters, and their names. Each is there for
// objects and for arrays.
#define ASHLAR_FORMS_OF_NEW(FORM)                                                  \
  FORM("m", (std::size_t n), n)                                                    \
  FORM("mRKSt9nothrow_t", (std::size_t n, const std::nothrow_t& t) noexcept, n, t) \
  FORM("mSt11align_val_t", (std::size_t n, std::align_val_t a), n, a)              \
  FORM("mSt11align_val_tRKSt9nothrow_t", (std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept, n, a, t)
#define ASHLAR_FORMS_OF_DELETE(FORM)                                                         \
  FORM("Pv", (void* p) noexcept, p)                                                          \
  FORM("Pvm", (void* p, std::size_t n) noexcept, p, n)                                       \
  FORM("PvRKSt9nothrow_t", (void* p, const std::nothrow_t& t) noexcept, p, t)                \
  FORM("PvSt11align_val_t", (void* p, std::align_val_t a) noexcept, p, a)                    \
  FORM("PvmSt11align_val_t", (void* p, std::size_t n, std::align_val_t a) noexcept, p, n, a) \
  FORM("PvSt11align_val_tRKSt9nothrow_t", (void* p, std::align_val_t a, const std::nothrow_t& t) noexcept, p, a, t)

#define ASHLAR_NAMES_OF_NEW(end, ...) "_Znw" end, "_Zna" end,
#define ASHLAR_NAMES_OF_DELETE(end, ...) "_Zdl" end, "_Zda" end,
constexpr const char* all_forms[] = {ASHLAR_FORMS_OF_NEW(ASHLAR_NAMES_OF_NEW)
                                         ASHLAR_FORMS_OF_DELETE(ASHLAR_NAMES_OF_DELETE)};

[[nodiscard]] const void* object_of(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// The objects whose operator new is a malloc, and operator delete a free: objects of the C++ library and of malloc.
struct known_objects {
  const void* ours = object_of(&all_forms);
  const void* none = nullptr;
  const void* cxx = object_of(next_definition("_ZSt15get_new_handlerv"));
  const void* malloc = object_of(next_definition("malloc"));

  /// Returns: whether the form is one of theirs, in front of the recorder and behind it.
  [[nodiscard]] bool have(const char* form) const noexcept {
    const void* const first = object_of(dlsym(RTLD_DEFAULT, form));
    const void* const next = object_of(next_definition(form));
    return first == ours && (next == none || next == cxx || next == malloc);
  }
};

/// The service of new and delete. By malloc and free, if all other definitions do the same: then new is noted as new,
/// and nothing else. By the next definitions, if the program brings one form of its own: forms of the C++ library call
/// it where the standard has it so.
bool choose_direct() noexcept {
  const inside_recorder inside;
  const known_objects known;
  return std::all_of(std::begin(all_forms), std::end(all_forms), [&](const char* form) { return known.have(form); });
}

constinit std::atomic<int> direct{-1};

ASHLAR_INLINE bool is_direct() noexcept {
  const int known = direct.load(std::memory_order_relaxed);
  if (ASHLAR_LIKELY(known >= 0)) return known != 0;
  direct.store(choose_direct() ? 1 : 0, std::memory_order_relaxed);
  return direct.load(std::memory_order_relaxed) != 0;
}

/// Shows whether a record was noted between two moments.
struct place {
  const thread_log* log = self.log;
  std::uint32_t count = log == nullptr ? 0 : log->appended();

  friend bool operator==(const place&, const place&) = default;
};

/// The further arguments of a form.
struct told {
  std::size_t bytes = 0;  ///< Of a sized delete.
  std::size_t alignment = 0;

  void add(std::size_t n) noexcept { bytes = n; }
  void add(std::align_val_t value) noexcept { alignment = static_cast<std::size_t>(value); }
  void add(const std::nothrow_t&) noexcept {}
  [[nodiscard]] std::uint8_t code() const noexcept { return detail::trace_io::alignment_code_of(alignment); }
};

template <class... Rest>
[[nodiscard]] ASHLAR_INLINE told told_by(const Rest&... rest) noexcept {
  told all;
  (all.add(rest), ...);
  return all;
}

/// Returns: the function in a C++ library that dlopen loaded later, outside of our search order, or in a module that
/// has such a library in it. It stays loaded.
void* find_in_loaded(const char* name) noexcept {
  void* found = nullptr;
  static_cast<void>(drop_in::open_module_that([&, ours = object_of(&all_forms)](void* module) noexcept {
    void* const here = dlsym(module, name);
    if (here != nullptr && object_of(here) != ours) found = here;
    return found != nullptr;
  }));
  return found;
}

/// Returns: the next definition. Without a C++ library the process ends: nothing could throw for it.
template <class Function>
[[nodiscard]] Function definition(next_symbol<Function>& next) noexcept {
  const Function found = next.get(find_in_loaded);
  if (found == nullptr) std::abort();
  return found;
}

/// An unknown operator delete may call free, which notes itself; only if it does not is the delete noted.
template <class Call>
void call_next_delete(operation op, void* p, const told& known, Call&& call) noexcept {
  const std::uint64_t time = ticks();
  const place before;
  call();
  if (before == place{})
    note({.time = time,
          .address = reinterpret_cast<std::uintptr_t>(p),
          .size = known.bytes,
          .stack = stack_here(),
          .code = detail::trace_io::code_of(op),
          .alignment_code = known.code()});
}

/// Out of memory, or a foreign definition: the library that defines operator new calls the handler and throws. It may
/// call malloc, which notes itself; only if it does not is the new noted.
template <class Function, class... Arguments>
ASHLAR_COLD void* ask_next(operation op, next_symbol<Function>& next, std::size_t bytes, const Arguments&... rest) {
  const Function function = definition(next);
  const place before;
  void* const p = function(bytes, rest...);
  if (before == place{}) note_block(op, p, bytes, told_by(rest...).code());
  return p;
}

/// Returns: the block; null if malloc has none or must not be called.
template <bool HasAlignment>
ASHLAR_INLINE void* allocate_directly(std::size_t bytes, std::size_t alignment) noexcept {
  if (ASHLAR_UNLIKELY(!is_direct())) return nullptr;
  if constexpr (!HasAlignment) return real.malloc(bytes == 0 ? 1 : bytes);
  if (!ashlar::is_valid_request(bytes, alignment)) return nullptr;
  const std::size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return real.aligned_alloc(least, ashlar::align_up(bytes == 0 ? 1 : bytes, least));
}

/// Returns: a noted block; `rest` are the further arguments of the form.
template <class Function, class... Rest>
ASHLAR_INLINE void* make(operation op, next_symbol<Function>& next, std::size_t bytes, const Rest&... rest) {
  const told known = told_by(rest...);
  constexpr bool has_alignment = (std::is_same_v<Rest, std::align_val_t> || ...);
  void* const p = allocate_directly<has_alignment>(bytes, known.alignment);
  if (ASHLAR_UNLIKELY(p == nullptr)) return ask_next(op, next, bytes, rest...);
  note_block(op, p, bytes, known.code());
  return p;
}

/// Effects: frees a block, noted with its bytes, 0 where they are unknown; `rest` are the further arguments of the
/// form.
template <class Function, class... Rest>
ASHLAR_INLINE void unmake(operation op, next_symbol<Function>& next, void* p, const Rest&... rest) noexcept {
  if (p == nullptr || in_bootstrap(p)) return;
  const told known = told_by(rest...);
  if (ASHLAR_UNLIKELY(!is_direct())) return call_next_delete(op, p, known, [&] { definition(next)(p, rest...); });
  note_block(op, p, known.bytes, known.code());
  real.free(p);
}

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;
using ashlar::trace::operation;

#define ASHLAR_NOTED(result, form, operation, service, name, parameters, ...)                 \
  ASHLAR_EXPORT result operator form parameters {                                             \
    static constinit recorder::next_symbol<std::add_pointer_t<result parameters>> next(name); \
    return recorder::service(operation, next, __VA_ARGS__);                                   \
  }
#define ASHLAR_NOTED_NEW(end, ...)                                         \
  ASHLAR_NOTED(void*, new, operation::new_, make, "_Znw" end, __VA_ARGS__) \
  ASHLAR_NOTED(void*, new[], operation::new_array_, make, "_Zna" end, __VA_ARGS__)
#define ASHLAR_NOTED_DELETE(end, ...)                                             \
  ASHLAR_NOTED(void, delete, operation::delete_, unmake, "_Zdl" end, __VA_ARGS__) \
  ASHLAR_NOTED(void, delete[], operation::delete_array_, unmake, "_Zda" end, __VA_ARGS__)

ASHLAR_FORMS_OF_NEW(ASHLAR_NOTED_NEW)
ASHLAR_FORMS_OF_DELETE(ASHLAR_NOTED_DELETE)
