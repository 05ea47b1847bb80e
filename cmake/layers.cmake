# tessera_layer(NAME [DEPENDS layer...] [LINK library...]): the static library of one folder of src/.
# Every *.cpp of the folder is part of it; it may include only the folders that it names.
add_library(tessera_options INTERFACE)
target_include_directories(tessera_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-Wall;-Wextra;-Wconversion;-Wno-sign-conversion>)
# GCC 12 sees overlapping copies in inlined std::string operations where there are none (GCC bug 105651).
target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>)
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${TESSERA_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(tessera_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${TESSERA_SANITIZE}>)
  # Clang looks for a signature ahead of every function that is called through a pointer; emitted code has none.
  target_compile_options(tessera_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>>)
endif()

function(tessera_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  string(REPLACE "/" "_" target tessera_${name})
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC tessera_options)
  foreach(dep ${ARG_DEPENDS})
    string(REPLACE "/" "_" dep ${dep})
    target_link_libraries(${target} PUBLIC tessera_${dep})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
endfunction()
