// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The forms of operator new and delete as tables: a block of each new may go to each delete of its kind.
#pragma once

#include <cstddef>
#include <new>

namespace ashlar_test {

using bytes_of_form = std::size_t;
using alignment_of_form = std::align_val_t;

struct new_form {
  const char* name;
  bool is_array, is_aligned, is_nothrow;
  void* (*make)(bytes_of_form n, alignment_of_form a);  // without the alignment, unless it `is_aligned`
};
inline constexpr new_form new_forms[] = {
    {"new", false, false, false, [](bytes_of_form n, alignment_of_form) { return ::operator new(n); }},
    {"new[]", true, false, false, [](bytes_of_form n, alignment_of_form) { return ::operator new[](n); }},
    {"new (nothrow)", false, false, true,
     [](bytes_of_form n, alignment_of_form) { return ::operator new(n, std::nothrow); }},
    {"new[] (nothrow)", true, false, true,
     [](bytes_of_form n, alignment_of_form) { return ::operator new[](n, std::nothrow); }},
    {"aligned new", false, true, false, [](bytes_of_form n, alignment_of_form a) { return ::operator new(n, a); }},
    {"aligned new[]", true, true, false, [](bytes_of_form n, alignment_of_form a) { return ::operator new[](n, a); }},
    {"aligned new (nothrow)", false, true, true,
     [](bytes_of_form n, alignment_of_form a) { return ::operator new(n, a, std::nothrow); }},
    {"aligned new[] (nothrow)", true, true, true,
     [](bytes_of_form n, alignment_of_form a) { return ::operator new[](n, a, std::nothrow); }},
};

struct delete_form {
  bool is_array, is_aligned;
  void (*unmake)(void* p, bytes_of_form n, alignment_of_form a);
};
inline constexpr delete_form delete_forms[] = {
    {false, false, [](void* p, bytes_of_form, alignment_of_form) { ::operator delete(p); }},
    {true, false, [](void* p, bytes_of_form, alignment_of_form) { ::operator delete[](p); }},
    {false, false, [](void* p, bytes_of_form, alignment_of_form) { ::operator delete(p, std::nothrow); }},
    {true, false, [](void* p, bytes_of_form, alignment_of_form) { ::operator delete[](p, std::nothrow); }},
    {false, true, [](void* p, bytes_of_form, alignment_of_form a) { ::operator delete(p, a); }},
    {true, true, [](void* p, bytes_of_form, alignment_of_form a) { ::operator delete[](p, a); }},
    {false, true, [](void* p, bytes_of_form, alignment_of_form a) { ::operator delete(p, a, std::nothrow); }},
    {true, true, [](void* p, bytes_of_form, alignment_of_form a) { ::operator delete[](p, a, std::nothrow); }},
#if defined(__cpp_sized_deallocation)
    {false, false, [](void* p, bytes_of_form n, alignment_of_form) { ::operator delete(p, n); }},
    {true, false, [](void* p, bytes_of_form n, alignment_of_form) { ::operator delete[](p, n); }},
    {false, true, [](void* p, bytes_of_form n, alignment_of_form a) { ::operator delete(p, n, a); }},
    {true, true, [](void* p, bytes_of_form n, alignment_of_form a) { ::operator delete[](p, n, a); }},
#endif
};

/// Effects: calls `f(made_by, ended_by)` for each pair of a new and a delete for its blocks.
template <class F>
void for_each_pair_of_forms(F f) {
  for (const new_form& made_by : new_forms)
    for (const delete_form& ended_by : delete_forms)
      if (made_by.is_array == ended_by.is_array && made_by.is_aligned == ended_by.is_aligned) f(made_by, ended_by);
}

}  // namespace ashlar_test
