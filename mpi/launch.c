/* mpi/launch.c - see launch.h. */
#include "mpi/launch.h"

#include <stdlib.h>

/* Variables that say how many tasks there are, and the one that then must be there for MPI. */
static const struct {
	const char *tasks, *speaks;
} launchers[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"SLURM_STEP_NUM_TASKS", "PMIX_NAMESPACE"}, /* srun --mpi=pmix */
	{"PMI_SIZE", "PMI_RANK"},
};

void gnn_launch_read(struct gnn_launch *l)
{
	bool bound = getenv("OMPI_MCA_orte_bound_at_launch") != NULL;

	*l = (struct gnn_launch){.tasks = 1, .bound = bound};
	for (size_t i = 0; i < GNN_COUNT_OF(launchers); i++) {
		const char *tasks = getenv(launchers[i].tasks);
		long count = tasks != NULL ? strtol(tasks, NULL, 10) : 1;

		if (count <= 1 || count > UINT32_MAX)
			continue;
		*l = (struct gnn_launch){.name = launchers[i].tasks, .tasks = (uint32_t)count,
			.speaks_mpi = getenv(launchers[i].speaks) != NULL, .bound = bound};
		return;
	}
}

int gnn_launch_refuse(const struct gnn_launch *l)
{
	return gnn_err(GNN_ECONFIG, "%s: %u tasks were started, but this program sees itself "
		"alone; start them by mpirun or by srun --mpi=pmix, start one task, or give "
		"--allow-singleton to let each run on its own", l->name, l->tasks);
}
