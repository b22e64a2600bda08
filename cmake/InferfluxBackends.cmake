# The compute backends of this build, a row each. A backend is the folder src/compute/FOLDER, whose FOLDER_backend.h has the type
# compute::TYPE; its files are compiled, and the native engine is instantiated on it, where CONDITION holds. A folder with a
# CMakeLists.txt of its own makes its library, inferflux_compute_FOLDER, itself.
#
# inferflux_backend(FOLDER TYPE [IF CONDITION] [LIBS LIBRARY...])
set(INFERFLUX_BACKENDS)
macro(inferflux_backend folder type)
  cmake_parse_arguments(row "" "IF" "LIBS" ${ARGN})
  if(NOT DEFINED row_IF OR row_IF)
    list(APPEND INFERFLUX_BACKENDS ${folder})
    set(INFERFLUX_BACKEND_TYPE_${folder} ${type})
    set(INFERFLUX_BACKEND_LIBS_${folder} ${row_LIBS})
  endif()
endmacro()

inferflux_backend(cpu Cpu)
inferflux_backend(reference Reference)
inferflux_backend(mlx Mlx IF ${INFERFLUX_MLX} LIBS mlx)
inferflux_backend(cuda Cuda IF ${INFERFLUX_CUDA_BACKEND})
