// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A base of promise types whose coroutines have their frames in the memory of any resource.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// The frames of the coroutines of a promise type that derives from it come from the `R` that each coroutine is passed,
/// behind `std::allocator_arg`, as its first parameters; behind the object for a member function or a lambda. Another
/// coroutine does not compile. The resource outlives the frame, and has the frame's lifetime in order: a stack takes
/// frames that end in reverse, an arena keeps all until its reset.
///
///     task echo(std::allocator_arg_t, ashlar::pool_set<>& frames, connection& peer);
///
///     frame | promise, parameters, locals ... | address of R |
///
/// Where `R` is the same in the whole process (`process_wide_resource`), no parameter names it, and no address is kept.
///
/// Throws: as the resource. Thread safety: as the resource, where a frame is made and where it ends.
template <resource R>
class coroutine_frame {
  static constexpr bool is_named = !process_wide_resource<R>;

public:
  template <class... Parameters>
    requires is_named
  [[nodiscard]] static void* operator new(std::size_t bytes, std::allocator_arg_t /*tag*/, R& from,
                                          const Parameters&... /*others*/) {
    return make(bytes, from);
  }

  template <class Object, class... Parameters>
    requires is_named
  [[nodiscard]] static void* operator new(std::size_t bytes, const Object& /*of*/, std::allocator_arg_t /*tag*/,
                                          R& from, const Parameters&... /*others*/) {
    return make(bytes, from);
  }

  template <class... Parameters>
  [[nodiscard]] static void* operator new(std::size_t bytes, const Parameters&... /*others*/) {
    static_assert(!is_named || sizeof...(Parameters) == max_size,
                  "begin the coroutine's parameters with std::allocator_arg_t, R&");
    if constexpr (!is_named) return R().allocate(bytes, alignment);
    else return ::operator new(bytes);
  }

  static void operator delete(void* frame, std::size_t bytes) noexcept {
    if constexpr (!is_named) return R().deallocate(frame, bytes, alignment);
    R* from = nullptr;
    std::memcpy(&from, static_cast<std::byte*>(frame) + bytes, sizeof(from));
    from->deallocate(frame, bytes + sizeof(R*), alignment);
  }

private:
  static constexpr std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  // The address is copied, since the bytes of a frame need not end at a multiple of its alignment.
  [[nodiscard]] static void* make(std::size_t bytes, R& from) {
    void* const frame = from.allocate(bytes + sizeof(R*), alignment);
    R* const address = std::addressof(from);
    std::memcpy(static_cast<std::byte*>(frame) + bytes, &address, sizeof(address));
    return frame;
  }
};

}  // namespace ashlar::ASHLAR_ABI
