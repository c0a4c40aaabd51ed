# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The libraries that `ashlar run` preloads are built with the command, where the system has them, and so is all that is
# installed with both.
foreach(library IN ITEMS ashlar_malloc ashlar_malloc-checked ashlar_malloc-hardened ashlar_malloc-route
    ashlar_malloc_files)
  if(TARGET ${library})
    add_dependencies(ashlar_cli ${library})
  endif()
endforeach()
