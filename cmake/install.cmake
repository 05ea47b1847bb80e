# What `cmake --install` leaves behind: the public headers, the library as tessera::tessera with its package file, the
# standard filters. The command and the built-in compiler are installed where they are built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(tessera_library INTERFACE)
add_library(tessera::tessera ALIAS tessera_library)
target_link_libraries(tessera_library INTERFACE tessera_engine)
target_compile_features(tessera_library INTERFACE cxx_std_20)
set_target_properties(tessera_library PROPERTIES EXPORT_NAME tessera)

install(TARGETS tessera_library tessera_engine tessera_run_opencl tessera_run_cuda tessera_run_gpu tessera_run_cpu tessera_fft tessera_emit
                tessera_lower tessera_hardware tessera_explain tessera_plan tessera_rewrite tessera_machine tessera_adjoint tessera_analyze tessera_lang tessera_ref tessera_ir tessera_data tessera_base
                tessera_options
        EXPORT tesseraTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera
        COMPONENT development)
configure_package_config_file(cmake/tesseraConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera COMPONENT development)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY share/hls DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera COMPONENT development)
install(FILES src/ir/functions/functions_f32.c.inc src/ir/functions/functions_f64.c.inc DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/hls
        COMPONENT development)
install(DIRECTORY filters/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/filters COMPONENT development)
