/* train/stop.c - see stop.h. */
#include "train/stop.h"

#include <signal.h>

static volatile sig_atomic_t asked;
static struct sigaction      before[2];
static const int             signals[2] = {SIGTERM, SIGUSR1};

static void note(int signal)
{
	asked = signal;
}

void gnn_stop_begin(void)
{
	struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

	asked = 0;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 2; i++)
		sigaction(signals[i], &action, &before[i]);
}

int gnn_stop_asked(void)
{
	return asked;
}

void gnn_stop_end(void)
{
	for (int i = 0; i < 2; i++)
		sigaction(signals[i], &before[i], NULL);
}
