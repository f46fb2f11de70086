/* Tables, and trees as JSON, YAML and cells. */
#ifndef DT_CLI_RENDER_H
#define DT_CLI_RENDER_H

#include "dt/base/opts.h"
#include "dt/base/tree.h"

/* Option rows of every list command. */
#define DT_OPT_ROW_OUTPUT                                                                     \
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",           \
     .initial = "table", .help = "form of the output",                                        \
     .words = "table wide json yaml name"}
#define DT_LIST_ROWS                                                                          \
    DT_OPT_ROW_OUTPUT,                                                                        \
    {.name = "no-headers", .type = DT_OPT_FLAG, .help = "leave the table's first line out"},  \
    {.name = "sort", .type = DT_OPT_STR, .arg = "COLUMN", .unit = "",                          \
     .help = "sort by a column; a leading - turns it round"}
#define DT_OPT_ROW_LIMIT                                                                      \
    {.name = "limit", .letter = 'n', .type = DT_OPT_INT, .arg = "N", .unit = "",               \
     .initial = "100", .least = 1, .most = 100000, .help = "show at most so many"}

struct dt_column {
    const char *name;
    bool is_right; /* numbers */
    bool is_wide;  /* only with -o wide */
    bool is_cut;   /* may be cut on a narrow terminal; never when piped */
};

/* Cells row by row. {0} with columns set is empty. */
struct dt_table {
    const struct dt_column *columns; /* columns_count, borrowed */
    size_t columns_count;
    struct dt_cell {
        char *text;      /* owned, harmless */
        int64_t key;     /* sorts instead of the text when has_key */
        bool has_key;
        size_t order;    /* in which it came */
        const char *colour; /* an escape sequence, or NULL; borrowed */
    } *cells; /* owned */
    size_t cells_count, cells_room;
    struct dt_buf safe; /* the text of a cell while it is made */
};

/* Append the next cell; text is made harmless and may be NULL ("-"). Returns it for colour. */
struct dt_cell *dt_table_cell(struct dt_table *table, const char *text);
/* As dt_table_cell, sorted by key. */
struct dt_cell *dt_table_keyed(struct dt_table *table, const char *text, int64_t key);

/* Sort as --sort says and print by -o and --no-headers (args may be NULL: plain). DT_USAGE for an
 * unknown column. */
DT_MUST_USE enum dt_code dt_table_print(struct dt_table *table, const struct dt_args *args,
                                        struct dt_err *err);
/* Free the cells and zero them. */
void dt_table_release(struct dt_table *table);

/* -o is this form? */
bool dt_output_is(const struct dt_args *args, const char *form);

/* Print a tree as JSON (on a terminal indented) or YAML, as -o says. */
void dt_output_tree(const struct dt_args *args, const struct dt_tree *tree);

/* A scalar as text; "-" for null and absent, "..." for lists and maps. Borrowed from the tree, or
 * until the eighth next call. */
const char *dt_cell_text(const struct dt_tree *tree);

/* Age of an RFC 3339 instant, "-" when null; *at_ms (may be NULL) receives the instant in ms since
 * 1970, 0 when null. */
const char *dt_age_text(const char *instant, char text[32], int64_t *at_ms);

/* Colour of a state's word, or NULL. */
const char *dt_state_colour(const char *state);

#endif
