# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Stands for the rules of a registry: those of Bazel itself.
def cc_library(**attributes):
    native.cc_library(**attributes)

def cc_toolchain(**attributes):
    native.cc_toolchain(**attributes)

def cc_toolchain_suite(**attributes):
    native.cc_toolchain_suite(**attributes)

def cc_binary(**attributes):
    native.cc_binary(**attributes)
