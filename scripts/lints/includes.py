# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A header includes what it uses of the standard library, itself or by headers of ashlar: so it compiles alone with every
standard library. The headers that the compiler reads alone (`headers_alone`) find the standard ones precompiled. A source
of the command includes what it uses of the command's headers: the tests compile it together with others."""
import re
from collections import defaultdict

from .cpp import DIRECTIVE, NOISE, blank

RULE = ("each name of std:: in a header, and of the command's headers in a source, comes from a header that the file or one "
        "of its headers includes")

# Each header before the names that it has. A name that stands at several comes from any of them.
NAMES_OF = """
algorithm: all_of any_of clamp copy copy_if copy_n count count_if equal equal_range fill fill_n find find_if
algorithm: find_if_not for_each generate is_sorted lower_bound max max_element min min_element minmax mismatch
algorithm: move_backward none_of nth_element partition pop_heap push_heap ranges::all_of ranges::any_of ranges::copy
algorithm: ranges::equal ranges::fill ranges::find ranges::find_if ranges::for_each ranges::lower_bound ranges::max
algorithm: ranges::min ranges::none_of ranges::sort ranges::upper_bound remove remove_if replace reverse rotate sort
algorithm: stable_sort swap_ranges transform unique upper_bound
any: any
array: array begin data empty end get size to_array tuple_size tuple_size_v
atomic: atomic atomic_flag atomic_ref atomic_signal_fence atomic_thread_fence memory_order memory_order_acq_rel
atomic: memory_order_acquire memory_order_consume memory_order_relaxed memory_order_release memory_order_seq_cst
barrier: barrier
bit: bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero endian has_single_bit
bit: popcount rotl rotr
bitset: bitset
charconv: chars_format from_chars to_chars
chrono: chrono::duration chrono::duration_cast chrono::hours chrono::microseconds chrono::milliseconds chrono::minutes
chrono: chrono::nanoseconds chrono::seconds chrono::steady_clock chrono::system_clock chrono::time_point nano
cmath: abs ceil cos exp floor isfinite isnan llround log lround pow round sqrt trunc
compare: compare_three_way partial_ordering strong_ordering weak_ordering
complex: complex
concepts: assignable_from common_reference_with constructible_from convertible_to copy_constructible copyable
concepts: default_initializable derived_from destructible equality_comparable equality_comparable_with floating_point
concepts: integral invocable movable move_constructible predicate regular same_as semiregular signed_integral
concepts: swappable totally_ordered unsigned_integral
condition_variable: condition_variable
cstddef: byte max_align_t nullptr_t ptrdiff_t size_t to_integer
cstdint: int16_t int32_t int64_t int8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uint_fast32_t
cstdint: uint_least32_t uintmax_t uintptr_t
cstdio: FILE fclose fflush fopen fprintf fputs fread fwrite printf puts snprintf vsnprintf
cstdlib: _Exit abort abs aligned_alloc at_quick_exit atexit calloc exit free getenv malloc quick_exit realloc strtol
cstdlib: strtoul strtoull
cstring: memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strrchr
deque: deque
exception: current_exception exception exception_ptr rethrow_exception terminate uncaught_exceptions
filesystem: filesystem::directory_iterator filesystem::exists filesystem::is_directory filesystem::is_regular_file
filesystem: filesystem::path filesystem::remove filesystem::status
forward_list: forward_list
fstream: fstream ifstream ofstream
functional: bind_front equal_to function greater hash identity invoke less not_fn plus ref reference_wrapper
initializer_list: initializer_list
iomanip: setfill setw
ios: ios streamoff streamsize
iostream: cerr cin cout
istream: ios istream streamoff streamsize
iterator: advance back_inserter begin bidirectional_iterator contiguous_iterator contiguous_iterator_tag data distance
iterator: empty end forward_iterator forward_iterator_tag input_iterator input_iterator_tag iterator_traits
iterator: make_move_iterator next output_iterator prev random_access_iterator random_access_iterator_tag rbegin rend
iterator: reverse_iterator sentinel_for size
latch: latch
limits: numeric_limits
list: list
map: map multimap
memory: addressof allocate_shared allocation_result allocator allocator_arg allocator_arg_t allocator_traits
memory: construct_at destroy destroy_at destroy_n enable_shared_from_this make_shared make_unique owner_less
memory: pointer_traits shared_ptr to_address uninitialized_copy uninitialized_default_construct_n uninitialized_fill_n
memory: uninitialized_move uninitialized_value_construct_n unique_ptr uses_allocator uses_allocator_construction_args
memory: weak_ptr
memory_resource: pmr::get_default_resource pmr::memory_resource pmr::monotonic_buffer_resource
memory_resource: pmr::new_delete_resource pmr::null_memory_resource pmr::polymorphic_allocator pmr::pool_options
memory_resource: pmr::set_default_resource pmr::synchronized_pool_resource pmr::unsynchronized_pool_resource
mutex: adopt_lock call_once defer_lock lock_guard mutex once_flag recursive_mutex scoped_lock try_to_lock unique_lock
new: align_val_t bad_alloc bad_array_new_length get_new_handler launder new_handler nothrow nothrow_t set_new_handler
numeric: accumulate exclusive_scan gcd inclusive_scan iota lcm partial_sum reduce
optional: make_optional nullopt nullopt_t optional
ostream: endl flush ios ostream streamoff streamsize
queue: priority_queue queue
random: mt19937 mt19937_64 uniform_int_distribution
ranges: ranges::subrange views::all views::filter views::reverse views::transform
ratio: nano ratio
scoped_allocator: scoped_allocator_adaptor
semaphore: counting_semaphore
set: multiset set
shared_mutex: shared_lock shared_mutex
source_location: source_location
span: as_bytes as_writable_bytes begin data dynamic_extent empty end size span
sstream: istringstream ostringstream stringstream
stack: stack
stdexcept: invalid_argument length_error logic_error out_of_range runtime_error
stop_token: stop_token
string: basic_string begin char_traits data empty end getline hash pmr::string size stoi stoul string to_string
string: u8string
string_view: basic_string_view begin char_traits data empty end hash size string_view
system_error: errc error_code generic_category make_error_code system_category system_error
thread: jthread this_thread::get_id this_thread::sleep_for this_thread::yield thread
tuple: apply forward_as_tuple get ignore make_tuple tie tuple tuple_element_t tuple_size tuple_size_v
type_traits: add_lvalue_reference_t alignment_of_v bool_constant common_type_t conditional conditional_t conjunction_v
type_traits: decay_t disjunction_v enable_if_t extent_v false_type has_unique_object_representations_v
type_traits: integral_constant invoke_result_t is_abstract_v is_arithmetic_v is_array is_array_v is_assignable_v
type_traits: is_base_of_v is_class_v is_const_v is_constant_evaluated is_constructible_v is_convertible_v
type_traits: is_copy_constructible_v is_default_constructible_v is_destructible_v is_empty is_empty_v is_enum_v
type_traits: is_final_v is_floating_point_v is_function_v is_integral_v is_invocable_r_v is_invocable_v
type_traits: is_lvalue_reference is_lvalue_reference_v is_move_constructible_v is_nothrow_assignable_v
type_traits: is_nothrow_constructible_v is_nothrow_copy_constructible_v is_nothrow_default_constructible_v
type_traits: is_nothrow_destructible_v is_nothrow_invocable_v is_nothrow_move_assignable_v
type_traits: is_nothrow_move_constructible_v is_nothrow_swappable_v is_object_v is_pointer_v is_polymorphic_v
type_traits: is_reference_v is_rvalue_reference_v is_same is_same_v is_scalar_v is_signed_v is_standard_layout_v
type_traits: is_trivial_v is_trivially_copy_constructible_v is_trivially_copyable_v
type_traits: is_trivially_default_constructible_v is_trivially_destructible_v is_trivially_move_constructible_v
type_traits: is_unbounded_array_v is_unsigned_v is_virtual_base_of_v is_void_v is_volatile_v make_signed_t
type_traits: make_unsigned_t negation_v rank_v remove_const_t remove_cv_t remove_cvref_t remove_extent_t
type_traits: remove_pointer_t remove_reference_t remove_volatile_t true_type type_identity type_identity_t
type_traits: underlying_type_t void_t
typeindex: type_index
typeinfo: type_info
unordered_map: unordered_map
unordered_set: unordered_set
utility: as_const cmp_equal cmp_greater cmp_less declval exchange forward get in_place in_place_index in_place_t
utility: in_place_type index_sequence index_sequence_for integer_sequence make_index_sequence make_pair move
utility: move_if_noexcept pair piecewise_construct piecewise_construct_t swap unreachable
variant: get holds_alternative monostate variant visit
vector: begin data empty end pmr::vector size vector
"""
USE = re.compile(r"(?<![\w:])(?:::)?std::((?:chrono|filesystem|pmr|ranges|this_thread|views)::\w+|\w+)")
INCLUDE = re.compile(r"^\s*#\s*include <([^>]+)>", re.MULTILINE)
OWN_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# Names of two words and more that no namespace and no object qualifies: of functions and types in headers, and in sources.
OWN_NAME = re.compile(r"^(?:(?:struct|class|enum|enum class|using) |\w(?:[^\n;{(=]*[ *&])?(?=\w+\())(\w+_\w+)", re.MULTILINE)
OWN_USE = re.compile(r"(?<![.>:\w])(\w+_\w+)")
DECLARED = re.compile(r"(?:(?!(?:case|else|new|return|throw)\b)\b\w+|[>\]])[ &*]+(\w+_\w+)")


