# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The house rules, one module each: RULE, check(tree), and the PLANTED and CLEAN trees that prove it."""
