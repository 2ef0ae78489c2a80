/*
 * base/cmdline.h - the command line into the configuration, and the file that it names.
 *
 * Flow     argv -> [cmdline] -> config
 * Owns     nothing
 * Lends    nothing; the config points into argv
 * Thread   the main thread
 * Fails    GNN_EUSAGE unknown flag or command (with the nearest), wrong value, wrong number of
 *          arguments; what the file fails with
 */
#ifndef GNN_BASE_CMDLINE_H
#define GNN_BASE_CMDLINE_H

#include "base/config.h"

GNN_BEGIN_DECLS

/*
 * Fills c, to be ended by gnn_config_fini, on failure too. Positional arguments are counted
 * against the command's row unless --help, --version or --print-config makes them needless.
 */
int gnn_cmdline_read(struct gnn_config *c, const struct gnn_command *commands, int argc,
	char *const *argv);

GNN_END_DECLS

#endif
