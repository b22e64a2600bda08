# Debian packages by CPack; scripts/package configures, builds and packs. Three packages, as Debian splits them, from the
# three components of `cmake --install`: inferflux (programs, workers, service), libinferflux0 and libinferflux-dev.
#
# The same sources give the same bytes, in any folder: link with -s, so that a build ID does not depend on local symbols;
# SOURCE_DATE_EPOCH is the only time; gzip writes no names. Nothing that is compiled contains a path (no __FILE__).
option(INFERFLUX_PACKAGE "Build for Debian packages: install below /usr, with a service, documents and the list of parts" OFF)
if(NOT INFERFLUX_PACKAGE)
  return()
endif()
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT CMAKE_GENERATOR STREQUAL "Ninja" OR NOT "$ENV{SOURCE_DATE_EPOCH}" MATCHES "^[0-9]+$")
  message(FATAL_ERROR "INFERFLUX_PACKAGE needs the prefix /usr, Ninja, and SOURCE_DATE_EPOCH in the environment: use scripts/package")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(INFERFLUX_MAINTAINER "InferFlux maintainers <maintainers@inferflux.example>" CACHE STRING
  "The Maintainer field of Debian packages: who answers for this build")
set(release 1)
set(deb_version ${PROJECT_VERSION}-${release})
set(here ${CMAKE_SOURCE_DIR}/deploy/debian)
set(staged ${CMAKE_BINARY_DIR}/package)  # what is written at configure time

# The unit is deploy/systemd's, with the package's paths and the user that postinst makes.
file(READ ${CMAKE_SOURCE_DIR}/deploy/systemd/inferfluxd.service unit)
foreach(edit
    "# InferFlux as a system service.*\n\\[Unit\\]=>[Unit]"
    "Description=([^\n]*)=>Description=\\1\nDocumentation=man:inferfluxd(1)"
    "/usr/local/bin/=>/usr/bin/"
    "# A user that exists only while the service runs[^\n]*\n=>"
    "DynamicUser=yes=>User=inferflux\nGroup=inferflux"
    "StateDirectory=inferflux=>StateDirectory=inferflux inferflux/models")
  string(REGEX MATCH "^(.*)=>(.*)$" all "${edit}")
  set(from "${CMAKE_MATCH_1}")
  set(to "${CMAKE_MATCH_2}")
  if(NOT unit MATCHES "${from}")
    message(FATAL_ERROR "deploy/systemd/inferfluxd.service has no text '${from}', which its packaged form replaces")
  endif()
  string(REGEX REPLACE "${from}" "${to}" unit "${unit}")
endforeach()
file(CONFIGURE OUTPUT ${staged}/inferfluxd.service CONTENT "${unit}" @ONLY)
install(FILES ${staged}/inferfluxd.service DESTINATION /lib/systemd/system COMPONENT programs)
install(FILES ${here}/server.yaml DESTINATION /etc/inferflux COMPONENT programs)
install(FILES ${CMAKE_SOURCE_DIR}/config/server.yaml DESTINATION share/doc/inferflux/examples COMPONENT programs)

# Debian's changelog of a build has one entry: its version, at the time of its sources.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, as CMake defines it
file(CONFIGURE OUTPUT ${staged}/changelog.Debian @ONLY CONTENT
"inferflux (${deb_version}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}; changelog.gz says what is new.

 -- ${INFERFLUX_MAINTAINER}  ${date}
")
function(inferflux_gzip from to)
  execute_process(COMMAND gzip -9n --stdout ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
inferflux_gzip(${staged}/changelog.Debian ${staged}/changelog.Debian.gz)
inferflux_gzip(${CMAKE_SOURCE_DIR}/CHANGELOG.md ${staged}/changelog.gz)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${here}/server.yaml
  ${CMAKE_SOURCE_DIR}/deploy/systemd/inferfluxd.service)

# What each package contains that is not ours (SPDX). It is read from the finished build's own records, so at install time.
function(inferflux_part_list package component)
  list(JOIN ARGN " " targets)
  set(out ${staged}/${package})
  install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/cmake/list_parts.py\" \"${CMAKE_BINARY_DIR}\"
    ${package} ${deb_version} \"${out}\" ${targets} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
  install(FILES ${out}/${package}.spdx.json ${out}/third-party-notices.gz DESTINATION share/doc/${package} COMPONENT ${component})
endfunction()

foreach(pair inferflux:programs libinferflux0:library libinferflux-dev:development)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 package)
  list(GET pair 1 component)
  install(FILES ${here}/copyright ${staged}/changelog.gz ${staged}/changelog.Debian.gz
    DESTINATION share/doc/${package} COMPONENT ${component})
  if(EXISTS ${here}/${package}.lintian-overrides)
    install(FILES ${here}/${package}.lintian-overrides DESTINATION share/lintian/overrides RENAME ${package}
      COMPONENT ${component})
  endif()
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${package})
endforeach()
inferflux_part_list(inferflux programs bin/inferfluxd bin/inferctl bin/inferflux-rank bin/inferflux-quantize bin/inferflux-convert
  bin/inferflux-bench bin/inferflux-worker-cpu)
inferflux_part_list(libinferflux0 library lib/libinferflux.so.${PROJECT_VERSION} lib/libinferflux-http.so.${PROJECT_VERSION})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME inferflux)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own; CPack adds the spaces and points of control files
set(CPACK_PACKAGE_CONTACT "${INFERFLUX_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # /etc and /lib are not below the prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/debs)
set(CPACK_COMPONENTS_ALL programs library development)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE inferflux)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)  # libinferflux-http.so links libinferflux.so

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${here}/postinst ${here}/prerm ${here}/postrm ${here}/conffiles)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION
"server for language models with the OpenAI API
InferFlux serves language models from GGUF files and Hugging Face directories
on CPUs. It speaks the OpenAI, Anthropic and Ollama APIs.

This package has the server and its service, worker processes, the command
line tools and a small chat model.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${staged}/shlibs ${here}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"language models in a program of your own (shared libraries)
InferFlux runs language models from GGUF files and Hugging Face directories.

This package has the libraries that run models in a C++ program's own process.")
file(CONFIGURE OUTPUT ${staged}/shlibs @ONLY CONTENT
"libinferflux ${INFERFLUX_ABI} libinferflux0 (>= ${PROJECT_VERSION})
libinferflux-http ${INFERFLUX_ABI} libinferflux0 (>= ${PROJECT_VERSION})
")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libinferflux0 (= ${deb_version}), libexpected-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libboost-json1.81-dev, libfmt-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"language models in a program of your own (development files)
InferFlux runs language models from GGUF files and Hugging Face directories.

This package has the headers of libinferflux, and what CMake and pkg-config
need to find it.")
include(CPack)
