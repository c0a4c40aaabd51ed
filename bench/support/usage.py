# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a command takes."""

import os
import subprocess
import sys


def taken(command):
    """Processor seconds and bytes of the peak of a command. A command that fails ends the bench."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ends with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
