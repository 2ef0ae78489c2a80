/* base/stop.c - see stop.h. */
#include "base/stop.h"

#include <signal.h>

static volatile sig_atomic_t wanted;

static void note(int number)
{
	(void)number;
	wanted = 1;
}

void gnn_stop_listen(void)
{
	struct sigaction action = {.sa_handler = note};

	action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool gnn_stop_wanted(void)
{
	return wanted != 0;
}
