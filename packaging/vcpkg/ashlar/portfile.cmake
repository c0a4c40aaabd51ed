# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The port of ashlar, in use as an overlay from a checkout: vcpkg install ashlar[core] --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if("core" IN_LIST FEATURES)
  set(core STATIC)
else()
  set(core OFF)
  set(VCPKG_BUILD_TYPE release)  # headers alone
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DASHLAR_BUILD_CLI=OFF
    -DASHLAR_BUILD_CORE=${core}
    -DASHLAR_BUILD_MALLOC=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ashlar)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
