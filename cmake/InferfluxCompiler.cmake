# Compiler settings that every target shares.
#
# -ffp-contract=off: a fused multiply-add is written where one is meant, so results do not depend on what the
# optimiser happened to fuse (docs/architecture.md, "Bit-identical results").
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno)
add_compile_options(-fvisibility=hidden)
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)  # one build for programs, the shared library and the Python module
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # GCC 12 sees overlaps in std::string's operator+ that are not there (PR 105651)
endif()

# Paths below the source folder are hashed relative to it, so that clones share what one of them has compiled. Precompiled
# headers need the sloppiness: a header that is precompiled is as good as its sources.
find_program(INFERFLUX_CCACHE ccache)
if(INFERFLUX_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${INFERFLUX_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

if(INFERFLUX_SANITIZE)
  list(JOIN INFERFLUX_SANITIZE "," sanitizers)
  add_compile_options(-O1 -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${sanitizers})
  if(INFERFLUX_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # Boost.Asio uses fences, which GCC's TSan does not model and warns about.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # With GCC 12 the scalar products of lattice types were wrong with this sanitizer at -O1 alone, unless temporaries
      # keep memory of their own. They are right with clang's, its MemorySanitizer, and GCC's others; why is not known.
      add_compile_options(-fstack-reuse=named_vars)
    endif()
  endif()
endif()

# Eight sources of a target are compiled as one: half of what each costs is the headers that all of them include. Debug
# builds and those under a sanitizer compile each by itself, so that it goes on including what it uses
# (docs/decisions/0013-sources-compiled-together.md).
if(NOT DEFINED CMAKE_UNITY_BUILD AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT INFERFLUX_SANITIZE)
  set(CMAKE_UNITY_BUILD ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A class with a member whose type has no linkage, coroutines' frames too: GCC says so wherever the class is not of the
    # file that it was told to compile, which holds for every source that is compiled as a part of one.
    add_compile_options(-Wno-subobject-linkage)
  endif()
endif()

# For targets whose sources take long each, and are better spread over the cores.
function(inferflux_compile_apart)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD OFF)
endfunction()

# For what reads flags and settings and prints messages: it runs once, and -O3 takes two fifths longer to compile.
function(inferflux_runs_once target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
