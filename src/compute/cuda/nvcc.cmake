# The kernels and the runtime by nvcc, warnings as errors, for every architecture from one list. nvcc is called as it is, not
# through CMake's CUDA language: the same .cu files are C++ sources of the host executor in this very folder.
set(INFERFLUX_CUDA_ARCHITECTURES 80 86 89 90a 100 120 CACHE STRING "Architectures that kernels are compiled for")
find_program(INFERFLUX_NVCC nvcc HINTS /usr/local/cuda/bin)
if(NOT INFERFLUX_NVCC)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/install-cuda --where
                  OUTPUT_VARIABLE where OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_program(INFERFLUX_NVCC nvcc HINTS ${where}/bin NO_DEFAULT_PATH)
endif()
if(NOT INFERFLUX_NVCC)
  message(FATAL_ERROR "ENABLE_CUDA is ON, but there is no nvcc: run scripts/install-cuda, or put the one of a CUDA toolkit "
                      "on the path")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

get_filename_component(cuda_root ${INFERFLUX_NVCC} REALPATH)
get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
find_library(INFERFLUX_CUDART cudart HINTS ${cuda_root}/lib64 ${cuda_root}/lib REQUIRED)
find_library(INFERFLUX_CUBLASLT cublasLt HINTS ${cuda_root}/lib64 ${cuda_root}/lib REQUIRED)

set(gencode "")
foreach(architecture IN LISTS INFERFLUX_CUDA_ARCHITECTURES)
  list(APPEND gencode -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
# -fmad=false: as everywhere, a fused multiply-add is written where one is meant. FMT_USE_CONSTEXPR: fmt 9 takes nvcc for a
# compiler that has no constexpr functions.
set(nvcc_flags -std=c++20 -O3 -fmad=false -DFMT_USE_CONSTEXPR=1 -I${CMAKE_SOURCE_DIR}/src
  --threads=2 -Werror=all-warnings -Xptxas=-v,--warn-on-spills
  -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-fPIC,-fvisibility=hidden,-ffp-contract=off)

set(objects "")
set(reports "")
set(report_tool ${CMAKE_CURRENT_SOURCE_DIR}/tools/ptxas_report.py)
foreach(source IN LISTS kernels ITEMS cuda_runtime.cu device/check_instructions.cu)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/nvcc/${name}.o)
  set(report ${CMAKE_CURRENT_BINARY_DIR}/nvcc/${name}.ptxas)
  add_custom_command(OUTPUT ${object} ${report}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/nvcc
    COMMAND ${Python3_EXECUTABLE} ${report_tool} run ${report}
            ${INFERFLUX_NVCC} ${nvcc_flags} ${gencode} -MD -MF ${object}.d -MT ${object} -c ${CMAKE_CURRENT_SOURCE_DIR}/${source}
            -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${report_tool}
    DEPFILE ${object}.d
    COMMENT "Compiling ${source} with nvcc"
    VERBATIM)
  list(APPEND objects ${object})
  list(APPEND reports ${report})
endforeach()

add_library(inferflux_cuda STATIC ${objects} driver_rules.cpp matmul_rules.cpp nccl/nccl_library.cpp nccl/open_nccl.cpp)
set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE)
target_include_directories(inferflux_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(inferflux_cuda PUBLIC inferflux_base inferflux_collective inferflux_formats inferflux_hardware ${INFERFLUX_CUDART} ${INFERFLUX_CUBLASLT})

# Prints registers and spills of each kernel; fails where one spills.
add_custom_target(cuda_report COMMAND ${Python3_EXECUTABLE} ${report_tool} table ${reports} DEPENDS ${reports} VERBATIM)
