// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library of 100,000 functions of 16 bytes each, and of symbols that are hard to choose from.
asm(R"(
.text
.altmacro
.macro one_symbol number
.globl symbol_\number
.type symbol_\number, %function
symbol_\number: .skip 16, 0
.size symbol_\number, 16
.endm
.set at, 0
.rept 100000
one_symbol %at
.set at, at + 1
.endr

.globl odd_begin
odd_begin:                      # a label
.skip 16, 0
.type outer, %function
.globl outer
outer: .skip 16, 0
.type inner, %function
.globl inner
.weak weak_alias
.type weak_alias, %function
weak_alias:
inner: .skip 8, 0
.size weak_alias, 8
.size inner, 8
.type local_inner, %function    # a global one comes first
local_inner: .skip 8, 0
.size local_inner, 8
label_inside: .skip 16, 0
.size outer, . - outer
.skip 16, 0                     # no name: what is after a symbol is not what the label before it names
second_label: .skip 16, 0
.globl short_alias
.type short_alias, %function
short_alias:
.globl long_alias
.type long_alias, %function
long_alias: .skip 16, 0
.size short_alias, 8
.size long_alias, 16
.globl odd_end
.type odd_end, %function
odd_end: .skip 1, 0
.size odd_end, 1
)");
