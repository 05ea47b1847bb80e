# Installs the build in BUILD into a fresh prefix, configures, builds and runs the project beside this file against it.
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
function(step)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${text}\nended with ${status}")
  endif()
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component development)
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${WORK}/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} "-DCMAKE_CXX_FLAGS=${FLAGS}"
     -DCMAKE_PREFIX_PATH=${prefix})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/blurring)
if(NOT EXISTS ${prefix}/share/tessera/filters/gaussian.forma)
  message(FATAL_ERROR "the filters were not installed")
endif()
