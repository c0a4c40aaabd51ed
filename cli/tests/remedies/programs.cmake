# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program whose malloc, in a library that it is linked with, takes long: each library that is preloaded gains.
ashlar_test_program(SLOW_MALLOC slow_malloc SHARED remedies/preload.cpp -O1 -g -fno-builtin -DSLOW_MALLOC)
ashlar_test_program(SLOW_VICTIM slow_victim PROGRAM remedies/victim.cpp -O1 -g -fno-builtin)
ashlar_test_program(VICTIM_WITHOUT_ID victim_without_id PROGRAM remedies/victim.cpp -O1 -g -fno-builtin)
target_link_libraries(slow_victim PRIVATE slow_malloc)
target_link_options(slow_victim PRIVATE LINKER:--no-as-needed)
target_link_options(victim_without_id PRIVATE LINKER:--build-id=none)
# A library that can be preloaded on every machine: its malloc is glibc's.
ashlar_test_program(TRY_PRELOAD try_preload MODULE remedies/preload.cpp -fno-builtin)
