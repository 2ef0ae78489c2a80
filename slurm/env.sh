# shellcheck shell=bash
# What every job script here needs; sourced by them: . "$GNN_SLURM/env.sh"
#
# Set by the user, all optional:
#   GNNRUN      the program (default: gnnrun on the PATH)
#   GNN_LOCAL   a folder on a disk of each node: the store is copied there first, once a node,
#               and scratch files go there

export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
# srun no longer takes --cpus-per-task from sbatch.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
# shellcheck disable=SC2034 # the scripts use it
gnnrun=${GNNRUN:-gnnrun}

# stage STORE: prints where the ranks find it. With GNN_LOCAL it is copied to each node, under a
# temporary name first, and not again when the same file is there.
stage() {
	local there

	if [ -z "${GNN_LOCAL:-}" ]; then
		printf '%s\n' "$1"
		return
	fi
	there=$GNN_LOCAL/$(basename "$1")
	# shellcheck disable=SC2016 # the node's shell expands it
	srun --ntasks-per-node=1 --ntasks="${SLURM_JOB_NUM_NODES:-1}" bash -c '
		mkdir -p "$(dirname "$2")" || exit 73
		[ -e "$2" ] && [ ! "$1" -nt "$2" ] && exit 0
		cp -p -- "$1" "$2.$$" && mv -- "$2.$$" "$2"' stage "$1" "$there" >&2 || return
	printf '%s\n' "$there"
}

# forward COMMAND ...: runs it, and hands on the signals that Slurm sends to the batch shell, which
# bash would else keep until the command ends.
forward() {
	local pid status

	"$@" &
	pid=$!
	trap 'kill -USR1 $pid 2>/dev/null' USR1
	trap 'kill -TERM $pid 2>/dev/null' TERM
	# A signal ends the wait early; bash keeps the status of the command for the next one.
	while
		wait "$pid"
		status=$?
		[ "$status" -gt 128 ] && kill -0 "$pid" 2>/dev/null
	do :; done
	[ "$status" -le 128 ] || {
		wait "$pid"
		status=$?
	}
	trap - USR1 TERM
	return "$status"
}

# finish STATUS: 75 is "stopped with a valid checkpoint": the job goes back into the queue, and the
# same script resumes. Every other status ends it.
finish() {
	if [ "$1" = 75 ]; then
		echo "stopped in time; requeued as restart $((${SLURM_RESTART_COUNT:-0} + 1))"
		scontrol requeue "$SLURM_JOB_ID" && exit 0
	fi
	exit "$1"
}

# launch COMMAND ...: one rank a task of the job; GNN_LAUNCH=mpirun starts them by mpirun in the
# place of srun. Ranks see all GPUs of their node and take one each: bound to one of their own they
# could not reach those of the others.
launch() {
	if [ "${GNN_LAUNCH:-srun}" = mpirun ]; then
		forward mpirun --bind-to none "$@"
	else
		forward srun --mpi=pmix --kill-on-bad-exit=1 \
			${SLURM_GPUS_ON_NODE:+--gpu-bind=none} "$@"
	fi
}
