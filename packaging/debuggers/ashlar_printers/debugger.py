# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The debugger that runs the printers: `gdb`, or lldb by the names of gdb."""
try:
    import gdb
except ImportError:
    from ashlar_printers import over_lldb as gdb  # noqa: F401
