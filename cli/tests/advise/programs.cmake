# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs with planted remedies. They are optimised and have line numbers in every configuration, as their functions and
# lines are the expected answers.
ashlar_test_program(ADVISE_VICTIM advise_victim PROGRAM advise/victim.cpp -O1 -g)
ashlar_test_program(ADVISE_WHOLE advise_whole PROGRAM advise/victim.cpp -O1 -g)
ashlar_test_program(ADVISE_THREE_SITES advise_three_sites PROGRAM advise/three_sites.cpp -O2 -g)
ashlar_test_program(ADVISE_ANALYSE advise_analyse PROGRAM "${PROJECT_SOURCE_DIR}/examples/analyse.cpp" -O2 -g)
ashlar_test_program(ADVISE_RECURSION advise_recursion PROGRAM advise/recursion.cpp -O2 -g)
target_link_options(advise_whole PRIVATE -static-libstdc++)  # the same, and loads no C++ library
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_ADVISE_VICTIM_SOURCE=\"${CMAKE_CURRENT_SOURCE_DIR}/advise/victim.cpp\""
  "ASHLAR_ADVISE_ANALYSE_SOURCE=\"${PROJECT_SOURCE_DIR}/examples/analyse.cpp\""
  "ASHLAR_RULES_PAGE=\"${PROJECT_SOURCE_DIR}/docs/advise-rules.md\"")
ashlar_test_program(ADVISE_REFUTED advise_refuted PROGRAM advise/refuted.cpp -O1 -g)