def headers_by_name():
    """Returns {name: {headers}}."""
    found = {}
    for line in NAMES_OF.strip().splitlines():
        header, names = line.split(":", 1)
        for name in names.split():
            found.setdefault(name, set()).add(header)
    return found


def closure(header, includes, known):
    """Returns all headers that `header` includes, the standard ones by name."""
    if header not in known:
        known[header] = set()  # a cycle ends here
        known[header] = set(includes[header]).union(
            *(closure(each, includes, known) for each in includes[header] if each in includes))
    return known[header]


def check(tree):
    yield from check_library(tree)
    yield from check_command(tree)


def check_command(tree):
    code = {file.path: (file, blank(file.text, NOISE)) for file in tree.cpp if re.match(r"cli/(?!.*tests/)", file.path)}
    includes = {path: OWN_INCLUDE.findall(file.text) for path, (file, _) in code.items()}
    declared = {path: set(DECLARED.findall(text)) for path, (_, text) in code.items()}
    homes, known = defaultdict(set), {}
    for path, (file, text) in code.items():
        for name in OWN_NAME.findall(text) if file.is_header else ():
            homes[name].add(path)
    for path, (file, text) in code.items():
        if file.is_header:
            continue
        seen = closure(path, includes, known) & code.keys()
        names = declared[path].union(*(declared[each] for each in seen))
        for number, line in enumerate(text.splitlines(), 1):
            for name in OWN_USE.findall(line):
                if len(homes[name]) == 1 and name not in names and not homes[name] & seen:
                    yield file.problem(number, f'{name}: include "{min(homes[name])}"')


