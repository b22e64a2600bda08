# Prints the size of PROGRAM and the dynamic libraries that it names: cmake -D PROGRAM=FILE -P cmake/print_program.cmake
file(SIZE ${PROGRAM} bytes)
math(EXPR kib "${bytes} / 1024")
cmake_path(GET PROGRAM FILENAME name)
execute_process(COMMAND objdump -p ${PROGRAM} OUTPUT_VARIABLE headers ERROR_QUIET)
string(REGEX MATCHALL "NEEDED +[^\n]+" lines "${headers}")
list(TRANSFORM lines REPLACE "NEEDED +" "")
list(JOIN lines " " libraries)
message(STATUS "${name}: ${kib} KiB; ${libraries}")
