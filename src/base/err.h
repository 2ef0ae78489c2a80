/*
 * base/err.h - status codes, the error text, and the check macros.
 *
 * Flow     deepest function -> [err] -> each caller adds its place -> main prints it once
 * Owns     one text buffer a thread
 * Lends    the text, valid until the next error of the same thread
 * Thread   every thread has its own text; a stage carries it over with save and restore
 * Fails    never
 *
 * A fallible function returns int: 0, a negative gnn_status, or a positive information. The text
 * is written once, where the failure is seen: what, where, wanted against found, a remedy. The
 * codes are the exit codes of the program with a minus sign.
 */
#ifndef GNN_BASE_ERR_H
#define GNN_BASE_ERR_H

#include "base/decl.h"

enum gnn_status {
	GNN_OK      = 0,
	GNN_EOF     = 1,   /* information: nothing more to come */
	GNN_SKIPPED = 2,   /* information: nothing to do */
	GNN_EUSAGE  = -64, /* the command line is wrong */
	GNN_EDATA   = -65, /* an input is damaged or out of range */
	GNN_ENOENT  = -66, /* an input does not exist or cannot be opened */
	GNN_EUNAVAIL = -69, /* a needed thing is missing: GPU, io_uring when forced */
	GNN_EBUG    = -70, /* this program is wrong */
	GNN_EOS     = -71, /* the system or CUDA refused: memory, threads, descriptors */
	GNN_ECREAT  = -73, /* an output cannot be created */
	GNN_EIO     = -74, /* reading or writing failed: device error, disk full */
	GNN_ESTOP   = -75, /* stopped by a signal, with a valid checkpoint */
	GNN_ECONFIG = -78, /* the configuration contradicts itself or the inputs */
};

enum { GNN_ERR_TEXT_MAX = 1024 };

struct gnn_err_state {
	int  status;
	char text[GNN_ERR_TEXT_MAX];
};

GNN_BEGIN_DECLS

/* Sets the thread's error text and returns `status`. */
int gnn_err(int status, const char *fmt, ...) GNN_PRINTF(2, 3);

/* As gnn_err, with ": strerror(errnum)" behind the text. */
int gnn_err_sys(int status, int errnum, const char *fmt, ...) GNN_PRINTF(3, 4);

/* Puts "place: " in front of the text and returns `status`. */
int gnn_err_place(int status, const char *fmt, ...) GNN_PRINTF(2, 3);

const char *gnn_err_text (void);
void        gnn_err_clear(void);

/* Carries an error from one thread to another. */
void gnn_err_save   (struct gnn_err_state *to, int status);
int  gnn_err_restore(const struct gnn_err_state *from); /* returns the status */

GNN_END_DECLS

/* Sets rc; goes to out: if it is an error. A positive information stays in rc. */
#define GNN_TRY(expr)                   \
	do {                            \
		rc = (expr);            \
		if (rc < 0)             \
			goto out;       \
	} while (0)

/* Sets rc and the text, and goes to out: */
#define GNN_FAIL(status, ...)                       \
	do {                                        \
		rc = gnn_err((status), __VA_ARGS__); \
		goto out;                           \
	} while (0)

#endif