def check_library(tree):
    files = {file.path.removeprefix("include/"): file for file in tree.library}
    includes = {path: INCLUDE.findall(file.text) for path, file in files.items()}
    headers, known = headers_by_name(), {}
    for path, file in files.items():
        code = blank(blank(file.text, NOISE), DIRECTIVE)
        for number, line in enumerate(code.splitlines(), 1):
            for name in USE.findall(line):
                if name not in headers:
                    yield file.problem(number, f"std::{name} is in no header of scripts/lints/includes.py: add it there")
                elif not headers[name] & closure(path, includes, known):
                    yield file.problem(number, f"std::{name}: include <{'> or <'.join(sorted(headers[name]))}>")


PLANTED = [
    {"include/ashlar/base/a.hpp": "#include <vector>\nstd::size_t n;\n"},
    {"include/ashlar/base/a.hpp": "#include <cstddef>\nstd::unheard_of n;\n"},
    {"include/ashlar/base/a.hpp": "#include <ashlar/base/b.hpp>\nstd::span<int> s;\n",
     "include/ashlar/base/b.hpp": "#include <vector>\n"},
    {"cli/a.cpp": "void f() {\n  check(of_b);\n}\n", "cli/b.hpp": "inline std::string of_b(int n) {\n}\n"},
]
CLEAN = [{
    "include/ashlar/base/a.hpp": "#include <ashlar/base/b.hpp>\nstd::size_t n;  // of a std::span\n",
    "include/ashlar/base/b.hpp": "#include <cstddef>\n",
    "cli/a.cpp": '#include "cli/b.hpp"\nvoid f() {\n  int of_c = of_b(1);\n  check(of_c);\n}\n',
    "cli/b.hpp": "inline std::string of_b(int n) {\n}\n",
    "cli/c.hpp": "inline std::string of_c(int n) {\n}\n",
}]
