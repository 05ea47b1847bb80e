# tessera_link_static_clang(TARGET): Clang and LLVM 19 become a part of the program, for packages that go to machines without them: X86 alone, no
# symbol seen from outside, what is not called left out. It needs the C library alone.
function(tessera_link_static_clang target)
  find_program(TESSERA_LLVM_CONFIG NAMES llvm-config-19 HINTS /usr/lib/llvm-19/bin)
  if(TESSERA_LLVM_CONFIG)
    execute_process(COMMAND ${TESSERA_LLVM_CONFIG} --libdir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${TESSERA_LLVM_CONFIG} --link-static --libfiles x86 passes orcjit native nativecodegen frontendopenmp frontendhlsl
                            frontenddriver lto coverage option windowsdriver
                    OUTPUT_VARIABLE llvm ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(llvm)
    list(FILTER llvm EXCLUDE REGEX Polly)  # no_polly.cpp stands for it
    file(GLOB clang ${folder}/libclang[A-Z]*.a)
    list(FILTER clang EXCLUDE REGEX "Interpreter|Tooling|Refactor|Tidy|Daemon|DynamicASTMatchers|DirectoryWatcher|InstallAPI|DependencyScanning")
  endif()
  if(NOT llvm OR NOT clang)
    message(STATUS "no archives of Clang and LLVM (packages llvm-19-dev, libclang-19-dev): no compiler for the Python package")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_DEFAULT_BUILD ON)
    return()
  endif()
  foreach(name z zstd)  # whose archives come with the development files of LLVM
    find_library(TESSERA_STATIC_${name} NAMES lib${name}.a ${name} REQUIRED)
    list(APPEND others ${TESSERA_STATIC_${name}})
  endforeach()
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--wrap=arc4random -static-libstdc++ -s)
  if(NOT TESSERA_SANITIZE)
    target_link_libraries(${target} PRIVATE tessera_options)
  endif()
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${clang} ${llvm} -Wl,--end-group ${others} Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()
