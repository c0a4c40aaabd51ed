// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mark of the functions that libashlar exports; exports.map lists their names.
#pragma once

#include <ashlar/base/config.hpp>

#if !defined(__linux__) || !defined(__GLIBC__) || !defined(__LP64__)
#error "libashlar replaces the malloc of glibc on 64-bit Linux"
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASHLAR_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ASHLAR_UNDER_SANITIZER 1
#endif
#endif
#if defined(ASHLAR_UNDER_SANITIZER)
#error "libashlar cannot be built with a sanitizer, which replaces malloc itself"
#endif

#define ASHLAR_EXPORT __attribute__((visibility("default")))
/// Declares `name` as a second name of the function `target`.
#define ASHLAR_EXPORT_AS(target) __attribute__((visibility("default"), alias(target)))
/// @{ The same for what a program may have of its own, as operators new and delete: linked with the object, its own
/// replace these.
#define ASHLAR_EXPORT_REPLACED __attribute__((visibility("default"), weak))
#define ASHLAR_EXPORT_REPLACED_AS(target) __attribute__((visibility("default"), weak, alias(target)))
/// @}
