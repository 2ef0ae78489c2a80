/*
 * tests/mpi/nccl_stub.h - the stream on which the stub of NCCL and a probe agree.
 *
 * Nothing of what is issued happens by itself: the one who waits for it steps until it is done. So
 * rows that leave are read, and rows that come are written, as late as they may be.
 */
#ifndef GNN_TESTS_MPI_NCCL_STUB_H
#define GNN_TESTS_MPI_NCCL_STUB_H

#include <stdbool.h>

struct stub_stream {
	bool (*step)(void *comm); /* whether all that was issued is done; NULL: nothing was */
	void  *comm;
};

#endif
