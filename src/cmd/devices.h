/*
 * cmd/devices.h - the backend of a command, and which device each of several ranks works on.
 *
 * Flow     config, ranks -> [devices] -> backend
 * Owns     nothing: the caller destroys the backend
 * Lends    nothing
 * Thread   one caller; collective where there are several ranks
 * Fails    GNN_EUNAVAIL no such backend; GNN_ECONFIG two ranks on one device; as comm
 *
 * A rank takes the device of its number among the ranks of its host, counted in a circle over those
 * it sees: where the launcher shows each rank one device alone, that one. All ranks have the same
 * backend: with auto the devices if every rank has one, else the cores.
 */
#ifndef GNN_CMD_DEVICES_H
#define GNN_CMD_DEVICES_H

#include "base/config.h"
#include "op/backend.h"

GNN_BEGIN_DECLS

/* *shared: some device has several ranks, which --oversubscribe-gpu allows. */
int gnn_devices_open(struct gnn_backend **out, const struct gnn_config *c, bool *shared);

GNN_END_DECLS

#endif
