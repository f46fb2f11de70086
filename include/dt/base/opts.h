/* Command tables: the one source of parser, help, manual page and completion. */
#ifndef DT_BASE_OPTS_H
#define DT_BASE_OPTS_H

#include "dt/base/buf.h"
#include "dt/base/err.h"

enum dt_opt_type {
    DT_OPT_FLAG,     /* no value */
    DT_OPT_STR,
    DT_OPT_LIST,     /* may be repeated; every value is kept */
    DT_OPT_INT,      /* least..most */
    DT_OPT_DURATION, /* units.h; kept as text, read with dt_args_ms */
    DT_OPT_SIZE      /* units.h; read with dt_args_bytes */
};

/* One option. Every row has help; a value has arg (its word in help), unit ("" if none) and
 * initial (NULL: no default). */
struct dt_opt {
    const char *name; /* long name without dashes */
    char letter;      /* short form, or 0 */
    enum dt_opt_type type;
    const char *arg;
    const char *unit;
    const char *initial;
    int64_t least, most; /* INT */
    const char *help;
    const char *words;   /* blank-separated closed list of values, or NULL; for check, completion */
};

struct dt_args;

/* One command of a program. name "" is the program's only command. */
struct dt_cmd {
    const char *name;    /* "nodes drain" is a two-word command */
    const char *operands; /* "JOB...", as help shows it; "" for none */
    int operands_least, operands_most; /* -1: any number */
    const char *summary; /* one line */
    const char *detail;  /* paragraphs for --help and the manual page, or NULL */
    const char *examples; /* lines, or NULL */
    const struct dt_opt *opts;
    size_t opts_count;
    int group;           /* order in the program's help; the shell gives groups a title */
    int (*run)(const struct dt_args *args); /* returns the exit status */
};

/* Parsed arguments. */
struct dt_args {
    const struct dt_cmd *cmd;
    struct dt_args_value { const struct dt_opt *opt; const char *text; } *values; /* as given */
    size_t values_count;
    const char **operands; /* borrowed from argv */
    size_t operands_count;
};

/*
 * Read argv[0..argc) (without the program and command words) by cmd's table plus common options.
 * "--" ends options; "--x=v", "--x v", "-xv", "-x v"; an unknown option is DT_USAGE with the
 * nearest name in the hint. Texts are borrowed from argv. The caller releases.
 */
DT_MUST_USE enum dt_code dt_args_parse(const struct dt_cmd *cmd, int argc, char **argv,
                                       struct dt_args *args, struct dt_err *err);
/* Free the arrays and zero it. */
void dt_args_release(struct dt_args *args);

/* Was a flag (or any value) given? */
bool dt_args_has(const struct dt_args *args, const char *name);
/* The last value given, else the row's initial, else NULL. Asking for an unknown name asserts. */
const char *dt_args_str(const struct dt_args *args, const char *name);
/* INT value (checked at parse), else initial, else otherwise. */
int64_t dt_args_int(const struct dt_args *args, const char *name, int64_t otherwise);
/* DURATION in ms (checked at parse), else initial, else otherwise. */
int64_t dt_args_ms(const struct dt_args *args, const char *name, int64_t otherwise);
/* SIZE in bytes, as dt_args_ms. */
int64_t dt_args_bytes(const struct dt_args *args, const char *name, int64_t otherwise);
/* The index-th value of a LIST option, NULL past the last. */
const char *dt_args_nth(const struct dt_args *args, const char *name, size_t index);

/* The command whose words begin argv; *words is how many it took. NULL when none matches. */
const struct dt_cmd *dt_cmd_find(const struct dt_cmd *const *cmds, size_t count, int argc,
                                 char **argv, int *words);

/* Help text of one command, at most 100 columns. */
void dt_cmd_help(struct dt_buf *buf, const char *program, const struct dt_cmd *cmd);
/* A program as its pages show it. */
struct dt_program {
    const char *name, *summary;
    const struct dt_cmd *const *cmds; /* cmds_count */
    size_t cmds_count;
    const char *description; /* paragraphs, an empty line between; NULL: the first command's */
    int section;             /* of the manual; 0 = 1 */
    const struct dt_exit {
        int status;
        const char *help;
    } *exits; /* exits_count; beside those of the error codes */
    size_t exits_count;
    bool has_own_exits;      /* it never ends with a code's status: only exits are shown */
};

/* Append text for roff: its special letters escaped, and no line is taken for a request. */
void dt_roff_text(struct dt_buf *buf, const char *text);
/* Manual page (roff) of a program with its commands. */
void dt_cmd_man(struct dt_buf *buf, const struct dt_program *program);
/* Completion script for "bash", "zsh" or "fish"; DT_INVALID for another shell. */
DT_MUST_USE enum dt_code dt_cmd_completion(struct dt_buf *buf, const struct dt_program *program,
                                           const char *shell, struct dt_err *err);

#endif
