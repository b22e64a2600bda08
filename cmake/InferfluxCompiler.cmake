# Compiler settings that every target shares.
#
# -ffp-contract=off: a fused multiply-add is written where one is meant, so results do not depend on what the
# optimiser happened to fuse (docs/architecture.md, "Bit-identical results").
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno)
add_compile_options(-fvisibility=hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(INFERFLUX_CCACHE ccache)
if(INFERFLUX_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${INFERFLUX_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${INFERFLUX_CCACHE})
endif()

if(INFERFLUX_SANITIZE)
  list(JOIN INFERFLUX_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${sanitizers})
  if(INFERFLUX_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # Boost.Asio uses fences, which GCC's TSan does not model and warns about.
  endif()
endif()
