# The target sbom: build/<preset>/sbom.json says what the programs are made of (scripts/sbom.py), and is installed beside them. It
# takes a second, so that optimised builds make it always. It asks the loader of this machine, so that none is made for another.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(programs tessera)
  if(TARGET tessera_clang)
    list(APPEND programs tessera_clang)
  endif()
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/sbom.json
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/sbom.py ${files} -o ${CMAKE_BINARY_DIR}/sbom.json
    DEPENDS ${programs} ${PROJECT_SOURCE_DIR}/scripts/sbom.py ${PROJECT_SOURCE_DIR}/scripts/packages.txt ${PROJECT_SOURCE_DIR}/CMakeLists.txt
    VERBATIM)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TESSERA_QUICK)
    set(always ALL)
  endif()
  add_custom_target(sbom ${always} DEPENDS ${CMAKE_BINARY_DIR}/sbom.json)
  # Where only a part was built there is none.
  install(FILES ${CMAKE_BINARY_DIR}/sbom.json DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime OPTIONAL)
endif()
