# Libraries the product stands on, and the table of what was found.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS C)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing>=2.1)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_search_module(BLAS REQUIRED IMPORTED_TARGET openblas-openmp openblas)
pkg_search_module(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)
find_package(GTest QUIET)

# Not every xxHash is built with the choice of vectors at run time.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_c_source_compiles("
#include <xxhash.h>
#include <xxh_x86dispatch.h>
int main(void) { return XXH3_64bits(\"\", 0) + XXH3_64bits_update(0, 0, 0) != 0; }"
	GNN_HASH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)

# CUDA is optional: AUTO takes it where nvcc and its libraries are.
set(GNN_CUDA_FOUND FALSE)
if(NOT GNN_WITH_CUDA STREQUAL "OFF")
	include(CheckLanguage)
	check_language(CUDA)
	if(CMAKE_CUDA_COMPILER)
		set(CMAKE_CUDA_ARCHITECTURES "${GNN_CUDA_ARCH}")
		enable_language(CUDA)
		find_package(CUDAToolkit QUIET)
		set(GNN_CUDA_FOUND ${CUDAToolkit_FOUND})
	endif()
	if(GNN_WITH_CUDA STREQUAL "ON" AND NOT GNN_CUDA_FOUND)
		message(FATAL_ERROR "GNN_WITH_CUDA is ON, but no CUDA toolkit was found")
	endif()
endif()

# NCCL is optional beside CUDA, and loaded at run time.
set(GNN_NCCL_FOUND FALSE)
if(GNN_CUDA_FOUND AND NOT GNN_WITH_NCCL STREQUAL "OFF")
	find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
	find_library(NCCL_LIBRARY nccl HINTS "${CUDAToolkit_LIBRARY_DIR}")
	if(NCCL_INCLUDE_DIR)
		set(GNN_NCCL_FOUND TRUE)
		set(GNN_NCCL_LIBRARY_DIR "${CUDAToolkit_LIBRARY_DIR}")
		if(NCCL_LIBRARY)
			get_filename_component(GNN_NCCL_LIBRARY_DIR "${NCCL_LIBRARY}" DIRECTORY)
		endif()
		file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" GNN_NCCL_VERSION
			REGEX "#define NCCL_(MAJOR|MINOR|PATCH) ")
		string(REGEX REPLACE "[^0-9;]+" "" GNN_NCCL_VERSION "${GNN_NCCL_VERSION}")
		string(REPLACE ";" "." GNN_NCCL_VERSION "${GNN_NCCL_VERSION}")
	endif()
endif()
if(GNN_WITH_NCCL STREQUAL "ON" AND NOT GNN_NCCL_FOUND)
	message(FATAL_ERROR "GNN_WITH_NCCL is ON, but CUDA or nccl.h was not found")
endif()

function(gnn_print_table)
	set(gtest "not found")
	if(GTest_FOUND)
		set(gtest "found ${GTest_VERSION}")
	endif()
	set(cuda "not found")
	if(GNN_WITH_CUDA STREQUAL "OFF")
		set(cuda "switched off")
	elseif(GNN_CUDA_FOUND)
		set(cuda "found ${CUDAToolkit_VERSION}, architectures ${GNN_CUDA_ARCH}")
	endif()
	set(nccl "not found")
	if(GNN_WITH_NCCL STREQUAL "OFF" OR GNN_WITH_CUDA STREQUAL "OFF")
		set(nccl "switched off")
	elseif(GNN_NCCL_FOUND)
		set(nccl "found ${GNN_NCCL_VERSION}, ${NCCL_INCLUDE_DIR}")
	endif()
	set(hash "plain vectors")
	if(GNN_HASH_DISPATCH)
		set(hash "widest vectors by dispatch")
	endif()
	message(STATUS "gnnrun ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
	foreach(row
		"CUDA|${cuda}" "NCCL|${nccl}" "MPI|found ${MPI_C_VERSION}"
		"OpenMP|found ${OpenMP_C_VERSION}"
		"OpenBLAS|found ${BLAS_VERSION}" "HDF5|found ${HDF5_VERSION}"
		"liburing|found ${URING_VERSION}"
		"libyaml|found ${YAML_VERSION}" "cJSON|found ${CJSON_VERSION}"
		"xxHash|found ${XXHASH_VERSION}, ${hash}" "zlib|found ${ZLIB_VERSION_STRING}"
		"hwloc|found ${HWLOC_VERSION}" "Google Test|${gtest}"
		"tests|${GNN_BUILD_TESTS}" "sanitizers|asan+ubsan ${GNN_ASAN}, tsan ${GNN_TSAN}")
		string(REPLACE "|" ";" cells "${row}")
		list(GET cells 0 name)
		list(GET cells 1 state)
		string(LENGTH "${name}" width)
		math(EXPR pad "14 - ${width}")
		string(REPEAT " " ${pad} space)
		message(STATUS "  ${name}${space}${state}")
	endforeach()
endfunction()
