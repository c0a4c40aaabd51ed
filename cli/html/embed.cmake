# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the style and the scripts of a page as C++: a literal for each file, since compilers bound its length.
file(GLOB ashlar_page_scripts CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/advice/*.js")
list(SORT ashlar_page_scripts)
set(ashlar_page_styles "${CMAKE_CURRENT_LIST_DIR}/advice/page.css")

function(ashlar_embed variable)
  set(literals "")
  foreach(path IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(READ "${path}" text)
    string(APPEND literals "\n    R\"ashlar(${text})ashlar\"")
  endforeach()
  set(${variable} "${literals}" PARENT_SCOPE)
endfunction()

ashlar_embed(ashlar_style_literals ${ashlar_page_styles})
ashlar_embed(ashlar_script_literals ${ashlar_page_scripts})
set(ashlar_page_assets "${CMAKE_CURRENT_BINARY_DIR}/advice_assets.cpp")
file(WRITE "${ashlar_page_assets}.new"
  "#include \"cli/html/advice_page.hpp\"\n\nnamespace ashlar::cli {\n\n"
  "std::string_view advice_style() noexcept {\n  return${ashlar_style_literals};\n}\n\n"
  "std::string_view advice_script() noexcept {\n  return${ashlar_script_literals};\n}\n\n}  // namespace ashlar::cli\n")
file(COPY_FILE "${ashlar_page_assets}.new" "${ashlar_page_assets}" ONLY_IF_DIFFERENT)
