// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions as their developers spell them.
#include <gtest/gtest.h>

#include "cli/support/function_names.hpp"

namespace {

using namespace ashlar::cli;

struct spelling {
  const char* symbol;
  const char* name;
};

class function_names : public testing::TestWithParam<spelling> {};

TEST_P(function_names, leave_out_what_a_reader_skips) {
  EXPECT_EQ(short_function_name(whole_function_name(GetParam().symbol)), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    all, function_names,
    testing::Values(
        spelling{"gmalloc", "gmalloc"}, spelling{"f", "f"}, spelling{"make_aux_edge.isra.0", "make_aux_edge"},
        spelling{"main.cold", "main"}, spelling{"dlclose@GLIBC_2.2.5", "dlclose"},
        spelling{"_ZN3foo3barEi", "foo::bar"}, spelling{"_ZN6parser5parse17h0123456789abcdefE", "parser::parse"},
        // Template arguments tell what is made.
        spelling{"Message* google::protobuf::Arena::CreateMaybeMessage<google::protobuf::FieldDescriptorProto>(Arena*)",
                 "google::protobuf::Arena::CreateMaybeMessage<google::protobuf::FieldDescriptorProto>"},
        spelling{"void keep<std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
                 "int, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, "
                 "std::allocator<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, "
                 "std::allocator<char> > const, int> > > >(int)",
                 "keep<std::map<std::string, int>>"},
        spelling{"f<std::vector<int, std::allocator<int> > >::g(int) const", "f<std::vector<int>>::g"},
        spelling{"f<std::vector<int, my::allocator<int> > >::g()", "f<std::vector<int, my::allocator<int>>>::g"},
        spelling{"f<std::basic_string_view<wchar_t, std::char_traits<wchar_t> > >()", "f<std::wstring_view>"},
        spelling{"table<a::very::long_name_of_a_type_in_a_namespace, a::very::long_name>::add(int)", "table<…>::add"},
        // The standard library's own functions stay short.
        spelling{"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<…>::push_back"},
        spelling{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned "
                 "long&, unsigned long)",
                 "std::basic_string<…>::_M_create"},
        // Return types, lambdas, operators.
        spelling{"std::vector<int, std::allocator<int> > make<int>(std::pair<int, int>)", "make<int>"},
        spelling{"decltype (f(0)) apply<int>(int)", "apply<int>"},
        spelling{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
        spelling{"(anonymous namespace)::run(int)", "run"},
        spelling{"std::ostream& a::operator<< <int>(std::ostream&, int)", "a::operator<< <int>"},
        spelling{"operator new(unsigned long)", "operator new"},
        spelling{"shape::operator new[](unsigned long)", "shape::operator new[]"},
        spelling{"pool::operator bool() const", "pool::operator bool"}, spelling{"", ""}));

TEST(function_names, are_whole_where_they_would_read_the_same) {
  const std::string name = "table<a::very::long_name_of_a_type_in_a_namespace, a::very::long_name>::add";
  EXPECT_EQ(long_function_name(name + "(int)"), name);
  EXPECT_EQ(function_family("table<int>::add<2>"), "table<…>::add<…>");
  EXPECT_EQ(function_family("a::operator<< <int>"), "a::operator<< <…>");
  EXPECT_EQ(long_function_name("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std::vector<int>::push_back");
}

TEST(function_names, tell_who_hands_memory_out) {
  for (const char* const name : {"xmalloc", "Perl_safesyscalloc", "g_strdup", "CRYPTO_memdup", "defaultAlloc",
                                 "l_alloc", "luaM_realloc_", "shape::operator new", "pool<int>::allocate"})
    EXPECT_TRUE(is_allocation_name(name)) << name;
  for (const char* const name : {"make_node", "allocations_of", "pool_dealloc", "xalloc::parse", "main", ""})
    EXPECT_FALSE(is_allocation_name(name)) << name;
}

}  // namespace
