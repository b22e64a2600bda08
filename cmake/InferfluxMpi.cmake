# MPI, through which the ranks of a model on several hosts exchange data (docs/scale.md). Only a build that asks for it
# links it. Tested with Debian's Open MPI 4.1.4 (scripts/packages-mpi.txt). Sets INFERFLUX_MPI.
option(ENABLE_MPI "Ranks of a model that mpirun starts: needs MPI 3.1 for C" OFF)

set(INFERFLUX_MPI OFF)
if(ENABLE_MPI)
  find_package(MPI 3.1 QUIET COMPONENTS C)
  if(NOT MPI_C_FOUND)
    message(FATAL_ERROR "ENABLE_MPI is ON, but there is no MPI 3.1 (libopenmpi-dev): ./run --with mpi installs it")
  endif()
  set(INFERFLUX_MPI ON)
  message(STATUS "MPI: on")
endif()
