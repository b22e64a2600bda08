# libinferflux.so, its public headers, and what `cmake --install` installs. The library is made of the floors' own objects:
# whatever else links them (programs, tests, the Python module) runs the same code.
#
# Components: library (the shared library), development (headers, CMake package, pkg-config files), programs (the programs
# and the bundled model).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(INFERFLUX_ABI 0)  # the SONAME; it changes with every incompatible change of the public headers

# Headers of floors that programs include as <inferflux/FLOOR/...>: their own includes are rewritten to that form, so an
# installed header needs no other include folder than the prefix's.
set(INFERFLUX_PUBLIC_HEADERS
  dspy/error.h
  dspy/adapters/adapter.h dspy/adapters/chat_adapter.h dspy/adapters/field_stream.h
  dspy/adapters/llama_cpp_adapter.h dspy/adapters/llama_cpp_config.h
  dspy/lm/call_settings.h dspy/lm/lm.h dspy/lm/loaded_model.h
  dspy/optimize/bootstrap_few_shot.h dspy/optimize/evaluate.h dspy/optimize/labeled_few_shot.h dspy/optimize/metric.h
  dspy/programs/chat.h dspy/programs/module.h dspy/programs/predict.h dspy/programs/react.h dspy/programs/settings.h
  dspy/programs/tool.h
  dspy/signature/example.h dspy/signature/field_type.h dspy/signature/prediction.h dspy/signature/signature.h
  embedded/language_model.h
  dspy_http/http_adapter.h dspy_http/http_config.h dspy_http/http_lm.h)
set(public_include ${CMAKE_BINARY_DIR}/include)
foreach(header IN LISTS INFERFLUX_PUBLIC_HEADERS)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${header})
  file(READ ${CMAKE_SOURCE_DIR}/src/${header} text)
  string(REGEX REPLACE "#include \"([a-z_]+/[^\"]+)\"" "#include \"inferflux/\\1\"" text "${text}")
  string(REGEX MATCHALL "#include \"inferflux/[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*\"inferflux/([^\"]+)\"" "\\1" below ${include})
    if(NOT below IN_LIST INFERFLUX_PUBLIC_HEADERS)
      message(FATAL_ERROR "the public header src/${header} includes src/${below}, which is not public: see ${CMAKE_CURRENT_LIST_FILE}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${public_include}/inferflux/${header} CONTENT "${text}" @ONLY)
endforeach()

add_library(inferflux SHARED $<TARGET_OBJECTS:inferflux_embedded> $<TARGET_OBJECTS:inferflux_dspy>)
add_library(InferFlux::inferflux ALIAS inferflux)
set_target_properties(inferflux PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${INFERFLUX_ABI} LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(inferflux INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${public_include}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(inferflux INTERFACE cxx_std_20)
target_link_libraries(inferflux PUBLIC tl::expected Threads::Threads
  PRIVATE inferflux_built_in_engines inferflux_serving inferflux_scheduler inferflux_metrics inferflux_unicode Boost::json fmt::fmt)
if(NOT APPLE)
  set(map ${CMAKE_SOURCE_DIR}/src/embedded/libinferflux.map)
  target_link_options(inferflux PRIVATE LINKER:--version-script=${map})
  set_property(TARGET inferflux PROPERTY LINK_DEPENDS ${map})
endif()

# Programs in the style of DSPy; their headers need Boost.JSON and fmt.
add_library(inferflux_programs INTERFACE)
add_library(InferFlux::dspy ALIAS inferflux_programs)
set_target_properties(inferflux_programs PROPERTIES EXPORT_NAME dspy)
target_link_libraries(inferflux_programs INTERFACE inferflux Boost::json fmt::fmt)

# The adapter for a remote server: a library of its own, so that other programs load no HTTP client.
add_library(inferflux_http SHARED $<TARGET_OBJECTS:inferflux_dspy_http>)
add_library(InferFlux::http ALIAS inferflux_http)
set_target_properties(inferflux_http PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${INFERFLUX_ABI} LINKER_LANGUAGE CXX EXPORT_NAME http OUTPUT_NAME inferflux-http
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
target_link_libraries(inferflux_http PUBLIC inferflux_programs PRIVATE inferflux_net)
if(NOT APPLE)
  set(map ${CMAKE_SOURCE_DIR}/src/dspy_http/libinferflux-http.map)
  target_link_options(inferflux_http PRIVATE LINKER:--version-script=${map})
  set_property(TARGET inferflux_http PROPERTY LINK_DEPENDS ${map})
endif()

install(TARGETS inferflux inferflux_programs inferflux_http EXPORT InferFluxTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/inferflux ${public_include}/inferflux
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/InferFlux)
install(EXPORT InferFluxTargets NAMESPACE InferFlux:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/InferFluxConfig.cmake.in
  ${CMAKE_BINARY_DIR}/InferFluxConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/InferFluxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/InferFluxConfig.cmake ${CMAKE_BINARY_DIR}/InferFluxConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)
file(RELATIVE_PATH INFERFLUX_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(module inferflux inferflux-dspy)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in ${CMAKE_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

get_property(workers GLOBAL PROPERTY INFERFLUX_WORKERS)
set(programs inferfluxd inferctl inferflux-rank inferflux-quantize inferflux-convert inferflux-bench ${workers})
set_target_properties(${programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${programs}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(FILES ${CMAKE_SOURCE_DIR}/models/tiny/inferflux-tiny.gguf
  DESTINATION ${CMAKE_INSTALL_DATADIR}/inferflux/models COMPONENT programs)

include(InferfluxDocuments)
inferflux_documents(${programs})
