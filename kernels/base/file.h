/* file.h: whole files. Written wholly or not at all: temporary file beside it, fsync, rename. */
#ifndef GOPT_BASE_FILE_H
#define GOPT_BASE_FILE_H

#include "base/err.h"

typedef struct gopt_mapping {
    const unsigned char *data; /* never NULL, also for an empty file */
    size_t bytes;
} gopt_mapping;

/* Maps a regular file read-only (private). EIO with the reason otherwise; the message starts with the path. */
gopt_status gopt_file_map(gopt_mapping *out, const char *path, gopt_err *e);
void gopt_file_unmap(gopt_mapping *m);
/* Gives the whole pages of a piece of memory back to the system. Those of a mapped file are read again when touched; of
 * any other memory the contents are lost. */
void gopt_pages_drop(const void *data, size_t bytes);
/* Writes the concatenation of n pieces to path, atomically and durably. */
typedef struct gopt_piece {
    const void *data;
    size_t bytes;
} gopt_piece;
gopt_status gopt_file_write(const char *path, const gopt_piece *pieces, int n, gopt_err *e);
gopt_status gopt_file_write_text(const char *path, const char *text, gopt_err *e);
gopt_status gopt_dir_make(const char *path, gopt_err *e);   /* with parents; fine when it exists */
gopt_status gopt_dir_remove(const char *path, gopt_err *e); /* with all that is in it, following no links */
bool gopt_file_exists(const char *path);
bool gopt_fd_write(int fd, const void *p, size_t bytes); /* all of it, also when interrupted; false: see errno */

#endif
