# tessera_layer(NAME [HARD] [FOLDERS folder...] [DEPENDS layer...] [LINK library...]): the static library of one folder of
# src/ and of the folders within it that are named.
# Every *.cpp of the folder is part of it; it may include only the folders that it names. Those that work HARD are optimised
# in quick builds, too.
add_library(tessera_options INTERFACE)
target_include_directories(tessera_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-Wall;-Wextra;-Wconversion;-Wno-sign-conversion>)
# GCC 12 sees overlapping copies in inlined std::string operations where there are none (GCC bug 105651).
target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>)
# Hardening of all that is built optimised: what a damaged file or a fault of ours can do ends the process at once
# (scripts/check_hardening.py looks at the programs). Code that is compiled at run time has neither loops over strings
# nor return addresses worth guarding; it is not built with these.
if(NOT TESSERA_QUICK AND CMAKE_BUILD_TYPE STREQUAL "Release")
  include(CheckCXXCompilerFlag)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "TESSERA_TAKES${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:${flag}>)
    endif()
  endforeach()
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3;-D_GLIBCXX_ASSERTIONS>)
  target_link_options(tessera_options INTERFACE $<BUILD_INTERFACE:-Wl,-z,relro,-z,now,-z,noexecstack>)
endif()
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${TESSERA_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(tessera_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${TESSERA_SANITIZE}>)
  # Programs of two hundred megabytes, linked in a quarter of the time.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld TESSERA_TAKES_LLD)
  if(TESSERA_TAKES_LLD)
    target_link_options(tessera_options INTERFACE $<BUILD_INTERFACE:-fuse-ld=lld>)
  endif()
  # Clang looks for a signature ahead of every function that is called through a pointer; emitted code has none.
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>>)
endif()

# Quick builds, those under sanitizers among them, optimise few files (a third of the time); half of the rest was parsing
# headers of the library. Other builds parse what each file itself includes, so that none relies on these; behind them GCC 12 warns
# of more copies that are none.
#
# tessera_use_precompiled(TARGET FROM HARD): FROM has the headers, FROM_hard those for what is optimised in quick builds.
function(tessera_use_precompiled target from hard)
  if(TESSERA_QUICK AND hard)
    target_compile_options(${target} PRIVATE -O1)
    string(APPEND from _hard)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()
foreach(hard "" _hard)
  add_library(tessera_precompiled${hard} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_compile_options(tessera_precompiled${hard} PRIVATE $<$<STREQUAL:${hard},_hard>:-O1>)
  target_link_libraries(tessera_precompiled${hard} PRIVATE tessera_options fmt::fmt)
  target_precompile_headers(tessera_precompiled${hard} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional>
                            <set> <string> <string_view> <utility> <variant> <vector> <fmt/format.h>)
endforeach()

function(tessera_layer name)
  cmake_parse_arguments(ARG "HARD" "" "FOLDERS;DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB inner CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    if(NOT inner)
      message(FATAL_ERROR "src/${name}/${folder} has no .cpp file")
    endif()
    list(APPEND sources ${inner})
  endforeach()
  string(REPLACE "/" "_" target tessera_${name})
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC tessera_options)
  foreach(dep ${ARG_DEPENDS})
    string(REPLACE "/" "_" dep ${dep})
    target_link_libraries(${target} PUBLIC tessera_${dep})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
  if(TESSERA_QUICK)
    tessera_use_precompiled(${target} tessera_precompiled ${ARG_HARD})
  endif()
endfunction()
