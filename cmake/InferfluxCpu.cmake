# INFERFLUX_CPU says which CPU kernels are built besides the portable scalar ones:
#   native  the best set that this machine runs: what ./run and ./test need. Kernels are most of a build's time.
#   all     every set of the architecture: for packages, for programs that run on other machines, and for cross compiling
#   LIST    these, of avx2, avx_vnni, avx512_vnni, avx512_bf16, amx (x86-64) or neon (64-bit Arm); scalar: none
# Sets INFERFLUX_KERNEL_SETS. A program that lacks the best set of the machine that runs it says so at its start.
set(INFERFLUX_CPU native CACHE STRING "CPU kernels to build: native, all, or a list of instruction sets")

set(INFERFLUX_KERNEL_SETS)
set(all_kernel_sets)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(all_kernel_sets avx2 avx_vnni avx512_vnni avx512_bf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(all_kernel_sets neon)
endif()

if(INFERFLUX_CPU STREQUAL "all" OR (INFERFLUX_CPU STREQUAL "native" AND CMAKE_CROSSCOMPILING))
  set(INFERFLUX_KERNEL_SETS ${all_kernel_sets})
elseif(INFERFLUX_CPU STREQUAL "native")
  unset(native_ran CACHE)  # a build folder may have come from another machine
  try_run(native_ran native_compiled
    SOURCES ${CMAKE_SOURCE_DIR}/cmake/native_kernel_sets.cpp ${CMAKE_SOURCE_DIR}/src/base/cpu_features.cpp
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${CMAKE_SOURCE_DIR}/src
    CXX_STANDARD 20
    RUN_OUTPUT_VARIABLE INFERFLUX_KERNEL_SETS)
  if(NOT native_compiled OR NOT native_ran EQUAL 0)
    message(STATUS "CPU kernels: this machine's instruction sets could not be found out; building all")
    set(INFERFLUX_KERNEL_SETS ${all_kernel_sets})
  endif()
else()
  set(INFERFLUX_KERNEL_SETS ${INFERFLUX_CPU})
  list(REMOVE_ITEM INFERFLUX_KERNEL_SETS scalar)
  foreach(isa IN LISTS INFERFLUX_KERNEL_SETS)
    if(NOT isa IN_LIST all_kernel_sets)
      list(JOIN all_kernel_sets ", " known)
      message(FATAL_ERROR "INFERFLUX_CPU: there is no set of kernels '${isa}'; use native, all, scalar, or some of ${known}")
    endif()
  endforeach()
  # These two are what their sets have beyond avx512_vnni.
  if("amx" IN_LIST INFERFLUX_KERNEL_SETS OR "avx512_bf16" IN_LIST INFERFLUX_KERNEL_SETS)
    list(APPEND INFERFLUX_KERNEL_SETS avx512_vnni)
    list(REMOVE_DUPLICATES INFERFLUX_KERNEL_SETS)
  endif()
endif()
list(JOIN INFERFLUX_KERNEL_SETS ", " words)
message(STATUS "CPU kernels (INFERFLUX_CPU=${INFERFLUX_CPU}): scalar, ${words}")
