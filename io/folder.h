/*
 * io/folder.h - a folder for the files of one run, which nobody else may read.
 *
 * Flow     infer -> [folder] -> rowfiles, manifest
 * Owns     the folder's lock while it is open
 * Lends    its path
 * Thread   one caller
 * Fails    GNN_ECREAT it cannot be made, is none, or a live process works in it; GNN_EIO
 */
#ifndef GNN_IO_FOLDER_H
#define GNN_IO_FOLDER_H

#include "base/err.h"

struct gnn_folder;

GNN_BEGIN_DECLS

/* Made with mode 0700 unless it is there, and locked. */
int  gnn_folder_open  (struct gnn_folder **out, const char *path);
const char *gnn_folder_path(const struct gnn_folder *f);
int  gnn_folder_clear (struct gnn_folder *f); /* removes the files in it */
void gnn_folder_close (struct gnn_folder *f); /* stays, with what is in it; NULL is fine */
void gnn_folder_remove(struct gnn_folder *f); /* goes, with what is in it; NULL is fine */

GNN_END_DECLS

#endif
